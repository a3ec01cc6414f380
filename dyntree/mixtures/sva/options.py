"""Options of the small-variance mixtures, declared once and checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.checks import not_negative
from dyntree.params.table import check_options, checked

MOST_CLUSTERS = 30_000  # their squares fit an int32
LEAST = 1e-150  # of noise
MOST_ROWS = 2**53  # that are counted one by one
COVARIANCES = ("diag", "spherical")
CRITERIA = ("radius", "objective")
FRAGMENT = 8  # rows of a cluster, fewer than which tell of no subspace
GATES = ("ppca", "bandwidth", "none")
SUBSPACES = ("auto", "exact", "incremental")
DURATIONS = ("gaussian", "negative-binomial")
EMISSIONS = ("auto", "mppca", "gmm")
MOST_WEIGHT = 1e6  # of time, and one over the least


def positive_or_auto(name: str, value: Any) -> float | str:
    """Return a finite float > 0, or "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ArgumentError(name, "must be a number > 0 or 'auto'", value)
        return value
    return params.positive(name, value)


def confirming_weight(name: str, value: Any) -> float:
    """Return a finite float >= 1."""
    least = params.real(name, value)
    if least < 1.0:
        raise ArgumentError(name, "must be >= 1", value)
    return least


def staying_share(name: str, value: Any) -> float:
    """Return a float in (0, 1]."""
    share = params.real(name, value)
    if not 0.0 < share <= 1.0:
        raise ArgumentError(name, "must be in (0, 1], where 1 forgets nothing", value)
    return share


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """When clusters open, are confirmed, merge and go; see `OnlineDPGMM`."""

    lambda_: float | str = checked("auto", positive_or_auto, r="lambda")
    merge_factor: float = checked(1.0, not_negative)
    check_every: int = checked(256, params.count, 1, MOST_ROWS)
    min_weight: float = checked(5.0, confirming_weight)
    patience: int = checked(2000, params.count, 1, MOST_ROWS)
    forget: float = checked(1.0, staying_share)
    max_clusters: int = checked(1000, params.count, 2, MOST_CLUSTERS)

    def __post_init__(self) -> None:
        check_options(self)
        if self.patience <= self.min_weight:
            raise ArgumentError(
                "patience",
                f"must be > min_weight, {self.min_weight:g}",
                self.patience,
                "A cluster would be deleted before it can be confirmed.",
            )

    @property
    def n_set_aside(self) -> int:
        """Rows to hold back before scales are chosen; 0 where all are given."""
        return 0

    @property
    def has_noise(self) -> bool:
        """Whether clusters need the noise, given or chosen, before their first row."""
        return True

    @property
    def is_round(self) -> bool:
        """Whether clusters spread alike in all directions; else along subspaces."""
        return False

    @property
    def has_column_laws(self) -> bool:
        """Whether densities give each column of a cluster a variance of its own."""
        return False

    @property
    def look_every(self) -> int:
        """Rows between looks for clusters to merge; 0 where none merge."""
        return self.check_every if self.merge_factor > 0.0 else 0

    @property
    def by_objective(self) -> bool:
        """Whether rows and pairs are judged by what they add to the objective."""
        return False

    def with_width(self, n_features: int) -> None:
        """Raise ValueError where options do not fit so many columns."""


@dataclass(frozen=True, kw_only=True)
class GMMOptions(ClusterOptions):
    """Options of `OnlineDPGMM`, as named there."""

    criterion: str = checked("radius", params.one_of, CRITERIA)
    covariance: str = checked("diag", params.one_of, COVARIANCES)
    warm_up: int = checked(500, params.count, 2, MOST_ROWS)

    @property
    def n_set_aside(self) -> int:
        """Rows to hold back before `lambda_` is chosen; 0 where it is given."""
        return self.warm_up if self.lambda_ == "auto" else 0

    @property
    def has_noise(self) -> bool:
        """Whether clusters need the noise: it follows from them."""
        return False

    @property
    def has_column_laws(self) -> bool:
        """Whether densities give each column of a cluster a variance of its own."""
        return self.covariance == "diag"

    @property
    def is_round(self) -> bool:
        """Whether clusters spread alike in all directions: they do."""
        return True

    @property
    def by_objective(self) -> bool:
        """Whether rows and pairs are judged by what they add to the objective."""
        return self.criterion == "objective"


GMM_OPTIONS = params.defaults_of(GMMOptions)


