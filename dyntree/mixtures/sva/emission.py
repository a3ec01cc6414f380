"""What rows of a cluster look like: round, or spread along a subspace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dyntree import params
from dyntree._core.mixtures.chain import Chain
from dyntree._core.mixtures.spheres import Spheres
from dyntree._core.mixtures.subspaces import Subspaces
from dyntree._core.mixtures.watch import Watch
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.sva.options import (
    FRAGMENT,
    GATES,
    ClusterOptions,
    HSMMOptions,
    SubspaceOptions,
)

MOST_EXACT = 64  # columns up to which subspace="auto" holds the whole scatter
NEAR = 4.0  # clusters may merge that are nearer than so many lambda_

FIRST_WINDOWS = 2  # of rows that tell how many open a cluster, or those of the warm-up

Parts = tuple[Chain | None, Watch | None]
Scales = tuple[float, float | None]  # lambda_ and noise, where clusters need it
SubspaceParts = tuple[Ids, tuple[Matrix, ...], tuple[Vector, ...]]


class Emission(ABC):
    """Questions to clusters of the kernel that depend on their shape.

    `known` are these clusters, `places` those of them that are asked, by place.
    """

    @abstractmethod
    def new_clusters(
        self, options: Any, n_features: int, scales: Scales, parts: Parts
    ) -> Any:
        """Return clusters of the kernel that have seen no row."""

    @abstractmethod
    def subspaces_of(self, known: Any, places: Ids) -> SubspaceParts:
        """Return dimensions, bases and variances of subspaces."""

    @abstractmethod
    def nearest(
        self, known: Any, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        """Return the cluster of each row among `places`, and the least distance."""

    @abstractmethod
    def log_density(
        self, known: Any, variance: float, rows: Matrix, places: Ids
    ) -> Matrix:
        """Return log densities of rows, shape (n_rows, n_places), given the noise's."""


class RoundEmission(Emission):
    """Clusters that spread alike in all directions."""

    def new_clusters(
        self,
        options: ClusterOptions,
        n_features: int,
        scales: Scales,
        parts: Parts,
    ) -> Spheres:
        """Return spheres that have seen no row."""
        return Spheres(
            n_features, scales[0], options.merge_factor * scales[0],
            options.look_every, options.min_weight, options.patience, options.forget,
            options.max_clusters, options.by_objective, *parts,
        )  # fmt: skip

    def subspaces_of(self, known: Any, places: Ids) -> SubspaceParts:
        """Return subspaces without a dimension."""
        return (
            np.zeros(len(places), dtype=np.int64),
            tuple(np.empty((known.n_features, 0)) for _ in places),
            tuple(np.empty(0) for _ in places),
        )

    def nearest(
        self, known: Any, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        """Return the nearest cluster of each row, and the squared distance to it."""
        found: tuple[Ids, Vector] = known.assign(rows, places, params.n_threads())
        return found

    def log_density(
        self, known: Any, variance: float, rows: Matrix, places: Ids
    ) -> Matrix:
        """Return log densities of round normals."""
        distance = known.squared_distances(rows)[:, places]
        constant = rows.shape[1] * np.log(2.0 * np.pi * variance)
        with np.errstate(over="ignore"):  # a row that is beyond all density
            density: Matrix = -0.5 * (constant + distance / variance)
        return density


class SubspaceEmission(Emission):
    """Clusters with more variance along the directions of a subspace."""

    def new_clusters(
        self,
        options: SubspaceOptions,
        n_features: int,
        scales: Scales,
        parts: Parts,
    ) -> Subspaces:
        """Return clusters with subspaces that have seen no row."""
        lambda_, noise = scales
        assert noise is not None
        exact = options.subspace == "exact" or (
            options.subspace == "auto" and n_features <= MOST_EXACT
        )
        dim, rule = options.max_dim, options.lambda_1
        return Subspaces(
            n_features, lambda_, options.look_every, options.min_weight,
            options.patience, options.forget, options.max_clusters,
            NEAR * options.merge_factor * lambda_, noise**2,
            4.0 * noise**2 if rule is None else rule,
            GATES.index(options.gate), options.bandwidth or 0.0,
            n_features - 1 if dim is None else min(dim, n_features - 1), options.spare,
            exact, *parts,
        )  # fmt: skip

    def subspaces_of(self, known: Any, places: Ids) -> SubspaceParts:
        """Return dimensions, orthonormal columns, and variances along these."""
        dim = known.array("dim")[places].astype(np.int64)
        basis, eig = known.array("basis")[places], known.array("eig")[places]
        return (
            dim,
            tuple(
                np.ascontiguousarray(u[:d].T) for u, d in zip(basis, dim, strict=True)
            ),
            tuple(e[:d].copy() for e, d in zip(eig, dim, strict=True)),
        )

    def nearest(
        self, known: Any, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        """Return the most probable cluster of each row, and the least distance."""
        nearest: Ids = known.assign(rows, places, params.n_threads())
        if not with_distance:
            return nearest, np.empty(0)
        distance: Matrix = known.squared_distances(rows)[:, places]
        return nearest, distance.min(axis=1)

    def log_density(
        self, known: Any, variance: float, rows: Matrix, places: Ids
    ) -> Matrix:
        """Return log densities of probabilistic principal components."""
        with np.errstate(over="ignore"):  # a row that is beyond all density
            constant = rows.shape[1] * np.log(2.0 * np.pi * variance)
            distance = known.mahalanobis(rows, places) / variance
            density: Matrix = -0.5 * (constant + known.volumes(places) + distance)
        return density


def emission_of(clusters: Any) -> Emission:
    """Return what clusters of the kernel look like."""
    return RoundEmission() if isinstance(clusters, Spheres) else SubspaceEmission()


def learn_together(clusters: Any, rows: Matrix, labels: Ids) -> None:
    """Let new clusters learn the rows of a warm-up, which are all known.

    Clusters with subspaces then merge once, by the evidence of all rows: of few rows
    one long cluster has so much fewer parameters than several that it takes them in.
    Fragments of fewer rows than `FRAGMENT` on average are left to later looks.
    """
    if isinstance(clusters, Spheres):
        clusters.learn(rows, labels)
        return
    every, clusters.check_every = clusters.check_every, 0
    clusters.learn(rows, labels)
    clusters.check_every = every
    if every and clusters.n * FRAGMENT <= len(rows):
        clusters.merge()


def new_clusters(
    options: ClusterOptions,
    n_features: int,
    lambda_: float,
    noise: float | None,
    is_trial: bool = False,
) -> Any:
    """Return clusters of the kernel that have seen no row, at some scales.

    In a trial nobody asks whether scales fit.
    """
    chain = watch = None
    if isinstance(options, HSMMOptions):
        assert noise is not None
        moves, new = options.lambda_2, options.lambda_3
        chain = Chain(
            4.0 * noise**2 if moves is None else moves,
            2.0 * noise**2 * np.log(100.0) if new is None else new,
            options.lambda_4, options.duration != "gaussian",
        )  # fmt: skip
    if not is_trial:
        n_first = max(FIRST_WINDOWS, -(-options.n_set_aside // Watch.window))
        watch = Watch(n_features, n_first)
    shape: type[Emission] = RoundEmission if options.is_round else SubspaceEmission
    return shape().new_clusters(options, n_features, (lambda_, noise), (chain, watch))
