from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class AliasTable:
    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]
    def __init__(self, weights: ArrayLike) -> None: ...
    def chances(self) -> NDArray[np.float64]: ...
    def pick(self, slots: Any, coins: Any) -> NDArray[np.int32]: ...
