"""What users hold -> checked rows of a family, and the rows of each phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.shared.rows import encoded


def read_rows(
    X: Any, features: FeatureMap | None, family: Family
) -> tuple[FeatureMap | None, Matrix]:
    """Columns, known or learned here, and rows that a family has a density for."""
    params.check_dense("X", X)
    if is_nothing(X):
        return features, np.empty((0, 0 if features is None else features.n_features))
    features, rows = encoded(X, features)
    family.check_rows(rows, features.feature_names)
    return features, rows
