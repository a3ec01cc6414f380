"""Streams on which native and R's rules stand side by side, beside trivial baselines.

Run ``python -m tests.statistical.streams [--elec2 FILE] [--only NAME] [--repeats 3]``;
the last result is stored beside this file in streams.txt. Each row is predicted, scored
from row 500 on, then learned; on Spambase each of five stratified folds is learned as a
stream by a model that has seen none, and tells the held-out fold. Both rules get the
same rows, window, discard rule and forgetting: those that the native rules take by
default. Where drift is declared the native stream also rejuvenates, R's does not.
Repeats differ by the seed of the model alone, whose draws the two rules use in ways of
their own, so scores are not paired; data seeds are those of the streams. ELEC2 is not
part of the project: ``--elec2`` names a CSV file with columns x1 to x4, y.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import dyntree
from dyntree import StreamingTree
from dyntree.datasets import load_spambase
from dyntree.evaluate import class_scores, prequential

from .native_tables import drifting, fried, rotating_xor

START = 500
RULES = ("native", "r")


@dataclass
class Stream:
    """A stream, the models that run on it, and its baseline's score."""

    name: str
    X: np.ndarray
    y: np.ndarray
    mean: np.ndarray | None = None  # noise-free response, where it is known
    options: dict[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ("constant", "linear")


def streams(elec2: str | None) -> Iterator[Stream]:
    """The prequential streams, in the order of the table."""
    for n, seed in ((2000, 1), (20_000, 2)):
        X, y, f = fried(n, seed)
        yield Stream(f"fried5, {n:,} rows", X, y, f)
    for k in (0.1, 0.5):
        X, y, f = drifting(10_000, 11, k)
        yield Stream(f"drift k = {k}", X, y, f, {"drift": True})
    X, label, _ = rotating_xor(100_000, 21)
    yield Stream("rotating XOR", X, label, models=("class",))
    if elec2 is None:
        print("elec2: left out, no --elec2 FILE", file=sys.stderr)
        return
    table = np.genfromtxt(elec2, delimiter=",", skip_header=1)
    order = np.random.default_rng(7).permutation(len(table))
    for name, rows in (("elec2 in order", table), ("elec2 permuted", table[order])):
        yield Stream(name, rows[:, :4], rows[:, 4].astype(int), models=("class",))


def spambase_folds() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Five stratified folds: inputs and labels to learn, then those held out."""
    frame = load_spambase()
    y = (frame.pop("type") == "spam").to_numpy(dtype=int)
    X = frame.to_numpy(dtype=float)
    order = np.random.default_rng(0).permutation(len(y))
    fold = np.empty(len(y), dtype=int)
    for label in (0, 1):
        rows = order[y[order] == label]
        fold[rows] = np.arange(len(rows)) % 5
    for k in range(5):
        learn = order[fold[order] != k]
        yield X[learn], y[learn], X[fold == k], y[fold == k]


Scores = dict[str, float]


def on_stream(stream: Stream, model: str, n: int, rules: str, seed: int) -> Scores:
    """Prequential scores and rows per second of one model."""
    options = dict(stream.options)
    if rules == "r":
        native = StreamingTree(model, rules="native", **options)
        options = {"discard": native.options.discard, "forget": native.options.forget}
        if model == "linear":
            options["intercept"] = "augmented"
    tree = StreamingTree(model, rules=rules, n_particles=n, seed=seed, **options)
    seen = prequential(tree, stream.X, stream.y, start=START, progress=False)
    scores = seen.to_dict()
    scores["rows per second"] = 1.0 / scores["seconds_per_row"]
    if stream.mean is not None:
        scores["rmse to mean"] = float(
            np.sqrt(np.mean((seen.mean - stream.mean[START:]) ** 2))
        )
    for name, value in scores.pop("baseline").items():
        scores["baseline " + name] = value
    return scores


def on_spambase(n: int, rules: str, seed: int) -> Scores:
    """Scores on the held-out folds together, and rows learned per second."""
    proba, labels, seconds, rows = [], [], 0.0, 0
    for X, y, Z, held in spambase_folds():
        clock = time.perf_counter()
        tree = StreamingTree(
            "class", rules=rules, n_particles=n, seed=seed, discard="random",
            classes=(0, 1),
        )  # fmt: skip
        tree.update(X, y, progress=False)
        seconds += time.perf_counter() - clock
        rows += len(X)
        proba.append(tree.predict(Z).proba)
        labels.append(held)
    p, y = np.concatenate(proba), np.concatenate(labels)
    scores = class_scores(y, p, np.log(p[np.arange(len(y)), y]))
    return {
        "error": scores.error,
        "auc": scores.auc,
        "log_loss": scores.log_loss,
        "brier": scores.brier,
        "rows per second": rows / seconds,
        "baseline error": float(min(np.mean(y), 1.0 - np.mean(y))),
    }


REAL = ("rmse", "rmse to mean", "log_density", "coverage", "interval_score")
CLASS = ("error", "auc", "log_loss", "brier")
HIGH_IS_GOOD = {"log_density", "auc"}


def table(
    title: str,
    measures: tuple[str, ...],
    run: Callable[[str, int], Scores],
    repeats: int,
) -> list[str]:
    """Print one stream's lines; returns the measures in which native is worse."""
    found = {rules: [run(rules, seed) for seed in range(repeats)] for rules in RULES}
    print(f"\n{title}", flush=True)
    print(f"{'':<18}{'native (se)':>20}{'R rules (se)':>20}{'baseline':>10}")
    worse = []
    for name in (*measures, "rows per second"):
        values = {r: np.array([s[name] for s in found[r]]) for r in RULES}
        cells = "".join(
            f"{v.mean():12.4g} ({v.std(ddof=1) / repeats**0.5:.2g})".rjust(20)
            for v in values.values()
        )
        baseline = found["native"][0].get("baseline " + name)
        line = f"{name:<18}{cells}"
        line += f"{baseline:10.4g}" if baseline is not None else ""
        gain = values["native"].mean() - values["r"].mean()
        gain = gain if name in HIGH_IS_GOOD else -gain
        error = np.hypot(*(v.std(ddof=1) / repeats**0.5 for v in values.values()))
        judged = name not in ("rows per second", "coverage")
        if judged and gain < -2.0 * error:
            worse.append(f"{title}: {name}")
            line += "   worse"
        print(line, flush=True)
    return worse


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elec2", help="CSV file with x1, x2, x3, x4, y")
    parser.add_argument("--only", default="", help="part of a stream's name")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument(
        "--averaged", action="store_true", help="averages of streams, beside peers"
    )
    chosen = parser.parse_args(argv)
    if chosen.averaged:
        from .averaged import run  # which needs river and scikit-learn

        print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, one thread")
        return run(chosen.elec2, chosen.only)
    n, repeats = chosen.particles, chosen.repeats
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, {n} particles, "
          f"window 500, {repeats} repeats, one thread")  # fmt: skip
    worse = []
    for stream in streams(chosen.elec2):
        for model in stream.models:
            title = f"{stream.name}, {model} leaves"
            if chosen.only not in title:
                continue
            measures = REAL if stream.mean is not None else CLASS
            run = partial(on_stream, stream, model, n)
            worse += table(title, measures, run, repeats)
    if chosen.only in "spambase, 5 folds":
        run = partial(on_spambase, n)
        worse += table("spambase, 5 folds", CLASS, run, repeats)
    print("\nnative is worse by more than two standard errors in: " +
          ("; ".join(worse) or "nothing"))  # fmt: skip
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
