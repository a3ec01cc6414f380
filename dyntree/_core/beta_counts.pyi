import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

def cdf(y: Vector, size: Vector, first: Vector, second: Vector) -> Vector: ...
def log_pmf(y: Vector, size: Vector, first: Vector, second: Vector) -> Vector: ...
