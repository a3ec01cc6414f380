"""Pictures of counts and of responses with an offset: in one unit, and said so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.api import plots
from dyntree.api.report import report_html
from dyntree.evaluate import prequential
from tests.helpers import same_bytes
from tests.unit.models import refused

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}
RATE = "k per unit of exposure"
MAKERS: dict[str, Callable[..., Any]] = {
    "tree": lambda: DynamicTree("negbin", **SMALL),
    "stream": lambda: StreamingTree("poisson", window=40, **SMALL),
    "averaged trees": lambda: AveragedTrees("negbin", n_clouds=2, **SMALL),
    "averaged stream": lambda: AveragedStream("poisson", **SMALL),
}
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")


def frame(n: int = 100) -> pd.DataFrame:
    """Counts `k` over long `hours`, and numbers `y` about `z`."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.random(n), "w": rng.random(n)})
    data["z"], data["hours"] = rng.normal(100.0, 20.0, n), rng.uniform(50.0, 400.0, n)
    data["k"] = rng.poisson(data["hours"] * np.where(data["x"] > 0.5, 0.8, 0.2))
    data["y"] = np.sin(6.0 * data["x"]) + data["z"] + 0.1 * rng.standard_normal(n)
    return data


def made(name: str) -> Any:
    data = frame()
    X = data[["x", "w"]]
    return MAKERS[name]().update(X, data["k"], exposure=data["hours"])


def results(formula: str, **more: Any) -> Any:
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    import dyntree.formula.api as dtf

    return dtf.dynamic_tree(formula, frame(), **SMALL | more).fit()


