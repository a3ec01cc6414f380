from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Longs = NDArray[np.int64]

class Halving:
    def __init__(
        self, store: dict[str, Any], prior: dict[str, Any], n_threads: int
    ) -> None: ...
    def split(
        self, ptr: Longs, items: Longs, alpha: Vector
    ) -> tuple[Vector, Vector, Vector, Longs]: ...
