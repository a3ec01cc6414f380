"""The density where no confirmed cluster is: one broad component behind them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import SAME

DF = 3.0  # of the Student t: the least whole number with a variance


def background_share(known: Any, forgets: bool) -> float:
    """Probability that the next row belongs to no confirmed cluster.

    (m + 1) / (n + 1), of n rows of which m were of none: Laplace's rule, with one row
    more outside. Rows of deleted clusters count where nothing fades.
    """
    weight = known.array("weight")
    total = float(weight.sum())
    outside = total - float(weight[known.array("confirmed") == 1].sum())
    if not forgets:
        total, outside = total + known.lost, outside + known.lost
    return (outside + 1.0) / (total + 1.0)


def background_log_density(known: Any, noise: float, rows: Matrix) -> Vector:
    """Log density of a Student t with the mean and the variances of all rows learned.

    Columns are independent given the common scale: a multivariate t with a diagonal
    scale matrix, shape (n_rows,).
    """
    weight, means = known.array("weight"), known.means()
    total, d = weight.sum(), rows.shape[1]
    centre = weight @ means / total
    variance = weight @ (means - centre) ** 2 + known.squared_deviations().sum(axis=0)
    still = variance <= total * (SAME * centre) ** 2  # but for rounding
    scale = np.where(still, noise**2, variance / total) * (DF - 2.0) / DF
    with np.errstate(divide="ignore"):  # a row that is at the centre
        parts = 2.0 * np.log(np.abs(rows - centre)) - np.log(DF * scale)
    far = np.logaddexp(0.0, logsumexp(parts, axis=1))  # with no number too large
    constant = gammaln(0.5 * (DF + d)) - gammaln(0.5 * DF)
    constant -= 0.5 * (d * np.log(DF * np.pi) + np.log(scale).sum())
    density: Vector = constant - 0.5 * (DF + d) * far
    return density
