"""Defaults on streams and tables that nobody chose them by, beside today's learners.

Run ``python -m tests.statistical.unseen [--only NAME] [--no-peers] [--what tables]``
(or ``numbers`` or ``labels``, of streams);
the last results are stored in this folder, in streams.txt and tables.txt. With
``--what moa`` only CapyMOA's learners are run (``pip install capymoa``, and Java; none
of them needs torch), whose result is moa.txt; with ``--what vw`` Vowpal Wabbit
(``pip install vowpalwabbit``), whose result is vw.txt, and with ``--what bart`` BART on
the tables (``pip install stochtree``), whose result is bart.txt. Rows of streams
are scored from row 200 on. Our models have three seeds where rows are simulated, and so
have the rows; peers see the rows of the first seed, which are those of our column
"first seed". Log densities of ours stand beside those of a normal with the last 200
errors of the same model.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.model_selection import KFold

from dyntree import AveragedStream
from dyntree.api.estimators import DynamicTreeRegressor
from dyntree.evaluate import prequential

from ..tables import Bart, of_numbers, regressors
from .peers import LEAST, moa, peers, vw
from .streams import Unseen, streams
from .tables import TABLES

START, LAST = 200, 200
SEEDS = (1, 2, 3)
OTHERS = {"moa": moa, "vw": vw}  # learners that the tests' extra does not have
KINDS: dict[str, str | None] = {
    "default": None,
    "linear": "linear",
    "constant": "constant",
}


def normal_of_errors(y: np.ndarray, mean: np.ndarray) -> float:
    """Mean log density of a normal about means, by the spread of the last errors."""
    error, found = y - mean, []
    for t in range(LAST, len(y)):
        spread = np.sqrt(np.mean(error[t - LAST : t] ** 2)) + 1e-12
        found.append(norm.logpdf(error[t], scale=spread))
    return float(np.mean(found))


def own(X: np.ndarray, y: np.ndarray, model: str | None, seed: int) -> dict[str, float]:
    """Scores of an average with its defaults."""
    stream = AveragedStream(model, seed=seed)
    seen = prequential(stream, X, y, start=START, progress=False)
    scores = {k: v for k, v in seen.to_dict().items() if isinstance(v, float)}
    if seen.classes is None:
        scores["normal"] = normal_of_errors(y[START:], seen.mean)
    return scores


def measured(y: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Error, and log loss of labels (0 of numbers), of a peer."""
    if predicted.ndim == 1:
        return float(np.sqrt(np.mean((predicted - y) ** 2))), 0.0
    proba = np.maximum(predicted, LEAST)
    proba /= proba.sum(axis=1, keepdims=True)
    at = np.arange(len(y)), y.astype(int)
    return float(np.mean(proba.argmax(axis=1) != y)), float(-np.log(proba[at]).mean())


def on_stream(stream: Unseen, with_peers: bool) -> dict[str, Any]:
    """One line of the table; returns its figures."""
    seeds = SEEDS if not stream.is_real else SEEDS[:1]
    kinds = {"default": "class"} if stream.is_class else KINDS
    score = "error" if stream.is_class else "rmse"
    found: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
    for seed in seeds:
        X, y = stream.rows(seed)
        for name, model in kinds.items():
            labels = y.astype(int) if stream.is_class else y
            found[name].append(own(X, labels, model, seed))
    mean = {
        name: {k: float(np.mean([one[k] for one in runs])) for k in runs[0]}
        for name, runs in found.items()
    }
    line = f"{stream.name:<18}" + "".join(
        f" {name} {mean[name][score]:.4g}" for name in kinds
    )
    default = mean["default"]
    result: dict[str, Any] = {"name": stream.name, "class": stream.is_class}
    if stream.is_class:
        line += f" log loss {default['log_loss']:.3f}"
    else:
        better = min(mean["linear"][score], mean["constant"][score])
        result["to better"] = default[score] / better - 1.0
        result["coverage"] = default["coverage"]
        result["density"] = default["log_density"] - default["normal"]
        line += f" to better {100 * result['to better']:+.1f} %"
        line += f" nats {default['log_density']:.3f} to normal {result['density']:+.3f}"
        line += f" coverage {default['coverage']:.3f}"
    line += f" us {1e6 * default['seconds_per_row']:.0f}"
    if with_peers:
        X, y = stream.rows(SEEDS[0])
        n_classes = int(y.max()) + 1 if stream.is_class else 0
        first = found["default"][0]
        line += f" | first seed {first[score]:.4g}"
        errors = {}
        for name, ask in peers(stream.is_class):
            clock = time.process_time()
            predicted = ask(X, y, n_classes)
            micros = 1e6 * (time.process_time() - clock) / len(y)
            errors[name], loss = measured(y[START:], predicted[START:])
            line += f" {name} {errors[name]:.4g}"
            line += f" ({loss:.3f}, {micros:.0f})" if n_classes else f" ({micros:.0f})"
        best = min(errors, key=errors.get)  # type: ignore[arg-type]
        least = 1.0 / len(y)  # of labels that a peer never misses
        result["to peers"] = max(first[score], least) / max(errors[best], least) - 1.0
        line += f" | to {best} {100 * result['to peers']:+.1f} %"
    print(line, flush=True)
    return result


