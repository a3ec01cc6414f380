"""Scales are chosen again while rows are few, and ids stay where clusters do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
)
from dyntree.mixtures.ddp.renaming import matched, renamed
from dyntree.mixtures.ddp.state import ENOUGH
from tests.helpers import model_bytes
from tests.statistical.first_phases import agreement, blobs, phases_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.ScaleWarning"
)


def learned(phases: Any, family: Any = None, **more: Any) -> DependentDPMixture:
    """A model of some phases."""
    model = DependentDPMixture(family or GaussianUnknown(), seed=1, **more)
    for rows in phases:
        model.update(rows, progress=False)
    return model


@pytest.mark.parametrize("n_first", [3, 6, 12, 20])
def test_a_small_first_phase_does_not_decide_for_ever(n_first: int) -> None:
    """The seed is fixed; tests/statistical/first_phases.txt has others."""
    phases, truth = phases_of(n_first, 0)
    model = learned(phases[:4])
    assert model.n_clusters == 3
    assert agreement(model.labels_, truth[3]) > 0.98


@pytest.mark.parametrize("family", [GaussianUnknown(), AffineFlow()])
def test_phases_are_learned_again_with_the_scales_of_all_rows(family: Any) -> None:
    rng = np.random.default_rng(0)
    phases = [np.hstack([blobs(n, rng)[0], rng.normal(size=(n, 2))]) for n in (20, 30)]
    phases = phases if isinstance(family, AffineFlow) else [x[:, :2] for x in phases]
    model = learned(phases, family)
    scales = family.resolved(np.concatenate(phases))
    given = DependentDPMixture(scales, seed=1)
    for rows in phases:
        given.update(rows, progress=False)
    found, expected = model._state, given._state
    assert found.family == expected.family
    for now, before in zip(found.labels, expected.labels, strict=True):
        assert agreement(now, before) == 1.0
    assert np.sort(found.particles.m).tolist() == np.sort(expected.particles.m).tolist()


def test_many_first_rows_and_given_scales_are_final() -> None:
    rng = np.random.default_rng(0)
    X, _ = blobs(ENOUGH, rng)
    for family, rows in ((GaussianUnknown(), X), (GaussianKnownVariance(1.0), X[:9])):
        model = learned([rows], family)
        first = model._state.family
        model.update(blobs(600, rng)[0], progress=False)
        assert model._state.family == first
        assert not model._state.early


@pytest.mark.parametrize("n_rows", [1, 7])
def test_files_of_early_phases_go_on_bit_for_bit(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    X, _ = blobs(70 * n_rows, rng)
    phases = [X[:0], *np.split(X, 70)][: 30 if n_rows == 7 else 71]
    model = learned([])
    for k, rows in enumerate(phases):
        if k in (0, 1, 2, 5, 20, 29, 60):
            model = DependentDPMixture.from_arrays(*model.to_arrays())
        model.update(rows, progress=False)
    assert model_bytes(model) == model_bytes(learned(phases))
    assert model.n_phases == len(phases)
    assert model.n_seen == sum(len(rows) for rows in phases)


def test_ids_stay_where_clusters_stay() -> None:
    rng = np.random.default_rng(0)
    model, X = learned([]), blobs(12, rng)[0]
    before = model.update(X, progress=False).labels_
    for _ in range(5):
        model.update(blobs(12, rng)[0], progress=False)
        after = model.labels(0)
        same = [np.bincount(after[before == k]).argmax() for k in np.unique(before)]
        assert len({*same}) == len(np.unique(after))  # no id has gone to another
        before = after
    ids = [*model.particles().id, *model.aliases_.values()]
    assert max(ids) < model._state.next_id


def test_ids_follow_most_rows() -> None:
    old = np.array([0, 0, 0, 1, 1, 2])
    new = np.array([1, 1, 1, 0, 0, 0])
    assert matched(new, old) == ({0: 1, 1: 0}, {2: 0})


def test_renaming_by_the_own_labels_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    model = learned([blobs(60, rng)[0] for _ in range(3)])
    state = replace(model._state, aliases={})
    again = renamed(state, state, 0)
    assert again.next_id == state.next_id
    for one, other in zip(again.labels, state.labels, strict=True):
        assert one.tolist() == other.tolist()
    assert again.particles.id.tolist() == state.particles.id.tolist()


def test_pieces_of_an_open_phase_are_one_phase() -> None:
    from dyntree.api.estimators import DependentDPClusterer

    rng = np.random.default_rng(0)
    X, _ = blobs(300, rng)
    predicted = []
    for size in (1, 7, 50, 300):
        fit = DependentDPClusterer(random_state=1)
        for first in range(0, 60 if size == 1 else 300, size):
            fit.partial_fit(X[first : first + size])
            assert len(fit.labels_) == len(X[first : first + size])
        predicted.append(fit.predict(X))
        assert fit.model_.n_phases == {1: 2, 7: 9, 50: 6, 300: 1}[size]
    for labels in predicted[1:]:
        assert agreement(labels, predicted[0]) > 0.98


def test_given_phases_close_an_open_one() -> None:
    from dyntree.api.estimators import DependentDPClusterer

    rng = np.random.default_rng(0)
    X, _ = blobs(60, rng)
    fit = DependentDPClusterer(random_state=1).partial_fit(X[:10])
    fit.partial_fit(X[10:40], phases=np.repeat([0, 1], 15)).partial_fit(X[40:])
    assert fit.model_.n_phases == 4


def test_the_family_may_be_left_out() -> None:
    assert DependentDPMixture(seed=1).options.family == GaussianUnknown()
