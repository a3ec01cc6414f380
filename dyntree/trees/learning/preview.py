"""A stream that is to be learned -> its rows, checked and encoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, FeatureMap, take
from dyntree.encoding.pairing import check_paired
from dyntree.encoding.targets import (
    label_codes,
    label_list,
    real_response,
    sorted_labels,
)
from dyntree.trees.learning.check import encoded, extended, tell_full
from dyntree.trees.learning.scaling import check_scale
from dyntree.trees.learning.warmup import n_settling
from dyntree.trees.state import TreeState, n_waiting


def previewed(
    state: TreeState, X: Any, y: Any, start: int | None = None
) -> tuple[Encoded, list[Any]]:
    """Check a stream that is to be learned, and encode it; see `Learner.preview`."""
    if start is not None:
        start = params.count("start", start, 0)
    check_paired(X, y)
    features, n_first = state.features, 0
    if state.cloud is None:
        features, n_first = _settled(state, X, start)
    assert features is not None
    if features.may_grow and state.options.new_levels == "grow":
        steps, rows = features.grown(X)
        features = steps[-1][1] if steps else features
        tell_full(state, features, X)
    else:
        rows = encoded(state, features, X)
    if not len(rows):
        raise ValueError("X must have at least one row; got none.")
    rows = rows.copy() if rows is X else rows  # which is the caller's to change
    if state.options.model != "class":
        response = real_response(y, len(rows), state.options.rules)
        if state.cloud is not None:
            check_scale(state.cloud, features, rows, response)
        return Encoded(rows, features), response.tolist()
    labels = label_list(y, len(rows))
    if state.options.rules == "r":
        known = state.options.classes
        known = known or sorted_labels([*state.waiting_y, *labels[:n_first]])
        label_codes(labels, known)
    return Encoded(rows, features), labels


def _settled(state: TreeState, X: Any, start: int | None) -> tuple[FeatureMap, int]:
    """The columns that trees will be planted with, and how many rows decide on them."""
    first = X if start is None else take(X, slice(max(1, start)))
    features, codes = extended(state, first)
    n_first = len(codes) if start is None else start
    options = state.options.with_width(features.n_features)
    needed = n_waiting(options, state.n_scale)
    ahead = needed - len(state.waiting_y)
    one_by_one = range(n_first + 1, ahead + 1) if start is not None else ()
    for end in one_by_one if features.allow_missing else ():
        features, codes = features.extend(take(X, slice(end)))
    if state.waiting_y:
        codes = np.concatenate([state.waiting_X, codes])
    grows = state.options.new_levels == "grow"
    features, _ = features.settle(codes, n_settling(state, needed), grows)
    return features, max(n_first, ahead)
