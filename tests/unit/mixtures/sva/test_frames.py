"""Products of Gaussians over task frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, product_over_frames


def models() -> list[OnlineDPMPPCA]:
    """Two views of two clusters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [2.0, 0.3, 0.3]
    X[:, 0] += 30.0 * (np.arange(400) % 2)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return [OnlineDPMPPCA(9.0, noise=0.3).update(X @ A) for A in (np.eye(3), turn)]


def test_a_product_is_that_of_gaussian_densities() -> None:
    rng = np.random.default_rng(1)
    seen = models()
    frames = [(rng.normal(size=(2, 3)), rng.normal(size=2)) for _ in seen]
    means, covariances = product_over_frames(seen, frames)
    for k in range(2):
        precision, weighted = np.zeros((2, 2)), np.zeros(2)
        for model, (A, b) in zip(seen, frames, strict=True):
            C = A @ model.covariances_[k] @ A.T
            precision += np.linalg.inv(C)
            weighted += np.linalg.solve(C, A @ model.clusters().mean[k] + b)
        np.testing.assert_allclose(covariances[k], np.linalg.inv(precision), rtol=1e-9)
        expected = np.linalg.solve(precision, weighted)
        np.testing.assert_allclose(means[k], expected, rtol=1e-9)


def test_one_frame_that_changes_nothing_changes_nothing() -> None:
    model = models()[0]
    means, covariances = product_over_frames([model], [(np.eye(3), np.zeros(3))])
    np.testing.assert_allclose(means, model.clusters().mean, rtol=1e-12)
    np.testing.assert_allclose(covariances, model.covariances_, rtol=1e-9)


I3 = np.eye(3)
BAD: dict[str, tuple[Any, str]] = {
    "too few": ([(I3, np.zeros(3))], "the same length, at least one; got 2 and 1"),
    "no pair": ([(I3, np.zeros(3)), 3], "frame 1 is none"),
    "wide": ([(I3, np.zeros(3)), (np.eye(2), np.zeros(2))], r"shape \(n_out, 3\)"),
    "NaN": ([(I3, np.full(3, np.nan)), (I3, np.zeros(3))], "frame 0 is not"),
    "other": ([(I3, np.zeros(3)), (I3[:2], np.zeros(2))], "frame 1 2"),
    "flat": ([(0.0 * I3, np.zeros(3)), (I3, np.zeros(3))], "full row rank"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames_are_refused(case: str) -> None:
    frames, told = BAD[case]
    with pytest.raises(ValueError, match=told):
        product_over_frames(models(), frames)


def test_models_must_agree_in_their_number_of_clusters() -> None:
    other = OnlineDPGMM(1e6).update(np.random.default_rng(0).normal(size=(20, 3)))
    frame = (I3, np.zeros(3))
    with pytest.raises(ValueError, match=r"model 1 has 1 .* the first 2"):
        product_over_frames([models()[0], other], [frame, frame])
