"""SubspaceMixture: what mixtures whose clusters have subspaces have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.mixtures.subspaces import Subspaces
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ScaleWarning, warn
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.options import GATES, SubspaceOptions
from dyntree.runtime.locking import locked

MOST_EXACT = 64  # columns up to which subspace="auto" holds the whole scatter
NEAR = 4.0  # clusters may merge that are nearer than so many lambda_


def make_subspaces(
    options: SubspaceOptions,
    n_features: int,
    lambda_: float,
    noise: float,
    chain: Any = None,
) -> Subspaces:
    """Clusters of the kernel, by the options of a model.

    Parameters
    ----------
    options : SubspaceOptions
    n_features : int
    lambda_, noise : float
        In force.
    chain : Chain, optional
        Of a sequence.
    """
    exact = options.subspace == "exact" or (
        options.subspace == "auto" and n_features <= MOST_EXACT
    )
    dim, rule = options.max_dim, options.lambda_1
    return Subspaces(
        n_features, lambda_, options.check_every if options.merge else 0,
        options.min_weight, options.patience, options.forget, options.max_clusters,
        NEAR * options.merge_factor * lambda_, noise**2,
        4.0 * noise**2 if rule is None else rule,
        GATES.index(options.gate), options.bandwidth or 0.0,
        n_features - 1 if dim is None else min(dim, n_features - 1), options.spare,
        exact, chain,
    )  # fmt: skip


class SubspaceMixture(SmallVarianceMixture):
    """A mixture of probabilistic principal components."""

    options: SubspaceOptions
    _has_noise = True

    def _warn_of_lambda_1(self) -> None:
        """Warn where every direction would count as one of a subspace."""
        rule, noise = self.options.lambda_1, self.options.noise
        if rule is not None and isinstance(noise, float) and rule < noise**2:
            warn(
                ScaleWarning,
                f"lambda_1 is {rule:g}, less than the variance of the noise, "
                f"{noise**2:g}: every direction would be kept. 4 noise**2 is usual.",
            )

    @property
    def noise(self) -> float:
        """Standard deviation of the noise: as given, or as found in the first rows."""
        given = self.options.noise
        if isinstance(given, float):
            return given
        self._ready("noise")
        assert self._noise is not None
        return self._noise

    def _subspaces(
        self, places: Ids
    ) -> tuple[Ids, tuple[Matrix, ...], tuple[Vector, ...]]:
        known = self._clusters
        dim = known.array("dim")[places].astype(np.int64)
        basis, eig = known.array("basis")[places], known.array("eig")[places]
        return (
            dim,
            tuple(
                np.ascontiguousarray(u[:d].T) for u, d in zip(basis, dim, strict=True)
            ),
            tuple(e[:d].copy() for e, d in zip(eig, dim, strict=True)),
        )

    def _nearest(
        self, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        nearest: Ids = self._clusters.assign(rows, places, params.n_threads())
        if not with_distance:
            return nearest, np.empty(0)
        distance: Matrix = self._clusters.squared_distances(rows)[:, places]
        return nearest, distance.min(axis=1)

    def _log_density(self, rows: Matrix, places: Ids) -> Matrix:
        known, variance = self._clusters, self.noise**2
        with np.errstate(over="ignore"):  # a row that is beyond all density
            constant = rows.shape[1] * np.log(2.0 * np.pi * variance)
            distance = known.mahalanobis(rows, places) / variance
            density: Matrix = -0.5 * (constant + known.volumes(places) + distance)
        return density

    def _place_of(self, cluster: Any) -> int:
        """Place of a cluster, by its id."""
        ids = self._clusters.array("ids").tolist()
        number = params.count("cluster", cluster, 0)
        if number not in ids:
            raise ValueError(
                f"cluster must be the id of one there is; got {cluster!r}."
            )
        return int(ids.index(number))

    @locked
    def transform(self, X: Any, *, cluster: int | None = None) -> Any:
        """Coordinates of rows in the subspace of a cluster: basis' (x - mean).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        cluster : int, optional
            Id of the cluster; by default each row has its own, as `predict` says.

        Returns
        -------
        ndarray of shape (n_rows, dim), or list of ndarray of shape (dim,)
            A list, one entry a row, where each row has its own cluster.
        """
        _, rows = self._answered(X, "transform")
        if cluster is not None:
            mean, basis = self._plane(self._place_of(cluster))
            coordinates: Matrix = (rows - mean) @ basis
            return coordinates
        places = self._some("transform")
        nearest, _ = self._nearest(rows, places, False)
        planes = [self._plane(int(k)) for k in places]
        return [
            (x - planes[k][0]) @ planes[k][1]
            for x, k in zip(rows, nearest, strict=True)
        ]

    @locked
    def inverse_transform(self, Z: Any, *, cluster: Any) -> Matrix:
        """Rows that have coordinates in the subspaces of clusters: mean + basis z.

        Parameters
        ----------
        Z : array_like of shape (n_rows, dim), or sequence of array_like
            What `transform` returns.
        cluster : int, or sequence of int of shape (n_rows,)
            Id of the cluster of all rows, or of each.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        known = self._ready("inverse_transform")
        many = isinstance(cluster, Sequence | np.ndarray)
        owners = list(cluster) if many else [cluster] * len(Z)
        if len(owners) != len(Z):
            raise ValueError(
                f"cluster must name one cluster a row of Z, {len(Z)}; got "
                f"{len(owners)}."
            )
        out = np.empty((len(Z), known.n_features))
        for k, (z, owner) in enumerate(zip(Z, owners, strict=True)):
            mean, basis = self._plane(self._place_of(owner))
            point: NDArray[Any] = params.as_array("Z", z, np.float64)
            if point.shape != basis.shape[1:]:
                raise ValueError(
                    f"Z must have the {basis.shape[1]} coordinates of cluster {owner} "
                    f"in row {k}; got shape {point.shape}."
                )
            out[k] = mean + basis @ point
        return out

    def _plane(self, place: int) -> tuple[Vector, Matrix]:
        """Mean and basis of a cluster."""
        _, (basis,), _ = self._subspaces(np.array([place]))
        return self._clusters.means()[place], basis
