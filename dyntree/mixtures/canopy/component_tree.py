"""A cover tree over means, with what bounds the components below its nodes."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dyntree._core.covertree import build, linked
from dyntree._core.mixtures.tree_sampler import Means
from dyntree.mixtures.canopy.components import LOG_2PI, Components

BASE = 1.3
LEAF = 4  # components of a node that are not parted
KINDS = {"spherical": 0, "spherical_tied": 0, "diag": 1, "poisson": 2, "multinomial": 3}


def component_tree(family: str, known: Components, seed: int) -> Means:
    """The tree of `inference="tree"`, for one sweep of any family but "full"."""
    m, d = known.mean.shape
    kind = KINDS[family]
    tree = linked(build(np.ascontiguousarray(known.mean), BASE, LEAF, m, seed, 1))
    spread = np.ones((m, d))
    with np.errstate(divide="ignore"):
        log_weight = np.log(known.weight)
    if kind == 0:
        spread = np.repeat(known.spread[:, None], d, axis=1)
    elif kind == 1:
        spread = np.ascontiguousarray(known.spread)
    if kind < 2:
        log_weight = log_weight - 0.5 * (np.log(spread) + LOG_2PI).sum(axis=1)
    order, n_nodes = tree["order"], len(tree["centre"])
    low, high, widest = (np.empty((n_nodes, d)) for _ in range(3))
    log_mass = np.empty(n_nodes)
    for node in range(n_nodes):
        below = order[tree["row_begin"][node] : tree["row_end"][node]]
        low[node], high[node] = (
            known.mean[below].min(axis=0),
            known.mean[below].max(axis=0),
        )
        widest[node] = spread[below].max(axis=0)
        log_mass[node] = logsumexp(log_weight[below])
    some = np.isfinite(log_mass)  # the others have no weight at all
    log_mass[some] += 1e-13 * (1.0 + np.abs(log_mass[some]))  # more than rounding took
    return Means(
        kind, tree, np.ascontiguousarray(known.mean), spread, log_weight, log_mass, low,
        high, widest,
    )  # fmt: skip
