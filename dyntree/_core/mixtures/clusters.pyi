from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]

class Clusters:
    n: int
    n_features: int
    n_rows: int
    next_id: int
    lost: float
    radius: float
    check_every: int
    chain: Any
    watch: Any
    store: dict[str, NDArray[Any]]
    def __init__(
        self,
        n_features: int,
        radius: float,
        threshold: float,
        check_every: int,
        min_weight: float,
        patience: int,
        forget: float,
        max_clusters: int,
        by_objective: bool = False,
        chain: Any = None,
        watch: Any = None,
    ) -> None: ...
    def learn(self, X: Matrix, labels: Ids) -> int: ...
    def learn_dict(self, row: dict[Any, Any], names: tuple[Any, ...]) -> int: ...
    def merge(self) -> None: ...
    def merge_nearest(self) -> None: ...
    def remove(self, k: int) -> None: ...
    def array(self, name: str) -> NDArray[Any]: ...
    def squared_deviations(self) -> Matrix: ...
    def squared_distances(self, X: Matrix) -> Matrix: ...
    def to_arrays(self) -> dict[str, NDArray[Any]]: ...
    def take(self, arrays: dict[str, NDArray[Any]]) -> None: ...
    def go_on_from(self, n_rows: int, next_id: int) -> None: ...
    def memory_usage(self) -> int: ...
