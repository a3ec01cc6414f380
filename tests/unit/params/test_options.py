"""Options have one declaration: every face has their names and their defaults."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
    cli,
    mixtures,
    params,
)
from dyntree.api.formula import DynamicTreeModel
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.ddp.options import DDP_OPTIONS
from dyntree.mixtures.hdp.options import HDP_SETTINGS
from dyntree.mixtures.sva.options import (
    DYNAMIC_MEANS_OPTIONS,
    GMM_OPTIONS,
    HSMM_OPTIONS,
    MPPCA_OPTIONS,
)
from dyntree.params import OPTIONS, STREAM_OPTIONS, TREE_OPTIONS, only_for
from dyntree.trees.factory import make_tree
from dyntree.trees.forest_options import FOREST_OPTIONS
from dyntree.trees.linear_options import LINEAR_OPTIONS

DECLARED = {**TREE_OPTIONS, **STREAM_OPTIONS, "seed": None}
FORESTS = FOREST_OPTIONS | {"seed": None}
CANOPY = params.defaults_of(MixtureOptions) | {"prior": None, "seed": None}

# What a face leaves out, and why: R's rules, and what needs them, are for the mirror;
# one leaf model has no use for the options of another; scikit-learn's frames name no
# categories, and in river levels are columns like others.
OF_R, WINDOW = only_for("r"), set(STREAM_OPTIONS)
NUMBERS, LABELS = only_for("real", "linear"), only_for("class")
COUNTS, SLOPES = only_for("count"), only_for("slopes")
LEVELS = {"categories", "new_levels"}
TABLE = OF_R | {"categories", "seed"}
ROW = OF_R | LEVELS

# What a face has of its own, and the defaults it changes: whole tables are held by
# default, and a formula tells by its response whether trees classify.
JOBS = {"n_jobs": None, "random_state": None}
WHOLE = {"window": None, "n_particles": None}
CLOUDS = WHOLE | JOBS | {"n_clouds": None}
GROWS = {"new_columns": "grow"}
RIVER = GROWS | {"window": "auto", "n_particles": None}
FORMULA = WHOLE | {
    "weights": None, "freq_weights": None, "offset": None, "exposure": None,
    "model": None, "missing": "none", "new_levels": "grow", "n_clouds": None,
}  # fmt: skip
AVERAGE = {"n_particles": None}
EMPTY = inspect.Parameter.empty
SEED, PASSES, THREADS = {"seed": None}, {"n_passes": 1}, {"threads": None}
FITS = {
    "n_init": 1, "warm_start": False, "validation": None, "callback": None,
    "progress": False,
}  # fmt: skip


KEYED = {
    "model": None, "key": None, "window": 50, "n_particles": 30, "members": None,
    "own": True, "classes": None, "categories": None, "discount": 0.98,
    "tempering": 0.3, "block": 100, "full_rows": 5000, "thin": 16, "hot": 500,
    "late": "drop", "store": None, "seed": None,
}  # fmt: skip
FOR_KEYS = {"classes", "categories", "store"}  # left out by faces
# Of a face: what is declared, what of this it has not, and what it has of its own.
Face = tuple[Any, Mapping[str, Any], set[str], dict[str, Any]]
FACES: dict[str, Face] = {
    "tree": (DynamicTree, DECLARED, WINDOW, {}),
    "stream": (StreamingTree, DECLARED, set(), {}),
    "averaged stream": (
        AveragedStream, DECLARED, OF_R | WINDOW,
        AVERAGE | {
            "members": None, "linear": True, "discount": 0.98, "tempering": 0.2,
        },
    ),
    "averaged trees": (
        AveragedTrees, DECLARED, OF_R | WINDOW,
        AVERAGE | {"n_clouds": 10, "shuffle": True, "linear": True},
    ),
    "arrays": (DynamicTreeModel, DECLARED, OF_R | {"weighting"}, FORMULA),
    "formula": (
        DynamicTreeModel.from_formula, DECLARED, OF_R | {"weighting"},
        FORMULA | {"subset": None, "drop_cols": None},
    ),
    "random trees": (RandomTreesStream, FORESTS, set(), {}),
    "regressions": (LinearStream, LINEAR_OPTIONS | {"seed": None}, set(), {}),
    "keys": (KeyedStream, KEYED, set(), {}),
    "DPGMM": (mixtures.OnlineDPGMM, GMM_OPTIONS, set(), SEED),
    "DPMPPCA": (mixtures.OnlineDPMPPCA, MPPCA_OPTIONS, set(), SEED),
    "HDPHSMM": (mixtures.OnlineHDPHSMM, HSMM_OPTIONS, set(), SEED),
    "DDP": (mixtures.DependentDPMixture, DDP_OPTIONS, set(), SEED),
    "HDP": (
        mixtures.MemoryBoundedHDP, HDP_SETTINGS, set(),
        SEED | THREADS | {"callback": None},
    ),
    "Canopy": (
        mixtures.Canopy, CANOPY, {"sweeps"},
        {"options": None, "batch_size": 10_000} | THREADS,
    ),
    "estimators.DynamicTreeRegressor": (
        None, DECLARED, TABLE | LABELS | COUNTS, CLOUDS
    ),
    "estimators.DynamicTreeCountRegressor": (
        None, DECLARED, TABLE | LABELS | NUMBERS | SLOPES,
        CLOUDS | {"model": "negbin"},
    ),
    "estimators.DynamicTreeClassifier": (
        None, DECLARED, TABLE | NUMBERS | COUNTS | {"classes"},
        CLOUDS | {"class_weight": None, "model": "class"},
    ),
    "estimators.RandomTreesRegressor": (
        None, FORESTS, {"model", "categories", "seed"} | LABELS, JOBS
    ),
    "estimators.RandomTreesClassifier": (
        None, FORESTS, {"model", "classes", "categories", "weighting", "seed"},
        JOBS | {"class_weight": None},
    ),
    "estimators.KeyedRegressor": (
        None, KEYED, FOR_KEYS | {"late", "seed"},
        {"model": "linear", "random_state": None},
    ),
    "estimators.KeyedClassifier": (
        None, KEYED, FOR_KEYS | {"late", "seed"},
        {"model": "class", "random_state": None},
    ),
    "estimators.DPGMMClusterer": (None, GMM_OPTIONS, set(), PASSES),
    "estimators.DPMPPCAClusterer": (None, MPPCA_OPTIONS, set(), PASSES),
    "estimators.HDPHSMMClusterer": (None, HSMM_OPTIONS, set(), PASSES),
    "estimators.DependentDPClusterer": (
        None, DDP_OPTIONS, set(), {"family": None, "random_state": None}
    ),
    "estimators.DynamicMeansClusterer": (
        None, DYNAMIC_MEANS_OPTIONS, set(), {"random_state": None}
    ),
    "estimators.MemoryBoundedTopics": (None, HDP_SETTINGS, set(), JOBS),
    "estimators.CanopyMixture": (
        None, CANOPY, {"sweeps", "seed"},
        FITS | JOBS | {"options": None, "n_components": None},
    ),
    "adapters.RiverDynamicTreeRegressor": (
        None, DECLARED, ROW | LABELS | {"first_split", "n_basis"},
        RIVER | {"exposure": None},
    ),
    "adapters.RiverDynamicTreeClassifier": (
        None, DECLARED, ROW | NUMBERS | COUNTS | SLOPES | {"classes"},
        RIVER | {"model": "class"},
    ),
    "adapters.RiverRandomTreesRegressor": (
        None, FORESTS, LEVELS | {"model"} | LABELS, GROWS
    ),
    "adapters.RiverRandomTreesClassifier": (
        None, FORESTS, LEVELS | {"model", "classes", "weighting"}, GROWS
    ),
    "adapters.RiverKeyedRegressor": (None, KEYED, FOR_KEYS, {"model": "linear"}),
    "adapters.RiverKeyedClassifier": (None, KEYED, FOR_KEYS, {"model": "class"}),
    "adapters.RiverDPGMMClusterer": (None, GMM_OPTIONS, set(), {}),
    "adapters.RiverDPMPPCAClusterer": (None, MPPCA_OPTIONS, set(), {}),
    "adapters.RiverHDPHSMMClusterer": (None, HSMM_OPTIONS, set(), {}),
}  # fmt: skip
NO_OPTIONS = {"RiverAnomalyDetector", "RiverChangeAlarm", "RowDistribution"}


def library_of(face: str) -> Any:
    """The module of estimators or adapters, if its library is installed."""
    kind, dot, _ = face.partition(".")
    if dot:
        pytest.importorskip({"estimators": "sklearn", "adapters": "river"}[kind])
    return importlib.import_module(f"dyntree.api.{kind}") if dot else None


@pytest.mark.parametrize("face", FACES)
def test_a_face_has_the_names_and_defaults_that_are_declared(face: str) -> None:
    model, declared, left_out, changed = FACES[face]
    if library := library_of(face):
        model = getattr(library, face.partition(".")[2])
    found = inspect.signature(model).parameters
    expected = {k: v for k, v in declared.items() if k not in left_out} | changed
    own = {k: one.default for k, one in found.items() if k in expected}
    assert own == expected
    no_defaults = {k for k, one in found.items() if one.default is EMPTY}
    assert found.keys() - expected <= no_defaults  # rows and formulas
    if library:  # whose parameters are derived
        docs = params.faces.parameter_docs(model)
        assert {*docs} == {*expected}


@pytest.mark.parametrize("kind", ["estimators", "adapters"])
def test_every_face_is_compared(kind: str) -> None:
    names = {*library_of(f"{kind}.").__all__} - NO_OPTIONS
    assert {f"{kind}.{name}" for name in names} <= FACES.keys()


def test_a_command_has_the_options_that_the_table_gives_a_shell() -> None:
    given = vars(
        cli.parser().parse_args(["fit", "T", "--formula", "y ~ .", "--out", "M"])
    )
    named = {name for name, one in OPTIONS.items() if one.shell}
    assert named <= given.keys()
    assert named | {"seed"} == DECLARED.keys() & given.keys()
    others = {"window": 0, "categories": [], "drift": False, "robust": False}
    for name in named:  # None: what is not named
        assert given[name] in (None, others.get(name)), name


def test_the_factory_takes_every_option() -> None:
    given = {name: value for name, value in DECLARED.items() if name != "window"}
    assert isinstance(make_tree(given | {"n_clouds": 1}), DynamicTree)
    assert isinstance(make_tree(given), AveragedTrees)
    assert isinstance(make_tree(DECLARED), StreamingTree)
    auto = DECLARED | {"window": "auto", "n_particles": None, "model": "linear"}
    averaged = make_tree(auto)
    assert isinstance(averaged, AveragedStream)
    assert averaged.options.n_particles == 100
    clouds = make_tree(given | {"n_clouds": 3, "n_particles": 7})
    assert isinstance(clouds, AveragedTrees)
    assert (len(clouds), clouds.options.n_particles) == (3, 7)
