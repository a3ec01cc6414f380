"""What dependent Dirichlet process mixtures answer: frozen arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Answer, Ids


@dataclass(frozen=True, eq=False)
class ParticleTable(Answer):
    """The particles that may be alive, in the order of their ids.

    Attributes
    ----------
    id : ndarray of int64 of shape (n,)
        In the order of birth; never used twice.
    born, last_seen : ndarray of int64 of shape (n,)
        Phases, from 0.
    alive : ndarray of shape (n,)
        Probability of being alive; 1 for those with rows in the last phase.
    count : ndarray of shape (n,)
        m, rows ever assigned; fewer with `weight_memory`.
    exposure : ndarray of shape (n,)
        E: the weight is Gamma(count, rate E). 1 under ``weights="counts"``.
    weight_mean, weight_sd : ndarray of shape (n,)
        Of that weight while it is alive, not normalised.
    mean : ndarray of shape (n, n_columns)
        Mean of a row; of `Multinomial` the probabilities of the words.
    covariance : ndarray of shape (n, n_columns, n_columns)
        Of the location: how well the mean is known. Of `Multinomial` the variances
        alone, shape (n, n_columns).
    """

    id: Ids
    born: Ids
    last_seen: Ids
    alive: Vector
    count: Vector
    exposure: Vector
    weight_mean: Vector
    weight_sd: Vector
    mean: Matrix
    covariance: Matrix

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False)
class Lifelines(Answer):
    """How many rows each particle had in each phase.

    Attributes
    ----------
    id : ndarray of int64 of shape (n,)
        All particles that had rows, merged ones under the id of the older.
    sparse : scipy.sparse.csr_array of int64 of shape (n, n_phases)
        The counts, without their zeros.
    first_phase : int
        The first phase that is counted: 0, unless there were more than 100,000 counts
        since, of which the oldest phases go.
    """

    id: Ids
    sparse: Any
    first_phase: int

    @cached_property
    def count(self) -> Ids:
        """Return the counts as an ndarray of int64 of shape (n, n_phases)."""
        table: Ids = self.sparse.toarray()
        table.setflags(write=False)
        return table

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False)
class Trajectory(Answer):
    """The path of one particle's location.

    Attributes
    ----------
    id : int
    phase : ndarray of int64 of shape (n,)
        From the first phase that is held to the last one with rows, without gaps.
    mean : ndarray of shape (n, n_columns)
    covariance : ndarray of shape (n, n_columns, n_columns)
        As in `ParticleTable`.
    count : ndarray of int64 of shape (n,)
        Rows in each phase.
    smooth : bool
        Whether each phase knows of those after it.
    """

    id: int
    phase: Ids
    mean: Matrix
    covariance: Matrix
    count: Ids
    smooth: bool

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(frozen=True, eq=False)
class Forecast(Answer):
    """Particles in the phases to come, without new rows.

    Attributes
    ----------
    id : ndarray of int64 of shape (n,)
    alive : ndarray of shape (n_steps, n)
        Probability of being alive.
    share : ndarray of shape (n_steps, n)
        Expected share of the rows, about E[g] alive / sum.
    new_share : ndarray of shape (n_steps,)
        The same of particles never seen so far.
    mean : ndarray of shape (n_steps, n, n_columns)
    covariance : ndarray of shape (n_steps, n, n_columns, n_columns)
        Of the location, as in `ParticleTable`.
    """

    id: Ids
    alive: Matrix
    share: Matrix
    new_share: Vector
    mean: Matrix
    covariance: Matrix


@dataclass(frozen=True, eq=False)
class Diagnostics(Answer):
    """How the sampling of the last phase went.

    Attributes
    ----------
    n_clusters : ndarray of int64 of shape (n_sweeps,)
        Particles with rows after each sweep of the first chain.
    u : ndarray of shape (n_sweeps,)
        Auxiliary variable of the weights; 0 under ``weights="counts"``.
    log_joint : ndarray of shape (n_kept,)
        Log of the joint law of labels, sources, u and rows, of each sweep that voted.
    proposed, accepted : int
        Changes of identity.
    merges : int
        Particles that the history merge took away.
    agreement : float
        Mean share of the votes that went to the winning label.
    was_full : bool
        Whether `max_particles` kept a row from founding a particle.
    """

    n_clusters: Ids
    u: Vector
    log_joint: Vector
    proposed: int
    accepted: int
    merges: int
    agreement: float
    was_full: bool

    @property
    def acceptance(self) -> float:
        """Share of the changes of identity that were accepted; 0 where none was."""
        return self.accepted / self.proposed if self.proposed else 0.0


@dataclass(frozen=True, eq=False)
class Calibration(Answer):
    """One-step-ahead scores of several settings.

    Attributes
    ----------
    settings : tuple of dict
        Options by name, one dict a setting.
    score : ndarray of shape (n_settings,)
        Mean log predictive density of the rows of each phase given those before, from
        the second phase on.
    """

    settings: tuple[dict[str, Any], ...]
    score: Vector

    @property
    def best(self) -> dict[str, Any]:
        """The setting of the highest score; of equal ones the first."""
        return dict(self.settings[int(np.argmax(self.score))])


def no_diagnostics() -> Diagnostics:
    """Return the diagnostics of a phase without rows."""
    return Diagnostics(
        np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), 0, 0, 0, 1.0, False
    )
