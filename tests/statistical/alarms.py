"""Change alarms beside river's ADWIN and PageHinkley, on the same streams of scores.

Run ``python -m tests.statistical.alarms``; the last result is stored in alarms.txt
beside this file. It takes some ten minutes. Every detector has its defaults, but that
PageHinkley looks upward, as losses are its input. False alarms are counted in streams
without a change, and delays from the row of a change on; a stream whose change is not
found within 400 rows counts as one of more than that. An alarm before the change begins
a detector anew, as each does by itself.

Scores are those of a normal response under the prediction N(0, 1), or of a label
predicted with probability .9; then of `StreamingTree`, which learns the rows:
Friedman's function with noise 1, or whether it is above 14 with one label in ten
wrong, 100 particles, window 200, a change after 2000 rows. Drift raises the mean by so
much a row, 0.1 or 0.4 of the noise in a window.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import dyntree
from dyntree import ChangeAlarm, StreamingTree

from .native_tables import fried

STREAMS, LATEST = 100, 400  # streams with a change; rows in which it is to be found
QUIET, LONG = 10, 100_000  # streams without, and their rows
LEARNED, TREES = 2000, 20  # rows that a tree learns before a change; streams of such


class Scores(NamedTuple):
    """Of each row what detectors are given: log density and tail probability."""

    log_density: np.ndarray
    tail: np.ndarray


Stream = Callable[[np.random.Generator], Scores]
Detect = Callable[[Scores, int], list[int]]


# ------------------------------------------------------------ detectors
def alarmed(field: str) -> Detect:
    """Rows at which a ChangeAlarm is given."""

    def detect(scores: Scores, seed: int) -> list[int]:
        alarm = ChangeAlarm(seed=seed)
        given = getattr(scores, field).tolist()
        return [row for row, score in enumerate(given) if alarm.update(score)]

    return detect


def rivers(name: str, field: str, **options: Any) -> Detect:
    """Rows at which a detector of river's is given."""

    def detect(scores: Scores, seed: int) -> list[int]:
        from river import drift

        detector = getattr(drift, name)(**options)
        found = []
        losses = -getattr(scores, field)
        for row, loss in enumerate(np.maximum(losses, -700.0).clip(max=700.0).tolist()):
            detector.update(loss)
            if detector.drift_detected:
                found.append(row)
        return found

    return detect


DETECTORS: dict[str, Detect] = {
    "ChangeAlarm, log density": alarmed("log_density"),
    "ChangeAlarm, tail": alarmed("tail"),
    "ADWIN, log density": rivers("ADWIN", "log_density"),
    "ADWIN, tail": rivers("ADWIN", "tail"),
    "PageHinkley, log density": rivers("PageHinkley", "log_density", mode="up"),
    "PageHinkley, tail": rivers("PageHinkley", "tail", mode="up"),
}


# ------------------------------------------------------------ predictions that stay
def normal(z: np.ndarray) -> Scores:
    """Of a response z under N(0, 1)."""
    return Scores(stats.norm.logpdf(z), 2.0 * stats.norm.sf(np.abs(z)))


def labels(right: np.ndarray) -> Scores:
    """Of labels that were predicted with .9, rightly or not."""
    return Scores(np.log(np.where(right, 0.9, 0.1)), np.where(right, 1.0, 0.1))


