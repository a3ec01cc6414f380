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
from dyntree._core.mixtures.topic_sweep import sweep_items
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NumericalError
from dyntree.mixtures.hdp.families import Expected, Family, digamma
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior
from dyntree.mixtures.hdp.store import Ints, Longs, Store

GONE = 1e-6  # points below which a topic is dropped
NEWTON_STEPS = 4  # of alpha in a sweep; the next sweep goes on from there
SLACK = 1e-9  # relative rise of the free energy that is rounding


@dataclass(frozen=True)
class Topics:
    """What is known of K topics, and of how S groups of documents use them."""

    alpha: Vector  # (K,)
    N: Vector  # (K,)
    mean: Matrix  # (K, d); words: counts (K, V)
    scatter: Matrix  # (K, P)
    counts: Matrix  # (S, K) points of each group in each topic
    documents: Vector  # (S,)
    ids: Longs  # (K,)

    @property
    def K(self) -> int:
        """Topics there are."""
        return len(self.alpha)

    @property
    def S(self) -> int:
        """Groups of documents there are."""
        return len(self.documents)

    @property
    def statistics(self) -> tuple[Vector, Matrix, Matrix]:
        """Counts, means and scatters."""
        return self.N, self.mean, self.scatter

    @property
    def per_document(self) -> Matrix:
        """Points of a document of each group in each topic, shape (S, K)."""
        out: Matrix = np.ascontiguousarray(self.counts / self.documents[:, None])
        return out

    def taken(self, order: Any) -> Topics:
        """Some of the topics."""
        return replace(
            self,
            alpha=self.alpha[order],
            N=self.N[order],
            mean=self.mean[order],
            scatter=self.scatter[order],
            counts=np.ascontiguousarray(self.counts[:, order]),
            ids=self.ids[order],
        )


@dataclass(frozen=True)
class Search:
    """What a search for better topics needs to know of its model."""

    family: Family
    prior: HDPPrior
    options: HDPOptions
    n_threads: int = 1
    monitor: Any = None  # told of every sweep; its `ended` ends the build

    def den(self, topics: Topics, m_d: float = 1.0, share: float = 1.0) -> float:
        """Denominator delta of the step of alpha (sections 3.4 and 3.5)."""
        alpha_0 = topics.alpha.sum()
        totals = topics.counts.sum(1) / topics.documents
        rise = digamma(alpha_0 + share * totals) - digamma(alpha_0)
        return float(self.prior.rate + m_d * (topics.documents @ rise))

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
class Swept:
    """Statistics that one sweep over all items gave."""

    entropy: float  # sum_c N_c sum_k q log q
    N: Vector
    mean: Matrix
    scatter: Matrix
    counts: Matrix
    label: Ints | None
    gram: Matrix | None
    topic_entropy: Vector | None


def table_of_logs(topics: Topics, expected: Expected, share: float = 1.0) -> Matrix:
    """E log pi of each group, plus c of each topic, shape (S, K)."""
    out: Matrix = expected_logs(
        topics.per_document, topics.alpha, expected.c, share, float(topics.alpha.sum())
    )
    return out


def swept(
    search: Search,
    store: Store,
    table: Matrix,
    expected: Expected,
    *,
    labels: bool = False,
    ranks: bool = False,
) -> Swept:
    """One pass over all items: sums and entropy of responsibilities (section 3.3)."""
    family, (S, K) = search.family, table.shape
    is_words = family.kind == 2
    shape = (family.n_words, K) if is_words else (K, family.n_statistics)
    label = np.zeros(store.n_items, dtype=np.int32) if labels else None
    out: dict[str, Any] = {
        "N_sk": np.zeros((S, K)),
        "stats": np.zeros(shape),
        "far_stats": np.zeros(expected.far_theta.shape),
        "gram": np.zeros((K, K)) if ranks else None,
        "entropy": np.zeros(K) if ranks else None,
    }
    topics = {
        "table": table,
        "theta": expected.theta,
        "words": expected.theta,
        "far": expected.far,
        "far_theta": expected.far_theta,
        "far_centre": expected.far_centre,
    }
    log_norm, start = 0.0, 0
    for clumps, part in enumerate(store.sweeps):
        stop = start + part["n"]
        out["label"] = None if label is None else label[start:stop]
        log_norm += sweep_items(
            part, topics, out, bool(clumps), search.options.block, search.n_threads
        )
        start = stop
    entropy = float((out["N_sk"] * table).sum()) - log_norm
    entropy += float((out["stats"] * expected.theta).sum())
    N = out["N_sk"].sum(0)
    if is_words:
        mean, scatter = np.ascontiguousarray(out["stats"].T), np.zeros((K, 0))
    else:
        entropy += float((out["far_stats"] * expected.far_theta).sum())
        mean, scatter = moments_of(family, N, out["stats"], expected, out["far_stats"])
    return Swept(
        entropy, N, mean, scatter, out["N_sk"], label, out["gram"], out["entropy"]
    )


