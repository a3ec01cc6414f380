"""The way back from a transformed response: ``np.log(y)`` -> exp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree.encoding.expressions import APPLIED, FUNCTIONS, Expression, Step
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message

# Inverses of functions that rise, from the least and to the largest value of theirs.
RISING: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "np.log": (np.exp, -np.inf, np.inf),
    "np.log2": (np.exp2, -np.inf, np.inf),
    "np.log10": (lambda v: np.power(10.0, v), -np.inf, np.inf),
    "np.log1p": (np.expm1, -np.inf, np.inf),
    "np.sqrt": (np.square, 0.0, np.inf),
    "np.exp": (np.log, 0.0, np.inf),
    "np.expm1": (np.log1p, -1.0, np.inf),
    "np.tanh": (np.arctanh, -1.0, 1.0),
}
Back = Callable[[Vector], Vector]


@dataclass(frozen=True)
class Inverse:
    """Takes values of a response back to the column that it was made from.

    Attributes
    ----------
    column : str
    steps : tuple of callable
        The last operation is undone first.
    falls : bool
        Whether a larger response is a smaller value of the column.

    Examples
    --------
    >>> back = Inverse.of(Expression.parse("np.log(z) * 2"))
    >>> back.column, back(np.array([0.0, 2.0])).round(3).tolist()
    ('z', [1.0, 2.718])
    """

    column: str
    steps: tuple[Back, ...]
    falls: bool

    @classmethod
    def of(cls, response: Expression) -> Inverse:
        """The inverse of a response.

        Raises
        ------
        ValueError
            If it is not a chain of rising or falling functions of one column.
        """
        try:
            return _chain(response.steps)
        except _NoInverse as error:
            raise ArgumentError(
                "back_transform",
                "needs a response that can be inverted: a column, {rising} or "
                "np.negative of one, plus, minus, times or divided by numbers, or "
                "scaled",
                Message("{label}, {error}", label=response.label, error=error),
                rising=", ".join(RISING),
            ) from None

    def __call__(self, values: Vector) -> Vector:
        """Values of the column; the nearest ones where none gives such a response."""
        with np.errstate(all="ignore"):
            for step in reversed(self.steps):
                values = step(values)
        return values

    def interval(self, ends: Vector) -> Vector:
        """Ends of intervals, shape (n_rows, 2), the lower one first."""
        back = self(ends)
        return back[:, ::-1] if self.falls else back


class _NoInverse(Exception):
    """Says why there is none."""


def _chain(steps: tuple[Step, ...]) -> Inverse:
    """Walk the steps of a response, whose value is a number or one column's."""
    stack: list[float | Inverse] = []
    for kind, what in steps:
        if kind == "column":
            stack.append(Inverse(str(what), (), False))
        elif kind == "number":
            stack.append(float(what))
        elif kind == "call":
            stack.append(_called(str(what), stack.pop()))
        elif kind == "apply":
            right = stack.pop()
            stack.append(_applied(str(what), stack.pop(), right))
        else:
            raise _NoInverse(f"where {what} is none")
    (found,) = stack
    if isinstance(found, float):
        raise _NoInverse("which has no column")
    return found


def _called(name: str, value: float | Inverse) -> float | Inverse:
    if isinstance(value, float):
        return float(FUNCTIONS[name](value))
    if name == "np.negative":
        return Inverse(value.column, (*value.steps, np.negative), not value.falls)
    if name not in RISING:
        raise _NoInverse(f"where {name} has no known inverse")
    function, least, largest = RISING[name]

    def back(values: Vector) -> Vector:
        inverse: Vector = function(np.clip(values, least, largest))
        return inverse

    return Inverse(value.column, (*value.steps, back), value.falls)


def _applied(
    operator: str, left: float | Inverse, right: float | Inverse
) -> float | Inverse:
    """The way back from a sum, difference, product or quotient with a number."""
    if isinstance(left, float) and isinstance(right, float):
        return float(APPLIED[operator](left, right))
    if isinstance(left, Inverse) and isinstance(right, float):
        inner, number, swapped = left, right, False
    elif isinstance(right, Inverse) and isinstance(left, float):
        inner, number, swapped = right, left, True
    else:
        raise _NoInverse(f"where {operator} is of two columns")
    if operator == "+":
        shift, factor = -number, 1.0
    elif operator == "-":  # x - c, or c - x
        shift, factor = (-number, -1.0) if swapped else (number, 1.0)
    elif operator == "*" and number:
        shift, factor = 0.0, 1.0 / number
    elif operator == "/" and number and not swapped:
        shift, factor = 0.0, number
    else:
        raise _NoInverse(f"where {operator} cannot be undone")

    def back(values: Vector) -> Vector:
        return (values + shift) * factor

    return Inverse(inner.column, (*inner.steps, back), inner.falls != (factor < 0.0))
