"""Formulas, read by formulaic: text -> a response and terms, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyntree.encoding.design import absence
from dyntree.encoding.expressions import Expression


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

    Returns
    -------
    response : Expression
    terms : list of list of Expression

    Raises
    ------
    ValueError
        If it is no such formula, or names other columns.
    ImportError
        If formulaic is absent.

    Examples
    --------
    >>> from dyntree.api.terms import parse
    >>> response, terms = parse("np.log(y) ~ . - b + a:c", ["a", "b", "c", "y"])
    >>> [[factor.label for factor in term] for term in terms]
    [['a'], ['c'], ['a', 'c']]
    """
    try:
        from formulaic import Formula, SimpleFormula
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultFormulaParser
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
        tokens = DefaultFormulaParser().get_tokens(right)
        named = [token.token for token in tokens if token.kind.value == "name"]
        if absent := [name for name in dict.fromkeys(named) if name not in columns]:
            raise absence(absent, columns)  # also of those that are taken away
        inputs = [name for name in columns if name not in response.columns]
        found = Formula(
            f"1 ~ {right}",  # the left is read above
            _context={"__formulaic_variables_available__": inputs},
        ).rhs
        if not isinstance(found, SimpleFormula):
            raise ValueError(f"formula must have no '|'; got {formula!r}.")
        terms = [[_factor(factor) for factor in term.factors] for term in found]
    except (FormulaicError, SyntaxError) as error:
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


def without(
    terms: list[list[Expression]], dropped: Sequence[str]
) -> list[list[Expression]]:
    """Terms without those of these names."""
    names = [":".join(factor.label for factor in term) for term in terms]
    absent = [name for name in dropped if name not in names]
    if isinstance(dropped, str) or absent or {*names} <= {*dropped}:
        raise ValueError(
            f"drop_cols must be a list of some of the formula's terms, {names}; got "
            f"{dropped!r}."
        )
    return [t for t, name in zip(terms, names, strict=True) if name not in dropped]