def moments_of(
    family: Family, N: Vector, sums: Matrix, expected: Expected, far: Matrix
) -> tuple[Matrix, Matrix]:
    """Means and centred scatters from sums about 0, or about a far topic's centre."""
    sums[expected.far] = far
    safe = np.maximum(N, 1e-300)[:, None]
    mean = sums[:, : family.d] / safe
    scatter = sums[:, family.d :] - family.outer(mean) * N[:, None]
    mean[expected.far] += expected.far_centre
    return mean, scatter


def free_energy(
    search: Search,
    topics: Topics,
    entropy: float,
    n_points: float,
    log_z: Vector,
    *,
    m_p: float = 1.0,
    m_d: float = 1.0,
) -> float:
    """Free energy by eq. 29, magnified 30; log_z is of m_p times the statistics."""
    share = m_p / m_d
    terms = document_terms(
        topics.per_document, topics.documents, topics.alpha, share,
        float(topics.alpha.sum()),
    )  # fmt: skip
    family = search.family
    return float(
        m_p * (entropy - n_points * family.log_base)
        + topics.K * family.log_z0 - log_z.sum()
        + m_d * terms
        + search.penalty(topics.alpha)
    )  # fmt: skip


def alpha_step(
    search: Search,
    topics: Topics,
    *,
    m_p: float = 1.0,
    m_d: float = 1.0,
    steps: int = NEWTON_STEPS,
) -> Vector:
    """One step of all alphas: eq. 22, magnified 25, or Newton's (section 3.4)."""
    if topics.K < 2:
        return np.ones(topics.K)
    share, prior = m_p / m_d, search.prior
    den = search.den(topics, m_d, share)
    given = topics.per_document, topics.documents, topics.alpha, share, m_d, den
    if search.options.alpha_update == "minka":
        minka: Vector = alpha_fixed_point(*given, prior.shape, 1)
        return minka
    newton: Vector = alpha_newton(*given, prior.shape, steps, 1e-8)
    return newton


@dataclass(frozen=True)
class State:
    """Topics, what is expected of them, and the free energy they have."""

    topics: Topics
    expected: Expected
    F: float
    n_sweeps: int = 0
    n_jitters: int = 0
    n_held: int = 0  # sweeps whose step of alpha would have raised F, and was not made


def one_sweep(
    search: Search, store: Store, topics: Topics, expected: Expected
) -> State:
    """Responsibilities, topics, proportions and alpha, once (eqs. 18-22)."""
    table = table_of_logs(topics, expected)
    found = swept(search, store, table, expected)
    new = replace(
        topics, N=found.N, mean=found.mean, scatter=found.scatter, counts=found.counts
    )
    alive = new.N >= GONE
    if not alive.any():
        raise NumericalError(
            f"no topic has {GONE:g} points or more, of {store.total:g} in all; raise "
            "sample_weight, or bring prior.mean nearer to the data."
        )
    if not alive.all():
        new = new.taken(np.flatnonzero(alive))
    then = search.family.expected(*new.statistics)
    new = replace(new, alpha=alpha_step(search, new))
    F = free_energy(search, new, found.entropy, store.total, then.log_z)
    if not np.isfinite(F):
        raise NumericalError(
            f"the free energy of {new.K} topics and {store.total:g} points is {F}; "
            "lower sample_weight, or bring the parameters of the prior nearer to 1."
        )
    return State(new, then, F, 1, then.n_jitters)


def settled(
    search: Search, store: Store, topics: Topics, *, max_sweeps: int | None = None
) -> State:
    """Sweep until the free energy falls by less than `tol` max(abs(F), points)."""
    options = search.options
    n_points, F = store.total, np.inf
    expected = search.family.expected(*topics.statistics)
    most = options.max_sweeps if max_sweeps is None else max_sweeps
    state, jitters, held, k = None, 0, 0, 0
    for k in range(1, max(most, 1) + 1):
        K = topics.K
        new = one_sweep(search, store, topics, expected)
        size = abs(new.F) if options.relative_tol else max(abs(new.F), n_points)
        jitters += new.n_jitters
        if F + SLACK * max(abs(new.F), n_points) < new.F and new.topics.K == K:
            new = careful(search, store, topics, expected)
            if F + SLACK * max(abs(new.F), n_points) < new.F:
                break  # the topics before are as good as rounding lets them be
            held += 1
        state, topics, expected = new, new.topics, new.expected
        if search.monitor is not None:
            search.monitor.sweep(state.F, topics.K)
            if search.monitor.ended:
                break
        if k >= 2 and options.tol * size > F - new.F and topics.K == K:
            break
        F = new.F
    assert state is not None
    return replace(state, n_sweeps=k, n_jitters=jitters, n_held=held)


def careful(search: Search, store: Store, topics: Topics, expected: Expected) -> State:
    """A sweep whose alpha step cannot raise the free energy: alpha stays."""
    table = table_of_logs(topics, expected)
    found = swept(search, store, table, expected)
    new = replace(
        topics, N=found.N, mean=found.mean, scatter=found.scatter, counts=found.counts
    )
    then = search.family.expected(*new.statistics)
    F = free_energy(search, new, found.entropy, store.total, then.log_z)
    return State(new, then, F, 1, then.n_jitters)
