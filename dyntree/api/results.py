"""DynamicTreeResults: a fitted formula, with predictions, effects and a summary."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from dyntree import checkpoint, params
from dyntree.api.back_transform import BackTransformedResults
from dyntree.api.effects import (
    COMPARISONS,
    check_present,
    chosen_move,
    contrast_draws,
    draws_with,
    group_averages,
    groups_by,
    names_in,
    records_of,
    signs,
)
from dyntree.api.fitted_model import FittedModel
from dyntree.api.model_rows import NewRows
from dyntree.api.offsets import (
    RowOffsets,
    added,
    check_passed,
    check_shift,
    learned_response,
    mean_with,
    prediction_of,
    row_shift,
    shift_of,
    warn_of_defaults,
)
from dyntree.api.order_evidence import evidence_over_orders, warn_of_heavy_rows
from dyntree.api.predictions import PredictionResults
from dyntree.api.row_weights import RowWeights
from dyntree.api.variables import (
    BY,
    KINDS,
    METHODS,
    Asked,
    RawRows,
    at_all_points,
    domains_of,
    feature_groups,
    main_effect,
    mean_predictions,
    one_or_two,
    two_samples,
    with_gaps,
)
from dyntree.encoding.contrasts import Variable, moved_offsets, moved_rows
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.inverses import Inverse
from dyntree.encoding.raw_rows import (
    bare_places,
    encoded,
    feature_places,
    raw_columns,
    taken,
)
from dyntree.encoding.required_columns import check_columns
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.tables import Table, is_row, plain_data
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import (
    ArgumentError,
    Message,
    UndefinedTermWarning,
    renamed,
    silenced,
)
from dyntree.evaluate.residuals import OneStepAhead
from dyntree.params.names import Suggesting
from dyntree.runtime.progress import Progress, check_progress
from dyntree.summaries import Importance, Relevance, Sensitivity
from dyntree.summaries.draws import (
    PosteriorDraws,
    interval_levels,
)
from dyntree.summaries.effects import PartialDependence, VariableSensitivity
from dyntree.trees.answers.sensitivity import variance_shares
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.base import cloud_sizes, forest_sizes, regressions_in
from dyntree.trees.factory import Trees
from dyntree.trees.learning.growth import GrowingRows, Growth
from dyntree.trees.sobol import sobol_indices
from dyntree.trees.streaming import StreamingTree
from dyntree.trees.view import TreeView

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAVES = {
    "mixed": "linear and constant leaves",
    "constant": "constant leaves",
    "linear": "linear leaves",
    "class": "class leaves",
    "logit": "logistic leaves",
    "poisson": "Poisson leaves",
    "negbin": "negative binomial leaves",
    "prior": "prior only",
}


INTERVALS = "get_prediction(X).summary_frame(alpha=0.1) has intervals of 90 %."
PROBABILITIES = "get_prediction(X).summary_frame() has probabilities of labels."


class DynamicTreeResults(Suggesting):
    """A fitted model.

    Trees have no coefficients. `params` describes the trees, `importance` shows which
    variables matter, and `get_prediction` returns predictions.

    Fitted values, residuals and diagnostics are those of predictions one step ahead:
    each row of the model's data is predicted by the trees that learned the rows before
    it. The first call computes these predictions by learning the rows once more from
    the same seed. Appended rows are not included. Of several clouds of trees
    (`n_clouds`) only the first is asked, because the others learned the rows in random
    orders. Rows that occur several times may be learned in pieces. Their predictions
    are then those of the pieces, mixed by size.

    A variable is a column of the raw data. If it changes, all terms that contain it
    change. By default the rows over which effects of variables are averaged are those
    that the trees hold, provided that each variable is a term of its own, as ``x``,
    ``g`` or ``C(g)``, so that its values can be computed from the features. Otherwise
    they are the data of the model.

    Attributes
    ----------
    model : DynamicTreeModel
    tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        The trees over the features `exog_names`, with all of their methods.
    design : Design
        The terms, with the levels that were added by `append`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import dyntree.formula.api as dtf
    >>> x = np.linspace(0.1, 1, 100)
    >>> data = pd.DataFrame({"x": x, "y": np.sin(6 * x)})
    >>> fit = dtf.dynamic_tree(
    ...     "y ~ x", data[:80], model="linear", n_particles=200, seed=1
    ... ).fit()
    >>> fit.append(data[80:]).nobs
    100
    >>> new = pd.DataFrame({"x": [0.25, 0.75]}, index=["a", "b"])
    >>> fit.get_prediction(new).summary_frame(alpha=0.1)["mean"].round(1)
    a    1.0
    b   -1.0
    Name: mean, dtype: float64
    """

    _hints = MappingProxyType(
        dict.fromkeys(
            (
                "predict_interval",
                "predict_quantiles",
                "interval",
                "quantile",
                "quantiles",
            ),
            INTERVALS,
        )
        | dict.fromkeys(("predict_proba", "predict_log_proba"), PROBABILITIES)
        | {"score": "cross_val() scores models, and rsquared is of rows ahead."}
    )
    _replayed: OneStepAhead | None = None

    def __init__(
        self,
        model: FittedModel,
        tree: Trees,
        design: Design | None = None,
    ) -> None:
        self.model, self.tree, self.design = model, tree, design or model.design

    def __repr__(self) -> str:
        """Formula, rows and trees, for a prompt."""
        formula = "" if self.model.formula is None else f"{self.model.formula!r}, "
        trees = f"{type(self.tree).__name__} of {self.nobs} rows"
        return f"<DynamicTreeResults: {formula}{trees}>"

    @property
    def inner(self) -> Any:
        """The tree itself, without its window; or the average of several."""
        return self.tree.tree

    @property
    def exog_names(self) -> list[str]:
        """Names of the features of the model, including levels that arrived later."""
        return list(self.design.names)

    @property
    def nobs(self) -> int:
        """Rows learned so far."""
        return self.tree.n_seen

    @property
    def has_offset(self) -> bool:
        """Whether responses have an offset or an exposure, which trees do not see."""
        return bool(self.design.offsets) or self.model.shift is not None

    @property
    def llf(self) -> float:
        """Log evidence: the sum of the log predictive densities of the rows.

        The density of each row is conditional on the rows before it.

        Warns
        -----
        HeavyRowsWarning
            If rows of a stream counted so often that it depends on their order.
        """
        warn_of_heavy_rows(self.tree, self.row_counts)
        return self.tree.log_evidence

    def _posterior(self) -> pd.DataFrame:
        """What describes each tree, one row a particle."""
        import pandas as pd

        view = self.inner.frozen_view("params")
        values = view.tree.relevance().values.T
        height, n_leaves = view.shapes()
        columns = {"height": height, "n_leaves": n_leaves}
        names = [f"relevance[{name}]" for name in self.exog_names]
        return pd.DataFrame(columns | dict(zip(names, values, strict=True)))

    @property
    def params(self) -> pd.Series[float]:
        """Posterior means of quantities that describe the trees; not coefficients.

        These are the height, the number of leaves, and the relevance of each feature,
        averaged over the trees. Trees have no leaf parameters that could be drawn; for
        effects with intervals see `avg_comparisons`.
        """
        return self._posterior().mean()

    @property
    def bse(self) -> pd.Series[float]:
        """Posterior standard deviations of `params`, over the trees."""
        return self._posterior().std(ddof=0)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Central posterior intervals of `params`.

        Parameters
        ----------
        alpha : float in (0, 1), default 0.05
            One minus the probability of the intervals.

        Returns
        -------
        DataFrame
            The index is that of `params`; columns 0 and 1 are the ends of the
            intervals.
        """
        if not 0.0 < params.real("alpha", alpha) < 1.0:
            raise ArgumentError("alpha", "must be in (0, 1)", alpha)
        ends = self._posterior().quantile([alpha / 2.0, 1.0 - alpha / 2.0]).T
        return ends.set_axis([0, 1], axis=1)

    # ------------------------------------------------------------ learning
    def as_learner(self, exog: Any) -> tuple[Trees, Matrix]:
        """Return the trees, which can learn, and raw data as their features.

        Parameters
        ----------
        exog
            As in `predict`. New levels count as missing.

        Returns
        -------
        tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        rows : ndarray of shape (n_rows, n_features)
        """
        if self.design.offsets or self.model.shift is not None:
            raise ValueError(
                Message(
                    "a formula with an offset cannot be learned row by row here, "
                    "because its trees do not know the offset. Use the trees and "
                    "features instead: prequential(fit.tree, features, y, "
                    "exposure=...)."
                )
            )
        return self.tree, self.design.encode(self.model.table_of(exog))

    def append(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        copy: bool = False,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows.

        Unlike the results of statsmodels' state space models, these results are changed
        in place, unless `copy` is True.

        Parameters
        ----------
        endog : frame, dict of columns, dict, or list of dicts; or array_like
            Raw data with the response or, together with `exog`, the responses alone. If
            no row is left, nothing is learned.
        exog : as for `predict`, optional
            The inputs, for models made from endog and exog.
        weights, freq_weights : array_like of shape (n_rows,), float, or str, optional
            Weights of these rows, of the kind with which the model was made. A str is
            the name of a column. Rows of weight 0 are dropped. The default is the
            column that was named when the model was made, or 1 without weights.
        offset, exposure : array_like of shape (n_rows,), float, or str, optional
            Offset and exposure of these rows, in place of those that the arguments of
            the same names were when the model was made, and in addition to
            ``offset(...)`` of the formula. The default is the columns that were named,
            or 0 and 1 without them.
        copy : bool, default False
            Whether to return a copy that has learned the rows, and leave these results
            as they are.
        progress
            As in `DynamicTree.update`. Bad rows and interrupts are handled as there.

        Returns
        -------
        self, or the copy

        Raises
        ------
        ValueError
            If rows are bad, or the model was made with values of weights, offsets or
            exposures and none are passed.

        See Also
        --------
        extend : The same, with fitted values and residuals of the new rows.
        apply : Fit the same model to other rows, from the beginning.
        """
        if params.flag("copy", copy):
            return self.copy().append(
                endog, exog, weights=weights, freq_weights=freq_weights, offset=offset,
                exposure=exposure, progress=progress,
            )  # fmt: skip
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        new = self.model.rows(self.design, endog, exog, given, offsets)
        self._warn_of_times(endog, exog)
        self.learn(new, progress)
        return self

    def _beside(
        self, weights: Any, freq_weights: Any, offset: Any, exposure: Any
    ) -> tuple[RowWeights | None, RowOffsets | None]:
        """What further rows have beside the formula: as passed, or as in the model."""
        given = self._given(weights, freq_weights)
        offsets = self._offsets(offset, exposure)
        passed = {
            "weights": weights, "freq_weights": freq_weights,
            "offset": offset, "exposure": exposure,
        }  # fmt: skip
        check_passed(self.design, passed)
        own = RowWeights.named_by(self.design, self._weights_argument)
        return given or own, offsets

    def _warn_of_times(self, endog: Any, exog: Any) -> None:
        """Warn once of rows of a stream that go back in time."""
        if isinstance(self.tree, StreamingTree | AveragedStream):
            data, name = (endog, "endog") if exog is None else (exog, "exog")
            warn_of_times(data, self.inner.states[0].warned, name)

    def _offsets(self, offset: Any, exposure: Any) -> RowOffsets | None:
        """Offsets of further rows, where such trees know them."""
        given = RowOffsets.passed_to(self.design, offset, exposure)
        if given is not None:
            given.check_model(self.inner.options)
        return given

    @property
    def _weights_argument(self) -> str:
        """How weights of these trees are called."""
        divides = self.inner.options.meaning_of_weights == "variance"
        return "weights" if divides else "freq_weights"

    def _given(self, weights: Any, freq_weights: Any) -> RowWeights | None:
        """Weights of further rows, which must mean what those of the model do."""
        given = RowWeights.given(weights, freq_weights)
        if given is not None:
            options = self.inner.options
            given.check_column(self.design.response)
            given.check_model(
                options.meaning_of_weights, options.has_labels,
                options.weighting is not None,
            )  # fmt: skip
        return given

    def extend(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows in a copy, whose data are these rows alone.

        As in statsmodels' state space models, the fitted values, residuals and
        diagnostics of the returned results are those of the new rows. Each row is
        predicted from all rows before it.

        Parameters
        ----------
        endog, exog, weights, freq_weights, offset, exposure, progress
            As in `append`. At least one row is required.

        Returns
        -------
        DynamicTreeResults

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> x = np.linspace(0, 1, 60)
        >>> data = {"x": x, "y": 2 * x}
        >>> fit = dtf.dynamic_tree("y ~ x", data, n_particles=50, seed=1).fit()
        >>> later = fit.extend({"x": [0.2, 0.7], "y": [0.4, 1.4]})
        >>> fit.nobs, later.nobs, later.resid.shape
        (60, 62, (2,))
        """
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        model, new = self.model.with_rows(
            self.design, endog, exog, given, self.tree, offsets
        )
        later = type(self)(model, self.tree.copy())
        later._warn_of_times(endog, exog)
        later.learn(new, progress)
        return later

    def apply(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Fit the same model to other rows, from the beginning.

        Terms with their levels, knots and scales, options and seed are those of this
        model. Its trees are not used.

        Parameters
        ----------
        endog, exog, weights, freq_weights, offset, exposure, progress
            As in `append`. At least one row is required.

        Returns
        -------
        DynamicTreeResults

        Raises
        ------
        ValueError
            As in `append`, or if the model has no data because it was loaded from a
            file.
        """
        given, offsets = self._beside(weights, freq_weights, offset, exposure)
        model, _ = self.model.with_rows(self.design, endog, exog, given, None, offsets)
        results = type(self)(model, model.unlearned("apply"))
        results._warn_of_times(endog, exog)
        results.learn_model(progress)
        return results

    def learn_model(self, progress: Progress = False) -> None:
        """Learn the data of the model, all at once."""
        model = self.model
        with renamed({"sample_weight": self._weights_argument}):
            self.tree.update(
                model.exog, model.learned_response(), model.weights, progress=progress
            )

    def learn(self, new: NewRows, progress: Progress = False) -> None:
        """Learn rows of features, with the designs that their new levels require.

        Parameters
        ----------
        new : NewRows
            As returned by `DynamicTreeModel.rows`.
        progress
            As in `append`.
        """
        with renamed({"sample_weight": self._weights_argument}):
            self._learn(new, progress)

    def _learn(self, new: NewRows, progress: Progress) -> None:
        """The same, where errors speak of `sample_weight`."""
        rows, weights = new.features, new.weights
        responses = learned_response(self.inner.options, new.responses, new.shift)
        if not len(rows):
            check_progress(progress)
        elif new.designs:
            self._append_levels(new, progress)
        elif len(rows) == 1 and isinstance(self.tree, StreamingTree | AveragedStream):
            check_progress(progress)
            (y,) = responses if self.inner.classes is None else label_list(responses, 1)
            y = y.item() if isinstance(y, np.generic) else y
            self.tree.learn_row(rows, y, 1.0 if weights is None else float(weights[0]))
        else:
            self.tree.update(rows, responses, weights, progress=progress)

    def _append_levels(self, new: NewRows, progress: Progress) -> None:
        """Learn rows that bring levels; the design goes as far as the trees do."""
        steps = [(row, design.features()) for row, design in new.designs]
        growth = Growth(self.design.features(), steps, new.designs[-1][1].widen)
        late, n_seen = GrowingRows(new.features, growth), self.inner.n_seen
        try:
            responses = learned_response(self.inner.options, new.responses, new.shift)
            self.tree.update(late, responses, new.weights, progress=progress)
        finally:
            names = self.inner.feature_names
            n_learned = self.inner.n_seen - n_seen
            for row, design in new.designs:
                if row < n_learned and design.names == names:  # a level may add none
                    self.design = design

    def copy(self) -> Self:
        """Return independent results that would learn alike, of the same model."""
        return type(self)(copy(self.model), self.tree.copy(), self.design)

    # ------------------------------------------------------------ predictions
    def predict(
        self,
        exog: Any = None,
        transform: bool = True,
        *,
        back_transform: bool = False,
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Predictive mean of each row, or its most probable label.

        Parameters
        ----------
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Raw data, to which the formula is applied; by default the data of the model.
            Missing values are allowed. Arrays are for models made from endog and exog.
            A structured array or recarray counts as a dict of columns. A pandas Series
            is one row if its index contains the names of the columns, like
            ``data.iloc[0]``; else it is one column.
        transform : bool, default True
            If False, `exog` contains features, of shape (n_rows, n_features), in the
            order of `exog_names`.
        back_transform : bool, default False
            If True, the result is the predictive median of the column from which the
            response was made, such as z if the response is ``np.log(z)``. The mean
            would not exist: that of the exponential of a Student t is infinite. See
            `BackTransformedResults`.
        offset, exposure : array_like of shape (n_rows,), float, or str, optional
            Offset and exposure of these rows, in place of those that the arguments of
            the same names were when the model was made, and in addition to
            ``offset(...)`` of the formula. The default is the columns that were named,
            or else 0 and 1. For the data of the model it is the values with which it
            was made.

        Returns
        -------
        Series, ndarray, float or label
            A Series of the caller's library, with its index. For a single row that is a
            dict or a Series it is a plain value, and otherwise an ndarray of shape
            (n_rows,).

        Raises
        ------
        ValueError
            If columns of the formula are missing, or contain values that they cannot
            have.

        Warns
        -----
        AssumedValueWarning
            If the model was made with values of an offset or exposure and none are
            passed for new rows, which have 0 and 1 then.
        """
        given = self._offsets(offset, exposure)
        if params.flag("transform", transform):
            passed = () if given is None else tuple(given.passed)
            exog = plain_data(exog, self.design.needed(passed))
        if params.flag("back_transform", back_transform):
            return self._median(exog, transform, given)
        if transform and is_row(exog):
            row, tree = self.design.encode_row(exog), self.inner
            if tree.classes is None:
                self._warn_of_offsets(given)
                return mean_with(tree, row, row_shift(self.design, exog, given))
            return tree.classes[int(tree.proba_at(row).argmax())]
        rows, table, shift = self._asked(exog, transform, given)
        values = PredictionResults(
            prediction_of(self.tree, rows, shift), table
        ).predicted()
        return table.series(values, self.model.endog_names)

    def _median(self, exog: Any, transform: bool, given: RowOffsets | None) -> Any:
        """Median of the column behind the response, in the form that `predict` has."""
        inverse = Inverse.of(self._number_response())
        single = transform and is_row(exog)
        rows = [exog] if single else exog
        features, table, shift = self._asked(rows, transform, given)
        found = PredictionResults(prediction_of(self.tree, features, shift), table)
        median = BackTransformedResults(found, inverse).predicted_median
        return float(median[0]) if single else table.series(median, inverse.column)

    def _number_response(self) -> Expression:
        """The response, which must not be a label."""
        if self.inner.classes is not None:
            raise ArgumentError(
                "back_transform",
                "needs a response of numbers",
                Message("labels"),
                "Leave it out.",
            )
        return self.design.response

    @overload
    def get_prediction(
        self, exog: Any = ..., transform: bool = ..., *,
        back_transform: Literal[False] = ..., weights: Any = ...,
        offset: Any = ..., exposure: Any = ...,
    ) -> PredictionResults: ...  # fmt: skip

    @overload
    def get_prediction(
        self, exog: Any = ..., transform: bool = ..., *,
        back_transform: Literal[True], weights: Any = ..., offset: Any = ...,
        exposure: Any = ...,
    ) -> BackTransformedResults: ...  # fmt: skip

    def get_prediction(
        self,
        exog: Any = None,
        transform: bool = True,
        *,
        back_transform: bool = False,
        weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> PredictionResults | BackTransformedResults:
        """Predictive distribution of each row.

        Parameters
        ----------
        exog, transform
            As in `predict`.
        back_transform : bool, default False
            If True, the distributions are those of the column from which the response
            was made, such as z if the response is ``np.log(z)``.
        weights : array_like of shape (n_rows,), float, or str, optional
            Weights > 0 of the predicted responses, if weights divide variances. A str
            is the name of a column. The default is the column that was named when the
            model was made, if the rows have it, or else 1. For the data of the model it
            is their weights. Rows of weight 0 are predicted with 1.
        offset, exposure
            As in `predict`.

        Returns
        -------
        PredictionResults or BackTransformedResults

        Warns
        -----
        AssumedValueWarning
            As in `predict`.
        """
        inverse = None
        if params.flag("back_transform", back_transform):
            inverse = Inverse.of(self._number_response())
        given = RowWeights.given(weights, None)
        offsets = self._offsets(offset, exposure)
        rows, table, shift = self._asked(exog, transform, offsets)
        if given is None:
            row_weights = self._own_weights(exog, table)
        else:
            given.check_column(self.design.response)
            row_weights = given.of(table) if transform else given.values
        with renamed({"sample_weight": "weights"}):
            found = PredictionResults.of(self.tree, rows, table, row_weights, shift)
        return found if inverse is None else BackTransformedResults(found, inverse)

    def _own_weights(self, exog: Any, table: Table) -> Vector | None:
        """Weights of rows that were asked about without any; None: all 1."""
        if self._weights_argument != "weights":
            return None
        named = RowWeights.named_by(self.design, "weights")
        weights = self.model.weights
        if exog is not None:
            if named is None or named.column not in table.names:
                return None
            weights = named.of(table)
        return None if weights is None else np.where(weights > 0.0, weights, 1.0)

    def as_asked(
        self, exog: Any, exposure: Any = None
    ) -> tuple[Trees, Matrix, Vector | None]:
        """Return the trees, and raw data encoded as the features that the trees know.

        Parameters
        ----------
        exog, exposure
            As in `predict`.

        Returns
        -------
        tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        rows : ndarray of shape (n_rows, n_features)
        shift : ndarray of shape (n_rows,), or None
            Offsets, which the trees do not contain. For counts, the logarithms of
            exposures.
        """
        rows, _, shift = self._asked(exog, True, self._offsets(None, exposure))
        return self.tree, rows, shift

    def _asked(
        self, exog: Any, transform: bool, given: RowOffsets | None
    ) -> tuple[Matrix, Table, Vector | None]:
        """Raw data as features, their table, and their offsets."""
        if params.flag("transform", transform):
            table = self._table(exog)
            return self.design.encode(table), table, self.shifts(exog, table, given)
        rows = params.as_array("exog", exog)
        passed = {} if given is None else given.of(None, len(rows))
        self._check_covered(passed)
        self._warn_of_offsets(given)
        return rows, Table({}), added(passed)

    def _check_covered(self, passed: Mapping[str, Any]) -> None:
        """Raise ValueError where features come without what the trees do not see.

        Whatever is passed includes the offsets in the formula.
        """
        named = self.design.named_offsets
        lost = [name for name in named if name not in passed]
        if not passed and len(self.design.offsets) > len(named):
            lost = ["offset", *lost]
        for argument in lost[:1]:
            names = " + ".join(one.label for one in self.design.offsets)
            raise ArgumentError(
                argument,
                "must be given with features (transform=False), which do not contain "
                "the offset {names}",
                remedy="Give its values: {argument}=...",
                names=names,
                argument=argument,
            )

    # ------------------------------------------------------------ one step ahead
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
        also apply to the mean, which is that of all rows if they are learned in pieces.
        `rsquared_final` is the share in the usual sense.
        """
        residuals, y, w = self._counted("rsquared")
        if self.one_step_ahead().weights is not None:  # in pieces, by no order of rows
            known = ~np.isnan(residuals)
            others = y - np.average(y, weights=w)
            return _share_saved(residuals[known], others[known], w[known])
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
        residuals, counted = self._residuals(what), self.model.counted
        weights = self.model.weights
        w = np.ones(int(counted.sum())) if weights is None else weights[counted]
        return residuals[counted], self.one_step_ahead().y[counted], w

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

    # ------------------------------------------------------------ draws and effects
    @property
    def row_counts(self) -> Vector:
        """How often each row of the model's data counts: frequencies, or 0 and 1."""
        weights = self.model.weights
        if weights is None or (
            self.tree.tree.options.meaning_of_weights != "frequency"
        ):
            return self.model.counted.astype(np.float64)
        return weights

    def _table(self, exog: Any) -> Table:
        """Raw data as a table; that of the model by default."""
        table = self.model.table if exog is None else self.model.table_of(exog)
        if table is None:
            raise ArgumentError(
                "exog",
                "must be given, because the model has no data (it was loaded from a "
                "file, or its data were removed)",
                None,
            )
        return table

    def shifts(
        self, exog: Any, table: Table, given: RowOffsets | None = None
    ) -> Vector | None:
        """Offsets of rows of raw data, and by default those of the model's own."""
        if exog is None and given is None:
            return self.model.shift
        passed = {} if given is None else given.of(table, table.n_rows)
        if exog is None:
            passed = {**self.model.offset_values, **passed}
        else:
            self._warn_of_offsets(given)
        shift = shift_of(self.design, table, passed)
        check_shift(self.design, shift)
        return shift

    def _warn_of_offsets(self, given: RowOffsets | None) -> None:
        """Warn where new rows lack offsets that the model's own rows have by value."""
        given = given or RowOffsets()
        asked = {"offset": given.offset, "exposure": given.exposure}
        warn_of_defaults(self.design, asked)

    def posterior_draws(
        self,
        exog: Any = None,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows; see `DynamicTree`.

        Parameters
        ----------
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Raw data, as in `predict`; by default the data of the model.
        n_draws : int, default 1000
            Number of draws.
        kind : {"mean", "obs"}, default "mean"
            "mean" draws mean responses, or probabilities of labels. "obs" draws new
            responses.
        seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        PosteriorDraws
            Frames made from it have the index of `exog`.
        """
        table = self._table(exog)
        rows, shift = self.design.encode(table), self.shifts(exog, table)
        draws = draws_with(self.tree, rows, shift, n_draws, kind, seed)
        return replace(draws, table=table)

    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : frame, dict of columns, dict, list of dicts, or array
            Raw data with equal numbers of rows.
        n_draws, kind, seed
            As in `posterior_draws`.

        Returns
        -------
        PosteriorDraws
            Frames made from it have the index of `X_1`.
        """
        before, after = self._table(X_0), self._table(X_1)
        rows = self.design.encode(before), self.design.encode(after)
        both = [self.shifts(X, table) for X, table in ((X_0, before), (X_1, after))]
        if both[0] is None or both[1] is None or len(rows[0]) != len(rows[1]):
            draws = self.tree.compute_contrast(*rows, n_draws, kind, seed)
            return replace(draws, table=after)
        draws = contrast_draws(self.tree, rows, (both[0], both[1]), n_draws, kind, seed)
        return replace(draws, table=after)

    def avg_comparisons(
        self,
        variables: str | Sequence[str] | None = None,
        exog: Any = None,
        contrast: Any = None,
        comparison: str = "difference",
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
        n_draws: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Compare average predictions with a variable set to other values.

        A variable is a column of the raw data. It is set in every row, in all terms
        that contain it: ``x`` also changes ``I(x**2)``, and ``C(g)`` and ``C(g):t``
        change together.

        Parameters
        ----------
        variables : str or sequence of str, optional
            Columns of the formula; by default all of them.
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Rows over which to average; by default those of the model. Each of these
            counts as often as `freq_weights` states, and rows of weight 0 do not count.
        contrast : number, (low, high), "sd", "iqr" or "pairwise", optional
            The values to compare. By default they are 0 and 1 for variables with only
            these values, an increase by 1 for other numbers (by a day for times), and
            each level of a factor and its first level. An increase that takes most rows
            beyond the data, or to where a term has no value, is replaced by one of a
            standard deviation about the mean, within the data. A number is the size of
            an increase. "sd" is one of a standard deviation, centred at the mean, and
            "iqr" goes from the first to the third quartile. Both are computed from the
            data of the model if it has any. "pairwise" compares each level with each
            level before it.
        comparison : {"difference", "ratio"}, default "difference"
            Whether to take the difference or the ratio of the average at the high value
            and the average at the low value.
        by : str or sequence of str, optional
            Columns of `exog` whose groups are averaged separately. Categories are in
            the order of their type, and all other values in increasing order. Rows in
            which one of them is missing are left out, with a warning.
        alpha : float in (0, 1), default 0.05
            One minus the probability of the intervals.
        n_draws : int, default 1000
            Number of posterior draws.
        seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        DataFrame
            A row for each variable, comparison, label (`class`, for labels) and group:
            `term`, `contrast`, the columns of `by`, `estimate` (the posterior mean),
            `std_error` (the standard deviation of the normal distribution whose central
            interval of probability 1 - alpha is as wide as that of the posterior),
            `conf_low` and `conf_high` (that interval), `p_positive` (the posterior
            probability that the high value has the higher average, half of that of no
            effect included) and `p_zero` (that of no effect: no tree that was drawn
            has a split or a slope that makes the averages differ).

        Raises
        ------
        ValueError
            If variables or levels are unknown, or a variable does not allow the
            contrast.

        Warns
        -----
        ContrastWarning
            If a default increase is replaced.
        DegenerateTreesWarning
            As in `posterior_draws`. Average several clouds, with ``n_clouds=10``.
        MissingGroupWarning
            If rows are left out because they are in no group.

        Notes
        -----
        The arguments are those of marginaleffects. Rows in which a number is missing do
        not count if the number is to be increased. The average of several clouds makes
        intervals wide enough for the uncertainty of the trees, but does not reduce
        bias. Constant leaves flatten a steady increase: use ``model="linear"`` for
        effects of numbers. A ratio has no stable mean if the average at the low value
        may be close to 0.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> import dyntree.formula.api as dtf
        >>> rng = np.random.default_rng(0)
        >>> data = pd.DataFrame({"x": rng.random(200), "t": rng.integers(2, size=200)})
        >>> data["y"] = data.x**2 + data.t + 0.1 * rng.standard_normal(200)
        >>> fit = dtf.dynamic_tree(
        ...     "y ~ x + I(x**2) + t", data, model="linear", n_clouds=10, seed=1
        ... ).fit()
        >>> fit.avg_comparisons("t", seed=1)[["term", "contrast", "estimate"]].round(1)
          term contrast  estimate
        0    t    1 - 0       1.0
        """
        params.one_of("comparison", comparison, tuple(COMPARISONS))
        ends, n_draws = interval_levels(alpha), params.count("n_draws", n_draws, 1)
        table, rng = self._table(exog), params.generator(seed)
        typical = table if self.model.table is None else self.model.table
        found = [
            Variable.of(self.design, name, table, typical)
            for name in self._names(variables)
        ]
        moves = [
            chosen_move(self.design, table, variable, contrast) for variable in found
        ]
        groups, names = groups_by(table, by)
        counts = self.row_counts if exog is None else None
        for variable, move in zip(found, moves, strict=True):
            check_present(variable.name, move.counts, groups)
        beside = self.shifts(exog, table)
        records = []
        for variable, move in zip(found, moves, strict=True):
            moved = self.design, table, variable.name, move.settings
            replaced = self.model.offset_values if exog is None else ()
            rows = moved_rows(*moved)
            shift = moved_offsets(*moved, beside, tuple(replaced))
            masks = {group: mask & move.counts for group, mask in groups.items()}
            averages = group_averages(
                self.tree, rows, masks, counts, n_draws, rng, shift=shift
            )
            for pair in move.pairs:
                before, after = averages[:, pair.low], averages[:, pair.high]
                drawn = after - before
                sign = signs(before, after)
                if comparison == "ratio":
                    with np.errstate(all="ignore"):
                        drawn = after / before
                label = COMPARISONS[comparison].join(pair.names)
                start = {"term": variable.name, "contrast": label}
                records += records_of(
                    self.tree.classes, start, names, masks, drawn, ends, sign
                )
        import pandas as pd

        return pd.DataFrame(records)

    def avg_predictions(
        self,
        exog: Any = None,
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
        n_draws: int = 1000,
        seed: int | np.random.Generator | None = None,
    ) -> pd.DataFrame:
        """Average mean responses, or probabilities, over rows.

        Parameters
        ----------
        exog, by, alpha, n_draws, seed
            As in `avg_comparisons`.

        Returns
        -------
        DataFrame
            A row for each label (`class`, for labels) and group: the columns of `by`,
            `estimate`, `std_error`, `conf_low` and `conf_high`, as in
            `avg_comparisons`.
        """
        ends, n_draws = interval_levels(alpha), params.count("n_draws", n_draws, 1)
        table, rng = self._table(exog), params.generator(seed)
        groups, names = groups_by(table, by)
        rows = self.design.encode(table)
        counts = self.row_counts if exog is None else None
        shift = self.shifts(exog, table)
        averages = group_averages(
            self.tree, rows, groups, counts, n_draws, rng, shift=shift,
            of_effects=False,
        )[:, 0]  # fmt: skip
        import pandas as pd

        return pd.DataFrame(
            records_of(self.tree.classes, {}, names, groups, averages, ends)
        )

    def _names(self, variables: str | Sequence[str] | None) -> list[Any]:
        """Names of the variables asked for, each once."""
        if variables is None:
            return list(self.design.columns)
        given = names_in(variables, "variables", self.design.columns)
        if not given:
            raise ArgumentError(
                "variables",
                "must name one column of {columns} at least",
                Message("none"),
                columns=list(self.design.columns),
            )
        return list(dict.fromkeys(given))

    def _rng(self) -> np.random.Generator:
        """Draws by the seed of the model and the number of rows learned."""
        return np.random.default_rng([self.tree.seed, self.tree.n_seen])

    def _place(self, label: Hashable | None) -> int | None:
        """Place of a class, which labels need and numbers do not have."""
        if self.inner.options.classes is not None:
            found: int = self.inner.class_place(label)
            return found
        if label is not None:
            raise ArgumentError("label", "is for class models only", label)
        return None

    def _raw_rows(self, exog: Any, view: TreeView) -> RawRows:
        """Rows passed, or the active rows of the trees, or those of the model."""
        design = self.design
        if exog is None:
            features, _ = view.rows()
            columns = raw_columns(design, features) if len(features) else None
            if columns is not None:
                low, high = view.spans()
                seen = {
                    name: (float(low[k]), float(high[k]))
                    for name, k in bare_places(design).items()
                    if np.isfinite(low[k])
                }
                return RawRows(columns, view.row_counts(), seen)
        table = self._table(exog)
        check_columns(table, design.columns)
        counts = np.ones(table.n_rows) if exog is not None else self.row_counts
        places = np.flatnonzero(counts)
        if not len(places):
            raise ArgumentError("exog", "must have a row at least", Message("none"))
        columns = {name: table.read(name).take(places) for name in design.columns}
        return RawRows(columns, counts[places], {})

    # ------------------------------------------------------------ importance
    def importance(
        self, exog: Any = None, *, n_samples: int = 500, by: str = "variable"
    ) -> pd.DataFrame:
        """Share of the predicted variance that each variable accounts for.

        The effect of a variable is half the mean squared change of the prediction when
        its value in a row is replaced by that of another row, in all terms that contain
        it. This is the total Sobol' effect over the rows (Jansen 1999). The share is
        relative to the sum over the variables, so that a joint effect of several
        variables counts for each of them. If the variables are the features, the
        numbers are those of ``DynamicTree.importance``.

        Parameters
        ----------
        exog : frame, dict of columns, or list of dicts, optional
            Rows from which pairs are drawn. By default they are the rows that the trees
            hold or, if the formula has a variable that is not a term of its own, the
            data of the model.
        n_samples : int, default 500
            Number of pairs of rows, >= 2. The draws depend on the seed of the model and
            the number of rows learned.
        by : {"variable", "feature"}, default "variable"
            "feature" computes the share of each feature of `exog_names` instead. Each
            is changed on its own, except that the levels of a term like C(g) change
            together.

        Returns
        -------
        DataFrame
            The index is the variable. The columns are `share`; `se`, its Monte Carlo
            standard error; and `use`, the share of the trees that split on a feature of
            the variable.

        Raises
        ------
        ValueError
            If `exog` is required and missing: variables cannot be computed from the
            features, and the model has no data.

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> rng = np.random.default_rng(0)
        >>> data = {"a": rng.random(200), "b": rng.random(200)}
        >>> data["y"] = data["a"] * data["b"]
        >>> fit = dtf.dynamic_tree("y ~ a * b", data, model="linear", seed=1).fit()
        >>> fit.importance(by="feature").index.tolist()
        ['a', 'b', 'a:b']
        >>> fit.importance()["share"].round(1).to_dict()
        {'a': 0.5, 'b': 0.5}
        """
        import pandas as pd

        view = self.inner.frozen_view("importance")
        if params.one_of("by", by, BY) == "feature":
            if exog is not None:
                raise ArgumentError(
                    "exog",
                    "is for by='variable'; features are those of the rows that the "
                    "trees hold",
                    remedy="Leave it out.",
                )
            found = view.tree.importance(
                n_samples=n_samples, factors=self.design.factors or None
            )
            places = feature_groups(self.design, found.names)
        else:
            found = self.variable_importance(exog, n_samples, view)
            of_variables = feature_places(self.design)
            places = [of_variables[name] for name in found.names]
        splits = view.split_counts() > 0
        use = [splits[:, group].any(axis=1).mean() for group in places]
        columns = {"share": found.values, "se": found.se, "use": use}
        return pd.DataFrame(columns, index=pd.Index(found.names))

    @property
    def tells_variables(self) -> bool:
        """Whether there are rows of variables without `exog`."""
        nothing = np.empty((0, len(self.design.names)))
        has_columns = raw_columns(self.design, nothing) is not None
        return has_columns or self.model.table is not None

    def variable_importance(
        self, exog: Any = None, n_samples: int = 500, view: TreeView | None = None
    ) -> Importance:
        """`importance` by variable, as a record."""
        n_samples = params.count("n_samples", n_samples, 2)
        view = view or self.inner.frozen_view("importance")
        raw = self._raw_rows(exog, view)
        rows = self._rng().integers(len(raw), size=(2, n_samples))
        base, other = (taken(raw.columns, some) for some in rows)
        mixed = [{**base, name: other[name]} for name in base]
        answers = mean_predictions(self.tree, encoded(self.design, *mixed, base), None)
        answers = answers.reshape(len(mixed) + 1, n_samples, -1)
        return variance_shares(answers, tuple(base))

    def plot_importance(
        self,
        variables: Sequence[str] | None = None,
        *,
        exog: Any = None,
        by: str = "variable",
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the share of the predicted variance that each variable accounts for.

        Parameters
        ----------
        variables : sequence of str, optional
            Names of variables; by default all of them.
        exog, by
            As in `importance`.
        ax : Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        if params.one_of("by", by, BY) == "feature":
            found = self.inner.importance(factors=self.design.factors or None)
        else:
            found = self.variable_importance(exog)
        return plots.plot_importance(found, variables, ax=ax)

    # ------------------------------------------------------------ sensitivity
    def sensitivity(
        self,
        exog: Any = None,
        *,
        label: Hashable | None = None,
        n_samples: int = 1024,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: Mapping[str, Any] | None = None,
    ) -> VariableSensitivity:
        """Estimate main effects and Sobol' indices of the variables.

        This is `DynamicTree.sensitivity` for variables instead of features: variables
        are drawn, features are computed from them, and the trees predict
        (Gramacy and Taddy 2010).

        Parameters
        ----------
        exog
            Rows that determine ranges and the frequencies of levels, as in
            `importance`.
        label : hashable, optional
            Labels: the label whose probability is analysed. It is required there.
        n_samples : int, default 1024
            Size of each of the two samples of rows, >= 2, preferably a power of two.
        n_grid : int, default 100
            Number of points of the main effect of a number, >= 1. A factor has its
            levels.
        span : float in [0, 1], default 0.3
            Share of the samples over which a point of a main effect averages.
        method : {"lhs", "boot"}, default "lhs"
            "lhs" draws the variables independently, by a scrambled Sobol' sequence,
            whose points form a Latin hypercube. Numbers are uniform over their range;
            levels, and 0 and 1, are as frequent as in the rows. If trees split on
            whether a variable is missing, it is missing as often as in the rows. "boot"
            draws whole rows with replacement.
        bounds : mapping of str to (low, high), optional
            Ranges of variables that are numbers or times, for "lhs". The default is the
            range of all rows learned if the trees know it, else that of the rows.

        Returns
        -------
        VariableSensitivity

        Raises
        ------
        ValueError
            As in `importance`, or if a variable is not in the formula, or bounds are
            bad.

        Notes
        -----
        All trees use the same two samples, which depend on the seed of the model and
        the number of rows learned. Indices are shares of the variance of a new
        response, which includes noise, as in `DynamicTree.sensitivity`. The main
        effects of a tree come from one joint draw. If variables and features are the
        same, both methods estimate the same quantities.
        """
        place, method = self._place(label), params.one_of("method", method, METHODS)
        n = params.count("n_samples", n_samples, 2)
        n_grid = params.count("n_grid", n_grid, 1)
        share = params.real("span", span)
        if not 0.0 <= share <= 1.0:
            raise ArgumentError("span", "must be in [0, 1]", span)
        view = self.inner.frozen_view("sensitivity")
        raw, rng = self._raw_rows(exog, view), self._rng()
        domains = domains_of(self.design, raw, bounds)
        if method == "lhs":
            gaps = with_gaps(self.design, view, domains)
            a, b = two_samples(domains, gaps, n, rng)
        else:
            rows = rng.choice(len(raw), (2, n), p=raw.counts / raw.counts.sum())
            a, b = (taken(raw.columns, some) for some in rows)
        mixed = [{**b, name: a[name]} for name in b]
        parts = np.split(encoded(self.design, a, b, *mixed), len(mixed) + 2)
        first, total = sobol_indices(view, parts[0], parts[1], parts[2:], place)
        levels, _ = view.drawn(np.concatenate(parts[:2]), rng)
        levels = levels if place is None else levels[:, :, place]
        effects = [
            main_effect(domain, [a[name], b[name]], levels, n_grid, share)
            for name, domain in domains.items()
        ]
        return VariableSensitivity(tuple(effects), first, total, tuple(domains))

    # ------------------------------------------------------------ partial dependence
    def partial_dependence(
        self,
        variables: str | Sequence[str],
        exog: Any = None,
        *,
        kind: str = "average",
        label: Hashable | None = None,
        n_grid: int | None = None,
        n_rows: int = 200,
        n_draws: int = 200,
        seed: int | np.random.Generator | None = None,
    ) -> PartialDependence:
        """Average predictions with one variable, or two, set to values in every row.

        Parameters
        ----------
        variables : str, or sequence of one or two str
            Columns of the formula.
        exog
            Rows over which to average, as in `importance`. Each counts as often as
            `freq_weights` states.
        kind : {"average", "individual", "both"}, default "average"
            "average" returns the average only. The other two, named as in scikit-learn,
            also return the prediction of each single row.
        label : hashable, optional
            Labels: the label whose probability is predicted. It is required there.
        n_grid : int, optional
            Number of points over the range of a number, >= 2. The default is 50, or 20
            for each of two variables. Factors have their levels.
        n_rows : int, default 200
            Largest number of rows over which to average. If there are more, this many
            are drawn at random.
        n_draws : int, default 200
            Number of joint posterior draws, from which intervals can be computed.
        seed : int or Generator, optional
            Seed of the rows and draws. By default it derives from the seed of the model
            and the number of rows learned.

        Returns
        -------
        PartialDependence

        Raises
        ------
        ValueError
            As in `sensitivity`.

        Notes
        -----
        The partial dependence of the mean prediction f is the mean of f(v, x_i) over
        the rows i, where v replaces the value of the variable
        (Friedman 2001, section 8.2). The intervals of a single cloud of trees are too
        narrow: average several, with ``n_clouds=10``. `avg_comparisons` computes
        differences of such averages.

        Examples
        --------
        >>> import numpy as np
        >>> import dyntree.formula.api as dtf
        >>> x = np.linspace(-1, 1, 100)
        >>> data = {"x": x, "y": x**2}
        >>> model = dtf.dynamic_tree("y ~ x + I(x**2)", data, model="linear", seed=1)
        >>> fit = model.fit()
        >>> fit.partial_dependence("x", n_grid=3).mean.round(1)
        array([1., 0., 1.])
        """
        names = one_or_two(variables, self.design.columns)
        params.one_of("kind", kind, KINDS)
        place, n_draws = self._place(label), params.count("n_draws", n_draws, 1)
        n_grid = 50 if n_grid is None and len(names) == 1 else n_grid
        n_grid = params.count("n_grid", 20 if n_grid is None else n_grid, 2)
        n_rows = params.count("n_rows", n_rows, 1)
        rng = self._rng() if seed is None else params.generator(seed)
        raw = self._raw_rows(exog, self.inner.frozen_view("partial_dependence"))
        domains = domains_of(self.design, raw, None)
        axes = [domains[name].axis(n_grid) for name in names]
        rows, counts = np.arange(len(raw)), raw.counts
        if len(raw) > n_rows:
            rows = np.sort(rng.choice(len(raw), n_rows, replace=False))
        base = taken(raw.columns, rows)
        features = at_all_points(self.design, axes, base, len(rows))
        shape = tuple(map(len, axes))
        means = mean_predictions(self.tree, features, place, math.prod(shape))
        means = means.reshape(-1, len(rows))
        weights = counts[rows] / counts[rows].sum()
        groups = {None: np.ones(len(rows), dtype=bool)}
        draws = group_averages(
            self.tree, features, groups, counts[rows], n_draws, rng, False
        )
        draws = draws[:, :, 0] if place is None else draws[:, :, 0, place]
        individual = None
        if kind != "average":
            individual = np.ascontiguousarray(means.T).reshape(len(rows), *shape)
        return PartialDependence(
            names, tuple(axis.values for axis in axes),
            tuple(axis.is_factor for axis in axes), (means @ weights).reshape(shape),
            draws.reshape(n_draws, *shape), individual,
        )  # fmt: skip

    def plot_partial(
        self,
        variables: Sequence[Asked] | str | None = None,
        *,
        exog: Any = None,
        kind: str = "average",
        label: Hashable | None = None,
        n_rows: int = 200,
        ax: Sequence[Axes] | None = None,
    ) -> Figure:
        """Draw predictions along variables, averaged over rows, with 90 % bands.

        Parameters
        ----------
        variables : sequence of str or of pairs of str, optional
            One panel is drawn for each; by default one for each column of the formula.
            A factor has its levels on the axis. A pair is drawn as a surface or, if one
            of the two is a factor, as a curve for each level.
        exog, kind, label, n_rows
            As in `partial_dependence`. Individual predictions are thin lines, one for
            each row. They are not possible for pairs.
        ax : sequence of Axes, optional
            One for each panel.

        Returns
        -------
        Figure

        Notes
        -----
        Bands are quantiles of joint posterior draws of the average. See
        `partial_dependence`, and `sensitivity` for main effects over the whole range of
        all variables.
        """
        from dyntree.api import plots
        from dyntree.api.plots.canvas import label_of

        given = self.design.columns if variables is None else variables
        asked = names_in(given, "variables", self.design.columns)
        if not asked:
            raise ArgumentError(
                "variables",
                "must name one column of {columns} at least",
                Message("none"),
                columns=list(self.design.columns),
            )
        found = [
            self.partial_dependence(one, exog, kind=kind, label=label, n_rows=n_rows)
            for one in asked
        ]
        name = label_of(self, self.model.endog_names)
        name = name if label is None else f"P({label})"
        return plots.plot_dependence(found, kind=kind, response=name, ax=ax)

    # ------------------------------------------------------------ relevance
    def relevance(self) -> pd.DataFrame:
        """How much splits on each feature reduce the predictive variance or entropy.

        Each split is on one feature of `exog_names`. A feature such as that of a:b
        belongs to two variables; `importance` has the shares of variables.

        Returns
        -------
        DataFrame
            The index is the feature. The columns are `mean` and `sd` over the trees;
            `share`, the mean divided by the total; and `use`, the share of the trees
            that split on the feature.
        """
        import pandas as pd

        view = self.inner.frozen_view("relevance")
        values, splits = view.tree.relevance().values, view.split_counts()
        mean = values.mean(axis=0)
        part = mean.clip(min=0.0)
        share = part / (part.sum() or 1.0)
        columns = {"mean": mean, "sd": values.std(axis=0), "share": share}
        columns["use"] = (splits > 0).mean(axis=0)
        return pd.DataFrame(columns, index=pd.Index(self.exog_names))

    def plot_relevance(
        self, features: Sequence[str] | None = None, *, ax: Axes | None = None
    ) -> Figure:
        """Draw how much splits on each feature explain, as a box plot over the trees.

        Parameters
        ----------
        features : sequence of str, optional
            Names from `exog_names`; by default all of them.
        ax : Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        return plots.plot_relevance(self.inner.relevance(), features, ax=ax)

    def as_record(self, kind: type[Any]) -> Any:
        """Return the record that plots draw for these results.

        Parameters
        ----------
        kind : type
            `Importance` or `Sensitivity` (by variable), `Relevance` (by feature), or
            `OneStepAhead`.

        Returns
        -------
        A record of that kind, or these results if they have none.
        """
        if kind is Importance:
            return self.variable_importance()
        if kind is Relevance:
            return self.inner.relevance()
        if kind is Sensitivity:
            return self.sensitivity()
        return self.one_step_ahead() if kind is OneStepAhead else self

    # ------------------------------------------------------------ summary
    def summary(self, n_orders: int = 0) -> Any:
        """Return tables that describe the model and show which variables matter.

        Parameters
        ----------
        n_orders : int, default 0
            If it is not 0, the number of times (at least 2) that the model is fitted
            again with other seeds and other orders of the rows. The summary then
            reports how much the log evidence differs. `dyntree.formula.api.compare`
            does this for several models.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            It has `as_text`, `as_latex`, `as_html` and `as_csv`, prints as text, and
            has a display in notebooks. Importance is by feature if it cannot be
            computed by variable; see `importance`.
        """
        from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

        from dyntree.api.summary_tables import ShownSummary, table_of_text

        facts = self._facts() + self._spread_of_evidence(n_orders)
        half = (len(facts) + 1) // 2
        left, right = (
            table_of_text(
                [[value] for _, value in part],
                stubs=[name for name, _ in part],
                title="Dynamic Tree Results",
                txt_fmt=fmt_2cols,
            )
            for part in (facts[:half], [*facts, ("", "")][half : 2 * half])
        )
        left.extend_right(right)
        summary = ShownSummary()
        summary.tables.append(left)
        has_rows = self.tree.is_ready and self.inner.n_active > 0
        if has_rows:
            table, kind = self._importance()
            # as_latex joins the tables, so that both have four columns
            summary.tables.append(
                table_of_text(
                    [
                        [*(f"{value:.4f}" for value in row), ""]
                        for row in table[["share", "use"]].to_numpy()
                    ],
                    headers=["importance", "use", ""],
                    stubs=list(table.index),
                    txt_fmt=fmt_params,
                )
            )
        notes = [f"{name}: {unit}" for name, unit in self.design.units.items()]
        if has_rows:
            notes.append(f"importance: share of the predicted variance by {kind}")
            notes.append(f"use: share of the trees that split on the {kind}")
        if not n_orders:
            notes.append("log-evidence: summary(n_orders=10) estimates its error")
        summary.add_extra_txt(notes)
        return summary

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        html: str = self.summary().as_html()
        return html

    def _importance(self) -> tuple[pd.DataFrame, str]:
        """Importance by variable, or by feature if rows lack some; and by which."""
        if self.tells_variables:
            with silenced(UndefinedTermWarning):  # of rows that no data have
                try:
                    return self.importance(), "variable"
                except ValueError:  # such rows may lie beyond the knots of a spline
                    pass
        return self.importance(by="feature"), "feature"

    def _spread_of_evidence(self, n_orders: int) -> list[tuple[str, str]]:
        """How much the log evidence differs between seeds and orders, where asked."""
        if not params.count("n_orders", n_orders, 0):
            return []
        params.count("n_orders", n_orders, 2)
        found = evidence_over_orders([self.model], n_orders)[0]
        text = f"{found.mean():.5g} (sd {found.std(ddof=1):.2g})"
        return [(f"Log-Ev., {n_orders} Orders:", text)]

    def _active_rows(self) -> str:
        """Number of active rows; several clouds have their own each."""
        states = self.inner.states
        count = str(sum(len(np.unique(state.row_ids())) for state in states))
        single = getattr(self.tree, "members", None) is None
        return count if single else f"{count} in all"

    def _facts(self) -> list[tuple[str, str]]:
        """What the model is, by name."""
        tree, forests = self.inner, forest_sizes(self.inner)
        regressions = regressions_in(self.inner)
        facts = [
            ("Dep. Variable:", self.model.endog_names),
            ("Model:", f"DynamicTree, {LEAVES[tree.model]}"),
            ("No. Observations:", str(self.nobs)),
            ("Active Rows:", self._active_rows()),
            ("Log-Evidence:", f"{self.llf:.5g}"),
            ("Particles:", cloud_sizes(self.inner)),
            *([("Random Trees:", forests)] if forests else []),
            *([("Beside Them:", regressions)] if regressions else []),
            ("Seed:", str(tree.seed)),
        ]
        if isinstance(self.tree, StreamingTree):
            options = self.tree.options
            facts += [
                ("Window:", f"{options.window}, by {options.discard}"),
                ("Forget:", f"{options.forget:g}"),
            ]
        if tree.is_ready:
            stats = tree.stats()
            facts += [
                ("Leaves:", f"{stats.n_leaves:.3g}"),
                ("Height:", f"{stats.height:.3g}"),
            ]
        if tree.classes is not None:
            facts.append(("Classes:", ", ".join(map(str, tree.classes))))
        return facts

    # ------------------------------------------------------------ files
    def remove_data(self) -> None:
        """Drop the data of the model and every row that the trees hold.

        Predictions at given rows stay the same, and `append` still works. Fitted
        values, residuals, the training data and the results that trees compute from
        their rows are no longer available; see `DynamicTree.remove_data`.
        """
        self.tree.remove_data()
        self.model.remove_data()
        self._replayed = None

    def save(
        self,
        path: str | os.PathLike[str],
        remove_data: bool = False,
        *,
        position: Any = None,
    ) -> None:
        """Save trees and formula to a file; an interrupted save leaves no partial file.

        The file contains the rows that the trees hold, because the trees need them to
        learn more rows: the last `window` rows, or all rows without a window. The file
        does not contain the frame that the model was made from. With `remove_data` it
        contains no row. ``dyntree.formula.api.load`` restores the results, and
        ``dyntree.load`` the trees alone. The formula is stored as data: nothing in the
        file is ever executed.

        Parameters
        ----------
        path : str or path
        remove_data : bool, default False
            Whether to call `remove_data` before anything is written.
        position : None, bool, int, float, str, list or dict, default None
            Position in the source of the rows, as in `dyntree.save`.

        Raises
        ------
        ValueError
            If the header is too long to be read again, or JSON cannot represent the
            position.
        OSError
            If the file cannot be written.
        """
        remove_data = params.flag("remove_data", remove_data)
        tree = self.tree.copy().remove_data() if remove_data else self.tree
        checkpoint.save_with(tree, self.model.notes(self.design), path, position)
        if remove_data:
            self.remove_data()


def _share_saved(errors: Vector, others: Vector, weights: Vector) -> float:
    """How much less the weighted squares of some errors are than those of others."""
    total = float(weights @ others**2)
    return 1.0 - float(weights @ errors**2) / total if total > 0.0 else float("nan")
