"""NumPy and pandas <-> values as R holds them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .wire import NA_INTEGER, RValue, named_list

_KINDS = {"c": " (complex numbers)", "S": " (bytes)"}
_SECONDS = {"secs": 1, "mins": 60, "hours": 3600, "days": 86400, "weeks": 604800}
_WHOLE_SECONDS = ("W", "D", "h", "m", "s")  # units
_UTC = "Etc/UTC"  # of times with that zone; "UTC" is of times without one
_PLAIN = (np.generic, bool, int, float, range)
_MAPPINGS = (dict, Mapping)  # the common one first: the other takes time


def to_r(value: Any) -> RValue:
    """Return the R value of a Python value.

    Parameters
    ----------
    value : object
        None, a scalar, an array (masked values are NA), a list or tuple (a vector or
        matrix if all its elements have one type, else a list), a mapping (a named
        list), a pandas Series, Categorical or DataFrame, a frame or series of polars or
        Arrow, or an RValue, which is returned unchanged. Times with a zone have it in
        R, and others UTC; durations become difftime in seconds. The index of a frame
        becomes its row names, unless it counts rows.

    Returns
    -------
    RValue

    Raises
    ------
    TypeError
        If R has no corresponding type; for a column, with its name.
    ValueError
        If an integer needs more than 32 bits, rows differ in length, or an index cannot
        be row names.

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
        pandas' nullable arrays; integer64 of R's package bit64 are integers. A factor
        is a Categorical, and a data frame a DataFrame, whose index are the row names
        unless they count rows. Dates and times are ``datetime64[s]``, or ``[us]`` if
        they have fractions of seconds, with NaT for those that are not finite. Times
        with a zone other than UTC and GMT are pandas' arrays with it; others are in
        UTC. A difftime is ``timedelta64``. A list is a dict if all its elements have
        different names, else a list. Names of vectors and dimensions are dropped.

    Raises
    ------
    TypeError
        If Python has no corresponding type; for a column, with its name.
    ValueError
        If times are too far away, or their zone is not known here.
    """
    if value.kind == "NULL":
        return None
    if value.kind == "double" and not value.attributes:
        data = _quiet(value.data)
        return data[0] if len(data) == 1 else data
    classes = value.strings("class")
    if value.kind == "list":
        return _list(value, classes)
    found = _vector(value, classes)
    if "factor" in classes:
        return found
    if "dim" in value.attributes:
        return found.reshape(value.attributes["dim"].data, order="F")
    return found[0] if len(found) == 1 else found


def _list(value: RValue, classes: list[Any]) -> Any:
    if "data.frame" in classes:
        return _frame(value)
    if "POSIXlt" in classes:
        raise TypeError(
            "R sent times as POSIXlt, a list of their parts. Convert them by "
            "as.POSIXct() first."
        )
    names = value.strings("names")
    if names and all(names) and len(set(names)) == len(names):
        return {str(name): from_r(item) for name, item in value.items().items()}
    return [from_r(item) for item in value.data]


def _vector(value: RValue, classes: list[Any]) -> Any:
    """Return the values of a vector, also of one."""
    if "factor" in classes:
        return _factor(value, ordered="ordered" in classes)
    if {"Date", "POSIXct", "difftime"}.intersection(classes):
        return _times(value, classes)
    if value.kind == "character":
        return np.array(value.data, dtype=object)
    data, missing = value.data, None
    if "integer64" in classes:  # whose bits are those of doubles
        data = data.view(np.int64)
        missing = data == np.iinfo(np.int64).min
    elif value.kind in ("integer", "logical"):
        missing = data == NA_INTEGER
        data = data.astype(bool if value.kind == "logical" else np.int64)
    if missing is None:
        return _quiet(data)
    if not missing.any():
        return data
    import pandas as pd

    is_logical = value.kind == "logical"
    nullable = pd.arrays.BooleanArray if is_logical else pd.arrays.IntegerArray
    return nullable(data, missing)


def _quiet(numbers: Any) -> Any:
    """Doubles with NaN for R's NA, a signalling NaN: arithmetic with it warns."""
    missing = np.isnan(numbers)
    return np.where(missing, np.nan, numbers) if missing.any() else numbers


