"""What a saved model is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree.api.results import DynamicTreeResults
from dyntree.errors import NotReadyError

POINTS = [0.1, 0.4, 0.5, 0.9]


def answer(model: Any) -> dict[str, Any]:
    """Numbers that tell models apart: predictions, counts and evidence."""
    if isinstance(model, DynamicTreeResults):
        rows = [{"a": p, "site": "u", "day": None} for p in POINTS]
        return {"mean": model.predict(rows).tolist(), "llf": model.llf}
    tree = model.tree
    names = tree.columns
    rows = np.column_stack([POINTS, POINTS[::-1]])
    if names is not None:
        rows = [{"p": p, "q": "u", "r": 0.5} for p in POINTS]
    told: dict[str, Any] = {
        "seen": tree.n_seen, "active": tree.n_active, "llf": tree.log_evidence,
        "frozen": None if model is tree else model.is_frozen, "classes": tree.classes,
    }  # fmt: skip
    try:
        found = model.predict(rows)
    except NotReadyError:
        return told
    if hasattr(found, "proba"):
        return told | {"proba": found.proba.tolist()}
    quantiles = found.quantile([0.05, 0.95]).tolist()
    return told | {"mean": found.mean.tolist(), "quantiles": quantiles}
