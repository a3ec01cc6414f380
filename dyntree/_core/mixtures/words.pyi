import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.emissions import Emission

class Words(Emission):
    def __init__(
        self,
        priors: NDArray[np.float64],
        start: NDArray[np.int64],
        word: NDArray[np.int32],
        count: NDArray[np.float64],
    ) -> None: ...
