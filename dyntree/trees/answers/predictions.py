"""Rows -> predictions of a tree: distributions, coefficients, heights and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree import params
from dyntree._core.student_mixture import moments
from dyntree._core.trees import query
from dyntree._core.trees.forest import Forest
from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix, Vector
from dyntree.params import TreeOptions
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.summaries.counts import CountPrediction
from dyntree.trees.answers.linear_laws import linear_laws
from dyntree.trees.learning.weights import reweighed


def mixture_of(
    cloud: Any, rows: Matrix, n_threads: int = 1, weights: Vector | None = None
) -> Any:
    """Predictive of real responses at encoded rows, as of `query.mixture`.

    `weights`, of shape (n_rows,), divide the variance of each response about its mean.
    """
    if isinstance(cloud, Forest):
        parts = cloud.mixture(rows)
    else:
        parts = query.mixture(cloud, rows, n_threads)
    return parts if weights is None else reweighed(parts, weights)


def laws_with(
    cloud: Any,
    start: NDArray[np.int64],
    share: Vector,
    first: Vector,
    second: Vector,
    exposure: Vector,
) -> Any:
    """Laws of counts by the parameters of leaves; see `RateLaws`.

    Exposures, of shape (n_rows,), are in the cloud's unit.
    """
    each = np.repeat(exposure, np.diff(start))
    size = cloud.prior_point["size"]
    return start, share, first, second, size * each if size else each * np.inf, each


def laws_of(cloud: Any, rows: Matrix, n_threads: int, exposure: Vector) -> Any:
    """Laws of counts at encoded rows, by exposures of shape (n_rows,) as users give."""
    own = exposure / cloud.prior_point["exposure_unit"]
    if isinstance(cloud, LinearFilters):
        return linear_laws(cloud, rows, own)
    start, share, _, first, second, _ = query.mixture(cloud, rows, n_threads)
    return laws_with(cloud, start, share, first, second, own)


def proba_of(cloud: Any, rows: Matrix, n_threads: int = 1) -> Matrix:
    """Probabilities of the classes at encoded rows, shape (n_rows, n_classes)."""
    if isinstance(cloud, Forest | LinearFilters):
        return cloud.predict_proba(rows, n_threads)
    return query.predict_class(cloud, rows, n_threads)["p"]


def blank_prediction(
    options: TreeOptions, n_rows: int, exposure: Any = None
) -> Prediction | ClassPrediction:
    """Predictions of rows by a model that has learned none, where a face needs some.

    Their mean is 0 and their variance infinite, and all classes have the same
    probability. `exposure`, of shape (n_rows,), is that of counts, by default 1.
    """
    if options.is_count:
        at = np.ones(n_rows) if exposure is None else np.asarray(exposure)
        return CountPrediction.of_sample(np.empty(0), np.empty(0), at)
    if options.has_labels:
        classes = options.classes or ()
        proba = np.full((n_rows, len(classes)), 1.0 / max(1, len(classes)))
        return ClassPrediction(proba, classes, entr(proba).sum(axis=1))
    return Prediction.of_sample([], n_rows)


def mean_of(cloud: Any, rows: Matrix) -> Matrix:
    """Mean prediction, or probabilities, of rows as the cloud stores them."""
    if cloud.model in params.LABELS:
        return proba_of(cloud, rows)
    mean: Matrix = moments(*mixture_of(cloud, rows)[:5])[0][:, None]
    return mean
