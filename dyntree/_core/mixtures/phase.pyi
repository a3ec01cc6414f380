import numpy as np
from numpy.typing import NDArray

def shuffled(n: int, seed: int, phase: int, chain: int) -> NDArray[np.int64]: ...
