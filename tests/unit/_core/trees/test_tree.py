"""Persistent trees: particles share, an accepted move unshares along its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree._core.rng import RSource
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.probes import audit, handles_below, probe


def shape(tree: tuple) -> Any:
    """A tree's splits, without what its leaves hold."""
    if tree[0] == "leaf":
        return "leaf"
    return (*tree[1:4], shape(tree[4]), shape(tree[5]))


def test_descent_follows_the_splits() -> None:
    cloud = helpers.grown("constant", 60)
    X, _ = helpers.data("constant", 40, seed=8)
    for i in range(cloud.n_particles):
        for x in X:
            path = helpers.routed(cloud.tree(i), x)
            handles = probe.path_of(cloud, i, x)
            assert len(handles) == len(path)
            assert handles[-1] == probe.leaf_of(cloud, i, x)
            ids = cloud.row_ids()[probe.leaf(cloud, handles[-1])[1]]
            assert ids.tolist() == list(path[-1][2])


def test_particles_start_as_one() -> None:
    cloud = Cloud(RSource(1), **helpers.options_of("constant", n_particles=50))
    cloud.start(*helpers.data("constant", 6))
    root = probe.roots(cloud)[0]
    assert probe.roots(cloud) == [root] * 50
    assert probe.leaf(cloud, root)[0] == 50
    assert cloud.live_counts == (0, 1)


def test_survivors_share_their_trees() -> None:
    """Between resampling and moving, a tree has one root handle for all its copies."""
    cloud = helpers.grown("constant", 12, n_particles=40)
    X, y = helpers.data("constant", 60, seed=4)
    fewest = []

    def look(_row: int, _retired: int, kept: int, *_shapes: float) -> None:
        handles = probe.roots(cloud)
        assert len(set(handles)) <= kept
        fewest.append(len(set(handles)))
        for h in set(handles):
            refs = (probe.node if h > 0 else probe.leaf)(cloud, h)[0]
            assert refs == handles.count(h)

    cloud.update(X, y, 1, look)
    assert min(fewest) < 40


def steps_of_lone_particles(n_steps: int) -> Any:
    """Steps of a cloud whose weights are equal, so that nobody is resampled.

    Yields root handles, their counts and the trees' shapes before and after.
    """
    cloud = Cloud(RSource(3), **helpers.options_of("prior", n_particles=5, min_leaf=1))
    X, y = helpers.data("prior", n_steps + 2, seed=2)
    cloud.start(X[:2], y[:2])

    def look() -> tuple[list[int], list[int], list[Any]]:
        handles = probe.roots(cloud)
        shapes = [shape(cloud.tree(i)) for i in range(5)]
        kinds = [probe.node if h > 0 else probe.leaf for h in handles]
        counts = [k(cloud, h)[0] for k, h in zip(kinds, handles, strict=True)]
        return handles, counts, shapes

    before = look()
    for k in range(2, n_steps + 2):
        cloud.update(X[k : k + 1], y[k : k + 1])
        after = look()
        yield before, after
        before = after


def test_a_move_leaves_the_trees_of_others_alone() -> None:
    seen = 0
    for (old, counts, were), (new, _, are) in steps_of_lone_particles(60):
        for i in range(5):
            if were[i] == are[i]:
                assert new[i] == old[i]
            elif counts[i] > 1:
                seen += 1
                assert new[i] != old[i]
                for j in range(5):
                    if old[j] == old[i] and were[j] == are[j]:
                        assert new[j] == old[j]
    assert seen


def test_a_sole_owner_is_edited_in_place() -> None:
    seen = 0
    for (old, counts, were), (new, _, are) in steps_of_lone_particles(60):
        for i in range(5):
            stays_split = were[i] != "leaf" != are[i]
            if counts[i] == 1 and were[i] != are[i] and stays_split:
                seen += 1
                assert new[i] == old[i]
    assert seen


def test_rows_join_a_shared_leaf_once() -> None:
    cloud = Cloud(RSource(1), **helpers.options_of("constant", tree_prior=(0.0, 1.0)))
    X, y = helpers.data("constant", 20)
    cloud.start(X[:1], y[:1])
    for k in range(1, 20):
        cloud.update(X[k : k + 1], y[k : k + 1])
        assert cloud.live_counts == (0, 1)
        assert cloud.tree(7)[2] == tuple(range(k + 1))


def test_a_collapse_is_shared_by_all_who_share_the_parent() -> None:
    """Twenty particles with one tree: leaves that dissolve do so once for all."""
    one = helpers.grown("constant", 40, n_particles=1, tree_prior=(0.99, 0.1))
    header, arrays = one.to_arrays()
    arrays["roots"] = np.repeat(arrays["roots"], 20)
    cloud = Cloud.from_arrays(header, arrays, RSource(1))
    before = shape(cloud.tree(0))
    while shape(cloud.tree(0)) == before:
        cloud.retire([0], 0.3)
    below = set(handles_below(cloud, probe.roots(cloud)[0]))
    assert cloud.live_counts[1] == sum(h < 0 for h in below)
    assert len({shape(cloud.tree(i)) for i in range(20)}) == 1
    audit(cloud)


@pytest.mark.parametrize("name", helpers.MODELS)
def test_counts_balance_at_every_step(name: str) -> None:
    cloud = helpers.grown(name, 5, min_leaf=1)
    X, y = helpers.data(name, 40, seed=6)
    for k in range(40):
        cloud.update(X[k : k + 1], y[k : k + 1])
        audit(cloud)
