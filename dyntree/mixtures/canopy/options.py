"""Options of mixtures with many components, declared once and checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyntree import params
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.checks import not_negative, within
from dyntree.params.names import SuggestingAttributes, suggesting
from dyntree.params.table import check_options, checked

FAMILIES = ("spherical", "spherical_tied", "diag", "full", "poisson", "multinomial")
INFERENCES = ("em", "esca", "canopy1", "canopy2", "tree", "auto")
STARTS = (
    "random", "kmeans", "kmeans++", "covertree", "covertree_means", "covertree_level",
    "auto",
)  # fmt: skip
WEIGHTS = ("map", "sample", "collapsed")
EMPTY = ("reseed", "prior")
STEPS = ("map", "sample")
MOST_COMPONENTS = 2**24


@suggesting
@dataclass(frozen=True, kw_only=True)
class MixturePrior(SuggestingAttributes):
    """Prior of every component, in the units of the columns.

    Parameters
    ----------
    mean : array_like of shape (n_features,), optional
        Mean of the prior of the means; by default the means of the columns.
    mean_strength : float, default 0.01
        Number of rows to which `mean` is equivalent. If the default of `variance` is
        reduced, this number is reduced in the same proportion.
    df : float, optional
        Number of rows to which `variance` is equivalent; by default 4, and at least
        n_features + 2 for the family "full".
    variance : array_like of shape (n_features,), optional
        Prior variance of each column within a component. The default is a tenth of the
        variances of the columns plus a thousandth, and for round components their
        median. If the pooled variances within components are smaller, because clusters
        are far apart, the default is nearly these. A given variance does not change.
    rate : float, optional
        Poisson and multinomial: number of counts of each column in the prior. The
        default for Poisson is 1, with as many prior rows as give the mean of all
        columns, and for multinomial 1 / n_features.
    reg_covar : float, optional
        Makes the estimates maximum likelihood, with this value added to each variance,
        as in scikit-learn's GaussianMixture; see `none`.
    """

    mean: Vector | None = None
    mean_strength: float = checked(0.01, params.positive)
    df: float | None = checked(None, params.positive)
    variance: Vector | None = None
    rate: float | None = checked(None, params.positive)
    reg_covar: float | None = checked(None, params.positive)

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("mean", "variance"):
            value = getattr(self, name)
            if value is not None:
                array = params.as_array(name, value, float)
                if array.ndim != 1 or not (abs(array) < float("inf")).all():
                    raise ArgumentError(
                        name,
                        "must be a vector of finite numbers, one for each column",
                        value,
                    )
                if name == "variance" and not (array > 0).all():
                    raise ArgumentError("variance", "must be > 0 in every column")
                array = array.copy()
                array.setflags(write=False)  # copies of a model share it
                object.__setattr__(self, name, array)

    @classmethod
    def none(cls, reg_covar: float = 1e-6) -> MixturePrior:
        """No prior: maximum likelihood, with a floor under the variances."""
        return cls(reg_covar=reg_covar)


@suggesting
@dataclass(frozen=True, kw_only=True)
class CanopyOptions(SuggestingAttributes):
    """Options that control the cost of sweeps and their additional steps.

    Parameters
    ----------
    group_size : int, default 32
        Approximate number of rows that share a list of candidates.
    prototypes : int, optional
        Number of groups, each with one proposal (inference "canopy1"); it replaces
        `group_size`.
    list_loss : float, default 0.003
        Share of a group's posterior that its new list may miss.
    stale_target : float, default 0.02
        Share of the posterior that old lists may miss. It determines how often lists
        are rebuilt.
    refresh_max : int, default 128
        Number of sweeps after which a list is always rebuilt.
    explore : float, default 0.01
        Probability of a proposal outside the list.
    list_max : int, default 256
        Length of the longest list.
    mh_steps : int, optional
        Number of Metropolis-Hastings steps for each row and sweep; by default 2 for
        "canopy1", else 1.
    theta_step : {"map", "sample"}
        Whether parameters are posterior modes or drawn from their posterior.
    empty : {"reseed", "prior"}
        With "reseed", a component without rows starts again at a row that fits badly.
        With "prior", its parameters are those of the prior.
    polish : int, default 0
        Number of exact EM sweeps at the end.
    """

    group_size: int = checked(32, params.count, 4, 4096)
    prototypes: int | None = checked(None, params.count, 1)
    list_loss: float = checked(0.003, within, 0.0, 0.5, "()")
    stale_target: float = checked(0.02, within, 0.0, 0.5, "()")
    refresh_max: int = checked(128, params.count, 1)
    explore: float = checked(0.01, within, 0.0, 0.5, "()")
    list_max: int = checked(256, params.count, 1, MOST_COMPONENTS)
    mh_steps: int | None = checked(None, params.count, 1)
    theta_step: str = checked("map", params.one_of, STEPS)
    empty: str = checked("reseed", params.one_of, EMPTY)
    polish: int = checked(0, params.count, 0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.list_loss >= self.stale_target:
            raise ArgumentError(
                "list_loss",
                "must be below stale_target, {stale_target:g}, as fresh lists could "
                "not meet it",
                Message("{list_loss:g}", list_loss=self.list_loss),
                stale_target=self.stale_target,
            )


@dataclass(frozen=True, kw_only=True)
class MixtureOptions:
    """What a mixture is, and how it is fitted; see `Canopy`."""

    n_components: int = checked(64, params.count, 1, MOST_COMPONENTS)
    family: str = checked("diag", params.one_of, FAMILIES)
    inference: str = checked("auto", params.one_of, INFERENCES)
    init: Any = "auto"
    weights: str = checked("map", params.one_of, WEIGHTS, r="mixing")
    concentration: float = checked(1.0, params.positive)
    prior: MixturePrior = MixturePrior()
    max_iter: int = checked(100, params.count, 1)
    tol: float = checked(1e-4, not_negative)
    sweeps: CanopyOptions = CanopyOptions()

    def __post_init__(self) -> None:
        check_options(self)
        if isinstance(self.init, str):
            params.one_of("init", self.init, STARTS)
        if self.weights == "collapsed" and self.inference == "em":
            raise ValueError(
                Message(
                    'weights="collapsed" counts rows of components, which '
                    'inference="em" does not have; use "esca" or "canopy2".'
                )
            )
        for name, kind in (("prior", MixturePrior), ("sweeps", CanopyOptions)):
            if not isinstance(getattr(self, name), kind):
                word = "options" if name == "sweeps" else name
                raise ArgumentError(
                    word, "must be a {kind}", getattr(self, name), kind=kind.__name__
                )
        drawn = self.weights != "map" or self.sweeps.theta_step == "sample"
        if drawn and self.prior.reg_covar is not None:
            raise ValueError(
                Message(
                    "weights other than \"map\" and theta_step='sample' draw from a "
                    "posterior; give a MixturePrior that is one, not "
                    "MixturePrior.none()."
                )
            )
        if self.inference == "tree" and self.family == "full":
            raise ValueError(
                Message(
                    "inference='tree' bounds densities by balls, which works badly "
                    "for family 'full'; use 'canopy2'."
                )
            )

    def chosen(self, n_rows: int, n_features: int) -> str:
        """The inference that "auto" stands for."""
        if self.inference != "auto":
            return self.inference
        work = float(n_rows) * self.n_components * n_features
        return "esca" if self.n_components <= 64 or work < 1e8 else "canopy2"
