"""Pictures show what the model says, where they are told to, and leave no trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedTrees, DynamicTree
from dyntree._core.trees import query
from dyntree.api import plots
from dyntree.api.plots.tree import _inside
from dyntree.encoding.feature_map import Encoded
from dyntree.evaluate import Prequential, auc, prequential
from tests.helpers import model_bytes, same_bytes
from tests.unit.conftest import python
from tests.unit.models import MODELS, data, grown, refused, stream

mpl = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.collections import PolyCollection, QuadMesh  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


def axes_of(n: int = 1) -> list[Axes]:
    return list(Figure().subplots(1, n, squeeze=False)[0])


def native(model: str, n: int = 60, **options: Any) -> DynamicTree:
    tree = DynamicTree(model, n_particles=20, seed=1, **options)
    return tree.update(*data("class" if model == "class" else "constant", n))


@pytest.fixture(scope="module")
def real() -> DynamicTree:
    return native("linear")


@pytest.fixture(scope="module")
def labels() -> DynamicTree:
    return native("class")


@pytest.fixture(scope="module")
def seen() -> dict[str, Prequential]:
    return {
        "real": prequential(DynamicTree(n_particles=20, seed=1), *data("constant")),
        "class": prequential(
            DynamicTree("class", n_particles=20, seed=1), *data("class"), start=5
        ),
    }


# ---------------------------------------------------------------- what is drawn
def test_a_fit_shows_mean_interval_and_active_rows(real: DynamicTree) -> None:
    (ax,) = axes_of()
    figure = plots.plot_fit(
        real, "x1", at={"x0": 0.7}, level=0.8, n_grid=11, response="load, kN", ax=ax
    )
    assert figure is ax.figure
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "load, kN")
    X, y = data("constant")
    grid = np.linspace(X[:, 1].min(), X[:, 1].max(), 11)
    answer = real.predict(np.column_stack([np.full(11, 0.7), grid]))
    low, high, mean, rows = ax.lines
    np.testing.assert_array_equal(mean.get_xdata(), grid)
    np.testing.assert_array_equal(mean.get_ydata(), answer.mean)
    for edge, q in ((low, 0.1), (high, 0.9)):
        np.testing.assert_allclose(edge.get_ydata(), answer.quantile(q), rtol=1e-12)
    np.testing.assert_array_equal(rows.get_data(), (X[:, 1], y))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["80 % interval", "80 % interval, mean", "mean", "active rows"]
    inside = answer.of_mean.quantile(np.array([0.1, 0.9]))
    drawn = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert (drawn.min(), drawn.max()) == (inside.min(), inside.max())


def test_slices_stand_at_the_medians(real: DynamicTree) -> None:
    axes = plots.plot_slices(real, n_grid=5).axes
    X, _ = data("constant")
    for k, ax in enumerate(axes):
        rows = np.tile(np.median(X, axis=0), (5, 1))
        rows[:, k] = np.linspace(X[:, k].min(), X[:, k].max(), 5)
        assert ax.get_xlabel() == f"x{k}"
        np.testing.assert_array_equal(ax.lines[2].get_ydata(), real.predict(rows).mean)
    assert len(axes) == 2
    only = plots.plot_slices(real, [1], n_grid=5).axes
    assert [ax.get_xlabel() for ax in only] == ["x1"]


def test_slices_of_levels_stand_at_the_most_frequent_one() -> None:
    X, y = data("constant")
    names = np.array(["low", "mid", "top"])[np.digitize(X[:, 1], (0.2, 0.9))]
    rows = [{"a": a, "b": b} for a, b in zip(X[:, 0], names, strict=True)]
    tree = DynamicTree(n_particles=20, seed=1).update(rows, y)
    (ax,) = axes_of()
    plots.plot_fit(tree, "a", n_grid=7, ax=ax)
    grid = np.linspace(X[:, 0].min(), X[:, 0].max(), 7)
    expected = tree.predict([{"a": a, "b": "mid"} for a in grid]).mean
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), expected)
    (ax,) = plots.plot_fit(tree, "a", at={"b=top": 1}, n_grid=7).axes
    expected = tree.predict([{"a": a, "b": "top"} for a in grid]).mean
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), expected)
    middle = float(np.median(X[:, 0]))
    second = "low" if np.sum(names == "low") > np.sum(names == "top") else "top"
    for level, other in (("low", "mid"), ("mid", second)):
        (ax,) = plots.plot_fit(tree, f"b={level}").axes
        rows = [{"a": middle, "b": other}, {"a": middle, "b": level}]
        assert ax.lines[2].get_xdata().tolist() == [0.0, 1.0]
        expected = tree.predict(rows).mean
        np.testing.assert_array_equal(ax.lines[2].get_ydata(), expected)


def test_a_fit_of_classes_shows_their_probabilities(labels: DynamicTree) -> None:
    (ax,) = axes_of()
    plots.plot_fit(labels, 0, n_grid=9, ax=ax)
    lines = {line.get_label(): line for line in ax.lines}
    X, y = data("class")
    grid = np.linspace(X[:, 0].min(), X[:, 0].max(), 9)
    rows = np.column_stack([grid, np.full(9, np.median(X[:, 1]))])
    proba = labels.predict(rows).proba
    assert labels.classes is not None
    for k, label in enumerate(labels.classes):
        np.testing.assert_array_equal(lines[str(label)].get_ydata(), proba[:, k])
        ticks = ax.lines[2 * k + 1].get_xdata()
        np.testing.assert_array_equal(np.sort(ticks), np.sort(X[y == label, 0]))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "class"])
def test_every_model_can_be_drawn(name: str) -> None:
    tree = grown(name)
    X, _ = data(name)
    (ax,) = axes_of()
    plots.plot_fit(tree, n_grid=4, ax=ax).canvas.draw()
    rows = np.tile(np.median(X, axis=0), (4, 1))
    rows[:, 0] = np.linspace(X[:, 0].min(), X[:, 0].max(), 4)
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), tree.predict(rows).mean)
    with same_bytes(tree):
        plots.plot_surface(tree, n_grid=4).canvas.draw()
        plots.plot_tree(tree).canvas.draw()
        plots.plot_relevance(tree).canvas.draw()


def test_a_surface_shows_mean_deviation_and_pool() -> None:
    window = stream("constant", rules="native").update(*data("constant"))
    axes = axes_of(2)
    figure = plots.plot_surface(window, (1, 0), n_grid=6, response="load", ax=axes)
    X, _ = data("constant")
    X = X[window.tree.active_ids]
    assert len(X) == 25
    every = data("constant")[0]  # the range of all rows, not of those in the window
    assert np.ptp(every, axis=0).min() > np.ptp(X, axis=0).min()
    first, second = (
        np.linspace(every[:, k].min(), every[:, k].max(), 6) for k in (1, 0)
    )
    rows = [[b, a] for b in second for a in first]
    answer = window.predict(rows)
    for ax, values in zip(axes, (answer.mean, np.sqrt(answer.var)), strict=True):
        (mesh,) = (part for part in ax.collections if isinstance(part, QuadMesh))
        np.testing.assert_array_equal(np.ravel(mesh.get_array()), values)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x0")
        pool = ax.lines[0]
        drawn = np.column_stack([pool.get_ydata(), pool.get_xdata()])
        assert {*map(tuple, drawn)} == {*map(tuple, X)}
    scales = [ax.get_ylabel() for ax in figure.axes if ax not in axes]
    assert scales == ["mean of load", "standard deviation of load"]


@pytest.mark.parametrize("label", ["b", None])
def test_classes_show_probability_and_entropy(
    label: str | None, labels: DynamicTree
) -> None:
    axes = axes_of(2)
    figure = plots.plot_classes(labels, label=label, n_grid=5, ax=axes)
    X, y = data("class")
    grids = [np.linspace(X[:, k].min(), X[:, k].max(), 5) for k in (0, 1)]
    answer = labels.predict([[a, b] for b in grids[1] for a in grids[0]])
    place = answer.classes.index("b")
    p = answer.proba.max(axis=1) if label is None else answer.proba[:, place]
    for ax, values in zip(axes, (p, answer.entropy), strict=True):
        (mesh,) = (part for part in ax.collections if isinstance(part, QuadMesh))
        np.testing.assert_array_equal(np.ravel(mesh.get_array()), values)
    by_label = {line.get_label(): line for line in axes[0].lines}
    for known in answer.classes:
        assert len(by_label[str(known)].get_xdata()) == np.sum(y == known)
    scales = [ax.get_ylabel() for ax in figure.axes if ax not in axes]
    title = "the likeliest label" if label is None else "b"
    assert scales == [f"probability of {title}", "entropy, nats"]


def test_effects_show_means_and_bands(real: DynamicTree) -> None:
    found = real.copy().sensitivity(n_samples=50, n_grid=8)
    axes = plots.plot_effects(found, response="load").axes
    for k, ax in enumerate(axes):
        (line,) = ax.lines
        np.testing.assert_array_equal(line.get_xdata(), found.grid[:, k])
        np.testing.assert_array_equal(
            line.get_ydata(), found.main[:, :, k].mean(axis=0)
        )
        (band,) = (part for part in ax.collections if isinstance(part, PolyCollection))
        low, high = np.quantile(found.main[:, :, k], [0.05, 0.95], axis=0)
        points = band.get_paths()[0].vertices
        assert points[:, 1].min() == low.min()
        assert points[:, 1].max() == high.max()
        assert (ax.get_xlabel(), ax.get_ylabel()) == (f"x{k}", "mean of load")
    assert axes[0].get_ylim() == axes[1].get_ylim()


def test_a_factor_has_one_panel_with_its_levels() -> None:
    """Each at the main effect of the level's own feature where it holds."""
    rng = np.random.default_rng(0)
    x, sites = rng.random(60), rng.choice(["v", "u", "w"], 60).tolist()
    X = [{"x": a, "site": site} for a, site in zip(x, sites, strict=True)]
    y = x + 2.0 * (np.array(sites) == "u")
    for model in (
        DynamicTree(n_particles=10, seed=1), AveragedTrees(n_particles=10, seed=1)
    ):  # fmt: skip
        found = model.update(X, y).sensitivity(n_samples=50, n_grid=8)
        axes = plots.plot_effects(found).axes
        assert [ax.get_xlabel() for ax in axes] == ["x", "site"]
        levels = [name.removeprefix("site=") for name in found.names[1:]]
        assert [one.get_text() for one in axes[1].get_xticklabels()] == levels
        np.testing.assert_allclose(
            axes[1].lines[0].get_ydata(), found.main[:, -1, 1:].mean(axis=0)
        )
        (alone,) = plots.plot_effects(found, ["site=u"]).axes
        assert alone.get_xlabel() == "site=u"


