"""Credits of the active rows over random lives: as if every leaf were summed anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree._core.trees import criteria
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.helpers import mostly_slow
from tests.probes import audit
from tests.statistical.clouds import native_cloud

KINDS = ["update", "flip", "replace", "retire", "rejuvenate", "copy", "arrays"]
LIVES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 2**16), st.integers(0, 3)),
    min_size=2,
    max_size=10,
)
FLAGS = np.array([False, True])
MASS = 1.0  # of the prior of classes


def leaves_below(arrays: dict[str, Any], node: int) -> Iterator[int]:
    """Numbers of the leaves of a tree, left to right."""
    if node < 0:
        yield -node - 1
        return
    for child in arrays["split_links"][node - 1, :2]:
        yield from leaves_below(arrays, child)


def summed(cloud: Cloud, values: list[Any]) -> np.ndarray:
    """Sum over particles, in their order, of what each leaf says of its rows."""
    arrays = cloud.to_arrays()[1]
    rows = np.split(arrays["leaf_rows"], np.cumsum(arrays["leaf_shape"][:, 1])[:-1])
    total = np.zeros(cloud.n_active)
    with np.errstate(invalid="ignore"):  # infinities meet under R's rules
        for root in arrays["roots"]:
            for leaf in leaves_below(arrays, root):
                total[rows[leaf]] += values[leaf]
    return total


def entropies(cloud: Cloud) -> np.ndarray:
    """Average entropy of the leaf of each row, from the counts."""
    sums = cloud.to_arrays()[1]["leaf_sums"]
    n = cloud.n_classes
    counts = sums[:, : n + 1] + sums[:, n + 1 : 2 * n + 2]
    p = (counts[:, 1:] + MASS / n) / (MASS + counts[:, :1])
    return summed(cloud, list(-(p * np.log(p)).sum(axis=1))) / cloud.n_particles


def burst(model: str, rng: Any, n: int, flipped: bool) -> tuple[Any, Any]:
    X = np.round(4 * rng.random((n, 2))) / 4
    X[:, 1] = X[:, 1] > 0.5
    step = (X[:, 0] > 0.5) != flipped
    if model == "class":
        return X, np.where(rng.random(n) < 0.2, 2.0, step)
    return X, 3 * step + rng.random(n) + X[:, 1]


def lived(cloud: Cloud, model: str, kind: str, rng: Any) -> Cloud:
    """The cloud after one more thing has happened to it, or its copy."""
    X, y = burst(model, rng, 12, kind == "flip")
    if model == "augmented":
        X[:, 0] = 1.0
    if kind in ("update", "flip") or cloud.n_active < 5:
        cloud.update(X, y)
    elif kind == "replace":
        for k in range(3):
            cloud.replace(
                int(rng.integers(cloud.n_active)), 1.0, X[k : k + 1], y[k:][:1]
            )
    elif kind == "retire":
        n = int(rng.integers(1, cloud.n_active - 3))
        places = rng.permutation(cloud.n_active)[:n]
        cloud.retire(places, float(rng.choice([1.0, 0.8])))
    elif kind == "rejuvenate":
        cloud.rejuvenate(rng.permutation(cloud.n_active))
    elif kind == "copy":
        return cloud.copy()
    else:
        return Cloud.from_arrays(*cloud.to_arrays(), cloud.source)
    return cloud


def standing(tree: tuple) -> dict[int, float]:
    """Of each held row of a tree, the rows learned in its leaf over those held."""
    if tree[0] == "split":
        return standing(tree[4]) | standing(tree[5])
    return dict.fromkeys(tree[2], 1.0 + tree[3] / max(len(tree[2]), 1))


def weighed_alc(cloud: Cloud, box: Any) -> Any:
    """ALC of the active rows tree by tree, by what each held row stands for."""
    header, arrays = cloud.to_arrays()
    X, ids = cloud.rows()[0], cloud.row_ids()
    total = np.zeros(len(X))
    for k, root in enumerate(arrays["roots"]):
        alone = Cloud.from_arrays(
            dict(header, n_particles=1), dict(arrays, roots=np.array([root])),
            cloud.source,
        )  # fmt: skip
        weights = standing(cloud.tree(k))
        total += criteria.alc_rectangle(alone, X, *box) * np.sqrt(
            [weights[i] for i in ids]
        )
    return total / len(arrays["roots"])


@pytest.mark.parametrize("model", mostly_slow(["constant", "linear", "class"]))
@given(life=LIVES, gaps=st.sampled_from([0.0, 0.2]))
@settings(max_examples=150)
def test_native_credits_are_those_of_a_full_sum(
    model: str, life: list[tuple[str, int, int]], gaps: float
) -> None:
    """The prior point moves at times, leaves empty, the rectangle changes."""
    cloud = native_cloud(
        model, 2, n_particles=8, n_classes=3 * (model == "class"), adaptive=True,
        min_leaf=1 if model == "class" else 3,
    )  # fmt: skip
    cloud.update(*burst(model, np.random.default_rng(0), 12, False))
    for kind, seed, ask in life:
        rng = np.random.default_rng(seed)
        cloud = lived(cloud, model, kind, rng)
        if gaps and kind == "update":
            X, y = burst(model, rng, 4, False)
            X[rng.random(X.shape) < gaps] = np.nan
            cloud.update(X, y)
        if not ask:
            continue
        if model == "class":
            got, want = criteria.entropy_active(cloud), entropies(cloud)
        else:
            box = np.zeros(2), np.array([0.5 + 0.25 * min(ask, 2), 1.0]), FLAGS, False
            got = criteria.alc_active(cloud, *box)
            want = weighed_alc(cloud, box)
        np.testing.assert_allclose(got, want, rtol=1e-9)
        twin = cloud.copy()
        again = (
            criteria.entropy_active(twin)
            if model == "class"
            else criteria.alc_active(twin, *box)
        )
        # the cloud remembers what a leaf was worth before rows retired within it; the
        # copy adds up active and retired sums anew, which rounds faded ones otherwise
        np.testing.assert_allclose(again, got, rtol=1e-13)
        audit(cloud)


@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
@given(life=LIVES)
@settings(max_examples=150)
def test_credits_under_rs_rules_are_added_as_r_does(
    name: str, life: list[tuple[str, int, int]]
) -> None:
    """To the bit: what the leaves hold, particle by particle."""
    cloud = helpers.grown(name, 20)
    for kind, seed, ask in life:
        cloud = lived(cloud, name, kind, np.random.default_rng(seed))
        if not ask:
            continue
        if name == "class":
            got = criteria.entropy_active(cloud)
        else:
            box = np.zeros(2), np.ones(2), FLAGS, False
            got = criteria.alc_active(cloud, *box)
        arrays = cloud.to_arrays()[1]
        n_rows = arrays["leaf_shape"][:, 1]
        values = np.split(arrays["leaf_credit"], np.cumsum(n_rows)[:-1])
        want = summed(cloud, values) / cloud.n_particles
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_credits_follow_the_prior_point(model: str) -> None:
    """A row that moves it changes the credit in leaves that the row never meets."""
    rng = np.random.default_rng(4)
    X = rng.random((80, 2))
    y = 3.0 * (X[:, 0] > 0.5) + 0.05 * rng.standard_normal(80)
    y[:20] *= 0.1
    cloud = native_cloud(model, 2, n_particles=8, adaptive=True)
    box = np.zeros(2), np.ones(2), np.zeros(2, dtype=bool), False
    n_moved = 0
    for k in range(80):
        before = cloud.prior_point
        cloud.update(X[k : k + 1], y[k : k + 1])
        n_moved += cloud.prior_point != before
        got = criteria.alc_active(cloud, *box)
        want = criteria.alc_rectangle(cloud, cloud.rows()[0], *box)
        np.testing.assert_allclose(got, want, rtol=1e-9)
    assert n_moved > 1
