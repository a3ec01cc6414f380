"""Which images of clothes are most like another one: topics beside pixels.

``python -m tests.bench.retrieval`` runs what `retrieval.json` lacks, and prints all.
Each repeat draws 2,000 images of Fashion-MNIST that are learned and searched, and 1,000
others that are asked for. No model is shown the classes; they say what was right.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dyntree.datasets import load_fashion_mnist, patch_points
from dyntree.errors import MemoryBudgetWarning
from dyntree.mixtures import Canopy, HDPPrior, MemoryBoundedHDP

from .asking import images_found
from .results import stamp

STORED = Path(__file__).with_suffix(".json")
N_LEARNED, N_ASKED, N_FOUND, REPEATS = 2000, 1000, 10, 6
SIDE, STEP, N_AXES, PLACE = 8, 5, 8, 0.5  # of patches
TOPICS: dict[str, Any] = {
    "family": "diag", "init_topics": 30, "epoch_size": 100, "min_gain": 20.0,
    "prior": HDPPrior(scale=0.05, standardize=False),
}  # fmt: skip


@cache
def images(repeat: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images that are learned, their classes, images that are asked for, theirs."""
    rng = np.random.default_rng(repeat)
    found: list[np.ndarray] = []
    for part, n in (("train", N_LEARNED), ("t10k", N_ASKED)):
        pictures, classes = load_fashion_mnist(part)
        places = rng.choice(len(pictures), n, replace=False)
        found += [pictures[places] / 255.0, classes[places]]
    return found[0], found[1], found[2], found[3]


def flat(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(len(pictures), -1)


class Pixels:
    """Neighbours by the distance of all pixels, or by their angle."""

    def __init__(self, metric: str = "euclidean") -> None:
        from sklearn.neighbors import NearestNeighbors

        self.search = NearestNeighbors(metric=metric, algorithm="brute")

    def learn(self, pictures: np.ndarray) -> None:
        self.search.fit(flat(pictures))

    def nearest(self, pictures: np.ndarray, n: int) -> np.ndarray:
        found: np.ndarray = self.search.kneighbors(flat(pictures), n)[1]
        return found


@dataclass
class Patches:
    """Eight principal components of each patch of an image, and where it is."""

    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def learn(self, pictures: np.ndarray) -> list[np.ndarray]:
        """Documents of the images by which axes and scales are chosen."""
        every = np.concatenate([patch_points(one, SIDE, STEP) for one in pictures])
        patches, places = every[:, : SIDE**2], every[:, SIDE**2 :]
        self.mean = patches.mean(axis=0)
        axes = np.linalg.svd(patches - self.mean, full_matrices=False)[2][:N_AXES]
        spread = ((patches - self.mean) @ axes[0]).std()
        self.axes, self.scale = axes.T / spread, PLACE / places.std(axis=0)
        return self.of(pictures)

    def of(self, pictures: np.ndarray) -> list[np.ndarray]:
        """Documents of images."""
        out = []
        for one in pictures:
            points = patch_points(one, SIDE, STEP)
            content = (points[:, : SIDE**2] - self.mean) @ self.axes
            out.append(np.hstack([content, points[:, SIDE**2 :] * self.scale]))
        return out


class Topics:
    """Documents by the probability of a query's points under their topics."""

    def __init__(self, seed: int, method: str = "soft", **more: Any) -> None:
        self.model = MemoryBoundedHDP(**TOPICS | {"seed": seed} | more)
        self.patches, self.method = Patches(), method

    def learn(self, pictures: np.ndarray) -> None:
        documents = self.patches.learn(pictures)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MemoryBudgetWarning)
            self.model.fit(documents)
        self.megabytes = self.model.memory_used_ / 1e6
        if self.model.settings.memory_limit:
            self.model.compress(memory_limit=10**9, keep=True)  # room for the index
        self.model.index(documents)

    def nearest(self, pictures: np.ndarray, n: int) -> np.ndarray:
        found = self.model.retrieve(self.patches.of(pictures), n, method=self.method)
        return found.ids.astype(int)


