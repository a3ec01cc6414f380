"""A recorder changes nothing, and notes what becomes of the particles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree
from dyntree.api import plots
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import MODELS, data, labelled, stream

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.mark.parametrize("name", ["constant", "class"])
@pytest.mark.parametrize("windowed", [True, False])
def test_a_recorder_changes_nothing_and_notes_what_happens(
    name: str, windowed: bool
) -> None:
    def fresh() -> Any:
        kind: Any = StreamingTree if windowed else DynamicTree
        options = {"window": 25} if windowed else {}
        options |= labelled(name)
        return kind(MODELS[name]["model"], n_particles=20, seed=1, **options)

    X, y = data(name, 100)
    plain, recorder = fresh(), plots.Recorder(fresh(), every=7)
    recorder.update(X[:45], y[:45]).update(X[45:], y[45:])
    assert model_bytes(recorder.model) == model_bytes(plain.update(X, y))
    trace = recorder.trace()
    expected = np.arange(7, 101, 7)
    assert np.array_equal(trace.n_seen, expected[expected > 7 * (name != "class")])
    again = fresh()
    for k, n in enumerate(trace.n_seen):
        again.update(X[again.n_seen : n], y[again.n_seen : n])
        tree = again.tree if windowed else again
        stats = tree.stats()
        assert trace.log_evidence[k] == again.log_evidence
        assert (trace.height[k], trace.n_leaves[k]) == (stats.height, stats.n_leaves)
        assert trace.leaf_size[k] == stats.leaf_size
        assert trace.n_active[k] == tree.n_active
        assert trace.n_retired[k] == tree.n_retired
    noted = ~np.isnan(trace.ess)
    assert noted.sum() >= len(noted) - 1
    for shares in (trace.ess, trace.n_distinct, trace.grow, trace.prune):
        assert np.all((shares[noted] >= 0.0) & (shares[noted] <= 1.0))
    assert np.any(trace.grow > 0.0)
    assert np.all(trace.ess[noted] > 0.0)


@pytest.mark.parametrize("name", MODELS)
def test_a_recorder_changes_nothing_under_rs_rules(name: str) -> None:
    X, y = data(name)
    tree = DynamicTree(**MODELS[name], **labelled(name), n_particles=20, seed=1)
    twin = tree.copy()
    plots.Recorder(tree, 10).update(X, y)
    assert model_bytes(tree) == model_bytes(twin.update(X, y))
    if name != "implicit":
        window, plain = (stream(name, **labelled(name)) for _ in range(2))
        plots.Recorder(window, 10).update(X, y)
        assert model_bytes(window) == model_bytes(plain.update(X, y))


@pytest.mark.parametrize("rules", ["native", "r"])
def test_the_step_of_a_copy_is_the_step_of_the_model(rules: str) -> None:
    X, y = data("constant")
    tree = DynamicTree(rules=rules, n_particles=20, seed=1).update(X[:30], y[:30])
    for k in range(30, 60):
        copy = tree.state.cloud.copy(tree.state.cloud.source.copy())
        copy.update(X[k : k + 1], y[k : k + 1])
        tree.update(X[k : k + 1], y[k : k + 1])
        np.testing.assert_array_equal(copy.shapes(), tree.state.cloud.shapes())


def test_the_weights_noted_are_the_densities_of_the_row() -> None:
    X, y = data("constant", 50)
    recorder = plots.Recorder(DynamicTree(n_particles=20, seed=1), every=50)
    trace = recorder.update(X, y).trace()
    before = DynamicTree(n_particles=20, seed=1).update(X[:49], y[:49])
    mixture = before.predict(X[49:]).mixture
    density = np.array(
        [
            np.exp(type(mixture)(
                np.array([0, 1]), np.ones(1), mixture.location[k : k + 1],
                mixture.scale[k : k + 1], mixture.df[k : k + 1],
            ).log_density(y[49:])[0])
            for k in range(len(mixture.weight))
        ]
    )  # fmt: skip
    ess = mixture.weight @ density
    ess = ess**2 / (mixture.weight @ density**2)
    np.testing.assert_allclose(trace.ess, [ess], rtol=1e-10)


def test_traces_are_drawn() -> None:
    X, y = data("constant", 100)
    trace = plots.Recorder(stream("constant", rules="native"), 5).update(X, y).trace()
    evidence, weights, moves = plots.plot_steps(trace).axes
    drawn = [
        (evidence.lines[0], trace.log_evidence), (weights.lines[0], trace.ess),
        (weights.lines[1], trace.n_distinct), (moves.lines[0], trace.grow),
        (moves.lines[1], trace.prune),
    ]  # fmt: skip
    shape = plots.plot_shape(trace).axes
    values = (trace.height, trace.n_leaves, trace.leaf_size)
    drawn += [(ax.lines[0], value) for ax, value in zip(shape, values, strict=True)]
    for line, value in drawn:
        np.testing.assert_array_equal(line.get_xdata(), trace.n_seen)
        np.testing.assert_array_equal(line.get_ydata(), value)
    assert shape[0].lines[1].get_xdata()[0] == 30  # the window of 25 was full
    for ax in (evidence, weights, moves, *shape):
        assert ax.get_xlabel() == "rows seen"
        assert ax.get_ylabel()


def test_a_new_label_leaves_a_gap() -> None:
    X, _ = data("class", 20)
    recorder = plots.Recorder(DynamicTree("class", n_particles=20, seed=1), every=10)
    y = ["a"] * 9 + ["b"] * 11
    trace = recorder.update(X, y).trace()
    assert np.isnan(trace.ess).tolist() == [True, False]


def test_bad_rows_are_refused_before_any_is_learned() -> None:
    X, y = data("constant", 60)
    tree = DynamicTree(n_particles=10, seed=1).update(X[:20] * 1e-3, y[:20] * 1e-3)
    recorder = plots.Recorder(tree, every=5)
    y = y.copy()
    y[-1] = 9e149  # finite, but beyond the scale of the first rows
    with same_bytes(tree), pytest.raises(ValueError, match="in row 39"):
        recorder.update(X[20:], y[20:])
    with same_bytes(tree), pytest.raises(ValueError, match="at least one row"):
        recorder.update(X[:0], y[:0])
