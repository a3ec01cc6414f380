"""Rows without a value that no split has parted: both sides, by their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from dyntree._core.rng import CounterSource
from dyntree._core.trees import criteria, one_row, query
from dyntree._core.trees.cloud import Cloud
from dyntree.summaries.counts import CountMixture
from dyntree.trees.answers.predictions import laws_of
from tests.oracle import gaps as oracle
from tests.probes import audit
from tests.statistical.clouds import native_cloud

MODELS = ["constant", "linear", "class", "poisson", "negbin"]


def cloud_of(model: str, n: int = 80, seed: int = 0, **options: Any) -> Cloud:
    """A cloud that has learned complete rows with three columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = 4.0 * (X[:, 0] > 0.4) + 2.0 * (X[:, 1] > 0.6) + 0.3 * rng.random(n)
    if model == "class":
        options["n_classes"] = 3
        y = np.digitize(y, [1.0, 5.0]).astype(np.float64)
    elif model in ("poisson", "negbin"):
        y = rng.poisson(np.exp(0.5 * y)).astype(np.float64)
        prior = {"b0": 0.1, "adaptive": False, "class_mass": 1.0, "dispersion": None}
        options["prior"] = prior
    if "prior" in options:
        cloud = count_cloud(model, options.pop("prior"), **options)
    else:
        cloud = native_cloud(model, 3, **{"n_particles": 20, "min_leaf": 4} | options)
    cloud.update(X, y)
    return cloud


def count_cloud(model: str, prior: dict[str, Any], **options: Any) -> Cloud:
    cloud = Cloud(
        CounterSource(1), model=model, n_features=3, n_particles=20, min_leaf=4,
        rules="native", prior=prior, **options,
    )  # fmt: skip
    cloud.start(np.empty((0, 3)), np.empty(0))
    return cloud


