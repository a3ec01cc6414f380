"""Pictures of large mixtures say what the fits did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from dyntree.api import plots
from dyntree.mixtures import Canopy, OnlineDPGMM
from tests.unit.mixtures.canopy.test_model import blobs


@pytest.fixture(scope="module")
def fitted() -> Canopy:
    model = Canopy(6, inference="canopy2", max_iter=15, tol=0.0, seed=1)
    return model.fit(blobs(800, d=4))


def test_sweeps_are_drawn_as_they_were(fitted: Canopy) -> None:
    left, right = plots.plot_sweeps(fitted).axes
    lines = {line.get_label(): line for line in [*left.lines, *right.lines]}
    scored = lines["scored in the sweep"].get_ydata()
    np.testing.assert_array_equal(scored, fitted.history.log_likelihood)
    assert lines["watched"].get_xdata().tolist() == [5, 10, 15]
    np.testing.assert_array_equal(
        lines["rows moved"].get_ydata(), np.maximum(fitted.history.n_changed, 1)
    )
    assert lines["sweeps to refresh all"].get_ydata()[0] == 1.0
    exact = Canopy(6, inference="em", max_iter=3, tol=0.0).fit(blobs(800))
    assert len(plots.plot_sweeps(exact).axes[1].lines) == 1


def test_images_are_means_and_rows(fitted: Canopy) -> None:
    X = blobs(800, d=4)
    figure = plots.plot_images(fitted, X, (2, 2), n_rows=3, components=[2, 0])
    (axes,) = figure.axes
    page = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert page.shape == (5, 12)
    np.testing.assert_allclose(page[:2, :2].ravel(), fitted.means[2])
    mine = X[fitted.predict(X) == 2]
    best = mine[np.argmax(fitted.score_samples(mine))]
    np.testing.assert_allclose(page[:2, 4:6].ravel(), best)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["2", "0"]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda m: plots.plot_sweeps(OnlineDPGMM()), "must be a Canopy"),
        (lambda m: plots.plot_sweeps(Canopy(3)), "that was fitted"),
        (lambda m: plots.plot_images(m, np.ones((3, 5)), (2, 2)), "= 4 columns"),
        (lambda m: plots.plot_images(m, np.ones((3, 4)), (0, 4)), "shape"),
        (
            lambda m: plots.plot_images(m, np.ones((3, 4)), (2, 2), components=[9]),
            "components",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(call: Any, word: str, fitted: Canopy) -> None:
    with pytest.raises(ValueError, match=word):
        call(fitted)
