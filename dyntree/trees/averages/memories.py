"""Memories of an averaged stream: the defaults, and the check of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.params import LEAVES, MIXED, N_AVERAGED, TREE_OPTIONS, TreeOptions
from dyntree.trees.forest_options import FOREST_OPTIONS
from dyntree.trees.learning.warmup import n_varying, options_for
from dyntree.trees.linear_options import LINEAR_OPTIONS, LinearOptions

# Members that an average of streams has by default, by leaf model. Those of counts, of
# linear and of constant leaves were measured on the streams of
# tests/statistical/streams.py (averaged.txt beside it); tests/statistical/unseen judges
# the mixed ones. Clouds of one memory differ in their seeds.
_SMALL = {"min_split": 8, "n_candidates": 16}  # default leaves of these forests
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
# Mixed members are many and small: particles of one cloud are near copies, clouds of
# other seeds are not. Where nothing changes, ALC in a long window keeps rows that tell
# most; constant leaves see steps, and random trees do not leave the responses seen.
_DRIFTING = tuple(
    {"window": window, "forget": forget, "n_particles": 5}
    for window, forget in ((20, 0.8), (50, 0.9), (100, 0.9), (200, 0.9))
)
_SLIDING = tuple(
    {"window": window, "discard": "age", "n_particles": 5} for window in (200, 500)
)
_INFORMED = {"window": 1000, "discard": "alc", "n_particles": 10}
_STEPS = {
    "model": "constant", "window": 1000, "discard": "age", "n_particles": 30,
}  # fmt: skip
_TEN_TREES = {"n_trees": 10, "window": 8192}
MEMORIES: dict[str, tuple[dict[str, Any], ...]] = {
    "mixed": (
        *_DRIFTING, *_DRIFTING, *_SLIDING, *_SLIDING, _INFORMED, _INFORMED, _STEPS,
        _TEN_TREES,
    ),
    "constant": (*_REAL, _STILL, _QUICK, _FADING),
    "linear": _REAL,
    "poisson": _REAL,
    "negbin": _REAL,
    "class": (
        {"window": 4, "forget": 0.5, "n_particles": 50},
        {"window": 10, "forget": 0.8, "n_particles": 50},
        *(
            {"window": window, "forget": forget, "n_particles": 10}
            for window, forget in ((50, 0.9), (200, 0.95), (500, 0.95), (8000, 1.0))
            for _ in range(2)
        ),
        _STILL,
        _FADING | {"n_candidates": 32, "max_nodes": 2048},
    ),
}  # fmt: skip
# A regression of so many columns costs too much to have it sixteen times.
MANY_COLUMNS = 15
_OF_MANY: tuple[dict[str, Any], ...] = (
    {"window": 50, "forget": 0.9, "n_particles": 5},
    *({"window": n, "discard": "age", "n_particles": 5} for n in (200, 1000)),
    {"model": "constant", "window": 50, "forget": 0.9, "n_particles": 30},
    *(
        {"model": "constant", "window": n, "discard": "age", "n_particles": 30}
        for n in (200, 1000)
    ),
    {"n_trees": 10},
    {"n_trees": 10, "discount": 1.0 - 1.0 / 200.0},
)
# Beside them, for labels and counts, two regressions, whose rows cost the square of the
# columns.
LINEAR: tuple[dict[str, Any], ...] = (
    {"linear": True},
    {"linear": True, "forget": 0.99},
)
MOST_LINEAR = 2 * 200**2  # labels, or sizes, times the square of the columns
# Smaller sets for streams that are too fast for the default, by name.
NAMED: dict[str, tuple[dict[str, Any], ...]] = {
    "light": (*_DRIFTING, *_SLIDING, _INFORMED, _INFORMED, _STEPS, _TEN_TREES),
    "fast": (
        *_DRIFTING, *_SLIDING, *[_INFORMED | {"n_particles": 5}] * 2, _STEPS,
    ),
}  # fmt: skip
# All random trees beside the clouds of one table of labels. More of them, and smaller
# leaves, than a stream has: tests/statistical/tables.txt has what that gives.
_BESIDE = {"n_trees": 60, "min_split": 4, "n_candidates": 16, "window": 8192}
# Clouds that are averaged may err each in its own way: their class trees grow deeper.
AVERAGED_PRIOR = {"class": (0.95, 0.5)}
FORESTS_SHARE = (
    "model", "classes", "class_mass", "categories", "new_levels", "encode_levels",
    "weighting",
)  # fmt: skip
REGRESSIONS_SHARE = (
    "model", "classes", "categories", "new_levels", "encode_levels", "dispersion",
)  # fmt: skip
N_REGRESSIONS = 3  # beside the clouds of one table, in orders of their own
WITH_REGRESSIONS = ("class", *params.COUNTS)
OF_ONE_CLOUD = (
    "Make a DynamicTree or a StreamingTree of this model, or let one of the members of "
    "an AveragedStream of labels have such leaves: {{'model': 'logit', 'window': 200}}."
)
SHARED = {
    "model", "rules", "n_start", "variance_prior", "classes", "categories",
    "new_levels", "encode_levels", "weighting", "dispersion", "robust",
}  # fmt: skip


def averaged_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an average -> the options that all its trees share."""
    options = params.given_options(given, TREE_OPTIONS)
    if options["model"] is None:
        options["model"] = MIXED if options["classes"] is None else "class"
    remedy = OF_ONE_CLOUD if options["model"] == "logit" else ""
    params.one_of("model", options["model"], tuple(MEMORIES), remedy)
    if options["tree_prior"] is None:
        options["tree_prior"] = AVERAGED_PRIOR.get(options["model"])
    if options["n_particles"] is not None:
        params.count("n_particles", options["n_particles"], 1, params.MAX_PARTICLES)
    return options


