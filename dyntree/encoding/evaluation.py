"""Values of the expressions of a formula in rows; undefined ones are warned of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.expressions import Expression
from dyntree.encoding.values import LARGEST, Vector
from dyntree.errors import ArgumentError, UndefinedTermWarning, warn

MOST_TOLD = 10  # rows that a warning names


def evaluated(
    expression: Expression, read: Callable[[str], Vector], n_rows: int
) -> Vector:
    """Value of an expression, NaN where it is undefined or a column is missing.

    Warns of rows where it is undefined: infinite, too large, or not a number though all
    its columns are there. Such a value of a column as it is is an error.
    """
    values = np.broadcast_to(np.asarray(expression.value(read)), (n_rows,))
    missing = np.zeros(n_rows, dtype=bool)
    for name in expression.columns:
        missing |= np.isnan(read(name))
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST) & ~missing)
    if len(bad):
        row = int(bad[0])
        if expression.is_bare:
            raise not_finite(expression.label, float(values[row]), row)
        given = {name: float(read(name)[row]) for name in expression.columns}
        tell_undefined(expression.label, float(values[row]), bad.tolist(), given)
        missing[bad] = True
    return np.where(missing, np.nan, values)


def not_finite(label: str, value: float, row: int) -> ValueError:
    """Error for a column whose value in a row is infinite or too large."""
    return ArgumentError(
        "data",
        "must give {label} a finite value of at most {largest:g} in size, unless it "
        "is missing",
        value,
        "Give NaN, drop the row, or change the term.",
        row=row,
        label=label,
        largest=LARGEST,
    )


def tell_undefined(
    label: str,
    value: float,
    rows: Sequence[int] | NDArray[np.int64],
    given: dict[str, float] | None = None,
) -> None:
    """Warn of rows in which a term has no finite value; the first is shown."""
    named = ", ".join(str(row) for row in rows[:MOST_TOLD])
    more = f" and {len(rows) - MOST_TOLD} more" if len(rows) > MOST_TOLD else ""
    where = f", where {given}" if given else ""
    noun = "row" if len(rows) == 1 else "rows"
    warn(
        UndefinedTermWarning,
        "data should give {label} a finite value of at most {largest:g} in size; got "
        "{value} in row {rows}{where}. It counts as missing in {noun} {named}{more}. "
        "Change the term or the data if these rows should count.",
        label=label,
        largest=LARGEST,
        value=value,
        rows=rows[0],
        where=where,
        noun=noun,
        named=named,
        more=more,
    )
