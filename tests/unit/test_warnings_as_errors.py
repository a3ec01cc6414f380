"""Warnings that are errors refuse a call each time, and not the first time alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, KeyedStream, StreamingTree
from dyntree.errors import (
    DistantInputsWarning,
    IndexOrderWarning,
    KeyTypeWarning,
    ManyLabelsWarning,
    ManyLevelsWarning,
    MissingInputWarning,
    SimilarLabelsWarning,
    TwoNumbersWarning,
    UnseenLevelWarning,
)
from tests.helpers import model_bytes

N = 60
rng = np.random.default_rng(5)
X = pd.DataFrame({"a": rng.random(N), "b": rng.random(N)})
Y = X.a + rng.normal(0.0, 0.1, N)
LEVELS = X.assign(c=[*"uv"] * (N // 2))
SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}
Call = Callable[[Any], Any]


def made(kind: Any, rows: pd.DataFrame = X, y: Any = Y, **more: Any) -> Any:
    return kind(**SMALL | more).update(rows, y)


def stream() -> Any:
    return made(AveragedStream, model="mixed")


def window(**more: Any) -> Any:
    return made(StreamingTree, window=30, **{"model": "linear"} | more)


def of_labels() -> Any:
    return made(StreamingTree, y=["a", "b"] * 5, rows=X[:10], model="class", window=30)


def of_levels() -> Any:
    return made(
        StreamingTree, LEVELS, model="constant", window=30, new_levels="missing"
    )


def of_keys() -> Any:
    return KeyedStream("linear", seed=1).update(X, Y, key=["u"] * N)


def dated() -> pd.DataFrame:
    return X.set_index(pd.date_range("2024-01-01", periods=N)[::-1])


LATE = {"a": [0.5], "b": [0.5], "c": ["w"]}
CASES: dict[str, tuple[Callable[[], Any], Call, type[Warning]]] = {
    "times": (stream, lambda m: m.update(dated(), Y.to_numpy()), IndexOrderWarning),
    "gaps": (window, lambda m: m.predict([[0.5, np.nan]]), MissingInputWarning),
    "levels": (
        of_levels, lambda m: m.predict(pd.DataFrame(LATE)), UnseenLevelWarning
    ),
    "far": (window, lambda m: m.predict([[1e9, 0.5]]), DistantInputsWarning),
    "spelling": (of_labels, lambda m: m.update(X[:1], ["A"]), SimilarLabelsWarning),
    "identifiers": (
        of_labels, lambda m: m.update(X, [f"i{k}" for k in range(N)]), ManyLabelsWarning
    ),
    "text": (
        lambda: StreamingTree("constant", window=30, **SMALL),
        lambda m: m.update(X.assign(c=[f"i{k}" for k in range(N)]), Y),
        ManyLevelsWarning,
    ),
    "two numbers": (
        lambda: StreamingTree(window=30, **SMALL),
        lambda m: m.update(X, [0.0, 1.0] * (N // 2)),
        TwoNumbersWarning,
    ),
    "keys": (of_keys, lambda m: m.update(X[:1], Y[:1], key=[1]), KeyTypeWarning),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_call_is_refused_each_time_and_changes_nothing(case: str) -> None:
    make, call, category = CASES[case]
    model = make()
    before = model_bytes(model) if model.n_seen else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        for _ in range(3):
            with pytest.raises(category) as refused:
                call(model)
    if before is not None:
        assert model_bytes(model) == before
    for n_warned in 1, 0:  # and a warning that is no error comes once
        with warnings.catch_warnings(record=True, action="always") as issued:
            call(model)
        texts = [str(one.message) for one in issued]
        assert texts.count(str(refused.value)) == n_warned


def test_adapters_of_river_refuse_a_row_each_time() -> None:
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api.adapters import RiverDynamicTreeRegressor, RiverKeyedRegressor

    tree = RiverDynamicTreeRegressor(**SMALL)
    keys = RiverKeyedRegressor(key="k", seed=1)
    for a, y in zip(X.a, Y, strict=True):
        tree.learn_one({"temperature": a}, y)
        keys.learn_one({"k": "u", "a": a}, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(MissingInputWarning, match="temprature"):
                tree.predict_one({"temprature": 1.0})
            with pytest.raises(UnseenLevelWarning, match="late"):
                keys.predict_one({"k": "u", "a": 0.5, "late": 1.0})
