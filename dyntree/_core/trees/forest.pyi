from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.random_trees import RandomTrees

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

CUT: np.dtype[Any]
KNOT: np.dtype[Any]
OPTIONS: tuple[str, ...]

class Forest(RandomTrees):
    prior_point: dict[str, float]
    model: str
    n_seen: int
    n_active: int
    n_retired: int
    n_degenerate: int
    n_nodes: NDArray[np.int64]
    scale: tuple[float, float]
    def update(
        self, X: Matrix, y: Vector, proba: Matrix | None = None, n_threads: int = 1
    ) -> Vector: ...
    def until_unit(self, y: Vector) -> int: ...
    def set_scale(self, mean: float, spread: float) -> None: ...
    def first_beyond(
        self, X: Matrix, y: Vector | None, limit: float
    ) -> tuple[int, int, float, float] | None: ...
    def rows(self) -> tuple[Matrix, Vector]: ...
    def predict_proba(self, X: Matrix, n_threads: int = 1) -> Matrix: ...
    def mixture(
        self, X: Matrix
    ) -> tuple[NDArray[np.int64], Vector, Vector, Vector, Vector, Vector]: ...
    def nbytes(self) -> int: ...
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]: ...
    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], source: Any
    ) -> Self: ...
    def copy(self, source: Any = None) -> Self: ...
    def without_rows(self) -> Self: ...
    def with_classes(self, n_classes: int) -> Self: ...
    def widened(self, widen: Callable[[Matrix], Matrix]) -> Self: ...
