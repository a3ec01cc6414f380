"""Urns over phases in plain NumPy: every deletion and every labelling, row by row.

A phase inherits clusters with c_k rows each. Some of these are deleted, which leaves
s_k, and n rows then come one after the other: to a cluster in proportion to its rows,
or to a new one in proportion to the concentration (Caron, Davy and Doucet 2007). In the
recurrent Chinese restaurant nothing is deleted, and c_k are sums of counts that fade
(Ahmed and Xing 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np

from tests.oracle.ddp import Phase, log_evidence, states


@dataclass
class Urn:
    """What a phase begins with; locations are those of a `Phase`."""

    phase: Phase  # of which m, E, q, a and Es have no part
    c: np.ndarray  # (K,)
    concentration: float
    survival: float = 1.0
    by_size: bool = False


def recurrent_counts(counts: list[np.ndarray], window: int, decay: float) -> np.ndarray:
    """m'_kt of the next phase, from the counts of all phases so far."""
    total = np.zeros(len(counts[-1]))
    for d in range(1, min(window, len(counts)) + 1):
        for k, m in enumerate(counts[-d]):
            total[k] += np.exp(-d / decay) * m
    return total


def deletions(urn: Urn) -> Iterator[tuple[np.ndarray, float]]:
    """What may be left of the inherited rows, and how probably."""
    c, q = urn.c, urn.survival
    if q == 1.0:
        yield c, 1.0
    elif urn.by_size:
        yield c, q
        for k in range(len(c)):
            yield np.where(np.arange(len(c)) == k, 0, c), (1.0 - q) * c[k] / c.sum()
    else:
        for s in product(*(range(int(one) + 1) for one in c)):
            chance = 1.0
            for x, one in zip(s, c.astype(int).tolist(), strict=True):
                chance *= comb(one, x) * q**x * (1.0 - q) ** (one - x)
            yield np.array(s), chance


def seating(s: np.ndarray, concentration: float, labels: tuple[int, ...]) -> float:
    """Probability of labels, row by row; new ones in the order of their first row."""
    rows, chance = s.astype(float).tolist(), 1.0
    for label in labels:
        total = sum(rows) + concentration
        if label == len(rows):
            chance *= concentration / total
            rows.append(1.0)
        else:
            chance *= rows[label] / total
            rows[label] += 1.0
    return chance


def enumerated(urn: Urn, X: np.ndarray) -> dict[tuple[int, ...], float]:
    """Probability of every labelling of the rows, given the rows."""
    law: dict[tuple[int, ...], float] = {}
    phase = urn.phase
    for labels, _ in states(len(urn.c), 1, len(X)):
        z, log_density = np.array(labels), 0.0
        for k in set(labels):
            log_density += log_evidence(*phase.prior(k), phase.noise, X[z == k])
        prior = sum(
            chance * seating(s, urn.concentration, labels)
            for s, chance in deletions(urn)
        )
        law[labels] = float(prior * np.exp(log_density))
    total = sum(law.values())
    return {labels: value / total for labels, value in law.items()}
