"""Results as plain values: one encoder for CSV, NDJSON, JSON, pages and `facts`.

Numbers, text and truth values stay what they are, whichever library they come from, so
that they are read back equal. Dates and time stamps become text in ISO 8601, and so do
durations; what holds several values becomes a list or a dict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from dyntree.params.labels import is_missing, plain_label

EXACT = frozenset({bool, int, float, str, type(None)})  # which JSON and CSV have


def plain(value: Any) -> Any:
    """A value as JSON and CSV have it; numbers that are not finite are retained.

    Examples
    --------
    >>> plain({2: np.int64(3), True: (np.True_, date(2024, 2, 29))})
    {'2': 3, 'true': [True, '2024-02-29']}
    >>> plain(timedelta(days=1, seconds=2))
    'P1DT2S'
    """
    if type(value) in EXACT:
        return value
    if isinstance(value, Mapping):
        return {name_of(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain(part) for part in value]
    value = plain_label(value)
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if is_missing(value):
        return None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, Decimal):
        return float(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def strict(value: Any) -> Any:
    """The same in strict JSON: None for what is no finite number.

    Examples
    --------
    >>> strict([1.0, float("nan"), {"q": float("inf")}])
    [1.0, None, {'q': None}]
    """
    found = plain(value)
    if isinstance(found, dict):
        return {name: strict(part) for name, part in found.items()}
    if isinstance(found, list):
        return [strict(part) for part in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def in_cell(value: Any) -> Any:
    """The same as a cell of a table holds it: what holds several values is text."""
    if type(value) in EXACT:
        return value
    found = plain(value)
    return text_of(found) if isinstance(found, list | dict) else found


def name_of(key: Any) -> str:
    """A key of a dict as text: text as it is, all else as JSON writes it."""
    return key if isinstance(key, str) else text_of(key)


def text_of(value: Any) -> str:
    """A value in a cell or on a page: text as it is, all else as JSON writes it.

    Examples
    --------
    >>> [text_of(value) for value in ("u", np.int64(1), False, ("u", 1))]
    ['u', '1', 'false', '["u", 1]']
    """
    found = plain(value)
    return found if isinstance(found, str) else json.dumps(found)


def distinct_names(labels: Sequence[Any], names: Sequence[str]) -> Sequence[str]:
    """Names of labels, or the labels as JSON where two of them have one name.

    Examples
    --------
    >>> distinct_names([1, "u"], ["1", "u"]), distinct_names([1, "1"], ["1", "1"])
    (['1', 'u'], ['1', '"1"'])
    """
    if len({*names}) == len(names):
        return names
    return [json.dumps(plain(label)) for label in labels]


def _duration(gap: timedelta) -> str:
    """A duration in ISO 8601, such as P1DT2.5S."""
    seconds = f"{gap.seconds}"
    if gap.microseconds:
        seconds += f".{gap.microseconds:06d}".rstrip("0")
    return f"P{gap.days}DT{seconds}S"
