"""Scales and shape of states of a sequence model, from its first rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix
from dyntree.errors import Message, silenced
from dyntree.mixtures.shared.arrays import constants
from dyntree.mixtures.shared.outlying import far_values, warn_of_far_rows
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.misfit import warn_of_few
from dyntree.mixtures.sva.options import LEAST, MPPCA_OPTIONS, HSMMOptions
from dyntree.mixtures.sva.scales import check_columns, warn_of_equal_rows

POWERS = (0.0, -4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 2.0)
COSTS = tuple(2.0**power for power in POWERS)
NOISES = (1.0, 0.7, 0.5)  # both in those of the mixture, which takes moves for noise
ROWS_EACH = 20  # of a state, on average, where scales are compared

Learn = Callable[[HSMMOptions, Matrix, list[int]], Any]  # of rows and ends


def sequence_scales(
    options: HSMMOptions,
    rows: Matrix,
    names: tuple[str, ...],
    ends: tuple[int, ...],
    learn: Learn,
) -> tuple[HSMMOptions, float, float]:
    """Options with one shape of states, cost of a new state, and noise.

    Each is as passed, or chosen from rows.

    The mixture without moves, of clusters of the same shape, gives the first scales.
    It joins states that only their durations tell apart. So sequence models with parts
    and multiples of these scales learn the rows, and that of the best BIC, by the
    likelihood over all paths, gives its shape and scales. Subspaces and the first
    scales are taken where they are as good.

    Parameters
    ----------
    options : HSMMOptions
    rows : ndarray of shape (n_rows, n_features)
        NaN where a value is missing; such rows are left out.
    names : tuple of str
        Names of the columns.
    ends : tuple of int
        Numbers of rows after which a sequence ended.
    learn : callable
        Returns a model with such options, once it has learned rows, with sequences
        that ended after these numbers of them.
    """
    lambda_, noise = options.lambda_, options.noise
    shapes = [replace(options, emission=name) for name in options.emissions_to_try]
    if isinstance(lambda_, float) and isinstance(noise, float):
        return shapes[0], lambda_, noise
    usable = near_rows(rows, names)
    near = np.ascontiguousarray(rows[usable])
    if len(near) < 2:
        raise ValueError(
            Message(
                "'auto' scales need at least 2 rows without a missing value; got "
                "n_samples = {n_rows}, of which {n_whole} have none. Leave out columns "
                "that are missing nearly always, or give lambda_ and noise.",
                n_rows=len(rows),
                n_whole=len(near),
            )
        )
    warn_of_few(len(near))
    check_columns(near, names)
    if isinstance(lambda_, str) and constants(near).all():
        warn_of_equal_rows("lambda_ and noise")
    stops = sorted({int(usable[:end].sum()) for end in ends} - {0})
    candidates = [
        (shape, first * cost, spread * share)
        for shape in shapes
        for first, spread in (quiet_scales(shape, near),)
        for cost in (COSTS if isinstance(lambda_, str) else (1.0,))
        for share in (NOISES if isinstance(noise, str) else (1.0,))
    ]

    def bic(candidate: tuple[HSMMOptions, float, float]) -> float:
        shape, cost, spread = candidate
        # all rows count alike for scales
        tried = replace(shape, lambda_=cost, noise=spread, forget=1.0)
        return path_bic(learn, tried, near, stops)

    return min(candidates, key=bic)  # the first of those that are as good


def near_rows(rows: Matrix, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which rows have no missing value and no far one, which is warned of.

    One far row would decide the likelihood.
    """
    whole = np.asarray(np.isfinite(rows).all(axis=1))
    far = np.zeros(rows.shape, dtype=bool)
    far[whole] = far_values(rows[whole])
    if far.any():
        warn_of_far_rows(rows, far, names)
    return whole & ~far.any(axis=1)


def quiet_scales(options: HSMMOptions, rows: Matrix) -> tuple[float, float]:
    """Scales of the mixture without moves, of rows that have been warned of."""
    with silenced(Warning):
        return mixture_scales(options, rows)


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
    if isinstance(noise, str):  # of equal rows it has no square
        noise = max(model.noise, 2.0 * LEAST)
    return model.lambda_, noise


def path_bic(
    learn: Learn, options: HSMMOptions, rows: Matrix, ends: list[int]
) -> float:
    """BIC of a sequence model of rows it has learned; infinite where states are many.

    A state has a mean, variances, directions and a law of durations, and a pair of them
    a probability to follow one another.
    """
    with silenced(Warning):  # of scales that do not fit
        model = learn(options, rows, ends)
        model.merge_now()
        if not 0 < ROWS_EACH * model.n_clusters <= len(rows):
            return np.inf
        lengths = np.diff(sorted({0, *ends, len(rows)}))
        total = model._total_with_others(rows, lengths)
    K, width = model.n_clusters, rows.shape[1]
    n_parameters = (
        K * (2 * width + 2) + K * (K - 1) + width * model.clusters().dim.sum()
    )
    return float(n_parameters * np.log(len(rows)) - 2.0 * total)
