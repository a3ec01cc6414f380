"""Laws of semi-Markov chains: durations, moves, and where a sequence may be by now."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from dyntree import params
from dyntree._core.mixtures.decoder import Law
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids

LEAST_SD = 0.5  # of a duration
ONE_SD = 0.2  # of a duration that was seen once, relative to it
MOST_SD = 4.0  # beyond the largest mean, where durations are cut off
MOST_DURATION = 100_000


@dataclass(frozen=True, eq=False)
class SemiMarkov:
    """States, how long each lasts, and which follow."""

    id: Ids
    move: Matrix  # probability of j after i
    log_duration: Matrix  # (n_states, n_durations), of 1, 2, ... rows
    log_survival: Matrix  # of so many or more

    @property
    def most(self) -> int:
        """Longest duration."""
        return int(self.log_duration.shape[1])

    def lasting(self, n_rows: int) -> SemiMarkov:
        """The chain for so many rows: a state that is alone may last through all."""
        if len(self.id) > 1 or self.most >= n_rows:
            return self
        tail = np.full((1, n_rows - self.most), -np.inf)
        survival = np.zeros((1, n_rows))
        survival[:, : self.most] = self.log_survival
        # alone, it goes on whatever the law of its durations says
        survival[:, self.most :] = self.log_survival[:, -1:]
        duration = np.concatenate([self.log_duration, tail], axis=1)
        return SemiMarkov(self.id, self.move, duration, survival)

    def law(self) -> Law:
        """The chain as the kernel decodes it."""
        n = len(self.id)
        with np.errstate(divide="ignore"):
            move = np.log(self.move)
        return Law(
            np.full(n, -np.log(n)), np.ascontiguousarray(move),
            np.ascontiguousarray(self.log_duration),
            np.ascontiguousarray(self.log_survival),
        )  # fmt: skip

    def hazard(self) -> Matrix:
        """Probability that a segment of 1, 2, ... rows ends with the last of them."""
        if len(self.id) == 1:
            return np.zeros((1, self.most))
        hazard: Matrix = np.exp(self.log_duration - self.log_survival)
        return np.minimum(np.nan_to_num(hazard, nan=1.0), 1.0)

    def advanced(self, belief: Matrix) -> Matrix:
        """Where the sequence is a row later: probabilities of states and dwells."""
        hazard = self.hazard()
        later = np.zeros_like(belief)
        goes_on = belief * (1.0 - hazard)
        later[:, 1:] = goes_on[:, :-1]
        later[:, -1] += goes_on[:, -1]
        later[:, 0] += (belief * hazard).sum(axis=1) @ self.move
        return later


def move_probabilities(counts: Matrix, smoothing: float) -> Matrix:
    """Probabilities of moves from counts; uniform for states that were never left."""
    n = len(counts)
    if n == 1:
        return np.zeros((1, 1))
    off = 1.0 - np.eye(n)
    mass = (counts + smoothing) * off
    total = mass.sum(axis=1, keepdims=True)
    uniform = off / (n - 1.0)
    return np.where(total > 0.0, mass / np.where(total > 0.0, total, 1.0), uniform)


def duration_laws(
    tally: Matrix, dwell: int, kind: str, most: int | None
) -> tuple[Matrix, Matrix]:
    """Log probabilities of durations up to `most`, and of lasting so long.

    The tally has count, mean and sum of squared deviations of each state, shape
    (n_states, 3); `dwell` are rows of the segment that goes on, where none has ended.
    """
    count, mean, m2 = tally.T
    pooled = float((count * mean).sum() / count.sum()) if count.sum() else max(dwell, 1)
    mean = np.where(count > 0, mean, pooled)
    sd = np.where(count > 1, np.sqrt(m2 / np.maximum(count - 1.0, 1.0)), ONE_SD * mean)
    sd = np.maximum(sd, LEAST_SD)
    if most is None:
        most = min(int(np.ceil((mean + MOST_SD * sd).max())), MOST_DURATION)
    rows = np.arange(1.0, most + 1.0)
    if kind == "gaussian":
        log_p = log_interval(rows, mean[:, None], sd[:, None])
    else:
        beyond = np.maximum(mean - 1.0, 1e-12)
        shape = np.minimum(beyond**2 / np.maximum(sd**2 - beyond, 1e-12 * beyond), 1e6)
        r, p = shape[:, None], (shape / (shape + beyond))[:, None]
        log_p = gammaln(rows - 1.0 + r) - gammaln(rows) - gammaln(r)
        log_p = log_p + r * np.log(p) + (rows - 1.0) * np.log1p(-p)
    log_p = log_p - logsumexp(log_p, axis=1, keepdims=True)
    survival = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]
    return log_p, np.minimum(survival, 0.0)


def log_interval(rows: Vector, mean: Matrix, sd: Matrix) -> Matrix:
    """Log mass that normals give the intervals of length 1 about whole numbers."""
    low, high = (rows - 0.5 - mean) / sd, (rows + 0.5 - mean) / sd
    low, high = (
        np.where(low > 0.0, -high, low), np.where(low > 0.0, -low, high),
    )  # fmt: skip  # the lighter tail, where differences are not rounding
    top = log_ndtr(high)
    mass: Matrix = top + np.log1p(-np.exp(log_ndtr(low) - top))
    return mass


def segments_of(labels: Ids) -> tuple[Ids, Ids, Ids]:
    """State, first row and row after the last, of each run of equal labels."""
    if not len(labels):
        empty = np.empty(0, dtype=np.int64)
        return empty, empty.copy(), empty.copy()
    start = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1]).astype(np.int64)
    stop = np.append(start[1:], len(labels)).astype(np.int64)
    return labels[start], start, stop


def ends_of(lengths: Any, n_rows: int) -> list[tuple[int, int]]:
    """First row and row after the last of each sequence."""
    if lengths is None:
        return [(0, n_rows)] if n_rows else []
    given = params.as_array("lengths", lengths).reshape(-1).tolist()
    counts = [params.count("lengths", n, 1) for n in given]
    if sum(counts) != n_rows:
        raise ValueError(
            f"lengths must add up to the rows of X, {n_rows}; got {sum(counts)}."
        )
    stops = np.cumsum([0, *counts]).tolist()
    return list(pairwise(stops))


def smooth_path(points: Matrix, labels: Ids) -> Vector:
    """A path through the points of segments, in the middle of each, one point a row."""
    from scipy.interpolate import CubicSpline

    _, start, stop = segments_of(labels)
    if len(start) < 2:
        return points.copy()
    middle = (start + stop - 1) / 2.0
    at = np.arange(len(labels), dtype=np.float64)
    knots = np.concatenate([[at[0] - 1.0], middle, [at[-1] + 1.0]])
    through = np.concatenate([points[:1], points[start], points[-1:]])
    return CubicSpline(knots, through, bc_type="natural")(at)
