"""Imports point down, and heavy packages load only inside the function that needs them.

The order is that of "Layers" in vignettes/contributing.md, for the files there are.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dyntree
from tests.unit.conftest import ROOT, python

PACKAGE = Path(dyntree.__file__).parent
CORE = PACKAGE / "_core"
SOURCES = sorted(p for kind in ("*.pyx", "*.pxd") for p in CORE.rglob(kind))

# A file may use those of a strictly lower level; what models share is below them all.
CORE_ORDER = [
    {"types", "openmp", "lanes", "memory", "vectors", "softmax", "scipy_special"},
    {"kernels", "linalg", "eigen", "alias", "covertree"}, {"treesearch"},
    {"rng", "rmath"},
    {"resample", "spans", "family", "student", "ties", "beta_counts", "sites"},
    {"averaging"},
    {"student_mixture", "probe"},
]  # fmt: skip
TREES_ORDER = [
    {"nodes"}, {"filter_rules", "arena", "pool", "fresh_trees"}, {"addends"}, {"leaf"},
    {"tree", "gap_walk"}, {"moves", "split_search"}, {"shared_moves"},
    {"r_rules", "native_counts", "inheriting"}, {"gaussian_leaves", "native_rates"},
    {"scaled_leaves", "gap_filler"}, {"native_leaves", "logistic_leaves"},
    {"particles"}, {"gap_answers"},
    {"snapshot", "rejuvenation", "prior_look"}, {"distinct_trees", "block_partition"},
    {"cloud_facts"}, {"cloud"},
    {"block_sums"}, {"query"}, {"rectangle", "improvement"}, {"r_rectangle"},
    {"row_credit", "references"}, {"criteria"}, {"input_samples"},
    {"sensitivity", "window"},
    {"probe", "linear_filters"}, {"row_ring"}, {"random_cuts"}, {"random_trees"},
    {"forest"}, {"one_row"},
    {"leaf_draws", "forest_draws"},
]  # fmt: skip
MIXTURES_ORDER = [
    {"chain", "decoder", "special", "addresses", "watch", "dynamic_means"},
    {"clusters", "shares", "topic_parts"},
    {"spheres", "directions", "topic_sweep", "topic_gaussians", "topic_words"},
    {"subspaces", "scores", "candidates", "topic_splits"}, {"tallies"}, {"sweeps"},
    {"soft_sweep", "tree_sampler"}, {"emissions"},
    {"regressions", "words", "phase"}, {"splits"}, {"ddp"},
]  # fmt: skip
CORE_FOLDERS = {
    "dyntree._core": CORE_ORDER,
    "dyntree._core.trees": TREES_ORDER,
    "dyntree._core.mixtures": MIXTURES_ORDER,
}
PYTHON_ORDER = [
    {"_core"}, {"errors"}, {"params"}, {"runtime"}, {"storage", "encoding"},
    {"checkpoint", "summaries"}, {"trees", "mixtures"}, {"keyed"}, {"evaluate"},
    {"datasets"},
    {"__init__"}, {"api"}, {"formula", "demo"}, {"commands"}, {"cli"},
    {"__main__"},
]  # fmt: skip
# The same for the files of a folder.
FOLDER_ORDER = {
    "params": [{"checks", "labels", "names"}, {"faces"}, {"table"}, {"options"}],
    "runtime": [
        {"locking", "progress", "seeds", "blas", "release", "records"},
        {"parallel", "config"}, {"online"},
    ],
    "storage": [
        {"plain", "one_writer"}, {"atomic_files"}, {"archive", "positions"},
    ],
    "summaries": [{"real", "draws"}, {"labels", "counts", "effects", "trees"}],
    "evaluate": [
        {"scores", "alarm", "delayed", "repeats", "residuals", "bad_rows"},
        {"baselines", "density"}, {"prequential_runs"},
    ],
    "encoding": [
        {"values", "row_alignment", "formula_calls", "frames"},
        {"as_text"}, {"columns", "bases"},
        {"levels", "series", "splines"},
        {"tables", "targets", "codings", "fitted_terms"},
        {"row_input", "expressions", "gaps"},
        {"factors", "evaluation", "feature_map"},
        {"inverses", "required_columns"}, {"growing_map", "design"}, {"contrasts"},
        {"raw_rows"},
    ],
    "trees": [
        {"state", "learner_options"}, {"forest_options", "linear_options"},
        {"learning"},
        {"files", "answers"}, {"learner_files", "forest_files", "linear_files", "base"},
        {"view", "row_learner"},
        {"model", "random_trees", "linear_stream", "sobol"}, {"streaming"},
        {"averages"}, {"factory"},
    ],
    "trees/learning": [
        {"scaling", "growth", "weights", "exposures"}, {"level_effects"},
        {"check", "parts", "windows"},
        {"warmup"}, {"pieces"},
    ],
    "trees/answers": [
        {"linear_draws", "linear_laws", "level_effects"}, {"draws", "predictions"},
        {"criteria"},
        {"sensitivity"},
    ],
    "trees/averages": [
        {"view", "memories", "robust", "effects"}, {"base"}, {"stream", "tables"},
    ],
    "keyed": [
        {"keys", "weights", "laws", "state", "key_file"},
        {"rows", "own", "shared", "blobs", "snapshots"},
        {"store", "files"}, {"model"}, {"parts"},
    ],
    # companions know nothing of one another
    "mixtures": [
        {"shared"}, {"neighbours"}, {"sva", "ddp", "hdp", "canopy", "cover_tree"},
        {"teaching"},
    ],
    "mixtures/shared": [
        {"arrays", "checks", "rows"}, {"base", "lattice", "lineage"},
        {"outlying", "phases"},
    ],
    "mixtures/sva": [
        {"options", "records", "semi_markov", "background", "misfit",
         "column_laws"},
        {"resolution", "gaps"}, {"tied"}, {"state", "emission", "scales"},
        {"files"}, {"model"},
        {"subspaces", "task_frames", "tracking"}, {"dpgmm", "dpmppca"},
        {"sequence_scales", "dynamic_means"}, {"hdphsmm"}, {"task_parameterized"},
    ],
    "mixtures/ddp": [
        {"transitions", "records", "scales", "blocks", "nearness"},
        {"families", "shapes"},
        {"input", "gaussian", "multinomial", "regression"}, {"options"}, {"state"},
        {"sampling", "merging", "superposing", "files", "renaming"},
        {"rejoining"}, {"learning"},
        {"model"},
    ],
    "mixtures/canopy": [
        {"components", "groups", "options", "records"},
        {"counts", "gaussians"}, {"families", "parquet"},
        {"scaling"}, {"starts", "shards", "user_components", "state"}, {"sweep_loop"},
        {"parts"}, {"files"}, {"model"},
    ],
    "mixtures/hdp": [
        {"options", "records", "families"}, {"limits", "store"},
        {"batch", "row_store", "word_store", "topics"},
        {"rows", "words", "gaussian", "multinomial", "sweeps"}, {"registry"},
        {"state"}, {"context", "grouping", "moves", "starting", "input", "files"},
        {"building", "compression", "rejoining"}, {"learning", "scoring"}, {"model"},
        {"merging", "reports"},
    ],
}  # fmt: skip
# Faces that use another. Plots are a face for people and where the others draw; they
# know none of them. A formula makes results, and these make predictions.
FACE_USES = {
    "formula": {
        "results", "terms", "formula_files", "fitted_model", "model_rows",
        "row_weights", "offsets", "markup",
    },
    "results": {
        "predictions", "effects", "variables", "plots", "fitted_model", "model_rows",
        "back_transform", "order_evidence", "row_weights", "offsets",
        "summary_tables",
    },
    "fitted_model": {"row_weights", "model_rows", "offsets"},
    "model_rows": {"row_weights", "offsets"},
    "summary_tables": {"markup"},
    "predictions": {"offsets"}, "variables": {"effects"},
    "back_transform": {"predictions"},
    "order_evidence": {"fitted_model"},
    "comparing": {"formula", "results", "order_evidence", "offsets"},
    "multi_response": {
        "formula", "results", "predictions", "back_transform", "summary_tables",
    },
    "draws": {"plots"}, "report": {"plots", "markup"}, "rmirror": {"plots"},
}  # fmt: skip
# Packages that only the function which uses them may import.
HEAVY = {
    "pandas", "statsmodels", "matplotlib", "tqdm", "joblib", "formulaic", "sklearn",
    "rpy2", "river", "xarray", "narwhals", "polars", "distributed",
    "pyspark",
}  # fmt: skip
# Faces that are for one package, and of no use without it.
FACES_OF = {
    "dyntree/api/estimators": "sklearn",
    "dyntree/api/adapters": "river",
    "dyntree/api/draws.py": "xarray",
    "dyntree/api/distributed.py": "distributed",
    "dyntree/api/spark.py": "pyspark",
    "dyntree/api/summary_tables.py": "statsmodels",
}
EXTRAS = {
    "statsmodels": "formula",
    "pyspark": "spark",
}  # that bring a package of another name


def level(name: str, order: list[set[str]]) -> int:
    (found,) = (k for k, names in enumerate(order) if name in names)
    return found


def room(path: Path) -> str:
    """File or folder of the package that holds a file."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    bridge = ROOT / "rbridge"
    found = [*PACKAGE.rglob("*.py"), *(bridge.rglob("*.py") if bridge.is_dir() else [])]
    return sorted(found)


