"""Streams, weeks ahead, regimes and forgetting, beside river and hmmlearn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

from dyntree.datasets import load_elec2, load_spambase

from .asking import log_density_ahead
from .companion_clusters import diagonal_mixture
from .companion_tables import SEEDS, Cells, Table, held_out, needs, quietly, timed
from .sva_quality import hmm_fit
from .sva_scenes import NOISE, agreement, semi_markov

COLUMNS = {
    "ARI held out": "low", "K": "each", "held out": "low", "diagonal, same K": "low",
    "rows/s": "low",
}  # fmt: skip
BATCH = 1000  # rows that are given at a time; a phase of the dependent mixture
Scene = Callable[[int], tuple[Any, Any]]


class Batches:
    """One of our models, as a stream of batches."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def learn(self, X: Any) -> None:
        """Take rows in."""
        for first in range(0, len(X), BATCH):
            self.model.partial_fit(X[first : first + BATCH])
        if not getattr(self.model.model_, "is_ready", True):
            self.model.model_.finish_warm_up()

    def labels(self, X: Any) -> Any:
        """Clusters of rows."""
        return self.model.predict(X)

    def score(self, X: Any) -> float | None:
        """Log density a row."""
        return float(self.model.score(X)) if hasattr(self.model, "score") else None


class River:
    """A clusterer of river, row by row."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def learn(self, X: Any) -> None:
        """Take rows in."""
        for x in X.tolist():
            self.model.learn_one(dict(enumerate(x)))

    def labels(self, X: Any) -> Any:
        """Clusters of rows; -1 where it cannot answer."""
        return np.array([self._label(dict(enumerate(x))) for x in X.tolist()])

    def _label(self, x: dict[int, float]) -> int:
        try:
            return int(self.model.predict_one(x))
        except (KeyError, ValueError, ZeroDivisionError):
            return -1

    def score(self, X: Any) -> float | None:
        """It has no density."""
        return None


def ours(seed: int, k: int, **more: Any) -> dict[str, Callable[[], Batches]]:
    """Our estimators with their defaults."""
    from dyntree.api.estimators import (
        CanopyMixture,
        DependentDPClusterer,
        DPGMMClusterer,
        DPMPPCAClusterer,
    )

    found: dict[str, Callable[[], Batches]] = {
        "DPGMMClusterer": lambda: Batches(DPGMMClusterer(**more)),
        "DPMPPCAClusterer": lambda: Batches(DPMPPCAClusterer(**more)),
    }
    if not more:
        found["DependentDPClusterer"] = lambda: Batches(
            DependentDPClusterer(random_state=seed)
        )
        found["CanopyMixture (K given)"] = lambda: Batches(
            CanopyMixture(k, random_state=seed)
        )
    return found


def rivers(seed: int, k: int, radius: float, fade: float) -> dict[str, Any]:
    """river's clusterers; the radius is one in which a cluster's rows lie."""
    needs("river")
    from river import cluster

    return {
        "river DBSTREAM": lambda: River(
            cluster.DBSTREAM(clustering_threshold=radius, fading_factor=fade)
        ),
        "river DenStream": lambda: River(
            cluster.DenStream(epsilon=radius, decaying_factor=fade)
        ),
        "river KMeans (K given)": lambda: River(
            cluster.KMeans(k, seed=seed, halflife=0.1)
        ),
    }


def learned(model: Any, scene: tuple[Any, Any], seed: int, k: int) -> Cells:
    """What a stream's model says of rows held out, and its speed."""
    train, _, test, truth = held_out(*scene, seed)
    _, seconds = timed(lambda: model.learn(train))
    with quietly():
        label = model.labels(test)
        score = model.score(test)
    n = len(np.unique(label[label >= 0]))
    found = {
        "ARI held out": agreement(label, truth), "K": n, "rows/s": len(train) / seconds
    }  # fmt: skip
    if score is not None:
        found["held out"] = score
        found["diagonal, same K"] = diagonal_mixture(n, seed, train, test)
    return found


