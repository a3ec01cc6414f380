"""Mixtures of count laws: against SciPy's, by sums and by draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from dyntree._core import beta_counts
from dyntree.summaries.counts import (
    CountMixture,
    CountPrediction,
    RateLaws,
)

LAWS = [
    # first, second, size, exposure
    (3.0, 2.0, np.inf, 1.5),
    (0.4, 5.0, np.inf, 0.2),
    (900.0, 30.0, np.inf, 4.0),
    (6.0, 9.0, 2.5, 1.0),
    (2.2, 40.0, 0.3, 0.1),
    (50.0, 700.0, 12.0, 3.0),
    (1.3, 2.0, 0.1, 1.0),
]


def single(kind: Any, law: tuple[float, ...], n_rows: int = 1) -> Any:
    """One component a row, the same in all."""
    one = np.ones(n_rows)
    return kind(np.arange(n_rows + 1), one, *(value * one for value in law))


def probability(law: tuple[float, ...], k: float) -> float:
    """By SciPy's negative binomial, of beta ones by integrating over p."""
    a, b, size, e = law
    if np.isinf(size):
        return float(stats.nbinom.pmf(k, a, b / (b + e)))

    def given(p: float) -> float:
        return float(stats.nbinom.pmf(k, size, p) * stats.beta.pdf(p, a, b))

    found, _ = integrate.quad(given, 0.0, 1.0, epsabs=0.0, epsrel=1e-11, limit=500)
    return float(found)


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_are_those_of_scipy(law: tuple[float, ...]) -> None:
    k = np.arange(60.0)
    mixture = single(CountMixture, law, len(k))
    log_p = mixture.log_density(k)
    some = [0, 1, 4, 15, 59]
    exact = np.log([probability(law, k) for k in some])
    np.testing.assert_allclose(log_p[some], exact, rtol=1e-8, atol=1e-9)
    sums = np.exp(log_p).cumsum()
    np.testing.assert_allclose(mixture.cdf(k), sums, rtol=1e-10)
    np.testing.assert_array_equal(mixture.cdf(k), mixture.cdf(k + 0.5))
    assert single(CountMixture, law).cdf(np.array([-1.0]))[0] == 0.0
    upper = mixture.upper_tail(k)
    np.testing.assert_allclose(upper[:-1] - upper[1:], np.exp(log_p)[:-1], atol=1e-13)
    np.testing.assert_array_equal(mixture.upper_tail(k - 0.5), upper)
    assert single(CountMixture, law).upper_tail(np.array([-1.0]))[0] == upper[0] == 1.0


