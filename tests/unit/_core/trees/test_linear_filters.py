"""Regressions that learn row by row: the core beside the oracle, and what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree._core.rng import CounterSource
from dyntree._core.trees.linear_filters import LinearFilters
from tests.helpers import mostly_slow
from tests.oracle import linear_filters as oracle

OPTIONS: dict[str, Any] = {"forget": 1.0, "spreads": (0.1, 0.5, 2.0), "clip": 4.0}


def rows(n_classes: int, gaps: bool = False, n: int = 300) -> tuple[Any, Any]:
    """Labels by bands of a plane; the last column is constant for some time."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-3, 1.0] + [5.0, 0.0, 0.0, 0.0]
    X[:, 3] = (X[:, 3] > 1.0) & (np.arange(n) > 40)
    score = (X[:, 0] - 5.0) - X[:, 1] / 1e3 + 0.5 * rng.normal(size=n)
    ends = np.linspace(-0.7, 0.7, n_classes - 1) if n_classes > 1 else []
    y = np.digitize(score, ends).astype(float)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def filters(n_classes: int, n_features: int = 4, **options: Any) -> LinearFilters:
    """Filters that know no row."""
    return LinearFilters(
        CounterSource(5), n_features=n_features, n_classes=n_classes,
        **OPTIONS | options,
    )  # fmt: skip