def is_for_types(node: ast.AST) -> bool:
    """Whether a block is for type checkers alone."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """Names imported by a Python file, and whether the module itself does so."""
    return list(read_imports(path))


def read_imports(path: Path) -> Iterator[tuple[str, bool]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or is_for_types(node)
        for child in ast.walk(node)
    }
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node not in inside
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}", node not in inside


def cython_imports(path: Path) -> set[str]:
    """Modules of the package that a Cython file imports or cimports."""
    text = path.read_text(encoding="utf-8")
    found = set()
    for base, names in re.findall(
        r"^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n]*)", text, re.MULTILINE
    ):
        if base in CORE_FOLDERS:
            names = re.sub(r"#[^\n]*|[()]", "", names)
            listed = [name.split()[0] for name in names.split(",") if name.strip()]
            found |= {f"{base}.{name}" for name in listed}
        else:
            found.add(base)
    plain = re.findall(r"^\s*c?import\s+([\w.]+)", text, re.MULTILINE)
    return {name for name in found | set(plain) if name.startswith(("dyntree", "."))}


def place(name: str) -> tuple[str, int]:
    """Folder of a core module, and its level there."""
    package, _, module = name.rpartition(".")
    return package, level(module, CORE_FOLDERS[package])


def arrows_up(own: str, path: Path) -> list[str]:
    """What the file of a core module imports that is not below it.

    The folders know nothing of one another, but all know what models share; rng and
    rmath share a level.
    """
    package, height = place(own)
    found = []
    for name in sorted(cython_imports(path) - {own}):
        other = name.rpartition(".")[0]
        shared = other == "dyntree._core" != package
        near = {own, name} == {"dyntree._core.rng", "dyntree._core.rmath"}
        below = other == package and place(name)[1] < height
        if not (shared or near or below):
            found.append(name)
    return found


@pytest.mark.skipif(not list(CORE.glob("*.pyx")), reason="no source tree")
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CORE)))
def test_the_core_points_down(path: Path) -> None:
    own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    assert not arrows_up(own, path)


def test_an_arrow_that_points_up_is_found(tmp_path: Path) -> None:
    path = tmp_path / "moves.pyx"
    path.write_text(
        "from dyntree._core cimport linalg, student_mixture\n"
        "from dyntree._core.trees cimport arena, cloud, split_search\n"
        "from dyntree._core.trees.tree cimport descend\nimport dyntree.params\n"
    )
    level_mate, above, outside = "split_search", "cloud", "dyntree.params"
    core = {f"dyntree._core.trees.{name}" for name in (level_mate, above)}
    assert set(arrows_up("dyntree._core.trees.moves", path)) == core | {outside}
    path.write_text("from dyntree._core cimport rmath, student\n")
    assert arrows_up("dyntree._core.rng", path) == ["dyntree._core.student"]
    path.write_text("from dyntree._core.trees cimport pool\n")
    assert arrows_up("dyntree._core.student", path) == ["dyntree._core.trees.pool"]


def test_the_cython_reader_sees_what_it_should(tmp_path: Path) -> None:
    path = tmp_path / "x.pyx"
    path.write_text(
        "from dyntree._core cimport linalg, rmath as r\n"
        "from dyntree._core.trees.tree cimport (\n    descend,\n    gather)\n"
        "from dyntree._core.trees import (query,  # note\n  probe)\n"
        "cimport dyntree._core.trees.pool\nimport dyntree.params\n"
        "from libc.math cimport log\n"
    )
    core = {"linalg", "rmath", "trees.tree", "trees.query", "trees.probe", "trees.pool"}
    expected = {f"dyntree._core.{name}" for name in core} | {"dyntree.params"}
    assert cython_imports(path) == expected


def python_arrows_up(path: Path) -> list[str]:
    """What a Python file imports that is not below it."""
    bridge = ROOT / "rbridge" in path.parents
    own = "rbridge" if bridge else room(path)
    allowed = len(PYTHON_ORDER) if bridge else level(own, PYTHON_ORDER)
    found = []
    for name, _ in imports(path):
        top, *parts = name.split(".")
        if top == "rbridge" and own not in ("rbridge", "cli"):
            found.append(name)
        if top != "dyntree":
            continue
        other = parts[0] if parts else "__init__"
        if not ((PACKAGE / other).is_dir() or (PACKAGE / f"{other}.py").is_file()):
            other = "__init__"  # a name of the package itself, such as __version__
        if other == own:
            if not bridge and points_up_inside(path, parts):
                found.append(name)
        elif other != "data" and level(other, PYTHON_ORDER) >= allowed:
            found.append(name)
    return found


def points_up_inside(path: Path, parts: list[str]) -> bool:
    """Whether a file imports, from its own folder of the package, what is above it."""
    own = list(path.relative_to(PACKAGE).with_suffix("").parts)
    shared = 0
    while shared < min(len(own), len(parts)) and own[shared] == parts[shared]:
        shared += 1
    order = FOLDER_ORDER.get("/".join(own[:shared]))
    if order is None or shared == len(own) or shared == len(parts):
        return False
    if own[shared] == "__init__":  # which holds the public names, and no code
        return False
    return level(parts[shared], order) >= level(own[shared], order)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_python_points_down(path: Path) -> None:
    assert not python_arrows_up(path)


def test_an_arrow_of_python_that_points_up_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "dyntree")
    files = "learning/warmup", "learning/scaling", "learning/check", "files", "model"
    for name in (*(f"trees/{file}" for file in files), "params", "api/plots"):
        path = tmp_path / "dyntree" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    path = tmp_path / "dyntree" / "trees" / "learning" / "check.py"
    path.write_text(
        "import rbridge\nimport numpy\nfrom dyntree import params\n"
        "from dyntree.trees.learning import scaling\n\ndef f():\n"
        "    from dyntree.trees.learning import warmup\n"
        "    from dyntree.trees.model import DynamicTree\n"
        "    from dyntree.api.plots import plot_fit\n"
    )
    up = {"model.DynamicTree", "learning.warmup"}
    up = {f"dyntree.trees.{name}" for name in up}
    assert set(python_arrows_up(path)) == up | {"dyntree.api.plots.plot_fit", "rbridge"}
    path = tmp_path / "dyntree" / "trees" / "files.py"
    path.write_text("from dyntree.trees.learning.warmup import start_trees\n")
    assert not python_arrows_up(path)
    path = tmp_path / "dyntree" / "trees" / "state.py"
    path.write_text("from dyntree.trees.learning.warmup import start_trees\n")
    assert python_arrows_up(path) == ["dyntree.trees.learning.warmup.start_trees"]


LOOSE = {"__init__", "__main__", "cli", "datasets", "errors"}  # modules in no folder
MOST_ROOMS = 22


def test_modules_stand_in_rooms() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == LOOSE
    rooms = {room(path) for path in modules() if PACKAGE in path.parents}
    assert rooms == set().union(*PYTHON_ORDER) - {"_core"} | {"_core"} & rooms
    assert len(rooms) <= MOST_ROOMS


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_rooms_are_entered_from_outside_alone(path: Path) -> None:
    """A file imports its neighbours, not the public names of the folder it is in."""
    if PACKAGE not in path.parents or path.name == "__init__.py":
        return
    own = ".".join(path.relative_to(ROOT).parent.parts)
    for name, _ in imports(path):
        package, _, last = name.rpartition(".")
        is_module = any((path.parent / f"{last}{end}").exists() for end in ("", ".py"))
        assert own == "dyntree" or package != own or is_module, name


PAGE = ROOT / "vignettes" / "contributing.md"
SHOWN = re.compile(r"(?<=```text\n)cli .*?(?=\n```)", re.DOTALL)


def drawing() -> str:
    """The rooms, the highest first, with the first line of what each says of itself."""
    lines = []
    for rooms in reversed(PYTHON_ORDER):
        for name in sorted(rooms - {"__init__", "__main__"}):
            path = PACKAGE / f"{name}.py"
            path = path if path.is_file() else PACKAGE / name / "__init__.py"
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            lines.append(f"{name:11} {text.splitlines()[0]}")
        lines.append("")
    return "\n".join(lines).strip().replace("\n\n\n", "\n\n")


@pytest.mark.skipif(not PAGE.is_file(), reason="no source tree")
def test_the_page_draws_the_layers() -> None:
    found = SHOWN.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == drawing(), "run python -m tests.unit.test_layers"


def circles(paths: list[Path]) -> list[list[str]]:
    """Files that lead back to themselves by imports of any kind."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths
    }
    graph: dict[str, set[str]] = {}
    for own, path in names.items():
        wanted = {name for name, _ in imports(path)}
        wanted |= {name.rpartition(".")[0] for name in wanted}
        graph[own] = (wanted & set(names)) - {own}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [error.args[1]]
    return []


