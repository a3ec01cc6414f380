"""Averaged streams with their defaults, beside today's streaming learners.

Run ``python -m tests.statistical.streams --averaged [--elec2 FILE] [--only NAME]``; the
last result is stored beside this file in averaged.txt. Streams are those of streams.py
and three more: digits in random order, labels that change places, and a response that
jumps. `AveragedStream` has its defaults, linear leaves for real responses and once
constant ones, and three seeds.
The peers have their defaults and one seed, and see the same rows in the same order:
each row is predicted, scored from row 500 on, then learned. Those of scikit-learn
foresee 100 rows after a fit of the 1000 rows before; river's linear models and the
perceptron have scaled inputs. Memory is what a model holds after the last row: by its
own count for ours, by river's for river's, and pickled, with the rows that the next fit
needs, for scikit-learn's. Peers of real responses tell no density, hence none is shown.
What is told of others was measured elsewhere: CapyMOA
0.15.1 with 100 learners, at 110 to 690 rows per CPU second.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from river import forest, linear_model, preprocessing, tree
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dyntree import AveragedStream
from dyntree.evaluate import auc, class_scores, prequential

from .native_tables import fried
from .streams import START, Stream, spambase_folds, streams

SEEDS = range(3)
REFIT, HELD = 100, 1000  # rows between fits of a batch learner, and rows it is given

# Measure, what it has to reach, and the best that is told of others.
TARGETS: dict[str, tuple[str, float, str]] = {
    "drift k = 0.1": ("rmse", 1.80, "boosted trees 2.34"),
    "drift k = 0.5": ("rmse", 2.65, "boosted trees 2.90"),
    "fried5, 2,000 rows": ("rmse", 1.22, ""),
    "fried5, 2,000 rows, constant leaves": ("rmse", 2.1, ""),
    "fried5, 20,000 rows": ("rmse", 1.11, "boosted trees 1.665"),
    "jump": ("rmse", 1.25, ""),
    "rotating XOR": ("auc", 0.890, "random patches .877, kNN .872"),
    "elec2 in order": ("error", 0.090, "scaled SGD .131, ARF .145"),
    "elec2 permuted": ("error", 0.243, "ARF .247 (aim here .239)"),
    "spambase, 5 folds": ("error", 0.055, "ARF .062"),
    "digits": ("error", 0.058, "(aim here .050)"),
    "label flip": ("error", 0.095, ""),
}
Size = Callable[[], int]
# what is told of each row, and how to find the bytes held at the end
Foresee = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, Size]]


def further_streams() -> Iterator[Stream]:
    """Streams beside those of streams.py."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(7).permutation(len(y))
    yield Stream("digits", X[order], y[order], models=("class",))
    rng = np.random.default_rng(31)
    X = rng.random((9000, 4))
    above = (X[:, 0] + X[:, 1] > 1.0) ^ (np.arange(9000) // 3000 % 2 == 1)
    label = (above ^ (rng.random(9000) < 0.05)).astype(int)
    yield Stream("label flip", X, label, models=("class",))
    X = rng.random((10_000, 5))
    one = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 3]
    other = 10 * X[:, 2] - 5 * X[:, 4]
    mean = np.where(np.arange(10_000) // 2500 % 2 == 0, one, other)
    yield Stream("jump", X, mean + rng.standard_normal(10_000), mean)
    X, y, mean = fried(2000, 1)
    constant = ("constant",)
    yield Stream("fried5, 2,000 rows, constant leaves", X, y, mean, models=constant)


def of_river(model: Any, is_class: bool) -> Foresee:
    """Means, probabilities of label 1, or of more than two the label, row by row."""

    def run(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Size]:
        names = [f"x{k}" for k in range(X.shape[1])]
        told = np.zeros(len(y))
        for t, (values, response) in enumerate(
            zip(X.tolist(), y.tolist(), strict=True)
        ):
            row = dict(zip(names, values, strict=True))
            if is_class and y.max() > 1:
                told[t] = model.predict_one(row) or 0
            elif is_class:
                told[t] = model.predict_proba_one(row).get(1, 0.5 if not t else 0.0)
            else:
                told[t] = model.predict_one(row)
            model.learn_one(row, response)
        return told, lambda: model._raw_memory_usage

    return run


def of_sklearn(make: Callable[[], Any], is_class: bool) -> Foresee:
    """The same, by fits of the rows before."""

    def run(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Size]:
        told, kept = np.full(len(y), np.nan), None
        for t in range(START, len(y), REFIT):
            part, past = slice(t, t + REFIT), slice(max(0, t - HELD), t)
            if is_class and len(np.unique(y[past])) < 2:
                told[part] = y[t - 1]
                continue
            fit = make().fit(X[past], y[past])
            kept = fit, X[past], y[past]
            if is_class and y.max() <= 1:
                told[part] = fit.predict_proba(X[part])[:, 1]
            else:
                told[part] = fit.predict(X[part])
        return told, lambda: len(pickle.dumps(kept))

    return run


def last_label(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Size]:
    """Same label as last time."""
    return np.concatenate([[0.0], y[:-1]]).astype(float), lambda: 8


def peers(is_class: bool) -> Iterator[tuple[str, Foresee]]:
    scale = preprocessing.StandardScaler
    if is_class:
        online: dict[str, Any] = {
            "adaptive random forest": forest.ARFClassifier(seed=1),
            "aggregated Mondrian": forest.AMFClassifier(seed=1),
            "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeClassifier(seed=1),
            "online logistic": scale() | linear_model.LogisticRegression(),
        }
        batch: dict[str, Callable[[], Any]] = {
            "boosting on a window": lambda: HistGradientBoostingClassifier(
                random_state=1
            ),
            "perceptron on a window": lambda: make_pipeline(
                StandardScaler(), MLPClassifier(random_state=1, max_iter=50)
            ),
        }
        yield "same label as last time", last_label
    else:
        online = {
            "adaptive random forest": forest.ARFRegressor(seed=1),
            "aggregated Mondrian": forest.AMFRegressor(seed=1),
            "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeRegressor(seed=1),
            "online linear": scale() | linear_model.LinearRegression(),
        }
        batch = {
            "boosting on a window": lambda: HistGradientBoostingRegressor(
                random_state=1
            ),
            "perceptron on a window": lambda: make_pipeline(
                StandardScaler(), MLPRegressor(random_state=1, max_iter=200)
            ),
        }
    for name, model in online.items():
        yield name, of_river(model, is_class)
    for name, make in batch.items():
        yield name, of_sklearn(make, is_class)


def measure(name: str, told: np.ndarray, y: np.ndarray) -> float:
    """Score of means, of probabilities of label 1, or of labels."""
    if name == "rmse":
        return float(np.sqrt(np.mean((told - y) ** 2)))
    if name == "error":
        return float(np.mean((told if y.max() > 1 else told > 0.5) != y))
    return auc(y.astype(np.int64), np.column_stack([1.0 - told, told]))


def log_loss(told: np.ndarray, y: np.ndarray) -> float:
    """Mean of -log of the probability of the label, from probabilities of label 1.

    No probability counts as less than 1e-15, scikit-learn's least one for long.
    """
    p = np.clip(np.where(y == 1, told, 1.0 - told), 1e-15, 1.0)
    return float(-np.log(p).mean())


def own(stream: Stream, model: str, seed: int) -> tuple[dict[str, float], float, int]:
    """Scores of an average with its defaults, rows per second, bytes at the end."""
    average = AveragedStream(model, seed=seed)
    seen = prequential(average, stream.X, stream.y, start=START, progress=False)
    return seen.to_dict(), 1.0 / seen.seconds_per_row, average.memory_usage()


def line(title: str, value: float, rate: float, held: float, more: str = "") -> None:
    text = f"  {title:<26}{value:8.4f}{rate:10.0f} rows/s{held / 1e6:9.3f} MB  {more}"
    print(text.rstrip(), flush=True)


def verdict(name: str, value: float, best: float) -> bool:
    """Print whether a figure reaches what was asked; returns it."""
    what, target, told = TARGETS[name]
    high = what == "auc"
    met = value >= target if high else value <= target
    ahead = (value - best if high else best - value) / best
    print(
        f"  {'met' if met else 'NOT MET'}: {target:g}; ahead of the best peer here by "
        f"{100 * ahead:.1f} %" + (f"; told elsewhere: {told}" if told else ""),
        flush=True,
    )
    return met


def run(elec2: str | None, only: str) -> int:
    """Print the table; returns how many figures are not met."""
    warnings.simplefilter("ignore")  # of the peers, about their own fits
    missed = 0
    for stream in chain(streams(elec2), further_streams()):
        if only not in stream.name:
            continue
        is_class = stream.models == ("class",)
        what = TARGETS[stream.name][0]
        print(f"\n{stream.name}, {len(stream.y):,} rows: {what}", flush=True)
        y = stream.y - stream.y.min() if is_class else stream.y
        leaves = "linear" if "linear" in stream.models else stream.models[0]
        found = [own(stream, leaves, seed) for seed in SEEDS]
        scores = {k: np.array([f[0][k] for f in found]) for k in found[0][0]
                  if k != "baseline"}  # fmt: skip
        more = f"se {scores[what].std(ddof=1) / len(SEEDS) ** 0.5:.4f}"
        if is_class:
            more += f", log loss {scores['log_loss'].mean():.4f}"
        else:
            more += f", coverage {scores['coverage'].mean():.3f}, log density "
            more += f"{scores['log_density'].mean():.3f}"
        rate = float(np.mean([f[1] for f in found]))
        held = float(np.mean([f[2] for f in found]))
        line("averaged stream", scores[what].mean(), rate, held, more)
        others = []
        for name, foresee in peers(is_class):
            if is_class and y.max() > 1 and name == "online logistic":
                continue  # for two labels
            clock = time.perf_counter()
            told, size = foresee(stream.X, y)
            clock = time.perf_counter() - clock
            told, came = told[START:], y[START:]
            others.append(measure(what, told, came))
            with_proba = is_class and y.max() <= 1
            more = f"log loss {log_loss(told, came):.4f}" if with_proba else ""
            line(name, others[-1], len(y) / clock, size(), more)
        best = max(others) if what == "auc" else min(others)
        missed += not verdict(stream.name, float(scores[what].mean()), best)
    if only in "spambase, 5 folds":
        missed += not on_spambase()
    print(f"\n{missed} not met")
    return missed


def on_spambase() -> bool:
    """One pass over four folds, the fifth predicted; returns whether it is met."""
    print("\nspambase, 5 folds: error", flush=True)
    errors, losses, rate = [], [], []
    for seed in SEEDS:
        proba, labels, clock = [], [], time.perf_counter()
        for X, y, Z, held in spambase_folds():
            average = AveragedStream("class", classes=(0, 1), seed=seed)
            proba.append(average.update(X, y, progress=False).predict(Z).proba)
            labels.append(held)
        rate.append(4 * len(np.concatenate(labels)) / (time.perf_counter() - clock))
        size = average.memory_usage()
        p, came = np.concatenate(proba), np.concatenate(labels)
        scores = class_scores(came, p, np.log(p[np.arange(len(came)), came]))
        errors.append(scores.error)
        losses.append(scores.log_loss)
    more = f"se {np.std(errors, ddof=1) / len(SEEDS) ** 0.5:.4f}, "
    line("averaged stream", float(np.mean(errors)), float(np.mean(rate)), size,
         more + f"log loss {np.mean(losses):.4f}")  # fmt: skip
    others = []
    for title in ("adaptive random forest", "aggregated Mondrian", "online logistic"):
        wrong, n, clock = 0, 0, time.perf_counter()
        for X, y, Z, held in spambase_folds():
            model = {
                "adaptive random forest": lambda: forest.ARFClassifier(seed=1),
                "aggregated Mondrian": lambda: forest.AMFClassifier(seed=1),
                "online logistic": lambda: (
                    preprocessing.StandardScaler() | linear_model.LogisticRegression()
                ),
            }[title]()
            names = [f"x{k}" for k in range(X.shape[1])]
            for values, label in zip(X.tolist(), y.tolist(), strict=True):
                model.learn_one(dict(zip(names, values, strict=True)), label)
            n += len(y)
            for values, label in zip(Z.tolist(), held.tolist(), strict=True):
                row = dict(zip(names, values, strict=True))
                wrong += model.predict_one(row) != label
        others.append(wrong / 4601)
        line(
            title,
            others[-1],
            n / (time.perf_counter() - clock),
            model._raw_memory_usage,
        )
    return verdict("spambase, 5 folds", float(np.mean(errors)), min(others))
