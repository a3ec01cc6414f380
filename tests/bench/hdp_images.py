"""Figures 1, 3, 5 and 6 of Gomes et al. (2008): images, faces, digits."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from dyntree.errors import MemoryBudgetWarning
from dyntree.mixtures import EpochReport, HDPOptions, HDPPrior, MemoryBoundedHDP
from tests.bench.hdp_scenes import crops, digits, faces

SEEDS = (0, 1, 2)
warnings.simplefilter("ignore", MemoryBudgetWarning)


def learned(documents: Any, **more: Any) -> tuple[MemoryBoundedHDP, float]:
    """A model, and the seconds it took; one starting topic unless said otherwise."""
    clock = time.process_time()
    more = {"init_topics": 1, "seed": 0} | more
    model = MemoryBoundedHDP(**more).fit(documents, progress=False)
    return model, time.process_time() - clock


def per_point(model: MemoryBoundedHDP, documents: Any) -> tuple[float, float]:
    """F of what is held, and of all points with topics fixed; units of the data."""
    n = model.n_seen
    return model.free_energy_ / n, model.free_energy(documents) / n


def compress_share(model: MemoryBoundedHDP) -> float:
    """Share of the time of epochs that compression took."""
    h = model.history_
    return float(
        h.seconds_compress.sum() / (h.seconds_compress + h.seconds_build).sum()
    )


def ratios() -> None:
    """Figure 1: free energy against batch, by clumps and by groups."""
    print("8.1 Figure 1: 30 images 36x28, epochs of 5, min_gain 150, seeds 0-2")
    print("bound            ratio clumped (sd)  ratio full  gap clumped/full   K   CPU")
    cosine = HDPOptions(group_merge="cosine")
    kinds: dict[str, dict[str, Any]] = {
        str(items): {"max_items": items} for items in (100, 200, 400, 800)
    }
    for groups in (15, 6, 2):
        kinds[f"200, {groups} groups"] = {"max_items": 200, "max_groups": groups}
    kinds["200, 6, cosine"] = kinds["200, 6 groups"] | {"options": cosine}
    found: dict[str, list[Any]] = {name: [] for name in ["batch", *kinds]}
    for seed in SEEDS:
        documents = crops(30, 36, 28, seed)
        batch, seconds = learned(documents, min_gain=150, epoch_size=30)
        best = per_point(batch, documents)[0]
        found["batch"].append((1.0, 1.0, 0.0, 0.0, batch.n_topics_, seconds))
        for name, more in kinds.items():
            model, seconds = learned(documents, min_gain=150, epoch_size=5, **more)
            clumped, full = per_point(model, documents)
            pair = [1 + (best - F) / abs(best) for F in (clumped, full)]
            gaps = clumped - best, full - best
            found[name].append((*pair, *gaps, model.n_topics_, seconds))
    for name, rows in found.items():
        mean, sd = np.mean(rows, axis=0), np.std(rows, axis=0)
        print(
            f"{name:16s} {mean[0]:8.4f} ({sd[0]:.4f})    {mean[1]:8.4f}   "
            f"{mean[2]:7.3f} /{mean[3]:7.3f}   {mean[4]:4.0f} {mean[5]:5.1f}"
        )
    print("targets: clumped >= .997 at 100-800 and at 15 groups, >= .955 at 6;")
    print("full >= 1.00; free energy >= cosine + .01; sd <= .006")


def long_stream() -> None:
    """Figure 3: time and memory along 435 images."""
    print("8.2 Figure 3: 435 images 30x24 (313,200 points), epochs of 10, 300 items")
    documents = crops(435, 30, 24)
    n = sum(len(one) for one in documents)
    for cap in (None, 85):
        most = 0

        def watch(report: Any) -> None:
            nonlocal most
            if isinstance(report, EpochReport):
                most = max(most, report.memory)

        model, seconds = learned(
            documents, min_gain=300, max_items=300, max_topics=cap, callback=watch
        )
        clumped, full = per_point(model, documents)
        unit = model.learned_.log_scale
        h = model.history_
        passing = sum(size for _, size in model.learned_.transient)
        K = model.n_topics_
        batch = n * 44 + 8 * n * K + 8 * (435 * (K + 1) + K * 23)
        each = h.seconds_build + h.seconds_compress
        print(
            f"K {K} (cap {cap}): {seconds:.1f} CPU s, F {clumped - unit:.3f} clumped, "
            f"{full - unit:.3f} full, compression {100 * compress_share(model):.1f} %"
        )
        print(
            f"  at rest at most {most / 1e6:.2f} MB, passing {passing / 1e6:.2f} MB, "
            f"unbounded {batch / 1e6:.1f} MB: factor {batch / (most + passing):.0f}; "
            f"at rest alone {batch / most:.0f}"
        )
        print(
            f"  K after half {h.topics[21]:.0f}; seconds of an epoch, first to last "
            f"tenth: {np.round(each[::4], 2).tolist()}"
        )
        print(f"  bytes of an epoch: {h.bytes[::4].astype(int).tolist()}")
    print("targets: <= 40 s; factor >= 50 at K = 85, >= 60 free; compression <= 8 %;")
    print("K gains after half <= 10 %")


def batch_against_stream() -> None:
    """8.3: the same rules in batch and in a stream."""
    print("8.3 117,600 points (30 images 70x56), min_gain 150")
    documents = crops(30, 70, 56)
    slow = HDPOptions(splits=10, merges=10, moves="one", cap_growth="fixed")
    rows = []
    for name, size, items, cap in (
        ("batch, K <= 75", 30, None, 75),
        ("stream of 5, 200 items, K <= 100", 5, 200, 100),
    ):  # fmt: skip
        model, seconds = learned(
            documents, min_gain=150, epoch_size=size, max_items=items, options=slow,
            max_topics=cap,
        )  # fmt: skip
        rows.append((per_point(model, documents)[1], seconds))
        print(
            f"one move, ten candidates, {name}: K {model.n_topics_}, full F "
            f"{rows[-1][0]:.3f}, {seconds:.1f} CPU s, "
            f"{model.history_.sweeps.sum():.0f} sweeps"
        )
    print(
        f"  stream {rows[0][1] / rows[1][1]:.1f} times faster (target 4.5), full F "
        f"{rows[1][0] - rows[0][0]:+.3f} (target <= 0)"
    )
    plain = HDPOptions(swaps=False)
    found = []
    for seed in SEEDS:
        documents = crops(30, 70, 56, seed)
        batch, slow_seconds = learned(
            documents, min_gain=150, epoch_size=30, max_topics=75, options=plain
        )
        stream, seconds = learned(
            documents, min_gain=150, epoch_size=5, max_items=260, max_topics=75
        )
        F = [per_point(model, documents)[1] for model in (batch, stream)]
        found.append((F[1] - F[0], slow_seconds, seconds))
        print(
            f"default moves, K <= 75, seed {seed}: batch {F[0]:.3f} in "
            f"{slow_seconds:.1f} s, stream {F[1]:.3f} in {seconds:.1f} s"
        )
    gap, slow_seconds, seconds = np.mean(found, axis=0)
    print(
        f"  means: full F {gap:+.3f} (target <= .02) in {seconds / slow_seconds:.2f} "
        "of the time (target .6)"
    )


def faces_by_memory() -> None:
    """8.4: faces with more and more memory."""
    print("8.4 100 faces (62,500 points), epochs of 10, min_gain 200")
    documents = faces()
    batch, seconds = learned(documents, min_gain=200, epoch_size=100)
    best = per_point(batch, documents)[0]
    unit = batch.learned_.log_scale
    print(f"batch: K {batch.n_topics_}, F {best - unit:.3f}, {seconds:.1f} CPU s")
    for items in (50, 100, 200, 400):
        model, seconds = learned(documents, min_gain=200, max_items=items)
        clumped, full = per_point(model, documents)
        print(
            f"{items:4d} items: gap {clumped - best:.3f} clumped, {full - best:+.3f} "
            f"full, K {model.n_topics_}, {seconds:.1f} CPU s"
        )
    print("targets: clumped gap falls from <= .23 at 50 items; full gap <= 0")


def accuracy(found: Any, labels: Any, truth: Any) -> float:
    """Share of queries whose best document has their class; ids are places."""
    return float((labels[found.ids[:, 0].astype(int)] == truth).mean())


def retrieval() -> None:
    """Figures 5 and 6: classes of the nearest documents, by memory and by groups."""
    print("8.5 Figures 5, 6: digits, 1,000 training and 400 test images, 25,000 points")
    train, labels, test, truth = digits()
    base: dict[str, Any] = {
        "family": "diag", "init_topics": 30, "epoch_size": 100, "min_gain": 20.0,
        "prior": HDPPrior(scale=0.05, standardize=False),
    }  # fmt: skip
    batch = [learned(train, **base | {"epoch_size": 1000, "seed": s})[0] for s in SEEDS]
    whole = float(np.mean([model.memory_used_ for model in batch]))
    cosine = HDPOptions(group_merge="cosine")
    runs: list[tuple[str, dict[str, Any]]] = [("batch", {"epoch_size": 1000})]
    for share in (0.04, 0.08, 0.2):
        limit = {"memory_limit": int(share * whole), "max_groups": 100}
        runs.append((f"{100 * share:.0f} %, 100 groups", limit))
    for groups in (20, 100, 300):
        limit = {"memory_limit": int(0.16 * whole), "max_groups": groups}
        runs.append((f"16 %, {groups} groups", limit))
        runs.append((f"16 %, {groups}, cosine", limit | {"options": cosine}))
    print(f"memory, of {whole / 1e6:.2f} MB; means of seeds 0-2")
    print("                     hard   soft   fast    F clumped / full   K   CPU s")
    for name, more in runs:
        rows = [one_retrieval(train, labels, test, truth, base | more | {"seed": s})
                for s in SEEDS]  # fmt: skip
        hard, soft, fast, clumped, full, K, seconds = np.mean(rows, axis=0)
        print(
            f"{name:20s} {hard:.4f} {soft:.4f} {fast:.4f}  {clumped:.3f} / {full:.3f} "
            f"  {K:4.0f} {seconds:5.1f}"
        )
    stored = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)
    counts = np.ones((400, 64), dtype=np.float32)
    clock = time.process_time()
    for _ in range(50):
        counts @ stored.T
    each = (time.process_time() - clock) / 20_000
    print(
        f"score_fast, 1,000 documents, K = 64: {1e6 * each:.1f} us a query (target 20)"
    )
    print("targets: >= .84 at 8 %, >= batch - .01 at 20 %; 300 >= 20 groups + .03")


def one_retrieval(
    train: Any, labels: Any, test: Any, truth: Any, more: dict[str, Any]
) -> tuple[float, ...]:
    """Accuracy by the three scores, F clumped and full, topics, seconds."""
    model, seconds = learned(train, **more)
    clumped, full = per_point(model, train)
    model.compress(memory_limit=10**9, keep=True).index(train)
    found = [
        accuracy(model.retrieve(test, 1, method=method), labels, truth)
        for method in ("hard", "soft", "fast")
    ]
    return (*found, clumped, full, model.n_topics_, seconds)
