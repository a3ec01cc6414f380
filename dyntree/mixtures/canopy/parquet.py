"""Parquet files as rows that are read when they are asked for."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix

ENDINGS = (".parquet", ".pq")


def is_path(X: Any) -> bool:
    """Whether it is the path of a file."""
    return isinstance(X, str | os.PathLike)


class ParquetRows:
    """Rows of a Parquet file, of which one row group at a time is in memory.

    Parameters
    ----------
    path : str or path
    features : FeatureMap or None
        Columns that are known; by their names where they have some.
    argument : str
        What the caller calls the file.

    Raises
    ------
    ImportError
        Without pyarrow.
    ValueError
        For what is no such file, columns that are no numbers, or other columns than
        before.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, path: Any, features: FeatureMap | None, argument: str) -> None:
        if not os.fspath(path).lower().endswith(ENDINGS):
            raise ValueError(
                f"{argument} must be rows, or the path of a Parquet file, which ends "
                f"in {' or '.join(ENDINGS)}; got {path!r}. Read other files first."
            )
        try:
            from pyarrow import ArrowInvalid, parquet, types
        except ImportError as error:
            raise ImportError(
                f"reading {os.fspath(path)} needs pyarrow: pip install pyarrow."
            ) from error
        self.path = os.fspath(path)
        try:
            self._file = parquet.ParquetFile(self.path)
        except ArrowInvalid as error:
            raise ValueError(
                f"{argument} must be Parquet where its name says so; {self.path} is "
                f"not: {error}."
            ) from error
        import pandas as pd

        schema = self._file.schema_arrow
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
        columns = [field for field in schema if field.name not in labels]
        for field in columns:
            kind = field.type
            numeric = types.is_integer(kind) or types.is_floating(kind)
            if not numeric and not types.is_boolean(kind):
                raise ValueError(
                    f"{argument} must have columns of numbers; {self.path} has "
                    f"{field.name!r} of {kind}. Write a file without it."
                )
        names = [field.name for field in columns]
        named = pd.DataFrame(np.zeros((1, len(names))), columns=names)
        if features is None:
            features = FeatureMap.learn(named)[0]
        else:
            features.encode(named, argument)  # says what is wrong
        self.features = features
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
            self._rows = np.column_stack(
                [
                    table.column(name).to_numpy().astype(np.float64)
                    for name in self.names
                ]
            )
            self._held = k
        return self._rows
