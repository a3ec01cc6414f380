"""Lifelines, trajectories, flows, trends of topics, and distances of clusterings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures import AffineFlow, DependentDPMixture, Multinomial

from .canvas import BAND, GREYS, LINES, Target, dress, legend_above, panels, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_SD = 2.0  # standard deviations that a band reaches


def plot_lifelines(
    model: DependentDPMixture, *, top: int = 20, ax: Target = None
) -> Figure:
    """Draw the life of each particle as a bar whose thickness shows its number of rows.

    Parameters
    ----------
    model : DependentDPMixture
    top : int, default 20
        Number of particles to draw, those with the most rows, in the order of their
        births.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_lifelines
    >>> from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
    >>> family = GaussianKnownVariance(1.0)
    >>> model = DependentDPMixture(family, n_sweeps=9, burn_in=3, seed=0)
    >>> model = model.update(np.zeros((20, 2))).update(np.ones((20, 2)))
    >>> figure = plot_lifelines(model)
    >>> figure.axes[0].get_xlabel()
    'phase'
    """
    known = _model(model)
    lines = known.lifelines()
    most = _most(lines.count.sum(axis=1), top)
    figure, (axes,) = panels(ax, size=(7.0, 0.6 + 0.28 * max(6, len(most))))
    largest = max(1, int(lines.count.max(initial=1)))
    for place, k in enumerate(most.tolist()):
        count = lines.count[k]
        height = 0.85 * count / largest
        seen = np.flatnonzero(count)
        axes.plot(
            [seen[0] - 0.5, seen[-1] + 0.5],
            [place, place],
            color="0.7",
            linewidth=0.6,
            zorder=0,
        )
        axes.bar(
            seen, height[seen], 1.0, place - height[seen] / 2.0, color="0.25",
            edgecolor="none",
        )  # fmt: skip
    axes.set_yticks(range(len(most)), [str(k) for k in lines.id[most]])
    axes.set_ylim(len(most) - 0.4, -0.6)
    axes.set_xlim(lines.first_phase - 0.5, known.n_phases - 0.5)
    _whole_phases(axes)
    dress(axes, "phase", "particle")
    return figure


def plot_trajectories(
    model: DependentDPMixture,
    feature: str | int = 0,
    *,
    top: int = 8,
    smooth: bool | None = None,
    ax: Target = None,
) -> Figure:
    """Draw where particles were in one feature, over the phases, with bands.

    Parameters
    ----------
    model : DependentDPMixture
    feature : str or int, default 0
        Name or position of the feature.
    top : int, default 8
        Number of particles to draw, those with the most rows among those stored.
    smooth : bool, optional
        As in ``trajectory``.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    Bands extend to two standard deviations of the location. Dots are phases with rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_trajectories
    >>> from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
    >>> family = GaussianKnownVariance(1.0)
    >>> model = DependentDPMixture(family, n_sweeps=9, burn_in=3, seed=0)
    >>> model = model.update(np.zeros((20, 2))).update(np.ones((20, 2)))
    >>> figure = plot_trajectories(model, "x1")
    >>> figure.axes[0].get_ylabel()
    'x1'
    """
    known = _model(model)
    place = _feature(known, feature)
    lines = known.lifelines()
    first = known.n_phases - known.options.history
    in_history = (lines.count[:, max(0, first) :] > 0).any(axis=1)
    most = _most(np.where(in_history, lines.count.sum(axis=1), 0), top)
    figure, (axes,) = panels(ax, size=(7.0, 4.0))
    for k, id in enumerate(lines.id[most].tolist()):
        path = known.trajectory(id, smooth)
        mean = path.mean[:, place]
        variances = path.covariance  # of words variances alone
        if variances.ndim == 3:
            variances = np.diagonal(variances, axis1=1, axis2=2)
        sd = np.sqrt(variances[:, place])
        axes.fill_between(
            path.phase, mean - N_SD * sd, mean + N_SD * sd, color=BAND, linewidth=0.0
        )
        style, tone = LINES[k % len(LINES)], GREYS[k // len(LINES) % len(GREYS)]
        axes.plot(path.phase, mean, style, color=tone, linewidth=1.3)
        seen = path.count > 0
        axes.plot(path.phase[seen], mean[seen], ".", color=tone, markersize=3.5)
        axes.annotate(
            str(id), (float(path.phase[-1]), float(mean[-1])), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize="small", weight="bold",
        )  # fmt: skip
    _whole_phases(axes)
    dress(axes, "phase", plain(known.feature_names[place]))
    return figure


def plot_flow_field(
    model: DependentDPMixture, X: Any = None, *, n_arrows: int = 9, ax: Target = None
) -> Figure:
    """Draw the velocity fields of an `AffineFlow`, each in the region of its rows.

    Parameters
    ----------
    model : DependentDPMixture
        A model with ``family=AffineFlow(...)`` in the plane.
    X : array_like of shape (n_rows, 4), optional
        Rows to draw as dots.
    n_arrows : int, default 9
        Approximate number of arrows in a field.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    The fields are those of particles with rows in the last phase. Their arrows are
    within 1.2 standard deviations of the centre of the locations, where the id is
    written.

    Examples
    --------
    >>> from dyntree.api.plots import plot_flow_field
    >>> from dyntree.datasets import evolving_flows
    >>> from dyntree.mixtures import AffineFlow, DependentDPMixture
    >>> data = evolving_flows(2, 200, seed=1)
    >>> model = DependentDPMixture(AffineFlow(), n_sweeps=9, burn_in=3, seed=0)
    >>> for rows in data.phases:
    ...     model = model.update(rows)
    >>> figure = plot_flow_field(model, data.phases[-1])
    >>> figure.axes[0].get_xlabel()
    'x0'
    """
    known = _model(model)
    if not isinstance(known.family_, AffineFlow) or len(known.feature_names) != 4:
        raise ArgumentError(
            "model",
            "must have family=AffineFlow(...) over two locations and two velocities",
            Message(
                "{kind} of {n_feature_names} columns",
                kind=type(known.family_).__name__,
                n_feature_names=len(known.feature_names),
            ),
        )
    side = max(2, round(params.count("n_arrows", n_arrows, 1) ** 0.5))
    figure, (axes,) = panels(ax, size=(5.5, 5.0))
    if X is not None:
        encoded, _ = known.preview(X)
        axes.plot(*encoded.rows[:, :2].T, ".", color="0.75", markersize=2.0, zorder=1)
    table, around = known.particles(), known.covariances_
    for k in np.flatnonzero(table.last_seen == known.n_phases - 1).tolist():
        centre, spread = table.mean[k, :2], np.sqrt(np.diag(around[k])[:2])
        turn = np.linspace(-1.2, 1.2, side)
        step = np.stack(np.meshgrid(turn, turn), axis=-1).reshape(-1, 2)
        points = centre + step * spread
        _, fields = known.velocity(points)
        axes.quiver(
            *points.T, *fields[k].T, color="black", width=0.004, zorder=2,
            angles="xy", scale_units="xy", scale=2.0,
        )  # fmt: skip
        axes.annotate(
            str(table.id[k]), tuple(centre.tolist()), weight="bold", zorder=3,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8,
                  "edgecolor": "none"},
        )  # fmt: skip
    dress(axes, *(plain(name) for name in known.feature_names[:2]))
    return figure


def plot_topic_trends(
    model: DependentDPMixture,
    words: Sequence[str] | None = None,
    *,
    top: int = 10,
    n_words: int = 4,
    ax: Target = None,
) -> Figure:
    """Draw the shares of topics over the phases, each labelled with its top words.

    Parameters
    ----------
    model : DependentDPMixture
        A model with ``family=Multinomial(...)``.
    words : sequence of str of length n_columns, optional
        The vocabulary; by default the names of the columns.
    top : int, default 10
        Number of topics to draw, those with the most documents.
    n_words : int, default 4
        Number of words in the label of a topic. They are the words with the largest
        excess over their share in all topics together.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    A topic without documents in the last `history` phases is labelled with its id.

    Examples
    --------
    >>> from dyntree.api.plots import plot_topic_trends
    >>> from dyntree.datasets import evolving_topics
    >>> from dyntree.mixtures import DependentDPMixture, Multinomial
    >>> model = DependentDPMixture(Multinomial(0.1), n_sweeps=9, burn_in=3, seed=0)
    >>> for rows in evolving_topics(3, 20, n_words=30, seed=1).phases:
    ...     model = model.update(rows)
    >>> figure = plot_topic_trends(model)
    >>> figure.axes[0].get_ylabel()
    'share of the documents'
    """
    known = _model(model)
    if not isinstance(known.family_, Multinomial):
        raise ArgumentError(
            "model",
            "must have family=Multinomial(...)",
            Message("{kind}", kind=type(known.family_).__name__),
        )
    names = list(known.feature_names if words is None else words)
    if len(names) != len(known.feature_names):
        raise ArgumentError(
            "words", f"must be one a column, {len(known.feature_names)}", len(names)
        )
    lines = known.lifelines()
    most = _most(lines.count.sum(axis=1), top)
    total = np.maximum(lines.count.sum(axis=0), 1)
    titles = _titles(known, lines.id[most].tolist(), names, n_words)
    figure, (axes,) = panels(ax, size=(8.0, 4.5))
    for place, (k, title) in enumerate(zip(most.tolist(), titles, strict=True)):
        style = LINES[place % len(LINES)]
        tone = GREYS[place // len(LINES) % len(GREYS)]
        share = lines.count[k] / total
        life = np.flatnonzero(lines.count[k])
        share[: max(0, life[0] - 1)] = np.nan  # a line begins and ends at no documents
        share[life[-1] + 2 :] = np.nan
        axes.plot(share, style, color=tone, linewidth=1.4, label=title, marker=".")
    axes.legend(
        frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    axes.set_ylim(0.0, None)
    _whole_phases(axes)
    dress(axes, "phase", "share of the documents")
    return figure


def plot_vi(
    distances: Mapping[str, Any], n_clusters: Any = None, *, ax: Target = None
) -> Figure:
    """Draw distances from the truth over the phases, one line for each method.

    Parameters
    ----------
    distances : dict
        Variation of information by method: a number for each phase, of shape
        (n_phases,), or for several runs, of shape (n_runs, n_phases). In the second
        case, medians are drawn.
    n_clusters : array_like of shape (n_phases,), optional
        True numbers of clusters, drawn in a panel below.
    ax : Axes, or two of them with `n_clusters`, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from dyntree.api.plots import plot_vi
    >>> figure = plot_vi({"ours": [0.0, 0.1, 0.0], "fixed": [0.3, 0.5, 0.4]})
    >>> figure.axes[0].get_ylabel()
    'variation of information'
    """
    if not isinstance(distances, Mapping) or not distances:
        raise ArgumentError(
            "distances", "must be a dict from methods to values by phase", distances
        )
    rows = {str(name): _by_phase(name, given) for name, given in distances.items()}
    lengths = {len(row) for row in rows.values()}
    beneath = None if n_clusters is None else _by_phase("n_clusters", n_clusters)
    if beneath is not None:
        lengths.add(len(beneath))
    if len(lengths) != 1:
        raise ArgumentError("distances", "must be of the same phases", lengths)
    n = 1 if beneath is None else 2
    figure, axes = panels(ax, n, size=(7.0, 3.5), columns=1)
    for k, (name, row) in enumerate(rows.items()):
        tone = GREYS[k // len(LINES) % len(GREYS)]
        axes[0].plot(row, LINES[k % len(LINES)], color=tone, label=plain(name))
    legend_above(axes[0])
    dress(axes[0], "" if n == 2 else "phase", "variation of information")
    if beneath is not None:
        axes[1].step(range(len(beneath)), beneath, where="mid", color="black")
        axes[1].set_ylim(0.0, None)
        dress(axes[1], "phase", "true clusters")
    for one in axes:
        _whole_phases(one)
    return figure


def _whole_phases(axes: Axes) -> None:
    """Ticks of phases at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _model(model: Any) -> DependentDPMixture:
    """A dependent mixture that has seen a phase with rows."""
    if not isinstance(model, DependentDPMixture):
        raise ArgumentError("model", "must be a DependentDPMixture", model)
    if not model.is_ready:
        raise NotReadyError(
            Message(
                "model must have seen a phase with rows; none has come. Call update "
                "first."
            )
        )
    return model


