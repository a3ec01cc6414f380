"""Retirement under native rules: what a leaf remembers is as good as the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dyntree import StreamingTree
from dyntree._core.rng import CounterSource
from dyntree._core.trees import probe, query
from dyntree._core.trees.cloud import Cloud
from tests.oracle.native import Leaf

from .clouds import friedman, native_cloud

SEEDS = range(3)
MODELS = ["constant", "linear", "class"]


def steps(model: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three inputs, steps in two of them about as large as the noise; or labels."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.random((n, 3))) / 8
    y = 2.5 * (X[:, 0] > 0.4) + (X[:, 1] > 0.6) + X[:, 2] + rng.standard_normal(n)
    return X, np.digitize(y, (1.0, 3.0)).astype(float) if model == "class" else y


def grown(model: str, n: int, seed: int, **options: Any) -> Cloud:
    cloud = native_cloud(
        model, 3, seed=seed, n_particles=20, n_classes=3 * (model == "class"), **options
    )
    cloud.update(*steps(model, n, seed))
    return cloud


def without_splits(cloud: Cloud) -> Cloud:
    """A copy whose trees stay and prune, but grow no more: no column is open."""
    header, arrays = cloud.to_arrays()
    header |= {"first_split": cloud.n_features, "open_columns": []}
    source = CounterSource.from_state(arrays["random_state"])
    return Cloud.from_arrays(header, arrays, source)


def pairs(
    one: Cloud, two: Cloud, handles: tuple[int, int], parents: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Leaves of two trees of the same shape, each with its parent."""
    assert (handles[0] > 0) == (handles[1] > 0)
    if handles[0] < 0:
        yield handles, parents
        return
    below = probe.node(one, handles[0])[1:], probe.node(two, handles[1])[1:]
    for children in zip(*below, strict=True):
        yield from pairs(one, two, children, handles)


def n_prunable(kept: Cloud, gave: Cloud, new: np.ndarray) -> int:
    """Leaves that may be pruned; all that is known of both clouds must be alike."""
    got, expected = query.predict(gave, new), query.predict(kept, new)
    for name, values in expected.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-10, atol=1e-12)
    n = 0
    for roots in zip(probe.roots(kept), probe.roots(gave), strict=True):
        for leaves, parents in pairs(kept, gave, roots, (0, 0)):
            odds = probe.scores(kept, leaves[0], parents[0])
            again = probe.scores(gave, leaves[1], parents[1])
            np.testing.assert_allclose(again, odds, rtol=1e-10, atol=1e-10)
            n += math.isfinite(odds[1])
    return n


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_retired_rows_count_as_active_ones_until_a_grow(model: str, seed: int) -> None:
    """Rules N2, lambda = 1: predictions, stay and prune odds, to 1e-10.

    All but six rows retire, more go as others come, and leaves run empty; the tree that
    kept its rows takes the same moves. Nothing here is left to chance but draws that
    fall between odds 1e-10 apart: fewer than one run in 1e6.
    """
    cloud = grown(model, 120, seed, min_leaf=1 if model == "class" else 4)
    kept, gave = without_splits(cloud), without_splits(cloud)
    rng = np.random.default_rng(seed)
    gave.retire(rng.permutation(120)[6:], 1.0)
    new, y = steps(model, 60, seed + 1000)
    found = n_prunable(kept, gave, new)
    assert found
    for part in np.split(np.arange(60), 6):
        density = gave.update(new[part], y[part])
        np.testing.assert_allclose(
            density, kept.update(new[part], y[part]), rtol=1e-10, atol=1e-10
        )
        n_prunable(kept, gave, new)
        gave.retire(rng.permutation(gave.n_active)[6:], 1.0)
        n_prunable(kept, gave, new)


