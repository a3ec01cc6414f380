"""Formulas, as statsmodels has them: ``"y ~ x + np.log(z) + C(site)"`` -> a model."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.api.results import DynamicTreeResults
from dyntree.design import Design
from dyntree.errors import CheckpointError
from dyntree.expressions import Expression
from dyntree.features import Matrix, is_missing, sorted_labels
from dyntree.frames import Table, is_row, table_of
from dyntree.model import DynamicTree
from dyntree.params import NIG
from dyntree.progress import Progress
from dyntree.readings import Level
from dyntree.streaming import StreamingTree

MISSING = ("none", "drop", "raise")
# what StreamingTree takes besides the options of DynamicTree
STREAM = {"discard": None, "forget": None, "drift": False, "rejuvenate_every": None}


def parse(
    formula: str, columns: Sequence[str]
) -> tuple[Expression, list[list[Expression]]]:
    """Response and terms of a formula; each term is the list of its factors.

    Parameters
    ----------
    formula : str
        ``response ~ terms``, in the grammar of formulaic. Intercepts are left out:
        trees need none.
    columns : sequence of str
        What ``.`` stands for, without those of the response.

    Raises
    ------
    ValueError
        If it is no such formula.
    ImportError
        If formulaic is absent.

    Examples
    --------
    >>> from dyntree.api.formula import parse
    >>> response, terms = parse("np.log(y) ~ . - b + a:c", ["a", "b", "c", "y"])
    >>> [[factor.label for factor in term] for term in terms]
    [['a'], ['c'], ['a', 'c']]
    """
    try:
        from formulaic import Formula, SimpleFormula
        from formulaic.errors import FormulaicError
    except ModuleNotFoundError as error:
        raise ImportError(
            "formulas need formulaic >= 1.1. Install it with: "
            "pip install 'dyntree[formula]'."
        ) from error
    if not isinstance(formula, str):
        raise ValueError(f"formula must be text, 'y ~ a + b'; got {formula!r}.")
    left, tilde, right = (part.strip() for part in formula.partition("~"))
    if not left or not tilde or not right:
        raise ValueError(f"formula must be like 'y ~ a + b'; got {formula!r}.")
    try:
        quoted = left.startswith("`") and left.endswith("`") and left.count("`") == 2
        plain = left in columns or quoted
        name = left.strip("`") if quoted else left
        response = Expression.column(name) if plain else Expression.parse(left)
        inputs = [name for name in columns if name not in response.columns]
        found = Formula(
            f"1 ~ {right}",  # the left is read above
            _context={"__formulaic_variables_available__": inputs},
        ).rhs
        if not isinstance(found, SimpleFormula):
            raise ValueError(f"formula must have no '|'; got {formula!r}.")
        terms = [[_factor(factor) for factor in term.factors] for term in found]
    except FormulaicError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"formula must be one that formulaic can read; got {formula!r} ({reason})"
        ) from error
    # what names no column is an intercept, which trees do not need
    terms = [term for term in terms if any(factor.columns for factor in term)]
    if not terms or not response.columns:
        raise ValueError(
            f"formula must name a response and one input at least; got {formula!r}."
        )
    both = {name for term in terms for factor in term for name in factor.columns}
    if both & {*response.columns}:
        raise ValueError(
            f"formula must not use the response as an input; got {formula!r}."
        )
    return response, terms


def _factor(factor: Any) -> Expression:
    """What a factor of formulaic's means."""
    if factor.eval_method.value == "lookup":
        return Expression.column(factor.expr)
    return Expression.parse(factor.expr)


