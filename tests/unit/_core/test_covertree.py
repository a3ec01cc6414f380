"""Cover trees: what holds of every tree, and neighbours against brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree._core.covertree import build, linked, reorder
from dyntree._core.treesearch import Searcher


def chain(n: int) -> np.ndarray:
    """0, 1, 1.5, 1.75, ...: reaches nearly twice the radius of its first level."""
    return np.cumsum([0.0, *0.5 ** np.arange(n - 1)])[:, None]


def sets() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    one_far = rng.normal(size=(200, 3))
    one_far[7] = 1e6
    return {
        "gauss 2": rng.normal(size=(500, 2)),
        "gauss 16": rng.normal(size=(300, 16)),
        "line": np.arange(200.0)[:, None],
        "lattice": np.stack(np.meshgrid(range(15), range(15)), -1).reshape(-1, 2) * 1.0,
        "chain": chain(60),
        "all equal": np.ones((50, 4)),
        "two values": np.repeat([[0.0, 0.0], [1.0, 2.0]], 40, axis=0),
        "one far": one_far,
        "tiny": rng.normal(size=(100, 5)) * 1e-30,
        "huge": rng.normal(size=(100, 5)) * 1e30,
        "one row": np.zeros((1, 3)),
    }


def extremes() -> dict[str, np.ndarray]:
    """Rows whose squared differences are no normal floats, or mixed with some."""
    rng = np.random.default_rng(8)
    normal = rng.normal(size=(100, 5))
    return {
        "denormal": normal * 1e-320,
        "least": normal * 1e-300,
        "squares lost": normal * 1e-170,
        "squares too large": normal * 1e170,
        "largest": normal * 1e299,
        "beside a far one": np.concatenate([normal * 1e-200, [[1e200] * 5]]),
        "powers": 10.0 ** rng.integers(-300, 300, size=(100, 2)),
    }


def distances(X: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distances of rows to one, whose squares nothing loses."""
    return np.array([math.dist(row, x) for row in X.tolist()])


def check(tree: dict[str, Any], X: np.ndarray, base: float, most: int) -> None:
    """I1 to I6 of the invariants of the tree."""
    n, n_nodes = len(X), len(tree["centre"])
    begin, own, end = tree["row_begin"], tree["own_end"], tree["row_end"]
    order, parent, level = tree["order"], tree["parent"], tree["level"]
    assert sorted(order.tolist()) == list(range(n))
    assert n_nodes <= max(1, most)  # I6
    assert (begin[0], end[0], parent[0]) == (0, n, -1)
    assert (np.diff(begin) > 0).all()  # depth first
    links = linked(tree)
    for node in range(n_nodes):
        rows = X[order[begin[node] : end[node]]].astype(float)
        centre = X[tree["centre"][node]].astype(float)
        far = distances(rows, centre)
        assert tree["centre"][node] in order[begin[node] : own[node]]
        # I1: own rows, then the children's, one after another
        children = links["child"][
            links["child_begin"][node] : links["child_begin"][node + 1]
        ]
        at = own[node]
        for child in children:
            assert begin[child] == at
            assert parent[child] == node
            assert level[child] < level[node]  # I4
            at = end[child]
        assert at == end[node]
        # I2 and I5
        radius = tree["radius_sub"][node]
        grain = 2e-323
        assert radius == pytest.approx(far.max(), rel=1e-5, abs=grain)
        own_far = far[: own[node] - begin[node]]
        assert tree["radius_own"][node] == pytest.approx(
            own_far.max(), rel=1e-5, abs=grain
        )
        if radius > 0:
            assert base ** float(level[node]) >= radius
            assert base ** float(level[node] - 1) < radius
        else:
            assert level[node] == -(2**31)


@pytest.mark.parametrize("base", [1.3, 2.0])
@pytest.mark.parametrize("kind", sets() | extremes())
@pytest.mark.parametrize("leaf_size", [1, 16])
def test_invariants(kind: str, base: float, leaf_size: int) -> None:
    X = (sets() | extremes())[kind]
    for most in (1, 7, len(X)):
        tree = build(X, base, leaf_size, most, 3, 1)
        check(tree, X, base, most)


