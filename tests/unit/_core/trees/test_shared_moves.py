"""Shared proposals: odds, missing sides and choices against plain NumPy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree._core.trees.cloud import Cloud
from tests.oracle.native import Leaf, dirichlet_evidence
from tests.oracle.proposals import Evidence, Mask, goes_left, log_odds, share
from tests.probes import handles_below, probe
from tests.statistical.clouds import native_cloud

FALSE_FAIL = 1e-6
STAY, GROW, PRUNE = 0, 1, 2


def splits_of(cuts: list[tuple]) -> list[tuple[int, float, bool, bool]]:
    """Column, value, side of rows without one, whether the children inherit."""
    return [(cut[0], cut[1], bool(cut[2]), bool(cut[3])) for cut in cuts]


def held_rows(cloud: Cloud, particle: int, x: np.ndarray) -> list[int]:
    """Rows of the leaf that x reaches in a particle, in the leaf's own order."""
    return probe.leaf(cloud, probe.leaf_of(cloud, particle, x))[1]


def root_and_evidence(
    model: str, n: int, gaps: float, min_leaf: int, seed: int = 0, n_retired: int = 5
) -> tuple[Cloud, np.ndarray, Evidence]:
    """A cloud of one leaf that holds n rows after it lost some; their evidence."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_retired + n, 3))
    X[:, 2] = np.round(4 * X[:, 2]) / 4
    y = 2.0 * (X[:, 0] > 0.6) + rng.standard_normal(n_retired + n)
    if model == "class":
        y = (y > 1.0).astype(float) + (y > 2.0)
    X[rng.random(X.shape) < gaps] = np.nan
    cloud = native_cloud(
        model, 3, n_particles=1, alpha=0.0, min_leaf=min_leaf,
        n_classes=3 * (model == "class"),
    )  # fmt: skip
    cloud.update(X, y)
    cloud.retire(list(range(n_retired)), 1.0)
    z = np.nan_to_num(X) if model == "linear" else np.empty((len(X), 0))

    def evidence(rows: Mask, weight: float) -> float:
        w = np.concatenate([np.full(n_retired, weight), rows])
        if model == "class":
            counts = np.bincount(y.astype(int), weights=w, minlength=3)
            return dirichlet_evidence(counts, 1.0)
        return float(Leaf(z, y, w, 0.1).log_evidence)

    return cloud, X[n_retired:], evidence


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "n_cuts", "min_leaf", "n_retired"),
    [(40, 1, 3, 5), (60, 50, 5, 200), (30, 8000, 2, 5), (30, 40, 2, 0)],
)
def test_odds_of_all_cuts(
    model: str, gaps: float, n: int, n_cuts: int, min_leaf: int, n_retired: int
) -> None:
    """8000 particles offer 1056 cuts of three columns: more than one pass each."""
    cloud, X, evidence = root_and_evidence(
        model, n, gaps, min_leaf, n_retired=n_retired
    )
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, grow, chances, moves = probe.offer(cloud, probe.roots(cloud)[0], 0, n_cuts)
    assert 0 < len(cuts) <= n_cuts
    splits = splits_of(cuts)
    assert splits == sorted(splits, key=lambda cut: cut[:2])
    inherits = {cut[3] for cut in splits}
    assert inherits <= ({False, True} if n_retired and model != "class" else {False})
    expected = log_odds(X, splits, evidence, n_retired, min_leaf=min_leaf)
    np.testing.assert_allclose(
        np.diff([0.0] + [odds for *_, odds in cuts]),
        np.exp(expected - expected.max()),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    offered = n_cuts if n_cuts <= 64 else 64 + (n_cuts - 64) // 8
    mean = np.log(np.exp(expected).sum() / offered)
    assert grow == pytest.approx(mean, abs=1e-9)
    assert chances == pytest.approx((1.0 / (1.0 + np.exp(mean)), 0.0), abs=1e-9)
    assert {move[1:] for move in moves if move[0] == GROW} <= {s[:2] for s in splits}
    for cut in splits:
        left = goes_left(X, cut)
        assert min(left.sum(), (~left).sum()) >= min_leaf or gaps > 0.0


@pytest.mark.parametrize("min_leaf", [1, 3])
def test_a_leaf_of_twice_min_leaf_rows_may_split(min_leaf: int) -> None:
    for n, may in [(2 * min_leaf - 1, False), (2 * min_leaf, True)]:
        cloud, *_ = root_and_evidence("constant", n, 0.0, min_leaf, n_retired=0)
        probe.set_tree_prior(cloud, 0.95, 2.0)
        cuts, grow, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 30)
        assert bool(cuts) == may
        assert np.isfinite(grow) == may


def streamed(
    model: str, gaps: float, window: int, seed: int, **options: Any
) -> tuple[Cloud, np.ndarray]:
    """A cloud that learned 600 rows, of which it holds some, and another row."""
    rng = np.random.default_rng(seed)
    X = rng.random((601, 3))
    X[:, 2] = np.round(4 * X[:, 2]) / 4
    y = 3.0 * (X[:, 0] > 0.5) + 2.0 * X[:, 1] + 0.5 * rng.standard_normal(601)
    if model == "class":
        y = np.digitize(y, [1.0, 3.0]).astype(float)
    X[rng.random(X.shape) < gaps] = np.nan
    cloud = native_cloud(
        model, 3, n_particles=60, n_classes=3 * (model == "class"), **options
    )
    for k in range(600):
        cloud.update(X[k : k + 1], y[k : k + 1])
        if k >= window:
            cloud.retire([int(rng.integers(window + 1))], 1.0)
    return cloud, X[600]


def sharing(
    model: str, gaps: float, window: int, seed: int, **options: Any
) -> tuple[Cloud, np.ndarray, list[int]]:
    """A stream, its last row, and one particle for each distinct leaf that holds it."""
    cloud, x = streamed(model, gaps, window, seed, **options)
    return cloud, x, list({probe.leaf_of(cloud, i, x): i for i in range(60)}.values())


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_rows_of_a_leaf_stand_in_order_of_age(model: str, gaps: float) -> None:
    cloud, _ = streamed(model, gaps, 100, seed=1, min_leaf=3)
    ids = cloud.row_ids()
    leaves = {h for root in probe.roots(cloud) for h in handles_below(cloud, root)}
    held = [ids[probe.leaf(cloud, h)[1]] for h in leaves if h < 0]
    assert sum(map(len, held)) > 200
    assert all((np.diff(rows) > 0).all() for rows in held)


def active_evidence(model: str, X: np.ndarray, y: np.ndarray) -> Evidence:
    """Log evidence of rows of which none has been retired, worked out once for each."""
    z = np.nan_to_num(X) if model == "linear" else np.empty((len(X), 0))
    known: dict[bytes, float] = {}

    def log_evidence(rows: Mask) -> float:
        if model == "class":
            counts = np.bincount(y.astype(int), weights=rows, minlength=3)
            return dirichlet_evidence(counts, 1.0)
        return float(Leaf(z, y, rows.astype(float), 0.1).log_evidence)

    def evidence(rows: Mask, weight: float) -> float:
        key = rows.tobytes()
        if key not in known:
            known[key] = log_evidence(rows)
        return known[key]

    return evidence


def offers_of(cloud: Cloud, holders: list[int], x: np.ndarray, only: int = -1) -> Any:
    """40 splits proposed for the leaf of row x in each of some particles."""
    leaves = [probe.leaf_of(cloud, i, x) for i in holders]
    return probe.offers(cloud, leaves, 40, only)


@pytest.mark.parametrize(
    ("model", "min_leaf", "window"), [("constant", 5, 300), ("class", 3, 100)]
)
def test_a_leaf_holds_the_rows_that_reach_it(
    model: str, min_leaf: int, window: int
) -> None:
    """Leaves with the same rows lie in regions of their own: so must their children."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.random((600, 5))
        y = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
        y += 10.0 * X[:, 3] + 5.0 * X[:, 4] + rng.standard_normal(600)
        if model == "class":
            y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])).astype(float)
        cloud = native_cloud(
            model, 5, n_particles=100, n_classes=3 * (model == "class"),
            min_leaf=min_leaf,
        )  # fmt: skip
        for k in range(600):
            cloud.update(X[k : k + 1], y[k : k + 1])
            if k >= window:
                cloud.retire([int(rng.integers(window + 1))], 1.0)
            if k % 50 == 0:
                check_rows_stand_where_they_belong(cloud)


