"""A position in the user's source of rows <-> the JSON text that a file keeps of it."""

from __future__ import annotations

import json
import math
from typing import Any

from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import LARGEST_INT

MAX_BYTES = 1 << 20  # of the text
MAX_DEPTH = 64


def position_text(position: Any) -> str:
    """Return a position as JSON, from which it comes back equal.

    Parameters
    ----------
    position : None, bool, int, float, str, list or dict
        Lists and dicts hold these in their turn; keys are text.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For what JSON cannot hold, or would give back as something else.

    Examples
    --------
    >>> position_text({"clicks": [17, "1700000000000-3"]})
    '{"clicks":[17,"1700000000000-3"]}'
    """
    _check(position)
    text = json.dumps(position, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise _too_long()
    return text


def read_position(text: Any) -> Any:
    """Return the position that `position_text` wrote; ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError(
            Message("its position is no text, but {kind}", kind=type(text).__name__)
        )
    try:
        position = json.loads(text)
    except RecursionError as error:
        raise _too_deep() from error
    if position_text(position) != text:
        raise ValueError("its position is not as dyntree writes one")
    return position


def _check(position: Any) -> None:
    """Raise ValueError for what cannot be stored, at the first such value."""
    left, n_parts = [(position, 0)], 1  # values yet to be looked at, and their depths
    while left:
        value, depth = left.pop()
        kind = type(value)
        if kind is list or kind is dict:
            if depth == MAX_DEPTH:
                raise _too_deep()
            n_parts += len(value)
            if n_parts > MAX_BYTES:  # a list in itself many times over ends here
                raise _too_long()
            if kind is dict:
                for key in value:
                    if type(key) is not str:
                        raise ArgumentError(
                            "position",
                            "must have keys of text, as JSON has",
                            Message("the key {key!r}", key=key),
                            "Turn it into text.",
                        )
                    _check_text(key)
                value = value.values()
            left += [(part, depth + 1) for part in value]
        elif kind is str:
            _check_text(value)
        elif kind is float and not math.isfinite(value):
            raise ArgumentError(
                "position", "must hold finite numbers, as JSON does", value, "Use None."
            )
        elif kind is int and not -LARGEST_INT < value < LARGEST_INT:
            raise ArgumentError(
                "position",
                "must hold whole numbers of at most 600 digits",
                Message("a longer one"),
                "Turn it into text.",
            )
        elif value is not None and kind not in (bool, int, float):
            raise ArgumentError(
                "position",
                "must hold only what JSON can: None, truth values, numbers, text, "
                "lists, and dicts with keys of text",
                Message("a value of type {kind}", kind=kind.__name__),
                "Turn it into one of these, such as a scalar of NumPy's by item(), "
                "bytes by decode(), a tuple by list().",
            )


def _check_text(text: str) -> None:
    """Raise ValueError for halves of characters, which may come back joined."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ArgumentError(
                "position",
                "must hold text that UTF-8 can",
                text,
                "Encode it another way.",
            ) from error


def _too_deep() -> ValueError:
    return ArgumentError(
        "position",
        f"must be nested at most {MAX_DEPTH} deep",
        Message("lists or dicts that go deeper, or hold themselves"),
        "Keep only what finds the next row.",
    )


def _too_long() -> ValueError:
    return ArgumentError(
        "position",
        f"must have at most {MAX_BYTES} bytes as JSON",
        Message("more"),
        "Keep only what finds the next row, and the rest in a file of its own.",
    )
