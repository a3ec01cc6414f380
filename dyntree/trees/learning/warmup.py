"""First rows -> rows set aside, then a cloud with trees in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dyntree._core.rng import CounterSource, RSource
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.forest import Forest
from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.targets import label_codes, sorted_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.params import N_SCALE, NIG, TreeOptions
from dyntree.runtime.parallel import late_interrupts
from dyntree.runtime.progress import Progress
from dyntree.trees.forest_options import ForestOptions
from dyntree.trees.learning.check import (
    checked,
    count_levels,
    known_classes,
    label_counter,
    learnable,
    responses_of,
    warn_of_many,
    with_levels,
)
from dyntree.trees.learning.exposures import apart
from dyntree.trees.learning.growth import GrowingRows, Growth
from dyntree.trees.learning.parts import (
    Learn,
    degenerate_rows_warned,
    learn_in_parts,
    learn_rows,
)
from dyntree.trees.learning.scaling import (
    frozen_scale,
    on_scale,
    shares_of_first,
    usual,
    without_codes,
)
from dyntree.trees.learning.weights import (
    Responses,
    admit_weights,
    in_units,
    joined,
    unit_of,
)
from dyntree.trees.linear_options import LinearOptions
from dyntree.trees.state import TreeState, n_ones, n_waiting, with_ones

Check = Callable[[TreeOptions], None]
Known = tuple[Matrix, list[Any], Growth]  # rows as `checked` gives them


def admit_rows(
    state: TreeState,
    X: Any,
    y: Any,
    weights: Vector | None = None,
    check: Check | None = None,
    known: Known | None = None,
) -> tuple[Matrix, Responses, Growth]:
    """Check rows and handle the warm-up; return the rows that are still to be learned.

    Until there are trees, they are set aside; once there are enough,
    trees are planted on them, which learn at once what earlier calls set aside.

    Parameters
    ----------
    state : TreeState
    X, y
        As for `update`.
    weights : ndarray of shape (n_rows,), optional
        > 0; 1 by default.
    check : callable, optional
        Given the options, complete, of trees that are to be planted; may raise.
    known : tuple, optional
        The rows as `checked` gives them, where another state of the same columns and
        options has checked them.

    Returns
    -------
    rows : ndarray of shape (n_rows, n_stored)
        As the cloud stores them, with all columns of the last.
    responses : Responses of length n_rows
    growth : Growth
        What comes of the columns among these rows.
    """
    waits = state.cloud is None  # rows set aside must not be lost
    with late_interrupts() if waits else nullcontext():
        rows, responses, growth, n_old = buffer_or_start(
            state, X, y, weights, check, known
        )
        rows = learnable(state, rows, responses, growth) if state.cloud else rows
        if n_old:
            assert state.features is not None
            width = state.features.n_features + state.ones
            old = np.ascontiguousarray(rows[:n_old, :width])
            _learn_old(state, old, responses[:n_old])
    return rows[n_old:], responses[n_old:], growth.since(n_old)


def learn_table(
    state: TreeState,
    X: Any,
    y: Any,
    weights: Vector | None,
    progress: Progress,
    learn: Learn,
    check: Check | None = None,
) -> None:
    """Check rows of any form, and let one tree learn them by `learn`.

    Parameters are those of `admit_rows` and of `learn_in_parts`.
    """
    before = state.n_pieces
    rows, responses, growth = admit_rows(state, X, y, weights, check)
    n_kept = state.n_pieces - before
    learn_in_parts([state], rows, responses, growth, progress, n_kept, learn)


def buffer_or_start(
    state: TreeState,
    X: Any,
    y: Any,
    weights: Vector | None = None,
    check: Check | None = None,
    known: Known | None = None,
) -> tuple[Matrix, Responses, Growth, int]:
    """Keep rows back, or plant trees on the first of them; learn no further row.

    Parameters are those of `admit_rows`, and so is what is returned; but the rows have
    those in front that earlier calls set aside, and their number comes last.
    """
    rows, labels, growth = checked(state, X, y) if known is None else known
    ones = state.ones
    count_levels(state, growth.features, rows, state.cloud is None)
    if state.cloud is not None:
        warn_of_many(state, growth.features)
        weights = in_units(weights, state.weight_unit, len(rows))
        admit_weights(state, weights)
        take_new_labels(state, labels)
        responses = responses_of(state, labels, weights)
        return with_ones(rows, ones), responses, growth, 0
    n_before = len(state.waiting_y)
    weights = joined(state.waiting_weights, n_before, weights, len(rows))
    if n_before:
        rows = np.concatenate([growth.widen(state.waiting_X), rows])
    named, classes = state.options, known_classes(state, labels)
    if classes != named.classes:
        named = replace(named, classes=classes)
    labels = [*state.waiting_y, *labels]
    options = named.with_width(growth.features.n_features)
    n_first = n_waiting(options, state.n_scale)
    if len(labels) >= n_first:
        rows, growth = _settled(state, X, rows, growth, n_first, labels)
        first = growth.at(n_first - 1)
        width = first.n_features
        first_rows = without_codes(rows[:, :width], first)
        options = options_for(named, first_rows[: state.n_scale])
    if check is not None:
        check(options)
    if len(labels) < n_first:
        state.features, state.options = growth.features, named
        state.waiting_X, state.waiting_y = rows, labels
        state.waiting_weights = weights
        none = np.empty((0, rows.shape[1] + ones))
        return none, Responses(np.empty(0)), growth, 0
    unit = unit_of(options, None if weights is None else weights[: state.n_scale])
    weights = in_units(weights, unit, len(rows), n_before)
    if options.robust:
        weights = _usual_weights(labels, state.n_scale, weights)
    cloud, options, numbers = start_trees(
        options, first_rows, labels, state.seed, state.n_scale
    )
    rows = on_scale(cloud, growth.features, rows, state.warned, numbers, n_before)
    state.features, state.options, state.cloud = first, options, cloud
    warn_of_many(state, growth.features)
    state.waiting_X, state.waiting_y = np.empty((0, 0)), []
    state.waiting_weights = None
    admit_weights(state, weights, unit)
    responses = responses_of(state, labels, weights, n_before)
    held, rows = options.n_start or 0, with_ones(rows, ones)
    n_old = max(0, n_before - held)
    return rows[held:], responses[held:], growth.since(held), n_old


def _usual_weights(y: list[Any], n_first: int, weights: Vector | None) -> Vector | None:
    """Weights of rows of which the first that are not usual weigh less; None: all 1."""
    shares = np.ones(len(y))
    shares[:n_first] = shares_of_first(np.array(y[:n_first], dtype=np.float64))
    if np.all(shares == 1.0):
        return weights
    return shares if weights is None else shares * weights


def _settled(
    state: TreeState, X: Any, codes: Matrix, growth: Growth, n_needed: int, y: list[Any]
) -> tuple[Matrix, Growth]:
    """Features of all rows so far, the last of which are X, and their growth.

    Trees are planted on the first `n_needed` of them; `y` are the responses of all.
    """
    if isinstance(X, GrowingRows):
        return codes, growth.since(len(X.rows) - len(codes))
    grows, n_first = state.options.new_levels == "grow", state.n_level_rows(n_needed)
    n_labels = label_counter(state, y)
    first, rows = growth.features.settle(codes, n_first, grows, n_labels)
    if n_first is None or not first.may_grow:
        return rows, Growth(first, [], first.widen)
    n_before = len(state.waiting_y)
    last, growth = with_levels(state, first, X, y[n_before:])
    rows = np.concatenate([growth.widen(rows[:n_before]), last])
    return rows, growth.since(-n_before)


def take_new_labels(state: TreeState, labels: list[Any]) -> None:
    """Give labels that were not known a place after the others (native rules)."""
    known = state.options.classes
    if known is None or state.options.rules == "r":
        return
    fresh = [label for label in dict.fromkeys(labels) if label not in known]
    if fresh:
        state.cloud = state.cloud.with_classes(len(known) + len(fresh))
        state.options = replace(state.options, classes=(*known, *fresh))


def share_labels(state: TreeState, labels: list[Any]) -> None:
    """Give new labels their places in the order in which they are listed."""
    known = known_classes(state, labels)
    if state.cloud is not None:
        take_new_labels(state, labels)
        return
    classes = sorted_labels(labels) if known is None else known
    classes = tuple(dict.fromkeys([*classes, *labels]))
    state.options = replace(state.options, classes=classes)


def _learn_old(state: TreeState, rows: Matrix, responses: Responses) -> None:
    """Learn what earlier calls have set aside; an interrupt waits for all of it."""
    interrupt = None
    first = state.n_pieces
    with degenerate_rows_warned([state]):
        while (done := state.n_pieces - first) < len(rows):
            try:
                learn_rows(state, rows[done:], responses[done:])
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def options_for(options: TreeOptions, X: Matrix) -> TreeOptions:
    """Options for trees that are planted on these first rows, defaults filled in.

    Under native rules columns of which no two values differ do not count towards
    `min_leaf`: linear leaves leave them out until one does.
    """
    width = X.shape[1]
    n_used = None
    if options.rules == "native" and options.model == "linear":
        n_used = n_varying(
            X[:, : width if options.n_basis is None else options.n_basis]
        )
    return options.with_width(width, n_used)


def n_varying(X: Matrix) -> int:
    """How many columns have two different values; gaps are none."""
    with np.errstate(invalid="ignore"):
        return int(np.sum(np.fmin.reduce(X) < np.fmax.reduce(X)))


def start_trees(
    options: TreeOptions, X: Matrix, y: list[Any], seed: int, n_scale: int = N_SCALE
) -> tuple[Any, TreeOptions, Vector]:
    """Return a cloud with trees on the first n_start rows, if any, and what it knows.

    Parameters
    ----------
    options : TreeOptions
        Complete but for the labels, which are those of y where none are named; under
        native rules y may add some.
    X : ndarray of shape (n_rows, n_features)
    y : list of length n_rows
        Responses or labels; n_rows > n_start.
    seed : int
    n_scale : int, default N_SCALE
        Native regression: rows that fix the scale.

    Returns
    -------
    cloud : Cloud
    options : TreeOptions
        With the labels.
    responses : ndarray of shape (n_rows,)
        y as the cloud takes it.
    """
    if options.has_labels:
        known = options.classes
        if known is None:
            options = replace(options, classes=sorted_labels(y))
        elif options.rules == "native":
            options = replace(options, classes=tuple(dict.fromkeys([*known, *y])))
        assert options.classes is not None
        responses = label_codes(y, options.classes)
    else:
        responses = apart(y)[0] if options.is_count else np.array(y, dtype=np.float64)
    if isinstance(options, LinearOptions):
        filters = LinearFilters(CounterSource(seed), **options.for_core(X.shape[1]))
        if options.is_count:
            filters.set_exposure_unit(*first_rate(y[:n_scale]))
        return filters, options, responses
    if isinstance(options, ForestOptions):
        forest = Forest(CounterSource(seed), **options.for_core(X.shape[1]))
        if options.model == "constant":
            forest.set_scale(*frozen_scale(X[:n_scale, :0], responses[:n_scale])[2:])
        return forest, options, responses
    if options.rules == "r" and options.model in ("constant", "linear"):
        first = responses[: options.min_leaf]
        if np.all(first == first[0]):
            raise ArgumentError(
                "y",
                "must hold two distinct values among the first min_leaf={min_leaf} "
                "rows; all are {first}",
                remedy="Begin with other rows or set min_leaf higher.",
                min_leaf=options.min_leaf,
                first=first[0],
            )
    ones = n_ones(options)
    native = options.rules == "native"
    cloud = Cloud(
        CounterSource(seed) if native else RSource(seed),
        **cloud_options(options, X.shape[1]),
    )
    if options.is_count:
        cloud.set_exposure_unit(*first_rate(y[:n_scale]))
    elif native and not options.has_labels:
        basis = (options.n_basis or 0) if options.model == "linear" else 0
        centred = options.intercept != "none" or options.model != "linear"
        first = responses[:n_scale]
        first = usual(first) if options.robust else first
        scale = frozen_scale(X[:n_scale, :basis], first, centred)
        cloud.set_scale(*scale)
    held = options.n_start or 0
    cloud.start(with_ones(X[:held], ones), responses[:held])
    return cloud, options, responses


def cloud_options(options: TreeOptions, n_features: int) -> dict[str, Any]:
    """Options of a tree, complete, and columns of X -> options of the cloud."""
    ones, native = n_ones(options), options.rules == "native"
    levelled = ("implicit", "augmented") if native else ("implicit",)  # by the core
    basis = n_features if options.n_basis is None else options.n_basis
    return {
        "model": options.model,
        "n_features": n_features + ones,
        "n_particles": options.n_particles,
        "min_leaf": options.min_leaf,
        "tree_prior": options.tree_prior,
        "proposal": options.proposal,
        "variance_prior": options.variance_prior,
        "intercept": options.model != "linear" or options.intercept in levelled,
        "n_basis": basis + ones,
        "first_split": options.first_split + ones,
        "n_classes": len(options.classes or ()),
        "rules": options.rules,
        "prior": _prior(options) if native else None,
        "max_retired": options.max_retired_mass,
        "weighting": options.meaning_of_weights if options.robust else None,
        "robust": options.robust,
    }


def first_rate(y: list[Any]) -> tuple[float, float]:
    """Mean exposure of the first counts, and events per so much of it, > 0."""
    counts, exposure = apart(y)
    unit = float(exposure.mean())
    return unit, float((counts.sum() + 0.5) / exposure.sum() * unit)


def _prior(options: TreeOptions) -> dict[str, Any]:
    """Where the prior of the leaves starts, and whether it stays there."""
    if options.is_count:
        return {"adaptive": True, "dispersion": options.dispersion}
    if options.model == "logit":
        return {"adaptive": True}
    is_fixed = isinstance(options.prior, NIG)
    start = options.prior if isinstance(options.prior, NIG) else NIG(0.03)
    return asdict(start) | {
        "adaptive": not is_fixed and options.model in ("constant", "linear"),
        "class_mass": options.class_mass,
    }
