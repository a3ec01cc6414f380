import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

def standard_improvement(df: Vector) -> Vector: ...
def normal_improvement(
    location: Vector, scale: Vector, df: Vector, q: float, alpha: float
) -> Vector: ...
def student_improvement(
    location: Vector, scale: Vector, df: Vector, q: float, alpha: float
) -> Vector: ...
