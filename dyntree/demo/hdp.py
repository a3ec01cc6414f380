"""The demonstration of topic models: pictures segmented together in 64 kB."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api import plots
from dyntree.datasets import image_points
from dyntree.demo.running import Run, demonstration
from dyntree.encoding.values import Matrix
from dyntree.mixtures import MemoryBoundedHDP, memory_report
from dyntree.mixtures.shared.arrays import Ids

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT = "64kB"
N_PICTURES = 120
EPOCH = 10
GAIN = 3000.0  # nats that a topic must bring: parts, not patches of them
HEIGHT, WIDTH = 36, 48
PARTS = ("sky", "sea", "sand", "sun", "boat", "tree")
COLOURS = np.array(
    [[0.53, 0.75, 0.92], [0.10, 0.30, 0.55], [0.86, 0.78, 0.55],
     [0.99, 0.86, 0.25], [0.55, 0.15, 0.12], [0.13, 0.42, 0.17]]
)  # fmt: skip
NOISE = 0.03  # standard deviation of colours, in [0, 1]
N_SHOWN = 4  # pictures that are drawn


def pictures(
    n: int = N_PICTURES, seed: int = 0
) -> tuple[list[NDArray[np.float64]], list[Ids]]:
    """Coasts: sky over the sea, some with sand, a sun, a boat or trees.

    Parameters
    ----------
    n : int, default 120
    seed : int, default 0

    Returns
    -------
    images : list of ndarray of shape (36, 48, 3)
    parts : list of ndarray of int64 of shape (36, 48)
        Place in `PARTS` of each pixel.
    """
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    images, parts = [], []
    for _ in range(n):
        part = np.zeros((HEIGHT, WIDTH), dtype=np.int64)
        horizon = int(rng.integers(12, 20))
        part[horizon:] = 1
        if rng.random() < 0.7:
            shore = 27 + 2.0 * np.sin(x / rng.uniform(5, 9) + rng.uniform(0, 6))
            part[y > shore] = 2
        if rng.random() < 0.5:
            cx, cy = rng.uniform(6, WIDTH - 6), rng.uniform(4, horizon - 3)
            part[(x - cx) ** 2 + (y - cy) ** 2 < rng.uniform(3, 4) ** 2] = 3
        if rng.random() < 0.5:
            cx, cy = rng.uniform(8, WIDTH - 8), horizon + rng.uniform(2, 5)
            part[(np.abs(x - cx) < 6 - (y - cy)) & (np.abs(y - cy) < 2)] = 4
        if rng.random() < 0.5 and (part == 2).any():
            cx = rng.uniform(5, WIDTH - 5)
            part[(np.abs(x - cx) < 4) & (y > 22) & (y < 33)] = 5
        light = rng.uniform(0.9, 1.05)
        image = COLOURS[part] * light + NOISE * rng.normal(size=(HEIGHT, WIDTH, 3))
        image[..., 2] += 0.003 * (horizon - y) * (part == 0)
        images.append(np.clip(image, 0.0, 1.0))
        parts.append(part)
    return images, parts


@demonstration
def run(asked: Run) -> dict[str, Any]:
    """Learn pictures in epochs of ten; segmentation.png, memory.png and topics.csv."""
    images, parts = pictures(seed=asked.seed)
    documents = [image_points(image) for image in images]
    model = MemoryBoundedHDP(
        memory_limit=LIMIT, max_groups=30, epoch_size=EPOCH, min_gain=GAIN,
        seed=asked.seed,
    )  # fmt: skip
    clock = time.perf_counter()
    model.fit(documents, progress=asked.progress)
    seconds = time.perf_counter() - clock
    labels = model.predict(documents).labels
    summary = summarise(model, documents, labels, parts) | {"seconds": seconds}
    summary = asked.reported(summary, report(summary))
    write_topics(asked.folder / "topics.csv", model, labels, parts)
    owner = owners(labels, parts)
    parts_by_topic = [owner[label] for label in labels]
    segmentation(images, parts_by_topic).savefig(
        asked.folder / "segmentation.png", dpi=150
    )
    plots.plot_memory_by_epoch(model).savefig(asked.folder / "memory.png", dpi=150)
    return summary


def owners(labels: list[Ids], parts: list[Ids]) -> Ids:
    """The part of pictures that most points of each topic belong to."""
    label, part = np.concatenate(labels), np.concatenate([one.ravel() for one in parts])
    counts = np.zeros((label.max() + 1, len(PARTS)), dtype=np.int64)
    np.add.at(counts, (label, part), 1)
    owner: Ids = counts.argmax(axis=1)
    return owner


def summarise(
    model: MemoryBoundedHDP,
    documents: list[Matrix],
    labels: list[Ids],
    parts: list[Ids],
) -> dict[str, Any]:
    """Results, as plain numbers."""
    owner = owners(labels, parts)
    right = [
        float(np.mean(owner[label] == part.ravel()))
        for label, part in zip(labels, parts, strict=True)
    ]
    memory = memory_report(model)
    return {
        "pictures": len(documents),
        "points": model.n_seen,
        "bytes_of_points": 8 * 5 * model.n_seen,
        "memory_limit": int(model.settings.memory_limit or 0),
        "memory_used": model.memory_used_,
        "memory_by_kind": memory.resting,
        "most_memory": int(model.history_["bytes"].max()),
        "topics": model.n_topics_,
        "clumps": model.n_clumps_,
        "single_points": model.n_singlets_,
        "groups": len(model.group_sizes_),
        "pixels_right": float(np.mean(right)),
        "score": float(model.score(documents)),
    }


def report(summary: dict[str, Any]) -> str:
    """Return the summary as text."""
    lines = [
        f"{summary['pictures']} pictures, {summary['points']} pixels "
        f"({summary['bytes_of_points'] / 1e6:.1f} MB), in {summary['memory_limit']} "
        "bytes",
        "",
        f"{'bytes in memory':<44}{summary['memory_used']:8d}",
        f"{'most bytes in memory':<44}{summary['most_memory']:8d}",
        f"{'topics':<44}{summary['topics']:8d}",
        f"{'clumps':<44}{summary['clumps']:8d}",
        f"{'single points':<44}{summary['single_points']:8d}",
        f"{'groups of pictures':<44}{summary['groups']:8d}",
        f"{'pixels whose topic shows their part':<44}{summary['pixels_right']:8.3f}",
        f"{'seconds':<44}{summary['seconds']:8.1f}",
    ]
    return "\n".join(lines)


def write_topics(
    path: Path, model: MemoryBoundedHDP, labels: list[Ids], parts: list[Ids]
) -> None:
    """One line a topic: its share, its mean, and the part of pictures it stands for."""
    import pandas as pd

    owner = owners(labels, parts)
    wide = np.zeros(model.n_topics_, dtype=np.int64)
    wide[: len(owner)] = owner
    columns: dict[str, Any] = {
        "topic": model.topic_ids_,
        "share": model.topic_weights_,
        "part": [PARTS[k] for k in wide],
    }
    for name, column in zip(("L", "a", "b", "x", "y"), model.means_.T, strict=True):
        columns[name] = column
    pd.DataFrame(columns).to_csv(path, index=False)


def segmentation(images: list[Any], parts_by_topic: list[Ids]) -> Figure:
    """Pictures above, and below them the parts by their topics, in mean colours.

    Light differs between pictures, so that a part has several topics: its pixels go to
    one or another by their noise.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(2, N_SHOWN)
    for k, (above, below) in enumerate(axes.T):
        number = k * (len(images) // N_SHOWN)
        above.imshow(images[number], interpolation="nearest")
        above.set_title(f"picture {number}", fontsize="small")
        above.set_axis_off()
        plots.plot_segmentation(images[number], parts_by_topic[number], ax=below)
        below.set_title("parts by its topics", fontsize="small")
    return figure
