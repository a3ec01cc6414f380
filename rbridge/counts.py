"""R's functions for trees of counts, which native rules alone have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree._core.trees import query
from dyntree.api.rmirror import DynaTree
from dyntree.api.rmirror.arguments import as_verb
from dyntree.api.rmirror.predict import plan_predict
from dyntree.api.rmirror.progress import print_particles
from dyntree.api.rmirror.record import cloud_of
from dyntree.encoding.targets import count_response
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import COUNTS
from dyntree.summaries.counts import CountPrediction
from dyntree.trees.answers.predictions import laws_of
from dyntree.trees.learning.exposures import check_exposure, in_exposure_units


def of_counts(tree: DynaTree | None) -> bool:
    """Whether the model of an object is one of counts."""
    return tree is not None and tree.model in COUNTS


def counts_in(y: Vector) -> Vector:
    """Counts among responses, shape (n_rows,), or an error for others."""
    return count_response(y, len(y))


def exposures_in(exposure: ArrayLike | None, n_rows: int) -> Vector:
    """Exposures as R gives them, shape (n_rows,), 1 by default."""
    return check_exposure(1.0 if exposure is None else exposure, n_rows)


def in_units(exposure: Vector, unit: float) -> Vector:
    """Exposures as a cloud takes them."""
    return in_exposure_units(exposure, unit)


def predict(
    object: DynaTree,
    XX: ArrayLike,
    yy: ArrayLike | None = None,
    quants: bool = True,
    ei: bool = False,
    verb: int = 0,
    exposure: ArrayLike | None = None,
) -> DynaTree:
    """Predict counts at new rows, averaging over particles.

    Parameters
    ----------
    object : DynaTree
    XX, yy, quants, ei, verb
        As in `rmirror.predict`. `ei` must be False.
    exposure : array_like of shape (n_new,) or float, optional
        Exposures > 0; by default 1.

    Returns
    -------
    DynaTree
        An object with mean, vmean, var, q1 and q2 (quantiles of the mixture of all
        particles) and yypred, each of shape (n_new,), XX as stored, and XXexposure.
    """
    cloud = cloud_of(object)
    plan = plan_predict(object.spec, XX, yy, quants, ei)
    if plan.ei:
        raise ArgumentError(
            "ei", "is for real responses, and not for counts", remedy="Leave it out."
        )
    given = exposures_in(exposure, len(plan.X))
    with np.errstate(over="ignore"):  # moments over huge exposures are infinite
        prediction = CountPrediction.of_laws(laws_of(cloud, plan.X, 1, given), given)
        means = query.predictive(cloud, plan.X)[0] * given
        found = {
            "mean": prediction.mean,
            "vmean": means.var(axis=0),
            "var": prediction.var,
        }
        if plan.quants:
            found["q1"], found["q2"] = prediction.quantile([0.05, 0.95]).T.copy()
        found["yypred"] = np.empty(0)
        if plan.y is not None:
            found["yypred"] = np.exp(prediction.log_density(counts_in(plan.y)))
    print_particles(cloud.n_particles, as_verb(verb, 0))
    old = {"q1", "q2"} - set(found)  # of another call, perhaps of other rows
    asked = {"XX": plan.X, "XXexposure": given}
    return object.extended(found | asked, without=old)


def _refusal(name: str) -> Callable[..., Any]:
    """A function that is not for counts."""

    def refuse(object: DynaTree, **asked: Any) -> Any:
        raise ArgumentError(
            name,
            "is not for counts",
            Message("model={model!r}", model=object.model),
            "The Python package has criteria and sensitivities of counts.",
        )

    return refuse


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "predict": predict,
    **{
        name: _refusal(name)
        for name in (
            "coef", "alc", "alcX", "ieci", "qEI", "qEntropy", "sens", "classprobs",
            "entropyX",
        )
    },
}  # fmt: skip
