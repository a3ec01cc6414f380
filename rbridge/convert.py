"""NumPy and pandas <-> values as R holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wire import NA_INTEGER, RValue, named_list

_SECONDS_PER_DAY = 86400
_KINDS = {"c": " (complex numbers)", "S": " (bytes)", "m": " (durations)"}
_PLAIN = (np.generic, bool, int, float, range)
_MAPPINGS = (dict, Mapping)  # the common one first: the other takes time


def to_r(value: Any) -> RValue:
    """Return the R value of a Python value.

    Parameters
    ----------
    value : object
        None, a scalar, an array (masked values are NA), a list or tuple (a vector or
        matrix if all its elements have one type, else a list), a mapping (a named
        list), a pandas Series, Categorical or DataFrame, or an RValue, which is
        returned unchanged.

    Returns
    -------
    RValue

    Raises
    ------
    TypeError
        If R has no corresponding type.
    ValueError
        If an integer needs more than 32 bits, or rows differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> from rbridge.convert import from_r, to_r
    >>> sent = to_r(np.arange(4.0).reshape(2, 2))
    >>> sent.data.tolist(), from_r(sent).tolist()
    ([0.0, 2.0, 1.0, 3.0], [[0.0, 1.0], [2.0, 3.0]])
    """
    if value is None:
        return RValue("NULL")
    if isinstance(value, RValue):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return _from_masked(value)
    if isinstance(value, np.ndarray):
        return _from_array(value)
    if isinstance(value, str):
        return RValue("character", [value])
    if isinstance(value, float):
        return RValue("double", np.array([value], dtype=np.float64))
    if isinstance(value, _PLAIN):
        return _from_array(np.asarray(value))
    if isinstance(value, _MAPPINGS):
        return named_list({str(name): to_r(item) for name, item in value.items()})
    if isinstance(value, list | tuple):
        return _from_list(value)
    return _from_pandas(value)


def from_r(value: RValue) -> Any:
    """Return the Python value of a value from R.

    Parameters
    ----------
    value : RValue
        A value from R.

    Returns
    -------
    object
        None for NULL, an array for a vector or matrix, and a scalar for a vector of
        length one. Strings are arrays of objects. Integers and logicals with NA are
        pandas' nullable arrays. A factor is a Categorical, and a data frame a
        DataFrame. Dates and times are ``datetime64[s]``, or ``[us]`` if they have
        fractions of seconds, with NaT for those that are not finite. A list is a dict
        if all its elements have different names, else a list. Names of vectors and
        dimensions are dropped.
    """
    if value.kind == "NULL":
        return None
    if value.kind == "double" and not value.attributes:
        return value.data[0] if len(value.data) == 1 else value.data
    classes = value.strings("class")
    if value.kind == "list":
        if "data.frame" in classes:
            return _frame(value)
        names = value.strings("names")
        if names and all(names) and len(set(names)) == len(names):
            return {str(name): from_r(item) for name, item in value.items().items()}
        return [from_r(item) for item in value.data]
    if "factor" in classes:
        import pandas as pd

        codes = np.where(value.data == NA_INTEGER, 0, value.data) - 1
        levels = pd.Index(value.strings("levels"))
        return pd.Categorical.from_codes(codes, levels, ordered="ordered" in classes)
    found = _vector(value, classes)
    if "dim" in value.attributes:
        return found.reshape(value.attributes["dim"].data, order="F")
    return found[0] if len(found) == 1 else found


def _vector(value: RValue, classes: list[Any]) -> Any:
    if "Date" in classes or "POSIXct" in classes:
        unit = _SECONDS_PER_DAY if "Date" in classes else 1
        numbers = np.asarray(value.data, dtype=np.float64)
        if value.kind != "double":
            numbers = np.where(value.data == NA_INTEGER, np.nan, numbers)
        missing = ~np.isfinite(numbers)
        seconds = np.where(missing, 0.0, numbers) * unit
        if np.all(seconds == np.floor(seconds)):
            times = seconds.astype(np.int64).astype("datetime64[s]")
        else:
            times = np.rint(seconds * 1e6).astype(np.int64).astype("datetime64[us]")
        times[missing] = np.datetime64("NaT")
        return times
    if value.kind == "character":
        return np.array(value.data, dtype=object)
    if value.kind in ("integer", "logical"):
        missing = value.data == NA_INTEGER
        data = value.data.astype(bool if value.kind == "logical" else np.int64)
        if missing.any():
            import pandas as pd

            kinds = {
                "integer": pd.arrays.IntegerArray,
                "logical": pd.arrays.BooleanArray,
            }
            return kinds[value.kind](data, missing)
        return data
    return value.data


def _frame(value: RValue) -> Any:
    import pandas as pd

    columns = {}
    for name, item in value.items().items():
        column = from_r(item)
        columns[str(name)] = [column] if np.ndim(column) == 0 else column
    names = value.attributes["row.names"]
    index = list(names.data) if names.kind == "character" else None
    return pd.DataFrame(columns, index=index)


def _from_array(array: NDArray[Any]) -> RValue:
    attributes = {}
    if array.ndim > 1:
        attributes["dim"] = RValue("integer", array.shape)
    flat = array.ravel(order="F")
    if array.dtype.kind == "f":
        return RValue("double", flat.astype(np.float64, copy=False), attributes)
    if array.dtype.kind == "b":
        return RValue("logical", flat.astype(np.int32), attributes)
    if array.dtype.kind in "iu":
        if flat.size and (flat.max() >= 2**31 or flat.min() <= NA_INTEGER):
            raise ValueError(
                f"whole numbers for R must be within +-(2**31 - 1); got "
                f"{flat.min()} to {flat.max()}. Turn them into floats first."
            )
        return RValue("integer", flat.astype(np.int32), attributes)
    if array.dtype.kind == "M":
        whole = np.datetime_data(array.dtype)[0] not in (
            "ms",
            "us",
            "ns",
            "ps",
            "fs",
            "as",
        )
        ticks = flat.astype("datetime64[s]" if whole else "datetime64[us]")
        seconds = ticks.astype(np.int64) / (1 if whole else 1e6)
        attributes["class"] = RValue("character", ["POSIXct", "POSIXt"])
        attributes["tzone"] = RValue("character", ["UTC"])
        return RValue("double", np.where(np.isnat(flat), np.nan, seconds), attributes)
    if array.dtype.kind in "UO":
        texts = [None if _is_missing(item) else item for item in flat.tolist()]
        if all(item is None or isinstance(item, str) for item in texts):
            return RValue("character", texts, attributes)
    raise TypeError(
        "R takes numbers, logicals, strings and times; got an array of "
        f"{array.dtype}{_KINDS.get(array.dtype.kind, '')}. Convert it first."
    )


def _from_masked(array: np.ma.MaskedArray[Any, Any]) -> RValue:
    """Return a vector or matrix with NA where values are masked."""
    missing = np.ma.getmaskarray(array).ravel(order="F")
    nat = np.datetime64("NaT")
    nothing: dict[str, Any] = {"f": np.nan, "b": False, "i": 0, "u": 0, "M": nat}
    fill = nothing.get(array.dtype.kind)
    found = _from_array(array.data if fill is None else array.filled(fill))
    if found.kind == "character":
        texts = zip(found.data, missing, strict=True)
        data: Any = [None if is_missing else text for text, is_missing in texts]
    elif found.kind == "double":
        data = found.data
    else:
        data = np.where(missing, NA_INTEGER, found.data)
    return RValue(found.kind, data, found.attributes)


def _from_list(values: list[Any] | tuple[Any, ...]) -> RValue:
    try:
        array = np.asarray(values)
    except ValueError:
        return RValue("list", [to_r(item) for item in values])
    alike = len({_sort(item) for item in np.asarray(values, dtype=object).ravel()}) == 1
    if alike and array.dtype.kind in "biufMU":
        return _from_array(array)
    return RValue("list", [to_r(item) for item in values])


def _sort(item: Any) -> str:
    """Return what scalars of one vector have in common."""
    if isinstance(item, bool | np.bool_):
        return "logical"
    is_number = isinstance(item, int | float | np.integer | np.floating)
    return "number" if is_number else type(item).__name__


def _from_pandas(value: Any) -> RValue:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        columns = {str(name): to_r(value[name]) for name in value.columns}
        numbers = np.arange(1, len(value) + 1, dtype=np.int32)
        frame = named_list(columns)
        return RValue(
            "list",
            frame.data,
            {
                **frame.attributes,
                "class": RValue("character", ["data.frame"]),
                "row.names": RValue("integer", numbers),
            },
        )
    if isinstance(value, pd.Series | pd.Index):
        value = value.array
    if isinstance(value, pd.Categorical):
        codes = np.where(value.codes < 0, NA_INTEGER, value.codes.astype(np.int64) + 1)
        classes = ["ordered", "factor"] if value.ordered else ["factor"]
        return RValue(
            "integer",
            codes.astype(np.int32),
            {
                "levels": RValue("character", [str(c) for c in value.categories]),
                "class": RValue("character", classes),
            },
        )
    if isinstance(value, pd.arrays.IntegerArray | pd.arrays.BooleanArray):
        missing = np.asarray(value.isna())
        plain = value.to_numpy(dtype=object, na_value=0)
        logical = isinstance(value, pd.arrays.BooleanArray)
        sent = _from_array(plain.astype(bool if logical else np.int64))
        return RValue(sent.kind, np.where(missing, NA_INTEGER, sent.data))
    if isinstance(value, pd.arrays.FloatingArray):
        return _from_array(value.to_numpy(dtype=np.float64, na_value=np.nan))
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return _from_array(value.to_numpy())
    if isinstance(value, complex | bytes | bytearray | memoryview):
        kind = "complex numbers" if isinstance(value, complex) else "bytes"
        raise TypeError(
            f"R takes numbers, logicals, strings and times; got {kind}, {value!r:.60}. "
            "Convert it first."
        )
    raise TypeError(
        f"R has no counterpart of {type(value).__name__}. Give numbers, strings, "
        f"arrays, lists, mappings or data frames."
    )


def _is_missing(item: Any) -> bool:
    import pandas as pd

    return item is None or item is pd.NA or (isinstance(item, float) and item != item)