def leaf_options(shared: Mapping[str, Any], model: str | None = None) -> dict[str, Any]:
    """Options of one cloud of an average -> those of its kind of leaves.

    Parameters
    ----------
    shared : mapping
        As of `averaged_options`.
    model : {"linear", "constant", "class", "logit"}, optional
        Of a mixed average, or one of labels; by default the first of its `LEAVES`. The
        others have none of the options that only this one has.
    """
    own = dict(shared)
    if own["n_particles"] is None:
        own["n_particles"] = N_AVERAGED
    leaves = LEAVES.get(own["model"], (own["model"],))
    own["model"] = model if model in leaves else leaves[0]
    if own["model"] == leaves[0]:
        return own
    lacking = {"constant": ("linear", "slopes"), "logit": ("dirichlet",)}
    without = params.only_for(*lacking[own["model"]])
    return {name: value for name, value in own.items() if name not in without}


def own_memories(members: Any, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return `members`, options of each stream in an average, as dicts.

    `shared` is as of `averaged_options`.
    """
    model = shared["model"]
    if isinstance(members, str):
        if model != MIXED:
            raise ArgumentError(
                "members",
                "must be a sequence of dicts of options where leaves are not mixed",
                Message(
                    "{members!r} with model={model!r}", members=members, model=model
                ),
                "Leave it out.",
            )
        name = params.one_of("members", members, params.MEMBER_SETS)
        return default_memories(shared, name=name)
    if (
        isinstance(members, Mapping)
        or not np.iterable(members)
        or not all(isinstance(member, Mapping) for member in members)
    ):
        raise ArgumentError(
            "members",
            "must be a sequence of dicts of options, or one of {names:items}",
            members,
            names=params.MEMBER_SETS,
        )
    memories = [dict(member) for member in members]
    if not memories:
        raise ArgumentError("members", "must name at least one", Message("none"))
    for k, member in enumerate(memories):
        _check_memory(k, member, model)
    if is_regression(memories[0]):
        raise ArgumentError(
            "members",
            "must not begin with a linear member, because trees answer questions that "
            "it cannot",
            memories[0],
            "Put a member with a window first.",
        )
    leaves = LEAVES.get(model, (model,))
    if is_forest(memories[0]) or memories[0].get("model", leaves[0]) != leaves[0]:
        raise ValueError(
            Message(
                "the first of members must have a window, because its trees answer "
                "questions that random trees cannot, and {leaves} leaves in an average "
                "with model={model!r}; got {first!r}. Put such a member first.",
                leaves=leaves[0],
                model=model,
                first=memories[0],
            )
        )
    if model in params.COUNTS:  # whose regressions stand beside the average of windows
        memories.sort(key=is_regression)
    return memories


def _check_memory(k: int, member: Mapping[str, Any], model: str) -> None:
    """Raise ValueError for options that member k cannot have."""
    if is_regression(member):
        _check_regression(k, member, model)
        allowed = ["linear", *(n for n in LINEAR_OPTIONS if n not in REGRESSIONS_SHARE)]
    elif is_forest(member):
        allowed = [name for name in FOREST_OPTIONS if name not in FORESTS_SHARE]
    else:
        windows = {**TREE_OPTIONS, **params.STREAM_OPTIONS}
        allowed = [name for name in windows if name not in SHARED]
        if model in LEAVES:
            allowed.insert(0, "model")
    for name in member:
        if name not in allowed:
            raise ArgumentError(
                "members",
                "must have options among {allowed}",
                Message("{name!r} in member {member}", name=name, member=k),
                allowed=allowed,
            )
    if "model" in member:
        params.one_of(f"model of member {k}", member["model"], LEAVES[model])


def _check_regression(k: int, member: Mapping[str, Any], model: str) -> None:
    """Raise ValueError unless member k, which names `linear`, may be a regression."""
    if model not in WITH_REGRESSIONS:
        raise ArgumentError(
            "members",
            "may have linear members for labels and counts",
            Message("{options!r} in member {member} with model={model!r}",
                    options=dict(member), member=k, model=model),
            "Real responses have model='linear'.",
        )  # fmt: skip
    if not params.flag(f"linear of member {k}", member["linear"]):
        raise ArgumentError(
            f"linear of member {k}", "must be True", False, "Leave the member out."
        )


def is_regression(member: Mapping[str, Any]) -> bool:
    """Whether options of a member are those of a regression, which say `linear`."""
    return "linear" in member


def is_forest(member: Mapping[str, Any]) -> bool:
    """Whether options of a member are those of random trees, whose number they name."""
    return "n_trees" in member


def default_memories(
    shared: Mapping[str, Any],
    n_features: int | None = None,
    first: Matrix | None = None,
    linear: bool = True,
    n_labels: int = 0,
    name: str | None = None,
) -> list[dict[str, Any]]:
    """The default members, or a set by name, in windows that have room for leaves.

    Windows of the default members have room for two leaves. Those of a set by name are
    wider only where a leaf would not fit.

    Parameters
    ----------
    shared : mapping
        As of `averaged_options`.
    n_features : int, optional
        Once it is known.
    first : ndarray of shape (n_rows, n_features), optional
        The rows that trees start from, once there are enough. Columns without two
        values in them do not count.
    linear : bool, default True
        Whether regressions stand beside trees of labels or counts.
    n_labels : int, default 0
        As far as they are known.
    name : str, optional
        One of `params.MEMBER_SETS`.
    """
    chosen = MEMORIES[shared["model"]] if name is None else NAMED[name]
    n_used = 0 if first is None else n_varying(first)
    many = shared["model"] == MIXED and n_used > MANY_COLUMNS
    memories = []
    for memory in _OF_MANY if many else chosen:
        memory = _with_size(memory, shared)
        if not is_forest(memory):
            options = TreeOptions(**leaf_options(shared, memory.get("model")))
            if first is not None:
                options = options_for(options, first)
            elif n_features is not None:
                options = options.with_width(n_features)
            window = memory["window"]
            if name is None or window <= options.least_rows(options.n_basis or 1):
                memory["window"] = widened(window, options)
        memories.append(memory)
    model = shared["model"]
    if linear and has_regressions(model, n_features or 0, n_labels):
        memories += map(dict, LINEAR)
    return memories


def _with_size(memory: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """A default member, of as many particles as the user wants in each cloud."""
    own = {**(_SMALL if is_forest(memory) else {}), **memory}
    if shared["n_particles"] is not None:
        own.pop("n_particles", None)
    return own


def widened(window: int, options: TreeOptions) -> int:
    """A window, of two leaves at least."""
    return max(window, 2 * options.least_rows(options.n_basis or 1))


def has_regressions(model: str, n_features: int, n_labels: int = 0) -> bool:
    """Whether an average has regressions by default: few enough columns.

    Memory and time of a regression are proportional to what is compared.
    """
    n_sizes = len(LinearOptions("negbin").sizes) if model == "negbin" else 0
    n_filters = max(2, n_labels, n_sizes)
    return model in WITH_REGRESSIONS and n_filters * n_features**2 <= MOST_LINEAR


def regressions_beside(
    linear: bool, options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Options of the regressions beside the clouds of one table."""
    if not linear or options["model"] not in WITH_REGRESSIONS:
        return []
    return [{name: options[name] for name in REGRESSIONS_SHARE}] * N_REGRESSIONS


def forests_beside(n_clouds: int, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Options of the forests of labels beside so many clouds, one for each of them."""
    if options["model"] != "class":
        return []
    own = {name: options[name] for name in FORESTS_SHARE}
    n_trees = -(-_BESIDE["n_trees"] // n_clouds)
    return [own | _BESIDE | {"n_trees": n_trees}] * n_clouds
