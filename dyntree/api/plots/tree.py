"""One particle's tree, drawn: its splits, and what its leaves predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.view import LeafView, SplitView, TreeView

from .canvas import Model, Target, panels, plain, scale_of, typical_row, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOX = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black"}
LEAF = {"boxstyle": "square,pad=0.3", "facecolor": "0.9", "edgecolor": "black"}


@dataclass(frozen=True)
class Leaf:
    """A leaf: its place, its rows, and a point of its region."""

    across: float
    depth: int
    n_rows: int
    retired: float
    point: Vector


def plot_tree(
    model: Model, particle: int = 0, *, response: str = "y", ax: Target = None
) -> Figure:
    """Draw the tree of one particle.

    Parameters
    ----------
    model : DynamicTree or StreamingTree
    particle : int, default 0
        Number of the particle. All particles have the same weight.
    response : str, default "y"
        Name of the response and its unit.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure as wide as the tree.

    Returns
    -------
    Figure

    Notes
    -----
    Rows that meet the condition in a box go left. A leaf shows its prediction, the
    number of its active rows and, after a plus sign, the weight of its retired rows.
    The prediction is that at the point of the leaf's region nearest to the medians of
    the active rows. The choice of this point matters for linear leaves only. Class
    leaves show their most probable label and its probability, and leaves of counts the
    expected number of events per unit of exposure. For results whose responses have an
    offset, the prediction does not include the offset, as the title says.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import plot_tree
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> tree = DynamicTree("constant", n_particles=50, seed=1)
    >>> tree = tree.update(x, np.round(x[:, 0]))
    >>> figure = plot_tree(tree)
    >>> len(figure.axes[0].texts) >= 3
    True
    """
    view = view_of(model, "plot_tree")
    leaves: list[Leaf] = []
    splits: list[tuple[Any, ...]] = []
    width = len(view.tree.feature_names)
    ends = np.full(width, -np.inf), np.full(width, np.inf)
    _place(view, view.particle(particle), ends, leaves, splits)
    depth = max(leaf.depth for leaf in leaves)
    texts = [
        f"{value}\nn = {leaf.n_rows}"
        + (f" + {leaf.retired:.3g}" if leaf.retired > 0.0 else "")
        for leaf, value in zip(leaves, _predicted(view, particle, leaves), strict=True)
    ]
    longest = max(len(line) for text in texts for line in text.split("\n"))
    pitch = max(1.05, 0.09 * longest)  # inches from leaf to leaf, so that none overlap
    size = max(4.0, pitch * len(leaves)), max(2.0, 0.9 * (depth + 1))
    figure, (axes,) = panels(ax, size=size)
    for _, across, down, below in splits:
        for child in below:
            axes.plot([across, child], [-down, -down - 1], "-", color="0.4", zorder=1)
    for text, across, down, _ in splits:
        _write(axes, across, down, text, BOX)
    for leaf, text in zip(leaves, texts, strict=True):
        _write(axes, leaf.across, leaf.depth, text, LEAF)
    axes.set_xlim(-0.7, len(leaves) - 0.3)
    axes.set_ylim(-depth - 0.6, 0.5)
    axes.set_axis_off()
    label = scale_of(model, view, response).label
    axes.set_title(f"{label}: tree of particle {particle}", fontsize="medium")
    return figure


def _write(ax: Axes, across: float, depth: int, text: str, box: Any) -> None:
    """Text in a box at a node."""
    ax.text(across, -depth, text, ha="center", va="center", fontsize=8, bbox=box)


def _place(
    view: TreeView,
    node: SplitView | LeafView,
    ends: tuple[Vector, Vector],
    leaves: list[Leaf],
    splits: list[tuple[Any, ...]],
) -> float:
    """Lay out what is below a node, leaves from left to right; returns its place.

    A split becomes (text, place, depth, places of its children).
    """
    if isinstance(node, LeafView):
        point = _inside(typical_row(view), *ends)
        across = float(len(leaves))
        leaves.append(Leaf(across, node.depth, node.n_rows, node.retired, point))
        return across
    k, (low, high) = node.feature, ends
    below_high, above_low = high.copy(), low.copy()
    below_high[k] = above_low[k] = node.value
    children = (
        _place(view, node.left, (low, below_high), leaves, splits),
        _place(view, node.right, (above_low, high), leaves, splits),
    )
    across = sum(children) / 2.0
    name = plain(view.tree.feature_names[k])
    text = f"{name} ≤ {node.value:.3g}"
    if node.value == np.inf:
        text = f"{name} has a value"
    splits.append((text, across, node.depth, children))
    return across


def _inside(row: Vector, low: Vector, high: Vector) -> Vector:
    """The point nearest to a row with low < point <= high; missing at infinite low."""
    first = np.nextafter(low, np.inf, where=np.isfinite(low), out=low.copy())
    lost = np.isnan(row) & (np.isfinite(low) | np.isfinite(high))
    row = np.where(lost, np.where(np.isfinite(high), high, first), row)
    inside = np.minimum(np.maximum(row, first), high)
    return np.asarray(np.where(np.isposinf(low), np.nan, inside))


def _predicted(view: TreeView, particle: int, leaves: list[Leaf]) -> list[str]:
    """What each leaf predicts, as text."""
    points: Matrix = np.array([leaf.point for leaf in leaves])
    classes = view.tree.classes
    if classes is None:
        return [f"{value:.3g}" for value in view.moments(points)[0][particle]]
    proba = view.proba(points)[particle]
    return [f"{plain(classes[row.argmax()])}: {row.max():.2f}" for row in proba]
