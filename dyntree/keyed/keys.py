"""Keys as users have them -> plain Python objects, their text, and their seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable
from datetime import date, datetime
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from dyntree.errors import (
    ArgumentError,
    Message,
    MissingKeyWarning,
    UnusableValueError,
    warn,
)
from dyntree.params.labels import (
    checked_label,
    from_json,
    is_missing,
    plain_label,
    to_json,
)

SIMPLE = (str, int)  # and bool, which is an int
KINDS: dict[type, str] = {  # a bool is an int, and a time is a date
    bool: "truth values", int: "integers", str: "text", datetime: "times",
    date: "dates",
}  # fmt: skip
TUPLES = "tuples of "
Key = Hashable


def keys_of(values: Any, n_rows: int, argument: str = "key") -> list[Key]:
    """One key for each of some rows, as plain Python objects.

    Parameters
    ----------
    values : array_like of shape (n_rows,)
        Text, integers, truth values, dates, or tuples of these.
    n_rows : int
    argument : str, default "key"
        What errors call them.

    Raises
    ------
    ValueError
        For missing keys, or another number of them than of rows.
    TypeError
        For keys of any other type.
    """
    objects = _objects(values, argument)
    if len(objects) != n_rows:
        raise ArgumentError(
            argument,
            "must have one value a row of X, {n_rows}",
            Message("{n}", n=len(objects)),
            n_rows=n_rows,
        )
    return [_checked(value, row, argument) for row, value in enumerate(objects)]


MOST_WHOLE = 2.0**53  # from which floats skip whole numbers


def warn_without_key() -> None:
    """Warn of a model whose rows have columns, none of which is the key."""
    warn(
        MissingKeyWarning,
        "there is no key, so that all rows are of one series. Name the column that "
        "says whose row each is: key='...'.",
    )


def whole_keys(values: Any, argument: str = "key") -> list[Key]:
    """Keys in a column of an array of numbers, which must be whole."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(np.abs(numbers) >= MOST_WHOLE)
    if len(bad):
        raise ArgumentError(
            argument,
            f"must hold whole numbers below {MOST_WHOLE:.0f} where it is a column of "
            "an array of floats, in which larger ones are rounded",
            float(numbers[bad[0]]),
            "Pass the keys as an array of their own.",
            row=int(bad[0]),
        )
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers == np.floor(numbers))))
    if len(bad):
        raise ArgumentError(
            argument,
            "must hold whole numbers where it is a column of an array of numbers",
            float(numbers[bad[0]]),
            "Pass the keys as an array of their own.",
            row=int(bad[0]),
        )
    return [int(number) for number in numbers]


def key_text(key: Key) -> str:
    """A key as JSON, in which 1 and "1" differ; the name of the key in a store.

    Examples
    --------
    >>> key_text("a17"), key_text(17), key_text((17, "a"))
    ('"a17"', '17', '{"tuple":[17,"a"]}')
    """
    return json.dumps(to_json(key), separators=(",", ":"), sort_keys=True)


def key_in(text: str) -> Key:
    """The key that `key_text` wrote."""
    key: Key = from_json(json.loads(text))
    return key


def key_kind(text: str) -> str:
    """What kind of key a text of `key_text` is.

    Examples
    --------
    >>> key_kind('17'), key_kind('"17"'), key_kind(key_text((1, "a")))
    ('integers', 'text', 'tuples of integers and text')
    """
    first = {'"': "text", "t": "truth values", "f": "truth values", "{": None}
    kind = first.get(text[0], "integers")
    return _kind_of(key_in(text)) if kind is None else kind


def is_kind(kind: object) -> bool:
    """Whether it is what `key_kind` returns for some key."""
    return kind in KINDS.values() or str(kind).startswith(TUPLES)


def _kind_of(key: Key) -> str:
    if isinstance(key, tuple):
        return f"{TUPLES}{' and '.join(map(_kind_of, key)) or 'nothing'}"
    return next(name for kind, name in KINDS.items() if isinstance(key, kind))


def key_named(text: str, kinds: Collection[str]) -> Key:
    """The key that text without a type means, by the kinds of keys that there are.

    Parameters
    ----------
    text : str
    kinds : collection of str
        As of `key_kind`. Where there are none yet, whole numbers are integers.

    Examples
    --------
    >>> key_named("17", ["integers"]), key_named("17", ["text"])
    (17, '17')
    >>> key_named("2024-02-29", ["dates"])
    datetime.date(2024, 2, 29)
    """
    for kind, read in READERS.items():
        if kind in (kinds or ["integers"]):
            key = read(text)
            if key is not None:
                return key
    return text


def _whole(text: str) -> int | None:
    """The integer that Python writes so."""
    return int(text) if WHOLE.fullmatch(text) else None


def _moment(kind: type[date], text: str) -> date | None:
    """The date, or the date and time, that is written so."""
    try:
        moment = kind.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.isoformat() == text else None


WHOLE = re.compile(r"0|-?[1-9][0-9]{0,999}")
READERS: dict[str, Callable[[str], Key | None]] = {
    "integers": _whole,
    "truth values": {"true": True, "false": False, "True": True, "False": False}.get,
    "dates": partial(_moment, date),
    "times": partial(_moment, datetime),
}


def key_seed(seed: int, text: str) -> int:
    """The seed of a key's own tree: 32 bits of a hash of the model's seed and the key.

    Examples
    --------
    >>> key_seed(1, key_text("1")) == key_seed(1, key_text(1))
    False
    """
    digest = blake2b(f"{seed}:{text}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little")


def _objects(values: Any, argument: str) -> list[Any]:
    """Keys as objects of the types that they have.

    Columns of nullable integers would become numbers elsewhere in the package.
    """
    for name in ("to_pylist", "to_list"):  # pyarrow; pandas and polars
        if hasattr(values, name):
            return [*getattr(values, name)()]
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values.tolist() if values.dtype.kind in "biuU" else [*values]
    if isinstance(values, str) or not np.iterable(values):
        raise ArgumentError(
            argument,
            "must name a column or be an array with one key for each row",
            values,
        )
    return [*values]


def _checked(value: Any, row: int, argument: str) -> Key:
    """One key, plain."""
    if type(value) in SIMPLE:
        simple: Key = checked_label(value, argument, row)
        return simple
    if is_missing(value):
        raise ArgumentError(
            argument,
            "must not be missing",
            value,
            "Drop such rows, or name them, as 'none'.",
            row=row,
        )
    key = plain_label(value)
    if not _is_key(key):
        whole = isinstance(key, float) and key.is_integer()
        raise UnusableValueError(
            argument,
            "must be text, integers, truth values, dates, or tuples of these",
            value,
            "It is of type {kind}." + " Convert it to integers." * whole,
            row=row,
            kind=type(value).__name__,
        )
    checked: Key = checked_label(key, argument, row)
    return checked


def _is_key(key: Any) -> bool:
    """Whether a plain object may be a key."""
    if type(key) is tuple:
        return all(map(_is_key, key))
    return isinstance(key, str | int | date)
