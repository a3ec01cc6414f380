"""The fit along one feature at a time, with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.answers.level_effects import follow_levels
from dyntree.trees.view import TreeView

from .canvas import (
    BAND,
    GREYS,
    LINES,
    MANY,
    MEAN_BAND,
    POINT,
    Model,
    Scale,
    Target,
    dress,
    fixed_row,
    legend_above,
    levels_of,
    most_frequent,
    panels,
    place_of,
    plain,
    scale_of,
    span,
    view_of,
    with_values,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_fit(
    model: Model,
    feature: str | int = 0,
    *,
    at: Mapping[str, float] | None = None,
    level: float = 0.9,
    n_grid: int = 200,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw the prediction along one feature, with intervals and the active rows.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
    feature : str or int, default 0
        Name or position of the feature on the horizontal axis.
    at : dict of str to float, optional
        Values of the other features; by default the medians of the active rows and the
        most frequent levels.
    level : float in (0, 1), default 0.9
        Probability of the central intervals of a new response and of the mean.
    n_grid : int, default 200
        Number of points along the feature, >= 2.
    response : str, default "y"
        Label of the vertical axis: the response and its unit.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    With one feature, the figure shows the whole fit. With more, it shows a slice, but
    all active rows. If the feature is a level of a column, it is 1 or 0, and at 0 the
    column has its most frequent other level. For class models, each label has one line,
    which is its probability. Counts with exposures are drawn as rates, y / exposure,
    with the intervals of a new count at the median exposure of the active rows. For
    results whose responses have an offset, everything is drawn minus that offset, as
    the label says.

    Examples
    --------
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_fit
    >>> from dyntree.datasets import load_mcycle
    >>> data = load_mcycle()
    >>> tree = DynamicTree("linear", n_particles=100, seed=1)
    >>> tree = tree.update(data[["times"]], data["accel"])
    >>> figure = plot_fit(tree, response="acceleration, g")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('times', 'acceleration, g')
    """
    view = view_of(model, "plot_fit")
    share = _share(level)
    n_grid = params.count("n_grid", n_grid, 2)
    place = place_of(view.tree, feature, "feature")
    row = fixed_row(view, at)
    figure, (axes,) = panels(ax)
    _draw(axes, view, place, row, share, n_grid, scale_of(model, view, response))
    axes.legend(frameon=False, fontsize="small")
    return figure


def plot_slices(
    model: Model,
    features: Sequence[str | int] | None = None,
    *,
    at: Mapping[str, float] | None = None,
    level: float = 0.9,
    n_grid: int = 200,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw `plot_fit` for several features side by side.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
    features : sequence of str or int, optional
        Names or positions of the features; by default all that have had a value.
    at, level, n_grid, response
        As in `plot_fit`.
    ax : sequence of Axes, optional
        One for each feature.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_slices
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, X[:, 0] - X[:, 1])
    >>> [axes.get_xlabel() for axes in plot_slices(tree).axes]
    ['x0', 'x1', 'x2']
    """
    view = view_of(model, "plot_slices")
    share = _share(level)
    n_grid = params.count("n_grid", n_grid, 2)
    places = _places(view, features)
    row, scale = fixed_row(view, at), scale_of(model, view, response)
    figure, axes = panels(ax, len(places), size=(3.4, 3.0))
    for one, place in zip(axes, places, strict=True):
        _draw(one, view, place, row, share, n_grid, scale)
    legend_above(axes[0])
    return figure


def _places(view: TreeView, features: Sequence[str | int] | None) -> list[int]:
    """Places of the features to draw, by default all that have values."""
    if features is None:
        return with_values(view)
    if isinstance(features, str) or not len(features):
        raise ArgumentError(
            "features", "must be a sequence of one name at least", features
        )
    return [place_of(view.tree, feature, "features") for feature in features]


def _share(level: float) -> float:
    """The probability of an interval, checked."""
    share = params.real("level", level)
    if not 0.0 < share < 1.0:
        raise ArgumentError("level", "must be in (0, 1)", level)
    return share


def _draw(
    ax: Axes,
    view: TreeView,
    place: int,
    row: Vector,
    share: float,
    n_grid: int,
    scale: Scale,
) -> None:
    """One slice, and the active rows over it."""
    grid, rows = _slice(view, place, row, n_grid)
    answer = scale.prediction_of(view.tree, rows)
    name = plain(view.tree.feature_names[place])
    X, y = view.rows()[0], scale.y
    if isinstance(answer, ClassPrediction):
        _draw_classes(ax, grid, answer, X[:, place], y)
        dress(ax, name, f"probability of {scale.label}")
        return
    _draw_band(ax, grid, answer, share, scale.per)
    ax.plot(
        X[:, place], y, "o", ms=3.5, mfc="none", mec=POINT, mew=0.8,
        label="active rows", rasterized=len(y) > MANY,
    )  # fmt: skip
    dress(ax, name, scale.label)


def _slice(
    view: TreeView, place: int, row: Vector, n_grid: int
) -> tuple[Vector, Matrix]:
    """Points along a feature, and the rows there; without a level another is there."""
    levels = levels_of(view.tree, place)
    if not levels:
        grid = np.linspace(*span(view, place), n_grid)
        rows = np.tile(row, (n_grid, 1))
        rows[:, place] = grid
        return grid, rows
    rows = np.tile(row, (2, 1))
    others = [k for k in levels if k != place]
    if others and not np.any(row[others] > 0.0):
        X, _ = view.rows()
        rows[0, most_frequent(X[X[:, place] != 1.0], others)] = 1.0
    rows[0, place] = 0.0
    rows[1, levels] = 0.0
    rows[1, place] = 1.0
    follow_levels(view.tree.state, rows, levels)
    return np.array([0.0, 1.0]), rows


def _draw_band(
    ax: Axes, grid: Vector, answer: Prediction, share: float, per: float
) -> None:
    """Mean, and central intervals of it and of a new response, by so much."""
    levels = np.array([(1.0 - share) / 2.0, (1.0 + share) / 2.0])
    of_new, of_mean = (
        mixture.quantile(levels).T / per for mixture in (answer.mixture, answer.of_mean)
    )
    percent = f"{100 * share:g} % interval"
    ax.fill_between(grid, *of_new, color=BAND, lw=0, label=percent)
    ax.fill_between(grid, *of_mean, color=MEAN_BAND, lw=0, label=f"{percent}, mean")
    for edge in of_new:
        ax.plot(grid, edge, "--", color=POINT, lw=0.9)
    ax.plot(grid, answer.mean / per, "-", color="black", lw=1.6, label="mean")


def _draw_classes(
    ax: Axes, grid: Vector, answer: ClassPrediction, x: Vector, y: Vector
) -> None:
    """A line a label; its active rows as ticks on the lower edge, one level each."""
    for k, label in enumerate(answer.classes):
        ls, color = LINES[k % len(LINES)], GREYS[k // len(LINES) % len(GREYS)]
        ax.plot(grid, answer.proba[:, k], ls, color=color, lw=1.6, label=plain(label))
        mine = x[y == k]
        ax.plot(mine, np.full(len(mine), -0.06 - 0.07 * k), "|", ms=6, color=POINT)
        ax.text(
            1.0, -0.06 - 0.07 * k, f" {plain(label)}", va="center", fontsize="x-small",
            transform=ax.get_yaxis_transform(),
        )  # fmt: skip
    ax.set_ylim(-0.05 - 0.07 * len(answer.classes), 1.02)
    ax.set_yticks(np.linspace(0.0, 1.0, 6))
