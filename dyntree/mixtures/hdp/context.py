"""What learning needs to know beside the state: settings, seed, callback, totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.options import HDPSettings
from dyntree.mixtures.hdp.records import SweepReport
from dyntree.mixtures.hdp.sweeps import Search

KMEANS, BIRTHS, HELD_OUT, SAMPLING = range(4)  # purposes of random numbers


class Monitor:
    """Calls a callback after every sweep, and stores whether it asks to stop."""

    def __init__(self, callback: Callable[[Any], Any] | None, epoch: int) -> None:
        self.callback, self.epoch = callback, epoch
        self.ended = False
        self.n_sweeps = 0

    def sweep(self, F: float, K: int) -> None:
        """One sweep is over."""
        self.n_sweeps += 1
        if self.callback is not None:
            report = SweepReport(self.epoch, self.n_sweeps, K, F)
            said = self.callback(report)
            if isinstance(said, bool | np.bool_) and said:
                self.ended = True


@dataclass(frozen=True)
class Context:
    """What an epoch needs to know of its model beside what it has learned."""

    settings: HDPSettings
    seed: int
    n_threads: int
    callback: Callable[[Any], Any] | None = None
    total_documents: float | None = None  # of the lifetime, where `fit` knows them
    last: bool = False  # whether `fit` ends with this epoch

    def search(self, family: Family, epoch: int | None = None) -> Search:
        """A search for topics, which calls the callback after sweeps in an epoch."""
        monitor = None if epoch is None else Monitor(self.callback, epoch)
        settings = self.settings
        return Search(
            family, settings.prior, settings.options, self.n_threads, monitor,
            settings.follows_paper,
        )  # fmt: skip

    def random(self, epoch: int, purpose: int) -> np.random.Generator:
        """Random numbers of one purpose in one epoch."""
        return np.random.default_rng([self.seed, epoch, purpose])
