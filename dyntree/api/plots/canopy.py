"""Sweeps of a large mixture over time, and images of its components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError
from dyntree.mixtures import Canopy

from .canvas import Target, dress, legend_above, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _model_of(model: Any) -> Canopy:
    """A fitted mixture, which may be within an estimator."""
    model = getattr(model, "model_", model)
    if not isinstance(model, Canopy) or not model.is_ready:
        raise ArgumentError(
            "model", "must be a Canopy or CanopyMixture that was fitted", model
        )
    return model


def plot_sweeps(model: Canopy, *, ax: Target = None) -> Figure:
    """Draw the history of a fit: log-likelihood, rows that moved and lists, by sweep.

    Parameters
    ----------
    model : Canopy or CanopyMixture
        A fitted mixture.
    ax : sequence of 2 Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    The first panel shows the log-likelihood of the rows that each sweep scored exactly,
    and of the monitored rows. The second has a logarithmic scale. It shows how many
    rows changed their component, how long the lists are, and in how many sweeps all
    lists are rebuilt.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_sweeps
    >>> from dyntree.mixtures import Canopy
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> figure = plot_sweeps(Canopy(4, max_iter=12, tol=0.0, seed=0).fit(X))
    >>> figure.axes[0].get_ylabel()
    'nats per row'
    """
    h = _model_of(model).history
    if not len(h):
        raise ArgumentError("model", "must have done sweeps; its components were given")
    figure, (left, right) = panels(ax, 2)
    left.plot(h.sweep, h.log_likelihood, "-", color="0.5", label="scored in the sweep")
    looked = np.isfinite(h.validation)
    if looked.any():
        left.plot(h.sweep[looked], h.validation[looked], "o-", color="black",
                  markersize=4, label="watched")  # fmt: skip
    settled = h.log_likelihood[np.isfinite(h.log_likelihood)][2:]
    if len(settled):  # the first sweeps are far below all others
        low, high = np.quantile(settled, [0.05, 0.95])
        margin = 0.1 * (high - low) + 1e-3
        left.set_ylim(low - margin, high + margin)
    right.plot(
        h.sweep, np.maximum(h.n_changed, 1), "-", color="black", label="rows moved"
    )
    if (h.list_length > 0).any():
        right.plot(h.sweep, h.list_length, "--", color="black", label="length of lists")
        right.plot(
            h.sweep, h.refresh, ":", color="black", label="sweeps to refresh all"
        )
    right.set_yscale("log")
    dress(left, "sweep", "nats per row")
    dress(right, "sweep", "")
    for panel in (left, right):
        legend_above(panel)
    return figure


def plot_images(
    model: Canopy,
    X: Any,
    shape: tuple[int, int],
    *,
    n_components: int = 8,
    n_rows: int = 8,
    components: Any = None,
    ax: Target = None,
) -> Figure:
    """Draw components of a mixture over images: each mean, and rows that belong to it.

    Parameters
    ----------
    model : Canopy or CanopyMixture
        A mixture fitted to images, one in each row.
    X : array_like of shape (n_images, height * width)
        Images to show.
    shape : (int, int)
        Height and width of an image.
    n_components : int, default 8
        Number of components to draw, those with the largest weights.
    n_rows : int, default 8
        Number of images for each component.
    components : sequence of int, optional
        Numbers of the components to draw instead.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    Each line is a component: its mean in a frame, followed by its most probable images.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_images
    >>> from dyntree.mixtures import Canopy
    >>> X = np.random.default_rng(0).random((60, 16))
    >>> figure = plot_images(Canopy(3, seed=1, max_iter=5, tol=0.0).fit(X), X, (4, 4))
    >>> len(figure.axes[0].images)
    1
    """
    known = _model_of(model)
    height, width = (params.count("shape", side, 1) for side in shape)
    rows = params.as_array("X", X, float)
    if rows.ndim != 2 or rows.shape[1] != height * width:
        raise ArgumentError(
            "X", f"must have height * width = {height * width} columns", rows
        )
    count = params.count("n_rows", n_rows, 1)
    if components is None:
        most = params.count("n_components", n_components, 1)
        components = np.argsort(-known.weights, kind="stable")[:most]
    chosen = [
        params.count("components", int(z), 0, len(known.weights) - 1)
        for z in components
    ]
    labels, density = known.predict(rows), known.score_samples(rows)
    gap = 1
    page = np.full(
        (len(chosen) * (height + gap) - gap, (count + 1) * (width + gap)), np.nan
    )
    for k, z in enumerate(chosen):
        mine = np.flatnonzero(labels == z)
        shown = [known.means[z], *rows[mine[np.argsort(-density[mine])][:count]]]
        top = k * (height + gap)
        for j, image in enumerate(shown):
            left = j * (width + gap) + (gap if j else 0)
            page[top : top + height, left : left + width] = image.reshape(height, width)
    figure, (axes,) = panels(ax, size=(0.45 * (count + 1), 0.45 * len(chosen) + 0.4))
    axes.imshow(page, cmap="gray_r", interpolation="nearest")
    axes.axvline(width, color="black", linewidth=1.0)
    axes.set_yticks(
        [k * (height + gap) + height / 2 for k in range(len(chosen))],
        [str(z) for z in chosen],
    )
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.set_ylabel("component")
    return figure
