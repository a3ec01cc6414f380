"""Limits, proposals and scores of moves, against sorting and the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.oracle import tree as oracle_tree
from tests.probes import probe

PROPOSALS = ("luvar", "luall", "reject")
STAY, GROW, PRUNE = 0, 1, 2


def root_with(X: np.ndarray, y: np.ndarray | None = None, **options) -> Cloud:
    """A cloud of one root that holds the rows."""
    options = {"n_features": X.shape[1], "n_particles": 1} | options
    cloud = Cloud(RSource(1), **helpers.options_of("constant", **options))
    cloud.start(X, np.zeros(len(X)) if y is None else y)
    return cloud


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("min_leaf", [1, 2, 5, 17])
def test_limits_are_order_statistics(proposal: str, min_leaf: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2 * min_leaf, 2 * min_leaf + 40))
        X = rng.choice(rng.normal(size=1 + n // (1 + seed % 3)), size=(n, 3))
        cloud = root_with(X, proposal=proposal, min_leaf=min_leaf)
        skip = 0 if proposal == "reject" else min_leaf - 1
        for j in range(3):
            column = np.sort(X[:, j])
            got = probe.limits(cloud, probe.roots(cloud)[0], j)
            assert got == (column[skip], column[n - 1 - skip])


@pytest.mark.parametrize("proposal", ["luvar", "luall"])
def test_proposals_leave_both_sides_large_enough(proposal: str) -> None:
    X = np.random.default_rng(1).uniform(size=(30, 3))
    cloud = root_with(X, proposal=proposal, min_leaf=7, first_split=1)
    root, columns = probe.roots(cloud)[0], set()
    for _ in range(300):
        variable, value, splits = probe.propose(cloud, root)
        columns.add(variable)
        smaller = (X[:, variable] <= value).sum()
        assert splits
        assert 7 <= smaller <= 23
    assert columns == {1, 2}
    assert cloud.source.n_draws == 600


def test_reject_proposes_over_the_whole_range() -> None:
    X = np.random.default_rng(1).uniform(size=(30, 2))
    cloud = root_with(X, proposal="reject", min_leaf=7)
    root = probe.roots(cloud)[0]
    for _ in range(300):
        variable, value, splits = probe.propose(cloud, root)
        smaller = (X[:, variable] <= value).sum()
        assert splits == (7 <= smaller <= 23)
        assert X[:, variable].min() <= value <= X[:, variable].max()


@pytest.mark.parametrize(
    ("proposal", "n_draws", "proposed"),
    [("luvar", 1, False), ("luall", 0, False), ("reject", 1, True)],
)
def test_columns_without_width(proposal: str, n_draws: int, proposed: bool) -> None:
    cloud = root_with(np.full((9, 2), 0.3), proposal=proposal, min_leaf=2)
    got = probe.propose(cloud, probe.roots(cloud)[0])
    assert (got is not None) == proposed
    assert got is None or got[1:] == (0.3, False)
    assert cloud.source.n_draws == n_draws


def test_luall_asks_only_columns_that_can_be_split() -> None:
    X = np.full((12, 3), 0.3)
    X[:, 1] = np.arange(12)
    cloud = root_with(X, proposal="luall", min_leaf=3)
    got = {probe.propose(cloud, probe.roots(cloud)[0])[0] for _ in range(50)}
    assert got == {1}


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize(
    "options", [{"tree_prior": (0.0, 2.0)}, {"min_leaf": 6}], ids=["prior", "size"]
)
def test_no_proposal_no_draw(proposal: str, options: dict) -> None:
    X = np.random.default_rng(1).uniform(size=(11, 2))
    cloud = root_with(X, proposal=proposal, **options)
    assert probe.propose(cloud, probe.roots(cloud)[0]) is None
    assert cloud.source.n_draws == 0


def test_a_split_keeps_the_order_of_the_rows() -> None:
    X = np.random.default_rng(2).uniform(size=(10, 2))
    cloud = root_with(X, min_leaf=2)
    left, right = probe.split(
        cloud, probe.roots(cloud)[0], 1, float(np.median(X[:, 1]))
    )
    assert left[0] == np.flatnonzero(X[:, 1] <= np.median(X[:, 1])).tolist()
    assert right[0] == np.flatnonzero(X[:, 1] > np.median(X[:, 1])).tolist()
    assert probe.split(cloud, probe.roots(cloud)[0], 1, 2.0) is None


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize(
    ("name", "retire"),
    [(name, False) for name in helpers.MODELS]
    + [(name, True) for name in helpers.RETIRING],
)
def test_scores_and_choices_are_the_oracles(
    name: str, retire: bool, proposal: str
) -> None:
    """At every leaf of every tree; the chosen move takes the same draws."""
    core, oracle = helpers.pair(name, 40, retire=retire, proposal=proposal)
    moves = set()
    for i, tree in enumerate(oracle.trees):
        for x in map(np.array, oracle.pool.x):
            handles, nodes = probe.path_of(core, i, x), tree.path(x.tolist())
            top, node = nodes[-2:][0], nodes[-1]
            parent = top if len(nodes) > 1 else None
            leaf_and_parent = handles[-1], [0, *handles][-2]
            stay, prune = probe.scores(core, *leaf_and_parent)
            expected = top.score(oracle.rules)
            helpers.assert_close(stay, expected, "stay")
            _, score = tree._merge(parent)
            helpers.assert_close(prune, score, "prune")

            split, grow = tree._propose(node, parent, expected, oracle.source)
            move = oracle_tree.choose(expected, grow, score, oracle.source)
            kind, variable, value = probe.decide(core, *leaf_and_parent)
            moves.add(kind)
            if move == "grow" and split is not None:
                assert (kind, variable, value) == (GROW, split.variable, split.value)
            else:
                assert kind == (PRUNE if move == "prune" else STAY)
            assert core.source.n_draws == oracle.source.n_draws
    assert {STAY, GROW} <= moves


def neighbours(n: int) -> np.ndarray:
    """A column of two values without a number between them."""
    return np.repeat([0.3, np.nextafter(0.3, 1.0)], n)[:, None]


def test_a_value_that_rounds_up_fails_to_split() -> None:
    """Quirk 53: then the proposal is scored as staying, and staying it is."""
    cloud = root_with(neighbours(6), np.repeat([0.0, 9.0], 6), proposal="luall")
    root = probe.roots(cloud)[0]
    failed = decided = 0
    for _ in range(200):
        at = cloud.source.copy()
        _, value, splits = probe.propose(cloud, root)
        assert splits == (value == 0.3)
        cloud.source.restore(at)
        kind, _, value = probe.decide(cloud, root, 0)
        failed += not splits
        decided += splits
        if not splits:
            assert kind == STAY
        assert cloud.source.n_draws == at.n_draws + 3
    assert failed > 50
    assert decided > 50


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_clouds_survive_values_that_round_up(proposal: str, seed: int) -> None:
    """CRAN crashes here (quirk 53); the trees and the stream are the oracle's."""
    core, oracle = helpers.pair("constant", 30, seed, proposal=proposal)
    X, y = helpers.data("constant", 40, seed)
    X[:, 0] = np.tile(neighbours(10)[:, 0], 2)
    np.testing.assert_array_equal(core.update(X, -y), oracle.update(X, -y))
    helpers.assert_same_cloud(core, oracle)


def test_deep_trees_score_by_their_depths() -> None:
    """The sum of the text over the nodes of a subtree, from what `.tree` shows."""
    alpha, beta = 0.9, 0.5
    X = np.random.default_rng(0).uniform(size=(60, 1))
    cloud = root_with(X[:5], X[:5, 0], tree_prior=(alpha, beta), min_leaf=2)
    cloud.update(X[5:], 10.0 * np.floor(8.0 * X[5:, 0]) + X[5:, 0])

    def score(tree: tuple) -> float:
        chance = alpha * (1 + tree[1]) ** -beta
        if tree[0] == "leaf":
            return math.log(1 - chance) + tree[4]
        return math.log(chance) + score(tree[4]) + score(tree[5])

    deepest = 0
    for x in X:
        path = helpers.routed(cloud.tree(0), x)
        handles = [0, *probe.path_of(cloud, 0, x)]
        stay, _ = probe.scores(cloud, handles[-1], handles[-2])
        # sums of fewer than a hundred terms of moderate size
        assert stay == pytest.approx(score(path[-2:][0]), rel=1e-12)
        deepest = max(deepest, len(path))
    assert deepest > 4
