from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.clusters import Ids, Matrix
from dyntree._core.mixtures.directions import Directions

class Subspaces(Directions):
    def __init__(
        self,
        n_features: int,
        radius: float,
        check_every: int,
        min_weight: float,
        patience: int,
        forget: float,
        max_clusters: int,
        reach: float,
        variance: float,
        lambda_1: float,
        gate: int,
        bandwidth: float,
        max_dim: int,
        spare: int,
        exact: bool,
        chain: Any = None,
        watch: Any = None,
    ) -> None: ...
    def volumes(self, places: Ids) -> NDArray[np.float64]: ...
    def mahalanobis(self, X: Matrix, places: Ids) -> Matrix: ...
    def assign(self, X: Matrix, places: Ids, n_threads: int) -> Ids: ...
