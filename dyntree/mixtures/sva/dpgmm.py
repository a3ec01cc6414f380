"""OnlineDPGMM: round clusters of one size, as many as the rows ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.outlying import without_far_rows
from dyntree.mixtures.sva.emission import new_clusters
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.options import GMM_OPTIONS, ClusterOptions, GMMOptions
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.resolution import sample_of
from dyntree.mixtures.sva.scales import (
    check_columns,
    pooled_variance,
    radius,
    spherical_cost_path,
)
from dyntree.runtime.locking import locked
from dyntree.runtime.seeds import given_or_drawn


@checkpoint.savable
class OnlineDPGMM(SmallVarianceMixture):
    """Online Dirichlet process mixture of spherical Gaussians, in closed form.

    A row joins the nearest cluster, or opens a new cluster if joining costs more than
    `lambda_`. This is the limit of Gibbs sampling in a Dirichlet process mixture as its
    variance goes to 0 (DP-means: Kulis and Jordan 2012), in one pass over a stream
    (Tanwani and Calinon 2019). Clusters that are too close to one another merge, and
    clusters that few rows join are removed.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Squared distance beyond which a row opens a cluster. If the noise sigma is
        known, use ``sigma**2 * chi2.isf(1e-5, n_features)``, which one in 10^5 rows of
        a cluster exceeds. "auto" chooses it from the first `warm_up` rows, and again
        if it no longer fits later rows (see Notes). Rows that lie more than 30 times as
        far from the median as nine rows in ten are left out; a `ScaleWarning` names the
        first of them.
    criterion : {"radius", "objective"}, default "radius"
        Whether rows and pairs of clusters are judged by their squared distances, or by
        their effect on `objective`.
    merge_factor : float, default 1.0
        Two clusters merge if their squared distance is below `merge_factor` times
        `lambda_`; 0 turns merging off.
    check_every : int, default 256
        Number of rows between searches for clusters to merge.
    min_weight : float, default 5
        Number of rows with which a cluster is confirmed. Results contain confirmed
        clusters only.
    patience : int, default 2000
        Number of rows after which a cluster that is still not confirmed is deleted.
    forget : float in (0, 1], default 1
        Factor by which each row multiplies every weight; 1 forgets nothing. With .99
        the memory is about 100 rows, 1 / (1 - forget). A confirmed cluster without a
        row in ten times as many is provisional until it gets one.
    max_clusters : int, default 1000
        Largest number of clusters. If another one is needed, the two nearest merge.
    covariance : {"diag", "spherical"}, default "diag"
        Whether densities have a variance for each column of each cluster, or a single
        one. The assignment of rows does not depend on it.
    warm_up : int, default 500
        Number of rows that are set aside for ``lambda_="auto"``.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
        Learning uses no random numbers. The seed orders the rows of `fit_repeats`.

    Attributes
    ----------
    options : GMMOptions
    lambda_ : float
    n_clusters : int
        Number of confirmed clusters.
    labels_ : ndarray of int64
        Ids of the clusters of the rows of the last call; none after `load`.
    last_label_ : int
        Id of the cluster of the last row.
    aliases_ : dict of int to int
        Ids of merged clusters, and the ids of the clusters that contain them now.

    Notes
    -----
    Let the assignments follow a Chinese restaurant process with the concentration
    ``(1 + s0^2/sigma^2)^(D/2) exp(-lambda/(2 sigma^2))``, let the means have the
    variance s0^2, and the rows the variance sigma^2 around them. As sigma goes to 0,
    -2 sigma^2 times the log of the weights tends to ``||x - mu_k||^2`` for an existing
    cluster and to lambda for a new one.

    The density is a mixture of the confirmed clusters, weighted by their rows, and of a
    broad Student t, whose weight is the share of the rows outside confirmed clusters.
    The columns of a cluster are Student t with their own variances
    (``covariance="diag"``).

    If none of the clusters of the first 500 rows is confirmed, there is a
    `ScaleWarning`, because `lambda_` is then too small for the rows.

    If the scale or the unit of the stream changes, there is a `ScaleWarning`, once. The
    signs of such a change are that the number of clusters more than doubles within
    about 250 rows, or that the distances of rows to their clusters fall below a fifth
    of their earlier size. With `lambda_="auto"`, scales are then chosen again from the
    next `warm_up` rows, and the clusters begin anew.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import OnlineDPGMM
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(600, 2)) + 20 * rng.integers(1, 4, size=(600, 1))
    >>> model = OnlineDPGMM().update(X)
    >>> model.clusters().mean.round(0)
    array([[60., 60.],
           [40., 40.],
           [20., 20.]])
    >>> model.predict([[39.0, 41.0]])
    array([1])
    """

    _options = GMMOptions
    options: GMMOptions

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        criterion: str = "radius",
        merge_factor: float = 1.0,
        check_every: int = 256,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 1.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 500,
        seed: int | None = None,
    ) -> None:
        given = params.given_options(locals(), GMM_OPTIONS)
        self._begin(GMMOptions(**given), given_or_drawn(seed))

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[ClusterOptions, float, float | None]:
        if isinstance(self.options.lambda_, float):
            return self.options, self.options.lambda_, None
        return self.options, self._cost_path(rows, names).chosen, None

    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        rows = without_far_rows(rows, names)
        check_columns(rows, names)
        sample = sample_of(rows)
        rows = sample.rows
        options = replace(self.options, forget=1.0)  # all rows count alike for scales

        def run(lambda_: float) -> Any:
            clusters = new_clusters(options, rows.shape[1], lambda_, None, True)
            clusters.learn(rows, np.empty(len(rows), dtype=np.int64))
            clusters.merge()
            return clusters

        return spherical_cost_path(sample, run)

    @property
    def objective(self) -> float:
        """Cost of all clusters plus squared distances of all rows to their means."""
        known = self._ready("objective")
        return float(self.lambda_ * known.n + known.array("scatter").sum())

    @property
    def noise(self) -> float:
        """Pooled standard deviation of a coordinate within clusters.

        If there are no more rows than clusters, it is the value that `lambda_` implies.
        """
        known = self._ready("noise")
        width = known.n_features
        scatter, weight = known.array("scatter"), known.array("weight")
        variance = pooled_variance(scatter, weight, width)
        if not variance > 0.0:
            variance = self.lambda_ / radius(1.0, width)
        return float(np.sqrt(variance))

    @locked
    def transform(self, X: Any) -> Matrix:
        """Distances of rows to the means of the confirmed clusters.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
        """
        known, rows = self._answered(X, "transform")
        distances: Matrix = np.sqrt(known.squared_distances(rows)[:, self._confirmed()])
        return distances
