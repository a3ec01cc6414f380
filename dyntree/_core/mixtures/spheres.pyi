import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.clusters import Clusters, Ids, Matrix

class Spheres(Clusters):
    def means(self) -> Matrix: ...
    def assign(
        self, X: Matrix, places: Ids, n_threads: int
    ) -> tuple[Ids, NDArray[np.float64]]: ...
