from typing import Any

from dyntree._core.rng import CounterSource
from dyntree._core.trees.row_ring import RowRing

class RandomTrees:
    source: CounterSource
    ring: RowRing
    options: dict[str, Any]
    weighting: str | None
    has_unit: bool
    log_evidence: float
    def __init__(
        self,
        source: CounterSource,
        *,
        n_features: int,
        n_classes: int,
        n_trees: int,
        discount: float,
        least_held: int,
        most_held: int,
        n_candidates: int,
        n_held: int,
        most_nodes: int,
        most_depth: int,
        class_mass: float,
        split_share: float,
        weighting: str | None = None,
    ) -> None: ...
