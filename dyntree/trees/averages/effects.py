"""Effects of columns of two values on labels and counts, by regressions and trees.

Trees shrink the effect of a column that few of them split on. A regression does not, as
a line through two values is no assumption; but it knows no differences between rows.
Regressions therefore say how large an effect is on average, and trees how the effects
of single rows differ from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix, Vector

N_REFERENCE = 200  # rows at most over which the average effect is taken
N_STEPS, LARGEST_STEP, CLOSE = 30, 3.0, 1e-6  # of Newton's method on log odds
LEAST = 1e-12  # of a probability whose log is taken

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows over which the average effect is taken, under each setting.

    Attributes
    ----------
    rows : ndarray of shape (n_compared * n_reference, n_features)
    shares : ndarray of shape (n_reference,)
        What each counts for; they sum to 1.
    n_compared : int
    is_count : bool
    """

    rows: Matrix
    shares: Vector
    n_compared: int
    is_count: bool

    @classmethod
    def of(
        cls, filters: LinearFilters, rows: Matrix, n_compared: int, pool: Any
    ) -> Reference | None:
        """Those where settings differ in columns of two values alone, or None.

        Where one column is set to one value in each setting, they are rows that were
        learned; else those that are compared.

        Parameters
        ----------
        filters : LinearFilters
        rows : ndarray of shape (n_compared * n_rows, n_features)
            The settings of the same rows, one after another.
        n_compared : int
        pool : Cloud
        """
        if n_compared < 2 or not len(rows):
            return None
        settings = rows.reshape(n_compared, -1, rows.shape[1])
        same = (settings == settings[0]) | (np.isnan(settings) & np.isnan(settings[0]))
        moved = np.flatnonzero(~same.all(axis=(0, 1)))
        low, high = filters.two_values[:, moved]
        there = settings[:, :, moved]
        if not len(moved) or not np.all((there == low) | (there == high)):
            return None
        learned = pool.rows()[0]
        if len(moved) > 1 or not len(learned) or not np.all(there == there[:, :1]):
            n = settings.shape[1]
            return cls(rows, np.full(n, 1.0 / n), n_compared, filters.is_count)
        some = slice(None, None, -(-len(learned) // N_REFERENCE))
        weights = np.ones(len(learned))
        if pool.weighting == "frequency":
            weights = np.asarray(pool.weights())
        found = np.tile(learned[some], (n_compared, 1, 1))
        found[:, :, moved] = there[:, :1]
        whole = np.ascontiguousarray(found.reshape(-1, rows.shape[1]))
        shares = weights[some] / weights[some].sum()
        return cls(whole, shares, n_compared, filters.is_count)

    def parts(self, values: Values) -> Values:
        """Values at all settings, by setting: (n_draws, n_compared, n_rows, ...)."""
        n_draws, _, *classes = values.shape
        return values.reshape(n_draws, self.n_compared, -1, *classes)

    def means(self, values: Values) -> Values:
        """Means of values at the reference rows, (n_draws, n_compared, 1, ...)."""
        means = np.tensordot(self.parts(values), self.shares, ([2], [0]))
        return np.asarray(np.expand_dims(means, 2))

    def wanted(self, means: Values, own: Values, whole: Values) -> Values:
        """Means of regressions, moved to the level of the whole average.

        The level of some means is the mean of their logs over the settings.

        Parameters
        ----------
        means : ndarray of shape (n_draws, n_compared, 1, ...)
            As draws of regressions have them.
        own, whole : ndarray of shape (1, n_compared, 1, ...)
            As predictions of regressions, and of the average, have them.
        """
        off = np.log(np.maximum(whole, LEAST)) - np.log(np.maximum(own, LEAST))
        found = np.maximum(means, LEAST) * np.exp(off.mean(axis=1, keepdims=True))
        if not self.is_count:
            found /= found.sum(axis=-1, keepdims=True)
        return np.asarray(found)

    def calibrated(self, values: Values, trees: Values, wanted: Values) -> Values:
        """Values at rows, moved by what gives the reference rows the means wanted.

        All counts of a setting have one factor, and all probabilities of it one
        addend to the log odds of each class.

        Parameters
        ----------
        values : ndarray of shape (n_draws, n_compared * n_rows, ...)
            What trees say of the rows that are compared: mean counts, or
            probabilities of classes.
        trees : ndarray of shape (n_draws, n_compared * n_reference, ...)
            What they say of the reference rows.
        wanted : ndarray of shape (n_draws, n_compared, 1, ...)
        """
        parts = self.parts(values)
        if self.is_count:
            found = parts * (wanted / self.means(trees))
        else:
            found = shifted(parts, self._shifts(self.parts(trees), wanted))
        return np.asarray(found.reshape(values.shape))

    def _shifts(self, proba: Values, wanted: Values) -> Values:
        """What to add to log odds, so that means of probabilities are as wanted.

        By Newton's method, class by class; of two classes it is the exact one.
        """
        total, shares = np.zeros_like(wanted), self.shares[:, None]
        size = 1.0 - 1.0 / wanted.shape[-1]
        for _ in range(N_STEPS):
            p = shifted(proba, total)
            off = wanted - (shares * p).sum(axis=2, keepdims=True)
            if np.abs(off).max() < CLOSE:
                break
            curve = (shares * p * (1.0 - p)).sum(axis=2, keepdims=True)
            step = size * off / np.maximum(curve, LEAST)
            total += np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        return total


def shifted(proba: Values, shifts: Values) -> Values:
    """Probabilities with an addend to the log odds of each class, on the last axis."""
    found = np.maximum(proba, LEAST) * np.exp(
        shifts - shifts.max(axis=-1, keepdims=True)
    )
    return np.asarray(found / found.sum(axis=-1, keepdims=True))
