"""Rows of phases: one table, with or without a label for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.mixtures import DependentDPMixture, DynamicMeans

ROWS = np.random.default_rng(0).normal(size=(2, 30, 2))


@pytest.mark.parametrize("kind", [DependentDPMixture, DynamicMeans])
@pytest.mark.parametrize(
    "tables", [[*ROWS], (*ROWS,), ROWS, [pd.DataFrame(rows) for rows in ROWS]]
)
def test_a_list_of_phases_is_refused_with_the_remedy(kind: Any, tables: Any) -> None:
    said = r"X must be one table of rows; got 2 tables\. Pass one phase a call, or one"
    with pytest.raises(ValueError, match=said):
        kind(seed=1).update(tables)
