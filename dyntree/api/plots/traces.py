"""Evidence, weights and moves over time, and the shape of the trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dyntree.errors import ArgumentError, Message

from .canvas import Target, dress, legend_above, panels, record_of
from .recorder import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_steps(trace: Trace, *, ax: Target = None) -> Figure:
    """Draw log evidence, effective sample size and move rates over time.

    Parameters
    ----------
    trace : Trace
        Return value of ``Recorder.trace()``.
    ax : three Axes, optional
        Axes for evidence, weights and moves.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import Recorder, plot_steps
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> recorder = Recorder(DynamicTree(n_particles=50, seed=1), every=10)
    >>> figure = plot_steps(recorder.update(x, np.sin(6 * x[:, 0])).trace())
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['log evidence, nats', 'share of particles', 'share of particles']
    """
    trace = _noted(trace)
    figure, (evidence, weights, moves) = panels(ax, 3, size=(4.0, 3.2))
    t = trace.n_seen
    evidence.plot(t, trace.log_evidence, "-", color="black")
    weights.plot(t, trace.ess, "-", color="black", label="effective sample size")
    weights.plot(t, trace.n_distinct, "--", color="0.45", label="distinct survivors")
    moves.plot(t, trace.grow, "-", color="black", label="grow")
    moves.plot(t, trace.prune, "--", color="0.45", label="prune")
    for one in (weights, moves):
        legend_above(one)
    weights.set_ylim(0.0, 1.03)
    moves.set_ylim(0.0, None)
    dress(evidence, "rows seen", "log evidence, nats")
    dress(weights, "rows seen", "share of particles")
    dress(moves, "rows seen", "share of particles")
    return figure


def plot_shape(trace: Trace, *, ax: Target = None) -> Figure:
    """Draw height of the trees, number of leaves and rows in a leaf over time.

    Parameters
    ----------
    trace : Trace
        Return value of ``Recorder.trace()``.
    ax : three Axes, optional
        Axes for height, leaves and rows in a leaf.

    Returns
    -------
    Figure

    Notes
    -----
    The values are averages over particles. A dotted line shows where the first row was
    retired. Anagnostopoulos and Gramacy (2013) use such figures to show that trees
    continue to grow when rows are discarded.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import StreamingTree
    >>> from dyntree.api.plots import Recorder, plot_shape
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> stream = StreamingTree(window=50, n_particles=50, seed=1)
    >>> figure = plot_shape(Recorder(stream, 20).update(X, X[:, 0] ** 2).trace())
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['height of a tree', 'leaves of a tree', 'active rows in a leaf']
    """
    trace = _noted(trace)
    figure, axes = panels(ax, 3, size=(4.0, 3.2))
    values = trace.height, trace.n_leaves, trace.leaf_size
    labels = "height of a tree", "leaves of a tree", "active rows in a leaf"
    full = trace.n_seen[trace.n_retired > 0]
    for one, value, label in zip(axes, values, labels, strict=True):
        one.plot(trace.n_seen, value, "-", color="black")
        one.set_ylim(0.0, None)
        if len(full):
            one.axvline(full[0], ls=":", color="0.45", label="rows retire from here on")
        dress(one, "rows seen", label)
    if len(full):
        axes[0].legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _noted(trace: Trace) -> Trace:
    """A trace with a note in it."""
    trace = record_of(trace, "trace", Trace, "trace() of a Recorder")
    if not len(trace.n_seen):
        raise ArgumentError(
            "trace",
            "must hold one note at least",
            Message("none"),
            "Give the recorder more rows, or a smaller every.",
        )
    return trace
