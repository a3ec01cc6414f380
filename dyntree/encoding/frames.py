"""Whether data is a frame of some library, and one that holds its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyntree.errors import ArgumentError

TO_EAGER = {  # methods of dask, polars, Spark and ibis, and what they do
    "compute": "Compute", "collect": "Collect", "toPandas": "Convert",
    "to_pandas": "Convert",
}  # fmt: skip


def is_frame(data: Any) -> bool:
    """Whether data is a frame of some library; its type is asked, not its values."""
    return hasattr(type(data), "columns") and not isinstance(data, Mapping)


def check_eager(data: Any, argument: str = "data") -> None:
    """Raise ValueError for a frame whose rows have not been computed yet."""
    kind = type(data)
    if not is_frame(data) or (hasattr(kind, "__len__") and not hasattr(data, "dask")):
        return
    remedy = "Make it a frame in memory first."
    ways = [way for way in TO_EAGER if hasattr(kind, way)]
    if ways:
        remedy = f"{TO_EAGER[ways[0]]} it first: {argument}.{ways[0]}()."
    raise ArgumentError(
        argument,
        "must be a frame that holds its rows, not a lazy one",
        kind_name(data),
        remedy,
    )


def kind_name(data: Any) -> str:
    """Library and name of the type of some data."""
    return f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
