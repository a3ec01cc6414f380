"""What the level of a key is, and its history, for each kind of response.

A *law* says, for real responses, counts or labels, what a key's rows change about the
prediction of the stream that all keys share: its level. It has also the history of a
key as inputs of the other shared stream, and the answer before there are streams.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.targets import Exposed
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.summaries.counts import CountPrediction
from dyntree.trees.averages.base import joined
from dyntree.trees.learning.exposures import apart

FADES = np.array([1.0, 0.97, 0.85])  # of the sums of a key's residuals, a row
SHRINKAGES = np.array([np.inf, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03])
N_GRID = len(FADES) * len(SHRINKAGES)
GRID_DISCOUNT, GRID_DF = 0.999, 4.0  # of the weights of fades and shrinkages
ROWS = "rows of the key"
RATE_FADE, PRIOR_ROWS = 0.99, 2.0  # of rates of a key, and rows that shrink them

Ints = NDArray[np.int64]


@dataclass
class Fleet:
    """What all keys share beside streams; it stands still within a block.

    Attributes
    ----------
    totals : ndarray of shape (n_totals,)
        Sums over all rows: of responses, of exposures, or rows of each label.
    n_rows : int
    grid : ndarray of shape (24,)
        Log weights of fades and shrinkages, of real responses.
    """

    totals: Vector
    n_rows: int
    grid: Vector

    def copy(self) -> Fleet:
        """Return an independent one."""
        return Fleet(self.totals.copy(), self.n_rows, self.grid.copy())


@dataclass
class Levels:
    """How the levels of keys stand at some rows, each before its row is learned.

    Attributes
    ----------
    at : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Offsets, factors of exposures, or factors of probabilities.
    variance : ndarray of shape (n_rows,)
        Posterior variance of each offset; 0 for rates.
    misses : ndarray of shape (n_rows, 24)
        log(1 + e^2 / 4) of each fade and shrinkage; NaN where a key had no row.
    levels, pasts : list of ndarray
        Of each key, after the rows.
    past : ndarray of shape (n_rows, n_past)
        History of the key before each row.
    """

    at: NDArray[Any]
    variance: Vector
    misses: Matrix
    levels: list[Matrix]
    pasts: list[Vector]
    past: Matrix


class Law(ABC):
    """Levels and histories of keys for one kind of response."""

    levels_by_label = False
    least = 0.0  # of levels, histories and totals

    def rows_in(self, past: Matrix) -> Vector:
        """Rows of keys by their histories, shape (n_rows,)."""
        return np.asarray(past[:, 0])

    @abstractmethod
    def blank(self) -> tuple[Matrix, Vector, Vector]:
        """Level and history of a key without rows, and the totals of no rows."""

    @abstractmethod
    def levels(
        self, fleet: Fleet, keys: Sequence[tuple[Matrix, Vector]], which: Ints,
        base: Any, y: Any, exposure: Vector, learns: bool,
    ) -> Levels:  # fmt: skip
        """Levels at some rows in order, of keys by level and history.

        Parameters
        ----------
        fleet : Fleet
        keys : sequence of (level, history)
            Not changed.
        which : ndarray of int64 of shape (n_rows,)
            Key of each row.
        base : Prediction, ClassPrediction or None
            What the shared stream says of the rows without a level; None before it
            has learned.
        y : ndarray of shape (n_rows,) or None
            Responses, or codes of labels; without them no key changes.
        exposure : ndarray of shape (n_rows,)
        learns : bool
            Whether levels change; histories always do.
        """

    @property
    @abstractmethod
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the history."""

    @abstractmethod
    def inputs(self, fleet: Fleet, past: Matrix) -> Matrix:
        """Histories as inputs of a stream, shape (n_rows, n_inputs)."""

    @abstractmethod
    def numbers(self, y: Sequence[Any]) -> tuple[Vector, Vector]:
        """Responses as numbers, codes where they are labels, and their exposures."""

    @abstractmethod
    def without_level(self, y: Sequence[Any], at: NDArray[Any]) -> list[Any]:
        """Responses as the stream of the level learns them."""

    @abstractmethod
    def totals(self, y: Any, exposure: Vector) -> Vector:
        """What rows add to the totals."""

    @abstractmethod
    def cold(self, y: Vector, exposure: Vector, at: Vector) -> Any:
        """Prediction of rows before streams have begun, by the responses so far.

        `at`, of shape (n_rows,), are the exposures of the rows.
        """

    @abstractmethod
    def with_level(
        self, base: Any, levels: Levels, exposure: Vector, again: Callable[..., Any]
    ) -> Any:
        """What the shared stream says of rows, with the levels of their keys.

        Parameters
        ----------
        base
            What it says without levels, see `levels`.
        levels : Levels
        exposure : ndarray of shape (n_rows,)
        again : callable
            Asks the stream once more, with other exposures.
        """

    @abstractmethod
    def mixed(self, parts: Sequence[Any], weights: Matrix, exposure: Vector) -> Any:
        """Predictions of each member -> their mixture, by weights of each row.

        `weights` are of shape (n_rows, n_members).
        """

    @abstractmethod
    def spliced(self, prediction: Any, rows: Sequence[tuple[Any, int] | None]) -> Any:
        """A prediction with some rows of other predictions, by their places there."""

    @abstractmethod
    def together(self, predictions: Sequence[Any]) -> Any:
        """Predictions of some rows after others as one."""

    @abstractmethod
    def reordered(self, prediction: Any, order: Ints) -> Any:
        """A prediction of the same rows in another order."""

    def of_model(self, prediction: Any) -> Any:
        """The prediction of a stream or tree, of all labels in their order."""
        return prediction

    def log_density(self, prediction: Any, y: Sequence[Any]) -> Vector:
        """Log density of each response, shape (n_rows,)."""
        events = [one.events if isinstance(one, Exposed) else one for one in y]
        return np.asarray(prediction.log_density(events))

    def moved_grid(self, grid: Vector, misses: Matrix) -> Vector:
        """Log weights of fades and shrinkages after some rows, in order."""
        return grid


