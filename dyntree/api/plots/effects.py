"""What each feature does: main effects, Sobol' indices, importance, relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dyntree.encoding.values import Matrix
from dyntree.summaries import Importance, Relevance, Sensitivity

from .canvas import (
    BAND,
    Model,
    Target,
    dress,
    fit_names,
    of_results,
    panels,
    plain,
    record_of,
    view_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_effects(
    sensitivity: Sensitivity,
    features: Sequence[str] | None = None,
    *,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw the main effect of each feature, with a 90 % posterior band.

    Parameters
    ----------
    sensitivity : Sensitivity
        What ``model.sensitivity()`` returns.
    features : sequence of str, optional
        Names, by default all.
    response : str, default "y"
        Name of the response and its unit.
    ax : sequence of Axes, optional
        One a feature.

    Returns
    -------
    Figure

    Notes
    -----
    The effect is the mean response as a function of one feature, averaged over the
    others (partial dependence). The band lies between the quantiles of one draw from
    each particle, which tell what trees and their leaves do not know; under R's rules
    it is of the particles' means alone. One cloud of trees is too sure of itself:
    average several, as `AveragedTrees` does. All panels share one vertical scale.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_effects
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, 3 * X[:, 0])
    >>> figure = plot_effects(tree.sensitivity(n_samples=100, n_grid=20))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['x0', 'x1']
    """
    found = record_of(
        sensitivity, "sensitivity", Sensitivity, "sensitivity() of a model"
    )
    places = _places(found.names, features)
    main = found.main
    low, high = np.nanquantile(main, [0.05, 0.95], axis=0)
    mean = np.nanmean(main, axis=0)
    figure, axes = panels(ax, len(places), size=(3.2, 2.8))
    ends = np.nanmin(low[:, places]), np.nanmax(high[:, places])
    margin = 0.05 * (ends[1] - ends[0]) or 0.5
    for one, k in zip(axes, places, strict=True):
        grid = found.grid[:, k]
        one.fill_between(
            grid, low[:, k], high[:, k], color=BAND, lw=0, label="90 % interval"
        )
        one.plot(grid, mean[:, k], "-", color="black", lw=1.6, label="mean")
        one.set_ylim(ends[0] - margin, ends[1] + margin)
        dress(one, plain(found.names[k]), f"mean of {response}")
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def plot_sobol(
    sensitivity: Sensitivity,
    features: Sequence[str] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw first-order and total Sobol' indices over particles as boxes.

    Both panels share one vertical scale.

    Parameters
    ----------
    sensitivity : Sensitivity
        What ``model.sensitivity()`` returns.
    features
        As in `plot_effects`; a factor has one name.
    ax : two Axes, optional
        For the first-order and the total indices.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_sobol
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, 3 * X[:, 0])
    >>> figure = plot_sobol(tree.sensitivity(n_samples=100, n_grid=20))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['first-order share of variance', 'total share of variance']
    """
    found = record_of(
        sensitivity, "sensitivity", Sensitivity, "sensitivity() of a model"
    )
    places = _places(found.inputs, features)
    figure, axes = panels(ax, 2, size=(max(3.6, 0.45 * len(places)), 3.4))
    names = [found.inputs[k] for k in places]
    _boxes(axes[0], found.first[:, places], names)
    _boxes(axes[1], found.total[:, places], names, "//")
    ends = np.array([one.get_ylim() for one in axes])
    for one, order in zip(axes, ("first-order", "total"), strict=True):
        one.set_ylim(ends[:, 0].min(), ends[:, 1].max())
        dress(one, "", f"{order} share of variance")
    return figure


def plot_importance(
    importance: Importance | Model,
    features: Sequence[str] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw the share of the predicted variance that each input accounts for.

    Whiskers are two Monte Carlo standard errors long to each side.

    Parameters
    ----------
    importance : Importance, DynamicTree or StreamingTree
        What ``model.importance()`` returns, or a model that is asked for it.
    features : sequence of str, optional
        Names, by default all; a factor has one.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_importance
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, 3 * X[:, 0])
    >>> axes = plot_importance(tree).axes[0]
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['x0', 'x1']
    """
    importance = of_results(importance, Importance)
    if not isinstance(importance, Importance):
        importance = view_of(importance, "plot_importance").tree.importance()
    places = _places(importance.names, features)
    figure, (axes,) = panels(ax, size=(max(5.0, 0.45 * len(places)), 3.6))
    at = np.arange(1, len(places) + 1)
    axes.bar(
        at, importance.values[places], 0.6, color=BAND, edgecolor="black",
        yerr=2.0 * importance.se[places], capsize=3.0,
    )  # fmt: skip
    axes.set_xticks(at)
    axes.set_ylim(0.0, 1.05 * np.max(importance.values + 2.0 * importance.se) or 1.0)
    fit_names(axes, [importance.names[k] for k in places])
    dress(axes, "", "share of predicted variance")
    return figure


def plot_relevance(
    relevance: Relevance | Model,
    features: Sequence[str] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw the relevance of each feature over particles as boxes.

    Parameters
    ----------
    relevance : Relevance, DynamicTree or StreamingTree
        What ``model.relevance()`` returns, or a model that is asked for it.
    features, ax
        As in `plot_importance`.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_relevance
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> tree = DynamicTree(n_particles=50, seed=1).update(X, 3 * X[:, 0])
    >>> axes = plot_relevance(tree).axes[0]
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['x0', 'x1']
    """
    relevance = of_results(relevance, Relevance)
    if not isinstance(relevance, Relevance):
        relevance = view_of(relevance, "plot_relevance").tree.relevance()
    places = _places(relevance.names, features)
    figure, (axes,) = panels(ax, size=(max(5.0, 0.45 * len(places)), 3.6))
    _boxes(axes, relevance.values[:, places], [relevance.names[k] for k in places])
    dress(axes, "", "relevance")
    return figure


def _places(names: Sequence[str], features: Sequence[str] | None) -> list[int]:
    """Places of features by name; all by default."""
    if features is None:
        return list(range(len(names)))
    if isinstance(features, str) or not len(features) or {*features} - {*names}:
        raise ValueError(
            f"features must be a sequence of names among {list(names)}; got "
            f"{features!r}."
        )
    return [names.index(feature) for feature in features]


def _boxes(ax: Axes, values: Matrix, names: Sequence[str], hatch: str = "") -> None:
    """A box a column: quartiles, whiskers to the 5 % and 95 % quantiles."""
    ax.boxplot(
        [column[np.isfinite(column)] for column in values.T], whis=(5, 95),
        showfliers=False, patch_artist=True, widths=0.6,
        boxprops={"facecolor": BAND, "edgecolor": "black", "hatch": hatch},
        medianprops={"color": "black", "linewidth": 1.8},
    )  # fmt: skip
    ax.axhline(0.0, color="0.6", lw=0.8, ls=":", zorder=0)
    fit_names(ax, names)
