"""A piece of work: what both sides are told of it, and the rows they get."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

N_INPUTS = 5


def friedman(n: int, seed: int) -> tuple[Any, Any]:
    """Rows of Friedman's function of five inputs, noise of variance one."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, N_INPUTS))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)


def noise(n: int, seed: int) -> tuple[Any, Any]:
    """Rows whose response has nothing to do with the inputs."""
    rng = np.random.default_rng(seed)
    return rng.random((n, N_INPUTS)), rng.standard_normal(n)


def terciles(y: Any) -> Any:
    """Labels 1 to 3 for low, middle and high responses."""
    return 1.0 + np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


STREAMS = {"friedman": friedman, "noise": noise}


@dataclass(frozen=True)
class Rows:
    """Rows to learn and points to ask."""

    X: Any
    y: Any
    labels: Any
    new: Any

    @classmethod
    def draw(cls, stream: str, n: int, points: int, seed: int) -> Self:
        X, y = STREAMS[stream](n, seed)
        return cls(X, y, terciles(y), STREAMS[stream](points, seed + 1000)[0])

    def write(self, folder: Path) -> None:
        """As raw doubles: text would round in one of the readers."""
        np.column_stack([self.X, self.y, self.labels]).tofile(folder / "learned.bin")
        self.new.tofile(folder / "new.bin")

    @classmethod
    def read(cls, folder: Path) -> Self:
        learned = np.fromfile(folder / "learned.bin").reshape(-1, N_INPUTS + 2)
        new = np.fromfile(folder / "new.bin").reshape(-1, N_INPUTS)
        X, y, labels = np.split(learned, [N_INPUTS, N_INPUTS + 1], axis=1)
        return cls(X.copy(), y.ravel().copy(), labels.ravel().copy(), new)

    def target(self, model: str) -> Any:
        """What a model of this kind learns."""
        return self.labels if model == "class" else self.y


@dataclass(frozen=True)
class Task:
    """What is done: `work` names it in work.py and peer.R, `model` the leaves.

    `times` and `peer_times` are how often each side does it, for figures well above the
    clock's grain.
    """

    work: str
    model: str
    particles: int = 1000
    rows: int = 2000
    points: int = 0
    window: int = 100
    times: int = 1
    peer_times: int = 1
    stream: str = "friedman"
    seed: int = 1

    def write_rows(self, folder: Path) -> None:
        """Leave its rows in a new folder."""
        folder.mkdir()
        Rows.draw(self.stream, self.rows, self.points, self.seed).write(folder)

    def arguments(self, folder: Path, times: int) -> list[str]:
        """Of the processes that do it, whichever side they are."""
        numbers = map(str, (self.particles, self.window, times))
        return [self.work, self.model, *numbers, str(folder)]
