"""CoverTree: neighbours while rows come and go."""

from __future__ import annotations

import copy
import math
import pickle
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dyntree
from dyntree.errors import CheckpointError
from dyntree.mixtures import CoverTree, cover_tree, neighbours
from tests.helpers import mostly_slow

Answer = tuple[Any, Any]


def brute(rows: dict[int, np.ndarray], x: np.ndarray) -> list[tuple[float, int]]:
    return sorted((math.dist(v, x), k) for k, v in rows.items())


def same(one: Answer, other: Answer) -> None:
    """Two answers hold the same bits."""
    for a, b in zip(one, other, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def answers(tree: CoverTree, Q: np.ndarray, radius: float) -> list[Answer]:
    """All neighbours, the three nearest, and those within a radius."""
    within = tree.query_radius(Q, radius)
    return [
        tree.query(Q, tree.n_rows),
        tree.query(Q, min(3, tree.n_rows)),
        (np.concatenate(within[0]), np.concatenate(within[1])),
    ]


def changed() -> CoverTree:
    """A tree with rows that wait, and rows of both kinds that are gone."""
    X = np.random.default_rng(2).normal(size=(300, 3))
    tree = CoverTree(X[:250], leaf_size=4, max_nodes=90, seed=3)
    return tree.insert(X[250:]).insert(X[:5]).remove([3, 7, 200, 260, 304])


def test_rows_that_raise_the_root_from_below_are_found() -> None:
    tree = CoverTree([[0.0, 0.0]])
    for row in ([1.0, 0.0], [10.0, 0.0], [100.0, 100.0]):
        tree.insert([row])
    distance, index = tree.query([[99.0, 99.0]], k=4)
    assert index.tolist() == [[3, 2, 1, 0]]
    assert distance[0, 0] == pytest.approx(np.sqrt(2))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_any_coming_and_going(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    first = np.round(rng.normal(size=(40, d)) * 3)
    tree, rows = CoverTree(first, leaf_size=4), dict(enumerate(first))
    n_given = len(first)
    for _ in range(12):
        if rng.random() < 0.6 or len(rows) < 20:
            new = np.round(rng.normal(size=(rng.integers(1, 60), d)) * 5)
            tree.insert(new)
            rows |= dict(enumerate(new, start=n_given))
            n_given += len(new)
        else:
            gone = rng.choice(list(rows), size=len(rows) // 3, replace=False)
            tree.remove(gone)
            for k in gone:
                del rows[int(k)]
        assert tree.n_rows == len(rows)
        x = rng.normal(size=d) * 4
        k = int(rng.integers(1, len(rows) + 1))
        expected = brute(rows, x)
        distance, index = tree.query([x], k)
        np.testing.assert_allclose(
            distance[0], [f for f, _ in expected[:k]], rtol=1e-12
        )
        assert len(set(index[0].tolist())) == k
        for far, name in zip(distance[0], index[0], strict=True):
            assert np.sqrt(((rows[int(name)] - x) ** 2).sum()) == pytest.approx(far)
        (near,), (ids,) = tree.query_radius([x], 5.0)
        assert sorted(ids.tolist()) == sorted(k for f, k in expected if f <= 5.0)
        assert (np.diff(near) >= 0).all()


def test_ties_come_by_their_number() -> None:
    tree = CoverTree(np.repeat([[1.0], [-1.0]], 20, axis=0))
    _, index = tree.query([[0.0]], k=5)
    assert index.tolist() == [[0, 1, 2, 3, 4]]
    tree.insert([[1.0]]).remove([0, 2])
    _, index = tree.query([[0.0]], k=5)
    assert index.tolist() == [[1, 3, 4, 5, 6]]


def test_a_cut_parts_the_rows() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    labels, centres = CoverTree(X).truncate(12)
    assert len(centres) == 12
    assert set(labels.tolist()) == set(range(12))
    assert (labels[centres] == np.arange(12)).all()
    assert len(CoverTree(X, max_nodes=5).nodes["centre"]) <= 5


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda t: CoverTree(np.empty((0, 2))), "at least one row"),
        (lambda t: CoverTree([1.0, 2.0]), "X must be of shape"),
        (lambda t: CoverTree([[np.nan]]), "row 0, column 0"),
        (lambda t: CoverTree([[2e300]]), "within 1e\\+300 of 0"),
        (lambda t: CoverTree([[1.0]], base=1.0), "base"),
        (lambda t: CoverTree([[1.0]], leaf_size=0), "leaf_size"),
        (lambda t: CoverTree([[1.0]], max_nodes=0), "max_nodes"),
        (lambda t: t.query([[1.0]]), "2 columns"),
        (lambda t: t.query([[1.0, 2.0]], k=0), "k must be"),
        (lambda t: t.query([[1.0, 2.0]], k=11), "at most the number of rows, 10"),
        (lambda t: t.query_radius([[1.0, 2.0]], -1.0), "radius must be >= 0"),
        (lambda t: t.insert([[np.inf, 1.0]]), "finite"),
        (lambda t: t.remove([99]), "there is no 99"),
        (lambda t: t.remove([0.5]), "vector of ints"),
        (lambda t: t.remove([True]), "vector of ints"),
        (lambda t: t.remove(np.array([2**64 - 1])), "there is no 18446744073709551615"),
        (lambda t: t.query_radius([[1.0, 2.0]], np.nan), "radius must be finite"),
        (lambda t: t.query([[1.0, np.nan]]), "row 0, column 1"),
        (lambda t: t.remove(range(10)), "leave one row"),
        (lambda t: t.truncate(0), "n_nodes"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call: Any, word: str) -> None:
    tree = CoverTree(np.arange(20.0).reshape(10, 2))
    before = tree.query([[3.0, 3.0]], k=10)
    with pytest.raises(ValueError, match=word):
        call(tree)
    after = tree.query([[3.0, 3.0]], k=10)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert tree.memory_usage() > 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([0, -600, 520]))
def test_answers_do_not_depend_on_what_came_when(seed: int, d: int, power: int) -> None:
    """A tree with any past answers, bit for bit, as a new one of the same rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, d))
    X[rng.integers(0, 150, 60)] = X[rng.integers(0, 150, 60)]  # duplicates
    X = np.ldexp(X, power)
    tree = CoverTree(X[:50], leaf_size=2, seed=1)
    for first in (50, 51, 80, 120):
        last = {50: 51, 51: 80, 80: 120, 120: 150}[first]
        tree.insert(X[first:last])
    gone = rng.choice(150, size=int(rng.integers(0, 149)), replace=False)
    kept = np.setdiff1d(np.arange(150), gone)
    for part in np.array_split(gone, 3):
        tree.remove(part)
    fresh = CoverTree(X[kept], seed=2)
    Q = np.concatenate([X[:5], np.ldexp(rng.normal(size=(5, d)), power)])
    radius = math.ldexp(1.5, power)
    for (far, index), (expected, place) in zip(
        answers(tree, Q, radius), answers(fresh, Q, radius), strict=True
    ):
        same((far, index), (expected, kept[place]))


def test_a_row_and_its_late_double_are_equally_far() -> None:
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(60, 7)), rng.normal(size=(30, 7))
    distance, index = CoverTree(X).insert(X).query(Q, 120)
    assert (distance[:, 0::2] == distance[:, 1::2]).all()
    assert (index[:, 1::2] == index[:, 0::2] + 60).all()


def test_a_question_needs_no_more_memory_than_its_answer() -> None:
    """Rows that wait, and rows that are gone, cost nothing by row and query."""
    X = np.random.default_rng(4).normal(size=(20_000, 8))
    tree = CoverTree(X[:18_000]).insert(X[18_000:]).remove(np.arange(4000))
    Q = X[:300]
    for ask in (lambda: tree.query(Q, 3), lambda: tree.query_radius(Q, 0.5)):
        tracemalloc.start()
        ask()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1e6  # 300 queries x 2000 rows that wait are 4.8e6 bytes


def test_rows_that_come_one_by_one_are_not_copied_each_time() -> None:
    tree = CoverTree(np.random.default_rng(5).normal(size=(20_000, 2)))
    homes = set()
    for _ in range(1000):
        tree.insert([[1.0, 2.0]])
        homes.add(tree._stored.late.ctypes.data)
    assert len(homes) < 20


@pytest.mark.parametrize(
    "scale", [1e-310, 1e-200, 1e-170, 1e-30, 1.0, 1e30, 1e150, 1e200, 1e299]
)
def test_rows_of_any_scale(scale: float) -> None:
    rng = np.random.default_rng(6)
    X, Q = rng.normal(size=(200, 3)) * scale, rng.normal(size=(10, 3)) * scale
    tree = CoverTree(X[:150], leaf_size=2).insert(X[150:])
    rows = dict(enumerate(X))
    distance, index = tree.query(Q, 20)
    _, within = tree.query_radius(Q, scale)
    for q, x in enumerate(Q):
        expected = brute(rows, x)
        assert index[q].tolist() == [k for _, k in expected[:20]]
        np.testing.assert_allclose(
            distance[q],
            [f for f, _ in expected[:20]],
            rtol=1e-14,
            atol=1e-323,  # the grain of floats below 1e-307
        )
        assert within[q].tolist() == [k for f, k in expected if f <= scale]


def test_rows_of_several_scales_in_one_table() -> None:
    X = [[0.0, 0.0], [1e-200, 0.0], [0.0, 3e-200], [1.0, 0.0], [1e200, 1e200]]
    for tree in (CoverTree(X), CoverTree(X[:1]).insert(X[1:])):
        distance, index = tree.query([[0.0, 2.9e-200]], 5)
        assert index.tolist() == [[2, 0, 1, 3, 4]]
        np.testing.assert_allclose(
            distance[0],
            [
                1e-201,
                2.9e-200,
                np.hypot(1.0, 2.9) * 1e-200,
                1.0,
                np.hypot(1, 1) * 1e200,
            ],
        )
        _, (within,) = tree.query_radius([[0.0, 0.0]], 1e-200)
        assert within.tolist() == [0, 1]


def test_nodes_and_parts_speak_of_numbers() -> None:
    tree = CoverTree(np.arange(400.0)[:, None]).remove(np.arange(0, 400, 2))
    nodes = tree.nodes
    assert set(nodes["order"].tolist()) == set(range(1, 400, 2))
    first = nodes["row_begin"], nodes["own_end"]
    for centre, begin, end in zip(nodes["centre"], *first, strict=True):
        assert centre in nodes["order"][begin:end]
    labels, centres = tree.truncate(7)
    assert len(labels) == 200
    assert (centres % 2 == 1).all()
    tree.nodes["order"][:] = 0  # a copy
    assert (tree.nodes["order"] == nodes["order"]).all()


# ---------------------------------------------------------------- copies and files
def reloaded(tree: CoverTree, folder: Path) -> CoverTree:
    dyntree.save(tree, folder / "tree.dyn")
    again = dyntree.load(folder / "tree.dyn")
    assert isinstance(again, CoverTree)
    return again


WAYS: dict[str, Callable[[CoverTree, Path], CoverTree]] = {
    "copy": lambda tree, _: copy.copy(tree),
    "deepcopy": lambda tree, _: copy.deepcopy(tree),
    "pickle": lambda tree, _: pickle.loads(pickle.dumps(tree)),
    "file": reloaded,
}


@pytest.mark.parametrize("way", WAYS)
def test_copies_answer_the_same_and_go_their_own_way(way: str, tmp_path: Path) -> None:
    tree = changed()
    again = WAYS[way](tree, tmp_path)
    Q = np.random.default_rng(7).normal(size=(20, 3))
    before = answers(tree, Q, 1.0)
    for one, other in zip(before, answers(again, Q, 1.0), strict=True):
        same(one, other)
    for name in ("base", "leaf_size", "max_nodes", "seed", "n_rows", "n_features"):
        assert getattr(again, name) == getattr(tree, name)
    again.insert(Q[:1] + 1.0).insert(Q)  # room for late rows is not shared
    tree.insert(Q)
    distance, index = again.query(Q, 1)
    assert not distance.any()
    assert index[:, 0].tolist() == list(range(306, 326))  # 305 were ever given
    assert tree.query(Q, 1)[1][:, 0].tolist() == list(range(305, 325))


def test_files_of_equal_trees_are_equal_bytes() -> None:
    tree = changed()
    header, arrays = tree.to_arrays()
    assert header["next_id"] == 305
    assert arrays["ids"].tolist() == sorted({*range(305)} - {3, 7, 200, 260, 304})
    again = CoverTree.from_arrays(header, arrays)
    assert pickle.dumps(again) == pickle.dumps(tree)
    X = np.random.default_rng(1).normal(size=(50, 2))
    fresh, kept = CoverTree(X), pickle.loads(pickle.dumps(CoverTree(X)))
    for name, array in fresh.nodes.items():
        assert (kept.nodes[name] == array).all()


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ({"base": 9.0}, "base"),
        ({"base": "2"}, "base"),
        ({"leaf_size": 0}, "leaf_size"),
        ({"max_nodes": -1}, "max_nodes"),
        ({"seed": 1.5}, "seed"),
        ({"next_id": 303}, "next_id"),
        ({"next_id": 2**63}, "next_id"),
        ({"next_id": None}, "next_id"),
        ({"rows": np.full((300, 3), np.nan)}, "rows must be finite"),
        ({"rows": np.full((300, 3), 1e301)}, "rows must be finite"),
        ({"rows": np.empty((300, 0))}, "rows must be of shape"),
        ({"rows": np.ones(300)}, "rows must be of shape"),
        ({"rows": np.ones((300, 3), dtype=np.int64)}, "float64"),
        ({"rows": np.ones((299, 3))}, "one number for each row"),
        ({"rows": np.empty((0, 3)), "ids": np.empty(0, dtype=np.int64)}, "at least"),
        ({"ids": np.arange(300.0)}, "int64"),
        ({"ids": np.arange(300)[::-1].copy()}, "ascend"),
        ({"ids": np.arange(300) - 1}, "ascend"),
        ({"ids": np.zeros(300, dtype=np.int64)}, "ascend"),
        ({"ids": np.arange(300)[:, None]}, "one number for each row"),
    ],
)
def test_hostile_files_are_refused(what: dict[str, Any], word: str) -> None:
    header, arrays = changed().to_arrays()
    header |= {name: value for name, value in what.items() if name in header}
    arrays |= {name: value for name, value in what.items() if name in arrays}
    with pytest.raises(ValueError, match=word):
        CoverTree.from_arrays(header, arrays)


@pytest.mark.parametrize("name", ["base", "seed", "next_id", "rows", "ids"])
def test_files_without_a_part_are_refused(name: str) -> None:
    header, arrays = changed().to_arrays()
    header.pop(name, None)
    arrays.pop(name, None)
    tree = changed()
    tree.to_arrays = lambda: (header, arrays)  # type: ignore[method-assign]
    data = pickle.dumps(tree)
    with pytest.raises(CheckpointError, match=name):
        pickle.loads(data)


# ---------------------------------------------------------------- odd input, threads
def test_input_of_any_layout_is_taken_and_left_alone() -> None:
    X = np.random.default_rng(9).normal(size=(90, 4)).astype(np.float32)
    Q, wide = X[:7] + 1, np.zeros((180, 8), dtype=np.float32)
    wide[::2, ::2] = X
    expected = CoverTree(X.astype(float)).query(Q.astype(float), 5)
    for form in (X, np.asfortranarray(X), wide[::2, ::2], X.tolist(), X[::-1][::-1]):
        tree = CoverTree(form[:60]).insert(form[60:])
        same(tree.query(np.asfortranarray(Q), 5), expected)
    mine = X.astype(float)
    tree = CoverTree(mine[:1]).insert(mine[1:])
    mine[:] = 0.0
    same(tree.query(Q, 5), expected)
    frozen = Q.astype(float)
    frozen.flags.writeable = False
    same(tree.query(frozen, 5), expected)


def test_the_smallest_cases() -> None:
    one = CoverTree([[2.0]])
    same(one.query([[2.0]]), (np.array([[0.0]]), np.array([[0]])))
    (distance,), (index,) = one.query_radius([[2.0]], 0.0)
    assert (distance.tolist(), index.tolist()) == ([0.0], [0])
    (distance,), (index,) = one.query_radius([[2.5]], 0.0)
    assert (distance.tolist(), index.tolist()) == ([], [])
    for tree in (one, one.copy().insert([[2.0]]).remove([0])):
        assert tree.query(np.empty((0, 1)))[0].shape == (0, 1)
        assert tree.query_radius(np.empty((0, 1)), 1.0) == ([], [])
    assert one.insert(np.empty((0, 1))).n_rows == 1
    assert one.remove([]).n_rows == 1
    equal = CoverTree(np.ones((300, 2)), leaf_size=1).insert(np.ones((50, 2)))
    assert equal.query([[1.0, 1.0]], 350)[1].tolist() == [list(range(350))]
    assert equal.query_radius([[1.0, 1.0]], 0.0)[1][0].tolist() == list(range(350))


def test_more_leaves_and_nodes_than_any_row_are_no_more() -> None:
    tree = CoverTree([[1.0], [2.0]], leaf_size=2**70, max_nodes=2**70)
    assert tree.query([[1.6]])[1].tolist() == [[1]]
    assert tree.truncate(2**70)[0].tolist() == [0, 1]


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_knows_names_and_times(way: str, tmp_path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(12)
    when = pd.to_timedelta(rng.integers(0, 900, 40), unit="h")
    frame = pd.DataFrame({"when": when, "x": rng.random(40)})
    tree = CoverTree(frame)
    again = WAYS[way](tree, tmp_path)
    assert again.columns == ("when", "x")
    turned = frame[["x", "when"]]
    assert again.query(turned)[1].ravel().tolist() == list(range(40))
    assert tree.insert(turned[:5]).query(turned[:1], 2)[1].tolist() == [[0, 40]]
    with pytest.raises(ValueError, match="durations in column 'when'"):
        again.query(turned.assign(when=1.0))


def test_all_rows_of_the_tree_may_go_while_others_wait() -> None:
    tree = CoverTree([[0.0], [1.0]]).insert([[5.0]]).remove([0, 1])
    assert tree.query([[0.0]])[1].tolist() == [[2]]
    assert [part.tolist() for part in tree.query_radius([[0.0]], 6.0)[1]] == [[2]]
    with pytest.raises(ValueError, match="there is no 0"):
        tree.remove([0])
    assert tree.insert([[6.0]]).remove([2]).query([[0.0]])[1].tolist() == [[3]]


def test_threads_alter_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    X, Q = np.round(rng.normal(size=(3000, 3)), 1), rng.normal(size=(600, 3))
    told = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("DYNTREE_NUM_THREADS", threads)
        tree = CoverTree(X[:2800]).insert(X[2800:]).remove(np.arange(0, 3000, 9))
        told.append([tree.query(Q, 9), *zip(*tree.query_radius(Q, 0.3), strict=True)])
    for other in told[1:]:
        for a, b in zip(told[0], other, strict=True):
            same(a, b)


def test_an_interrupt_of_a_change_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(11).normal(size=(200, 2))
    tree = CoverTree(X[:100]).insert(X[100:130])
    before = tree.query(X[:9], tree.n_rows)

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cover_tree, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tree.insert(X[130:])
        with pytest.raises(KeyboardInterrupt):
            tree.remove(range(90))
    same(tree.query(X[:9], tree.n_rows), before)
    assert tree.insert(X[130:]).query(X[199:], 1)[1].tolist() == [[199]]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_a_long_question_can_be_interrupted() -> None:
    rng = np.random.default_rng(12)
    tree, Q = CoverTree(rng.normal(size=(20_000, 8))), rng.normal(size=(300_000, 8))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for ask in (lambda: tree.query(Q, 5), lambda: tree.query_radius(Q, 0.5)):
        former = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        begun = time.perf_counter()
        try:
            with pytest.raises(KeyboardInterrupt):
                ask()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, former)
        assert time.perf_counter() - begun < 5.0  # all of it takes 10 s and more


def test_questions_beside_changes_see_whole_trees() -> None:
    """Row i lies at i, so that an answer shows whether it fits its rows."""
    tree, stop, odd = CoverTree(np.arange(100.0)[:, None]), threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            distance, index = tree.query([[-1.0]], 50)
            if (distance != index + 1.0).any() or len(set(index[0].tolist())) < 50:
                odd.append((distance, index))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for n in range(100, 700, 3):
            tree.insert(np.arange(n, n + 3.0)[:, None])
            tree.remove([n - 50])
    finally:
        stop.set()
        thread.join()
    assert odd == []


@pytest.mark.parametrize("scale", mostly_slow([1.0, 1e-200, 1e200, 1e-120, 1e9], 3))
@pytest.mark.parametrize("kind", ["normal", "ties", "far", "equal", "constant"])
def test_all_distances_give_the_bits_of_the_tree(
    kind: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    monkeypatch.setattr(neighbours, "CHUNK", 97)
    monkeypatch.setattr(neighbours, "SAMPLE", 20)
    for d in (1, 4, 20):
        X = rng.normal(size=(500, d))
        if kind == "ties":
            X = rng.integers(3, size=(500, d)).astype(float)
        if kind == "far":  # what is left of squares is below their rounding
            X = 1e6 + 1e-3 * X
        if kind == "equal":
            X[100:] = X[rng.integers(100, size=400)]
        if kind == "constant":
            X[:, 0] = 98.6
        X = scale * X
        tree = CoverTree(X[:450])
        tree.remove(rng.choice(450, size=50, replace=False))
        tree.insert(X[450:])
        Q = np.concatenate([X[::3], scale * rng.normal(size=(150, d))])
        held = tree._stored
        for k in (1, 7, 400):
            by_tree = held.searcher.query(Q, k, 1, held.gone, *held.waiting)
            by_all = neighbours.by_all(
                held.searcher, held.rows, held.gone, Q, k, 2, *held.waiting
            )
            assert (by_all is None) == (scale in (1e-200, 1e200))
            if by_all is not None:
                same(by_tree, by_all)
            same(by_tree, tree.query(Q, k))


def test_many_queries_take_all_distances_where_the_tree_is_slower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    by_all = neighbours.by_all

    def counted(searcher: Any, rows: Any, gone: Any, X: Any, *more: Any) -> Any:
        calls.append(len(X))
        return by_all(searcher, rows, gone, X, *more)

    monkeypatch.setattr(neighbours, "by_all", counted)
    rng = np.random.default_rng(0)
    wide, flat = rng.normal(size=(3000, 16)), rng.normal(size=(3000, 2))
    CoverTree(wide).query(wide[:30], 3)  # few queries
    CoverTree(flat).query(flat, 3)
    in_wide = flat @ rng.normal(size=(2, 64))
    CoverTree(in_wide).query(in_wide, 3)
    assert not calls
    CoverTree(wide).query(wide, 3)
    assert calls == [3000 - neighbours.TRIED]


def test_a_query_for_all_rows_of_which_some_wait() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    tree = CoverTree(X[:260]).insert(X[260:])
    distance, index = tree.query(X[:100], 300)
    exact = np.linalg.norm(X[:100, None] - X, axis=2)
    assert distance == pytest.approx(np.sort(exact, axis=1))
    assert (np.sort(index, axis=1) == np.arange(300)).all()
