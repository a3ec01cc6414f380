"""What each face adds to the core's own time for one row: predict it, then learn it.

Run ``python -m tests.heavy.overhead`` on an idle machine; the last result is stored
beside this file in overhead.txt. Both sides start from copies of one model and take the
same rows, one by one: a face by its public calls, the core by the calls into compiled
code that they end in (components and moments of the prediction, or probabilities; a
step with retirement). They take turns of 100 rows, in CPU time of the process; figures
are lower quartiles, because whatever else runs can only add. Trees are few and the
window is short, so that little else is measured, and rejuvenation is off. Met: at most
10 microseconds for a StreamingTree, 15 for river's faces; the others are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import dyntree
import dyntree.formula.api as dtf
from dyntree import StreamingTree
from dyntree._core.student_mixture import moments
from dyntree._core.trees import query, window
from dyntree.api.adapters import RiverDynamicTreeClassifier, RiverDynamicTreeRegressor
from dyntree.api.estimators import DynamicTreeClassifier, DynamicTreeRegressor
from tests.bench.task import Rows

START, TURN, TURNS = 500, 100, 150
WINDOW = 50
SCHEME: dict[str, Any] = {
    "window": WINDOW, "n_particles": 20, "discard": "age", "rejuvenate_every": 0,
}  # fmt: skip
LIMITS = {"StreamingTree": 10.0, "river": 15.0}
NAMES = list("abcde")

Step = Callable[[int], object]


def rows(model: str) -> tuple[np.ndarray, np.ndarray]:
    drawn = Rows.draw("friedman", START + TURN * TURNS, 0, 1)
    return drawn.X, drawn.labels - 1.0 if model == "class" else drawn.y


def faces(model: str, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Any, Step]]:
    """Each face: its name, the tree in it, and what it does with row t."""
    is_class = model == "class"
    tree = StreamingTree(model, **SCHEME, seed=1).update(X[:START], y[:START])

    def streaming(t: int) -> None:
        tree.predict(X[t : t + 1])
        tree.update(X[t : t + 1], y[t : t + 1])

    yield "StreamingTree", tree.tree, streaming

    dicts = [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
    labels = y.tolist()
    online: Any = (
        RiverDynamicTreeClassifier(**SCHEME, seed=1)
        if is_class
        else RiverDynamicTreeRegressor(model, **SCHEME, seed=1)
    )
    for row, label in zip(dicts[:START], labels, strict=False):
        online.learn_one(row, label)

    def river(t: int) -> None:
        online.predict_one(dicts[t])
        online.learn_one(dicts[t], labels[t])

    yield "river", online.stream.tree, river

    table = pd.DataFrame(X[:START], columns=NAMES)
    table["y"] = [f"k{label}" for label in y[:START]] if is_class else y[:START]
    fit = dtf.dynamic_tree("y ~ .", table, model=model, **SCHEME, seed=1).fit()
    whole = [
        row | {"y": f"k{label}" if is_class else label}
        for row, label in zip(dicts, labels, strict=True)
    ]

    def formula(t: int) -> None:
        fit.predict(dicts[t])
        fit.append(whole[t])

    yield "formula", fit.inner, formula

    kind = DynamicTreeClassifier if is_class else DynamicTreeRegressor
    options = SCHEME if is_class else SCHEME | {"model": model}
    estimator: Any = kind(**options, random_state=1).fit(X[:START], y[:START])

    def sklearn(t: int) -> None:
        estimator.predict(X[t : t + 1])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1])

    yield "scikit-learn", estimator.model_.tree, sklearn


def core(tree: Any, X: np.ndarray, y: np.ndarray) -> Step:
    """The same by calls into compiled code, on a copy of the tree."""
    cloud = tree.copy().state.cloud
    is_class = tree.classes is not None

    def step(t: int) -> None:
        if is_class:
            query.predict_class(cloud, X[t : t + 1])
        else:
            moments(*query.mixture(cloud, X[t : t + 1])[:5])
        window.roll(cloud, X[t : t + 1], y[t : t + 1], WINDOW, "age", 1.0)

    return step


def microseconds(step: Step, first: int) -> float:
    """CPU time of a row, over a turn."""
    clock = time.process_time_ns()
    for t in range(first, first + TURN):
        step(t)
    return (time.process_time_ns() - clock) / 1e3 / TURN


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, microseconds a "
          f"row, {SCHEME['n_particles']} particles, window {WINDOW}")  # fmt: skip
    for model in ("constant", "linear", "class"):
        X, y = rows(model)
        for name, tree, step in faces(model, X, y):
            other = core(tree, X, y)
            turns = range(START, START + TURN * TURNS, TURN)
            pairs = np.array(
                [[microseconds(s, t) for s in (step, other)] for t in turns]
            )
            face, bare = np.quantile(pairs, 0.25, axis=0)
            over = face - bare
            limit = LIMITS.get(name)
            verdict = ""
            if limit is not None:
                verdict = (
                    f"  at most {limit:g}: {'met' if over <= limit else 'NOT MET'}"
                )
            print(f"{model:<9}{name:<14} {face:6.1f}, core {bare:5.1f}, over it "
                  f"{over:5.1f}{verdict}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
