from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree._core.rng import CounterSource

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

OPTIONS: tuple[str, ...]
COLUMNS: tuple[str, ...]
FILTERS: tuple[str, ...]
FIRST: tuple[str, ...]

class LinearFilters:
    source: CounterSource
    options: dict[str, Any]
    arrays: dict[str, NDArray[np.float64]]
    weighting: str | None
    n_seen: int
    log_evidence: float
    has_units: bool
    is_count: bool
    rate: float
    exposure_unit: float
    most: float
    def __init__(
        self,
        source: CounterSource,
        *,
        n_features: int,
        n_classes: int,
        forget: float,
        spreads: Sequence[float],
        clip: float,
        sizes: Sequence[float] = (),
        weighting: str | None = None,
    ) -> None: ...
    weights: Vector
    kind_sizes: Vector
    two_values: Matrix
    coefficients: tuple[NDArray[np.float64], NDArray[np.float64]]
    model: str
    prior_point: dict[str, float]
    has_unit: bool
    weight_unit: float
    n_active: int
    n_retired: int
    n_degenerate: int
    def update(
        self,
        X: Matrix,
        y: Vector,
        proba: Matrix | None = None,
        n_threads: int = 1,
        weights: Vector | None = None,
        exposures: Vector | None = None,
    ) -> Vector: ...
    def predict_proba(self, X: Matrix, n_threads: int = 1) -> Matrix: ...
    def log_rates(self, X: Matrix) -> tuple[Matrix, Matrix]: ...
    def set_exposure_unit(self, unit: float, rate: float) -> None: ...
    def standardized(self, X: Matrix) -> tuple[Matrix, Matrix]: ...
    def set_weight_unit(self, unit: float) -> None: ...
    def row_ids(self) -> NDArray[np.int64]: ...
    def rows(self) -> tuple[Matrix, Vector]: ...
    def gap_counts(self) -> Vector: ...
    def first_beyond(
        self, X: Matrix, y: Vector | None, limit: float
    ) -> tuple[int, int, float, float] | None: ...
    def nbytes(self) -> int: ...
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]: ...
    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], source: Any
    ) -> Self: ...
    def copy(self, source: Any = None) -> Self: ...
    def without_rows(self) -> Self: ...
    def with_weights(self, weighting: str) -> Self: ...
    def with_classes(self, n_classes: int) -> Self: ...
    def widened(self, widen: Callable[[Matrix], Matrix]) -> Self: ...
