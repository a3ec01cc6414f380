"""Record: the base class of answers, whose representation fits a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from dyntree.params.names import SuggestingAttributes

MOST_ITEMS = 4  # of a sequence that are shown one by one
MOST_NUMBERS = 8  # of an array


class Record(SuggestingAttributes):
    """An answer whose fields are arrays: long ones are shown by their shapes.

    Classes are dataclasses with ``repr=False``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.summaries import TreeStats
    >>> TreeStats(4.25, 5.0, 12.0, 0.0)
    <TreeStats: height=4.25, n_leaves=5, leaf_size=12, leaf_retired=0>
    """

    def __repr__(self) -> str:
        parts = (
            f"{part.name}={in_short(getattr(self, part.name))}"
            for part in fields(self)  # type: ignore[arg-type] # all are dataclasses
            if part.repr
        )
        return f"<{type(self).__name__}: {', '.join(parts)}>"


def in_short(value: Any) -> str:
    """A field as a line shows it."""
    shape = getattr(value, "shape", None)
    if shape is not None and shape != ():
        if len(shape) == 1 and 0 < shape[0] <= MOST_NUMBERS and _has_numbers(value):
            return f"[{', '.join(map(_number, value.tolist()))}]"
        return f"array of shape {tuple(shape)}"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, float) or shape == ():
        return f"{value:.6g}"
    if isinstance(value, Record):
        return f"<{type(value).__name__}>"
    if isinstance(value, Mapping):
        return f"dict of {len(value)}"
    if isinstance(value, Sequence):
        if len(value) <= MOST_ITEMS and all(map(_is_plain, value)):
            return repr(value)
        return f"{type(value).__name__} of {len(value)}"
    return repr(value) if _is_plain(value) else f"<{type(value).__name__}>"


def _has_numbers(value: Any) -> bool:
    """Whether an array holds numbers or truth values."""
    return getattr(getattr(value, "dtype", None), "kind", "") in ("b", "i", "u", "f")


def _number(value: float) -> str:
    """A number with four digits, or a whole one with all of its."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_plain(value: Any) -> bool:
    """Whether a value is a number or a text, short as it is."""
    return isinstance(value, bool | int | float | str) and len(str(value)) < 40
