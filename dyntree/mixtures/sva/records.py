"""What the small-variance mixtures answer: frozen arrays and names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Answer, Ids


@dataclass(frozen=True, eq=False, repr=False)
class Clusters(Answer):
    """The clusters of a mixture, in the order of their ids.

    Attributes
    ----------
    id : ndarray of int64 of shape (n_clusters,)
        In the order of their creation; never used twice.
    weight : ndarray of shape (n_clusters,)
        Rows in each, faded where the model forgets.
    mean : ndarray of shape (n_clusters, n_features)
    dim : ndarray of int64 of shape (n_clusters,)
        Dimensions of the subspaces; 0 for clusters without one.
    basis : tuple of ndarray of shape (n_features, dim)
        Orthonormal columns.
    variances : tuple of ndarray of shape (dim,)
        Along the columns of `basis`, descending.
    confirmed : ndarray of bool of shape (n_clusters,)
        Whether a cluster has the weight to be answered with.
    born, last_seen : ndarray of int64 of shape (n_clusters,)
        Numbers of its first and last row, from 0, those of clusters that merged into it
        included.
    """

    id: Ids
    weight: Vector
    mean: Matrix
    dim: Ids
    basis: tuple[Matrix, ...]
    variances: tuple[Vector, ...]
    confirmed: NDArray[np.bool_]
    born: Ids
    last_seen: Ids

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False, repr=False)
class LambdaPath(Answer):
    """Number of clusters for each of several costs of a new cluster.

    Attributes
    ----------
    lambda_ : ndarray of shape (n_values,)
        Ascending.
    n_clusters : ndarray of int64 of shape (n_values,)
    bic : ndarray of shape (n_values,)
        Bayesian information criterion of the fitted mixture; inf where clusters leave
        too few degrees of freedom.
    chosen : float
        What ``lambda_="auto"`` would take.
    noise : float
        Standard deviation of the noise that goes with it.
    """

    lambda_: Vector
    n_clusters: Ids
    bic: Vector
    chosen: float
    noise: float


@dataclass(frozen=True, eq=False, repr=False)
class Path(Answer):
    """The most probable path of rows through the states of a sequence.

    Attributes
    ----------
    labels : ndarray of int64 of shape (n_rows,)
        Id of the state of each row.
    state, start, stop : ndarray of int64 of shape (n_segments,)
        Id of each segment, its first row, and the row after its last.
    log_density : float
        Of rows and path together.
    """

    labels: Ids
    state: Ids
    start: Ids
    stop: Ids
    log_density: float

    def __len__(self) -> int:
        return len(self.state)


@dataclass(frozen=True, eq=False, repr=False)
class Durations(Answer):
    """Durations of the segments of each confirmed state.

    Attributes
    ----------
    id : ndarray of int64 of shape (n_clusters,)
    count : ndarray of int64 of shape (n_clusters,)
        Segments that have ended.
    mean, sd : ndarray of shape (n_clusters,)
        In rows; NaN where too few segments have ended.
    """

    id: Ids
    count: Ids
    mean: Vector
    sd: Vector


@dataclass(frozen=True, eq=False, repr=False)
class MovingClusters(Answer):
    """Clusters over phases, in the order of their ids.

    Attributes
    ----------
    id : ndarray of int64 of shape (n_clusters,)
        In the order of their birth; never used twice.
    mean : ndarray of shape (n_clusters, n_features)
        Where each was when it last had rows.
    weight : ndarray of shape (n_clusters,)
        Rows that the mean was worth then.
    absent : ndarray of int64 of shape (n_clusters,)
        Phases without a row since.
    """

    id: Ids
    mean: Matrix
    weight: Vector
    absent: Ids

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False, repr=False)
class FrameClusters(Answer):
    """Clusters of a movement as each task frame sees them, in the order of time.

    Attributes
    ----------
    id : ndarray of int64 of shape (n_clusters,)
    weight : ndarray of shape (n_clusters,)
        Rows in each, faded where the mixture forgets.
    time : ndarray of shape (n_clusters,)
        Mean time of its rows, as a share of a demonstration.
    mean : ndarray of shape (n_clusters, n_frames, n_features)
    covariance : ndarray of shape (n_clusters, n_frames, n_features, n_features)
    """

    id: Ids
    weight: Vector
    time: Vector
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Answer):
    """A movement for frames that may be new, with what it follows.

    Attributes
    ----------
    path, velocity : ndarray of shape (n_steps, n_features)
        Positions in the world, and changes of position a step.
    command : ndarray of shape (n_steps - 1, n_features)
        Accelerations that lead along the path.
    gain : ndarray of shape (n_steps - 1, n_features, 2 * n_features)
        By which a deviation of position and velocity from the path changes the command:
        subtract ``gain @ deviation``.
    state : ndarray of int64 of shape (n_steps,)
        Ids of the clusters that are followed.
    mean : ndarray of shape (n_steps, n_features)
    covariance : ndarray of shape (n_steps, n_features, n_features)
        The Gaussians that the path follows.
    """

    path: Matrix
    velocity: Matrix
    command: Matrix
    gain: NDArray[np.float64]
    state: Ids
    mean: Matrix
    covariance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.path)
