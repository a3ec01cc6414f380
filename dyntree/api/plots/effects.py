"""What each input does: main effects, Sobol' indices, importance, relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.encoding.levels import MOST_EFFECTS, effect_names
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.summaries import Importance, Relevance, Sensitivity
from dyntree.summaries.effects import MainEffect, VariableSensitivity
from dyntree.trees.model import DynamicTree

from .canvas import (
    BAND,
    Model,
    Target,
    dress,
    fit_names,
    label_of,
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
    sensitivity: Sensitivity | VariableSensitivity,
    features: Sequence[str] | None = None,
    *,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw the main effect of each input, with a 90 % posterior band.

    Parameters
    ----------
    sensitivity : Sensitivity or VariableSensitivity
        Return value of ``sensitivity()`` of a model or of results, or results.
    features : sequence of str, optional
        Names of inputs; by default all of them. A factor has one panel, with its levels
        on the axis; that of two levels has the 0/1 feature that they share. For the
        sensitivity of a model these may also be names of features, such as a single
        level.
    response : str, default "y"
        Name of the response and its unit.
    ax : sequence of Axes, optional
        One for each input.

    Returns
    -------
    Figure

    Notes
    -----
    The effect is the mean response as a function of one input, averaged over the others
    (partial dependence). The band lies between quantiles of one draw from each
    particle, which include the uncertainty of the trees and of their leaves. Under R's
    rules, it shows only the means of the particles. The band of a single cloud of trees
    is too narrow: average several, as in `AveragedTrees`. All panels have the same
    vertical scale. Counts are those of one unit of exposure, and responses with an
    offset are drawn minus the offset; for results, the label says so.

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
    found, label = _sensitivity(sensitivity), label_of(sensitivity, response)
    effects = _main_effects(found)
    known = {effect.name: effect for effect in effects}
    if isinstance(found, Sensitivity):  # a level by itself, where it is asked for
        if found.places:  # two levels are an input of one feature
            known |= dict(zip(found.inputs, effects, strict=True))
        alone = (_feature_effect(found, k) for k in range(len(found.names)))
        known = {effect.name: effect for effect in alone} | known
    if features is not None:
        effects = [known[name] for name in _checked(list(known), features)]
    figure, axes = panels(ax, len(effects), size=(3.2, 2.8))
    for one, effect in zip(axes, effects, strict=True):
        draw_curve(
            one, effect.values, effect.mean, effect.conf_int(0.1), effect.is_factor
        )
        dress(one, plain(effect.name), f"mean of {label}")
    share_scale(axes)
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def _sensitivity(value: Any) -> Sensitivity | VariableSensitivity:
    """Sensitivity of features or variables, or that of results."""
    value = of_results(value, Sensitivity)
    if isinstance(value, VariableSensitivity):
        return value
    return record_of(value, "sensitivity", Sensitivity, "sensitivity() of a model")


def _main_effects(found: Sensitivity | VariableSensitivity) -> list[MainEffect]:
    """A main effect each input; of a factor at its levels."""
    if isinstance(found, VariableSensitivity):
        return list(found.effects)
    places = found.places or tuple((k,) for k in range(len(found.names)))
    names = found.inputs if found.places else found.names
    effects = []
    for name, all_own in zip(names, places, strict=True):
        of_levels = effect_names(name, MOST_EFFECTS)
        own = [k for k in all_own if found.names[k] not in of_levels]
        if len(all_own) == 1 or not own:
            effects.append(_feature_effect(found, all_own[0]))
            continue
        levels = np.empty(len(own), dtype=object)
        levels[:] = [_level_of(found.names[k], name) for k in own]
        holds = [int(found.grid[:, k].argmax()) for k in own]
        effects.append(MainEffect(name, levels, found.main[:, holds, own], True))
    return effects


def _feature_effect(found: Sensitivity, place: int) -> MainEffect:
    """The main effect of one feature by itself."""
    grid, draws = found.grid[:, place].copy(), found.main[:, :, place].copy()
    return MainEffect(found.names[place], grid, draws)


def _level_of(feature: str, factor: str) -> str:
    """Text of a level in the name of its feature: u in site=u or C(site)[u]."""
    rest = feature.removeprefix(factor)
    if rest[:1] == "[" and rest[-1:] == "]":
        return rest[1:-1]
    return rest[1:] if rest[:1] == "=" else feature


def draw_curve(
    ax: Axes, values: Any, mean: Vector, ends: Matrix, is_factor: bool
) -> None:
    """A mean with its 90 % interval: a band, or a bar a level."""
    low, high = ends.T
    if not is_factor:
        ax.fill_between(values, low, high, color=BAND, lw=0, label="90 % interval")
        ax.plot(values, mean, "-", color="black", lw=1.6, label="mean")
        fit_times(ax, values)
        return
    at = np.arange(1, len(values) + 1)
    ax.bar(at, high - low, 0.6, bottom=low, color=BAND, label="90 % interval")
    ax.plot(at, mean, "_", color="black", ms=14, mew=1.8, label="mean")
    ax.set_xlim(0.4, len(values) + 0.6)
    fit_names(ax, level_names(values))


def fit_times(ax: Axes, values: Any) -> None:
    """Write times below an axis so that they do not overlap."""
    if np.asarray(values).dtype.kind == "M":
        from matplotlib import dates

        untyped: Any = dates
        places = untyped.AutoDateLocator(minticks=2, maxticks=5)
        ax.xaxis.set_major_locator(places)
        ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(places))


def level_names(values: Any) -> list[str]:
    """Levels, or 0 and 1, as text."""
    return [f"{v:g}" if isinstance(v, float) else str(v) for v in values]


def share_scale(axes: Sequence[Axes]) -> None:
    """Give panels one vertical scale."""
    ends = np.array([one.get_ylim() for one in axes])
    for one in axes:
        one.set_ylim(ends[:, 0].min(), ends[:, 1].max())


def plot_sobol(
    sensitivity: Sensitivity | VariableSensitivity,
    features: Sequence[str] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw first-order and total Sobol' indices over particles as boxes.

    Both panels have the same vertical scale.

    Parameters
    ----------
    sensitivity : Sensitivity or VariableSensitivity
        Return value of ``sensitivity()`` of a model or of results, or results.
    features : sequence of str, optional
        Names of inputs; by default all of them. A factor is one input.
    ax : two Axes, optional
        Axes for the first-order and the total indices.

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
    found = _sensitivity(sensitivity)
    places = _places(found.inputs, features)
    figure, axes = panels(ax, 2, size=(max(3.6, 0.45 * len(places)), 3.4))
    names = [found.inputs[k] for k in places]
    _boxes(axes[0], found.first[:, places], names)
    _boxes(axes[1], found.total[:, places], names, "//")
    share_scale(axes)
    for one, order in zip(axes, ("first-order", "total"), strict=True):
        dress(one, "", f"{order} share of variance")
    return figure


def plot_importance(
    importance: Importance | Model,
    features: Sequence[str] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw the share of the predicted variance that each input accounts for.

    Whiskers extend to two Monte Carlo standard errors on each side.

    Parameters
    ----------
    importance : Importance, DynamicTree or StreamingTree
        Return value of ``model.importance()``, or a model, for which it is computed.
    features : sequence of str, optional
        Names of inputs; by default all of them. A factor is one input.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

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
        tree: DynamicTree = view_of(importance, "plot_importance").tree
        importance = tree.importance()
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
        Return value of ``model.relevance()``, or a model, for which it is computed.
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
        tree: DynamicTree = view_of(relevance, "plot_relevance").tree
        relevance = tree.relevance()
    places = _places(relevance.names, features)
    figure, (axes,) = panels(ax, size=(max(5.0, 0.45 * len(places)), 3.6))
    _boxes(axes, relevance.values[:, places], [relevance.names[k] for k in places])
    dress(axes, "", "relevance")
    return figure


def _places(names: Sequence[str], features: Sequence[str] | None) -> list[int]:
    """Places of features by name; all by default."""
    if features is None:
        return list(range(len(names)))
    return [names.index(feature) for feature in _checked(names, features)]


def _checked(names: Sequence[str], features: Sequence[str]) -> list[str]:
    """Some of the names."""
    if isinstance(features, str) or not len(features) or {*features} - {*names}:
        raise ArgumentError(
            "features",
            "must be a sequence of names among {names}",
            features,
            names=list(names),
        )
    return list(features)


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