def _factor(value: RValue, *, ordered: bool) -> Any:
    import pandas as pd

    levels = value.strings("levels")
    codes = np.where(value.data == NA_INTEGER, 0, value.data) - 1
    if None in levels:  # of addNA()
        there = [level is not None for level in levels]
        places = np.where(there, np.cumsum(there) - 1, -1)
        codes = np.where(codes < 0, -1, places[codes])
        levels = [level for level in levels if level is not None]
    return pd.Categorical.from_codes(codes, pd.Index(levels), ordered=ordered)


def _times(value: RValue, classes: list[Any]) -> Any:
    """Return dates, times or durations; NaT where they are not finite."""
    numbers = np.asarray(value.data, dtype=np.float64)
    if value.kind != "double":
        numbers = np.where(value.data == NA_INTEGER, np.nan, numbers)
    unit = "days" if "Date" in classes else "secs"
    is_duration = "difftime" in classes
    if is_duration:
        (unit,) = value.strings("units") or [None]
        if unit not in _SECONDS:
            raise ValueError(
                f"a difftime must be in one of {', '.join(_SECONDS)}; got {unit!r}. "
                "Set its units() first."
            )
    missing = ~np.isfinite(numbers)
    seconds = np.where(missing, 0.0, numbers) * _SECONDS[unit]
    largest, parts = float(np.abs(seconds).max(initial=0.0)), "s"
    if not np.all(seconds == np.floor(seconds)):
        parts = "ns" if is_duration and largest < 9e9 else "us"
    scale = {"s": 1.0, "us": 1e6, "ns": 1e9}[parts]
    if largest * scale >= 2.0**63:
        raise ValueError(
            "times must be within 2**63 of the least part that they have, seconds or "
            f"microseconds; got {numbers[np.abs(seconds).argmax()]:g} {unit}. Round "
            "them, or leave them out."
        )
    ticks = np.rint(seconds * scale).astype(np.int64)
    times = ticks.astype(f"{'timedelta64' if is_duration else 'datetime64'}[{parts}]")
    times[missing] = np.array("NaT", dtype=times.dtype)
    zone = (value.strings("tzone") or [""])[0]
    if is_duration or "Date" in classes or zone in ("", "UTC", "GMT"):
        return times
    return _zoned(times, "UTC" if zone == _UTC else zone)


def _zoned(times: NDArray[Any], zone: str) -> Any:
    """Return times of UTC as pandas has them in a zone."""
    import pandas as pd

    try:
        return pd.DatetimeIndex(times).tz_localize("UTC").tz_convert(zone).array
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"the zone of R's times must be one that Python knows; got {zone!r}. Set "
            'attr(x, "tzone") to another, such as "UTC".'
        ) from error


