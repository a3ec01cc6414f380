"""Families of topics against draws of their posterior, and against quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, multigammaln
from scipy.stats import wishart

from dyntree.mixtures.hdp.gaussian import DiagonalGaussian, FullGaussian
from dyntree.mixtures.hdp.options import HDPPrior
from dyntree.mixtures.hdp.registry import family_of

N_DRAWS = 60_000
# P(|z| > 5.1) = 3.4e-7, two checks a test, and 1.2 for the skewness of logs: below 1e-6
STANDARD_ERRORS = 5.1
M0 = np.array([0.3, -0.2])


def topic(
    name: str, n: int = 7
) -> tuple[Any, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A family, and N, mean and scatter of one topic of n points, each by topic."""
    at = np.arange(1.0, n + 1.0)
    rows = np.stack([np.sin(3.0 * at), 0.6 * np.sin(3.0 * at) + 0.5 * np.cos(at)], 1)
    prior = HDPPrior(strength=0.4, dof=5.0 if name == "full" else 2.5, scale=0.3)
    family = family_of(name, 2, prior, M0)
    centred = rows - rows.mean(0)
    scatter = family.outer(centred).sum(0)
    return family, np.array([float(n)]), rows.mean(0)[None], scatter[None]


def assert_mean(draws: NDArray[np.float64], value: float) -> None:
    """Assert that a value is the mean of what draws are of."""
    error = draws.std(ddof=1) / np.sqrt(len(draws))
    assert abs(draws.mean() - value) < STANDARD_ERRORS * error
    assert error < 0.02  # or all would pass


def divergence(family: Any, N: Any, mean: Any, scatter: Any) -> float:
    """KL(q(eta) || p(eta)) by the formula of section 3.1."""
    expected = family.expected(N, mean, scatter)
    second = scatter[0] + N[0] * family.outer(mean)[0]
    sums = np.concatenate([N[0] * mean[0], second])
    return float(
        expected.theta[0] @ sums + (expected.c[0] - family.log_base) * N[0]
        - expected.log_z[0] + family.log_z0
    )  # fmt: skip


def fit_of(family: Any, N: Any, mean: Any, scatter: Any, x: Any) -> float:
    """E log p(x)."""
    expected = family.expected(N, mean, scatter)
    phi = np.concatenate([x, family.outer(x[None])[0]])
    return float(expected.c[0] + expected.theta[0] @ phi)


@pytest.mark.parametrize("seed", [0, 1])
def test_normal_wishart_expectations_are_those_of_draws(seed: int) -> None:
    """E log p(x) and KL to the prior; false-fail rate 1e-6 for any seed."""
    family, N, mean, scatter = topic("full")
    assert isinstance(family, FullGaussian)
    rng, d, x = np.random.default_rng(seed), 2, np.array([1.0, -0.5])
    k0, nu0, B0 = family.kappa0, family.shape0, family.scale0 * np.eye(d)
    k, nu = k0 + N[0], nu0 + N[0]
    m = (k0 * M0 + N[0] * mean[0]) / k
    gap = mean[0] - M0
    B = B0 + family.unpacked(scatter)[0] + k0 * N[0] / k * np.outer(gap, gap)
    draws = wishart(nu, np.linalg.inv(B)).rvs(N_DRAWS, random_state=rng)
    root = np.linalg.cholesky(np.linalg.inv(draws) / k)
    mu = m + np.einsum("nij,nj->ni", root, rng.normal(size=(N_DRAWS, d)))
    log_det = np.linalg.slogdet(draws)[1]

    def distance(centre: Any) -> Any:
        return np.einsum("ni,nij,nj->n", mu - centre, draws, mu - centre)

    def log_wishart(dof: float, inverse: Any) -> Any:
        return (
            0.5 * (dof - d - 1) * log_det
            - 0.5 * np.einsum("nij,ij->n", draws, inverse)
            - 0.5 * dof * (d * np.log(2) - np.linalg.slogdet(inverse)[1])
            - multigammaln(0.5 * dof, d)
        )

    log_p = 0.5 * (log_det - d * np.log(2 * np.pi) - distance(x))
    assert_mean(log_p, fit_of(family, N, mean, scatter, x))
    ratio = log_wishart(nu, B) - log_wishart(nu0, B0) + 0.5 * d * np.log(k / k0)
    ratio += 0.5 * k0 * distance(M0) - 0.5 * k * distance(m)
    assert_mean(ratio, divergence(family, N, mean, scatter))


@pytest.mark.parametrize("seed", [0, 1])
def test_normal_gamma_expectations_are_those_of_draws(seed: int) -> None:
    """E log p(x) and KL to the prior; false-fail rate 1e-6 for any seed."""
    family, N, mean, scatter = topic("diag")
    assert isinstance(family, DiagonalGaussian)
    rng, x = np.random.default_rng(seed), np.array([1.0, -0.5])
    k0, a0, b0 = family.kappa0, family.shape0, family.scale0
    k, a = k0 + N[0], a0 + 0.5 * N[0]
    m = (k0 * M0 + N[0] * mean[0]) / k
    b = b0 + 0.5 * (scatter[0] + k0 * N[0] / k * (mean[0] - M0) ** 2)
    tau = rng.gamma(a, 1.0 / b, size=(N_DRAWS, 2))
    mu = m + rng.normal(size=(N_DRAWS, 2)) / np.sqrt(k * tau)
    log_p = 0.5 * (np.log(tau) - np.log(2 * np.pi) - tau * (x - mu) ** 2)
    assert_mean(log_p.sum(1), fit_of(family, N, mean, scatter, x))
    ratio = a * np.log(b) - gammaln(a) - a0 * np.log(b0) + gammaln(a0)
    ratio = ratio + (a - a0) * np.log(tau) - (b - b0) * tau + 0.5 * np.log(k / k0)
    ratio += 0.5 * tau * (k0 * (mu - M0) ** 2 - k * (mu - m) ** 2)
    assert_mean(ratio.sum(1), divergence(family, N, mean, scatter))


@pytest.mark.parametrize("n", [1, 7, 200])
@pytest.mark.parametrize("name", ["full", "diag"])
def test_predictive_densities_integrate_to_one(name: str, n: int) -> None:
    """By Gauss-Legendre nodes u, where x = m + s tan u reaches to infinity."""
    family, N, mean, scatter = topic(name, n)
    node, weight = np.polynomial.legendre.leggauss(400)
    u, spread = 0.5 * np.pi * node, 0.3
    one = mean[0][:, None] + spread * np.tan(u)
    jacobian = 0.5 * np.pi * weight * spread / np.cos(u) ** 2
    x = np.stack([a.ravel() for a in np.meshgrid(*one, indexing="ij")], axis=1)
    density = np.exp(family.log_predictive(x, N, mean, scatter)[:, 0])
    total = jacobian @ density.reshape(400, 400) @ jacobian
    assert total == pytest.approx(1.0, abs=1e-9)  # 1e-13 seen


def test_predictive_probabilities_of_words_sum_to_one() -> None:
    family = family_of("multinomial", 5, HDPPrior(word=0.1), np.zeros(0))
    counts = np.array([[4.0, 0.0, 1.5, 0.0, 0.25], [0.0] * 5])
    log_p = family.log_predictive(np.arange(5), counts.sum(1), counts, counts[:, :0])
    assert np.exp(log_p).sum(0) == pytest.approx(np.ones(2), abs=1e-12)
