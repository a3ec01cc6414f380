"""What an input accounts for: importance, and Sobol' indices of factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import DynamicTree, StreamingTree
from tests.unit.models import refused

Z = 5.0  # standard errors: one false alarm in a million


def sites(n: int = 800, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """y = 3a + 2 [k = u] + noise; b is of no use."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(n), "b": rng.random(n)})
    frame["k"] = rng.choice(["u", "v"], n)
    y = 3.0 * frame["a"] + 2.0 * (frame["k"] == "u") + 0.3 * rng.standard_normal(n)
    return frame, y.to_numpy()


def tree_of(model: str = "linear", **options: Any) -> DynamicTree:
    frame, y = sites()
    return DynamicTree(model, n_particles=200, seed=1, **options).update(frame, y)


# variance 9/12 by a, 4/4 by k; fits of 800 rows are off by some per cent themselves
TRUTH = np.array([0.75, 0.0, 1.0]) / 1.75


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_importance_is_the_share_of_the_variance(model: str) -> None:
    found = tree_of(model).importance(n_samples=2000)
    assert found.names == ("a", "b", "k")
    assert np.all(np.abs(found.values - TRUTH) < Z * found.se + 0.03)
    assert found.values.sum() == pytest.approx(1.0)
    assert np.all((found.se[[0, 2]] > 0.001) & (found.se[[0, 2]] < 0.02))


def test_importance_of_slopes() -> None:
    """A single linear leaf: shares of the squares of its slopes."""
    rng = np.random.default_rng(2)
    X = rng.random((500, 3))
    tree = DynamicTree("linear", n_particles=100, seed=1)
    tree.update(X, X @ [4.0, 2.0, 0.0] + 0.1 * rng.standard_normal(500))
    found = tree.importance(n_samples=4000)
    assert np.all(np.abs(found.values - [0.8, 0.2, 0.0]) < Z * found.se + 0.01)
    assert np.all(tree.relevance().values.mean(axis=0) < 0.1)  # which knows no slopes


def test_standard_errors_are_those_of_the_draws() -> None:
    """60 models that differ in their seed alone, which the draws hang on.

    The standard deviation of 60 normal values has a standard error of 9 %: four of them
    are passed in one run of ten thousand.
    """
    frame, y = sites(200)
    shares, told = [], []
    tree = DynamicTree("linear", n_particles=20, seed=1).update(frame, y)
    for seed in range(60):
        tree.state.seed = seed
        found = tree.importance(n_samples=100)
        shares.append(found.values[0])
        told.append(found.se[0])
    assert np.std(shares, ddof=1) == pytest.approx(np.mean(told), rel=0.4)


def test_importance_changes_nothing_and_is_repeatable() -> None:
    tree = tree_of()
    before = tree.copy()
    first = tree.importance()
    assert tree.importance().values.tobytes() == first.values.tobytes()
    new, y = sites(5, seed=3)
    one, other = (t.update(new, y).predict(new).mean for t in (tree, before))
    assert one.tobytes() == other.tobytes()


def test_importance_of_classes_streams_and_gaps() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((400, 3))
    label = np.where(X[:, 1] > 0.5, "high", "low")
    X[rng.random(X.shape) < 0.1] = np.nan
    stream = StreamingTree("class", window=100, n_particles=100, seed=1)
    found = stream.update(X, label).tree.importance()
    assert found.values.argmax() == 1
    assert np.all((found.values >= 0.0) & (found.values <= 1.0))


def test_importance_of_what_never_varies() -> None:
    tree = DynamicTree(n_particles=20, seed=1).update(np.ones((30, 2)), np.ones(30))
    found = tree.importance()
    assert found.values.tolist() == found.se.tolist() == [0.0, 0.0]


