"""Predictions of a transformed response on the scale of the column behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree.api.predictions import PredictionResults
from dyntree.encoding.inverses import Inverse
from dyntree.encoding.values import Matrix, Vector


class BackTransformedResults:
    """Predictive distributions of the column from which a response was made.

    With the response ``np.log(z)`` they are those of z. There is no mean, because the
    exponential of a Student t has an infinite mean. The median and all other quantiles
    are exactly the inverse transforms of those of the response.

    Attributes
    ----------
    response : PredictionResults
        The distributions of the response itself.
    """

    def __init__(self, response: PredictionResults, inverse: Inverse) -> None:
        self.response, self._inverse = response, inverse

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.response!r}>"

    @property
    def predicted_median(self) -> Vector:
        """Predictive median, ndarray of shape (n_rows,)."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Vector:
        """Quantiles of a new value.

        Parameters
        ----------
        q : float or array_like of shape (n_levels,)
            Probabilities in (0, 1).

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
            If False, the interval is the inverse transform of that of the mean
            response, which is also the median of its distribution. If True, it contains
            a new value with probability 1 - alpha.
        alpha : float in (0, 1), default 0.05
            One minus the probability of the interval.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        return self._inverse.interval(self.response.conf_int(obs, alpha))

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Return a table of summaries, one row for each predicted row.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        frame
            A frame of the caller's type, with its index. The columns are `median`, the
            predictive median, and `median_ci_lower`, `median_ci_upper`, `obs_ci_lower`
            and `obs_ci_upper`, the ends of the intervals of `conf_int`.
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
