"""The own tree of a key: what it says of rows in order, and what it learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.targets import Exposed
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.keyed.laws import Law
from dyntree.trees.averages.memories import widened
from dyntree.trees.learning.check import learnable, responses_of
from dyntree.trees.learning.growth import GrowingRows, Growth, with_columns
from dyntree.trees.learning.scaling import on_scale
from dyntree.trees.learning.warmup import take_new_labels
from dyntree.trees.streaming import StreamingTree

FEWEST_ROWS = 2  # of a key, before its own tree is asked


def is_usable(tree: StreamingTree | None) -> bool:
    """Whether a tree has a distribution of its own.

    It needs two rows, and a regression two different responses.
    """
    if tree is None or tree.n_seen < FEWEST_ROWS:
        return False
    state = tree.state
    if state.options.has_labels or state.options.is_count:
        return True
    if state.cloud is None:
        return len({*state.waiting_y}) > 1
    return bool(state.cloud.has_unit)


def fitting(tree: StreamingTree, features: FeatureMap) -> StreamingTree:
    """A tree that waits for its first rows, with a window of two leaves at least."""
    options = tree.state.options.with_width(features.n_features)
    window = widened(tree.options.window, options)
    return tree if window == tree.options.window else tree.with_window(window)


def answered(
    tree: StreamingTree, rows: Matrix, features: FeatureMap, exposure: Vector
) -> Any:
    """Prediction of rows that a map has encoded, which may have more columns.

    None where one is beyond the scale of the key's first rows: no tree answers then.
    """
    more: dict[str, Any] = {"exposure": exposure} if tree.state.options.is_count else {}
    try:
        return tree.predict(Encoded(rows, features), **more)
    except ArgumentError as error:
        if error.name not in ("X", "y"):
            raise
        return None


def answers_of(
    tree: StreamingTree, rows: Matrix, features: FeatureMap, exposure: Vector, law: Law
) -> list[tuple[Any, int] | None]:
    """A prediction and a place in it for each row; None where the tree has no answer.

    One row that is too far away leaves the others as they would be without it.
    """
    whole = answered(tree, rows, features, exposure)
    if whole is not None:
        of_all = law.of_model(whole)
        return [(of_all, k) for k in range(len(rows))]
    each = (
        answered(tree, rows[k : k + 1], features, exposure[k : k + 1])
        for k in range(len(rows))
    )
    return [None if one is None else (law.of_model(one), 0) for one in each]


def learned(
    tree: StreamingTree,
    rows: Matrix,
    features: FeatureMap,
    y: Sequence[Any],
    answers: list[Any] | None,
) -> Vector:
    """Let a tree learn rows of its key in order.

    Parameters
    ----------
    tree : StreamingTree
    rows : ndarray of shape (n_rows, n_features)
    features : FeatureMap
        Their columns; the tree gains those that it lacks.
    y : sequence of length n_rows
        Responses, counts with exposures, or labels.
    answers : list or None
        Gains the prediction of each row before it is learned, or None where the tree
        has none of its own.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log densities of the responses, each given the rows before; NaN where the tree
        has no distribution of its own, or does not know the label.
    """
    found = np.full(len(rows), np.nan)
    row = 0
    while row < len(rows):
        end = row + 1
        if answers is None and tree.is_ready and is_usable(tree):
            end = _end_of_known(tree, y, row)
        part = slice(row, end)
        found[part] = _learned(tree, rows[part], features, y[part], answers)
        row = end
    return found


def _end_of_known(tree: StreamingTree, y: Sequence[Any], row: int) -> int:
    """End of the rows from one on whose labels are all known; a new label is alone."""
    known = tree.classes
    if known is None:
        return len(y)
    new = next((k for k in range(row, len(y)) if y[k] not in known), len(y))
    return max(new, row + 1)


def _learned(
    tree: StreamingTree,
    rows: Matrix,
    features: FeatureMap,
    y: Sequence[Any],
    answers: list[Any] | None,
) -> Any:
    """As `learned`, of one row, or of several by a tree that is ready."""
    usable, ready = is_usable(tree), tree.is_ready
    before = None
    if usable and (answers is not None or not ready):
        is_exposed = isinstance(y[0], Exposed)
        over = np.array([one.exposure for one in y]) if is_exposed else np.ones(len(y))
        before = answered(tree, rows, features, over)
    if answers is not None:
        answers.append(before)
    known = tree.classes
    is_known = np.array([known is None or label in known for label in y])
    try:
        if ready:
            densities = _taught(tree, rows, features, list(y))
        else:
            _taught_first(tree, rows, features, list(y))
            densities = np.full(len(y), np.nan)
            if before is not None:
                counts = [one.events if isinstance(one, Exposed) else one for one in y]
                densities = before.log_density(counts)
    except ArgumentError as error:
        if error.name not in ("X", "y"):  # beyond the scale of the key's first rows
            raise
        if len(y) == 1:
            return np.full(1, np.nan)
        each = range(len(y))  # the others are learned as they would be without it
        return np.concatenate(
            [_learned(tree, rows[[k]], features, y[k : k + 1], None) for k in each]
        )
    return np.where(is_known, densities, np.nan) if usable else np.full(len(y), np.nan)


def _taught(
    tree: StreamingTree, rows: Matrix, features: FeatureMap, y: list[Any]
) -> Vector:
    """Let a tree that is ready learn rows; returns their log densities."""
    state = tree.state
    assert state.features is not None
    if features != state.features:
        with with_columns([state], features, features.widen):
            return _taught(tree, rows, features, y)
    if state.options.is_count:
        responses = responses_of(state, y, None)
    else:
        take_new_labels(state, y)
        responses = responses_of(state, y, None)
        numbers = np.zeros(len(y)) if state.options.has_labels else responses.y
        rows = on_scale(state.cloud, features, rows, state.warned, numbers)
    return tree.learn_encoded(learnable(state, rows, responses), responses)


def _taught_first(
    tree: StreamingTree, rows: Matrix, features: FeatureMap, y: list[Any]
) -> None:
    """Let a tree that waits for its first rows have one more."""
    before = tree.state.features
    if before is None:
        tree.fix_columns(features)
        before = features
    steps = [] if before == features else [(0, features)]
    growth = Growth(before, steps, features.widen)
    tree.update(GrowingRows(rows, growth), y, progress=False)
