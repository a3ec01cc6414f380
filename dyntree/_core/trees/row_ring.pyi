from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

class RowRing:
    n_features: int
    room: int
    n_seen: int
    def __init__(
        self, n_features: int, room: int, is_weighted: bool = False
    ) -> None: ...
    def nbytes(self) -> int: ...
    def active(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def active_weights(self) -> NDArray[np.float64]: ...
    def to_arrays(self) -> dict[str, NDArray[Any]]: ...
    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], room: int, n_seen: int
    ) -> Self: ...
