"""Repeat the tables on which the native rules were chosen, with the product.

Run ``python -m tests.statistical.native_tables``; the last result is stored beside
this file in native_tables.txt. N = 100 particles; ten seeds of data and trees, 0 to 9,
unless a row says otherwise. Reference figures, CRAN dynaTree's among them, come from
the prototype that settled the rules, on data of other seeds; a row is met where the
product is within three standard errors of the reference, or better. Where the reference
has no standard error the product's own is taken.

The prototype was run again on the rows of this script, two fits to each
(``tests.statistical.prototype``). For constant leaves it came within two standard
errors of its figures, for linear leaves with many rows or many inputs it gave others:
these lines are held against what it gave here. Its first figures stand at their ends
(told); on no five or ten of the seeds 0 to 11 does it reach them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dyntree import DynamicTree, StreamingTree
from dyntree.datasets import load_mcycle, load_spambase
from dyntree.evaluate import prequential
from dyntree.params import NIG

Data = tuple[np.ndarray, np.ndarray, np.ndarray]
N = 100
SEEDS = range(10)
TOLD = {
    ("fried5", 2000, "linear"): {"fixed": -1.705, "adaptive": -1.708},
    ("10 inputs", 1000, "linear"): {"fixed": -1.915, "adaptive": -1.915},
}


def friedman_mean(X: np.ndarray, amplitude: np.ndarray | float = 1.0) -> np.ndarray:
    wave = 10 * amplitude * np.sin(np.pi * X[:, 0] * X[:, 1])
    return wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def fried(T: int, seed: int, m: int = 5) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((T, m))
    f = friedman_mean(X)
    return X, f + rng.standard_normal(T), f


def fried10(T: int, seed: int) -> Data:
    return fried(T, seed, 10)


def parabola(T: int, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    x = -3 + 5 * rng.random((T, 1))
    f = (x + x * x)[:, 0]
    return x, f + 0.5 * rng.standard_normal(T), f


def steps(T: int, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    x = rng.random((T, 1))
    f = np.array([0, 1, -1, 2, 0.5])[np.minimum((x[:, 0] * 5).astype(int), 4)]
    return x, f + 0.01 * rng.standard_normal(T), f


def noise(T: int, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return rng.random((T, 2)), rng.standard_normal(T), np.zeros(T)


def motorcycle(T: int, seed: int) -> Data:
    frame = load_mcycle()
    order = np.random.default_rng(seed).permutation(len(frame))
    y = frame["accel"].to_numpy(dtype=float)[order]
    return frame[["times"]].to_numpy(dtype=float)[order], y, y


def drifting(T: int, seed: int, k: float) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((T, 5))
    f = friedman_mean(X, 2 * np.sin(2 * np.pi * k * np.arange(1, T + 1) / 1000) + 1)
    return X, f + rng.standard_normal(T), f


def rotating_xor(T: int, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    X = -1 + 2 * rng.random((T, 2))
    angle = np.pi * np.arange(1, T + 1) / 20_000
    u = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    v = -X[:, 0] * np.sin(angle) + X[:, 1] * np.cos(angle)
    label = ((u > 0) != (v > 0)).astype(int)
    return X, np.where(rng.random(T) < 0.1, 1 - label, label), label


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, and what it is held against."""

    title: str
    measure: str
    values: list[float]
    reference: float | None  # None: shown, not judged
    reference_se: float | None
    cran: str
    higher_is_better: bool
    more: str = ""

    def text(self) -> tuple[str, bool]:
        mean = float(np.mean(self.values))
        se = float(np.std(self.values, ddof=1)) / math.sqrt(len(self.values))
        line = f"{self.title:<42}{self.measure:<6}{mean:9.3f} ({se:.3f})"
        if self.reference is None:
            return f"{line}{'-':>10}{self.cran:>12}   {'':<8}{self.more}", True
        bound = 3 * (se if self.reference_se is None else self.reference_se)
        gain = mean - self.reference if self.higher_is_better else self.reference - mean
        met = gain >= -bound
        line += f"{self.reference:10.3f}{self.cran:>12}"
        return f"{line}   {'met' if met else 'NOT MET':<8}{self.more}", met


