from typing import Any

import numpy as np
from numpy.typing import NDArray

def split_parts(
    store: dict[str, Any],
    prior: dict[str, Any],
    ptr: NDArray[np.int64],
    items: NDArray[np.int64],
    alpha: NDArray[np.float64],
    n_threads: int,
) -> tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]
]: ...
