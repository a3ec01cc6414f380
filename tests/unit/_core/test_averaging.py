"""Weights and stacking of models against the formulas, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

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


def labels(
    n_classes: int, n: int = 300, m: int = 3, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities by m models, shape (n, m, n_classes), and labels that came."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.0, 2.0, (n, 1, n_classes))
    y = np.array([rng.choice(n_classes, p=softmax(one[0])) for one in truth])
    proba = softmax(0.5 * truth + rng.normal(0.0, 1.0, (n, m, n_classes)), axis=2)
    proba[4, 0], proba[8, 1, 0] = np.nan, 0.0
    return proba, y.astype(float)


def start(m: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return np.full(m, 1.0 / m), np.eye(m) / m


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_stacking_is_the_filter_of_the_formula(n_classes: int) -> None:
    proba, y = labels(n_classes)
    coef, covariance = start()
    found = averaging.stack(proba, y, coef, covariance)
    expected = oracle.stack(proba, y, *start())
    np.testing.assert_allclose(found, expected[0], rtol=1e-8)
    np.testing.assert_allclose(coef, expected[1], rtol=1e-8)
    np.testing.assert_allclose(covariance, expected[2], rtol=1e-7, atol=1e-12)
    assert np.isnan(found[4])


def test_two_labels_are_regressed_on_log_odds() -> None:
    """The precision grows by p (1 - p) z z' and b by its inverse times (y - p) z."""
    proba, y = labels(2)
    proba, y = np.delete(proba, [4, 8], axis=0), np.delete(y, [4, 8])
    coef, covariance = start()
    averaging.stack(proba, y, coef, covariance)
    b, precision = np.full(3, 1.0 / 3.0), 3.0 * np.eye(3)
    for z, label in zip(logit(proba[:, :, 1]), y, strict=True):
        p = expit(z @ b)
        precision += p * (1.0 - p) * np.outer(z, z)
        b += np.linalg.solve(precision, (label - p) * z)
    np.testing.assert_allclose(coef, b, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_what_is_foreseen_is_what_stacking_scores(n_classes: int) -> None:
    proba, y = labels(n_classes)
    coef, covariance = start()
    averaging.stack(proba[:-1], y[:-1], coef, covariance)
    told = averaging.stacked(proba[-1:], coef)
    np.testing.assert_allclose(told[0], softmax(coef @ np.log(proba[-1])), rtol=1e-10)
    score = averaging.stack(proba[-1:], y[-1:], coef, covariance)
    np.testing.assert_allclose(np.exp(score), told[0, int(y[-1])], rtol=1e-10)


def test_the_order_of_labels_does_not_matter() -> None:
    proba, y = labels(4)
    one, other = start(), start()
    a = averaging.stack(proba, y, *one)
    b = averaging.stack(proba[:, :, ::-1].copy(), 3.0 - y, *other)
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(one[0], other[0], rtol=1e-9)


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
    proba = np.full((5, 3, 2), 0.5)
    with pytest.raises(ValueError, match="one value a row, 5; got 4"):
        averaging.stack(proba, np.zeros(4), *start())
    with pytest.raises(ValueError, match="3 >= 1 models; got 2"):
        averaging.stack(proba, np.zeros(5), np.zeros(3), np.eye(2))
    with pytest.raises(ValueError, match=r"y must be below 2; got 2.0 in row 3"):
        averaging.stack(proba, np.array([0.0, 1.0, 0.0, 2.0, 0.0]), *start())
    with pytest.raises(ValueError, match="2 >= 1 models; got 3"):
        averaging.stacked(proba, np.zeros(2))
