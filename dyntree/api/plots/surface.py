"""Surfaces over two features: mean and uncertainty, or probability and entropy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.base import TreeModel
from dyntree.trees.view import TreeView

from .canvas import (
    MARKERS,
    Model,
    Scale,
    Target,
    dress,
    fixed_row,
    legend_above,
    panels,
    place_of,
    plain,
    scale_of,
    span,
    view_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = Sequence[str | int]


def plot_surface(
    model: Model,
    features: Pair = (0, 1),
    *,
    at: Mapping[str, float] | None = None,
    n_grid: int = 60,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw predictive mean and standard deviation over two features.

    The active rows, which the model still holds individually, are drawn on top.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
        A regression model.
    features : (str or int, str or int), default (0, 1)
        Names or positions of the two features.
    at : dict of str to float, optional
        Values of the other features, as in `plot_fit`.
    n_grid : int, default 60
        Number of points along each feature, >= 2.
    response : str, default "y"
        Name of the response and its unit.
    ax : two Axes, optional
        Axes for the mean and for the standard deviation.

    Returns
    -------
    Figure

    Notes
    -----
    Counts with exposures, and results whose responses have an offset, are drawn as in
    `plot_fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_surface
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, X[:, 0] * X[:, 1])
    >>> figure = plot_surface(tree, n_grid=20)
    >>> [scale.get_ylabel() for scale in figure.axes[2:]]
    ['mean of y', 'standard deviation of y']
    """
    view = view_of(model, "plot_surface")
    tree = view.tree
    if tree.options.has_labels:
        raise ArgumentError(
            "model", "must be a regression; for labels use plot_classes"
        )
    i, j = _pair(tree, features)
    scale = scale_of(model, view, response)
    grids, answer = _prediction_at(view, i, j, at, n_grid, scale)
    assert isinstance(answer, Prediction)
    figure, axes = panels(ax, 2, size=(4.8, 3.8))
    finite = np.where(np.isfinite(answer.var), answer.var, np.nan)
    values = (answer.mean / scale.per, np.sqrt(finite) / scale.per)
    titles = ("mean", "standard deviation")
    X, _ = view.rows()
    for one, value, title in zip(axes, values, titles, strict=True):
        _draw(one, grids, value, f"{title} of {scale.label}", None)
        one.plot(X[:, i], X[:, j], "o", ms=3, mfc="white", mec="black", mew=0.7)
        dress(one, plain(tree.feature_names[i]), plain(tree.feature_names[j]))
    return figure


def plot_classes(
    model: Model,
    features: Pair = (0, 1),
    *,
    label: Hashable | None = None,
    at: Mapping[str, float] | None = None,
    n_grid: int = 60,
    ax: Target = None,
) -> Figure:
    """Draw the probability of a label and the entropy over two features.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
        A class model.
    features
        As in `plot_surface`.
    label : hashable, optional
        The label whose probability is drawn. By default it is the most probable label
        at each point, with white lines where this label changes.
    at, n_grid
        As in `plot_surface`.
    ax : two Axes, optional
        Axes for the probability and for the entropy.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_classes
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> tree = DynamicTree("class", n_particles=50, seed=1).update(X, y)
    >>> figure = plot_classes(tree, label="high", n_grid=20)
    >>> [scale.get_ylabel() for scale in figure.axes[2:]]
    ['probability of high', 'entropy, nats']
    """
    view = view_of(model, "plot_classes")
    tree = view.tree
    if not tree.options.has_labels:
        raise ArgumentError(
            "model",
            "must be a class model",
            Message("model={model!r}", model=tree.options.model),
            "For real responses and counts use plot_surface.",
        )
    place = None if label is None else tree.class_place(label)
    i, j = _pair(tree, features)
    scale = scale_of(model, view, "y")
    grids, answer = _prediction_at(view, i, j, at, n_grid, scale)
    assert isinstance(answer, ClassPrediction)
    figure, axes = panels(ax, 2, size=(4.8, 3.8))
    names, most = tree.feature_names, np.log(max(2, len(answer.classes)))
    p = answer.proba.max(axis=1) if place is None else answer.proba[:, place]
    title = "probability of " + (
        "the likeliest label" if place is None else plain(label)
    )
    _draw(axes[0], grids, p, title, (0.0, 1.0))
    _draw(axes[1], grids, answer.entropy, "entropy, nats", (0.0, float(most)))
    if place is None:
        _borders(axes[0], grids, answer.proba.argmax(axis=1))
    X, y = view.rows()
    for k, known in enumerate(answer.classes):
        mine = X[y == k]
        axes[0].plot(
            mine[:, i], mine[:, j], MARKERS[k % len(MARKERS)], ms=4, mfc="white",
            mec="black", mew=0.8, ls="none", label=plain(known),
        )  # fmt: skip
    axes[1].plot(X[:, i], X[:, j], "o", ms=3, mfc="white", mec="black", mew=0.7)
    legend_above(axes[0])
    for one in axes:
        dress(one, plain(names[i]), plain(names[j]))
    return figure


def _pair(tree: TreeModel, features: Pair) -> tuple[int, int]:
    """Places of two different features."""
    if len(tree.feature_names) < 2:
        raise ArgumentError(
            "model",
            "must have two features at least",
            list(tree.feature_names),
            "For one use plot_fit.",
        )
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise ArgumentError("features", "must be two different features", features)
    i, j = (place_of(tree, feature, "features") for feature in features)
    return i, j


def _prediction_at(
    view: TreeView,
    i: int,
    j: int,
    at: Mapping[str, float] | None,
    n_grid: int,
    scale: Scale,
) -> tuple[tuple[Vector, Vector], Any]:
    """Points along the two features, and the prediction at all pairs of them."""
    n = params.count("n_grid", n_grid, 2)
    first = np.linspace(*span(view, i), n)
    second = np.linspace(*span(view, j), n)
    rows = np.tile(fixed_row(view, at), (n * n, 1))
    rows[:, i] = np.tile(first, n)
    rows[:, j] = np.repeat(second, n)
    return (first, second), scale.prediction_of(view.tree, rows)


def _draw(
    ax: Axes,
    grids: tuple[Vector, Vector],
    values: Vector,
    label: str,
    limits: tuple[float, float] | None,
) -> None:
    """Values over the grid in greys, with a scale beside them."""
    low, high = limits or (None, None)
    mesh = ax.pcolormesh(
        *grids, _table(grids, values), cmap="Greys", shading="nearest", vmin=low,
        vmax=high, rasterized=True,
    )  # fmt: skip
    ax.figure.colorbar(mesh, ax=ax, label=label)


def _table(grids: tuple[Vector, Vector], values: Vector) -> Matrix:
    """Values as rows of the second feature by columns of the first."""
    table: Matrix = np.asarray(values, dtype=np.float64)
    return table.reshape(len(grids[1]), len(grids[0]))


def _borders(ax: Axes, grids: tuple[Vector, Vector], places: Vector) -> None:
    """Lines where the likeliest label changes."""
    for k in np.unique(places)[:-1]:
        ax.contour(*grids, _table(grids, places == k), [0.5], colors="white")
