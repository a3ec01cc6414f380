"""The samplers of urns over phases draw from the law that is enumerated.

False alarms: each test fails by chance once in a million runs, at any seed. Means over
batches of sweeps are compared with exact values by Student's t, its level shared among
the quantities compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import GaussianKnownVariance
from dyntree.mixtures.teaching.urns import Deletion, Sized, Uniform, UrnSampler
from tests.helpers import mostly_slow
from tests.oracle import ddp, urns
from tests.statistical.test_ddp_law import N_BATCHES, limit, worst

BATCH = 80

DELETIONS: dict[str, tuple[Deletion, dict[str, Any]]] = {
    "none": (Deletion(), {}),
    "uniform": (Uniform(0.4), {"survival": 0.4}),
    "seldom": (Uniform(0.9), {"survival": 0.9}),
    "size": (Sized(0.3), {"survival": 0.3, "by_size": True}),
}


def toy(name: str) -> tuple[urns.Urn, np.ndarray]:
    """Four rows, and two clusters of three and two rows; fading counts in "none"."""
    phase, X = ddp.toy()
    c = np.array([1.7, 0.4]) if name == "none" else np.array([3.0, 2.0])
    return urns.Urn(phase, c, 0.8, **DELETIONS[name][1]), X


def summary(law: dict[tuple[int, ...], float]) -> list[float]:
    """What is known of the toy: who has rows, how many are new, pairs, one state."""
    found = np.zeros(6)
    for z, weight in law.items():
        n_new = len({k for k in z if k >= 2})
        found += weight * np.array([
            0 in z, 1 in z, n_new == 0, n_new, z[0] == z[1], z == (0, 0, 0, 1)
        ])  # fmt: skip
    values: list[float] = found.tolist()
    return values


def named(labels: np.ndarray) -> tuple[int, ...]:
    """Labels with new clusters numbered in the order of their first row."""
    names: dict[int, int] = {0: 0, 1: 1}
    return tuple(names.setdefault(k, len(names)) for k in labels.tolist())


@pytest.mark.parametrize("name", mostly_slow(DELETIONS, 2))
@pytest.mark.parametrize("uncollapsed", mostly_slow([False, True]))
def test_the_sampler_draws_the_enumerated_law(name: str, uncollapsed: bool) -> None:
    """Errors of 0.03 in a probability would be seen."""
    urn, X = toy(name)
    family = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=9.0).resolved(X)
    p = urn.phase
    sampler = UrnSampler(
        family, np.hstack([p.mean, p.var]), X, urn.c, urn.concentration,
        DELETIONS[name][0], uncollapsed, 3, 0,
    )  # fmt: skip
    values = []
    for batch in range(N_BATCHES + 1):
        law: dict[tuple[int, ...], float] = {}
        for _ in range(BATCH):
            sampler.step()
            state = named(sampler.labels())
            law[state] = law.get(state, 0.0) + 1.0 / BATCH
        if batch:  # the first one burns in
            values.append(summary(law))
    exact = np.array(summary(urns.enumerated(urn, X)))
    assert worst(np.array(values), exact) < limit(len(exact))
    other = np.array(summary(urns.enumerated(toy("none")[0], X)))
    if name != "none":  # what the test would say of another urn
        assert worst(np.array(values), other) > limit(len(exact))


@pytest.mark.parametrize("name", ["uniform", "size"])
def test_what_is_left_before_rows_come_has_its_prior(name: str) -> None:
    urn, _ = toy(name)
    deletion, rng = DELETIONS[name][0], np.random.default_rng(1)
    exact: dict[tuple[int, ...], float] = {}
    for s, chance in urns.deletions(urn):
        key = tuple(int(x) for x in s)
        exact[key] = exact.get(key, 0.0) + chance
    n = 20_000
    drawn = [tuple(deletion.prior(urn.c, rng).astype(int).tolist()) for _ in range(n)]
    for key, chance in exact.items():
        found = np.array([one == key for one in drawn], dtype=float)
        error = np.sqrt(chance * (1.0 - chance) / n)
        # Normal tails of 1e-6 by 12 states; of the rarest 30 draws are expected.
        assert abs(found.mean() - chance) < 6.5 * error + 3.0 / n
    mean = sum(chance * np.array(key) for key, chance in exact.items())
    np.testing.assert_allclose(deletion.expected(urn.c), mean, rtol=1e-12)
