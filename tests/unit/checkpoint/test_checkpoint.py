"""Saved models: the same bytes, the same future, and nothing half-made."""

from __future__ import annotations

import io
import json
import os
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import (
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
    checkpoint,
)
from dyntree.errors import CheckpointError, FormulaFileWarning
from dyntree.storage import archive
from dyntree.storage.atomic_files import PART, STALE
from tests import kills, mutants
from tests.contract import check_twins
from tests.helpers import model_bytes, mostly_slow
from tests.unit.conftest import measures_memory, python, short_files
from tests.unit.models import MODELS, data, grown

SAVED = mutants.models()


def rows_for(model: Any, n: int = 40) -> tuple[Any, Any]:
    """More rows that a model of `mutants` can learn, missing values among them."""
    tree = model.tree
    X, y = data("class" if tree.options.model == "class" else "constant", n, seed=9)
    if tree.columns is not None:
        return [{"r": 0.5, "p": x, "q": "uvw"[k % 3]} for k, x in enumerate(X[:, 0])], y
    if tree.options.rules == "native":
        X[::4, 1] = np.nan
    if tree.options.classes and tree.is_ready and tree.options.rules == "native":
        y = [*y[:30], "a", True, 2, 3, "new", *y[35:]]
    return X, y


pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")


@pytest.mark.parametrize("kind", SAVED)
def test_what_comes_back_is_the_same_and_goes_on_alike(
    kind: str, tmp_path: Path
) -> None:
    model = SAVED[kind].copy()
    first, second = tmp_path / "a.dyn", tmp_path / "b.dyn"
    dyntree.save(model, first)
    dyntree.save(dyntree.load(first), second)
    assert first.read_bytes() == second.read_bytes()
    few = model.tree.options.n_particles < 100

    def go_on(twin: Any) -> None:
        twin.update(*rows_for(twin, 1000 if few else 40))
        for member in getattr(twin, "members", [twin]) if twin.is_ready else []:
            if not isinstance(member, RandomTreesStream | LinearStream):
                member.tree.rejuvenate()

    check_twins(model, go_on)


@pytest.mark.parametrize("seed", range(12))
def test_any_past_can_be_saved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    name = list(MODELS)[seed % len(MODELS)]
    native = {"model": MODELS[name]["model"]}
    model = DynamicTree(
        **(MODELS[name] if seed % 4 < 2 else native),
        n_particles=int(rng.integers(1, 40)),
        min_leaf=1 if seed % 4 > 1 and name == "class" else None,
        proposal=("luvar", "luall", "reject")[seed % 3],
        tree_prior=(0.99, 0.5),
        seed=seed,
    )
    X, y = data(name, 400, seed)
    X = np.round(X, 1) if seed % 2 else X  # rows that come again, on the splits
    model.update(X[:40], y[:40])
    for first in range(40, 400, 12):
        model.update(X[first : first + 12], y[first : first + 12])
        if name != "implicit" or seed % 4 > 1:
            n = int(rng.integers(0, min(20, model.n_active - 15)))
            gone = rng.choice(model.active_ids, n, replace=False)
            model.retire(gone, forget=float(rng.choice([1.0, 0.7])))
        if rng.random() < 0.1:
            model.rejuvenate()
        again = checkpoint.loads(checkpoint.dumps(model))
        assert model_bytes(again) == model_bytes(model)


