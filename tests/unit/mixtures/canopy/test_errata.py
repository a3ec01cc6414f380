"""What the paper prints and what holds: its errata, by their numbers here.

Zaheer, Kottur, Ahmed and Smola, "Canopy - Fast Sampling with Cover Trees" (ICML 2017).
Each test shows that the printed form fails and that the one built here does not. Not
here: brackets and exponents that are misprints alone (their 4, 6, 11 and 17).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from dyntree._core.alias import AliasTable
from dyntree._core.covertree import build, linked
from dyntree.mixtures.canopy.components import Components, Prior
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.shards import component_tree
from tests.oracle import canopy as oracle

CHAIN = np.cumsum([0.0, *0.5 ** np.arange(12)])[:, None]  # 0, 1, 1.5, 1.75, ...


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    return float(0.5 * np.abs(p / p.sum() - q / q.sum()).sum())


def test_1_the_coarse_set_lies_in_the_fine_one() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    tree = build(X, 2.0, 1, 200, 1, 1)
    level = tree["level"].astype(float)
    below = np.array([level[p] if p >= 0 else np.inf for p in tree["parent"]])
    sets = {i: set(tree["centre"][below > i].tolist()) for i in (-3, -2, -1, 0)}
    for i in (-3, -2, -1):
        assert sets[i + 1] <= sets[i]  # spacing 2^i: larger i is coarser
        assert not sets[i] <= sets[i + 1]  # as printed


def test_2_a_subtree_reaches_twice_its_level() -> None:
    """The chain satisfies nesting, covering and separation at every level."""
    assert np.diff(CHAIN[:, 0]).tolist() == (0.5 ** np.arange(12)).tolist()
    assert CHAIN.max() > 2.0**0  # as printed
    assert CHAIN.max() <= 2.0**1
    tree = build(CHAIN, 2.0, 1, len(CHAIN), 1, 1)  # here true radii are kept
    assert tree["radius_sub"][0] == pytest.approx(CHAIN.max())


def test_3_the_acceptance_of_a_proposal_can_be_lower_than_printed() -> None:
    length = 3.0  # of the longest parameter
    theta = np.array([-length, length])
    ratio = CHAIN.max() * (theta[1] - theta[0])  # <phi(x) - phi(xb), theta' - theta>
    assert np.exp(-ratio) < np.exp(-(2.0 ** (0 + 1)) * length)  # as printed, j = 0
    assert np.exp(-ratio) >= np.exp(-(2.0 ** (0 + 2)) * length)


def test_5_masses_add_up_from_children_one_level_below() -> None:
    rng = np.random.default_rng(1)
    mean, weight = rng.normal(size=(40, 2)), rng.dirichlet(np.ones(40))
    tree = linked(build(mean, 1.3, 4, 40, 1, 1))

    def mass(node: int) -> float:
        own = tree["order"][tree["row_begin"][node] : tree["own_end"][node]]
        first, last = tree["child_begin"][node : node + 2]
        return float(weight[own].sum()) + sum(
            mass(c) for c in tree["child"][first:last]
        )

    assert mass(0) == pytest.approx(1.0)
    for child, parent in enumerate(tree["parent"]):
        assert parent < 0 or tree["level"][child] < tree["level"][parent]


def test_7_the_distance_of_products_has_no_cross_term() -> None:
    rng = np.random.default_rng(2)
    i, j, longest, widest = -6.0, -7.0, 0.5, 0.25
    bound = 2 ** (i + 1) * longest + 2 ** (j + 1) * widest
    printed = 2 ** (i * longest) + 2 ** (j * widest) + 2 ** (i + j + 1)
    worst = 0.0
    for _ in range(2000):
        b, b2 = rng.normal(size=(2, 3))
        b, b2 = (v * longest / np.linalg.norm(v) for v in (b, b2))
        a = rng.normal(size=3)
        a *= widest / np.linalg.norm(a)
        step_a, step_b = rng.normal(size=(2, 3))
        a2 = a + step_a * 2 ** (i + 1) / np.linalg.norm(step_a)
        b2 = b + step_b * 2 ** (j + 1) / np.linalg.norm(step_b)
        b2 *= min(1.0, longest / np.linalg.norm(b2))
        if np.linalg.norm(b - b2) <= 2 ** (j + 1):
            worst = max(worst, abs(a @ b - a2 @ b2))
    assert worst <= bound
    assert printed > 5 * bound  # so loose that it says nothing


def test_8_lists_that_follow_the_label_change_the_law() -> None:
    w = np.array([0.5, 0.3, 0.15, 0.05])
    follows = np.stack(
        [oracle.listed_kernel(w, sorted({z, (z + 1) % 4}), 0.05)[z] for z in range(4)]
    )
    fixed = oracle.listed_kernel(w, [0, 1], 0.05)
    assert np.abs(w @ follows - w).max() > 0.02
    np.testing.assert_allclose(w @ fixed, w, atol=1e-15)


def capped(w: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """The law of draws whose interval of a component cannot exceed its bound."""
    return np.minimum(w, bound)


def test_9_and_10_bounds_from_the_level_lose_most_of_the_mass() -> None:
    """Total variation of the printed intervals from the posterior, on the chain."""
    x, s = 1.75, 0.01  # nearest to the fourth mean
    w = np.exp(-((x - CHAIN[:, 0]) ** 2) / (2 * s))
    printed = np.full(len(w), np.exp(-((x - 2.0**0) ** 2) / (2 * s)))  # 9
    assert total_variation(capped(w, printed), w) > 0.4
    lower = np.full(len(w), np.exp(-((x + 2.0**0) ** 2) / (2 * s)))  # 10: e^-eps
    assert total_variation(capped(w, lower), w) > 0.4
    true = np.full(len(w), np.exp(-(max(0.0, x - CHAIN.max()) ** 2) / (2 * s)))
    assert total_variation(capped(w, true), w) == 0.0


def test_12_children_can_outweigh_their_parent_until_they_are_clipped() -> None:
    """A child's ball sticks out of its parent's; its bound is then the larger one."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        known = Components(
            np.full(12, 1 / 12), rng.normal(size=(12, 2)), np.full(12, 0.05)
        )
        tree = linked(build(known.mean, 1.3, 4, 12, 1, 1))
        x = rng.normal(size=2) * 3

        def bound(node: int, tree=tree, known=known, x=x) -> float:  # type: ignore[no-untyped-def]
            far = np.linalg.norm(x - known.mean[tree["centre"][node]])
            return float(-(max(0.0, far - tree["radius_sub"][node]) ** 2) / 0.1)

        outgrown = [
            child
            for child, parent in enumerate(tree["parent"])
            if parent >= 0 and bound(child) > bound(int(parent)) + 1e-9
        ]
        found += len(outgrown)
        means = component_tree("spherical", known, 1)
        nodes, logs = means.outcome(x.astype(np.float32), [])
        opened: list[int] = []
        while (nodes >= 0).any():  # clipped, no set of nodes outweighs the one before
            before = logsumexp(logs)
            opened.append(int(nodes[nodes >= 0][0]))
            nodes, logs = means.outcome(x.astype(np.float32), opened)
            assert logsumexp(logs) <= before + 1e-9
    assert found > 10


