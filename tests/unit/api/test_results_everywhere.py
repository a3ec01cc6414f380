"""Results where trees or records are asked for: plots, notebooks, summaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
pytest.importorskip("matplotlib")
import pandas as pd

import dyntree.formula.api as dtf
from dyntree.api import plots
from dyntree.evaluate import prequential, prequential_each
from dyntree.runtime.seeds import spawned

OF_TREES = {"diagnostics", "effects", "fit", "memory", "surface", "tree"}
OPTIONS: dict[str, dict[str, Any]] = {
    "plot_surface": {"features": ("x", "z")}, "plot_classes": {"features": ("x", "z")},
}  # fmt: skip


def fit(is_class: bool = False, **options: Any) -> Any:
    rng = np.random.default_rng(3)
    x, z, g = rng.random(60), rng.random(60), np.resize(["u", "v", "w"], 60)
    y = 4 * x + z + (g == "u") + 0.3 * rng.normal(size=60)
    label = np.where(y > 3, "up", "down")
    data = pd.DataFrame({"x": x, "z": z, "g": g, "y": label if is_class else y})
    formula = "y ~ x + z + g"
    return dtf.dynamic_tree(formula, data, n_particles=30, seed=5, **options).fit()


def tree_plots() -> list[str]:
    """Plots of trees, or of a record that trees give."""
    return [
        name
        for name in plots.__all__
        if getattr(plots, name).__module__.rpartition(".")[2] in OF_TREES
    ]


@pytest.mark.parametrize("name", tree_plots())
def test_plots_take_results(name: str) -> None:
    found = fit(
        name == "plot_classes", **{"window": "auto"} if name == "plot_memory" else {}
    )
    if name == "plot_fit":  # of one feature
        found = dtf.dynamic_tree("y ~ x", found.model.data.frame, seed=1).fit()
    assert getattr(plots, name)(found, **OPTIONS.get(name, {})).axes


def test_importance_is_that_of_inputs() -> None:
    axes = plots.plot_importance(fit()).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["x", "z", "g"]


def test_summary_tells_the_spread_over_orders() -> None:
    found = fit()
    text = found.summary(n_orders=3).as_text()
    evidence = []
    for k, seed in enumerate(spawned(0, 3)):
        order = np.random.default_rng(seed).permutation(60) if k else np.arange(60)
        tree = found.model.unlearned("test").reseeded(seed)
        tree.update(found.model.exog[order], found.model.endog[order], progress=False)
        evidence.append(tree.log_evidence)
    told = f"{np.mean(evidence):.5g} (sd {np.std(evidence, ddof=1):.2g})"
    assert "Log-Ev., 3 Orders:" in text
    assert told in text
    plain = found.summary()
    assert "summary(n_orders=10)" in plain.as_text()
    assert "<table" in plain.as_html()
    assert "tabular" in plain.as_latex()
    with pytest.raises(ValueError, match="n_orders must be an int >= 2; got 1"):
        found.summary(1)
    with pytest.raises(ValueError, match="n_orders must be an int >= 0"):
        found.summary(-1)


@pytest.mark.parametrize("is_class", [False, True])
def test_notebooks_show_results_and_models(is_class: bool) -> None:
    found = fit(is_class)
    assert found._repr_html_() == found.summary().as_html()
    html = found.model._repr_html_()
    assert "y ~ x + z + g" in html
    hostile = pd.DataFrame({"<b>": [1.0, 2.0], "y": [1.0, 2.0]})
    model = dtf.dynamic_tree("y ~ `<b>`", hostile, n_particles=5)
    assert "<b>" not in model._repr_html_()


@pytest.mark.filterwarnings("ignore::dyntree.errors.LearnedRowsWarning")
@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("options", [{}, {"window": 20}, {"window": "auto"}])
def test_streams_are_evaluated_by_results(
    options: dict[str, Any], is_class: bool
) -> None:
    found = fit(is_class, **options)
    frame = found.model.data.frame[::-1].reset_index(drop=True)
    inner = found.copy()
    seen = prequential(found, frame, frame["y"], start=5)
    rows = inner.design.encode(inner.model.table_of(frame))
    own = prequential(inner.tree, rows, frame["y"].to_numpy(), start=5)
    np.testing.assert_array_equal(seen.mean, own.mean)
    assert found.nobs == 120
    each = prequential_each({"a": fit(is_class, **options)}, frame, frame["y"], start=5)
    np.testing.assert_array_equal(each["a"].mean, own.mean)