@pytest.mark.parametrize("kind", ["gauss 2", "lattice", "one far"])
def test_centres_of_one_expansion_are_apart(kind: str) -> None:
    """I3, for a root that is expanded once: 33 nodes at the most."""
    X = sets()[kind]
    tree = build(X, 1.3, 1, 33, 1, 1)
    first = np.flatnonzero(tree["parent"] == 0)
    if len(first) == len(tree["centre"]) - 1:
        centres = X[tree["centre"][[0, *first]]]
        far = np.sqrt(((centres[:, None] - centres) ** 2).sum(-1))
        reach = 1.3 ** (float(tree["level"][0]) - 1)
        assert (far + np.diag(np.full(len(far), np.inf)) > reach).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 4), st.booleans())
def test_any_rows(seed: int, n: int, d: int, single: bool) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 4) / rng.choice([1, 3, 7])
    X = X.astype(np.float32) if single else X
    tree = build(X, 1.3, 1, n, seed, 1)
    check(tree, X, 1.3, n)


@pytest.mark.parametrize(
    ("kind", "single"),
    [(kind, single) for kind in sets() for single in (False, True)]
    + [(kind, False) for kind in extremes()],
)
def test_neighbours_are_those_of_brute_force(kind: str, single: bool) -> None:
    X = (sets() | extremes())[kind]
    if single:
        X = X.astype(np.float32)
    rng = np.random.default_rng(1)
    spread = float(np.abs(X).max()) + 1e-300
    Q = np.concatenate(
        [X[:20], rng.normal(size=(20, X.shape[1])) * spread, X[:1] + 50 * spread]
    )
    Q = np.ascontiguousarray(Q.astype(X.dtype))
    tree = build(X, 1.3, 4, len(X), 2, 1)
    search = Searcher(
        tree, np.ascontiguousarray(X[tree["order"]]), tree["order"].astype(np.int64)
    )
    for k in (1, min(5, len(X)), len(X)):
        distance, index = search.query(Q, k, 1)
        for q, row in enumerate(Q.astype(float)):
            far = distances(X, row)
            near = {"rtol": 1e-12, "atol": 1e-323}  # the grain below 1e-307
            np.testing.assert_allclose(distance[q], np.sort(far)[:k], **near)
            np.testing.assert_allclose(far[index[q]], distance[q], **near)
            assert len(set(index[q].tolist())) == k
            assert (np.lexsort((index[q], distance[q])) == np.arange(k)).all()
    begin, far_found, ids = search.query_radius(Q, spread, 1)
    for q, row in enumerate(Q.astype(float)):
        far = distances(X, row)
        sure = np.flatnonzero(far <= spread * (1 - 1e-12))
        maybe = np.flatnonzero(far <= spread * (1 + 1e-12))
        mine = set(ids[begin[q] : begin[q + 1]].tolist())
        assert set(sure.tolist()) <= mine <= set(maybe.tolist())
        assert (far_found[begin[q] : begin[q + 1]] <= spread).all()


@pytest.mark.parametrize("power", [-900, -600, 600, 900])
def test_the_scale_of_rows_alters_no_cut(power: int) -> None:
    """With base 2 levels scale as rows do, and nodes are opened by their squares."""
    X = np.random.default_rng(4).normal(size=(400, 3))
    one, other = (build(rows, 2.0, 1, 60, 0, 1) for rows in (X, np.ldexp(X, power)))
    for name in ("order", "centre", "parent", "row_begin", "own_end"):
        assert (one[name] == other[name]).all()
    assert (np.ldexp(one["radius_sub"], power) == other["radius_sub"]).all()


@pytest.mark.parametrize("n_threads", [2, 7])
def test_threads_alter_nothing(n_threads: int) -> None:
    X = np.random.default_rng(5).normal(size=(50_000, 3)).astype(np.float32)
    one, other = (build(X, 1.3, 32, 1500, 9, t) for t in (1, n_threads))
    for name in one:
        assert one[name].tobytes() == other[name].tobytes()


def test_rows_are_reordered_in_place() -> None:
    rng = np.random.default_rng(6)
    for n in (1, 2, 50, 999):
        X = rng.normal(size=(n, 3)).astype(np.float32)
        order = rng.permutation(n).astype(np.int32)
        expected = X[order]
        reorder(X, order)
        assert X.tobytes() == expected.tobytes()
