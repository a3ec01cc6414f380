"""A value that is missing only in new rows: what models say of it, and answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.errors import MissingInputWarning, UnseenLevelWarning

SMALL: dict[str, Any] = {"n_particles": 60, "seed": 1}
REAL: dict[str, Callable[..., Any]] = {
    "constant": lambda **o: DynamicTree("constant", **SMALL, **o),
    "linear": lambda **o: DynamicTree("linear", **SMALL, **o),
    "window": lambda **o: StreamingTree("linear", window=100, **SMALL, **o),
    "clouds": lambda **o: AveragedTrees("linear", n_clouds=3, **SMALL, **o),
    "stream": lambda **o: AveragedStream("constant", **SMALL, **o),
}
LABELS: dict[str, Callable[..., Any]] = {
    "class": lambda **o: DynamicTree("class", **SMALL, **o),
    "class clouds": lambda **o: AveragedTrees("class", n_clouds=3, **SMALL, **o),
    "class stream": lambda **o: AveragedStream("class", **SMALL, **o),
}
ALL = REAL | LABELS


def table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """x and z are numbers, g has three levels that move y by 0, 4 and -4."""
    rng = np.random.default_rng(seed)
    g = rng.integers(3, size=n)
    x, z = rng.normal(size=(2, n))
    y = 3 * x + z + np.array([0.0, 4.0, -4.0])[g] + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "g": np.array(["u", "v", "w"])[g]}), y


def labels(y: np.ndarray) -> list[str]:
    return np.where(y > 0.0, "high", "low").tolist()


def response(name: str, y: np.ndarray) -> Any:
    return labels(y) if name in LABELS else y


@pytest.mark.parametrize("name", ALL)
def test_it_is_said_once(name: str) -> None:
    X, y = table()
    model = ALL[name]().update(X, response(name, y))
    new = X[:20].assign(x=np.nan)
    with pytest.warns(MissingInputWarning, match=r"'x' in 20 rows"):
        model.predict(new)
    model.predict(new)  # any warning is an error


def test_what_had_gaps_or_has_none_needs_no_warning() -> None:
    X, y = table()
    X.loc[::7, "z"] = np.nan
    model = DynamicTree("linear", **SMALL).update(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.assign(z=np.nan))
        model.predict(X.dropna())


@pytest.mark.parametrize("name", REAL)
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.UnseenLevelWarning")
def test_intervals_without_a_level_span_all_levels(name: str) -> None:
    """The levels differ by 8: an interval for a row without one is as wide.

    A level that no row had is such a gap.
    """
    X, y = table(400)
    model = REAL[name]().update(X, y)
    new = X[:50]
    whole = np.diff(model.predict(new).quantile([0.05, 0.95])).mean()
    gaps = model.predict(new.assign(g=None))
    wide = np.diff(gaps.quantile([0.05, 0.95])).mean()
    assert wide > 6.0 > whole
    unseen = model.predict(new.assign(g="new"))
    np.testing.assert_array_equal(unseen.mean, gaps.mean)


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_labels_are_less_sure_without_what_decides_them(name: str) -> None:
    """The mean of the largest probability is near the share of right labels."""
    X, y = table(400)
    model = LABELS[name]().update(X, labels(y))
    new, truth = table(400, seed=1)
    answer = model.predict(new.assign(x=np.nan))
    right = np.mean(answer.label == np.array(labels(truth)))
    assert abs(answer.proba.max(axis=1).mean() - right) < 0.08
    np.testing.assert_allclose(answer.proba.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
def test_draws_are_of_what_is_predicted_and_equal_rows_are_one(name: str) -> None:
    """At four standard errors of each mean: false alarms below 3e-4 a case."""
    X, y = table(300)
    model = ALL[name]().update(X, response(name, y))
    new = X[:4].assign(x=np.nan)
    new = pd.concat([new, new.iloc[:2], X.iloc[4:6].assign(g=None)])
    draws = model.posterior_draws(new, 4000, seed=2).values
    np.testing.assert_array_equal(draws[:, 0], draws[:, 4])
    np.testing.assert_array_equal(draws[:, 1], draws[:, 5])
    assert np.abs(draws[:, 0] - draws[:, 2]).max() > 0.0
    answer = model.predict(new)
    expected = answer.proba if name in LABELS else answer.mean
    error = draws.std(axis=0) / np.sqrt(4000)
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 4 * error + 1e-9)


@pytest.mark.parametrize("name", [one for one in ALL if "clouds" not in one])
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_rows_that_begin_to_have_gaps_are_learned(name: str) -> None:
    """Row by row as in one call, and what is asked in between changes nothing."""
    X, y = table(150)
    late, more = table(60, seed=2)
    late.loc[::2, "x"] = np.nan
    late.loc[::3, "g"] = None
    known = response(name, more)
    make = ALL[name]
    whole = make().update(X, response(name, y)).update(late, known)
    single = make().update(X, response(name, y))
    for k in range(len(late)):
        single.predict(late[k : k + 1])
        single.update(late[k : k + 1], known[k : k + 1])
    assert single.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)


def test_a_level_that_no_row_had_is_missing_in_river() -> None:
    """It had the answer of a row in which all levels are absent."""
    pytest.importorskip("river")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    X, y = table(300)
    model = RiverDynamicTreeRegressor("linear", seed=1)
    for row, value in zip(X.to_dict("records"), y, strict=True):
        model.learn_one(row, value)
    row = {"x": 0.1, "z": 0.2}
    unseen = model.predict_one({**row, "g": "new"}, with_dist=True)
    absent = model.predict_one(row, with_dist=True)
    assert (unseen.mu, unseen.sigma) == (absent.mu, absent.sigma)
    assert unseen.sigma > 2.0
    assert model.predict_one({**row, "g": "new"}) == pytest.approx(unseen.mu, rel=1e-9)


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_labels_of_river_are_less_sure_too() -> None:
    pytest.importorskip("river")
    from dyntree.api.adapters import RiverDynamicTreeClassifier

    X, y = table(200)
    model = RiverDynamicTreeClassifier(seed=1)
    for row, value in zip(X.to_dict("records"), labels(y), strict=True):
        model.learn_one(row, value)
    proba = model.predict_proba_one({"z": 0.2, "g": "u"})
    assert sum(proba.values()) == pytest.approx(1.0, abs=1e-12)
    assert max(proba.values()) < 0.9


def test_a_warning_says_what_an_unseen_level_does() -> None:
    X, y = table()
    model = DynamicTree("linear", **SMALL).update(X, y)
    with pytest.warns(UnseenLevelWarning, match="predicted over all levels"):
        model.predict(X[:3].assign(g="new"))


def test_each_column_is_warned_of_once() -> None:
    """A gap in one column, or a level, hides none of the others that come later."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.random(60) for name in "xz"})
    for name in "gh":
        frame[name] = rng.choice([*"ab"], 60)
    tree = StreamingTree(n_particles=20, seed=1).update(frame, frame["x"])
    row = frame[:1].astype(object)
    told: list[str] = []
    for change in (
        {"x": None}, {"x": None, "z": None}, {"g": "new"}, {"g": None, "h": "new"},
        {"x": None, "z": None, "g": "new", "h": None},
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree.predict(row.assign(**change))
        told.append(
            " ".join(str(one.message).partition(" in 1 row")[0][:40] for one in caught)
        )
    assert told == [
        "X has no value in column 'x'", "X has no value in column 'z'",
        "X has levels in column 'g' that no row l",
        "X has levels in column 'h' that no row l", "",
    ]  # fmt: skip


def test_columns_without_values_are_named_together() -> None:
    X = np.random.default_rng(0).random((60, 5))
    tree = StreamingTree(n_particles=20, seed=1).update(X, X[:, 0])
    with pytest.warns(MissingInputWarning, match="columns 0, 1, 2 and 2"):
        tree.predict(np.full((2, 5), np.nan))
