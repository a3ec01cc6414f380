"""Quantiles of predictions, and what is known of their means, as R asks for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from dyntree._core.trees import query
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.api.rmirror import DynaTree
from dyntree.api.rmirror.arguments import as_numbers
from dyntree.api.rmirror.record import cloud_of
from dyntree.encoding.values import Matrix, Vector
from dyntree.summaries.counts import CountPrediction
from dyntree.summaries.real import Prediction
from dyntree.trees.answers.predictions import laws_of, mixture_of

from . import counts


def quantiles(
    object: DynaTree,
    XX: ArrayLike,
    probs: ArrayLike,
    exposure: ArrayLike | None = None,
) -> Matrix:
    """Quantiles of new responses.

    Parameters
    ----------
    object : DynaTree
        A regression, or a model of counts.
    XX : array_like of shape (n_new, n_inputs)
    probs : array_like of shape (n_probs,)
        Probabilities between 0 and 1.
    exposure : array_like of shape (n_new,) or float, optional
        Exposures > 0 of counts; by default 1.

    Returns
    -------
    ndarray of shape (n_new, n_probs)
        Averages of the particles' quantiles, which `rmirror.predict` returns as q1 and
        q2 for 0.05 and 0.95. For counts, quantiles of the mixture of all particles.
    """
    cloud = cloud_of(object)
    rows = object.spec.encode(XX, "XX")
    levels = as_numbers(probs, "probs")
    if counts.of_counts(object):
        with np.errstate(over="ignore"):
            return _counts_at(object, rows, exposure).quantile(levels).copy()
    location, scale, df = query.predictive(cloud, rows)
    each = [(location + scale * stdtrit(df, level)).mean(axis=0) for level in levels]
    return np.column_stack(each)


def of_mean(
    object: DynaTree,
    XX: ArrayLike,
    probs: ArrayLike,
    exposure: ArrayLike | None = None,
) -> dict[str, Vector]:
    """Standard deviations and quantiles of the posterior of the means at rows.

    Parameters
    ----------
    object, XX, probs, exposure
        As for `quantiles`.

    Returns
    -------
    dict
        `se`, the standard deviations, of shape (n_new,), and `quantile`, of shape
        (n_new, n_probs).
    """
    rows = object.spec.encode(XX, "XX")
    levels = as_numbers(probs, "probs")
    prediction: Prediction
    if counts.of_counts(object):
        prediction = _counts_at(object, rows, exposure)
    else:
        least_df = LEAST_DF if object.get("rules") == "native" else 0.0
        parts = mixture_of(cloud_of(object), rows)
        prediction = Prediction.of_mixture(parts, 1, least_df)
    return mean_of(prediction, levels)


def mean_of(prediction: Prediction, levels: Vector) -> dict[str, Vector]:
    """The answer of `of_mean` from a prediction."""
    ends = prediction.of_mean.quantile(levels)
    return {
        "se": prediction.mean_se,
        "quantile": ends.reshape(len(prediction.mean), len(levels)),
    }


def _counts_at(
    object: DynaTree, rows: Matrix, exposure: ArrayLike | None
) -> CountPrediction:
    """Counts at rows as the cloud stores them."""
    given = counts.exposures_in(exposure, len(rows))
    laws = laws_of(cloud_of(object), rows, 1, given)
    return CountPrediction.of_laws(laws, given)
