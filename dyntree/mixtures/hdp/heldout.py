"""A tenth of an epoch's points put aside, and how well topics foresee them."""

from __future__ import annotations

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.store import Store, store_of
from dyntree.mixtures.hdp.sweeps import Search, State, Topics

SHARE = 0.1


def held_out(
    store: Store, before: Store, rng: np.random.Generator
) -> tuple[Store, Store]:
    """The store without a tenth of the points that came last, and these points."""
    first, family = before.n_points, store.family
    group = store.group[first:]
    if family.kind == 2:
        count = store.word_count[first:].astype(np.int64)
        aside = rng.binomial(count, SHARE)
        word = store.word[first:]
        stay, gone = count > aside, aside > 0
        kept = store_of(
            family, None, group[stay], words=(word[stay], (count - aside)[stay])
        )
        rest = store_of(family, None, group[gone], words=(word[gone], aside[gone]))
    else:
        gone = rng.random(len(group)) < SHARE
        x = store.x[first:]
        kept = store_of(family, x[~gone], group[~gone])
        rest = store_of(family, x[gone], group[gone])
        if store.n_clumps > before.n_clumps:  # rows that have weights
            new = slice(before.n_clumps, None)
            x, weight = store.clump_mean[new], np.asarray(store.clump_count[new], float)
            group = store.clump_group[store.clump_indptr[:-1][new]]
            gone = rng.random(len(weight)) < SHARE
            kept = kept.joined(store_of(family, x[~gone], group[~gone], weight[~gone]))
            rest = rest.joined(store_of(family, x[gone], group[gone], weight[gone]))
    return before.joined(kept), rest


def proportions(topics: Topics) -> Matrix:
    """E pi of each group, shape (S, K)."""
    zeta = topics.alpha + topics.per_document
    out: Matrix = zeta / zeta.sum(1, keepdims=True)
    return out


def log_density(
    family: Family, topics: Topics, points: object, shares: Matrix
) -> Vector:
    """Log sum_k E[pi_k] predictive_k(x) of points whose shares are given."""
    from scipy.special import logsumexp

    log_p = family.log_predictive(points, *topics.statistics)
    with np.errstate(divide="ignore"):
        out: Vector = logsumexp(log_p + np.log(shares), axis=1)
    return out


def log_score(search: Search, state: State, rest: Store) -> float:
    """Log predictive probability of points that were put aside."""
    if not rest.n_items:
        return 0.0
    is_words = search.family.kind == 2
    points = rest.word if is_words else rest.positions(np.arange(rest.n_items))
    group = np.concatenate([rest.group, rest.clump_group])  # one each
    shares = proportions(state.topics)[group]
    found = log_density(search.family, state.topics, points, shares)
    return float(rest.weights @ found)
