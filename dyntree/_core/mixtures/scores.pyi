import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
NARROW: float

def sharpness(
    layout: int, theta: Singles, d: int, mean: Singles | None
) -> NDArray[np.bool_]: ...

class Scores:
    layout: int
    n_components: int
    n_features: int
    width: int
    padded: int
    sharp_ids: NDArray[np.int32]
    n_sharp: int
    def __init__(
        self,
        layout: int,
        theta: Singles,
        constant: Singles,
        n_features: int,
        mean: Singles | None = None,
        peak: Singles | None = None,
    ) -> None: ...
    def table(self, X: Singles) -> Singles: ...
    def log_densities(self, X: Singles) -> NDArray[np.float64]: ...
