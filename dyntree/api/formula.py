"""Formulas, as statsmodels has them: ``"y ~ x + np.log(z) + C(site)"`` -> a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree.api.fitted_model import ModelData
from dyntree.api.formula_files import MISSING, file_notes, read_design
from dyntree.api.markup import in_html
from dyntree.api.model_rows import NewRows, columns_for, complete, is_empty, rows_of
from dyntree.api.offsets import (
    RowOffsets,
    beside_of,
    check_shift,
    learned_response,
    prediction_of,
    row_shift,
    shift_of,
)
from dyntree.api.results import DynamicTreeResults
from dyntree.api.row_weights import RowWeights, weighing
from dyntree.api.terms import parse, without
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.gaps import complete_rows, no_complete_row
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.tables import (
    Table,
    is_row,
    plain_data,
    response_of,
    table_of,
    table_of_inputs,
    with_response,
)
from dyntree.encoding.targets import (
    refuse_measurements,
    sorted_labels,
    warn_of_labels,
    warn_of_two_numbers,
)
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import (
    ArgumentError,
    CheckpointError,
    Message,
    MissingInputWarning,
    UnseenLevelWarning,
    silenced,
)
from dyntree.evaluate.residuals import OneStepAhead, OneStepRecorder, of_rows
from dyntree.params.labels import Level
from dyntree.params.names import (
    ARGUMENTS,
    SuggestingAttributes,
    suggested,
    suggesting,
)
from dyntree.runtime.progress import Progress
from dyntree.trees.answers.predictions import blank_prediction
from dyntree.trees.averages.tables import AveragedTrees
from dyntree.trees.factory import Trees, make_tree
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree

# of the trees; categories are the design's
OPTIONS = {
    **params.TREE_OPTIONS,
    **params.STREAM_OPTIONS,
    "n_clouds": None,
    "seed": None,
}
del OPTIONS["categories"], OPTIONS["weighting"]  # which weights tell
OF_MODEL = *OPTIONS, "weights", "freq_weights", "offset", "exposure", "missing"
NOT_BY_FORMULA = params.only_for("r") | {"weighting"}
OF_RESULTS = {  # attributes that a model does not have
    name: f"{name} belongs to the results of a fit, and this model has none: call "
    f"fit(), and {name} of what it returns."
    for name in dir(DynamicTreeResults)
    if not name.startswith("_")
}
IN_FIT = {  # arguments that fit() does not have
    f"fit({name})": f"Pass {meant} to dynamic_tree(), which makes the model."
    for name in (*OF_MODEL, *ARGUMENTS)
    if (meant := suggested(name, OF_MODEL))
}


@suggesting
class DynamicTreeModel(SuggestingAttributes):
    """A dynamic tree model of a data set, with the interface of a statsmodels model.

    The constructor takes responses and inputs, `from_formula` takes a formula, and
    `load` reads a file without data. The constructor makes features from columns as a
    formula would that names all of them.

    Parameters
    ----------
    endog : array_like of shape (n_rows,) or (n_rows, 1), series, or frame of one column
        Responses. If they are text, categories or bools, the model classifies.
    exog : array_like of shape (n_rows, n_columns), or frame
        Inputs. Columns of arrays are called x1, x2, ... Recarrays, and model matrices
        of formulaic and patsy, keep the names of their columns.
    weights, freq_weights, offset, exposure
        As in `from_formula`. A column whose name is given here is not used as an input.
    missing : {"none", "drop", "raise"}, default "none"
        What happens to rows with missing values, as in `from_formula`.
    categories, model, window, n_clouds, n_particles, discard, forget, drift
        As in `from_formula`.
    rejuvenate_every, intercept, proposal, min_leaf, tree_prior, first_split, n_basis
        As in `from_formula`.
    classes, prior, class_mass, max_retired_mass, new_levels, encode_levels
        As in `from_formula`.
    dispersion, robust, seed
        As in `from_formula`.

    Attributes
    ----------
    endog : ndarray of shape (n_rows,), or None
        Responses as they are learned (labels as objects), or None without data.
    exog : ndarray of shape (n_rows, n_features), or None
        Features as they are learned.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows, if any were given.
    shift : ndarray of shape (n_rows,), or None
        Offsets of the rows. For counts they include the logarithms of exposures.
    offset_values : mapping of str to ndarray of shape (n_rows,)
        Offsets and exposures that were passed as arguments, as they were passed.
    table : Table, or None
        The data of the model, in the caller's type.
    formula : str, or None
    design : Design
        The terms, as data.
    missing : str

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.formula import DynamicTreeModel
    >>> x = np.linspace(0, 1, 80)
    >>> model = DynamicTreeModel(np.sin(6 * x), x, model="linear", seed=1)
    >>> model.exog_names, model.endog_names, model.nobs
    (['x1'], 'y', 80)
    >>> model.fit().predict([[0.25], [0.75]]).round(1)
    array([ 1., -1.])
    """

    design: Design
    formula: str | None
    missing: str
    endog: NDArray[Any] | None = None
    exog: Matrix | None = None
    weights: Vector | None = None
    shift: Vector | None = None
    offset_values: Mapping[str, Vector] = MappingProxyType({})
    table: Table | None = None
    grows: bool = False  # whether rows of the data bring levels
    _blank: Trees | None = None
    _start: Trees | None = None  # that rows of the data were learned by, if not blank

    _hints = MappingProxyType(OF_RESULTS | IN_FIT)

    @params.with_options(StreamingTree, without=NOT_BY_FORMULA)
    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        missing: str = "none",
        categories: Mapping[str, Sequence[Level]] | None = None,
        model: str | None = None,
        window: int | str | None = None,
        n_clouds: int | None = None,
        n_particles: int | None = None,
        **options: Any,
    ) -> None:
        options = params.given_options(locals() | options, OPTIONS)
        if options["window"] is not None:
            warn_of_times(exog, set(), "exog")
        endog, name = response_of(endog)
        table = with_response(table_of_inputs(exog), endog, name)
        drops = params.one_of("missing", missing, MISSING) == "drop"
        given = RowWeights.given(weights, freq_weights)
        offsets = RowOffsets.given(offset, exposure)
        beside = {name, given.column if given else None}
        beside |= set() if offsets is None else {*offsets.columns}
        terms = [[Expression.column(c)] for c in table.names if c not in beside]
        response = Expression.column(name)
        row_weights = None if given is None else given.of(table, drops)
        known = [] if offsets is None else offsets.named
        self._begin(
            None, table, response, terms, missing, categories, options,
            given, row_weights, known, offsets, _values_of(offsets, table, drops),
        )  # fmt: skip

    @classmethod
    @params.with_options(StreamingTree, DynamicTree, without=NOT_BY_FORMULA)
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        subset: Sequence[Any] | None = None,
        drop_cols: Sequence[str] | None = None,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        missing: str = "none",
        categories: Mapping[str, Sequence[Level]] | None = None,
        model: str | None = None,
        window: int | str | None = None,
        n_clouds: int | None = None,
        n_particles: int | None = None,
        **options: Any,
    ) -> Self:
        """Make a model from a formula.

        Rows are learned in the order given. Numbers are features without change; dates
        become days since 1970-01-01 UTC, and durations days. Each level of a column of
        text or categories, or of C(column), becomes a 0/1 feature, but two levels share
        one, named after the second, as the values of a bool do. Otherwise no level is
        left out, and there is no column of ones, because trees need neither. Ordered
        categories of pandas become numbers 0, 1, 2, ..., unless they are in C(column).

        Parameters
        ----------
        formula : str
            For example ``"y ~ x + np.log(z) + C(site) + x:site"``, in the grammar of
            formulaic: ``.`` for all other columns, ``- column``, ``a:b``, ``a*b``,
            ``(a + b)**2``, ``I(x**2)``, names in backticks or ``Q("a name")``, and the
            calls listed in the Notes. The text is parsed and never executed. If the
            response is text, categories, bools, a comparison or C(column), the model
            classifies.
        data : frame, dict of columns, or list of dicts
            A frame of pandas or, with narwhals, of polars, pyarrow and others. A
            structured array or recarray is also possible.
        subset : sequence of bool of shape (n_rows,), or of row labels, optional
            Rows of `data` to use: a mask or row numbers, and for frames of pandas
            labels or a mask, as in ``data.loc[subset]``.
        drop_cols : sequence of str, optional
            Terms to leave out, written as in the formula.
        weights : array_like of shape (n_rows,), float, or str, optional
            Weights >= 0 that divide the variance of a response, as in statsmodels' WLS
            and R's lm: one for each row of `data`, or the name of a column, which ``.``
            then excludes. Rows of weight 0 are predicted but not learned.
        freq_weights : array_like of shape (n_rows,), float, or str, optional
            Number of times that each row counts, as in statsmodels' GLM. This is an
            alternative to `weights`, and also possible for labels and counts.
        offset : array_like of shape (n_rows,), float, or str, optional
            Added to the trees' mean with the coefficient 1, like a term ``offset(z)``
            of the formula. For counts it is on the scale of the logarithm of the mean,
            so that it means an exposure of exp(offset).
        exposure : array_like of shape (n_rows,), float, or str, optional
            The time, area or number of people over which each count was taken, > 0, as
            in statsmodels' GLM. New data must have the columns that are named here, in
            `offset` or in ``offset(...)``, or others must be passed with them. Values
            of an array belong to the rows of `data`: further rows need their own in
            `append`, and predictions of new rows take 0 and 1 with a warning unless
            others are passed.
        missing : {"none", "drop", "raise"}, default "none"
            What happens to rows with missing values. "none" keeps rows with missing
            inputs, which trees can use, and refuses missing responses, weights, offsets
            and exposures. "drop" leaves out every row in which any of these is missing,
            and "raise" refuses all of them.
        new_levels : {"grow", "missing", "error"}, default "grow"
            What happens if `append` gets a level that `data` did not have. With "grow"
            it adds a feature for the level. With "missing" the level counts as missing,
            with a warning the first time, and with "error" the row is refused. In
            predictions, a new level counts as missing, or is refused with "error". See
            `DynamicTree`.
        encode_levels : {"auto", "onehot", "effect"}, default "auto"
            The features of levels, in terms that are a column by itself, as in
            `DynamicTree`. Interactions have one feature a level.
        categories : dict of str to sequence, optional
            Levels of columns, if they are known beforehand. Any other level of such a
            column counts as missing.
        model : {"mixed", "linear", "constant", "class", "logit", "poisson", "negbin",
            "prior"}
            The model in each leaf, as in `DynamicTree`. The default is "class" for
            labels, "mixed" where several clouds or windows are averaged, and else
            "linear".
        window : int or "auto", optional
            Largest number of rows that are stored individually, as in `StreamingTree`.
            "auto" averages several windows, as in `AveragedStream`. By default all rows
            are stored.
        n_clouds : int, optional
            Without a window, the number of clouds of trees that are averaged, as in
            `AveragedTrees`. The default is 10. The first cloud learns the rows in the
            order of the data, and all others in random orders. Predictions one step
            ahead are those of the first cloud.
        n_particles : int, optional
            Number of trees in a cloud. The default is 100 if several clouds or windows
            are averaged, else 1000.
        classes : sequence, optional
            As in `DynamicTree`. The default is the labels of `data`.

        Returns
        -------
        DynamicTreeModel

        Raises
        ------
        ValueError
            If the formula uses something that is not in the data or unfit for trees.
        ImportError
            If formulaic is not installed.

        Warns
        -----
        UndefinedTermWarning
            If a term has no finite value in some rows, in which it is then missing.

        Notes
        -----
        Terms may be made of

        - ``x > 3``, ``0 < x <= 1`` and other comparisons: 1 where they hold, else 0.
          Their sides are columns, numbers or calls; use ``I(x**2 > 3)`` for others;
        - NumPy's abs, ceil, cos, exp, expm1, floor, log, log10, log1p, log2, negative,
          sign, sin, sqrt, square, tan and tanh, and ``np.power(x, 2)``,
          ``np.maximum(x, z)``, ``np.minimum(x, z)``, ``np.where(x > 3, z, 0)`` and
          ``np.clip(x, 0, None)``;
        - ``center(x)``, ``scale(x, center=True, scale=True, ddof=1)`` and
          ``standardize(x, center=True, rescale=True, ddof=0)``;
        - ``poly(x, degree, raw=False)``, orthogonal polynomials as in R;
        - ``bs(x, df=, knots=, degree=3, include_intercept=False, lower_bound=,
          upper_bound=)``, B-splines, which refuse values beyond their outer knots;
        - ``cr`` and ``cc``, natural and cyclic cubic splines as in patsy;
        - ``ns``, natural splines as in R, with ``include_intercept`` and bounds like
          ``bs``. Beyond their outer knots, ``cr`` and ``ns`` are straight lines;
        - ``C(x, Treatment(reference="a"))``, ``C(x, Sum)``, ``C(x, Helmert)`` and
          ``C(x, Poly)``, or formulaic's ``contr.sum`` and so on: the columns that patsy
          makes if there is an intercept;
        - ``C(x, levels=["b", "a"])``, and ``C(np.floor(x))``, levels of a value. Levels
          other than those that are named or coded count as missing.

        Means, spreads, knots and polynomials are computed from the rows of `data`.
        Results and their files keep them, and later rows do not change them.

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree.api.formula import DynamicTreeModel
        >>> x = np.linspace(0.1, 1, 80)
        >>> data = {"x": x, "site": ["u", "v"] * 40, "y": np.sin(6 * x)}
        >>> model = DynamicTreeModel.from_formula(
        ...     "y ~ x + C(site)", data, model="linear", n_particles=200, seed=1
        ... )
        >>> model.exog_names
        ['x', 'C(site)[v]']
        >>> model.fit().predict({"x": 0.25, "site": "u"}).__round__(1)
        1.0
        """
        options = params.given_options(locals() | options, OPTIONS)
        drops = params.one_of("missing", missing, MISSING) == "drop"
        if options["window"] is not None:
            warn_of_times(data, set(), "data")
        table = table_of(data)
        given = RowWeights.given(weights, freq_weights)
        row_weights = None if given is None else given.of(table, drops)
        offsets = RowOffsets.given(offset, exposure)
        values = _values_of(offsets, table, drops)
        if subset is not None:
            rows = table.positions(subset)
            table = table.take(rows)
            row_weights = None if row_weights is None else row_weights[rows]
            values = {name: one[rows] for name, one in values.items()}
        beside = (given.column,) if given and given.column else ()
        named = () if offsets is None else offsets.columns
        response, terms, known = parse(formula, table.names, (*beside, *named))
        known += [] if offsets is None else offsets.named
        if drop_cols is not None:
            terms = without(terms, drop_cols)
        made = cls.__new__(cls)
        made._begin(
            formula, table, response, terms, missing, categories, options,
            given, row_weights, known, offsets, values,
        )  # fmt: skip
        return made

    def _begin(
        self,
        formula: str | None,
        table: Table,
        response: Expression,
        terms: list[list[Expression]],
        missing: str,
        categories: Mapping[str, Sequence[Level]] | None,
        options: dict[str, Any],
        given: RowWeights | None,
        weights: Vector | None,
        known: list[Expression],
        offsets: RowOffsets | None,
        values: dict[str, Vector],
    ) -> None:
        """Learn from the data what terms mean, and make trees that know no row."""
        model, classes = options["model"], options["classes"]
        table, weights, values = complete_rows(table, weights, values)
        learned = weighing(table, weights)
        beside = {} if given is None else beside_of({given.argument: given.values})
        design = Design.learn(
            learned,
            response,
            terms,
            known,
            beside=beside | ({} if offsets is None else offsets.beside),
            is_class=None if model is None else model in params.LABELS,
            categories=categories,
            new_levels=options["new_levels"],
            encode_levels=options["encode_levels"],
        )
        if model is None and design.is_class:
            options["model"] = "class"
        self._describe(design, formula, missing)
        if given is not None:
            options["weighting"] = given.meaning
            given.check_column(response)
            meaning = "frequency" if design.is_class else given.meaning
            given.check_model(meaning, is_class=True, is_weighted=True)
        rows, responses = design.encode(table), design.responses(table)
        shift = shift_of(design, table, values)
        self.exog, responses, places = complete(
            design, missing, rows, responses, weights, shift
        )
        if places is not None:
            values = {name: one[places] for name, one in values.items()}
        if shift is not None:
            self.shift = shift if places is None else shift[places]
            check_shift(design, self.shift)
        self.offset_values = values
        if weights is not None:
            self.weights = weights if places is None else weights[places]
        if not len(responses):
            raise no_complete_row(table, [*response.columns, *design.columns])
        kind = object if design.is_class else np.float64
        self.endog = np.fromiter(responses, dtype=kind, count=len(responses))
        self.table = table if places is None else table.take(places)
        is_named = classes is not None or response.is_truth
        if classes is None and design.is_class:
            levels = None if is_named else learned.read(response.columns[0]).categories
            is_named = is_named or bool(levels)
            options["classes"] = levels or (False, True)
            if not is_named:
                options["classes"] = sorted_labels(responses)
        self._blank = make_tree(options)
        if offsets is not None:
            offsets.check_model(self._blank.tree.options)
        if model is None and not design.is_class and response.is_of_column:
            warn_of_two_numbers(responses, self._blank.model)
        if design.is_class and not is_named:
            refuse_measurements(responses)
            warn_of_labels(responses, None, 0, set())
        self.learned_response()  # an error where responses are none for these trees

    def _describe(self, design: Design, formula: str | None, missing: str) -> None:
        self.design, self.formula = design, formula
        self.missing = params.one_of("missing", missing, MISSING)

    @property
    def endog_names(self) -> str:
        """The response as the formula has it."""
        return self.design.response.label

    def __repr__(self) -> str:
        """Formula, rows and features, for a prompt."""
        formula = "" if self.formula is None else f"{self.formula!r}, "
        features = "1 feature" if self.df_model == 1 else f"{self.df_model} features"
        return f"<DynamicTreeModel: {formula}{self.nobs} rows, {features}>"

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        facts = {
            "Dynamic tree model": self.formula or f"of {self.endog_names}",
            "No. observations": self.nobs,
            "Features": ", ".join(self.exog_names),
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{in_html(fact)}</td></tr>"
            for name, fact in facts.items()
        )
        return f"<table>{rows}</table>"

    @property
    def nobs(self) -> int:
        """Rows of the data, but for those of weight 0."""
        if self.weights is not None:
            return int(np.count_nonzero(self.weights))
        return 0 if self.endog is None else len(self.endog)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which rows of the data have a weight above 0, shape (n_rows,)."""
        if self.weights is None:
            return np.ones(self.nobs, dtype=bool)
        return np.asarray(self.weights > 0.0)

    @property
    def df_model(self) -> int:
        """Number of features."""
        return len(self.exog_names)

    @property
    def data(self) -> ModelData | None:
        """The data as they were given, less the rows left out, and their labels."""
        if self.table is None:
            return None
        return ModelData(self.table.native, self.table.row_labels)

    @property
    def model_spec(self) -> Design:
        """The terms, by the name that statsmodels has for them."""
        return self.design

    @property
    def exog_names(self) -> list[str]:
        """Names of the features."""
        return list(self.design.names)

    def fit(self, *, progress: Progress = None) -> DynamicTreeResults:
        """Learn the data from the first row to the last; each call starts anew.

        Parameters
        ----------
        progress
            As in `DynamicTree.update`.

        Returns
        -------
        DynamicTreeResults

        Raises
        ------
        ValueError
            If the model has no data, or the trees cannot use the data.
        """
        results = DynamicTreeResults(self, self.unlearned("fit"))
        results.learn_model(progress)
        return results

    def learned_response(self) -> Any:
        """Responses as trees learn them: minus the offset, or divided by exposures."""
        options = self._first("fit").tree.options
        return learned_response(options, self.endog, self.shift)

    def table_of(self, data: Any) -> Table:
        """Raw data as a table; arrays have the columns that the model was made from."""
        if self.formula is None:
            return table_of_inputs(data, self.design.columns)
        return table_of(plain_data(data, self.design.columns))

    def rows(
        self,
        design: Design,
        endog: Any,
        exog: Any = None,
        given: RowWeights | None = None,
        offsets: RowOffsets | None = None,
    ) -> NewRows:
        """Features, responses and weights of raw data, by the rule for missing values.

        Rows of weight 0 are dropped.

        Parameters
        ----------
        design : Design
            The terms, with all levels seen so far.
        endog, exog
            As in `DynamicTreeResults.append`.
        given : RowWeights, optional
        offsets : RowOffsets, optional

        Returns
        -------
        NewRows
        """
        drops = self.missing == "drop"
        nothing = NewRows(np.empty((0, len(design.names))), [])
        if is_empty(endog) and (exog is None or is_empty(exog)):
            return nothing
        if exog is None:
            endog = plain_data(endog, columns_for(design, offsets))
            if is_row(endog) and not design.brings(endog):
                weights = None
                if given is not None:
                    weights = np.array([given.of_row(endog, drops)])
                    if not weights[0] > 0.0:
                        return nothing
                row, response = design.encode_row(endog), design.response_of(endog)
                design.count(table_of([endog]))
                shift = row_shift(design, endog, offsets, drops)
                own = None if shift is None else np.array([shift])
                rows, responses, _ = complete(
                    design, self.missing, row, [response], shift=own
                )
                if not len(rows):
                    return nothing
                check_shift(design, own)
                return NewRows(rows, responses, weights=weights, shift=own)
        table = self._table_with_response(design, endog, exog, offsets)
        return rows_of(design, table, self.missing, given, offsets)

    def _table_with_response(
        self, design: Design, endog: Any, exog: Any, offsets: RowOffsets | None
    ) -> Table:
        """Raw data and responses as one table."""
        if exog is not None:
            if self.formula is not None:
                raise ArgumentError(
                    "exog",
                    "must be None for a model made by formula: give data with the "
                    "response",
                )
            return with_response(self.table_of(exog), endog, self.endog_names)
        endog = plain_data(endog, columns_for(design, offsets))
        return table_of([endog] if is_row(endog) else endog)

    def with_rows(
        self,
        design: Design,
        endog: Any,
        exog: Any = None,
        given: RowWeights | None = None,
        start: Trees | None = None,
        offsets: RowOffsets | None = None,
    ) -> tuple[Self, NewRows]:
        """The same terms and options with other rows.

        Parameters
        ----------
        design : Design
            The terms, with all levels seen so far.
        endog, exog
            As in `DynamicTreeResults.append`.
        given : RowWeights, optional
        start : Trees, optional
            Trees that know the features and rows, and learn on; by default new ones.
        offsets : RowOffsets, optional

        Returns
        -------
        model : DynamicTreeModel
        new : NewRows
            Its rows, which it has not learned yet.

        Raises
        ------
        ValueError
            As in `rows`; or if there is no row, or the model has no data to start from.
        """
        if start is None:
            self.unlearned("apply")
        table = self._table_with_response(design, endog, exog, offsets)
        found = rows_of(design, table, self.missing, given, offsets)
        if not found.responses:
            raise no_complete_row(table, [*design.response.columns, *design.columns])
        made = copy(self)
        made.design, made.grows = design, start is not None and bool(found.designs)
        if start is None and found.designs:
            made.design = found.designs[-1][1]
        kind = object if design.is_class else np.float64
        made.exog, made.table, made.weights = found.features, found.table, found.weights
        made.shift, made.offset_values = found.shift, found.offset_values
        made.endog = np.fromiter(found.responses, kind, count=len(found.responses))
        made._start = None if start is None else start.copy()
        return made, found

    def unlearned(self, what: str) -> Trees:
        """New trees that know the features, but have learned no row of the data."""
        tree = self._first(what).copy()
        tree.fix_columns(self.design.features())
        return tree

    def _first(self, what: str) -> Trees:
        """The model before its first row; `what` needs it."""
        if self._blank is None:
            raise ArgumentError(
                what,
                "needs a model with data",
                Message("one that was loaded from a file or whose data were removed"),
                "Make it anew, or go on by append.",
            )
        return self._blank

    def replay(self) -> OneStepAhead:
        """Learn the data once more, row by row, from the same seed.

        Of several clouds only the first does, which learned the rows in their order.

        Returns
        -------
        OneStepAhead
            The predictions of each row before it was learned.
        """
        start = self._start
        tree = self.unlearned("fitted") if start is None else start.copy()
        pieces = self._pieces(tree)
        fit = DynamicTreeResults(
            self, tree[0] if isinstance(tree, AveragedTrees) else tree
        )
        assert self.exog is not None
        assert self.endog is not None
        assert self.table is not None
        divides = fit.inner.options.meaning_of_weights == "variance"
        notes, evidence = OneStepRecorder(), [fit.tree.log_evidence]
        rows, sizes = np.arange(len(self.endog)), self.weights
        if pieces is not None:
            rows, sizes = pieces
        for piece, k in enumerate(rows.tolist()):
            one, y = slice(k, k + 1), self.endog[k]
            weight = None if sizes is None else sizes[piece : piece + 1]
            shift = None if self.shift is None else self.shift[one]
            asked = self.exog[one]
            new = NewRows(asked, [y], weights=weight, shift=shift)
            if self.grows:  # features come with the rows that bring their levels
                table = self.table.take(np.array([k]))
                with silenced(UnseenLevelWarning):  # which it is learned with next
                    asked = fit.design.encode(table)
                new = rows_of(fit.design, table, self.missing)
                new = replace(new, weights=weight, shift=shift)
            own = weight if weight is not None and divides and weight[0] else None
            counts = weight is None or bool(weight[0])
            if fit.nobs:
                with silenced(MissingInputWarning):  # of a row that it learns next
                    prediction = prediction_of(fit.tree, asked, shift, own)
            else:
                prediction = blank_prediction(fit.inner.options, 1)
            notes.add(prediction, y, not fit.nobs, counts)
            if counts:
                fit.learn(new)
            evidence.append(fit.tree.log_evidence)
        seen = notes.record(np.diff(evidence))
        return seen if pieces is None else of_rows(seen, *pieces)

    def _pieces(self, tree: Trees) -> tuple[NDArray[np.int64], Vector] | None:
        """Rows of the data that are learned in pieces, in order, and sizes of these.

        Rows of weight 0 come last, with one piece of that size.
        """
        assert self.endog is not None
        counted = np.flatnonzero(self.counted)
        weights = None if self.weights is None else self.weights[counted]
        found = tree.pieces_of(self.endog[counted], weights)
        if found is None:
            return None
        others = np.flatnonzero(~self.counted)
        rows = np.concatenate([counted[found.rows], others])
        return rows, np.concatenate([found.sizes, np.zeros(len(others))])

    def remove_data(self) -> None:
        """Drop the data; `fit` is no longer possible."""
        self.endog = self.exog = self.weights = self.shift = self.table = None
        self.offset_values = {}
        self._blank = self._start = None

    def notes(self, design: Design) -> dict[str, Any]:
        """Contents of a file besides the trees, which know the terms of `design`."""
        return file_notes(design, self.formula, self.missing)

    @overload
    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, with_position: Literal[False] = False
    ) -> DynamicTreeResults: ...

    @overload
    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, with_position: Literal[True]
    ) -> tuple[DynamicTreeResults, Any]: ...

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, with_position: bool = False) -> Any:
        """Return the results that `DynamicTreeResults.save` wrote, ready to learn more.

        Parameters
        ----------
        path : str or path
        with_position : bool, default False
            Whether to return the position that was saved with the results, or None, as
            well.

        Returns
        -------
        DynamicTreeResults
            With `with_position`, a tuple of the results and the position.

        Raises
        ------
        CheckpointError
            If the file was not written by this package, is broken, or holds a model
            without a formula. Loading never executes anything in the file.
        OSError
            If the file cannot be read.
        """
        with_position = params.flag("with_position", with_position)
        tree, notes, position = checkpoint.load_parts(path)
        if not isinstance(tree, Trees):
            raise CheckpointError(
                Message(
                    "{fspath!a} cannot be loaded: it holds a {kind}, no trees. "
                    "Models without a formula load by dyntree.load.",
                    fspath=os.fspath(path),
                    kind=type(tree).__name__,
                )
            )
        design = read_design(path, tree.tree, notes)
        model = cls.__new__(cls)
        model._describe(design, notes["formula"], notes["missing"])
        results = DynamicTreeResults(model, tree)
        return (results, position) if with_position else results


def _values_of(
    offsets: RowOffsets | None, table: Table, allow_missing: bool
) -> dict[str, Vector]:
    """Offsets of the rows of a table that were passed as values, by argument."""
    plain = None if offsets is None else offsets.by_value
    return {} if plain is None else plain.of(table, table.n_rows, allow_missing)