def _frame(value: RValue) -> Any:
    import pandas as pd

    columns = {}
    for k, (name, item) in enumerate(
        zip(value.strings("names"), value.data, strict=True)
    ):
        try:
            columns[k] = _column_from_r(item)
        except (TypeError, ValueError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
    frame = pd.DataFrame(columns, index=_index(value.attributes["row.names"]))
    frame.columns = pd.Index([str(name) for name in value.strings("names")])
    return frame


def _column_from_r(item: RValue) -> Any:
    classes = item.strings("class")
    if "dim" in item.attributes or "data.frame" in classes:
        raise TypeError("it is a matrix or a frame itself. Make its columns columns.")
    if item.kind != "list":
        return _vector(item, classes)
    if "POSIXlt" in classes:
        return _list(item, classes)  # which refuses it
    cells = np.empty(len(item.data), dtype=object)
    cells[:] = [from_r(cell) for cell in item.data]
    return cells


def _index(names: RValue) -> Any:
    """Return row names, or pandas' own index for such as count rows."""
    import pandas as pd

    if names.kind == "character":
        return pd.Index(names.data)
    if len(names.data) == 2 and names.data[0] == NA_INTEGER:  # R writes 1:n so
        return pd.RangeIndex(abs(int(names.data[1])))
    if np.array_equal(names.data, np.arange(1, len(names.data) + 1)):
        return pd.RangeIndex(len(names.data))
    return pd.Index(names.data.astype(np.int64))


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
    if array.dtype.kind in "mM":
        return _from_times(flat, attributes)
    if array.dtype.kind in "UO":
        texts = [None if _is_missing(item) else item for item in flat.tolist()]
        if all(item is None or isinstance(item, str) for item in texts):
            return RValue("character", texts, attributes)
    described = f"{array.dtype}{_KINDS.get(array.dtype.kind, '')}"
    if array.dtype.kind == "O":
        described = (
            f"objects: {', '.join(sorted({type(item).__name__ for item in flat}))}"
        )
    raise TypeError(
        "R takes numbers, logicals, strings and times; got an array of "
        f"{described}. Convert it first."
    )


def _from_times(flat: NDArray[Any], attributes: dict[str, RValue]) -> RValue:
    """Return times as POSIXct of UTC, and durations as difftime in seconds."""
    unit, is_duration = np.datetime_data(flat.dtype)[0], flat.dtype.kind == "m"
    if unit == "generic" or (is_duration and unit in ("Y", "M")):
        raise TypeError(
            f"R takes durations of weeks, days, hours, minutes and seconds; got "
            f"{flat.dtype}. Convert them first."
        )
    kind = "timedelta64" if is_duration else "datetime64"
    parts = "s" if unit in (*_WHOLE_SECONDS, "Y", "M") else "us"
    if is_duration and unit == "ns":
        parts = unit
    scale = {"s": 1, "us": 1e6, "ns": 1e9}[parts]
    seconds = flat.astype(f"{kind}[{parts}]").astype(np.int64) / scale
    if is_duration:
        attributes["class"] = RValue("character", ["difftime"])
        attributes["units"] = RValue("character", ["secs"])
    else:
        attributes["class"] = RValue("character", ["POSIXct", "POSIXt"])
        attributes["tzone"] = RValue("character", ["UTC"])
    return RValue("double", np.where(np.isnat(flat), np.nan, seconds), attributes)


def _zone_name(zone: datetime.tzinfo) -> str:
    """Return R's name of a zone."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    offset = zone.utcoffset(None)
    if name == "UTC" or (name is None and offset == datetime.timedelta(0)):
        return _UTC
    if name is None and offset is not None:
        hours = offset / datetime.timedelta(hours=1)
        if hours.is_integer() and -12 <= hours <= 14:
            return f"Etc/GMT{-int(hours):+d}"
    if name is None:
        raise TypeError(
            f"R knows zones by their names; got times of {zone}. Convert them to a "
            "zone with a name first."
        )
    return str(name)


def _from_masked(array: np.ma.MaskedArray[Any, Any]) -> RValue:
    """Return a vector or matrix with NA where values are masked."""
    missing = np.ma.getmaskarray(array).ravel(order="F")
    if array.dtype.kind in "mM":
        fill: Any = np.array("NaT", dtype=array.dtype)
    else:
        fill = {"f": np.nan, "b": False, "i": 0, "u": 0}.get(array.dtype.kind)
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
        if value.columns.nlevels > 1:
            raise TypeError(
                f"R's columns have one name each; got columns with "
                f"{value.columns.nlevels} levels of names. Join them first."
            )
        columns = [value.iloc[:, k] for k in range(value.shape[1])]
        return _from_columns(value.columns, columns, _row_names(value.index))
    if isinstance(value, datetime.datetime | datetime.timedelta):  # pandas' as well
        value = pd.array([value])
    if isinstance(value, pd.Series | pd.Index):
        value = value.array
    if isinstance(value, pd.Categorical):
        return _from_codes(value.codes, value.categories, ordered=bool(value.ordered))
    if isinstance(value, pd.arrays.DatetimeArray):
        sent = _from_array(np.asarray(value.to_numpy(dtype="datetime64[us]")))
        if value.tz is None:
            return sent
        zone = RValue("character", [_zone_name(value.tz)])
        return RValue(sent.kind, sent.data, {**sent.attributes, "tzone": zone})
    if isinstance(value, pd.api.extensions.ExtensionArray):
        kind = getattr(value.dtype, "kind", "O")
        if kind in "iub":
            missing = np.asarray(value.isna())
            plain = value.to_numpy(dtype=object, na_value=0)
            plain = plain.astype(bool if kind == "b" else np.dtype(f"{kind}8"))
            return _from_masked(np.ma.array(plain, mask=missing))
        if kind == "f":
            return _from_array(value.to_numpy(dtype=np.float64, na_value=np.nan))
        return _from_array(value.to_numpy())
    if type(value).__module__.partition(".")[0] in ("polars", "pyarrow"):
        return _from_narwhals(value)
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


def _from_columns(names: Any, columns: Sequence[Any], rows: RValue) -> RValue:
    """Return a data frame; its columns may have equal names, as in R."""
    sent = []
    for name, column in zip(names, columns, strict=True):
        try:
            sent.append(to_r(column))
        except (TypeError, ValueError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
    return RValue(
        "list",
        sent,
        {
            "names": RValue("character", [str(name) for name in names]),
            "class": RValue("character", ["data.frame"]),
            "row.names": rows,
        },
    )


def _row_numbers(n: int) -> RValue:
    return RValue("integer", np.arange(1, n + 1, dtype=np.int32))


def _row_names(index: Any) -> RValue:
    """Return an index as row names, or row numbers for one that counts rows."""
    n = len(index)
    is_whole = index.nlevels == 1 and getattr(index.dtype, "kind", "O") in "iu"
    if not n or (is_whole and _counts(index)):
        return _row_numbers(n)
    if index.nlevels == 1 and index.is_unique and not index.hasnans:
        names = to_r(index)
        if names.kind == "character" or is_whole:
            return names
    raise ValueError(
        "the index of a frame must be texts or whole numbers, each once, which R has "
        f"as row names; got {type(index).__name__} of {index.dtype}. reset_index() "
        "makes it a column, and reset_index(drop=True) drops it."
    )


def _counts(index: Any) -> bool:
    """Whether an index counts rows, from 0 or, as R does, from 1."""
    first = int(index[0])
    return first in (0, 1) and np.array_equal(index, first + np.arange(len(index)))


def _from_codes(codes: Any, levels: Any, *, ordered: bool) -> RValue:
    """Return a factor; codes count from 0, and those < 0 are missing."""
    codes = np.where(codes < 0, NA_INTEGER, np.asarray(codes, dtype=np.int64) + 1)
    classes = ["ordered", "factor"] if ordered else ["factor"]
    return RValue(
        "integer",
        codes.astype(np.int32),
        {
            "levels": RValue("character", [str(level) for level in levels]),
            "class": RValue("character", classes),
        },
    )


def _from_narwhals(value: Any) -> RValue:
    """Return a frame or a series of polars or Arrow."""
    import narwhals as nw

    if hasattr(value, "collect") or not hasattr(value, "__len__"):
        raise TypeError(
            f"R takes frames that hold their rows; got {type(value).__name__}. "
            "Collect it first."
        )
    found = nw.from_native(value, eager_only=True, allow_series=True)
    if isinstance(found, nw.DataFrame):
        columns = [found[name].to_native() for name in found.columns]
        return _from_columns(found.columns, columns, _row_numbers(len(found)))
    dtype, missing = found.dtype, found.is_null().to_numpy()
    if dtype in (nw.Categorical, nw.Enum):
        is_enum = isinstance(dtype, nw.Enum)
        labels = found.to_list()
        levels = dtype.categories if is_enum else sorted({*labels} - {None})
        places = {level: k for k, level in enumerate(levels)}
        codes = np.array([places.get(label, -1) for label in labels], dtype=int)
        return _from_codes(codes, levels, ordered=is_enum)
    if dtype.is_integer() or dtype == nw.Boolean:
        plain = found.fill_null(False if dtype == nw.Boolean else 0).to_numpy()
        return _from_masked(np.ma.array(plain, mask=missing))
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        plain = found.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _from_pandas(_zoned(np.asarray(plain.to_numpy()), dtype.time_zone))
    if dtype.is_float() or dtype.is_temporal():
        return _from_array(np.asarray(found.to_numpy()))
    return _from_array(np.array([*found.to_list(), None], dtype=object)[:-1])


def _is_missing(item: Any) -> bool:
    import pandas as pd

    return item is None or item is pd.NA or (isinstance(item, float) and item != item)
