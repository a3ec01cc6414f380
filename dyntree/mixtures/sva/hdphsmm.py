"""OnlineHDPHSMM: clusters that follow one another, each for a while."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import is_nothing
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.arrays import Arrays, Ids
from dyntree.mixtures.sva.emission import new_clusters
from dyntree.mixtures.sva.options import HSMM_OPTIONS, HSMMOptions
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.resolution import sample_of
from dyntree.mixtures.sva.scales import spherical_cost_path, subspace_cost_path
from dyntree.mixtures.sva.semi_markov import SemiMarkov, ends_of
from dyntree.mixtures.sva.sequences import SequenceMixture
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


@checkpoint.savable
class OnlineHDPHSMM(SequenceMixture):
    """Online hierarchical Dirichlet process hidden semi-Markov model, in closed form.

    States are clusters as in `OnlineDPMPPCA` or `OnlineDPGMM`. The cost of a row is its
    distance to a state plus the cost of the transition from the state of the row
    before. Each row updates the states and the counts of transitions and durations
    (Tanwani and Calinon 2019). A segment is a run of rows in one state; rows in
    unconfirmed clusters do not end it.

    Parameters
    ----------
    lambda_ : float
        Distance beyond which a row opens a state, in squared units of the rows. For
        compact states use ``1.5 * noise**2 * chi2.isf(1e-5, n_features)``. Curves need
        a larger value, which `lambda_path` helps to find. If it no longer fits, there
        is a `ScaleWarning`, as in `OnlineDPGMM`.
    noise : float
        Standard deviation of the noise around subspaces.
    lambda_1 : float, optional
        As in `OnlineDPMPPCA`.
    lambda_2 : float, optional
        Weight of the log probabilities of transitions; by default ``4 * noise**2``.
    lambda_3 : float, optional
        Cost of a transition that was never seen; by default
        ``2 * noise**2 * log(100)``.
    lambda_4 : float, default 0
        Weight of the log probabilities of durations, used for a state with at least
        five known durations.
    duration : {"gaussian", "negative-binomial"}, default "gaussian"
        Distribution of durations.
    max_duration : int, optional
        Longest segment in decoding. By default there is no limit: see `decode`.
    emission : {"mppca", "gmm"}, default "mppca"
        "mppca" for states with subspaces, "gmm" for round states with the width of the
        noise.
    gate, bandwidth, max_dim, spare, subspace, merge, merge_factor, check_every
        As in `OnlineDPMPPCA`.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPMPPCA`. `forget` does not apply to transitions and durations.
    seed : int, default 0
        Seed of `sample`. Learning uses no random numbers.

    Attributes
    ----------
    options : HSMMOptions
    lambda_, noise : float
    n_clusters, labels_, last_label_, aliases_
        As in `OnlineDPGMM`, for states.

    Notes
    -----
    Let c_ij be the number of segments of state i followed by state j, and c_i the
    number followed by any state. After a row in state i, the cost of a row x is

    - ``dist_i(x)^2`` to stay in state i,
    - ``dist_j(x)^2 - lambda_2 log(c_ij / (c_i + 1))`` to move to a state j that has
      followed i before,
    - ``dist_j(x)^2 + lambda_2 log(c_i + 1) + lambda_3`` to move to another state,
    - ``lambda + lambda_2 log(c_i + 1) + lambda_3`` to open a new state.

    These are the limits of the log probabilities of the HDP-HSMM as its variance goes
    to 0 (for hidden Markov models see Roychowdhury, Jiang and Kulis 2013).

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import OnlineHDPHSMM
    >>> rng = np.random.default_rng(1)
    >>> at = np.tile(np.repeat([0.0, 5.0, 10.0], [20, 30, 10]), 20)
    >>> X = at[:, None] + 0.3 * rng.normal(size=(1200, 2))
    >>> model = OnlineHDPHSMM(3.0, noise=0.3).update(X)
    >>> model.durations().mean.round(0).tolist()
    [20.0, 30.0, 10.0]
    >>> len(model.decode(X[:60]))
    3
    """

    _options = HSMMOptions
    options: HSMMOptions

    def __init__(
        self,
        lambda_: float,
        *,
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
        seed: int = 0,
    ) -> None:
        given = params.given_options(locals(), HSMM_OPTIONS)
        self._begin(HSMMOptions(**given), seed)
        self._warn_of_lambda_1()

    def _begin(self, options: Any, seed: Any) -> None:
        super()._begin(options, seed)
        self._belief: Matrix = np.empty((0, 0))
        self._belief_at: tuple[Any, ...] = ()
        self._chain: tuple[tuple[Any, ...], SemiMarkov] | None = None

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[float, float | None]:
        return self.lambda_, self.noise

    # ------------------------------------------------------------ rows
    @locked
    def update(
        self, X: Any, y: Any = None, *, lengths: Any = None, progress: Progress = None
    ) -> Self:
        """Learn rows in order, as a continuation of the sequence or as new sequences.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Finite numbers. The first call fixes the columns. A call without rows
            changes nothing.
        y : object, optional
            Ignored.
        lengths : sequence of int, optional
            Number of rows of each sequence. By default, the rows continue the sequence
            of the call before, until `end_sequence` ends it.
        progress : bool, callable or None, default None
            As in `OnlineDPGMM.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad. The model is then as it was before the call.
        """
        if lengths is None or is_nothing(X):
            return super().update(X, y, progress=progress)
        check_progress(progress)
        features, rows = self._encoded(X)
        labels: list[Ids] = []
        ends = ends_of(lengths, len(rows))
        with rows_bar(progress, len(rows), "learning") as tell:
            for first, last in ends:
                self._take(features, rows[first:last], tell)
                labels.append(self.labels_)
                self.end_sequence()
        self._labels = np.concatenate(labels)
        return self

    @locked
    def end_sequence(self) -> Self:
        """End the current segment; the next row belongs to a new sequence.

        The duration of the segment is recorded, but no transition.

        Returns
        -------
        self
        """
        if self.is_ready:
            known = self._state.clusters
            known.chain.end(known.n_rows)
            self._belief_at = ()
        return self

    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        sample = sample_of(rows)
        rows = sample.rows
        if self.options.is_round:
            return spherical_cost_path(sample, lambda value: self._tried(rows, value))
        return subspace_cost_path(
            sample, self.noise, lambda value, _: self._tried(rows, value)
        )

    def _tried(self, rows: Matrix, lambda_: float) -> Any:
        """Clusters that have learned rows at another cost of a new one."""
        clusters = new_clusters(self.options, rows.shape[1], lambda_, self.noise, True)
        clusters.learn(rows, np.empty(len(rows), dtype=np.int64))
        if self.options.merge:
            clusters.merge()
        return clusters

    # ------------------------------------------------------------ files
    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._to_arrays()
        filters = self.is_ready and self._belief_at == self._stamp()
        arrays["belief"] = self._belief.copy() if filters else np.empty((0, 0))
        return header, arrays

    @classmethod
    def _from_checked(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = super()._from_checked(header, arrays)
        belief = arrays["belief"]
        if belief.size:
            if belief.shape != model._semi_markov("belief").log_duration.shape:
                raise ValueError("arrays must fit one another: belief by its states")
            model._belief, model._belief_at = belief.copy(), model._stamp()
        return model