def full_fit(
    title: str,
    data: Callable[[int, int], Data],
    T: int,
    model: str,
    prior: str | NIG,
    reference: float,
    se: float | None,
    cran: str,
    *,
    leaves: bool = False,
) -> Row:
    """Mean log predictive density from row 50 on, or the number of leaves.

    Each is the mean of four fits to the same rows: a hundred trees differ by their seed
    as much as the data do by theirs.
    """
    scores, sizes, errors = [], [], []
    for seed in SEEDS:
        X, y, _ = data(T, seed)
        new, _, f = data(1000, 1000 + seed)
        fits = np.zeros(3)
        for run in range(4):
            tree = DynamicTree(model, n_particles=N, prior=prior, seed=100 * run + seed)
            tree.update(X[:50], y[:50])
            before = tree.log_evidence
            tree.update(X[50:], y[50:])
            score = (tree.log_evidence - before) / (len(y) - 50)
            error = np.sqrt(np.mean((tree.predict(new).mean - f) ** 2))
            fits += np.array([score, tree.stats().n_leaves, error]) / 4
        for found, value in zip((scores, sizes, errors), fits, strict=True):
            found.append(float(value))
    more = f"{np.mean(sizes):.1f} leaves, RMSE {np.mean(errors):.3f}"
    kind = "fixed" if isinstance(prior, NIG) else "adaptive"
    if (title, T, model) in TOLD:
        more += f", told {TOLD[title, T, model][kind]:.3f}"
    name = f"{title} T={T} {model} {kind}"
    values = sizes if leaves else scores
    measure = "leaves" if leaves else "lp"
    return Row(name, measure, values, reference, se, cran, not leaves, more)


def table_priors() -> Iterator[Row]:
    """N1: log predictive density under the fixed and the adaptive prior."""
    fixed = NIG()
    for title, data, T, model, cran, plain, tuned in [
        ("fried5", fried, 500, "constant", "-2.684", (-2.705, None), (-2.675, 0.008)),
        ("fried5", fried, 2000, "constant", "-2.543", (-2.552, None), (-2.522, 0.006)),
        ("fried5", fried, 500, "linear", "-1.942", (-1.934, None), (-1.932, 0.014)),
        ("fried5", fried, 2000, "linear", "-1.776", (-1.736, 0.005), (-1.723, 0.005)),
        (
            "10 inputs",
            fried10,
            1000,
            "constant",
            "-2.674",
            (-2.633, None),
            (-2.611, 0.010),
        ),
        (
            "10 inputs",
            fried10,
            1000,
            "linear",
            "-2.101",
            (-1.967, 0.010),
            (-1.961, 0.009),
        ),
        (
            "parabola",
            parabola,
            300,
            "constant",
            "-.956",
            (-1.017, None),
            (-0.999, 0.018),
        ),
        ("parabola", parabola, 300, "linear", "-.799", (-0.802, None), (-0.805, 0.016)),
        (
            "step, noise .01",
            steps,
            500,
            "constant",
            "2.457",
            (1.907, None),
            (2.373, 0.093),
        ),
        (
            "motorcycle",
            motorcycle,
            133,
            "constant",
            "-4.324",
            (-4.449, None),
            (-4.470, None),
        ),
        (
            "motorcycle",
            motorcycle,
            133,
            "linear",
            "-4.322",
            (-4.403, None),
            (-4.432, 0.014),
        ),
    ]:
        yield full_fit(title, data, T, model, fixed, *plain, cran)
        yield full_fit(title, data, T, model, "adaptive", *tuned, cran)
    for model, cran, plain, tuned in [
        ("constant", "1.9", 1.04, 1.45),
        ("linear", "41", 1.00, 1.01),
    ]:
        for prior, reference in ((fixed, plain), ("adaptive", tuned)):
            yield full_fit(
                "pure noise",
                noise,
                500,
                model,
                prior,
                reference,
                None,
                cran,
                leaves=True,
            )
    yield spam(fixed)


def spam(prior: NIG) -> Row:
    """Class leaves on 1500 e-mails; they have no scale to choose."""
    frame = load_spambase()
    labels = (frame.pop("type") == "spam").to_numpy(dtype=int)
    X = frame.to_numpy(dtype=float)
    scores, errors = [], []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(labels))[:1500]
        tree = DynamicTree(
            "class", n_particles=N, rules="native", classes=(0, 1), seed=seed
        )
        seen = prequential(tree, X[order], labels[order], start=50, progress=False)
        scores.append(float(seen.log_density.mean()))
        errors.append(seen.to_dict()["error"])
    more = f"error {np.mean(errors):.3f}"
    title = "Spambase T=1500 class"
    return Row(title, "lp", scores, -0.343, 0.011, "-.356", True, more)


