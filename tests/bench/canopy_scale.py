"""A mixture of 16,384 components of a million rows, on the workers of Dask.

``python -m tests.bench.canopy_scale`` fits the runs that `canopy_scale.json` lacks, two
workers of one thread each, and prints them all. It then fits a model of the seconds of
a sweep to them, and prints what that says of larger data. With ``--print`` it fits
nothing anew. Rows are of a tree of means, 64 columns, in files that workers map.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from dyntree.mixtures import Canopy

from .canopy_scenes import Mixture
from .results import stamp

STORED = Path(__file__).with_suffix(".json")
COLUMNS, SWEEPS, LATE = 64, 24, 5
WORKERS = 2
N_HELD_OUT = 4000


@dataclass(frozen=True)
class Run:
    """Sizes of a fit."""

    rows: int
    components: int
    shards: int


RUNS = (
    Run(125_000, 4096, 2),
    Run(250_000, 4096, 2),
    Run(250_000, 4096, 8),
    Run(500_000, 4096, 4),
    Run(250_000, 16_384, 2),
    Run(1_000_000, 16_384, 4),
)
LARGE = Run(100_000_000, 64_000, 32)  # 16 machines like this one, a shard for each core


def peak_bytes() -> int:
    """Most memory that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fitted(run: Run) -> dict[str, Any]:
    """What a fit took and reached."""
    import distributed

    from dyntree.api.distributed import fit_canopy

    scene = Mixture("hier", run.components, COLUMNS)
    held_out = scene.rows(N_HELD_OUT, 0)
    each = run.rows // run.shards
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"part{k}.npy") for k in range(run.shards)]
        for k, path in enumerate(paths):
            np.save(path, scene.rows(each, k + 1))
        with (
            distributed.LocalCluster(
                WORKERS, threads_per_worker=1, memory_limit=None, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            model = Canopy(
                run.components, inference="canopy2", init="random", max_iter=SWEEPS,
                tol=0.0, seed=1, threads=1,
            )  # fmt: skip
            spent: list[tuple[float, float]] = []

            def note(_: Any) -> None:
                of_workers = client.run(time.process_time).values()
                spent.append((sum(of_workers), time.process_time()))

            began = time.perf_counter()
            shards = [functools.partial(np.load, path, mmap_mode="r") for path in paths]
            note(None)
            fit_canopy(client, shards, model, callback=note)
            total = time.perf_counter() - began
            peaks = client.run(peak_bytes)
    history = model.history
    first, *_ = each_sweep = np.diff(spent, axis=0)
    late = np.median(each_sweep[-LATE:], axis=0)
    return asdict(run) | {
        "workers": WORKERS,
        "sweeps": len(history),
        "total_seconds": round(total, 1),
        "first_seconds": np.round(first, 3).tolist(),
        "late_seconds": np.round(late, 4).tolist(),
        "late_renewal": float(np.median(history.refresh[-LATE:])),
        "scans": round(float((1.0 / history.refresh).sum()), 3),
        "list_length": round(float(history.list_length[-1]), 1),
        "held_out": round(model.score(held_out), 3),
        "true_held_out": round(float(scene.log_density(held_out).mean()), 3),
        "worker_megabytes": round(max(peaks.values()) / 1e6),
        "stamp": stamp(),
    }


# ------------------------------------------------------------ the model of the cost
TERMS = ("pair", "row", "group", "report", "client")
FITTED = ("workers, first sweep", "workers, late sweeps", "client, late sweeps")


def shares(run: dict[str, Any], first: bool) -> np.ndarray:
    """How often each term counts for the workers, and for the client, in a sweep."""
    pairs, reports = run["rows"] * run["components"], run["components"] * run["shards"]
    if first:
        return np.array([[pairs, 0, run["rows"], reports, 0], [0, 0, 0, 0, reports]])
    pairs /= run["late_renewal"]
    return np.array([[pairs, run["rows"], 0, reports, 0], [0, 0, 0, 0, reports]])


def cost_model(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds of each term, by least squares of relative errors, none negative.

    Workers take `pair` for each pair of a row and a component that is evaluated, `row`
    for each row of a late sweep, `group` for each row that the first one reads and puts
    in a group, and `report` for each component of each shard, whose sums they send. The
    client takes `client` for each of these; in the first sweep it waits for so long
    that its own seconds say nothing, and they are left out.
    """
    terms, seconds = [], []
    for run in runs:
        terms += [shares(run, first=True)[0], *shares(run, first=False)]
        seconds += [run["first_seconds"][0], *run["late_seconds"]]
    table, measured = np.array(terms), np.array(seconds)
    scale = table.max(axis=0)
    found, _ = nnls(table / scale / measured[:, None], np.ones(len(measured)))
    each = found / scale
    ratio = (table @ each / measured).reshape(-1, 3)
    return {
        "seconds_of": dict(zip(TERMS, (float(f"{v:.4g}") for v in each), strict=True)),
        "model_by_measured": {
            name: [round(float(v), 2) for v in (own.min(), own.max())]
            for name, own in zip(FITTED, ratio.T, strict=True)
        },
        "large": predicted(each),
    }


def predicted(each: np.ndarray, run: Run = LARGE) -> dict[str, Any]:
    """What the model says of a larger fit, with a core for each shard."""
    sizes = asdict(run) | {"workers": run.shards, "late_renewal": 128.0}
    first, late = (shares(sizes, which) @ each for which in (True, False))
    renewed = run.rows * run.components * float(each[0])  # all lists, on one core
    scans = sum(1.0 / min(128.0, 2.0**k) for k in range(SWEEPS - 1))
    wall = [one[0] / run.shards + one[1] for one in (first, late)]
    total = wall[0] + (SWEEPS - 1) * (wall[1] - renewed / 128.0 / run.shards)
    total += renewed * scans / run.shards
    return sizes | {
        "first_seconds": np.round(first / [run.shards, 1], 1).tolist(),
        "late_seconds": np.round(late / [run.shards, 1], 1).tolist(),
        "sweeps": SWEEPS,
        "total_hours": round(total / 3600.0, 2),
        "gigabytes_a_worker": round(run.rows / run.shards * COLUMNS * 4 / 1e9, 2),
        "gigabytes_of_reports": round(
            run.components * (1 + 2 * COLUMNS) * 8 * run.shards / 1e9, 2
        ),
    }


# ------------------------------------------------------------ the command
def line(run: dict[str, Any]) -> str:
    """A fit, as a line."""
    return (
        f"{run['rows']:>9,} rows {run['components']:>6,} components "
        f"{run['shards']:>2} shards: workers {run['first_seconds'][0]:.2f} s in the "
        f"first sweep, {run['late_seconds'][0]:.3f} in late ones, client "
        f"{run['first_seconds'][1]:.2f} and {run['late_seconds'][1]:.3f}; "
        f"{run['sweeps']} sweeps {run['total_seconds']:.0f} s; lists "
        f"{run['list_length']:.0f}; held-out {run['held_out']:.2f} (truth "
        f"{run['true_held_out']:.2f}); {run['worker_megabytes']} MB a worker"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="fit nothing")
    given = parser.parse_args()
    stored = json.loads(STORED.read_text())["runs"] if STORED.exists() else []
    for run in () if given.print else RUNS:
        if any(asdict(run).items() <= one.items() for one in stored):
            continue
        stored.append(fitted(run))
        print(line(stored[-1]), flush=True)
        written = {"runs": stored, "model": cost_model(stored)}
        STORED.write_text(json.dumps(written, indent=1) + "\n")
    print(*map(line, stored), json.dumps(cost_model(stored), indent=1), sep="\n")


if __name__ == "__main__":
    main()
