"""Pictures of dependent mixtures show what the models say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from dyntree.api import plots
from dyntree.datasets import evolving_flows, evolving_gaussians, evolving_topics
from dyntree.errors import NotReadyError
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    GaussianKnownVariance,
    Multinomial,
    OnlineDPGMM,
)
from tests.helpers import same_bytes

QUICK: dict[str, Any] = {"n_sweeps": 9, "burn_in": 3}


@pytest.fixture(scope="module")
def walks() -> DependentDPMixture:
    model = DependentDPMixture(GaussianKnownVariance(1.0), **QUICK)
    for rows in evolving_gaussians(12, 30, n_start=3, seed=2).phases:
        model.update(rows)
    return model


def test_bars_are_as_thick_as_their_rows(walks: DependentDPMixture) -> None:
    with same_bytes(walks):
        (axes,) = plots.plot_lifelines(walks).axes
    lines = walks.lifelines()
    assert [t.get_text() for t in axes.get_yticklabels()] == [str(k) for k in lines.id]
    heights = np.array([bar.get_height() for bar in axes.patches])
    counts = np.concatenate([row[row > 0] for row in lines.count])
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    (axes,) = plots.plot_lifelines(walks, top=2).axes
    assert len(axes.get_yticklabels()) == 2


def test_bands_reach_two_standard_deviations(walks: DependentDPMixture) -> None:
    with same_bytes(walks):
        (axes,) = plots.plot_trajectories(walks, "x1", top=2, smooth=False).axes
    ids = [int(text.get_text()) for text in axes.texts]
    assert len(ids) == len(axes.collections) == 2
    path = walks.trajectory(ids[0], smooth=False)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), path.mean[:, 1])
    low, high = path.mean[:, 1], np.sqrt(path.covariance[:, 1, 1])
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(corners.min(), (low - 2.0 * high).min())
    np.testing.assert_allclose(corners.max(), (low + 2.0 * high).max())


def test_arrows_are_the_fields() -> None:
    data = evolving_flows(3, 300, seed=1)
    model = DependentDPMixture(AffineFlow(), **QUICK)
    for rows in data.phases:
        model.update(rows)
    (axes,) = plots.plot_flow_field(model, data.phases[-1]).axes
    table = model.particles()
    live = np.flatnonzero(table.last_seen == 2)
    assert [t.get_text() for t in axes.texts] == [str(k) for k in table.id[live]]
    arrows = axes.collections[0]
    _, fields = model.velocity(arrows.XY)
    np.testing.assert_allclose(arrows.U, fields[live[0], :, 0])
    np.testing.assert_allclose(arrows.V, fields[live[0], :, 1])


def test_trends_are_shares_of_the_documents() -> None:
    model = DependentDPMixture(Multinomial(0.1), **QUICK)
    for rows in evolving_topics(5, 40, n_words=50, seed=1).phases:
        model.update(rows)
    words = [f"word{k}" for k in range(50)]
    (axes,) = plots.plot_topic_trends(model, words, top=3, n_words=2).axes
    lines = model.lifelines()
    assert len(axes.lines) == 3
    for line in axes.lines:
        label = str(line.get_label())
        id = int(label.split(":")[0])
        assert label.count("word") == 2
        share = lines.count[lines.id == id][0] / lines.count.sum(axis=0)
        drawn = np.asarray(line.get_ydata())
        np.testing.assert_allclose(np.nan_to_num(drawn), share)


def test_distances_of_several_runs_are_medians() -> None:
    runs = np.array([[0.1, 0.5], [0.2, 0.6], [0.9, 0.7]])
    figure = plots.plot_vi({"ours": runs, "other": [0.3, 0.4]}, [2, 3])
    above, beneath = figure.axes
    np.testing.assert_allclose(above.lines[0].get_ydata(), [0.2, 0.6])
    assert beneath.get_ylabel() == "true clusters"


def test_what_cannot_be_drawn_is_refused(walks: DependentDPMixture) -> None:
    wrong: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
        (plots.plot_lifelines, (OnlineDPGMM(),), {}, "model must be a DependentDP"),
        (plots.plot_lifelines, (walks,), {"top": 0}, "top must be an int >= 1"),
        (plots.plot_trajectories, (walks, "z"), {}, "feature must be one by name"),
        (plots.plot_trajectories, (walks, 2), {}, "feature must be one by name"),
        (plots.plot_flow_field, (walks,), {}, "model must have family=AffineFlow"),
        (plots.plot_topic_trends, (walks,), {}, "model must have family=Multinomial"),
        (plots.plot_vi, ([0.1],), {}, "distances must be a dict"),
        (plots.plot_vi, ({"a": [0.1], "b": [0.1, 0.2]},), {}, "of the same phases"),
        (plots.plot_vi, ({"a": 0.1},), {}, "distances must be numbers by phase"),
    ]
    for draw, given, more, said in wrong:
        with pytest.raises(ValueError, match=said):
            draw(*given, **more)
    with pytest.raises(NotReadyError, match="must have seen a phase"):
        plots.plot_lifelines(DependentDPMixture(GaussianKnownVariance(1.0)))
