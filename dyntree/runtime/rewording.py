"""Errors of what is called, in the words of its caller."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator


@contextlib.contextmanager
def reworded(old: str, new: str) -> Iterator[None]:
    """Let errors say `new` for `old`, as where callers call an argument differently.

    Examples
    --------
    >>> with reworded("sample_weight", "w"):
    ...     raise ValueError("sample_weight must be > 0; got 0.0.")
    Traceback (most recent call last):
    ...
    ValueError: w must be > 0; got 0.0.
    """
    try:
        yield
    except ValueError as error:
        if error.args and isinstance(error.args[0], str):
            whole = rf"(?<!\w){re.escape(old)}(?!\w)"
            error.args = (re.sub(whole, lambda _: new, error.args[0]), *error.args[1:])
        raise
