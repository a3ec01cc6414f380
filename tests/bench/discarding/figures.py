"""What is run for each figure: its cases, and what one repeat of a case gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import xlogy

from dyntree.evaluate import prequential

from . import models, scenes
from .measures import auc, h_measure
from .store import Case, Values

RULES = ("r", "native")
LAMBDAS = (1.0, 0.98, 0.95, 0.9, 0.7, 0.4)
ROUNDS = (0, 25, 75, 150, 275)
BLOCKS = 20  # of a stream, over which curves are told


@dataclass(frozen=True)
class Scale:
    """How much of a figure is run."""

    repeats: dict[str, int]
    n_particles: int
    rows: dict[str, int]  # of streams


PAPER = Scale(
    {
        "1": 100,
        "2": 100,
        "3": 100,
        "table1": 3,
        "4": 100,
        "windows": 100,
        "5": 100,
        "6": 3,
    },
    1000,
    {"2": 20_000, "4": 10_000, "5": 2000, "6": 100_000},
)
CI = Scale(
    {"1": 2, "2": 2, "3": 1, "table1": 1, "4": 1, "windows": 1, "5": 1, "6": 1},
    100,
    {"2": 1000, "4": 1500, "5": 300, "6": 4000},
)


def squares(told: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((told - truth) ** 2)))


# ---------------------------------------------------------------- figure 1
def cases_1(scale: Scale) -> Iterator[Case]:
    for rules, leaves in (
        ("r", "linear"), ("r", "linear, no intercept"), ("r", "constant"),
        ("native", "linear"), ("native", "constant"),
    ):  # fmt: skip
        for method in ("OALC", "ORAND"):
            yield {
                "rules": rules, "leaves": leaves, "method": method,
                "N": scale.n_particles,
            }  # fmt: skip


def figure_1(case: Case, repeat: int) -> Values:
    """Where 25 rows stand over 275 rounds of the parabola.

    `outer` is the share of them in the outer sixth of the interval, every 25 rounds;
    `rmse` the error of the mean on a grid over the interval, at the end.
    """
    X, y = scenes.parabola(301, 1000 + repeat)
    grid = np.linspace(-3.0, 2.0, 201)[:, None]
    leaves, *flat = case["leaves"].split(", ")
    more = {"intercept": "none"} if flat else {}
    stream = models.tree(
        leaves, case["method"], case["rules"], window=25, n_particles=case["N"],
        seed=repeat, **more,
    )  # fmt: skip
    stream.update(X[:25], y[:25])
    outer, places = [], {}
    for t in range(275 + 1):
        if t:
            stream.update(X[24 + t : 25 + t], y[24 + t : 25 + t])
        held = X[stream.tree.active_ids, 0]
        outer.append(float(scenes.in_outer_sixth(held).mean()))
        if repeat == 0 and t in ROUNDS:
            places[f"places {t}"] = np.sort(held).tolist()
    truth = (grid + grid * grid)[:, 0]
    rmse = squares(stream.predict(grid).mean, truth)
    return {"outer": [outer[t] for t in range(0, 276, 25)], "rmse": rmse, **places}


# ---------------------------------------------------------------- figure 2
def cases_2(scale: Scale) -> Iterator[Case]:
    for rows in sorted({min(2000, scale.rows["2"]), scale.rows["2"]}):
        for rules in RULES:
            for method in ("ORIG", "ORAND", "OALC", "FULL"):
                yield {
                    "rows": rows, "rules": rules, "method": method,
                    "N": scale.n_particles,
                }  # fmt: skip
        yield {"rows": rows, "rules": "averaged", "method": "averaged", "N": 0}
        for name in models.river_regressors():
            yield {"rows": rows, "rules": "river", "method": name, "N": 0}
        yield {"rows": rows, "rules": "scikit-learn", "method": "forest", "N": 0}


def figure_2(case: Case, repeat: int) -> Values:
    """Friedman's function from a pool of 100 rows, linear leaves."""
    X, y, _ = scenes.fried(case["rows"], 2000 + repeat)
    T, truth_noisy, truth = scenes.fried(1000, 90_000 + repeat)
    start = time.process_time()
    if case["rules"] == "river":
        peer = models.river_regressors()[case["method"]](repeat)
        models.of_river(peer, X, y, False)
        seconds = time.process_time() - start
        told = models.of_river_batch(peer, T, False)
        return {"rmse": squares(told, truth), "seconds": seconds}
    if case["rules"] == "scikit-learn":
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(100, random_state=repeat).fit(X, y)
        seconds = time.process_time() - start
        return {"rmse": squares(forest.predict(T), truth), "seconds": seconds}
    model = models.tree(
        "linear", case["method"], case["rules"], window=100, n_particles=case["N"],
        seed=repeat,
    )  # fmt: skip
    models.learn(model, case["method"], X, y, 100)
    seconds = time.process_time() - start
    told = model.predict(T)
    height, leaves = models.height_and_leaves(model)
    return {
        "rmse": squares(told.mean, truth),
        "log density": float(told.log_density(truth_noisy).mean()),
        "seconds": seconds, "bytes": model.memory_usage(), "height": height,
        "leaves": leaves,
    }  # fmt: skip


