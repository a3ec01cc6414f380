"""Tail probabilities of every kind of prediction, against integrals and sums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import dyntree.formula.api as dtf
from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.summaries import ClassPrediction, Prediction, StudentMixture

FALSE_FAIL = 1e-6
MOST = 200_000  # counts that are summed
N = 60
rng = np.random.default_rng(5)
X = rng.random((N, 2))
REAL = 2.0 * (X[:, 0] > 0.5) + X[:, 1] + 0.2 * rng.normal(size=N)
COUNTS = rng.poisson(np.exp(REAL))
EXPOSURE = rng.uniform(0.5, 2.0, N)
LABELS = np.array(["a", "b", "c"])[np.digitize(REAL, (1.0, 2.0))]
TABLE = pd.DataFrame(
    {"p": X[:, 0], "q": X[:, 1], "y": REAL, "n": COUNTS, "e": EXPOSURE, "label": LABELS}
)
SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
FOREST: dict[str, Any] = {"n_trees": 5, "seed": 1}
PARTS = ("first", "second", "size", "exposure")
STREAM: dict[str, Any] = SMALL | {"window": 30}
NEW = X[:3]


def learned(model: Any, y: Any = REAL) -> Any:
    return model.update(X, y).predict(NEW)


def formula(text: str, **options: Any) -> Any:
    fitted = dtf.dynamic_tree(text, TABLE, **options, **SMALL).fit()
    return fitted.get_prediction(TABLE[:3]).distribution


REALS: dict[str, Callable[[], Any]] = {
    "constant": lambda: learned(DynamicTree(**SMALL)),
    "linear": lambda: learned(DynamicTree("linear", **SMALL)),
    "prior": lambda: DynamicTree("prior", n_particles=15, seed=1).update(X, REAL)
    .predict(NEW),
    "R's rules": lambda: learned(DynamicTree("linear", rules="r", **SMALL)),
    "variance weights": lambda: DynamicTree(**SMALL)
    .update(X, REAL, EXPOSURE).predict(NEW, EXPOSURE[:3]),
    "stream": lambda: learned(StreamingTree(**STREAM)),
    "average of windows": lambda: learned(AveragedStream(**SMALL)),
    "average of clouds": lambda: learned(AveragedTrees(n_clouds=2, **SMALL)),
    "random trees": lambda: learned(RandomTreesStream("constant", **FOREST)),
    "formula": lambda: formula("y ~ p + q"),
    "few rows": lambda: DynamicTree("linear", **SMALL).update(X[:5], REAL[:5])
    .predict(NEW),
}  # fmt: skip
COUNTED: dict[str, Callable[[], Any]] = {
    "poisson": lambda: learned(DynamicTree("poisson", **SMALL), COUNTS),
    "negbin": lambda: learned(DynamicTree("negbin", **SMALL), COUNTS),
    "exposures": lambda: DynamicTree("negbin", **SMALL)
    .update(X, COUNTS, exposure=EXPOSURE).predict(NEW, exposure=EXPOSURE[:3]),
    "stream": lambda: learned(StreamingTree("negbin", **STREAM), COUNTS),
    "average of windows": lambda: learned(AveragedStream("poisson", **SMALL), COUNTS),
    "average of clouds": lambda: learned(
        AveragedTrees("negbin", n_clouds=2, **SMALL), COUNTS
    ),
    "formula": lambda: formula("n ~ p + q", model="negbin", exposure="e"),
}  # fmt: skip
LABELLED: dict[str, Callable[[], Any]] = {
    "class": lambda: learned(DynamicTree("class", **SMALL), LABELS),
    "stream": lambda: learned(StreamingTree("class", **STREAM), LABELS),
    "average of windows": lambda: learned(AveragedStream("class", **SMALL), LABELS),
    "average of clouds": lambda: learned(
        AveragedTrees("class", n_clouds=2, **SMALL), LABELS
    ),
    "random trees": lambda: learned(RandomTreesStream("class", **FOREST), LABELS),
    "formula": lambda: formula("label ~ p + q"),
}


def beyond(told: Prediction, y: float, sign: float) -> float:
    """Probability beyond y on one side in the first row, by quadrature.

    Steps away from y grow exponentially, so that tails of any weight have an end."""

    def density(u: float) -> float:
        at = np.full(len(told.mean), y + sign * scale * np.expm1(u))
        return float(np.exp(told.log_density(at)[0])) * scale * np.exp(u)

    scale = max(0.02 * float(told.quantile(0.75)[0] - told.quantile(0.25)[0]), 1e-3)
    cuts = [*np.arange(0.0, 12.0, 1.0), 16.0, 24.0, 40.0]
    parts = [
        integrate.quad(density, low, high, epsabs=0.0, epsrel=1e-10, limit=200)[0]
        for low, high in pairwise(cuts)
    ]
    return float(sum(parts))


@pytest.mark.parametrize("name", REALS)
def test_tails_of_responses_are_integrals(name: str) -> None:
    told = REALS[name]()
    middle = float(told.quantile(0.5)[0])
    width = float(told.quantile(0.9)[0]) - middle
    for far in (-200.0, -8.0, -1.0, -0.1, 0.3, 2.0, 20.0, 1000.0):
        y = middle + far * width
        found = told.tail_probability(np.full(3, y))[0]
        assert found == pytest.approx(2.0 * beyond(told, y, np.sign(far)), rel=1e-6)


@pytest.mark.parametrize("name", REALS)
def test_tails_of_quantiles_are_their_levels(name: str) -> None:
    told = REALS[name]()
    for q in (1e-6, 0.01, 0.3, 0.5, 0.8, 0.999):
        found = told.tail_probability(told.quantile(q))
        np.testing.assert_allclose(found, 2.0 * min(q, 1.0 - q), rtol=1e-6)


def masses(told: Any, j: int) -> np.ndarray:
    """Probabilities of counts in part j of the mixture; 0 where no sum needs them.

    Heavy tails need all counts. Most are cut where a billionth of the probability of
    900 would be left for all others.
    """
    laws = told.mixture
    part = [[1.0], *(getattr(laws, one)[j : j + 1] for one in PARTS)]
    for n in (4_000, MOST):
        one = type(laws)(np.arange(n + 1), *(np.repeat(v, n) for v in part))
        p = np.exp(one.log_density(np.arange(float(n))))
        if p[-1] * MOST <= 1e-9 * p[900]:
            break
    return np.pad(p, (0, MOST - n))


@pytest.mark.parametrize("name", COUNTED)
def test_tails_of_counts_are_sums(name: str) -> None:
    told = COUNTED[name]()
    start, weight = told.mixture.start, told.mixture.weight
    for row in range(3):
        parts = range(start[row], start[row + 1])
        p = sum((weight[j] * masses(told, j) for j in parts), np.zeros(MOST))
        lower, upper = p.cumsum(), p[::-1].cumsum()[::-1]
        for y in (0, 1, 2, 5, 12, 40, 150, 900):
            at = np.zeros(3)
            at[row] = y
            exact = min(1.0, 2.0 * min(lower[y], upper[y]))
            found = told.tail_probability(at)[row]
            assert found == pytest.approx(exact, rel=1e-6, abs=1e-300), (row, y)


@pytest.mark.parametrize("name", LABELLED)
def test_tails_of_labels_are_those_less_probable(name: str) -> None:
    told = LABELLED[name]()
    for label in told.classes:
        found = told.tail_probability([label] * 3)
        for proba, tail in zip(told.proba, found, strict=True):
            own = proba[told.classes.index(label)]
            assert tail == pytest.approx(sum(p for p in proba if p <= own), rel=1e-12)
    assert told.tail_probability(["never came"] * 3).tolist() == [0.0] * 3
    best = told.tail_probability(told.label)
    np.testing.assert_allclose(best, 1.0, rtol=1e-12)


def test_labels_of_equal_probability_are_equally_likely() -> None:
    proba = np.array([[0.1 + 0.2, 0.3, 0.4], [0.5, 0.5, 0.0]])
    told = ClassPrediction(proba, ("a", "b", "c"), np.zeros(2))
    for label in ("a", "b"):
        found = told.tail_probability([label, label])
        np.testing.assert_allclose(found, [0.6, 1.0], rtol=1e-12)
    assert told.tail_probability(["c", "c"]).tolist() == [1.0, 0.0]
    none = ClassPrediction(np.zeros((2, 0)), (), np.zeros(2))
    assert none.tail_probability(["a", "a"]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["real", "count", "label"])
def test_responses_that_follow_the_prediction_are_seldom_in_its_tails(
    kind: str,
) -> None:
    """By 20000 draws, false-fail rate FALSE_FAIL in each of the questions."""
    told = {"real": REALS["stream"], "count": COUNTED["stream"],
            "label": LABELLED["stream"]}[kind]()  # fmt: skip
    drawn = told.sample(20_000, seed=7)
    p = np.array([told.tail_probability(list(row))[0] for row in drawn])
    if kind == "real":
        assert stats.kstest(p, "uniform").pvalue > FALSE_FAIL
    for alpha in (0.01, 0.1, 0.5):
        most = stats.binom.ppf(1.0 - FALSE_FAIL, len(p), alpha)
        assert np.sum(p <= alpha) <= most


def test_point_masses_and_endless_scales_have_their_limits() -> None:
    start, one = np.arange(4), np.ones(3)
    scale = np.array([0.0, np.inf, 0.0])
    mixture = StudentMixture(start, one, 2.0 * one, scale, 5.0 * one)
    told = Prediction.of(mixture, mixture)
    assert told.tail_probability([2.0, 9.0, 2.5]).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("y", [[1.0], ["u", "v", "w"], [np.nan, 1.0, 1.0]])
@pytest.mark.parametrize("name", ["real", "count"])
def test_bad_responses_are_refused(name: str, y: Any) -> None:
    told = {"real": REALS["constant"], "count": COUNTED["poisson"]}[name]()
    with pytest.raises(ValueError, match="y must"):
        told.tail_probability(y)
    with pytest.raises(ValueError, match="y must"):
        LABELLED["class"]().tail_probability(["a"])
