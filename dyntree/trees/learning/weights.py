"""Weights of rows, as users hold them -> as a cloud takes them, in the model's unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import take
from dyntree.encoding.frames import check_eager
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import TreeOptions
from dyntree.params.checks import as_numbers
from dyntree.trees.state import TreeState

LARGEST_WEIGHT = 1e9  # in the unit: beside it, doubles keep seven digits of a row of 1
NAME = "sample_weight"


@dataclass(frozen=True, eq=False)
class Responses:
    """Responses of some rows as a cloud takes them, and their weights.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Responses, or places of labels.
    weights : ndarray of shape (n_rows,) or None
        In the model's unit; None where all are 1.
    exposures : ndarray of shape (n_rows,) or None
        Of counts, in the model's unit; None for other responses.
    """

    y: Vector
    weights: Vector | None = None
    exposures: Vector | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> Responses:
        weights = None if self.weights is None else self.weights[rows]
        exposures = None if self.exposures is None else self.exposures[rows]
        return Responses(self.y[rows], weights, exposures)


def check_weights(values: Any, n_rows: int, name: str = NAME) -> Vector:
    """Weights, or one for all rows -> an array of shape (n_rows,), >= 0."""
    check_eager(values, name)
    weights = as_numbers(name, values)
    if weights.ndim == 0 and isinstance(values, Real | np.ndarray):
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        got = len(weights) if weights.ndim == 1 else f"shape {weights.shape}"
        raise ArgumentError(
            name, f"must have one value a row of X, {n_rows}", Message("{got}", got=got)
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        raise ArgumentError(
            name,
            "must be finite and >= 0",
            weights[bad[0]],
            "Correct it, or leave the row out.",
            row=bad[0],
        )
    return weights


def weighed(
    options: TreeOptions, X: Any, y: Any, sample_weight: Any, name: str = NAME
) -> tuple[Any, Any, Vector | None]:
    """Leave out the rows that weigh nothing; weights of the others, or None for all 1.

    Parameters
    ----------
    options : TreeOptions
        R's rules know no weights.
    X, y
        As for `update`.
    sample_weight : array_like of shape (n_rows,), float or None
    name : str, default "sample_weight"
        What errors call the weights.
    """
    if sample_weight is None:
        return X, y, None
    refuse_r(options, name)
    check_paired(X, sample_weight, name)
    weights = check_weights(sample_weight, len(y) if np.ndim(y) else 1, name)
    if np.all(weights == 1.0):
        return X, y, None
    if not weights.any():
        raise ArgumentError(
            name,
            "must not be zero in all rows",
            Message(f"0 in all {len(weights)}"),
        )
    held = np.flatnonzero(weights)
    if len(held) < len(weights):
        X, y, weights = take(X, held), some(y, held), weights[held]
    return X, y, weights


def refuse_r(options: TreeOptions, name: str = NAME) -> None:
    """Raise ValueError under R's rules, which know no weights."""
    if options.rules == "r":
        raise ArgumentError(
            name,
            "is for rules='native': CRAN dynaTree has no weights",
            remedy="Leave it out, or repeat rows.",
        )


def some(values: Any, rows: NDArray[np.int64]) -> Any:
    """Some of the responses, as they were given."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if isinstance(values, np.ndarray):
        return values[rows]
    values = list(values)
    return [values[k] for k in rows.tolist()]


def joined(
    old: Vector | None, n_old: int, new: Vector | None, n_new: int
) -> Vector | None:
    """Weights of rows after those of others, None where all are 1."""
    if old is None and new is None:
        return None
    return np.concatenate(
        [np.ones(n_old) if old is None else old, np.ones(n_new) if new is None else new]
    )


def unit_of(options: TreeOptions, first: Vector | None) -> float:
    """What weights are divided by: the mean of the first rows', unless they count."""
    if first is None or options.meaning_of_weights == "frequency":
        return 1.0
    return float(first.mean())


