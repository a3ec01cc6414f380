"""ALC under native rules against CRAN's formulas, where both are defined.

To CRAN's rules a native prior of slopes is a past: retired sums with its cross products
and next to no weight. With that past, nu0 and s20 to match and the same splits, a leaf
has the same posterior under both rules, and so must the criterion be the same, though
native rules integrate by moments and CRAN by a double sum over columns. They part where
a split lies outside the rectangle, in 0/1 columns, and where leaves count by rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dyntree._core.trees import criteria
from tests.oracle import criteria as cran
from tests.oracle.cloud import Cloud as OracleCloud
from tests.oracle.leaf import Leaf, Pool, leaf_class
from tests.oracle.native import SLOPE_UNIT
from tests.oracle.stream import RSource
from tests.oracle.tree import Node, Tree

from .clouds import native_cloud

B0 = 0.2
NOTHING = 1e-12  # weight of a past that counts
CENTRE, SPREAD, Y_CENTRE, Y_SPREAD = [0.4, 0.7], [0.3, 0.2], 1.5, 2.0
LOW, HIGH = np.array([-0.2, -0.1]), np.array([1.1, 1.3])
NO_FLAGS = np.zeros(2, dtype=bool)


def stored(model: str, rows: Any) -> np.ndarray:
    """Rows as CRAN's leaves take them: linear ones behind a column of ones."""
    if model == "constant":
        return np.asarray(rows)
    return np.insert(rows, 0, 1.0, axis=-1)


def leaf_with_a_past(pool: Pool, rows: list[int], retired: set[int]) -> Leaf:
    """CRAN's leaf on these rows, of which some then retire; the prior is its past."""
    leaf = leaf_class(pool.rules)(pool, rows)
    if pool.rules.model == "linear":
        leaf.retired = NOTHING
        from_scale = np.diag([1.0, *SPREAD])
        from_scale[1:, 0] = CENTRE
        precision = np.diag([0.0, 2 * SLOPE_UNIT, 2 * SLOPE_UNIT])
        leaf.retired_gram = (from_scale @ precision @ from_scale.T).tolist()
        leaf.retired_cross = [0.0, 0.0, 0.0]
    leaf.build()
    for row in retired.intersection(rows):
        leaf.retire(row, 1.0)
    return leaf


def in_crans_form(
    model: str, X: np.ndarray, y: np.ndarray, trees: list[tuple], retired: set[int]
) -> OracleCloud:
    """CRAN's cloud with these trees of a native one.

    Rows that retire stay in its pool, so that a row's place is its number.
    """
    shift, n_columns = int(model == "linear"), stored(model, X).shape[1]
    nu0 = float(n_columns if shift else 1)  # a native leaf has df = n
    cloud = OracleCloud(
        RSource(0),
        model=model,
        n_features=n_columns,
        n_particles=len(trees),
        min_leaf=6,
        variance_prior=(nu0, 2.0 * B0 * Y_SPREAD**2 / nu0),
        intercept=not shift,
    )
    cloud.pool.x, cloud.pool.y = stored(model, X).tolist(), y.tolist()

    def node_of(part: tuple) -> Node:
        if part[0] == "leaf":
            return Node(part[1], leaf_with_a_past(cloud.pool, list(part[2]), retired))
        _, depth, variable, value, left, right = part
        node = Node(depth, None)
        node.variable, node.value = variable + shift, value
        node.left, node.right = node_of(left), node_of(right)
        return node

    cloud.trees = [Tree(cloud.pool, node_of(tree)) for tree in trees]
    return cloud


def stands_for(tree: tuple) -> Iterator[tuple[int, float]]:
    """Each held row of a tree, and the rows learned in its leaf over those held."""
    if tree[0] == "split":
        yield from stands_for(tree[4])
        yield from stands_for(tree[5])
    else:
        for row in tree[2]:
            yield row, (len(tree[2]) + tree[3]) / len(tree[2])


@pytest.mark.parametrize("retire", [False, True])
@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", range(3))
def test_alc_is_crans(model: str, retire: bool, seed: int) -> None:
    """At new rows over a rectangle and over references, and at the active rows.

    Nothing is left to chance. CRAN inverts cross products about the origin and adds up
    differences of cubes, which costs some digits of sixteen: the worst relative
    difference of seeds 0 to 99 is 5e-11 (constant leaves: 1e-13), the bound 1e-9.
    One degree of freedom more or less changes every value by at least 1 %.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((90, 2))
    y = 3.0 * (X[:, 0] > 0.5) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(90)
    cloud = native_cloud(model, 2, seed=seed, n_particles=6, min_leaf=6, b0=B0)
    cloud.set_scale(CENTRE, SPREAD, Y_CENTRE, Y_SPREAD)
    cloud.update(X, y)
    trees = [cloud.tree(k) for k in range(6)]
    assert any(tree[0] == "split" for tree in trees)
    retired = set(rng.permutation(90)[:40].tolist()) if retire else set()
    cloud.retire(sorted(retired), 1.0)
    other = in_crans_form(model, X, y, trees, retired)

    new, references = rng.random((8, 2)), rng.random((30, 2))
    weights = rng.choice([0.0, 0.3, 1.0], size=(6, 30))
    box = LOW, HIGH, NO_FLAGS, False
    wide = stored(model, LOW), stored(model, HIGH), [False] * other.n_features, False
    rows, places = stored(model, new), stored(model, references)
    active = np.zeros(cloud.n_active)
    for k, tree in enumerate(trees):  # weighed by what each held row stands for
        one = in_crans_form(model, X, y, [tree], retired)
        standing = dict(stands_for(cloud.tree(k)))
        worth = cran.alc_active(one, *wide)
        active += [worth[i] * np.sqrt(standing[i]) for i in cloud.row_ids()]
    pairs = [
        (
            criteria.alc_rectangle(cloud, new, *box),
            cran.alc_rectangle(other, rows, *wide),
        ),
        (
            criteria.alc_reference(cloud, new, references, weights),
            cran.alc_reference(other, rows, places, weights),
        ),
        (criteria.alc_active(cloud, *box), active / 6),
    ]
    for got, expected in pairs:
        assert np.median(expected) > 0.0
        np.testing.assert_allclose(got, expected, rtol=1e-9)
