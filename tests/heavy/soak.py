"""Random operations on random models, with every reference counted after each.

Run ``python -m tests.heavy.soak [--minutes 10] [--seed 0]``; the last result is stored
beside this file in soak.txt. A model of some kind under some rules lives through about
forty operations drawn at random, then another takes its place. After each one the
counts of nodes and leaves must balance, every tree hold every active row once, and no
leaf or node be left over; refused input must leave the model, byte for byte, as it was.
Memory is that of the process after a tenth of the time and at the end.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import dyntree
from dyntree import DynamicTree
from tests.helpers import same_bytes
from tests.probes import audit

from .memory import resident

MODELS = ("constant", "linear", "class")
OPERATIONS = (
    "learn", "learn", "learn", "retire", "retire", "rejuvenate", "predict", "score",
    "relevance", "copy", "reload", "refused",
)  # fmt: skip


class Life:
    """A model, and what may happen to it."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.rng, self.file = rng, folder / "m.dyn"
        self.model = str(rng.choice(MODELS))
        self.rules = str(rng.choice(["native", "r"]))
        retires = self.model == "linear" and self.rules == "r"
        self.tree = DynamicTree(
            self.model,
            rules=self.rules,
            intercept="augmented" if retires else "implicit",
            n_particles=int(rng.integers(1, 60)),
            classes=(0, 1, 2) if self.model == "class" else None,
            proposal=str(rng.choice(["luvar", "luall", "reject"])),
            seed=int(rng.integers(1000)),
        )
        self.learn(60)

    def rows(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = self.rng.random((n, 3))
        y = 4.0 * (X[:, 0] > 0.5) + X[:, 1] + self.rng.standard_normal(n)
        if self.rules == "native":
            X[self.rng.random((n, 3)) < 0.05] = np.nan
        return X, np.digitize(y, (1.0, 3.5)) if self.model == "class" else y

    def learn(self, n: int | None = None) -> None:
        self.tree.update(*self.rows(n or int(self.rng.integers(1, 40))), progress=False)

    def retire(self) -> None:
        spare = self.tree.n_active - 25
        if spare > 0:
            n = int(self.rng.integers(1, min(spare, 30) + 1))
            gone = self.rng.permutation(self.tree.active_ids)[:n]
            self.tree.retire(gone, float(self.rng.choice([1.0, 0.9, 0.5])))

    def rejuvenate(self) -> None:
        self.tree.rejuvenate()

    def predict(self) -> None:
        told = self.tree.predict(self.rows(20)[0])
        if self.model != "class":
            assert np.isfinite(told.mean).all()

    def score(self) -> None:
        self.tree.active_values("entropy" if self.model == "class" else "alc")

    def relevance(self) -> None:
        self.tree.relevance()

    def copy(self) -> None:
        self.tree = self.tree.copy()

    def reload(self) -> None:
        dyntree.save(self.tree, self.file)
        with same_bytes(self.tree):
            self.tree = dyntree.load(self.file)

    def refused(self) -> None:
        X, y = self.rows(5)
        X[3, 1] = np.inf
        with same_bytes(self.tree):
            try:
                self.tree.update(X, y, progress=False)
            except ValueError:
                return
            raise AssertionError("an infinity was learned")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter(
        "ignore"
    )  # of leaves without variance, of relevance of one leaf
    rng = np.random.default_rng(given.seed)
    start, end = time.monotonic(), 60.0 * given.minutes
    done: Counter[str] = Counter()
    lives = early = 0
    with tempfile.TemporaryDirectory() as folder:
        while (spent := time.monotonic() - start) < end:
            life = Life(rng, Path(folder))
            lives += 1
            for _ in range(40):
                what = str(rng.choice(OPERATIONS))
                getattr(life, what)()
                audit(life.tree.state.cloud)
                done[what] += 1
            if not early and spent > end / 10:
                early = resident()
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, "
          f"{given.minutes:g} minutes, seed {given.seed}")  # fmt: skip
    print(f"{lives} models, {sum(done.values())} operations, every count balanced")
    print(", ".join(f"{name} {n}" for name, n in sorted(done.items())))
    print(f"resident {early / 1e6:.1f} MB, at the end {resident() / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