class DynamicTreeModel:
    """A dynamic tree to be fitted to data, in the manner of a model of statsmodels.

    Made by `from_formula`, which lists the options, or by `load`, without data.

    Parameters
    ----------
    design : Design
        The terms, as data.
    formula : str
    missing : {"none", "drop", "raise"}

    Attributes
    ----------
    endog : list, or None
        Responses as they are learned; None in a model without data.
    exog : ndarray of shape (n_rows, n_features), or None
        Features as they are learned.
    endog_names : str
    exog_names : list of str
    formula : str
    design : Design
    """

    def __init__(self, design: Design, formula: str, missing: str) -> None:
        self.design, self.formula = design, formula
        self.missing = params.one_of("missing", missing, MISSING)
        self._blank: DynamicTree | StreamingTree | None = None
        self.endog: list[Any] | None = None
        self.exog: Matrix | None = None
        self.table: Table | None = None

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        missing: str = "none",
        new_levels: str = "missing",
        categories: Mapping[str, Sequence[Level]] | None = None,
        model: str | None = None,
        window: int | None = None,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int = 1000,
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        first_split: int = 0,
        n_basis: int | None = None,
        classes: Sequence[Hashable] | None = None,
        prior: str | NIG = "adaptive",
        class_mass: float = 1.0,
        max_retired_mass: float | None = None,
        seed: int | None = None,
    ) -> Self:
        """Make a model from a formula.

        Rows are learned in the order they come. Columns of numbers are features as they
        are, dates are days since 1970-01-01 UTC and durations days; each level of a
        column of text or categories, or of C(column), is a 0/1 feature. No level is
        left out and there is no column of ones, because trees need neither.

        Parameters
        ----------
        formula : str
            Like ``"y ~ x + np.log(z) + C(site) + x:site"``, in the grammar of
            formulaic: ``.`` for all other columns, ``- column``, ``a:b``, ``a*b``,
            ``(a + b)**2``, ``I(x**2)``, names in backticks, and the functions in
            ``dyntree.expressions.FUNCTIONS``. Text is parsed and never run. A response
            of text, categories or bools, or C(column), is a label: the trees classify.
        data : frame, dict of columns, or list of dicts
            A frame of pandas, or with narwhals of polars, pyarrow and others.
        missing : {"none", "drop", "raise"}, default "none"
            Rows with missing values: "none" keeps those whose inputs are missing, which
            trees take, and refuses missing responses; "drop" leaves out every row with
            any; "raise" refuses them all.
        new_levels : {"missing", "raise"}, default "missing"
            What a level means that `data` did not have: it counts as missing, with a
            warning the first time, or is an error.
        categories : dict of str to sequence, optional
            Levels of columns, where they are known beforehand.
        model : {"constant", "linear", "class", "prior"}, optional
            What leaves hold; "class" for labels and else "constant".
        window : int, optional
            Most rows held one by one, as in `StreamingTree`. By default all are held,
            as in `DynamicTree`.
        discard, forget, drift, rejuvenate_every
            As in `StreamingTree`; for windows only.
        n_particles : int, default 1000
            Trees in the cloud.
        intercept, proposal, min_leaf, tree_prior, first_split, n_basis
            As in `DynamicTree`.
        classes : sequence, optional
            As in `DynamicTree`; by default the labels of `data`.
        prior, class_mass, max_retired_mass, seed
            As in `DynamicTree`.

        Returns
        -------
        DynamicTreeModel

        Raises
        ------
        ValueError
            If the formula asks for what the data do not have or trees cannot use.
        ImportError
            If formulaic is absent.

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
        ['x', 'C(site)[u]', 'C(site)[v]']
        >>> model.fit().predict({"x": 0.25, "site": "u"}).__round__(1)
        1.0
        """
        options: dict[str, Any] = {
            "model": model, "window": window, "discard": discard, "forget": forget,
            "drift": drift, "rejuvenate_every": rejuvenate_every,
            "n_particles": n_particles, "intercept": intercept, "proposal": proposal,
            "min_leaf": min_leaf, "tree_prior": tree_prior, "first_split": first_split,
            "n_basis": n_basis, "classes": classes, "prior": prior,
            "class_mass": class_mass, "max_retired_mass": max_retired_mass,
            "seed": seed,
        }  # fmt: skip
        table = table_of(data)
        response, terms = parse(formula, table.names)
        design = Design.learn(
            table,
            response,
            terms,
            is_class=None if model is None else model == "class",
            categories=categories,
            new_levels=new_levels,
        )
        if model is None:
            options["model"] = "class" if design.is_class else "constant"
        made = cls(design, formula, missing)
        made.table = table
        made.exog, made.endog = made.rows(table)
        if classes is None and design.is_class:
            options["classes"] = table.levels(response.columns[0])
            options["classes"] = options["classes"] or sorted_labels(made.endog)
        made._blank = _tree_of(options)
        return made

    @property
    def endog_names(self) -> str:
        """The response as the formula has it."""
        return self.design.response.label

    @property
    def exog_names(self) -> list[str]:
        """Names of the features."""
        return list(self.design.names)

    def rows(self, data: Any) -> tuple[Matrix, list[Any]]:
        """Features and responses of raw data, by the rule for missing values."""
        design = self.design
        if is_row(data):
            rows, responses = design.encode_row(data), [design.response_of(data)]
        else:
            table = table_of(data)
            rows, responses = design.encode(table), design.responses(table)
        no_response = np.array([is_missing(y) for y in responses], dtype=bool)
        missing = no_response | np.isnan(rows).any(axis=1)
        if self.missing == "drop":
            kept = np.flatnonzero(~missing)
            rows, responses = rows[kept], [responses[k] for k in kept]
        else:
            bad = np.flatnonzero(missing if self.missing == "raise" else no_response)
            if len(bad):
                what = self.endog_names if no_response[bad[0]] else "the inputs"
                raise ValueError(
                    f"data must have no missing value of {what}; got one in row "
                    f"{bad[0]}. Leave such rows out: missing='drop'."
                )
        if not len(rows):
            raise ValueError("data must have at least one complete row; got none.")
        return rows, responses

    def fit(self, *, progress: Progress = None) -> DynamicTreeResults:
        """Learn the data from the first row to the last; each call does so anew.

        Parameters
        ----------
        progress : bool, callable or None, default None
            As in `DynamicTree.update`.

        Returns
        -------
        DynamicTreeResults

        Raises
        ------
        ValueError
            If the model has no data, or they are none for these trees.
        """
        if self._blank is None:
            raise ValueError(
                "fit needs a model with data; got one that was loaded from a file. "
                "Make it anew by from_formula, or go on by append."
            )
        tree = self._blank.copy()
        results = DynamicTreeResults(self, tree)
        results.inner._features = self.design.features()
        tree.update(self.exog, self.endog, progress=progress)
        return results

    def notes(self) -> dict[str, Any]:
        """What a file keeps beside the trees."""
        return file_notes(self.design, self.formula, self.missing)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DynamicTreeResults:
        """Return the results that `DynamicTreeResults.save` wrote; they go on learning.

        Raises
        ------
        CheckpointError
            If the file is none of ours, broken, or holds a model without a formula.
            Loading runs nothing that is in the file.
        OSError
            If the file cannot be read.
        """
        tree, notes = checkpoint.load_with(path)
        design = read_design(path, getattr(tree, "tree", tree), notes)
        model = cls(design, notes["formula"], notes["missing"])
        return DynamicTreeResults(model, tree)


