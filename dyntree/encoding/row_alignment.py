"""Rows and what belongs to them: where both have labels, these must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from dyntree.errors import IndexOrderWarning, Message, warn

# kinds of an index of pandas that is one of times
TIMES = ("datetime64", "period", "timedelta64", "datetime", "date", "timedelta")
PAIRINGS = (
    "Give {name}.loc[{argument}.index] to pair them by index, or {name}.to_numpy() to "
    "pair them by position."
)


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
    ValueError: y and X must have the same index; row 0 has index 1 in y and 0 in X. \
Give y.loc[X.index] to pair them by index, or y.to_numpy() to pair them by position.
    """
    if (difference := _difference(X, values, name, argument)) is not None:
        raise ValueError(
            Message(
                "{name} and {argument} must have the same index; {difference}. "
                + PAIRINGS,
                name=name,
                argument=argument,
                difference=difference,
            )
        )


def warn_of_order(X: Any, values: Any, name: str) -> None:
    """Warn of values with the index of the rows in another order.

    Parameters
    ----------
    X, values, name
        As in `check_paired`. Values with other labels are paired by position, as usual
        in scikit-learn, and need no warning.
    """
    difference = _difference(X, values, name, "X")
    if difference is None or Counter(X.index) != Counter(values.index):
        return
    warn(
        IndexOrderWarning,
        "{name} has the index of {argument} in another order; {difference}. They are "
        "paired by position. " + PAIRINGS,
        name=name,
        argument="X",
        difference=difference,
    )


def warn_of_times(X: Any, warned: set[Hashable], name: str = "X") -> None:
    """Warn once of rows of a stream whose index goes back in time.

    Parameters
    ----------
    X : object
        Rows in any form. Frames of pandas may have an index of times.
    warned : set
        What there was a warning of.
    name : str, default "X"
        What the warning calls the rows.
    """
    if not hasattr(X, "iloc") or "times" in warned:
        return
    times = X.index
    if times.inferred_type not in TIMES or times.is_monotonic_increasing:
        return
    try:
        back = np.flatnonzero(times[1:] < times[:-1]) + 1
    except TypeError:  # objects that have no order, such as dates beside times
        return
    if not len(back):  # a time is missing
        return
    row = int(back[0])
    warn(
        IndexOrderWarning,
        "{name} goes back in time: row {row} has index {time} after {before}. The rows "
        "of a stream are learned in the order given; {name}.sort_index() puts them in "
        "the order of time.",
        name=name,
        row=row,
        time=str(times[row]),
        before=str(times[row - 1]),
    )
    warned.add("times")


def _difference(X: Any, values: Any, name: str, argument: str) -> Message | None:
    """Where indices of the same length differ first; None where they do not."""
    if not (hasattr(X, "iloc") and hasattr(values, "iloc")):
        return None
    known, own = X.index, values.index
    if len(known) != len(own) or own.equals(known):
        return None
    ours, theirs = own.tolist(), known.tolist()  # plain values, for the message
    pairs = [slice(k, k + 1) for k in range(len(own))]
    row = next(p.start for p in pairs if not own[p].equals(known[p]))
    return Message(
        "row {row} has index {ours!r} in {name} and {theirs!r} in {argument}",
        row=row,
        ours=ours[row],
        name=name,
        theirs=theirs[row],
        argument=argument,
    )


def rows_and_responses(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and responses apart, where they come as pairs and y is None.

    Parameters
    ----------
    X : rows in any form, or iterable of pairs
        Pairs of a row and its response, such as a dataset of river's. They are read to
        the end.
    y : responses, or None

    Raises
    ------
    ValueError
        If there is no y, and X has no pairs, or has no end.

    Examples
    --------
    >>> rows_and_responses(({"x": k} for k in range(2)), [0, 1])[1]
    [0, 1]
    >>> rows_and_responses((({"x": k}, 2 * k) for k in range(2)), None)
    ([{'x': 0}, {'x': 1}], [0, 2])
    """
    if y is not None:
        X, y = (list(one) if hasattr(one, "__next__") else one for one in (X, y))
        return X, y
    rule = (
        "X must be an iterable of pairs of a row and its response where y is not given"
    )
    if getattr(X, "n_samples", 0) is None:  # of river, which makes rows without an end
        raise ValueError(
            Message(
                "{rule}, and must end; got {kind}, which does not. Take some of it: "
                "X.take(1000).",
                rule=rule,
                kind=type(X).__name__,
            )
        )
    is_of_rows = hasattr(X, "columns") or isinstance(X, str | bytes | dict)
    if is_of_rows or not isinstance(X, Iterable):
        raise ValueError(
            Message(
                "{rule}; got {kind}. Give y, too.", rule=rule, kind=type(X).__name__
            )
        )
    rows, responses = [], []
    for number, pair in enumerate(X):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                Message(
                    "{rule}; got {kind} as number {number}. Give y, or pairs.",
                    rule=rule,
                    kind=type(pair).__name__,
                    number=number,
                )
            )
        row, response = pair
        rows.append(dict(row) if isinstance(row, Mapping) else row)
        responses.append(response)
    return rows, responses