def test_no_file_leads_back_to_itself() -> None:
    """Imports inside functions and those for types alone are counted."""
    assert not circles(modules())


def test_a_circle_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("import two\n")
    two.write_text("def f():\n    from one import g\n")
    (found,) = circles([one, two])
    assert set(found) == {"one", "two"}


# Classes with a single subclass, and why the two are not one.
PAIRS = {
    "dyntree.errors.ArgumentError": "callers tell values of no usable type apart",
    "dyntree.runtime.online.Learner": "a protocol: evaluation asks no more of a model",
    "dyntree.runtime.online.Savable": "a protocol: a checkpoint asks no more of one",
    "dyntree.runtime.locking.ModelLock": "another lock replaces it, in copies alone",
    "dyntree.summaries.real.Prediction": "users have both, of numbers and of counts",
    "dyntree.summaries.counts.RateLaws": "laws of rates; those of counts are others",
    "dyntree.trees.view.TreeView": "users have both, of a tree and of an average",
    "dyntree.mixtures.canopy.gaussians.Spherical": "two families that are fitted",
    "dyntree.mixtures.ddp.options.SweepOptions": "finite baselines have these alone",
}


def subclasses(paths: list[Path]) -> dict[str, set[str]]:
    """Classes in some files, by their full names -> their direct subclasses there."""
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in paths
    }
    classes = {
        f"{module}.{node.name}": (module, node)
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    imported = {
        module: {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module, tree in trees.items()
    }
    found: dict[str, set[str]] = {name: set() for name in classes}
    for name, (module, node) in classes.items():
        for base in node.bases:
            first, *rest = ast.unparse(base).partition("[")[0].split(".")
            home = imported[module].get(first, f"{module}.{first}")
            package, _, last = ".".join([home, *rest]).rpartition(".")
            for other in classes:  # a package may have the class from a file of its own
                if other.startswith(f"{package}.") and other.endswith(f".{last}"):
                    found[other].add(name)
    return found


def test_a_class_is_one_class() -> None:
    """A base of a single class is joined with it, unless there is a reason."""
    found = {name for name, below in subclasses(modules()).items() if len(below) == 1}
    assert found == {*PAIRS}


def test_a_base_of_a_single_class_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("class A(B[int]):\n    pass\nclass B: pass\n")
    two.write_text("import one\nfrom one import A as C\nclass D(C): pass\n")
    assert subclasses([one, two]) == {
        "one.A": {"two.D"},
        "one.B": {"one.A"},
        "two.D": set(),
    }


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "api").rglob("*.py")), ids=lambda p: p.name
)
def test_faces_do_not_know_each_other(path: Path) -> None:
    own = path.relative_to(PACKAGE / "api").parts[0].removesuffix(".py")
    for name, _ in imports(path):
        if name.startswith("dyntree.api."):
            other = name.split(".")[2]
            assert other in {own} | FACE_USES.get(own, set()), f"{own} knows {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_packages_are_imported_inside_functions(path: Path) -> None:
    places = (path.relative_to(ROOT), path.relative_to(ROOT).parent)
    allowed = {FACES_OF.get(place.as_posix()) for place in places}
    for name, at_the_top in imports(path):
        package = name.split(".")[0]
        assert not at_the_top or package in allowed or package not in HEAVY, name


