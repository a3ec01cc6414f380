"""Clusters, their subspaces, segments of a sequence, and the choice of lambda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures import LambdaPath
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.semi_markov import segments_of

from .canvas import (
    LINES,
    MANY,
    MARKERS,
    Target,
    dress,
    legend_above,
    panels,
    plain,
    record_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TONES = ("0.25", "0.6", "0.45", "0.75")  # points of clusters, one after the other
SHADES = ("1.0", "0.9", "0.8", "0.95", "0.85", "0.75")  # segments of states
N_SD = 2.0  # standard deviations that an ellipse or a line reaches
TURN = np.linspace(0.0, 2.0 * np.pi, 121)


def plot_clusters(
    model: SmallVarianceMixture,
    X: Any = None,
    features: Sequence[str | int] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw the ellipses of the confirmed clusters over two features, and rows.

    Parameters
    ----------
    model : OnlineDPGMM, OnlineDPMPPCA or OnlineHDPHSMM
    X : array_like of shape (n_rows, n_features), optional
        Rows to draw. Those of each cluster have their own marker.
    features : pair of str or int, optional
        Names or positions of two features. By default the first two principal axes if
        there are more than two: those of the mixture of all clusters, with columns
        divided by their standard deviations.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    An ellipse contains the points within two standard deviations of the mean in both
    features together, which is 86 % of a Gaussian. The number at each mean is the
    cluster's id.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_clusters
    >>> from dyntree.mixtures import OnlineDPGMM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> X[30:] += 9.0
    >>> figure = plot_clusters(OnlineDPGMM(20.0).update(X), X)
    >>> len(figure.axes[0].texts)
    2
    """
    known = _model_of(model)
    view = _view(known, features)
    figure, (axes,) = panels(ax)
    _draw_rows(axes, known, X, view)
    found = known.clusters()
    for id, mean, C in zip(found.id, found.mean, known.covariances_, strict=True):
        centre = view.of(mean)
        root = np.linalg.cholesky(view.axes.T @ C @ view.axes)
        edge = centre + N_SD * np.column_stack([np.cos(TURN), np.sin(TURN)]) @ root.T
        axes.plot(*edge.T, color="black", linewidth=1.2)
        _name(axes, centre, int(id))
    dress(axes, *view.names)
    return figure


def plot_subspaces(
    model: SmallVarianceMixture,
    X: Any = None,
    features: Sequence[str | int] | None = None,
    *,
    ax: Target = None,
) -> Figure:
    """Draw the directions of the clusters' subspaces over two features, and rows.

    Parameters
    ----------
    model : OnlineDPMPPCA or OnlineHDPHSMM
    X : array_like of shape (n_rows, n_features), optional
        Rows to draw. Those of each cluster have their own marker.
    features : pair of str or int, optional
        Names or positions of two features. By default the first two principal axes if
        there are more than two: those of the mixture of all clusters, with columns
        divided by their standard deviations.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    Lines extend to two standard deviations along each direction. The line of the first
    direction is solid, and the others are dashed or dotted. The number at each mean is
    the cluster's id, with the dimension of its subspace in brackets.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_subspaces
    >>> from dyntree.mixtures import OnlineDPMPPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) * [3.0, 1.0, 0.1]
    >>> model = OnlineDPMPPCA(5.0, noise=0.1).update(X)
    >>> figure = plot_subspaces(model, X)
    >>> len(figure.axes[0].texts) == model.n_clusters
    True
    """
    known = _model_of(model)
    view = _view(known, features)
    figure, (axes,) = panels(ax)
    _draw_rows(axes, known, X, view)
    found = known.clusters()
    for k, mean in enumerate(found.mean):
        along = found.basis[k] * np.sqrt(found.variances[k])
        for j, way in enumerate(along.T):
            ends = view.of(np.array([mean - N_SD * way, mean + N_SD * way]))
            style = LINES[min(j, len(LINES) - 1)]
            axes.plot(*ends.T, linestyle=style, color="black", linewidth=2.0)
        _name(axes, view.of(mean), f"{found.id[k]} ({found.dim[k]})")
    dress(axes, *view.names)
    return figure