# ---------------------------------------------------------------- figure 3
WINDOW_3 = 368  # a tenth of the rows to learn, as in the paper


def cases_3(scale: Scale) -> Iterator[Case]:
    for rules in RULES:
        for method in ("ORIG", "ORAND", "OENT", "FULL"):
            yield {"rules": rules, "method": method, "N": scale.n_particles}
    yield {"rules": "averaged", "method": "averaged", "N": 0}
    for name in models.river_classifiers():
        yield {"rules": "river", "method": name, "N": 0}
    yield {"rules": "scikit-learn", "method": "forest", "N": 0}


def figure_3(case: Case, repeat: int) -> Values:
    """Spambase: one of five folds held out; five repeats are one cross-validation."""
    X, y = scenes.spambase(0)
    rows, out = list(scenes.folds(y, 3000 + repeat // 5))[repeat % 5]
    start = time.process_time()
    if case["rules"] == "river":
        peer = models.river_classifiers()[case["method"]](repeat)
        models.of_river(peer, X[rows], y[rows], True)
        p = models.of_river_batch(peer, X[out], True)
    elif case["rules"] == "scikit-learn":
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(100, random_state=repeat)
        p = forest.fit(X[rows], y[rows]).predict_proba(X[out])[:, 1]
    else:
        model = models.tree(
            "class", case["method"], case["rules"], window=WINDOW_3,
            n_particles=case["N"], seed=repeat, classes=(0, 1),
        )  # fmt: skip
        models.learn(model, case["method"], X[rows], y[rows], WINDOW_3)
        p = models.probability(model.predict(X[out]))
    seconds = time.process_time() - start
    right = np.where(y[out] == 1, p, 1.0 - p)
    return {
        "error": float(((p > 0.5) != y[out]).mean()),
        "probability": float(right.mean()),
        "geometric": float(np.exp(np.log(np.clip(right, 1e-15, 1.0)).mean())),
        "seconds": seconds,
    }


# ---------------------------------------------------------------- table 1
def cases_table1(scale: Scale, elec2: str | None) -> Iterator[Case]:
    for data in ("spambase", "elec2") if elec2 else ("spambase",):
        for rules in RULES:
            for method in ("ORAND", "OENT"):
                yield {
                    "data": data, "rules": rules, "method": method,
                    "N": scale.n_particles,
                }  # fmt: skip
        yield {"data": data, "rules": "averaged", "method": "averaged", "N": 0}
        for name in models.river_classifiers():
            yield {"data": data, "rules": "river", "method": name, "N": 0}


def prediction_of(case: Case, X: Any, y: Any, seed: int, window: int) -> np.ndarray:
    """Probability of label 1, of each row before it is learned."""
    if case["rules"] == "river":
        peer = models.river_classifiers()[case["method"]](seed)
        return models.of_river(peer, X, y, True)
    if case["method"] == "windowed forest":
        return models.windowed_forest(X, y, seed)
    if case["method"] == "adaptive LDA":
        return models.adaptive_lda(X, y)
    more: dict[str, Any] = {"forget": case["forget"]} if "forget" in case else {}
    model = models.tree(
        "class", case["method"], case["rules"], window=window, n_particles=case["N"],
        seed=seed, classes=(0, 1), **more,
    )  # fmt: skip
    seen = prequential(model, X, y, progress=False)
    told = np.full(len(y), 0.5)
    assert seen.classes is not None
    told[seen.rows] = seen.mean[:, list(seen.classes).index(1)]
    return told


def table_1(case: Case, repeat: int, elec2: str | None = None) -> Values:
    """Errors one row ahead, from row 500 on, of a shuffled table; window 500."""
    if case["data"] == "spambase":
        X, y = scenes.spambase(100 + repeat)
    else:
        assert elec2 is not None
        X, y = scenes.elec2(elec2, 100 + repeat)
    start = time.process_time()
    p = prediction_of(case, X, y, repeat, 500)
    seconds = time.process_time() - start
    right = np.clip(np.where(y == 1, p, 1.0 - p), 1e-15, 1.0)[500:]
    return {
        "error": float(((p > 0.5) != y)[500:].mean()),
        "log loss": float(-xlogy(1.0, right).mean()),
        "microseconds": 1e6 * seconds / len(y),
    }


# ---------------------------------------------------------------- figures 4, 5
def cases_4(scale: Scale) -> Iterator[Case]:
    rows = scale.rows["4"]
    for k in (0.1, 0.5):
        base = {"k": k, "rows": rows}
        for rules in RULES:
            for window in (100, 500):
                for lam in LAMBDAS:
                    yield base | {"rules": rules, "window": window, "lambda": lam}
            yield base | {"rules": rules, "window": rows, "lambda": "FULL"}
        yield base | {"rules": "averaged", "window": 0, "lambda": "own"}


def figure_4(case: Case, repeat: int) -> Values:
    """Friedman's function whose wave swells and turns; 50 particles, oldest rows go.

    Linear leaves. `rmse` is that of the mean one row ahead to the noise-free response,
    from row 500 on; `height` that of the trees at 25 times.
    """
    X, y, f = scenes.drifting(case["rows"], 4000 + repeat, case["k"])
    given: dict[str, Any] = {"window": case["window"], "n_particles": 50}
    if case["rules"] != "averaged":
        given["forget"] = None if case["lambda"] == "FULL" else case["lambda"]
    method = "FULL" if case["lambda"] == "FULL" else "OAGE"
    model = models.tree("linear", method, case["rules"], seed=repeat, **given)
    told, heights = np.full(len(y), np.nan), []
    start = time.process_time()
    edges = np.linspace(0, len(y), 51).astype(int).tolist()
    for first, last in pairwise(edges):
        seen = prequential(model, X[first:last], y[first:last], progress=False)
        told[first + seen.rows] = seen.mean
        heights.append(models.height_and_leaves(model)[0])
    late = slice(min(500, len(y) // 2), None)
    values: Values = {
        "rmse": squares(told[late], f[late]), "seconds": time.process_time() - start
    }  # fmt: skip
    if not np.isnan(heights).any():
        values["height"] = heights[1::2]
    return values


WINDOWS = (25, 50, 100, 200, 500)


def cases_windows(scale: Scale) -> Iterator[Case]:
    for k in (0.1, 0.5):
        base = {"k": k, "rows": scale.rows["4"]}
        for rules in RULES:
            for window in WINDOWS:
                for lam in LAMBDAS:
                    yield base | {"rules": rules, "window": window, "lambda": lam}


def memory(case: Case, repeat: int) -> Values:
    """The waves of figure 4 by window, with the number of leaves.

    With L leaves a row that leaves the window fades by lambda once in L rows, so that
    what the leaves remember is worth about window + L / (1 - lambda) rows.
    """
    X, y, f = scenes.drifting(case["rows"], 4000 + repeat, case["k"])
    model = models.tree(
        "linear", "OAGE", case["rules"], seed=repeat, window=case["window"],
        n_particles=50, forget=case["lambda"],
    )  # fmt: skip
    told, leaves = np.full(len(y), np.nan), []
    for first, last in pairwise(np.linspace(0, len(y), 21).astype(int).tolist()):
        seen = prequential(model, X[first:last], y[first:last], progress=False)
        told[first + seen.rows] = seen.mean
        leaves.append(models.height_and_leaves(model)[1])
    late = slice(min(500, len(y) // 2), None)
    return {"rmse": squares(told[late], f[late]), "leaves": float(np.mean(leaves))}


# ---------------------------------------------------------------- figure 5
def cases_5(scale: Scale) -> Iterator[Case]:
    base = {"rows": scale.rows["5"]}
    for rules in RULES:
        yield base | {"rules": rules, "window": 3 * base["rows"], "lambda": "FULL"}
        for lam in (1.0, 0.9):
            yield base | {"rules": rules, "window": 100, "lambda": lam}


def figure_5(case: Case, repeat: int) -> Values:
    """Height of trees at the ends of three parts: simple, not simple, and simple.

    Linear leaves and 50 particles; the oldest rows go.
    """
    n = case["rows"]
    X, y, f = scenes.simple_and_not(n, 5000 + repeat)
    is_full = case["lambda"] == "FULL"
    forget = None if is_full else case["lambda"]
    model = models.tree(
        "linear", "FULL" if is_full else "OAGE", case["rules"], seed=repeat,
        window=case["window"], n_particles=50, forget=forget,
    )  # fmt: skip
    heights, errors = [], []
    for first in range(0, 3 * n, n):
        rows = slice(first, first + n)
        seen = prequential(model, X[rows], y[rows], progress=False)
        late = seen.rows >= n // 2
        errors.append(squares(seen.mean[late], f[rows][seen.rows[late]]))
        heights.append(models.height_and_leaves(model)[0])
    return {
        **{f"height {part}": h for part, h in zip("ABC", heights, strict=True)},
        **{f"rmse {part}": e for part, e in zip("ABC", errors, strict=True)},
    }


# ---------------------------------------------------------------- figure 6, table 2
WINDOW_6 = 500  # for all, as in the paper


def cases_6(scale: Scale) -> Iterator[Case]:
    N, rows = min(200, scale.n_particles), scale.rows["6"]
    for data in ("xor", "rare"):
        base = {"data": data, "rows": rows}
        for rules in RULES:
            for lam in (1.0, 0.5, 0.01):
                yield base | {
                    "rules": rules, "method": "OAGE", "forget": lam, "N": N,
                    "window": WINDOW_6,
                }  # fmt: skip
        yield base | {"rules": "native", "method": "FULL", "N": N}
        yield base | {"rules": "averaged", "method": "averaged", "N": 0}
        yield base | {"rules": "baseline", "method": "adaptive LDA"}
        yield base | {
            "rules": "scikit-learn", "method": "windowed forest", "window": WINDOW_6
        }  # fmt: skip
        for name in (
            "adaptive random forest", "aggregated Mondrian forest",
            "Hoeffding adaptive tree",
        ):  # fmt: skip
            yield base | {"rules": "river", "method": name}


def figure_6(case: Case, repeat: int) -> Values:
    """AUC and H of probabilities one row ahead, whole and by blocks of the stream."""
    if case["data"] == "xor":
        X, y, _ = scenes.rotating_xor(case["rows"], 6000 + repeat)
    else:
        X, y = scenes.rare_events(case["rows"], 6000 + repeat)
    start = time.process_time()
    p = prediction_of(case, X, y, repeat, WINDOW_6)
    seconds = time.process_time() - start
    late = slice(len(y) // 20, None)
    blocks = np.array_split(np.arange(len(y))[late], BLOCKS)
    return {
        "auc": auc(y[late], p[late]), "h": h_measure(y[late], p[late]),
        "auc by block": [auc(y[rows], p[rows]) for rows in blocks],
        "h by block": [h_measure(y[rows], p[rows]) for rows in blocks],
        "error": float(((p > 0.5) != y)[late].mean()),
        "microseconds": 1e6 * seconds / len(y),
    }  # fmt: skip


Function = Callable[[Case, int], Values]


def figure(
    name: str, scale: Scale, elec2: str | None = None
) -> tuple[Function, list[Case]]:
    """The function and the cases of a figure."""
    if name == "table1":
        return partial(table_1, elec2=elec2), list(cases_table1(scale, elec2))
    found: dict[str, tuple[Function, Callable[[Scale], Iterator[Case]]]] = {
        "1": (figure_1, cases_1), "2": (figure_2, cases_2), "3": (figure_3, cases_3),
        "4": (figure_4, cases_4), "windows": (memory, cases_windows),
        "5": (figure_5, cases_5), "6": (figure_6, cases_6),
    }  # fmt: skip
    function, cases = found[name]
    return function, list(cases(scale))
