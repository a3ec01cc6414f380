"""y as users hold it: responses and counts -> floats, labels -> objects and codes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import LEVELS, refuse_numbers_as_text, value_kind
from dyntree.encoding.frames import check_eager
from dyntree.encoding.series import column_of, objects_of
from dyntree.encoding.values import LARGEST, Vector, real_array, too_large
from dyntree.errors import (
    ArgumentError,
    ManyLabelsWarning,
    Message,
    SimilarLabelsWarning,
    TwoNumbersWarning,
    warn,
)
from dyntree.params import as_array
from dyntree.params.labels import checked_label

MOST_NEW = 50  # by how many labels that were new may outnumber others, before a warning
ENOUGH = 20  # responses, which are seldom two whole numbers if they are no labels
MOST_EVENTS = 2.0**53  # that doubles count one by one
TEXT_BESIDE = (
    "It is a number with a fraction, beside the text {text!r}{where}. If that means "
    "missing, leave such rows out, and give numbers alone; if all are labels, name "
    "them: classes=(...)."
)


def real_response(y: Any, n_rows: int, rules: str = "r") -> Vector:
    """Responses as a float64 array of shape (n_rows,), finite and not too large."""
    values = real_array("y", _vector(y, n_rows), "Labels need model='class'.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ArgumentError(
            "y", "must be finite", values[bad[0]], "Leave such rows out.", row=bad[0]
        )
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if rules == "native" and len(large):
        raise too_large("y", values[large[0]], large[0])
    return values


class Exposed(NamedTuple):
    """A count of events, and the exposure it was counted over.

    Attributes
    ----------
    events : float
    exposure : float
    """

    events: float
    exposure: float


def count_response(y: Any, n_rows: int) -> Vector:
    """Counts as a float64 array of shape (n_rows,), whole and >= 0."""
    refuse_booleans(y)
    counts = real_response(y, n_rows)
    bad = np.flatnonzero(
        ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts <= MOST_EVENTS))
    )
    if len(bad):
        got = str(counts[bad[0]]).removesuffix(".0")  # with all digits: 12.00004
        raise ArgumentError(
            "y",
            "must be counts 0, 1, 2, ...",
            Message("{got}", got=got),
            "For other responses see trees with model='constant' or 'linear'.",
            row=bad[0],
        )
    return counts


def count_list(y: Any, n_rows: int) -> list[Any]:
    """Counts as a list of floats; `Exposed` ones, which were checked, as they are."""
    if isinstance(y, list) and y and all(isinstance(one, Exposed) for one in y):
        if len(y) == n_rows:
            return y
        y = [one.events for one in y]
    return [*count_response(y, n_rows).tolist()]


def are_labels(y: Any) -> bool:
    """Whether responses are text, categories or bools, which labels alone are.

    Raises
    ------
    ValueError
        For numbers as text, each of which would be a label.

    Examples
    --------
    >>> are_labels(["u", "v"]), are_labels([True]), are_labels([0, 1])
    (True, True, False)
    """
    try:
        column = column_of(y)
    except (TypeError, ValueError):  # whoever learns it says what is wrong with it
        return False
    if not len(column.values):
        return False
    kind = column.values.dtype.kind
    if column.is_category or kind == "b":
        return True
    if kind not in "OU":
        return False
    refuse_numbers_as_text(column, "y")
    values = [value for _, value in column.present()]
    return ({*map(type, values)} <= {bool, np.bool_} and bool(values)) or any(
        value_kind(value) == LEVELS for value in values
    )


@dataclass(frozen=True)
class NumbersWatch:
    """Responses so far of a model whose leaves nobody named; they may be labels.

    Parameters
    ----------
    n_rows : int, default 0
    values : tuple of float
        At most two, which all responses so far have.
    """

    n_rows: int = 0
    values: tuple[float, ...] = ()

    def after(self, y: Any, leaves: str) -> NumbersWatch | None:
        """Look at further responses, and warn where there are enough that vary.

        Parameters
        ----------
        y : array_like of shape (n_rows,)
        leaves : {"mixed", "linear"}
            What the leaves hold.

        Returns
        -------
        NumbersWatch or None
            None once the responses have shown what they are.
        """
        numbers = _finite(y)
        n_rows = self.n_rows + len(numbers)
        values = np.unique(np.append(numbers, self.values)).tolist()
        if len(values) > 2 or not all(map(float.is_integer, values)):
            return None
        if n_rows < ENOUGH or len(values) < 2:
            return NumbersWatch(n_rows, tuple(values))
        warn(
            TwoNumbersWarning,
            "the first {n_rows} responses are {low:g} and {high:g} alone, and are "
            "taken for numbers. If they are labels, use model='class'; if they are "
            f"numbers, model={leaves!r} says so.",
            n_rows=n_rows,
            low=values[0],
            high=values[1],
        )
        return None


def warn_of_two_numbers(y: Any, leaves: str) -> None:
    """Warn of responses that are taken for numbers and may be labels, as 0 and 1.

    Parameters
    ----------
    y : array_like of shape (n_rows,)
    leaves : {"mixed", "linear", "constant"}
        The model in the leaves that nobody named.
    """
    NumbersWatch().after(y, leaves)


def _finite(y: Any) -> Vector:
    """The finite numbers of responses; none where whoever learns them says why."""
    try:
        numbers = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)
    finite: Vector = numbers[np.isfinite(numbers)]
    return finite


def refuse_booleans(y: Any, argument: str = "y", column: str | None = None) -> None:
    """Raise ValueError for responses to be learned as numbers that are booleans.

    They are labels everywhere; beside numbers they would count as 0 and 1.
    """
    try:
        values = column_of(y).values
    except (TypeError, ValueError):  # whoever learns it says what is wrong with it
        return
    if values.dtype.kind not in "bO":
        return
    for row, value in enumerate(values.ravel().tolist()):
        if isinstance(value, bool | np.bool_):
            raise ArgumentError(
                argument,
                "must hold real numbers",
                value,
                "Labels need model='class'; convert booleans that are meant as 0 and 1 "
                "to numbers.",
                row=row,
                column=column,
            )


class TypedLabels(list[Any]):
    """Labels of rows, and all that the type of their column names.

    Attributes
    ----------
    classes : tuple
        The labels that the type names, in increasing order.
    """

    def __init__(self, labels: Iterable[Any], classes: tuple[Hashable, ...]) -> None:
        super().__init__(labels)
        self.classes = classes

    def __getitem__(self, rows: Any) -> Any:
        """A label, or those of some rows with what their type names."""
        labels = super().__getitem__(rows)
        return TypedLabels(labels, self.classes) if isinstance(rows, slice) else labels


def classes_of_type(y: Any) -> tuple[Hashable, ...]:
    """Labels that the type of responses names, in increasing order.

    Examples
    --------
    >>> import pandas as pd
    >>> classes_of_type(pd.Categorical(["u"], categories=["v", "u"]))
    ('u', 'v')
    >>> classes_of_type(["u"])
    ()
    """
    if isinstance(y, TypedLabels):
        return y.classes
    if isinstance(y, list | tuple | np.ndarray) or not hasattr(y, "dtype"):
        return ()
    categories = column_of(y).categories or ()
    return sorted_labels([checked_label(label, "y") for label in categories])


def label_list(y: Any, n_rows: int) -> list[Any]:
    """Labels as a list of plain objects; `TypedLabels` where their type names some.

    Raises
    ------
    ValueError
        For a label that is missing, and for more or fewer labels than rows.
    UnusableValueError
        For an object of a type that cannot be a label.
    """
    labels = [
        checked_label(label, "y", row, "Leave such rows out.")
        for row, label in enumerate(_label_objects(y, n_rows))
    ]
    classes = classes_of_type(y)
    return TypedLabels(labels, classes) if classes else labels


def refuse_measurements(
    labels: Sequence[Any], named: Collection[Hashable] | None = None
) -> None:
    """Raise ValueError for labels that are numbers with a fraction and not named.

    They are what somebody measured and wants to predict: each of them would become a
    class. scikit-learn's classifiers refuse them, too. A text among them is shown, or
    the only one among those that are named or known: it may mean that none is there.
    """
    for row, label in enumerate(labels):
        if not isinstance(label, float | Decimal) or float(label).is_integer():
            continue
        if named is None or label not in named:
            remedy = _text_among(labels, named or ()) or (
                "It is a number with a fraction. Predict such numbers with trees, "
                "model='constant' or 'linear', or say that they are labels: "
                "classes=(...)."
            )
            raise ArgumentError("y", "must hold labels", label, remedy, row=row)


def _text_among(labels: Sequence[Any], known: Iterable[Hashable]) -> Message | None:
    """What to do about measurements beside text; None where there is none."""
    for row, label in enumerate(labels):
        if isinstance(label, str):
            where = Message(" in row {row}", row=row)
            return Message(TEXT_BESIDE, text=label, where=where)
    texts = [label for label in known if isinstance(label, str)]
    if len(texts) != 1:
        return None
    return Message(TEXT_BESIDE, text=texts[0], where=" before it")


def warn_of_labels(
    labels: Sequence[Any],
    known: Collection[Hashable] | None,
    n_before: int,
    warned: set[Hashable],
) -> None:
    """Warn once of labels that differ in spelling alone, and of ever new ones.

    Labels are classes of their own as soon as their types or spellings differ, as "1"
    and 1 do. Readers of files and tables often change them. With k equally frequent
    labels new ones outnumber others by k (1 - log 2) = 0.31 k at most on average.

    Parameters
    ----------
    labels : sequence of length n_rows
    known : collection of labels that were learned before, or named
    n_before : int
        Rows before these.
    warned : set
        What there was a warning of.
    """
    before = dict.fromkeys(known or ())
    fresh = [label for label in dict.fromkeys(labels) if label not in before]
    if not fresh:
        return
    if "similar labels" not in warned:
        plain = {_plain(label): label for label in before}
        for label in fresh:
            other = plain.setdefault(_plain(label), label)
            if other is not label:
                warn(
                    SimilarLabelsWarning,
                    "the labels {other!r} and {label!r} are two classes. If they mean "
                    "the same, convert the responses to one type and one spelling.",
                    other=other,
                    label=label,
                )
                warned.add("similar labels")
                break
    n_labels, n_rows = len(before) + len(fresh), n_before + len(labels)
    if 2 * n_labels - n_rows > MOST_NEW and "many labels" not in warned:
        warn(
            ManyLabelsWarning,
            "the responses have {n_labels} labels in {n_rows} rows, such as {label!r}, "
            "and each is a class of its own. If they are numbers, convert them.",
            n_labels=n_labels,
            n_rows=n_rows,
            label=fresh[-1],
        )
        warned.add("many labels")


def _plain(label: Hashable) -> str:
    """A label without its type, case and spaces around it."""
    return str(label).strip().casefold().removesuffix(".0")


def _label_objects(y: Any, n_rows: int) -> list[Any]:
    """Labels as they were given, one a row; times of arrays as those of NumPy's."""
    if type(y).__module__.partition(".")[0] in ("polars", "pyarrow"):
        check_eager(y, "y")
        y = column_of(y).labels()
    if isinstance(y, list | tuple) and any(isinstance(label, tuple) for label in y):
        y = objects_of(y)
    elif isinstance(y, list | tuple):
        y = as_array("y", y, object)
    values = _vector(y, n_rows)
    return [*values] if values.dtype.kind in "mM" else values.tolist()