def plot_segments(
    labels: Any, X: Any = None, *, names: Sequence[str] | None = None, ax: Target = None
) -> Figure:
    """Draw the segments of a sequence over time as bands behind the rows.

    Parameters
    ----------
    labels : array_like of int of shape (n_rows,), or Path
        State of each row: ``labels_``, the return value of ``predict``, or the path
        that ``decode`` returned.
    X : array_like of shape (n_rows, n_features), optional
        Rows to draw, with one line for each feature.
    names : sequence of str, optional
        Names of the features; by default x0, x1, ...
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    Each state has its own shade, as far as there are shades. Its id is above those of
    its segments that are long enough.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_segments
    >>> figure = plot_segments(np.repeat([0, 3, 0], 20), np.arange(60.0)[:, None])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0', '3', '0']
    """
    decoded = getattr(labels, "labels", labels)
    given: NDArray[Any] = params.as_array("labels", decoded)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise ArgumentError(
            "labels",
            "must be ints, one a row and one at least",
            Message("{given!r} of type {dtype}", given=given, dtype=given.dtype),
        )
    rows = None if X is None else _matrix(X, len(given))
    figure, (axes,) = panels(ax, size=(9.0, 3.5))
    state, start, stop = segments_of(given.astype(np.int64))
    shade = {id: SHADES[k % len(SHADES)] for k, id in enumerate(np.unique(state))}
    for id, first, after in zip(state, start, stop, strict=True):
        axes.axvspan(first - 0.5, after - 0.5, facecolor=shade[id], edgecolor="none")
        if after - first >= 0.02 * len(given):
            axes.text(
                (first + after - 1) / 2.0, 1.01, str(id), ha="center", va="bottom",
                fontsize="small", transform=axes.get_xaxis_transform(),
            )  # fmt: skip
    for edge in start[1:]:
        axes.axvline(edge - 0.5, color="0.5", linewidth=0.5)
    if rows is not None:
        titles = names or [f"x{j}" for j in range(rows.shape[1])]
        if len(titles) != rows.shape[1]:
            raise ArgumentError(
                "names", f"must be one a column of X, {rows.shape[1]}", len(titles)
            )
        for j, (title, column) in enumerate(zip(titles, rows.T, strict=True)):
            tone = str(0.25 * (j // len(LINES) % 3))
            style = LINES[j % len(LINES)]
            axes.plot(column, style, color=tone, linewidth=1.2, label=plain(title))
        axes.legend(frameon=False, fontsize="small", loc="center left",
                    bbox_to_anchor=(1.0, 0.5))  # fmt: skip
    else:
        axes.set_yticks([])
    axes.set_xlim(-0.5, len(given) - 0.5)
    dress(axes, "row", "")
    return figure


def plot_lambda_path(path: LambdaPath, *, ax: Target = None) -> Figure:
    """Draw the number of clusters, and the BIC, for each cost of a new cluster.

    Parameters
    ----------
    path : LambdaPath
        Return value of ``lambda_path`` of a mixture.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Notes
    -----
    The BIC has its own axis on the right. The dotted line is the cost that
    ``lambda_="auto"`` chooses.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_lambda_path
    >>> from dyntree.mixtures import OnlineDPGMM
    >>> X = np.random.default_rng(0).normal(size=(90, 2))
    >>> figure = plot_lambda_path(OnlineDPGMM().lambda_path(X))
    >>> figure.axes[0].get_ylabel()
    'clusters'
    """
    known = record_of(path, "path", LambdaPath, "lambda_path")
    figure, (axes,) = panels(ax)
    axes.plot(known.lambda_, known.n_clusters, "-", color="black", label="clusters")
    axes.plot(known.lambda_, known.n_clusters, "o", color="black", markersize=4)
    axes.set_xscale("log")
    axes.set_ylim(0.0, None)
    if known.n_clusters.max() > 50:
        axes.set_yscale("symlog", linthresh=10.0)
    axes.axvline(known.chosen, linestyle=":", color="black", label="chosen")
    beside = axes.twinx()
    shown = np.where(np.isfinite(known.bic), known.bic, np.nan)
    beside.plot(known.lambda_, shown, "--", color="0.5")
    axes.plot([], [], "--", color="0.5", label="BIC")
    beside.set_ylabel("BIC")
    beside.spines[["top"]].set_visible(False)
    dress(axes, r"$\lambda$", "clusters")
    legend_above(axes)
    return figure


def _model_of(model: Any) -> SmallVarianceMixture:
    """A mixture with clusters to draw."""
    if not isinstance(model, SmallVarianceMixture):
        raise ArgumentError(
            "model", "must be an OnlineDPGMM, OnlineDPMPPCA or OnlineHDPHSMM", model
        )
    model.clusters()
    return model


@dataclass(frozen=True)
class View:
    """Two directions in which rows are seen."""

    centre: Vector  # (n_features,), which is at 0
    axes: Matrix  # (n_features, 2)
    names: tuple[str, str]

    def of(self, rows: Matrix) -> Matrix:
        """Rows in these directions."""
        seen: Matrix = (rows - self.centre) @ self.axes
        return seen


def _view(model: SmallVarianceMixture, features: Any) -> View:
    """The view of two features, or the one in which the mixture is widest."""
    names = model.feature_names
    if features is not None or len(names) <= 2:
        places = _two(model, (0, 1) if features is None else features)
        axes = np.eye(len(names))[:, places]
        return View(np.zeros(len(names)), axes, _names([names[k] for k in places]))
    found = model.clusters()
    if not len(found):
        return View(np.zeros(len(names)), np.eye(len(names))[:, :2], _names(names[:2]))
    share = found.weight / found.weight.sum()
    centre = share @ found.mean
    apart = found.mean - centre
    whole = np.tensordot(share, model.covariances_, 1) + (apart.T * share) @ apart
    sd = np.sqrt(np.diag(whole))
    value, vector = np.linalg.eigh(whole / np.outer(sd, sd))
    part = 100.0 * value[-2:] / value.sum()
    titles = tuple(
        f"{which} principal axis ({size:.0f} %)"
        for which, size in zip(("first", "second"), part[::-1], strict=True)
    )
    ahead = vector[:, [-1, -2]]  # whose largest entries are above 0, in any order
    ahead = ahead * np.sign(ahead[np.abs(ahead).argmax(axis=0), [0, 1]])
    return View(centre, ahead / sd[:, None], (titles[0], titles[1]))


def _names(names: Sequence[str]) -> tuple[str, str]:
    """Names of two columns, as they are written at axes."""
    one, two = map(plain, names)
    return one, two


def _two(model: SmallVarianceMixture, features: Any) -> list[int]:
    """Places of two features, by name or number."""
    names = model.feature_names
    given = list(features) if isinstance(features, Sequence) else []
    places = [names.index(one) if one in names else one for one in given]
    good = [
        isinstance(k, int | np.integer)
        and not isinstance(k, bool)
        and 0 <= k < len(names)
        for k in places
    ]
    if isinstance(features, str) or len(places) != 2 or not all(good):
        raise ArgumentError(
            "features",
            "must be two features by name or place, among {names}",
            features,
            names=list(names),
        )
    return [int(k) for k in places]


def _draw_rows(axes: Axes, model: SmallVarianceMixture, X: Any, view: View) -> None:
    """Rows as points, with a mark for each cluster; crosses where there is none."""
    if X is None:
        return
    encoded, _ = model.preview(X)
    labels = model.predict(encoded)
    for k, id in enumerate(np.unique(labels)):
        mine = view.of(encoded.rows[labels == id])
        axes.plot(
            *mine.T, MARKERS[k % len(MARKERS)] if id >= 0 else "x",
            color=TONES[k % len(TONES)], markersize=3.0, alpha=0.6, zorder=1,
            markerfacecolor="none", rasterized=len(labels) > MANY,
        )  # fmt: skip


def _name(axes: Axes, centre: Matrix, text: object) -> None:
    """A cluster's mean and its name."""
    axes.plot(*centre, "+", color="black", markersize=9, markeredgewidth=2.0)
    axes.annotate(
        str(text), tuple(centre.tolist()), xytext=(6, 6),
        textcoords="offset points", weight="bold",
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8,
              "edgecolor": "none"},
    )  # fmt: skip


def _matrix(X: Any, n_rows: int) -> Matrix:
    """Rows of numbers, as many as labels."""
    rows: Matrix = params.as_array("X", X, np.float64)
    if rows.ndim != 2 or len(rows) != n_rows:
        raise ArgumentError(
            "X",
            f"must have one row a label, {n_rows}, and be of shape (n_rows, "
            "n_features)",
            Message("shape {shape}", shape=rows.shape),
        )
    return rows
