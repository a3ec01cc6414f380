"""What native clouds are asked: sensitivity where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dyntree import DynamicTree

SEEDS = range(3)
FALSE_FAIL = 1e-6


@pytest.mark.parametrize("method", ["lhs", "boot"])
@pytest.mark.parametrize("seed", SEEDS)
def test_sobol_indices_of_a_linear_function(method: str, seed: int) -> None:
    """One linear leaf of 3 x0 + 2 x1 + x2, all but free of noise.

    Given the fit both samples are independent, and index j is b_j cov(x_j, f) / var f,
    under the uniform law of the hypercube or under that of the rows. Particles draw
    samples of their own, so t intervals over 60 of them hold; all six together fail
    with a rate of 1e-6. Ratios of moments are biased by about 1 / n_samples, hence a
    margin of 5 / 600. It sees errors of .05; one sample used twice gives indices of 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((500, 3)) - 0.5
    slopes = np.array([3.0, 2.0, 1.0])
    y = X @ slopes + 1e-6 * rng.standard_normal(500)
    tree = DynamicTree(
        "linear", rules="native", n_particles=60, seed=seed, tree_prior=(0.0, 2.0)
    ).update(X, y)
    told = tree.sensitivity(
        n_samples=600, n_grid=2, method=method, bounds=[[-0.5, 0.5]] * 3
    )
    law = np.eye(3) if method == "lhs" else np.cov(X.T)
    shares = slopes * (law @ slopes)
    truth = shares / shares.sum()
    reach = stats.t.isf(FALSE_FAIL / 12, 59) / np.sqrt(60)
    for values in (told.first, told.total):
        bound = reach * values.std(axis=0, ddof=1) + 5 / 600
        assert np.all(np.abs(values.mean(axis=0) - truth) < bound)
        assert np.all(bound < 0.05)
