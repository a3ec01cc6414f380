"""Label updates per second of dependent mixtures, and a market in weekly phases."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from dyntree._core.mixtures.ddp import PhaseSampler
from dyntree._core.mixtures.emissions import AxisGaussians
from dyntree.datasets import evolving_topics, load_elec2
from dyntree.mixtures import (
    DependentDPMixture,
    Discount,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
    variation_of_information,
)
from tests.oracle import ddp as oracle

from .asking import log_density_ahead
from .ddp_scenes import target

TURNS = 3  # of which the fastest counts


def phase(K: int, width: int, n: int) -> tuple[oracle.Phase, np.ndarray]:
    """Rows of K inherited particles, some way apart."""
    rng = np.random.default_rng(K)
    mean = 5.0 * rng.normal(size=(K, width))
    p = oracle.Phase(
        m=np.full(K, 100.0), E=np.full(K, 500.0), q=np.full(K, 0.95), mean=mean,
        var=np.full((K, width), 0.1), a=np.full(8, 0.1), Es=np.full(8, 100.0),
        base_mean=np.zeros(width), base_var=np.full(width, 49.0), noise=np.ones(width),
    )  # fmt: skip
    return p, mean[rng.integers(K, size=n)] + rng.normal(size=(n, width))


def kernel_rate(K: int, width: int, uncollapsed: bool) -> float:
    """Label updates per second of processor time, whole sweeps included."""
    p, X = phase(K, width, 20000)
    base = np.concatenate([p.base_mean, p.base_var])[None]
    priors = np.concatenate([np.hstack([p.mean, p.var]), base])
    best = np.inf
    for turn in range(TURNS):
        sampler = PhaseSampler(
            AxisGaussians(priors, X, p.noise), p.m, p.E, p.q, p.a, p.Es,
            np.zeros(len(p.a), dtype=np.int32), False, uncollapsed, 512, turn, 0, 0,
        )  # fmt: skip
        sampler.labels_once(0, True)
        clock = time.process_time()
        for sweep in range(1, 21):
            sampler.labels_once(sweep, False)
            sampler.rest_of_sweep(sweep, True)
        best = min(best, time.process_time() - clock)
    return 20 * len(X) / best


def plain_rate(K: int, width: int) -> float:
    """The same of a collapsed Gibbs sampler in NumPy, all particles at a time.

    New particles are left out, and u is drawn once a sweep: less than the kernel does.
    """
    p, X = phase(K, width, 2000)
    rng, u = np.random.default_rng(1), float(len(X))
    z = np.argmin(((X[:, None] - p.mean) ** 2).sum(axis=2), axis=1)
    r = np.bincount(z, minlength=K).astype(float)
    s = np.zeros((K, width))
    np.add.at(s, z, X)
    base = -0.5 * np.sum(np.log(2 * np.pi * 50.0) + X**2 / 50.0, axis=1)
    clock = time.process_time()
    for _ in range(2):
        rate = np.log(p.E + u)
        new = np.log(np.sum(p.a / (p.Es + u)))
        for i, x in enumerate(X):
            r[z[i]] -= 1.0
            s[z[i]] -= x
            v = 1.0 / (1.0 / p.var + r[:, None] / p.noise)
            m = v * (p.mean / p.var + s / p.noise)
            t = v + p.noise
            logs = np.log(p.m + r) - rate
            logs -= 0.5 * np.sum(np.log(2.0 * np.pi * t) + (x - m) ** 2 / t, axis=1)
            chance = np.exp(np.append(logs, new + base[i]) - logs.max())
            k = int(np.searchsorted(chance.cumsum(), rng.random() * chance.sum()))
            z[i] = min(k, K - 1)
            r[z[i]] += 1.0
            s[z[i]] += x
        total = rng.gamma(p.m + r) / (p.E + u)
        u = rng.gamma(len(X)) / (total.sum() + np.sum(rng.gamma(p.a) / (p.Es + u)))
    return 2 * len(X) / (time.process_time() - clock)


def speeds() -> Iterator[str]:
    """Rates beside plain NumPy in the same run, and families of sums."""
    yield "8. label updates per second of processor time, one thread"
    for K, width, aim in ((5, 2, 8e6), (10, 10, 3e6)):
        plain = plain_rate(K, width)
        for uncollapsed in (False, True):
            rate = kernel_rate(K, width, uncollapsed)
            name = "uncollapsed" if uncollapsed else "collapsed"
            yield f"    K={K}, D={width}, {name:<12}{rate:>14,.0f}"
            if not uncollapsed:
                yield target(f"K={K}, D={width}: million updates a second",
                             rate / 1e6, ">=", aim / 1e6)  # fmt: skip
                yield f"    K={K}, D={width}, plain NumPy {plain:>12,.0f}"
                yield target("times plain NumPy, same model and run", rate / plain,
                             ">=", 100.0)  # fmt: skip
    yield from topics()


def topics() -> Iterator[str]:
    """Documents about topics that come and go."""
    yield "7.5 topics: 12 phases of 60 documents, 672 words, 30 sweeps"
    data = evolving_topics(12, 60, n_words=672, seed=1)
    model = DependentDPMixture(
        Multinomial(0.1), survival=0.9, innovation=0.5, transition=Discount(0.7),
        n_sweeps=30, burn_in=None, seed=0,
    )  # fmt: skip
    clock = time.process_time()
    for rows in data.phases:
        model.update(rows, progress=False)
    seconds = time.process_time() - clock
    vi = np.mean([
        variation_of_information(truth, model.labels(t))
        for t, truth in enumerate(data.labels)
    ])  # fmt: skip
    true = len(set(np.concatenate(data.ids).tolist()))
    yield f"    topics found / true {len(model.lifelines())} / {true}, mean VI {vi:.3f}"
    yield target("CPU seconds", seconds, "<=", 2.0)


def markets(path: str | None) -> Iterator[str]:
    """Weeks of an electricity market, each predicted from those before it."""
    if path is None:
        return
    from sklearn.mixture import BayesianGaussianMixture

    frame = load_elec2(path)
    rows = frame[["x1", "x2", "x3", "x4"]].to_numpy(dtype=float)
    rows = (rows - rows[:3000].mean(axis=0)) / rows[:3000].std(axis=0)
    weeks = [rows[k : k + 336] for k in range(0, len(rows) - 335, 336)]
    yield f"7.6 electricity market: {len(weeks)} weeks of 336 half hours"
    yield "    mean log density of a week given those before it, and CPU seconds"
    models: dict[str, Any] = {}
    for kind, family, step in (
        ("known variance", GaussianKnownVariance(0.15), RandomWalk(0.05)),
        ("unknown", GaussianUnknown(), Discount(0.9)),
    ):
        models[f"dependent mixture, {kind}"] = DependentDPMixture(
            family, survival=0.95, innovation=0.1, transition=step, n_sweeps=20,
            burn_in=None, weight_memory=0.5, history=90, seed=0,
        )  # fmt: skip
        for k in (5, 10, 20):
            models[f"D-FMM, {kind}, K={k}"] = DynamicFiniteMixture(
                k, family, transition=step, n_sweeps=20, burn_in=None, seed=0
            )
    for name, model in models.items():
        clock, logs = time.process_time(), []
        for week in weeks:
            if model.n_phases:
                logs.append(log_density_ahead(model, week).mean())
            model.update(week, progress=False)
        seconds = time.process_time() - clock
        yield f"    {name:<38}{np.mean(logs):>9.3f}{seconds:>9.2f}"
    for k in (5, 20):
        clock, logs = time.process_time(), []
        for before, week in itertools.pairwise(weeks):
            fit = BayesianGaussianMixture(
                n_components=k, random_state=0, max_iter=200
            ).fit(before)
            logs.append(log_density_ahead(fit, week).mean())
        seconds = time.process_time() - clock
        name = f"BayesianGaussianMixture of last week, {k}"
        yield f"    {name:<38}{np.mean(logs):>9.3f}{seconds:>9.2f}"
    table = models["dependent mixture, unknown"].lifelines()
    alive = (table.count > 0).sum(axis=1)
    yield f"    {len(table)} clusters, {int((alive >= 10).sum())} of ten weeks or more"
