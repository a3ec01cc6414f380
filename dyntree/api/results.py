"""What a fitted formula tells: summary, prediction, relevance; and it learns on."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.api.fitted_model import FittedModel
from dyntree.api.predictions import PredictionResults
from dyntree.api.row_weights import RowWeights
from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table, is_row, plain_data
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.progress import Progress, check_progress
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.base import cloud_sizes
from dyntree.trees.factory import Trees
from dyntree.trees.learning.growth import GrowingRows, Growth
from dyntree.trees.streaming import StreamingTree

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAVES = {
    "constant": "constant leaves",
    "linear": "linear leaves",
    "class": "class leaves",
    "prior": "prior only",
}


class DynamicTreeResults:
    """A fitted model.

    Trees have no coefficients: `params` describes the trees, `relevance` tells which
    features matter and `get_prediction` what the trees foresee.

    Attributes
    ----------
    model : DynamicTreeModel
    tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        The trees, open to every question, over the features `exog_names`.
    design : Design
        The terms, with the levels that have come by `append`.

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

    def __init__(
        self,
        model: FittedModel,
        tree: Trees,
        design: Design | None = None,
    ) -> None:
        self.model, self.tree, self.design = model, tree, design or model.design
        self._replayed: tuple[list[Any], Vector] | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        before = {"design": state["model"].design}  # pickles from before it could grow
        self.__dict__ |= before | state

    @property
    def inner(self) -> Any:
        """The tree itself, without its window; or the average of several."""
        return self.tree.tree

    @property
    def exog_names(self) -> list[str]:
        """Names of the features: those of the model, and of levels that came since."""
        return list(self.design.names)

    @property
    def nobs(self) -> int:
        """Rows learned so far."""
        return self.tree.n_seen

    @property
    def llf(self) -> float:
        """Log evidence: the sum of the log predictive densities of the rows.

        Each is that of a row given the rows before it.
        """
        return self.tree.log_evidence

    @property
    def llf_obs(self) -> Vector:
        """Terms of the log evidence, one a row of the model's data.

        Regression plants its trees with the tenth row, to which those before it are
        counted; their own terms are 0. See `fitted` for what this costs and covers.
        """
        return self._one_step_ahead()[1].copy()

    def fitted(self, which: str = "online") -> Any:
        """Predictive mean, or most probable label, of each row of the model's data.

        Parameters
        ----------
        which : {"online", "final"}, default "online"
            As each row was foreseen before it was learned, or as the trees see it now.

        Returns
        -------
        Series or ndarray of shape (n_rows,)
            As from `predict`. The first number is NaN online: nothing foresaw it.

        Raises
        ------
        ValueError
            If the model has no data: it was loaded from a file, or they were removed.

        Notes
        -----
        What the rows were foreseen to be is found, at the first call, by learning them
        once more from the same seed. Rows that were appended are not among them.
        """
        params.one_of("which", which, ("online", "final"))
        if which == "final":
            return self.predict()
        return self._series(self._one_step_ahead()[0], self.model.endog_names)

    @property
    def fittedvalues(self) -> Any:
        """One step ahead: ``fitted("online")``."""
        return self.fitted()

    @property
    def resid(self) -> Any:
        """Responses less what was foreseen of them one step ahead, numbers only."""
        if self.inner.classes is not None:
            raise ValueError(
                "resid needs a response of numbers; got labels. Compare fittedvalues "
                "with model.endog."
            )
        foreseen = np.array(self._one_step_ahead()[0])
        return self._series(self.model.endog - foreseen, "resid")

    def _series(self, values: Any, name: str) -> Any:
        """One value a row of the model's data, as the caller holds columns."""
        table = self.model.table
        assert table is not None
        return table.series(np.asarray(values), name)

    def _one_step_ahead(self) -> tuple[list[Any], Vector]:
        """What was foreseen of each row of the model's data, and its log density."""
        if self._replayed is None:
            self._replayed = self.model.replay()
        return self._replayed

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
        """Posterior means of what describes the trees; not regression coefficients.

        Height, number of leaves, and the relevance of each feature, over the trees.
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

        Returns
        -------
        DataFrame
            Indexed as `params`; columns 0 and 1 hold the ends.
        """
        if not 0.0 < params.real("alpha", alpha) < 1.0:
            raise ValueError(f"alpha must be in (0, 1); got {alpha!r}.")
        ends = self._posterior().quantile([alpha / 2.0, 1.0 - alpha / 2.0]).T
        return ends.set_axis([0, 1], axis=1)

    def predict(self, exog: Any = None, transform: bool = True) -> Any:
        """Predictive mean of each row, or its most probable label.

        Parameters
        ----------
        exog : frame, dict of columns, dict, list of dicts, or array, optional
            Raw data, to which the formula is applied; default those of the model.
            Missing values are taken as such. Arrays are for models made from endog and
            exog. A structured array or recarray is a dict of columns; a series of
            pandas is one row where its index names the columns, as ``data.iloc[0]``
            does, and else a column.
        transform : bool, default True
            False: `exog` holds features, of shape (n_rows, n_features), in the order of
            `exog_names`.

        Returns
        -------
        Series, ndarray, float or label
            A series of the caller's library, with its index; a plain value for a dict
            or a series that is one row; else an ndarray of shape (n_rows,).

        Raises
        ------
        ValueError
            If columns of the formula are absent or hold what they cannot.
        """
        if params.flag("transform", transform):
            exog = plain_data(exog, self.design.columns)
        if transform and is_row(exog):
            row, tree = self.design.encode_row(exog), self.inner
            if tree.classes is None:
                return tree.mean_at(row)
            return tree.classes[int(tree.proba_at(row).argmax())]
        prediction, table = self._prediction(exog, transform)
        values = (
            prediction.label
            if isinstance(prediction, ClassPrediction)
            else prediction.mean.copy()
        )
        return table.series(values, self.model.endog_names)

    def get_prediction(
        self, exog: Any = None, transform: bool = True, *, weights: Any = None
    ) -> PredictionResults:
        """Predictive distribution of each row.

        Parameters
        ----------
        exog, transform
            As in `predict`.
        weights : array_like of shape (n_rows,), float, or str, optional
            Weights > 0 of the responses that are foreseen, where weights divide
            variances; by default 1. A text is the name of a column.

        Returns
        -------
        PredictionResults
        """
        given = RowWeights.given(weights, None)
        return PredictionResults(*self._prediction(exog, transform, given))

    def _prediction(
        self, exog: Any, transform: bool, given: RowWeights | None = None
    ) -> tuple[Prediction | ClassPrediction, Table]:
        """What the trees say of raw data, and the table they came as."""
        if not params.flag("transform", transform):
            weights = None if given is None else given.values
            rows = params.as_array("exog", exog)
            return self.tree.predict(rows, weights), Table({})
        table = self.model.table if exog is None else self.model.table_of(exog)
        if table is None:
            raise ValueError(
                "exog must be given, because the model has no data: it was loaded from "
                "a file, or they were removed; got None."
            )
        weights = None if given is None else given.of(table)
        return self.tree.predict(self.design.encode(table), weights), table

    def append(
        self,
        endog: Any,
        exog: Any = None,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows.

        Unlike those of statsmodels' state space models, these results learn themselves;
        `copy` keeps what was.

        Parameters
        ----------
        endog : frame, dict of columns, dict, or list of dicts; or array_like
            Raw data with the response; or, beside `exog`, the responses alone. Where no
            row is left, by ``missing="drop"`` or from the start, nothing is learned.
        exog : as for `predict`, optional
            For models made from endog and exog: the inputs.
        weights, freq_weights : array_like of shape (n_rows,), float, or str, optional
            Weights of these rows, of the kind that the model was made with; by default
            1. A text is the name of a column of theirs. Rows of weight 0 are left out.
        progress
            As in `DynamicTree.update`, which also says what bad rows and interrupts do.

        Returns
        -------
        self
        """
        given = RowWeights.given(weights, freq_weights)
        if given is not None:
            options = self.inner.options
            given.check_model(options.meaning_of_weights, options.model == "class")
        rows, responses, designs, held = self.model.rows(
            self.design, endog, exog, given
        )
        if not len(rows):
            check_progress(progress)
        elif designs:
            self._append_levels(rows, responses, designs, held, progress)
        elif len(rows) == 1 and isinstance(self.tree, StreamingTree | AveragedStream):
            check_progress(progress)
            (y,) = responses if self.inner.classes is None else label_list(responses, 1)
            self.tree.learn_row(rows, y, 1.0 if held is None else float(held[0]))
        else:
            self.tree.update(rows, responses, held, progress=progress)
        return self

    def _append_levels(
        self,
        rows: Matrix,
        responses: list[Any],
        designs: list[tuple[int, Design]],
        weights: Vector | None,
        progress: Progress,
    ) -> None:
        """Learn rows that bring levels; the design goes as far as the trees do."""
        steps = [(row, design.features()) for row, design in designs]
        growth = Growth(self.design.features(), steps, designs[-1][1].widen)
        try:
            late = GrowingRows(rows, growth)
            self.tree.update(late, responses, weights, progress=progress)
        finally:
            names = self.inner.feature_names
            known = [self.design, *(design for _, design in designs)]
            self.design = next(design for design in known if design.names == names)

    def copy(self) -> Self:
        """Return independent results that would learn alike, of the same model."""
        return type(self)(self.model, self.tree.copy(), self.design)

    def relevance(self) -> pd.DataFrame:
        """How much splits on each feature reduce the predictive variance or entropy.

        Returns
        -------
        DataFrame
            Indexed by feature: `mean` and `sd` over the trees; `share`, the mean as a
            part of the total, where there is any; and `use`, the share of the trees
            that split on it.
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

    def importance(self) -> pd.DataFrame:
        """Share of the predicted variance that each input of the formula accounts for.

        Returns
        -------
        DataFrame
            Indexed by input, one for all levels of a factor: `share`; `se`, its Monte
            Carlo standard error; and `use`, the share of the trees that split on it.
            See `DynamicTree.importance`.
        """
        import pandas as pd

        factors, names = self.design.factors, self.exog_names
        view = self.inner.frozen_view("importance")
        found = view.tree.importance(factors=factors or None)
        splits = view.split_counts() > 0
        places = [
            [names.index(feature) for feature in factors.get(name, [name])]
            for name in found.names
        ]
        use = [splits[:, group].any(axis=1).mean() for group in places]
        columns = {"share": found.values, "se": found.se, "use": use}
        return pd.DataFrame(columns, index=pd.Index(found.names))

    def summary(self) -> Any:
        """Tables of what the model is and which features matter.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            It has `as_text`, `as_latex`, `as_html` and `as_csv`, prints as text, and
            shows itself in notebooks.
        """
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable
        from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

        facts = self._facts()
        half = (len(facts) + 1) // 2
        left, right = (
            SimpleTable(
                [[value] for _, value in part],
                stubs=[name for name, _ in part],
                title="Dynamic Tree Results",
                txt_fmt=fmt_2cols,
            )
            for part in (facts[:half], [*facts, ("", "")][half : 2 * half])
        )
        left.extend_right(right)
        summary = Summary()
        summary.tables.append(left)
        has_rows = self.tree.is_ready and self.inner.n_active > 0
        if has_rows:
            table = self.importance()
            summary.tables.append(
                SimpleTable(
                    [[f"{value:.4f}" for value in row] for row in table.to_numpy()],
                    headers=["importance", "std err", "use"],
                    stubs=list(table.index),
                    txt_fmt=fmt_params,
                )
            )
        notes = [f"{name}: {unit}" for name, unit in self.design.units.items()]
        if has_rows:
            notes.append("importance: share of the predicted variance, with its error")
            notes.append("use: share of the trees that split on the input")
        summary.add_extra_txt(notes)
        return summary

    def _n_held(self) -> str:
        """Rows held one by one; of several clouds each holds its own."""
        count = str(self.inner.n_active)
        single = getattr(self.tree, "members", None) is None
        return count if single else f"{count} in all"

    def _facts(self) -> list[tuple[str, str]]:
        """What the model is, by name."""
        tree = self.inner
        facts = [
            ("Dep. Variable:", self.model.endog_names),
            ("Model:", f"DynamicTree, {LEAVES[tree.options.model]}"),
            ("No. Observations:", str(self.nobs)),
            ("Rows Held:", self._n_held()),
            ("Log-Evidence:", f"{self.llf:.5g}"),
            ("Particles:", cloud_sizes(self.inner)),
            ("Seed:", str(tree.seed)),
        ]
        if isinstance(self.tree, StreamingTree):
            options = self.tree.options
            facts += [
                ("Window:", f"{options.window}, by {options.discard}"),
                ("Forget:", f"{options.forget:g}"),
            ]
        if tree.leaf_prior is not None:
            facts.append(("Leaf Prior:", tree.leaf_prior))
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
        """Draw how much splits on each feature explain, a box each over the trees.

        Parameters
        ----------
        features : sequence of str, optional
            Names among `exog_names`, by default all.
        ax : Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        return plots.plot_relevance(self.inner.relevance(), features, ax=ax)

    def plot_importance(
        self, features: Sequence[str] | None = None, *, ax: Axes | None = None
    ) -> Figure:
        """Draw the share of the predicted variance that each input accounts for.

        Parameters
        ----------
        features : sequence of str, optional
            Inputs as in `importance`, by default all.
        ax : Axes, optional

        Returns
        -------
        Figure
        """
        from dyntree.api import plots

        found = self.inner.importance(factors=self.design.factors or None)
        return plots.plot_importance(found, features, ax=ax)

    def plot_partial(
        self,
        features: Sequence[str] | None = None,
        *,
        label: Hashable | None = None,
        ax: Sequence[Axes] | None = None,
    ) -> Figure:
        """Draw the main effect of each feature, with a 90 % band over the trees.

        Parameters
        ----------
        features : sequence of str, optional
            Names among `exog_names`, by default all.
        label : hashable, optional
            Labels: whose probability is drawn; needed there.
        ax : sequence of Axes, optional
            One a feature.

        Returns
        -------
        Figure

        Notes
        -----
        See `DynamicTree.sensitivity`.
        """
        from dyntree.api import plots

        found = self.inner.sensitivity(label=label, factors=self.design.factors or None)
        name = self.model.endog_names if label is None else f"P({label})"
        return plots.plot_effects(found, features, response=name, ax=ax)

    def remove_data(self) -> None:
        """Let go of the data of the model and of every row that the trees hold.

        Predictions of rows that are given stay the same, and `append` goes on. Fitted
        values, residuals and what the model was fitted to are gone, and what trees
        answer from their rows; see `DynamicTree.remove_data`.
        """
        self.tree.remove_data()
        self.model.remove_data()
        self._replayed = None

    def save(self, path: str | os.PathLike[str], remove_data: bool = False) -> None:
        """Save trees and formula to a file, whole or not at all.

        The file holds the rows that the trees hold, as these need them to go on
        learning: the last `window` ones, or without a window all. The frame that the
        model was made from is not in it. With `remove_data` there is no row in it.
        ``dyntree.formula.api.load`` makes results of it again; ``dyntree.load`` its
        trees alone. The formula is kept as data: nothing in the file is ever run.

        Parameters
        ----------
        path : str or path
        remove_data : bool, default False
            Also call `remove_data`, before anything is written.

        Raises
        ------
        ValueError
            For a header that is too long to be read again.
        OSError
            If the file cannot be written.
        """
        remove_data = params.flag("remove_data", remove_data)
        tree = self.tree.copy().remove_data() if remove_data else self.tree
        checkpoint.save_with(tree, self.model.notes(self.design), path)
        if remove_data:
            self.remove_data()
