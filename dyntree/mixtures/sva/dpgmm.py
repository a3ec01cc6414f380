"""OnlineDPGMM: round clusters of one size, as many as the rows ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.values import Matrix
from dyntree.mixtures.sva.emission import new_clusters
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.options import GMM_OPTIONS, GMMOptions
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.resolution import sample_of
from dyntree.mixtures.sva.scales import (
    check_columns,
    pooled_variance,
    radius,
    spherical_cost_path,
)
from dyntree.runtime.locking import locked


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
        Squared distance beyond which a row opens a cluster. Where the noise is known,
        ``sigma**2 * chi2.isf(1e-5, n_features)`` is what a row of the cluster exceeds
        once in 10^5. "auto" chooses it from the first `warm_up` rows, and once more
        where it no longer fits the rows that come (see Notes).
    criterion : {"radius", "objective"}, default "radius"
        Judge rows by their squared distance, and pairs by theirs; or both by what they
        add to `objective`.
    merge_factor : float, default 1.0
        Clusters merge whose squared distance is below this many `lambda_`; 0 for none.
    check_every : int, default 256
        Rows between looks for clusters to merge.
    min_weight : float, default 5
        Rows from which a cluster is confirmed, and answered with.
    patience : int, default 2000
        Rows after which a cluster that is not is deleted.
    forget : float in [0, 1), default 0
        Share of every weight that each row takes away: the memory is of 1 / forget
        rows. A confirmed cluster that no row of 10 / forget has come to is provisional
        until the next one does.
    max_clusters : int, default 1000
        Most clusters; another one merges the two nearest.
    covariance : {"diag", "spherical"}, default "diag"
        Of densities: a variance for each column of each cluster, or one for all. Rows
        are assigned by the same distance in both.
    warm_up : int, default 500
        Rows held back for ``lambda_="auto"``.
    seed : int, default 0
        Learning draws nothing; it orders the rows of `fit_repeats`.

    Attributes
    ----------
    options : GMMOptions
    lambda_ : float
    n_clusters : int
        Confirmed clusters.
    labels_ : ndarray of int64
        Ids of the clusters of the rows of the last call.
    last_label_ : int
    aliases_ : dict of int to int
        What merged clusters became.

    Notes
    -----
    With z from a Chinese restaurant process of concentration
    ``(1 + s0^2/sigma^2)^(D/2) exp(-lambda/(2 sigma^2))``, means of variance s0^2 and
    rows of variance sigma^2 about them, -2 sigma^2 times the log of the weights tends
    to ``||x - mu_k||^2`` for a cluster there is, and to lambda for a new one.
    Densities are those of the confirmed clusters, weighed by their rows, whose columns
    are Student t with variances of their own (``covariance="diag"``), and of a broad
    Student t behind them, which has the share of the rows of no confirmed cluster.

    A gain or unit that changes in the stream is told of by a `ScaleWarning`, once: the
    clusters more than double within 250 rows or a few more, or rows are nearer to their
    clusters than a fifth of what they were. With `lambda_="auto"`
    scales are then chosen again from the next `warm_up` rows, and clusters begin anew
    with these.

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
        forget: float = 0.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 500,
        seed: int = 0,
    ) -> None:
        given = params.given_options(locals(), GMM_OPTIONS)
        self._begin(GMMOptions(**given), seed)

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[float, float | None]:
        if isinstance(self.options.lambda_, float):
            return self.options.lambda_, None
        return self._cost_path(rows, names).chosen, None

    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        check_columns(rows, names)
        sample = sample_of(rows)
        rows = sample.rows
        options = replace(self.options, forget=0.0)  # all rows count alike for scales

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

        Where there are no more rows than clusters, it is the value implied by
        `lambda_`.
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
