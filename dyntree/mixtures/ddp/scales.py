"""How much of the spread of rows is inside of clusters, and partitions to start from.

A normal-inverse-Wishart base is worth little where its scale is far from that of the
clusters: with twenty clusters in a line a tenth of the variance of all rows is hundreds
of times that of a cluster, and one long cluster has the higher evidence. So share and
degrees of freedom are those of the highest evidence (empirical Bayes), over partitions
that are made without them: cells of k-means++, merged pair by pair down to one.

A base of this kind has its centres spread as its rows are, only farther: in all columns
alike where clusters are round. Each cluster is then charged for places in columns in
which all centres are one, which with few rows a column costs more than twenty clusters
in a line gain. So scales are compared as if centres were spread as all rows are, and
each by the partition that the base itself prefers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.blas import single_threaded_blas

SHARES = 2.0 ** -np.arange(17.0)  # of the variances of rows; 2^-16 is 1/256 in length
DEGREES = 2.0 ** np.arange(2.0, 10.0) - 2.0  # of freedom, beyond the columns
MOST_KAPPA = 0.05  # rows that the mean of the base is worth
MOST_CELLS = 40
ROWS_A_CELL = 4
MOST_WORK = 4e8  # pairs of cells times columns cubed
N_LLOYD = 5
N_TRIES = 4  # of k-means++, for each centre


def kappa_of(share: Vector) -> Vector:
    """Rows that the base's mean is worth: centres are spread as twice all rows are."""
    return np.minimum(MOST_KAPPA, 0.5 * share)


def scale_of(share: Any, df: Any, d: int) -> Any:
    """Psi whose expected covariance is a share of the variances, in their units.

    If there is no expectation, it is as for one more degree of freedom.
    """
    return share * np.maximum(df - d - 1.0, 1.0)


class Moments(NamedTuple):
    """Rows, mean and scatter about it of some clusters."""

    n: Vector  # (m,)
    mean: Matrix  # (m, d)
    scatter: Matrix  # (m, d, d)

    def taken(self, places: Ids) -> Moments:
        """Those of some clusters."""
        return Moments(self.n[places], self.mean[places], self.scatter[places])

    def rounded(self, rounding: Matrix) -> Moments:
        """Those of rows that may be anywhere in their cells of a lattice."""
        return self._replace(scatter=self.scatter + self.n[:, None, None] * rounding)

    def joined(self, other: Moments) -> Moments:
        """Those of the rows of both, pair by pair."""
        n, step = self.n + other.n, other.mean - self.mean
        part = (other.n / n)[:, None]
        apart = (self.n[:, None] * part * step)[:, :, None] * step[:, None]
        mean = self.mean + part * step
        return Moments(n, mean, self.scatter + other.scatter + apart)


@dataclass
class Grid:
    """Scales that are tried, for rows of d columns about the base's mean."""

    d: int
    psi: Vector  # Psi is this multiple of the identity
    kappa: Vector
    df: Vector

    def taken(self, places: Ids) -> Grid:
        """Some of the scales."""
        return Grid(self.d, self.psi[places], self.kappa[places], self.df[places])

    def evidence(self, found: Moments) -> Matrix:
        """Log evidence of the rows of each cluster by scale, and log Gamma(n).

        It uses eigenvalues of the scatter matrices, because Psi is a multiple of the
        identity. The shape is (m, n_scales), and terms that all partitions of the rows
        share are left out.
        """
        d, n, psi = self.d, found.n[:, None], self.psi
        values, axes = np.linalg.eigh(found.scatter)
        squares = (found.mean[:, None] @ axes)[:, 0] ** 2
        after = psi[:, None] + np.maximum(values, 0.0)[:, None]  # (m, n_scales, d)
        drawn = self.kappa * n / (self.kappa + n)
        log_det = np.log(after).sum(axis=2)
        log_det += np.log1p(drawn * (squares[:, None] / after).sum(axis=2))
        total = 0.5 * d * (self.df * np.log(psi) - np.log1p(n / self.kappa))
        total = total + log_gammas(self.df + n, d) - log_gammas(self.df, d)
        total -= 0.5 * (self.df + n) * log_det
        evidence: Matrix = total + gammaln(n)
        return evidence

    def evidence_in_place(self, found: Moments, spread: Matrix) -> Vector:
        """Log evidence of all rows and log Gamma(n), with centres of a given spread.

        A centre is N(0, spread), and the mean of its rows has the covariance around it
        that is expected when all rows are known. This is the only approximation. The
        shape is (n_scales,).
        """
        d, total = self.d, np.zeros(len(self.psi))
        for n, mean, scatter in zip(*found, strict=True):
            values, axes = np.linalg.eigh(scatter)
            after = self.psi[:, None] + np.maximum(values, 0.0)
            df = self.df + n - 1.0
            expected = after / np.maximum(df - d, 1.0)[:, None]
            about = np.repeat((axes.T @ spread @ axes)[None], len(after), axis=0)
            np.einsum("sii->si", about)[:] += expected / n
            root = np.linalg.cholesky(about)
            far = np.linalg.solve(root, (mean @ axes)[None, :, None])[..., 0]
            total += 0.5 * self.d * (self.df * np.log(self.psi) - np.log(2.0 * n))
            total += log_gammas(df, d) - log_gammas(self.df, d) + gammaln(n)
            total -= 0.5 * (df * np.log(after).sum(axis=1) + (far**2).sum(axis=1))
            total -= np.log(np.einsum("sii->si", root)).sum(axis=1)
        return total


def log_gammas(df: Matrix, d: int) -> Matrix:
    """Log Gamma_d(df / 2), but for its constant."""
    return np.asarray(gammaln(0.5 * (df[..., None] - np.arange(d))).sum(axis=-1))


