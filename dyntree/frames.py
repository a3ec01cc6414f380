"""Tables as users hold them: columns out, answers back in the same type."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, Any]


class Table:
    """Columns by name, as arrays: a dict of columns, or dicts turned into one.

    Parameters
    ----------
    columns : mapping of str to array_like of shape (n_rows,)
    """

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {str(name): _vector(values) for name, values in columns.items()}
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"data must have columns of one length; got {lengths}.")
        self.n_rows = next(iter(lengths.values()), 0)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def column(self, name: str) -> NDArray[Any]:
        """A column, ndarray of shape (n_rows,)."""
        return self._columns[name]

    def levels(self, name: str) -> list[Any] | None:
        """Categories of a column, where its type has some."""
        return None

    def series(self, values: NDArray[Any], name: str) -> Any:
        """One value a row, as the caller holds columns."""
        return values

    def frame(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Columns with one value a row, as the caller holds frames."""
        import pandas as pd

        return pd.DataFrame(columns)


class PandasTable(Table):
    """A frame of pandas'."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.n_rows = frame, len(frame)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(str(name) for name in self._frame.columns)

    def _series(self, name: str) -> Any:
        return self._frame.iloc[:, self.names.index(name)]

    def column(self, name: str) -> NDArray[Any]:
        """A column, ndarray of shape (n_rows,)."""
        import pandas as pd

        series = self._series(name)
        extension = not isinstance(series.dtype, np.dtype)
        if (
            extension
            and pd.api.types.is_numeric_dtype(series.dtype)
            and not pd.api.types.is_bool_dtype(series.dtype)
        ):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.to_numpy())

    def levels(self, name: str) -> list[Any] | None:
        """Categories of a column, where its type has some."""
        import pandas as pd

        kind = self._series(name).dtype
        return list(kind.categories) if isinstance(kind, pd.CategoricalDtype) else None

    def series(self, values: NDArray[Any], name: str) -> Any:
        """One value a row, with the caller's index."""
        import pandas as pd

        return pd.Series(values, index=self._frame.index, name=name)

    def frame(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Columns with the caller's index."""
        import pandas as pd

        return pd.DataFrame(columns, index=self._frame.index)


class NarwhalsTable(Table):
    """A frame that narwhals reads: polars, pyarrow, modin."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.n_rows = frame, len(frame)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._frame.columns)

    def column(self, name: str) -> NDArray[Any]:
        """A column, ndarray of shape (n_rows,)."""
        return np.asarray(self._frame[name].to_numpy())

    def levels(self, name: str) -> list[Any] | None:
        """Categories of a column, where its type has some."""
        import narwhals as nw

        kind = self._frame[name].dtype
        return list(kind.categories) if isinstance(kind, nw.Enum) else None

    def series(self, values: NDArray[Any], name: str) -> Any:
        """One value a row, as a series of the caller's library."""
        import narwhals as nw

        library = self._frame.implementation
        return nw.new_series(name, _plain(values), backend=library).to_native()

    def frame(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Columns as a frame of the caller's library."""
        import narwhals as nw

        plain = {name: _plain(values) for name, values in columns.items()}
        return nw.from_dict(plain, backend=self._frame.implementation).to_native()


def _plain(values: NDArray[Any]) -> Any:
    """Numbers as an array, which has a type even without rows; labels as a list."""
    return values if values.dtype.kind in "biuf" else values.tolist()


def is_row(data: Any) -> bool:
    """Whether data is one row: a mapping of names to plain values."""
    return isinstance(data, Mapping) and not any(
        hasattr(value, "__len__") and not isinstance(value, str | bytes)
        for value in data.values()
    )


def table_of(data: Any) -> Table:
    """Data as a table.

    Parameters
    ----------
    data : frame, dict of columns, dict, or list of dicts
        Frames of pandas, and with narwhals of polars and others.

    Raises
    ------
    ValueError
        If it is none of these.
    ImportError
        If it needs narwhals.
    """
    if isinstance(data, Table):
        return data
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        labels = [str(name) for name in data.columns]
        if len(set(labels)) != len(labels):
            raise ValueError(f"data must have distinct column names; got {labels}.")
        return PandasTable(data)
    if is_row(data):
        data = [data]
    if isinstance(data, Mapping):
        return Table(data)
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        return Table(_turned(data))
    return _by_narwhals(data)


def _by_narwhals(data: Any) -> Table:
    """A frame of another library."""
    kind = f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
    if not hasattr(type(data), "columns"):  # asked of the type: it may be costly
        raise ValueError(
            "data must be a frame, a dict of columns, a dict for one row or a list of "
            f"them; got {kind}. Make it one of these."
        )
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise ImportError(
            f"reading {kind} needs narwhals >= 2. Install it with: "
            "pip install 'dyntree[formula]', or give a pandas frame."
        ) from error
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError as error:
        raise ValueError(
            f"data must be a frame that narwhals reads, not a lazy one; got {kind}. "
            "Collect it first."
        ) from error
    return NarwhalsTable(frame)


def _turned(rows: Sequence[Mapping[Hashable, Any]]) -> dict[str, list[Any]]:
    """Rows as columns."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
            raise ValueError(
                f"data must be dicts with the same keys; row {number} differs from row "
                f"0, {list(rows[0])}."
            )
    return {str(name): [row[name] for row in rows] for name in rows[0]}


def _vector(values: Any) -> NDArray[Any]:
    """A column as an array; a list as one of objects, which keeps what it holds."""
    if isinstance(values, list | tuple):
        return np.fromiter(values, dtype=object, count=len(values))
    array = np.asarray(values)
    return array if array.ndim else array.reshape(1)
