"""What large mixtures cost and find, beside their exact versions and peers.

``python -m tests.bench.canopy [--only E1 E5 ...]`` prints experiments E1 to E12 and the
table of purities (T) beside what was asked. Seconds are of the processor, one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dyntree.datasets import load_fashion_mnist
from dyntree.mixtures import Canopy, CanopyOptions, CoverTree, MixturePrior
from tests.bench import canopy_scenes as scenes

LATE = 5  # sweeps at the end, whose median is "late"


def line(name: str, what: str, asked: str = "") -> None:
    print(f"{name:<4} {what}{f'  (asked {asked})' if asked else ''}", flush=True)


@contextmanager
def clock() -> Iterator[Callable[[], float]]:
    start, end = time.process_time(), [0.0]
    yield lambda: end[0]
    end[0] = time.process_time() - start


def late(X: Any, m: int, inference: str, sweeps: int, **more: Any) -> dict[str, Any]:
    """Late seconds a sweep, total seconds, and the model."""
    marks: list[float] = []
    given = {"init": "random", "seed": 1, "max_iter": sweeps, "tol": 0.0} | more
    start = time.process_time()
    model = Canopy(m, inference=inference, **given).fit(
        X, callback=lambda _: marks.append(time.process_time())
    )
    total = time.process_time() - start
    return {
        "late": float(np.median(np.diff(marks)[-LATE:])),
        "total": total,
        "model": model,
    }


def versus(
    name: str, X: Any, T: Any, m: int, sweeps: int, asked: tuple[str, str]
) -> dict[str, Any]:
    """canopy2 beside ESCA from the same rows."""
    exact, ours = late(X, m, "esca", min(sweeps, 25)), late(X, m, "canopy2", sweeps)
    a, b = exact["model"].score(T), ours["model"].score(T)
    per_sweep = exact["total"] / min(sweeps, 25)
    h = ours["model"].history
    line(
        name,
        f"n={len(X)} m={m} d={X.shape[1]}: ESCA {exact['late']:.3f} s/sweep, held-out "
        f"{a:.3f}; ours {ours['late']:.3f}, {b:.3f} ({100 * (b - a) / abs(a):+.2f} %); "
        f"late ratio {exact['late'] / ours['late']:.1f}, total "
        f"{per_sweep * sweeps / ours['total']:.1f} for {sweeps} sweeps; R "
        f"{h.refresh[-1]:.0f}, lists {h.list_length[-1]:.0f}",
        f"late {asked[0]}, total {asked[1]}, within .2 %",
    )
    return ours | {"exact": exact}


def e1_e2_e5_e6(which: set[str]) -> None:
    """Images: against ESCA, scikit-learn's EM and faiss."""
    if not scenes.has_fashion():
        line("E1", "skipped: Fashion-MNIST is not installed (dataset-fashion-mnist)")
        return
    X, T = scenes.fashion_components()
    for name, m, sweeps, asked in (
        ("E1", 1024, 30, (">= 12", ">= 4")), ("E2", 4096, 40, (">= 25", ">= 5"))
    ):  # fmt: skip
        if name not in which and not which & {"E5", "E6"}:
            continue
        ours = versus(name, X, T, m, sweeps, asked)
        if "E5" in which:
            em = sklearn_seconds(X[: 420_000 if m == 1024 else 60_000], m)
            em *= 1.0 if m == 1024 else len(X) / 60_000
            line("E5", f"scikit-learn EM, m={m}: {em:.1f} s/iteration, "
                 f"{em / ours['late']:.0f} times ours", ">= 150")  # fmt: skip
        if "E6" in which:
            k = faiss_seconds(X, m)
            asked6 = ">= 5" if m == 1024 else ">= 10"
            line("E6", f"faiss k-means, m={m}: {k:.3f} s/iteration, "
                 f"{k / ours['late']:.1f} times ours", asked6)  # fmt: skip
    if "E5" in which:
        memory(X)


