"""What a fitted formula tells: summary, prediction, relevance; and it learns on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dyntree import checkpoint, params
from dyntree.api.append import LearningResults
from dyntree.api.back_transform import BackTransformedResults
from dyntree.api.offsets import RowOffsets, foreseen, mean_with, row_shift
from dyntree.api.one_step import OneStepResults
from dyntree.api.order_evidence import evidence_over_orders
from dyntree.api.predictions import PredictionResults
from dyntree.api.row_weights import RowWeights
from dyntree.api.variables import VariableAnswers
from dyntree.encoding.expressions import Expression
from dyntree.encoding.inverses import Inverse
from dyntree.encoding.tables import Table, is_row, plain_data
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import UndefinedTermWarning
from dyntree.evaluate.residuals import OneStepAhead
from dyntree.runtime.rewording import reworded
from dyntree.summaries import Importance, Relevance, Sensitivity
from dyntree.trees.base import cloud_sizes, forest_sizes
from dyntree.trees.factory import Trees
from dyntree.trees.streaming import StreamingTree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAVES = {
    "constant": "constant leaves",
    "linear": "linear leaves",
    "class": "class leaves",
    "poisson": "Poisson leaves",
    "negbin": "negative binomial leaves",
    "prior": "prior only",
}


class DynamicTreeResults(OneStepResults, LearningResults, VariableAnswers):
    """A fitted model.

    Trees have no coefficients. `params` describes the trees, `importance` shows which
    variables matter, and `get_prediction` returns predictions.

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

    def __repr__(self) -> str:
        """Formula, rows and trees, for a prompt."""
        formula = "" if self.model.formula is None else f"{self.model.formula!r}, "
        trees = f"{type(self.tree).__name__} of {self.nobs} rows"
        return f"<DynamicTreeResults: {formula}{trees}>"

    @property
    def exog_names(self) -> list[str]:
        """Names of the features of the model, including levels that came later."""
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
        """
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
            raise ValueError(f"alpha must be in (0, 1); got {alpha!r}.")
        ends = self._posterior().quantile([alpha / 2.0, 1.0 - alpha / 2.0]).T
        return ends.set_axis([0, 1], axis=1)

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
            exog = plain_data(exog, self.design.needed_without(passed))
        if params.flag("back_transform", back_transform):
            return self._median(exog, transform, given)
        if transform and is_row(exog):
            row, tree = self.design.encode_row(exog), self.inner
            if tree.classes is None:
                self._warn_of_offsets(given)
                return mean_with(tree, row, row_shift(self.design, exog, given))
            return tree.classes[int(tree.proba_at(row).argmax())]
        rows, table, shift = self._asked(exog, transform, given)
        values = PredictionResults(foreseen(self.tree, rows, shift), table).predicted()
        return table.series(values, self.model.endog_names)

    def _median(self, exog: Any, transform: bool, given: RowOffsets | None) -> Any:
        """Median of the column behind the response, in the form that `predict` has."""
        inverse = Inverse.of(self._number_response())
        single = transform and is_row(exog)
        rows = [exog] if single else exog
        features, table, shift = self._asked(rows, transform, given)
        found = PredictionResults(foreseen(self.tree, features, shift), table)
        median = BackTransformedResults(found, inverse).predicted_median
        return float(median[0]) if single else table.series(median, inverse.column)

    def _number_response(self) -> Expression:
        """The response, which must not be a label."""
        if self.inner.classes is not None:
            raise ValueError(
                "back_transform needs a response of numbers; got labels. Leave it out."
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
            held = self._own_weights(exog, table)
        else:
            given.check_column(self.design.response)
            held = given.of(table) if transform else given.values
        with reworded("sample_weight", "weights"):
            found = PredictionResults.of(self.tree, rows, table, held, shift)
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
        """Raw data as features, the table they came as, and their offsets."""
        if params.flag("transform", transform):
            table = self._table(exog)
            return self.design.encode(table), table, self.shifts(exog, table, given)
        rows = params.as_array("exog", exog)
        passed = {} if given is None else given.of(None, len(rows))
        self._check_covered(passed)
        self._warn_of_offsets(given)
        shift = np.sum([*passed.values()], axis=0) if passed else None
        return rows, Table({}), shift

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
            raise ValueError(
                f"{argument} must be given with features (transform=False), which do "
                f"not contain the offset {names}. Give its values: {argument}=..."
            )

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
            notes.append("log-evidence: summary(n_orders=10) tells its error")
        summary.add_extra_txt(notes)
        return summary

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        html: str = self.summary().as_html()
        return html

    def _importance(self) -> tuple[pd.DataFrame, str]:
        """Importance by variable, where rows tell it, and what it is by."""
        if self.tells_variables:
            with warnings.catch_warnings():  # of rows that no data have
                warnings.simplefilter("ignore", UndefinedTermWarning)
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
        told = f"{found.mean():.5g} (sd {found.std(ddof=1):.2g})"
        return [(f"Log-Ev., {n_orders} Orders:", told)]

    def _n_held(self) -> str:
        """Rows held one by one; of several clouds each holds its own."""
        count = str(self.inner.n_active)
        single = getattr(self.tree, "members", None) is None
        return count if single else f"{count} in all"

    def _facts(self) -> list[tuple[str, str]]:
        """What the model is, by name."""
        tree, forests = self.inner, forest_sizes(self.inner)
        facts = [
            ("Dep. Variable:", self.model.endog_names),
            ("Model:", f"DynamicTree, {LEAVES[tree.options.model]}"),
            ("No. Observations:", str(self.nobs)),
            ("Rows Held:", self._n_held()),
            ("Log-Evidence:", f"{self.llf:.5g}"),
            ("Particles:", cloud_sizes(self.inner)),
            *([("Random Trees:", forests)] if forests else []),
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