def joined(*parts: Scores) -> Scores:
    return Scores(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def still(n: int) -> dict[str, Stream]:
    """Streams without a change; in the last, a model becomes better."""
    better = np.sqrt(1.0 + 20.0 / (1.0 + np.arange(n) / 300.0))
    return {
        "normal": lambda rng: normal(rng.normal(size=n)),
        "heavy tails": lambda rng: normal(rng.standard_t(3, n)),
        "labels": lambda rng: labels(rng.random(n) < 0.9),
        "becoming better": lambda rng: normal(better * rng.normal(size=n)),
    }


def changing(n: int) -> dict[str, Stream]:
    """What comes after n rows of `still`."""
    return {
        "mean by 1 sd": lambda rng: joined(
            normal(rng.normal(size=n)), normal(rng.normal(1.0, 1.0, LATEST))
        ),
        "mean by 2 sd": lambda rng: joined(
            normal(rng.normal(size=n)), normal(rng.normal(2.0, 1.0, LATEST))
        ),
        "mean by 4 sd": lambda rng: joined(
            normal(rng.normal(size=n)), normal(rng.normal(4.0, 1.0, LATEST))
        ),
        "twice the noise": lambda rng: joined(
            normal(rng.normal(size=n)), normal(rng.normal(0.0, 2.0, LATEST))
        ),
        "errors .1 to .3": lambda rng: joined(
            labels(rng.random(n) < 0.9), labels(rng.random(LATEST) < 0.7)
        ),
        "labels flip": lambda rng: joined(
            labels(rng.random(n) < 0.9), labels(rng.random(LATEST) < 0.1)
        ),
    }


# ------------------------------------------------------------ a model that learns
def prediction_of(model: StreamingTree, X: np.ndarray, y: Any) -> Scores:
    """Scores of rows, each of which is learned once it was predicted."""
    found = []
    for x, response in zip(X[:, None], y, strict=True):
        if model.is_ready:
            told = model.predict(x, threads=1)
            tail = told.tail_probability([response])[0]
            found.append((told.log_density([response])[0], tail))
        model.update(x, [response], progress=False)
    return Scores(*np.array(found).T)


def real(seed: int, n: int, shift: float, noise: float, slope: float = 0.0) -> Scores:
    """Friedman's function; its mean and its noise change after LEARNED rows."""
    X, y, mean = fried(n, seed)
    late = np.arange(n) >= LEARNED
    y = np.where(late, mean + shift + noise * (y - mean), y) + slope * np.arange(n)
    model = StreamingTree("linear", window=200, n_particles=100, seed=seed)
    return prediction_of(model, X, y)


def binary(seed: int, n: int, flips: bool) -> Scores:
    """Whether it is above 14, one label in ten wrong; labels flip."""
    X, _, mean = fried(n, seed)
    wrong = np.random.default_rng(seed + 10_000).random(n) < 0.1
    y = (mean > 14.0) ^ wrong ^ (flips & (np.arange(n) >= LEARNED))
    names = np.where(y, "high", "low").tolist()
    options: dict[str, Any] = {"classes": ("high", "low")}
    model = StreamingTree("class", window=200, n_particles=100, seed=seed, **options)
    return prediction_of(model, X, names)


LEARNING: dict[str, Callable[[int, int], Scores]] = {
    "mean by 1 noise sd": lambda seed, n: real(seed, n, 1.0, 1.0),
    "mean by 3 noise sd": lambda seed, n: real(seed, n, 3.0, 1.0),
    "twice the noise": lambda seed, n: real(seed, n, 0.0, 2.0),
    "labels flip": lambda seed, n: binary(seed, n, True),
}
FOLLOWED: dict[str, Callable[[int, int], Scores]] = {
    "Friedman": lambda seed, n: real(seed, n, 0.0, 1.0),
    "its labels": lambda seed, n: binary(seed, n, False),
    "slow drift": lambda seed, n: real(seed, n, 0.0, 1.0, slope=5e-4),
    "fast drift": lambda seed, n: real(seed, n, 0.0, 1.0, slope=2e-3),
}


# ------------------------------------------------------------ tables
def count_table(title: str, streams: dict[str, list[Scores]]) -> bool:
    """False alarms of 100,000 rows; whether those of ChangeAlarm are as asked."""
    print(f"\n{title}")
    print(" " * 26 + "".join(f"{name:>20}" for name in streams))
    kept = True
    for name, detect in DETECTORS.items():
        cells = []
        for scores in streams.values():
            n_rows = sum(len(one.tail) for one in scores)
            n_found = sum(len(detect(one, seed)) for seed, one in enumerate(scores))
            cells.append(f"{n_found / n_rows * LONG:20.2f}")
            most = stats.poisson.ppf(1.0 - 1e-6, n_rows / LONG)
            kept = kept and (n_found <= most or not name.startswith("ChangeAlarm"))
        print(f"{name:<26}" + "".join(cells), flush=True)
    return kept


def delay_table(title: str, streams: dict[str, list[Scores]], n_latest: int) -> None:
    """Median delay, and share of the changes that were found within 200 rows."""
    print(f"\n{title}")
    print(" " * 26 + "".join(f"{name:>20}" for name in streams))
    for name, detect in DETECTORS.items():
        cells = []
        for scores in streams.values():
            delays = []
            for seed, one in enumerate(scores):
                change = len(one.tail) - n_latest
                rows = [row for row in detect(one, seed) if row >= change]
                delays.append(rows[0] - change + 1 if rows else n_latest + 1)
            middle = float(np.median(delays))
            told = f"> {n_latest}" if middle > n_latest else f"{middle:.0f}"
            found = np.mean(np.array(delays) <= 200)
            cells.append(f"{f'{told} ({found:.0%})':>20}")
        print(f"{name:<26}" + "".join(cells), flush=True)


def made(streams: dict[str, Stream], n: int) -> dict[str, list[Scores]]:
    return {
        name: [stream(np.random.default_rng(seed)) for seed in range(n)]
        for name, stream in streams.items()
    }


def main() -> int:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    kept = count_table(
        f"False alarms per 100,000 rows, in {QUIET} streams of {LONG:,}",
        made(still(LONG), QUIET),
    )
    for n in (200, 1000, 3000):
        delay_table(
            f"Median delay (found within 200 rows), change after {n} rows, "
            f"{STREAMS} streams",
            made(changing(n), STREAMS),
            LATEST,
        )
    count_table(  # what drifts is not exchangeable: nothing is promised
        f"A model that learns: alarms per 100,000 rows, in 2 streams of {LONG // 4:,}",
        {
            name: [make(seed, LONG // 4) for seed in range(2)]
            for name, make in FOLLOWED.items()
        },
    )
    delay_table(
        f"A model that learns: median delay, change after {LEARNED} rows, {TREES} "
        "streams",
        {
            name: [make(seed, LEARNED + LATEST) for seed in range(TREES)]
            for name, make in LEARNING.items()
        },
        LATEST,
    )
    print(f"\nFalse alarms as few as asked: {'met' if kept else 'NOT MET'}")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
