"""Experiments with dependent mixtures: each yields the lines of a table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from dyntree.datasets import EvolvingRows, evolving_flows, evolving_gaussians
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    Discount,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    RandomWalk,
    variation_of_information,
)

from .asking import log_density

BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0)
TRUTH: dict[str, Any] = {
    "concentration": 0.8, "survival": 0.975, "innovation": 0.02,
    "transition": RandomWalk(0.1), "history": 80, "seed": 0,
}  # fmt: skip
N_SEEDS = 20


@dataclass
class Score:
    """How well one run followed the clusters; means skip phases without rows."""

    vi: list[float] = field(default_factory=list)
    oracle: list[float] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    pooled: float = np.nan
    seconds: float = np.nan

    @property
    def row(self) -> list[float]:
        """Median and mean VI, excess, exact K, pooled VI, seconds."""
        vi = np.array(self.vi)
        return [
            float(np.median(vi)), float(vi.mean()),
            float(vi.mean() - np.mean(self.oracle)), float(np.mean(self.exact)),
            self.pooled, self.seconds,
        ]  # fmt: skip

    @property
    def rmse(self) -> float:
        """Root mean square of filtered means over phase, component and axis."""
        return float(np.sqrt(np.mean(self.squares)))


def bayes_labels(rows: np.ndarray, means: np.ndarray) -> np.ndarray:
    """The nearest true mean, which is Bayes' label for equal sizes."""
    distance = ((rows[:, None] - means[None]) ** 2).sum(axis=2)
    return np.argmin(distance, axis=1)


def follow(model: Any, data: EvolvingRows, with_rmse: bool = False) -> Score:
    """Let a model learn phase by phase, and score its labels in the end."""
    score, clock = Score(), time.process_time()
    filtered = []
    for rows in data.phases:
        model.update(rows, progress=False)
        if with_rmse:
            clock_stops = time.process_time()
            table = model.particles() if model.is_ready else None
            filtered.append((table, model.labels_))
            clock += time.process_time() - clock_stops
    score.seconds = time.process_time() - clock
    for t, (rows, truth) in enumerate(zip(data.phases, data.labels, strict=True)):
        if not len(rows):
            continue
        found = model.labels(t)
        score.vi.append(variation_of_information(truth, found))
        best = bayes_labels(rows, data.means[t])
        score.oracle.append(variation_of_information(truth, best))
        score.exact.append(len(np.unique(found)) == len(data.ids[t]))
        if with_rmse:
            table, labels = filtered[t]
            for one, mean in zip(data.ids[t].tolist(), data.means[t], strict=True):
                ids, counts = np.unique(labels[truth == one], return_counts=True)
                at = np.flatnonzero(table.id == ids[np.argmax(counts)])
                score.squares += ((table.mean[at[0]] - mean) ** 2).tolist()
    every = np.concatenate([model.labels(t) for t in range(len(data))])
    score.pooled = variation_of_information(np.concatenate(data.labels), every)
    return score


def simulation(n_rows: int) -> Iterator[str]:
    """The paper's simulation, its methods and their targets."""
    methods: dict[str, Callable[[], Any]] = {
        "gamma, 20 sweeps": lambda: DependentDPMixture(
            BASE, n_sweeps=20, burn_in=None, **TRUTH
        ),
        "gamma, 60 sweeps": lambda: DependentDPMixture(BASE, **TRUTH),
        "gamma, 60, no history merge": lambda: DependentDPMixture(
            BASE, history_merge=False, **TRUTH
        ),
        "counts (paper), 60": lambda: DependentDPMixture(
            BASE, weights="counts", **TRUTH
        ),
    }
    for k in (2, 3, 5):
        methods[f"D-FMM, K={k}"] = lambda k=k: DynamicFiniteMixture(
            k, BASE, transition=RandomWalk(0.1), seed=0
        )
    yield f"7.1 simulation: 80 phases, {n_rows} rows a component, {N_SEEDS} seeds"
    yield f"    {'':<30}  median VI  mean VI   excess  exact K  pooled VI   CPU s"
    data = [evolving_gaussians(80, n_rows, seed=seed) for seed in range(N_SEEDS)]
    found = {}
    for name, make in methods.items():
        rows = np.array([follow(make(), one).row for one in data])
        found[name] = rows
        mean = rows.mean(axis=0)
        yield f"    {name:<30}" + "".join(f"{v:>10.4f}" for v in mean)
    died = sum(any(not len(rows) for rows in one.phases) for one in data)
    yield f"    runs in which all clusters died for a while: {died}"
    gamma, counts = found["gamma, 60 sweeps"], found["counts (paper), 60"]
    finite = [rows[:, 2].mean() for name, rows in found.items() if "D-FMM" in name]
    yield target("mean excess VI of gamma", gamma[:, 2].mean(), "<=", 0.005)
    yield target("exact K of gamma", gamma[:, 3].mean(), ">=", 0.95)
    yield target("excess of counts over that of gamma",
                 counts[:, 2].mean() - gamma[:, 2].mean(), ">", 0.0)  # fmt: skip
    yield target("least excess of a D-FMM over that of gamma",
                 min(finite) - gamma[:, 2].mean(), ">", 0.0)  # fmt: skip
    yield target("mean excess of D-FMM", float(np.mean(finite)), ">=", 0.05)
    yield target("CPU seconds of a run", gamma[:, 5].mean(), "<=", 1.5)


