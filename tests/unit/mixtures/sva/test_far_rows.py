"""Answers to rows far away, and after equal rows, are numbers that fit one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM

MADE: dict[str, Callable[[], Any]] = {
    "gmm": lambda: OnlineDPGMM(50.0),
    "gmm auto": OnlineDPGMM,
    "gmm spherical": lambda: OnlineDPGMM(covariance="spherical"),
    "mppca": OnlineDPMPPCA,
    "mppca spherical": lambda: OnlineDPMPPCA(covariance="spherical"),
    "hsmm": lambda: OnlineHDPHSMM(70.0, noise=1.0),
    "round hsmm": lambda: OnlineHDPHSMM(70.0, noise=1.0, emission="gmm"),
}
AUTO = ("gmm auto", "gmm spherical", "mppca", "mppca spherical")
FAR = 10.0 ** np.array([2, 8, 12, 16, 20, 30, 100, 150])


def learned(name: str, X: np.ndarray) -> Any:
    model = MADE[name]().update(X)
    return model if model.is_ready else model.finish_warm_up()


@pytest.mark.parametrize(
    ("name", "unit"),
    [(name, 1.0) for name in MADE]
    + [(name, u) for name in AUTO for u in (1e-9, 1e-60)],
)
def test_rows_far_away_have_probabilities_and_densities(name: str, unit: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2)) + 20.0 * rng.integers(3, size=(900, 1))
    model = learned(name, unit * X)
    far = np.concatenate([np.c_[FAR, FAR], np.c_[-FAR, FAR], np.c_[0.0 * FAR, FAR]])
    p, density = model.predict_proba(far), model.score_samples(far)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0.0).all()
    assert np.isfinite(density).all()
    assert (np.diff(density[: len(FAR)]) < 0.0).all()


@pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")  # rows are equal
@pytest.mark.parametrize("name", MADE)
def test_densities_after_equal_rows_are_finite(name: str) -> None:
    model = learned(name, np.ones((6, 2)))
    rows = [[1.0, 1.0], [1.0001, 1.0], [2.0, 2.0], [1e30, 1.0]]
    density = model.score_samples(rows)
    assert np.isfinite(density).all()
    assert (np.diff(density) < 0.0).all()
    np.testing.assert_array_equal(model.predict_proba(rows), np.ones((4, 1)))