def test_13_and_14_how_many_trials_and_how_long_a_descent() -> None:
    for a in np.linspace(0.01, 30.0, 200):
        steps = sum(np.expm1(a * 2.0**-level) for level in range(1, 80))
        assert steps <= a * np.exp(a / 2) * (1 + 1e-12)
        assert steps <= 0.74 * np.exp(a)
    a = 1.0
    steps = sum(np.expm1(a * 2.0**-level) for level in range(1, 80))
    assert steps > np.exp(a / 2) - 1.0  # a factor of a is lost where it is printed


def test_15_and_16_two_normalisers_cost_two_factors() -> None:
    """p(z | x) against p(z | xb): the printed bound has one factor too few."""
    theta, step = np.array([[1.0], [-1.0]]), 1.0  # lengths 1
    here = np.exp(theta @ [0.0]) / np.exp(theta @ [0.0]).sum()
    there = np.exp(theta @ [step]) / np.exp(theta @ [step]).sum()
    ratio = (there / here).min()
    assert ratio < np.exp(-step * 0.5)
    worst = min(
        (np.exp(c * step - logsumexp([c * step, -step])) / 0.5) for c in (-1.0, 1.0)
    )
    big = np.array([1.0] + [-1.0] * 9)  # nine of ten go the other way
    p0, p1 = np.full(10, 0.1), np.exp(-big * 3.0 - logsumexp(-big * 3.0))
    assert (p1 / p0).min() < np.exp(-3.0)  # as printed
    assert (p1 / p0).min() >= np.exp(-2 * 3.0)
    assert worst > 0


def printed_alias(p: np.ndarray) -> list[tuple[int, int, float]]:
    """Appendix A as printed: two thresholds, and a loop over the small list alone."""
    n, table = len(p), []
    share = list(p)
    low = [i for i in range(n) if share[i] < 1 / n]
    high = [i for i in range(n) if share[i] > 1 / n]
    while low:
        i = low.pop()
        if not high:
            break
        j = high.pop()
        table.append((i, j, share[i]))
        share[j] -= 1 / n - share[i]
        (high if share[j] > 1 / n else low).append(j)
    return table


def test_18_an_alias_table_has_a_slot_for_every_weight() -> None:
    assert printed_alias(np.full(8, 1 / 8)) == []
    p = np.random.default_rng(3).dirichlet(np.ones(12))
    assert len(printed_alias(p)) < 12
    for weights in (np.full(8, 1 / 8), p):
        chances = AliasTable(weights).chances()
        np.testing.assert_allclose(chances, weights, atol=1e-7)


def test_19_a_component_at_one_row_needs_the_prior() -> None:
    row = np.array([[1.0, -2.0]])
    with np.errstate(divide="ignore"):
        assert not np.isfinite(1.0 / row.var(axis=0)).any()  # the mean map's boundary
    prior = Prior(
        mean=np.zeros(2), strength=0.01, df=4.0, variance=np.ones(2), rate=np.ones(2),
        exposure=1.0, reg_covar=None, concentration=1.0,
    )  # fmt: skip
    known = FAMILY_OF["diag"].begin(row, prior)
    assert np.isfinite(
        FAMILY_OF["diag"].scores(known).table(row.astype(np.float32))
    ).all()


def test_20_the_least_of_a_list_is_no_floor() -> None:
    """A row whose component is not in its list escapes at the rate of `explore`."""
    w = np.array([1e-200, 1e-250, 1.0])  # the list holds the first two
    kernel = oracle.listed_kernel(w, [0, 1], 0.01)
    floor = w[[0, 1]].min() / w[[0, 1]].sum()  # what the paper gives to all others
    assert floor < 1e-49
    assert kernel[0, 2] > 0.009
