"""Labels that differ in spelling alone, or are ever new: a warning in every face."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    KeyedStream,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.errors import ManyLabelsWarning, SimilarLabelsWarning

N = 120
X = np.random.default_rng(4).random((N, 2))
SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
Labels = Sequence[Any]


def at_once(make: Callable[[], Any]) -> Callable[[Labels], Any]:
    return lambda y: make().update(X, y)


def row_by_row(make: Callable[[], Any]) -> Callable[[Labels], Any]:
    def feed(y: Labels) -> Any:
        model = make()
        for k, label in enumerate(y):
            model.update(X[[k]], [label])
        return model

    return feed


def river(y: Labels) -> Any:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeClassifier

    model = RiverDynamicTreeClassifier("class", window=30, n_particles=5, seed=1)
    for row, label in zip(X, y, strict=True):
        model.learn_one({"a": row[0], "b": row[1]}, label)
    return model


def formula(y: Labels) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = pd.DataFrame(X, columns=["a", "b"]).assign(y=pd.Series(y, dtype=object))
    return dtf.dynamic_tree("C(y) ~ a + b", data, **SMALL).fit()


FACES: dict[str, Callable[[Labels], Any]] = {
    "stream": at_once(lambda: AveragedStream("class", **SMALL)),
    "stream by rows": row_by_row(lambda: AveragedStream("class", **SMALL)),
    "trees": at_once(lambda: AveragedTrees("class", n_clouds=2, **SMALL)),
    "tree": at_once(lambda: DynamicTree("class", **SMALL)),
    "window by rows": row_by_row(lambda: StreamingTree("class", window=30, **SMALL)),
    "logistic leaves": at_once(lambda: DynamicTree("logit", **SMALL)),
    "random trees": at_once(lambda: RandomTreesStream("class", n_trees=3, seed=1)),
    "regression": at_once(lambda: LinearStream("class", seed=1)),
    "keys": lambda y: KeyedStream("class", seed=1).update(X, y, key=["u"] * N),
    "river": river,
    "formula": formula,
}
IN_PARTS = ["stream by rows", "window by rows", "river", "keys"]  # types have no order
SIMILAR = {
    "types": [1, 2, "1"], "cases": ["Yes", "No", "yes"], "spaces": ["u", "v", " u"],
    "fractions": ["1", "2", "1.0"],
}  # fmt: skip


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("kind", SIMILAR)
def test_similar_labels_are_warned_of_once(name: str, kind: str) -> None:
    first, second, late = SIMILAR[kind]
    if name == "logistic leaves":  # which have two labels
        y = [first, late] * (N // 2)
    else:
        y = [first, second] * (N // 2 - 10) + [late, second] * 10
    if kind == "types" and name not in IN_PARTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimilarLabelsWarning)
            with pytest.raises(ValueError, match="labels of one type"):
                FACES[name](y)
        return
    with pytest.warns(SimilarLabelsWarning) as warned:
        FACES[name](y)
    ours = [one for one in warned if one.category is SimilarLabelsWarning]
    assert len(ours) == 1
    assert f"{first!r} and {late!r}" in str(ours[0].message)


@pytest.mark.parametrize("name", [one for one in FACES if one != "logistic leaves"])
def test_ever_new_labels_are_warned_of_once(name: str) -> None:
    """Numbers with signs of a currency, say, which text holds."""
    y = [f"${k}.20" for k in range(N)]
    with pytest.warns(ManyLabelsWarning) as warned:
        FACES[name](y)
    ours = [one for one in warned if one.category is ManyLabelsWarning]
    assert len(ours) == 1
    assert "If they are numbers, convert them" in str(ours[0].message)


@pytest.mark.parametrize("name", FACES)
def test_honest_labels_are_not_warned_of(name: str) -> None:
    n_labels = 2 if name == "logistic leaves" else 40
    y = [f"label {k % n_labels}" for k in range(N)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimilarLabelsWarning)
        warnings.simplefilter("error", ManyLabelsWarning)
        FACES[name](y)


def test_named_labels_may_resemble_each_other() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = DynamicTree("class", classes=["a", "A"], **SMALL)
        tree.update(X, ["a", "A"] * (N // 2))
