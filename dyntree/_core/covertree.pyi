from typing import Any

import numpy as np
from numpy.typing import NDArray

Tree = dict[str, NDArray[Any]]
Ids = NDArray[np.int64]

def build(
    X: NDArray[Any],
    base: float,
    leaf_size: int,
    max_nodes: int,
    seed: int,
    n_threads: int,
) -> Tree: ...
def linked(tree: Tree) -> Tree: ...
def centre_places(tree: Tree) -> Ids: ...
def reorder(X: NDArray[np.float32], order: NDArray[np.int32]) -> None: ...
