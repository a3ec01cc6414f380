"""CoverTree: neighbours while rows come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree.mixtures import CoverTree


def brute(rows: dict[int, np.ndarray], x: np.ndarray) -> list[tuple[float, int]]:
    return sorted((float(np.sqrt(((v - x) ** 2).sum())), k) for k, v in rows.items())


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
        (lambda t: CoverTree([[1e200]]), "below 1e150"),
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
