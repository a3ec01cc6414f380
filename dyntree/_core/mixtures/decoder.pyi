import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

class Law:
    def __init__(
        self,
        log_start: NDArray[np.float64],
        log_move: Matrix,
        log_duration: Matrix,
        log_survival: Matrix,
        log_stay: float = ...,
    ) -> None: ...
    def viterbi(self, log_density: Matrix) -> tuple[NDArray[np.int64], float]: ...
    def log_likelihood(self, log_density: Matrix) -> float: ...

def lowered(log_density: Matrix, width: int) -> tuple[Matrix, float]: ...
