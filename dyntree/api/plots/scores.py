"""Scores of the predictions of a stream over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dyntree import params
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.evaluate import Prequential, auc

from .canvas import GREYS, LINES, Target, dress, legend_above, panels, plain, record_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_AUC = 200  # windows whose area is worked out


def plot_rolling(
    seen: Prequential | Mapping[str, Prequential],
    measure: str = "error",
    *,
    window: int | None = None,
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw a rolling score of one or more prequential evaluations.

    Parameters
    ----------
    seen : Prequential, or dict of str to Prequential
        Return value of ``evaluate.prequential``. A dict names several to compare.
    measure : {"error", "auc"}, default "error"
        "error" is the share of wrong labels, or the root mean squared error of real
        responses. "auc" is the area under the ROC curve.
    window : int, optional
        Number of latest scored rows from which each point is computed, at most their
        total number. The default is a tenth of them, but at most 500.
    response : str, default "y"
        Name of the real response and its unit.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    The dotted line is the score of the trivial baseline over all rows, from the first
    record. Windows with a single label have no area, which leaves a gap.

    Examples
    --------
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_rolling
    >>> from dyntree.datasets import load_mcycle
    >>> from dyntree.evaluate import prequential
    >>> data = load_mcycle()
    >>> tree = DynamicTree("linear", n_particles=50, seed=1)
    >>> seen = prequential(tree, data[["times"]], data["accel"], start=50)
    >>> axes = plot_rolling(seen, window=20, response="acceleration, g").axes[0]
    >>> axes.get_ylabel()
    'RMSE of acceleration, g, last 20 rows'
    """
    params.one_of("measure", measure, ("error", "auc"))
    records = dict(seen) if isinstance(seen, Mapping) else {"model": seen}
    if not records:
        raise ArgumentError(
            "seen", "must hold one evaluation at least", Message("none")
        )
    for title, one in records.items():
        record_of(one, "seen", Prequential, "evaluate.prequential")
        if measure == "auc" and one.classes is None:
            raise ValueError(Message("measure='auc' needs labels; got real responses."))
        if window is not None and params.count("window", window, 1) > len(one.y):
            raise ArgumentError(
                "window",
                "must be at most the rows scored, {n_y} of {title!r}",
                window,
                n_y=len(one.y),
                title=title,
            )
    if window is None:
        window = max(1, min(500, min(len(one.y) for one in records.values()) // 10))
    figure, (axes,) = panels(ax, size=(7.0, 4.0))
    for k, (title, one) in enumerate(records.items()):
        ends, values = _rolling(one, measure, window)
        axes.plot(
            one.rows[ends], values, LINES[k % 4], color=GREYS[k % 4], lw=1.4,
            label=plain(title),
        )  # fmt: skip
    first = next(iter(records.values()))
    trivial = 0.5 if measure == "auc" else _overall(first)
    axes.axhline(trivial, ls=":", color="0.45", label="trivial baseline")
    names = {"auc": "AUC", "error": "share misclassified"}
    label = f"RMSE of {response}" if first.classes is None else names[measure]
    dress(axes, "row of the stream", f"{label}, last {window} rows")
    legend_above(axes)
    return figure


def _overall(seen: Prequential) -> float:
    """Error of the trivial baseline over all rows."""
    name = "error" if seen.classes is not None else "rmse"
    return float(getattr(seen.baseline, name))


def _rolling(seen: Prequential, measure: str, window: int) -> tuple[np.ndarray, Vector]:
    """Places of the last rows of full windows, and the score of each window."""
    ends = np.arange(window - 1, len(seen.y))
    if measure == "error":
        values = seen.rolling(window)[ends]
        return ends, np.sqrt(values) if seen.classes is None else values
    ends = np.unique(np.linspace(ends[0], ends[-1], N_AUC).astype(np.int64))
    codes = seen.y.astype(np.int64)
    areas = [
        auc(codes[end + 1 - window : end + 1], seen.mean[end + 1 - window : end + 1])
        for end in ends
    ]
    return ends, np.array(areas)