# ------------------------------------------------------------ invariance
@pytest.mark.parametrize(
    ("discard", "forget"), [("random", 1.0), ("age", 0.95), ("alc", 1.0)]
)
@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_units_and_names_change_no_draw_of_a_stream(
    model: str, seed: int, discard: str, forget: float
) -> None:
    """y -> c + s y (s < 0), x -> c + s x (s > 0) and names, with retirement.

    The same rows retire and the same trees grow, unless a draw falls within rounding of
    its threshold: fewer than one run in 1e6.
    """
    X, y = friedman(200, seed)
    new = friedman(5, seed + 50)[0]
    factor, shift = np.array([1e3, 1e-3, 2.0, 7.0, 1.0]), np.array([-3.0, 0, 9, 1, 5])

    def stream() -> StreamingTree:
        return StreamingTree(
            model, rules="native", window=60, discard=discard, forget=forget,
            n_particles=20, seed=seed,
        )  # fmt: skip

    plain, moved, named = stream().update(X, y), stream(), stream()
    moved.update(X * factor + shift, 5.0 - 1e-2 * y)
    assert moved.tree.active_ids.tolist() == plain.tree.active_ids.tolist()
    assert moved.tree.stats() == plain.tree.stats()
    p, q = plain.predict(new), moved.predict(new * factor + shift)
    np.testing.assert_allclose(q.mean, 5.0 - 1e-2 * p.mean, rtol=1e-8)
    np.testing.assert_allclose(q.var, 1e-4 * p.var, rtol=1e-8)
    assert moved.log_evidence == pytest.approx(
        plain.log_evidence + len(y) * math.log(100), rel=1e-9
    )
    named.update([dict(zip("zyxwv", row, strict=True)) for row in X], y)
    (_, arrays), (_, again) = plain.to_arrays(), named.to_arrays()
    for name, values in arrays.items():
        assert values.tobytes() == again[name].tobytes()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_that_retires_changes_no_bit_of_what_is_predicted(
    model: str, seed: int
) -> None:
    cloud = grown(model, 150, seed)
    X, _ = steps(model, 40, seed + 1000)
    for _ in range(5):
        before = query.predict(cloud, X)
        cloud.retire(np.random.default_rng(seed).permutation(cloud.n_active)[:20], 1.0)
        for name, values in query.predict(cloud, X).items():
            np.testing.assert_array_equal(values, before[name])
    cloud.retire([0], 0.5)
    after = query.predict(cloud, X)
    assert any(np.any(after[name] != values) for name, values in before.items())


# ------------------------------------------------------------ very many rows
def with_heavier_past(cloud: Cloud, factor: float) -> Cloud:
    """The cloud as if every retired row had come `factor` times."""
    header, arrays = cloud.to_arrays()
    stride = {"constant": 3, "linear": 15, "class": 4}[cloud.model]
    sums = arrays["leaf_sums"].copy()
    sums[:, stride : 2 * stride] *= factor
    return Cloud.from_arrays(header, {**arrays, "leaf_sums": sums}, cloud.source)


@pytest.mark.parametrize("forget", [1.0, 0.5])
@pytest.mark.parametrize("model", ["constant", "linear"])
def test_a_billion_rows_predict_as_the_posterior_says(
    model: str, forget: float
) -> None:
    X, y = steps(model, 60, 1)
    cloud = native_cloud(model, 3, alpha=0.0, n_particles=2)
    cloud.update(X[:59], y[:59])
    cloud.retire(range(50), 1.0)
    held, factor = [*cloud.row_ids(), 59], 1e9 / 50
    heavy = with_heavier_past(cloud, factor)
    heavy.retire([0], forget)
    heavy.update(X[59:], y[59:])  # which makes the posterior that of the changed sums
    weight = np.where(np.isin(np.arange(60), held), 1.0, forget * factor)
    expected = Leaf(X if model == "linear" else X[:, :0], y, weight, 0.1)
    location, scale, df = query.predictive(heavy, X[:9])
    for k, x in enumerate(X[:9]):
        answer = expected.predictive(x if model == "linear" else x[:0])
        assert (location[1, k], scale[1, k], df[1, k]) == pytest.approx(
            answer, rel=1e-9
        )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_trees_learn_on_after_a_billion_rows(model: str, seed: int) -> None:
    """Densities and predictions stay finite, and forgetting lets go of what was."""
    cloud = grown(model, 150, seed, min_leaf=1 if model == "class" else 4)
    cloud.retire(np.random.default_rng(seed).permutation(150)[:110], 1.0)
    heavy = with_heavier_past(cloud, 1e9 / 110)
    X, y = steps(model, 150, seed + 1000)
    for part in np.split(np.arange(150), 15):
        assert np.all(np.isfinite(heavy.update(X[part], y[part])))
        assert all(np.all(np.isfinite(v)) for v in query.predict(heavy, X).values())
        heavy.retire(np.arange(10), 0.1)
    for k in range(20):
        past = sum(leaf[3] for leaf in leaves_of(heavy.tree(k)))
        assert 0.0 < past < 1e6


def leaves_of(tree: tuple) -> Iterator[tuple]:
    if tree[0] == "leaf":
        yield tree
    else:
        yield from leaves_of(tree[4])
        yield from leaves_of(tree[5])
