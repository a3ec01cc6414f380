"""Predictions along one variable or two, averaged over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.summaries.effects import PartialDependence

from .canvas import GREYS, LINES, Target, dress, fit_names, label_of, panels, plain
from .effects import draw_curve, fit_times, level_names, share_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = len(LINES) * len(GREYS)
KINDS = ("average", "individual", "both")


def plot_dependence(
    dependence: PartialDependence | Sequence[PartialDependence],
    *,
    kind: str = "average",
    response: str = "y",
    ax: Target = None,
) -> Figure:
    """Draw partial dependence with 90 % posterior bands, one panel for each variable.

    Parameters
    ----------
    dependence : PartialDependence, or a sequence of them
        Return value of ``partial_dependence()`` of results. For results themselves,
        that of each variable is computed.
    kind : {"average", "individual", "both"}, default "average"
        Whether to draw the mean over rows with its band, a thin line for each row, or
        both. Single rows require a `dependence` of the same kind. For pairs, the
        average is drawn.
    response : str, default "y"
        Name of the response and its unit.
    ax : sequence of Axes, optional
        One for each panel.

    Returns
    -------
    Figure

    Notes
    -----
    A number is drawn as a curve, and a factor as a bar for each level. Two numbers, or
    two factors, are drawn as a surface in shades of grey, and a number with a factor as
    a curve for each level. Panels of one variable have the same vertical scale. Counts
    are those of one unit of exposure, and responses with an offset are drawn minus the
    offset; for results, the label says so.

    Examples
    --------
    >>> import numpy as np
    >>> import dyntree.formula.api as dtf
    >>> from dyntree.api.plots import plot_dependence
    >>> rng = np.random.default_rng(0)
    >>> data = {"x": rng.random(80), "g": rng.choice(["u", "v"], 80)}
    >>> data["y"] = data["x"] * (data["g"] == "u")
    >>> fit = dtf.dynamic_tree("y ~ x * g", data, n_particles=50, seed=1).fit()
    >>> parts = [fit.partial_dependence(one, n_draws=20) for one in ("x", "g")]
    >>> [axes.get_xlabel() for axes in plot_dependence(parts).axes]
    ['x', 'g']
    """
    params.one_of("kind", kind, KINDS)
    found, response = _records(dependence, kind), label_of(dependence, response)
    figure, axes = panels(ax, len(found), size=(3.4, 3.0))
    single = []
    for one, part in zip(axes, found, strict=True):
        if len(part.names) == 2:
            _draw_pair(one, part, response)
            continue
        single.append(one)
        if kind != "average":
            _draw_rows(one, part, kind == "both")
        if kind != "individual":
            ends = part.conf_int(0.1)
            draw_curve(one, part.grids[0], part.mean, ends, part.are_factors[0])
        dress(one, plain(part.names[0]), f"mean of {response}")
    if single:
        share_scale(single)
        if kind != "individual":
            single[0].legend(frameon=False, fontsize="small")
    return figure


def _records(dependence: Any, kind: str) -> list[PartialDependence]:
    """The records that were given, or those of all variables of results."""
    if hasattr(dependence, "partial_dependence"):
        names = dependence.design.columns
        return [dependence.partial_dependence(name, kind=kind) for name in names]
    one = isinstance(dependence, PartialDependence)
    found = [dependence] if one else dependence
    is_list = isinstance(found, Sequence) and len(found) > 0
    if not is_list or not all(isinstance(part, PartialDependence) for part in found):
        raise ArgumentError(
            "dependence",
            "must be a PartialDependence, what partial_dependence() of results "
            "returns, or several",
            dependence,
        )
    lacking = [part for part in found if part.individual is None]
    if kind != "average" and any(len(part.names) == 1 for part in lacking):
        raise ValueError(
            Message(
                "kind={kind!r} needs rows one by one; got a record of averages. Ask "
                "for them: partial_dependence(..., kind={kind!r}).",
                kind=kind,
            )
        )
    return list(found)


def _draw_rows(ax: Axes, part: PartialDependence, is_beside: bool) -> None:
    """A thin line a row; a factor has points that are joined."""
    assert part.individual is not None
    (grid,) = part.grids
    at = np.arange(1, len(grid) + 1) if part.are_factors[0] else grid
    alpha = float(np.clip(20.0 / len(part.individual), 0.1, 0.6))
    ax.plot(
        at, part.individual.T, "-", color="0.4", lw=0.6, alpha=alpha,
        zorder=1.5 if is_beside else 2.0,
    )  # fmt: skip
    fit_times(ax, grid)
    if part.are_factors[0]:
        fit_names(ax, level_names(grid))


def _draw_pair(ax: Axes, part: PartialDependence, response: str) -> None:
    """A surface, or curves where one of two is a factor with few levels."""
    first, second = part.are_factors
    if first != second:
        number, factor = (1, 0) if first else (0, 1)
        if len(part.grids[factor]) <= MOST_LINES:
            _draw_curves(ax, part, number, factor)
            dress(ax, plain(part.names[number]), f"mean of {response}")
            return
    x, y = (
        np.arange(1.0, len(grid) + 1) if is_factor else grid
        for grid, is_factor in zip(part.grids, part.are_factors, strict=True)
    )
    mesh = ax.pcolormesh(
        x, y, part.mean.T, cmap="Greys", shading="nearest", rasterized=True
    )
    fit_times(ax, x)
    ax.figure.colorbar(mesh, ax=ax, label=f"mean of {response}")
    if first:
        fit_names(ax, level_names(part.grids[0]))
    if second:
        names = [plain(name) for name in level_names(part.grids[1])]
        ax.set_yticks(range(1, len(names) + 1), names)
    dress(ax, *map(plain, part.names))


def _draw_curves(ax: Axes, part: PartialDependence, number: int, factor: int) -> None:
    """The mean along a number, one curve for each level of a factor."""
    means: Matrix = part.mean if factor == 1 else part.mean.T
    for k, level in enumerate(level_names(part.grids[factor])):
        ax.plot(
            part.grids[number], means[:, k], LINES[k % len(LINES)],
            color=GREYS[k // len(LINES) % len(GREYS)], lw=1.6,
            label=f"{plain(part.names[factor])} {plain(level)}",
        )  # fmt: skip
    fit_times(ax, part.grids[number])
    ax.legend(frameon=False, fontsize="small")
