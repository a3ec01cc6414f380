"""Tables of any library -> columns as arrays, and answers in the caller's type."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import Column
from dyntree.encoding.frames import check_eager, is_frame, kind_name
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.series import column_of
from dyntree.errors import ArgumentError, Message
from dyntree.params import as_array

Row = Mapping[str, Any]


class Table:
    """Columns by name, as arrays: a dict of columns, or dicts columns_of_rows into one.

    Parameters
    ----------
    columns : mapping of str to array_like of shape (n_rows,)
    """

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {
            str(name): values if isinstance(values, Column) else column_of(values)
            for name, values in columns.items()
        }
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ArgumentError("data", "must have columns of one length", lengths)
        self.n_rows = next(iter(lengths.values()), 0)

    @property
    def native(self) -> Any:
        """The columns in the caller's type: a frame, or a dict of arrays."""
        return {name: column.values for name, column in self._columns.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def read(self, name: str) -> Column:
        """A column with what its type says."""
        return self._columns[name]

    def columns(self) -> dict[str, Column]:
        """All columns by name."""
        return {name: self.read(name) for name in self.names}

    def column(self, name: str) -> NDArray[Any]:
        """Values of a column, ndarray of shape (n_rows,)."""
        return self.read(name).values

    @property
    def row_labels(self) -> Any:
        """Labels of the rows, where the caller's frame has some."""
        return None

    def positions(self, subset: Sequence[Any]) -> NDArray[np.int64]:
        """Positions of rows that are given by a mask or by number.

        Raises
        ------
        ValueError
            If they are neither, or name rows that there are not.
        """
        chosen = as_array("subset", subset)
        if chosen.dtype == bool and chosen.shape == (self.n_rows,):
            return np.flatnonzero(chosen)
        inside = chosen.dtype.kind in "iu" and np.all(chosen < self.n_rows)
        if chosen.ndim != 1 or not inside or np.any(chosen < 0):
            raise ArgumentError(
                "subset",
                f"must be a mask of {self.n_rows} bools, or row numbers below "
                f"{self.n_rows}",
                subset,
            )
        return chosen.astype(np.int64)

    def take(self, rows: slice | NDArray[np.int64]) -> Table:
        """Some rows, by position."""
        return Table({name: self.read(name).take(rows) for name in self.names})

    def joined(self, name: str, column: Any) -> Table:
        """The table with one more column."""
        return Table({**self._columns, name: column})

    def without(self, name: str) -> Table:
        """The table without a column."""
        return Table({k: v for k, v in self._columns.items() if k != name})

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
        self._places = {str(name): k for k, name in enumerate(frame.columns)}

    @property
    def native(self) -> Any:
        """The frame."""
        return self._frame

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._places)

    def read(self, name: str) -> Column:
        """A column with what its type says."""
        return column_of(self._frame.iloc[:, self._places[name]])

    def columns(self) -> dict[str, Column]:
        """All columns by name; those of one type of numbers at once."""
        kinds = [*self._frame.dtypes]
        plain = all(isinstance(kind, np.dtype) for kind in kinds)  # others need no hash
        if plain and len({*kinds}) == 1 and kinds[0].kind in "biuf":
            values = self._frame.to_numpy().T
            return dict(zip(self._places, map(Column, values), strict=True))
        series = (one for _, one in self._frame.items())
        return dict(zip(self._places, map(column_of, series), strict=True))

    @property
    def row_labels(self) -> Any:
        """The frame's index."""
        return self._frame.index

    def positions(self, subset: Any) -> NDArray[np.int64]:
        """Positions of rows that ``data.loc[subset]`` gives: a Series by its index."""
        import pandas as pd

        rows = pd.Series(np.arange(self.n_rows), index=self._frame.index)
        if callable(subset):
            subset = subset(self._frame)
        if type(subset).__module__.partition(".")[0] in ("polars", "pyarrow"):
            subset = column_of(subset).values
        try:
            found = rows.loc[subset]
        except (
            LookupError, TypeError, ValueError, pd.errors.IndexingError,
        ) as error:  # fmt: skip
            raise ArgumentError(
                "subset",
                "must be what data.loc takes: a mask of one bool a row, labels in "
                "the index of data, or a Series of bools for them",
                Message("{subset!r} ({error})", subset=subset, error=error),
            ) from error
        return np.atleast_1d(np.asarray(found, dtype=np.int64))

    def take(self, rows: slice | NDArray[np.int64]) -> Table:
        """Some rows, by position."""
        return PandasTable(self._frame.iloc[rows])

    def joined(self, name: str, column: Any) -> Table:
        """The table with one more column."""
        return PandasTable(self._frame.assign(**{name: column}))

    def without(self, name: str) -> Table:
        """The table without a column."""
        others = [k for other, k in self._places.items() if other != name]
        return PandasTable(self._frame.iloc[:, others])

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
    def native(self) -> Any:
        """The frame."""
        return self._frame.to_native()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._frame.columns)

    def read(self, name: str) -> Column:
        """A column with what its type says."""
        return column_of(self._frame[name].to_native())

    def take(self, rows: slice | NDArray[np.int64]) -> Table:
        """Some rows, by position."""
        return NarwhalsTable(self._frame[rows])

    def joined(self, name: str, column: Any) -> Table:
        """The table with one more column."""
        import narwhals as nw

        series: Any = nw.from_native(column, series_only=True, pass_through=True)
        if not isinstance(series, nw.Series):
            library = self._frame.implementation
            series = nw.new_series(name, column_of(series).objects(), backend=library)
        return NarwhalsTable(self._frame.with_columns(series.alias(name)))

    def without(self, name: str) -> Table:
        """The table without a column."""
        return NarwhalsTable(self._frame.drop(name))

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


