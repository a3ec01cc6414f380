import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.forest import Forest

Vector = NDArray[np.float64]

def tree_laws(
    f: Forest, k: int, X: Vector
) -> tuple[
    NDArray[np.int64], NDArray[np.int32], Vector, Vector, NDArray[np.int64], Vector
]: ...
def ends_of(
    start: NDArray[np.int64],
    path: NDArray[np.int32],
    stops: NDArray[np.uint8],
) -> NDArray[np.int32]: ...