DRAWN: dict[str, Callable[[Any], Any]] = {
    "fit": lambda one: plots.plot_fit(one, "x", response="k"),
    "slices": lambda one: plots.plot_slices(one, response="k"),
    "surface": lambda one: plots.plot_surface(one, response="k", n_grid=5),
    "tree": lambda one: plots.plot_tree(one, response="k"),
    "importance": plots.plot_importance,
    "relevance": plots.plot_relevance,
    "effects": lambda one: plots.plot_effects(one.tree.sensitivity(n_samples=50)),
    "sobol": lambda one: plots.plot_sobol(one.tree.sensitivity(n_samples=50)),
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("name", MAKERS)
def test_every_picture_of_counts_can_be_drawn(name: str, kind: str) -> None:
    model = made(name)
    with same_bytes(model):
        figure = DRAWN[kind](model)
        assert figure.axes
        figure.canvas.draw()


@pytest.mark.parametrize("name", MAKERS)
def test_pictures_of_labels_and_of_memories_refuse_counts(name: str) -> None:
    model = made(name)
    with refused("model", "plot_surface"):
        plots.plot_classes(model)
    if name == "averaged stream":
        assert plots.plot_memory(model).axes
        return
    with refused("stream", "AveragedStream"):
        plots.plot_memory(model)


@pytest.mark.parametrize("name", MAKERS)
def test_a_fit_of_counts_has_rates_on_both_sides(name: str) -> None:
    model = made(name)
    view = model.frozen_view("this test")
    axes = plots.plot_fit(model, "x", n_grid=11, response="k").axes[0]
    assert axes.get_ylabel() == RATE
    lines = {str(line.get_label()): line for line in axes.lines}
    X, y = view.rows()
    exposures = view.exposures()
    assert exposures is not None
    assert {*np.round(exposures, 8)} <= {*np.round(frame()["hours"], 8)}
    shown = np.asarray(lines["active rows"].get_ydata())
    np.testing.assert_allclose(shown, y / exposures, rtol=1e-12)
    grid = np.column_stack([lines["mean"].get_xdata(), np.full(11, np.median(X[:, 1]))])
    typical = float(np.median(exposures))
    told = model.predict(grid, exposure=typical)
    mean = np.asarray(lines["mean"].get_ydata())
    np.testing.assert_allclose(mean, told.rate, rtol=1e-12)
    low, high = (np.asarray(line.get_ydata()) for line in axes.lines if
                 str(line.get_linestyle()) == "--")  # fmt: skip
    ends = told.quantile([0.05, 0.95]) / typical
    np.testing.assert_allclose(np.column_stack([low, high]), ends, rtol=1e-12)
    assert 0.05 < mean.min() < mean.max() < 1.5
    # a band of new counts holds most of those that were seen
    assert np.mean((shown > low.min()) & (shown < high.max())) > 0.8


def test_counts_without_exposures_are_drawn_as_they_are() -> None:
    data = frame()
    tree = DynamicTree("negbin", **SMALL).update(data[["x", "w"]], data["k"])
    axes = plots.plot_fit(tree, response="k").axes[0]
    assert axes.get_ylabel() == "k"
    shown = next(one for one in axes.lines if one.get_label() == "active rows")
    assert {*np.asarray(shown.get_ydata())} == {*data["k"].astype(float)}
    assert plots.plot_tree(tree, response="k").axes[0].get_title().startswith("k: ")


def test_a_drawn_tree_of_counts_has_its_rates() -> None:
    tree = made("tree")
    figure = plots.plot_tree(tree, response="k")
    assert figure.axes[0].get_title().startswith(RATE)
    told = [float(text.get_text().split("\n")[0]) for text in figure.axes[0].texts
            if "\nn = " in text.get_text()]  # fmt: skip
    assert len(told) > 1
    assert 0.1 < min(told) < 0.3
    assert 0.6 < max(told) < 1.0


def test_a_surface_of_counts_has_rates() -> None:
    figure = plots.plot_surface(made("tree"), response="k", n_grid=5)
    labels = [one.get_ylabel() for one in figure.axes[2:]]
    assert labels == [f"mean of {RATE}", f"standard deviation of {RATE}"]
    mean = figure.axes[0].collections[0].get_array()
    assert mean is not None
    assert 0.1 < mean.min() < mean.max() < 1.0


# ------------------------------------------------------------ results
@pytest.mark.parametrize("as_term", [True, False])
def test_a_fit_beside_an_offset_says_so(as_term: bool) -> None:
    """Neither rows nor predictions have it, which is 100 and more."""
    more: dict[str, Any] = {} if as_term else {"offset": "z"}
    fit = results(f"y ~ x + w{' + offset(z)' if as_term else ''}", **more)
    assert fit.has_offset
    for figure in (plots.plot_fit(fit), plots.plot_slices(fit)):
        for axes in figure.axes:
            assert axes.get_ylabel() == "y less its offset"
            heights = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
            assert np.abs(np.concatenate(heights)).max() < 5.0
    surface = plots.plot_surface(fit, n_grid=4)
    assert surface.axes[2].get_ylabel() == "mean of y less its offset"
    assert "less its offset" in plots.plot_tree(fit).axes[0].get_title()
    told = {
        figure.axes[0].get_ylabel()
        for figure in (
            plots.plot_effects(fit), plots.plot_dependence(fit), fit.plot_partial(),
        )
    }  # fmt: skip
    assert told == {"mean of y less its offset"}


def test_an_offset_by_value_is_told_too() -> None:
    fit = results("y ~ x + w", offset=frame()["z"].to_numpy())
    assert plots.plot_fit(fit).axes[0].get_ylabel() == "y less its offset"
    plain = results("y ~ x + w")
    assert not plain.has_offset
    assert plots.plot_fit(plain).axes[0].get_ylabel() == "y"
    assert plots.plot_effects(plain).axes[0].get_ylabel() == "mean of y"


def test_pictures_of_results_of_counts() -> None:
    fit = results("k ~ x + w", exposure="hours", model="negbin")
    assert plots.plot_fit(fit, response="k").axes[0].get_ylabel() == RATE
    assert fit.plot_partial().axes[0].get_ylabel() == f"mean of {RATE}"
    effects = plots.plot_effects(fit, response="k").axes[0]
    assert effects.get_ylabel() == f"mean of {RATE}"
    assert 0.1 < effects.get_ylim()[1] < 1.5
    assert len(fit.plot_diagnostics().axes) == 6
    assert plots.plot_sobol(fit).axes
    assert fit.plot_relevance().axes


# ------------------------------------------------------------ over time
def test_recorders_note_counts_with_their_exposures() -> None:
    data = frame()
    X = data[["x", "w"]]
    whole = made("tree")
    recorder = plots.Recorder(MAKERS["tree"](), every=20)
    recorder.update(X, data["k"], exposure=data["hours"])
    assert recorder.model.log_evidence == whole.log_evidence
    told = recorder.predict(X, exposure=2.0).mean
    np.testing.assert_array_equal(told, whole.predict(X, exposure=2.0).mean)
    trace = recorder.trace()
    assert trace.n_seen.tolist() == [20, 40, 60, 80, 100]
    assert np.all((trace.ess > 0.0) & (trace.ess <= 1.0))
    assert plots.plot_steps(trace).axes
    assert plots.plot_shape(trace).axes
    again = plots.Recorder(MAKERS["tree"](), every=20)
    seen = prequential(again, X, data["k"], exposure=data["hours"], start=20)
    own = prequential(
        MAKERS["tree"](), X, data["k"], exposure=data["hours"], start=20
    )  # fmt: skip
    np.testing.assert_array_equal(seen.log_density, own.log_density)
    assert plots.plot_rolling(seen).axes
    page = report_html(again.model, seen, trace=again.trace(), response="k")
    assert page.count("<img") >= 8
    with refused("exposure", "real responses"):
        plots.Recorder(DynamicTree(**SMALL)).update(
            X, data["y"], exposure=data["hours"]
        )