def memory(X: Any) -> None:
    """Bytes at the peak beyond the input, as a share of it."""
    tracemalloc.start()
    Canopy(1024, inference="canopy2", init="random", max_iter=4, tol=0.0, seed=0).fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    line("E5", f"memory at the peak beyond the input: {peak / X.nbytes:.2f} times the "
         "data (what NumPy allocates)", "<= 1.2")  # fmt: skip


def sklearn_seconds(X: Any, m: int) -> float:
    """Seconds of one iteration of scikit-learn's EM, the difference of two fits."""
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    part = X[:60_000]
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n_iter in (1, 5):
            peer = GaussianMixture(
                m, covariance_type="diag", max_iter=n_iter, tol=0.0, reg_covar=1e-3,
                means_init=part[:m], weights_init=np.full(m, 1 / m),
                precisions_init=np.tile(1 / X.var(axis=0), (m, 1)),
                init_params="random_from_data",
            )  # fmt: skip
            with clock() as seconds:
                peer.fit(part)
            found.append(seconds())
    return (found[1] - found[0]) / 4 * len(X) / len(part)


def faiss_seconds(X: Any, m: int) -> float:
    """Seconds of one iteration of faiss' k-means on all rows."""
    try:
        import faiss
    except ModuleNotFoundError:
        return float("nan")
    faiss.omp_set_num_threads(1)
    found = []
    for n_iter in (1, 4):
        peer = faiss.Kmeans(
            X.shape[1], m, niter=n_iter, max_points_per_centroid=10**9, verbose=False
        )
        with clock() as seconds:
            peer.train(X, init_centroids=X[:m])
        found.append(seconds())
    return (found[1] - found[0]) / 3


def e3() -> None:
    """Means of low dimension."""
    for n, m, d, asked in (
        (1_000_000, 1024, 32, ">= 15"), (250_000, 4096, 64, ">= 25"),
        (2_000_000, 256, 16, ">= 7"),
    ):  # fmt: skip
        X, T = scenes.mixture("hier", n, m, d)
        versus("E3", X, T, m, 25, (asked, "-"))


def e4() -> None:
    """The worst case: means that have no structure."""
    for n, m, d, sep, asked in (
        (500_000, 4096, 16, 1.5, ">= 6"), (500_000, 2048, 32, 1.0, ">= 3")
    ):  # fmt: skip
        X, T = scenes.mixture("iid", n, m, d, sep)
        versus("E4", X, T, m, 20, (asked, "-"))


def e7() -> None:
    """The exact sweeps beside scikit-learn's EM."""
    X, _ = scenes.mixture("iid", 200_000, 256, 32)
    peer = sklearn_seconds(X, 256)
    for inference, asked in (("em", ">= 7"), ("esca", ">= 11")):
        ours = late(X, 256, inference, 8)
        line("E7", f"200k, 256, 32: scikit-learn {peer:.3f} s, {inference} "
             f"{ours['late']:.3f}: {peer / ours['late']:.1f} times", asked)  # fmt: skip
    parity()


def parity() -> None:
    """Parameters of EM beside scikit-learn's from equal starts, without prior."""
    from sklearn.mixture import GaussianMixture

    X, _ = scenes.mixture("iid", 20_000, 8, 6, 3.0)
    model = Canopy(8, inference="em", init=X[:8].astype(float), max_iter=30, tol=0.0,
                   prior=MixturePrior.none(1e-6), seed=0).fit(X)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = GaussianMixture(
            8, covariance_type="diag", means_init=X[:8], weights_init=np.full(8, 1 / 8),
            precisions_init=np.tile(1 / X.astype(float).var(axis=0), (8, 1)),
            max_iter=30, tol=0.0,
        ).fit(X.astype(float))  # fmt: skip
    worst = np.abs(model.means - peer.means_).max() / X.std()
    line("E7", f"largest difference of a mean: {worst:.1e} standard deviations", "1e-5")


