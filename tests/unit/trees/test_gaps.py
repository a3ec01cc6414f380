"""Gaps that mean something: splits by whether a column has a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree._core.trees import criteria
from dyntree._core.trees.cloud import Cloud
from dyntree.errors import CheckpointError
from dyntree.trees import files
from tests.contract import check_twins
from tests.statistical.clouds import native_cloud

Rows = tuple[np.ndarray, np.ndarray]
SMALL: dict[str, Any] = {"n_particles": 60, "seed": 1}


def told_by_gaps(n: int, share: float = 0.3, seed: int = 0, wave: float = 0.0) -> Rows:
    """y is 2 where column 0 is missing, else 0, plus a wave in column 1 and noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    gone = rng.random(n) < share
    y = 2.0 * gone + wave * np.sin(6.0 * X[:, 1]) + 0.1 * rng.standard_normal(n)
    X[gone, 0] = np.nan
    return X, y


MODELS: dict[str, Callable[[], Any]] = {
    "constant": lambda: DynamicTree("constant", **SMALL),
    "linear": lambda: DynamicTree("linear", **SMALL),
    "luall": lambda: DynamicTree("constant", proposal="luall", **SMALL),
    "reject": lambda: DynamicTree("constant", proposal="reject", **SMALL),
    "window": lambda: StreamingTree("constant", window=100, **SMALL),
    "window linear": lambda: StreamingTree("linear", window=100, **SMALL),
    "drift": lambda: StreamingTree("linear", window=100, drift=True, **SMALL),
    "averaged": lambda: AveragedStream("constant", seed=1),
}


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_gap_that_means_something_is_learned(name: str, share: float) -> None:
    """Constant trees had errors of .26 to .57 where hist-gradient-boosting has .05."""
    X, y = told_by_gaps(400, share)
    new, _ = told_by_gaps(400, share, seed=1)
    told = MODELS[name]().update(X, y).predict(new)
    error = told.mean - 2.0 * np.isnan(new[:, 0])
    assert np.sqrt(np.mean(error**2)) < 0.06
    assert np.all(np.isfinite(told.var))


@pytest.mark.parametrize("name", ["constant", "linear", "window", "averaged"])
def test_a_column_of_one_value_and_gaps_can_be_split(name: str) -> None:
    """It could not: the error was 1."""
    X, y = told_by_gaps(400, 0.5)
    X[~np.isnan(X[:, 0]), 0] = 0.7
    told = MODELS[name]().update(X, y).predict(X).mean
    assert np.sqrt(np.mean((told - 2.0 * np.isnan(X[:, 0])) ** 2)) < 0.06


@pytest.mark.parametrize("values", ["many", "one"])
def test_gaps_tell_of_labels(values: str) -> None:
    X, y = told_by_gaps(400, 0.5)
    if values == "one":
        X[~np.isnan(X[:, 0]), 0] = 0.7
    labels = np.where(y > 1.0, "gone", "there")
    tree = DynamicTree("class", **SMALL).update(X[:300], labels[:300])
    assert np.mean(tree.predict(X[300:]).label == labels[300:]) > 0.98


@pytest.mark.parametrize("first", ["gaps", "values"])
def test_it_does_not_matter_what_comes_first(first: str) -> None:
    X, y = told_by_gaps(300, 0.5)
    X[~np.isnan(X[:, 0]), 0] = 0.7
    order = np.argsort(np.isnan(X[:, 0]) == (first == "values"), kind="stable")
    tree = DynamicTree("constant", **SMALL)
    for k in order:
        tree.update(X[k : k + 1], y[k : k + 1])
    told = tree.predict(X).mean
    assert np.sqrt(np.mean((told - 2.0 * np.isnan(X[:, 0])) ** 2)) < 0.06


@pytest.mark.parametrize("name", [name for name in MODELS if name != "averaged"])
def test_reloaded_and_copied_trees_go_on_alike(name: str) -> None:
    """To the bit, from any time on: whether leaves hold gaps is counted anew."""
    X, y = told_by_gaps(260, 0.2, wave=1.0)
    model = MODELS[name]().update(X[:150], y[:150])
    check_twins(model, lambda twin: twin.update(X[150:], y[150:]))


def cloud_with_gap_cuts(model: str = "constant", n: int = 150) -> Cloud:
    X, y = told_by_gaps(n, 0.3, wave=1.0)
    cloud = native_cloud(model, 3, n_particles=20, min_leaf=4)
    cloud.update(X, y)
    assert np.any(np.isinf(cloud.to_arrays()[1]["split_value"]))
    return cloud


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_alc_gives_gap_rows_their_share(model: str) -> None:
    """A row with a gap was worth nothing, as its leaf had no part of the rectangle.

    What the active rows are worth is what rows at their places are.
    """
    cloud = cloud_with_gap_cuts(model)
    low, high, flags = np.zeros(3), np.ones(3), np.zeros(3, dtype=bool)
    X, _ = cloud.rows()
    at_rows = criteria.alc_rectangle(cloud, X, low, high, flags, False)
    active = criteria.alc_active(cloud, low, high, flags, False)
    np.testing.assert_allclose(active, at_rows, rtol=1e-12)
    assert np.all(active > 0.0)
    for k in range(100):  # other rows come, and what leaves keep of their own stays
        cloud.update(X[k : k + 1], np.zeros(1))
    again = criteria.alc_active(cloud, low, high, flags, False)
    anew = criteria.alc_active(cloud.copy(), low, high, flags, False)
    np.testing.assert_array_equal(again, anew)
    np.testing.assert_allclose(
        again,
        criteria.alc_rectangle(cloud, cloud.rows()[0], low, high, flags, False),
        rtol=1e-12,
    )