def test_importance_under_rs_rules() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((150, 2))
    for model, more in (("constant", {}), ("linear", {"intercept": "augmented"})):
        tree = DynamicTree(model, rules="r", n_particles=50, seed=1, **more)
        y = 5.0 * X[:, 1] + 0.1 * rng.standard_normal(150)
        found = tree.update(X, y).importance()
        assert found.names == ("x0", "x1")
        assert found.values[1] > 0.9


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_a_factor_has_one_index(model: str) -> None:
    """Totals of .74, .33, .45 and .45 came where levels were drawn one by one.

    Indices are of the response, whose noise of .3 takes .09 of 1.84.
    """
    found = tree_of(model).sensitivity(n_samples=500, n_grid=3)
    assert found.inputs == ("a", "b", "k")
    assert found.names == ("a", "b", "k=v")
    truth = TRUTH * 1.75 / 1.84
    for indices in (found.first, found.total):
        assert indices.shape == (200, 3)
        assert np.all(np.abs(indices.mean(axis=0) - truth) < 0.08)
    effect = found.main.mean(axis=0)[:, 2:]
    assert effect[-1, 0] - effect[0, 0] == pytest.approx(-2.0, abs=0.15)


@pytest.mark.parametrize("n_named", [0, 3])
def test_levels_are_drawn_by_their_shares(n_named: int) -> None:
    """Main effects at a level are means of rows where it holds, and no other.

    Of levels that come as they may, p is 0 in the features of q and r.
    """
    rng = np.random.default_rng(6)
    site = rng.choice(["p", "q", "r"], 600, p=[0.7, 0.2, 0.1])
    y = np.array([{"p": 0.0, "q": 1.0, "r": 5.0}[s] for s in site])
    y += 0.1 * rng.standard_normal(600)
    named: dict[str, Any] = {"categories": {"s": [*"pqr"]}} if n_named else {}
    tree = DynamicTree("constant", n_particles=100, seed=1, **named)
    tree.update(pd.DataFrame({"s": site}), y)
    found = tree.sensitivity(n_samples=400, n_grid=2)
    assert found.inputs == ("s",)
    effect = dict(zip(found.names, found.main.mean(axis=0).T, strict=True))
    assert len(effect) == (n_named or 2)
    means = {"s=p": 0.0, "s=q": 1.0, "s=r": 5.0}
    for name, values in effect.items():
        assert values[1] == pytest.approx(means[name], abs=0.15)
    assert effect["s=r"][0] == pytest.approx(0.2 / 0.9, abs=0.1)
    assert found.total.mean() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("encode", ["onehot", "auto", "effect"])
@pytest.mark.parametrize("model", ["constant", "linear"])
def test_effects_of_levels_belong_to_their_column(model: str, encode: str) -> None:
    """Whatever the columns are, the shares are the same; .00 came, and .44 for .83.

    Variance 4 x 20/19 by g at most, 4/12 by a, and .09 of noise; h is of no use.
    """
    rng = np.random.default_rng(1)
    g, a = rng.integers(0, 20, 600), rng.random(600)
    means = 2.0 * rng.standard_normal(20)
    y = means[g] + 2.0 * a + 0.3 * rng.standard_normal(600)
    frame = pd.DataFrame({"a": a, "g": [f"g{k}" for k in g]})
    frame["h"] = rng.choice([*"abcdefghijkl"], 600)
    tree = DynamicTree(model, n_particles=50, encode_levels=encode, seed=1)
    found = tree.update(frame, y).sensitivity(n_samples=300, n_grid=3)
    assert found.inputs == ("a", "g", "h")
    parts = np.array([np.var(2.0 * a), np.var(means[g]), 0.0])
    truth = parts / (parts.sum() + 0.09)
    np.testing.assert_allclose(found.first.mean(axis=0), truth, atol=0.2)
    assert found.first.mean(axis=0)[2] < 0.08


def test_other_columns_can_be_a_factor() -> None:
    frame, y = sites()
    X = np.column_stack([frame["a"], frame["k"] == "u", frame["k"] == "v"]).astype(
        float
    )
    tree = DynamicTree("linear", n_particles=100, seed=1).update(X, y)
    grouped = {"k": ["x1", "x2"]}
    assert tree.importance(factors=grouped).names == ("x0", "k")
    assert tree.copy().sensitivity(factors=grouped, n_samples=50).inputs == ("x0", "k")
    for wrong in ({"k": ["z"]}, {"k": []}):
        with refused("factors", "x0"):
            tree.importance(factors=wrong)
    r = DynamicTree(rules="r", n_particles=20, seed=1).update(X, y)
    with refused("factors", "rules='native'"):
        r.sensitivity(factors=grouped)