class MixtureLaw(Law):
    """A law whose predictions are mixtures with components for each row."""

    @abstractmethod
    def arrays(self, prediction: Any) -> tuple[Any, ...]:
        """The start of each row's components, and arrays of the components."""

    @abstractmethod
    def of_arrays(self, arrays: Sequence[Any], exposure: Vector) -> Any:
        """The prediction that `arrays` describe."""

    def mixed(self, parts: Sequence[Any], weights: Matrix, exposure: Vector) -> Any:
        """Mixture of the members; see `Law`."""
        return self.of_arrays(weighted([*map(self.arrays, parts)], weights), exposure)

    def spliced(self, prediction: Any, rows: Sequence[tuple[Any, int] | None]) -> Any:
        """A prediction with some rows of others; see `Law`."""
        if not any(rows):
            return prediction
        sources = [
            (prediction, place) if row is None else row
            for place, row in enumerate(rows)
        ]
        arrays = {id(source): self.arrays(source) for source, _ in sources}
        pieces = []
        for source, place in sources:
            start, *others = arrays[id(source)]
            part = slice(start[place], start[place + 1])
            pieces.append([array[part] for array in others])
        sizes = [len(piece[0]) for piece in pieces]
        columns = map(np.concatenate, zip(*pieces, strict=True))
        start = np.concatenate([[0], np.cumsum(sizes)])
        return self.of_arrays(
            (start, *columns), getattr(prediction, "exposure", np.empty(0))
        )

    def together(self, predictions: Sequence[Any]) -> Any:
        """Predictions of some rows after others as one."""
        starts, *columns = zip(*map(self.arrays, predictions), strict=True)
        sizes = np.concatenate([np.diff(start) for start in starts])
        start = np.concatenate([[0], np.cumsum(sizes)])
        exposure = [getattr(part, "exposure", ()) for part in predictions]
        return self.of_arrays(
            (start, *map(np.concatenate, columns)), np.concatenate(exposure)
        )

    def reordered(self, prediction: Any, order: Ints) -> Any:
        """A prediction of the same rows in another order."""
        start, *columns = self.arrays(prediction)
        places = np.concatenate([np.arange(start[k], start[k + 1]) for k in order])
        ends = np.cumsum(np.diff(start)[order])
        exposure = getattr(prediction, "exposure", None)
        return self.of_arrays(
            (np.concatenate([[0], ends]), *(column[places] for column in columns)),
            np.empty(0) if exposure is None else exposure[order],
        )


