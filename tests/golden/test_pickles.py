"""Pickles of earlier layouts of the package load, answer as they did, and go on alike.

Rule: numbers to 1e-12 of max(1, |value|), which leaves room for other libraries of
mathematics.
"""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree
from dyntree.encoding.feature_map import FeatureMap
from dyntree.mixtures import CanopySweep
from dyntree.trees.answers.view import SplitView
from dyntree.trees.averages.stream import WeightHistory
from dyntree.trees.learning.growth import Growth

from .pickles.__main__ import answer, go_on

FILES = sorted((Path(__file__).parent / "pickles").glob("*/*.pickle"))


def as_numbers(told: list[Any]) -> np.ndarray:
    if isinstance(told[0], dict):
        told = [[one[label] for label in sorted(one)] for one in told]
    return np.array(told)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name} {p.stem}")
def test_a_pickle_goes_on(path: Path) -> None:
    package = path.stem.partition("-")[0]
    if package in ("sklearn", "river"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    before, after = json.loads((path.parent / "answers.json").read_text())[path.stem]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of another version of its own
        model = pickle.loads(path.read_bytes())
    for told, expected in ((answer(model), before), (answer(go_on(model)), after)):
        np.testing.assert_allclose(
            as_numbers(told), as_numbers(expected), rtol=1e-12, atol=1e-12
        )


def test_there_is_a_pickle_of_each_kind() -> None:
    kinds = {"tree", "stream", "formula", "arrays"}
    kinds |= {
        f"{a}-{b}" for a in ("sklearn", "river") for b in ("regressor", "classifier")
    }
    for folder in {path.parent for path in FILES}:
        assert {path.stem for path in folder.glob("*.pickle")} == kinds
        assert json.loads((folder / "answers.json").read_text()).keys() == kinds
    assert FILES


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [("model", "DynamicTree", DynamicTree), ("features", "FeatureMap", FeatureMap),
     ("streaming", "StreamingTree", StreamingTree),
     ("trees.averaging", "WeightHistory", WeightHistory),
     ("trees.growth", "Growth", Growth), ("trees.view", "SplitView", SplitView),
     ("mixtures.canopy.fitting", "CanopySweep", CanopySweep)],
)  # fmt: skip
def test_classes_themselves_are_found_where_they_were(
    module: str, name: str, now: type
) -> None:
    assert pickle.loads(f"cdyntree.{module}\n{name}\n.".encode()) is now
