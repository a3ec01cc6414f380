"""How the locations of particles move from one phase to the next."""

from __future__ import annotations

from dataclasses import dataclass

from dyntree.mixtures.shared.checks import Checked, not_negative, within


@dataclass(frozen=True)
class RandomWalk(Checked):
    """Locations take a Gaussian step a phase, and may be drawn back to the base.

    Parameters
    ----------
    variance : float, default 0.1
        Variance of a step along each axis, in squared units of the rows; >= 0.
    reversion : float, default 1.0
        Factor a in (0, 1]: phi' = b + a (phi - b) + N(0, variance), b the mean of the
        base. 1 is a plain random walk.

    Examples
    --------
    >>> RandomWalk(0.5)
    RandomWalk(variance=0.5, reversion=1.0)
    """

    variance: float = 0.1
    reversion: float = 1.0

    def __post_init__(self) -> None:
        self._check(not_negative, "variance")
        self._check(within, "reversion", more=(0.0, 1.0, "(]"))


@dataclass(frozen=True)
class Discount(Checked):
    """What is known of a location fades: its sums of rows count less each phase.

    Parameters
    ----------
    delta : float, default 0.9
        Factor in (0, 1] on the sums, each phase: the posterior to the power delta times
        the base to the power 1 - delta (power prior: Ibrahim and Chen 2000).
    walk : float, default 0.0
        Variance of a step, >= 0, for `GaussianUnknown` and the locations of
        `AffineFlow`, as an approximation:
        kappa' = 1 / (1 / kappa + walk d / trace(Sigma)), with Sigma at its mean.

    Examples
    --------
    >>> Discount(0.8)
    Discount(delta=0.8, walk=0.0)
    """

    delta: float = 0.9
    walk: float = 0.0

    def __post_init__(self) -> None:
        self._check(within, "delta", more=(0.0, 1.0, "(]"))
        self._check(not_negative, "walk")


Transition = RandomWalk | Discount