def test_shares_of_the_rectangle_sum_to_one() -> None:
    """Of a tree that has one leaf a side: variance reductions of leaf means.

    In a leaf of n rows with mean variance Q / (df - 2) a row takes off
    share v / n^2 / (1 + 1 / n).
    """
    rng = np.random.default_rng(0)
    X = np.full((40, 1), 0.5)
    X[:10] = np.nan
    y = np.where(np.isnan(X[:, 0]), 5.0, 0.0) + 0.1 * rng.standard_normal(40)
    cloud = native_cloud("constant", 1, n_particles=5, min_leaf=2)
    cloud.update(X, y)
    worth = criteria.alc_active(
        cloud, np.zeros(1), np.ones(1), np.zeros(1, dtype=bool), False
    )
    for rows, share in ((slice(0, 10), 0.25), (slice(10, 40), 0.75)):
        part = y[rows]
        n = len(part)
        variance = 2.0 * (0.1 + np.sum((part - part.mean()) ** 2) / 2.0) / (n - 2.0)
        expected = share * variance / n**2 / (1.0 + 1.0 / n)
        np.testing.assert_allclose(worth[rows], expected, rtol=1e-9)


def test_a_window_by_alc_keeps_rows_with_gaps() -> None:
    """Those that mean something else are as few as they were, not none."""
    X, y = told_by_gaps(600, 0.3, wave=1.0)
    stream = StreamingTree("constant", window=60, **SMALL).update(X, y)
    held = np.isnan(stream.states[0].cloud.rows()[0][:, 0]).mean()
    assert 0.05 < held < 0.7


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_questions_of_trees_with_gap_cuts_have_finite_answers(model: str) -> None:
    X, y = told_by_gaps(200, 0.02, wave=1.0)
    tree = DynamicTree(model, **SMALL).update(X, y)
    assert np.any(np.isinf(tree.state.cloud.to_arrays()[1]["split_value"]))
    for rule, given in (
        ("alm", {}), ("alc", {}), ("ei", {}), ("ieci", {"Xref": X[:20]}),
        ("qei", {"q": 1.0}), ("qentropy", {"q": 1.0}),
    ):  # fmt: skip
        assert np.all(np.isfinite(tree.acquisition(X, rule, **given))), rule
    assert np.all(np.isfinite(tree.relevance().values))
    assert np.all(np.isfinite(tree.predict(X).var))


def test_a_column_whose_gaps_matter_is_important() -> None:
    """Values of column 0 change nothing, but whether it has one does."""
    X, y = told_by_gaps(400, 0.5, wave=0.0)
    tree = DynamicTree("constant", **SMALL).update(X, y)
    assert tree.relevance().values.mean(axis=0).argmax() == 0
    found = tree.sensitivity(n_samples=200)
    assert found.total.mean(axis=0)[0] > 0.9
    assert np.all(found.total.mean(axis=0)[1:] < 0.1)


@pytest.mark.parametrize(
    "change", [lambda v, s: (-v, s), lambda v, s: (v, np.where(np.isinf(v), 1, s))]
)
def test_odd_gap_cuts_are_refused(change: Callable[..., Any]) -> None:
    """Minus infinity, and rows without a value on the side of those that have one."""
    X, y = told_by_gaps(100, 0.5)
    header, arrays = DynamicTree("constant", **SMALL).update(X, y).to_arrays()
    links = arrays["split_links"].copy()
    value, links[:, 3] = change(arrays["split_value"], links[:, 3])
    bad = {**arrays, "split_value": value, "split_links": links}
    with pytest.raises(CheckpointError):
        files.tree_state(header, bad)


def test_the_picture_of_a_tree_names_the_gap() -> None:
    plots = pytest.importorskip("dyntree.api.plots")
    X, y = told_by_gaps(200, 0.5)
    tree = DynamicTree("constant", **SMALL).update(X, y)
    texts = [text.get_text() for text in plots.plot_tree(tree).axes[0].texts]
    assert any("has a value" in text for text in texts)
    assert any(text.startswith(("2\n", "1.9", "2.0")) for text in texts)


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_gaps_without_a_meaning_cost_little(model: str) -> None:
    """Missing at random: errors at most a twentieth above those without the cut."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, new = rng.random((400, 2)), rng.random((400, 2))
        y = np.sin(6.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(400)
        truth = np.sin(6.0 * new[:, 0]) + new[:, 1]
        for rows in (X, new):
            rows[rng.random(400) < 0.3, 0] = np.nan
        told = DynamicTree(model, n_particles=100, seed=seed).update(X, y)
        errors.append(told.predict(new).mean - truth)
    assert np.sqrt(np.mean(np.square(errors))) < 0.46
