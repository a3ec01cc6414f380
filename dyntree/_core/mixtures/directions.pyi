from typing import Any

from dyntree._core.mixtures.clusters import Clusters, Matrix

class Directions(Clusters):
    exact: bool
    variance: float
    most_room: int
    def __init__(
        self,
        n_features: int,
        radius: float,
        check_every: int,
        min_weight: float,
        patience: int,
        forget: float,
        max_clusters: int,
        variance: float,
        lambda_1: float,
        max_dim: int,
        spare: int,
        exact: bool,
        chain: Any = None,
        watch: Any = None,
    ) -> None: ...
    def means(self) -> Matrix: ...
    def renew(self) -> None: ...
