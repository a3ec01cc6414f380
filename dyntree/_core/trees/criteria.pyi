import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.cloud import Cloud

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

def alc_rectangle(
    c: Cloud,
    X: Vector,
    lower: Vector,
    upper: Vector,
    categorical: Flags,
    approx: bool,
    weights: Vector | None = None,
) -> Vector: ...
def alc_active(
    c: Cloud, lower: Vector, upper: Vector, categorical: Flags, approx: bool
) -> Vector: ...
def entropy_active(c: Cloud) -> Vector: ...
def alc_reference(
    c: Cloud, X: Vector, Xref: Vector, weights: Vector | None = None
) -> Vector: ...
def ieci(
    c: Cloud, X: Vector, Xref: Vector, weights: Vector | None = None
) -> Vector: ...
def q_entropy(c: Cloud, X: Vector, q: float) -> Vector: ...
def q_improvement(c: Cloud, X: Vector, q: float, alpha: float) -> Vector: ...
def relevance(
    c: Cloud, lower: Vector, upper: Vector, categorical: Flags, approx: bool
) -> Vector: ...
