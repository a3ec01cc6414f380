"""Rows as scikit-learn checks them, where it would not take a value for what it is.

scikit-learn reads times as ticks of whatever unit they have, and text and categories
that look like numbers as numbers. Here they are read as everywhere else in the package;
plain numbers and names are scikit-learn's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from dyntree.encoding.columns import NUMBERS, TIMES, UNKNOWN, kind_of, value_kind
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.frames import check_eager, is_frame
from dyntree.encoding.row_input import named_columns
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import is_missing
from dyntree.errors import ArgumentError, Message, UnusableValueError
from dyntree.params import as_array

COLUMNS_SEEN = "_columns_in"  # where an estimator keeps columns that hold times


@contextmanager
def unchanged_on_errors(estimator: BaseEstimator) -> Iterator[None]:
    """Let an estimator be what it was, where an error or an interrupt ends a fit."""
    attributes = estimator.__dict__
    before = dict(attributes)
    try:
        yield
    except BaseException:
        attributes.clear()
        attributes.update(before)
        raise


def as_frame(X: Any) -> Any:
    """Rows as they are; a frame as one whose names scikit-learn sees.

    Masked values of an array are missing; scikit-learn would read them.

    Raises
    ------
    ValueError
        If X is a dict, a list of dicts, a series, or a frame without columns.
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse ones are dicts
        raise ArgumentError(
            "X",
            "must be an array, a list of rows or a frame",
            Message("a dict"),
            "Make it a frame first, such as pandas.DataFrame(X).",
        )
    check_eager(X, "X")
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        raise ArgumentError(
            "X",
            "must be 2-dimensional",
            Message("a 1-dimensional series of {n} values", n=len(X)),
            "A row of a frame is X.iloc[[0]], and a column X[['name']].",
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        raise ArgumentError(
            "X",
            "must be an array, a list of rows or a frame",
            Message("a list of dicts"),
            "Make it a frame first: pandas.DataFrame(X).",
        )
    if is_frame(X) and not len(X.columns):
        raise ArgumentError(
            "X",
            "must have at least one column",
            Message(
                "a frame of shape {shape}, with 0 feature(s) while a minimum of "
                "1 is required",
                shape=X.shape,
            ),
        )
    if isinstance(X, np.ma.MaskedArray):
        return as_array("X", X)
    plain = not is_frame(X) or hasattr(X, "iloc")
    return X if plain else table_of(X, "X").native


def refuse_sparse(X: Any, family: Any, of_counts: str) -> None:
    """Refuse a sparse matrix for a family of real numbers; another is for counts."""
    if hasattr(X, "tocsr"):
        raise UnusableValueError(
            "X",
            "must be a dense array",
            Message("a sparse matrix, with family={family!r}", family=family),
            "For counts, such as those of words, take {of_counts}; give other numbers "
            "as X.toarray().",
            of_counts=of_counts,
        )


def holds_more(X: Any) -> bool:
    """Whether rows hold more than plain numbers: times, or text in a frame.

    Raises
    ------
    UnusableValueError
        If a value of a frame is neither a number, text nor a time.
    """
    if is_frame(X):
        columns = named_columns(X) or {}
        kinds = {kind_of(name, column, "X") for name, column in columns.items()}
        return not kinds <= {NUMBERS, UNKNOWN}
    if isinstance(X, list | tuple) and len(X) and not hasattr(X[0], "columns"):
        X = as_array("X", X)
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "OU":
        return isinstance(X, np.ndarray) and X.dtype.kind in "mMS"
    values = [value for value in X.ravel().tolist() if not is_missing(value)]
    for text in (value for value in values if isinstance(value, str)):
        try:
            float(text)
        except ValueError:
            raise ArgumentError(
                "X",
                "must hold numbers where it is an array",
                text,
                "Give text in a frame, such as pandas.DataFrame(X).",
            ) from None
    return any(value_kind(value) in TIMES for value in values)


def checked_rows(estimator: Any, X: Any, reset: bool, **checks: Any) -> Any:
    """Rows of numbers, with times in days.

    Parameters
    ----------
    estimator : BaseEstimator
    X : rows as they were given
    reset : bool
        Whether they fix the columns.
    **checks
        As for `sklearn.utils.validation.check_array`.

    Raises
    ------
    ValueError
        For text and categories, and for columns of another kind than before.
    """
    X = as_frame(X)
    known = None if reset else vars(estimator).get(COLUMNS_SEEN)
    if known is None and not holds_more(X):
        if reset:
            vars(estimator).pop(COLUMNS_SEEN, None)
        return validate_data(estimator, X, reset=reset, **checks)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if reset:
        known, rows = FeatureMap.learn(X)
        setattr(estimator, COLUMNS_SEEN, known)
    else:
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else tuple(map(str, names))
        known = known or FeatureMap(estimator.n_features_in_, names)
        rows = known.encode(X)
    return check_array(rows, **checks)
