"""Student's t density and log gamma: accurate, and with the oracle's bits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from tests.oracle import density
from tests.probes import core as probe

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
EPSILON = 2.0**-52

WHOLE = [1, 2, 3, 4, 5, 9, 10, 29, 30, 31, 60, 70, 160, 161, 400, 999, 1001, 1023, 1500]
HALVES = [0.5, 1.5, 2.5, 7.5, 14.5, 15.5, 29.5, 30.5, 70.5, 1024.5]
REALS = [1e-3, 0.1, 0.3333, 1.0001, math.pi, 9.99, 16.2, 29.99, 33.3, 80.1, 1200.7]
POINTS = [0.0, *np.logspace(-10, 10, 81).tolist()]


def gamma_of_half(twice: int) -> Decimal:
    """Gamma(twice / 2)."""
    value = Decimal(1) if twice % 2 == 0 else PI.sqrt()
    for k in range(2 if twice % 2 == 0 else 1, twice, 2):
        value *= Decimal(k) / 2
    return value


def log_density(x: float, df: int) -> Decimal:
    """Log density for whole df, in decimal arithmetic."""
    with localcontext() as context:
        context.prec = 50
        constant = gamma_of_half(df + 1) / ((df * PI).sqrt() * gamma_of_half(df))
        return constant.ln() - Decimal(df + 1) / 2 * (1 + Decimal(x) ** 2 / df).ln()


@pytest.mark.parametrize("df", WHOLE)
def test_density_is_accurate(df: int) -> None:
    for x in POINTS:
        exact = log_density(x, df)
        if exact < -700:
            continue
        got = probe.t_density(x, df)
        # an exponential's relative error is the absolute error of its argument
        error = abs(got / float(exact.exp()) - 1.0)
        assert error <= 3 * EPSILON * (2.0 + abs(float(exact))), (x, error)


@pytest.mark.parametrize("df", HALVES + REALS)
def test_density_is_that_of_scipy(df: float) -> None:
    x = np.array(POINTS)
    got = [probe.t_density(value, df) for value in POINTS]
    np.testing.assert_allclose(got, stats.t.pdf(x, df), rtol=2e-12)  # SciPy's own error


@pytest.mark.parametrize("df", WHOLE + HALVES + REALS)
def test_density_has_the_bits_of_the_oracle(df: float) -> None:
    for x in POINTS:
        for value in (x, -x):
            assert probe.t_density(value, df) == density.t_density(value, df)


@pytest.mark.parametrize(
    ("x", "df", "expected"),
    [
        (math.inf, 3.0, 0.0),
        (-math.inf, 3.0, 0.0),
        (math.nan, 3.0, math.nan),
        (1.0, 0.0, math.nan),
        (1.0, -2.0, math.nan),
        (1.0, math.nan, math.nan),
    ],
)
def test_density_at_the_edges(x: float, df: float, expected: float) -> None:
    for function in (probe.t_density, density.t_density):
        np.testing.assert_equal(function(x, df), expected)


def test_log_gamma() -> None:
    x = np.concatenate([np.linspace(0.01, 12.0, 2399), [15.9, 100.3, 1e6]])
    r = [probe.log_gamma_r(value) for value in x.tolist()]
    assert r == [density.log_gamma(value) for value in x.tolist()]
    # R takes the logarithm of Gamma, so its error near the roots 1 and 2 is absolute
    np.testing.assert_allclose(r, gammaln(x), rtol=1e-14, atol=1e-14)
    plain = [probe.log_gamma(value) for value in x.tolist()]
    np.testing.assert_allclose(plain, gammaln(x), rtol=1e-14, atol=1e-15)
