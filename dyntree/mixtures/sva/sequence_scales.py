"""Scales of a sequence model that nobody gave, from its first rows."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import Message
from dyntree.mixtures.shared.outlying import far_values
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.misfit import warn_of_few
from dyntree.mixtures.sva.options import MPPCA_OPTIONS

WARM_UP = MPPCA_OPTIONS["warm_up"]  # rows that scales are chosen from, at most
COSTS = tuple(2.0**power for power in (0, *np.arange(-4.0, 0.0, 0.5), 0.5, 1, 2))
NOISES = (1.0, 0.7, 0.5)  # both in those of the mixture, which takes moves for noise
ROWS_EACH = 20  # of a state, on average, where scales are compared


def with_scales(options: dict[str, Any], rows: Matrix) -> dict[str, Any]:
    """Return options of `OnlineHDPHSMM` with numbers in place of "auto".

    The mixture without moves, of clusters of the same shape, gives the first scales.
    It joins states that only their durations tell apart. So sequence models with parts
    and multiples of these scales learn the rows, and that of the best BIC, by the
    likelihood over all paths, gives its scales. The first ones are taken where they are
    as good.
    """
    chosen = [name for name in ("lambda_", "noise") if isinstance(options[name], str)]
    if not chosen:
        return options
    rows = rows[~np.isnan(rows).any(axis=1)][:WARM_UP]
    if len(rows) < 2:
        raise ValueError(
            Message(
                f"'auto' scales need at least 2 rows; got n_samples = {len(rows)}. "
                "Give lambda_ and noise."
            )
        )
    warn_of_few(len(rows))
    rows = np.ascontiguousarray(rows)
    first = mixture_scales(options, rows)
    rows = rows[~far_values(rows).any(axis=1)]  # one would decide the likelihood
    best, least = first, np.inf
    for cost, part in itertools.product(
        COSTS if "lambda_" in chosen else (1.0,),
        NOISES if "noise" in chosen else (1.0,),
    ):
        scales = {"lambda_": first["lambda_"] * cost, "noise": first["noise"] * part}
        found = path_bic(options | scales, rows)
        if found < least:
            best, least = scales, found
    return options | best


def mixture_scales(options: dict[str, Any], rows: Matrix) -> dict[str, float]:
    """Scales of the mixture without moves, or as given."""
    lambda_, noise = options["lambda_"], options["noise"]
    model: OnlineDPGMM | OnlineDPMPPCA
    if options["emission"] == "gmm":
        model = OnlineDPGMM(lambda_, warm_up=len(rows), seed=0)
    else:
        alike = params.given_options(
            {**MPPCA_OPTIONS, **options, "warm_up": len(rows)}, MPPCA_OPTIONS
        )
        model = OnlineDPMPPCA(**alike, seed=0)
    model.update(rows, progress=False)
    found = model.noise if isinstance(noise, str) else noise
    return {"lambda_": model.lambda_, "noise": found}


def path_bic(options: dict[str, Any], rows: Matrix) -> float:
    """BIC of a sequence model of rows it has learned; infinite where states are many.

    A state has a mean, variances, directions and a law of durations, and a pair of them
    a probability to follow one another.
    """
    with warnings.catch_warnings():  # of scales that do not fit
        warnings.simplefilter("ignore")
        model = OnlineHDPHSMM(**options, seed=0).update(rows, progress=False)
        model.merge_now()
        if not 0 < ROWS_EACH * model.n_clusters <= len(rows):
            return np.inf
        total = model.score_total(rows)
    K, width = model.n_clusters, rows.shape[1]
    n_parameters = (
        K * (2 * width + 2) + K * (K - 1) + width * model.clusters().dim.sum()
    )
    return float(n_parameters * np.log(len(rows)) - 2.0 * total)