def e8() -> None:
    """Seconds a sweep over n, m and d."""

    def row(n: int, m: int, d: int) -> tuple[float, float]:
        X, _ = scenes.mixture("hier", n, m, d)
        a, b = late(X, m, "esca", 6), late(X, m, "canopy2", 25)
        h = b["model"].history
        line("E8", f"n={n} m={m} d={d}: ESCA {a['late']:.3f}, ours {b['late']:.3f} "
             f"s/sweep, lists {h.list_length[-1]:.0f}, R {h.refresh[-1]:.0f}, stale "
             f"{h.stale_mass[-1]:.3f}")  # fmt: skip
        return a["late"], b["late"]

    for n in (50_000, 100_000, 200_000, 400_000):
        row(n, 256, 16)
    ms = (64, 256, 1024, 4096)
    found = np.array([row(200_000, m, 32) for m in ms])
    slopes = np.polyfit(np.log(ms), np.log(found), 1)[0]
    line("E8", f"log-log slopes in m: ESCA {slopes[0]:.2f}, ours {slopes[1]:.2f}",
         "about 1, <= .5")  # fmt: skip
    for d in (16, 64, 128):
        row(100_000, 1024, d)


def e9() -> None:
    """Proposals of one point a group, as printed in the paper."""
    if not scenes.has_fashion():
        line("E9", "skipped: Fashion-MNIST is not installed")
        return
    X, T = scenes.fashion_components()
    for groups in (len(X) // 1024, len(X) // 32):
        ours = late(X, 1024, "canopy1", 20, options=CanopyOptions(prototypes=groups))
        line("E9", f"canopy1 with {groups} points: {ours['late']:.3f} s/sweep, "
             f"held-out {ours['model'].score(T):.2f}, acceptance "
             f"{ours['model'].history.acceptance[-1]:.2f}",
             "about .033 s, -32.1; .14 s, -26.9")  # fmt: skip


def e10() -> None:
    """Nodes that the exact tree sampler looks at."""
    from dyntree._core.mixtures.tree_sampler import sample_rows
    from dyntree._core.rng import CounterSource
    from dyntree.mixtures.canopy.components import Components
    from dyntree.mixtures.canopy.parts import LocalShards, Parts
    from dyntree.mixtures.canopy.shards import component_tree

    for kind, d in (("hier", 64), ("iid", 16)):
        seen = []
        for m in (256, 1024, 4096, 16384):
            X, _ = scenes.mixture(kind, 2000, m, d)
            rng = np.random.default_rng(0)
            mean, _ = scenes.mixture(kind, m, m, d, seed=0)
            known = Components(
                np.full(m, 1 / m),
                mean.astype(float),
                np.full(m, 1.0 + 0 * rng.random()),
            )
            parts = Parts(X)
            model = Canopy(
                2, family="spherical", inference="esca", max_iter=1, tol=0.0, seed=0
            )
            _, shards = model._prepared(parts, None, None)
            assert isinstance(shards, LocalShards)
            kernel = shards.shards[0].kernel
            kernel.X[:] = X  # the components are not scaled
            tree = component_tree("spherical", known, 1)
            _, _, n_seen, _ = sample_rows(kernel, tree, CounterSource(1), 0, 1)
            seen.append(n_seen / len(X))
        text = ", ".join(f"{value:.0f}" for value in seen)
        asked = "33, 50, 71, 143; growth <= 2 per 4 m" if kind == "hier" else "told"
        line("E10", f"{kind}, d={d}, m = 256, 1024, 4096, 16384: {text} bounds and "
             "weights a row", asked)  # fmt: skip


def faiss_flat(X: np.ndarray, Q: np.ndarray) -> list[str]:
    """What all distances cost in faiss, of floats of 32 bits, where it is there."""
    try:
        import faiss
    except ImportError:
        return []
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X.astype(np.float32))
    asked = Q.astype(np.float32)
    with clock() as ask:
        index.search(asked, 10)
    return [f"faiss flat {1e6 * ask() / len(Q):.0f}"]