def _vector(y: Any, n_rows: int) -> NDArray[Any]:
    """Responses as an array of one value a row, of any type."""
    rule = f"must be of shape ({n_rows},), one response a row of X"
    values = as_array("y", y)
    if values.ndim == 0:
        if values.dtype == object:
            check_eager(y, "y")
        if n_rows != 1 or y is None:
            remedy = "Pass the column, not its name." if isinstance(y, str) else ""
            raise ArgumentError("y", rule, y, remedy)
        values = values.reshape(1)
    if values.ndim != 1 or len(values) != n_rows:
        remedy = "Pass one column, such as frame['name'] or array[:, 0]."
        got = Message("shape {shape}", shape=values.shape)
        raise ArgumentError("y", rule, got, remedy if values.ndim == 2 else "")
    return values


def label_codes(labels: Sequence[Any], classes: tuple[Hashable, ...]) -> Vector:
    """Labels as places in `classes`."""
    place = {label: float(k) for k, label in enumerate(classes)}
    codes = np.empty(len(labels))
    for row, label in enumerate(labels):
        if label not in place:
            raise ArgumentError(
                "y",
                "must hold labels among {classes}",
                label,
                "Name every label at the start: classes=(...).",
                row=row,
                classes=list(classes),
            )
        codes[row] = place[label]
    return codes


def sorted_labels(labels: Sequence[Any]) -> tuple[Hashable, ...]:
    """Distinct labels in increasing order."""
    try:
        return tuple(sorted(set(labels)))
    except TypeError as error:
        first = labels[0]
        row, other = next(
            (
                (row, label)
                for row, label in enumerate(labels)
                if type(label) is not type(first)
            ),
            (len(labels) - 1, labels[-1]),  # of one type that has no order
        )
        raise ArgumentError(
            "y",
            "must hold numbers alone, or labels of one type",
            Message("{first!r} and {other!r}", first=first, other=other),
            "Correct them, or name labels of different types in order with "
            "classes=(...).",
            row=row,
        ) from error
