"""How the locations of particles move from one phase to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Vector
from dyntree.mixtures.shared.checks import Checked, not_negative, within


class Steps(Checked):
    """A transition with steps of one variance, or of one for each column."""

    def _check_steps(self, name: str) -> None:
        value = params.as_array(name, getattr(self, name), np.float64)
        if value.ndim == 0:
            self._check(not_negative, name)
            return
        if value.ndim > 1 or not np.all(np.isfinite(value) & (value >= 0.0)):
            raise ValueError(
                f"{name} must be a number >= 0, or one for each column; got "
                f"{getattr(self, name)!r}."
            )
        self._set(name, tuple(value.tolist()))


def steps_of(name: str, value: Any, width: int) -> Vector:
    """Variances of a step, one for each of so many columns."""
    found = np.asarray(value, dtype=np.float64)
    if found.ndim and len(found) != width:
        raise ValueError(
            f"{name} of the transition must be a number, or one for each of the "
            f"{width} columns of a location; got {len(found)}."
        )
    return np.broadcast_to(found, (width,))


@dataclass(frozen=True)
class RandomWalk(Steps):
    """Locations take a Gaussian step a phase, and may be drawn back to the base.

    Parameters
    ----------
    variance : float or array_like of shape (n_columns,), default 0.1
        Variance of a step, of all columns or of each, in squared units of the rows;
        >= 0. Where the rows have a covariance matrix, along its axes as
        `numpy.linalg.eigh` has them.
    reversion : float, default 1.0
        Factor a in (0, 1]: phi' = b + a (phi - b) + N(0, variance), b the mean of the
        base. 1 is a plain random walk.

    Examples
    --------
    >>> RandomWalk(0.5)
    RandomWalk(variance=0.5, reversion=1.0)
    """

    variance: Any = 0.1
    reversion: float = 1.0

    def __post_init__(self) -> None:
        self._check_steps("variance")
        self._check(within, "reversion", more=(0.0, 1.0, "(]"))


@dataclass(frozen=True)
class Discount(Steps):
    """What is known of a location fades: its sums of rows count less each phase.

    Parameters
    ----------
    delta : float, default 0.9
        Factor in (0, 1] on the sums, each phase: the posterior to the power delta times
        the base to the power 1 - delta (power prior: Ibrahim and Chen 2000).
    walk : float or array_like of shape (n_columns,), default 0.0
        Variance of a step, of all columns or of each, >= 0, for `GaussianUnknown` and
        the locations of `AffineFlow`, as an approximation:
        kappa' = 1 / (1 / kappa + walk d / trace(Sigma)), with Sigma at its mean; of
        each column 1 / (1 / kappa + mean(walk / diag(Sigma))), which no units change.
    relative_walk : float, default 0.0
        Covariance of a further step in units of the particle's own covariance of rows,
        >= 0, for the same families: exactly kappa' = 1 / (1 / kappa + relative_walk),
        in any units.

    Examples
    --------
    >>> Discount(0.8)
    Discount(delta=0.8, walk=0.0, relative_walk=0.0)
    """

    delta: float = 0.9
    walk: Any = 0.0
    relative_walk: float = 0.0

    def __post_init__(self) -> None:
        self._check(within, "delta", more=(0.0, 1.0, "(]"))
        self._check(not_negative, "relative_walk")
        self._check_steps("walk")


Transition = RandomWalk | Discount
