"""Options of the small-variance mixtures, declared once and checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.checks import Checked, not_negative

MOST_CLUSTERS = 30_000  # their squares fit an int32
LEAST = 1e-75  # of noise, as that which "auto" finds in equal rows
MOST_ROWS = 2**53  # that are counted one by one
COVARIANCES = ("diag", "spherical")
CRITERIA = ("radius", "objective")
FRAGMENT = 8  # rows of a cluster, fewer than which tell of no subspace
GATES = ("ppca", "bandwidth", "none")
SUBSPACES = ("auto", "exact", "incremental")
DURATIONS = ("gaussian", "negative-binomial")
EMISSIONS = ("mppca", "gmm")


def positive_or_auto(name: str, value: Any) -> float | str:
    """Return a finite float > 0, or "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ArgumentError(name, "must be a number > 0 or 'auto'", value)
        return value
    return params.positive(name, value)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Checked):
    """When clusters open, are confirmed, merge and go; see `OnlineDPGMM`."""

    lambda_: float | str = "auto"
    merge_factor: float = 1.0
    check_every: int = 256
    min_weight: float = 5.0
    patience: int = 2000
    forget: float = 0.0
    max_clusters: int = 1000

    def __post_init__(self) -> None:
        self._check(positive_or_auto, "lambda_")
        self._check(not_negative, "merge_factor")
        self._check(params.count, "check_every", more=(1, MOST_ROWS))
        least = params.real("min_weight", self.min_weight)
        if least < 1.0:
            raise ArgumentError("min_weight", "must be >= 1", self.min_weight)
        self._set("min_weight", least)
        patience = params.count("patience", self.patience, 1, MOST_ROWS)
        if patience <= least:
            raise ArgumentError(
                "patience",
                f"must be > min_weight, {least:g}",
                patience,
                "A cluster would be deleted before it can be confirmed.",
            )
        self._set("patience", patience)
        forget = params.real("forget", self.forget)
        if not 0.0 <= forget < 1.0:
            raise ArgumentError(
                "forget", "must be in [0, 1), where 0 forgets nothing", self.forget
            )
        self._set("forget", forget)
        self._check(params.count, "max_clusters", more=(2, MOST_CLUSTERS))

    @property
    def n_kept_back(self) -> int:
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

    criterion: str = "radius"
    covariance: str = "diag"
    warm_up: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        params.one_of("criterion", self.criterion, CRITERIA)
        params.one_of("covariance", self.covariance, COVARIANCES)
        self._check(params.count, "warm_up", more=(2, MOST_ROWS))

    @property
    def n_kept_back(self) -> int:
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

    noise: float | str = "auto"
    lambda_1: float | None = None
    gate: str = "ppca"
    bandwidth: float | None = None
    max_dim: int | None = None
    spare: int = 2
    subspace: str = "auto"
    merge: bool = True
    check_every: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(positive_or_auto, "noise")
        if not isinstance(self.noise, str) and not LEAST <= self.noise <= 1.0 / LEAST:
            raise ArgumentError(
                "noise",
                f"must be in [{LEAST:g}, {1.0 / LEAST:g}], so that its square is a "
                "number",
                self.noise,
                "Rescale the columns.",
            )
        self._check(params.positive, "lambda_1", optional=True)
        params.one_of("gate", self.gate, GATES)
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
        self._check(params.positive, "bandwidth", optional=True)
        self._check(params.count, "max_dim", more=(0,), optional=True)
        self._check(params.count, "spare", more=(1, 1000))
        params.one_of("subspace", self.subspace, SUBSPACES)
        self._check(params.flag, "merge")

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

    covariance: str = "diag"
    warm_up: int = 800

    def __post_init__(self) -> None:
        super().__post_init__()
        params.one_of("covariance", self.covariance, COVARIANCES)
        self._check(params.count, "warm_up", more=(2, MOST_ROWS))

    @property
    def n_kept_back(self) -> int:
        """Rows to hold back before scales are chosen; 0 where both are given."""
        return self.warm_up if "auto" in (self.lambda_, self.noise) else 0

    @property
    def has_column_laws(self) -> bool:
        """Whether densities give each column of a cluster a variance of its own."""
        return self.covariance == "diag"


@dataclass(frozen=True, kw_only=True)
class HSMMOptions(SubspaceOptions):
    """Options of `OnlineHDPHSMM`, as named there."""

    lambda_2: float | None = None
    lambda_3: float | None = None
    lambda_4: float = 0.0
    duration: str = "gaussian"
    max_duration: int | None = None
    emission: str = "mppca"

    def __post_init__(self) -> None:
        for name in ("lambda_", "noise"):
            if isinstance(value := getattr(self, name), str):
                raise ArgumentError(
                    name,
                    "must be a number > 0 in a sequence model",
                    value,
                    "OnlineDPMPPCA.lambda_path shows which one fits.",
                )
        super().__post_init__()
        self._check(not_negative, "lambda_2", "lambda_3", optional=True)
        self._check(not_negative, "lambda_4")
        params.one_of("duration", self.duration, DURATIONS)
        self._check(params.count, "max_duration", more=(1, 10**6), optional=True)
        params.one_of("emission", self.emission, EMISSIONS)

    @property
    def is_round(self) -> bool:
        """Whether states spread alike in all directions; else along subspaces."""
        return self.emission == "gmm"


MPPCA_OPTIONS = params.defaults_of(MPPCAOptions)
HSMM_OPTIONS = params.defaults_of(HSMMOptions)
