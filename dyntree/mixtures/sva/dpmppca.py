"""OnlineDPMPPCA: clusters with subspaces, as many and as wide as the rows ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.outlying import without_far_rows
from dyntree.mixtures.sva.emission import learn_together, new_clusters
from dyntree.mixtures.sva.options import MPPCA_OPTIONS, ClusterOptions, MPPCAOptions
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.resolution import in_their_directions, sample_of
from dyntree.mixtures.sva.scales import (
    check_columns,
    subspace_cost_path,
    subspace_scales,
)
from dyntree.mixtures.sva.subspaces import SubspaceMixture
from dyntree.runtime.seeds import given_or_drawn


@checkpoint.savable
class OnlineDPMPPCA(SubspaceMixture):
    """Online Dirichlet process mixture of probabilistic principal components.

    A row joins the cluster with the nearest subspace, or opens a new cluster if joining
    costs more than `lambda_`. The mean, covariance and dimension of the cluster are
    updated in closed form (Tanwani and Calinon 2019; Tipping and Bishop 1999). Clusters
    merge where their joint likelihood favours it, and clusters that few rows join are
    removed.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Distance beyond which a row opens a cluster, in squared units of the rows. If
        the noise is known, use ``1.5 * noise**2 * chi2.isf(1e-5, n_features)``. "auto"
        chooses it from the first `warm_up` rows, and again if it no longer fits, as in
        `OnlineDPGMM`. It suits compact clusters, but not curves.
    noise : float or "auto", default "auto"
        Standard deviation of the noise around subspaces. "auto" estimates it from the
        first `warm_up` rows.
    lambda_1 : float, optional
        A direction belongs to a subspace if its variance exceeds `lambda_1` and also
        ``noise**2 * (1 + sqrt(n_features / w))**2``, which noise can reach by chance in
        w rows. The default is ``4 * noise**2``.
    gate : {"ppca", "bandwidth", "none"}, default "ppca"
        The distance of rows. "ppca" is noise^2 times the Mahalanobis distance.
        "bandwidth" is the residual near the mean and the full distance far away, as in
        the poster of Tanwani and Calinon. "none" is the residual alone, so that
        clusters have no end along their subspace.
    bandwidth : float, optional
        Squared length b of that gate: ``rho = exp(-||x - mu||^2 / b)``.
    max_dim : int, optional
        Largest dimension of a subspace; by default the number of columns minus one. If
        clusters cross, rows of other clusters raise their dimensions, and a smaller
        `max_dim` helps.
    spare : int, default 2
        Number of directions that are retained in addition to those of a subspace.
    subspace : {"auto", "exact", "incremental"}, default "auto"
        "exact" stores n_features^2 numbers for each cluster and computes eigenvectors
        when its weight has grown by a tenth. "incremental" updates the leading
        eigenvectors row by row. "auto" is exact up to 64 columns.
    merge : bool, default True
        Whether clusters merge.
    merge_factor : float, default 1.0
        Two clusters can merge if their distance is below 4 times `merge_factor` times
        `lambda_`.
    check_every : int, default 200
        Number of rows between searches for clusters to merge.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPGMM`.
    covariance : {"diag", "spherical"}, default "diag"
        Whether densities have a variance for each column outside the subspace of a
        cluster, or the noise variance for all. The assignment of rows does not depend
        on it.
    warm_up : int, default 800
        Number of rows that are set aside for "auto".
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
        Learning uses no random numbers. The seed orders the rows of `fit_repeats`.

    Attributes
    ----------
    options : MPPCAOptions
    lambda_, noise : float
    n_clusters, labels_, last_label_, aliases_
        As in `OnlineDPGMM`.

    Notes
    -----
    With y = x - mu and g the coordinates of y in the subspace, the distance is
    ``||y||^2 - (2 rho - rho^2) ||g||^2``, where rho = 1 for "none". For "ppca" it is
    ``||y||^2 - sum_i e_i / (e_i + noise^2) g_i^2``, where e_i is the variance along
    direction i in excess of the noise. With
    ``gate="bandwidth", merge=False, min_weight=1`` the rules are those of the poster.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import OnlineDPMPPCA
    >>> rng = np.random.default_rng(1)
    >>> line = 3 * rng.normal(size=(1000, 1)) * [0.6, 0.8, 0.0]
    >>> plane = rng.normal(size=(1000, 3)) * [0.0, 2.0, 2.0] + [20.0, 0.0, 0.0]
    >>> X = rng.permutation(np.concatenate([line, plane]))
    >>> model = OnlineDPMPPCA().update(X + 0.1 * rng.normal(size=X.shape))
    >>> sorted(model.clusters().dim.tolist()), round(model.noise, 2)
    ([1, 2], 0.1)
    """

    _options = MPPCAOptions
    options: MPPCAOptions

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        noise: float | str = "auto",
        lambda_1: float | None = None,
        gate: str = "ppca",
        bandwidth: float | None = None,
        max_dim: int | None = None,
        spare: int = 2,
        subspace: str = "auto",
        merge: bool = True,
        merge_factor: float = 1.0,
        check_every: int = 200,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 1.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 800,
        seed: int | None = None,
    ) -> None:
        given = params.given_options(locals(), MPPCA_OPTIONS)
        self._begin(MPPCAOptions(**given), given_or_drawn(seed))
        self._warn_of_lambda_1()

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[ClusterOptions, float, float | None]:
        given = self.options
        if isinstance(given.lambda_, float) and isinstance(given.noise, float):
            return given, given.lambda_, given.noise
        rows = without_far_rows(rows, names)
        check_columns(rows, names)
        sample = in_their_directions(sample_of(rows))
        run = self._run_on(sample.rows)
        return given, *subspace_scales(sample, given.lambda_, given.noise, run)

    def _run_on(self, rows: Matrix) -> Any:
        """A function that makes clusters at scales, learns rows, and merges.

        All rows count alike for the scales: none is forgotten.
        """
        options = replace(self.options, forget=1.0)

        def run(lambda_: float, noise: float) -> Any:
            clusters = new_clusters(options, rows.shape[1], lambda_, noise, True)
            learn_together(clusters, rows, np.empty(len(rows), dtype=np.int64))
            clusters.renew()  # eigenvalues that go with the scatter
            return clusters

        return run

    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        rows = without_far_rows(rows, names)
        check_columns(rows, names)
        sample = in_their_directions(sample_of(rows))
        found = self._state.noise
        given = self.options.noise if found is None else found
        return subspace_cost_path(sample, given, self._run_on(sample.rows))