@dataclass(frozen=True, kw_only=True)
class SubspaceOptions(ClusterOptions):
    """Options of mixtures whose clusters have subspaces; see `OnlineDPMPPCA`."""

    noise: float | str = checked("auto", positive_or_auto)
    lambda_1: float | None = checked(None, params.positive)
    gate: str = checked("ppca", params.one_of, GATES)
    bandwidth: float | None = None
    max_dim: int | None = checked(None, params.count, 0)
    spare: int = checked(2, params.count, 1, 1000)
    subspace: str = checked("auto", params.one_of, SUBSPACES)
    merge: bool = checked(True, params.flag)
    check_every: int = checked(200, params.count, 1, MOST_ROWS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.noise, str) and not LEAST <= self.noise <= 1.0 / LEAST:
            raise ArgumentError(
                "noise",
                f"must be in [{LEAST:g}, {1.0 / LEAST:g}], so that its square is a "
                "number",
                self.noise,
                "Rescale the columns.",
            )
        if self.gate == "bandwidth" and self.bandwidth is None:
            raise ValueError(
                Message("gate='bandwidth' needs bandwidth, a squared length; got None.")
            )
        if self.gate != "bandwidth" and self.bandwidth is not None:
            raise ArgumentError(
                "bandwidth",
                "is an option of gate='bandwidth' only",
                Message(
                    "{bandwidth!r} with gate={gate!r}",
                    bandwidth=self.bandwidth,
                    gate=self.gate,
                ),
            )
        if self.bandwidth is not None:
            positive = params.positive("bandwidth", self.bandwidth)
            object.__setattr__(self, "bandwidth", positive)

    @property
    def look_every(self) -> int:
        """Rows between looks for clusters to merge; 0 where none merge."""
        return self.check_every if self.merge else 0

    def with_width(self, n_features: int) -> None:
        """Raise ValueError where options do not fit so many columns."""
        if self.max_dim is not None and self.max_dim > n_features - 1:
            raise ArgumentError(
                "max_dim",
                f"must be in [0, {n_features - 1}] for {n_features} columns",
                self.max_dim,
            )


@dataclass(frozen=True, kw_only=True)
class MPPCAOptions(SubspaceOptions):
    """Options of `OnlineDPMPPCA`, as named there."""

    covariance: str = checked("diag", params.one_of, COVARIANCES)
    warm_up: int = checked(800, params.count, 2, MOST_ROWS)

    @property
    def n_set_aside(self) -> int:
        """Rows to hold back before scales are chosen; 0 where both are given."""
        return self.warm_up if "auto" in (self.lambda_, self.noise) else 0

    @property
    def has_column_laws(self) -> bool:
        """Whether densities give each column of a cluster a variance of its own."""
        return self.covariance == "diag"


@dataclass(frozen=True, kw_only=True)
class HSMMOptions(SubspaceOptions):
    """Options of `OnlineHDPHSMM`, as named there."""

    lambda_2: float | None = checked(None, not_negative)
    lambda_3: float | None = checked(None, not_negative)
    lambda_4: float = checked(0.0, not_negative)
    duration: str = checked("gaussian", params.one_of, DURATIONS)
    max_duration: int | None = checked(None, params.count, 1, 10**6)
    emission: str = checked("auto", params.one_of, EMISSIONS)
    covariance: str = checked("diag", params.one_of, COVARIANCES)
    warm_up: int = checked(800, params.count, 2, MOST_ROWS)

    @property
    def n_set_aside(self) -> int:
        """Rows to hold back before scales are chosen; 0 where both are given."""
        return self.warm_up if "auto" in (self.lambda_, self.noise) else 0

    @property
    def has_column_laws(self) -> bool:
        """Whether densities give each column of a state a variance of its own."""
        return self.covariance == "diag"

    @property
    def is_round(self) -> bool:
        """Whether states spread alike in all directions; else along subspaces."""
        return self.emission == "gmm"

    @property
    def emissions_to_try(self) -> tuple[str, ...]:
        """Shapes of states to choose from; one where scales are given."""
        if self.emission != "auto":
            return (self.emission,)
        return ("mppca", "gmm") if self.n_set_aside else ("mppca",)


MPPCA_OPTIONS = params.defaults_of(MPPCAOptions)
HSMM_OPTIONS = params.defaults_of(HSMMOptions)


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """Options of `TaskParameterizedMixture`, as named there."""

    n_frames: int = checked(2, params.count, 1, 100)
    time_weight: float = checked(128.0, params.positive)
    tied: bool = checked(False, params.flag)

    def __post_init__(self) -> None:
        check_options(self)
        least = 1.0 / MOST_WEIGHT
        if not least <= self.time_weight <= MOST_WEIGHT:
            raise ArgumentError(
                "time_weight",
                f"must be in [{least:g}, {MOST_WEIGHT:g}]",
                self.time_weight,
            )


TASK_OPTIONS = params.defaults_of(TaskOptions)


def more_than_one(name: str, value: Any) -> float:
    """Return a finite float > 1."""
    number = params.real(name, value)
    if not number > 1.0:
        raise ArgumentError(name, "must be > 1", value)
    return number


@dataclass(frozen=True, kw_only=True)
class DynamicMeansOptions:
    """Options of `DynamicMeans`, as named there."""

    lambda_: float | str = checked("auto", positive_or_auto, r="lambda")
    max_absence: float = checked(7.0, more_than_one)
    reach: float = checked(1.5, params.positive)
    n_starts: int = checked(10, params.count, 1, 10_000)
    max_clusters: int = checked(1000, params.count, 1, MOST_CLUSTERS)

    def __post_init__(self) -> None:
        check_options(self)
        if self.tau < 0.0:
            raise ArgumentError(
                "reach",
                "must be at least 1 - 1 / max_absence, {least:.4g}",
                self.reach,
                least=1.0 - 1.0 / self.max_absence,
            )

    @property
    def tau(self) -> float:
        """By how much a phase adds to the variance of a centre."""
        T = self.max_absence
        return (T * (self.reach - 1.0) + 1.0) / (T - 1.0)


DYNAMIC_MEANS_OPTIONS = params.defaults_of(DynamicMeansOptions)
