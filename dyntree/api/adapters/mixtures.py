"""Small-variance mixtures for river: clusterers that learn dict by dict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from dyntree import params
from dyntree.api.adapters.base import Row, checked_frame, series_of
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from dyntree.params.names import Suggesting

if TYPE_CHECKING:
    import pandas as pd


class MixtureAdapter(Suggesting, base.Clusterer):
    """What adapters around small-variance mixtures have in common.

    Rows have the features of the first row, in any order, and finite numbers.
    """

    model: Any
    _kind: type

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.model = self._kind(**options)

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


@params.derived(OnlineDPGMM, without=["seed"])
class RiverDPGMMClusterer(MixtureAdapter):
    """Online Dirichlet process mixture of spherical Gaussians, as a river clusterer.

    Parameters
    ----------
    warm_up : int, default 500
        Number of rows that wait for ``lambda_="auto"``. Until then,
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

    _kind = OnlineDPGMM


@params.derived(OnlineDPMPPCA, OnlineDPGMM, without=["seed"])
class RiverDPMPPCAClusterer(MixtureAdapter):
    """Online mixture of probabilistic principal components, as a river clusterer.

    Parameters
    ----------
    warm_up : int, default 800
        Number of rows that wait for "auto". Until then, `predict_one` returns
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

    _kind = OnlineDPMPPCA


@params.derived(OnlineHDPHSMM, OnlineDPMPPCA, OnlineDPGMM, without=["seed"])
class RiverHDPHSMMClusterer(MixtureAdapter):
    """Online hidden semi-Markov model, as a river clusterer.

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

    _kind = OnlineHDPHSMM

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"lambda_": 1.0, "noise": 0.1}
