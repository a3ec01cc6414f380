"""Levels and labels that the type of a column names, in every model of trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
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
    checkpoint,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import MOST_LEVELS
from dyntree.evaluate import prequential
from tests.helpers import same_bytes
from tests.unit.faces import told

SITES, LABELS = ["u", "v", "w"], ["high", "low", "mid"]
SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
Make = Callable[..., Any]
TREES: dict[str, Make] = {
    "tree": lambda **more: DynamicTree(**SMALL | more),
    "constant tree": lambda **more: DynamicTree(
        **SMALL | {"model": "constant"} | more
    ),
    "stream": lambda **more: StreamingTree(window=40, **SMALL | more),
    "averaged trees": lambda **more: AveragedTrees(n_clouds=2, **SMALL | more),
    "averaged stream": lambda **more: AveragedStream(**SMALL | more),
    "keyed": lambda **more: KeyedStream(n_particles=5, seed=1, **more),
}  # fmt: skip
FORESTS: dict[str, Make] = {
    "forest": lambda **more: RandomTreesStream("constant", n_trees=3, seed=1, **more),
    "counts": lambda **more: LinearStream("poisson", seed=1, **more),
}  # fmt: skip
CLASSIFIERS: dict[str, Make] = {
    name: partial(make, model="class") for name, make in TREES.items()
} | {
    "forest": lambda **more: RandomTreesStream("class", n_trees=3, seed=1, **more),
    "regression": lambda **more: LinearStream("class", seed=1, **more),
}


def table(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of two of the three sites, and counts as responses."""
    rng = np.random.default_rng(seed)
    site = rng.choice(SITES[:2], n)
    X = pd.DataFrame({"x": rng.random(n), "site": pd.Categorical(site, SITES)})
    return X, np.round(3.0 * X["x"].to_numpy() + 2.0 * (site == "v"))


def new_rows() -> pd.DataFrame:
    return pd.DataFrame({"x": 0.5, "site": ["u", "v", "w"]})


def marked(y: np.ndarray) -> pd.Categorical:
    return pd.Categorical(np.where(y > np.median(y), "high", "low"), LABELS)


def learned(make: Make, X: Any, y: Any, **more: Any) -> Any:
    beside = [row % 3 for row in range(len(X))]
    model = make(**more)
    if isinstance(model, KeyedStream):
        return model.update(X, y, beside)
    return model.update(X, y)


def asked(model: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of levels that no row learned has had
        if isinstance(model, KeyedStream):
            return told(model.predict(new_rows(), [0, 1, 2]))
        return told(model.predict(new_rows()))


def one_by_one(make: Make, X: pd.DataFrame, y: Any) -> Any:
    model = make()
    for row in range(len(X)):
        part = slice(row, row + 1)
        if isinstance(model, KeyedStream):
            model.update(X[part], y[part], [row % 3])
        else:
            model.update(X[part], y[part])
    return model


def in_one_order(makes: Mapping[str, Make]) -> list[Any]:
    """Those models that learn rows in the order of the calls."""
    return [
        pytest.param(make, id=name)
        for name, make in makes.items()
        if name != "averaged trees"
    ]


@pytest.mark.parametrize("name", [*TREES, *FORESTS])
def test_categories_of_a_column_are_as_levels_that_are_named(name: str) -> None:
    make, (X, y) = (TREES | FORESTS)[name], table()
    named = learned(make, X.astype({"site": str}), y, categories={"site": SITES})
    assert asked(learned(make, X, y)).tolist() == asked(named).tolist()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_categories_of_responses_are_as_labels_that_are_named(name: str) -> None:
    make, (X, y) = CLASSIFIERS[name], table()
    X = X.astype({"site": str})
    X["site"] = pd.Categorical(X["site"], SITES)
    model = learned(make, X, marked(y))
    named = learned(make, X, [*marked(y)], classes=LABELS)
    assert model.classes == named.classes == tuple(LABELS)
    assert asked(model).tolist() == asked(named).tolist()


@pytest.mark.parametrize("make", in_one_order(TREES | FORESTS))
def test_rows_one_by_one_declare_the_same_levels(make: Make) -> None:
    X, y = table(40)
    whole, parts = learned(make, X, y), one_by_one(make, X, y)
    assert asked(whole).tolist() == asked(parts).tolist()


@pytest.mark.parametrize("make", in_one_order(CLASSIFIERS))
def test_rows_one_by_one_declare_the_same_labels(make: Make) -> None:
    X, y = table(40)
    whole, parts = learned(make, X, marked(y)), one_by_one(make, X, marked(y))
    assert whole.classes == parts.classes == tuple(LABELS)
    assert asked(whole).tolist() == asked(parts).tolist()


def test_a_series_and_an_enum_declare_what_categories_do() -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    X, y = table()
    whole = learned(CLASSIFIERS["tree"], X, pd.Series(marked(y)))
    frame = pl.DataFrame(
        {
            "x": X["x"].to_numpy(),
            "site": pl.Series([*X["site"]], dtype=pl.Enum(SITES)),
        }
    )
    labels = pl.Series([*marked(y)], dtype=pl.Enum(LABELS))
    same = learned(CLASSIFIERS["tree"], frame, labels)
    assert asked(whole).tolist() == asked(same).tolist()


def test_rows_that_wait_keep_what_their_types_name_in_files() -> None:
    X, y = table(4)
    model = StreamingTree(model="class", **SMALL).update(X, marked(y))
    again = checkpoint.loads(checkpoint.dumps(model))
    assert same_bytes(model, again)
    X, y = table()
    for one in (model, again):
        one.update(X.astype({"site": str}), [*marked(y)])
    assert again.classes == tuple(LABELS)
    assert asked(model).tolist() == asked(again).tolist()


def test_a_stream_that_is_evaluated_learns_as_by_update() -> None:
    X, y = table()
    model = StreamingTree(model="class", **SMALL)
    prequential(model, X, marked(y))
    whole = StreamingTree(model="class", **SMALL).update(X, marked(y))
    assert asked(model).tolist() == asked(whole).tolist()


def test_a_column_of_no_value_has_the_levels_of_its_type() -> None:
    X, y = table()
    X["kind"] = pd.Categorical([None] * len(X), ["p", "q"])
    tree = DynamicTree(**SMALL).update(X, y)
    assert tree.feature_names == ("x", "site=u", "site=v", "site=w", "kind=q")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.update(X.assign(kind="q"), y)


def test_a_type_of_more_levels_than_a_column_takes_declares_none() -> None:
    many = [str(k) for k in range(MOST_LEVELS + 1)]
    X = pd.DataFrame({"site": pd.Categorical(["3", "5", "5"], many)})
    features, _ = FeatureMap.learn(X, True)
    assert features.levels == (("site", ("3", "5")),)
    assert features.categories == ()


def test_logits_are_of_two_labels_whether_rows_have_both_or_not() -> None:
    X, y = table()
    two = pd.Categorical(["low"] * 20 + [*marked(y)[20:]], ["low", "high"])
    tree = DynamicTree("logit", **SMALL).update(X[:20], two[:20])
    assert tree.update(X[20:], two[20:]).classes == ("high", "low")
    assert DynamicTree("logit", **SMALL).update(X, marked(y)).classes == ("high", "low")


def test_rules_of_r_learn_the_labels_that_rows_have() -> None:
    X, y = table()
    tree = DynamicTree("class", rules="r", **SMALL).update(X[["x"]], marked(y))
    assert tree.classes == ("high", "low")
