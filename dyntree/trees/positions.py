"""Active rows by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree import params


def row_positions(cloud: Any, row_ids: ArrayLike, name: str) -> NDArray[np.int64]:
    """Places of active rows in the cloud's order, by their numbers.

    Raises
    ------
    ValueError
        For what is not a whole number, names no active row, or comes twice.
    """
    ids = np.atleast_1d(params.as_array(name, row_ids))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be row numbers (ints); got {row_ids!r}.")
    place = {row: k for k, row in enumerate(cloud.row_ids().tolist())}
    unknown = [row for row in ids.tolist() if row not in place]
    if unknown:
        raise ValueError(
            f"{name} must name active rows; {unknown[0]} is not one (see active_ids)."
        )
    if len(set(ids.tolist())) != len(ids):
        raise ValueError(f"{name} must name each row once; got {row_ids!r}.")
    return np.array([place[row] for row in ids.tolist()], dtype=np.int64)