def stream_table(title: str, k: int, scene: Scene) -> Table:
    """A table of all models that learn a stream."""
    table = Table(title, COLUMNS)
    for seed in SEEDS:
        X, labels = scene(seed)
        for name, make in ours(seed, k).items():
            table.add(name, learned(make(), (X, labels), seed, k))
        try:
            radius = radius_of(X.shape[1])
            for name, make in rivers(seed, k, radius, 0.01).items():
                table.add(name, learned(make(), (X, labels), seed, k))
        except ModuleNotFoundError as error:
            table.skipped["clusterers of river"] = str(error.name)
    return table


def radius_of(width: int) -> float:
    """Within which 95 % of the rows of a cluster of half the spread of all lie."""
    return 0.5 * float(np.sqrt(chi2.isf(0.05, width)))


def image_segments() -> tuple[Any, Any]:
    """river's image segments."""
    needs("river")
    from river.datasets import ImageSegments

    rows, labels = zip(*ImageSegments(), strict=True)
    X = np.array([list(row.values()) for row in rows], dtype=np.float64)
    return X, np.unique(np.array(labels), return_inverse=True)[1]


def spambase() -> tuple[Any, Any]:
    """E-mails, which are spam or not."""
    frame = load_spambase()
    labels = (frame.pop("type") == "spam").to_numpy(dtype=np.int64)
    return frame.to_numpy(dtype=np.float64), labels


def shuttle_like(seed: int, n: int = 5000) -> tuple[Any, Any]:
    """Seven classes, one of four rows in five; three columns in steps, two mostly 0."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.786, 0.155, 0.05, 0.004, 0.003, 0.001, 0.001])
    label = rng.choice(7, n, p=shares / shares.sum())
    places = rng.normal(size=(7, 9)) * np.array([3, 3, 3, 3, 2, 2, 2, 0, 0])
    spread = rng.uniform(0.3, 1.5, size=(7, 9))
    X = places[label] + spread[label] * rng.standard_t(4, size=(n, 9))
    X[:, 4:7] = np.round(X[:, 4:7])
    seldom = rng.random((n, 2)) < 0.1
    X[:, 7:] = np.where(seldom, np.round(4.0 * X[:, 7:]), 0.0)
    return X, label


def tables() -> Iterator[Table]:
    """Streams of public data and one that is like the shuttle's."""
    try:
        X, labels = image_segments()
        yield stream_table(
            "river's ImageSegments: 2310 x 18, 7 classes", 7, lambda seed: (X, labels)
        )
    except ModuleNotFoundError as error:
        yield skipped("river's ImageSegments", f"{error.name} is not installed")
    yield stream_table("Spambase: 4601 x 57, 2 classes", 2, lambda seed: spambase())
    yield stream_table(
        "shuttle-like: 5000 x 9, 7 classes, 79 % of the rows in one", 7, shuttle_like
    )


def skipped(title: str, why: str) -> Table:
    """A table without lines."""
    return Table(f"{title}: skipped, {why}", {})


def weeks(path: str) -> Iterator[Table]:
    """Weeks of an electricity market, each predicted from those before it."""
    from dyntree.mixtures import (
        DependentDPMixture,
        DynamicFiniteMixture,
        GaussianUnknown,
        OnlineDPGMM,
        OnlineDPMPPCA,
    )

    title = "ELEC2: log density a week ahead"
    if not Path(path).exists():
        yield skipped(title, f"there is no {path}")
        return
    rows = load_elec2(path)[["x1", "x2", "x3", "x4"]].to_numpy(dtype=np.float64)
    rows = (rows - rows[:3000].mean(axis=0)) / rows[:3000].std(axis=0)
    every = [rows[k : k + 336] for k in range(0, len(rows) - 335, 336)]
    table = Table(
        f"{title}, {len(every)} weeks of 336 rows",
        {"a week ahead": "low", "median week": "low", "K": "each", "CPU s": "high"},
    )
    makes: dict[str, Callable[[int], Any]] = {
        "OnlineDPGMM": lambda seed: OnlineDPGMM(seed=seed),
        "OnlineDPMPPCA": lambda seed: OnlineDPMPPCA(seed=seed),
        "DependentDPMixture": lambda seed: DependentDPMixture(
            GaussianUnknown(), seed=seed
        ),
        **{
            f"DynamicFiniteMixture of {k}": lambda seed, k=k: DynamicFiniteMixture(
                k, GaussianUnknown(), seed=seed
            )
            for k in (10, 20)
        },
    }
    for name, make in makes.items():
        for seed in SEEDS:
            table.add(name, week_by_week(make(seed), every))
    for seed in SEEDS:
        cells = last_week_alone(5, seed, every)
        table.add("BayesianGaussianMixture of last week, 5", cells)
    yield table


