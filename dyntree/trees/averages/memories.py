"""Memories of an averaged stream: the defaults, and the check of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.params import TREE_OPTIONS, TreeOptions
from dyntree.trees.forest_options import FOREST_OPTIONS

# Windows, and random trees, that an average of streams has by default, by leaf model:
# measured on the streams of tests/statistical/streams.py (averaged.txt beside it).
# Clouds of one memory differ in their seeds.
_STILL = {"n_trees": 20, "window": 8192}
_QUICK = {"n_trees": 10, "discount": 1.0 - 1.0 / 50.0}
_FADING = {"n_trees": 10, "discount": 1.0 - 1.0 / 200.0, "min_split": 32}
_REAL = (
    {"window": 20, "forget": 0.8},
    {"window": 50, "forget": 0.9},
    {"window": 100, "forget": 0.9},
    {"window": 200, "forget": 0.9},
    {"window": 500, "forget": 0.95},
    {"window": 1000},
    {"window": 1000},
)
MEMORIES: dict[str, tuple[dict[str, Any], ...]] = {
    "constant": (*_REAL, _STILL, _QUICK, _FADING),
    "linear": _REAL,
    "poisson": _REAL,
    "negbin": _REAL,
    "class": (
        {"window": 4, "forget": 0.5},
        {"window": 10, "forget": 0.8},
        {"window": 50, "forget": 0.9},
        {"window": 200, "forget": 0.95},
        {"window": 500, "forget": 0.95},
        {"window": 8000},
        _STILL,
        _FADING | {"n_candidates": 32, "max_nodes": 2048},
    ),
}
# All random trees beside the clouds of one table of labels. More of them, and smaller
# leaves, than a stream has: tests/statistical/tables.txt has what that gives.
_BESIDE = {"n_trees": 60, "min_split": 4, "window": 8192}
# Clouds that are averaged may err each in its own way: their class trees grow deeper.
AVERAGED_PRIOR = {"class": (0.95, 0.5)}
FORESTS_SHARE = (
    "model", "classes", "class_mass", "categories", "new_levels", "weighting",
)  # fmt: skip
SHARED = {
    "model", "rules", "n_start", "variance_prior", "classes", "categories",
    "new_levels", "weighting", "dispersion", "robust",
}  # fmt: skip


def averaged_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an average -> the options that all its trees share."""
    options = params.given_options(given, TREE_OPTIONS)
    params.one_of("model", options["model"], tuple(MEMORIES))
    if options["tree_prior"] is None:
        options["tree_prior"] = AVERAGED_PRIOR.get(options["model"])
    return options


def own_memories(members: Any) -> list[dict[str, Any]]:
    """Return `members`, options of each stream in an average, as dicts."""
    if (
        isinstance(members, str | Mapping)
        or not np.iterable(members)
        or not all(isinstance(member, Mapping) for member in members)
    ):
        raise ArgumentError(
            "members", "must be a sequence of dicts of options", members
        )
    found = [dict(member) for member in members]
    if not found:
        raise ArgumentError("members", "must name at least one", Message("none"))
    windows = [k for k in {**TREE_OPTIONS, **params.STREAM_OPTIONS} if k not in SHARED]
    forests = [k for k in FOREST_OPTIONS if k not in FORESTS_SHARE]
    for k, member in enumerate(found):
        allowed = forests if is_forest(member) else windows
        for name in member:
            if name not in allowed:
                raise ArgumentError(
                    "members",
                    "must have options among {allowed}",
                    Message("{name!r} in member {k}", name=name, k=k),
                    allowed=allowed,
                )
    if is_forest(found[0]):
        raise ValueError(
            Message(
                "the first of members must have a window, because its trees answer "
                "questions that random trees cannot; got {found!r}. Put it first.",
                found=found[0],
            )
        )
    return found


def is_forest(member: Mapping[str, Any]) -> bool:
    """Whether options of a member are those of random trees, whose number they name."""
    return "n_trees" in member


def default_memories(options: TreeOptions) -> list[dict[str, Any]]:
    """The default memories of such trees, in windows of two leaves at least."""
    return [
        memory
        if is_forest(memory)
        else memory | {"window": widened(memory["window"], options)}
        for memory in MEMORIES[options.model]
    ]


def widened(window: int, options: TreeOptions) -> int:
    """A window, of two leaves at least."""
    return max(window, 2 * options.least_rows(options.n_basis or 1))


def forests_beside(n_clouds: int, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Options of the forests of labels beside so many clouds, one for each of them."""
    if options["model"] != "class":
        return []
    own = {name: options[name] for name in FORESTS_SHARE}
    n_trees = -(-_BESIDE["n_trees"] // n_clouds)
    return [own | _BESIDE | {"n_trees": n_trees}] * n_clouds
