"""Compare CRAN dynaTree and dyntree draw for draw, in every setting that matters.

Needs R on the reference BLAS with dynaTree 1.2-17 (R_LIBS). Run
``python -m tests.heavy.crosschecks [PICTURE]``; the last table is stored in
crosschecks.txt. Each line is one `rbridge.crosscheck`: models x intercepts x
proposals at 30 and 1000 particles with every change and every question, on inputs with
ties and a column of three levels; then streams in a window, in which a row retires and
one comes.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

import rbridge
from rbridge.command import everything
from rbridge.crosscheck import Step

MODELS = [
    ("constant", "implicit"), ("linear", "implicit"), ("linear", "augmented"),
    ("linear", "none"), ("class", "implicit"), ("prior", "implicit"),
]  # fmt: skip
PROPOSALS = ("luvar", "luall", "reject")
LEVELS = (0.1, 0.3, 0.7)
STREAMS = [
    ("constant", "implicit", "age", 1.0),
    ("constant", "implicit", "age", 0.9),
    ("constant", "implicit", "alc", 1.0),
    ("linear", "augmented", "age", 0.9),
    ("linear", "augmented", "alc", 1.0),
    ("linear", "augmented", "alc", 0.9),
    ("class", "implicit", "age", 1.0),
    ("class", "implicit", "entropy", 1.0),
    ("class", "implicit", "entropy", 0.9),
]
WINDOW, LATER = 60, 60


def rows(model: str, icept: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs: smooth, with ties, of three levels, and 0 or 1.

    Linear leaves whose rows share a value there have no inverse: alcX is then the noise
    of one, 1e24 and beyond, and beside a column of ones R's sens an error. So they do
    without the last, and beside a column of ones without the third.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    X[:, 1] = np.round(8 * X[:, 1]) / 8
    X[:, 2] = rng.choice(LEVELS, n)
    X[:, 3] = X[:, 3] > 0.6
    y = np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    y += rng.normal(0, 0.2, n)
    if model == "linear":
        return X[:, : 2 if icept == "augmented" else 3], y
    return X, 1.0 + (y > 0.6) + (y > 1.2) if model == "class" else y


def windowed(
    model: str, icept: str, rule: str, forget: float, N: int
) -> tuple[Any, list[Step]]:
    """Return the rows of the fit, and the steps of a stream.

    Which row retires is found out by dyntree; if R's choice were another, the criterion
    compared in the same step would differ.
    """
    from dyntree.api import rmirror

    X, y = rows(model, icept, 7, WINDOW + LATER)
    ask = {"alc": ("alcX", "alcX"), "entropy": ("entropyX", "entropyX")}
    stream = rmirror.RStream(5)
    own = rmirror.dynaTree(
        X[:WINDOW], y[:WINDOW], N, model, icept=icept, verb=0, rng=stream
    )
    steps: list[Step] = []
    for t in range(WINDOW, WINDOW + LATER):
        row = 1
        if rule in ask:
            name, field = ask[rule]
            own = getattr(rmirror, name)(own)
            row = int(np.argmin(own[field])) + 1
            steps.append(name)
        given = {"indices": [row], "lambda_": forget}
        own = rmirror.retire(own, **given)
        steps.append(("retire", given))
        if t % 25 == 0:
            own = rmirror.rejuvenate(own, verb=0)
            steps.append("rejuvenate")
        new: dict[str, Any] = {"X": X[t : t + 1], "y": y[t : t + 1]}
        own = rmirror.update(own, **new, verb=0)
        steps += [("update", new), ("predict", {"XX": X[t - 9 : t]})]
    return (X[:WINDOW], y[:WINDOW]), [*steps, ("sens", {"nns": 200, "nME": 20})]


def tell(label: str, report: Any) -> bool:
    """Print a line for a report; return whether it agrees."""
    first, numbers = report.first_difference, sum(c.size for c in report.comparisons)
    steps = len({c.step for c in report.comparisons})
    worst = f"{report.worst.relative:.1e} {report.worst.quantity}"
    verdict = "draw for draw" if first is None else f"DIFFERS: {report.verdict}"
    print(f"{label:<44}{steps:>6}{numbers:>9}  {worst:<16}{verdict}", flush=True)
    return first is None


def main(picture: str | None = None) -> int:
    """Print a table; the exit code is the number of settings that differ."""
    r = rbridge.session("subprocess")
    known = r.versions()
    print(f"{known['R']}, BLAS {known['BLAS']}, dynaTree {known['dynaTree']}\n")
    print(f"{'setting':<44}{'steps':>6}{'numbers':>9}  largest relative difference")
    agree = []
    for N, (model, icept), rprop in itertools.product((30, 1000), MODELS, PROPOSALS):
        X, y = rows(model, icept, 3, 130)
        report = rbridge.crosscheck(
            X[:110],
            y[:110],
            seed=N + 1,
            model=model,
            options={"N": N, "icept": icept, "rprop": rprop},
            steps=everything(model, icept, X[110:], y[110:]),
            session=r,
        )
        agree.append(tell(f"{model} {icept} {rprop} N={N}", report))
        if picture is not None and (model, rprop, N) == ("constant", "luvar", 1000):
            report.plot().savefig(picture, dpi=110, bbox_inches="tight")
    for N, (model, icept, rule, forget) in itertools.product((30, 1000), STREAMS):
        (X, y), steps = windowed(model, icept, rule, forget, N)
        report = rbridge.crosscheck(
            X,
            y,
            seed=5,
            model=model,
            options={"N": N, "icept": icept},
            steps=steps,
            session=r,
        )
        label = f"stream {model} {icept} {rule} lambda={forget:g} N={N}"
        agree.append(tell(label, report))
    print(f"{len(agree)} settings, {agree.count(False)} differ")
    return agree.count(False)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
