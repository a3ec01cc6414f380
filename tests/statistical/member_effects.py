"""Which members of an average are right about effects on labels and counts.

Run ``python -m tests.statistical.member_effects``; the last result is stored in
member_effects.txt. A treatment whose probability depends on the first of three columns
acts on 250 rows: along a line (of log rates, or log odds), where the second column also
has a step, only where the second column is above its middle, or where the first column
is a wave. Asked is the ratio of the mean counts, or the difference of mean
probabilities: with and without treatment over all rows and over those where the second
column is above its middle, and between the values 1 and 0 of the first column.

Shown are the mean error over 40 sets and the share of sets whose 90 % interval, of 1000
joint draws, covers the truth: of clouds alone, of a regression alone, and of the
default averages of a table and of a stream. Of 40 sets a share of .9 strays by .08 two
times in twenty.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from dyntree import AveragedStream, AveragedTrees, LinearStream

N_ROWS, N_SETS, N_DRAWS = 250, 40, 1000
ENDS = (0.05, 0.95)
Score = Callable[[np.ndarray], np.ndarray]
TRUTHS: dict[str, Score] = {
    "line": lambda X: 0.5 * X[:, 0] + 0.4 * X[:, 3],
    "step": lambda X: 1.2 * (X[:, 1] > 0.0) + 0.4 * X[:, 3],
    "interaction": lambda X: 0.3 * X[:, 0] + 0.8 * X[:, 3] * (X[:, 1] > 0.0),
    "wave": lambda X: 0.8 * np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 3],
}
MODELS: dict[str, Callable[[str, int], Any]] = {
    "clouds": lambda kind, seed: AveragedTrees(kind, linear=False, seed=seed),
    "regression": lambda kind, seed: LinearStream(kind, seed=seed),
    "table": lambda kind, seed: AveragedTrees(kind, seed=seed),
    "stream": lambda kind, seed: AveragedStream(kind, seed=seed),
}


def rows(seed: int) -> np.ndarray:
    """Three columns, and a treatment that depends on the first."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N_ROWS, 3))
    return np.column_stack([x, rng.random(N_ROWS) < expit(x[:, 0])])


def responses(kind: str, score: np.ndarray, seed: int) -> tuple[np.ndarray, Any]:
    """Labels or counts of such log odds or log rates, and exposures of counts."""
    rng = np.random.default_rng([seed, 1])
    if kind == "class":
        return (rng.random(N_ROWS) < expit(2.0 * score - 0.5)).astype(int), None
    exposure = rng.uniform(0.5, 2.0, N_ROWS)
    noise = rng.gamma(3.0, 1.0 / 3.0, N_ROWS) if kind == "negbin" else 1.0
    return rng.poisson(exposure * np.exp(score) * noise), exposure


def effect(kind: str, low: Any, high: Any) -> Any:
    """Ratio of mean counts, or difference of mean probabilities, over the last axis."""
    if kind == "class":
        return high.mean(axis=-1) - low.mean(axis=-1)
    return high.mean(axis=-1) / low.mean(axis=-1)


def answer(model: Any, kind: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Draws of the effect, (n_draws,)."""
    both = np.vstack([low, high])
    exposure = None if kind == "class" else np.ones(2 * len(low))
    rng, found = np.random.default_rng(0), np.empty((N_DRAWS, 2 * len(low)))
    for block in model.draw_blocks(both, N_DRAWS, rng, exposure, n_compared=2):
        found[block.places] = block.mean[:, :, 1] if kind == "class" else block.mean
    return np.asarray(effect(kind, found[:, : len(low)], found[:, len(low) :]))


def asked(
    model: Any, kind: str, score: Score, X: np.ndarray, column: int
) -> tuple[float, bool]:
    """Error of an effect, and whether its interval covers the truth."""
    low, high = X.copy(), X.copy()
    low[:, column], high[:, column] = 0.0, 1.0
    shape = (lambda s: expit(2.0 * s - 0.5)) if kind == "class" else np.exp
    truth = effect(kind, shape(score(low)), shape(score(high)))
    draws = answer(model, kind, low, high)
    ends = np.quantile(draws, ENDS)
    return draws.mean() - truth, bool(ends[0] <= truth <= ends[1])


def main(kinds: list[str]) -> None:
    """Print one line for each kind of response, truth and model."""
    print("bias and cover of 90 % intervals, 40 sets")
    for kind in kinds:
        for name, score in TRUTHS.items():
            found: dict[str, list[list[float]]] = {}
            for seed in range(N_SETS):
                X = rows(seed)
                y, exposure = responses(kind, score(X), seed)
                more = {} if exposure is None else {"exposure": exposure}
                questions = ((X, 3), (X[X[:, 1] > 0.0], 3), (X, 0))
                for label, make in MODELS.items():
                    model = make(kind, seed).update(X, y, **more)
                    parts = [asked(model, kind, score, *each) for each in questions]
                    found.setdefault(label, []).append([x for p in parts for x in p])
            for label, each in found.items():
                mean = np.array(each).mean(axis=0)
                shown = "  ".join(
                    f"{what} {mean[2 * k]:+.3f} ({mean[2 * k + 1]:.2f})"
                    for k, what in enumerate(("treatment", "in half", "first column"))
                )
                print(f"{kind:8s} {name:12s} {label:11s} {shown}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:] or ["class", "poisson", "negbin"])
