"""Options of dependent Dirichlet process mixtures, declared once and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance
from dyntree.mixtures.ddp.multinomial import Multinomial
from dyntree.mixtures.ddp.regression import (
    AffineFlow,
    GaussianMoving,
    GaussianUnknown,
)
from dyntree.mixtures.ddp.transitions import (
    ConstantVelocity,
    Discount,
    RandomWalk,
    Transition,
)
from dyntree.mixtures.shared.checks import within
from dyntree.params.table import check_options, checked

FAMILIES: dict[str, type[Family]] = {
    "GaussianKnownVariance": GaussianKnownVariance,
    "GaussianUnknown": GaussianUnknown,
    "AffineFlow": AffineFlow,
    "Multinomial": Multinomial,
}
DEFAULT_FAMILY = GaussianUnknown()
MOST_SWEEPS = 2**19
Survival = float | Callable[[Matrix], Any]


def check_family(family: Any) -> Family:
    """Return a family, or what its class makes without arguments."""
    if not isinstance(family, Family):
        listed = ", ".join(FAMILIES)
        raise ArgumentError(
            "family",
            "must be one of {listed}, such as GaussianKnownVariance(1.0)",
            family,
            listed=listed,
        )
    return family


def moving(family: Family, transition: Any) -> Family:
    """The family, with velocities where the transition has some and only there."""
    plain = family.location if isinstance(family, GaussianMoving) else family
    if isinstance(plain, GaussianUnknown) and isinstance(transition, ConstantVelocity):
        return GaussianMoving(plain, transition.start)
    return plain


def check_transition(family: Family, transition: Any) -> Transition:
    """Return a transition of the family, its default for None."""
    if transition is None:
        return family.default_transition()
    is_own = callable(transition) and not isinstance(transition, type)
    if not is_own and not isinstance(transition, family.transitions):
        listed = " or ".join(kind.__name__ for kind in family.transitions)
        raise ArgumentError(
            "transition",
            "must be a {listed} for {kind}, or a function as described in "
            "CustomTransition",
            transition,
            listed=listed,
            kind=type(family).__name__,
        )
    found: Transition = transition
    return found


@dataclass(frozen=True)
class SweepOptions:
    """How often labels are redrawn, and which draws vote; see `DependentDPMixture`."""

    n_sweeps: int = checked(60, params.count, 1, MOST_SWEEPS)
    burn_in: int | None = checked(None, params.count, 0)
    thin: int = checked(2, params.count, 1)
    sampler: str = checked("collapsed", params.one_of, ("collapsed", "uncollapsed"))

    def __post_init__(self) -> None:
        check_options(self)
        n_sweeps, burn_in = self.n_sweeps, self.burn_in
        burn_in = n_sweeps // 3 if burn_in is None else burn_in
        if burn_in >= n_sweeps:
            raise ArgumentError(
                "burn_in",
                f"must be < n_sweeps, {n_sweeps}",
                burn_in,
                "By default it is a third of them.",
            )
        object.__setattr__(self, "burn_in", burn_in)

    def voting_sweeps(self) -> list[int]:
        """The sweeps that vote, numbered from 1."""
        assert self.burn_in is not None
        return list(range(self.burn_in + 1, self.n_sweeps + 1, self.thin))


@dataclass(frozen=True, kw_only=True)
class DDPOptions(SweepOptions):
    """Options of `DependentDPMixture`, as named there."""

    family: Family = DEFAULT_FAMILY
    concentration: float = checked(1.0, params.positive)
    survival: Survival = 0.95
    innovation: float | None = checked(None, params.positive)
    transition: Transition | None = None
    weights: str = checked("gamma", params.one_of, ("gamma", "counts"), r="mixing")
    weight_memory: float = checked(1.0, within, 0.0, 1.0, "(]")
    count_memory: float = checked(1.0, within, 0.0, 1.0, "(]")
    history: int = checked(50, params.count, 1, 10**6)
    history_merge: bool = checked(True, params.flag)
    identity_move: bool = checked(True, params.flag)
    prune: float = checked(1e-6, within, 0.0, 1.0, "[)")
    base: str = checked("stationary", params.one_of, ("stationary", "moved"))
    max_particles: int = checked(512, params.count, 1, 10**6)
    n_chains: int = checked(1, params.count, 1, 1000)

    def __post_init__(self) -> None:
        family = moving(check_family(self.family), self.transition)
        object.__setattr__(self, "family", family)
        super().__post_init__()
        object.__setattr__(
            self, "transition", check_transition(self.family, self.transition)
        )
        self._check_survival()

    def _check_survival(self) -> None:
        if callable(self.survival):
            if self.innovation is None:
                raise ArgumentError(
                    "innovation", "must be given where survival is a function", None
                )
            return
        q = within("survival", self.survival, 0.0, 1.0)
        if q == 1.0 and self.innovation is None:
            raise ValueError(
                Message(
                    "survival=1 needs innovation, as (1 - survival) * concentration "
                    "is 0; got innovation=None."
                )
            )
        object.__setattr__(self, "survival", q)

    @property
    def alpha_new(self) -> float:
        """Mass of the innovation of a phase."""
        if self.innovation is not None:
            return self.innovation
        assert isinstance(self.survival, float)
        return (1.0 - self.survival) * self.concentration

    @property
    def uses_paper_weights(self) -> bool:
        """Whether weights are counts of rows, as in the paper."""
        return self.weights == "counts"

    def survival_at(self, means: Matrix) -> Vector:
        """Survival probabilities of particles at some places, checked."""
        if isinstance(self.survival, float):
            return np.full(len(means), self.survival)
        found = params.as_array("survival", self.survival(means), np.float64)
        found = np.broadcast_to(found, (len(means),)) if found.ndim == 0 else found
        good = found.shape == (len(means),)
        if not good or not np.all((found >= 0.0) & (found <= 1.0)):
            raise ArgumentError(
                "survival",
                f"must give a probability in [0, 1] for each of the {len(means)} means",
                found,
            )
        return found.copy()


DDP_OPTIONS = params.defaults_of(DDPOptions)


def options_to_header(options: DDPOptions) -> dict[str, Any]:
    """Options as JSON can hold them; ValueError for those that are functions."""
    for name, rule in (("survival", "a number"), ("transition", "one of ours")):
        if callable(getattr(options, name)):
            raise ArgumentError(
                name,
                "must be {rule_} to be saved",
                Message("a function, which cannot be stored in a file"),
                "Save what the function needs, and make a new model from it.",
                rule_=rule,
            )
    header = {name: getattr(options, name) for name in DDP_OPTIONS}
    header["family"] = options.family.to_header()
    kind = type(options.transition).__name__
    header["transition"] = {"transition": kind, **vars(options.transition)}
    return header


def transition_from_header(header: dict[str, Any]) -> Transition:
    """The transition that was described."""
    kinds: dict[str, Any] = {
        kind.__name__: kind for kind in (RandomWalk, Discount, ConstantVelocity)
    }
    given = {name: value for name, value in header.items() if name != "transition"}
    found: Transition = kinds[header["transition"]](**given)
    return found


def family_from_header(header: dict[str, Any]) -> Family:
    """The family that was described."""
    given = {name: value for name, value in header.items() if name != "family"}
    if "location" in given:
        location = family_from_header(given["location"])
        given["location"] = location
    made: Any = (FAMILIES | {"GaussianMoving": GaussianMoving})[header["family"]]
    found: Family = made(**given)
    return found


def options_from_header(header: dict[str, Any]) -> DDPOptions:
    """The options that were described."""
    return DDPOptions(
        **header
        | {
            "family": family_from_header(header["family"]),
            "transition": transition_from_header(header["transition"]),
        }
    )