def check_rows_stand_where_they_belong(cloud: Cloud) -> None:
    X, _ = cloud.rows()
    for i in range(cloud.n_particles):
        reached: dict[int, list[int]] = {}
        for k, x in enumerate(X):
            reached.setdefault(probe.leaf_of(cloud, i, x), []).append(k)
        for h, rows in reached.items():
            assert sorted(probe.leaf(cloud, h)[1]) == rows


SHARED_ROWS = pytest.mark.parametrize(
    ("gaps", "window", "options"),
    [
        (0.0, 60, {"min_leaf": 3}),
        (0.2, 60, {"min_leaf": 3, "proposal": "luall"}),
        (0.2, 40, {"min_leaf": 1, "proposal": "reject"}),
        (0.0, 300, {"min_leaf": 3, "alpha": 0.3}),      # leaves of more than 64 rows
    ],
)  # fmt: skip


@pytest.mark.parametrize("model", ["constant", "linear"])
@SHARED_ROWS
def test_leaves_that_share_their_rows_are_rated_as_if_alone(
    model: str, gaps: float, window: int, options: dict[str, Any]
) -> None:
    """Leaves with the same rows, but with pasts and depths of their own."""
    n_shared = 0
    for seed in range(6):
        cloud, x, holders = sharing(model, gaps, window, seed, **options)
        together = offers_of(cloud.copy(), holders, x)
        rows = [held_rows(cloud, i, x) for i in holders]
        lenders = {shares for k, (*_, shares) in enumerate(together) if shares != k}
        for k, (cuts, grow, following, shares) in enumerate(together):
            later = [j for j in range(k + 1, len(rows)) if rows[j] == rows[k]]
            splits = len(rows[k]) >= 2 * options["min_leaf"]
            if len(rows[k]) <= 64:
                assert following == (later[0] if later and splits else -1)
            else:  # each is looked at in steps of its own
                assert following in [-1, *later]
            if shares != k or k in lenders:
                continue
            n_shared += following >= 0 and len(cuts) > 0
            copy = cloud.copy()  # which has no limits yet
            alone, grow_alone, *_ = offers_of(copy, holders, x, k)[k]
            assert [cut[:4] for cut in cuts] == [cut[:4] for cut in alone]
            np.testing.assert_allclose(
                [cut[4] for cut in cuts], [cut[4] for cut in alone], rtol=1e-9
            )
            assert grow == pytest.approx(grow_alone, abs=1e-9)
    assert n_shared > 5


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@SHARED_ROWS
def test_leaves_that_hand_nothing_on_choose_among_the_same_cuts(
    model: str, gaps: float, window: int, options: dict[str, Any]
) -> None:
    """Leaves with the same rows, each at its own depth: odds against the oracle."""
    n_shared = 0
    for seed in range(8):
        cloud, x, holders = sharing(model, gaps, window, seed, **options)
        if model != "class":
            cloud.retire([0], 0.99)  # what fades is not handed on
        together = offers_of(cloud, holders, x)
        depths = [len(probe.path_of(cloud, i, x)) - 1 for i in holders]
        X, y = cloud.rows()
        of_rows: dict[tuple[int, ...], Evidence] = {}
        for k, (cuts, grow, _, shares) in enumerate(together):
            n_leaves = sum(other == shares for *_, other in together)
            n_shared += shares != k and len(cuts) > 0
            if not cuts:
                continue
            assert together[shares][0] == cuts
            held = sorted(held_rows(cloud, holders[k], x))
            evidence = of_rows.setdefault(
                tuple(held), active_evidence(model, X[held], y[held])
            )
            odds = log_odds(
                X[held], splits_of(cuts), evidence, 0.0,
                depth=depths[k], min_leaf=options["min_leaf"],
                alpha=options.get("alpha", 0.95),
            )  # fmt: skip
            np.testing.assert_allclose(
                np.diff([0.0] + [cut[4] for cut in cuts]),
                np.exp(odds - odds.max()),
                rtol=1e-8, atol=1e-12,
            )  # fmt: skip
            n = 40 * n_leaves
            offered = n if n <= 64 else 64 + (n - 64) // 8
            assert len(cuts) <= offered
            steps = max(1.0, len(held) / 64)
            mean = np.log(steps * np.exp(odds).sum() / offered)
            assert grow == pytest.approx(mean, abs=1e-8)
    assert n_shared > 2