def grid_of(d: int, kappa: float | None, df: float | None, least: float = 1.0) -> Grid:
    """All scales to try for rows of d columns; given values are retained.

    `least` is the smallest share of the variances in the shape of Psi itself.
    """
    degrees = d + DEGREES if df is None else np.array([df])
    shares, degrees = (one.ravel() for one in np.meshgrid(SHARES, degrees))
    kappas = kappa_of(shares * least) if kappa is None else np.full(len(shares), kappa)
    return Grid(d, scale_of(shares, degrees, d), kappas, degrees)


def partition(rows: Matrix, kappa: float, df: float) -> Ids:
    """Labels 0, 1, ... of the partition with the highest evidence, by merging cells.

    The rows are relative to the base's mean, in units in which Psi is the identity.
    """
    n, d = rows.shape
    grid = Grid(d, np.ones(1), np.array([kappa]), np.array([df]))
    with single_threaded_blas():
        labels = cells(rows, n_cells(n, d))
        owner = most_probable(moments(rows, labels), grid)[0]
    return numbered(owner[labels])


def numbered(labels: Ids) -> Ids:
    """Labels as 0, 1, ..."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def n_cells(n: int, d: int) -> int:
    """How many cells to look at, of n rows of d columns."""
    most = int(np.sqrt(2.0 * MOST_WORK / d**3))
    return max(2, min(MOST_CELLS, most, n // ROWS_A_CELL))


def cells(rows: Matrix, k: int) -> Ids:
    """Cells of at most k rows of greedy k-means++, after some steps of Lloyd."""
    rng = np.random.default_rng(0)
    squares = (rows**2).sum(axis=1)

    def distances(centres: Matrix) -> Matrix:
        found = squares - 2.0 * centres @ rows.T + (centres**2).sum(axis=1)[:, None]
        return np.asarray(np.maximum(found, 0.0))

    centres = rows[[rng.integers(len(rows))]]
    nearest = distances(centres)[0]
    while len(centres) < k and nearest.sum() > 0.0:
        tries = rng.choice(len(rows), N_TRIES, p=nearest / nearest.sum())
        nearer = np.minimum(nearest, distances(rows[tries]))
        best = int(nearer.sum(axis=1).argmin())
        centres, nearest = np.vstack([centres, rows[tries[best]]]), nearer[best]
    for _ in range(N_LLOYD):
        labels = numbered(distances(centres).argmin(axis=0))
        centres = moments(rows, labels).mean
    return labels


def moments(rows: Matrix, labels: Ids) -> Moments:
    """Moments of the rows of labels 0, 1, ..."""
    parts = [rows[labels == k] for k in range(labels.max() + 1)]
    means = [part.mean(axis=0) for part in parts]
    scatters = [
        (part - mean).T @ (part - mean)
        for part, mean in zip(parts, means, strict=True)
    ]  # fmt: skip
    n = np.array([len(part) for part in parts], dtype=np.float64)
    return Moments(n, np.array(means), np.array(scatters))


class Fit(NamedTuple):
    """The scale of highest evidence, that evidence, and the partition it prefers."""

    scale: int
    evidence: float
    labels: Ids


def best_scale(rows: Matrix, rounding: Matrix, grid: Grid) -> Fit:
    """Scales compared by their evidence, each by the partition that it prefers."""
    labels = cells(rows, n_cells(*rows.shape))
    found, spread = moments(rows, labels), rows.T @ rows / len(rows)
    owners = most_probable(found.rounded(rounding), grid)
    partitions, which = np.unique(owners, axis=0, return_inverse=True)
    total = np.empty(len(grid.psi))
    for k, owner in enumerate(partitions):
        places = np.flatnonzero(which.ravel() == k)
        own = moments(rows, numbered(owner[labels])).rounded(rounding)
        total[places] = grid.taken(places).evidence_in_place(own, spread)
    best = int(total.argmax())
    return Fit(best, float(total[best]), numbered(owners[best][labels]))


def most_probable(found: Moments, grid: Grid) -> Ids:
    """Which cluster each has become where a scale's evidence is highest, by scale."""
    top = np.full(len(grid.psi), -np.inf)
    owners = np.zeros((len(grid.psi), len(found.n)), dtype=np.int64)
    for owner, total in merging(found, grid):
        better = total > top
        top[better], owners[better] = total[better], owner
    return owners


def merging(found: Moments, grid: Grid) -> Iterator[tuple[Ids, Vector]]:
    """All steps of merging clusters until one is left, with the evidence by scale.

    Each step merges the pair with the largest gain under the best scale before it.
    """
    alone, K = grid.evidence(found), len(found.n)
    first, second = np.triu_indices(K, 1)
    together = np.full((K, K, len(grid.psi)), -np.inf)
    together[first, second] = grid.evidence(
        found.taken(first).joined(found.taken(second))
    )
    live = np.arange(K)
    owner = live.copy()
    while True:
        total = alone[live].sum(axis=0)
        yield owner, total
        if len(live) == 1:
            return
        scale = int(total.argmax())
        gain = together[live[:, None], live, scale]
        gain = gain - alone[live, scale][:, None] - alone[live, scale]
        i, j = live[list(divmod(int(gain.argmax()), len(live)))]
        pair = found.taken(np.array([i])).joined(found.taken(np.array([j])))
        for all_of, one in zip(found, pair, strict=True):
            all_of[i] = one[0]
        alone[i], live = together[i, j], live[live != j]
        owner[owner == j] = i
        others = live[live != i]
        if len(others):
            again = found.taken(np.full(len(others), i)).joined(found.taken(others))
            low, high = np.minimum(i, others), np.maximum(i, others)
            together[low, high] = grid.evidence(again)