@pytest.mark.parametrize("n_levels", [12, 40])
@pytest.mark.parametrize("make", [DynamicTree, AveragedTrees])
def test_pictures_of_levels_are_at_their_effects(make: Any, n_levels: int) -> None:
    """A level that is fixed, or drawn, has what `predict` says of its rows."""
    rng = np.random.default_rng(1)
    g, x = rng.integers(0, n_levels, 300), rng.random(300)
    X = [{"x": a, "g": f"g{k}"} for a, k in zip(x.tolist(), g.tolist(), strict=True)]
    named = {"g": [f"g{k}" for k in range(n_levels)]}
    model = make("constant", n_particles=10, categories=named, seed=1).update(X, x + g)
    found = model.sensitivity(n_samples=50, n_grid=3)
    axes = plots.plot_effects(found).axes
    assert len(axes) == 2
    if n_levels == 40:
        assert axes[1].get_xlabel() == "effect of g"
        return
    levels = [name[2:] for name in found.names if name.startswith("g=")]
    assert [one.get_text() for one in axes[1].get_xticklabels()] == levels
    (ax,) = plots.plot_fit(model, "x", at={"g=g7": 1.0}, n_grid=2).axes
    (line,) = (line for line in ax.lines if line.get_label() == "mean")
    asked = [{"x": one, "g": "g7"} for one in line.get_xdata()]
    np.testing.assert_allclose(line.get_ydata(), model.predict(asked).mean)
    (ax,) = plots.plot_fit(model, "g=g7", at={"x": 0.5}).axes
    (line,) = (line for line in ax.lines if line.get_label() == "mean")
    (there,) = model.predict([{"x": 0.5, "g": "g7"}]).mean
    assert line.get_ydata()[1] == pytest.approx(there)


