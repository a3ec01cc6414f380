"""Compare the R mirror with the real CRAN dynaTree, fit by fit, from the same seeds.

Needs Rscript on the reference BLAS and dynaTree 1.2-17 in R's library path (R_LIBS).
Run ``python -m tests.heavy.cran_fits``; the last table is stored in cran_fits.txt.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dyntree.api import rmirror

SCRIPT = """
suppressMessages(library(dynaTree))
args <- commandArgs(TRUE)
setwd(args[1])
read <- function(name) as.matrix(read.csv(name, header = FALSE))
out <- function(name, x) cat(name, sprintf("%%.17g", as.numeric(x)), "\\n",
                             file = "answer.txt", append = TRUE)
X <- read("X.csv"); y <- read("y.csv")[, 1]
X2 <- read("X2.csv"); y2 <- read("y2.csv")[, 1]
dimnames(X) <- dimnames(X2) <- NULL
set.seed(%(seed)d)
fit <- dynaTree(X, y, verb = 0, %(call)s)
look <- function(step) {
  out(paste0(step, ".lpred"), fit$lpred)
  out(paste0(step, ".treestats"), unlist(treestats(fit)))
  fit <- predict(fit, X2, quants = TRUE, verb = 0)
  for (name in c("mean", "var", "q1", "q2", "p", "entropy"))
    if (!is.null(fit[[name]])) out(paste0(step, ".", name), fit[[name]])
}
look("fit")
if (%(retire)d > 0) {
  fit <- retire(fit, 1:%(retire)d, lambda = %(lambda)s)
  fit <- rejuvenate(fit, verb = 0)
}
fit <- update(fit, X2, y2, verb = 0)
look("update")
out("next", runif(1))
"""


@dataclass(frozen=True)
class Case:
    """One sequence: fit, perhaps retire and rejuvenate, update."""

    model: str
    n_particles: int
    seed: int
    icept: str = "implicit"
    rprop: str = "luvar"
    levels: int = 0
    n_rows: int = 70
    retire: int = 0
    forget: float = 1.0
    more: dict[str, Any] = field(default_factory=dict)

    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows of the fit and rows to add; some columns on a grid, some smooth."""
        rng = np.random.default_rng(self.seed)
        X = rng.random((self.n_rows + 15, 3))
        if self.levels:
            X[:, 0] = np.round(X[:, 0] * (self.levels - 1)) / (self.levels - 1)
            X[:, 1] = np.array([0.1, 0.3, 0.7])[(3 * X[:, 1]).astype(int)]
        y = np.sin(5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + rng.normal(0, 0.2, len(X))
        if self.model == "class":
            y = 1.0 + (y > 0.6) + (y > 1.1)
        cut = self.n_rows
        return X[:cut], y[:cut], X[cut:], y[cut:]

    def arguments(self) -> dict[str, Any]:
        """Arguments of dynaTree beside the data."""
        extra = {"icept": self.icept} if self.model == "linear" else {}
        return {
            "N": self.n_particles,
            "model": self.model,
            "rprop": self.rprop,
            **extra,
            **self.more,
        }


def cases() -> list[Case]:
    """Twenty-six settings: N 30 and 1000, smooth inputs and inputs with few levels."""
    grid = itertools.product((30, 1000), (0, 5))
    chosen = []
    for k, (n, levels) in enumerate(grid):
        seed = 100 + 10 * k
        chosen += [
            Case("constant", n, seed, levels=levels),
            Case("linear", n, seed + 1, levels=levels),
            Case("linear", n, seed + 2, icept="augmented", levels=levels, retire=9),
            Case("class", n, seed + 3, levels=levels, retire=6, forget=0.8),
            Case("constant", n, seed + 4, rprop="luall", levels=levels, retire=8),
        ]
    return [
        *chosen,
        Case("linear", 30, 200, icept="none", levels=4, rprop="reject"),
        Case("linear", 30, 201, levels=3, rprop="luall", more={"minp": 6}),
        Case("constant", 25, 202, levels=6, more={"nu0s20": (3.0, 0.1)}),
        Case("constant", 60, 203, retire=20, forget=0.5, more={"ab": (0.5, 1.0)}),
        Case("linear", 20, 204, levels=8, more={"sb": (1, 2), "minp": 8}),
        Case("class", 500, 205, levels=3, rprop="reject"),
    ]


def r_value(value: Any) -> str:
    """Return an argument as R source."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"c({', '.join(map(repr, value))})"
    return repr(value)


def run_r(case: Case, folder: Path) -> dict[str, np.ndarray]:
    """Return what the real package answers."""
    for name, rows in zip(("X", "y", "X2", "y2"), case.data(), strict=True):
        np.savetxt(folder / f"{name}.csv", rows, fmt="%.17g", delimiter=",")
    call = ", ".join(f"{k} = {r_value(v)}" for k, v in case.arguments().items())
    fills = {
        "seed": case.seed,
        "call": call,
        "retire": case.retire,
        "lambda": case.forget,
    }
    (folder / "run.R").write_text(SCRIPT % fills)
    subprocess.run(
        ["Rscript", "run.R", str(folder)], cwd=folder, check=True, capture_output=True
    )
    answer = {}
    for line in (folder / "answer.txt").read_text().splitlines():
        name, *numbers = line.split()
        answer[name] = np.array([float(n.replace("NA", "nan")) for n in numbers])
    return answer


def run_mirror(case: Case) -> dict[str, np.ndarray]:
    """Return what the mirror answers."""
    X, y, X2, y2 = case.data()
    fit = rmirror.dynaTree(X, y, verb=0, seed=case.seed, **case.arguments())
    answer: dict[str, np.ndarray] = {}

    def look(step: str) -> None:
        answer[f"{step}.lpred"] = np.asarray(fit["lpred"])
        stats = rmirror.treestats(fit)
        answer[f"{step}.treestats"] = np.asarray(stats, dtype=float).ravel()
        seen = rmirror.predict(fit, X2, quants=True, verb=0)
        for name in ("mean", "var", "q1", "q2", "p", "entropy"):
            if name in seen:
                answer[f"{step}.{name}"] = np.asarray(seen[name]).ravel(order="F")

    look("fit")
    if case.retire:
        fit = rmirror.retire(fit, range(1, case.retire + 1), lambda_=case.forget)
        fit = rmirror.rejuvenate(fit, verb=0)
    fit = rmirror.update(fit, X2, y2, verb=0)
    look("update")
    answer["next"] = np.array([fit.rng.peek()])
    return answer


def main() -> int:
    """Print a table; the exit code is the number of cases that differ."""
    failures = 0
    print(f"{'case':<58} {'largest difference':>20}")
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            theirs = run_r(case, Path(folder))
        ours = run_mirror(case)
        worst, where = 0.0, "-"
        for name, values in theirs.items():
            scale = max(1.0, np.abs(values[np.isfinite(values)]).max(initial=0.0))
            same = np.array_equal(np.isnan(values), np.isnan(ours[name]))
            gap = np.nanmax(np.abs(values - ours[name]), initial=0.0) / scale
            gap = gap if same else np.inf
            if gap > worst:
                worst, where = gap, name
        ok = worst <= 1e-8 and theirs["next"][0] == ours["next"][0]
        failures += not ok
        label = (
            f"{case.model} {case.icept} {case.rprop} N={case.n_particles} "
            f"levels={case.levels} retire={case.retire} {case.more or ''}"
        )
        print(f"{label:<58} {worst:12.2e} {where} {'' if ok else 'DIFFERS'}")
    print(f"{len(cases())} cases, {failures} differ")
    return failures


if __name__ == "__main__":
    sys.exit(main())
