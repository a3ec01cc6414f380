"""Rows as users hold them, checked for a family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.given import named_columns
from dyntree.encoding.tables import is_frame
from dyntree.encoding.values import Matrix
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.shared.rows import encoded


class Rows(ABC):
    """A model that knows its columns once a row has come."""

    @property
    @abstractmethod
    def _columns_learned(self) -> FeatureMap | None:
        """The columns that the first rows had; None while not known."""

    @property
    @abstractmethod
    def _rows_of(self) -> Family:
        """The family that rows have to suit."""

    def _encoded(self, X: Any, argument: str = "X") -> tuple[FeatureMap | None, Matrix]:
        """Columns and rows, checked; nothing changes."""
        params.check_dense(argument, X)
        known = self._columns_learned
        if is_nothing(X):
            return known, np.empty((0, 0 if known is None else known.n_features))
        self._check_missing(X, argument)
        features, rows = encoded(X, known, argument)
        self._rows_of.check_rows(rows, features.feature_names)
        return features, rows

    def _check_missing(self, X: Any, argument: str) -> None:
        """Refuse NaN in words of this model."""
        if isinstance(X, Encoded):
            return
        names: tuple[str, ...] = ()
        values = None
        if is_frame(X):
            columns = named_columns(X, argument) or {}
            names = tuple(columns)
            if all(column.values.dtype.kind in "biuf" for column in columns.values()):
                values = np.column_stack([one.values for one in columns.values()])
        elif isinstance(X, np.ndarray | list | tuple):
            values = params.as_array(argument, X)
        if values is None or values.dtype.kind != "f" or values.ndim != 2:
            return
        bad = np.isnan(values)
        if np.any(bad):
            row, column = np.argwhere(bad)[0]
            name = names[column] if names else f"x{column}"
            raise ValueError(
                f"{argument} must be finite: row {row}, column {name!r} is NaN; "
                f"{type(self).__name__} has no missing-value model; drop or impute the "
                "row."
            )
