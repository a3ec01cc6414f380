"""Learners of today, asked what our defaults are asked; see the package.

Each gets the rows one by one, as they come, and is asked for each before it learns it:
a number, or the probabilities of all labels, which are raised to `LEAST` and made to
sum to one. LightGBM, where it is installed, is fitted each `REFIT` rows to the last
`HELD`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from river import ensemble, forest, linear_model, preprocessing, tree

LEAST = 1e-3
REFIT, HELD = 100, 1000
Predicted = np.ndarray  # (n_rows,) means, or (n_rows, n_classes) probabilities
Ask = Callable[[np.ndarray, np.ndarray, int], Predicted]


def of_river(model: Any) -> Ask:
    """A learner of river's."""

    def run(X: np.ndarray, y: np.ndarray, n_classes: int) -> Predicted:
        names = [f"x{k}" for k in range(X.shape[1])]
        predicted = np.zeros((len(y), n_classes) if n_classes else len(y))
        for t, values in enumerate(X.tolist()):
            row = dict(zip(names, values, strict=True))
            if n_classes:
                proba = model.predict_proba_one(row)
                predicted[t] = [proba.get(k, 0.0) for k in range(n_classes)]
                model.learn_one(row, int(y[t]))
            else:
                predicted[t] = model.predict_one(row)
                model.learn_one(row, float(y[t]))
        return predicted

    return run


def of_windows(X: np.ndarray, y: np.ndarray, n_classes: int) -> Predicted:
    """LightGBM on the rows before."""
    import lightgbm

    predicted = np.zeros((len(y), n_classes) if n_classes else len(y))
    kind = lightgbm.LGBMClassifier if n_classes else lightgbm.LGBMRegressor
    for t in range(REFIT, len(y), REFIT):
        part, past = slice(t, t + REFIT), slice(max(0, t - HELD), t)
        if n_classes and len(np.unique(y[past])) < 2:
            predicted[part, int(y[t - 1])] = 1.0
            continue
        fit = kind(n_jobs=1, verbose=-1).fit(X[past], y[past])
        if n_classes:
            predicted[part, fit.classes_.astype(int)] = fit.predict_proba(X[part])
        else:
            predicted[part] = fit.predict(X[part])
    return predicted


def last(X: np.ndarray, y: np.ndarray, n_classes: int) -> Predicted:
    """The last response again."""
    before = np.concatenate([y[:1], y[:-1]])
    return np.eye(n_classes)[before.astype(int)] if n_classes else before


def peers(is_class: bool) -> Iterator[tuple[str, Ask]]:
    """Names and learners, each fresh."""
    scaled = preprocessing.StandardScaler
    if is_class:
        yield "ARF", of_river(forest.ARFClassifier(seed=1))
        yield "AMF", of_river(forest.AMFClassifier(seed=1))
        yield "SRP", of_river(ensemble.SRPClassifier(n_models=10, seed=1))
        yield "HAT", of_river(tree.HoeffdingAdaptiveTreeClassifier(seed=1))
        yield "softmax", of_river(scaled() | linear_model.SoftmaxRegression())
    else:
        yield "ARF", of_river(forest.ARFRegressor(seed=1))
        yield "AMF", of_river(forest.AMFRegressor(seed=1))
        yield "SRP", of_river(ensemble.SRPRegressor(n_models=10, seed=1))
        yield "HAT", of_river(tree.HoeffdingAdaptiveTreeRegressor(seed=1))
        yield "SGD", of_river(scaled() | linear_model.LinearRegression())
    if importlib.util.find_spec("lightgbm"):
        yield "LightGBM", of_windows
    yield "last", last


def of_capymoa(make: Callable[[Any], Any]) -> Ask:
    """A learner of CapyMOA's, of a schema."""

    def run(X: np.ndarray, y: np.ndarray, n_classes: int) -> Predicted:
        from capymoa.stream import NumpyStream

        kind = "categorical" if n_classes else "numeric"
        target = y.astype(int) if n_classes else y
        stream = NumpyStream(X, target, target_name="y", target_type=kind)
        model = make(stream.get_schema())
        predicted = np.zeros((len(y), n_classes) if n_classes else len(y))
        for t in range(len(y)):
            row = stream.next_instance()
            if n_classes:
                proba = model.predict_proba(row)
                if proba is not None:
                    predicted[t, : len(proba)] = proba
            else:
                predicted[t] = np.nan_to_num(model.predict(row))
            model.train(row)
        return predicted

    return run


def of_vw(X: np.ndarray, y: np.ndarray, n_classes: int) -> Predicted:
    """Vowpal Wabbit's linear model with its defaults; labels one against all."""
    from vowpalwabbit import Workspace

    how = f" --oaa {n_classes} --loss_function logistic --probabilities"
    model = Workspace("--quiet" + (how if n_classes else ""))
    predicted = np.zeros((len(y), n_classes) if n_classes else len(y))
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = " ".join(f"x{k}:{value!r}" for k, value in enumerate(x))
        predicted[t] = model.predict(f"| {row}")
        model.learn(f"{int(label) + 1 if n_classes else repr(label)} | {row}")
    model.finish()
    return predicted


MOA = {  # learners of CapyMOA's: labels, and numbers
    True: (
        ("ARF10", "AdaptiveRandomForestClassifier", {"ensemble_size": 10}),
        ("ARF30", "AdaptiveRandomForestClassifier", {"ensemble_size": 30}),
        ("SRP10", "StreamingRandomPatches", {"ensemble_size": 10}),
        ("SGBT", "StreamingGradientBoostedTrees", {}),
    ),
    False: (
        ("ARFR10", "AdaptiveRandomForestRegressor", {"ensemble_size": 10}),
        ("ARFR30", "AdaptiveRandomForestRegressor", {"ensemble_size": 30}),
        ("SOKNL", "SOKNL", {}),
        ("SGBR", "StreamingGradientBoostedRegression", {}),
    ),
}


def vw(is_class: bool) -> Iterator[tuple[str, Ask]]:
    """Vowpal Wabbit, which is not in the tests' extra."""
    yield "VW", of_vw


def moa(is_class: bool) -> Iterator[tuple[str, Ask]]:
    """Names and learners of CapyMOA, which is not in the tests' extra."""
    room = importlib.import_module(
        "capymoa.classifier" if is_class else "capymoa.regressor"
    )
    for name, kind, options in MOA[is_class]:
        yield name, of_capymoa(partial(getattr(room, kind), **options))
