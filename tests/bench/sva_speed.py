"""Rows per second of the small-variance mixtures, beside their peers."""

from __future__ import annotations

import itertools
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import chi2

from dyntree._core.mixtures.decoder import Law
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM

from .sva_scenes import NOISE, agreement, blobs, semi_markov

TURNS = 3  # of which the fastest counts


def rate(work: Callable[[], Any], rows: int) -> float:
    """Rows per second of processor time."""
    best = np.inf
    for _ in range(TURNS):
        clock = time.process_time()
        work()
        best = min(best, time.process_time() - clock)
    return rows / best


def speeds() -> Iterator[str]:
    yield "7. rows per second of processor time, one thread, fastest of three turns"
    for width in (2, 10, 50):
        yield from blob_speeds(width)
    yield from subspace_speeds()
    yield from sequence_speeds()
    yield from memory()


def line(name: str, found: float, own: float | None = None, note: str = "") -> str:
    """A line of the table; `own` is our rate, to be compared with a peer's."""
    note = note if own is None else f"ours {own / found:.3g} times"
    return f"    {name:<44}{found:>14,.0f}   {note}".rstrip()


def in_blocks(X: np.ndarray, size: int) -> list[np.ndarray]:
    return [X[k : k + size] for k in range(0, len(X), size)]


def cut_up(lambda_: float, X: np.ndarray, size: int) -> None:
    """Learn rows in blocks."""
    model = OnlineDPGMM(lambda_)
    for part in in_blocks(X, size):
        model.update(part, progress=False)


def blob_speeds(width: int) -> Iterator[str]:
    from river import cluster
    from sklearn.cluster import Birch, MiniBatchKMeans

    yield f"  K=10 blobs, 12 apart, D={width}"
    X, label = blobs(10, width, 12, 200_000, 0)
    lambda_ = float(chi2.isf(1e-5, width))
    names = tuple(f"x{j}" for j in range(width))

    def ours() -> OnlineDPGMM:
        return OnlineDPGMM(lambda_).update(X, progress=False)

    block = rate(ours, len(X))
    model = ours().merge_now()
    score = agreement(model.predict(X[:5000]), label[:5000])
    yield line("OnlineDPGMM.update, one block", block, note=f"ARI {score:.3f}")
    cut = {}
    for size in (256, 1024):
        cut[size] = rate(lambda size=size: cut_up(lambda_, X, size), len(X))
        yield line(f"OnlineDPGMM.update, {size}", cut[size])

    def kmeans(rows: np.ndarray, size: int) -> Callable[[], Any]:
        def work() -> Any:
            peer = MiniBatchKMeans(10, random_state=0, n_init=1)
            for part in in_blocks(rows, size):
                peer.partial_fit(part)
            return peer

        return work

    for size, n in ((256, 20_000), (1024, 100_000)):
        peer = rate(kmeans(X[:n], size), n)
        yield line(f"MiniBatchKMeans.partial_fit, {size}", peer, cut[size])

    def grow() -> None:
        peer = Birch(n_clusters=None)
        for part in in_blocks(X[:5000], 1000):
            peer.partial_fit(part)

    yield line("Birch.partial_fit, 1000", rate(grow, 5000), block)
    own = rate(lambda: model.predict(X), len(X))
    fitted = kmeans(X[:20_000], 1024)()
    other = rate(lambda: fitted.predict(X), len(X))
    yield line("OnlineDPGMM.predict", own)
    yield line("MiniBatchKMeans.predict", other, own)

    rows = [dict(zip(names, x, strict=True)) for x in X[:50_000].tolist()]

    def one_by_one() -> None:
        alone = OnlineDPGMM(lambda_)
        for x in rows:
            alone.learn_one(x)

    single = rate(one_by_one, len(rows))
    yield line("OnlineDPGMM.learn_one(dict)", single)
    few = rows[:4000]
    learners = {
        "KMeans": lambda: cluster.KMeans(10, seed=1),
        "STREAMKMeans": lambda: cluster.STREAMKMeans(n_clusters=10, seed=1),
        "DBSTREAM": lambda: cluster.DBSTREAM(clustering_threshold=4.0 * width**0.5),
        "DenStream": lambda: cluster.DenStream(epsilon=3.0 * width**0.5),
        "CluStream": lambda: cluster.CluStream(n_macro_clusters=10, seed=1),
    }
    for name, make in learners.items():

        def feed(make: Callable[[], Any] = make) -> None:
            peer = make()
            for x in few:
                peer.learn_one(x)

        yield line(f"river {name}.learn_one", rate(feed, len(few)), single)


