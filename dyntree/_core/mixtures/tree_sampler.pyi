from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.sweeps import Shard
from dyntree._core.rng import CounterSource

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

class Means:
    n_components: int
    n_features: int
    n_nodes: int
    kind: int
    def __init__(
        self,
        kind: int,
        tree: dict[str, NDArray[Any]],
        mean: Matrix,
        spread: Matrix,
        log_weight: Vector,
        log_mass: Vector,
        low: Matrix,
        high: Matrix,
        widest: Matrix,
    ) -> None: ...
    def outcome(
        self, x: NDArray[np.float32], opened: Sequence[int]
    ) -> tuple[Ids, Vector]: ...

def sample_rows(
    shard: Shard, means: Means, source: CounterSource, time: int, n_threads: int
) -> tuple[NDArray[np.int64], int, int, int]: ...
