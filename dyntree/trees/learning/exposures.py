"""Exposures of counts, as users hold them -> beside the counts, in the cloud's unit."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.frames import check_eager
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.targets import Exposed, count_response
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, AssumedValueWarning, Message, warn
from dyntree.params import TreeOptions
from dyntree.params.checks import as_numbers
from dyntree.trees.state import TreeState

LARGEST_RATIO = 1e9  # of exposures to the unit: doubles keep seven digits of one
NAME = "exposure"


def check_exposure(values: Any, n_rows: int, name: str = NAME) -> Vector:
    """Exposures, or one for all rows -> an array of shape (n_rows,), finite and > 0."""
    check_eager(values, name)
    exposure = as_numbers(name, values, "uif")
    if exposure.ndim == 0 and isinstance(values, Real | np.ndarray):
        exposure = np.full(n_rows, exposure)
    if exposure.shape != (n_rows,):
        got = len(exposure) if exposure.ndim == 1 else f"shape {exposure.shape}"
        raise ArgumentError(
            name, f"must have one value a row of X, {n_rows}", Message("{got}", got=got)
        )
    bad = np.flatnonzero(~(np.isfinite(exposure) & (exposure > 0.0)))
    if len(bad):
        raise ArgumentError(
            name,
            "must be finite and > 0",
            exposure[bad[0]],
            "Correct it, or leave the row out.",
            row=bad[0],
        )
    return exposure


def refuse_exposure(options: TreeOptions, name: str = NAME) -> None:
    """Raise ValueError for a model of anything but counts."""
    if not options.is_count:
        raise ArgumentError(
            name,
            "is for counts, model='poisson' or 'negbin'",
            Message("it for labels" if options.has_labels else "it for real responses"),
            "Leave it out.",
        )


def with_exposure(
    options: TreeOptions, X: Any, y: Any, exposure: Any, name: str = NAME
) -> Any:
    """Counts and what they were counted over -> responses that hold both.

    Without exposures y is given back as it arrived.
    """
    if exposure is None:
        return y
    refuse_exposure(options, name)
    check_paired(X, exposure, name)
    check_paired(X, y)
    n_rows = len(y) if np.ndim(y) else 1
    values = check_exposure(exposure, n_rows, name)
    counts = count_response(y, n_rows)
    return [*map(Exposed, counts.tolist(), values.tolist())]


def apart(labels: Sequence[Any]) -> tuple[Vector, Vector]:
    """Responses of counts -> counts and their exposures, both of shape (n_rows,)."""
    pairs = [one if isinstance(one, Exposed) else (one, 1.0) for one in labels]
    counts, exposure = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return counts.copy(), exposure.copy()


def read_back(options: TreeOptions, responses: Sequence[Any]) -> list[Any]:
    """Responses as a file has them, with lists for `Exposed` counts -> as they were."""
    if not options.is_count:
        return [*responses]
    return [
        Exposed(*one) if isinstance(one, list | tuple) else one for one in responses
    ]


def in_exposure_units(exposure: Vector, unit: float, n_before: int = 0) -> Vector:
    """Exposures in the cloud's unit; those too far from it are refused.

    `n_before` rows at the front are of an earlier call: errors count without them.
    """
    found = exposure / unit
    far = (found > LARGEST_RATIO) | (found < 1.0 / LARGEST_RATIO)
    if far.any():
        row = int(far.argmax())
        raise ArgumentError(
            NAME,
            "must be within a factor of {largest_ratio:g} of the mean exposure of "
            "the first rows, {unit:g}",
            Message("{exposure:g}", exposure=exposure[row]),
            row=row - n_before,
            largest_ratio=LARGEST_RATIO,
            unit=unit,
        )
    return found


def check_response_pairs(X: Any, sample_weight: Any, exposure: Any) -> None:
    """Refuse weights and exposures of responses with another index than the rows."""
    check_paired(X, sample_weight, "sample_weight")
    check_paired(X, exposure, NAME)


def asked_exposure(
    state: TreeState, n_rows: int, exposure: Any, name: str = NAME
) -> Vector:
    """Exposures of counts that are asked about, in the users' unit; 1 by default."""
    if exposure is None:
        return np.ones(n_rows)
    refuse_exposure(state.options, name)
    return check_exposure(exposure, n_rows, name)


def predicted_exposure(state: TreeState, X: Any, n_rows: int, exposure: Any) -> Vector:
    """As `asked_exposure`, with a warning where earlier rows had exposures.

    Rows that are encoded are asked about by the package itself, as rates.
    """
    if exposure is None and state.options.is_count and not isinstance(X, Encoded):
        warn_once_of_default(state)
    return asked_exposure(state, n_rows, exposure)


def warn_once_of_default(state: TreeState) -> None:
    """Warn the first time that rows have no exposures, and those learned had some."""
    if NAME in state.warned:
        return
    if state.cloud is None:
        is_exposed = bool((apart(state.waiting_y)[1] != 1.0).any())
    else:
        is_exposed = state.exposure_unit != 1.0  # the mean of the first ones
    if is_exposed:
        warn(
            AssumedValueWarning,
            "exposure is 1 in these rows, as none is passed, but earlier rows had "
            "exposures. Pass exposure=..., or exposure=1.",
        )
        state.warned.add(NAME)
