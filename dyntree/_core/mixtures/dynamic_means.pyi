import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]

def descend(
    X: Matrix,
    order: Ids,
    phi: Matrix,
    known: NDArray[np.float64],
    revival: NDArray[np.float64],
    lambda_: float,
    most: int,
) -> tuple[Ids, Matrix, float]: ...
