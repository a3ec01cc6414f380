"""Sweeps over labels: scores, sums, and the law of every kind of draw."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2

from dyntree._core.mixtures.soft_sweep import em
from dyntree._core.mixtures.sweeps import in_units
from dyntree._core.mixtures.tallies import width_of
from dyntree._core.rng import CounterSource
from dyntree.mixtures.canopy.families import FAMILY_OF
from tests.oracle import canopy as oracle
from tests.unit.mixtures.canopy.rows import (
    FAMILIES,
    UNITS,
    components,
    rows_of,
    shard_of,
)

ASK = (0.003, 0.03, 0.05, 256, 1)  # loss, row_loss, explore, most, steps


def weights_at(name: str, known: Any, X: np.ndarray) -> np.ndarray:
    """Weight times density, by the plain version."""
    out = oracle.log_density(name, X.astype(float), known.mean, known.spread)
    return np.exp(out + np.log(known.weight))


def agrees(counts: np.ndarray, chances: np.ndarray) -> bool:
    """Chi-squared test that fails once in a million where they agree."""
    n = counts.sum()
    expected = chances * n
    rare = expected < 10
    seen = [*counts[~rare], counts[rare].sum()]
    wanted = [*expected[~rare], expected[rare].sum()]
    if wanted[-1] < 10:  # too few for the statistic: a bound of its own
        assert seen[-1] <= wanted[-1] + 8 * np.sqrt(wanted[-1] + 1) + 8
        seen, wanted = seen[:-1], wanted[:-1]
    s, w = np.array(seen), np.array(wanted)
    return bool(chi2.sf(((s - w) ** 2 / w).sum(), max(1, len(w) - 1)) > 1e-6)


# ---------------------------------------------------------------- scores
SIZES = [(1, 2), (5, 3), (37, 8), (20, 17)]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("m", "d"), SIZES)
def test_scores_are_log_weights_plus_log_densities(name: str, m: int, d: int) -> None:
    known = components(name, m, d)
    X = rows_of(name, known, 30)
    family = FAMILY_OF[name]
    expected = oracle.log_density(name, X.astype(float), known.mean, known.spread)
    np.testing.assert_allclose(
        family.log_density(X.astype(float), known), expected, rtol=1e-9, atol=1e-9
    )
    base = family.log_base(X.astype(float))
    found = family.scores(known).table(X) + (0.0 if base is None else base[:, None])
    expected += np.log(known.weight)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-4)  # float32
    X = np.tile(X, (20, 1))  # several blocks, the last one not full
    whole = family.scores(known).log_densities(X[:590])
    if base is not None:
        whole += np.tile(base, 20)[:590]
    mixed = np.tile(logsumexp(expected, axis=1), 20)[:590]
    np.testing.assert_allclose(whole, mixed, rtol=2e-5, atol=2e-4)


# ---------------------------------------------------------------- sums
@pytest.mark.parametrize("name", FAMILIES)
def test_sums_are_those_of_the_labels(name: str) -> None:
    known = components(name, 6, 3)
    X = rows_of(name, known, 500).astype(np.float32)
    weight = np.random.default_rng(1).gamma(1.0, size=500)
    weight[::9] = 0.0
    shard = shard_of(name, X, weight)
    scores = FAMILY_OF[name].scores(known)
    total = np.zeros((6, width_of(shard.layout, 3)), dtype=np.int64)
    for time in range(4):
        change, _, _ = shard.esca(scores, CounterSource(1), time, 1)
        total += change
    assert total.tobytes() == shard.sums_of(6).tobytes()  # changes never drift
    rows = X.astype(float)
    for z in range(6):
        c = weight * (shard.labels == z)
        np.testing.assert_allclose(total[z, 0] / UNITS[0], c.sum(), atol=1e-9)
        np.testing.assert_allclose(total[z, 1:4] / UNITS[1], c @ rows, atol=1e-5)
        second = FAMILY_OF[name].second(total[[z], 4:] / UNITS[2], 3)
        if name == "full":
            np.testing.assert_allclose(
                second[0], (c[:, None] * rows).T @ rows, atol=1e-4
            )
        elif name == "diag":
            np.testing.assert_allclose(second[0], c @ rows**2, atol=1e-4)
        elif name.startswith("spherical"):
            np.testing.assert_allclose(second[0], (c @ rows**2).sum(), atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_em_shares_every_row_by_its_posterior(name: str) -> None:
    known = components(name, 6, 3)
    X = rows_of(name, known, 5000)
    weight = np.random.default_rng(1).gamma(1.0, size=len(X))
    shard = shard_of(name, X, weight)
    sums, fit, _ = em(shard, FAMILY_OF[name].scores(known), 1)
    w = weights_at(name, known, X)
    share = weight[:, None] * w / w.sum(axis=1, keepdims=True)
    rows = X.astype(float)
    np.testing.assert_allclose(sums[:, 0] / UNITS[0], share.sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(
        sums[:, 1:4] / UNITS[1], share.T @ rows, rtol=1e-4, atol=1e-3 * weight.sum()
    )
    second = FAMILY_OF[name].second(sums[:, 4:] / UNITS[2], 3)
    expected = {
        "diag": share.T @ rows**2,
        "full": np.einsum("nz,ni,nj->zij", share, rows, rows),
    }.get(name, (share.T @ rows**2).sum(axis=1))
    if second.size:
        np.testing.assert_allclose(second, expected, rtol=1e-3, atol=0.1)
    assert fit == pytest.approx(weight @ np.log(w.sum(axis=1)), rel=1e-5)
    assert (shard.labels == w.argmax(axis=1)).mean() > 0.999


# ---------------------------------------------------------------- laws of the draws
def copies(name: str, n: int, m: int = 7) -> tuple[Any, Any, np.ndarray]:
    """A shard of one row n times, the scores, and its exact weights."""
    known = components(name, m, 3, seed=5)
    row = rows_of(name, known, 1, seed=2)
    shard = shard_of(name, np.repeat(row, n, axis=0))
    return shard, known, weights_at(name, known, row)[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_esca_draws_from_the_exact_posterior(name: str) -> None:
    """False alarms: 1e-6 a family; a chance that is off by .003 is seen."""
    shard, known, w = copies(name, 200_000)
    shard.esca(FAMILY_OF[name].scores(known), CounterSource(7), 3, 2)
    counts = np.bincount(shard.labels, minlength=len(w))
    assert agrees(counts, w / w.sum())


LISTS = [[0], [1, 3], [0, 1, 2, 3, 4, 5, 6], [2, 4, 5, 6]]


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("eta", [0.05, 0.4])
def test_the_plain_listed_kernel_leaves_the_posterior_as_it_is(
    listed: list[int], eta: float
) -> None:
    for seed in range(20):
        w = np.random.default_rng(seed).dirichlet(np.full(7, 0.3)) + 1e-12
        kernel = oracle.listed_kernel(w, listed, eta)
        assert (kernel >= -1e-15).all()
        np.testing.assert_allclose(w @ kernel, w, atol=1e-12)


@pytest.mark.parametrize("name", ["diag", "spherical", "full", "poisson"])
@pytest.mark.parametrize("listed", LISTS)
def test_listed_draws_have_the_plain_transition_matrix(
    name: str, listed: list[int]
) -> None:
    """False alarms: 1e-6 for each of seven starts."""
    n, m, eta = 40_000, 7, 0.05
    shard, known, w = copies(name, n)
    scores = FAMILY_OF[name].scores(known)
    begin = np.arange(0, n + 1, 20, dtype=np.int64)
    shard.group(begin, np.ascontiguousarray(shard.X[begin[:-1]] + np.float32(0.3)))
    ids = np.array(listed, dtype=np.int32)
    shard.take_lists(
        np.full(len(begin) - 1, len(ids), dtype=np.int32), np.tile(ids, len(begin) - 1)
    )
    kernel = oracle.listed_kernel(w, listed, eta)
    none = np.zeros(len(begin) - 1, dtype=np.uint8)
    for z in range(m):
        shard.labels[:] = z
        ask = (0.003, 0.03, eta, 256, 1)
        shard.canopy2(scores, CounterSource(11), z, none, ask, 2)
        counts = np.bincount(shard.labels, minlength=m)
        assert agrees(counts, np.clip(kernel[z], 0, 1)), (z, counts / n, kernel[z])


@pytest.mark.parametrize("name", ["diag", "multinomial", "full"])
def test_proposals_of_a_group_have_the_plain_transition_matrix(name: str) -> None:
    """False alarms: 1e-6 for each of seven starts."""
    n, m = 40_000, 7
    shard, known, w = copies(name, n)
    scores = FAMILY_OF[name].scores(known)
    begin = np.arange(0, n + 1, 40, dtype=np.int64)
    prototype = np.ascontiguousarray(shard.X[:1] + np.float32(0.5))
    shard.group(begin, np.repeat(prototype, len(begin) - 1, axis=0))
    q = np.exp(
        (scores.table(prototype).astype(float))
        - logsumexp(scores.table(prototype).astype(float))
    )[0]
    kernel = oracle.proposal_kernel(w, q)
    np.testing.assert_allclose(w @ kernel, w, atol=1e-12)
    for z in range(m):
        shard.labels[:] = z
        shard.canopy1(scores, CounterSource(13), z, 1, 2)
        counts = np.bincount(shard.labels, minlength=m)
        assert agrees(counts, kernel[z]), (z, counts / n, kernel[z])


# ---------------------------------------------------------------- lists
def grouped(name: str, m: int = 60, n: int = 2000) -> tuple[Any, Any, np.ndarray]:
    known = components(name, m, 4, seed=3)
    X = rows_of(name, known, n)
    X = np.ascontiguousarray(X[np.lexsort(X.T)])
    shard = shard_of(name, X)
    begin = np.array([*range(0, n, 30), n], dtype=np.int64)
    means = np.add.reduceat(X, begin[:-1], axis=0) / np.diff(begin)[:, None]
    shard.group(begin, means.astype(np.float32))
    return shard, known, begin


@pytest.mark.parametrize("name", FAMILIES)
def test_lists_miss_no_more_than_was_asked(name: str) -> None:
    shard, known, begin = grouped(name)
    scores = FAMILY_OF[name].scores(known)
    every = np.ones(len(begin) - 1, dtype=np.uint8)
    _, fit, scored, stale, *_ = shard.canopy2(
        scores, CounterSource(1), 0, every, ASK, 1
    )
    assert (scored, stale) == (2000, 2000)  # there were no lists
    w = weights_at(name, known, shard.X)
    p = w / w.sum(axis=1, keepdims=True)
    assert fit == pytest.approx(np.log(w.sum(axis=1)).sum(), rel=1e-4)
    ends = np.cumsum(shard.list_lengths)
    lists = np.split(shard.lists(), ends[:-1])
    for g, listed in enumerate(lists):
        rows = p[begin[g] : begin[g + 1]]
        assert (np.diff(listed) > 0).all()
        assert len(listed) % 16 == 0 or len(listed) == 60
        lost = 1.0 - rows[:, listed].sum(axis=1)
        assert lost.mean() <= ASK[0] * 1.01 + 1e-5
        assert lost.max() <= ASK[1] * 1.01 + 1e-5
    _, _, _, stale, *_ = shard.canopy2(scores, CounterSource(1), 1, every, ASK, 1)
    lost = [
        (1.0 - p[begin[g] : begin[g + 1], listed].sum(axis=1)).sum()
        for g, listed in enumerate(lists)
    ]
    assert stale == pytest.approx(sum(lost), rel=0.02, abs=0.01)


def test_lists_do_not_depend_on_labels() -> None:
    found = []
    for seed in (1, 2):
        shard, known, begin = grouped("diag")
        shard.labels[:] = np.random.default_rng(seed).integers(60, size=2000)
        every = np.ones(len(begin) - 1, dtype=np.uint8)
        shard.canopy2(
            FAMILY_OF["diag"].scores(known), CounterSource(1), 0, every, ASK, 1
        )
        found.append(shard.lists().tobytes())
    assert found[0] == found[1]


def test_short_lists_are_kept_short() -> None:
    shard, known, begin = grouped("diag")
    ask = (0.003, 0.03, 0.05, 5, 1)
    every = np.ones(len(begin) - 1, dtype=np.uint8)
    shard.canopy2(FAMILY_OF["diag"].scores(known), CounterSource(1), 0, every, ask, 1)
    assert (shard.list_lengths == 5).all()


@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=60), st.integers(0, 2**32 - 1)
)
@settings(max_examples=50, deadline=None)
def test_units_part_groups_into_runs_of_few_rows(sizes: list[int], seed: int) -> None:
    begin = np.cumsum([0, *sizes])
    some = np.flatnonzero(np.random.default_rng(seed).random(len(sizes)) < 0.6)
    groups, borders = in_units(some, begin)
    assert groups.tolist() == some.tolist()
    assert borders[0] == 0
    assert borders[-1] == len(some)
    for first, last in pairwise(borders):
        rows = [sizes[g] for g in some[first:last]]
        assert len(rows) > 0
        assert sum(rows) <= 256 + max(sizes)


# ---------------------------------------------------------------- threads
@pytest.mark.parametrize("how", ["esca", "em", "canopy1", "canopy2"])
@pytest.mark.parametrize("name", ["diag", "full", "multinomial"])
def test_threads_alter_nothing(how: str, name: str) -> None:
    found = []
    for n_threads in (1, 2, 7):
        shard, known, begin = grouped(name)
        scores, source = FAMILY_OF[name].scores(known), CounterSource(3)
        first, *_ = shard.esca(scores, source, 0, n_threads)
        if how == "em":
            sums, fit, *_ = em(shard, scores, n_threads)
        elif how == "esca":
            sums, fit, *_ = shard.esca(scores, source, 1, n_threads)
        elif how == "canopy1":
            sums, *_ = shard.canopy1(scores, source, 1, 2, n_threads)
            fit = 0.0
        else:
            fresh = np.ones(len(begin) - 1, dtype=np.uint8)
            shard.canopy2(scores, source, 1, fresh, ASK, n_threads)
            fresh[::3] = 0
            sums, fit, *_ = shard.canopy2(scores, source, 2, fresh, ASK, n_threads)
        found.append((first.tobytes(), sums.tobytes(), fit, shard.labels.tobytes()))
    assert found[0] == found[1] == found[2]
