"""Where fits begin: rows and columns that tell no components apart change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import Canopy

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
