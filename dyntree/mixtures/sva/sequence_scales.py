"""Scales of a sequence model that nobody gave, from its first rows."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix
from dyntree.errors import Message
from dyntree.mixtures.shared.outlying import far_values
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.misfit import warn_of_few
from dyntree.mixtures.sva.options import MPPCA_OPTIONS, HSMMOptions

COSTS = tuple(2.0**power for power in (0, *np.arange(-4.0, 0.0, 0.5), 0.5, 1, 2))
NOISES = (1.0, 0.7, 0.5)  # both in those of the mixture, which takes moves for noise
ROWS_EACH = 20  # of a state, on average, where scales are compared

Learn = Callable[[HSMMOptions, Matrix, list[int]], Any]  # of rows and ends


def sequence_scales(
    options: HSMMOptions, rows: Matrix, ends: tuple[int, ...], learn: Learn
) -> tuple[float, float]:
    """Cost of a new state and noise of a sequence model, as given or chosen from rows.

    The mixture without moves, of clusters of the same shape, gives the first scales.
    It joins states that only their durations tell apart. So sequence models with parts
    and multiples of these scales learn the rows, and that of the best BIC, by the
    likelihood over all paths, gives its scales. The first ones are taken where they are
    as good.

    Parameters
    ----------
    options : HSMMOptions
    rows : ndarray of shape (n_rows, n_features)
        NaN where a value is missing; such rows are left out.
    ends : tuple of int
        Numbers of rows after which a sequence ended.
    learn : callable
        Returns a model with such options, once it has learned rows, with sequences
        that ended after these numbers of them.
    """
    lambda_, noise = options.lambda_, options.noise
    if isinstance(lambda_, float) and isinstance(noise, float):
        return lambda_, noise
    usable = np.asarray(np.isfinite(rows).all(axis=1))
    whole = np.ascontiguousarray(rows[usable])
    if len(whole) < 2:
        raise ValueError(
            Message(
                f"'auto' scales need at least 2 rows; got n_samples = {len(whole)}. "
                "Give lambda_ and noise."
            )
        )
    warn_of_few(len(whole))
    first = mixture_scales(options, whole)
    near = ~far_values(whole).any(axis=1)  # one far row would decide the likelihood
    usable[usable] = near
    stops = sorted({int(usable[:end].sum()) for end in ends} - {0})
    best, least = first, np.inf
    for cost, share in itertools.product(
        COSTS if isinstance(lambda_, str) else (1.0,),
        NOISES if isinstance(noise, str) else (1.0,),
    ):
        scales = first[0] * cost, first[1] * share
        tried = replace(options, lambda_=scales[0], noise=scales[1])
        bic = path_bic(learn, tried, whole[near], stops)
        if bic < least:
            best, least = scales, bic
    return best


def mixture_scales(options: HSMMOptions, rows: Matrix) -> tuple[float, float]:
    """Scales of the mixture without moves, or as given."""
    lambda_, noise = options.lambda_, options.noise
    model: OnlineDPGMM | OnlineDPMPPCA
    if options.is_round:
        model = OnlineDPGMM(lambda_, warm_up=len(rows), seed=0)
    else:
        alike = {name: getattr(options, name) for name in MPPCA_OPTIONS}
        model = OnlineDPMPPCA(**alike | {"warm_up": len(rows)}, seed=0)
    model.update(rows, progress=False)
    return model.lambda_, model.noise if isinstance(noise, str) else noise


def path_bic(
    learn: Learn, options: HSMMOptions, rows: Matrix, ends: list[int]
) -> float:
    """BIC of a sequence model of rows it has learned; infinite where states are many.

    A state has a mean, variances, directions and a law of durations, and a pair of them
    a probability to follow one another.
    """
    with warnings.catch_warnings():  # of scales that do not fit
        warnings.simplefilter("ignore")
        model = learn(options, rows, ends)
        model.merge_now()
        if not 0 < ROWS_EACH * model.n_clusters <= len(rows):
            return np.inf
        lengths = np.diff(sorted({0, *ends, len(rows)}))
        total = model.score_total(rows, lengths=lengths)
    K, width = model.n_clusters, rows.shape[1]
    n_parameters = (
        K * (2 * width + 2) + K * (K - 1) + width * model.clusters().dim.sum()
    )
    return float(n_parameters * np.log(len(rows)) - 2.0 * total)
