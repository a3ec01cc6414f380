"""Questions that all mixtures answer alike: densities, covariances, draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 2)) + 12.0 * RNG.integers(2, size=(120, 1))
MODELS: dict[str, Callable[[], Any]] = {
    "gmm": lambda: OnlineDPGMM(30.0).update(ROWS),
    "mppca": lambda: OnlineDPMPPCA(30.0, noise=1.0).update(ROWS),
    "hsmm": lambda: OnlineHDPHSMM(30.0, noise=1.0).update(ROWS),
    "ddp": lambda: DependentDPMixture(
        GaussianKnownVariance(1.0), n_sweeps=8, burn_in=2, seed=1
    ).update(ROWS),
    "canopy": lambda: Canopy(2, inference="em", seed=1, max_iter=40).fit(ROWS),
}


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def model(name: str) -> Any:
    return MODELS[name]()


def ids_of(model: Any) -> set[int]:
    """Ids that rows may have."""
    if isinstance(model, Canopy):
        return set(range(2))
    if isinstance(model, DependentDPMixture):
        return {-1, *model.particles().id.tolist()}
    return {*model.clusters().id.tolist()}


def test_no_rows_have_no_mean(model: Any) -> None:
    with pytest.raises(ValueError, match="score needs at least one row; got none"):
        model.score(ROWS[:0])
    assert model.score_total(ROWS[:0]) == 0.0


def test_a_score_is_the_mean_of_rows_and_a_total_their_sum(model: Any) -> None:
    total = model.score_total(ROWS)
    assert model.score(ROWS) == pytest.approx(total / len(ROWS), rel=1e-12)
    if not isinstance(model, OnlineHDPHSMM):  # whose rows depend on one another
        assert total == pytest.approx(model.score_samples(ROWS).sum(), rel=1e-12)


def test_covariances_are_an_attribute(model: Any) -> None:
    found = model.covariances_
    assert found.shape[1:] in ((2,), (2, 2))
    assert len(found) == len(ids_of(model) - {-1})


def test_a_sample_is_rows_and_what_they_are_of(model: Any) -> None:
    rows, labels = model.sample(400, seed=3)
    assert (rows.shape, labels.shape, labels.dtype) == ((400, 2), (400,), np.int64)
    assert {*labels.tolist()} <= ids_of(model)
    known = labels >= 0
    agree = model.predict(rows)[known] == labels[known]
    assert agree.mean() > 0.99  # clusters are twelve standard deviations apart
    again, _ = model.sample(400, seed=3)
    assert again.tobytes() == rows.tobytes()
    assert model.sample(seed=np.random.default_rng(1))[0].shape == (1, 2)
    with pytest.raises(ValueError, match="n_samples must be an int"):
        model.sample(-1)


def test_draws_of_clusters_have_their_moments() -> None:
    """Within five standard errors: false alarms 1e-5."""
    model = OnlineDPMPPCA(60.0, noise=0.5, min_weight=20)
    planes = ROWS + RNG.normal(size=(120, 1)) * [1.0, -1.0]
    rows, labels = model.update(planes).sample(20_000, seed=5)
    table = model.clusters()
    assert len(table) == 2
    for id, mean, C in zip(table.id, table.mean, model.covariances_, strict=True):
        mine = rows[labels == id]
        share = table.weight[table.id == id][0] / table.weight.sum()
        n = len(mine)
        assert abs(n / 20_000 - share) < 5.0 * np.sqrt(share / 20_000)
        assert (abs(mine.mean(axis=0) - mean) < 5.0 * np.sqrt(np.diag(C) / n)).all()
        spread = np.sqrt((C**2 + np.outer(np.diag(C), np.diag(C))) / n)
        assert (abs(np.cov(mine.T) - C) < 5.0 * spread).all()
