from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.scores import Scores
from dyntree._core.rng import CounterSource

Ids = NDArray[np.int64]
Sums = NDArray[np.int64]

class Shard:
    n_rows: int
    n_features: int
    layout: int
    n_groups: int
    X: NDArray[np.float32]
    labels: NDArray[np.int32]
    def __init__(
        self,
        X: NDArray[np.float32],
        ids: NDArray[np.uint32],
        layout: int,
        units: tuple[float, float, float],
        weight: NDArray[np.float64] | None = None,
        log_base: NDArray[np.float64] | None = None,
    ) -> None: ...
    def sums_of(self, n_components: int) -> Sums: ...
    def fresh_sums(self, scores: Scores, n_threads: int) -> Sums: ...
    def esca(
        self, scores: Scores, source: CounterSource, time: int, n_threads: int
    ) -> tuple[Sums, float, int]: ...
    def group(self, begin: Ids, origin: NDArray[np.float32]) -> None: ...
    @property
    def list_lengths(self) -> NDArray[np.int32]: ...
    def lists(self) -> NDArray[np.int32]: ...
    def take_lists(self, length: NDArray[np.int32], ids: NDArray[np.int32]) -> None: ...
    def memory_usage(self) -> int: ...
    def canopy2(
        self,
        scores: Scores,
        source: CounterSource,
        time: int,
        refreshed: NDArray[np.uint8],
        options: tuple[float, float, float, int, int],
        n_threads: int,
    ) -> tuple[Sums, float, float, float, int, int, int]: ...
    def canopy1(
        self,
        scores: Scores,
        source: CounterSource,
        time: int,
        steps: int,
        n_threads: int,
    ) -> tuple[Sums, int, int, int]: ...

def in_units(groups: Ids, begin: Ids) -> tuple[Ids, Any]: ...
