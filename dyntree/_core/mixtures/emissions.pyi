import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

class Emission:
    capacity: int
    n_rows: int
    n_prior: int
    n_sums: int
    def grow(self, capacity: int) -> None: ...
    def log_under(self, first: int = 0) -> Matrix: ...
    def log_marginals(self, labels: NDArray[np.int64]) -> Vector: ...

class AxisGaussians(Emission):
    def __init__(self, priors: Matrix, rows: Matrix, noise: Vector) -> None: ...
