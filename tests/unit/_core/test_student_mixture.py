"""Student t mixtures of the core: kernels against SciPy, edges, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from dyntree._core import student_mixture as mixture

DFS = [0.05, 0.3, 0.999, 1.0, 1.5, 2.0, 3.0, 7.7, 20.0, 99.5, 3e3, 9999.0, 10001.0, 1e8]
LEVELS = np.array([1e-6, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0 - 1e-6])


def one(n: int, df: Any, location: Any = 0.0, scale: Any = 1.0) -> tuple[Any, ...]:
    """n rows of one component each."""
    ones = np.ones(n)
    return np.arange(n + 1), ones, location * ones, scale * ones, df * ones


def row(*parts: tuple[float, float, float, float]) -> tuple[Any, ...]:
    """One row with these components (weight, location, scale, df)."""
    return np.array([0, len(parts)]), *np.array(parts).T


@pytest.mark.parametrize("df", DFS)
def test_the_cdf_is_scipys(df: float) -> None:
    z = np.concatenate([np.linspace(-14.0, 14.0, 701), [-1e150, -1e3, 1e5]])
    got, expected = mixture.cdf(*one(len(z), df), z), special.stdtr(df, z)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=2e-15)


def test_the_tail_is_a_power_law_where_squares_overflow() -> None:
    z = -(10.0 ** np.array([150.0, 160.0, 200.0, 300.0]))
    got = np.log10(mixture.cdf(*one(4, 0.05), z))
    np.testing.assert_allclose(np.diff(got), [-0.5, -2.0, -5.0], rtol=1e-12)


@pytest.mark.parametrize("df", [1e300, np.inf])
def test_the_cdf_without_end_of_freedom_is_normal(df: float) -> None:
    z = np.linspace(-14.0, 14.0, 57)
    np.testing.assert_allclose(
        mixture.cdf(*one(57, df), z), special.ndtr(z), rtol=1e-12
    )
    np.testing.assert_allclose(
        mixture.quantiles(*one(1, df), LEVELS)[0], special.ndtri(LEVELS), atol=1e-12
    )


@pytest.mark.parametrize("df", DFS)
def test_quantiles_of_one_component_are_scipys(df: float) -> None:
    levels = LEVELS if df >= 0.3 else LEVELS[1:-1]  # or SciPy's overflow
    got = mixture.quantiles(*one(1, df, 0.25, 2.0), levels)[0]
    expected = 0.25 + 2.0 * stats.t.ppf(levels, df)
    # 1e-13 in the cdf is 1e-7 of the smallest level; the series do better in the tail.
    # those of SciPy 1.14 are themselves off by 2e-11
    np.testing.assert_allclose(got, expected, rtol=5e-11, atol=1e-12)


@pytest.mark.parametrize("df", [0.5, 3.0, 1e6, np.inf])
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e3])
def test_the_log_density_of_one_component(df: float, scale: float) -> None:
    distance = np.array([0.0, 1e-200, 1e-9, 0.1]) * min(scale * 1e3, 1.0)
    got = mixture.log_density(*one(4, df, scale=scale), distance)
    z = distance / scale
    if df == np.inf:
        expected = stats.norm.logpdf(z) - np.log(scale)
    else:
        expected = stats.t.logpdf(z, df) - np.log(scale)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_a_component_without_a_distribution_makes_its_row_nan() -> None:
    good = (0.5, 0.0, 1.0, 5.0)
    for bad in [
        (0.5, 0.0, 1.0, 0.0), (0.5, 0.0, 1.0, -2.0), (0.5, 0.0, 1.0, np.nan),
        (0.5, np.nan, 1.0, 5.0), (0.5, 0.0, np.nan, 5.0), (0.0, 0.0, 1.0, np.nan),
    ]:  # fmt: skip
        parts = row(good, bad)
        assert np.isnan(mixture.quantiles(*parts, LEVELS)).all()
        assert np.isnan(mixture.log_density(*parts, [0.3]))
        assert np.isnan(mixture.cdf(*parts, [0.3]))


def test_components_of_no_weight_have_no_say() -> None:
    alone, beside = row((1.0, 2.0, 0.5, 4.0)), (0.0, -1e9, 3.0, 1.0)
    with_nothing = row((1.0, 2.0, 0.5, 4.0), beside)
    got = mixture.quantiles(*with_nothing, LEVELS)
    np.testing.assert_allclose(got, mixture.quantiles(*alone, LEVELS), rtol=1e-12)
    for ask in (mixture.cdf, mixture.log_density):
        assert ask(*with_nothing, [1.7]) == pytest.approx(ask(*alone, [1.7]), rel=1e-14)


def test_an_infinite_scale_holds_half_of_its_weight_on_either_side() -> None:
    parts = row((0.5, 0.0, np.inf, 1.0), (0.5, 3.0, 1.0, 5.0))
    got = mixture.quantiles(*parts, np.array([0.1, 0.25, 0.5, 0.6, 0.75, 0.9]))[0]
    assert got[[0, 1]].tolist() == [-np.inf] * 2
    assert got[[4, 5]].tolist() == [np.inf] * 2
    assert got[2] == pytest.approx(3.0, abs=1e-12)
    assert got[3] == pytest.approx(3.0 + stats.t.ppf(0.7, 5.0), rel=1e-12)
    alone = mixture.quantiles(*one(1, 1.0, 7.0, np.inf), np.array([0.1, 0.5, 0.9]))
    assert alone[0].tolist() == [-np.inf, 7.0, np.inf]
    assert mixture.cdf(*one(1, 1.0, 7.0, np.inf), [1e9]).tolist() == [0.5]


@pytest.mark.parametrize("scale", [0.0, 1e-320, 1e-300])
def test_point_masses_are_found(scale: float) -> None:
    for place in (0.0, 2.0, -1e5):
        parts = row((0.4, place, scale, 3.0), (0.6, 0.0, 1.0, 5.0))
        before = 0.6 * special.stdtr(5.0, place)
        levels = np.clip(before + np.array([0.1, 0.2, 0.3]), 0.0, 1.0)
        got = mixture.quantiles(*parts, levels)[0]
        np.testing.assert_allclose(got, place, rtol=1e-15, atol=1e-60)
    steps = row((0.25, -1.0, scale, 3.0), (0.75, 4.0, scale, 3.0))
    got = mixture.quantiles(*steps, np.array([0.1, 0.2, 0.3, 0.9]))[0]
    np.testing.assert_allclose(got, [-1.0, -1.0, 4.0, 4.0], rtol=1e-15)
    if scale == 0.0:
        assert mixture.cdf(*steps, [-1.0])[0] == 0.25
        assert mixture.cdf(*steps, [3.9])[0] == 0.25


@pytest.mark.parametrize("gap", [1e2, 1e6, 1e150])
def test_modes_far_apart(gap: float) -> None:
    """Newton's method has nothing to go by between them."""
    parts = row((0.3, -gap, 1.0, 50.0), (0.7, gap, 1.0, 9.0))
    levels = np.array([0.01, 0.29, 0.31, 0.99])
    got = mixture.quantiles(*parts, levels)[0]
    near = stats.t.ppf([0.01 / 0.3, 0.29 / 0.3], 50.0) - gap
    far = stats.t.ppf([0.01 / 0.7, 0.69 / 0.7], 9.0) + gap
    np.testing.assert_allclose(got, [*near, *far], rtol=1e-9)
    assert -gap < mixture.quantiles(*parts, np.array([0.3]))[0, 0] < gap


