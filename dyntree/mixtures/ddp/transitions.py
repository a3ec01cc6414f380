"""How the locations of particles move from one phase to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.checks import not_negative, within
from dyntree.params.names import SuggestingAttributes, suggesting
from dyntree.params.table import check_options, checked


def column_steps(name: str, value: Any) -> Any:
    """Return variances of a step: a float >= 0, or one for each column."""
    steps = params.as_array(name, value, np.float64)
    if steps.ndim == 0:
        return not_negative(name, value)
    if steps.ndim > 1 or not np.all(np.isfinite(steps) & (steps >= 0.0)):
        raise ArgumentError(
            name, "must be a number >= 0, or one for each column", value
        )
    return tuple(steps.tolist())


def steps_of(name: str, value: Any, width: int) -> Vector:
    """Variances of a step, one for each of so many columns."""
    found = np.asarray(value, dtype=np.float64)
    if found.ndim and len(found) != width:
        raise ValueError(
            Message(
                "{name!a} of the transition must be a number, or one for each of the "
                "{width} columns of a location; got {n_found}.",
                name=name,
                width=width,
                n_found=len(found),
            )
        )
    return np.broadcast_to(found, (width,))


@suggesting
@dataclass(frozen=True)
class RandomWalk(SuggestingAttributes):
    """Locations take a Gaussian step each phase, optionally pulled back to the base.

    Parameters
    ----------
    variance : float or array_like of shape (n_columns,), default 0.1
        Variance of a step, for all columns or for each, in squared units of the rows,
        >= 0. If the rows have a covariance matrix, it is along its axes in the order of
        `numpy.linalg.eigh`.
    reversion : float, default 1.0
        Factor a in (0, 1]: phi' = b + a (phi - b) + N(0, variance), where b is the mean
        of the base. With 1 this is a plain random walk.

    Examples
    --------
    >>> RandomWalk(0.5)
    RandomWalk(variance=0.5, reversion=1.0)
    """

    variance: Any = checked(0.1, column_steps)
    reversion: float = checked(1.0, within, 0.0, 1.0, "(]")

    def __post_init__(self) -> None:
        check_options(self)


@suggesting
@dataclass(frozen=True)
class Discount(SuggestingAttributes):
    """Knowledge of a location fades: the sums of its rows are discounted in each phase.

    Parameters
    ----------
    delta : float, default 0.9
        Factor in (0, 1] by which the sums are multiplied in each phase. This is the
        posterior to the power delta times the base to the power 1 - delta (power prior:
        Ibrahim and Chen 2000).
    walk : float or array_like of shape (n_columns,), default 0.0
        Variance of a step, for all columns or for each, >= 0. It applies to
        `GaussianUnknown` and the locations of `AffineFlow`, as an approximation:
        ``kappa' = 1 / (1 / kappa + walk d / trace(Sigma))``, with Sigma at its mean.
        With a variance for each column, it is
        ``1 / (1 / kappa + mean(walk / diag(Sigma)))``, which does not depend on units.
    relative_walk : float, default 0.0
        Covariance of a further step in units of the particle's own covariance of rows,
        >= 0, for the same families. It is exactly
        ``kappa' = 1 / (1 / kappa + relative_walk)``, in any units.

    Examples
    --------
    >>> Discount(0.8)
    Discount(delta=0.8, walk=0.0, relative_walk=0.0)
    """

    delta: float = checked(0.9, within, 0.0, 1.0, "(]")
    walk: Any = checked(0.0, column_steps)
    relative_walk: float = checked(0.0, not_negative)

    def __post_init__(self) -> None:
        check_options(self)


@suggesting
@dataclass(frozen=True)
class ConstantVelocity(SuggestingAttributes):
    """Locations move on with a velocity of their own, which changes a little.

    It is for `GaussianUnknown`. Variances are in units of the particle's own covariance
    of rows Sigma, so that they are the same in any units of the columns.

    Parameters
    ----------
    noise : float, default 0.05
        Variance q > 0 of the change of a velocity in a phase, in units of Sigma. Larger
        values follow turns sooner, and know less of where a particle will be.
    start : float, default 10.0
        Variance > 0 of the velocity of a new particle, about 0, in units of Sigma.

    Notes
    -----
    Location and velocity are the rows of B = (mu, v)', with
    B | Sigma ~ MN(M, V, Sigma). A phase later, M' = F M and V' = F V F' + Q, where
    F = [[1, 1], [0, 1]] and Q = q [[1/3, 1/2], [1/2, 1]]: velocities are Brownian in
    time (Bar-Shalom, Li and Kirubarajan 2001, section 6.2). Rows tell of mu alone.
    Given the labels, all of this is exact.

    Widths of clusters do not fade, as `Discount` lets them.

    Examples
    --------
    >>> ConstantVelocity(0.01)
    ConstantVelocity(noise=0.01, start=10.0)
    """

    noise: float = checked(0.05, params.positive)
    start: float = checked(10.0, params.positive)

    def __post_init__(self) -> None:
        check_options(self)


Parameters = dict[str, NDArray[np.float64]]


class CustomTransition(Protocol):
    """A user-defined rule for how knowledge of locations changes between phases.

    The rule is any callable with two arguments: the knowledge of n particles, and that
    of the base measure in the same form, with n = 1. It returns the knowledge of the
    particles one phase later. It is called once for each phase that passes, whether or
    not a particle has rows in that phase.

    Notes
    -----
    Entries are in the units of the rows. The number of columns is d; for `AffineFlow`
    it is the number of location columns, and p = d + 1.

    ======================= ============================================
    family                  entries, and their shapes
    ======================= ============================================
    `GaussianKnownVariance` mean and variance of the location, (n, d)
    `GaussianUnknown`       mean (n, d), kappa (n,), df (n,), scale
                            (n, d, d) of a normal-inverse-Wishart law
    `AffineFlow`            these of the locations, and of the flow
                            coefficients (n, p, d), precision (n, p, p),
                            velocity_df (n,), velocity_scale (n, d, d)
    `Multinomial`           beta (n, d) of a Dirichlet law
    ======================= ============================================

    If the rows of `GaussianKnownVariance` have a covariance matrix, `variance` is along
    its axes, in the order of `numpy.linalg.eigh`.

    The result for a particle must depend on this particle only, and be the same for
    equal inputs, because histories are computed again when particles merge and for
    `trajectory`. If the result of a step is not in the family, it must be approximated
    by a member of the family, such as a rotation of unequal variances by variances
    alone.

    A model with a function can be copied, but not saved or pickled, because files of
    this package never contain code. The same applies to a function given as `survival`.

    Examples
    --------
    Locations that rotate about the origin by 0.3 per phase, with a step of variance
    0.01:

    >>> import numpy as np
    >>> turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    >>> def rotation(prior, base):
    ...     mean, variance = prior["mean"], prior["variance"]
    ...     return {"mean": mean @ turn, "variance": variance + 0.01}
    >>> from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
    >>> family = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=50.0)
    >>> model = DependentDPMixture(family, transition=rotation, seed=0)
    >>> rng = np.random.default_rng(1)
    >>> place = np.array([[9.0, 0.0], [-9.0, 0.0]])
    >>> for t in range(4):
    ...     model = model.update(np.repeat(place, 30, 0) + rng.normal(size=(60, 2)))
    ...     place = place @ turn
    >>> model.particles().id.tolist()
    [0, 1]
    """

    def __call__(self, prior: Parameters, base: Parameters) -> Mapping[str, Any]:
        """Parameters of the particles one phase later.

        Parameters
        ----------
        prior : dict of str to ndarray
            What is known of n particles, entries as above.
        base : dict of str to ndarray
            The same of the base measure, with n = 1.

        Returns
        -------
        dict of str to array_like
            All entries of `prior`, of the same shapes. Variances, kappa and beta are
            > 0, df is > d - 1, and scales and precisions are symmetric and positive
            definite. Other answers are a ValueError, and the model stays as it was.
        """
        ...


OwnTransition = RandomWalk | Discount | ConstantVelocity
Transition = OwnTransition | CustomTransition


def checked_parameters(
    found: Any, prior: Parameters, rules: Mapping[str, str]
) -> Parameters:
    """What a user's transition has returned for `prior`, as arrays.

    `rules` says which entries are "positive" and which "definite".
    """
    if not isinstance(found, Mapping) or set(found) != set(prior):
        got = sorted(map(str, found)) if isinstance(found, Mapping) else found
        raise ArgumentError(
            "transition", "must return a dict of {prior}", got, prior=", ".join(prior)
        )
    return {
        name: checked_parameter(name, found[name], old.shape, rules.get(name, ""))
        for name, old in prior.items()
    }


def checked_parameter(
    name: str, value: Any, shape: tuple[int, ...], rule: str
) -> NDArray[np.float64]:
    """One entry of what a user's transition has returned."""
    array = params.as_array(f"{name} that transition returns", value, np.float64)
    if array.shape != shape:
        raise ArgumentError(
            "transition",
            "must return {label} of shape {shape}, as it was given",
            Message("shape {shape}", shape=array.shape),
            label=name,
            shape=shape,
        )
    bad = ~np.isfinite(array)
    said = "finite"
    if rule == "positive":
        bad, said = bad | ~(array > 0.0), "finite and > 0"
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ArgumentError(
            "transition",
            "must return {label} that is {said}",
            Message(
                "{array} for particle {place} of {shape}",
                array=array[place],
                place=place[0],
                shape=shape[0],
            ),
            label=name,
            said=said,
        )
    if rule != "definite":
        return array
    mirrored = np.swapaxes(array, 1, 2)
    for k, (one, other) in enumerate(zip(array, mirrored, strict=True)):
        if not np.allclose(one, other) or np.linalg.eigvalsh(one)[0] <= 0.0:
            raise ArgumentError(
                "transition",
                "must return {label} that is symmetric and positive definite",
                Message(
                    "{one!r} for particle {k} of {shape}", one=one, k=k, shape=shape[0]
                ),
                label=name,
            )
    even: NDArray[np.float64] = 0.5 * (array + mirrored)
    return even
