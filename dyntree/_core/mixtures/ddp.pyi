import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.emissions import Emission

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

class PhaseSampler:
    u: float
    was_full: bool
    n_split: int
    n_merged: int
    def __init__(
        self,
        emission: Emission,
        m: Vector,
        exposure: Vector,
        survival: Vector,
        mass: Vector,
        source_exposure: Vector,
        base: NDArray[np.int32],
        counts: bool,
        uncollapsed: bool,
        max_slots: int,
        seed: int,
        phase: int,
        chain: int,
    ) -> None: ...
    def start(
        self, labels: Ids, sources: dict[int, int] | None = None, u: float = 0.0
    ) -> None: ...
    def labels_once(self, sweep: int, bootstrapping: bool) -> None: ...
    def split_or_merge(self, sweep: int, n_proposals: int) -> None: ...
    def rest_of_sweep(self, sweep: int, with_identities: bool) -> None: ...
    def labels(self) -> Ids: ...
    def alive(self) -> Vector: ...
    def sources(self) -> dict[int, int]: ...
    @property
    def n_clusters(self) -> int: ...
    @property
    def identity_moves(self) -> tuple[int, int]: ...
    def log_joint(self) -> float: ...

def voted(sweeps: Ids) -> tuple[Ids, Vector]: ...
