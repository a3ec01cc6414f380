"""Calibration of the native filter: intervals and probabilities hold what they promise.

The filter is approximate: it looks at one leaf a row and has few particles. Each test
states the margin it leaves for that besides the noise of counting, which is bounded at
a false-fail rate of 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dyntree import DynamicTree, StreamingTree
from dyntree._core.trees import query
from dyntree.datasets import load_mcycle
from dyntree.evaluate import prequential

from .clouds import native_cloud

SEEDS = range(2)
FALSE_FAIL = 1e-6


def assert_covers(pit: np.ndarray, margin: float) -> None:
    """Shares inside the central 50 and 90 % are right but for noise and a margin."""
    z = stats.norm.isf(FALSE_FAIL / 4)  # two sides, two levels
    for level in (0.5, 0.9):
        inside = np.mean(np.abs(pit - 0.5) < level / 2)
        bound = z * math.sqrt(level * (1 - level) / len(pit)) + margin
        assert abs(inside - level) < bound, (level, inside, bound)


# ------------------------------------------------------------ trees from the prior
class Drawn:
    """A tree of two inputs in (-1, 1), and its leaves, drawn from the prior."""

    def __init__(self, model: str, rng: np.random.Generator, depth: int = 0) -> None:
        self.below: tuple[Drawn, Drawn] | None = None
        if rng.random() < 0.95 / (1 + depth) ** 2:
            self.variable, self.cut = int(rng.integers(2)), rng.uniform(-0.8, 0.8)
            self.below = Drawn(model, rng, depth + 1), Drawn(model, rng, depth + 1)
        self.spread = math.sqrt(0.1 / rng.gamma(0.5))
        self.level = rng.normal(0.0, self.spread / math.sqrt(0.1))
        self.slopes = rng.normal(0.0, self.spread / math.sqrt(0.04), 2)
        if model == "constant":
            self.slopes[:] = 0.0

    def respond(self, x: np.ndarray, rng: np.random.Generator) -> float:
        if self.below is not None:
            return self.below[int(x[self.variable] > self.cut)].respond(x, rng)
        return float(rng.normal(self.level + x @ self.slopes, self.spread))


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_hold_on_trees_from_the_prior(model: str, seed: int) -> None:
    """Twenty trees of 100 rows, scored from row 25 on, 200 particles; margin .02.

    Given the rows before it each value of the distribution function is uniform, hence
    the binomial bound. It sees errors of coverage of .09 at 50 % and of .06 at 90 %.
    """
    rng = np.random.default_rng(seed)
    pit = []
    for repeat in range(20):
        truth = Drawn(model, rng)
        cloud = native_cloud(model, 2, seed=repeat, n_particles=200, min_leaf=5)
        X = rng.uniform(-1, 1, (100, 2))
        y = np.array([truth.respond(x, rng) for x in X])
        cloud.update(X[:25], y[:25])
        for k in range(25, 100):
            location, scale, df = query.predictive(cloud, X[k : k + 1])
            pit.append(stats.t.cdf((y[k] - location) / scale, df).mean())
            cloud.update(X[k : k + 1], y[k : k + 1])
    assert_covers(np.array(pit), 0.02)


# ------------------------------------------------------------ curves
def pit_along(X: np.ndarray, y: np.ndarray, model: str, seed: int) -> np.ndarray:
    """Distribution function of each row from the 30th on, given those before it."""
    tree = DynamicTree(model, rules="native", n_particles=200, seed=seed)
    tree.update(X[:30], y[:30])
    values = []
    for row, response in zip(X[30:], y[30:], strict=True):
        values.append(tree.predict(row[None]).cdf([response])[0])
        tree.update(row[None], [response])
    return np.array(values)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_hold_on_a_parabola(model: str, seed: int) -> None:
    """Margin .03: no tree is a parabola."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 2, (330, 1))
    y = (x + x * x)[:, 0] + 0.5 * rng.standard_normal(330)
    assert_covers(pit_along(x, y, model, seed), 0.03)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_hold_on_motorcycles(model: str, seed: int) -> None:
    """The data in random order; margin .03: their noise changes within leaves."""
    data = load_mcycle()
    order = np.random.default_rng(seed).permutation(len(data))
    x, y = data[["times"]].to_numpy(float)[order], data["accel"].to_numpy(float)[order]
    assert_covers(pit_along(x, y, model, seed), 0.03)


# ------------------------------------------------------------ probabilities
@pytest.mark.parametrize("window", [None, 100])
@pytest.mark.parametrize("seed", SEEDS)
def test_class_probabilities_are_frequencies(seed: int, window: int | None) -> None:
    """Ten bins of predicted probability against how often the label came.

    Given the rows before it each label is a coin, so that the squared differences over
    their variances are chi-square of ten degrees of freedom at most if the
    probabilities are right, in bins of a variance of 5 or more. Differences are first
    drawn in by a margin of .02 a row. It sees errors of .2 in a bin of 400.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((1200, 2))
    known = np.where(X[:, 0] < 0.3, 0.1, np.where(X[:, 1] < 0.5, 0.4, 0.85))
    y = (rng.random(1200) < known).astype(int)
    options = {"rules": "native", "n_particles": 100, "seed": seed, "classes": (0, 1)}
    tree = (
        DynamicTree("class", **options)
        if window is None
        else StreamingTree("class", window=window, **options)
    )
    p = prequential(tree, X, y, start=100, progress=False).mean[:, 1]
    bins = np.minimum((10 * p).astype(int), 9)
    rows, came, predicted, variance = (
        np.bincount(bins, weights, 10)
        for weights in (np.ones(1100), y[100:], p, p * (1 - p))
    )
    beyond = np.maximum(np.abs(came - predicted) - 0.02 * rows, 0.0)
    full = variance >= 5.0
    statistic = np.sum(beyond[full] ** 2 / variance[full])
    assert statistic < stats.chi2.isf(FALSE_FAIL, 10)
    assert np.count_nonzero(full) >= 3
