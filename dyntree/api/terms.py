"""Formulas, read by formulaic: text -> a response and terms, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dyntree.encoding.expressions import (
    Expression,
    StandIns,
    is_quoted,
    response_name,
    sides,
)
from dyntree.encoding.required_columns import absence
from dyntree.errors import ArgumentError, Message, shown

COMPARISON = re.compile(r"(<=|>=|==|!=|<|>)(-?)$")
OPERANDS = ("name", "value", "python", "comparison")
POWERS = ("**", "^")
OFFSET = re.compile(r"offset\s*\((.*)\)$", re.DOTALL)


class Parsed(NamedTuple):
    """A formula as data.

    Attributes
    ----------
    response : Expression
    terms : list of list of Expression
        For each term, the list of its factors.
    offsets : list of Expression
        The expressions in ``offset(...)``. Their sum is added to the prediction.
    """

    response: Expression
    terms: list[list[Expression]]
    offsets: list[Expression]


def parse(formula: str, columns: Sequence[str], beside: Sequence[str] = ()) -> Parsed:
    """Response, terms and offsets of a formula.

    Parameters
    ----------
    formula : str
        ``response ~ terms``, in the grammar of formulaic. Intercepts are dropped,
        because trees do not need them.
    columns : sequence of str
        Columns that ``.`` stands for, apart from those of the response.
    beside : sequence of str, optional
        Columns that ``.`` does not stand for.

    Returns
    -------
    Parsed

    Raises
    ------
    ValueError
        If the text is not such a formula, or uses other columns.
    ImportError
        If formulaic is not installed.

    Examples
    --------
    >>> from dyntree.api.terms import parse
    >>> found = parse("np.log(y) ~ . - b + a:c + offset(b)", ["a", "b", "c", "y"])
    >>> [[factor.label for factor in term] for term in found.terms]
    [['a'], ['c'], ['a', 'c']]
    >>> found.offsets[0].columns
    ('b',)
    """
    try:
        from formulaic import Formula, SimpleFormula
        from formulaic.errors import FormulaicError
        from formulaic.parser.algos.tokenize import tokenize
    except ModuleNotFoundError as error:
        raise ImportError(
            "formulas need formulaic >= 1.1. Install it with: "
            "pip install '.[formula]' in a clone of dyntree."
        ) from error
    if not isinstance(formula, str):
        raise ArgumentError("formula", "must be text, 'y ~ a + b'", formula)
    left, tilde, right = sides(formula)
    if not left or not tilde or not right:
        raise ArgumentError("formula", "must be like 'y ~ a + b'", formula)
    # a column called 1 is not the intercept: formulaic knows columns by stand-ins
    stand_ins = _StandIns(columns, right)
    try:
        plain = left in columns or is_quoted(left)
        name = left if left in columns else response_name(formula)
        response = Expression.column(name) if plain else _response(left)
        written = stand_ins.written(tokenize(stand_ins.unquoted(right)))
        others = {*response.columns, *beside}
        inputs = [stand_ins.of(n) for n in columns if n not in others]
        found = Formula(
            f"1 ~ {written}",  # the left is read above
            _context={"__formulaic_variables_available__": inputs},
        ).rhs
        if not isinstance(found, SimpleFormula):
            raise ArgumentError("formula", "must have no '|'", formula)
        made = [[stand_ins.factor(one) for one in term.factors] for term in found]
    except (FormulaicError, SyntaxError) as error:
        reason = stand_ins.named(str(error).splitlines()[0], quote="")
        raise ValueError(
            Message(
                "formula must be one that formulaic can read; got {formula!r} "
                "({reason})",
                formula=formula,
                reason=reason,
            )
        ) from error
    terms, offsets = _without_offsets(made)
    # what names no column is an intercept, which trees do not need
    terms = [term for term in terms if any(factor.columns for factor in term)]
    if not terms or not response.columns:
        raise ArgumentError(
            "formula", "must name a response and one input at least", formula
        )
    both = {name for term in terms for factor in term for name in factor.columns}
    both |= {name for offset in offsets for name in offset.columns}
    if both & {*response.columns}:
        raise ArgumentError("formula", "must not use the response as an input", formula)
    return Parsed(response, terms, offsets)


def _without_offsets(
    made: list[list[Expression]],
) -> tuple[list[list[Expression]], list[Expression]]:
    """Terms, and apart from them the offsets, which stand alone."""
    terms: list[list[Expression]] = []
    offsets: list[Expression] = []
    for term in made:
        own = [factor for factor in term if OFFSET.match(factor.label)]
        if own and len(term) > 1:
            names = ":".join(factor.label for factor in term)
            raise ArgumentError(
                "formula",
                "must have {label} as a term of its own, in no interaction",
                names,
                "Write + {label}.",
                label=own[0].label,
            )
        if own:
            offsets += own
        else:
            terms.append(term)
    return terms, offsets


def _response(left: str) -> Expression:
    """The left side as one response."""
    found = Expression.parse(left)
    if found.is_arithmetic:
        raise ArgumentError(
            "formula",
            "must have one response",
            Message("{left!r}, which reads as several", left=left),
            "Write I({left}) for its value, or name a column.",
            left=left,
        )
    if found.asked is not None or (found.is_category and not found.is_of_column):
        raise ArgumentError(
            "formula",
            "must have a response of one column of numbers, or C(column) for labels",
            left,
            "Put such a column into the data.",
        )
    return found


class _StandIns(StandIns):
    """Names that stand for columns while formulaic reads the terms of a formula."""

    def of(self, name: str) -> str:
        """The stand-in of a column; ValueError where there is no such column."""
        if name not in self.places:
            raise absence([name], self.columns)  # also of what is taken away
        return super().of(name)

    def written(self, tokens: Iterable[Any]) -> str:
        """The formula of these tokens, with stand-ins for all names."""
        parts = []
        for token in tokens:
            text, kind = token.token, token.kind.value
            known = text
            if kind == "name" and not text.startswith(self.prefix):
                known = self.of(text)
            parts.append((f"{{{text}}}" if kind == "python" else known, kind, text))
        return " ".join(_compared(parts))

    def factor(self, factor: Any) -> Expression:
        """What a factor of formulaic's means."""
        if factor.eval_method.value == "lookup":
            return Expression.column(self.named(factor.expr, quote=""))
        text = self.named(factor.expr)
        inner = OFFSET.match(text.strip())
        if inner is None:
            return Expression.parse(text)
        found = Expression.parse(inner[1])
        if found.asked is not None or found.is_category:
            raise ArgumentError(
                "formula",
                "must have an offset of numbers",
                Message("{text}", text=text),
                "Name a column, or a value such as offset(np.log(x)).",
            )
        return replace(found, label=text.strip())


