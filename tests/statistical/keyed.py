"""A model for every key beside one shared model, one model a key, and mixed models.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.keyed``; the last result is stored
beside this file in keyed.txt. Each row is predicted before it is learned, and scored
from the sixth row on. "shared" is one `AveragedStream` of the columns, "own" one
`StreamingTree` of 30 particles and a window of 50 a key, which predicts what the shared
model does before it has two rows of its key, and "keyed" a `KeyedStream`; all have
their defaults. Made panels have keys of 5 to 500 rows, a fifth of them late, and three
columns; three seeds. Real panels are repeated measures that R ships, in order of time;
the last five of them had no part in any choice.

Shown are the root mean square error and the mean log density of the three, the ratio
of the error to the better of shared and own, the density less that of the better, and
the coverage of intervals of 90 %. For labels the error is the mean of the squared
distance of probabilities. Mixed models are `statsmodels.MixedLM` with a random
intercept and slope of the first column, fitted again on the past at eight points, and
scored after the first 30 %; nan where it cannot be fitted.
"""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import dyntree
from dyntree.summaries import ClassPrediction

SEEDS = (11, 12, 13)
FIRST = 5  # rows that are not scored
NAMES = ("shared", "own", "keyed")
MADE = ("same", "offsets", "slopes", "groups", "unrelated", "drift", "scales")
REAL = {  # expression of R, response, columns, key, order of time
    "BodyWeight": ("nlme::BodyWeight", "weight", ["Time", "Diet"], "Rat", "Time"),
    "CO2": ("datasets::CO2", "uptake", ["conc", "Type", "Treatment"], "Plant", "conc"),
    "ChickWeight": (
        "datasets::ChickWeight", "weight", ["Time", "Diet"], "Chick", "Time",
    ),
    "Loblolly": ("datasets::Loblolly", "height", ["age"], "Seed", "age"),
    "Milk": ("nlme::Milk", "protein", ["Time", "Diet"], "Cow", "Time"),
    "Orange": ("datasets::Orange", "circumference", ["age"], "Tree", "age"),
    "Orthodont": ("nlme::Orthodont", "distance", ["age", "Sex"], "Subject", "age"),
    "Oxboys": ("nlme::Oxboys", "height", ["age"], "Subject", "Occasion"),
    "Theoph": ("datasets::Theoph", "conc", ["Time", "Wt", "Dose"], "Subject", "Time"),
    "Wafer": ("nlme::Wafer", "current", ["voltage", "Site"], "Wafer", "voltage"),
    "epil": ("MASS::epil", "y", ["base", "age", "trt", "V4"], "subject", "period"),
    "Soybean": ("nlme::Soybean", "weight", ["Time", "Variety"], "Plot", "Time"),
    "Pixel": ("nlme::Pixel", "pixel", ["day", "Side"], "Dog", "day"),
    "Dialyzer": ("nlme::Dialyzer", "rate", ["pressure", "QB"], "Subject", "pressure"),
    "Spruce": ("nlme::Spruce", "logSize", ["days"], "Tree", "days"),
    "Ovary": ("nlme::Ovary", "follicles", ["Time"], "Mare", "Time"),
}  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """Rows of keys in order of time.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
    y, key : ndarray of shape (n_rows,)
    kind : {"real", "class", "negbin"}
    """

    X: np.ndarray
    y: np.ndarray
    key: np.ndarray
    kind: str = "real"


def smooth(X: np.ndarray) -> np.ndarray:
    """A function of three columns with a wave, a bend and a step."""
    bend = 8.0 * (X[:, 1] - 0.5) ** 2 * (X[:, 2] > 0.5)
    return np.asarray(np.sin(6.0 * X[:, 0]) + bend)


def random_function(rng: np.random.Generator) -> Callable[[np.ndarray], Any]:
    """A smooth function of three columns: four waves and a plane."""
    waves, phase = rng.normal(0.0, 3.0, (3, 4)), rng.uniform(0.0, 6.0, 4)
    size, slope = rng.normal(0.0, 0.7, 4), rng.normal(0.0, 1.0, 3)
    return lambda X: np.sin(X @ waves + phase) @ size + X @ slope