def week_by_week(model: Any, every: list[Any]) -> Cells:
    """Mean log density of each week before it is learned."""
    logs = []

    def run() -> None:
        for week in every:
            if model.is_ready if hasattr(model, "is_ready") else model.n_phases:
                logs.append(float(np.mean(log_density_ahead(model, week))))
            model.update(week, progress=False)

    _, seconds = timed(run)
    return {
        "a week ahead": float(np.mean(logs)), "median week": float(np.median(logs)),
        "K": getattr(model, "n_clusters", getattr(model, "n_components", 0)),
        "CPU s": seconds,
    }  # fmt: skip


def last_week_alone(k: int, seed: int, every: list[Any]) -> Cells:
    """A mixture of one week, asked of the next."""
    from sklearn.mixture import BayesianGaussianMixture

    logs, seconds = [], 0.0
    for before, week in itertools.pairwise(every):
        fit = BayesianGaussianMixture(n_components=k, random_state=seed)
        seconds += timed(lambda fit=fit, week=before: fit.fit(week))[1]
        logs.append(float(log_density_ahead(fit, week).mean()))
    return {
        "a week ahead": float(np.mean(logs)), "median week": float(np.median(logs)),
        "K": k, "CPU s": seconds,
    }  # fmt: skip


def variance_regimes(seed: int, n: int = 4000) -> tuple[Any, Any]:
    """Regimes of some sixty rows that differ in their variance alone."""
    rng = np.random.default_rng(seed)
    label = np.cumsum(rng.random(n) < 1.0 / 60.0) % 3
    return np.array([0.4, 1.0, 3.0])[label][:, None] * rng.normal(size=(n, 2)), label


def in_stays(seed: int, means: Any, sds: Any, stay: float, n: int = 3000) -> Any:
    """States of some means and deviations, each for a while; any may follow."""
    rng = np.random.default_rng([seed, 3])
    steps = rng.integers(1, len(means), size=n)
    label = np.repeat(np.cumsum(steps) % len(means), 1 + rng.poisson(stay - 1.0, n))[:n]
    noise = rng.normal(size=(n, means.shape[1]))
    return means[label] + sds[label][:, None] * noise, label


def spread_states(seed: int) -> tuple[Any, Any]:
    """Five states whose deviations are .2 to 3, far apart."""
    means = 8.0 * np.random.default_rng(seed).normal(size=(5, 3))
    return in_stays(seed, means, np.array([0.2, 0.5, 1.0, 2.0, 3.0]), 30.0)  # type: ignore[no-any-return]


def near_states(seed: int) -> tuple[Any, Any]:
    """Five states of deviation 1 whose means are N(0, 2^2) in four columns."""
    means = 2.0 * np.random.default_rng(seed).normal(size=(5, 4))
    return in_stays(seed, means, np.ones(5), 50.0)  # type: ignore[no-any-return]


def regimes() -> Iterator[Table]:
    """Series that stay in a state for a while; the noise is given to ours, or not."""
    planes = "regimes: five planes in six columns, mean stays of 20 to 40 rows"
    for title, scene, noise in (
        (planes, lambda seed: semi_markov(seed, 0.0, 250)[:2], NOISE),
        ("regimes of variance: .4, 1, 3 in two columns", variance_regimes, 1.0),
        (
            "states of spreads .2 to 3 (asked: within .1 of the peer)",
            spread_states,
            None,
        ),
        ("states with means N(0, 4), sd 1 (asked: ARI >= .8)", near_states, None),
    ):
        columns = {
            "ARI decoded": "low", "K": "each", "held out": "low", "CPU s": "high"
        }  # fmt: skip
        table = Table(title, columns)
        programs: dict[str, Callable[[int], Cells]] = {}
        if noise is not None:
            programs["HDPHSMMClusterer (noise given)"] = (
                lambda seed, scene=scene, noise=noise: segments_of_ours(
                    *scene(seed), noise
                )
            )
        for emission in ("auto", "mppca", "gmm"):
            programs[f"HDPHSMMClusterer, scales auto, emission {emission}"] = (
                lambda seed, scene=scene, emission=emission: segments_by_default(
                    *scene(seed), emission
                )
            )
        programs["hmmlearn GaussianHMM (K given), ten starts"] = (
            lambda seed, scene=scene: segments_of_hmm(*scene(seed), seed)
        )
        table.fill(programs)
        yield table


