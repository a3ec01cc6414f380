"""Where fits begin: rows and columns that tell no components apart change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.starts import start

CENTRES = np.array([[0, 0], [12, 0], [0, 12], [12, 12], [6, -14.0]])


def blobs(seed: int, n: int = 600) -> tuple[Any, Any]:
    """Five round clusters of two columns, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    label = rng.integers(5, size=n)
    return CENTRES[label] + rng.normal(size=(n, 2)), label


def is_partition(labels: Any, truth: Any) -> bool:
    """Whether labels are the true ones under other names."""
    pairs = np.unique(np.column_stack([labels, truth]), axis=0)
    return len(pairs) == len(np.unique(truth)) == len(np.unique(pairs[:, 0]))


# data and seeds are fixed, so that nothing here fails by chance
@pytest.mark.filterwarnings("ignore:row 600 has")
@pytest.mark.parametrize("family", ["diag", "spherical", "full"])
@pytest.mark.parametrize("far", [1e3, 1e4, 1e5])
def test_a_row_far_out_leaves_the_others_alone(family: str, far: float) -> None:
    for seed in range(3):
        X, label = blobs(seed)
        model = Canopy(6, family=family, seed=1).fit(np.r_[X, [[far, far]]])
        assert is_partition(model.predict(X), label)
        plain = Canopy(5, family=family, seed=1).fit(X)
        assert model.score(X) > plain.score(X) - 0.1


FEW_VALUES = {
    "boolean": lambda rng: rng.integers(2, size=(600, 1)),
    "three levels": lambda rng: np.eye(3)[rng.integers(3, size=600)],
    "whole numbers": lambda rng: rng.poisson(2.0, size=(600, 2)),
}


@pytest.mark.parametrize("kind", FEW_VALUES)
def test_a_column_of_few_values_cuts_no_cluster(kind: str) -> None:
    for seed in range(4):
        X, label = blobs(seed)
        wide = np.c_[X, FEW_VALUES[kind](np.random.default_rng(100 + seed))]
        assert is_partition(Canopy(5, seed=1).fit(wide).predict(wide), label)


# groups whose distances grow tenfold, so that none is on the border of another's ball
@pytest.mark.parametrize("m", [5, 6, 30])
def test_a_level_of_the_cover_tree_has_a_centre_in_every_group(m: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = np.array([400, 3, 40, 1, 156])  # the fullest nodes leave small ones out
        label = np.repeat(np.arange(5), size)
        X = (0.01 * rng.uniform(size=(600, 2))).astype(np.float32)
        X[:, 0] += np.array([0, 1, 10, 100, 1000], dtype=np.float32)[label]
        found = start("covertree_level", m, X, seed, 1)
        assert len(np.unique(found, axis=0)) == m
        near = np.square(X[None] - found[:, None]).sum(axis=2)
        assert (near.min(axis=1) == 0.0).all()  # they are rows
        assert set(label[near.argmin(axis=1)]) == set(range(5))
        two = start("covertree_level", m, X, seed, 2)
        assert two.tobytes() == found.tobytes()


def test_a_level_is_filled_up_by_children_drawn_at_random() -> None:
    X = np.random.default_rng(1).normal(size=(300, 2)).astype(np.float32)
    fewer, more = (
        {tuple(row) for row in start("covertree_level", m, X, 3, 1)} for m in (40, 60)
    )
    shared = len(fewer & more)
    assert 1 <= shared <= 40
    everything = start("covertree_level", 300, X, 3, 1)
    assert {tuple(row) for row in everything} == {tuple(row) for row in X.astype(float)}
    with pytest.raises(ValueError, match="different rows, 300; got 301"):
        start("covertree_level", 301, np.r_[X, X[:1]], 3, 1)


def test_a_fit_begins_at_a_level_of_the_cover_tree() -> None:
    X, label = blobs(1)
    for seed in range(3):
        model = Canopy(5, init="covertree_level", seed=seed).fit(X)
        assert is_partition(model.predict(X), label)
