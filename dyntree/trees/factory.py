"""Options -> a tree, in a window or not: the one rule that every face follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyntree.params import STREAM_OPTIONS
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree


def make_tree(options: Mapping[str, Any]) -> DynamicTree | StreamingTree:
    """Make the model that options stand for.

    Parameters
    ----------
    options : mapping
        Arguments of `StreamingTree`; without a window, or with None, those of
        `DynamicTree`, and options of windows must have their defaults.

    Returns
    -------
    DynamicTree or StreamingTree

    Raises
    ------
    ValueError
        For an option of windows without one, and for bad values.

    Examples
    --------
    >>> type(make_tree({"window": 50, "forget": 0.0})).__name__
    'StreamingTree'
    >>> make_tree({"forget": 0.0})
    Traceback (most recent call last):
    ...
    ValueError: forget is an option of windows only; got 0.0 with window=None. Set \
window to the most rows to hold.
    """
    if options.get("window") is not None:
        return StreamingTree(**options)
    if stray := only_for_windows(options):
        raise ValueError(
            f"{stray[0]} is an option of windows only; got {options[stray[0]]!r} with "
            "window=None. Set window to the most rows to hold."
        )
    return DynamicTree(**{k: v for k, v in options.items() if k not in STREAM_OPTIONS})


def only_for_windows(options: Mapping[str, Any]) -> list[str]:
    """Names of the options given that have a meaning in windows only."""
    return [
        name
        for name, default in STREAM_OPTIONS.items()
        if name != "window" and options.get(name, default) != default
    ]
