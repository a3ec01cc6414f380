"""Weights of the members of an averaged stream over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dyntree.errors import ArgumentError, Message
from dyntree.trees.averages.stream import AveragedStream

from .canvas import Target, dress, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HATCHES = ("", "..", "//", "xx", "\\\\", "++")


def plot_memory(stream: AveragedStream, *, ax: Target = None) -> Figure:
    """Draw the weight of each memory of an averaged stream over time.

    Parameters
    ----------
    stream : AveragedStream
    ax : Axes, optional

    Returns
    -------
    Figure

    Notes
    -----
    The areas add up to one. The shortest memory is at the bottom and has the darkest
    colour; members with the same memory are one area. At the top is that of the last
    response, where it has a weight (see `AveragedStream`). The weights are those of
    `AveragedStream.weight_history`, before the regression on labels.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import AveragedStream
    >>> from dyntree.api.plots import plot_memory
    >>> X = np.random.default_rng(0).random((100, 1))
    >>> stream = AveragedStream(n_particles=10, seed=1).update(X, X[:, 0])
    >>> plot_memory(stream).axes[0].get_ylabel()
    'weight'
    """
    if not isinstance(stream, AveragedStream):
        stream = getattr(stream, "tree", stream)  # of results
    if not isinstance(stream, AveragedStream):
        raise ArgumentError("stream", "must be an AveragedStream", stream)
    history = stream.weight_history
    if not len(history.rows):
        raise ArgumentError(
            "stream",
            "must have learned some rows",
            Message("none"),
            "Call update first.",
        )
    areas: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for k, member in enumerate(stream.members):
        areas.setdefault(tuple(member.memory().items()), []).append(k)
    figure, (axes,) = panels(ax, size=(7.0, 3.6))
    order = sorted(areas)
    heights = [history.weights[:, areas[memory]].sum(axis=1) for memory in order]
    names = [_name(dict(memory), len(areas[memory])) for memory in order]
    if stream.persistence_share:
        heights.append(1.0 - np.sum(heights, axis=0))
        names.append("last response")
    greys = np.linspace(0.15, 0.95, len(heights))
    drawn = axes.stackplot(
        history.rows,
        heights,
        labels=names,
        colors=[str(grey) for grey in greys],
        edgecolor="0.5",
        linewidth=0.4,
    )
    for k, area in enumerate(drawn):
        area.set_hatch(HATCHES[k % len(HATCHES)])
    axes.set_xlim(history.rows[0], max(history.rows[-1], history.rows[0] + 1))
    axes.set_ylim(0.0, 1.0)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], labels[::-1], title="window", frameon=False, fontsize="small",
        loc="center left", bbox_to_anchor=(1.01, 0.5),
    )  # fmt: skip
    dress(axes, "rows seen", "weight")
    return figure


def _name(memory: dict[str, float], n_members: int) -> str:
    """What the legend calls a memory."""
    if "trees" in memory:
        words = f"{memory['trees']} random trees"
        if memory["discount"] < 1.0:
            words += f", discount {memory['discount']:g}"
        return words
    words = "regression" if "linear" in memory else f"{memory['window']:,}"
    if memory["forget"] < 1.0:
        words += f", forget {memory['forget']:g}"
    several = n_members > 1 and "window" in memory
    return words + (f" ({n_members} clouds)" if several else "")
