"""Residual resampling: whole parts kept, the rest drawn without bias."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from scipy import stats

from dyntree._core.rng import RSource
from tests.probes import core as probe

WEIGHTS = np.array([0.02, 0.0, 0.31, 0.17, 0.08, 0.42])


def random_weights(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n) * rng.integers(0, 2, size=n)
    weights[rng.integers(n)] += 1.0
    return weights / weights.sum()


def scanned(weights: np.ndarray, n_target: int, source: RSource) -> list[int]:
    """R's way: one look after the other at the running sum."""
    expected = (weights * n_target).tolist()
    chosen = [i for i, e in enumerate(expected) for _ in range(int(e))]
    left = n_target - len(chosen)
    sums = list(accumulate((e - int(e)) / left for e in expected)) if left else []
    for _ in range(left):
        u = source.uniform()
        chosen.append(next((k for k, c in enumerate(sums) if c >= u), len(sums) - 1))
    return chosen


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100])
@pytest.mark.parametrize("n_target", [1, 5, 100])
def test_indices_are_those_of_a_linear_scan(n: int, n_target: int) -> None:
    for seed in range(40):
        weights = random_weights(seed, n)
        source, other = RSource(seed), RSource(seed)
        got = probe.residual(weights, n_target, source)
        assert got.tolist() == scanned(weights, n_target, other)
        assert source.n_draws == other.n_draws


def test_whole_parts_are_kept_in_order() -> None:
    for seed in range(40):
        weights = random_weights(seed, 9)
        whole = (weights * 20).astype(int)
        got = probe.residual(weights, 20, RSource(seed))
        assert got[: whole.sum()].tolist() == np.repeat(np.arange(9), whole).tolist()


def test_whole_weights_take_no_draws() -> None:
    source = RSource(1)
    got = probe.residual(np.array([0.25, 0.5, 0.0, 0.25]), 8, source)
    assert got.tolist() == [0, 0, 1, 1, 1, 1, 3, 3]
    assert source.n_draws == 0


def test_offspring_is_unbiased() -> None:
    """False-fail rate 1e-6 over all places; sees a residual share off by 0.02."""
    n_target, n_repeats = 10, 20_000
    source = RSource(7)
    offspring = np.zeros(len(WEIGHTS), dtype=np.int64)
    for _ in range(n_repeats):
        chosen = probe.residual(WEIGHTS, n_target, source)
        offspring += np.bincount(chosen, minlength=len(WEIGHTS))
    expected = WEIGHTS * n_target
    whole = expected.astype(int)
    left = n_target - whole.sum()
    drawn = offspring - n_repeats * whole
    for count, share in zip(drawn, (expected - whole) / left, strict=True):
        test = stats.binomtest(int(count), int(n_repeats * left), min(share, 1.0))
        assert test.pvalue > 1e-6 / len(WEIGHTS)
