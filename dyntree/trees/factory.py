"""Options -> a model of trees, of any kind: the one rule that every face follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from dyntree.errors import ArgumentError, Message
from dyntree.params import (
    AUTO,
    MIXED,
    MODELS,
    N_CLOUDS,
    STREAM_OPTIONS,
    TREE_OPTIONS,
    TreeOptions,
    count,
    defaults_of,
    one_of,
)
from dyntree.trees.averages.memories import MEMORIES
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.averages.tables import AveragedTrees
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree

Average = TypeVar("Average", AveragedStream, AveragedTrees)
Trees = DynamicTree | StreamingTree | AveragedStream | AveragedTrees


def make_tree(options: Mapping[str, Any]) -> Trees:
    """Make the model that options describe.

    Parameters
    ----------
    options : mapping
        Arguments of `StreamingTree`. Without a window, or with None, the model is a
        `DynamicTree`, and options of windows must have their defaults. The window
        "auto" makes an `AveragedStream`. Without a window, ``n_clouds`` above 1 makes
        `AveragedTrees`, which also take ``shuffle``. The default is `N_CLOUDS` where
        there can be an average, and else 1. With ``n_particles=None`` the model has its
        own default.

    Returns
    -------
    DynamicTree, StreamingTree, AveragedStream or AveragedTrees

    Raises
    ------
    ValueError
        If options exclude one another, or have bad values.

    Examples
    --------
    >>> type(make_tree({"window": 50, "forget": 0.0})).__name__
    'StreamingTree'
    >>> type(make_tree({"window": "auto"})).__name__
    'AveragedStream'
    >>> make_tree({"forget": 0.0})
    Traceback (most recent call last):
    ...
    dyntree.errors.ArgumentError: forget is an option of one window only; got \
forget=0.0 with window=None. Set window=..., the most rows to hold.
    """
    given = {k: v for k, v in options.items() if (k, v) != ("n_particles", None)}
    if given.get("model") is not None:
        one_of("model", given["model"], (MIXED, *MODELS))
    if given.get("model") is given.get("classes") is None:
        given["model"] = default_leaves(given)  # faces know if responses are labels
    n_clouds, shuffle = given.pop("n_clouds", None), given.pop("shuffle", True)
    window = given.get("window")
    if n_clouds is None:
        n_clouds = N_CLOUDS if window is None and _may_average(given) else 1
    n_clouds = count("n_clouds", n_clouds, 1)
    if isinstance(window, str) and window != AUTO:
        raise ArgumentError(
            "window",
            "must be an int >= 2, or {auto!r} for an average of several",
            window,
            auto=AUTO,
        )
    if window is not None and n_clouds != 1:
        raise ArgumentError(
            "n_clouds",
            "is for tables, which are learned whole",
            Message(f"{n_clouds} with window={{window!r}}", window=window),
            "Set window=None, or n_clouds=1; window={auto!r} averages several clouds "
            "by itself.",
            auto=AUTO,
        )
    if window is not None and window != AUTO:
        return StreamingTree(**given)
    if stray := only_for_windows(given):
        raise ArgumentError(
            stray[0],
            "is an option of one window only",
            Message(
                "{stray!a}={given!r} with window={window!r}",
                stray=stray[0],
                given=given[stray[0]],
                window=window,
            ),
            "Set window=..., the most rows to hold.",
        )
    tree = {k: v for k, v in given.items() if k not in STREAM_OPTIONS}
    if window == AUTO:
        return _average(AveragedStream, tree, "window", AUTO)
    if n_clouds == 1:
        return DynamicTree(**tree)
    more = {"n_clouds": n_clouds, "shuffle": shuffle}
    return _average(AveragedTrees, tree | more, "n_clouds", n_clouds)


def default_leaves(options: Mapping[str, Any]) -> str:
    """What leaves hold of a model of numbers that `make_tree` makes by default.

    Parameters
    ----------
    options : mapping
        As of `make_tree`.

    Returns
    -------
    {"mixed", "linear", "constant"}

    Examples
    --------
    >>> default_leaves({"window": "auto"}), default_leaves({"window": 50})
    ('mixed', 'linear')
    """
    if options.get("rules") == "r":
        return "constant"
    window, n_clouds = options.get("window"), options.get("n_clouds")
    averages = window == AUTO or (window is None and n_clouds != 1)
    return MIXED if averages else "linear"


def _may_average(options: Mapping[str, Any]) -> bool:
    """Whether trees with these options can be averaged: not R's, and not the prior."""
    model = options.get("model")
    return options.get("rules") != "r" and (model is None or model in MEMORIES)


def _average(
    kind: type[Average], options: dict[str, Any], asked: str, of: Any
) -> Average:
    """An average with these options, once they are known to be of native rules."""
    own = {k: v for k, v in options.items() if k in TREE_OPTIONS}
    if own.get("model") == MIXED:
        own["model"] = None  # with linear leaves it has all options
    checked = TreeOptions(**own)
    for name, value, cause in [
        ("rules", "r", checked.rules == "r"),
        ("model", checked.model, checked.model not in MEMORIES),
    ]:
        if cause:
            more = " Or set n_clouds=1." if asked == "n_clouds" else ""
            raise ValueError(
                Message(
                    "{name!a}={value!r} is for one cloud of trees; got it with "
                    "{asked!a}={of!r}. Set window=..., the most rows to hold." + more,
                    name=name,
                    value=value,
                    asked=asked,
                    of=of,
                )
            )
    known = defaults_of(kind)
    return kind(**{name: value for name, value in options.items() if name in known})


def only_for_windows(options: Mapping[str, Any]) -> list[str]:
    """Names of the given options that apply to a single window only."""
    return [
        name
        for name, default in STREAM_OPTIONS.items()
        if name != "window" and options.get(name, default) != default
    ]
