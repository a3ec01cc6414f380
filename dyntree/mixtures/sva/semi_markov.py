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
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.arrays import Ids

LEAST_SD = 0.5  # of a duration
ONE_SD = 0.2  # of a duration that was seen once, relative to it
MOST_SD = 4.0  # beyond the largest mean, where durations are cut off
MOST_DURATION = 100_000
LONG_SHARE = 0.01  # of segments, whose durations are geometric, and
LONG_FACTOR = 10.0  # their mean, in the longest mean of a state


@dataclass(frozen=True, eq=False)
class SemiMarkov:
    """States, how long each lasts, and which follow.

    From the last duration of the table on, each further row has the same probability.
    """

    id: Ids
    move: Matrix  # probability of j after i
    log_duration: Matrix  # (n_states, n_durations), of 1, 2, ... rows
    log_survival: Matrix  # of so many or more
    log_stay: float = -np.inf  # of one row more than the table has, or yet more

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
            self.log_stay if n > 1 else -np.inf,
        )  # fmt: skip

    def drawn_duration(self, state: int, rng: np.random.Generator) -> int:
        """Rows of a segment of the state at this place, drawn."""
        p = np.exp(self.log_duration[state])
        if self.log_stay > -np.inf:  # the last of the table stands for all longer ones
            p[-1] = np.exp(self.log_survival[state, -1])
        rows = int(rng.choice(self.most, p=p / p.sum())) + 1
        if rows == self.most and self.log_stay > -np.inf:
            rows += int(rng.geometric(-np.expm1(self.log_stay))) - 1
        return rows

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
) -> tuple[Matrix, Matrix, float]:
    """Log probabilities of durations, of lasting so long, and of one row more.

    Most segments have the durations of their state, up to some deviations beyond the
    largest mean. Any may be longer than those that were learned: a share of LONG_SHARE
    is geometric, with LONG_FACTOR times the longest mean, so that the table ends where
    nothing else is left. With a limit `most` there are no longer segments.

    Parameters
    ----------
    tally : ndarray of shape (n_states, 3)
        Count, mean and sum of squared deviations of the segments of each state.
    dwell : int
        Rows of the segment that goes on. As it will have at least as many, the longest
        mean is not less; it also stands for the mean where no segment has ended.
    kind : {"gaussian", "negative-binomial"}
    most : int or None

    Returns
    -------
    log_p, log_survival : ndarray of shape (n_states, n_durations)
        Of 1, 2, ... rows; of so many or more.
    log_stay : float
        Of one row more for segments with at least n_durations rows.
    """
    count, mean, m2 = tally.T
    pooled = float((count * mean).sum() / count.sum()) if count.sum() else max(dwell, 1)
    mean = np.where(count > 0, mean, pooled)
    sd = np.where(count > 1, np.sqrt(m2 / np.maximum(count - 1.0, 1.0)), ONE_SD * mean)
    sd = np.maximum(sd, LEAST_SD)
    stop = 1.0 / (LONG_FACTOR * max(mean.max(), dwell, 1.0))
    log_stay = float(np.log1p(-stop))
    n_own = most
    if n_own is None:
        n_own = min(int(np.ceil((mean + MOST_SD * sd).max())), MOST_DURATION)
    rows = np.arange(1.0, n_own + 1.0)
    log_p = _log_own(rows, mean[:, None], sd[:, None], kind)
    log_p = log_p - logsumexp(log_p, axis=1, keepdims=True)
    if most is None:  # one row more, which only long segments have
        log_p = np.hstack([log_p, np.full((len(tally), 1), -np.inf)])
    own, going = np.log1p(-LONG_SHARE), np.log(LONG_SHARE)
    going = going + np.arange(log_p.shape[1]) * log_stay
    survival = np.logaddexp(own + _log_survival(log_p), going)
    log_p = np.logaddexp(own + log_p, going + np.log(stop))
    if most is None:
        return log_p, survival, log_stay
    log_p = log_p - logsumexp(log_p, axis=1, keepdims=True)
    return log_p, _log_survival(log_p), -np.inf


def _log_survival(log_p: Matrix) -> Matrix:
    """Log probabilities of so many rows or more, up to the last of a table."""
    survival = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(survival, 0.0)


def _log_own(rows: Vector, mean: Matrix, sd: Matrix, kind: str) -> Matrix:
    """Log probabilities of durations of each state, but for a factor."""
    if kind == "gaussian":
        return log_interval(rows, mean, sd)
    beyond = np.maximum(mean - 1.0, 1e-12)
    r = np.minimum(beyond**2 / np.maximum(sd**2 - beyond, 1e-12 * beyond), 1e6)
    p = r / (r + beyond)
    log_p = gammaln(rows - 1.0 + r) - gammaln(rows) - gammaln(r)
    log_mass: Matrix = log_p + r * np.log(p) + (rows - 1.0) * np.log1p(-p)
    return log_mass


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


def refuse_lengths(y: Any, n_rows: int) -> None:
    """Raise an error for what is passed as y, is ignored, and can only be lengths.

    In hmmlearn lengths are the second argument.
    """
    if hasattr(y, "__len__") and not isinstance(y, str) and len(y) != n_rows:
        raise ArgumentError(
            "y",
            "must have one value a row of X, {n_rows}, or none, as it is ignored",
            Message("{n} values", n=len(y)),
            "Pass the lengths of sequences by name: lengths=[...].",
            n_rows=n_rows,
        )


def ends_of(lengths: Any, n_rows: int) -> list[tuple[int, int]]:
    """First row and row after the last of each sequence."""
    if lengths is None:
        return [(0, n_rows)] if n_rows else []
    given = params.as_array("lengths", lengths).reshape(-1).tolist()
    counts = [params.count("lengths", n, 1) for n in given]
    if sum(counts) != n_rows:
        raise ArgumentError(
            "lengths", f"must add up to the rows of X, {n_rows}", sum(counts)
        )
    stops = np.cumsum([0, *counts]).tolist()
    return list(pairwise(stops))


def over_all_paths(
    chain: SemiMarkov, density: Matrix, ends: list[tuple[int, int]]
) -> float:
    """Log density of sequences from the log densities of their rows in the states."""
    top = density.max(axis=1, keepdims=True)
    total = float(top.sum())
    for first, last in ends:
        law = chain.lasting(last - first).law()
        total += law.log_likelihood(density[first:last] - top[first:last])
    return total


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
