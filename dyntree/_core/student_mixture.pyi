import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]
Vector = NDArray[np.float64]

def moments(
    start: Starts,
    weight: Vector,
    location: Vector,
    scale: Vector,
    df: Vector,
    n_threads: int = ...,
    least_df: float = ...,
) -> tuple[Vector, Vector, Vector]: ...
def log_density(
    start: Starts,
    weight: Vector,
    location: Vector,
    scale: Vector,
    df: Vector,
    y: Vector,
) -> Vector: ...
def cdf(
    start: Starts,
    weight: Vector,
    location: Vector,
    scale: Vector,
    df: Vector,
    y: Vector,
) -> Vector: ...
def quantiles(
    start: Starts,
    weight: Vector,
    location: Vector,
    scale: Vector,
    df: Vector,
    levels: Vector,
    n_threads: int = 1,
) -> Vector: ...
