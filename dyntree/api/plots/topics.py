"""Topics of documents: segmentations, memory, time, free energy, clumps, retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures import MemoryBoundedHDP, Retrieved

from .canvas import GREYS, LINES, MARKERS, Target, dress, panels, record_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_SD = 2.0  # standard deviations that an ellipse reaches
TURN = np.linspace(0.0, 2.0 * np.pi, 61)
MOST_SHOWN = 12  # topics with a bar of their own in a document


def plot_segmentation(
    image: Any, labels: Any, *, overlay: float = 0.0, ax: Target = None
) -> Figure:
    """Draw an image with every topic in its mean colour, and edges between topics.

    Parameters
    ----------
    image : array_like of shape (height, width, 3)
        Values as uint8, or floats in [0, 1].
    labels : array_like of int of shape (height, width) or (height * width,)
        Topics of the pixels, as returned by `MemoryBoundedHDP.predict`.
    overlay : float in [0, 1], default 0.0
        Opacity of the image on top of the colours.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_segmentation
    >>> image = np.zeros((4, 6, 3))
    >>> image[:, 3:] = 1.0
    >>> figure = plot_segmentation(image, np.repeat([[0] * 3 + [1] * 3], 4, axis=0))
    >>> len(figure.axes[0].images)
    1
    """
    figure, (axes,) = panels(ax, size=(4.0, 3.0))
    pixels = params.as_array("image", image, np.float64)
    if pixels.ndim != 3 or pixels.shape[2] < 3:
        raise ArgumentError(
            "image",
            "must be of shape (height, width, 3)",
            Message("shape {shape}", shape=pixels.shape),
        )
    pixels = pixels[..., :3] / (255.0 if pixels.max(initial=0.0) > 1.0 else 1.0)
    places = params.as_array("labels", labels)
    n_pixels = pixels.shape[0] * pixels.shape[1]
    if places.size != n_pixels or places.dtype.kind not in "iu":
        raise ArgumentError(
            "labels",
            f"must be ints, one a pixel of {pixels.shape[:2]}",
            Message(
                "shape {shape}, dtype {dtype}", shape=places.shape, dtype=places.dtype
            ),
        )
    show = params.real("overlay", overlay)
    if not 0.0 <= show <= 1.0:
        raise ArgumentError("overlay", "must be in [0, 1]", overlay)
    places = places.reshape(pixels.shape[:2])
    painted = show * pixels + (1.0 - show) * mean_colours(pixels, places)
    edges = np.zeros(places.shape, dtype=bool)
    edges[:, 1:] |= places[:, 1:] != places[:, :-1]
    edges[1:] |= places[1:] != places[:-1]
    painted[edges] *= 0.35
    axes.imshow(painted, interpolation="nearest")
    axes.set_axis_off()
    return figure


def mean_colours(pixels: Any, places: Any) -> Any:
    """Each pixel in the mean colour of its topic."""
    _, at = np.unique(places, return_inverse=True)
    at = at.ravel()
    count = np.bincount(at)
    flat = pixels.reshape(-1, 3)
    means = np.stack(
        [np.bincount(at, flat[:, c], len(count)) / count for c in range(3)], axis=1
    )
    return means[at].reshape(pixels.shape)


def plot_topics_over_documents(
    model: MemoryBoundedHDP, documents: Any, *, ax: Target = None
) -> Figure:
    """Draw the share of each topic along documents, in their order.

    Parameters
    ----------
    model : MemoryBoundedHDP
    documents
        As in `MemoryBoundedHDP.transform`.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure
        The twelve most frequent topics are drawn from below, with their `topic_ids_` as
        names. The white area above them is the total share of all others, with their
        number.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_topics_over_documents
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> documents = list(np.random.default_rng(0).normal(size=(8, 30, 2)))
    >>> model = MemoryBoundedHDP(seed=0).fit(documents)
    >>> figure = plot_topics_over_documents(model, documents)
    >>> figure.axes[0].get_ylabel()
    'share of topics'
    """
    known = _model_of(model)
    shares, ids = known.transform(documents), known.topic_ids_
    figure, (axes,) = panels(ax, size=(7.0, 3.5))
    bottom = np.zeros(len(shares))
    for k in range(min(shares.shape[1], MOST_SHOWN)):
        axes.bar(
            np.arange(len(shares)), shares[:, k], 1.0, bottom, edgecolor="black",
            linewidth=0.3, color=GREYS[1:][k % 3], hatch=("", "//", "..", "xx")[k // 3],
            label=f"topic {ids[k]}",
        )  # fmt: skip
        bottom += shares[:, k]
    n_others = shares.shape[1] - MOST_SHOWN
    if n_others > 0:
        axes.bar(
            np.arange(len(shares)), 1.0 - bottom, 1.0, bottom, edgecolor="black",
            linewidth=0.3, color="white",
            label=f"{n_others} other topic{'s' * (n_others > 1)}",
        )  # fmt: skip
    axes.set_ylim(0.0, 1.0)
    axes.set_xlim(-0.5, len(shares) - 0.5)
    dress(axes, "document", "share of topics")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], labels[::-1], frameon=False, fontsize="small",
        loc="center left", bbox_to_anchor=(1.0, 0.5),
    )  # fmt: skip
    return figure


def plot_epoch_seconds(model: MemoryBoundedHDP, *, ax: Target = None) -> Figure:
    """Draw the processor time of each epoch, in seconds.

    Parameters
    ----------
    model : MemoryBoundedHDP
        The model that has learned the epochs. A model from a file has no seconds.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure
        Seconds of building and compression are stacked. A second axis shows the number
        of topics.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_epoch_seconds
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> documents = list(np.random.default_rng(0).normal(size=(20, 30, 2)))
    >>> model = MemoryBoundedHDP(max_items=20, seed=0).fit(documents)
    >>> figure = plot_epoch_seconds(model)
    >>> len(figure.axes)
    2
    """
    h = _model_of(model).history_
    figure, (axes,) = panels(ax, size=(6.0, 3.5))
    axes.bar(h["epoch"], h["seconds_build"], color="0.6", label="building")
    axes.bar(
        h["epoch"], h["seconds_compress"], bottom=h["seconds_build"], color="0.2",
        label="compression",
    )  # fmt: skip
    dress(axes, "epoch", "seconds of the processor")
    other = axes.twinx()
    other.plot(h["epoch"], h["topics"], "k--", linewidth=1.2, label="topics (right)")
    other.set_ylabel("topics")
    other.set_ylim(bottom=0.0)
    other.spines["top"].set_visible(False)
    own, right = axes.get_legend_handles_labels(), other.get_legend_handles_labels()
    axes.legend(
        own[0] + right[0], own[1] + right[1], frameon=False, fontsize="small", ncols=3,
        loc="lower center", bbox_to_anchor=(0.5, 1.0),
    )  # fmt: skip
    return figure


def plot_memory_by_epoch(model: MemoryBoundedHDP, *, ax: Target = None) -> Figure:
    """Draw the bytes in use after each epoch, compared with those of all points seen.

    Parameters
    ----------
    model : MemoryBoundedHDP
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure
        Bytes are on a logarithmic scale. If there is a limit, it is a dotted line.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_memory_by_epoch
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> documents = list(np.random.default_rng(0).normal(size=(20, 30, 2)))
    >>> model = MemoryBoundedHDP(memory_limit="4kB", seed=0).fit(documents)
    >>> figure = plot_memory_by_epoch(model)
    >>> figure.axes[0].get_yscale()
    'log'
    """
    known = _model_of(model)
    h, learned = known.history_, known.learned_
    seen = learned.family.point_bytes * h["free_energy"] / h["free_energy_per_point"]
    figure, (axes,) = panels(ax, size=(6.0, 3.5))
    axes.plot(h["epoch"], seen, "k--", label="points seen")
    axes.plot(h["epoch"], h["bytes"], "k-", label="in memory")
    if learned.limits.memory is not None:
        axes.axhline(learned.limits.memory, color="0.4", linestyle=":", label="limit")
    axes.set_yscale("log")
    dress(axes, "epoch", "bytes")
    axes.legend(
        frameon=False, fontsize="small", ncols=3, loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
    )  # fmt: skip
    return figure


def plot_free_energy(model: MemoryBoundedHDP, *, ax: Target = None) -> Figure:
    """Draw the free energy per point and the number of topics after each epoch.

    Parameters
    ----------
    model : MemoryBoundedHDP
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_free_energy
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> documents = list(np.random.default_rng(0).normal(size=(20, 30, 2)))
    >>> figure = plot_free_energy(MemoryBoundedHDP(max_items=20, seed=0).fit(documents))
    >>> figure.axes[0].get_ylabel()
    'free energy per point, nats'
    """
    h = _model_of(model).history_
    figure, (axes,) = panels(ax, size=(6.0, 3.5))
    axes.plot(h["epoch"], h["free_energy_per_point"], "ko-", markersize=4)
    dress(axes, "epoch", "free energy per point, nats")
    other = axes.twinx()
    other.plot(h["epoch"], h["topics"], "k--", linewidth=1.0)
    other.set_ylabel("topics (dashed)")
    other.set_ylim(bottom=0.0)
    other.spines["top"].set_visible(False)
    return figure


def plot_clumps(
    model: MemoryBoundedHDP,
    features: Sequence[str | int] = (0, 1),
    *,
    ax: Target = None,
) -> Figure:
    """Draw what a model holds of the points: clumps as ellipses, and single points.

    Parameters
    ----------
    model : MemoryBoundedHDP
        A model of Gaussian topics.
    features : pair of str or int, default (0, 1)
        Names or positions of two columns.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure
        Ellipses extend to two standard deviations. Crosses are means of topics.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_clumps
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> documents = list(np.random.default_rng(0).normal(size=(8, 30, 2)))
    >>> figure = plot_clumps(MemoryBoundedHDP(max_items=12, seed=0).fit(documents))
    >>> figure.axes[0].get_xlabel()
    'x0'
    """
    known = _model_of(model)
    learned = known.learned_
    if learned.family.kind == 2:
        raise ArgumentError(
            "model", "must have Gaussian topics", Message("family 'multinomial'")
        )
    a, b = _two(known, features)
    figure, (axes,) = panels(ax, size=(5.0, 4.5))
    store, two = learned.store, [a, b]
    shift, scale = learned.shift[two], learned.scale[two]
    points = store.x[:, two] * scale + shift
    axes.plot(points[:, 0], points[:, 1], ".", color="0.5", markersize=3)
    means = store.clump_mean[:, two] * scale + shift
    for mean, count, packed in zip(
        means, store.clump_count, store.clump_scatter, strict=True
    ):
        C = _pair_of(learned, packed, a, b) / count * np.outer(scale, scale)
        values, axes_of = np.linalg.eigh(C)
        radii = N_SD * np.sqrt(np.maximum(values, 0.0))
        x, y = mean[:, None] + axes_of @ (radii[:, None] * [np.cos(TURN), np.sin(TURN)])
        axes.plot(x, y, color="black", linewidth=0.6)
    topics = known.means_[:, two]
    axes.plot(topics[:, 0], topics[:, 1], "k+", markersize=9)
    names = known.feature_names
    dress(axes, names[a], names[b])
    return figure


def _pair_of(learned: Any, packed: Any, a: int, b: int) -> Any:
    """The scatter of two columns."""
    family = learned.family
    if family.kind == 1:
        return np.diag(packed[[a, b]])
    return family.unpacked(packed)[np.ix_([a, b], [a, b])]


def plot_retrieval(
    query: Any, results: Retrieved, images: Any, *, number: int = 0, ax: Target = None
) -> Figure:
    """Draw a query image and the images that are most like it, best first.

    Parameters
    ----------
    query : array_like of shape (height, width[, 3])
        The query image.
    results : Retrieved
        Return value of `MemoryBoundedHDP.retrieve`.
    images : mapping or sequence
        The images, by the ids with which they were indexed.
    number : int, default 0
        Number of the query in `results`.
    ax : sequence of Axes, optional
        Axes to draw on: one for the query, and one for each result.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.plots import plot_retrieval
    >>> from dyntree.mixtures import Retrieved
    >>> found = Retrieved(np.array([[1, 0]]), np.array([[-3.0, -4.0]]))
    >>> images = [np.zeros((4, 4)), np.ones((4, 4))]
    >>> len(plot_retrieval(images[1], found, images).axes)
    3
    """
    found = record_of(results, "results", Retrieved, "retrieve")
    row = params.count("number", number, 0, len(found.ids) - 1)
    ids, scores = found.ids[row].tolist(), found.scores[row]
    n = len(ids) + 1
    figure, axes = panels(ax, n, size=(1.5, 1.9), columns=n)
    shown = [("query", query)] + [
        (f"{name}\n{score:.0f}", images[name])
        for name, score in zip(ids, scores, strict=True)
    ]
    for one, (title, image) in zip(axes, shown, strict=True):
        one.imshow(image, cmap="gray", interpolation="nearest")
        one.set_title(title, fontsize="small")
        one.set_axis_off()
    return figure


def plot_tradeoff(
    limits: Any, values: Any, ylabel: str = "free energy per point", *,
    ax: Target = None,
) -> Figure:  # fmt: skip
    """Draw the scores of models with several memory limits against their bytes.

    Parameters
    ----------
    limits : array_like of shape (n_models,)
        Numbers of bytes, or of items.
    values : array_like of shape (n_models,), or dict of str to such
        One curve, or several by name.
    ylabel : str, default "free energy per point"
        Label of the vertical axis.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from dyntree.api.plots import plot_tradeoff
    >>> figure = plot_tradeoff([1000, 4000, 16000], [2.7, 2.6, 2.5])
    >>> figure.axes[0].get_xscale()
    'log'
    """
    x = params.as_array("limits", limits, np.float64)
    curves = values if isinstance(values, dict) else {"": values}
    figure, (axes,) = panels(ax, size=(5.0, 3.5))
    for k, (name, curve) in enumerate(curves.items()):
        y = params.as_array("values", curve, np.float64)
        if x.ndim != 1 or y.shape != x.shape or not np.all(x > 0.0):
            raise ArgumentError(
                "limits",
                "must be numbers > 0, and values one for each",
                Message("shapes {shape} and {shape_2}", shape=x.shape, shape_2=y.shape),
            )
        style = LINES[k % len(LINES)]
        axes.plot(x, y, f"k{style}", marker=MARKERS[k % len(MARKERS)], label=name)
    axes.set_xscale("log")
    dress(axes, "bytes, or items", ylabel)
    if isinstance(values, dict):
        axes.legend(frameon=False, fontsize="small")
    return figure


def _model_of(model: Any) -> MemoryBoundedHDP:
    """A topic model, which must have learned something."""
    if not isinstance(model, MemoryBoundedHDP):
        raise ArgumentError("model", "must be a MemoryBoundedHDP", model)
    _ = model.learned_
    return model


def _two(model: MemoryBoundedHDP, features: Any) -> tuple[int, int]:
    """Places of two columns, by name or place."""
    names = list(model.feature_names)
    given = list(features) if np.iterable(features) else [features]
    places = [
        names.index(one) if isinstance(one, str) and one in names else one
        for one in given
    ]
    whole = all(isinstance(p, int | np.integer) and 0 <= p < len(names) for p in places)
    if len(places) != 2 or not whole:
        raise ArgumentError(
            "features",
            "must be two columns by name or place, among {names}",
            features,
            names=names,
        )
    return int(places[0]), int(places[1])
