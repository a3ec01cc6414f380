"""All models meet the contract; what is no model is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree.online import OnlineModel, check_online_model
from tests.contract import OnlineModelChecks, Rows

from .models import MODELS, data

SMALL: dict[str, Any] = {"n_particles": 12, "seed": 1}
ABC = ("a", "b", "c")


def options(name: str, **more: Any) -> dict[str, Any]:
    """Those of R's rules for leaves of that name, which name all labels."""
    return MODELS[name] | more | ({"classes": ABC} if name == "class" else {})


TREES: dict[str, tuple[type, dict[str, Any]]] = {
    "tree constant": (DynamicTree, {"model": "constant"}),
    "tree linear": (DynamicTree, {"model": "linear"}),
    "tree class": (DynamicTree, {"model": "class", "classes": ABC}),
    "tree prior": (DynamicTree, {"model": "prior"}),
    "stream constant": (StreamingTree, {"model": "constant", "window": 20}),
    "stream drift": (StreamingTree, {"model": "linear", "window": 20, "drift": True}),
    "stream class": (StreamingTree, {"model": "class", "window": 20, "classes": ABC}),
} | {f"tree {name}, R": (DynamicTree, options(name)) for name in MODELS} | {
    f"stream {name}, R": (StreamingTree, options(name, window=20))
    for name in ("constant", "augmented", "class")
}  # fmt: skip


class TestTrees(OnlineModelChecks):
    """Trees and streams of every leaf model, under both rules."""

    @pytest.fixture(params=TREES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        model, options = TREES[kind]
        return lambda: model(**options, **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        return data("class" if "class" in kind else "constant", 45)


MEMORIES = [{"window": 20}, {"window": 12, "forget": 0.9}]
AVERAGES: dict[str, dict[str, Any]] = {
    "constant": {"model": "constant"},
    "linear, own members": {"model": "linear", "members": MEMORIES},
    "class": {"model": "class", "classes": ABC},
    "class, two labels": {"model": "class", "classes": ("a", "b")},
}


class TestAverages(OnlineModelChecks):
    """Averages of streams, with and without a stacker."""

    @pytest.fixture(params=AVERAGES)
    def kind(self, request: pytest.FixtureRequest) -> str:
        name: str = request.param
        return name

    @pytest.fixture
    def fresh(self, kind: str) -> Callable[[], Any]:
        return lambda: AveragedStream(**AVERAGES[kind], **SMALL)

    @pytest.fixture
    def rows(self, kind: str) -> Rows:
        X, y = data("class" if "class" in kind else "constant", 45)
        return X, np.where(y == "c", "b", y) if "two" in kind else y


@pytest.mark.parametrize("value", [3, None, DynamicTree, object(), np.ones(3)])
def test_what_is_no_model_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"models\['a'\] must be a model that learns"):
        check_online_model("models['a']", value)


def test_a_record_of_the_protocol_alone_is_enough() -> None:
    """A model that is no tree, and knows none, is one if it has the names."""
    names = {"seed", *(name for name in dir(DynamicTree) if not name.startswith("_"))}
    named = type("Mixture", (), dict.fromkeys(names, 1))
    assert isinstance(named(), OnlineModel)
    check_online_model("model", named())