def with_gaps(n: int, share: float = 0.5, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    X[rng.random(X.shape) < share] = np.nan
    return X


def leaves_of(cloud: Cloud, x: np.ndarray) -> list[tuple[float, tuple[Any, ...]]]:
    """Shares of leaves over all particles."""
    n = cloud.n_particles
    return [
        (share / n, leaf)
        for k in range(n)
        for share, leaf in oracle.sides(cloud.tree(k), x)
    ]


def test_constant_leaves_are_mixed_by_their_rows() -> None:
    """The mean of a leaf is that of its rows, and its weight its share."""
    cloud = cloud_of("constant")
    y = cloud.rows()[1]
    place = {row: k for k, row in enumerate(cloud.row_ids())}
    rows = with_gaps(40)
    start, weight, location, *_ = query.mixture(cloud, rows)
    for j, x in enumerate(rows):
        expected = sum(
            share * np.mean([y[place[row]] for row in leaf[2]])
            for share, leaf in leaves_of(cloud, x)
        )
        own = slice(start[j], start[j + 1])
        assert weight[own].sum() == pytest.approx(1.0, abs=1e-12)
        assert weight[own] @ location[own] == pytest.approx(expected, rel=1e-9)


def test_a_split_mixes_the_densities_of_its_sides() -> None:
    """One split, constant leaves: their densities by the share of their rows."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(30))
    y = np.where(x > x[11], 50.0, 0.0) + rng.standard_normal(30)
    cloud = native_cloud("constant", 1, n_particles=1, min_leaf=11, seed=2)
    cloud.update(x[:, None], y)
    tree = cloud.tree(0)
    assert tree[0] == "split"
    assert tree[4][0] == tree[5][0] == "leaf"
    at = np.array([[x[0]], [x[-1]], [np.nan]])
    start, weight, location, scale, df, _ = query.mixture(cloud, at)
    n = np.array([len(tree[4][2]), len(tree[5][2])])
    for value in (0.0, 20.0, 50.0):
        each = student.pdf((value - location) / scale, df) / scale
        assert start.tolist() == [0, 1, 2, 4]
        expected = n @ each[:2] / 30
        assert weight[2:] @ each[2:] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_answers_of_few_rows_and_of_many_agree(model: str) -> None:
    """Rows with gaps stand among others; the answers do not depend on those."""
    cloud = cloud_of(model)
    rows = with_gaps(60, 0.2)
    if model == "class":
        whole = query.predict_class(cloud, rows, 2)["p"]
        single = [query.predict_class(cloud, row[None])["p"][0] for row in rows]
        np.testing.assert_array_equal(whole, single)
        np.testing.assert_allclose(whole.sum(axis=1), 1.0, atol=1e-12)
        by_class = [query.class_probabilities(cloud, k, rows) for k in range(3)]
        np.testing.assert_allclose(np.mean(by_class, axis=1).T, whole, rtol=1e-12)
        fast = np.array([one_row.proba([cloud], row[None])[0] for row in rows])
        np.testing.assert_allclose(fast, whole, rtol=1e-12)
        return
    start, *whole = query.mixture(cloud, rows)
    for j, row in enumerate(rows):
        _, *single = query.mixture(cloud, row[None])
        for part, own in zip(whole, single, strict=True):
            np.testing.assert_array_equal(part[start[j] : start[j + 1]], own)
    if model not in ("poisson", "negbin"):
        mean = np.add.reduceat(whole[0] * whole[1], start[:-1])
        fast = [one_row.mean([cloud], np.ones(1), row[None]) for row in rows]
        np.testing.assert_allclose(fast, mean, rtol=1e-12)
        location, scale, df = query.predictive(cloud, rows)
        np.testing.assert_allclose(location.mean(axis=0), mean, rtol=1e-12)
        assert np.all(np.isfinite(scale))
        assert np.all(df > 0.0)


@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_weighed_by_what_is_predicted_for_it(model: str) -> None:
    """Its log density on arrival is that of the mixture predicted before it."""
    cloud = cloud_of(model)
    rows = with_gaps(30, 0.4, seed=7)
    for k, row in enumerate(rows):
        y = np.array([float(k % 3)])
        if model == "class":
            p = query.predict_class(cloud, row[None])["p"][0, int(y[0])]
        elif model in ("constant", "linear"):
            _, weight, location, scale, df, _ = query.mixture(cloud, row[None])
            p = weight @ (student.pdf((y[0] - location) / scale, df) / scale)
        else:
            p = count_density(cloud, row, y[0])
        told = cloud.update(row[None], y)[0]
        assert told == pytest.approx(np.log(p), rel=1e-9)
        audit(cloud)


def count_density(cloud: Cloud, row: np.ndarray, y: float) -> float:
    laws = CountMixture(*laws_of(cloud, row[None], 1, np.ones(1)))
    return float(np.exp(laws.log_density(np.array([y])))[0])


@pytest.mark.parametrize("model", ["constant", "linear", "poisson", "negbin"])
def test_a_split_that_parted_a_gap_sends_later_ones_the_same_way(model: str) -> None:
    """Then each particle has one leaf for such a row, so that shares are whole."""
    cloud = cloud_of(model)
    at = np.array([[np.nan, 0.5, 0.5]])
    shares = cloud.n_particles * query.mixture(cloud, at)[1]
    assert np.abs(shares - shares.round()).max() > 0.01
    for _ in range(10):
        cloud.update(at, np.array([1.0]))
        audit(cloud)
        shares = cloud.n_particles * query.mixture(cloud, at)[1]
        if model != "linear":  # whose leaves still have ways
            np.testing.assert_allclose(shares, shares.round(), atol=1e-9)


def test_no_row_lies_in_more_than_so_many_leaves() -> None:
    """A tree with some hundred leaves; shares still sum to one."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 4))
    y = np.floor(8 * X[:, 0]) * 10 + np.floor(8 * X[:, 1]) + 0.01 * rng.random(2000)
    cloud = native_cloud("constant", 4, n_particles=1, min_leaf=3)
    cloud.update(X, y)
    assert len(oracle.sides(cloud.tree(0), np.full(4, np.nan))) > 64
    start, weight, location, *_ = query.mixture(cloud, np.full((1, 4), np.nan))
    assert start[1] == 64
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert weight @ location == pytest.approx(y.mean(), rel=0.02)


@pytest.mark.parametrize("n_threads", [2, 7])
def test_threads_do_not_matter(n_threads: int) -> None:
    cloud, rows = cloud_of("linear"), with_gaps(200, 0.2)
    whole, other = query.mixture(cloud, rows), query.mixture(cloud, rows, n_threads)
    for part, own in zip(whole, other, strict=True):
        np.testing.assert_array_equal(part, own)


def test_alc_weighs_the_sides() -> None:
    """A candidate without its first value is worth what both sides give, by rows."""
    cloud = cloud_of("constant", n_particles=1)
    low, high, flags = np.zeros(3), np.ones(3), np.zeros(3, dtype=bool)
    x = np.array([np.nan, 0.3, 0.3])
    X, _ = cloud.rows()
    place = {row: k for k, row in enumerate(cloud.row_ids())}
    expected = 0.0
    for share, leaf in oracle.sides(cloud.tree(0), x):
        inside = X[place[leaf[2][0]]]
        own = criteria.alc_rectangle(cloud, inside[None], low, high, flags, False)
        expected += share * own[0]
    worth = criteria.alc_rectangle(cloud, x[None], low, high, flags, False)
    assert worth[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_copies_go_on_alike(model: str) -> None:
    """They are made by way of the arrays of a file."""
    cloud = cloud_of(model)
    rows = with_gaps(40, 0.4, seed=3)
    y = np.arange(40.0) % 3
    cloud.update(rows[:20], y[:20])
    twin = cloud.copy()
    np.testing.assert_array_equal(
        cloud.update(rows[20:], y[20:]), twin.update(rows[20:], y[20:])
    )
