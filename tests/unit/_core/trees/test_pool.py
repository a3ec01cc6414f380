"""ActivePool against a list of rows."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.trees.pool import ActivePool
from tests.probes import probe


def contents(pool: ActivePool) -> list[tuple]:
    X, y, ids = pool.rows()
    return list(zip(X.tolist(), y.tolist(), ids.tolist(), strict=True))


def filled(n: int, n_features: int = 2) -> tuple[ActivePool, list[tuple], list[int]]:
    """A pool, the rows it should hold, and their slots."""
    pool, rows, slots = ActivePool(n_features), [], []
    for k in range(n):
        x = [k + 0.5 * j for j in range(n_features)]
        slots.append(probe.pool_put(pool, np.array(x), float(-k)))
        rows.append((x, float(-k), k))
    return pool, rows, slots


@pytest.mark.parametrize("n", [0, 1, 8, 9, 200])
def test_rows_stand_in_order_of_arrival(n: int) -> None:
    pool, rows, slots = filled(n)
    assert contents(pool) == rows
    assert [probe.pool_position(pool, s) for s in slots] == list(range(n))
    assert probe.pool_counts(pool)[:2] == (n, n)


def test_the_last_row_takes_the_place_of_one_that_leaves() -> None:
    pool, rows, slots = filled(5)
    probe.pool_free(pool, 1)
    assert contents(pool) == [rows[0], rows[4], rows[2], rows[3]]
    assert probe.pool_position(pool, slots[1]) == -1
    assert probe.pool_position(pool, slots[4]) == 1
    probe.pool_free(pool, 3)
    assert contents(pool) == [rows[0], rows[4], rows[2]]


def test_ids_are_never_used_again() -> None:
    pool, _, _ = filled(3)
    probe.pool_free(pool, 2)
    probe.pool_put(pool, np.zeros(2), 0.0)
    assert pool.rows()[2].tolist() == [0, 1, 3]


def test_a_bounded_window_keeps_its_slots_and_its_room() -> None:
    rng = np.random.default_rng(0)
    pool, rows, slots = filled(20)
    used, capacity = set(slots), probe.pool_counts(pool)[2]
    room = pool.nbytes()
    for k in range(20, 500):
        position = int(rng.integers(20))
        probe.pool_free(pool, position)
        rows[position] = rows[-1]
        rows[-1] = ([k, k + 0.5], float(k), k)
        used.add(probe.pool_put(pool, np.array(rows[-1][0]), rows[-1][1]))
        assert contents(pool) == rows
    assert len(used) <= capacity
    assert (probe.pool_counts(pool)[2], pool.nbytes()) == (capacity, room)


def test_rows_are_copies() -> None:
    pool, rows, _ = filled(3)
    for part in pool.rows():
        part[:] = 99
    assert contents(pool) == rows


def test_load_makes_an_equal_pool() -> None:
    pool, _, _ = filled(9)
    probe.pool_free(pool, 0)
    twin = ActivePool(2)
    twin.load(*pool.rows(), 9)
    assert contents(twin) == contents(pool)
    for one in (pool, twin):
        probe.pool_put(one, np.ones(2), 1.0)
    assert contents(twin) == contents(pool)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 40])
def test_spans_are_those_of_the_rows_held(n: int) -> None:
    """Missing values count for nothing; 0/1 columns hold both."""
    rng = np.random.default_rng(n)
    X = np.column_stack([
        rng.normal(size=n), rng.integers(0, 2, n), np.full(n, np.nan), np.ones(n),
        rng.choice([0.0, 1.0, np.nan], n), rng.choice([0.0, 0.5, 1.0], n),
        np.zeros(n), -rng.integers(0, 2, n),
    ]).astype(float).reshape(n, 8)  # fmt: skip
    pool = ActivePool(8)
    for x in X:
        probe.pool_put(pool, x, 0.0)
    if n > 2:
        probe.pool_free(pool, 1)
    held = pool.rows()[0]
    low, high, binary = pool.spans().bounds()
    assert not any(part.flags.writeable for part in (low, high, binary))
    np.testing.assert_array_equal(low, np.fmin.reduce(held, axis=0, initial=np.nan))
    np.testing.assert_array_equal(high, np.fmax.reduce(held, axis=0, initial=np.nan))
    assert binary.tolist() == [
        np.unique(column[~np.isnan(column)]).tolist() == [0.0, 1.0] for column in held.T
    ]