@pytest.mark.parametrize("n", [64, 1024])
def test_a_large_leaf_is_looked_at_seldom_and_then_counts_for_more(n: int) -> None:
    """A leaf of n > 64 rows is offered splits in 64 of n steps, with n / 64 the odds.

    Exact binomial test of 4000 steps; false-fail rate 1e-6.
    """
    cloud, X, evidence = root_and_evidence("constant", n, 0.0, 3, n_retired=0)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    (leaf,) = probe.roots(cloud)
    looks = [probe.offer(cloud, leaf, 0, 4, time) for time in range(4000)]
    offers = [(cuts, grow) for cuts, grow, *_ in looks if cuts]
    assert stats.binomtest(len(offers), 4000, 64 / n).pvalue > FALSE_FAIL
    assert all(chances == (1.0, 0.0) for cuts, _, chances, _ in looks if not cuts)
    for cuts, grow in offers[:20]:
        odds = log_odds(X, splits_of(cuts), evidence, 0, min_leaf=3)
        mean = np.log(n / 64 * np.exp(odds).sum() / 4)
        assert grow == pytest.approx(mean, abs=1e-8)


def test_rows_without_a_value_follow_the_share_of_the_others() -> None:
    """Normal test of the sum over 20,000 cuts; false-fail rate 1e-6."""
    cloud, X, _ = root_and_evidence("constant", 40, 0.3, 1)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    every, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 20_000)
    cuts = [cut for cut in every if np.isfinite(cut[1])]
    known = (~np.isnan(X)).sum(axis=0)
    share = np.array([(X[:, v] <= x).sum() / known[v] for v, x, *_ in cuts])
    left = np.array([cut[2] for cut in cuts])
    z = (left - share).sum() / np.sqrt((share * (1 - share)).sum())
    assert 2 * stats.norm.sf(abs(z)) > FALSE_FAIL


