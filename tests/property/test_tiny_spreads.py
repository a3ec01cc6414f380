"""Clusters are the same in any unit whose squares are numbers, and none below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.errors import ScaleWarning
from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)
from tests.statistical.first_phases import agreement

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning",
    "ignore::dyntree.errors.ConvergenceWarning",
    "ignore::dyntree.errors.ScaleWarning",
)
CORNERS = 12.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 1], [0.5, 2.0]])


def ready(model: Any, X: np.ndarray) -> Any:
    model.update(X)
    return model if model.is_ready else model.finish_warm_up()


MODELS: dict[str, Callable[[np.ndarray, float], Any]] = {
    "gmm": lambda X, unit: ready(OnlineDPGMM(), X),
    "mppca": lambda X, unit: ready(OnlineDPMPPCA(), X),
    "hsmm": lambda X, unit: ready(OnlineHDPHSMM(), X),
    "round hsmm": lambda X, unit: ready(OnlineHDPHSMM(emission="gmm"), X),
    "ddp known": lambda X, unit: DependentDPMixture(
        GaussianKnownVariance(max(unit, 1e-150) ** 2), n_sweeps=20, seed=1
    ).update(X),
    "ddp unknown": lambda X, unit: DependentDPMixture(
        GaussianUnknown(), n_sweeps=20, seed=1
    ).update(X),
    "hdp full": lambda X, unit: MemoryBoundedHDP("full", seed=1).fit([X]),
    "hdp diag": lambda X, unit: MemoryBoundedHDP("diag", seed=1).fit([X]),
    "canopy diag": lambda X, unit: Canopy(6, family="diag", seed=1).fit(X),
    "canopy full": lambda X, unit: Canopy(6, family="full", seed=1).fit(X),
}


def labels_of(model: Any, X: np.ndarray) -> Any:
    if isinstance(model, MemoryBoundedHDP):
        return model.topic_proba(X).argmax(axis=1)
    return model.predict(X)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    z = rng.integers(6, size=400)
    return CORNERS[z] + rng.normal(size=(400, 2)), z


@pytest.mark.parametrize("power", [-149, -120, -76, 76, 148])
@pytest.mark.parametrize("name", MODELS)
def test_clusters_are_the_same_in_any_unit(name: str, power: int, rows: Any) -> None:
    X, z = rows
    unit = 10.0**power
    model = MODELS[name](unit * X, unit)
    assert agreement(labels_of(model, unit * X), z) > 0.99
    density = model.score_samples(unit * X) + 2.0 * np.log(unit)
    plain = MODELS[name](X, 1.0).score_samples(X)
    assert abs(density.mean() - plain.mean()) < 0.05


@pytest.mark.parametrize("power", [-170, -200, -300])
@pytest.mark.parametrize("name", [name for name in MODELS if name[:6] != "canopy"])
def test_spreads_without_squares_are_those_of_equal_rows(
    name: str, power: int, rows: Any
) -> None:
    X = 10.0**power * rows[0]
    model = MODELS[name](X, 10.0**power)
    assert len(np.unique(labels_of(model, X))) == 1
    assert np.isfinite(model.score_samples(X)).all()


def test_a_large_mixture_has_no_components_of_equal_rows(rows: Any) -> None:
    with (
        pytest.warns(ScaleWarning, match="constant"),
        pytest.raises(ValueError, match="must be at most the number of different rows"),
    ):
        Canopy(6, seed=1).fit(1e-170 * rows[0])
