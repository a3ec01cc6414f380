"""Arena: counts, cascades, and room that is used again."""

from __future__ import annotations

import pytest

from dyntree._core.trees.arena import Arena
from tests.probes import probe


def fresh() -> Arena:
    return Arena(3, 2, 2)


def live(a: Arena) -> tuple[int, int]:
    return a.live_nodes, a.live_leaves


def test_handles_have_signs_and_differ() -> None:
    a = fresh()
    leaves = [probe.take_leaf(a) for _ in range(1000)]
    nodes = [probe.take_node(a, x, y) for x, y in zip(*[iter(leaves)] * 2, strict=True)]
    assert max(leaves) < 0 < min(nodes)
    assert (len(set(leaves)), len(set(nodes))) == (1000, 500)
    assert live(a) == (500, 1000)
    assert {probe.refs(a, h) for h in leaves + nodes} == {1}


def test_share_and_drop_count() -> None:
    a = fresh()
    for h in (probe.take_leaf(a), probe.take_node(a, *[probe.take_leaf(a)] * 2)):
        before = live(a)
        for expected in (2, 3):
            probe.share(a, h)
            assert probe.refs(a, h) == expected
        for expected in (2, 1):
            probe.drop(a, h)
            assert probe.refs(a, h) == expected
        assert live(a) == before


def comb(a: Arena, depth: int, to_the_left: bool) -> int:
    """A tree of `depth` splits that all hang on one side."""
    h = probe.take_leaf(a, 3)
    for _ in range(depth):
        other = probe.take_leaf(a, 3)
        h = probe.take_node(a, *((h, other) if to_the_left else (other, h)))
    return h


@pytest.mark.parametrize("to_the_left", [True, False])
def test_a_tree_goes_with_its_last_owner(to_the_left: bool) -> None:
    a = fresh()
    h = comb(a, 50, to_the_left)
    probe.share(a, h)
    probe.drop(a, h)
    assert live(a) == (50, 51)
    probe.drop(a, h)
    assert live(a) == (0, 0)


def test_a_shared_part_stays() -> None:
    a = fresh()
    below = comb(a, 3, True)
    probe.share(a, below)
    h = probe.take_node(a, below, probe.take_leaf(a))
    probe.drop(a, h)
    assert live(a) == (3, 4)
    assert probe.refs(a, below) == 1


def test_what_was_dropped_is_used_again() -> None:
    a = fresh()
    first = comb(a, 400, False)
    probe.drop(a, first)
    room = a.nbytes()
    for _ in range(5):
        h = comb(a, 400, True)
        assert live(a) == (400, 401)
        probe.drop(a, h)
    assert a.nbytes() == room


def test_row_blocks_are_used_again() -> None:
    a = fresh()
    h = probe.take_leaf(a, 100, credit=True)
    room = a.row_bytes
    assert room == 128 * (4 + 8)  # the next power of two, for slots and credit
    probe.drop(a, h)
    assert a.row_bytes == room
    probe.take_leaf(a, 65, credit=True)
    assert a.row_bytes == room
    probe.take_leaf(a, 65)
    assert a.row_bytes > room


def test_a_growing_list_doubles() -> None:
    a = fresh()
    h = probe.take_leaf(a)
    capacities = [probe.reserve_rows(a, h, n) for n in range(1, 200)]
    assert capacities == [max(4, 1 << (n - 1).bit_length()) for n in range(1, 200)]


def test_large_blocks_go_back_to_the_system() -> None:
    a = fresh()
    h = probe.take_leaf(a, 1 << 14)
    assert a.row_bytes == 4 << 14
    probe.drop(a, h)
    assert a.row_bytes == 0
