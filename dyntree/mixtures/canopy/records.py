"""What sweeps of a large mixture report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from dyntree.params.names import SuggestingAttributes


@dataclass(frozen=True)
class CanopySweep(SuggestingAttributes):
    """Record of one sweep.

    Parameters
    ----------
    sweep : int
        From 1.
    seconds : float
        That it took.
    log_likelihood : float
        Mean of the rows that were scored exactly, nats per row, under the parameters
        before the sweep; NaN where none was.
    validation : float
        Mean of the rows that are watched, after the sweep; NaN between looks.
    n_changed : int
        Rows with another component than before.
    n_empty : int
        Components with less than the mean weight of one row.
    refresh : float
        Sweeps in which all lists are made anew, by the present pace.
    list_length : float
        Mean number of candidates of a group.
    stale_mass : float
        Posterior mass that lists had lost; NaN where there are none.
    acceptance : float
        Share of the proposals outside of lists, or of groups, that were taken.
    n_clipped : int
        Variances that were put on their floor.
    """

    sweep: int
    seconds: float
    log_likelihood: float
    validation: float
    n_changed: int
    n_empty: int
    refresh: float
    list_length: float
    stale_mass: float
    acceptance: float
    n_clipped: int


def history_of(reports: Sequence[CanopySweep]) -> np.recarray[Any, Any]:
    """Reports as a record array, one row a sweep."""
    kinds = [
        (field.name, np.int64 if field.type == "int" else np.float64)
        for field in fields(CanopySweep)
    ]
    rows = np.array([astuple(report) for report in reports], dtype=kinds)
    return rows.view(np.recarray)