def in_units(
    weights: Vector | None, unit: float, n_rows: int, n_before: int = 0
) -> Vector | None:
    """Weights in the model's unit, None where all are 1; too large ones are refused.

    `n_before` rows at the front are of an earlier call: errors count without them.
    """
    if weights is None and unit == 1.0:
        return None
    found = (np.ones(n_rows) if weights is None else weights) / unit
    if found.max(initial=0.0) > LARGEST_WEIGHT:
        row = int(found.argmax())
        raise ArgumentError(
            NAME,
            "must be at most {largest_weight:g} times the mean weight of the first "
            "rows, {unit:g}",
            Message("{found:g}", found=found[row] * unit),
            row=row - n_before,
            largest_weight=LARGEST_WEIGHT,
            unit=unit,
        )
    if not found.min(initial=1.0) > 0.0:
        row = int(found.argmin())
        raise ArgumentError(
            NAME,
            "must be 0 or a number that is not negligible compared with the mean "
            "weight of the first rows, {unit:g}",
            Message("{found:g}", found=found[row] * unit),
            row=row - n_before,
            unit=unit,
        )
    return None if np.all(found == 1.0) else found


def admit_weights(state: TreeState, weights: Vector | None, unit: float = 1.0) -> None:
    """Let the cloud know weights and their unit, if it has to and does not yet."""
    if weights is None and unit == 1.0:
        return
    cloud = state.cloud
    if cloud.weighting is None:
        cloud = cloud.with_weights(state.options.meaning_of_weights)
    if unit != 1.0:
        cloud.set_weight_unit(unit)
    state.cloud = cloud


def check_admissible(
    states: Sequence[TreeState], weights: Vector | None, n_rows: int
) -> None:
    """Raise ValueError where one of some models cannot learn rows of these weights."""
    for state in states:
        if state.cloud is not None:
            in_units(weights, state.weight_unit, n_rows)


def row_weight(state: TreeState, weight: float) -> Vector | None:
    """The weight of one row, > 0, as the cloud takes it; see `Responses`."""
    if weight == 1.0 and state.weight_unit == 1.0:
        return None
    weights = in_units(np.array([weight], dtype=np.float64), state.weight_unit, 1)
    admit_weights(state, weights)
    return weights


def response_weights(
    state: TreeState, n_rows: int | None, sample_weight: Any, name: str = NAME
) -> Vector | None:
    """Weights of responses that are asked about; None: all 1.

    Without a number of rows nothing but the model is checked.
    """
    options = state.options
    if sample_weight is not None:
        refuse_r(options, name)
        if options.meaning_of_weights == "frequency":
            raise ValueError(
                Message(
                    "{name!a} of a prediction divides the variance of its response, "
                    "but weights of this model are frequencies (model={model!r}, "
                    "weighting={weighting!r}). Leave it out.",
                    name=name,
                    model=options.model,
                    weighting=options.weighting,
                )
            )
    if n_rows is None:
        return None
    weights = None if sample_weight is None else check_weights(sample_weight, n_rows)
    if weights is not None and n_rows and not weights.min() > 0.0:
        row = int(weights.argmin())
        raise ArgumentError(name, "must be > 0 to predict", 0.0, row=row)
    return weights


def candidate_weights(
    state: TreeState, n_rows: int, sample_weight: Any
) -> Vector | None:
    """Weights of responses that may be sampled, in the model's unit; None: all 1."""
    if sample_weight is None:
        return None
    refuse_r(state.options)
    weights = check_weights(sample_weight, n_rows)
    if n_rows and not weights.min() > 0.0:
        row = int(weights.argmin())
        raise ArgumentError(NAME, "must be > 0 in candidates", 0.0, row=row)
    return weights / state.weight_unit


def reweighed(parts: Any, weights: Vector) -> Any:
    """Mixtures of responses of weight 1, as of `query.mixture` -> of other weights.

    What a scale has beside that of the mean is noise: its square is divided.
    """
    start, share, location, scale, df, of_mean = parts
    w = np.repeat(weights, np.diff(start))
    noise = np.maximum(scale**2 - of_mean**2, 0.0)
    scale = np.where(w == 1.0, scale, np.sqrt(noise / w + of_mean**2))
    return start, share, location, scale, df, of_mean


def one_weight(options: TreeOptions, weight: Any, name: str = NAME) -> float:
    """The weight of one row, >= 0."""
    if type(weight) is float and weight == 1.0:
        return weight
    found = float(check_weights(weight, 1, name)[0])
    if found != 1.0:
        refuse_r(options, name)
    return found