def of_others(stream: Unseen, learners: Callable[[bool], Any]) -> None:
    """One line of learners, on the rows of the first seed."""
    X, y = stream.rows(SEEDS[0])
    n_classes = int(y.max()) + 1 if stream.is_class else 0
    line = f"{stream.name:<18}"
    for name, ask in learners(stream.is_class):
        clock = time.process_time()
        predicted = ask(X, y, n_classes)
        micros = 1e6 * (time.process_time() - clock) / len(y)
        error, loss = measured(y[START:], predicted[START:])
        line += f" {name} {error:.4g}"
        line += f" ({loss:.3f}, {micros:.0f})" if n_classes else f" ({micros:.0f})"
    print(line, flush=True)


def share(values: Sequence[bool]) -> str:
    return f"{sum(values)} of {len(values)}"


def verdict(results: list[dict[str, Any]]) -> None:
    """What was asked of all streams together."""
    real = [one for one in results if not one["class"]]
    if real:
        ahead = [one["to better"] for one in real]
        near, worst = share([a <= 0.02 for a in ahead]), f"{100 * max(ahead):+.1f} %"
        print(f"\nnumbers: within 2 % of the better kind: {near}; worst {worst}")
        covers = [0.87 <= one["coverage"] <= 0.93 for one in real]
        dense = [one["density"] > -0.02 for one in real]
        print(f"coverage of 90 % intervals in .87 to .93: {share(covers)}")
        print(f"log density at most .02 below a normal of own errors: {share(dense)}")
    for what in (False, True):
        some = [
            one["to peers"]
            for one in results
            if one["class"] == what and "to peers" in one
        ]
        if some:
            print(f"{'labels' if what else 'numbers'}, to the best of all peers: "
                  f"within 3 %: {share([a <= 0.03 for a in some])}, "
                  f"within 10 %: {share([a <= 0.10 for a in some])}")  # fmt: skip


def of_bart(only: str) -> None:
    """Error and log density of BART alone, in the folds of `on_tables`."""
    for table in TABLES:
        if only not in table.name:
            continue
        X, y = table.rows()
        parts = []
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            rows = X[train], y[train], X[test], y[test]
            parts.append(of_numbers(Bart().fit(X[train], y[train]), *rows))
        square, nats = (
            np.concatenate(part).mean() for part in zip(*parts, strict=True)
        )
        size = f"{len(y):>5} x {X.shape[1]:<3}"
        print(f"{table.name:<28}{size} peer BART {np.sqrt(square):.4g} ({nats:.3f})",
              flush=True)  # fmt: skip


def on_tables(only: str) -> None:
    """Five folds of each table; mean ranks of all learners."""
    errors, densities = [], []
    for table in TABLES:
        if only not in table.name:
            continue
        X, y = table.rows()
        makers: dict[str, Callable[[], Any]] = {
            "default": lambda: DynamicTreeRegressor(random_state=0),
            "linear leaves": lambda: DynamicTreeRegressor("linear", random_state=0),
            "constant leaves": lambda: DynamicTreeRegressor("constant", random_state=0),
        }
        others = regressors(len(y))
        makers |= {
            f"peer {name}": others[name] for name in others if "cloud" not in name
        }
        parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {n: [] for n in makers}
        covered = []
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            for name, make in makers.items():
                fit = make().fit(X[train], y[train])
                rows = X[train], y[train], X[test], y[test]
                parts[name].append(of_numbers(fit, *rows))
                if name == "default":
                    low, high = fit.model_.predict(X[test]).quantile([0.05, 0.95]).T
                    covered.append((low <= y[test]) & (y[test] <= high))
        rmse = {k: float(np.sqrt(np.concatenate([p[0] for p in v]).mean()))
                for k, v in parts.items()}  # fmt: skip
        nats = {k: float(np.concatenate([p[1] for p in v]).mean())
                for k, v in parts.items()}  # fmt: skip
        cells = " ".join(f"{k} {rmse[k]:.4g} ({nats[k]:.3f})" for k in makers)
        coverage = np.concatenate(covered).mean()
        size = f"{len(y):>5} x {X.shape[1]:<3}"
        print(f"{table.name:<28}{size} {cells} coverage {coverage:.3f}", flush=True)
        errors.append(rmse)
        densities.append(nats)
    for title, figures, sign in (
        ("RMSE", errors, 1.0),
        ("log density", densities, -1.0),
    ):
        names = [n for n in figures[0] if all(n in one for one in figures)]
        names = [n for n in names if not n.endswith("leaves")]
        ranks = np.array([rankdata([sign * one[n] for n in names]) for one in figures])
        mean = ranks.mean(axis=0)
        order = np.argsort(mean)
        print(f"mean rank, {title}: "
              + ", ".join(f"{names[k]} {mean[k]:.2f}" for k in order))  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--what",
        choices=("streams", "numbers", "labels", "tables", "bart", *OTHERS),
        default="streams",
    )
    parser.add_argument("--no-peers", action="store_true")
    asked = parser.parse_args()
    if asked.what in ("tables", "bart"):
        (on_tables if asked.what == "tables" else of_bart)(asked.only)
        return
    chosen = [one for one in streams() if asked.only in one.name]
    if asked.what in ("numbers", "labels"):
        chosen = [one for one in chosen if one.is_class == (asked.what == "labels")]
    if asked.what in OTHERS:
        for one in chosen:
            of_others(one, OTHERS[asked.what])
        return
    verdict([on_stream(one, not asked.no_peers) for one in chosen])


if __name__ == "__main__":
    main()
