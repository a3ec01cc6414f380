"""One table of options that are refused, of every maker that takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.errors import short
from dyntree.evaluate import ChangeAlarm
from dyntree.params import NIG, StreamOptions, TreeOptions
from dyntree.trees.factory import make_tree
from tests.unit.models import refused
from tests.unit.params.test_params import NOT_COUNTS

R: dict[str, Any] = {"rules": "r"}
SEEDS = [-1, 1.5, True, "1", 2**32]
MEMBERS: dict[str, Any] = {"members": [{"window": 20}, {"window": 40}]}

# Makers, an option, values that are refused, and other options beside it.
VALUES: list[tuple[tuple[Callable[..., Any], ...], str, list[Any], dict[str, Any]]] = [
    ((TreeOptions, DynamicTree), name, values, others)
    for name, values, others in [
        ("model", ["logistic", "con", "tree"], {}), ("rules", ["R", "python"], {}),
        ("intercept", ["aug"], {"model": "linear"}), ("intercept", [None], R),
        ("intercept", ["none"], {"model": "prior"}), ("proposal", ["lu", "any"], {}),
        ("n_particles", [*NOT_COUNTS, 2**40], {}), ("min_leaf", [0, 2.0, True], {}),
        ("n_start", [0, "4"], {}), ("n_start", [0, "4"], R), ("n_start", [5], {}),
        ("n_start", [3], {"min_leaf": 4} | R),
        ("tree_prior", [0.95, (1.0, 2.0), (-0.1, 2.0), (0.5, 0.0)], {}),
        ("variance_prior", [(-1.0, 1.0), (0.0, 1.0)], R),
        ("variance_prior", [(1.0, 1.0)], {}),
        ("first_split", [-1], {"model": "linear"}),
        ("first_split", [1], {"model": "constant"}),
        ("n_basis", [0], {"model": "linear"}), ("n_basis", [1], {"model": "class"}),
        ("classes", [(0, 1)], {"model": "constant"}),
        ("classes", ["ab", 2, (), (1, 2, 1), (1, True)], {"model": "class"}),
        ("prior", ["flat", np.ones(2)], {}), ("prior", [np.ones(2)], R),
        ("new_levels", ["keep"], {}), ("weighting", ["precision"], {}),
    ]
] + [
    ((StreamOptions, StreamingTree), "window", [1, 10.0, True], {}),
    ((StreamOptions, StreamingTree), "discard", ["oldest", "alm", 3], {}),
    ((StreamOptions, StreamingTree), "forget", [-0.5, 1.5], {}),
    ((StreamingTree,), "forget", [0.0], R),
    ((StreamOptions, StreamingTree), "rejuvenate_every", [-1, 1.5, False], {}),
    ((StreamingTree,), "window", [4], {"min_leaf": 4}),
    ((StreamingTree,), "window", [4], {"min_leaf": 4} | R),
    ((StreamingTree,), "rules", ["s"], {}),
    ((StreamingTree,), "drift", ["no", 1, None, np.ones(2)], {}),
    ((StreamingTree,), "model", ["tree"], {}),
    ((DynamicTree, StreamingTree, AveragedStream, AveragedTrees), "seed", SEEDS, {}),
    ((AveragedStream, AveragedTrees), "tree_prior", [0], {}),
    ((AveragedStream, AveragedTrees, StreamingTree), "n_particles", [0], {}),
    ((AveragedStream,), "discount", [0.0, 1.5], MEMBERS),
    ((AveragedStream,), "tempering", [0.0, "hot"], MEMBERS),
    ((AveragedStream,), "model", ["prior"], MEMBERS),
    ((AveragedTrees,), "n_clouds", [0, 2.5], {}),
    ((AveragedTrees,), "shuffle", ["yes"], {}),
    ((AveragedTrees,), "model", ["tree"], {}),
    ((RandomTreesStream,), "model", ["linear"], {}),
    ((RandomTreesStream,), "n_trees", [0], {}),
    ((RandomTreesStream,), "discount", [0.0], {}),
    ((RandomTreesStream,), "min_split", [1], {}),
    ((RandomTreesStream,), "window", [1], {}),
    ((RandomTreesStream,), "max_nodes", [2], {}),
    ((RandomTreesStream,), "class_mass", [-1.0], {}),
    ((RandomTreesStream,), "new_levels", ["no"], {}),
    ((LinearStream,), "forget", [0.4, 1.5], {}),
    ((LinearStream,), "spreads", [[], "ab", {"a": 1}], {}),
    ((LinearStream,), "clip", [0.0], {}), ((LinearStream,), "model", ["linear"], {}),
    ((LinearStream,), "dispersion", [0.0], {"model": "negbin"}),
    ((ChangeAlarm,), "false_alarm_rate", [0.0, -1e-5, 1.0, 2, np.nan, "1", None], {}),
    ((ChangeAlarm,), "memory", [0, 99, 150.0, "200", None, True], {}),
    ((ChangeAlarm,), "seed", [-1, 1.5, "1"], {}), ((NIG,), "b0", [-1.0], {}),
]  # fmt: skip


@pytest.mark.parametrize(
    "row", VALUES, ids=lambda row: f"{row[1]}-{row[0][-1].__name__}"
)
def test_a_value_is_refused_by_its_name_and_shown(row: Any) -> None:
    makers, name, values, others = row
    for make in makers:
        for value in values:
            with refused(name, short(value)):
                make(**others | {name: value})


def class_average(*members: Any, **more: Any) -> AveragedStream:
    return AveragedStream("class", members=[*members], **more)


def negbin_average(*members: Any) -> AveragedStream:
    return AveragedStream("negbin", members=[*members])


def forests(model: str) -> AveragedStream:
    return AveragedStream(model, members=[{"window": 50}, {"n_trees": 3}])


WINDOW, LOGIT, LINEAR = {"window": 20}, {"model": "logit"}, {"linear": True}
WORDS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
    # leaves that have no such option, or other rules
    (DynamicTree, ("poisson",), R, "model='poisson' is for rules='native'"),
    (DynamicTree, ("poisson",), {"dispersion": 1.0}, "dispersion is an option of"),
    (DynamicTree, ("constant",), {"dispersion": 1.0}, "dispersion is an option of"),
    (DynamicTree, ("negbin",), {"dispersion": 0.0}, "dispersion must be > 0"),
    (DynamicTree, ("negbin",), {"weighting": "variance"}, "weighting='variance' needs"),
    (DynamicTree, ("negbin",), {"n_basis": 1}, "n_basis.*option of model='linear'"),
    (DynamicTree, ("negbin",), {"classes": (1, 2)}, "classes is an option of"),
    (DynamicTree, ("logit",), R, r"model\b.*logit"),
    (DynamicTree, ("logit",), {"class_mass": 2.0}, r"class_mass\b.*logit"),
    (DynamicTree, ("logit",), {"prior": NIG()}, r"prior\b.*logit"),
    (DynamicTree, ("logit",), {"weighting": "variance"}, r"weighting\b.*logit"),
    (DynamicTree, ("logit",), {"robust": True}, r"robust\b.*logit"),
    (DynamicTree, ("logit",), {"intercept": "none"}, r"intercept\b.*logit"),
    (AveragedStream, ("logit",), {}, r"model\b.*a DynamicTree or a StreamingTree"),
    (AveragedTrees, ("logit",), {}, r"model\b.*a DynamicTree or a StreamingTree"),
    (StreamingTree, ("class",), {"robust": True}, "robust.*real responses"),
    (StreamingTree, ("poisson",), {"robust": True}, "robust.*real responses"),
    (StreamingTree, ("prior",), {"robust": True}, "robust.*real responses"),
    (StreamingTree, (), {"robust": True, "weighting": "frequency"}, "frequencies"),
    (StreamingTree, (), {"robust": True} | R, "rules='native'"),
    (StreamingTree, (), {"robust": 5.0}, "robust must be"),
    (DynamicTree, (), R | {"prior": NIG()}, "prior"),
    (DynamicTree, (), R | {"class_mass": 2.0}, "class_mass"),
    (DynamicTree, (), R | {"categories": {"g": ["n"]}}, r"categories\b.*rules='r'"),
    (DynamicTree, (), R | {"new_levels": "missing"}, r"new_levels\b.*rules='r'"),
    (DynamicTree, (), R | {"weighting": "frequency"}, r"weighting\b.*'frequency'"),
    (DynamicTree, ("class",), {"weighting": "variance"}, "no variance"),
    (RandomTreesStream, ("class",), {"weighting": "variance"}, "no variance"),
    (LinearStream, (), {"spreads": [0.0]}, "spreads must be from .*got 0.0"),
    (LinearStream, (), {"spreads": [1e9]}, "spreads must be from .*got 1000000000.0"),
    # windows
    (StreamingTree, ("linear",), R, "intercept.*intercept='augmented'"),
    (StreamingTree, ("constant",), R | {"discard": "entropy"}, r"discard\b.*constant"),
    (StreamingTree, ("prior",), {"discard": "entropy"}, r"discard\b.*'prior'"),
    (StreamingTree, ("class",), {"discard": "alc"}, r"discard\b.*'class'"),
    (StreamingTree, (), {"window": np.array([1, 2])}, r"window must be an int >= 2"),
    (StreamingTree, (), R | {"window": 9, "n_start": 9}, r"window\b.*9"),
    # members of averages
    (AveragedStream, (), {"members": []}, r"members\b.*none"),
    (AveragedStream, (), {"members": WINDOW}, r"members\b.*window"),
    (AveragedStream, (), {"members": "auto"}, r"members\b.*'auto'"),
    (AveragedStream, (), {"members": [50]}, r"members\b.*50"),
    (AveragedStream, (), {"members": [{"size": 50}]}, "members.*'size' in member 0"),
    (AveragedStream, (), {"members": [WINDOW | {"seed": 1}]}, r"members\b.*'seed'"),
    (AveragedStream, (), {"members": [WINDOW | R]}, r"members\b.*'rules'"),
    (AveragedStream, (), {"members": [{"window": 1}]}, r"window\b.*1"),
    (AveragedStream, (), {"members": [WINDOW | {"weighting": "frequency"}]},
     r"members\b.*weighting"),
    (class_average, (WINDOW, {"window": -1}), {}, "^window of member 1 must "),
    (class_average, (WINDOW, {"window": 30, "forget": 7}), {},
     "^forget of member 1 must "),
    (class_average, (WINDOW, LINEAR | {"clip": 0}), {}, "^clip of member 1 must "),
    (class_average, (WINDOW, {"n_trees": 0}), {}, "^n_trees of member 1 must "),
    (class_average, (WINDOW,), {"class_mass": -1.0}, "^class_mass must "),
    (class_average, ({"n_trees": 3},), {}, "the first of members must have a window"),
    (class_average, (WINDOW, {"n_trees": 3, "forget": 0.9}), {},
     "members must have options among"),
    (forests, ("linear",), {}, "model must be one of"),
    (class_average, (WINDOW | LOGIT, LINEAR), {}, r"members\b.*class"),
    (negbin_average, (WINDOW | LOGIT,), {}, r"members\b.*'model'"),
    (class_average, ({}, {"model": "constant"}), {}, "model of member 1.*'constant'"),
    (class_average, (LINEAR, WINDOW), {}, "^members must "),
    (class_average, (WINDOW, {"linear": False}), {}, "^linear of member 1 must "),
    (class_average, (WINDOW, LINEAR | {"window": 9}), {}, "^members must "),
    (AveragedStream, ("linear",), {"members": [WINDOW, LINEAR]}, "labels and counts"),
    # what makes a tree, a stream or an average of options
    (make_tree, ({"window": "auto", "drift": True},), {},
     "drift is an option of one window only"),
    (make_tree, ({"window": "auto", "n_clouds": 2},), {}, "n_clouds is for tables"),
    (make_tree, ({"window": 50, "n_clouds": 2},), {},
     "n_clouds is for tables, which are learned"),
    (make_tree, ({"window": "fast"},), {},
     "window must be an int >= 2, or 'auto'.*'fast'"),
    (make_tree, (R | {"window": "auto"},), {}, "rules='r' is for one cloud"),
    (make_tree, (R | {"n_clouds": 3},), {}, "rules='r' is for one cloud"),
    (make_tree, ({"window": "auto", "n_start": 9},), {},
     "n_start is an option of rules='r'"),
    (make_tree, ({"window": "auto", "model": "prior"},), {},
     "model='prior' is for one cloud"),
    (make_tree, ({"n_clouds": True},), {}, "n_clouds must be an int >= 1"),
    (make_tree, ({"n_clouds": 0},), {}, "n_clouds must be an int >= 1"),
    *[(make_tree, ({name: value},), {}, f"{name} is an option of one window only")
      for name, value in [("forget", 0.0), ("forget", 1.0), ("drift", True),
                          ("discard", "age"), ("rejuvenate_every", 0)]],
]  # fmt: skip


@pytest.mark.parametrize("row", WORDS, ids=lambda row: f"{row[3]}-{row[0].__name__}")
def test_options_that_do_not_fit_are_refused_with_the_reason(row: Any) -> None:
    make, positional, options, words = row
    with pytest.raises((TypeError, ValueError)) as caught:
        make(*positional, **options)
    assert re.search(words, str(caught.value)), str(caught.value)