def keys_in_time(
    rng: np.random.Generator, n_keys: int, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keys and times in (0, 1), in order; a fifth of the keys begins late."""
    share = 1.0 / np.arange(1, n_keys + 1) ** 0.9
    sizes = np.clip(np.round(share / share.sum() * n_rows), 5, 500).astype(int)
    is_late = rng.random(n_keys) < 0.2
    begin = np.where(
        is_late, rng.uniform(0.5, 0.9, n_keys), rng.uniform(0, 0.1, n_keys)
    )
    key = np.repeat(np.arange(n_keys), sizes)
    when = rng.uniform(begin[key], 1.0)
    order = np.argsort(when, kind="stable")
    return key[order], when[order]


def made(world: str, kind: str, n_keys: int, n_rows: int, seed: int) -> Panel:
    """A made panel: see the names in `MADE`."""
    rng = np.random.default_rng([seed, n_keys, sum(map(ord, world + kind))])
    key, when = keys_in_time(rng, n_keys, n_rows)
    X = rng.random((len(key), 3))
    offset, noise = rng.normal(0.0, 1.0, n_keys), 0.3
    mean = smooth(X) + offset[key] * (world != "same")
    if world == "slopes":
        mean += rng.normal(0.0, 1.5, n_keys)[key] * (X[:, 1] - 0.5)
    if world in ("groups", "unrelated"):
        n = 4 if world == "groups" else n_keys
        which = rng.integers(0, 4, n_keys) if world == "groups" else np.arange(n_keys)
        functions = [random_function(rng) for _ in range(n)]
        values = np.array([function(X) for function in functions])
        mean = values[which[key], np.arange(len(key))]
    if world == "drift":
        at = rng.uniform(0.4, 0.8, n_keys)
        moves = (rng.random(n_keys) < 0.4)[key] & (when > at[key])
        mean += 2.0 * np.sign(offset[key]) * moves
    if world == "scales":
        unit = np.exp(rng.normal(0.0, 0.7, n_keys))[key]
        mean, noise = unit * smooth(X) + 3.0 * offset[key], noise * unit
    if kind == "class":
        odds = 2.5 * (mean - 0.4)
        y = np.where(rng.random(len(key)) < 1.0 / (1.0 + np.exp(-odds)), "a", "b")
        return Panel(X, y, key, kind)
    if kind == "negbin":
        rate = np.exp(1.0 + 0.5 * mean) * rng.gamma(5.0, 0.2, len(key))
        return Panel(X, rng.poisson(rate).astype(float), key, kind)
    return Panel(X, mean + noise * rng.standard_normal(len(key)), key)


def from_r(name: str) -> Panel:
    """A panel that R or one of its recommended packages ships."""
    expression, response, columns, key, time = REAL[name]
    code = f"write.csv(as.data.frame({expression}), row.names = FALSE)"
    run = ["Rscript", "-e", code]
    text = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    frame = pd.read_csv(io.StringIO(text)).sort_values(time, kind="stable")
    X = pd.get_dummies(frame[columns], drop_first=True).to_numpy(float)
    codes = pd.factorize(frame[key])[0]
    return Panel(X, frame[response].to_numpy(float), codes)


def shared_answers(panel: Panel, seed: int) -> list[Any]:
    """Predictions of rows by one stream for all keys."""
    models = {"real": "mixed", "class": "class", "negbin": "negbin"}
    labels = ("a", "b") if panel.kind == "class" else None
    stream = dyntree.AveragedStream(models[panel.kind], classes=labels, seed=seed)
    found = []
    for row in range(len(panel.y)):
        part = slice(row, row + 1)
        found.append(stream.predict(panel.X[part]) if row or labels else None)
        stream.update(panel.X[part], panel.y[part], progress=False)
    return found


def own_answers(panel: Panel, shared: list[Any], seed: int) -> list[Any]:
    """Predictions of rows by a tree a key."""
    models = {"real": "linear", "class": "class", "negbin": "negbin"}
    labels = ("a", "b") if panel.kind == "class" else None
    trees: dict[int, Any] = {}
    found = []
    for row, key in enumerate(panel.key.tolist()):
        part = slice(row, row + 1)
        tree = trees.get(key)
        if tree is None:
            tree = trees[key] = dyntree.StreamingTree(
                models[panel.kind], window=50, n_particles=30, classes=labels,
                seed=seed * 100_003 + key,
            )  # fmt: skip
        answer = tree.predict(panel.X[part]) if tree.n_seen > 1 else shared[row]
        has_var = answer is not None and not isinstance(answer, ClassPrediction)
        is_sound = not has_var or np.isfinite(answer.var[0])
        found.append(answer if is_sound else shared[row])
        tree.update(panel.X[part], panel.y[part], progress=False)
    return found


def scored(panel: Panel, answers: list[Any]) -> np.ndarray:
    """Error, log density and coverage of rows from the sixth on, shape (n_rows, 3)."""
    rows = []
    for answer, y in zip(answers[FIRST:], panel.y[FIRST:], strict=True):
        density = float(answer.log_density([y])[0])
        if isinstance(answer, ClassPrediction):
            p = answer.proba[0, answer.classes.index(y)]
            rows.append(((1.0 - p) ** 2, density, np.nan))
            continue
        low, high = answer.quantile([0.05, 0.95])[0]
        rows.append(((answer.mean[0] - y) ** 2, density, float(low <= y <= high)))
    return np.array(rows)


def keyed_scores(panel: Panel, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of a `KeyedStream`, and its means."""
    models = {"real": "linear", "class": "class", "negbin": "negbin"}
    labels = ("a", "b") if panel.kind == "class" else None
    model = dyntree.KeyedStream(models[panel.kind], classes=labels, seed=seed)
    answer = model.predict_then_learn(panel.X, panel.y, panel.key, progress=False)
    density = answer.log_density(panel.y)
    if isinstance(answer, ClassPrediction):
        place = [answer.classes.index(label) for label in panel.y]
        mean = answer.proba[np.arange(len(place)), place]
        columns = (1.0 - mean) ** 2, density, np.full(len(place), np.nan)
    else:
        low, high = answer.quantile([0.05, 0.95]).T
        mean = answer.mean
        inside = ((low <= panel.y) & (panel.y <= high)).astype(float)
        columns = (mean - panel.y) ** 2, density, inside
    return np.column_stack(columns)[FIRST:], mean


def compared(panel: Panel, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of the three, shape (3, n_scored, 3), means of the last, ages of rows."""
    shared = shared_answers(panel, seed)
    own = own_answers(panel, shared, seed)
    keyed, mean = keyed_scores(panel, seed)
    scores = np.array([scored(panel, shared), scored(panel, own), keyed])
    ages = pd.Series(panel.key).groupby(panel.key).cumcount().to_numpy()
    return scores, mean, ages[FIRST:]


def summary(scores: np.ndarray) -> tuple[float, float, float]:
    """Ratio of errors, gain in density, coverage; against the better of the others."""
    error, density = np.sqrt(scores[:, :, 0].mean(axis=1)), scores[:, :, 1].mean(axis=1)
    covered = scores[2, :, 2].mean()
    return error[2] / error[:2].min(), density[2] - density[:2].max(), covered


def shown(name: str, scores: np.ndarray) -> str:
    """A line of the table."""
    errors, densities = (
        np.sqrt(scores[:, :, 0].mean(axis=1)),
        scores[:, :, 1].mean(axis=1),
    )
    ratio, gain, covered = summary(scores)
    parts = [f"{e:8.4g} {d:7.3f}" for e, d in zip(errors, densities, strict=True)]
    return f"{name:28s} {'  '.join(parts)}   {ratio:6.3f} {gain:+7.3f} {covered:6.2f}"


def in_all(names: str, found: list[tuple[float, float, float]]) -> str:
    """A line of means and worst values."""
    ratio, gain, covered = np.array(found).T
    return (
        f"{names:28s} ratio mean {ratio.mean():.3f} worst {ratio.max():.3f}; "
        f"density mean {gain.mean():+.3f} worst {gain.min():+.3f}; "
        f"coverage {covered.min():.2f} to {covered.max():.2f}"
    )


def mixed_model_error(panel: Panel, mean: np.ndarray) -> tuple[float, float]:
    """Errors of a mixed model, fitted again at eight points, and of the means."""
    import statsmodels.api as sm

    n = len(panel.y)
    ends = np.linspace(0.3 * n, n, 9).astype(int)
    design = sm.add_constant(panel.X, has_constant="add")
    slope = design[:, :2]
    found = np.full(n, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, end in pairwise(ends):
            fit = sm.MixedLM(
                panel.y[:first],
                design[:first],
                panel.key[:first],
                exog_re=slope[:first],
            ).fit(reml=True)
            found[first:end] = design[first:end] @ fit.fe_params
            for row in range(first, end):
                effect = fit.random_effects.get(panel.key[row])
                if effect is not None:
                    found[row] += slope[row] @ np.asarray(effect)
    rows = slice(ends[0], None)
    return tuple(  # type: ignore[return-value]
        float(np.sqrt(np.mean((guess[rows] - panel.y[rows]) ** 2)))
        for guess in (found, mean)
    )


def main(quick: bool = False) -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    seeds = SEEDS[:1] if quick else SEEDS
    head = "  ".join(f"{name:>16s}" for name in NAMES)
    print(f"{'error, log density of':28s} {head}    ratio    gain  cover", flush=True)
    jobs = [(w, "real", k, n) for k, n in ((20, 1500), (200, 2600)) for w in MADE]
    jobs += [
        (w, c, 20, 1500)
        for c in ("class", "negbin")
        for w in ("same", "offsets", "unrelated")
    ]
    totals: dict[str, list[Any]] = {}
    late: dict[str, list[Any]] = {}
    for world, kind, n_keys, n_rows in jobs:
        for seed in seeds:
            panel = made(world, kind, n_keys, n_rows, seed)
            scores, _, ages = compared(panel, seed)
            print(shown(f"{world}, {kind}, {n_keys} keys, {seed}", scores), flush=True)
            group = f"{kind}, {n_keys} keys"
            totals.setdefault(group, []).append(summary(scores))
            for name, rows in (
                ("1 to 5", ages < 5),
                ("6 to 20", (ages >= 5) & (ages < 20)),
                ("more", ages >= 20),
            ):
                if rows.any() and kind == "real":
                    late.setdefault(f"{group}, rows {name}", []).append(
                        summary(scores[:, rows])
                    )
    for name in REAL:
        panel = from_r(name)
        found = [compared(panel, seed) for seed in seeds]
        scores = np.concatenate([one for one, *_ in found], axis=1)
        try:
            mixed = mixed_model_error(panel, found[0][1])
        except np.linalg.LinAlgError:  # a column does not vary in the first rows
            mixed = np.nan, np.nan
        line = shown(name, scores)
        print(f"{line}   MixedLM {mixed[0]:.4g} beside {mixed[1]:.4g}", flush=True)
        totals.setdefault("real panels", []).append(summary(scores))
    for group, found_of in (totals | late).items():
        print(in_all(group, found_of), flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)