class Components:
    """Images by the probability that a component has drawn them and the query."""

    def __init__(self, seed: int, n_components: int) -> None:
        self.model = Canopy(n_components, seed=seed, tol=0.0, max_iter=30)

    def reduced(self, pictures: np.ndarray) -> np.ndarray:
        reduced: np.ndarray = (flat(pictures) - self.mean) @ self.axes
        return reduced

    def learn(self, pictures: np.ndarray) -> None:
        rows = flat(pictures)
        self.mean = rows.mean(axis=0)
        self.axes = np.linalg.svd(rows - self.mean, full_matrices=False)[2][:50].T
        reduced = self.reduced(pictures)
        self.model.fit(reduced)
        self.shares = self.model.predict_proba(reduced)

    def nearest(self, pictures: np.ndarray, n: int) -> np.ndarray:
        same = self.model.predict_proba(self.reduced(pictures)) @ self.shares.T
        return np.argsort(-same, axis=1, kind="stable")[:, :n]


def model_of(name: str, repeat: int, megabytes: float) -> Any:
    """A model by its name; `megabytes` is what topics take without a limit."""
    if name.startswith("pixels"):
        return Pixels(name.split(", ")[1])
    if name.startswith("Canopy"):
        return Components(repeat, 100)
    if name == "topics, all at once":
        return Topics(repeat, epoch_size=N_LEARNED)
    share, groups = (int(text.split()[0]) for text in name.split(", ")[1:])
    limit = int(share / 100 * megabytes * 1e6)
    return Topics(repeat, memory_limit=limit, max_groups=groups)


NAMES = (
    "pixels, euclidean", "pixels, cosine", "topics, all at once",
    "topics, 8 % of memory, 100 groups", "topics, 16 % of memory, 20 groups",
    "topics, 16 % of memory, 100 groups", "topics, 16 % of memory, 300 groups",
    "Canopy, 100 components",
)  # fmt: skip


def ran(name: str, repeat: int, megabytes: float) -> dict[str, Any]:
    """What a model finds in a repeat."""
    model, clock = model_of(name, repeat, megabytes), time.process_time()
    first, all_ten = images_found(model, *images(repeat), n=N_FOUND)
    return {
        "model": name, "repeat": repeat, "first": round(first, 4),
        "ten": round(all_ten, 4), "seconds": round(time.process_time() - clock, 1),
        "megabytes": round(getattr(model, "megabytes", 0.0), 3),
        "topics": model.model.n_topics_ if isinstance(model, Topics) else 0,
        "stamp": stamp(),
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Means over repeats, and standard errors of the first two."""
    out = [
        f"{'':36}{'first':>8}{'(se)':>8}{'ten':>8}{'(se)':>8}{'topics':>8}{'CPU s':>8}"
    ]
    for name in NAMES:
        own = [row for row in rows if row["model"] == name]
        if not own:
            continue
        cells = f"{name:36}"
        for measure in ("first", "ten"):
            found = np.array([row[measure] for row in own])
            error = found.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
            cells += f"{found.mean():8.4f}{error:8.4f}"
        means = [np.mean([row[what] for row in own]) for what in ("topics", "seconds")]
        out.append(cells + f"{means[0]:8.0f}{means[1]:8.1f}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="run nothing")
    given = parser.parse_args()
    rows = json.loads(STORED.read_text()) if STORED.exists() else []
    done = {(row["model"], row["repeat"]): row for row in rows}
    for repeat in range(0 if given.print else REPEATS):
        for name in NAMES:
            if (name, repeat) in done:
                continue
            whole = done.get(("topics, all at once", repeat), {"megabytes": 0.0})
            done[name, repeat] = ran(name, repeat, whole["megabytes"])
            STORED.write_text(json.dumps([*done.values()], indent=1) + "\n")
    print(*table([*done.values()]), sep="\n")


if __name__ == "__main__":
    main()