def _tree_of(options: dict[str, Any]) -> DynamicTree | StreamingTree:
    """A tree without rows by the options of `from_formula`."""
    if options["window"] is not None:
        return StreamingTree(**options)
    options = {name: value for name, value in options.items() if name != "window"}
    for name, default in STREAM.items():
        if (came := options.pop(name)) != default:
            raise ValueError(
                f"{name} is an option of windows only; got {came!r} with window=None. "
                "Set window to the most rows to hold."
            )
    return DynamicTree(**options)


def file_notes(design: Design, formula: str, missing: str) -> dict[str, Any]:
    """What a file keeps of a formula, beside the trees."""
    return {
        "formula": formula,
        "response": design.response.label,
        "missing": missing,
        "design": design.to_header(),
    }


def read_design(
    path: str | os.PathLike[str], tree: DynamicTree, notes: dict[str, Any]
) -> Design:
    """The design that a file keeps, once it is known to fit the file's trees.

    Raises
    ------
    CheckpointError
    """
    failure = f"{os.fspath(path)} cannot be loaded: it holds "
    try:
        design = Design.from_header(notes["design"])
        params.one_of("missing", notes["missing"], MISSING)
        if not isinstance(notes["formula"], str):
            raise ValueError(f"formula must be text; got {notes['formula']!r}")
    except checkpoint.UNSOUND as error:
        raise CheckpointError(
            f"{failure}no formula, or a broken one ({error}). Models without a "
            "formula load by dyntree.load."
        ) from error
    names, options = tree.feature_names or design.names, tree.options
    is_class = options.model == "class"
    if names != design.names or is_class != design.is_class or options.rules == "r":
        raise CheckpointError(f"{failure}a formula that does not fit its trees.")
    return design
