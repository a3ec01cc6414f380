"""Scales that rows have chosen: copies choose none, and misfits are told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dyntree import checkpoint
from dyntree.errors import ScaleWarning
from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance, GaussianUnknown
from dyntree.mixtures.ddp.nearness import nearness_of

QUICK: dict[str, Any] = {"n_sweeps": 6, "burn_in": 3, "seed": 1}
CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [12.0, 12.0]])


def blobs(seed: int, n: int = 100) -> Any:
    """Rows of four round clusters."""
    rng = np.random.default_rng(seed)
    return CENTRES[rng.integers(4, size=n)] + rng.normal(size=(n, 2))


# data and seeds are fixed, so that nothing here fails by chance
@pytest.mark.parametrize("copies", [2, 3, 5, 8])
def test_copies_of_rows_choose_no_scale(copies: int) -> None:
    for seed in range(3):
        for X, most in (
            (np.repeat(blobs(seed), copies, axis=0), 5 + copies // 2),
            (np.round(blobs(seed, 300)), 4),  # equal by chance, not copies
        ):
            model = DependentDPMixture(GaussianUnknown(), seed=1).update(X)
            assert 4 <= model.n_clusters <= most


@pytest.mark.parametrize("gain", [0.01, 0.1, 3.0, 10.0, 1000.0])
def test_another_gain_is_told_once(gain: float) -> None:
    model = DependentDPMixture(GaussianUnknown(), **QUICK)
    for seed in range(3):
        model.update(blobs(seed))
    told = "neighbouring rows of phase 3 are"
    with pytest.warns(ScaleWarning, match=told):
        model.update(gain * blobs(3))
    model.update(gain * blobs(4))
    before = checkpoint.dumps(model)
    assert before == checkpoint.dumps(checkpoint.loads(before))


def test_another_gain_of_one_column_is_told_and_changes_nothing_as_an_error() -> None:
    model = (
        DependentDPMixture(GaussianUnknown(), **QUICK).update(blobs(0)).update(blobs(1))
    )
    before = checkpoint.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ScaleWarning, match="Their unit or gain"):
            model.update(blobs(2) * [1.0, 20.0])
    assert before == checkpoint.dumps(model)


def test_few_first_rows_are_told_where_they_choose_widths() -> None:
    with pytest.warns(ScaleWarning, match="first 3 rows, which are few"):
        DependentDPMixture(GaussianUnknown(), **QUICK).update(blobs(0, 3))
    DependentDPMixture(GaussianKnownVariance(1.0), **QUICK).update(blobs(0, 3))


@pytest.mark.parametrize("width", [1, 2, 5])
def test_rows_of_one_law_are_seldom_told_to_differ(width: int) -> None:
    """Phases of 20 to 400 rows: none of 60 pairs differs by what is told."""
    rng = np.random.default_rng(width)
    sizes = rng.integers(20, 400, size=(60, 2))
    pairs = [[nearness_of(rng.normal(size=(n, width))) for n in pair] for pair in sizes]
    assert all(one.change(other) == 1.0 for one, other in pairs)


def rows_about(centres: Any, rng: np.random.Generator) -> Any:
    """300 rows of round clusters of one size."""
    return centres[rng.integers(len(centres), size=300)] + rng.normal(
        size=(300, centres.shape[1])
    )


@pytest.mark.parametrize("width", [2, 5, 10])
def test_clusters_that_take_other_places_keep_their_scale(width: int) -> None:
    """Places apart in some columns, near in others; then a gain of one column."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        before, after = (
            8 * rng.normal(size=(4, width)) * np.exp(rng.normal(size=width))
            for _ in range(2)
        )
        near = nearness_of(rows_about(before, rng))
        assert near.change(nearness_of(rows_about(after, rng))) == 1.0
        gains = np.where(np.arange(width) == 1, 20.0, 1.0)
        assert near.change(nearness_of(rows_about(before, rng) * gains)) > 2.5


@pytest.mark.parametrize("place", [(-8.0, -8.0), (0.0, 30.0), (8.0, -80.0)])
def test_a_cluster_that_is_born_changes_no_scale(place: tuple[float, float]) -> None:
    """In units of standard deviations 14 % of births at the last place were told."""
    centres = np.array([[0.0, 0.0], [8.0, 8.0]])
    for seed in range(40):
        rng = np.random.default_rng(seed)
        before, after = (
            np.repeat(one, 60, axis=0) + 0.5 * rng.normal(size=(60 * len(one), 2))
            for one in (centres, np.vstack([centres, place]))
        )
        assert nearness_of(before).change(nearness_of(after)) == 1.0


def test_a_line_of_clusters_may_turn() -> None:
    model = DependentDPMixture(GaussianUnknown(), **QUICK)
    line = np.array([[-12.0, 0.0], [0.0, 0.0], [12.0, 0.0]])
    for phase in range(4):
        turned = line[:, ::-1] if phase == 3 else line
        model.update(rows_about(turned, np.random.default_rng(phase)))