def target(what: str, value: float, sign: str, bound: float) -> str:
    """A line that says whether a target was met."""
    met = {"<=": value <= bound, ">=": value >= bound, ">": value > bound}[sign]
    return (
        f"    target: {what:<46}{value:>9.4f} {sign:>2} {bound:<7g}"
        f"{'met' if met else 'MISSED'}"
    )


def sweep(settings: dict[str, dict[str, Any]], n_rows: int) -> dict[str, Any]:
    """Pooled VI and RMSE by setting, means over seeds."""
    found = {}
    data = [evolving_gaussians(80, n_rows, seed=seed) for seed in range(N_SEEDS)]
    for name, options in settings.items():
        scores = [
            follow(DependentDPMixture(BASE, **TRUTH | options), one, True)
            for one in data
        ]
        found[name] = (
            float(np.mean([s.pooled for s in scores])),
            float(np.mean([s.rmse for s in scores])),
        )
    return found


def survival_sweep() -> Iterator[str]:
    """What a wrong survival costs."""
    names = (0.1, 0.5, 0.9, 0.975)
    settings = {
        f"q={q:g}": {"survival": q, "innovation": (1.0 - q) * 0.8} for q in names
    }
    yield f"7.2 survival: pooled VI / RMSE of locations, {N_SEEDS} seeds"
    yield "        n" + "".join(f"{name:>16}" for name in settings)
    for n_rows in (5, 20, 100):
        found = sweep(settings, n_rows)
        yield f"    {n_rows:>5}" + "".join(
            f"{v:>9.3f} /{r:.3f}" for v, r in found.values()
        )
        ratio = found["q=0.1"][0] / found["q=0.9"][0]
        yield target(f"n={n_rows}: pooled VI at q=.1 over that at .9", ratio, ">=", 2.0)


def diffusion_sweep() -> Iterator[str]:
    """What a wrong step variance costs; the true one is 0.1."""
    settings = {
        f"Q={v:g}": {"transition": RandomWalk(v)}
        for v in (0.0005, 0.01, 0.1, 1.0, 10.0, 100.0)
    }
    yield f"7.3 diffusion: pooled VI / RMSE of locations, {N_SEEDS} seeds"
    yield "        n" + "".join(f"{name:>16}" for name in settings)
    for n_rows in (5, 20, 100):
        found = sweep(settings, n_rows)
        yield f"    {n_rows:>5}" + "".join(
            f"{v:>9.3f} /{r:.3f}" for v, r in found.values()
        )
        vi = np.array([v for v, _ in found.values()])
        rmse = np.array([r for _, r in found.values()])
        ends = min(vi[0], vi[-1]) / vi.min()
        yield target(
            f"n={n_rows}: pooled VI of the ends over the least", ends, ">=", 1.3
        )
        steps = [0.0005, 0.01, 0.1, 1.0, 10.0, 100.0]
        best = abs(np.log10(steps[int(rmse.argmin())]) + 1)
        yield target(
            f"n={n_rows}: decades from the truth to the least RMSE", best, "<=", 1.0
        )
        if n_rows == 20:
            yield target("n=20: RMSE of the low end over the least",
                         rmse[0] / rmse.min(), ">=", 1.3)  # fmt: skip


FLOW = AffineFlow(
    location=GaussianUnknown(kappa=0.05, df=6.0, scale=2.0), velocity_scale=0.02,
    velocity_df=6.0,
)  # fmt: skip
FLOWS: dict[str, Any] = {
    "survival": 0.92, "innovation": 0.1, "transition": Discount(0.9), "n_sweeps": 20,
    "burn_in": None, "seed": 0,
}  # fmt: skip


