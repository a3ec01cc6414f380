"""Pictures of mixtures show what the models say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib.figure import Figure

from dyntree import DynamicTree
from dyntree.api import plots
from dyntree.datasets import task_strokes
from dyntree.mixtures import (
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
    TaskParameterizedMixture,
)
from tests.helpers import same_bytes
from tests.unit.mixtures.sva.test_dpgmm import blobs
from tests.unit.mixtures.sva.test_dpmppca import planes


@pytest.fixture(scope="module")
def round_() -> tuple[OnlineDPGMM, np.ndarray]:
    X, _ = blobs(3, 3, 12.0, 300, 0)
    return OnlineDPGMM(50.0).update(X), X


@pytest.fixture(scope="module")
def flat() -> tuple[OnlineDPMPPCA, np.ndarray]:
    X, _ = planes(0, 400, 4, dims=(1, 2))
    return OnlineDPMPPCA(5.0, noise=0.2).update(X), X


def test_ellipses_are_those_of_the_covariances(flat: Any) -> None:
    model, X = flat
    with same_bytes(model):
        (axes,) = plots.plot_clusters(model, X, (2, 0)).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x2", "x0")
    ellipses = [line for line in axes.lines if len(line.get_xdata()) == 121]
    found, covariances = model.clusters(), model.covariances_
    assert len(ellipses) == len(found)
    for line, mean, C in zip(ellipses, found.mean, covariances, strict=True):
        y = np.column_stack(line.get_data()) - mean[[2, 0]]
        inverse = np.linalg.inv(C[np.ix_([2, 0], [2, 0])])
        distance = np.einsum("ij,jk,ik->i", y, inverse, y)
        np.testing.assert_allclose(distance, 4.0, rtol=1e-6)
    assert [text.get_text() for text in axes.texts] == [str(k) for k in found.id]


def test_directions_reach_two_standard_deviations(flat: Any) -> None:
    model, X = flat
    (axes,) = plots.plot_subspaces(model, X, (0, 1)).axes
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2]
    found = model.clusters()
    assert len(lines) == found.dim.sum()
    first = np.column_stack(lines[0].get_data())
    expected = 4.0 * np.sqrt(found.variances[0][0]) * found.basis[0][:2, 0]
    np.testing.assert_allclose(first[1] - first[0], expected, rtol=1e-9)
    names = [f"{k} ({d})" for k, d in zip(found.id, found.dim, strict=True)]
    assert [text.get_text() for text in axes.texts] == names


@pytest.mark.parametrize("draw", [plots.plot_clusters, plots.plot_subspaces])
def test_many_columns_are_seen_along_principal_axes(draw: Any) -> None:
    """The clusters are apart in the last columns alone, in other units."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 6)) * [1.0, 1.0, 1.0, 3.0, 1.0, 0.3]
    X[300:, 3:] += np.array([27.0, 9.0, 2.7])
    model = OnlineDPMPPCA().update(X).finish_warm_up().merge_now()
    assert model.n_clusters == 2
    (axes,) = draw(model, X).axes
    assert axes.get_xlabel().startswith("first principal axis (")
    centres = [line.get_data() for line in axes.lines if line.get_marker() == "+"]
    x = np.sort([float(one[0][0]) for one in centres])
    # halves of the distance of 2 sds of 4.5 each, over sqrt(3) columns
    assert x[1] - x[0] == pytest.approx(2.0 * np.sqrt(3.0), rel=0.1)


def test_every_row_is_drawn_once(round_: Any) -> None:
    model, X = round_
    (axes,) = plots.plot_clusters(model, X).axes
    points = [line for line in axes.lines if line.get_alpha() == 0.6]
    assert sum(len(line.get_xdata()) for line in points) == len(X)
    assert len({line.get_marker() for line in points}) == model.n_clusters
    (bare,) = plots.plot_clusters(model).axes
    assert not [line for line in bare.lines if line.get_alpha() == 0.6]


