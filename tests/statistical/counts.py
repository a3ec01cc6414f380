"""Counts by trees beside generalised linear models and boosted trees.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.counts``; the last result is stored
beside this file in counts.txt. Three public sets and three simulated ones, in five
folds: mean log score of a held-out count and mean deviance. GLM NB2 is statsmodels'
NegativeBinomial, with a coefficient for each level (warpbreaks: each cell); HGB is
scikit-learn's HistGradientBoostingRegressor of the Poisson loss, which like GLM Poisson
is scored as Poisson about its mean. Trees are `AveragedTrees` with their defaults.

Calibration follows: clouds of both leaf models learn 250 rows of both kinds of truth
and foresee 600 others. Shown are the distance of the randomised PIT to the uniform law
(Kolmogorov), and the shares of counts and of true rates inside intervals of 90 %.

What must hold: negative binomial trees are at most .1 nats a row below GLM NB2 on quine
and warpbreaks, and ahead of it on esoph and on both simulated steps; their PIT is at
most .05 from uniform under both truths. (Of 600 counts an exact one has a distance of
.035 on average.) Sets and trees have fixed seeds: a run that fails, fails again.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor

import dyntree
from dyntree import AveragedTrees
from dyntree.datasets import load_esoph, load_quine, load_warpbreaks
from dyntree.summaries.counts import CountPrediction

N_FOLDS = 5
MOST_BELOW, FARTHEST = 0.1, 0.05
TREES = {"poisson trees": "poisson", "negbin trees": "negbin"}


@dataclass(frozen=True)
class CountSet:
    """Counts, their exposures, and rows for linear models and for trees."""

    name: str
    y: np.ndarray
    exposure: np.ndarray
    linear: np.ndarray
    rows: np.ndarray


def dummies(frame: pd.DataFrame, drop: bool) -> np.ndarray:
    return pd.get_dummies(frame, drop_first=drop).to_numpy(dtype=float)


def public_sets() -> Iterator[CountSet]:
    quine = load_quine()
    inputs, days = quine.drop(columns="Days"), quine["Days"].to_numpy(float)
    ones = np.ones(len(quine))
    yield CountSet("quine", days, ones, dummies(inputs, True), dummies(inputs, False))
    warp = load_warpbreaks()
    cell = warp["wool"].str.cat(warp["tension"].astype(str)).to_frame("cell")
    rows = dummies(warp[["wool", "tension"]].astype(str), False)
    yield CountSet(
        "warpbreaks", warp["breaks"].to_numpy(float), np.ones(len(warp)),
        dummies(cell, True), rows,
    )  # fmt: skip
    esoph = load_esoph()
    groups = esoph[["agegp", "alcgp", "tobgp"]]
    codes = np.column_stack([groups[name].cat.codes for name in groups]).astype(float)
    people = (esoph["ncases"] + esoph["ncontrols"]).to_numpy(float)
    yield CountSet(
        "esoph", esoph["ncases"].to_numpy(float), people,
        dummies(groups.astype(str), True), codes,
    )  # fmt: skip


def step(X: np.ndarray) -> np.ndarray:
    """Rates that are a tree's."""
    up = (X[:, 0] > 0.5) & (X[:, 1] > 0.4)
    return np.exp(1.0 + 1.2 * up - 1.0 * (X[:, 2] < 0.3))


def simulated_sets() -> Iterator[CountSet]:
    rng = np.random.default_rng(5)
    X, e = rng.random((400, 4)), np.exp(0.7 * rng.standard_normal(400))
    rate = step(X)
    yield CountSet("steps, Poisson", rng.poisson(e * rate).astype(float), e, X, X)
    loose = rng.poisson(rng.gamma(2.0 * e, rate / 2.0)).astype(float)
    yield CountSet("steps, loose", loose, e, X, X)
    smooth = np.exp(1.0 + 1.5 * X[:, 0] - X[:, 1])
    yield CountSet("log-linear", rng.poisson(e * smooth).astype(float), e, X, X)


RowForecast = tuple[np.ndarray, np.ndarray]  # log scores and means