TESTS = ROOT / "tests" / "unit"


def test_tests_have_the_folders_of_the_source() -> None:
    folders = {p.parent.relative_to(TESTS) for p in TESTS.rglob("test_*.py")}
    for folder in folders - {Path("rbridge")}:
        assert (PACKAGE / folder).is_dir(), folder
    sources = {p.parent.relative_to(PACKAGE) for p in modules() if PACKAGE in p.parents}
    assert sources - folders <= {Path("formula"), Path("storage")}


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda p: str(p.relative_to(TESTS))
)
def test_tests_are_collected_without_what_is_optional(path: Path) -> None:
    asked = set(re.findall(r'importorskip\("(\w+)', path.read_text(encoding="utf-8")))
    faces = {
        face.removesuffix(".py").replace("/", "."): package
        for face, package in FACES_OF.items()
    }
    for name, at_the_top in imports(path):
        needed = {package for face, package in faces.items() if name.startswith(face)}
        needed |= {name.split(".")[0]} & {*FACES_OF.values(), "rpy2", "polars"}
        assert not at_the_top or needed <= asked, f"{name} is imported at the top"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        *[(name, HEAVY | {"hypothesis", "pytest"}) for name in (
            "dyntree", "dyntree.api.rmirror", "dyntree.evaluate")],
        ("dyntree.formula.api", {"formulaic", "narwhals", "pandas", "statsmodels"}),
        ("dyntree.api.report", {"matplotlib"}), ("rbridge", {"rpy2", "pandas"}),
    ],
)  # fmt: skip
def test_importing_loads_what_is_needed_only(module: str, absent: set[str]) -> None:
    code = (
        f"import {module}, json, sys\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr
    loaded = set(json.loads(process.stdout))
    assert module.split(".")[0] in loaded
    assert not loaded & absent


def test_importing_the_package_loads_no_model() -> None:
    code = (
        "import dyntree, json, sys\n"
        "names = [{*sys.modules}]\n"
        "import scipy.special.cython_special  # which may load more of SciPy\n"
        "names.append({*sys.modules})\n"
        "for name in ('DynamicTree', 'load', 'AveragedStream', 'mixtures'):\n"
        "    getattr(dyntree, name)\n"
        "    names.append({*sys.modules})\n"
        "print(json.dumps([sorted(one) for one in names]))"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr
    first, special, *others = (set(one) for one in json.loads(process.stdout))
    assert not {name.split(".")[0] for name in first} & {"numpy", "scipy"}
    for loaded in others[:-1]:
        assert "dyntree.mixtures" not in loaded
        assert not (loaded - special) & {
            "scipy.optimize",
            "scipy.linalg",
            "scipy.stats",
        }
    assert "dyntree.mixtures.hdp.model" in others[-1]


@pytest.mark.parametrize(
    "module", ["dyntree.cli", "dyntree.evaluate", "dyntree.mixtures"]
)
def test_statistics_and_optimisers_are_loaded_where_they_are_used(module: str) -> None:
    """SciPy's take longer to load than all else that a command needs."""
    code = (
        "import scipy.special.cython_special, sys  # which may load more of SciPy\n"
        "before = {*sys.modules}\n"
        f"import {module}\n"
        "loaded = {*sys.modules} - before\n"
        "assert not loaded & {'scipy.stats', 'scipy.optimize'}"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr


def test_public_names_are_there_before_they_are_asked_for() -> None:
    code = (
        "import dyntree\n"
        "assert {*dyntree.__all__} <= {*dir(dyntree)}\n"
        "private = {'Any', 'HOMES', 'find_spec', 'import_module', 'sys', 'RELEASE'}\n"
        "assert not private & {*dir(dyntree)}\n"
        "from dyntree import *\n"
        "assert DynamicTree is dyntree.DynamicTree is dyntree.trees.model.DynamicTree\n"
        "assert mixtures.Canopy.__name__ == 'Canopy'\n"
        "try:\n"
        "    dyntree.Canopy\n"
        "except AttributeError as error:\n"
        "    assert 'Canopy' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(("path", "package"), FACES_OF.items())
def test_a_missing_package_is_named_with_its_extra(path: str, package: str) -> None:
    module = path.removesuffix(".py").replace("/", ".")
    process = python(
        "-c", f"import sys; sys.modules[{package!r}] = None; import {module}"
    )
    assert process.returncode == 1
    last = process.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {module} needs ")
    extra = EXTRAS.get(package, package)
    assert last.endswith(f"pip install '.[{extra}]' in a clone of dyntree.")


def test_every_file_of_the_house_has_a_level() -> None:
    for path in modules():
        if PACKAGE in path.parents:
            level(room(path), PYTHON_ORDER)
            *folders, name = path.relative_to(PACKAGE).with_suffix("").parts
            for depth in range(1, len(folders) + 1):
                order = FOLDER_ORDER.get("/".join(folders[:depth]))
                below = [*folders, name][depth]
                if order is not None and below != "__init__":
                    level(below, order)
    for path in SOURCES:
        place(".".join(path.relative_to(ROOT).with_suffix("").parts))


STEADY = {"ndtri", "betainc"}  # of one name for Cython in SciPy 1.13 to 1.17
CIMPORT = re.compile(r"^from scipy\.special\S* cimport (\([^)]*\)|.*)$", re.MULTILINE)


def test_functions_that_versions_of_scipy_name_differently_are_not_cimported() -> None:
    """A build with one version is imported with others; see `_core/scipy_special`."""
    told = [found for path in SOURCES for found in CIMPORT.findall(path.read_text())]
    names = {part.split()[0] for text in told for part in text.strip("()").split(",")}
    assert names == STEADY


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(SHOWN.sub(lambda _: drawing(), text), encoding="utf-8")
