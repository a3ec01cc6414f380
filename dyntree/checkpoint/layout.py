"""Declared layouts of saved arrays, and the reader that checks files by them.

A kind of file declares each of its arrays by `reals`, `ints` or `places`: the sizes
along its axes, by name or as numbers, and the range of its values. Whatever relates
several arrays is a function beside the declaration, which calls `require`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import CheckpointError, Message
from dyntree.runtime.online import Arrays

Bound = float | int | str
MOST_REAL = float(np.finfo(float).max)


@dataclass(frozen=True)
class Layout:
    """One array of a file: its type, its shape, and the range of its values.

    Attributes
    ----------
    dtype : str
    shape : tuple of int, str or None
        Names are sizes: that of the first array that has it holds for all others. None
        is any size.
    low, high : float, int or str
        Least and largest value, or the name of a size.
    above, below : the same, or None
        Bounds that are no values themselves.
    gaps : bool
        Whether values may be missing.
    needed : bool
        Whether every file has the array.
    """

    dtype: str
    shape: tuple[str | int | None, ...]
    low: Bound = -MOST_REAL
    high: Bound = MOST_REAL
    above: Bound | None = None
    below: Bound | None = None
    gaps: bool = False
    needed: bool = True

    def check(self, name: str, array: NDArray[Any], sizes: dict[str, Any]) -> None:
        """Raise CheckpointError unless the array is as declared; sizes become known."""
        fits = array.dtype == np.dtype(self.dtype) and array.ndim == len(self.shape)
        require(fits, f"{name} has type {array.dtype} and {array.ndim} dimensions")
        for size, found in zip(self.shape, array.shape, strict=True):
            wanted = found if size is None else size
            if isinstance(size, str):
                wanted = sizes.setdefault(size, found)
            require(found == wanted, f"{name} has shape {array.shape}")
        value = array[~np.isnan(array)] if self.gaps else array
        if not value.size:
            return
        least, largest = value.min(), value.max()
        inside = self._bound(self.low, sizes) <= least
        inside = inside and largest <= self._bound(self.high, sizes)
        if self.above is not None:
            inside = inside and self._bound(self.above, sizes) < least
        if self.below is not None:
            inside = inside and largest < self._bound(self.below, sizes)
        require(inside, f"{name} has values out of its range")

    @staticmethod
    def _bound(bound: Bound, sizes: dict[str, Any]) -> Any:
        return sizes[bound] if isinstance(bound, str) else bound


def reals(*shape: str | int | None, **limits: Any) -> Layout:
    """An array of finite float64 numbers; see `Layout`."""
    return Layout("f8", shape, **limits)


def ints(*shape: str | int | None, **limits: Any) -> Layout:
    """An array of int64 numbers; see `Layout`."""
    return Layout("i8", shape, **limits)


def places(*shape: str | int | None, **limits: Any) -> Layout:
    """An array of int32 numbers; see `Layout`."""
    return Layout("i4", shape, **limits)


def check_arrays(
    arrays: Arrays, layouts: Mapping[str, Layout], **sizes: Any
) -> dict[str, Any]:
    """Check the arrays of a file by their layouts.

    Parameters
    ----------
    arrays : dict of ndarray
    layouts : dict of Layout
        By the names of the arrays.
    **sizes : int or float
        Sizes and bounds that are known otherwise, by the names in the layouts.

    Returns
    -------
    dict
        All sizes, by name.

    Raises
    ------
    CheckpointError
        If an array is missing or has no use, or is not as declared.

    Examples
    --------
    >>> import numpy as np
    >>> layouts = {"mean": reals("k", "d"), "labels": ints("n", low=0, below="k")}
    >>> arrays = {"mean": np.zeros((2, 3)), "labels": np.array([0, 1, 1])}
    >>> check_arrays(arrays, layouts, d=3)
    {'d': 3, 'k': 2, 'n': 3}
    """
    needed = {name for name, layout in layouts.items() if layout.needed}
    lacking, more = needed - arrays.keys(), arrays.keys() - layouts.keys()
    require(not lacking, f"it lacks the arrays {sorted(lacking)}")
    require(not more, f"it has no use for the arrays {sorted(more)}")
    for name, layout in layouts.items():
        if name in arrays:
            layout.check(name, arrays[name], sizes)
    return sizes


def require(holds: Any, fault: str) -> None:
    """Raise CheckpointError unless something holds, for all entries of an array."""
    if not np.all(holds):
        raise CheckpointError(
            Message("it does not describe a valid model: {fault}", fault=fault)
        )


def check_close(
    name: str, stored: NDArray[Any], found: Any, size: Any = 1.0, rtol: float = 1e-6
) -> None:
    """Raise CheckpointError unless stored numbers are those computed from others.

    Parameters
    ----------
    name : str
    stored, found : ndarray
    size : float or ndarray, default 1
        Size of the terms that they are sums of, which rounding is relative to.
    rtol : float, default 1e-6
    """
    with np.errstate(all="ignore"):
        close = np.abs(stored - found) <= rtol * (np.abs(found) + size)
        close &= np.isfinite(found)
    same = (stored == found) | (np.isnan(stored) & np.isnan(found))
    require(close | same, f"{name} is not what other arrays say")
