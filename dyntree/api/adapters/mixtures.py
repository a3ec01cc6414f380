"""Small-variance mixtures for river: clusterers that learn dict by dict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from dyntree import params
from dyntree.api.adapters.base import Row, checked_frame, series_of
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from dyntree.mixtures.sva.options import GMM_OPTIONS, HSMM_OPTIONS, MPPCA_OPTIONS

if TYPE_CHECKING:
    import pandas as pd


class MixtureAdapter(base.Clusterer):
    """What adapters around small-variance mixtures have in common.

    Rows have the features of the first row, in any order, and finite numbers.
    """

    model: Any

    def _begin(self, model: type, options: Mapping[str, Any], given: Any) -> None:
        """Keep the arguments of `__init__`, and make a model that has seen no row."""
        for name in given.keys() - {"self"}:
            setattr(self, name, given[name])
        self.model = model(**params.given_options(given, options))

    def learn_one(self, x: Row) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Finite numbers, with the names of the first row.

        Raises
        ------
        ValueError
            If values are bad. The model is then as it was before the call.
        """
        self.model.learn_one(x)

    def predict_one(self, x: Row) -> int:
        """Id of the cluster of a row; see the method `predict` of the model.

        Parameters
        ----------
        x : dict

        Returns
        -------
        int
            It is -1 while no cluster is confirmed.
        """
        if not self.model.is_ready:
            return -1
        return int(self.model.predict_one(x))

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learn rows in order, as `learn_one` would. Either all are learned or none.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)
        """
        checked_frame(X)
        self.model.update(X, progress=False)

    def predict_many(self, X: pd.DataFrame) -> pd.Series[int]:
        """Ids of the clusters of rows, as a Series with the index of X.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        Series of shape (n_rows,)
        """
        n_rows = checked_frame(X).n_rows
        ids = self.model.predict(X) if self.model.is_ready else np.full(n_rows, -1)
        answer: pd.Series[int] = series_of(X, ids)
        return answer

    @property
    def _raw_memory_usage(self) -> int:
        own = int(super()._raw_memory_usage)
        return own + int(self.model.memory_usage())


class RiverDPGMMClusterer(MixtureAdapter):
    """Online Dirichlet process mixture of spherical Gaussians, as a river clusterer.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Squared distance beyond which a row opens a cluster.
    criterion, merge_factor, check_every, min_weight, patience, forget
        As in `OnlineDPGMM`.
    max_clusters, covariance
        As in `OnlineDPGMM`.
    warm_up : int, default 500
        Number of rows that are held back for ``lambda_="auto"``. Until then,
        `predict_one` returns -1.

    Attributes
    ----------
    model : OnlineDPGMM
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverDPGMMClusterer
    >>> clusters = RiverDPGMMClusterer(lambda_=4.0)
    >>> for k in range(40):
    ...     clusters.learn_one({"x": 10.0 * (k % 2), "y": 0.0})
    >>> clusters.predict_one({"y": 0.1, "x": 9.0})
    1
    """

    def __init__(
        self,
        lambda_: float | str = "auto",
        criterion: str = "radius",
        merge_factor: float = 1.0,
        check_every: int = 256,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 0.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 500,
    ) -> None:
        self._begin(OnlineDPGMM, GMM_OPTIONS, locals())


class RiverDPMPPCAClusterer(MixtureAdapter):
    """Online mixture of probabilistic principal components, as a river clusterer.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Distance beyond which a row opens a cluster, in squared units of the rows.
    noise : float or "auto", default "auto"
        Standard deviation of the noise around subspaces.
    lambda_1, gate, bandwidth, max_dim, spare, subspace, merge, merge_factor
        As in `OnlineDPMPPCA`.
    check_every, min_weight, patience, forget, max_clusters, covariance
        As in `OnlineDPMPPCA`.
    warm_up : int, default 800
        Number of rows that are held back for "auto". Until then, `predict_one` returns
        -1.

    Attributes
    ----------
    model : OnlineDPMPPCA
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverDPMPPCAClusterer
    >>> clusters = RiverDPMPPCAClusterer(lambda_=4.0, noise=0.5)
    >>> for k in range(40):
    ...     clusters.learn_one({"x": 10.0 * (k % 2), "y": 0.1 * k})
    >>> clusters.predict_one({"y": 0.1, "x": 9.0})
    1
    """

    def __init__(
        self,
        lambda_: float | str = "auto",
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
        forget: float = 0.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 800,
    ) -> None:
        self._begin(OnlineDPMPPCA, MPPCA_OPTIONS, locals())


class RiverHDPHSMMClusterer(MixtureAdapter):
    """Online hidden semi-Markov model, as a river clusterer.

    Parameters
    ----------
    lambda_ : float
        Distance beyond which a row opens a state, in squared units of the rows.
    noise : float
        Standard deviation of the noise around subspaces.
    lambda_1, lambda_2, lambda_3, lambda_4, duration, max_duration, emission, gate
        As in `OnlineHDPHSMM`.
    bandwidth, max_dim, spare, subspace, merge, merge_factor, check_every
        As in `OnlineDPMPPCA`.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPMPPCA`.

    Attributes
    ----------
    model : OnlineHDPHSMM
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverHDPHSMMClusterer
    >>> states = RiverHDPHSMMClusterer(lambda_=4.0, noise=0.5)
    >>> for k in range(200):
    ...     states.learn_one({"x": 10.0 * (k // 20 % 2)})
    >>> states.model.durations().mean.tolist()
    [20.0, 19.0]
    """

    def __init__(
        self,
        lambda_: float,
        noise: float,
        lambda_1: float | None = None,
        lambda_2: float | None = None,
        lambda_3: float | None = None,
        lambda_4: float = 0.0,
        duration: str = "gaussian",
        max_duration: int | None = None,
        emission: str = "mppca",
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
        forget: float = 0.0,
        max_clusters: int = 1000,
    ) -> None:
        self._begin(OnlineHDPHSMM, HSMM_OPTIONS, locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"lambda_": 1.0, "noise": 0.1}
