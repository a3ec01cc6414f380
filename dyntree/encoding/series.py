"""A column of any library, a list or an array -> a `Column`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import Column
from dyntree.params import as_array


def column_of(values: Any) -> Column:
    """Values as a column: a list, an array, or a series of pandas' or another library.

    Examples
    --------
    >>> import pandas as pd
    >>> column_of(pd.Series(["u", None], dtype="category")).is_category
    True
    >>> column_of([1, "u"]).values
    array([1, 'u'], dtype=object)
    """
    if isinstance(values, list | tuple):
        plain = {*map(type, values)} == {float}
        return Column(np.array(values) if plain else objects_of(values))
    library = type(values).__module__.partition(".")[0]
    if library == "pandas" or hasattr(values, "iloc"):
        return _of_pandas(values)
    if library in ("polars", "pyarrow"):
        return _of_narwhals(_by_narwhals(values))
    array = as_array("column", values)
    return Column(array if array.ndim else array.reshape(1))


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """A list as an array of objects, which keeps what it holds."""
    if any(type(value) is np.ndarray for value in values):  # those of shape () are one
        values = [v[()] if type(v) is np.ndarray and not v.ndim else v for v in values]
    return np.fromiter(values, dtype=object, count=len(values))


def _of_pandas(series: Any) -> Column:
    """A series, an index or an array of pandas'."""
    import pandas as pd

    if not hasattr(series, "dt"):
        series = pd.Series(series)
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return Column(series.to_numpy())
    if isinstance(dtype, pd.CategoricalDtype):
        return Column(
            np.asarray(series.astype(object)),
            is_category=True,
            categories=tuple(dtype.categories),
            is_ordered=bool(dtype.ordered),
        )
    if isinstance(dtype, pd.DatetimeTZDtype):
        local = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return Column(local.to_numpy(), is_zoned=True)
    if isinstance(dtype, pd.PeriodDtype):
        return Column(series.dt.to_timestamp().to_numpy())
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return Column(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.asarray(series.astype(object))
    if str(dtype).startswith("dictionary<"):  # of Arrow, in pandas
        known = _dictionary(series.array.__arrow_array__())
        return Column(values, is_category=True, categories=known)
    return Column(values)


def _dictionary(values: Any) -> tuple[Any, ...]:
    """Values in the dictionary of a column of Arrow's, whose order says nothing."""
    chunks = values.unify_dictionaries().chunks
    entries = chunks[0].dictionary.to_pylist() if chunks else []
    entries = [entry for entry in entries if entry is not None]
    with contextlib.suppress(TypeError):  # of values that have no order
        entries.sort()
    return tuple(entries)


def _of_narwhals(series: Any) -> Column:
    """A series of narwhals'."""
    import narwhals as nw

    dtype = series.dtype
    if dtype in (nw.Categorical, nw.Enum):
        known = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None
        if series.implementation.is_pyarrow():
            known = _dictionary(series.to_native())
        texts = objects_of(series.cast(nw.String).to_list())
        return Column(texts, is_category=True, categories=known)
    is_zoned = isinstance(dtype, nw.Datetime) and dtype.time_zone is not None
    if is_zoned:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype.is_numeric():
        if series.null_count() or dtype == nw.Decimal:
            series = series.cast(nw.Float64)
        return Column(np.asarray(series.to_numpy()))
    if dtype.is_temporal() and dtype != nw.Time:
        return Column(np.asarray(series.to_numpy()), is_zoned=is_zoned)
    return Column(objects_of(series.to_list()))


def _by_narwhals(series: Any) -> Any:
    """A series or an array of polars' or Arrow's, as narwhals has it."""
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise ImportError(
            f"reading a {type(series).__name__} of {type(series).__module__} needs "
            "narwhals >= 2. Install it with: pip install '.[formula]' in a clone of "
            "dyntree, or give an array."
        ) from error

    if hasattr(series, "type") and not hasattr(series, "chunks"):  # an array of Arrow's
        import pyarrow as pa

        series = pa.chunked_array([series])
    return nw.from_native(series, series_only=True)