def prediction_of(name: str, one: CountSet, train: np.ndarray) -> RowForecast:
    """Held-out counts by a model of that name."""
    y, e, new = one.y[train], one.exposure[train], ~train
    came, over = one.y[new], one.exposure[new]
    X, Z = sm.add_constant(one.linear), one.rows
    if name == "GLM Poisson":
        family = sm.families.Poisson()
        mean = (
            sm.GLM(y, X[train], family=family, exposure=e)
            .fit()
            .predict(X[new], exposure=over)
        )
        return stats.poisson.logpmf(came, mean), mean
    if name == "GLM NB2":
        model = sm.NegativeBinomial(y, X[train], exposure=e)
        fit = model.fit(disp=0, maxiter=300, method="bfgs")
        mean, alpha = fit.predict(X[new], exposure=over), max(fit.params[-1], 1e-6)
        law = stats.nbinom(1.0 / alpha, 1.0 / (1.0 + alpha * mean))
        return law.logpmf(came), mean
    if name == "HGB":
        trees = HistGradientBoostingRegressor(
            loss="poisson", min_samples_leaf=5, random_state=0
        )
        mean = trees.fit(Z[train], y / e, sample_weight=e).predict(Z[new]) * over
        return stats.poisson.logpmf(came, mean), mean
    clouds = AveragedTrees(TREES[name], seed=1).update(Z[train], y, exposure=e)
    told = clouds.predict(Z[new], exposure=over)
    return told.log_density(came), told.mean


def deviance(y: np.ndarray, mean: np.ndarray) -> float:
    mean = np.maximum(mean, 1e-9)
    logs = np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0)
    return float(2.0 * np.mean(logs - y + mean))


def table(one: CountSet) -> dict[str, float]:
    """Log scores by model; prints a line for each."""
    fold = np.random.default_rng(0).permutation(len(one.y)) % N_FOLDS
    scores = {}
    for name in ("GLM Poisson", "GLM NB2", "HGB", *TREES):
        clock = time.process_time()
        log_score, mean = np.empty(len(one.y)), np.empty(len(one.y))
        for k in range(N_FOLDS):
            log_score[fold == k], mean[fold == k] = prediction_of(name, one, fold != k)
        seconds = time.process_time() - clock
        scores[name] = float(log_score.mean())
        print(
            f"{one.name:<16}{name:<16}{scores[name]:>9.3f}"
            f"{deviance(one.y, mean):>10.3f}{seconds:>8.1f}",
            flush=True,
        )
    return scores


def calibration(truth: str, model: str) -> tuple[float, float, float]:
    """Distance of the PIT, and shares of counts and rates inside: over four sets."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, e = rng.random((850, 3)), np.exp(0.7 * rng.standard_normal(850))
        rate = step(X)
        noise = rng.gamma(2.0 * e) / (2.0 * e) if truth == "negbin" else 1.0
        y = rng.poisson(e * rate * noise).astype(float)
        known, new = slice(0, 250), slice(250, 850)
        clouds = AveragedTrees(model, n_clouds=3, seed=seed)
        told = clouds.update(X[known], y[known], exposure=e[known]).predict(
            X[new], exposure=e[new]
        )
        assert isinstance(told, CountPrediction)
        pit = told.pit(y[new], seed=seed)
        low, high = told.of_mean.quantile(np.array([0.05, 0.95])).T
        mean = e[new] * rate[new]
        found.append(
            [
                stats.kstest(pit, "uniform").statistic,
                np.mean((pit > 0.05) & (pit < 0.95)),
                np.mean((low <= mean) & (mean <= high)),
            ]
        )
    distance, counts, rates = np.mean(found, axis=0).tolist()
    return distance, counts, rates


def main() -> int:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    print(f"{'set':<16}{'model':<16}{'log score':>9}{'deviance':>10}{'CPU s':>8}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optimisers that end early
        scores = {one.name: table(one) for one in [*public_sets(), *simulated_sets()]}
    met = True
    for name, own in scores.items():
        ahead = own["negbin trees"] - own["GLM NB2"]
        asked = {"quine": -MOST_BELOW, "warpbreaks": -MOST_BELOW, "log-linear": None}
        least = asked.get(name, 0.0)
        good = least is None or ahead >= least
        met = met and good
        told = "no matter" if least is None else "met" if good else "not met"
        print(f"{name}: negbin trees {ahead:+.3f} nats from GLM NB2, {told}")
    print(f"\n{'truth':<10}{'trees':<10}{'PIT':>8}{'counts':>8}{'rates':>8}")
    for truth in ("negbin", "poisson"):
        for model in ("poisson", "negbin"):
            distance, counts, rates = calibration(truth, model)
            print(f"{truth:<10}{model:<10}{distance:>8.3f}{counts:>8.2f}{rates:>8.2f}")
            if model == "negbin":
                met = met and distance <= FARTHEST
    print("all met" if met else "not all met")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