def weighted(parts: Sequence[Any], weights: Matrix) -> Any:
    """Arrays of mixtures of each member -> those of one mixture, by weights a row."""
    each = [
        (start, np.repeat(weights[:, k], np.diff(start)) * weight, *others)
        for k, (start, weight, *others) in enumerate(parts)
    ]
    return joined(each, np.ones(len(each)))


class RealLaw(MixtureLaw):
    """Real responses: the level of a key is an offset, shrunk and faded.

    The offset is the sum of w s / (n + l) over fades f and shrinkages l, where each row
    of the key with the residual r makes n <- f n + 1 and s <- f s + r. The weights w
    belong to all keys: log w <- .999 (log w - 2.5 log(1 + e^2 / 4)), where e is the
    error of the offset in units of the standard deviation of the shared prediction.
    """

    least = -LARGEST

    def blank(self) -> tuple[Matrix, Vector, Vector]:
        """Level and history of a key without rows, and the totals of no rows."""
        return np.zeros((2, len(FADES))), np.zeros(3), np.zeros(1)

    def levels(
        self, fleet: Fleet, keys: Sequence[tuple[Matrix, Vector]], which: Ints,
        base: Any, y: Any, exposure: Vector, learns: bool,
    ) -> Levels:  # fmt: skip
        """Levels at some rows; see `Law`."""
        n = len(which)
        levels, pasts = copies(keys)
        at, variance = np.zeros(n), np.zeros(n)
        misses, past = np.full((n, N_GRID), np.nan), np.empty((n, 3))
        shares = grid_weights(fleet.grid)
        var = np.zeros(n) if base is None else base.var
        for row, key in enumerate(which.tolist()):
            level, past[row] = levels[key], pasts[key]
            if learns:
                offsets = grid_offsets(level)
                at[row] = shares @ offsets
                spread = var[row] * grid_variances(level) + (offsets - at[row]) ** 2
                variance[row] = shares @ spread
            if y is None:
                continue
            if learns:
                residual = y[row] - base.mean[row]
                if level[0, 0] > 0.0:
                    squares = (residual - offsets) ** 2 / var[row]
                    misses[row] = np.log1p(squares / GRID_DF)
                level *= FADES
                level += [[1.0], [residual]]
            n_before, total, _ = pasts[key]
            pasts[key][:] = n_before + 1.0, total + y[row], y[row]
        return Levels(at, variance, misses, levels, pasts, past)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the history."""
        return "mean of the key", "last of the key", ROWS

    def numbers(self, y: Sequence[Any]) -> tuple[Vector, Vector]:
        """Responses as numbers, and their exposures."""
        return np.array(y, dtype=np.float64), np.ones(len(y))

    def without_level(self, y: Sequence[Any], at: NDArray[Any]) -> list[Any]:
        """Responses as the stream of the level learns them."""
        return [*(np.array(y, dtype=np.float64) - at).tolist()]

    def inputs(self, fleet: Fleet, past: Matrix) -> Matrix:
        """Mean of the key, shrunk to that of all by two rows; last response; rows."""
        n, total, last = past.T
        mean = fleet.totals[0] / max(fleet.n_rows, 1)
        own = (total + PRIOR_ROWS * mean) / (n + PRIOR_ROWS)
        return np.column_stack([own, np.where(n > 0.0, last, mean), np.log1p(n)])

    def totals(self, y: Any, exposure: Vector) -> Vector:
        """What rows add to the totals."""
        return np.array([y.sum()])

    def moved_grid(self, grid: Vector, misses: Matrix) -> Vector:
        """Log weights of fades and shrinkages after some rows."""
        for row in misses:
            if not np.isnan(row[0]):
                grid = GRID_DISCOUNT * (grid - 0.5 * (GRID_DF + 1.0) * row)
                grid = grid - grid.max()
        return grid

    def cold(self, y: Any, exposure: Vector, at: Vector) -> Any:
        """Prediction by the responses so far."""
        return Prediction.of_sample(y.tolist(), len(at))

    def with_level(
        self, base: Any, levels: Levels, exposure: Vector, again: Callable[..., Any]
    ) -> Any:
        """The shared prediction of y less its level -> that of y.

        The posterior of the mean is as much wider as the level is uncertain.
        """
        found = base.shifted(levels.at)
        mean, more = found.of_mean, levels.variance[found.of_mean.row]
        scale = np.minimum(np.sqrt(mean.scale**2 + more), found.mixture.scale)
        of_mean = type(mean)(mean.start, mean.weight, mean.location, scale, mean.df)
        return Prediction.of(found.mixture, of_mean, LEAST_DF)

    def arrays(self, prediction: Any) -> tuple[Any, ...]:
        """The start of each row's components, and their arrays."""
        own = prediction.mixture
        scale = prediction.of_mean.scale
        return own.start, own.weight, own.location, own.scale, own.df, scale

    def of_arrays(self, arrays: Sequence[Any], exposure: Vector) -> Any:
        """The prediction that `arrays` describe."""
        return Prediction.of_mixture(arrays, 1, LEAST_DF)


