"""What leaves do with retired rows: share them out, pool them, forget them."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.trees import query
from tests import helpers


def leaves(tree: tuple) -> list[tuple]:
    return [tree] if tree[0] == "leaf" else leaves(tree[4]) + leaves(tree[5])


@pytest.mark.parametrize("name", helpers.RETIRING)
def test_retired_weight_is_shared_and_pooled_but_never_lost(name: str) -> None:
    """Without forgetting, every tree carries the weight of all retired rows."""
    cloud = helpers.grown(name, 20)
    cloud.retire(range(6))
    X, y = helpers.data(name, 40, seed=5)
    shapes = set()
    for k in range(40):
        cloud.update(X[k : k + 1], y[k : k + 1])
        for i in range(cloud.n_particles):
            below = leaves(cloud.tree(i))
            shapes.add(len(below))
            # six ones that were split and pooled a few times
            assert sum(leaf[3] for leaf in below) == pytest.approx(6.0, rel=1e-12)
    assert len(shapes) > 1


@pytest.mark.parametrize("name", ["constant", "augmented", "none", "class"])
def test_retiring_everything_but_a_row_keeps_the_predictions(name: str) -> None:
    """Sums are remembered (7.6); a rank-one detour rounds in the last digits."""
    cloud = helpers.grown(name, 30)
    X, y = helpers.data(name, 50, seed=3)
    before = query.predict(cloud, X, y)
    cloud.retire(range(1, 30))
    after = query.predict(cloud, X, y)
    for field, values in before.items():
        np.testing.assert_allclose(after[field], values, rtol=1e-8, err_msg=field)


@pytest.mark.parametrize("forget", [1.0, 0.5])
def test_a_leaf_discounts_what_it_had_retired(forget: float) -> None:
    cloud = helpers.grown("constant", 12, tree_prior=(0.0, 1.0))
    expected = 0.0
    for _ in range(5):
        cloud.retire([0], forget)
        expected = forget * expected + 1.0
        assert cloud.tree(0)[3] == expected
    assert cloud.n_retired == 5
