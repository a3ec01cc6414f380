"""Variational sweeps: topics and proportions to a fixed point, free energy falling.

Sections and equations are those of vignettes/maths/hdp.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree._core.mixtures.shares import (
    alpha_fixed_point,
    alpha_newton,
    document_terms,
    expected_logs,
)
from dyntree._core.mixtures.topic_sweep import n_lanes, sweep_items, tile_rows
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message, NumericalError
from dyntree.mixtures.hdp.families import Expected, Family, digamma
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.store import Ints, Store
from dyntree.mixtures.hdp.topics import Topics

GONE = 1e-6  # points below which a topic is dropped
NEWTON_STEPS = 4  # of alpha in a sweep; the next sweep goes on from there
SLACK = 1e-9  # relative rise of the free energy that is rounding


@dataclass(frozen=True)
class Magnification:
    """How many times as many points and documents will come (section 3.5)."""

    points: float = 1.0  # m_p
    documents: float = 1.0  # m_d

    @property
    def share(self) -> float:
        """Magnification of points over that of documents."""
        return self.points / self.documents


ONCE = Magnification()


@dataclass(frozen=True)
class Search:
    """What a search for better topics needs to know of its model."""

    family: Family
    prior: HDPPrior
    options: HDPOptions
    n_threads: int = 1
    monitor: Any = None  # called after every sweep; its `ended` ends the build
    follows_paper: bool = False  # as of `HDPSettings`

    def tolerance(self, F: float, n_points: float) -> float:
        """Fall of the free energy, now F, that is too small to count."""
        size = abs(F) if self.follows_paper else max(abs(F), n_points)
        return self.options.tol * size

    def alpha_denominator(self, topics: Topics, times: Magnification = ONCE) -> float:
        """Denominator delta of the step of alpha (sections 3.4 and 3.5)."""
        alpha_0 = topics.alpha.sum()
        totals = topics.counts.sum(1) / topics.documents
        rise = digamma(alpha_0 + times.share * totals) - digamma(alpha_0)
        return float(self.prior.rate + times.documents * (topics.documents @ rise))

    def penalty(self, alpha: Vector) -> float:
        """-log p(alpha) of topics, without a constant of each; 0 for a lone topic."""
        if len(alpha) < 2:
            return 0.0
        return float(penalties(self.prior, alpha).sum())


def penalties(prior: HDPPrior, alpha: Any) -> Any:
    """-log p(alpha_k) without its constant: 0 where an unused topic would stand."""
    a, b = prior.shape, prior.rate
    if a == 1.0:
        return b * alpha
    return (
        b * alpha - (a - 1.0) * np.log(alpha)
        + (a - 1.0) * np.log((a - 1.0) / b) - (a - 1.0)
    )  # fmt: skip


@dataclass(frozen=True)
class SweepSums:
    """The sums over items that one sweep gives: what topics are estimated from."""

    entropy: float  # sum_c N_c sum_k q log q
    N: Vector
    mean: Matrix
    scatter: Matrix
    counts: Matrix
    label: Ints | None
    gram: Matrix | None
    topic_entropy: Vector | None

    def with_statistics_in(self, topics: Topics) -> Topics:
        """Topics with these statistics in the place of their own."""
        return replace(
            topics, N=self.N, mean=self.mean, scatter=self.scatter, counts=self.counts
        )


def table_of_logs(topics: Topics, c: Vector) -> Matrix:
    """E log pi of each group, plus c of each topic, shape (S, K)."""
    return expected_logs(
        topics.per_document, topics.alpha, c, 1.0, float(topics.alpha.sum())
    )


def swept(
    search: Search,
    store: Store,
    topics: Topics,
    expected: Expected,
    *,
    labels: bool = False,
    ranks: bool = False,
) -> SweepSums:
    """One pass over all items: sums and entropy of responsibilities (section 3.3)."""
    family, S, K = search.family, topics.S, topics.K
    table = table_of_logs(topics, expected.c)
    label = np.zeros(store.n_items, dtype=np.int32) if labels else None
    out: dict[str, Any] = {
        "N_sk": np.zeros((S, K)),
        "stats": family.empty_sums(K),
        "far_stats": np.zeros(expected.far_theta.shape),
        "gram": np.zeros((K, K)) if ranks else None,
        "entropy": np.zeros(K) if ranks else None,
    }
    given = {
        "table": table,
        "theta": expected.theta,
        "words": expected.theta,
        "far": expected.far,
        "far_theta": expected.far_theta,
        "far_centre": expected.far_centre,
    }
    if family.of_words:
        given["highest"] = expected.theta.max(axis=0)
        given["lowest"] = expected.theta.min(axis=0)
    log_norm, start = 0.0, 0
    for clumps, part in enumerate(store.sweeps):
        stop = start + part["n"]
        out["label"] = None if label is None else label[start:stop]
        log_norm += sweep_items(
            part, given, out, bool(clumps), search.options.block, search.n_threads
        )
        start = stop
    entropy = float((out["N_sk"] * table).sum()) - log_norm
    entropy += float((out["stats"] * expected.theta).sum())
    N = out["N_sk"].sum(0)
    entropy += float((out["far_stats"] * expected.far_theta).sum())
    mean, scatter = family.of_sums(N, out["stats"], expected, out["far_stats"])
    return SweepSums(
        entropy, N, mean, scatter, out["N_sk"], label, out["gram"], out["entropy"]
    )


def free_energy(
    search: Search,
    topics: Topics,
    entropy: float,
    n_points: float,
    log_z: Vector,
    times: Magnification = ONCE,
) -> float:
    """Free energy by eq. 29, magnified 30; log_z is that of magnified statistics."""
    terms = document_terms(
        topics.per_document, topics.documents, topics.alpha, times.share,
        float(topics.alpha.sum()),
    )  # fmt: skip
    family = search.family
    return float(
        times.points * (entropy - n_points * family.log_base)
        + topics.K * family.log_z0 - log_z.sum()
        + times.documents * terms
        + search.penalty(topics.alpha)
    )  # fmt: skip


def alpha_step(
    search: Search,
    topics: Topics,
    times: Magnification = ONCE,
    *,
    steps: int = NEWTON_STEPS,
) -> Vector:
    """One step of all alphas: eq. 22, magnified 25, or Newton's (section 3.4)."""
    if topics.K < 2:
        return np.ones(topics.K)
    prior, given = search.prior, (
        topics.per_document, topics.documents, topics.alpha, times.share,
        times.documents, search.alpha_denominator(topics, times),
    )  # fmt: skip
    if search.options.alpha_update == "minka":
        return alpha_fixed_point(*given, prior.shape, 1)
    return alpha_newton(*given, prior.shape, steps, 1e-8)


