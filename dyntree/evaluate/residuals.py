"""Rows as they were predicted before they were learned, and what residuals say."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dyntree import params
from dyntree.encoding.targets import Exposed
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.runtime.records import Record
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.summaries.counts import CountPrediction

LEAST = 2.0**-53  # of a tail: a residual of 8.2 standard deviations


@dataclass(frozen=True, eq=False, repr=False)
class OneStepAhead(Record):
    """Rows, and one-step-ahead predictions of each before it was learned.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Responses, or labels.
    predicted : ndarray of shape (n_rows,)
        Predictive means, or most probable labels.
    sd : ndarray of shape (n_rows,)
        Predictive standard deviations; NaN for labels.
    log_density : ndarray of shape (n_rows,)
        The term of each row in the log evidence.
    pit : ndarray of shape (n_rows, 2)
        Predictive probabilities of a response less than y, and of one at most y, in the
        order of `classes` for labels. The two are equal for real responses, but not for
        counts. They are NaN for the first response, for others without a predictive
        variance, for labels that arrived for the first time, and for rows of weight 0.
    proba : ndarray of shape (n_rows, n_classes), or None
        Predictive probabilities of labels.
    classes : tuple or None
        The labels, in the order of the columns of `proba`.
    weights : ndarray of shape (n_rows,), or None
        How often each row counts in `coverage`, if rows occurred several times and were
        learned in pieces. Predictions of such a row are those of its pieces, mixed by
        their sizes.

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> x = np.linspace(0, 1, 60)
    >>> fit = dtf.dynamic_tree("y ~ x", {"x": x, "y": 2 * x}, seed=1).fit()
    >>> seen = fit.one_step_ahead()
    >>> seen.quantile_residuals().shape, bool(seen.coverage(0.9) > 0.7)
    ((60,), True)
    """

    y: NDArray[Any]
    predicted: NDArray[Any]
    sd: Vector
    log_density: Vector
    pit: Matrix
    proba: Matrix | None = None
    classes: tuple[Hashable, ...] | None = None
    weights: Vector | None = None

    @property
    def is_predicted(self) -> NDArray[np.bool_]:
        """Whether the model could predict each row, shape (n_rows,)."""
        return ~np.isnan(self.pit[:, 1])

    def pit_values(self, seed: int | np.random.Generator | None = 0) -> Vector:
        """Randomised probability integral transform of each row, shape (n_rows,).

        It is a uniform draw between the probabilities of less than y and of at most y.
        If the predictions are right, it is uniform on (0, 1) and independent of the
        rows before (Smith 1985; Czado, Gneiting and Held 2009, equation 2).

        Parameters
        ----------
        seed : int, Generator or None, default 0
            Seed of the draws for labels and counts; real responses need none.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        low, high = self.pit.T
        if np.array_equal(low, high, equal_nan=True):
            return np.array(high)
        return np.asarray(low + params.generator(seed).random(len(low)) * (high - low))

    def quantile_residuals(self, seed: int | np.random.Generator | None = 0) -> Vector:
        """Standard normal quantiles of `pit_values` (Dunn and Smyth 1996, section 2).

        They are independent standard normal if the predictions are right. The largest
        absolute value is 8.2, where a tail rounds to zero.

        Parameters
        ----------
        seed
            As in `pit_values`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(ndtri(np.clip(self.pit_values(seed), LEAST, 1.0 - LEAST)))

    def inside(
        self, level: float = 0.9, seed: int | np.random.Generator | None = 0
    ) -> Vector:
        """1 for rows inside the central interval of a given probability, otherwise 0.

        Parameters
        ----------
        level : float in (0, 1), default 0.9
        seed
            As in `pit_values`.

        Returns
        -------
        ndarray of shape (n_rows,)
            NaN for rows whose `pit` is NaN.
        """
        if not 0.0 < params.real("level", level) < 1.0:
            raise ArgumentError("level", "must be in (0, 1)", level)
        pit = self.pit_values(seed)
        within: Vector = (np.abs(pit - 0.5) <= 0.5 * level).astype(np.float64)
        within[~self.is_predicted] = np.nan
        return within

    def coverage(
        self, level: float = 0.9, seed: int | np.random.Generator | None = 0
    ) -> float:
        """Share of rows inside the central interval of a given probability.

        Parameters
        ----------
        level, seed
            As in `inside`.

        Returns
        -------
        float
        """
        inside = self.inside(level, seed)
        if self.weights is None:
            return float(np.nanmean(inside))
        known = self.is_predicted
        return float(np.average(inside[known], weights=self.weights[known]))


class OneStepRecorder:
    """Notes predictions and the responses, row by row, for a `OneStepAhead`."""

    def __init__(self) -> None:
        self._y: list[Any] = []
        self._answers: list[tuple[Any, float, float, float]] = []
        self._proba: list[Vector] = []
        self._classes: tuple[Hashable, ...] | None = None

    def add(
        self,
        prediction: Prediction | ClassPrediction,
        y: Any,
        is_first: bool,
        counts: bool = True,
    ) -> None:
        """Note the prediction of a row, nothing of a first number, and the response."""
        self._y.append(y)
        if isinstance(prediction, ClassPrediction):
            self._classes = prediction.classes
            p, ends = prediction.proba[0], (np.nan, np.nan)
            self._proba.append(p)
            if counts and y in prediction.classes:
                k = prediction.classes.index(y)
                ends = float(p[:k].sum()), min(float(p[: k + 1].sum()), 1.0)
            label = prediction.label[0] if prediction.classes else None
            self._answers.append((label, np.nan, *ends))
        elif is_first:
            self._answers.append((np.nan,) * 4)
        else:
            sd = float(np.sqrt(prediction.var[0]))
            below = at = np.nan
            if isinstance(prediction, CountPrediction):
                y = y.events if isinstance(y, Exposed) else y
                if counts:
                    below = float(prediction.cdf([y - 1.0])[0])
                    at = float(prediction.cdf([y])[0])
            elif counts and np.isfinite(sd):
                below = at = float(prediction.cdf([y])[0])
            self._y[-1] = y
            self._answers.append((float(prediction.mean[0]), sd, below, at))

    def _padded(self) -> Matrix:
        """Probabilities of all labels; 0 before one was known."""
        found = np.zeros((len(self._proba), len(self._classes or ())))
        for row, p in zip(found, self._proba, strict=True):
            row[: len(p)] = p
        return found

    def record(self, log_density: Sequence[float] | Vector) -> OneStepAhead:
        """What was noted, with the terms of the log evidence."""
        predicted, sd, low, high = zip(*self._answers, strict=True)
        kind = np.float64 if self._classes is None else object
        return OneStepAhead(
            y=np.fromiter(self._y, dtype=kind, count=len(self._y)),
            predicted=np.array(predicted),
            sd=np.array(sd),
            log_density=np.asarray(log_density, dtype=np.float64),
            pit=np.column_stack([low, high]),
            proba=None if self._classes is None else self._padded(),
            classes=self._classes,
        )


def of_rows(seen: OneStepAhead, rows: NDArray[np.int64], sizes: Vector) -> OneStepAhead:
    """Predictions of pieces of rows -> those of the rows, mixed by the sizes of pieces.

    Parameters
    ----------
    seen : OneStepAhead
        Of n_pieces rows.
    rows : ndarray of int64 of shape (n_pieces,)
        The row of each piece.
    sizes : ndarray of shape (n_pieces,)
        How often it counts; 0 for the only piece of a row that counts nowhere.

    Returns
    -------
    OneStepAhead
    """
    totals = np.asarray(np.bincount(rows, sizes), dtype=np.float64)
    times = np.where(totals[rows] > 0.0, sizes, 1.0)

    def mean(values: Vector) -> Vector:
        known = ~np.isnan(values)
        total, weight = (
            np.bincount(rows[known], part[known], len(totals))
            for part in (times * values, times)
        )
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    first = np.unique(rows, return_index=True)[1]
    evidence = np.asarray(np.bincount(rows, seen.log_density), dtype=np.float64)
    proba, sd = None, seen.sd[first]
    if seen.proba is None:
        predicted = mean(seen.predicted)
        sd = np.sqrt(mean(seen.sd**2 + (seen.predicted - predicted[rows]) ** 2))
    else:
        proba = np.column_stack([*map(mean, seen.proba.T)])
        labels = np.fromiter(seen.classes or (), dtype=object)
        predicted = labels[proba.argmax(axis=1)]
    return OneStepAhead(
        seen.y[first], predicted, sd, evidence,
        np.column_stack([*map(mean, seen.pit.T)]), proba, seen.classes, totals,
    )  # fmt: skip
