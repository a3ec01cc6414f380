import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.scores import Scores
from dyntree._core.mixtures.sweeps import Shard

def em(
    shard: Shard, scores: Scores, n_threads: int
) -> tuple[NDArray[np.int64], float, int]: ...
