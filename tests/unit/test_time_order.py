"""Rows of a stream whose index goes back in time: a warning, once, in every face."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
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
from dyntree.errors import IndexOrderWarning
from dyntree.evaluate import prequential

SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}


def rows(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    days = pd.date_range("2024-01-01", periods=n, freq="D")
    data = pd.DataFrame({"a": rng.random(n), "b": rng.random(n)}, index=days)
    return data.assign(y=data.a + rng.normal(0.0, 0.1, n))


def model(make: Callable[[], Any]) -> Callable[[pd.DataFrame], Any]:
    def learn(data: pd.DataFrame) -> Any:
        made = make()
        for part in (data.iloc[:40], data.iloc[40:]):
            made.update(part[["a", "b"]], part.y)
        return made

    return learn


def evaluated(make: Callable[[], Any]) -> Callable[[pd.DataFrame], Any]:
    return lambda data: prequential(
        make(), data[["a", "b"]], data.y, start=5, progress=False
    )


def formula(data: pd.DataFrame, window: Any = 30) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree("y ~ a + b", data, window=window, **SMALL).fit()


def by_columns(data: pd.DataFrame) -> Any:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    return dtf.DynamicTreeModel(data.y, data[["a", "b"]], window=30, **SMALL).fit()


def estimator(data: pd.DataFrame, **more: Any) -> Any:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from dyntree.api.estimators import DynamicTreeRegressor

    options: dict[str, Any] = {"window": 30, "n_particles": 5, "random_state": 1}
    return DynamicTreeRegressor(**options | more).fit(data.drop(columns="y"), data.y)


def estimator_of_levels(data: pd.DataFrame) -> Any:
    """Frames with text are read by the model, and others by scikit-learn."""
    return estimator(data.assign(c=np.where(data.a > 0.5, "u", "v")))


def adapter(data: pd.DataFrame) -> Any:
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    made = RiverDynamicTreeRegressor(**SMALL)
    for part in (data.iloc[:40], data.iloc[40:]):
        made.learn_many(part[["a", "b"]], part.y)
    return made


def continued(way: str) -> Callable[[pd.DataFrame], Any]:
    """Rows that results of a formula learn later."""

    def learn(data: pd.DataFrame) -> Any:
        pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
        import dyntree.formula.api as dtf

        first = data.reset_index(drop=True)
        fit = dtf.dynamic_tree("y ~ a + b", first, window=30, **SMALL).fit()
        return getattr(fit, way)(data)

    return learn


STREAMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "average": model(lambda: AveragedStream("mixed", **SMALL)),
    "window": model(lambda: StreamingTree(window=30, **SMALL)),
    "forest": model(lambda: RandomTreesStream("constant", n_trees=3, seed=1)),
    "regression": model(lambda: LinearStream("poisson", seed=1)),
    "evaluation": evaluated(lambda: AveragedStream("mixed", **SMALL)),
    "evaluation of a tree": evaluated(lambda: DynamicTree(**SMALL)),
    "formula of a window": formula,
    "columns of a window": by_columns,
    "rows appended": continued("append"),
    "rows that extend": continued("extend"),
    "other rows of a window": continued("apply"),
    "scikit-learn": estimator,
    "scikit-learn, with levels": estimator_of_levels,
    "river": adapter,
}


@pytest.mark.parametrize("index", ["dates", "periods"])
@pytest.mark.parametrize("name", STREAMS)
def test_rows_that_go_back_in_time_are_warned_of_once(name: str, index: str) -> None:
    data = rows()
    if name == "regression":
        data["y"] = data.y.round().clip(0.0)
    if index == "periods":
        data = data.to_period("D")
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexOrderWarning)
        STREAMS[name](data)
    shuffled = data.iloc[[1, 0, *range(2, 50), 58, *range(50, 58), 59]]
    expected = r"row 1 has index 2024-01-01.* after 2024-01-02.*sort_index\(\)"
    with pytest.warns(IndexOrderWarning, match=expected) as warned:
        STREAMS[name](shuffled)
    assert len([one for one in warned if one.category is IndexOrderWarning]) == 1


@pytest.mark.parametrize("index", ["objects", "durations", "zones"])
def test_times_of_other_kinds_have_an_order_too(index: str) -> None:
    data = rows()
    days = data.index
    kinds = {
        "objects": pd.Index(days.date, dtype=object),
        "durations": days - days[0],
        "zones": days.tz_localize("Europe/Paris"),
    }
    data.index = kinds[index]
    model = StreamingTree(window=30, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexOrderWarning)
        model.update(data[["a", "b"]][:30], data.y[:30])
    with pytest.warns(IndexOrderWarning, match="X goes back in time: row 1"):
        model.update(data[["a", "b"]][:29:-1], data.y[:29:-1])


@pytest.mark.parametrize("last", [datetime(2024, 1, 1, 5), None])
@pytest.mark.parametrize("first", [date(2024, 1, 2), datetime(2024, 1, 2, tzinfo=UTC)])
def test_objects_without_an_order_are_learned(first: Any, last: Any) -> None:
    data = rows()
    data.index = pd.Index([first] * (len(data) - 1) + [last], dtype=object)
    model = StreamingTree(window=30, **SMALL).update(data[["a", "b"]], data.y)
    assert model.n_seen == len(data)


@pytest.mark.parametrize("way", ["extend", "apply"])
def test_rows_of_other_results_are_warned_of_for_these_alone(way: str) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    data = rows()
    fit = dtf.dynamic_tree("y ~ a + b", data, window=30, **SMALL).fit()
    with pytest.warns(IndexOrderWarning):
        other = getattr(fit, way)(data[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexOrderWarning)
        other.append(data[::-1])
    with pytest.raises(ValueError, match="'a'"):
        fit.append(data[::-1].drop(columns="a"))
    with pytest.warns(IndexOrderWarning):
        fit.append(data[::-1])


@pytest.mark.parametrize("index", ["dates", "periods"])
def test_a_time_that_is_missing_hides_no_later_order(index: str) -> None:
    data = rows()
    data.index = data.index.where(np.arange(len(data)) != 3)
    data = data.to_period("D") if index == "periods" else data
    model = StreamingTree(window=30, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexOrderWarning)
        model.update(data[["a", "b"]][:30], data.y[:30])
    with pytest.warns(IndexOrderWarning, match="row 1 has index 2024-02-28"):
        model.update(data[["a", "b"]][:29:-1], data.y[:29:-1])


def test_others_may_have_any_order() -> None:
    """Tables, rows of several keys, and an index that is no time."""
    data = rows()[::-1]
    X, y = data[["a", "b"]], data.y
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexOrderWarning)
        AveragedTrees("mixed", n_clouds=2, **SMALL).update(X, y)
        KeyedStream("linear", seed=1).update(X, y, key=["u"] * len(X))
        StreamingTree(window=30, **SMALL).update(X.reset_index(drop=True), y.to_numpy())
        StreamingTree(window=30, **SMALL).update(X.to_numpy(), y)
        formula(data, window=None)
        estimator(data, window=None)