def plain_data(data: Any, columns: Sequence[str] = ()) -> Any:
    """Data of libraries whose types say more than a table, as what they hold.

    Model matrices of formulaic and patsy become frames or dicts of columns, structured
    arrays and recarrays dicts of columns, one of their rows a dict. A series of pandas'
    is a row where it has the columns that are asked for, and else a column.

    Parameters
    ----------
    data : object
    columns : sequence of str, optional
        Those that are asked for.

    Examples
    --------
    >>> rows = np.array([(1.0, "u")], dtype=[("x", "f8"), ("site", "U1")])
    >>> plain_data(rows[0])
    {'x': 1.0, 'site': 'u'}
    """
    names = getattr(getattr(data, "dtype", None), "names", None)
    if names:
        if isinstance(data, np.void):
            return dict(zip(names, data.item(), strict=True))
        return {name: _field(data, name) for name in names}
    named = getattr(getattr(data, "design_info", None), "column_names", None)
    if isinstance(data, np.ndarray) and named is not None:  # of patsy
        return _named(np.asarray(data), named)
    named = getattr(getattr(data, "model_spec", None), "column_names", None)
    if hasattr(data, "__wrapped__") and named is not None:  # of formulaic
        inner = data.__wrapped__
        if is_frame(inner):
            return inner
        dense = inner.toarray() if hasattr(inner, "toarray") else np.asarray(inner)
        return _named(dense, named)
    if _is_series(data):
        return _of_series(data, columns)
    return data


def _is_series(data: Any) -> bool:
    """Whether data is a series of pandas', or of another library."""
    return hasattr(data, "to_frame") and not hasattr(data, "columns")


def _of_series(series: Any, columns: Sequence[str]) -> Any:
    """A series as one row, where its index names these columns, or as a column."""
    labels = getattr(series, "index", ())
    labels = () if callable(labels) else [str(label) for label in labels]
    if columns and {*columns} <= {*labels}:
        return dict(zip(labels, series.tolist(), strict=True))
    if getattr(series, "name", None) or len(columns) != 1:
        return series
    return series.to_frame(columns[0])


def _field(rows: NDArray[Any], name: str) -> NDArray[Any]:
    """A column of a structured array."""
    values = np.asarray(rows[name])
    if values.ndim > 1:
        raise ArgumentError(
            "data",
            "must have one value a row in column {label!r}",
            Message("shape {shape}", shape=values.shape),
            "Give its parts columns of their own.",
            label=name,
        )
    return values