def people_flow() -> Iterator[str]:
    """Flows through a hall: 16 phases, 500 pairs to learn and 500 to foresee.

    Where flows cross, Bayes' labels by the true fields have a VI of their own, and half
    the VI of the best D-FMM can be out of reach: VI beyond Bayes' is told as well.
    """
    yield "7.4 flows of people: 16 phases, 500 pairs to learn, 500 held out"
    yield (
        "    seed  found/true  VI of Bayes    ours  D-FMM of 3 5 10 20       held out, "
        "ours  D-FMM"
    )
    exact, halves_met, beyond, gaps = 0, 0, [], []
    for seed in range(3):
        data = evolving_flows(16, 1000, seed=seed)
        learn, held = (
            EvolvingRows(
                tuple(rows[k::2] for rows in data.phases),
                tuple(labels[k::2] for labels in data.labels), data.ids, data.means,
            )
            for k in (0, 1)
        )  # fmt: skip
        clock = time.process_time()
        ours = flow_scores(DependentDPMixture(FLOW, **FLOWS), learn, held)
        seconds = time.process_time() - clock
        finite = [
            flow_scores(
                DynamicFiniteMixture(
                    k, FLOW, transition=Discount(0.9), n_sweeps=20, burn_in=None, seed=0
                ),
                learn, held,
            )
            for k in (3, 5, 10, 20)
        ]  # fmt: skip
        true = len(set(np.concatenate(data.ids).tolist()))
        bayes, best = flow_oracle(data, learn), min(f[0] for f in finite)
        exact += ours[2] == true
        halves_met += ours[0] <= 0.5 * best
        beyond.append((ours[0] - bayes) / (best - bayes))
        gaps.append(ours[1] - finite[-1][1])
        vis = " ".join(f"{f[0]:.3f}" for f in finite)
        logs = " ".join(f"{f[1]:.2f}" for f in finite)
        yield (
            f"    {seed:>4}  {ours[2]:>4.0f} /{true:>3}{bayes:>14.4f}{ours[0]:>9.4f}  "
            f"{vis:<26}{ours[1]:>9.2f}   {logs}   {seconds:.2f} s"
        )
    yield target("seeds with as many flows as there are", exact, ">=", 2)
    yield target("seeds with at most half the VI of any D-FMM", halves_met, ">=", 2)
    yield target("VI beyond Bayes over the best D-FMM's, most", max(beyond), "<=", 0.5)
    yield target("least held-out gain over D-FMM of 20", min(gaps), ">=", -0.15)


def flow_oracle(data: EvolvingRows, learn: EvolvingRows) -> float:
    """Mean VI of Bayes' labels, fields and places fitted with all true labels."""
    rows, labels = np.concatenate(data.phases), np.concatenate(data.labels)
    fits = {}
    for one in np.unique(labels).tolist():
        own = rows[labels == one]
        z = np.column_stack([np.ones(len(own)), own[:, :2]])
        field_ = np.linalg.lstsq(z, own[:, 2:], rcond=None)[0]
        fits[one] = own[:, :2].mean(axis=0), np.cov(own[:, :2].T), field_
    found = []
    for part, truth, ids in zip(learn.phases, learn.labels, learn.ids, strict=True):
        if len(part):
            z = np.column_stack([np.ones(len(part)), part[:, :2]])
            logs = [
                multivariate_normal(fits[k][0], fits[k][1]).logpdf(part[:, :2])
                - 50.0 * ((part[:, 2:] - z @ fits[k][2]) ** 2).sum(axis=1)
                for k in ids.tolist()
            ]
            found.append(variation_of_information(truth, np.argmax(logs, axis=0)))
    return float(np.mean(found))


def flow_scores(model: Any, learn: EvolvingRows, ahead: EvolvingRows) -> list[float]:
    """Mean VI, mean held-out log density, and flows that had 1 in 100 rows ever."""
    logs = []
    for rows, held in zip(learn.phases, ahead.phases, strict=True):
        model.update(rows, progress=False)
        if len(held):
            logs.append(log_density(model, held).mean())
    vi = [
        variation_of_information(truth, model.labels(t))
        for t, truth in enumerate(learn.labels) if len(truth)
    ]  # fmt: skip
    every = np.concatenate([model.labels(t) for t in range(len(learn))])
    return [float(np.mean(vi)), float(np.mean(logs)), float(len(np.unique(every)))]


def experiments() -> Iterator[str]:
    """All tables but those that need data of their own."""
    warnings.simplefilter("ignore")  # of mixing, where settings are wrong on purpose
    yield from simulation(200)
    yield from survival_sweep()
    yield from diffusion_sweep()
    yield from people_flow()