@dataclass(frozen=True)
class Solution:
    """Topics, what is expected of them, and the free energy they have."""

    topics: Topics
    expected: Expected
    F: float
    n_sweeps: int = 0
    n_jitters: int = 0
    n_held: int = 0  # sweeps whose step of alpha would have raised F, and was not made


def swept_once(
    search: Search,
    store: Store,
    topics: Topics,
    expected: Expected,
    *,
    keep_alpha: bool = False,
) -> Solution:
    """Responsibilities, topics, proportions and alpha, once (eqs. 18-22)."""
    found = swept(search, store, topics, expected)
    new = found.with_statistics_in(topics)
    alive = new.N >= GONE
    if not alive.any():
        raise NumericalError(
            Message(
                "no topic has {gone:g} points or more, of {total:g} in all; raise "
                "sample_weight, or bring prior.mean nearer to the data.",
                gone=GONE,
                total=store.total,
            )
        )
    if not alive.all():
        new = new.taken(np.flatnonzero(alive))
    then = search.family.expected(*new.statistics)
    if not keep_alpha:
        new = replace(new, alpha=alpha_step(search, new))
    F = free_energy(search, new, found.entropy, store.total, then.log_z)
    if not np.isfinite(F):
        raise NumericalError(
            Message(
                "the free energy of {k} topics and {total:g} points is {f}; lower "
                "sample_weight, or bring the parameters of the prior nearer to 1.",
                k=new.K,
                total=store.total,
                f=F,
            )
        )
    return Solution(new, then, F, 1, then.n_jitters)


def swept_until_settled(
    search: Search, store: Store, topics: Topics, *, max_sweeps: int | None = None
) -> Solution:
    """Sweep until the free energy falls by less than `tol` max(abs(F), points)."""
    n_points, F = store.total, np.inf
    expected = search.family.expected(*topics.statistics)
    most = search.options.max_sweeps if max_sweeps is None else max_sweeps
    solution, jitters, n_held, k = None, 0, 0, 0
    for k in range(1, max(most, 1) + 1):
        K = topics.K
        new = swept_once(search, store, topics, expected)
        tolerance = search.tolerance(new.F, n_points)
        jitters += new.n_jitters
        if F + SLACK * max(abs(new.F), n_points) < new.F and new.topics.K == K:
            new = swept_once(search, store, topics, expected, keep_alpha=True)
            if F + SLACK * max(abs(new.F), n_points) < new.F:
                break  # the topics before are as good as rounding lets them be
            n_held += 1
        solution, topics, expected = new, new.topics, new.expected
        if search.monitor is not None:
            search.monitor.sweep(solution.F, topics.K)
            if search.monitor.ended:
                break
        if k >= 2 and tolerance > F - new.F and topics.K == K:
            break
        F = new.F
    assert solution is not None
    return replace(solution, n_sweeps=k, n_jitters=jitters, n_held=n_held)


def best_topics(
    search: Search, store: Store, topics: Topics, expected: Expected | None = None
) -> Ints:
    """Place of the best topic of each item."""
    known = expected or search.family.expected(*topics.statistics)
    found = swept(search, store, topics, known, labels=True)
    assert found.label is not None
    return found.label


def stored_free_energy(search: Search, store: Store, topics: Topics) -> float:
    """Free energy (eq. 29) of the items stored, with topics and alpha as they are."""
    found = swept(search, store, topics, search.family.expected(*topics.statistics))
    new = found.with_statistics_in(topics).taken(np.flatnonzero(found.N > 0.0))
    log_z = search.family.expected(*new.statistics).log_z
    return free_energy(search, new, found.entropy, store.total, log_z)


def transient_bytes(
    search: Search, K: int, store: Store, as_read: int
) -> tuple[tuple[str, int], ...]:
    """Bytes that learning an epoch takes beside the store, by use (section 5.2)."""
    family = search.family
    F = family.n_statistics
    tile = tile_rows(K, max(F, 1), search.options.block)
    lanes = n_lanes(store.n_items)
    own = K * (family.n_words or F) + K * (int(store.group.max(initial=0)) + 1)
    n = store.n_items
    part = n * min(K, 2) // K  # of the two largest topics, if all are alike
    return (
        ("raw epoch", as_read),
        ("labels and weights", 36 * n),
        ("tiles", 8 * lanes * tile * (2 * K + 8 + max(F, 1))),
        ("sums", 8 * (lanes + 2) * own),
        ("moves", 24 * n + 8 * part * (2 * F + family.n_second + 4)),
        ("stores", 2 * store.nbytes),
    )
