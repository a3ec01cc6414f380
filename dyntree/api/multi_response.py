"""Formulas with several responses: one independent model of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Literal, Self, TypeVar, overload

from dyntree import params
from dyntree.api.back_transform import BackTransformedResults
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.predictions import PredictionResults
from dyntree.api.results import DynamicTreeResults
from dyntree.encoding.expressions import Expression, sides, summands
from dyntree.encoding.inverses import Inverse
from dyntree.encoding.tables import is_row, plain_data
from dyntree.errors import ArgumentError, Message, shown_as
from dyntree.params.names import SuggestingAttributes, check_accepted, suggesting
from dyntree.runtime.progress import Progress

One = TypeVar("One")


@suggesting
class ByResponse(SuggestingAttributes, Mapping[str, One]):
    """Something for each response, by name.

    Parameters
    ----------
    parts : mapping of str to the part of a response
    """

    def __init__(self, parts: Mapping[str, One]) -> None:
        self._parts = dict(parts)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(map(repr, self._parts.values()))}>"

    def __getitem__(self, name: str) -> One:
        """The result for one response."""
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        """Names of the responses."""
        return iter(self._parts)

    def __len__(self) -> int:
        """How many responses there are."""
        return len(self._parts)

    @property
    def endog_names(self) -> list[str]:
        """The responses as the formula has them."""
        return list(self)


@suggesting
class MultiResponseModel(ByResponse[DynamicTreeModel]):
    """Independent models of several responses of the same inputs.

    A formula like ``"y1 + y2 ~ x"`` makes such a model, which is a mapping of the names
    of responses to models. As in scikit-learn's `MultiOutputRegressor`, each response
    is learned by its own trees, and the dependence between responses is not modelled.

    Parameters
    ----------
    parts : mapping of str to DynamicTreeModel

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> x = np.linspace(0, 1, 80)
    >>> data = {"x": x, "up": 2 * x, "down": 1 - x}
    >>> model = dtf.dynamic_tree("up + down ~ x", data, model="linear", seed=1)
    >>> {name: round(y, 1) for name, y in model.fit().predict({"x": 0.5}).items()}
    {'up': 1.0, 'down': 0.5}
    """

    _hints = DynamicTreeModel._hints

    def fit(self, *, progress: Progress = None) -> MultiResponseResults:
        """Fit every model; see `DynamicTreeModel.fit`.

        Parameters
        ----------
        progress
            As in `DynamicTree.update`, once for each response.

        Returns
        -------
        MultiResponseResults
        """
        return MultiResponseResults(
            {name: model.fit(progress=progress) for name, model in self.items()}
        )


@suggesting
class MultiResponseResults(ByResponse[DynamicTreeResults]):
    """Independent fits of several responses; a mapping of names to results.

    Parameters
    ----------
    parts : mapping of str to DynamicTreeResults
    """

    def __getattr__(self, name: str) -> Any:
        if hasattr(DynamicTreeResults, name):
            raise AttributeError(
                f"{name} is defined for one response; ask the fits of {list(self)} one "
                f"by one, for example results[{next(iter(self))!r}].{name}."
            )
        return super().__getattr__(name)  # type: ignore[misc] # hidden from mypy

    @property
    def nobs(self) -> dict[str, int]:
        """Rows that each fit has learned; a missing response may have left out some."""
        return {name: fit.nobs for name, fit in self.items()}

    @property
    def llf(self) -> float:
        """Log evidence of all responses, which are taken as independent."""
        return sum(fit.llf for fit in self.values())

    def predict(
        self,
        exog: Any = None,
        transform: bool = True,
        *,
        back_transform: bool = False,
        offset: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Predictive mean, or most probable label, of every response.

        Parameters
        ----------
        exog, transform, offset, exposure
            As in `DynamicTreeResults.predict`.
        back_transform : bool, default False
            If True, the results are the predictive medians of the columns from which
            the responses were made. They have the names of these columns, which must
            differ.

        Returns
        -------
        frame, or dict
            A frame of the caller's library with its index, with one column for each
            response. For a single row that is a dict, it is a dict of plain values.
        """
        first = next(iter(self.values()))
        names = list(self)
        if params.flag("back_transform", back_transform):
            names = self._columns_behind()
        beside = {"offset": offset, "exposure": exposure}
        passed = [name for name, value in beside.items() if value is not None]
        needed = first.design.needed(passed)
        if transform and is_row(plain_data(exog, needed)):
            return {
                name: fit.predict(exog, back_transform=back_transform, **beside)
                for name, fit in zip(names, self.values(), strict=True)
            }
        endog = [fit.model.endog for fit in self.values()]
        sizes = {len(y) for y in endog if y is not None}
        if exog is None and len(sizes) > 1:
            raise ArgumentError(
                "exog",
                "must be given if the fits have different rows, because a missing "
                "response leaves out a row",
                None,
            )
        if back_transform:
            back = self.get_prediction(exog, transform, back_transform=True, **beside)
            medians = [one.predicted_median for one in back.values()]
            table = next(iter(back.values())).response
            return table.frame(dict(zip(names, medians, strict=True)))
        found = self.get_prediction(exog, transform, **beside)
        columns = {name: one.predicted() for name, one in found.items()}
        return next(iter(found.values())).frame(columns)

    def _columns_behind(self) -> list[str]:
        """Columns that the responses were made from."""
        names = []
        for name, fit in self.items():
            if fit.inner.classes is not None:
                raise ArgumentError(
                    "back_transform",
                    "needs responses of numbers",
                    Message("labels for {name!r}", name=name),
                    "Leave it out, or ask each fit by itself.",
                )
            names.append(Inverse.of(fit.design.response).column)
        if len({*names}) < len(names):
            raise ArgumentError(
                "back_transform",
                "needs responses of different columns",
                list(self),
                "Ask each fit by itself.",
            )
        return names

    @overload
    def get_prediction(
        self, exog: Any = ..., transform: bool = ..., *,
        back_transform: Literal[False] = ..., offset: Any = ..., exposure: Any = ...,
    ) -> dict[str, PredictionResults]: ...  # fmt: skip

    @overload
    def get_prediction(
        self, exog: Any = ..., transform: bool = ..., *, back_transform: Literal[True],
        offset: Any = ..., exposure: Any = ...,
    ) -> dict[str, BackTransformedResults]: ...  # fmt: skip

    def get_prediction(
        self,
        exog: Any = None,
        transform: bool = True,
        *,
        back_transform: bool = False,
        offset: Any = None,
        exposure: Any = None,
    ) -> dict[str, Any]:
        """Predictive distributions of every response, by name.

        Parameters
        ----------
        exog, transform, back_transform, offset, exposure
            As in `DynamicTreeResults.get_prediction`.

        Returns
        -------
        dict of str to PredictionResults or BackTransformedResults
        """
        beside = {"offset": offset, "exposure": exposure}
        if params.flag("back_transform", back_transform):
            return {
                name: fit.get_prediction(exog, transform, back_transform=True, **beside)
                for name, fit in self.items()
            }
        return {
            name: fit.get_prediction(exog, transform, **beside)
            for name, fit in self.items()
        }

    def append(
        self,
        data: Any,
        *,
        weights: Any = None,
        freq_weights: Any = None,
        offset: Any = None,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn further rows. Either all responses learn them or none does.

        Parameters
        ----------
        data, weights, freq_weights, offset, exposure, progress
            As in `DynamicTreeResults.append`.

        Returns
        -------
        self

        Notes
        -----
        The fits learn in copies, which replace them after all have learned.
        """
        self._parts = {
            name: fit.append(
                data,
                weights=weights,
                freq_weights=freq_weights,
                offset=offset,
                exposure=exposure,
                copy=True,
                progress=progress,
            )
            for name, fit in self.items()
        }
        return self

    def copy(self) -> Self:
        """Return independent results that would learn alike, of the same models."""
        return type(self)({name: fit.copy() for name, fit in self.items()})

    def summary(self) -> Any:
        """The summaries of all fits, one below the other.

        Returns
        -------
        statsmodels.iolib.summary.Summary
        """
        from dyntree.api.summary_tables import ShownSummary

        whole, notes = ShownSummary(), []
        for fit in self.values():
            part = fit.summary()
            whole.tables += part.tables
            notes.append(part.extra_txt)
        whole.add_extra_txt(list(dict.fromkeys("\n".join(notes).split("\n"))))
        return whole

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        html: str = self.summary().as_html()
        return html


@wraps(DynamicTreeModel.from_formula, assigned=("__doc__",))
def dynamic_tree(
    formula: str, data: Any, *args: Any, **options: Any
) -> DynamicTreeModel | MultiResponseModel:
    """Make a model; `DynamicTreeModel.from_formula` says of what."""
    accepted = signature(DynamicTreeModel.from_formula).parameters
    check_accepted("dynamic_tree", options, tuple(accepted))
    if isinstance(formula, str):
        left, tilde, right = sides(formula)
        responses = summands(left) if tilde and left else [left]
        if len(responses) > 1:
            return _several(formula, responses, right, data, args, options)
    return DynamicTreeModel.from_formula(formula, data, *args, **options)


def _several(
    formula: str,
    responses: list[str],
    right: str,
    data: Any,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> MultiResponseModel:
    """A model of each response; none is an input of another."""
    expressions = [Expression.parse(one) for one in responses]
    columns = {name for one in expressions for name in one.columns}
    models = {}
    for text, one in zip(responses, expressions, strict=True):
        others = "".join(f" - `{name}`" for name in sorted(columns - {*one.columns}))
        own = f"{text} ~ ({right}){others}" if others else f"{text} ~ {right}"
        with shown_as({own: formula}):
            model = DynamicTreeModel.from_formula(own, data, *args, **options)
        used = columns & {*model.design.columns}
        if used:
            raise ArgumentError(
                "formula",
                "must not use a response as an input",
                Message(
                    "{formula!r}, which uses {used!r}", formula=formula, used=min(used)
                ),
            )
        if model.endog_names in models:
            raise ArgumentError(
                "formula", "must have responses that differ", formula, "Name each once."
            )
        models[model.endog_names] = model
    return MultiResponseModel(models)
