"""Shared proposals: odds, missing sides and choices against plain NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dyntree._core import probe
from dyntree._core.cloud import Cloud
from tests.oracle.native import Leaf, dirichlet_evidence
from tests.oracle.proposals import Mask, goes_left, log_odds
from tests.statistical.clouds import native_cloud

FALSE_FAIL = 1e-6
STAY, GROW, PRUNE = 0, 1, 2


def root_and_evidence(
    model: str, n: int, gaps: float, min_leaf: int, seed: int = 0
) -> tuple[Cloud, np.ndarray, Callable[[Mask], float]]:
    """A cloud of one leaf that holds n rows after it lost five; their evidence."""
    rng = np.random.default_rng(seed)
    X = rng.random((n + 5, 3))
    X[:, 2] = np.round(4 * X[:, 2]) / 4
    y = 2.0 * (X[:, 0] > 0.6) + rng.standard_normal(n + 5)
    if model == "class":
        y = (y > 1.0).astype(float) + (y > 2.0)
    X[rng.random(X.shape) < gaps] = np.nan
    cloud = native_cloud(
        model, 3, n_particles=1, alpha=0.0, min_leaf=min_leaf,
        n_classes=3 * (model == "class"),
    )  # fmt: skip
    cloud.update(X, y)
    cloud.retire(list(range(5)), 1.0)
    X, y = X[5:], y[5:]
    z = np.nan_to_num(X) if model == "linear" else np.empty((n, 0))

    def evidence(rows: Mask) -> float:
        if model == "class":
            counts = np.bincount(y[rows].astype(int), minlength=3).astype(float)
            return dirichlet_evidence(counts, 1.0)
        leaf = Leaf(z[rows], y[rows], np.ones(rows.sum()), 0.1, 0.1)
        return float(leaf.log_evidence)

    return cloud, X, evidence


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "n_cuts", "min_leaf"), [(40, 1, 3), (60, 50, 5), (30, 1500, 2)]
)
def test_odds_of_all_cuts(
    model: str, gaps: float, n: int, n_cuts: int, min_leaf: int
) -> None:
    """1500 cuts of three columns take more than one pass over the rows each."""
    cloud, X, evidence = root_and_evidence(model, n, gaps, min_leaf)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, grow, chances, moves = probe.offer(cloud, probe.roots(cloud)[0], 0, n_cuts)
    assert 0 < len(cuts) <= n_cuts
    splits = [(variable, value, bool(left)) for variable, value, left, _ in cuts]
    assert splits == sorted(splits, key=lambda cut: cut[:2])
    expected = log_odds(X, splits, evidence, min_leaf=min_leaf)
    np.testing.assert_allclose(
        np.diff([0.0] + [odds for *_, odds in cuts]),
        np.exp(expected - expected.max()),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    mean = np.log(np.exp(expected).sum() / n_cuts)
    assert grow == pytest.approx(mean, abs=1e-9)
    assert chances == pytest.approx((1.0 / (1.0 + np.exp(mean)), 0.0), abs=1e-9)
    assert {move[1:] for move in moves if move[0] == GROW} <= {s[:2] for s in splits}
    for cut in splits:
        left = goes_left(X, cut)
        assert min(left.sum(), (~left).sum()) >= min_leaf or gaps > 0.0


def test_rows_without_a_value_follow_the_share_of_the_others() -> None:
    """Normal test of the sum over 20,000 cuts; false-fail rate 1e-6."""
    cloud, X, _ = root_and_evidence("constant", 40, 0.3, 1)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 20_000)
    known = (~np.isnan(X)).sum(axis=0)
    share = np.array([(X[:, v] <= x).sum() / known[v] for v, x, *_ in cuts])
    left = np.array([cut[2] for cut in cuts])
    z = (left - share).sum() / np.sqrt((share * (1 - share)).sum())
    assert 2 * stats.norm.sf(abs(z)) > FALSE_FAIL


def test_particles_choose_in_proportion_to_the_odds() -> None:
    """Chi-square of 50,000 moves; false-fail rate 1e-6."""
    cloud, *_ = root_and_evidence("constant", 16, 0.0, 3, seed=3)
    probe.set_tree_prior(cloud, 0.5, 2.0)
    n = 50_000
    cuts, _, (stays, prunes), moves = probe.offer(cloud, probe.roots(cloud)[0], 0, n)
    assert prunes == 0.0
    assert 0.01 < stays < 0.99
    odds = np.diff([0.0] + [cut[3] for cut in cuts])
    column = np.array([cut[0] for cut in cuts])
    chance = [stays]
    chance += [(1 - stays) * odds[column == j].sum() / odds.sum() for j in range(3)]
    counts = Counter(-1 if kind == STAY else variable for kind, variable, _ in moves)
    observed = [counts[key] for key in (-1, 0, 1, 2)]
    assert stats.chisquare(observed, n * np.array(chance)).pvalue > FALSE_FAIL


def test_a_leaf_that_cannot_split_stays() -> None:
    cloud, *_ = root_and_evidence("constant", 8, 0.0, 5)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, grow, chances, moves = probe.offer(cloud, probe.roots(cloud)[0], 0, 20)
    assert (cuts, grow, chances) == ([], -np.inf, (1.0, 0.0))
    assert {kind for kind, *_ in moves} == {STAY}


def test_grown_leaves_are_shared() -> None:
    """Particles that choose the same cut of the same leaf hold the same leaves."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    cloud = native_cloud("constant", 2, n_particles=200)
    cloud.update(X, 5.0 * (X[:, 0] > 0.5))
    leaves = sum(cloud.shapes()[:, 1])
    distinct = {
        probe.leaf_of(cloud, i, row) for i in range(cloud.n_particles) for row in X
    }
    assert leaves >= 400
    assert len(distinct) < leaves / 4
