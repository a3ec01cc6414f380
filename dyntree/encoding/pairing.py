"""Rows and what belongs to them: where both have labels, these must agree."""

from __future__ import annotations

from typing import Any


def check_paired(X: Any, values: Any, name: str = "y", argument: str = "X") -> None:
    """Refuse values whose index is not that of the rows.

    Values are paired with rows by position, which is what was meant only where labels,
    as pandas has them on both sides, stand in the same order. Values of another length
    are left to those who check lengths.

    Parameters
    ----------
    X : object
        Rows in any form.
    values : object
        One value a row, in any form.
    name, argument : str
        What errors call the values, and the rows.

    Raises
    ------
    ValueError
        Where both have an index and these differ.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0]})
    >>> check_paired(X, pd.Series([3.0, 4.0]))
    >>> check_paired(X, pd.Series([3.0, 4.0], index=[1, 0]))
    Traceback (most recent call last):
        ...
    ValueError: y and X must have the same index; theirs differ in row 0, 1 and 0. \
Give y.loc[X.index] to pair them by index, or y.to_numpy() to pair them by position.
    """
    if not (hasattr(X, "iloc") and hasattr(values, "iloc")):
        return
    known, own = X.index, values.index
    if len(known) != len(own) or own.equals(known):
        return
    ours, theirs = own.tolist(), known.tolist()  # plain values, for the message
    pairs = [slice(k, k + 1) for k in range(len(own))]
    row = next(p.start for p in pairs if not own[p].equals(known[p]))
    raise ValueError(
        f"{name} and {argument} must have the same index; theirs differ in row {row}, "
        f"{ours[row]!r} and {theirs[row]!r}. Give {name}.loc[{argument}.index] to pair "
        f"them by index, or {name}.to_numpy() to pair them by position."
    )
