"""Clusters in tables, with our defaults and beside scikit-learn's."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .companion_tables import SEEDS, Cells, Table, held_out, quietly, timed
from .sva_quality import diagonal_score
from .sva_scenes import agreement, blobs

COLUMNS = {
    "ARI": "low", "K": "each", "over 1 %": "each", "held out": "low",
    "diagonal, same K": "low", "CPU s": "high",
}  # fmt: skip
N_MOST = 20  # components of the Bayesian mixture, and at least twice as many as true
Make = Callable[[int, int], Any]  # of true clusters and seed


def ours() -> dict[str, Make]:
    """Our estimators with their defaults; only the finite mixture is told K."""
    from dyntree.api.estimators import (
        CanopyMixture,
        DependentDPClusterer,
        DPGMMClusterer,
        DPMPPCAClusterer,
    )

    return {
        "DPGMMClusterer": lambda k, seed: DPGMMClusterer(),
        "DPMPPCAClusterer": lambda k, seed: DPMPPCAClusterer(),
        "DependentDPClusterer": lambda k, s: DependentDPClusterer(random_state=s),
        "CanopyMixture (K given)": lambda k, s: CanopyMixture(k, random_state=s),
    }


def peers() -> dict[str, Make]:
    """scikit-learn's estimators."""
    from sklearn.cluster import HDBSCAN, MiniBatchKMeans
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

    return {
        "BayesianGaussianMixture": lambda k, seed: BayesianGaussianMixture(
            n_components=max(N_MOST, 2 * k), random_state=seed
        ),
        "GaussianMixture, diag (K given)": lambda k, seed: GaussianMixture(
            k, covariance_type="diag", random_state=seed
        ),
        "GaussianMixture, full (K given)": lambda k, seed: GaussianMixture(
            k, random_state=seed
        ),
        "MiniBatchKMeans (K given)": lambda k, seed: MiniBatchKMeans(
            k, random_state=seed
        ),
        "HDBSCAN": lambda k, seed: HDBSCAN(copy=True),
    }


def found_by(
    make: Make, k: int, seed: int, X: Any, labels: Any, scaled: bool = True
) -> Cells:
    """What an estimator finds in rows whose clusters are known."""
    train, truth, test, _ = held_out(X, labels, seed, scaled)
    model = make(k, seed)
    _, seconds = timed(lambda: model.fit(train))
    own = hasattr(model, "score_samples")
    label = model.labels_ if hasattr(model, "labels_") else model.predict(train)
    sizes = np.unique(label[label >= 0], return_counts=True)[1]
    n, large = len(sizes), int((sizes > 0.01 * len(train)).sum())
    found: Cells = {
        "ARI": agreement(label, truth), "K": n, "over 1 %": large, "CPU s": seconds
    }  # fmt: skip
    if own:
        found["held out"] = float(model.score(test))
        found["diagonal, same K"] = diagonal_mixture(n, seed, train, test)
    elif hasattr(model, "cluster_centers_"):
        found["held out"] = diagonal_score(label, train, test)
    return found


def diagonal_mixture(k: int, seed: int, train: Any, test: Any) -> float:
    """What scikit-learn's diagonal mixture of k components says of rows held out."""
    from sklearn.mixture import GaussianMixture

    with quietly():
        fit = GaussianMixture(max(k, 1), covariance_type="diag", random_state=seed)
        return float(fit.fit(train).score(test))


def clusters_table(
    title: str, k: int, scene: Callable[[int], Any], scaled: bool = False
) -> Table:
    """A table of all estimators for rows and clusters that a seed gives."""
    table = Table(title, COLUMNS)
    table.fill({
        name: lambda seed, make=make: found_by(make, k, seed, *scene(seed), scaled)
        for name, make in (ours() | peers()).items()
    })  # fmt: skip
    return table


def tables() -> Iterator[Table]:
    """Public tables of scikit-learn, in units of their columns; pixels as they are."""
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
        n, d = X.shape
        k, pixels = len(np.unique(labels)), name == "digits"
        X = X / 16.0 if pixels else X
        yield clusters_table(
            f"{name}: {n} x {d}, {k} classes", k,
            lambda seed, X=X, y=labels: (X, y), scaled=not pixels,
        )  # fmt: skip


def measurements() -> Iterator[tuple[str, Any]]:
    """Tables that packages ship, as `measured` takes them."""
    import statsmodels.datasets as shipped
    from sklearn import datasets

    every = {
        name: getattr(datasets, f"load_{name}")().data
        for name in ("iris", "wine", "breast_cancer", "diabetes")
    }
    for name in (
        "anes96", "cancer", "ccard", "copper", "elnino", "engel", "fair", "fertility",
        "grunfeld", "heart", "macrodata", "modechoice", "randhie", "scotland", "star98",
        "statecrime", "strikes", "sunspots",
    ):  # fmt: skip
        table = getattr(shipped, name).load_pandas().data
        every[name] = table.select_dtypes("number").dropna().to_numpy(float)
    yield from measured(every)


