"""Predictions of results at rows: moments, intervals and frames."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree import params
from dyntree.api.offsets import prediction_of
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.params.names import SuggestingAttributes, suggesting
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.summaries.draws import interval_levels
from dyntree.trees.factory import Trees

N_DRAWS = 1000  # behind intervals of probabilities
MOST_DRAWN = 1 << 22  # probabilities in memory at a time


@suggesting
class PredictionResults(SuggestingAttributes):
    """Predictive distributions of rows, with the row labels of the caller.

    Attributes
    ----------
    distribution : Prediction or ClassPrediction
        The distributions themselves, with methods for quantiles, densities and draws.
    """

    _hints = MappingProxyType(
        dict.fromkeys(
            ("interval", "intervals", "predict_interval", "quantiles"),
            "summary_frame(alpha=0.1) has intervals of 90 %.",
        )
    )
    _nested = ("distribution",)

    def __init__(
        self,
        prediction: Prediction | ClassPrediction,
        table: Table,
        tree: Trees | None = None,
        rows: Matrix | None = None,
    ) -> None:
        self.distribution, self._table = prediction, table
        self._tree, self._rows = tree, rows
        self._n_seen = 0 if tree is None else tree.n_seen

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.distribution!r}>"

    @classmethod
    def of(
        cls,
        tree: Trees,
        rows: Matrix,
        table: Table,
        weights: Any = None,
        shift: Vector | None = None,
    ) -> PredictionResults:
        """Predictions of trees at rows of features, which were given as a table."""
        with tree.exclusive():
            prediction = prediction_of(tree, rows, shift, weights)
            if isinstance(prediction, Prediction):
                return cls(prediction, table)
            return cls(prediction, table, tree, rows)

    def _proba_interval(self, alpha: float) -> Matrix:
        """Ends for each label at each row, (n_rows, n_classes, 2); NaN: not known."""
        assert isinstance(self.distribution, ClassPrediction)
        n_rows, n_classes = self.distribution.proba.shape
        ends = np.full((2, n_rows, n_classes), np.nan)
        levels, tree, rows = interval_levels(alpha), self._tree, self._rows
        if tree is None or rows is None:
            return np.moveaxis(ends, 0, -1)
        with tree.exclusive():
            if tree.is_ready and tree.n_seen == self._n_seen:
                rng = np.random.default_rng([tree.seed, self._n_seen])
                size = max(1, MOST_DRAWN // (N_DRAWS * max(1, n_classes)))
                for first in range(0, n_rows, size):
                    part = slice(first, first + size)
                    drawn = tree.drawn(rows[part], N_DRAWS, "mean", rng).values
                    ends[:, part] = np.quantile(drawn, levels, axis=0)
        return np.moveaxis(ends, 0, -1)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return columns as a frame of the caller's type, with its index."""
        return self._table.frame(columns)

    def _real(self) -> Prediction:
        if isinstance(self.distribution, ClassPrediction):
            raise ValueError(
                "moments and intervals need a response of numbers; got labels. See "
                "summary_frame() for their probabilities."
            )
        return self.distribution

    def predicted(self) -> Vector:
        """Predictive means, or most probable labels, shape (n_rows,)."""
        prediction = self.distribution
        if isinstance(prediction, ClassPrediction):
            return prediction.label
        return prediction.mean.copy()

    @property
    def predicted_mean(self) -> Vector:
        """Predictive mean, ndarray of shape (n_rows,)."""
        return self._real().mean.copy()

    @property
    def se_mean(self) -> Vector:
        """Standard deviation of the posterior of the mean, shape (n_rows,).

        This is the uncertainty about the mean response: the spread of the means over
        the trees, and within each tree the uncertainty of its leaf about the leaf's
        mean. The noise around the mean is not included. A single cloud of trees
        understates this uncertainty; see `conf_int`.
        """
        return self._real().mean_se

    @property
    def se_obs(self) -> Vector:
        """Predictive standard deviation of a new response, shape (n_rows,)."""
        return np.sqrt(self._real().var)

    def quantile(self, q: ArrayLike) -> Vector:
        """Quantiles of a new response, as of `Prediction.quantile`."""
        return self._real().quantile(q)

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> Matrix:
        """Central interval of the mean, or of a new response.

        Parameters
        ----------
        obs : bool, default False
            If False, the interval contains the mean response with the posterior
            probability 1 - alpha; its ends are quantiles of `Prediction.of_mean`. If
            True, it contains a new response with this probability.
        alpha : float in (0, 1), default 0.05
            One minus the probability of the interval.

        Returns
        -------
        ndarray of shape (n_rows, 2)

        Notes
        -----
        The trees of one cloud are alike, so that its interval of the mean is too
        narrow. At alpha = 0.1 it contained 66 % of the means of six functions with
        constant leaves, and 74 % with linear ones. Eight clouds of an eighth of the
        trees (``n_clouds=8`` of the model) contained 86 % and 83 %, in about the same
        time (tests/statistical/means.txt). Intervals of a new response are not
        affected.
        """
        prediction, obs = self._real(), params.flag("obs", obs)
        mixture = prediction.mixture if obs else prediction.of_mean
        return mixture.quantile(interval_levels(alpha))

    def summary_frame(self, alpha: float = 0.05) -> Any:
        """Return a table of summaries, one row for each predicted row.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05

        Returns
        -------
        frame
            A frame of the caller's type, with its index, or a pandas frame if the rows
            were dicts. For numbers it has the columns `mean`, the predictive mean;
            `mean_se`, the standard deviation of the posterior of the mean;
            `mean_ci_lower` and `mean_ci_upper`, between which the mean lies with
            probability 1 - alpha (too narrow with one cloud of trees, see `conf_int`;
            set ``n_clouds=8`` in the model); `obs_ci_lower` and `obs_ci_upper`, the
            same for a new response, including the noise. For labels it has the columns
            ``p_<label>``, their probabilities; ``p_<label>_ci_lower`` and
            ``p_<label>_ci_upper``, between which each lies with posterior probability 1
            - alpha, from 1000 draws with a seed of the model; `class`, the most
            probable label; and `entropy`, in nats. The ends of these intervals are NaN
            if there are no trees yet, or if the trees have learned more rows since the
            prediction; repeat the prediction in this case.
        """
        prediction = self.distribution
        if isinstance(prediction, ClassPrediction):
            ends = self._proba_interval(alpha)
            columns = {
                f"p_{label}": prediction.proba[:, k].copy()
                for k, label in enumerate(prediction.classes)
            }
            for k, label in enumerate(prediction.classes):
                columns[f"p_{label}_ci_lower"] = ends[:, k, 0].copy()
                columns[f"p_{label}_ci_upper"] = ends[:, k, 1].copy()
            columns |= {"class": prediction.label, "entropy": prediction.entropy.copy()}
            return self._table.frame(columns)
        mean, new = (self.conf_int(obs, alpha) for obs in (False, True))
        columns = {
            "mean": self.predicted_mean,
            "mean_se": self.se_mean,
            "mean_ci_lower": mean[:, 0].copy(),
            "mean_ci_upper": mean[:, 1].copy(),
            "obs_ci_lower": new[:, 0].copy(),
            "obs_ci_upper": new[:, 1].copy(),
        }
        return self._table.frame(columns)
