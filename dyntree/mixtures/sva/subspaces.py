"""Coordinates of rows in the subspaces of clusters, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, ScaleWarning, warn
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.options import SubspaceOptions
from dyntree.runtime.locking import locked


class SubspaceMixture(SmallVarianceMixture):
    """A mixture of probabilistic principal components."""

    options: SubspaceOptions

    def _warn_of_lambda_1(self) -> None:
        """Warn where every direction would count as one of a subspace."""
        rule, noise = self.options.lambda_1, self.options.noise
        if rule is not None and isinstance(noise, float) and rule < noise**2:
            warn(
                ScaleWarning,
                "lambda_1 is {rule:g}, less than the variance of the noise, "
                "{noise:g}: every direction would stay. 4 noise**2 is a common "
                "choice.",
                rule=rule,
                noise=noise**2,
            )

    @property
    def noise(self) -> float:
        """Standard deviation of the noise: as passed, or by the first rows."""
        given = self.options.noise
        if isinstance(given, float):
            return given
        self._ready("noise")
        assert self._state.noise is not None
        return self._state.noise

    def _place_of(self, cluster: Any) -> int:
        """Place of a cluster, by its id."""
        ids = self._state.clusters.array("ids").tolist()
        number = params.count("cluster", cluster, 0)
        if number not in ids:
            raise ArgumentError(
                "cluster", "must be the id of an existing cluster", cluster
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
        known, rows = self._answered(X, "transform")
        if cluster is not None:
            mean, basis = self._subspace_of(self._place_of(cluster))
            return (rows - mean) @ basis
        places = self._some("transform")
        nearest, _ = self._emission.nearest(known, rows, places, False)
        subspaces_of = [self._subspace_of(int(k)) for k in places]
        return [
            (x - subspaces_of[k][0]) @ subspaces_of[k][1]
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
            raise ArgumentError(
                "cluster",
                f"must name one cluster for each row of Z, {len(Z)}",
                len(owners),
            )
        out = np.empty((len(Z), known.n_features))
        for k, (z, owner) in enumerate(zip(Z, owners, strict=True)):
            mean, basis = self._subspace_of(self._place_of(owner))
            point: NDArray[Any] = params.as_array("Z", z, np.float64)
            if point.shape != basis.shape[1:]:
                raise ArgumentError(
                    "Z",
                    "must have the {shape} coordinates of cluster {owner} in row {k}",
                    Message("shape {shape}", shape=point.shape),
                    shape=basis.shape[1],
                    owner=owner,
                    k=k,
                )
            out[k] = mean + basis @ point
        return out

    def _subspace_of(self, place: int) -> tuple[Vector, Matrix]:
        """Mean and basis of a cluster."""
        known = self._state.clusters
        _, (basis,), _ = self._emission.subspaces_of(known, np.array([place]))
        return known.means()[place], basis
