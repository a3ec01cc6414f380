"""Weights of rows under native rules, and the functions that keep them with rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree.api import rmirror
from dyntree.api.rmirror import DynaTree, RStream
from dyntree.api.rmirror.arguments import as_verb
from dyntree.api.rmirror.changes import learned
from dyntree.api.rmirror.record import cloud_of
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError
from dyntree.params import N_SCALE, TreeOptions
from dyntree.trees.learning.weights import check_weights, in_units, unit_of

from . import counts

BESIDE = ("exposure", "weights")  # fields with one value per active row


def weights_in(weights: ArrayLike, n_rows: int) -> Vector:
    """Weights as R gives them, shape (n_rows,), finite and > 0."""
    found = check_weights(weights, n_rows, "weights")
    if n_rows and not found.min() > 0.0:
        raise ArgumentError(
            "weights",
            "must be > 0",
            0,
            "Leave rows without weight out.",
            row=int(found.argmin()),
        )
    return found


def weighted(
    cloud: Any, options: TreeOptions, weights: Vector
) -> tuple[Any, Vector | None]:
    """A cloud without rows that takes weights of such a meaning, and those it takes."""
    unit = unit_of(options, weights[:N_SCALE])
    cloud = cloud.with_weights(options.meaning_of_weights)
    cloud.set_weight_unit(unit)
    return cloud, _own(cloud, weights)


def update(
    object: DynaTree,
    X: ArrayLike,
    y: ArrayLike,
    verb: int | None = None,
    exposure: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    rng: RStream,
) -> DynaTree:
    """Learn more rows, one after the other; see `rmirror.update`.

    Parameters
    ----------
    object : DynaTree
    X, y, verb, rng
        As in `rmirror.update`.
    exposure : array_like of shape (n_rows,) or float, optional
        Exposures > 0 of counts; by default 1.
    weights : array_like of shape (n_rows,) or float, optional
        Weights > 0, for a fit with weights; by default 1.

    Returns
    -------
    DynaTree
        A new object with the rows, their exposures and their weights appended.
    """
    cloud = cloud_of(object)
    rows = object.spec.encode(X, "X")
    response = object.spec.responses(y, "y", len(rows))
    every = as_verb(verb, response.size)
    found: dict[str, Vector] = {}
    own_weights: Vector | None = None
    own_exposure: Vector | None = None
    if "weights" in object:
        found["weights"] = weights_in(1.0 if weights is None else weights, len(rows))
        own_weights = _own(cloud, found["weights"])
    elif weights is not None:
        raise ArgumentError(
            "weights",
            "is for fits with weights, and this one has none",
            remedy="Leave it out, or fit with weights.",
        )
    if counts.of_counts(object):
        response = counts.counts_in(response)
        found["exposure"] = counts.exposures_in(exposure, len(rows))
        unit = cloud.prior_point["exposure_unit"]
        own_exposure = counts.in_units(found["exposure"], unit)
    after = learned(object, rows, response, every, rng, own_weights, own_exposure)
    fields = {name: np.concatenate((object[name], new)) for name, new in found.items()}
    return after.extended(fields)


def retire(object: DynaTree, *given: Any, **named: Any) -> DynaTree:
    """Forget rows one by one, with weights and exposures; see `rmirror.retire`."""
    after = rmirror.retire(object, *given, **named)
    order = np.argsort(object.row_ids)
    active = order[np.searchsorted(object.row_ids[order], after.row_ids)]
    return after.extended(
        {name: object[name][active] for name in BESIDE if name in object}
    )


def _own(cloud: Any, weights: Vector) -> Vector | None:
    """Weights in the cloud's unit."""
    return in_units(weights, cloud.weight_unit, len(weights))


FUNCTIONS: dict[str, Callable[..., Any]] = {"update": update, "retire": retire}