def table_windows() -> Iterator[Row]:
    """N2: RMSE to the true mean at 1000 points after 2000 rows, linear leaves."""
    for discard, window, reference, se, cran in [
        ("never", 2000, 0.75, None, "-"),
        ("random", 100, 1.11, 0.015, "1.24"),
        ("alc", 100, 0.93, 0.04, "1.16"),
    ]:
        errors = []
        for seed in SEEDS:
            X, y, _ = fried(2000, seed)
            tree = StreamingTree(
                "linear",
                window=window,
                discard="age" if discard == "never" else discard,
                min_leaf=10,
                n_particles=N,
                rules="native",
                seed=seed,
            ).update(X, y, progress=False)
            new, _, f = fried(1000, 1000 + seed)
            errors.append(float(np.sqrt(np.mean((tree.predict(new).mean - f) ** 2))))
        title = f"fried5 T=2000 w={window} {discard}"
        yield Row(title, "RMSE", errors, reference, se, cran, False)


def table_drift() -> Iterator[Row]:
    """N2: RMSE to the true mean from row 500 of 5000, window 100, data seed 11."""
    for k, references in [
        (
            0.1,
            [
                ("random", 1.0, 3.57, "5.00"),
                ("random", 0.98, 2.60, "3.04"),
                ("random", 0.95, 2.44, "2.62"),
                ("random", 0.9, 2.54, "-"),
                ("age", 0.95, 2.37, "-"),
            ],
        ),
        (
            0.5,
            [
                ("random", 1.0, 4.53, "9.30"),
                ("random", 0.98, 3.79, "7.50"),
                ("random", 0.95, 3.78, "5.66"),
                ("random", 0.9, 3.71, "-"),
                ("age", 0.95, 2.90, "-"),
                ("drift=True", 0.95, 2.90, "-"),
            ],
        ),
    ]:
        X, y, f = drifting(5000, 11, k)
        for discard, forget, reference, cran in references:
            errors = []
            how = {"discard": discard, "forget": forget}
            if discard == "drift=True":  # what the product sets by itself
                how = {"drift": True}
            for seed in SEEDS:
                tree = StreamingTree(
                    "linear",
                    window=100,
                    **how,
                    min_leaf=10,
                    n_particles=N,
                    rules="native",
                    seed=seed,
                )
                seen = prequential(tree, X, y, start=500, progress=False)
                errors.append(float(np.sqrt(np.mean((seen.mean - f[500:]) ** 2))))
            title = f"drift k={k} w=100 {discard} forget={forget}"
            yield Row(title, "RMSE", errors, reference, None, cran, False)


def table_xor() -> Iterator[Row]:
    """N2: prequential error on rotating XOR, w = 200, 10^4 rows, data seed 21.

    The reference did not discard by entropy.
    """
    X, y, _ = rotating_xor(10_000, 21)
    for forget, reference, cran in [(1.0, 0.193, ".327"), (0.95, 0.202, ".240")]:
        for discard in ("random", "age", "entropy"):
            errors = []
            for seed in SEEDS:
                tree = StreamingTree(
                    "class",
                    window=200,
                    discard=discard,
                    forget=forget,
                    n_particles=N,
                    rules="native",
                    classes=(0, 1),
                    seed=seed,
                )
                seen = prequential(tree, X, y, start=500, progress=False)
                errors.append(seen.to_dict()["error"])
            title = f"rotating XOR w=200 {discard} forget={forget}"
            known = None if discard == "entropy" else reference
            yield Row(title, "error", errors, known, None, cran, False)


def main() -> int:
    """Print all tables; the exit code is the number of rows that are not met."""
    failures = 0
    head = f"{'':<42}{'':<6}{'product (se)':>17}{'reference':>10}{'CRAN':>12}"
    for table in (table_priors, table_windows, table_drift, table_xor):
        clock = time.perf_counter()
        print(f"\n{table.__doc__}\n{head}", flush=True)
        for row in table():
            line, met = row.text()
            failures += not met
            print(line, flush=True)
        print(f"{time.perf_counter() - clock:.0f} s", flush=True)
    print(f"\n{failures} rows not met")
    return failures


if __name__ == "__main__":
    sys.exit(main())