def measured(every: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns of thirty values or more, of tables of 60 rows or more; 3000 of them."""
    for name, X in every.items():
        some = X[np.random.default_rng(0).permutation(len(X))[:3000]]
        varied = [j for j in range(X.shape[1]) if len(np.unique(some[:, j])) >= 30]
        if len(some) >= 60 and varied:
            yield f"{name}: {len(some)} x {len(varied)}", some[:, varied]


def densities() -> Iterator[Table]:
    """What defaults say of rows held out of tables that packages ship."""
    yield from beside_diagonal(measurements())


def beside_diagonal(sets: Iterable[tuple[str, Any]]) -> Iterator[Table]:
    """What defaults say of rows held out, beside a mixture of as many components.

    A value of a column of few values has no density; such columns are left out, as a
    component at one value has any density one likes.
    """
    from dyntree.api.estimators import DPGMMClusterer, DPMPPCAClusterer

    models: dict[str, Any] = {"DPGMM": DPGMMClusterer, "MPPCA": DPMPPCAClusterer}
    names = [part for name in models for part in (name, f"{name}: K", f"{name}: diag")]
    table = Table(
        "held-out log density of standardised tables, and of as many components of "
        "scikit-learn's diagonal mixture",
        {name: "each" if name.endswith("K") else "low" for name in names},
    )
    for title, X in sets:
        for seed in SEEDS:
            train, _, test, _ = held_out(X, np.zeros(len(X)), seed)
            cells: Cells = {}
            for name, make in models.items():
                with quietly():
                    fit = make().fit(train)
                    k = max(1, fit.n_clusters_)
                    cells[name] = float(fit.score(test))
                cells |= {
                    f"{name}: K": k,
                    f"{name}: diag": diagonal_mixture(k, seed, train, test),
                }
            table.add(title, cells)
    yield table
    behind = Table("tables, and those behind by more than .05 nats on average", {
        "tables": "each", "behind": "each",
    })  # fmt: skip
    for name in models:
        gaps = [
            np.mean([one[f"{name}: diag"] - one[name] for one in found])
            for found in table.rows.values()
        ]
        n_behind = float(np.sum(np.array(gaps) > 0.05))
        behind.add(name, {"tables": len(gaps), "behind": n_behind})
    yield behind


def in_a_line(k: int, width: int, n: int, seed: int) -> tuple[Any, Any]:
    """Blobs of unit variance, each nine further on in all columns."""
    rng = np.random.default_rng(seed)
    label = rng.integers(k, size=n)
    return rng.normal(size=(n, width)) + 9.0 * label[:, None], label


def separated() -> Iterator[Table]:
    """Blobs that nobody could mistake, in a line and at random."""
    for width in (5, 10, 20):
        for k in (10, 20):
            yield clusters_table(
                f"{k} blobs in a line, 2000 x {width}", k,
                lambda seed, k=k, d=width: in_a_line(k, d, 2000, seed),
            )  # fmt: skip
        yield clusters_table(
            f"10 blobs at random, 2000 x {width}", 10,
            lambda seed, d=width: blobs(10, d, 10.0, 2000, seed),
        )  # fmt: skip
    yield clusters_table(
        "20 blobs in a line, 600 x 20", 20, lambda seed: in_a_line(20, 20, 600, seed)
    )
    yield clusters_table("20 blobs along one of ten columns, 2000 x 10", 20, along_one)


def along_one(seed: int) -> tuple[Any, Any]:
    """Blobs in a line that is the first column; all other columns are noise."""
    X, label = in_a_line(20, 10, 2000, seed)
    X[:, 1:] -= 9.0 * label[:, None]
    return X, label


def wide() -> Iterator[Table]:
    """What wide tables cost: first scales, and one-hot columns."""
    from dyntree.api.estimators import DependentDPClusterer, DPMPPCAClusterer

    table = Table("12 blobs, 800 x 200: seconds", {"K": "each", "CPU s": "high"})
    makes = {
        "DPMPPCAClusterer": lambda k, seed: DPMPPCAClusterer(),
        "BayesianGaussianMixture": peers()["BayesianGaussianMixture"],
    }
    for name, make in makes.items():
        for seed in SEEDS:
            X, _ = blobs(12, 200, 30.0, 800, seed)
            model = make(12, seed)
            _, seconds = timed(lambda model=model, X=X: model.fit(X))
            n = len(np.unique(model.predict(X)))
            table.add(name, {"K": n, "CPU s": seconds})
    yield table
    table = Table(
        "one-hot rows, 300 x 284: bytes at the peak, in GB (asked < 1)",
        {"K": "each", "GB": "high", "CPU s": "high"},
    )
    one_hot = np.eye(284)[np.random.default_rng(0).integers(284, size=300)]
    model = DependentDPClusterer(random_state=0)
    tracemalloc.start()
    _, seconds = timed(lambda: model.fit(one_hot))
    peak = tracemalloc.get_traced_memory()[1] / 1e9
    tracemalloc.stop()
    table.add(
        "DependentDPClusterer",
        {"K": model.n_clusters_, "GB": peak, "CPU s": seconds},
    )
    yield table
