from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dyntree._core.rng import RandomSource
from dyntree._core.trees.cloud import Cloud

Vector = NDArray[np.float64]

def sensitivity(
    c: Cloud,
    *,
    n_samples: int,
    grid: Vector,
    span: float,
    lower: Vector,
    upper: Vector,
    shape: Vector,
    mode: Vector,
    categorical: NDArray[np.bool_],
    method: str = "lhs",
    label: int | None = None,
    groups: list[NDArray[np.int64]] | None = None,
    joint: Sequence[int] = (),
    source: RandomSource | None = None,
    drawn: Callable[[int, Vector], Vector] | None = None,
) -> tuple[Vector, Vector, Vector]: ...
def moving_average(
    v: Vector, y: Vector, grid: Vector, span: float, exact: bool
) -> Vector: ...
