"""What adapters to river have in common: rows as dicts, or as frames of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from dyntree.encoding.columns import Column, kind_of
from dyntree.encoding.frames import is_frame
from dyntree.encoding.series import column_of, objects_of
from dyntree.encoding.tables import Table, table_of
from dyntree.encoding.values import DECLARED, is_missing
from dyntree.errors import ArgumentError, Message, PhraseWords
from dyntree.params.labels import level_text
from dyntree.summaries import ClassPrediction

Row = Mapping[Hashable, Any]
BEFOREHAND = {  # adapters know no levels before there are rows of them
    "out, convert it to numbers or dates, or name the levels to use: ": "out, or "
    "convert it to numbers or dates",
    "out, make it numbers, or name the levels to use: ": "out, or make it numbers",
    ", or, if they are levels, name them: ": ", or ignore this if they are levels",
    ", or name all levels at the start: ": "",
    "; name the levels of such a column at the start: ": "",
}


def words_for(classifier: str) -> PhraseWords:
    """Words of adapters: levels are not named beforehand, and labels need a classifier.

    Examples
    --------
    >>> words_for("A").literal("Labels need model='class'.")
    'Labels need A.'
    """
    return PhraseWords(
        {DECLARED: ""},
        BEFOREHAND
        | {
            "Predict such numbers with trees, model='constant' or 'linear', or say "
            "that they are labels: classes=(...).": "Such numbers need "
            f"{classifier.replace('Classifier', 'Regressor')}.",
            "Labels need model='class'": f"Labels need {classifier}",
            "or pass model='class' if": f"or use {classifier} if",
        },
    )


def checked_frame(X: Any) -> Table:
    """A frame as a table.

    Raises
    ------
    ValueError
        If it is not a frame, or two columns have the same name.
    """
    if not is_frame(X):
        raise ArgumentError(
            "X",
            "must be a frame of pandas or another library",
            Message("{kind}", kind=type(X).__name__),
            "Give its rows to the calls of one row, or make it one.",
        )
    if hasattr(X, "iloc") and not X.columns.is_unique:
        raise ArgumentError("X", "must have distinct column names", [*X.columns])
    return table_of(X, "X")


def records_of(X: Any) -> list[Row]:
    """Rows of a frame as dicts; what a category holds is a level, and so text."""
    table = checked_frame(X)
    names = list(X.columns) if hasattr(X, "iloc") else table.names
    columns = [_values(name, table.read(name)) for name in table.names]
    if not columns:
        return [{} for _ in range(table.n_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def numbered(row: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Result of a call for a row of a frame; errors name the row."""
    try:
        return call(*arguments)
    except ValueError as error:
        error.args = (Message("row {row} of X: {error}", row=row, error=error),)
        raise


def series_of(X: Any, values: Any) -> Any:
    """One value for each row of a frame, as a column of its library."""
    if not hasattr(X, "iloc"):
        return checked_frame(X).series(np.asarray(values), "y")
    import pandas as pd

    return pd.Series(values, index=X.index)


def proba_frame(X: Any, prediction: ClassPrediction) -> Any:
    """Probabilities as a frame of the library of X, with a column per label."""
    if not hasattr(X, "iloc"):
        columns = zip(prediction.classes, prediction.proba.T, strict=True)
        found = {str(label): proba.copy() for label, proba in columns}
        return checked_frame(X).frame(found)
    import pandas as pd

    labels = pd.Index(list(prediction.classes), tupleize_cols=False, dtype=object)
    return pd.DataFrame(prediction.proba.copy(), index=X.index, columns=labels)


def best_labels(X: Any, prediction: ClassPrediction) -> Any:
    """Most probable label of each row of X, as a column of its library."""
    labels = objects_of([*prediction.classes] or [None])
    best = np.zeros(len(prediction.proba), dtype=np.int64)
    if prediction.classes:
        best = prediction.proba.argmax(axis=1)
    return series_of(X, labels[best].tolist())


def responses_of(y: Any, n_rows: int) -> list[Any]:
    """Responses or labels as objects, one for each row."""
    got = len(y) if np.ndim(y) and hasattr(y, "__len__") else y
    if got is y or got != n_rows:
        raise ArgumentError(
            "y", "must have one value a row of X, {n_rows}", got, n_rows=n_rows
        )
    if hasattr(y, "iloc") or isinstance(y, list):
        return [*y]
    return [*y] if isinstance(y, np.ndarray) else column_of(y).objects()


def _values(name: str, column: Column) -> list[Any]:
    """Values of a column as a row has them."""
    values = column.objects()
    if not column.is_category:
        return values
    kind_of(name, column, "X")  # refuses values that are none
    return [None if is_missing(value) else level_text(value) for value in values]
