"""Parquet files as rows that are read when they are asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import DAY, DURATION, LOCAL, NOUNS, NUMBERS, TIMES, ZONED
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, shown

ENDINGS = (".parquet", ".pq")


def is_path(X: Any) -> bool:
    """Whether it is the path of a file."""
    return isinstance(X, str | os.PathLike)


class ParquetRows:
    """Rows of a Parquet file, of which one row group at a time is in memory.

    Known columns are looked up by their names, where they have some. What is no
    such file, or has other columns, or some that are no numbers, raises ValueError.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, path: Any, features: FeatureMap | None, argument: str) -> None:
        if not os.fspath(path).lower().endswith(ENDINGS):
            raise ArgumentError(
                argument,
                "must be rows, or the path of a Parquet file, which ends in {endings}",
                path,
                "Read other files first.",
                endings=" or ".join(ENDINGS),
            )
        try:
            from pyarrow import ArrowInvalid, parquet
        except ImportError as error:
            raise ImportError(
                f"reading {shown(os.fspath(path))} needs pyarrow: pip install pyarrow."
            ) from error
        self.path = os.fspath(path)
        try:
            self._file = parquet.ParquetFile(self.path)
        except ArrowInvalid as error:
            raise ArgumentError(
                argument,
                "must be Parquet where its name says so; {path} is not: {error}",
                path=self.path,
                error=error,
            ) from error
        schema = self._file.schema_arrow
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
        columns = [field for field in schema if field.name not in labels]
        names = tuple(field.name for field in columns)
        kinds = [self._kind(field, argument) for field in columns]
        times = tuple((k, kind) for k, kind in enumerate(kinds) if kind in TIMES)
        own = FeatureMap(len(names), names, times=times)
        if features is not None:
            plain = replace(features, times=())
            plain.encode([dict.fromkeys(names, 0.0)], argument)  # says what is wrong
            self._check_kinds(columns, kinds, features, argument)
        self.features = features = features or own
        self.names = list(features.names or names)
        sizes = [
            self._file.metadata.row_group(k).num_rows
            for k in range(self._file.num_row_groups)
        ]
        self.first = np.cumsum([0, *sizes])
        self.shape = (int(self.first[-1]), len(self.names))
        self._held = -1  # row group that is in memory
        self._rows: Matrix = np.empty((0, len(self.names)))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float64)

    def __getitem__(self, places: Any) -> Matrix:
        if isinstance(places, slice):  # a block: never all numbers for the sake of it
            wanted = np.arange(*places.indices(len(self)))
        else:
            wanted = np.asarray(places)
        out = np.empty((len(wanted), self.shape[1]))
        group = np.searchsorted(self.first, wanted, side="right") - 1
        for k in np.unique(group):
            mine = group == k
            out[mine] = self._group(int(k))[wanted[mine] - self.first[k]]
        return out

    def _group(self, k: int) -> Matrix:
        """Rows of a row group; missing ones are NaN."""
        if k != self._held:
            table = self._file.read_row_group(k, columns=self.names)
            self._rows = np.column_stack([_numbers(c) for c in table.columns])
            self._held = k
        return self._rows

    def _check_kinds(
        self, columns: list[Any], kinds: list[str], features: FeatureMap, argument: str
    ) -> None:
        """Raise ValueError unless columns hold numbers and times where they did."""
        known = dict(features.times)
        wanted = {
            name: known.get(k, NUMBERS) for k, name in enumerate(features.names or ())
        }
        for field, kind in zip(columns, kinds, strict=True):
            if kind != wanted.get(field.name, kind):
                raise ArgumentError(
                    argument,
                    "must hold {nouns} in column {label!r}, as at first; {path} has "
                    "{label!r} of {type}",
                    nouns=NOUNS[wanted[field.name]],
                    label=field.name,
                    path=self.path,
                    type=field.type,
                )

    def _kind(self, field: Any, argument: str) -> str:
        """What a column of the file holds, by its type."""
        from pyarrow import types

        kind = field.type
        if types.is_timestamp(kind):
            return LOCAL if kind.tz is None else ZONED
        if types.is_temporal(kind) and not types.is_interval(kind):
            return LOCAL if types.is_date(kind) else DURATION
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            return NUMBERS
        raise ArgumentError(
            argument,
            "must have columns of numbers or times; {path} has {label!r} of {kind}",
            remedy="Write a file without it.",
            path=self.path,
            label=field.name,
            kind=kind,
        )


def _numbers(column: Any) -> Vector:
    """A column of a table of Arrow's as numbers, times in days."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_temporal(kind):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        fine = pa.timestamp("us", getattr(kind, "tz", None))
    else:
        fine = pa.time64("us") if pa.types.is_time(kind) else pa.duration("us")
    ticks = column.cast(fine, safe=False).cast(pa.int64()).to_numpy()
    return np.asarray(ticks, dtype=np.float64) / DAY
