"""Predictions of a transformed response on the scale of the column behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree.api.predictions import PredictionResults
from dyntree.encoding.inverses import Inverse
from dyntree.encoding.values import Matrix, Vector


class BackTransformedResults:
    """Predictive distributions of the column that a response was made from.

    With the response ``np.log(z)`` they are those of z. There is no mean: that of the
    exponential of a Student t is infinite. The median and all quantiles are the
    inverse of those of the response, exactly.

    Attributes
    ----------
    response : PredictionResults
        The distributions of the response itself.
    """

    def __init__(self, response: PredictionResults, inverse: Inverse) -> None:
        self.response, self._inverse = response, inverse

    @property
    def predicted_median(self) -> Vector:
        """Predictive median, ndarray of shape (n_rows,)."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Vector:
        """Quantiles of a new value.

        Parameters
        ----------
        q : float or array_like of shape (n_levels,)
            Levels in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_levels)
        """
        levels = np.asarray(q, dtype=np.float64)
        levels = 1.0 - levels if self._inverse.falls else levels
        given = levels if levels.ndim else float(levels)
        return self._inverse(self.response.quantile(given))

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> Matrix:
        """Central interval of the median, or of a new value.

        Parameters
        ----------
        obs : bool, default False
            False: the inverse of the interval of the mean response, which is also the
            centre of its distribution. True: holds a new value with probability
            1 - alpha.
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        return self._inverse.interval(self.response.conf_int(obs, alpha))

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Return a table of summaries, one row for each row that was asked for.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        frame
            Of the caller's type, with its index: `median`, the predictive median;
            `median_ci_lower`, `median_ci_upper`, `obs_ci_lower` and `obs_ci_upper`, as
            of `conf_int`.
        """
        centre, new = (self.conf_int(obs, alpha) for obs in (False, True))
        return self.response.frame(
            {
                "median": self.predicted_median,
                "median_ci_lower": centre[:, 0].copy(),
                "median_ci_upper": centre[:, 1].copy(),
                "obs_ci_lower": new[:, 0].copy(),
                "obs_ci_upper": new[:, 1].copy(),
            }
        )