def test_segments_are_bands_over_their_rows() -> None:
    labels = np.repeat([4, 7, 4, 2], [10, 20, 30, 40])
    X = np.column_stack([labels, -labels]).astype(float)
    (axes,) = plots.plot_segments(labels, X, names=["p", "q$"]).axes
    assert [text.get_text() for text in axes.texts] == ["4", "7", "4", "2"]
    bands = [patch.get_x() for patch in axes.patches]
    assert bands == [-0.5, 9.5, 29.5, 59.5]
    shades = [patch.get_facecolor() for patch in axes.patches]
    assert shades[0] == shades[2] != shades[1]
    assert axes.get_legend_handles_labels()[1] == ["p", r"q\$"]
    (bare,) = plots.plot_segments([1, 1, 2]).axes
    assert not bare.lines[1:]


def test_a_decoded_path_is_drawn_as_its_labels_are() -> None:
    model = OnlineHDPHSMM(9.0, noise=0.5, min_weight=1)
    X = np.repeat(np.tile([0.0, 10.0], 3), 8)[:, None]
    path = model.update(X).decode(X)
    one, other = (plots.plot_segments(p).axes[0] for p in (path, path.labels))
    bands = [[patch.get_x() for patch in axes.patches] for axes in (one, other)]
    assert len(bands[0]) == 6
    assert bands[0] == bands[1]


def test_a_path_shows_numbers_and_the_choice(round_: Any) -> None:
    _, X = round_
    path = OnlineDPGMM().lambda_path(X)
    figure = plots.plot_lambda_path(path)
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == path.lambda_.tolist()
    assert line.get_ydata().tolist() == path.n_clusters.tolist()
    starts = [x[0] for one in figure.axes[0].lines if len(x := one.get_xdata())]
    assert path.chosen in starts
    assert figure.axes[1].get_ylabel() == "BIC"


def test_pictures_go_into_axes_that_are_given(round_: Any) -> None:
    model, X = round_
    axes = Figure().add_subplot()
    assert plots.plot_clusters(model, X, ax=axes) is axes.figure


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m, X: plots.plot_clusters(DynamicTree()), "must be an OnlineDPGMM"),
        (lambda m, X: plots.plot_clusters(OnlineDPGMM()), "none has come"),
        (lambda m, X: plots.plot_clusters(m, features=(0, 9)), "two features by name"),
        (lambda m, X: plots.plot_clusters(m, features="x0"), "two features by name"),
        (lambda m, X: plots.plot_clusters(m, features=(0,)), "two features by name"),
        (lambda m, X: plots.plot_clusters(m, X[:, :2]), "must have 3 columns"),
        (lambda m, X: plots.plot_subspaces(3), "must be an OnlineDPGMM"),
        (lambda m, X: plots.plot_segments([]), "one at least"),
        (lambda m, X: plots.plot_segments([0.5]), "must be ints"),
        (lambda m, X: plots.plot_segments([1, 2], X), "one row a label, 2"),
        (lambda m, X: plots.plot_segments([1], [[1.0]], names=["a", "b"]), "got 2"),
        (lambda m, X: plots.plot_lambda_path(m), "path must be a LambdaPath"),
    ],
)
def test_bad_arguments_are_named(call: Any, told: str, round_: Any) -> None:
    with pytest.raises(ValueError, match=told):
        call(*round_)


def test_a_movement_is_drawn_with_what_it_follows() -> None:
    model = TaskParameterizedMixture(2)
    *drawn, (_, frames) = task_strokes(5)
    strokes = [rows for rows, _ in drawn]
    for rows, its in drawn:
        model.update(rows, its)
    with same_bytes(model):
        (axes,) = plots.plot_movement(model, frames, demonstrations=strokes).axes
    sizes = [len(line.get_xdata()) for line in axes.lines]
    assert sizes[:4] == [len(rows) for rows in strokes]
    assert sizes[4:16] == [121] * 12
    np.testing.assert_array_equal(
        np.column_stack(axes.lines[16].get_data()), model.reproduce(frames).path
    )
    assert sizes[17:] == [2, 2, 1] * 2
    for model_given, words in ((OnlineDPGMM(1.0), "TaskParameterizedMixture"),
                               (one_column(), "at least two columns")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            plots.plot_movement(model_given, [(np.eye(1), np.zeros(1))] * 2)


def one_column() -> TaskParameterizedMixture:
    line = np.linspace(0.0, 1.0, 50)[:, None]
    unit = (np.eye(1), np.zeros(1))
    return TaskParameterizedMixture(2).update(line, [unit, unit])
