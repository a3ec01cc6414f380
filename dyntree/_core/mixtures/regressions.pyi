import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.emissions import Emission

class Regressions(Emission):
    def __init__(
        self,
        priors: NDArray[np.float64],
        rows: NDArray[np.float64],
        blocks: NDArray[np.int32],
    ) -> None: ...
