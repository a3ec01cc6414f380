"""Groups: rows put in the order of a cover tree and cut into runs of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyntree._core.covertree import build, reorder
from dyntree.mixtures.shared.arrays import Ids

Singles = NDArray[np.float32]
BASE = 1.3  # of the tree
AT_ONCE = 256  # groups whose means are taken


def grouped(
    X: Singles, group_size: int, n_groups: int | None, seed: int, n_threads: int
) -> tuple[NDArray[np.int32], Ids]:
    """Put rows into the order of a cover tree, in place, and cut them into groups.

    Gives which rows stand where, and the first row of each group, with the number of
    rows after them. Groups have about `group_size` rows, or there are `n_groups`.
    """
    if n_groups is not None:
        group_size = max(1, len(X) // n_groups)
    most = max(1, len(X) // group_size)
    tree = build(X, BASE, max(1, group_size // 2), most, seed, n_threads)
    reorder(X, tree["order"])
    begin = cut(tree["row_begin"], tree["own_end"], tree["parent"], group_size)
    return tree["order"], begin


def cut(first: Ids, last: Ids, parent: NDArray[np.int32], size: int) -> Ids:
    """Borders of groups: long own ranges are split, short ones of one family merged.

    First and last are own ranges of the nodes, one after another. Neighbours are merged
    up to `size` rows; from twice as many a range is split.
    """
    borders: list[int] = []
    above = parent.tolist()
    filled, family = size, -2  # rows of the open group, and its parent
    for node, (begin, end) in enumerate(
        zip(first.tolist(), last.tolist(), strict=True)
    ):
        n = end - begin
        akin = above[node] in (family, node - 1) or above[node] == above[node - 1]
        if node and akin and filled + n <= size:
            filled += n
            continue
        pieces = max(1, -(-n // (2 * size))) if n > 2 * size else 1
        borders += [begin + n * k // pieces for k in range(pieces)]
        filled, family = n, above[node]
    borders.append(int(last[-1]))
    return np.array(borders, dtype=np.int64)


def centres(X: Singles, begin: Ids) -> Singles:
    """Means of the rows of groups, float32 of shape (n_groups, n_features)."""
    out = np.empty((len(begin) - 1, X.shape[1]), dtype=np.float32)
    for g in range(0, len(out), AT_ONCE):  # the sums take rows in float64
        some = begin[g : g + AT_ONCE + 1]
        rows = X[some[0] : some[-1]]
        sums = np.add.reduceat(rows, some[:-1] - some[0], axis=0, dtype=np.float64)
        out[g : g + AT_ONCE] = sums / np.diff(some)[:, None]
    return out
