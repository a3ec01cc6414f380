from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dyntree._core.rng import RandomSource
from dyntree._core.trees.cloud import Cloud

Design = tuple[NDArray[np.float64], NDArray[np.int64]]
Input = tuple[float, float, float, float]

def shuffled_hypercube(
    source: RandomSource, n: int, inputs: Sequence[Input]
) -> Design: ...
def bootstrap(c: Cloud, source: RandomSource, n: int, d: int) -> Design: ...
def shuffle(order: NDArray[np.int64], u: NDArray[np.float64]) -> None: ...
