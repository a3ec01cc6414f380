import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

def weigh(
    log_densities: Vector,
    discount: float,
    tempering: float,
    log_weights: Vector,
    weights: Vector,
) -> Vector: ...
def weigh_persistently(
    log_densities: Vector,
    discount: float,
    tempering: float,
    log_weights: Vector,
    weights: Vector,
    persistence: Vector,
    y: Vector,
    row_weights: Vector | None,
    unit: float,
    divides: bool,
    shares: Vector | None = None,
) -> Vector: ...
def persistence_law(persistence: Vector) -> tuple[float, float, float]: ...
def spread(below: Vector, weights: Vector, sums: Vector) -> None: ...
def spread_factor(sums: Vector) -> float: ...
def weights_at(log_weights: Vector) -> Vector: ...
def stack(
    proba: Vector,
    y: Vector,
    coef: Vector,
    covariance: Vector,
    times: Vector | None = None,
) -> Vector: ...
def stacked(proba: Vector, coef: Vector) -> Vector: ...
