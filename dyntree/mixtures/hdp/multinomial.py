"""Topics of words: multinomial, with a Dirichlet prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from dyntree._core.mixtures.shares import table_of
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import (
    Expected,
    Family,
    Random,
    Statistics,
    Units,
    digamma,
)
from dyntree.mixtures.hdp.options import HDPPrior
from dyntree.mixtures.hdp.word_store import WordStore
from dyntree.mixtures.shared.arrays import Arrays


class Multinomial(Family):
    """Multinomial topics with a Dirichlet prior."""

    name = "multinomial"
    kind, d, n_second = 2, 0, 0
    kappa0 = shape0 = 0.0
    store = WordStore
    of_words = random_start = True
    epoch_size, most_start, most_births = 1000, 40, 40
    pointer_bytes, point_bytes, smallest_clump = 16, 12, 8 + 12 + 12 + 16
    log_base = 0.0

    def __init__(self, n_words: int, prior: HDPPrior, m0: Vector) -> None:
        self.n_words, self.scale0, self.m0 = n_words, prior.word, m0
        self.described_width = f"{n_words} words"
        total = n_words * self.scale0
        self.log_z0 = float(n_words * gammaln(self.scale0) - gammaln(total))

    def clump_bytes(self, n_groups: Any, n_words: Any) -> Any:
        """Bytes of clumps that touch so many groups and words."""
        return 24 + 12 * (n_groups + n_words)

    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """psi(lambda + n_v) - psi(of their sum)."""
        V, lam = self.n_words, self.scale0
        counts = np.ascontiguousarray(mean.T) + lam
        total = V * lam + N
        theta = table_of(counts, 1)
        theta -= digamma(total)
        log_z = table_of(counts, 0).sum(0) - gammaln(total)
        none = np.zeros((0, 0))
        far = np.zeros(0, dtype=np.int32)
        return Expected(log_z, np.zeros(len(N)), theta, far, none, none)

    def expected_for_answers(self, statistics: Statistics) -> Expected:
        """Logs of mean probabilities: E log p takes words of rare topics for rarer."""
        theta = np.ascontiguousarray(np.log(self.word_probabilities(statistics)).T)
        return replace(self.expected(*statistics), theta=theta)

    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """(lambda + n_v) / (V lambda + N), of word ids."""
        logs = np.log(mean[:, x].T + self.scale0)
        return logs - np.log(self.n_words * self.scale0 + N)

    def point_logs(self, expected: Expected, points: Any) -> Matrix:
        """E log p of word ids, shape (n, K)."""
        words: Matrix = expected.theta[points]
        return words

    def log_fit(self, expected: Expected, statistics: Statistics) -> Vector:
        """Mean E log p of each topic's words, shape (K,)."""
        N, counts, _ = statistics
        out: Vector = np.einsum("vk,kv->k", expected.theta, counts) / N
        return out

    def total_fit(self, expected: Expected, statistics: Statistics) -> float:
        """Expected log probability of all words."""
        return float((expected.theta * statistics[1].T).sum())

    def joined(self, one: Statistics, two: Statistics) -> Statistics:
        """Statistics of two sets together."""
        return one[0] + two[0], one[1] + two[1], one[2]

    def magnified(self, statistics: Statistics, times: float) -> Statistics:
        """Statistics of words that come so many times."""
        N, counts, none = statistics
        return N * times, counts * times, none

    def empty_sums(self, K: int) -> Matrix:
        """Where a sweep adds the counts of K topics up."""
        return np.zeros((self.n_words, K))

    def of_sums(
        self, N: Vector, sums: Matrix, expected: Expected, far: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Counts of words in each topic."""
        return np.ascontiguousarray(sums.T), np.zeros((len(N), 0))

    def word_probabilities(self, statistics: Statistics) -> Matrix:
        """Probability of each word in each topic, shape (K, V)."""
        counts = statistics[1] + self.scale0
        out: Matrix = counts / counts.sum(1, keepdims=True)
        return out

    def drawn(self, label: Any, own: Statistics, units: Units, rng: Random) -> Any:
        """Word ids of topics."""
        out = np.empty(len(label), dtype=np.int64)
        for k in np.unique(label):
            p = own[1][k] + self.scale0
            inside = label == k
            out[inside] = rng.choice(len(p), int(inside.sum()), p=p / p.sum())
        return out

    def to_arrays(self, mean: Matrix, scatter: Matrix) -> Arrays:
        """Counts of words by the name that files give them."""
        return {"topic_words": mean}

    def from_arrays(self, arrays: Arrays) -> tuple[Matrix, Matrix]:
        """Counts of words that a file holds."""
        counts = arrays["topic_words"]
        return counts, np.zeros((len(counts), 0))