def _compared(parts: list[tuple[str, str, str]]) -> list[str]:
    """Parts of a formula, where each comparison became one of them, {a > 3}.

    Parameters
    ----------
    parts : list of (str, str, str)
        Of each the text for terms, the kind that formulaic gives it, and the text
        inside of a comparison.

    Raises
    ------
    SyntaxError
        Where a side is not a column, a number or a call.
    """
    found: list[tuple[str, str, str]] = []
    rest, nothing = iter(parts), ("", "", "")
    for part in rest:
        rule = COMPARISON.match(part[0]) if part[1] == "operator" else None
        if rule is None:
            found.append(part)
            continue
        left, right = found.pop() if found else nothing, next(rest, nothing)
        is_power = found and found[-1][0] in POWERS
        if left[1] not in OPERANDS or right[1] not in OPERANDS[:-1] or is_power:
            raise SyntaxError(
                f"{rule[1]} compares columns, numbers and calls only: write more in "
                "I(...)"
            )
        inner = f"{left[2]} {rule[1]} {rule[2]}{right[2]}"
        found.append((f"{{{inner}}}", "comparison", inner))
    texts = [text for text, _, _ in found]
    for (_, kind, _), after in zip(found, texts[1:], strict=False):
        if kind == "comparison" and after in POWERS:
            raise SyntaxError(
                f"{shown(after)} may not follow a comparison: write I(...)"
            )
    return texts


def without(
    terms: list[list[Expression]], dropped: Sequence[str]
) -> list[list[Expression]]:
    """Terms without those of these names."""
    names = [":".join(factor.label for factor in term) for term in terms]
    absent = [name for name in dropped if name not in names]
    if isinstance(dropped, str) or absent or {*names} <= {*dropped}:
        raise ArgumentError(
            "drop_cols",
            "must be a list of some of the formula's terms, {names}",
            dropped,
            names=names,
        )
    return [t for t, name in zip(terms, names, strict=True) if name not in dropped]