@pytest.mark.parametrize("rules", ["native", "r"])
def test_it_goes_on_alike_in_another_process(rules: str, tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    model = StreamingTree("constant", rules=rules, window=20, n_particles=20, seed=1)
    X, y = data("constant", 60)
    dyntree.save(model.update(X[:31], y[:31]), path)
    code = (
        "import sys, dyntree\nfrom tests.unit.models import data\n"
        "X, y = data('constant', 60)\nm = dyntree.load(sys.argv[1])\n"
        "dyntree.save(m.update(X[31:], y[31:]), sys.argv[1])"
    )
    process = python("-c", code, str(path))
    assert process.returncode == 0, process.stderr
    assert path.read_bytes() == checkpoint.dumps(model.update(X[31:], y[31:]))


@pytest.mark.parametrize(
    "labels",
    [("a", "b"), (1, 0), (True, False), (0.5, -1e300), ("é\u20ac", ""), (2**70, -1)],
)
def test_labels_keep_their_types(labels: tuple[Any, ...]) -> None:
    X = np.linspace(0, 1, 40)[:, None]
    y = np.array([labels[k % 2] for k in range(40)], dtype=object)
    model = DynamicTree("class", n_particles=20, seed=1, classes=labels).update(X, y)
    again = checkpoint.loads(checkpoint.dumps(model))
    assert again.classes == labels
    assert [type(label) for label in again.classes] == [type(k) for k in labels]


def test_numbers_of_numpy_in_options_are_saved_as_plain_ones() -> None:
    model = DynamicTree(
        "class",
        n_particles=np.int64(5),  # type: ignore[arg-type]
        class_mass=np.float32(0.5),  # type: ignore[arg-type]
        classes=np.array([3, 4]),  # type: ignore[arg-type]
        seed=np.uint32(7),  # type: ignore[arg-type]
    )
    assert checkpoint.loads(checkpoint.dumps(model)).classes == (3, 4)


def test_log_evidence_may_be_minus_infinity() -> None:
    header, arrays = grown("constant").to_arrays()
    header["cloud"]["log_evidence"] = -np.inf
    model = DynamicTree.from_arrays(header, arrays)
    assert checkpoint.loads(checkpoint.dumps(model)).log_evidence == -np.inf


def test_a_model_of_another_class_is_refused(tmp_path: Path) -> None:
    class Mine(DynamicTree):
        pass

    for model in (Mine(seed=1), 7):
        with pytest.raises(ValueError, match="model must be a model of this package"):
            dyntree.save(model, tmp_path / "m.dyn")  # type: ignore[arg-type]


def test_faces_around_a_model_are_refused_with_what_to_do(tmp_path: Path) -> None:
    class Results:
        def save(self, path: str) -> None: ...

    class Estimator: ...

    for face, said in (
        (Results(), "got Results. Call its own save"),
        (Estimator(), "got Estimator. Pickle it, or save the model it holds"),
    ):
        with pytest.raises(ValueError, match=said):
            dyntree.save(face, tmp_path / "m.dyn")  # type: ignore[arg-type]


def test_arguments_the_other_way_round_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "m.dyn", str(tmp_path / "m.dyn")):
        with pytest.raises(ValueError, match="other way round"):
            dyntree.save(path, grown("constant"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a model of this package.*got str"):
        dyntree.save("m.dyn", tmp_path)  # type: ignore[arg-type]


def test_estimators_are_pickled_or_have_a_model(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")
    from dyntree.api.estimators import DPGMMClusterer

    estimator: Any = DPGMMClusterer(1.0)
    with pytest.raises(ValueError, match=r"Fit it first; then pickle it, or save its"):
        dyntree.save(estimator, tmp_path / "m.dyn")
    estimator.fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match=r"Pickle it, or save its model, \.model_\."):
        dyntree.save(estimator, tmp_path / "m.dyn")
    dyntree.save(estimator.model_, tmp_path / "m.dyn")


# ---------------------------------------------------------------- the file
def test_anyone_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    model = grown("constant")
    dyntree.save(model, path)
    with zipfile.ZipFile(path) as found:
        assert found.testzip() is None
        header = json.loads(found.read("header.json"))
        X = np.load(io.BytesIO(found.read("X.npy")), allow_pickle=False)
    assert header["format"] == "dyntree"
    assert header["model"]["seed"] == model.seed
    assert X.shape == (60, 2)


def large(kind: str, path: Path, n_particles: int = 1000) -> StreamingTree:
    """A stream of many particles and 500 rows, saved."""
    model = StreamingTree(kind, window=500, n_particles=n_particles, seed=1)
    dyntree.save(model.update(*data(kind, 1000)), path)
    return model


@pytest.mark.parametrize("kind", ["constant", "linear", "class"])
def test_size_on_disk(kind: str, tmp_path: Path) -> None:
    model = large(kind, tmp_path / "m.dyn")
    assert (tmp_path / "m.dyn").stat().st_size <= 1.2 * model.memory_usage()


@measures_memory
@pytest.mark.parametrize("kind", mostly_slow(["constant", "linear", "class"]))
def test_size_in_memory(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    large(kind, path, 4000)
    code = (
        "import sys, dyntree, numpy as np\n"
        "from pathlib import Path\n"
        "def held(what):\n"
        "    text = Path('/proc/self/status').read_text()\n"
        "    return int(text.split(what)[1].split()[0]) * 1024\n"
        "X = np.random.default_rng(0).random((40, 2))\n"
        "small = dyntree.DynamicTree(n_particles=5, seed=1).update(X, X[:, 0])\n"
        "small.__reduce__()[0](*small.__reduce__()[1])\n"
        "before = held('VmRSS:')\n"
        "model = dyntree.load(sys.argv[1])\n"
        "print(held('VmHWM:') - before, model.memory_usage())"
    )
    process = python("-c", code, str(path))
    assert process.returncode == 0, process.stderr
    peak, size = map(int, process.stdout.split())
    # An arena of the allocator of Python 3.13, and freed pages of the heap: 1.5 MB. A
    # third copy would be 8 to 10 MB, or 3 of labels.
    assert peak <= 2 * size + 2**21


def test_an_error_says_which_file_and_why(tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    path.write_text("no zip file")
    with pytest.raises(CheckpointError, match=r"m\.dyn cannot be loaded: it is not .*"):
        dyntree.load(path)
    with pytest.raises(FileNotFoundError):
        dyntree.load(tmp_path / "absent")


def test_a_later_version_is_named() -> None:
    header, arrays = archive.read(io.BytesIO(checkpoint.dumps(DynamicTree(seed=1))))
    file = io.BytesIO()
    assert header["release"] == dyntree.__version__
    archive.write(file, header | {"version": 99, "release": "9.1"}, arrays)
    words = r"version 99 .* reads version 1; .* that wrote it, 9\.1"
    with pytest.raises(CheckpointError, match=words):
        checkpoint.loads(file.getvalue())


def test_the_release_is_that_of_the_project() -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    said = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    assert said == dyntree.__version__


@pytest.mark.parametrize("length", [1, 100, 1000, 5000])
def test_a_file_that_lost_bytes_in_its_middle_is_broken(
    tmp_path: Path, length: int
) -> None:
    whole, path = checkpoint.dumps(grown("constant", 60)), tmp_path / "m.dyn"
    for start in range(0, len(whole) - length, max(1, len(whole) // 60)):
        path.write_bytes(whole[:start] + whole[start + length :])
        with pytest.raises(CheckpointError, match=r"m\.dyn cannot be loaded: its? "):
            dyntree.load(path)


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, text in members.items():
            made.writestr(name, text)
    return file.getvalue()


def claiming(shape: str) -> bytes:
    words = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return archive.MAGIC + len(words).to_bytes(2, "little") + words


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "zip"),
        (zipped({}), "header.json"),
        (zipped({"header.json": b"{}", "../x.npy": b""}), "has no known kind"),
        (zipped({"header.json": b"{}", "/etc/x": b""}), "has no known kind"),
        (zipped({"header.json": b" " * 10**6}, zipfile.ZIP_DEFLATED), "kind"),
        (zipped({"header.json": b"[" * 10**6}), "broken"),
        (zipped({"header.json": b"[]"}), "not a JSON object"),
        (zipped({"header.json": b'{"a": NaN}'}), "not JSON"),
        (zipped({"header.json": b"1" * 10**5}), "broken"),
        (zipped({"header.json": b" " * (1 << 24) + b"{}"}), "header has"),
        (zipped({"header.json": b"{}"}), "not a file of dyntree"),
        (zipped({f"x{k}.npy": b"" for k in range(100)}), "do not belong"),
        (zipped({"header.json": b"{}", "x.npy": b"\x80\x04."}), "broken"),
        (zipped({"header.json": b"{}", "x.npy": b"\x80\x04.     " * 9}), "an array of"),
        (zipped({"header.json": b"{}", "x.npy": claiming("(10,)")}), "long"),
        (zipped({"header.json": b"{}", "x.npy": claiming("(0, 9" + "9" * 17 + ")")}),
         "not a file of dyntree"),
        (zipped({"header.json": b"{}", "x.npy": claiming("(9" + "9" * 30 + ",)")}),
         "an array of"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        checkpoint.loads(data)


def test_members_that_overlap_are_refused() -> None:
    data = bytearray(zipped({"header.json": b"{}", "x.npy": b"1" * 5000}))
    ends = data.rindex(b"PK\x01\x02")
    for place in (ends + 20, ends + 24):
        data[place : place + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(CheckpointError, match="claim more bytes"):
        checkpoint.loads(bytes(data))


def test_mutants_are_refused_or_sound() -> None:
    process = python("-m", "tests.mutants", "0", "300")
    assert process.returncode == 0, process.stderr
    n_tried, n_loaded = map(int, process.stdout.split())
    assert n_tried == 300
    assert 10 < n_loaded < 100


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("leaf_sums", lambda a: a[:, :-1].copy()),
        ("leaf_rows", lambda a: a + 1),
        ("leaf_rows", lambda a: a[::-1].copy()),
        ("leaf_shape", lambda a: a * 2),
        ("roots", lambda a: a[:-1].copy()),
        ("roots", lambda a: a * 1000),
        ("roots", lambda a: np.zeros_like(a)),
        ("split_links", lambda a: a[:, [1, 0, 2, 3]].copy()),
        ("split_links", lambda a: a[:, [0, 0, 2, 3]].copy()),
        ("split_variable", lambda a: a + 2),
        ("split_variable", lambda a: a - 2),
        ("split_value", lambda a: a * np.nan),
        ("split_value", lambda a: a + 0.1),
        ("X", lambda a: a[:, :1].copy()),
        ("X", lambda a: a * 1e200),
        ("y", lambda a: a + np.inf),
        ("row_ids", lambda a: a * 0),
        ("random_state", lambda a: a[:1].copy()),
        ("spans", lambda a: a[:1].copy()),
        ("spans", lambda a: a[:, [1, 0, 2, 3]].copy()),
        ("spans", lambda a: a * [1.0, 0.5, 1.0, 1.0]),
        ("spans", lambda a: a * [1.0, 1.0, 0.0, 1.0]),
        ("spans", lambda a: a * [1.0, 1.0, 2.0, 1.0]),
        ("spans", lambda a: a * [np.nan, 1.0, 1.0, 1.0]),
        ("spans", lambda a: a * [1.0, 1e200, 1.0, 1.0]),
        ("spans", lambda a: a - [0.0, 0.0, 0.0, 1.0]),
        ("spans", lambda a: a - [0.0, 0.0, 0.0, -1e9]),
        ("waiting_X", lambda a: np.ones((2, 2))),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, change: Any) -> None:
    header, arrays = grown("constant", rules="native").to_arrays()
    with pytest.raises(ValueError, match="valid model"):
        DynamicTree.from_arrays(header, arrays | {name: change(arrays[name])})


@pytest.mark.parametrize(
    ("name", "value"),
    [("b0", [0.1, 0.2]), ("b0", []), ("relaxed", "1"), ("centre", 0.0), ("b0", -1.0)],
)
def test_a_prior_that_does_not_fit_is_refused(name: str, value: Any) -> None:
    header, arrays = grown("constant", rules="native").to_arrays()
    header["cloud"]["leaf_model"][name] = value
    with pytest.raises(ValueError, match=name):
        DynamicTree.from_arrays(header, arrays)


def test_a_tree_in_circles_or_shared_in_two_places_is_refused() -> None:
    header, arrays = grown("constant", rules="native").to_arrays()
    links = arrays["split_links"].copy()
    links[:, 2] = 0
    with pytest.raises(CheckpointError, match="circles"):
        DynamicTree.from_arrays(header, arrays | {"split_links": links})
    deep = arrays["leaf_shape"].copy()
    deep[0, 0] = 2**30
    with pytest.raises(CheckpointError, match="depth"):
        DynamicTree.from_arrays(header, arrays | {"leaf_shape": deep})


# ---------------------------------------------------------------- whole or not at all
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    dyntree.save(grown("constant", 20), path)
    old = path.read_bytes()
    big = grown("constant", 400)
    fails = pytest.raises(OSError, match=r"File too large; the file .* as it was")
    with short_files(len(old)), fails:
        dyntree.save(big, path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.dyn"]


def test_an_interrupt_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.dyn"
    dyntree.save(grown("constant", 20), path)
    old = path.read_bytes()

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dyntree.save(grown("class"), path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.dyn"]


@pytest.mark.parametrize("path", ["absent/m.dyn", "."])
def test_a_path_that_cannot_be_written(path: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot be written"):
        dyntree.save(DynamicTree(seed=1), tmp_path / path)
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.dyn", tmp_path / "link.dyn"
    link.symlink_to(target)
    dyntree.save(DynamicTree(seed=1), link)
    assert link.is_symlink()
    assert dyntree.load(target).seed == 1


def test_a_killed_save_leaves_a_whole_file(tmp_path: Path) -> None:
    kills.tear(tmp_path, 3, 0)


def test_what_killed_saves_left_goes_in_time(tmp_path: Path) -> None:
    path, model = tmp_path / "m.dyn", DynamicTree(seed=1)
    old, young, other = (
        tmp_path / name
        for name in (
            f".m.dyn.{8 * 'a'}{PART}",
            f".m.dyn.{8 * 'b'}{PART}",
            ".m.dyn.aa.part",
        )
    )
    for part in (old, young, other):
        part.write_bytes(b"half")
    for part in (old, other):
        os.utime(part, (time.time() - 2 * STALE, time.time() - 2 * STALE))
    dyntree.save(model, path)
    assert {*tmp_path.iterdir()} == {path, young, other}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_read_only_stays_apart_from_the_model(name: str) -> None:
    model = checkpoint.loads(checkpoint.dumps(grown(name)))
    for _, array in model.to_arrays()[1].items():
        assert array.flags.writeable


def test_a_formula_with_an_offset_is_more_than_its_trees(tmp_path: Path) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = {"a": [k / 30 for k in range(30)], "e": [100.0] * 30}
    data["y"] = [100.0 + a for a in data["a"]]
    for formula in ("y ~ a", "y ~ a + offset(e)"):
        fit = dtf.dynamic_tree(formula, data, n_particles=5, seed=1).fit()
        fit.save(tmp_path / "m.dyn")
        assert dtf.load(tmp_path / "m.dyn").nobs == 30
        if formula == "y ~ a":
            assert dyntree.load(tmp_path / "m.dyn").n_seen == 30
    with pytest.warns(FormulaFileWarning, match="predict without its offset"):
        dyntree.load(tmp_path / "m.dyn")


@pytest.mark.parametrize(
    "formula",
    ["log(y) ~ a", "y ~ a:e", "y ~ poly(a, 2)", "y ~ c", "y ~ I(a)", "y ~ a + day"],
)
def test_trees_of_other_columns_than_those_of_a_file_are_warned_of(
    formula: str, tmp_path: Path
) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = {"a": [k / 30 for k in range(30)], "e": [k % 7 for k in range(30)]}
    data |= {"y": [9.0 + a for a in data["a"]], "c": [*"uvw" * 10]}
    data["day"] = np.datetime64("2024-01-01") + np.arange(30)
    fit = dtf.dynamic_tree(formula, data, n_particles=5, seed=1).fit()
    fit.save(tmp_path / "m.dyn")
    with pytest.warns(
        FormulaFileWarning, match="take other columns or predict another"
    ):
        dyntree.load(tmp_path / "m.dyn")