def copies(
    keys: Sequence[tuple[Matrix, Vector]],
) -> tuple[list[Matrix], list[Vector]]:
    """Levels and histories of keys that may be changed."""
    return [level.copy() for level, _ in keys], [past.copy() for _, past in keys]


def grid_weights(grid: Vector) -> Vector:
    """Weights of fades and shrinkages, shape (24,)."""
    shares = np.exp(grid - grid.max())
    return np.asarray(shares / shares.sum())


def grid_offsets(level: Matrix) -> Vector:
    """Offset of a key by each fade and shrinkage, shape (24,)."""
    n, total = level
    return np.asarray((total[:, None] / (n[:, None] + SHRINKAGES)).ravel())


def grid_variances(level: Matrix) -> Vector:
    """Posterior variance of each offset, in units of that of a residual, (24,).

    1 / (n + l): the prior variance of a level is 1 / l.
    """
    return np.asarray((1.0 / (level[0][:, None] + SHRINKAGES)).ravel())


class CountLaw(MixtureLaw):
    """Counts: the level of a key is a factor of its exposure, (N + 2) / (E + 2).

    N are its counts and E their shared means at the factor 1, both times .99 a row.
    """

    def blank(self) -> tuple[Matrix, Vector, Vector]:
        """Level and history of a key without rows, and the totals of no rows."""
        return np.zeros((2, 1)), np.zeros(4), np.zeros(2)

    def levels(
        self, fleet: Fleet, keys: Sequence[tuple[Matrix, Vector]], which: Ints,
        base: Any, y: Any, exposure: Vector, learns: bool,
    ) -> Levels:  # fmt: skip
        """Levels at some rows; see `Law`."""
        n = len(which)
        levels, pasts = copies(keys)
        at, past = np.ones(n), np.empty((n, 4))
        for row, key in enumerate(which.tolist()):
            level, past[row] = levels[key], pasts[key]
            if learns:
                at[row] = rate_factors(level)[0]
            if y is None:
                continue
            if learns:
                level *= RATE_FADE
                level += [[y[row]], [base.mean[row]]]
            pasts[key][:3] += [1.0, y[row], exposure[row]]
            pasts[key][3] = (y[row] + 0.5) / exposure[row]
        none = np.full((n, N_GRID), np.nan)
        return Levels(at, np.zeros(n), none, levels, pasts, past)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the history."""
        return "log rate of the key", "last log rate of the key", ROWS

    def numbers(self, y: Sequence[Any]) -> tuple[Vector, Vector]:
        """Responses as numbers, and their exposures."""
        return apart(y)

    def without_level(self, y: Sequence[Any], at: NDArray[Any]) -> list[Any]:
        """Responses as the stream of the level learns them."""
        counts, exposure = apart(y)
        return exposed(counts, exposure * at)

    def inputs(self, fleet: Fleet, past: Matrix) -> Matrix:
        """Logs of the key's rate, shrunk by two rows, and of its last; rows."""
        n, total, over, last = past.T
        events, exposures = fleet.totals
        rows = max(fleet.n_rows, 1)
        usual = (events + 0.5) / (exposures or 1.0)
        added = PRIOR_ROWS * (exposures or 1.0) / rows
        own = (total + added * usual) / (over + added)
        last = np.where(n > 0.0, last, usual)
        return np.column_stack([np.log(own), np.log(last), np.log1p(n)])

    def totals(self, y: Any, exposure: Vector) -> Vector:
        """What rows add to the totals."""
        return np.array([y.sum(), exposure.sum()])

    def with_level(
        self, base: Any, levels: Levels, exposure: Vector, again: Callable[..., Any]
    ) -> Any:
        """The prediction at exposures times the rates of keys."""
        return again(exposure=exposure * levels.at)

    def cold(self, y: Any, exposure: Vector, at: Vector) -> Any:
        """Prediction by the responses so far."""
        return CountPrediction.of_sample(y, exposure, at)

    def arrays(self, prediction: Any) -> tuple[Any, ...]:
        """The start of each row's components, and their arrays."""
        own = prediction.mixture
        return own.start, own.weight, own.first, own.second, own.size, own.exposure

    def of_arrays(self, arrays: Sequence[Any], exposure: Vector) -> Any:
        """The prediction that `arrays` describe."""
        return CountPrediction.of_laws(arrays, exposure)


