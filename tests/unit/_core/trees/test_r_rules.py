"""R's leaves and choices, held against the oracle's."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees import query
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.r_rules import RNumerics
from tests import helpers
from tests.oracle.cloud import Cloud as OracleCloud
from tests.oracle.stream import RSource as OracleSource
from tests.oracle.tree import choose
from tests.probes import core as shared
from tests.probes import probe

MOVES = ("stay", "grow", "prune")
LUALL, LUVAR, REJECT = 1, 2, 3
FLAT, PROPER = (0.0, 0.0), (2.5, 0.4)


def leaf_data(name: str, kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = helpers.data(name, n, seed=n)
    if kind == "one level":
        y[:] = y[0]
    if kind == "repeated":
        X[:] = X[0]
    if kind == "collinear":
        X[:, 1] = 2.0 * X[:, 0]
    if kind == "exact" and name != "class":
        y = 1.0 + X @ [2.0, 3.0]
    if kind == "tiny" and name != "class":
        y *= 1e-9  # squares below machine epsilon, which count as zero (3.6)
    return X, y


def lone_leaves(
    name: str, kind: str, n: int, prior: tuple[float, float], **changes: Any
) -> tuple[Cloud, OracleCloud, np.ndarray, np.ndarray]:
    """Clouds of one root each that learned n rows and cannot split."""
    X, y = leaf_data(name, kind, n)
    options = helpers.options_of(
        name, n_particles=1, tree_prior=(0.0, 2.0), variance_prior=prior, **changes
    )
    both = (
        Cloud(RSource(1), **options),
        OracleCloud(OracleSource(1), **options),
    )
    start = (n + 1) // 2
    for cloud in both:
        cloud.start(X[:start], y[:start])
        if n > start:
            cloud.update(X[start:], y[start:])
    return *both, X, y


def assert_same_leaf(core: Cloud, oracle: OracleCloud, X: Any, y: Any) -> None:
    """Evidence close; density, location, scale and df with equal bits."""
    helpers.assert_same_tree(core.tree(0), oracle.tree(0))
    leaf = oracle.trees[0].root.leaf
    points = [(x, float(v)) for x, v in zip((X + 0.1).tolist(), y, strict=True)]
    got = query.densities(core, X + 0.1, y)
    expected = [leaf.density(x[:], v) for x, v in points]
    np.testing.assert_array_equal(got, expected)
    if core.model == "class":
        p = [query.class_probabilities(core, k, X[:1])[0, 0] for k in range(3)]
        assert p == leaf.probabilities()
    else:
        got = np.squeeze(query.predictive(core, X + 0.1), axis=1)
        expected = np.array([leaf.predictive(x) for x, _ in points]).T
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", helpers.MODELS)
@pytest.mark.parametrize(
    "kind", ["plain", "one level", "repeated", "collinear", "exact", "tiny"]
)
@pytest.mark.parametrize("prior", [FLAT, PROPER])
def test_leaves_are_the_oracles(name: str, kind: str, prior: tuple) -> None:
    for n in (1, 2, 3, 4, 5, 9, 40):
        assert_same_leaf(*lone_leaves(name, kind, n, prior))


@pytest.mark.parametrize("name", helpers.RETIRING)
@pytest.mark.parametrize("kind", ["plain", "collinear"])
@pytest.mark.parametrize("forget", [1.0, 0.9, 0.2])
def test_retired_leaves_are_the_oracles(name: str, kind: str, forget: float) -> None:
    core, oracle, X, y = lone_leaves(name, kind, 14, PROPER)
    for places in ([0], [3, 1], [4, 0, 2, 6, 1]):
        core.retire(places, forget)
        oracle.retire(places, forget)
        assert_same_leaf(core, oracle, X, y)
    core.update(X, y)
    oracle.update(X, y)
    assert_same_leaf(core, oracle, X, y)


def test_a_basis_uses_its_columns_only() -> None:
    for name in ("implicit", "augmented", "none"):
        assert_same_leaf(*lone_leaves(name, "plain", 20, FLAT, n_basis=1))


def test_a_long_leaf_outgrows_the_table_of_constants() -> None:
    assert_same_leaf(*lone_leaves("constant", "plain", 1100, FLAT))


# Choosing a move ------------------------------------------------------------------

SCORES = (-math.inf, math.inf, math.nan, 0.0, 1.5, -3.0, 705.0, 711.0, -711.0)


@pytest.mark.parametrize("stay", SCORES)
def test_moves_are_chosen_as_in_the_text(stay: float) -> None:
    rules = RNumerics()
    for grow, prune in product(SCORES, SCORES):
        source, oracle = RSource(5), OracleSource(5)
        for _ in range(6):
            got = MOVES[probe.choose(rules, stay, grow, prune, source)]
            assert got == choose(stay, grow, prune, oracle), (stay, grow, prune)
            assert source.n_draws == oracle.n_draws


def test_an_overwhelming_advantage_is_never_taken() -> None:
    """Quirk 2: the smallest score is subtracted, and the norm overflows."""
    rules, source = RNumerics(), RSource(1)
    assert MOVES[probe.choose(rules, 0.0, 711.0, -math.inf, source)] == "stay"
    assert source.n_draws == 0
    assert MOVES[probe.choose(rules, 0.0, 705.0, -math.inf, source)] == "grow"
    assert source.n_draws == 1


def test_a_failed_split_counts_as_staying_under_luall() -> None:
    """Quirk 53."""
    rules = RNumerics()
    assert probe.failed_split(rules, LUALL, 3.5) == 3.5
    assert probe.failed_split(rules, LUVAR, 3.5) == -math.inf
    assert probe.failed_split(rules, REJECT, 3.5) == -math.inf


# Weighing -------------------------------------------------------------------------


def test_weights_without_variance_are_not_resampled() -> None:
    source = RSource(1)
    ancestors, log_mean, variance = probe.resample(RNumerics(), [2.0] * 5, 5, source)
    assert (ancestors, variance, source.n_draws) == (None, 0.0, 0)
    assert log_mean == pytest.approx(math.log(2.0), rel=1e-15)


@pytest.mark.parametrize("n_target", [4, 8, 3])
def test_the_mean_counts_the_particles_that_follow(n_target: int) -> None:
    """Quirk 12."""
    w = np.array([1.0, 2.0, 0.5, 4.5])
    ancestors, log_mean, variance = probe.resample(RNumerics(), w, n_target, RSource(1))
    expected = shared.residual(w / w.sum(), n_target, RSource(1))
    assert ancestors.tolist() == expected.tolist()
    assert log_mean == pytest.approx(math.log(w.sum() / n_target), rel=1e-15)
    assert variance == pytest.approx(np.var(w / w.sum()), rel=1e-12)


@pytest.mark.parametrize(("bad", "log_mean"), [(0.0, -math.inf), (math.nan, math.nan)])
def test_densities_that_are_all_zero_or_nan_count_alike(bad, log_mean) -> None:
    """Quirk 10: everybody weighs 1 / N."""
    ancestors, got, _ = probe.resample(RNumerics(), [bad] * 4, 4, RSource(1))
    assert ancestors is None or ancestors.tolist() == [0, 1, 2, 3]
    np.testing.assert_equal(got, log_mean)
