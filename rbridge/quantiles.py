"""Quantiles of predictions at probabilities that R gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from dyntree._core.trees import query
from dyntree.api.rmirror import DynaTree
from dyntree.api.rmirror.arguments import as_numbers
from dyntree.api.rmirror.record import cloud_of
from dyntree.encoding.values import Matrix
from dyntree.summaries.counts import CountPrediction
from dyntree.trees.answers.predictions import laws_of

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
        given = counts.exposures_in(exposure, len(rows))
        with np.errstate(over="ignore"):
            laws = CountPrediction.of_laws(laws_of(cloud, rows, 1, given), given)
            return laws.quantile(levels).copy()
    location, scale, df = query.predictive(cloud, rows)
    each = [(location + scale * stdtrit(df, level)).mean(axis=0) for level in levels]
    return np.column_stack(each)
