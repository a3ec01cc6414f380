"""Sensitivity under native rules: the same designs, every sum taken the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree._core.rng import CounterSource
from dyntree._core.trees import input_samples, query
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.sensitivity import moving_average, sensitivity
from tests.oracle.sensitivity import moving_average as plain_average
from tests.statistical.clouds import native_cloud

N, D = 40, 3
FALSE_FAIL = 1e-6


def grown(model: str, missing: bool = False) -> Cloud:
    """A cloud of 8 particles that learned 120 rows."""
    rng = np.random.default_rng(1)
    X = rng.random((120, D))
    y = 4 * X[:, 0] + np.sin(9 * X[:, 1]) + 0.1 * rng.standard_normal(120)
    if missing:
        X[::5, 1] = np.nan
    classes = {"n_classes": 3} if model == "class" else {}
    cloud = native_cloud(
        model, D, n_particles=8, n_basis=D if model == "linear" else None, **classes
    )
    labels = np.digitize(y, [1.0, 3.0]).astype(float)
    cloud.update(X, labels if model == "class" else y)
    return cloud


def plan(**changes: Any) -> dict[str, Any]:
    return {
        "n_samples": N,
        "grid": np.tile(np.linspace(0.0, 1.0, 7)[:, None], (1, D)),
        "span": 0.3,
        "lower": np.zeros(D),
        "upper": np.ones(D),
        "shape": np.array([1.0, 1.0, 3.0]),
        "mode": np.full(D, 0.5),
        "categorical": np.zeros(D, dtype=bool),
    } | changes


def said(
    cloud: Cloud, particle: int, X: np.ndarray, label: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of one particle's predictive distributions."""
    if label is not None:
        p = query.class_probabilities(cloud, label, X)[particle]
        return p, p * (1 - p)
    location, scale, df = (table[particle] for table in query.predictive(cloud, X))
    return location, stats.t.var(df, scale=scale)


@pytest.mark.parametrize("method", ["lhs", "boot"])
@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_indices_and_effects_are_those_of_the_formulas(model: str, method: str) -> None:
    cloud = grown(model, missing=method == "boot")
    asked, label = plan(method=method), 1 if model == "class" else None
    law = ("lower", "upper", "shape", "mode")
    inputs = list(zip(*(asked[k] for k in law), strict=True))
    again = cloud.copy(cloud.source.copy())
    main, first, total = sensitivity(cloud, **asked, label=label)
    for i in range(cloud.n_particles):
        if method == "lhs":
            a, b = (
                input_samples.shuffled_hypercube(again.source, N, inputs)[0].T
                for _ in range(2)
            )
        else:
            a, b = (
                input_samples.bootstrap(again, again.source, N, D)[0].T
                for _ in range(2)
            )
        (at_a, var_a), (at_b, var_b) = (said(cloud, i, x, label) for x in (a, b))
        level = np.concatenate([at_a, at_b])
        variance = (
            np.mean(level**2 + np.concatenate([var_a, var_b])) - level.mean() ** 2
        )
        for j in range(D):
            mixed = b.copy()
            mixed[:, j] = a[:, j]
            at_mixed = said(cloud, i, mixed, label)[0]
            change = at_mixed - at_b
            one = change @ (at_a - level.mean()) / N
            rest = level.var() + change @ (at_b - level.mean()) / N
            assert first[i, j] == pytest.approx(one / variance, abs=1e-10)
            assert total[i, j] == pytest.approx(1 - rest / variance, abs=1e-10)
            x = np.concatenate([a[:, j], b[:, j]])
            there = ~np.isnan(x)
            effect = plain_average(
                x[there], level[there], asked["grid"][:, j], asked["span"]
            )
            np.testing.assert_allclose(main[i, :, j], effect, rtol=1e-10)


def test_windows_far_narrower_than_the_range_keep_their_digits() -> None:
    """All inputs but one lie within 1e-7: differences of sums would lose them."""
    rng = np.random.default_rng(0)
    v, y = np.sort(np.append(1e-7 * rng.random(99), 1.0)), 1e3 + rng.random(100)
    grid = np.linspace(0.0, 1e-7, 9)
    expected = plain_average(v, y, grid, 0.3)
    got = moving_average(v, y, grid, 0.3, True)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


# ------------------------------------------------------------ designs
def test_every_stratum_is_met_once_and_told_in_order() -> None:
    inputs = [(-1.0, 3.0, 1.0, 0.0), (0.0, 1.0, 2.5, 0.3)]
    values, rising = input_samples.shuffled_hypercube(CounterSource(3), 50, inputs)
    for x, order in zip(values, rising, strict=True):
        assert sorted(order) == list(range(50))
        assert np.all(np.diff(x[order]) >= 0)
    strata = np.floor((values[0] + 1.0) / 4.0 * 50)
    assert sorted(strata) == list(range(50))
    assert 0.0 <= values[1].min() <= values[1].max() <= 1.0


@pytest.mark.parametrize("seed", range(3))
def test_permutations_and_what_is_left_of_their_numbers_are_uniform(seed: int) -> None:
    """24 orders of four, and four remainders: chi-squared tests at 1e-6 in all."""
    source, n = CounterSource(seed), 4800
    counts, left = dict[tuple[int, ...], int](), []
    for _ in range(n):
        u, order = source.uniforms(4), np.empty(4, dtype=np.int64)
        input_samples.shuffle(order, u)
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
        left.append(u)
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > FALSE_FAIL / 5
    for column in np.array(left).T:
        tenths = np.bincount((10 * column).astype(int), minlength=10)
        assert stats.chisquare(tenths).pvalue > FALSE_FAIL / 5
