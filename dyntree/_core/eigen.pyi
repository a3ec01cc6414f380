import numpy as np
from numpy.typing import NDArray

def symmetric_eigen(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def leading_eigen(
    matrix: NDArray[np.float64], m: int
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
