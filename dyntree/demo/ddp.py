"""The demonstration of dependent mixtures: clusters followed from phase to phase."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.api import plots
from dyntree.datasets import EvolvingRows, evolving_gaussians
from dyntree.demo.running import Run, demonstration
from dyntree.mixtures import (
    DependentDPMixture,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    RandomWalk,
    variation_of_information,
)
from dyntree.runtime.progress import rows_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PHASES, N_ROWS = 80, 100  # rows of each living cluster in each phase
BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0)
STEP = RandomWalk(0.1)
FIXED = (2, 3, 5)  # components of the models with a fixed number


def models() -> dict[str, Any]:
    """The dependent mixture, the paper's own weights, and fixed numbers of clusters."""
    shared: dict[str, Any] = {
        "concentration": 0.8, "survival": 0.975, "innovation": 0.02,
        "transition": STEP, "history": N_PHASES, "seed": 0,
    }  # fmt: skip
    found: dict[str, Any] = {
        "gamma weights": DependentDPMixture(BASE, **shared),
        "counts": DependentDPMixture(BASE, weights="counts", **shared),
    }
    for k in FIXED:
        found[f"fixed, K = {k}"] = DynamicFiniteMixture(
            k, BASE, transition=STEP, seed=0
        )
    return found


@demonstration
def run(asked: Run) -> dict[str, Any]:
    """Follow clusters that are born, move and die; lifelines.png, .csv and vi.png."""
    data = evolving_gaussians(N_PHASES, N_ROWS, seed=asked.seed)
    known, seconds = models(), {}
    total = sum(len(rows) for rows in data.phases) * len(known)
    with rows_bar(asked.progress, total, "following") as tell:
        for name, model in known.items():
            clock = time.perf_counter()
            for rows in data.phases:
                model.update(rows, progress=False)
                tell(len(rows))
            seconds[name] = time.perf_counter() - clock
    distances = {name: by_phase(model, data) for name, model in known.items()}
    summary = summarise(data, known, distances, seconds)
    summary = asked.reported(summary, report(summary))
    ours = known["gamma weights"]
    write_lifelines(asked.folder / "lifelines.csv", ours)
    plots.plot_lifelines(ours).savefig(
        asked.folder / "lifelines.png", dpi=150, bbox_inches="tight"
    )
    picture(data, distances).savefig(
        asked.folder / "vi.png", dpi=150, bbox_inches="tight"
    )
    return summary


def by_phase(model: Any, data: EvolvingRows) -> np.ndarray:
    """Variation of information from the truth in each phase; NaN without rows."""
    return np.array([
        variation_of_information(truth, model.labels(t)) if len(truth) else np.nan
        for t, truth in enumerate(data.labels)
    ])  # fmt: skip


def summarise(
    data: EvolvingRows,
    known: dict[str, Any],
    distances: dict[str, Any],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Results of the run, by name."""
    truth = np.concatenate(data.labels)
    methods = {}
    for name, model in known.items():
        labels = [model.labels(t) for t in range(len(data))]
        exact = [
            len(np.unique(found)) == len(alive)
            for found, alive in zip(labels, data.ids, strict=True)
            if len(alive)
        ]
        methods[name] = {
            "mean_vi": float(np.nanmean(distances[name])),
            "pooled_vi": variation_of_information(truth, np.concatenate(labels)),
            "phases_with_exact_number": float(np.mean(exact)),
            "seconds": seconds[name],
        }
    return {
        "phases": len(data),
        "rows": len(truth),
        "clusters_made": len(np.unique(truth)),
        "clusters_found": len(known["gamma weights"].lifelines()),
        "methods": methods,
    }


def report(summary: dict[str, Any]) -> str:
    """The summary as a table."""
    lines = [
        f"{summary['rows']} rows in {summary['phases']} phases; clusters made / found: "
        f"{summary['clusters_made']} / {summary['clusters_found']}",
        f"{'':<16}{'VI by phase':>12}{'pooled VI':>12}{'exact number':>14}"
        f"{'seconds':>9}",
    ]
    for name, one in summary["methods"].items():
        lines.append(
            f"{name:<16}{one['mean_vi']:>12.3f}{one['pooled_vi']:>12.3f}"
            f"{one['phases_with_exact_number']:>14.0%}{one['seconds']:>9.2f}"
        )
    return "\n".join(lines)


def write_lifelines(path: Path, model: DependentDPMixture) -> None:
    """A line for each particle and phase with rows."""
    lines = model.lifelines()
    text = ["particle,phase,rows"]
    for id, count in zip(lines.id.tolist(), lines.count, strict=True):
        text += [f"{id},{t},{count[t]}" for t in np.flatnonzero(count).tolist()]
    path.write_text("\n".join(text) + "\n")


def picture(data: EvolvingRows, distances: dict[str, Any]) -> Figure:
    """Distances over the phases, and the true number of clusters beneath."""
    return plots.plot_vi(distances, [len(alive) for alive in data.ids])
