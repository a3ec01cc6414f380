"""What a model of a formula is: rows, features and data, for people and for results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.fitted_model import ModelData
from dyntree.api.markup import in_html
from dyntree.encoding.design import Design
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Vector


class ModelFacts:
    """The properties of a `DynamicTreeModel` that describe it."""

    design: Design
    formula: str | None
    endog: NDArray[Any] | None
    weights: Vector | None
    table: Table | None

    @property
    def endog_names(self) -> str:
        """The response as the formula has it."""
        return self.design.response.label

    def __repr__(self) -> str:
        """Formula, rows and features, for a prompt."""
        formula = "" if self.formula is None else f"{self.formula!r}, "
        features = "1 feature" if self.df_model == 1 else f"{self.df_model} features"
        return f"<DynamicTreeModel: {formula}{self.nobs} rows, {features}>"

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        facts = {
            "Dynamic tree model": self.formula or f"of {self.endog_names}",
            "No. observations": self.nobs,
            "Features": ", ".join(self.exog_names),
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{in_html(fact)}</td></tr>"
            for name, fact in facts.items()
        )
        return f"<table>{rows}</table>"

    @property
    def nobs(self) -> int:
        """Rows of the data, but for those of weight 0."""
        if self.weights is not None:
            return int(np.count_nonzero(self.weights))
        return 0 if self.endog is None else len(self.endog)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which rows of the data have a weight above 0, shape (n_rows,)."""
        if self.weights is None:
            return np.ones(self.nobs, dtype=bool)
        return np.asarray(self.weights > 0.0)

    @property
    def df_model(self) -> int:
        """Number of features."""
        return len(self.exog_names)

    @property
    def data(self) -> ModelData | None:
        """The data as they were given, less the rows left out, and their labels."""
        if self.table is None:
            return None
        return ModelData(self.table.native, self.table.row_labels)

    @property
    def model_spec(self) -> Design:
        """The terms, by the name that statsmodels has for them."""
        return self.design

    @property
    def exog_names(self) -> list[str]:
        """Names of the features."""
        return list(self.design.names)