@pytest.mark.parametrize("n_threads", [2, 7])
def test_threads_and_company_change_nothing(n_threads: int) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 9, 300)
    start = np.concatenate([[0], np.cumsum(sizes)])
    n = start[-1]
    parts = (
        np.repeat(1.0 / sizes, sizes), rng.normal(size=n) * 3.0,
        rng.uniform(0.1, 2.0, n), rng.integers(1, 60, n) / 2.0,
    )  # fmt: skip
    alone = mixture.quantiles(start, *parts, LEVELS)
    assert mixture.quantiles(start, *parts, LEVELS, n_threads).tobytes() == (
        alone.tobytes()
    )
    for j in (0, 150, 299):
        own = [a[start[j] : start[j + 1]] for a in parts]
        got = mixture.quantiles(np.array([0, sizes[j]]), *own, LEVELS[::-1].copy())
        assert got[0, ::-1].tolist() == alone[j].tolist()


@pytest.mark.parametrize("start", [[0, 3], [1, 0], [-1, 1], []])
def test_rows_stay_within_the_components(start: list[int]) -> None:
    for ask in (mixture.moments, mixture.cdf, mixture.log_density, mixture.quantiles):
        more = [] if ask is mixture.moments else [np.zeros(max(0, len(start) - 1))]
        with pytest.raises(ValueError, match="start must not decrease"):
            ask(np.array(start, dtype=np.int64), *np.ones((4, 2)), *more)


def test_one_response_a_row() -> None:
    for ask in (mixture.cdf, mixture.log_density):
        with pytest.raises(ValueError, match="y must be of shape"):
            ask(*one(2, 3.0), np.zeros(1))