def e11() -> None:
    """Neighbours beside the trees of scikit-learn and SciPy, and beside faiss."""
    from scipy.spatial import cKDTree
    from sklearn.neighbors import BallTree, KDTree

    rng = np.random.default_rng(0)
    z = rng.normal(size=(200_000, 3))
    sets = {
        "mixture 200k x 16": scenes.mixture("hier", 200_000, 256, 16)[0],
        "3-d in 64-d, 200k": np.tanh(z @ rng.normal(size=(3, 64))),
        "cube 200k x 3": rng.random((200_000, 3)),
    }
    if scenes.has_fashion():
        sets["Fashion-MNIST 60k x 50"] = scenes.fashion_components(1)[0]
    for name, rows in sets.items():
        X = np.ascontiguousarray(rows, dtype=np.float64)
        Q = X[rng.choice(len(X), 500, replace=False)] + 0.01 * X.std() * rng.normal(
            size=(500, X.shape[1])
        )
        with clock() as build:
            tree = CoverTree(X, seed=0)
        with clock() as ask:
            distance, _ = tree.query(Q, 10)
        told = [f"ours {1e6 * ask() / 500:.0f} us (build {build():.2f} s)"]
        for peer in (BallTree, KDTree, cKDTree):
            with clock() as their_build:
                other = peer(X)
            with clock() as theirs:
                expected, _ = other.query(Q, 10)
            assert np.allclose(distance, expected, atol=1e-9 * X.std())
            told.append(
                f"{peer.__name__} {1e6 * theirs() / 500:.0f} ({their_build():.2f})"
            )
        told += faiss_flat(X, Q)
        line("E11", f"{name}: " + ", ".join(told), "half of theirs from d = 16")


def table() -> None:
    """Log-likelihood and purity by start and inference (the paper's Table 1)."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    sets = {"digits": (digits.data / 16.0, digits.data / 16.0, digits.target)}
    if scenes.has_fashion():
        X, T = scenes.fashion_components(1)
        tested, classes = load_fashion_mnist("t10k")
        sets["fm"] = (X, T, classes)
        flat = load_fashion_mnist("train")[0].reshape(-1, 784)
        pixels = [(a / np.float32(255.0)).astype(np.float32) for a in
                  (flat, tested.reshape(-1, 784))]  # fmt: skip
        sets["fm, 784 pixels"] = (pixels[0], pixels[1], classes)
    for name, (X, T, classes) in sets.items():
        n_seeds = 1 if X.shape[1] == 784 else 3
        for m in (10, 100):
            for init in (
                "random", "kmeans++", "kmeans", "covertree", "covertree_means",
            ):  # fmt: skip
                told = []
                for how in ("em", "esca", "canopy2"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        fits = [
                            Canopy(m, inference=how, init=init, max_iter=20, tol=0.0,
                                   seed=seed).fit(X)
                            for seed in range(n_seeds)
                        ]  # fmt: skip
                    fit = np.mean([one.score(T) for one in fits])
                    pure = np.mean(
                        [scenes.purity(one.predict(T), classes) for one in fits]
                    )
                    told.append(f"{how} {fit:.2f} / {pure:.3f}")
                line("T", f"{name}, m={m}, {init}: " + ", ".join(told))


def threads() -> None:
    """Two threads beside one, by the wall clock."""
    X, _ = scenes.mixture("hier", 400_000, 1024, 32)
    found = []
    for n in ("1", "2"):
        os.environ["DYNTREE_NUM_THREADS"] = n
        model = Canopy(
            1024, inference="canopy2", init="random", max_iter=15, tol=0.0, seed=0
        ).fit(X)
        found.append(float(model.history.seconds.sum()))
    del os.environ["DYNTREE_NUM_THREADS"]
    line("E12", f"two threads: {found[0] / found[1]:.2f} times as fast", ">= 1.7")


EXPERIMENTS: dict[str, Callable[[], None]] = {
    "E3": e3, "E4": e4, "E7": e7, "E8": e8, "E9": e9, "E10": e10, "E11": e11,
    "E12": threads, "T": table,
}  # fmt: skip
IMAGES = {"E1", "E2", "E5", "E6"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted(IMAGES | set(EXPERIMENTS))
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    only = set(parser.parse_args().only)
    if only & IMAGES:
        e1_e2_e5_e6(only & IMAGES)
    for name, run in EXPERIMENTS.items():
        if name in only:
            run()


if __name__ == "__main__":
    main()
