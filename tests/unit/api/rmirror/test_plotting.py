"""R's pictures show what the object holds, and name what is wrong with a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.api import rmirror as r
from tests.unit.models import data, refused

mpl = pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def mirror(**options: Any) -> r.DynaTree:
    X, y = data("constant")
    fit = r.dynaTree(X[:, :1], y, N=20, verb=0, seed=1, **options)
    return r.predict(fit, np.linspace(0, 1, 9)[::-1])


@pytest.mark.parametrize("icept", ["implicit", "augmented"])
def test_plot_shows_data_mean_and_quantiles(icept: str) -> None:
    fit = mirror(model="linear", icept=icept)
    (ax,) = r.plot(fit, col="black", lwd=2).axes
    rows, mean, low, high = ax.lines
    X, y = data("constant")
    np.testing.assert_array_equal(rows.get_xdata(), X[:, 0])
    np.testing.assert_array_equal(rows.get_ydata(), y)
    for line, field in ((mean, "mean"), (low, "q1"), (high, "q2")):
        np.testing.assert_array_equal(line.get_xdata(), np.linspace(0, 1, 9))
        np.testing.assert_array_equal(line.get_ydata(), fit[field][::-1])
        assert (line.get_color(), line.get_linewidth()) == ("black", 2)
    assert ax.get_ylim() == (fit.q1.min(), fit.q2.max())
    r.plot(fit, add=True, ylim=(-9, 9), ax=ax)
    assert (len(ax.lines), ax.get_ylim()) == (7, (-9, 9))


def test_plot_of_repeats_shows_each_or_their_mean() -> None:
    X, y = data("constant")
    fit = r.dynaTrees(X, y, N=10, R=3, XX=X[:5], verb=0, pverb=0, seed=1)
    order = np.argsort(X[:5, 1])
    assert len(r.plot(fit, 2).axes[0].lines) == 10
    mean = r.plot(fit, 2, ptype="mean").axes[0].lines[1]
    np.testing.assert_array_equal(mean.get_ydata(), fit.mean.mean(axis=1)[order])


def test_plotprogress_shows_a_design() -> None:
    fit = mirror()
    axes = r.plotprogress(fit, 0.5, 1.0, "alm", [4.0, 2.0], np.sin).axes
    assert axes[0].lines[4].get_data() == ([0.5], [1.0])
    np.testing.assert_array_equal(
        axes[0].lines[5].get_ydata(), np.sin(np.linspace(0, 1, 9))
    )
    np.testing.assert_array_equal(
        axes[1].lines[0].get_data(), ([59, 60], np.log([4, 2]))
    )
    np.testing.assert_array_equal(axes[2].lines[0].get_ydata(), fit.var[::-1])
    assert sum(bar.get_height() for bar in axes[3].patches) == 60
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in axes)


BAD: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: r.plot([1]), "x", "list"),
    (lambda: r.plot(mirror(), 2), "proj", "2"),
    (lambda: r.plot(mirror(), add=True), "ax", "None"),
    (lambda: r.plot(mirror(), col=9), "col", "9"),
    (lambda: r.plot(mirror(), ptype="all"), "ptype", "'all'"),
    (lambda: r.plotprogress(mirror(), 0, 0, "alm", [0], np.sin), "track", "0"),
    (lambda: r.plotprogress(mirror(), 0, 0, "ei", [1], np.sin), "obj", "ei"),
    (lambda: r.plot(classes()), "x", "'class'"),
    (lambda: r.plot(unasked()), "x", "predict()"),
    (lambda: r.plotprogress(two_inputs(), 0, 0, "alm", [1], np.sin), "x", "2"),
    (lambda: r.plotprogress(mirror(), 0, 0, "alm", [1], np.mean), "f1d", "1"),
]


def classes() -> r.DynaTree:
    X, y = data("constant")
    fit = r.dynaTree(X, 1 + (y > 1), N=10, model="class", verb=0, seed=1)
    return r.predict(fit, X[:3])


def unasked() -> r.DynaTree:
    return r.dynaTree(*data("constant"), N=10, verb=0, seed=1)


def two_inputs() -> r.DynaTree:
    return r.predict(unasked(), data("constant")[0])


@pytest.mark.parametrize(("call", "name", "came"), BAD)
def test_bad_arguments_are_named(call: Callable[[], Any], name: str, came: str) -> None:
    with refused(name, came):
        call()


def test_settings_are_left_alone() -> None:
    before = dict(mpl.rcParams)
    r.plot(mirror()).canvas.draw()
    r.plotprogress(mirror(), 0.5, 1.0, "alm", [1.0], np.sin).canvas.draw()
    assert dict(mpl.rcParams) == before