def test_boxes_show_medians_of_indices_and_relevance(real: DynamicTree) -> None:
    found = real.copy().sensitivity(n_samples=50, n_grid=8)
    first, total = plots.plot_sobol(found).axes
    (only,) = plots.plot_relevance(real, ["x1"]).axes
    wanted = [
        (first, found.first, ["x0", "x1"]),
        (total, found.total, ["x0", "x1"]),
        (only, real.relevance().values[:, 1:], ["x1"]),
    ]
    for ax, values, names in wanted:
        assert [label.get_text() for label in ax.get_xticklabels()] == names
        thick = [line for line in ax.lines if line.get_linewidth() == 1.8]
        medians = [line.get_ydata()[0] for line in thick]
        np.testing.assert_allclose(medians, np.median(values, axis=0), rtol=1e-12)
    assert first.get_ylim() == total.get_ylim()
    assert plots.plot_relevance(real.relevance()).axes[0].get_ylabel() == "relevance"


def test_rolling_scores_are_those_of_the_evaluation(
    seen: dict[str, Prequential],
) -> None:
    one, window = seen["real"], 10
    (ax,) = axes_of()
    plots.plot_rolling(one, window=window, response="load", ax=ax)
    line, trivial = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), one.rows[window - 1 :])
    np.testing.assert_array_equal(
        line.get_ydata(), np.sqrt(one.rolling(window)[window - 1 :])
    )
    assert trivial.get_ydata()[0] == vars(one.baseline)["rmse"]
    assert ax.get_ylabel() == "RMSE of load, last 10 rows"