def subspace_speeds() -> Iterator[str]:
    from sklearn.decomposition import IncrementalPCA

    for width, n in ((4, 200_000), (10, 200_000), (50, 300_000), (100, 50_000)):
        rng = np.random.default_rng(0)
        centres = 12.0 * rng.normal(size=(10, width))
        bases = rng.normal(size=(10, 2, width)) / width**0.5
        label = rng.integers(10, size=n)
        along = 6.0 * rng.normal(size=(n, 2))
        X = centres[label] + np.einsum("nd,ndj->nj", along, bases[label])
        X += 0.3 * rng.normal(size=X.shape)
        lambda_ = 3.0 * 0.09 * float(chi2.isf(1e-5, width))

        def ours(X: np.ndarray = X, lambda_: float = lambda_) -> OnlineDPMPPCA:
            return OnlineDPMPPCA(lambda_, noise=0.3).update(X, progress=False)

        block, model = rate(ours, n), ours()
        score = agreement(model.predict(X[:5000]), label[:5000])
        yield f"  K=10 planes, D={width}"
        note = f"K {model.n_clusters}, ARI {score:.3f}"
        yield line("OnlineDPMPPCA.update, one block", block, note=note)
        some = X[:30_000]
        for size in (256, 1024):

            def fit(size: int = size, some: np.ndarray = some) -> None:
                peer = IncrementalPCA(min(5, some.shape[1]))
                for part in in_blocks(some, size):
                    if len(part) == size:
                        peer.partial_fit(part)

            other = rate(fit, len(some))
            yield line(f"IncrementalPCA.partial_fit, {size}", other, block)


def sequence_speeds() -> Iterator[str]:
    X, _, _ = semi_markov(0, 0.0, n_segments=6000)
    lambda_ = 3.0 * NOISE**2 * float(chi2.isf(1e-5, 6))

    def ours() -> OnlineHDPHSMM:
        return OnlineHDPHSMM(lambda_, noise=NOISE).update(X, progress=False)

    block, model = rate(ours, len(X)), ours()
    yield "  sequences"
    yield line(f"OnlineHDPHSMM.update, D=6, K={model.n_clusters}", block)
    own = rate(lambda: model.decode(X[:20_000]), 20_000)
    yield line(f"OnlineHDPHSMM.decode, K={model.n_clusters}", own)
    k, most, n = 10, 100, 20_000
    rng = np.random.default_rng(0)
    move = rng.dirichlet(np.ones(k), size=k) * (1.0 - np.eye(k))
    with np.errstate(divide="ignore"):
        log_move = np.log(move / move.sum(axis=1, keepdims=True))
    p = rng.dirichlet(np.ones(most), size=k)
    survival = np.log(np.ascontiguousarray(np.cumsum(p[:, ::-1], axis=1)[:, ::-1]))
    law = Law(np.full(k, -np.log(k)), log_move, np.log(p), survival)
    density = rng.normal(size=(n, k))
    viterbi = rate(lambda: law.viterbi(density), n)
    forward = rate(lambda: law.log_likelihood(density), n)
    yield line("Viterbi, K=10, durations to 100", viterbi)
    yield line("forward, K=10, durations to 100", forward)
    try:
        from hmmlearn.hmm import GaussianHMM
    except ImportError:
        yield "    hmmlearn: absent"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = np.repeat(rng.normal(size=(400, 6)) * 5.0, 50, axis=0)
        rows += rng.normal(size=rows.shape)
        peer = GaussianHMM(k, "diag", n_iter=2, random_state=0).fit(rows)
        other = rate(lambda: peer.decode(rows), len(rows))
    yield line("hmmlearn GaussianHMM.decode, K=10, D=6", other, viterbi)


def memory() -> Iterator[str]:
    """Far rows that all open clusters, which a cap must merge."""
    rng = np.random.default_rng(0)
    model = OnlineDPGMM(1.0, max_clusters=20, min_weight=1)
    held = []
    for k in itertools.count(1):
        model.update(1e3 * rng.normal(size=(100_000, 3)), progress=False)
        model.update([[0.0, 0.0, 0.0]])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        held.append((model.n_seen, model.memory_usage(), peak))
        if k == 10:
            break
    rows, own, peak = zip(*held, strict=True)
    yield (
        f"  memory at a cap of 20 clusters, every row a new one: {own[1]:,} bytes "
        f"after {rows[1]:,} rows, {own[-1]:,} after {rows[-1]:,}; the process's peak "
        f"{peak[1]:,} and {peak[-1]:,} kB"
    )
