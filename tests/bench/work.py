"""The pieces of work, our side: benchmarks for asv, and one process each for `compare`.

``python -m tests.bench.work WORK MODEL PARTICLES WINDOW TIMES FOLDER`` prepares a piece
of work on the rows in FOLDER, does it TIMES times, and prints what the process had
spent before and after: user seconds, wall seconds, peak memory in kB.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from dyntree import DynamicTree, StreamingTree, fit_repeats
from dyntree.api import rmirror

from .task import Rows

CRAN_MIN_LEAF = {"constant": 4, "linear": 14, "class": 1}
OLDEST_FIRST = {"discard": "age", "rejuvenate_every": 0}
Prepare = Callable[[Rows, str, int, int], Callable[[], Any]]


def leaves(model: str) -> dict[str, Any]:
    """Arguments of ours for leaves as CRAN dynaTree has them: "linear implicit"."""
    kind, *intercept = model.split()
    given = {"model": kind, "min_leaf": CRAN_MIN_LEAF[kind]}
    return given | ({"intercept": intercept[0]} if intercept else {})


def native_tree(rows: Rows, model: str, n: int) -> DynamicTree:
    tree = DynamicTree(**leaves(model), n_particles=n, seed=1)
    return tree.update(rows.X, rows.target(model), progress=False)


def mirrored(rows: Rows, model: str, n: int) -> rmirror.DynaTree:
    kind, *icept = model.split()
    given = {"icept": icept[0]} if icept else {}
    return rmirror.dynaTree(
        rows.X, rows.target(model), N=n, model=kind, verb=0, seed=1, **given
    )


def fit_native(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    return lambda: native_tree(rows, model, n)


def repeats(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    """Eight fits side by side, on as many threads as the environment says."""
    tree = DynamicTree(**leaves(model), n_particles=n, seed=1)
    return lambda: fit_repeats(tree, rows.X, rows.target(model), 8, progress=False)


def fit_r(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    return lambda: mirrored(rows, model, n)


def predict_native(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    """Quantiles of the mixture itself under native rules."""
    tree = native_tree(rows, model, n)
    return lambda: tree.predict(rows.new).quantile([0.05, 0.95])


def predict_r(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    """Averaged quantiles under R's rules."""
    fit = mirrored(rows, model, n)
    return lambda: rmirror.predict(fit, rows.new)


def online(discard: str) -> Prepare:
    """The rows after a full window, one by one; each retires another, and no more."""

    def prepare(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
        y = rows.target(model)
        full = StreamingTree(
            **leaves(model),
            n_particles=n,
            window=window,
            discard=discard,
            rejuvenate_every=0,
            seed=1,
        ).update(rows.X[:window], y[:window], progress=False)

        def run() -> None:
            stream = full.copy()
            for t in range(window, len(y)):
                stream.update(rows.X[t : t + 1], y[t : t + 1], progress=False)

        return run

    return prepare


def prequential(**options: Any) -> Prepare:
    """Each row predicted, then learned; all arguments not given are the defaults."""

    def prepare(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
        y = rows.target(model)

        def run() -> None:
            stream = StreamingTree(
                model, n_particles=n, window=window, seed=1, **options
            )
            for t in range(len(y)):
                row = rows.X[t : t + 1]
                if t:
                    stream.predict(row)
                stream.update(row, y[t : t + 1], progress=False)

        return run

    return prepare


def learn(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    """The rows after two windows, in one call; all else is the default."""
    y, first = rows.target(model), 2 * window
    full = StreamingTree(model, n_particles=n, window=window, seed=1)
    full.update(rows.X[:first], y[:first], progress=False)
    return lambda: full.copy().update(rows.X[first:], y[first:], progress=False)


def sens(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    tree = native_tree(rows, model, n)
    return lambda: tree.sensitivity(n_samples=1000)


def relevance(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    return native_tree(rows, model, n).relevance


def alc(rows: Rows, model: str, n: int, window: int) -> Callable[[], Any]:
    tree = native_tree(rows, model, n)
    return lambda: tree.acquisition(rows.new, "alc")


WORK: dict[str, Prepare] = {
    "fit native": fit_native,
    "fit r": fit_r,
    "repeats": repeats,
    "predict native": predict_native,
    "predict r": predict_r,
    "online random": online("random"),
    "online alc": online("alc"),
    "sens": sens,
    "relevance": relevance,
    "alc": alc,
    "prequential": prequential(),
    "prequential, oldest first": prequential(**OLDEST_FIRST),
    "prequential, unsplit": prequential(**OLDEST_FIRST, tree_prior=(1e-12, 1.0)),
    "learn": learn,
}


class Fit:
    """For asv: 2,000 rows."""

    params: ClassVar[list[list[str]]] = [
        ["fit native", "fit r"],
        ["constant", "linear implicit", "linear augmented", "class"],
    ]
    param_names: ClassVar[list[str]] = ["work", "model"]
    timeout = 600

    def setup(self, work: str, model: str) -> None:
        rows = Rows.draw("friedman", 2000, 1000, 1)
        self.run = WORK[work](rows, model, 1000, 100)

    def time_work(self, work: str, model: str) -> None:
        self.run()

    def peakmem_work(self, work: str, model: str) -> None:
        self.run()


class Predict(Fit):
    """For asv: 1,000 points asked of 1,000 particles that learned 2,000 rows."""

    params: ClassVar[list[list[str]]] = [
        ["predict native", "predict r", "sens", "relevance", "alc"],
        ["constant", "linear implicit"],
    ]


class Online(Fit):
    """For asv: 1,900 rows through a window of 100."""

    params: ClassVar[list[list[str]]] = [
        ["online random", "online alc", "learn"],
        ["constant", "linear"],
    ]


def spent() -> str:
    """User seconds, wall seconds and peak memory in kB of this process so far."""
    user = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    status = Path("/proc/self/status").read_text()
    peak = status.split("VmHWM:")[1].split()[0]
    return f"{user} {time.perf_counter()} {peak}"


def main(
    work: str, model: str, particles: str, window: str, times: str, folder: str
) -> None:
    rows = Rows.read(Path(folder))
    run = WORK[work](rows, model, int(particles), int(window))
    before, answer = spent(), None
    for _ in range(int(times)):
        answer = run()
    print(before, spent(), sep="\n")
    if isinstance(answer, rmirror.DynaTree):
        answer.lpred.tofile(Path(folder) / "ours.bin")


if __name__ == "__main__":
    main(*sys.argv[1:])
