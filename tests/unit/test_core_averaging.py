"""Weights and stacking of models against the formulas, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from dyntree._core import averaging
from tests.oracle import averaging as oracle


def densities(n: int = 200, m: int = 4, seed: int = 0) -> np.ndarray:
    """Log densities of n rows under m models, with gaps and impossible rows."""
    rng = np.random.default_rng(seed)
    found = rng.normal(-1.0, 3.0, (n, m))
    found[5, 1] = found[17, 3] = np.nan
    found[9] = -np.inf
    found[11, 0] = -np.inf
    found[13, 2] = -5000.0
    return found


@pytest.mark.parametrize(("discount", "tempering"), [(0.98, 0.3), (1.0, 1.0)])
def test_weights_are_those_of_the_formula(discount: float, tempering: float) -> None:
    given = densities()
    log_weights, weights = np.zeros(4), np.empty_like(given)
    found = averaging.weigh(given, discount, tempering, log_weights, weights)
    expected = oracle.weigh(given, discount, tempering, np.zeros(4))
    np.testing.assert_allclose(weights, expected[0], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found, expected[1], rtol=1e-12)
    np.testing.assert_allclose(log_weights, expected[2], rtol=1e-12, atol=1e-12)
    assert np.isnan(found[[5, 17]]).all()
    assert found[9] == -np.inf


def test_without_discount_weights_are_the_models_posterior() -> None:
    """At tempering 1 and no discount, w is proportional to the models' evidence."""
    given = np.random.default_rng(3).normal(size=(30, 3))
    log_weights = np.zeros(3)
    found = averaging.weigh(given, 1.0, 1.0, log_weights, np.empty_like(given))
    evidence = np.exp(given.sum(axis=0))
    weights = np.exp(log_weights) / np.exp(log_weights).sum()
    np.testing.assert_allclose(weights, evidence / evidence.sum(), rtol=1e-12)
    np.testing.assert_allclose(found.sum(), np.log(evidence.mean()), rtol=1e-12)


def labels(n: int = 300, m: int = 3, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities of the labels that came, and the labels."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.0, 2.0, n)
    y = (rng.random(n) < expit(truth)).astype(float)
    p = expit(0.5 * truth[:, None] + rng.normal(0.0, 1.0, (n, m)))
    log_p = np.log(np.where(y[:, None] > 0.5, p, 1.0 - p))
    log_p[4, 0], log_p[8, 1], log_p[12, 2] = np.nan, 0.0, -800.0
    return log_p, y


def test_stacking_is_the_filter_of_the_formula() -> None:
    log_p, y = labels()
    coef, covariance = np.full(3, 1 / 3), np.eye(3) / 3
    found = averaging.stack(log_p, y, coef, covariance)
    expected = oracle.stack(log_p, y, np.full(3, 1 / 3), np.eye(3) / 3)
    np.testing.assert_allclose(found, expected[0], rtol=1e-8)
    np.testing.assert_allclose(coef, expected[1], rtol=1e-8)
    np.testing.assert_allclose(covariance, expected[2], rtol=1e-7, atol=1e-12)


def test_what_is_foreseen_is_what_stacking_scores() -> None:
    log_p, y = labels()
    coef, covariance = np.full(3, 1 / 3), np.eye(3) / 3
    averaging.stack(log_p[:-1], y[:-1], coef, covariance)
    p = np.exp(log_p[-1:]) if y[-1] else 1.0 - np.exp(log_p[-1:])
    second = averaging.stacked(p, coef)
    np.testing.assert_allclose(second, expit(logit(p) @ coef), rtol=1e-10)
    score = averaging.stack(log_p[-1:], y[-1:], coef, covariance)
    came = second if y[-1] else 1.0 - second
    np.testing.assert_allclose(np.exp(score), came, rtol=1e-10)


def test_names_of_labels_do_not_matter() -> None:
    """Exchanging the labels leaves every probability as it was."""
    log_p, y = labels()
    one, other = np.full(3, 1 / 3), np.full(3, 1 / 3)
    a = averaging.stack(log_p, y, one, np.eye(3) / 3)
    b = averaging.stack(log_p, 1.0 - y, other, np.eye(3) / 3)
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_cuts_do_not_matter() -> None:
    """Rows in one call or in several give the same bits."""
    given = densities()
    states = []
    for cuts in ([], [1, 50, 51]):
        log_weights, weights = np.zeros(4), []
        for part in np.split(given, cuts):
            weights.append(np.empty_like(part))
            averaging.weigh(part.copy(), 0.98, 0.3, log_weights, weights[-1])
        states.append((log_weights.tobytes(), np.concatenate(weights).tobytes()))
    assert states[0] == states[1]


def test_shapes_are_checked() -> None:
    given, weights = np.zeros((5, 3)), np.zeros((5, 3))
    with pytest.raises(ValueError, match="2 >= 1 models; got 3"):
        averaging.weigh(given, 1.0, 1.0, np.zeros(2), weights)
    with pytest.raises(ValueError, match="must have 5 rows; got 4"):
        averaging.weigh(given, 1.0, 1.0, np.zeros(3), weights[:4].copy())
    with pytest.raises(ValueError, match="one value a row, 5; got 4"):
        averaging.stack(given, np.zeros(4), np.zeros(3), np.eye(3))
    with pytest.raises(ValueError, match="3 >= 1 models; got 2"):
        averaging.stack(given, np.zeros(5), np.zeros(3), np.eye(2))
    with pytest.raises(ValueError, match="2 >= 1 models; got 3"):
        averaging.stacked(given, np.zeros(2))
