"""The demonstration of large mixtures: a thousand components of small images."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.api import plots
from dyntree.demo.running import Run, demonstration
from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.scaling import Singles
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.progress import Progress, rows_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 12  # pixels
N_IMAGES, N_COMPONENTS, N_SWEEPS = 30_000, 1000, 25
SIZES = (64, 256, 1024)  # components of the scaling plot
N_SCALED = 12_000  # images that it is measured on
GLYPHS: dict[str, tuple[tuple[float, float], ...]] = {  # corners of one line each
    "bar": ((0, -0.7), (0, 0.7)),
    "vee": ((-0.6, -0.6), (0, 0.6), (0.6, -0.6)),
    "ell": ((-0.4, -0.7), (-0.4, 0.7), (0.5, 0.7)),
    "zed": ((-0.5, -0.6), (0.5, -0.6), (-0.5, 0.6), (0.5, 0.6)),
    "roof": ((-0.6, 0.6), (-0.6, -0.5), (0.6, -0.5), (0.6, 0.6)),
    "ring": tuple((0.6 * np.cos(t), 0.6 * np.sin(t)) for t in np.pi * np.arange(9) / 4),
    "tee": ((-0.6, -0.6), (0.6, -0.6), (0, -0.6), (0, 0.7)),
    "hook": ((0, -0.7), (0, 0.4), (-0.3, 0.65), (-0.6, 0.4)),
}  # fmt: skip


def images(n: int = N_IMAGES, seed: int = 0) -> tuple[Singles, Ids]:
    """Strokes of eight kinds, turned, sheared, moved and inked at random.

    Parameters
    ----------
    n : int, default 30_000
    seed : int, default 0

    Returns
    -------
    rows : ndarray of float32 of shape (n, 144)
        Images of 12 x 12 pixels from 0 to about 1.
    kind : ndarray of int64 of shape (n,)
        Place in `GLYPHS`.
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(len(GLYPHS), size=n)
    line = np.linspace(-1.0, 1.0, SIDE)
    pixels = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    rows = np.empty((n, SIDE * SIDE), dtype=np.float32)
    for g, corners in enumerate(GLYPHS.values()):
        mine = np.flatnonzero(kind == g)
        points = np.array(corners, dtype=float)
        angle = rng.normal(0.0, 0.3, len(mine))
        turn = np.stack(
            [np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], -1
        )
        turn = turn.reshape(-1, 2, 2) + 0.12 * rng.normal(size=(len(mine), 2, 2))
        at = np.einsum("nij,cj->nci", turn, points)
        at += 0.12 * rng.normal(size=(len(mine), 1, 2))
        least = np.full((len(mine), len(pixels)), np.inf)
        for a, b in zip(
            at[:, :-1].swapaxes(0, 1), at[:, 1:].swapaxes(0, 1), strict=True
        ):
            way = (b - a)[:, None]
            from_a = pixels - a[:, None]
            length = np.maximum((way**2).sum(-1), 1e-9)
            share = np.clip((from_a * way).sum(-1) / length, 0.0, 1.0)
            far = ((from_a - share[..., None] * way) ** 2).sum(-1)
            least = np.minimum(least, far)
        ink = rng.uniform(0.10, 0.16, size=(len(mine), 1))
        rows[mine] = np.exp(-least / (2.0 * ink**2))
    rows += 0.03 * rng.normal(size=rows.shape).astype(np.float32)
    return rows, kind


@demonstration
def run(asked: Run) -> dict[str, Any]:
    """Fit a thousand components to small images; images, scaling and sweeps.png."""
    rows, kind = images(seed=asked.seed)
    model = Canopy(
        N_COMPONENTS, inference="canopy2", max_iter=N_SWEEPS, tol=0.0, seed=asked.seed
    )
    clock = time.perf_counter()
    model.fit(rows, progress=asked.progress)
    clock = time.perf_counter() - clock
    scaled = scaling(rows[:N_SCALED], asked.seed, asked.progress)
    labels = model.predict(rows)
    table = np.zeros((N_COMPONENTS, len(GLYPHS)))
    np.add.at(table, (labels, kind), 1)
    summary = {
        "images": len(rows),
        "components": N_COMPONENTS,
        "sweeps": len(model.history),
        "seconds": clock,
        "log_density": model.score(rows),
        "purity": float(table.max(axis=1).sum() / len(rows)),
        "mean_list": float(model.history.list_length[-1]),
        "components_of_scaling": list(SIZES),
        "seconds_a_sweep_exact": [one[0] for one in scaled],
        "seconds_a_sweep": [one[1] for one in scaled],
    }
    summary = asked.reported(summary, report(summary))
    figure = plots.plot_images(model, rows, (SIDE, SIDE), n_components=12, n_rows=12)
    figure.savefig(asked.folder / "images.png", dpi=150)
    plots.plot_sweeps(model).savefig(asked.folder / "sweeps.png", dpi=150)
    picture(summary).savefig(asked.folder / "scaling.png", dpi=150)
    return summary


def scaling(rows: Singles, seed: int, progress: Progress) -> list[tuple[float, float]]:
    """Seconds of an exact sweep and of a late one from lists, by components."""
    found = []
    with rows_bar(progress, 2 * len(SIZES), "scaling", "fit") as tell:
        for m in SIZES:
            pair = []
            for inference, sweeps in (("esca", 3), ("canopy2", 20)):
                model = Canopy(
                    m, inference=inference, init="random", max_iter=sweeps, tol=0.0,
                    seed=seed,
                ).fit(rows, progress=False)  # fmt: skip
                pair.append(float(np.median(model.history.seconds[-3:])))
                tell(1)
            found.append((pair[0], pair[1]))
    return found


def report(summary: dict[str, Any]) -> str:
    """Return the summary as text."""
    lines = [
        f"{summary['images']} images, {summary['components']} components, "
        f"{summary['sweeps']} sweeps in {summary['seconds']:.1f} s",
        "",
        f"{'log density, nats an image':<44}{summary['log_density']:9.2f}",
        f"{'images of the commonest kind of a component':<44}{summary['purity']:9.3f}",
        f"{'components that an image looks at':<44}{summary['mean_list']:9.1f}",
        "",
        f"{'components':>12}{'exact, s/sweep':>16}{'lists, s/sweep':>16}",
    ]
    columns = ("components_of_scaling", "seconds_a_sweep_exact", "seconds_a_sweep")
    for m, exact, late in zip(*(summary[c] for c in columns), strict=True):
        lines.append(f"{m:12d}{exact:16.4f}{late:16.4f}")
    return "\n".join(lines)


def picture(summary: dict[str, Any]) -> Figure:
    """Seconds a sweep over the number of components."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    m = summary["components_of_scaling"]
    axes.loglog(m, summary["seconds_a_sweep_exact"], "o--", color="0.5",
                label="every component looked at")  # fmt: skip
    axes.loglog(m, summary["seconds_a_sweep"], "o-", color="black",
                label="lists of candidates, late sweep")  # fmt: skip
    axes.set_xticks(m, [str(one) for one in m])
    axes.minorticks_off()
    axes.set_xlabel("components")
    axes.set_ylabel("seconds a sweep")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
