"""The tree sampler: bounds that hold, and draws of exactly the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree._core.mixtures.tree_sampler import sample_rows
from dyntree._core.rng import CounterSource
from dyntree.mixtures.canopy.components import Components
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.shards import component_tree
from tests.oracle import canopy as oracle
from tests.unit._core.mixtures.test_sweeps import agrees, weights_at
from tests.unit.mixtures.canopy.rows import components, rows_of, shard_of

TREES = ("spherical", "spherical_tied", "diag", "poisson", "multinomial")


def chances(means: Any, x: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Probability that a trial from the root ends in each component, by all paths.

    Also the log mass of the root, of which these are shares.
    """
    root = means.outcome(x, [])[1][0]
    out = np.zeros(m)

    def walk(node: int, mass: float, chance: float, opened: list[int]) -> None:
        before, _ = means.outcome(x, opened)
        after, logs = means.outcome(x, [*opened, node])
        new = range(len(before) - 1, len(after))
        shares = [np.exp(logs[i] - mass) for i in new]
        assert sum(shares) <= 1.0 + 1e-12  # lemma 1
        for i, share in zip(new, shares, strict=True):
            if after[i] < 0:
                out[-1 - after[i]] += chance * share
            else:
                walk(int(after[i]), logs[i], chance * share, [*opened, node])

    walk(0, root, 1.0, [])
    return out, root


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("m", [1, 2, 9, 40])
def test_a_trial_ends_in_each_component_by_its_weight(name: str, m: int) -> None:
    known = components(name, m, 3, seed=m)
    means = component_tree(name, known, 1)
    base = FAMILY_OF[name].log_base
    for x in rows_of(name, known, 3, seed=m):
        found, root = chances(means, x, m)
        w = weights_at(name, known, x[None])[0]
        h = base(x[None].astype(float))
        exact = np.log(w) - (0.0 if h is None else h[0]) - root
        np.testing.assert_allclose(np.log(found), exact, atol=1e-9)


def test_a_chain_of_means_that_reaches_twice_its_level() -> None:
    """Errata 2, 9 and 10: the level's radius is no bound of a general cover tree.

    Means 0, 1, 1.5, 1.75, ... lie within 2^(i+1), not 2^i, of the root; taking 2^i
    would bound the exponent of the farthest too low, and the test says by how much.
    """
    mean = np.cumsum([0.0, *0.5 ** np.arange(9)])[:, None]
    known = Components(np.full(10, 0.1), mean, np.full(10, 0.02))
    x = np.array([2.0], dtype=np.float32)
    printed = -(max(0.0, 2.0 - 1.0) ** 2) / (2 * 0.02)  # D - 2^0
    exponents = -((2.0 - mean[:, 0]) ** 2) / (2 * 0.02)
    assert exponents.max() > printed + 20  # the printed bound fails by 20 nats
    found, _ = chances(component_tree("spherical", known, 1), x, 10)
    w = weights_at("spherical", known, x[None])[0]
    np.testing.assert_allclose(found / found.sum(), w / w.sum(), rtol=1e-9)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(TREES), st.integers(0, 2**32 - 1), st.integers(1, 30),
    st.integers(1, 6), st.floats(0.0, 1e4),
)  # fmt: skip
def test_bounds_hold_for_any_components_and_rows(
    name: str, seed: int, m: int, d: int, offset: float
) -> None:
    known = components(name, m, d, seed=seed)
    counts = FAMILY_OF[name].is_count
    if not counts:
        known = Components(known.weight, known.mean + offset, known.spread)
    means = component_tree(name, known, 1)
    x = rows_of(name, known, 1, seed=seed)[0]
    if not counts:
        x = x + np.float32(np.random.default_rng(seed).normal() * offset)
    joint = oracle.log_density(name, x[None].astype(float), known.mean, known.spread)
    h = FAMILY_OF[name].log_base(x[None].astype(float))
    exact = joint[0] + np.log(known.weight) - (0.0 if h is None else h[0])
    opened: list[int] = []
    nodes, logs = means.outcome(x, opened)
    best = float(exact.max())
    while (nodes >= 0).any():
        assert logs.max() >= best - 1e-9 * (1 + abs(best))  # U covers what is below
        opened.append(int(nodes[nodes >= 0][0]))
        nodes, logs = means.outcome(x, opened)
    assert sorted((-1 - nodes).tolist()) == list(range(m))
    np.testing.assert_allclose(
        logs[np.argsort(-1 - nodes)], exact, rtol=1e-9, atol=1e-7
    )


@pytest.mark.parametrize("name", TREES)
def test_draws_are_from_the_exact_posterior(name: str) -> None:
    """False alarms: 1e-6 a family."""
    known = components(name, 30, 3, seed=5)
    row = rows_of(name, known, 1, seed=2)
    shard = shard_of(name, np.repeat(row, 100_000, axis=0))
    found = []
    for n_threads in (1, 2, 7):
        shard.labels[:] = -1
        sums, *_ = sample_rows(
            shard, component_tree(name, known, 1), CounterSource(3), 1, n_threads
        )
        found.append((sums.tobytes(), shard.labels.tobytes()))
    assert found[0] == found[1] == found[2]
    w = weights_at(name, known, row)[0]
    assert agrees(np.bincount(shard.labels, minlength=30), w / w.sum())
