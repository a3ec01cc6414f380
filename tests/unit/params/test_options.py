"""Options have one declaration: every face has their names and their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
    cli,
)
from dyntree.api.formula import DynamicTreeModel
from dyntree.params import STREAM_OPTIONS, TREE_OPTIONS
from dyntree.trees.factory import make_tree
from dyntree.trees.forest_options import FOREST_OPTIONS

DECLARED = {**TREE_OPTIONS, **STREAM_OPTIONS, "seed": None}

# What a face leaves out, and why: R's rules, and what needs them, are for the mirror;
# one leaf model has no use for the options of another; scikit-learn's frames name no
# categories, and in river levels are columns like others.
OF_R = {"rules", "n_start", "variance_prior"}
LEVELS = {"categories", "new_levels"}
REAL = {"prior", "intercept", "first_split", "n_basis"}
REGRESSION = REAL | {"model", "weighting", "dispersion", "robust"}
WINDOW = set(STREAM_OPTIONS)
COMMAND = {
    "model", "window", "discard", "forget", "drift", "rejuvenate_every", "n_particles",
    "rules", "intercept", "min_leaf", "categories", "new_levels", "weighting", "seed",
    "dispersion", "robust", "classes",
}  # fmt: skip

# What a face has of its own, and the defaults it changes: whole tables are held by
# default, and a formula tells by its response whether trees classify.
WHOLE = {"window": None, "n_particles": None}
CLOUDS = {"n_clouds": None, "n_jobs": None, "random_state": None}
RIVER = {"new_columns": "grow", "window": "auto", "n_particles": None}


def sklearn(name: str) -> Callable[..., Any]:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api import estimators

    return getattr(estimators, name)


def river(name: str) -> Callable[..., Any]:
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api import adapters

    return getattr(adapters, name)


def command() -> dict[str, Any]:
    """Options of a command, with the defaults of its parser."""
    given = cli.parser().parse_args(["fit", "T", "--formula", "y ~ .", "--out", "M"])
    return {name: value for name, value in vars(given).items() if name in DECLARED}


def arguments(face: Callable[..., Any]) -> dict[str, Any]:
    """Arguments of a face that have defaults."""
    return {
        name: one.default
        for name, one in inspect.signature(face).parameters.items()
        if one.default is not inspect.Parameter.empty
    }


FACES: dict[str, tuple[Callable[[], Mapping[str, Any]], set[str], dict[str, Any]]] = {
    "tree": (lambda: arguments(DynamicTree), WINDOW, {}),
    "stream": (lambda: arguments(StreamingTree), set(), {}),
    "averaged stream": (
        lambda: arguments(AveragedStream),
        OF_R | WINDOW,
        {"n_particles": 100, "members": None, "discount": 0.98, "tempering": 0.3},
    ),
    "averaged trees": (
        lambda: arguments(AveragedTrees),
        OF_R | WINDOW,
        {"n_particles": 100, "n_clouds": 10, "shuffle": True},
    ),
    "sklearn regressor": (
        lambda: arguments(sklearn("DynamicTreeRegressor")),
        OF_R | {"classes", "class_mass", "categories", "seed", "dispersion"},
        WHOLE | CLOUDS,
    ),
    "sklearn regressor of counts": (
        lambda: arguments(sklearn("DynamicTreeCountRegressor")),
        OF_R
        | REAL
        | {"classes", "class_mass", "categories", "seed", "weighting", "robust"},
        WHOLE | CLOUDS | {"model": "negbin"},
    ),
    "sklearn classifier": (
        lambda: arguments(sklearn("DynamicTreeClassifier")),
        OF_R | REGRESSION | {"classes", "categories", "seed"},
        WHOLE | CLOUDS | {"class_weight": None},
    ),
    "river regressor": (
        lambda: arguments(river("RiverDynamicTreeRegressor")),
        OF_R | LEVELS | {"classes", "class_mass", "first_split", "n_basis"},
        RIVER | {"exposure": None},
    ),
    "river classifier": (
        lambda: arguments(river("RiverDynamicTreeClassifier")),
        OF_R | LEVELS | REGRESSION | {"classes"},
        RIVER,
    ),
    "arrays": (
        lambda: arguments(DynamicTreeModel),
        OF_R | {"weighting"},  # which weights tell
        WHOLE
        | {"weights": None, "freq_weights": None, "offset": None, "exposure": None}
        | {"model": None, "missing": "none", "new_levels": "grow", "n_clouds": 1},
    ),
    "formula": (
        lambda: arguments(DynamicTreeModel.from_formula),
        OF_R | {"weighting"},
        WHOLE
        | {"weights": None, "freq_weights": None, "offset": None, "exposure": None}
        | {"model": None, "missing": "none", "new_levels": "grow", "n_clouds": 1}
        | {"subset": None, "drop_cols": None},
    ),
    "command": (
        command,
        set(DECLARED) - COMMAND,
        # what is not named
        {"categories": [], "model": None, "new_levels": None, "n_particles": None}
        | {"robust": None},
    ),
}  # fmt: skip


JOBS = {"n_jobs": None, "random_state": None}
FORESTS: dict[str, tuple[Callable[[], Any], set[str], dict[str, Any]]] = {
    "stream": (lambda: RandomTreesStream, set(), {"seed": None}),
    "sklearn regressor": (
        lambda: sklearn("RandomTreesRegressor"),
        {"model", "classes", "class_mass", "categories"},
        JOBS,
    ),
    "sklearn classifier": (
        lambda: sklearn("RandomTreesClassifier"),
        {"model", "classes", "categories", "weighting"},
        JOBS | {"class_weight": None},
    ),
    "river regressor": (
        lambda: river("RiverRandomTreesRegressor"),
        LEVELS | {"model", "classes", "class_mass"},
        {"new_columns": "grow", "seed": None},
    ),
    "river classifier": (
        lambda: river("RiverRandomTreesClassifier"),
        LEVELS | {"model", "classes", "weighting"},
        {"new_columns": "grow", "seed": None},
    ),
}


@pytest.mark.parametrize("face", FORESTS)
def test_a_face_of_random_trees_has_the_names_and_defaults(face: str) -> None:
    found, left_out, changed = FORESTS[face]
    expected = {k: v for k, v in FOREST_OPTIONS.items() if k not in left_out} | changed
    assert arguments(found()) == expected


@pytest.mark.parametrize("face", FACES)
def test_a_face_has_the_names_and_defaults_that_are_declared(face: str) -> None:
    found, left_out, changed = FACES[face]
    expected = {k: v for k, v in DECLARED.items() if k not in left_out} | changed
    assert dict(found()) == expected


def test_the_factory_takes_every_option() -> None:
    given = {name: value for name, value in DECLARED.items() if name != "window"}
    assert isinstance(make_tree(given), DynamicTree)
    assert isinstance(make_tree(DECLARED), StreamingTree)
    averaged = make_tree(DECLARED | {"window": "auto", "n_particles": None})
    assert isinstance(averaged, AveragedStream)
    assert averaged.options.n_particles == 100
    clouds = make_tree(given | {"n_clouds": 3, "n_particles": 7})
    assert isinstance(clouds, AveragedTrees)
    assert (len(clouds), clouds.options.n_particles) == (3, 7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": "auto", "drift": True}, "drift is an option of one window only"),
        ({"window": "auto", "n_clouds": 2}, "n_clouds is for tables that are held"),
        ({"window": 50, "n_clouds": 2}, "n_clouds is for tables that are held whole"),
        ({"window": "fast"}, "window must be an int >= 2, or 'auto'.*'fast'"),
        ({"window": "auto", "rules": "r"}, "rules='r' is for one cloud"),
        ({"n_clouds": 3, "rules": "r"}, "rules='r' is for one cloud"),
        ({"window": "auto", "n_start": 9}, "n_start is an option of rules='r'"),
        ({"window": "auto", "model": "prior"}, "model='prior' is for one cloud"),
        ({"n_clouds": True}, "n_clouds must be an int >= 1"),
        ({"n_clouds": 0}, "n_clouds must be an int >= 1"),
    ],
)  # fmt: skip
def test_what_averages_do_not_take_is_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        make_tree(options)


@pytest.mark.parametrize(
    ("name", "value"),
    [("forget", 0.0), ("forget", 1.0), ("drift", True), ("discard", "age"),
     ("rejuvenate_every", 0)],
)  # fmt: skip
def test_what_is_for_windows_needs_one(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is an option of one window only"):
        make_tree({name: value})
