"""Rows far outside of what was predicted: how they count in all models of trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    StreamingTree,
)
from dyntree.api.formula import DynamicTreeModel
from dyntree.params import NIG
from dyntree.trees.factory import make_tree
from dyntree.trees.learning.scaling import frozen_scale
from tests.contract import check_twins
from tests.helpers import model_bytes, same_bytes
from tests.oracle.robust import OneLeaf

SMALL: dict[str, Any] = {"n_particles": 30, "seed": 1}
MAKERS: dict[str, Callable[..., Any]] = {
    "constant tree": lambda **o: DynamicTree(**SMALL | o),
    "linear tree": lambda **o: DynamicTree("linear", **SMALL | o),
    "constant stream": lambda **o: StreamingTree(window=100, **SMALL | o),
    "linear stream": lambda **o: StreamingTree(
        "linear", window=100, drift=True, **SMALL | o
    ),
    "averaged stream": lambda **o: AveragedStream(**SMALL | o),
    "averaged linear stream": lambda **o: AveragedStream("linear", **SMALL | o),
}
ALL = MAKERS | {
    "averaged trees": lambda **o: AveragedTrees("linear", n_clouds=2, **SMALL | o)
}


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.random((n, 2))
    return X, 3.0 * (X[:, 0] > 0.5) + 0.2 * rng.standard_normal(n)


def with_spikes(y: np.ndarray, rows: Any, value: float = 1e6) -> np.ndarray:
    spiked = y.copy()
    spiked[rows] = value
    return spiked


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_one_leaf_weighs_rows_as_the_oracle_does(model: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 2)), rng.standard_normal(60)
    w = rng.uniform(0.5, 2.0, 60)
    w /= w[:10].mean()
    y[[3, 15, 16, 30]] = 9.0, -1e3, 1e6, 40.0
    y[40:50] += 50.0
    tree = DynamicTree(
        model, tree_prior=(0.0, 1.0), prior=NIG(0.02), robust=True, **SMALL
    ).update(X, y, w)
    p = 2 if model == "linear" else 0
    centre, spread, y_centre, y_spread = frozen_scale(X[:10, :p], y[:10])
    leaf = OneLeaf(0.02, y_centre, y_spread)
    # slopes have least precisions by the spreads of all rows, which move them
    inputs = (X[:, :p] - centre) / spread if p else X[:, :0]
    told = [leaf.learn(z, v, u) for z, v, u in zip(inputs, y, w, strict=True)]
    found = tree.state.cloud.weights()
    assert np.sum(found < w - 1e-9) >= 5
    assert np.any(found[40:50] < w[40:50] / 2)
    assert np.all(found[44:50] == w[44:50])
    np.testing.assert_allclose(found, leaf.v, rtol=1e-9)
    np.testing.assert_allclose(tree.log_evidence, sum(told), rtol=1e-9)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("value", [1e3, 1e6, -1e6, 1e12, 1e140])
def test_a_spike_leaves_predictions_within_the_noise(name: str, value: float) -> None:
    X, y = table()
    X_new = np.array([[0.2, 0.5], [0.8, 0.5]])
    for rows in ([200], [150, 151, 152, 153], [150, 170, 200]):
        model = MAKERS[name](robust=True).update(X, with_spikes(y, rows, value))
        found = model.predict(X_new)
        assert np.all(np.abs(found.mean - [0.0, 3.0]) < 0.5)
        assert np.all(found.quantile([0.9])[:, 0] < 6.0)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("row", [0, 1, 5, 9, 12])
def test_a_spike_among_the_first_rows_does_not_spoil_the_scale(
    name: str, row: int
) -> None:
    X, y = table(130)
    found = MAKERS[name](robust=True).update(X, with_spikes(y, row)).predict(X[:20])
    truth = 3.0 * (X[:20, 0] > 0.5)
    assert np.sqrt(np.mean((found.mean - truth) ** 2)) < 1.2
    assert np.all(found.quantile([0.9])[:, 0] < 20.0)


@pytest.mark.parametrize("name", MAKERS)
def test_five_rows_outside_are_a_change(name: str) -> None:
    X, y = table()
    y[200:] += 1000.0
    model = MAKERS[name](robust=True).update(X, y)
    if "stream" in name:  # which do not hold all rows
        assert np.median(model.predict(X[:50]).mean) > 300.0


@pytest.mark.parametrize("name", ALL)
def test_without_rows_outside_it_is_as_if_the_option_were_off(name: str) -> None:
    X, y = table(150)
    y = np.clip(y - 3.0 * (X[:, 0] > 0.5), -0.5, 0.5)
    plain, robust = (ALL[name](robust=on).update(X, y) for on in (False, True))
    assert np.array_equal(plain.predict(X).mean, robust.predict(X).mean)
    assert plain.log_evidence == robust.log_evidence


@pytest.mark.parametrize("name", ALL)
def test_calls_may_be_cut_copied_and_saved_anywhere(name: str) -> None:
    X, y = table(160)
    y = with_spikes(y, [4, 60, 90, 91, 92])
    y[93:100] += 100.0
    # orders of averaged trees depend on the calls
    cuts = [92] if name == "averaged trees" else [*range(92, 121)]
    whole = ALL[name](robust=True)
    for rows in np.split(np.arange(160), cuts[: name == "averaged trees"]):
        whole.update(X[rows], y[rows])

    def go_on(model: Any) -> None:
        for rows in np.split(np.arange(160), cuts)[1:]:
            model.update(X[rows], y[rows])

    parts = ALL[name](robust=True).update(X[:92], y[:92])
    check_twins(parts, go_on)
    assert model_bytes(parts) == model_bytes(whole)


@pytest.mark.parametrize("name", MAKERS)
def test_shift_and_scale_of_responses_do_not_matter(name: str) -> None:
    X, y = table(200)
    y = np.round(with_spikes(y, [3, 120, 121, 150], 1e4) * 1024) / 1024
    one = MAKERS[name](robust=True).update(X, y).predict(X[:9])
    two = MAKERS[name](robust=True).update(X, 64.0 - 8.0 * y).predict(X[:9])
    np.testing.assert_allclose(64.0 - 8.0 * one.mean, two.mean, rtol=1e-6, atol=1e-6)


def test_a_retired_row_takes_its_weight_along() -> None:
    X, y = table(80)
    tree = DynamicTree(tree_prior=(0.0, 1.0), robust=True, **SMALL)
    tree.update(X, with_spikes(y, 40))
    before = tree.predict(X[:3])
    tree.retire([40, 41])
    after = tree.predict(X[:3])
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-9)
    np.testing.assert_allclose(after.var, before.var, rtol=1e-9)


def test_late_levels_and_removed_rows_keep_what_was_learned() -> None:
    X, y = table(120)
    rows = [
        {"x": a, "g": "u" if k < 60 else "v"} for k, a in enumerate(X[:, 0].tolist())
    ]
    model = StreamingTree(window=50, robust=True, **SMALL)
    model.update(rows, with_spikes(y, [30, 61, 100]))
    assert np.all(np.abs(model.predict(rows[:20]).mean) < 5.0)
    bare = model.copy().remove_data()
    np.testing.assert_allclose(
        bare.predict(rows[:5]).mean, model.predict(rows[:5]).mean, rtol=1e-9
    )


def test_faces_pass_the_option_on() -> None:
    X, y = table(60)
    y = with_spikes(y, [30, 40])
    assert make_tree({"window": "auto", "robust": True}).state.options.robust
    fitted = DynamicTreeModel(
        y, X, model="linear", n_clouds=1, n_particles=30, robust=True, seed=1
    ).fit()
    assert np.all(np.abs(np.asarray(fitted.predict(X[:5]))) < 10.0)
    with pytest.raises(ValueError, match="frequencies"):
        DynamicTreeModel(y, X, freq_weights=np.full(60, 2), robust=True).fit()


@pytest.mark.parametrize("name", ALL)
def test_bad_rows_leave_the_model(name: str) -> None:
    X, y = table(60)
    model = ALL[name](robust=True).update(X, with_spikes(y, 30))
    with same_bytes(model), pytest.raises(ValueError, match="y"):
        model.update(X[:2], [1e6, np.nan])
