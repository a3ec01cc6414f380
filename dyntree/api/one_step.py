"""What a fit says of the rows of its model one step ahead, and how well."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.api.fitted_model import FittedModel
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.evaluate.residuals import OneStepAhead
from dyntree.trees.factory import Trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class OneStepResults:
    """Fitted values, residuals and diagnostics of results.

    Each row of the model's data is predicted by the trees that learned the rows before
    it. The first call computes these predictions by learning the rows once more from
    the same seed. Appended rows are not included. Of several clouds of trees
    (`n_clouds`) only the first is asked, because the others learned the rows in random
    orders.
    """

    model: FittedModel
    tree: Trees
    predict: Callable[..., Any]
    _replayed: OneStepAhead | None = None

    def one_step_ahead(self) -> OneStepAhead:
        """Predictions of each row of the model's data before it was learned.

        Returns
        -------
        OneStepAhead

        Raises
        ------
        ValueError
            If the model has no data, because it was loaded from a file or they were
            removed.
        """
        if self._replayed is None:
            self._replayed = self.model.replay()
        return self._replayed

    @property
    def llf_obs(self) -> Vector:
        """Terms of the log evidence, one for each row of the model's data.

        Of several clouds they are the terms of the first, which learned the rows in
        their order.

        For regression, the trees begin at the tenth row, whose term includes the nine
        rows before it; the terms of these rows are 0. See `fitted` for the cost and the
        rows that are included.
        """
        return self.one_step_ahead().log_density.copy()

    def fitted(self, which: str = "online") -> Any:
        """Predictive mean, or most probable label, of each row of the model's data.

        Parameters
        ----------
        which : {"online", "final"}, default "online"
            Whether each row is predicted before it is learned ("online"), or by the
            final trees.

        Returns
        -------
        Series or ndarray of shape (n_rows,)
            As in `predict`. With "online" the first number is NaN, because no row was
            known before it.

        Raises
        ------
        ValueError
            If the model has no data, because it was loaded from a file or they were
            removed.

        Notes
        -----
        At the first call, the rows are learned once more from the same seed to compute
        their predictions one step ahead. Appended rows are not included.
        """
        params.one_of("which", which, ("online", "final"))
        if which == "final":
            return self.predict()
        return self._series(self.one_step_ahead().predicted, self.model.endog_names)

    @property
    def fittedvalues(self) -> Any:
        """One step ahead: ``fitted("online")``."""
        return self.fitted()

    @property
    def resid(self) -> Any:
        """Responses minus their predictions one step ahead; numbers only."""
        return self._series(self._residuals("resid"), "resid")

    @property
    def resid_pearson(self) -> Any:
        """`resid` over the predictive standard deviations, numbers only."""
        residuals, sd = self._residuals("resid_pearson"), self.one_step_ahead().sd
        scaled = np.where(np.isfinite(sd), residuals / sd, np.nan)
        return self._series(scaled, "resid_pearson")

    @property
    def resid_quantile(self) -> Any:
        """Quantile residuals: standard normal where the predictions are right.

        Residuals of labels are randomised, always by the same draws. See
        `OneStepAhead.quantile_residuals`, which has a seed.
        """
        residuals = self.one_step_ahead().quantile_residuals()
        return self._series(residuals, "resid_quantile")

    @property
    def rsquared(self) -> float:
        """Share of the squared error that one-step-ahead predictions save.

        It is 1 - sum w (y - predicted)^2 / sum w (y - mean of the rows before)^2. This
        is 0 for a model that knows only the earlier responses, and negative for a worse
        one. No correction for the size of the model is needed, because no row is
        predicted by trees that learned it. The w are the weights of the rows, which
        also apply to the mean. `rsquared_final` is the share in the usual sense.
        """
        residuals, y, w = self._counted("rsquared")
        if len(y) < 2:
            return float("nan")
        centred = y - y[0]
        before = np.cumsum((w * centred)[:-1]) / np.cumsum(w[:-1])
        return _share_saved(residuals[1:], centred[1:] - before, w[1:])

    @property
    def rsquared_final(self) -> float:
        """Share of the variance of the model's data that the trees explain now.

        It is 1 - sum w (y - predicted)^2 / sum w (y - mean)^2, with predictions by
        trees that have learned these rows. It is therefore too high, and the more so
        the more leaves the trees have.
        """
        _, y, w = self._counted("rsquared_final")
        errors = y - np.asarray(self.predict())[self.model.counted]
        return _share_saved(errors, y - np.average(y, weights=w), w)

    def plot_diagnostics(self, *, ax: Any | Axes = None) -> Figure:
        """Draw whether predictions one step ahead were right; see `plot_diagnostics`.

        Parameters
        ----------
        ax : sequence of 6 Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        return plots.plot_diagnostics(
            self.one_step_ahead(), response=self.model.endog_names, ax=ax
        )

    def _counted(self, what: str) -> tuple[Vector, Vector, Vector]:
        """Residuals, responses and weights of the rows that weigh anything."""
        residuals, kept = self._residuals(what), self.model.counted
        weights = self.model.weights
        w = np.ones(int(kept.sum())) if weights is None else weights[kept]
        return residuals[kept], self.one_step_ahead().y[kept], w

    def _residuals(self, what: str) -> Vector:
        """Responses less their predictions; not for labels."""
        seen = self.one_step_ahead()
        if seen.classes is not None:
            raise ArgumentError(
                what,
                "needs a response of numbers",
                Message("labels"),
                "See resid_quantile, or compare fittedvalues with model.endog.",
            )
        residuals: Vector = seen.y - seen.predicted
        return residuals

    def _series(self, values: Any, name: str) -> Any:
        """One value a row of the model's data, as the caller holds columns."""
        table = self.model.table
        assert table is not None
        return table.series(np.array(values), name)


def _share_saved(errors: Vector, others: Vector, weights: Vector) -> float:
    """How much less the weighted squares of some errors are than those of others."""
    total = float(weights @ others**2)
    return 1.0 - float(weights @ errors**2) / total if total > 0.0 else float("nan")