def _most(sizes: Any, top: int) -> Any:
    """Places of the largest positive sizes, ascending."""
    top = params.count("top", top, 1)
    order = np.argsort(-sizes, kind="stable")[:top]
    return np.sort(order[sizes[order] > 0])


def _feature(model: DependentDPMixture, feature: Any) -> int:
    """Place of a feature given by name or number."""
    names = model.feature_names
    place = names.index(feature) if feature in names else feature
    whole = isinstance(place, int | np.integer) and not isinstance(place, bool)
    if not whole or not 0 <= place < len(names):
        raise ArgumentError(
            "feature",
            "must be one by name or place, among {names}",
            feature,
            names=list(names),
        )
    return int(place)


def _titles(
    model: DependentDPMixture, ids: list[int], names: list[str], n_words: int
) -> list[str]:
    """Foremost words of topics: the largest p log(p / mean p)."""
    lines = model.lifelines()
    late = lines.count[:, -model.options.history :].any(axis=1)
    recent = set(lines.id[late].tolist())
    means = {
        id: model.trajectory(id, smooth=False).mean[-1] for id in ids if id in recent
    }
    titles = []
    for id in ids:
        if id not in means:
            titles.append(f"topic {id}")
            continue
        worth = means[id] * np.log(means[id] / np.mean(list(means.values()), axis=0))
        best = np.argsort(-worth, kind="stable")[: params.count("n_words", n_words, 1)]
        titles.append(f"{id}: " + " ".join(plain(names[k]) for k in best))
    return titles


def _by_phase(name: Any, given: Any) -> Vector:
    """Values by phase; medians where there are several runs."""
    values: Matrix = params.as_array(str(name), given, np.float64)
    if values.ndim == 2:
        known = ~np.isnan(values)
        medians = np.full(values.shape[1], np.nan)  # where no run had rows
        for t in np.flatnonzero(known.any(axis=0)).tolist():
            medians[t] = np.median(values[known[:, t], t])
        values = medians
    if values.ndim != 1 or not len(values):
        raise ArgumentError(
            "distances",
            "must be numbers by phase",
            Message("shape {shape} for {name!r}", shape=values.shape, name=name),
        )
    return values