@pytest.mark.parametrize("law", [law for law in LAWS if law[0] > 2.0])
def test_moments_are_those_of_many_counts(law: tuple[float, ...]) -> None:
    mean, var = single(CountMixture, law).moments()
    a, b, size, e = law
    told, spread = single(RateLaws, law).moments()
    assert told[0] == pytest.approx(mean[0], rel=1e-12)
    given = mean if np.isinf(size) else mean + (spread + mean**2) / size  # of the noise
    assert var[0] == pytest.approx((spread + given)[0], rel=1e-10)
    if np.isinf(size):
        assert var[0] == pytest.approx(stats.nbinom(a, b / (b + e)).var(), rel=1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_means_times_a_factor_have_its_moments(law: tuple[float, ...]) -> None:
    """A law whose variance is infinite stays as it is."""
    rates = single(RateLaws, law)
    (mean,), (var,) = rates.moments()
    for spread in (0.0, 0.01, 0.4, 3.0):
        (same,), (wider,) = rates._varied(np.array([spread])).moments()
        assert same == pytest.approx(mean, rel=1e-9)
        whole = var * (1.0 + spread**2) + (spread * mean) ** 2
        assert wider == (pytest.approx(whole, rel=1e-9) if np.isfinite(var) else var)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("level", [0.01, 0.05, 0.5, 0.9, 0.99])
def test_quantiles_are_the_least_counts_of_that_probability(
    law: tuple[float, ...], level: float
) -> None:
    mixture = single(CountMixture, law)
    k = mixture.quantile(np.array([level]))[0]
    assert k == np.floor(k) >= 0.0
    assert mixture.cdf(k)[0] >= level > mixture.cdf(k - 1.0)[0]
    rates = single(RateLaws, law)
    assert rates.cdf(rates.quantile(np.array([level]))[0])[0] == pytest.approx(
        level, rel=1e-9
    )


WIDE = [
    # size, first, second
    (12.0, 40.0, 60.0),
    (400.0, 4.0, 6.0),
    (0.3, 5.0, 90.0),
    (0.1, 1.3, 200.0),
    (2.0, 0.3, 3.0),
    (100.0, 30.0, 3e5),
    (1e4, 500.0, 1e3),
    (1e5, 1e5, 2e5),
]


@pytest.mark.parametrize("law", WIDE)
def test_sums_of_thousands_of_counts_are_told_by_panels(
    law: tuple[float, float, float],
) -> None:
    k = np.array([999.0, 1000.0, 1001.0, 3000.0, 20_000.0, 300_000.0, 1_000_000.0])
    size, first, second = law
    j = np.arange(k[-1])
    steps = (j + size) * (j + second) / ((j + 1) * (j + first + second + size))
    none = special.betaln(first + size, second) - special.betaln(first, second)
    log_p = none + np.append(0.0, np.log(steps).astype(np.longdouble).cumsum())
    exact = np.exp(log_p).cumsum()[k.astype(int)].astype(float)
    parts = [np.full(len(k), value) for value in law]
    np.testing.assert_allclose(beta_counts.cdf(k, *parts), exact, atol=1e-9)
    told = beta_counts.log_pmf(k, *parts)
    np.testing.assert_allclose(
        told, log_p[k.astype(int)].astype(float), rtol=1e-9, atol=1e-7
    )


@pytest.mark.parametrize("law", [*WIDE, (3.0, 200.0, 1.0), (2.5, 6.0, 9.0)])
def test_upper_tails_keep_their_digits(law: tuple[float, float, float]) -> None:
    """Against the integral of the tail of NB(size, p) over p, wherever that can be."""
    size, first, second = law
    k = np.array([1.0, 3.0, 40.0, 127.0, 128.0, 129.0, 700.0, 5000.0, 1e5, 1e7])
    found = beta_counts.sf(k, *(np.full(len(k), value) for value in law))

    u = np.linspace(-150.0, 150.0, 300_001)  # p = 1 / (1 + exp(u))
    log_beta = first * special.log_expit(-u) + second * special.log_expit(u)
    step = np.exp(log_beta - special.betaln(first, second)) * (u[1] - u[0])

    def exact(k: float) -> float:  # smooth, so that a sum of steps is the integral
        return float(special.betainc(k, size, special.expit(u)) @ step)

    seen = [j for j in range(len(k)) if found[j] > 1e-250]
    np.testing.assert_allclose(found[seen], [exact(k[j]) for j in seen], rtol=1e-8)
    assert np.all(np.diff(found) <= 0.0)
    far = beta_counts.sf(np.array([np.inf, np.nan]), *([v, v] for v in law))
    np.testing.assert_array_equal(far, [0.0, np.nan])


@pytest.mark.parametrize(
    "law", [(100.0, 30.0, 3e10), (12.0, 5.0, 1e14), (0.5, 3.0, 1e9)]
)
def test_large_counts_are_foreseen_as_their_means(
    law: tuple[float, float, float],
) -> None:
    """Of counts of a thousand million and more the noise is a trifle, and so is the
    next count: probabilities are differences of distribution functions.

    What is left of the Poisson noise is 1e-7 at most."""
    size, first, second = law
    k = np.floor(size * second / first * np.array([0.5, 0.9, 1.0, 1.1, 2.0]))
    parts = [np.full(len(k), value) for value in law]
    limit = special.betainc(size, first, k / (second + k))
    np.testing.assert_allclose(beta_counts.cdf(k, *parts), limit, atol=1e-7)
    far = np.floor(1.001 * k)
    grown = beta_counts.cdf(far, *parts) - beta_counts.cdf(k, *parts)
    between = np.exp(beta_counts.log_pmf(np.floor(0.5 * (k + far)), *parts))
    np.testing.assert_allclose(between * (far - k), grown, rtol=1e-3)


def test_quantiles_of_large_counts_are_those_of_their_means() -> None:
    large = (400.0, 60.0, 1e8, 1.0)
    counts, rates = single(CountMixture, large), single(RateLaws, large)
    levels = np.array([0.05, 0.5, 0.95])
    np.testing.assert_allclose(
        counts.quantile(levels), rates.quantiles(levels), rtol=1e-3
    )


@pytest.mark.parametrize("kind", [CountMixture, RateLaws])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_quantiles_of_mixtures_ask_few_times(
    kind: Any, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer of a distribution function has thousands of parts: a search by
    halving took 25 to 50 of them."""
    rng = np.random.default_rng(4)
    n = 40
    first, second = rng.uniform(2.0, 9.0, n), rng.uniform(5.0, 60.0, n) * scale
    size, weight = rng.choice([0.3, 3.0, 100.0], n), np.full(n, 1.0 / n)
    mixture = kind(np.array([0, n]), weight, first, second, size, np.ones(n))
    asked, own = [], kind.cdf

    def counted(self: Any, y: Any) -> Any:
        asked.append(y)
        return own(self, y)

    monkeypatch.setattr(kind, "cdf", counted)
    found = mixture.quantile(np.array([0.01, 0.5, 0.99]))[0]
    assert len(asked) <= 3 * 30
    for level, q in zip([0.01, 0.5, 0.99], found, strict=True):
        before = q - max(1.0, 1e-15 * q) if kind is CountMixture else q * (1 - 1e-9)
        assert own(mixture, np.array([before]))[0] < level + 1e-12
        assert own(mixture, np.array([q]))[0] >= level - 1e-12


def test_a_mixture_is_the_average_of_its_parts() -> None:
    laws = LAWS[0], LAWS[3], LAWS[5]
    weight = np.array([0.2, 0.5, 0.3])
    columns = (np.array(column) for column in zip(*laws, strict=True))
    mixture = CountMixture(np.array([0, 3]), weight, *columns)
    k = np.array([4.0])
    each = np.array([[probability(law, k) for k in range(5)] for law in laws])
    assert mixture.cdf(k)[0] == pytest.approx(weight @ each.sum(axis=1), rel=1e-8)
    p = np.exp(mixture.log_density(k))[0]
    assert p == pytest.approx(weight @ each[:, 4], rel=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_samples_follow_the_law(law: tuple[float, ...]) -> None:
    """Distribution functions of 20,000 draws: off by .02 in 1 of 10^6 (DKW)."""
    rng = np.random.default_rng(1)
    for kind in (CountMixture, RateLaws):
        one = single(kind, law)
        draws = one.sample(20_000, rng)[:, 0]
        for level in (0.1, 0.5, 0.9):
            at = one.quantile(np.array([level]))[0]
            assert (draws <= at[0]).mean() == pytest.approx(one.cdf(at)[0], abs=0.02)


def test_pit_of_right_counts_is_uniform() -> None:
    """Kolmogorov's test at 10^-4."""
    law, n = LAWS[3], 2000
    parts = (np.arange(n + 1), np.ones(n), *(np.full(n, value) for value in law))
    told = CountPrediction.of_laws(parts, np.ones(n))
    y = told.mixture.sample(1, np.random.default_rng(3))[0]
    assert stats.kstest(told.pit(y, seed=4), "uniform").pvalue > 1e-4
    assert np.all(np.isnan(told.df))
    with pytest.raises(ValueError, match="y must be counts"):
        told.log_density(y + 0.5)


@pytest.mark.parametrize("levels", [[0.0], 1.5, [0.5, np.nan], [[0.5]], "a", None])
def test_levels_of_quantiles_are_inside_zero_and_one(levels: Any) -> None:
    for law in (CountMixture, RateLaws):
        told = law(np.array([0, 1]), *(np.ones(1) for _ in range(5)))
        with pytest.raises(ValueError, match="levels must"):
            told.quantiles(levels)
        with pytest.raises(ValueError, match="q must"):
            told.quantile(levels)
        assert told.quantiles(0.5).tolist() == told.quantiles([0.5]).tolist()


def test_no_rows_have_no_answers() -> None:
    empty = CountMixture(np.array([0]), *(np.empty(0) for _ in range(5)))
    assert empty.moments()[0].shape == (0,)
    assert empty.quantile(np.array([0.5])).shape == (0, 1)
    assert empty.cdf(np.empty(0)).shape == empty.log_density(np.empty(0)).shape == (0,)