def test_rolling_areas_are_those_of_their_windows(
    seen: dict[str, Prequential],
) -> None:
    one = seen["class"]
    (ax,) = axes_of()
    plots.plot_rolling({"first": one, "again": one}, "auc", window=20, ax=ax)
    x, values = ax.lines[0].get_data()
    assert [line.get_label() for line in ax.lines[:2]] == ["first", "again"]
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    assert len(x) == len(one.y) - 19
    part = slice(7, 27)
    assert values[7] == auc(one.y[part].astype(int), one.mean[part])
    error = plots.plot_rolling(one, window=20).axes[0]
    assert error.lines[-1].get_ydata()[0] == vars(one.baseline)["error"]


def nodes(tree: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if tree[0] == "leaf":
        return [tree]
    return [*nodes(tree[4]), *nodes(tree[5]), tree]


@pytest.mark.parametrize("name", ["constant", "class"])
def test_a_drawn_tree_has_the_trees_splits_and_leaves(name: str) -> None:
    model = stream(name, rules="native", discard="random").update(*data(name))
    tree = model.tree
    for particle in range(5):
        (ax,) = plots.plot_tree(model, particle).axes
        texts = [text.get_text() for text in ax.texts]
        parts = nodes(tree.state.cloud.tree(particle))
        splits = [part for part in parts if part[0] == "split"]
        leaves = [part for part in parts if part[0] == "leaf"]
        assert texts[: len(splits)] == [f"x{s[2]} ≤ {s[3]:.3g}" for s in splits]
        assert len(texts) == len(parts)
        assert len(ax.lines) == len(parts) - 1
        for text, (_, _, rows, retired, _) in zip(
            texts[len(splits) :], leaves, strict=True
        ):
            told, counts = text.split("\n")
            past = f" + {retired:.3g}" if retired else ""
            assert counts == f"n = {len(rows)}{past}"
            if not rows:
                continue
            place = np.flatnonzero(tree.active_ids == rows[0])
            row = tree.state.cloud.rows()[0][place]
            if name == "class":
                p = [
                    query.class_probabilities(tree.state.cloud, k, row)
                    for k in range(3)
                ]
                p = [part[particle, 0] for part in p]
                assert tree.classes is not None
                assert told == f"{tree.classes[np.argmax(p)]}: {max(p):.2f}"
            else:
                mean = query.predictive(tree.state.cloud, row)[0][particle, 0]
                assert told == f"{mean:.3g}"


def test_points_of_leaves_lie_in_their_leaves() -> None:
    """The prediction written in a linear leaf is the leaf's own."""
    tree = native("linear", 200)
    low, high = np.array([-np.inf, 0.2]), np.array([0.3, np.inf])
    for row in ([0.5, 0.1], [np.nan, np.nan], [0.1, 0.7]):
        point = _inside(np.array(row), low, high)
        assert point[0] <= 0.3
        assert point[1] > 0.2
    assert _inside(np.array([0.1, 0.7]), low, high).tolist() == [0.1, 0.7]
    assert len(plots.plot_tree(tree).axes[0].texts) > 1


# ---------------------------------------------------------------- manners
def everything(real: DynamicTree, labels: DynamicTree, seen: Any) -> list[Figure]:
    trace = plots.Recorder(DynamicTree(n_particles=20, seed=1), 10)
    found = trace.update(*data("constant")).trace()
    effects = real.copy().sensitivity(n_samples=20, n_grid=4)
    return [
        plots.plot_fit(real),
        plots.plot_slices(labels),
        plots.plot_surface(real, n_grid=4),
        plots.plot_classes(labels, n_grid=4),
        plots.plot_effects(effects),
        plots.plot_sobol(effects),
        plots.plot_relevance(real),
        plots.plot_rolling(seen["real"], window=5),
        plots.plot_steps(found),
        plots.plot_shape(found),
        plots.plot_tree(labels),
    ]


def test_models_and_settings_are_left_alone(
    real: DynamicTree, labels: DynamicTree, seen: dict[str, Prequential]
) -> None:
    before = model_bytes(real), model_bytes(labels), dict(mpl.rcParams)
    figures = everything(real, labels, seen)
    for figure in figures:
        assert isinstance(figure, Figure)
        figure.canvas.draw()
    assert (model_bytes(real), model_bytes(labels), dict(mpl.rcParams)) == before


def test_every_line_of_a_legend_can_be_told_apart_without_colour(
    real: DynamicTree, labels: DynamicTree, seen: dict[str, Prequential]
) -> None:
    for figure in everything(real, labels, seen):
        for ax in figure.axes:
            handles, _ = ax.get_legend_handles_labels()
            lines = [part for part in handles if hasattr(part, "get_linestyle")]
            looks = [
                (
                    str(one.get_linestyle()),
                    str(getattr(one, "get_marker", str)()),
                    str(getattr(one, "get_facecolor", str)()),  # of bands, in greys
                )
                for one in lines
            ]
            assert len({*looks}) == len(looks)
            for line in ax.lines:
                red, green, blue = mpl.colors.to_rgb(line.get_color())
                assert red == green == blue or line.get_linestyle() == "None"


def test_nothing_goes_through_pyplot() -> None:
    code = (
        "import sys\nfrom dyntree.api import plots\n"
        "from tests.unit.models import grown\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plots.plot_fit(grown('constant'), n_grid=3).canvas.draw()\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    process = python("-c", code)
    assert (process.returncode, process.stdout) == (0, "False\n"), process.stderr


def test_a_missing_package_is_named() -> None:
    code = (
        "import sys\nsys.modules['matplotlib.axes'] = None\n"
        "from dyntree.api import plots\nfrom tests.unit.models import grown\n"
        "plots.plot_fit(grown('constant'))"
    )
    process = python("-c", code)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == (
        "ImportError: dyntree.api.plots needs matplotlib. Install it with: "
        "pip install matplotlib."
    )


Call = Callable[[DynamicTree, DynamicTree, dict[str, Prequential]], Any]
BAD: list[tuple[Call, str, str]] = [
    (lambda t, c, s: plots.plot_fit([1]), "model", "[1]"),
    (lambda t, c, s: plots.plot_fit(t, "z"), "feature", "'z'"),
    (lambda t, c, s: plots.plot_fit(t, 2), "feature", "2"),
    (lambda t, c, s: plots.plot_fit(t, True), "feature", "True"),
    (lambda t, c, s: plots.plot_fit(t, at=3), "at", "3"),
    (lambda t, c, s: plots.plot_fit(t, at={"z": 1}), "at", "'z'"),
    (lambda t, c, s: plots.plot_fit(t, at={"x1": "one"}), "at", "'one'"),
    (lambda t, c, s: plots.plot_fit(t, level=1.0), "level", "1.0"),
    (lambda t, c, s: plots.plot_fit(t, n_grid=1), "n_grid", "1"),
    (lambda t, c, s: plots.plot_fit(t, ax="here"), "ax", "'here'"),
    (lambda t, c, s: plots.plot_fit(t, ax=axes_of(2)), "ax", "Axes"),
    (lambda t, c, s: plots.plot_slices(t, "x1"), "features", "'x1'"),
    (lambda t, c, s: plots.plot_slices(t, []), "features", "[]"),
    (lambda t, c, s: plots.plot_surface(t, ("x0", "x0")), "features", "'x0'"),
    (lambda t, c, s: plots.plot_surface(c), "model", "plot_classes"),
    (lambda t, c, s: plots.plot_classes(t), "model", "'linear'"),
    (lambda t, c, s: plots.plot_classes(c, label="z"), "label", "'z'"),
    (lambda t, c, s: plots.plot_effects(t), "sensitivity", "DynamicTree"),
    (lambda t, c, s: plots.plot_relevance(t, ["z"]), "features", "['z']"),
    (lambda t, c, s: plots.plot_rolling(t), "seen", "DynamicTree"),
    (lambda t, c, s: plots.plot_rolling({}), "seen", "none"),
    (lambda t, c, s: plots.plot_rolling(s["real"], "auc"), "measure", "real"),
    (lambda t, c, s: plots.plot_rolling(s["real"], "loss"), "measure", "'loss'"),
    (lambda t, c, s: plots.plot_rolling(s["real"], window=99), "window", "99"),
    (lambda t, c, s: plots.plot_steps(t), "trace", "DynamicTree"),
    (lambda t, c, s: plots.plot_shape(plots.Recorder(t).trace()), "trace", "none"),
    (lambda t, c, s: plots.plot_tree(t, 20), "particle", "20"),
    (lambda t, c, s: plots.Recorder(t, 0), "every", "0"),
    (lambda t, c, s: plots.Recorder(3), "model", "3"),
    (lambda t, c, s: plots.Recorder(t).update([[1, 2]], [1, 2]), "y", "2"),
]


@pytest.mark.parametrize(("call", "name", "came"), BAD)
def test_bad_arguments_are_named(
    call: Call,
    name: str,
    came: str,
    real: DynamicTree,
    labels: DynamicTree,
    seen: dict[str, Prequential],
) -> None:
    with refused(name, came, real):
        call(real, labels, seen)


def test_a_model_without_trees_says_what_it_needs() -> None:
    young = DynamicTree(n_particles=20, seed=1).update([[1.0, 2.0]], [1.0])
    with pytest.raises(ValueError, match=r"plot_fit needs .* 9 more rows"):
        plots.plot_fit(young)


def test_a_frozen_stream_is_not_recorded() -> None:
    model = stream("constant").update(*data("constant")).freeze()
    with refused("model", "frozen"):
        plots.Recorder(model).update(*data("constant"))


def test_one_feature_has_no_surface() -> None:
    X, y = data("constant")
    tree = DynamicTree(n_particles=20, seed=1).update(X[:, :1], y)
    with refused("model", "plot_fit"):
        plots.plot_surface(tree)


def test_columns_without_values_are_left_out_unless_asked_for() -> None:
    X, y = data("constant")
    X = np.column_stack([X, np.full(len(X), np.nan)])
    tree = DynamicTree(n_particles=20, seed=1).update(X, y)
    axes = plots.plot_slices(tree, n_grid=3).axes
    assert [ax.get_xlabel() for ax in axes] == ["x0", "x1"]
    with refused("feature", "'x2'", tree):
        plots.plot_fit(tree, "x2")


def test_windows_are_a_tenth_of_the_rows_by_default(
    seen: dict[str, Prequential],
) -> None:
    one = seen["class"]
    (ax,) = plots.plot_rolling(one).axes
    assert ax.get_ylabel() == f"share misclassified, last {len(one.y) // 10} rows"


def test_a_constant_column_has_room_around_it() -> None:
    X, y = data("constant")
    X[:, 1] = 3.0
    tree = DynamicTree(n_particles=20, seed=1).update(X, y)
    (ax,) = plots.plot_fit(tree, 1, n_grid=3).axes
    assert ax.lines[2].get_xdata().tolist() == [2.5, 3.0, 3.5]
    np.testing.assert_array_equal(
        ax.lines[2].get_ydata(),
        tree.predict(Encoded(np.array([[np.median(X[:, 0]), 3.0]]))).mean.repeat(3),
    )


def test_names_with_dollars_are_shown_as_they_are() -> None:
    X, y = data("class")
    rows = [{"$a$b_^": a, "$c": c} for a, c in X]
    model = DynamicTree("class", n_particles=20, seed=1)
    model.update(rows, [f"${label}$_" for label in y])
    for figure in (
        plots.plot_slices(model, n_grid=3),
        plots.plot_classes(model, n_grid=3, label="$a$_"),
        plots.plot_relevance(model),
        plots.plot_tree(model),
        plots.plot_effects(model.sensitivity(label="$b$_", n_samples=9, n_grid=3)),
    ):
        figure.canvas.draw()
    assert plots.plot_fit(model).axes[0].get_xlabel() == r"\$a\$b_^"
