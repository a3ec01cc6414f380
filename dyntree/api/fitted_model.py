"""What results ask of the model of a formula that they are of."""

from __future__ import annotations

from typing import Any, Protocol, Self

from numpy.typing import NDArray

from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix
from dyntree.residuals import OneStepAhead
from dyntree.trees.factory import Trees


class FittedModel(Protocol):
    """What results ask of the `DynamicTreeModel` that they are of."""

    design: Design
    endog: NDArray[Any] | None
    exog: Matrix | None
    table: Table | None

    @property
    def endog_names(self) -> str:
        """The response as the formula has it."""

    def table_of(self, data: Any) -> Table:
        """Return raw data as a table."""

    def rows(
        self, design: Design, endog: Any, exog: Any = None
    ) -> tuple[Matrix, list[Any], list[tuple[int, Design]]]:
        """Return features, responses, and designs with levels that come late."""

    def with_rows(
        self, design: Design, endog: Any, exog: Any = None, start: Trees | None = None
    ) -> Self:
        """Return the same model of other rows, by trees that go on or begin."""

    def unlearned(self, what: str) -> Trees:
        """Return trees that know the features and no row of the model's data."""

    def replay(self) -> OneStepAhead:
        """Return what was said of each row before it was learned."""

    def remove_data(self) -> None:
        """Let go of the data."""

    def notes(self, design: Design) -> dict[str, Any]:
        """Return what a file keeps beside the trees."""