class LabelLaw(Law):
    """Labels: the level of a key is a factor of each label's probability.

    It is (N + 2) / (E + 2), where N is the key's count of the label and E the sum of
    its shared probabilities, both times .99 a row.

    Parameters
    ----------
    classes : tuple
        All labels so far.
    n_shares : int
        The first labels, whose shares and codes are inputs of the history.
    n_known : int, optional
        Labels that were known before the rows; by default all.
    """

    levels_by_label = True

    def __init__(
        self, classes: tuple[Any, ...], n_shares: int, n_known: int | None = None
    ) -> None:
        self.classes, self.n_shares = classes, n_shares
        self.n_known = len(classes) if n_known is None else n_known

    def blank(self) -> tuple[Matrix, Vector, Vector]:
        """Level and history of a key without rows, and the totals of no rows."""
        n = len(self.classes)
        return np.zeros((2, n)), np.zeros(n + 1), np.zeros(n)

    def levels(
        self, fleet: Fleet, keys: Sequence[tuple[Matrix, Vector]], which: Ints,
        base: Any, y: Any, exposure: Vector, learns: bool,
    ) -> Levels:  # fmt: skip
        """Levels at some rows; see `Law`."""
        n, n_classes = len(which), len(self.classes)
        levels = [padded(level, n_classes) for level, _ in keys]
        pasts = [self._padded_past(past) for _, past in keys]
        at, past = np.ones((n, n_classes)), np.empty((n, n_classes + 1))
        for row, key in enumerate(which.tolist()):
            level, past[row] = levels[key], pasts[key]
            if learns:
                at[row] = rate_factors(level)
            if y is None:
                continue
            code = int(y[row])
            if learns:
                level *= RATE_FADE
                level[0, code] += 1.0
                level[1] += base.proba[row]
            pasts[key][code] += 1.0
            pasts[key][-1] = code
        none = np.full((n, N_GRID), np.nan)
        return Levels(at, np.zeros(n), none, levels, pasts, past)

    def rows_in(self, past: Matrix) -> Vector:
        """Rows of keys by their histories."""
        return np.asarray(past[:, :-1].sum(axis=1))

    def _padded_past(self, past: Vector) -> Vector:
        """A history with a count for each label, and the last label."""
        wide = np.zeros(len(self.classes) + 1)
        wide[: len(past) - 1], wide[-1] = past[:-1], past[-1]
        return wide

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the history."""
        places = range(1, self.n_shares)
        shares = [f"share of label {k} of the key" for k in places]
        return *shares, *(f"last label of the key is {k}" for k in places), ROWS

    def numbers(self, y: Sequence[Any]) -> tuple[Vector, Vector]:
        """Responses as numbers, and their exposures."""
        place = {label: k for k, label in enumerate(self.classes)}
        return np.array([place[label] for label in y], float), np.ones(len(y))

    def without_level(self, y: Sequence[Any], at: NDArray[Any]) -> list[Any]:
        """Responses as the stream of the level learns them."""
        return [*y]

    def inputs(self, fleet: Fleet, past: Matrix) -> Matrix:
        """Shares of labels but the first, shrunk by two rows; last label; rows."""
        counts, last, n = past[:, :-1], past[:, -1], past[:, :-1].sum(axis=1)
        usual = padded(fleet.totals[None], counts.shape[1])[0] / max(fleet.n_rows, 1)
        shares = (counts + PRIOR_ROWS * usual) / (n + PRIOR_ROWS)[:, None]
        codes = np.arange(1, self.n_shares)
        is_last = (last[:, None] == codes) & (n > 0.0)[:, None]
        return np.hstack([shares[:, 1 : self.n_shares], is_last, np.log1p(n)[:, None]])

    def totals(self, y: Any, exposure: Vector) -> Vector:
        """What rows add to the totals."""
        return np.bincount(y.astype(np.int64), minlength=len(self.classes)).astype(
            float
        )

    def cold(self, y: Any, exposure: Vector, at: Vector) -> Any:
        """Prediction by the responses so far."""
        counts = self.totals(y, exposure) + (
            np.arange(len(self.classes)) < self.n_known
        )
        return self._of(np.tile(counts / max(counts.sum(), 1.0), (len(at), 1)))

    def with_level(
        self, base: Any, levels: Levels, exposure: Vector, again: Callable[..., Any]
    ) -> Any:
        """The shared prediction, with the rates of keys."""
        proba = base.proba * levels.at
        return self._of(proba / proba.sum(axis=1, keepdims=True))

    def of_model(self, prediction: Any) -> Any:
        """The prediction of a stream or tree, of all labels."""
        places = [self.classes.index(label) for label in prediction.classes]
        proba = np.zeros((len(prediction.proba), len(self.classes)))
        proba[:, places] = prediction.proba
        return self._of(proba)

    def mixed(self, parts: Sequence[Any], weights: Matrix, exposure: Vector) -> Any:
        """Mixture of the members; see `Law`."""
        proba = np.zeros((len(weights), len(self.classes)))
        for part, shares in zip(parts, weights.T, strict=True):
            proba += shares[:, None] * part.proba
        total = proba.sum(axis=1, keepdims=True)
        return self._of(proba / np.where(total > 0.0, total, 1.0))

    def spliced(self, prediction: Any, rows: Sequence[tuple[Any, int] | None]) -> Any:
        """A prediction with some rows of others; see `Law`."""
        proba = prediction.proba.copy()
        for place, row in enumerate(rows):
            if row is not None:
                proba[place] = row[0].proba[row[1]]
        return self._of(proba)

    def together(self, predictions: Sequence[Any]) -> Any:
        """Predictions of some rows after others as one."""
        n_classes = len(self.classes)
        return self._of(
            np.concatenate([padded(p.proba, n_classes) for p in predictions])
        )

    def reordered(self, prediction: Any, order: Ints) -> Any:
        """A prediction of the same rows in another order."""
        return self._of(prediction.proba[order])

    def _of(self, proba: Matrix) -> ClassPrediction:
        entropy: Vector = entr(proba).sum(axis=1)
        return ClassPrediction(proba, self.classes, entropy)


def padded(array: Matrix, width: int) -> Matrix:
    """An array with columns of zeros for labels that are new."""
    wide = np.zeros((len(array), width))
    wide[:, : array.shape[1]] = array
    return wide


def rate_factors(level: Matrix) -> Vector:
    """(N + 2) / (E + 2) of each label, or of the counts."""
    return np.asarray((level[0] + PRIOR_ROWS) / (level[1] + PRIOR_ROWS))


def exposed(y: Vector, exposure: Vector) -> list[Any]:
    """Counts beside their exposures, as models learn them."""
    return [*map(Exposed, y.tolist(), exposure.tolist())]