def _named(rows: NDArray[Any], names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of an array, by name."""
    return dict(zip(names, rows.T, strict=True))


def is_row(data: Any) -> bool:
    """Whether data is one row: a mapping of names to plain values."""
    return isinstance(data, Mapping) and not any(
        hasattr(value, "__len__") and not isinstance(value, str | bytes)
        for value in data.values()
    )


def table_of(data: Any, argument: str = "data") -> Table:
    """Data as a table.

    Parameters
    ----------
    data : frame, dict of columns, dict, or list of dicts
        Frames of pandas, and with narwhals of polars, pyarrow and others.
    argument : str, default "data"
        What errors call it.

    Raises
    ------
    ValueError
        If it is none of these.
    ImportError
        If it needs narwhals.
    """
    if isinstance(data, Table):
        return data
    data = plain_data(data)
    check_eager(data, argument)
    if _is_series(data) and getattr(data, "name", None) is not None:
        data = data.to_frame()
    if hasattr(data, "iloc") and is_frame(data):
        check_distinct(data.columns, argument)
        return PandasTable(data)
    if is_row(data):
        data = [data]
    if isinstance(data, Mapping):
        check_distinct(data, argument)
        return Table(data)
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        return Table(columns_of_rows(data, argument))
    return _by_narwhals(data, argument)


def check_distinct(names: Any, argument: str) -> None:
    """Raise ValueError where two columns have one name, as text."""
    texts = [str(name) for name in names]
    if len(set(texts)) != len(texts):
        raise ArgumentError(
            argument, "must have distinct column names", Message("{texts}", texts=texts)
        )


def is_array(data: Any) -> bool:
    """Whether data are rows without names: an array, or a list of lists or numbers."""
    return isinstance(data, np.ndarray) or (
        isinstance(data, list | tuple)
        and len(data) > 0
        and not isinstance(data[0], Mapping)
    )


def table_of_array(data: Any, names: Sequence[str] | None = None) -> Table:
    """Rows without names as a table; columns are x1, x2, ... unless named here.

    Raises
    ------
    ValueError
        If the rows are not alike, or have another number of columns.
    """
    array = as_array("exog", data)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    width = array.shape[1] if array.ndim == 2 else 0
    if names is None:
        names = [f"x{k + 1}" for k in range(width)]
    if not width or width != len(names):
        raise ArgumentError(
            "exog",
            "must be of shape (n_rows, {value})",
            Message("shape {shape}", shape=array.shape),
            "Use reshape(1, -1) for one row.",
            value=len(names) or "n_columns",
        )
    return Table(dict(zip(names, array.T, strict=True)))


def table_of_inputs(exog: Any, names: Sequence[str] | None = None) -> Table:
    """Inputs without a response: what `table_of` takes, an array, or a series.

    Parameters
    ----------
    exog : as for `table_of`, array_like of shape (n_rows, n_columns), or series
    names : sequence of str, optional
        Of the columns of an array.
    """
    exog = plain_data(exog, names or ())
    if is_array(exog):
        return table_of_array(exog, names)
    if _is_series(exog):
        name = getattr(exog, "name", None)
        exog = exog.to_frame() if name is not None else exog.to_frame("x1")
    return table_of(exog)


def response_of(endog: Any) -> tuple[Any, str]:
    """A response as one value a row, and its name: its own, or y.

    Parameters
    ----------
    endog : array_like of shape (n_rows,) or (n_rows, 1), series, or frame of one column

    Examples
    --------
    >>> response_of(np.array([[1.0], [2.0]]))
    (array([1., 2.]), 'y')
    """
    endog = plain_data(endog)
    if isinstance(endog, Mapping) and len(endog) == 1:
        ((name, values),) = endog.items()
        return values, str(name)
    if is_frame(endog) and len(endog.columns) == 1:
        (name,) = table_of(endog, "endog").names
        return endog[endog.columns[0] if hasattr(endog, "iloc") else name], name
    if is_array(endog) and np.ndim(endog) == 2 and np.shape(endog)[1] == 1:
        return as_array("endog", endog)[:, 0], "y"
    name = getattr(endog, "name", None)
    return endog, "y" if name is None else str(name)


def with_response(table: Table, endog: Any, name: str) -> Table:
    """Inputs and a response as one table.

    Parameters
    ----------
    table : Table
    endog : as for `response_of`
    name : str
        Of the response.

    Raises
    ------
    ValueError
        If they do not belong together.
    """
    endog, _ = response_of(endog)
    shape = np.shape(endog)
    if shape != (table.n_rows,):
        raise ArgumentError(
            "endog",
            f"must have one value a row of exog, {table.n_rows}",
            Message("shape {shape}", shape=shape) if shape else np.asarray(endog)[()],
        )
    check_paired(table.native, endog, "endog", "exog")
    if name in table.names:
        raise ArgumentError(
            "endog",
            "must have a name of its own",
            Message("{name!r}, which is a column of exog", name=name),
            "Drop it there.",
        )
    return table.joined(name, endog)


def _by_narwhals(data: Any, argument: str) -> Table:
    """A frame of another library."""
    kind = kind_name(data)
    if not is_frame(data):
        is_formula = isinstance(data, str) and "~" in data
        raise ArgumentError(
            argument,
            "must be a frame, a dict of columns, a dict for one row or a list of them",
            data if isinstance(data, str) else Message("{kind}", kind=kind),
            "A formula is passed before the data." if is_formula else
            "Make it one of these.",
        )  # fmt: skip
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise ImportError(
            f"reading {kind} needs narwhals >= 2. Install it with: "
            "pip install '.[formula]' in a clone of dyntree, or give a pandas frame."
        ) from error
    check_distinct(getattr(data, "column_names", ()), argument)  # of Arrow
    if kind == "pyarrow.RecordBatch":
        return NarwhalsTable(nw.from_arrow(data, backend="pyarrow"))
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError as error:
        raise ArgumentError(
            argument,
            "must be a frame that narwhals reads, not a lazy one",
            Message("{kind}", kind=kind),
            "Make it a frame in memory first.",
        ) from error
    return NarwhalsTable(frame)


def columns_of_rows(
    rows: Sequence[Mapping[Hashable, Any]], argument: str = "data"
) -> dict[str, list[Any]]:
    """A list of dicts, one a row -> a dict of lists, one a column."""
    check_distinct(rows[0], argument)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
            raise ArgumentError(
                argument,
                "must be dicts with the same keys; row {number} differs from row 0, "
                "{rows}",
                number=number,
                rows=list(rows[0]),
            )
    return {str(name): [row[name] for row in rows] for name in rows[0]}
