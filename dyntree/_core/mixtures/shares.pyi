import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

def table_of(x: Matrix, order: int) -> Matrix: ...
def expected_logs(
    n: Matrix, alpha: Vector, add: Vector, share: float, alpha_0: float
) -> Matrix: ...
def document_terms(
    n: Matrix, D: Vector, alpha: Vector, share: float, alpha_0: float
) -> float: ...
def column_rises(n: Matrix, D: Vector, alpha: Vector, share: float) -> Vector: ...
def alpha_newton(
    n: Matrix,
    D: Vector,
    alpha: Vector,
    share: float,
    weight: float,
    den: float,
    shape: float,
    max_steps: int,
    tol: float,
) -> Vector: ...
def alpha_fixed_point(
    n: Matrix,
    D: Vector,
    alpha: Vector,
    share: float,
    weight: float,
    den: float,
    shape: float,
    steps: int,
) -> Vector: ...
def group_terms(N: Matrix, D: Vector, alpha: Vector) -> Vector: ...
def pair_terms(
    N: Matrix,
    D: Vector,
    alpha: Vector,
    own: Vector,
    s: int,
    others: NDArray[np.int32],
) -> Vector: ...
