"""Pictures of partial dependence show the numbers of its records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from matplotlib.collections import PolyCollection, QuadMesh

from dyntree.api import plots
from dyntree.summaries.effects import PartialDependence


def record(
    *grids: Any, factors: Any = None, rows: int | None = None
) -> PartialDependence:
    rng = np.random.default_rng(0)
    arrays = []
    for grid in grids:
        array = np.array(grid)
        if array.dtype.kind == "U":
            array = array.astype(object)
        arrays.append(array)
    shape = tuple(map(len, grids))
    names = ("a", "g")[: len(grids)]
    flags = factors or tuple(array.dtype == object for array in arrays)
    individual = None if rows is None else rng.random((rows, *shape))
    return PartialDependence(
        names, tuple(arrays), flags, rng.random(shape), rng.random((9, *shape)),
        individual,
    )  # fmt: skip


def test_a_number_has_a_curve_and_a_band() -> None:
    one = record([0.0, 0.5, 1.0])
    (ax,) = plots.plot_dependence(one, response="load").axes
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), one.grids[0])
    np.testing.assert_array_equal(line.get_ydata(), one.mean)
    (band,) = (part for part in ax.collections if isinstance(part, PolyCollection))
    points = band.get_paths()[0].vertices[:, 1]
    assert (points.min(), points.max()) == (
        one.conf_int(0.1).min(), one.conf_int(0.1).max(),
    )  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "mean of load")


def test_a_factor_has_a_bar_a_level() -> None:
    one = record(["u", "v"])
    (ax,) = plots.plot_dependence([one]).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["u", "v"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), one.mean)
    low, high = one.conf_int(0.1).T
    np.testing.assert_allclose([bar.get_y() for bar in ax.patches], low)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], high - low)
    (ax,) = plots.plot_dependence(record([0.0, 1.0], factors=(True,))).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]


@pytest.mark.parametrize("kind", ["individual", "both"])
def test_rows_are_thin_lines(kind: str) -> None:
    parts = [record([0.0, 1.0, 2.0], rows=5), record(["u", "v", "w"], rows=5)]
    for ax, part in zip(
        plots.plot_dependence(parts, kind=kind).axes, parts, strict=True
    ):
        thin = [line for line in ax.lines if line.get_linewidth() == 0.6]
        assert part.individual is not None
        np.testing.assert_array_equal(
            [line.get_ydata() for line in thin], part.individual
        )
        assert len(ax.lines) == 5 + (kind == "both")
    with pytest.raises(ValueError, match="got a record of averages"):
        plots.plot_dependence(record([0.0, 1.0]), kind=kind)


def test_pairs_are_surfaces_or_curves() -> None:
    numbers = record([0.0, 1.0, 2.0], [5.0, 6.0])
    mixed, turned = record([0.0, 1.0], ["u", "v"]), record(["u", "v"], [0.0, 1.0])
    levels = record(["u", "v"], ["p", "q", "r"])
    axes = plots.plot_dependence([numbers, mixed, turned, levels]).axes
    for ax, part in ((axes[0], numbers), (axes[3], levels)):
        (mesh,) = (one for one in ax.collections if isinstance(one, QuadMesh))
        np.testing.assert_array_equal(np.ravel(mesh.get_array()), np.ravel(part.mean.T))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "g")
    assert [one.get_text() for one in axes[3].get_yticklabels()] == ["p", "q", "r"]
    for ax, means in ((axes[1], mixed.mean.T), (axes[2], turned.mean)):
        np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], means)
    assert [line.get_label() for line in axes[1].lines] == ["g u", "g v"]
    many = record([0.0, 1.0], [f"{k}" for k in range(40)])
    assert len(plots.plot_dependence(many).axes[0].collections) == 1


def test_dates_do_not_overlap() -> None:
    days = np.datetime64("2024-01-01") + 30 * np.arange(12)
    figure = plots.plot_dependence(record(days))
    figure.canvas.draw()
    (ax,) = figure.axes
    assert 2 <= len(ax.get_xticks()) <= 6


def test_scales_are_shared_and_bad_arguments_told() -> None:
    axes = plots.plot_dependence([record([0.0, 1.0]), record(["u", "v"])]).axes
    assert axes[0].get_ylim() == axes[1].get_ylim()
    for bad in (3, [], [3], "a"):
        with pytest.raises(ValueError, match="dependence must be a PartialDependence"):
            plots.plot_dependence(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kind must be one of"):
        plots.plot_dependence(record([0.0, 1.0]), kind="mean")
