import numpy as np
from numpy.typing import NDArray

def symmetric_eigen(
    matrix: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
