"""Options of the small-variance mixtures, declared once and checked when made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyntree import params

MOST_CLUSTERS = 30_000  # their squares fit an int32
MOST_ROWS = 2**53  # that are counted one by one
CRITERIA = ("radius", "objective")
GATES = ("ppca", "bandwidth", "none")
SUBSPACES = ("auto", "exact", "incremental")
DURATIONS = ("gaussian", "negative-binomial")
EMISSIONS = ("mppca", "gmm")


def positive_or_auto(name: str, value: Any) -> float | str:
    """Return a finite float > 0, or "auto"."""
    if isinstance(value, str):
        return params.one_of(name, value, ("auto",))
    return params.positive(name, value)


def not_negative(name: str, value: Any) -> float:
    """Return a finite float >= 0."""
    number = params.real(name, value)
    if number < 0.0:
        raise ValueError(f"{name} must be >= 0; got {value!r}.")
    return number


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """When clusters open, are confirmed, merge and go.

    Parameters
    ----------
    lambda_ : float or "auto"
        Cost of a new cluster, in squared units of the rows.
    merge_factor : float
        On the distance below which clusters merge; 0 for no merging.
    check_every : int
        Rows between looks for clusters to merge.
    min_weight : float
        Weight from which a cluster is confirmed, >= 1.
    patience : int
        Rows after which a cluster that is not confirmed is deleted.
    forget : float in [0, 1)
        Share of every weight that each row takes away.
    max_clusters : int
        Most clusters; another one merges the two nearest.
    """

    lambda_: float | str = "auto"
    merge_factor: float = 1.0
    check_every: int = 256
    min_weight: float = 5.0
    patience: int = 2000
    forget: float = 0.0
    max_clusters: int = 1000

    def __post_init__(self) -> None:
        self._set("lambda_", positive_or_auto("lambda_", self.lambda_))
        self._set("merge_factor", not_negative("merge_factor", self.merge_factor))
        self._set("check_every", params.count("check_every", self.check_every, 1))
        least = params.real("min_weight", self.min_weight)
        if least < 1.0:
            raise ValueError(f"min_weight must be >= 1; got {self.min_weight!r}.")
        self._set("min_weight", least)
        patience = params.count("patience", self.patience, 1, MOST_ROWS)
        if patience <= least:
            raise ValueError(
                f"patience must be > min_weight, {least:g}; got {patience}. A cluster "
                "would be deleted before it can be confirmed."
            )
        self._set("patience", patience)
        forget = params.real("forget", self.forget)
        if not 0.0 <= forget < 1.0:
            raise ValueError(
                f"forget must be in [0, 1), where 0 forgets nothing; got "
                f"{self.forget!r}."
            )
        if forget * least >= 1.0:
            raise ValueError(
                f"forget must be below 1 / min_weight, {1.0 / least:g}, as no cluster "
                f"could ever be confirmed; got {self.forget!r}."
            )
        self._set("forget", forget)
        most = params.count("max_clusters", self.max_clusters, 2, MOST_CLUSTERS)
        self._set("max_clusters", most)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class GMMOptions(ClusterOptions):
    """Options of `OnlineDPGMM`.

    Parameters
    ----------
    criterion : {"radius", "objective"}
        Whether rows and pairs are judged by distance, or by what they add to the
        objective.
    warm_up : int
        Rows held back for ``lambda_="auto"``.
    """

    criterion: str = "radius"
    warm_up: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        params.one_of("criterion", self.criterion, CRITERIA)
        self._set("warm_up", params.count("warm_up", self.warm_up, 2, MOST_ROWS))


GMM_OPTIONS = params.defaults_of(GMMOptions)