@pytest.mark.parametrize("weighting", [None, "frequency"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("forget", [1.0, 0.97])
@pytest.mark.parametrize("n_classes", mostly_slow([1, 2, 4], 2))
def test_the_core_meets_the_oracle(
    n_classes: int, forget: float, gaps: bool, weighting: str | None
) -> None:
    X, y = rows(n_classes, gaps)
    times = None
    if weighting is not None:
        times = np.random.default_rng(2).integers(1, 4, len(y)) / 2.0
    made = filters(n_classes, forget=forget, weighting=weighting)
    plain = oracle.LinearFilters(4, n_classes, **OPTIONS | {"forget": forget})
    proba = np.empty((len(y), n_classes))
    found, expected = made.update(X, y, proba, 1, times), plain.update(X, y, times)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(made.weights, plain.weights(), rtol=0, atol=1e-8)
    for x, p in zip(X[:20], made.predict_proba(X[:20]), strict=True):
        np.testing.assert_allclose(p, plain.proba(x), rtol=0, atol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert made.log_evidence == pytest.approx(found.sum(), rel=1e-12)


@pytest.mark.parametrize("n_before", mostly_slow([10, 6, 60]))
def test_a_late_label_and_a_late_column_are_as_in_the_oracle(n_before: int) -> None:
    X, y = rows(4)
    early = np.minimum(y[:n_before], 1.0)
    for fill in (0.0, np.nan):
        made, plain = filters(2, 3), oracle.LinearFilters(3, 2)
        made.update(X[:n_before, :3].copy(), early)
        plain.update(X[:n_before, :3], early)
        made = made.with_classes(4)
        plain.with_classes(4)
        made = made.widened(
            lambda old, fill=fill: np.column_stack([old, np.full(len(old), fill)])
        )
        plain.widen([fill])
        found, expected = made.update(X, y), plain.update(X, y)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_a_late_label_knows_what_a_declared_one_does() -> None:
    """The filters of a label that no row had are those of a label that comes late."""
    X, y = rows(4)
    known = filters(4)
    known.update(X[:100], np.minimum(y[:100], 1.0))
    for n in (2, 3):
        late = filters(n)
        late.update(X[:100], np.minimum(y[:100], 1.0))
        late = late.with_classes(4)
        for mine, other in zip(late.coefficients, known.coefficients, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12)


def test_files_and_copies_go_on_as_the_filters() -> None:
    X, y = rows(4, gaps=True)
    for n in (5, 10, 80):
        made = filters(4, forget=0.99)
        made.update(X[:n], y[:n])
        again = made.copy()
        again.update(X[n : n + 50], y[n : n + 50])
        made.update(X[n : n + 50], y[n : n + 50])
        for name, array in made.to_arrays()[1].items():
            np.testing.assert_array_equal(array, again.to_arrays()[1][name])


def test_rows_that_are_dropped_fix_the_units_before() -> None:
    X, y = rows(2)
    made = filters(2)
    made.update(X[:7], y[:7])
    made = made.without_rows()
    assert made.n_active == 0
    assert made.n_seen == 7
    assert made.has_units
    made.update(X[7:60], y[7:60])
    assert np.isfinite(made.log_evidence)


# ------------------------------------------------------------ one label
@pytest.mark.parametrize("seed", range(4))
def test_a_label_is_added_as_by_quadrature(seed: int) -> None:
    """Against 20,000 points; variances of log odds from .03 to 30."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        v = np.exp(rng.uniform(np.log(0.03), np.log(30.0)))
        e, t = 2.0 * rng.normal() * np.sqrt(min(v, 9.0)), float(rng.integers(2))
        times = float(rng.choice([0.5, 1.0, 1.0, 3.0]))
        found, mean, variance = oracle.site(e, v, t, times)
        u = e + np.sqrt(v) * np.linspace(-12.0, 12.0, 20_001)
        logs = -times * np.logaddexp(0.0, (1.0 - 2.0 * t) * u) - (u - e) ** 2 / (2 * v)
        log_z = np.logaddexp.reduce(logs)
        share = np.exp(logs - log_z)
        m = share @ u
        truth = share @ (u - m) ** 2
        log_z += np.log(u[1] - u[0]) - 0.5 * np.log(2.0 * np.pi * v)
        assert abs(found - log_z) < 0.01
        assert abs(mean - m) < 0.02 * np.sqrt(truth)
        assert 0.97 < variance / truth < 1.03
        assert variance < v  # a label is log-concave


def test_coefficients_are_those_of_a_regression() -> None:
    """Three standard errors of the mode of all rows, beside prior and order."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X @ [1.0, -1.0, 0.0] + rng.logistic(size=400) > 0.0).astype(float)
    made = filters(2, 3, spreads=(2.0,))
    made.update(X, y)
    w, _ = made.standardized(X)
    odds = 1.0 - 2.0 * y

    def loss(b: Any) -> float:
        return float(np.logaddexp(0.0, odds * (w @ b)).sum() + b[1:] @ b[1:] / 8.0)

    mode = minimize(loss, np.zeros(4)).x
    mean, covariance = (part[0, 0] for part in made.coefficients)
    error = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(mean - mode) < error)


# ------------------------------------------------------------ invariance
@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_of_columns_change_nothing(scale: float) -> None:
    X, y = rows(4)
    found, other = filters(4), filters(4)
    np.testing.assert_allclose(
        found.update(X, y), other.update(3.0 * scale + scale * X, y), atol=1e-7
    )
    np.testing.assert_allclose(
        found.predict_proba(X), other.predict_proba(3.0 * scale + scale * X), atol=1e-7
    )


def test_labels_that_change_places_change_nothing_else() -> None:
    X, y = rows(2)
    found, other = filters(2), filters(2)
    np.testing.assert_allclose(
        found.update(X, y), other.update(X, 1.0 - y), rtol=0, atol=1e-12
    )
    X, y = rows(4)
    found, other = filters(4), filters(4)
    np.testing.assert_allclose(
        found.update(X, y), other.update(X, 3.0 - y), rtol=0, atol=1e-12
    )


def test_a_constant_column_changes_nothing() -> None:
    X, y = rows(2)
    found, other = filters(2), filters(2, 5)
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    np.testing.assert_allclose(
        found.update(X, y), other.update(wide, y), rtol=0, atol=1e-12
    )


def test_another_order_changes_little() -> None:
    X, y = rows(2, n=400)
    X = X[:, :3].copy()
    found, other = filters(2, 3), filters(2, 3)
    found.update(X, y)
    other.update(X[::-1].copy(), y[::-1].copy())
    off = np.abs(found.predict_proba(X) - other.predict_proba(X))
    assert off.max() < 0.06  # each row is added to a normal law of those before it
    assert off.mean() < 0.02


def test_values_far_away_do_not_ruin_a_column() -> None:
    X, y = rows(2, n=400)
    far = X.copy()
    far[100] = 1e12
    found, other = filters(2), filters(2)
    whole, harmed = found.update(X, y), other.update(far, y)
    assert harmed[101:].mean() > whole[101:].mean() - 0.02


def test_bad_arguments_are_refused() -> None:
    X, y = rows(2)
    made = filters(2)
    with pytest.raises(ValueError, match="below 2"):
        made.update(X, y + 1.0)
    with pytest.raises(ValueError, match="weighted"):
        made.update(X, y, None, 1, np.ones(len(y)))
    with pytest.raises(ValueError, match="shape"):
        made.update(X[:, :2].copy(), y)
    with pytest.raises(ValueError, match="4 columns"):
        made.predict_proba(X[:, :2].copy())
    assert made.n_seen == 0


SIZES = (np.inf, 10.0, 3.0, 1.0, 0.3)


def counts(gaps: bool = False, n: int = 300) -> tuple[Any, Any, Any]:
    """Events of a log-linear world, and their exposures."""
    rng = np.random.default_rng(3)
    X, _ = rows(2, gaps, n)
    exposure = rng.uniform(0.5, 2.0, n)
    rate = np.exp(0.5 + 0.6 * (np.nan_to_num(X[:, 0], nan=5.0) - 5.0))
    return X, rng.poisson(exposure * rate * rng.gamma(2.0, 0.5, n)) * 1.0, exposure


@pytest.mark.parametrize("weighting", [None, "frequency"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("forget", mostly_slow([0.97, 1.0]))
@pytest.mark.parametrize("sizes", [(np.inf,), SIZES])
def test_counts_meet_the_oracle(
    sizes: Any, forget: float, gaps: bool, weighting: str | None
) -> None:
    X, y, exposure = counts(gaps)
    times = None
    if weighting is not None:
        times = np.random.default_rng(2).integers(1, 4, len(y)) / 2.0
    made = filters(0, forget=forget, weighting=weighting, sizes=sizes)
    made.set_exposure_unit(1.0, 1.7)
    plain = oracle.CountFilters(4, sizes, 1.7, forget)
    found = made.update(X, y, None, 1, times, exposure)
    expected = plain.update(X, y, times, exposure)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(made.weights, plain.weights(), rtol=0, atol=1e-8)
    mean, variance = made.log_rates(X[:5])
    for k, x in enumerate(X[:5]):
        _, e, v, more = plain.odds(x)
        np.testing.assert_allclose(mean[k], e[:, 0] + np.log(1.7), atol=1e-8)
        np.testing.assert_allclose(variance[k], (v + more)[:, 0], rtol=1e-8)
    assert made.log_evidence == pytest.approx(found.sum(), rel=1e-12)


def test_a_count_moves_a_log_rate_as_quadrature_says() -> None:
    """Log density within 5e-3, mean within .02 sd, variance within 5 %."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        v, e = 10 ** rng.uniform(-1.5, 1.5), rng.normal()
        size = rng.choice([np.inf, 10.0, 3.0, 1.0, 0.3])
        y = float(rng.poisson(np.exp(np.clip(e + np.sqrt(v) * rng.normal(), -9, 9))))
        x = e + np.sqrt(v) * np.linspace(-12.0, 12.0, 200_001)
        mean = np.exp(x)
        if np.isinf(size):
            log_p = stats.poisson.logpmf(y, mean)
        else:
            log_p = stats.nbinom.logpmf(y, size, size / (size + mean))
        log_p += stats.norm.logpdf(x, e, np.sqrt(v))
        top = log_p.max()
        p = np.exp(log_p - top)
        total = p.sum() * (x[1] - x[0])
        m = p @ x / p.sum()
        u = p @ (x - m) ** 2 / p.sum()
        log_z, m_site, u_site = oracle.count_site(e, v, y, size, 0.0)
        assert log_z == pytest.approx(np.log(total) + top, abs=5e-3)
        assert m_site == pytest.approx(m, abs=0.02 * np.sqrt(u))
        assert u_site == pytest.approx(u, rel=0.05)
        assert u_site < v


def test_a_large_size_is_a_poisson_law() -> None:
    X, y, exposure = counts()
    found = []
    for size in (1e7, np.inf):
        made = filters(0, sizes=(size,))
        found.append(made.update(X, y, None, 1, None, exposure))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-4)


def test_counts_of_any_size_are_learned() -> None:
    """No count, exposure or weight leaves a number that is not finite."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    for y, exposure, times in [
        (np.resize([0.0, 1e15], 60), 1.0, 1.0),
        (np.zeros(60), 1e9, 1.0),
        (np.full(60, 1e9), 1e-9, 1e9),
        (np.resize([0.0, 0.0, 5.0], 60), 1.0, 1e-9),
    ]:
        made = filters(0, sizes=SIZES, weighting="frequency")
        both = np.full(60, exposure), np.full(60, times)
        assert np.isfinite(made.update(X, y, None, 1, both[1], both[0])).all()
        for part in (*made.log_rates(X), *made.coefficients, made.weights):
            assert np.isfinite(part).all()
