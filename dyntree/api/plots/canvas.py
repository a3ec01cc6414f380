"""What all pictures share: axes to draw into, one style, the rows of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.trees.answers.level_effects import follow_levels
from dyntree.trees.base import TreeModel
from dyntree.trees.factory import Trees
from dyntree.trees.view import TreeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Model = Trees
Target = Any  # Axes, a sequence of Axes, or None
Record = TypeVar("Record")

LINES = ("-", "--", "-.", ":")  # one after the other where lines must differ
GREYS = ("black", "0.35", "0.55", "0.7")
MARKERS = ("o", "x", "^", "s", "+", "v", "D", "*")
BAND = "0.85"  # between quantiles
MEAN_BAND = "0.65"  # between quantiles of the mean
POINT = "0.45"  # observations
MANY = 2000  # observations that are stored as pixels rather than one by one


def panels(
    ax: Target,
    n: int = 1,
    *,
    size: tuple[float, float] = (6.0, 4.0),
    columns: int = 3,
) -> tuple[Figure, list[Axes]]:
    """Return the given axes, or those of a new figure.

    Parameters
    ----------
    ax : Axes, sequence of n Axes, or None
    n : int, default 1
        Number of panels that are needed.
    size : (float, float), default (6.0, 4.0)
        Size of a new panel in inches.
    columns : int, default 3
        Largest number of panels side by side in a new figure.
    """
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "dyntree.api.plots needs matplotlib. Install it with: "
            "pip install matplotlib."
        ) from error

    if ax is None:
        across = min(n, columns)
        down = -(-n // across)
        figure = Figure(
            figsize=(size[0] * across, size[1] * down), layout="constrained"
        )
        axes = [figure.add_subplot(down, across, k + 1) for k in range(n)]
        return figure, axes
    given = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, object)))
    if len(given) != n or not all(isinstance(one, Axes) for one in given):
        raise ArgumentError(
            "ax", f"must be {n} Axes of matplotlib, one a panel, or None", ax
        )
    return given[0].figure.figure, given  # of a subfigure, the whole


def dress(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Give a panel its labels, and take the lines away that say nothing."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)


def plain(name: object) -> str:
    """A name as a label that shows it as it is: its dollars begin no formula."""
    return str(name).replace("$", r"\$")


def legend_above(ax: Axes) -> None:
    """A legend above the panel, clear of what is drawn."""
    n = len(ax.get_legend_handles_labels()[1])
    ax.legend(
        frameon=False, fontsize="small", ncols=min(n, 4), loc="lower center",
        bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2, columnspacing=1.0,
        handlelength=1.6,
    )  # fmt: skip


def view_of(model: Any, what: str) -> TreeView:
    """A view of the trees to draw, as they are now; there must be trees.

    Results of a formula stand for their trees.
    """
    if not isinstance(model, Trees):
        model = getattr(model, "tree", model)
    if not isinstance(model, Trees):
        raise ArgumentError(
            "model",
            "must be a DynamicTree or StreamingTree, such as the tree of results",
            model,
        )
    return model.frozen_view(what)


@dataclass(frozen=True, eq=False)
class Scale:
    """How a figure shows responses: counts as rates, others as trees learn them.

    Attributes
    ----------
    label : str
        Label of the responses in the figure.
    y : ndarray of shape (n_rows,)
        Responses of the active rows. Counts are divided by their exposure, and labels
        are their positions.
    exposure : float or None
        The median exposure of the active rows, at which counts are predicted, and by
        which they are divided. None for other responses.
    """

    label: str
    y: NDArray[Any]
    exposure: float | None

    @property
    def per(self) -> float:
        """What counts are divided by."""
        return 1.0 if self.exposure is None else self.exposure

    def prediction_of(self, tree: Any, rows: Matrix) -> Any:
        """What trees predict of rows of features."""
        asked = Encoded(rows, has_effects=True)
        return tree.predict(asked, exposure=self.exposure)


def scale_of(model: Any, view: TreeView, response: str) -> Scale:
    """How responses of a model, or of results, are drawn."""
    y, exposures = view.rows()[1], view.exposures()
    label = label_of(model, response)
    if exposures is None:
        return Scale(label, y, None)
    if not len(exposures) or np.all(exposures == 1.0):
        return Scale(label, y, 1.0)
    typical = float(np.median(exposures))
    return Scale(f"{response} per unit of exposure", y / exposures, typical)


def label_of(model: Any, response: str) -> str:
    """What a picture of trees calls responses: of results perhaps less their offset."""
    if not getattr(model, "has_offset", False):
        return response
    if model.tree.tree.options.is_count:
        return f"{response} per unit of exposure"
    return f"{response} less its offset"


def of_results(value: Any, kind: type[Any]) -> Any:
    """The record of that kind that results have; anything else as it is."""
    return value.as_record(kind) if hasattr(value, "as_record") else value


def record_of(value: Any, name: str, kind: type[Record], source: str) -> Record:
    """An argument that must be one of our records, or results that have it."""
    value = of_results(value, kind)
    if not isinstance(value, kind):
        raise ArgumentError(
            name,
            "must be a {kind}, what {source} returns",
            value,
            kind=kind.__name__,
            source=source,
        )
    return value


def place_of(tree: TreeModel, feature: str | int, argument: str) -> int:
    """Place of a feature, by name or number."""
    names = tree.feature_names
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    whole = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
    if whole and 0 <= int(feature) < len(names):
        return int(feature)
    raise ArgumentError(
        argument,
        "must name features by name or place, among {names}",
        feature,
        names=list(names),
    )


def levels_of(tree: TreeModel, place: int) -> list[int]:
    """Places of all levels of the column that a feature is a level of, if it is one."""
    columns = tree.level_places.values()
    return next((places for places in columns if place in places), [])


def typical_row(view: TreeView) -> Vector:
    """Medians of the active rows; of columns of levels, the most frequent level."""
    X, _ = view.rows()
    there = ~np.isnan(X)
    row = np.full(X.shape[1], np.nan)
    for k in range(X.shape[1]):
        if there[:, k].any():
            row[k] = np.median(X[there[:, k], k])
    for places in view.tree.level_places.values():
        row[places] = 0.0
        row[most_frequent(X, places)] = 1.0
        follow_levels(view.tree.state, row[None], places)
    return row


def most_frequent(X: Matrix, places: list[int]) -> list[int]:
    """Place of the level that most rows have; none for one that is 0 in all places."""
    block = X[:, places]
    counts = [*np.nansum(block, axis=0), np.sum((block == 0.0).all(axis=1))]
    return places[(most := int(np.argmax(counts))) : most + 1]


def fixed_row(view: TreeView, at: Any) -> Vector:
    """The row through which slices go: `typical_row` but for what `at` names."""
    tree, row = view.tree, typical_row(view)
    if at is None:
        return row
    if not isinstance(at, dict):
        raise ArgumentError(
            "at", "must be a dict of feature names to numbers, or None", at
        )
    for feature, value in at.items():
        place = place_of(tree, feature, "at")
        levels = levels_of(tree, place)
        row[levels] = 0.0  # one level rules out the others
        try:
            row[place] = float(value)
        except (TypeError, ValueError):
            raise ArgumentError(
                "at",
                "must hold numbers",
                Message("{value!r} for {feature!r}", value=value, feature=feature),
            ) from None
        follow_levels(tree.state, row[None], levels)
    return row


def with_values(view: TreeView) -> list[int]:
    """Places of the features that have a range, as in `span`."""
    return [int(k) for k in np.flatnonzero(np.isfinite(view.spans()[0]))]


def span(view: TreeView, place: int) -> tuple[float, float]:
    """Range of a feature over the rows learned, widened if it is a single point.

    A window from which ALC retires rows becomes concentrated in a part of the range
    that the model knows. With a fading memory, and under R's rules, the range is that
    of the active rows.
    """
    low, high = (ends[place] for ends in view.spans())
    if not np.isfinite(low):
        raise ArgumentError(
            "feature",
            "must have a value in the rows whose range is plotted; {feature_names!r} "
            "has none",
            feature_names=view.tree.feature_names[place],
        )
    half = 0.5 if low == high else 0.0
    return float(low - half), float(high + half)


def fit_names(ax: Axes, names: Sequence[str]) -> None:
    """Write one name below each box, slanted where they would overlap."""
    ax.set_xticks(range(1, len(names) + 1), [plain(name) for name in names])
    if len(names) > 6 or max(map(len, names)) > 6:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
