"""Native streams: how rows are cut into batches changes nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree import StreamingTree
from tests.helpers import model_bytes, mostly_slow

N_ROWS = 30
CUTS = st.sets(st.integers(1, N_ROWS - 1)).map(sorted)


def rows_of(model: str) -> tuple[np.ndarray, Any]:
    """Rows whose spread grows, so that a scale tells which of them it is by."""
    rng = np.random.default_rng(1)
    X = rng.random((N_ROWS, 1)) * np.arange(1.0, N_ROWS + 1)[:, None]
    y = 3.0 + X[:, 0] + rng.standard_normal(N_ROWS)
    return X, np.where(y > 12, "high", "low") if model == "class" else y


def stream(model: str, window: int) -> StreamingTree:
    classes = ("low", "high") if model == "class" else None
    return StreamingTree(
        model, rules="native", window=window, min_leaf=1, n_particles=5,
        discard="random", classes=classes, seed=1,
    )  # fmt: skip


@cache
def whole(model: str, window: int) -> Any:
    """The stream that was given all rows at once."""
    return model_bytes(stream(model, window).update(*rows_of(model)))


@pytest.mark.parametrize("model", ["constant", "linear", "class", "prior"])
@given(window=st.integers(2, 14), cuts=CUTS)
@settings(max_examples=60)
def test_batches_of_any_size_are_the_same(
    model: str, window: int, cuts: list[int]
) -> None:
    X, y = rows_of(model)
    parts = stream(model, window)
    for rows in np.split(np.arange(N_ROWS), cuts):
        parts.update(X[rows], y[rows])
        assert parts.is_ready or parts.n_seen < min(window, 10)
    assert model_bytes(parts) == whole(model, window)


CELL = st.sampled_from([None, "u", "v", "w"])
ROWS = st.lists(st.tuples(CELL, CELL), min_size=N_ROWS, max_size=N_ROWS)


@pytest.mark.parametrize("model", mostly_slow(["constant", "class", "prior"]))
@given(window=st.integers(2, 14), cuts=CUTS, cells=ROWS, take=st.integers(0, N_ROWS))
@settings(max_examples=80)
def test_levels_may_come_with_any_row_of_any_batch(
    model: str, window: int, cuts: list[int], cells: list[Any], take: int
) -> None:
    """Rows without any value first, then of levels, some of them new."""
    X, y = rows_of(model)
    rows = [
        {"a": x, "s": s if k >= take else None, "t": t}
        for k, (x, (s, t)) in enumerate(zip(X[:, 0], cells, strict=True))
    ]
    parts, at_once = stream(model, window), stream(model, window)
    for batch in np.split(np.arange(N_ROWS), cuts):
        parts.update([rows[k] for k in batch], y[batch])
        parts = type(parts).from_arrays(*parts.to_arrays())
    assert model_bytes(parts) == model_bytes(at_once.update(rows, y))
    held = [rows[k] for k in parts.tree.active_ids]
    stored, _ = parts.frozen_view().rows()
    np.testing.assert_array_equal(stored, parts.frozen_view().encode(held))
