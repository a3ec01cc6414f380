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
        Ids in the order of birth. An id is never used twice.
    born, last_seen : ndarray of int64 of shape (n,)
        Phases, counted from 0.
    alive : ndarray of shape (n,)
        Probability of being alive. It is 1 for particles with rows in the last phase.
    count : ndarray of shape (n,)
        The number m of rows that were ever assigned; smaller with `weight_memory`.
    exposure : ndarray of shape (n,)
        The exposure E: the weight is Gamma(count, rate E). It is 1 with
        ``weights="counts"``.
    weight_mean, weight_sd : ndarray of shape (n,)
        Mean and standard deviation of that weight while the particle is alive, not
        normalised.
    mean : ndarray of shape (n, n_columns)
        Mean of the rows of the particle; for `Multinomial`, probabilities of the words.
    covariance : ndarray of shape (n, n_columns, n_columns)
        Covariance of the location, which is the uncertainty of the mean. For
        `Multinomial` only variances, of shape (n, n_columns).
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
    """Number of rows of each particle in each phase.

    Attributes
    ----------
    id : ndarray of int64 of shape (n,)
        All particles that had rows. Merged ones have the id of the older.
    sparse : scipy.sparse.csr_array of int64 of shape (n, n_phases)
        The counts, without zeros.
    first_phase : int
        The first phase with counts. It is 0, unless there were more than 100,000
        counts; the oldest phases are then dropped.
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
        Phases from the first one stored to the last one with rows, without gaps.
    mean : ndarray of shape (n, n_columns)
    covariance : ndarray of shape (n, n_columns, n_columns)
        As in `ParticleTable`.
    count : ndarray of int64 of shape (n,)
        Number of rows in each phase.
    smooth : bool
        Whether each phase is conditional on later phases, too.
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
    """Particles in later phases, predicted without new rows.

    Attributes
    ----------
    id : ndarray of int64 of shape (n,)
    alive : ndarray of shape (n_steps, n)
        Probability of being alive.
    share : ndarray of shape (n_steps, n)
        Expected share of the rows, approximately E[g] alive / sum.
    new_share : ndarray of shape (n_steps,)
        Expected total share of particles that were never seen.
    mean : ndarray of shape (n_steps, n, n_columns)
    covariance : ndarray of shape (n_steps, n, n_columns, n_columns)
        Covariance of the location, as in `ParticleTable`.
    """

    id: Ids
    alive: Matrix
    share: Matrix
    new_share: Vector
    mean: Matrix
    covariance: Matrix


@dataclass(frozen=True, eq=False)
class Diagnostics(Answer):
    """Diagnostics of the sampling of the last phase.

    Attributes
    ----------
    n_clusters : ndarray of int64 of shape (n_sweeps,)
        Number of particles with rows after each sweep of the first chain.
    u : ndarray of shape (n_sweeps,)
        Auxiliary variable of the weights; 0 with ``weights="counts"``.
    log_joint : ndarray of shape (n_kept,)
        Log joint density of labels, sources, u and rows, for each sweep with a vote.
    proposed, accepted : int
        Number of proposed and of accepted changes of identity.
    merges : int
        Number of particles that merged into others by their histories.
    agreement : float
        Mean share of the votes that went to the winning label.
    was_full : bool
        Whether `max_particles` prevented a row from founding a particle.
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
        Options by name, one dict for each setting.
    score : ndarray of shape (n_settings,)
        Mean log predictive density of the rows of each phase given the phases before
        it, from the second phase on.
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