def segments_by_default(X: Any, truth: Any, emission: str) -> Cells:
    """The semi-Markov model with scales of its own choice."""
    from dyntree.api.estimators import HDPHSMMClusterer

    n = int(0.8 * len(X))
    with quietly():
        fit, seconds = timed(lambda: HDPHSMMClusterer(emission=emission).fit(X[:n]))
        labels, score = fit.decode(X[:n]).labels, fit.score(X[n:])
    return {
        "ARI decoded": agreement(labels, truth[:n]), "K": fit.n_clusters_,
        "held out": score, "CPU s": seconds,
    }  # fmt: skip


def segments_of_ours(X: Any, truth: Any, noise: float) -> Cells:
    """The semi-Markov model; lambda by the rule of the other benchmark."""
    from dyntree.mixtures import OnlineHDPHSMM

    n = int(0.8 * len(X))
    lambda_ = 3.0 * noise**2 * float(chi2.isf(1e-5, X.shape[1]))
    model, seconds = timed(
        lambda: OnlineHDPHSMM(lambda_, noise=noise).update(X[:n]).merge_now()
    )
    with quietly():
        labels = model.decode(X[:n]).labels
        score = float(model.score_total(X[n:])) / len(X[n:])
    return {
        "ARI decoded": agreement(labels, truth[:n]), "K": model.n_clusters,
        "held out": score, "CPU s": seconds,
    }  # fmt: skip


def segments_of_hmm(X: Any, truth: Any, seed: int) -> Cells:
    """hmmlearn's model of as many states as there are: the best of ten starts."""
    needs("hmmlearn")
    n, k = int(0.8 * len(X)), len(np.unique(truth))
    model, seconds = timed(lambda: hmm_fit(X[:n], k, seed))
    with quietly():
        score = float(model.score(X[n:])) / len(X[n:])
        labels = model.predict(X[:n])
    return {
        "ARI decoded": agreement(labels, truth[:n]), "K": k, "held out": score,
        "CPU s": seconds,
    }  # fmt: skip


def forgetting() -> Iterator[Table]:
    """Blobs that stay, for models that forget: K and the last rows' clusters."""
    for k in (8, 12, 16, 20):
        for forget in (0.98, 0.96):
            columns = {"ARI of the last 500": "low", "K": "each", "rows/s": "low"}
            table = Table(f"forget={forget:g}, {k} blobs, 4000 x 2", columns)
            for seed in SEEDS:
                X, label = on_a_grid(k, seed)
                makes = dict(ours(seed, k, forget=forget))
                try:
                    makes |= rivers(seed, k, 3.0, 1.0 - forget)
                except ModuleNotFoundError as error:
                    table.skipped["clusterers of river"] = str(error.name)
                for name, make in makes.items():
                    table.add(name, forgotten(make(), X, label))
            yield table


def on_a_grid(k: int, seed: int, n: int = 4000) -> tuple[Any, Any]:
    """Blobs of unit variance on a grid, fifteen apart."""
    rng = np.random.default_rng(seed)
    label = rng.integers(k, size=n)
    centres = 15.0 * np.column_stack([np.arange(k) % 5, np.arange(k) // 5])
    return centres[label] + rng.normal(size=(n, 2)), label


def forgotten(model: Any, X: Any, label: Any) -> Cells:
    """What is known at the end of the stream."""
    _, seconds = timed(lambda: model.learn(X))
    with quietly():
        found = model.labels(X[-500:])
    return {
        "ARI of the last 500": agreement(found, label[-500:]),
        "K": len(np.unique(found[found >= 0])), "rows/s": len(X) / seconds,
    }  # fmt: skip
