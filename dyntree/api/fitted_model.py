"""What results ask of the model of a formula that they are of, and its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.api.model_rows import NewRows
from dyntree.api.offsets import RowOffsets
from dyntree.api.row_weights import RowWeights
from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.evaluate.residuals import OneStepAhead
from dyntree.trees.factory import Trees


class FittedModel(Protocol):
    """What results ask of the `DynamicTreeModel` that they are of."""

    design: Design
    formula: str | None
    endog: NDArray[Any] | None
    exog: Matrix | None
    weights: Vector | None
    shift: Vector | None
    offset_values: Mapping[str, Vector]
    table: Table | None

    @property
    def endog_names(self) -> str:
        """The response as the formula has it."""

    def table_of(self, data: Any) -> Table:
        """Return raw data as a table."""

    def rows(
        self,
        design: Design,
        endog: Any,
        exog: Any = None,
        given: RowWeights | None = None,
        offsets: RowOffsets | None = None,
    ) -> NewRows:
        """Return raw data as they are learned."""

    def with_rows(
        self,
        design: Design,
        endog: Any,
        exog: Any = None,
        given: RowWeights | None = None,
        start: Trees | None = None,
        offsets: RowOffsets | None = None,
    ) -> tuple[Self, NewRows]:
        """Return the same model of other rows, and these as they are learned."""

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which rows of the data have a weight above 0."""

    def unlearned(self, what: str) -> Trees:
        """Return trees that know the features and no row of the model's data."""

    def learned_response(self) -> Any:
        """Return the responses of the model's data as trees learn them."""

    def replay(self) -> OneStepAhead:
        """Return the predictions of each row before it was learned."""

    def remove_data(self) -> None:
        """Let go of the data."""

    def notes(self, design: Design) -> dict[str, Any]:
        """Return what a file stores in addition to the trees."""


@dataclass(frozen=True)
class ModelData:
    """The data from which a model was made.

    Attributes
    ----------
    frame : frame, or dict of columns
        The data, in the caller's type.
    row_labels : Index, or None
        Index of the frame, if it has one.
    """

    frame: Any
    row_labels: Any
