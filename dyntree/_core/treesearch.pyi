from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.covertree import Tree

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]

class Searcher:
    n_rows: int
    n_nodes: int
    def __init__(self, tree: Tree, X: NDArray[Any], ids: Ids) -> None: ...
    def query(
        self,
        X: NDArray[Any],
        k: int,
        n_threads: int,
        gone: NDArray[np.uint8] | None = None,
        late: NDArray[Any] | None = None,
        late_ids: Ids | None = None,
        looked: Ids | None = None,
        among: tuple[Ids, Ids] | None = None,
    ) -> tuple[Matrix, Ids]: ...
    def query_radius(
        self,
        X: NDArray[Any],
        radius: float,
        n_threads: int,
        gone: NDArray[np.uint8] | None = None,
        late: NDArray[Any] | None = None,
        late_ids: Ids | None = None,
    ) -> tuple[Ids, NDArray[np.float64], Ids]: ...
