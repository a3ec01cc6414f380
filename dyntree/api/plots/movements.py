"""Movements between task frames: what they follow, and how uncertain that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError
from dyntree.mixtures import TaskParameterizedMixture

from .canvas import LINES, POINT, Target, dress, panels, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_SD = 2.0  # standard deviations that an ellipse reaches
N_ELLIPSES = 12
ARM = 0.12  # of an axis of a frame, as a share of the picture
TURN = np.linspace(0.0, 2.0 * np.pi, 121)


def plot_movement(
    model: TaskParameterizedMixture,
    frames: Any,
    start: Any = None,
    *,
    demonstrations: Sequence[Any] = (),
    ax: Target = None,
) -> Figure:
    """Draw the movement for task frames, and the Gaussians that it follows.

    Parameters
    ----------
    model : TaskParameterizedMixture
        Of at least two columns, of which the first two are drawn.
    frames : sequence of pairs (A, b)
        As for `TaskParameterizedMixture.reproduce`.
    start : array_like of shape (n_features,), optional
        As there.
    demonstrations : sequence of array_like of shape (n_rows, n_features), optional
        Movements to draw in grey, as `update` takes them.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    Ellipses contain the points within two standard deviations of twelve of the
    Gaussians, which is 86 % of each. Each frame is drawn as its origin and its first
    two axes, the first of them solid.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_movement
    >>> from dyntree.mixtures import TaskParameterizedMixture
    >>> X = np.linspace([0.0, 0.0], [2.0, 1.0], 100)
    >>> frames = [(np.eye(2), X[0]), (np.eye(2), X[-1])]
    >>> model = TaskParameterizedMixture(n_frames=2).update(X, frames)
    >>> figure = plot_movement(model, frames, demonstrations=[X])
    >>> len(figure.axes)
    1
    """
    if not isinstance(model, TaskParameterizedMixture):
        raise ArgumentError(
            "model", "must be a TaskParameterizedMixture", type(model).__name__
        )
    frames = list(frames)
    movement = model.reproduce(frames, start)
    names = model.feature_names
    if len(names) < 2:
        raise ArgumentError("model", "must have at least two columns", len(names))
    figure, (axes,) = panels(ax)
    for rows in demonstrations:
        path = model.preview(rows)[0].rows
        axes.plot(*path[:, :2].T, color=POINT, linewidth=0.8)
    for t in np.linspace(0, len(movement) - 1, N_ELLIPSES).round().astype(int):
        root = np.linalg.cholesky(movement.covariance[t][:2, :2])
        edge = movement.mean[t, :2] + N_SD * ring() @ root.T
        axes.plot(*edge.T, color="0.6", linewidth=0.8)
    axes.plot(*movement.path[:, :2].T, color="black", linewidth=2.0)
    size = ARM * float(np.ptp(movement.path[:, :2], axis=0).max())
    for A, b in frames:
        draw_frame(axes, np.asarray(A, np.float64), np.asarray(b, np.float64), size)
    axes.set_aspect("equal", adjustable="datalim")
    dress(axes, plain(names[0]), plain(names[1]))
    return figure


def ring() -> Matrix:
    """Points on a circle around 0, of radius 1."""
    return np.column_stack([np.cos(TURN), np.sin(TURN)])


def draw_frame(axes: Axes, A: Matrix, b: Matrix, size: float) -> None:
    """Draw a frame as two arms from its origin."""
    for arm, line in zip(A.T[:2], LINES, strict=False):
        tip = b + size * arm / np.linalg.norm(arm)
        axes.plot([b[0], tip[0]], [b[1], tip[1]], line, color="black", linewidth=1.5)
    axes.plot(b[0], b[1], "o", color="black", markersize=4.0)