@pytest.mark.parametrize("proposal", ["luvar", "luall", "reject"])
def test_a_quarter_of_the_splits_ask_whether_there_is_a_value(proposal: str) -> None:
    """Exact binomial tests; false-fail rate 1e-6 each.

    Of a column with values and gaps; all splits where its values are equal, or too few
    to be parted, and none where it has no gap.
    """
    rng = np.random.default_rng(0)
    X = rng.random((40, 5))
    X[rng.random(40) < 0.3, 0] = np.nan
    X[:, 1] = np.where(rng.random(40) < 0.5, 0.7, np.nan)
    X[1:, 2] = np.nan
    X[:, 3] = np.nan
    cloud = native_cloud(
        "constant", 5, n_particles=1, alpha=0.0, min_leaf=3, proposal=proposal
    )
    cloud.update(X, rng.standard_normal(40))
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 20_000)
    asks: dict[int, list[bool]] = {}
    for column, value, missing_left, *_ in cuts:
        asks.setdefault(column, []).append(value == np.inf)
        assert not (value == np.inf and missing_left)
    assert asks.keys() == {0, 1, 2, 4}
    assert not any(asks[4])
    assert all(asks[2])
    shares = {0: 0.25, 1: 0.25 if proposal == "reject" else 1.0}
    for column, expected in shares.items():
        found, n = sum(asks[column]), len(asks[column])
        assert stats.binomtest(found, n, expected).pvalue > FALSE_FAIL


def test_particles_choose_in_proportion_to_the_odds() -> None:
    """Chi-square of 50,000 moves; false-fail rate 1e-6."""
    cloud, *_ = root_and_evidence("constant", 16, 0.0, 3, seed=3)
    probe.set_tree_prior(cloud, 0.5, 2.0)
    n = 50_000
    cuts, _, (stays, prunes), moves = probe.offer(cloud, probe.roots(cloud)[0], 0, n)
    assert prunes == 0.0
    assert 0.01 < stays < 0.99
    odds = np.diff([0.0] + [cut[-1] for cut in cuts])
    column = np.array([cut[0] for cut in cuts])
    chance = [stays]
    chance += [(1 - stays) * odds[column == j].sum() / odds.sum() for j in range(3)]
    counts = Counter(-1 if kind == STAY else variable for kind, variable, _ in moves)
    observed = [counts[key] for key in (-1, 0, 1, 2)]
    assert stats.chisquare(observed, n * np.array(chance)).pvalue > FALSE_FAIL


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("n_retired", [5, 200])
def test_children_inherit_a_share_or_nothing(model: str, n_retired: int) -> None:
    cloud, _, evidence = root_and_evidence(model, 40, 0.3, 3, n_retired=n_retired)
    root = probe.roots(cloud)[0]
    for inherits in (True, False):
        children = probe.split(cloud, root, 1, 0.4, inherits)
        for rows, found in children:
            held = np.isin(np.arange(40), cloud.row_ids()[rows] - n_retired)
            weight = share(len(rows), 40, n_retired) * inherits
            expected = evidence(held, weight) - evidence(held & False, weight)
            assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_what_was_inherited_stays_out_of_the_evidence(model: str) -> None:
    """In the children of a split, in the odds of its prune, and after forgetting."""
    rng = np.random.default_rng(1)
    X = rng.random((101, 3))
    y = (X[:, 0] > 0.6) + rng.standard_normal(101)
    z = X if model == "linear" else np.empty((101, 0))
    cloud = native_cloud(model, 3, n_particles=1000, alpha=0.0)
    cloud.update(X[:100], y[:100])
    cloud.retire(list(range(60)), 1.0)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cloud.update(X[100:], y[100:])

    def evidence(weight: np.ndarray) -> float:
        return float(Leaf(z, y, weight, 0.1).log_evidence)

    def heirs(cloud: Cloud, i: int) -> list[tuple[list[int], np.ndarray, float]]:
        """Row ids, inherited weights and log evidence of the two leaves below i."""
        both = []
        for _, _, ids, _, found in cloud.tree(i)[4:]:
            weight = np.zeros(101)
            weight[:60] = share(len(ids), 41, 60.0)
            both.append((list(ids), weight, found))
        return both

    of_heirs = [
        i
        for i in range(cloud.n_particles)
        if cloud.tree(i)[0] == "split" and cloud.tree(i)[4][3] > 0.0
    ]
    assert of_heirs
    for i in of_heirs:
        pooled = np.zeros(101)
        inherited = np.zeros(101)
        total = np.log(0.95) + 2.0 * np.log(1.0 - 0.95 / 4.0)
        for ids, weight, found in heirs(cloud, i):
            rows = weight + np.isin(np.arange(101), ids)
            total += found
            assert found == pytest.approx(evidence(rows) - evidence(weight), abs=1e-9)
            pooled += rows
            inherited += weight
        root = probe.roots(cloud)[i]
        stay, prune = probe.scores(cloud, probe.node(cloud, root)[1], root)
        assert stay == pytest.approx(total, abs=1e-9)
        pruned = np.log(0.05) + evidence(pooled) - evidence(inherited)
        assert prune == pytest.approx(pruned, abs=1e-9)
    before = [heirs(cloud, i) for i in of_heirs]
    gone = cloud.row_ids()[0]
    cloud.retire([0], 0.8)
    for i, leaves in zip(of_heirs, before, strict=True):
        after = [leaf[4] for leaf in cloud.tree(i)[4:]]
        for (ids, weight, _), found in zip(leaves, after, strict=True):
            left = weight * (0.8 if gone in ids else 1.0)
            rows = left + np.isin(np.arange(101), ids)
            assert found == pytest.approx(evidence(rows) - evidence(left), abs=1e-9)


