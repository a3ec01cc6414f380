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
PICTURE = sys.argv[1:2]


def rows(
    model: str, seed: int, n: int, width: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs: smooth, with ties, of three levels, and 0 or 1; linear leaves have two.

    Where all rows of a linear leaf share a value it has no inverse: alcX is then the
    noise of one, 1e24 and beyond, and beside a column of ones R's sens an error.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    X[:, 1] = np.round(8 * X[:, 1]) / 8
    X[:, 2] = rng.choice(LEVELS, n)
    X[:, 3] = X[:, 3] > 0.6
    y = np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    y += rng.normal(0, 0.2, n)
    X = X[:, : width or (2 if model == "linear" else 4)]
    return X, 1.0 + (y > 0.6) + (y > 1.2) if model == "class" else y


def windowed(
    model: str, icept: str, rule: str, forget: float, N: int
) -> tuple[Any, list[Step]]:
    """Return the rows of the fit, and the steps of a stream.

    Which row retires is found out by dyntree; if R's choice were another, the criterion
    compared in the same step would differ.
    """
    from dyntree.api import rmirror

    X, y = rows(model, 7, WINDOW + LATER)
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


def tell(label: str, X: Any, y: Any, **given: Any) -> bool:
    """Compare in an R of its own and print a line; return whether all agrees.

    An R that goes on from setting to setting may crash: the real package writes beyond
    its memory at times.
    """
    r = rbridge.session("subprocess")
    report = rbridge.crosscheck(X, y, session=r, **given)
    r.close()
    first, numbers = report.first_difference, sum(c.size for c in report.comparisons)
    steps = len({c.step for c in report.comparisons})
    worst = f"{report.worst.relative:.1e} {report.worst.quantity}"
    verdict = "draw for draw" if first is None else f"DIFFERS: {report.verdict}"
    print(f"{label:<46}{steps:>6}{numbers:>9}  {worst:<18}{verdict}", flush=True)
    if PICTURE and label == "constant implicit luvar N=1000":
        report.plot().savefig(PICTURE[0], dpi=110, bbox_inches="tight")
    return first is None


def main() -> int:
    """Print a table; the exit code is the number of settings that differ."""
    known = rbridge.session("subprocess").versions()
    print(f"{known['R']}, BLAS {known['BLAS']}, dynaTree {known['dynaTree']}\n")
    print(f"{'setting':<46}{'steps':>6}{'numbers':>9}  largest relative difference")
    agree = []
    for N, (model, icept), rprop in itertools.product((30, 1000), MODELS, PROPOSALS):
        X, y = rows(model, 3, 130)
        given: dict[str, Any] = {
            "seed": N + 1,
            "model": model,
            "options": {"N": N, "icept": icept, "rprop": rprop},
            "steps": everything(model, icept, X[110:], y[110:]),
        }
        label = f"{model} {icept} {rprop} N={N}"
        agree.append(tell(label, X[:110], y[:110], **given))
        if (model, icept) == ("linear", "implicit") and rprop != "luall":
            # with luall the real package now and then ends R on such rows
            X, y = rows(model, 3, 130, 3)
            asked = everything(model, icept, X[110:], y[110:])
            given["steps"] = [step for step in asked if step != "alcX"]
            agree.append(tell(f"{label} three levels", X[:110], y[:110], **given))
    for N, (model, icept, rule, forget) in itertools.product((30, 1000), STREAMS):
        (X, y), steps = windowed(model, icept, rule, forget, N)
        given = {"seed": 5, "model": model, "steps": steps}
        given["options"] = {"N": N, "icept": icept}
        label = f"stream {model} {icept} {rule} lambda={forget:g} N={N}"
        agree.append(tell(label, X, y, **given))
    print(f"{len(agree)} settings, {agree.count(False)} differ")
    return agree.count(False)


if __name__ == "__main__":
    sys.exit(main())