def test_what_fades_is_not_inherited() -> None:
    cloud, *_ = root_and_evidence("linear", 40, 0.0, 3, n_retired=20)
    probe.set_tree_prior(cloud, 0.95, 2.0)

    def inheriting(cloud: Cloud) -> set[bool]:
        cuts, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 200)
        return {bool(cut[3]) for cut in cuts}

    assert inheriting(cloud) == {False, True}
    cloud.retire([], 0.5)
    cloud.retire([0], 1.0)
    assert inheriting(cloud) == {False, True}
    cloud.retire([0], 0.99)
    copy = cloud.copy()
    probe.set_tree_prior(copy, 0.95, 2.0)
    assert inheriting(cloud) == inheriting(copy) == {False}


def test_a_prior_model_inherits_nothing_and_keeps_its_odds() -> None:
    """Its trees follow the tree prior, whatever has been retired."""
    rng = np.random.default_rng(0)
    cloud = native_cloud("prior", 1, n_particles=30, alpha=0.5, min_leaf=1)
    for _ in range(60):
        cloud.update(rng.random((10, 1)), np.zeros(10))
        cloud.retire(list(range(max(0, cloud.n_active - 40))), 1.0)
    seen = 0
    for root in set(probe.roots(cloud)):
        for h in handles_below(cloud, root):
            if h < 0 and len(probe.leaf(cloud, h)[1]) > 1:
                cuts, grow, chances, _ = probe.offer(cloud, h, 0, 8)
                assert not any(cut[3] for cut in cuts)
                assert not np.isnan([grow, *chances]).any()
                seen += 1
    assert seen


@pytest.mark.parametrize("model", ["linear", "class"])
def test_a_prune_keeps_to_the_most_weight_retired(model: str) -> None:
    rng = np.random.default_rng(3)
    cloud = native_cloud(
        model, 2, n_particles=30, min_leaf=2, max_retired=20.0,
        n_classes=2 * (model == "class"),
    )  # fmt: skip
    for step in range(120):
        X = rng.random((10, 2))
        y = 3.0 * (X[:, step // 20 % 2] > 0.5) + rng.standard_normal(10)
        cloud.update(X, (y > 1.5).astype(float) if model == "class" else y)
        cloud.retire(list(range(max(0, cloud.n_active - 60))), 1.0)
        for i in range(cloud.n_particles):
            assert max(retired_weights(cloud.tree(i))) <= 20.0 * (1.0 + 1e-12)


def retired_weights(tree: Any) -> list[float]:
    if tree[0] == "leaf":
        return [tree[3]]
    return retired_weights(tree[4]) + retired_weights(tree[5])


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
