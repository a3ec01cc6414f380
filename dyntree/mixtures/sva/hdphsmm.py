"""OnlineHDPHSMM: clusters that follow one another, each for a while."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree._core.mixtures.spheres import Spheres
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.arrays import Arrays, Ids
from dyntree.mixtures.shared.base import no_mean
from dyntree.mixtures.shared.checks import not_negative
from dyntree.mixtures.shared.rows import no_rows
from dyntree.mixtures.sva.background import background_log_density
from dyntree.mixtures.sva.column_laws import ColumnLaws, noise_laws
from dyntree.mixtures.sva.emission import new_clusters
from dyntree.mixtures.sva.gaps import filled, learned_row, log_density_of_seen
from dyntree.mixtures.sva.options import HSMM_OPTIONS, ClusterOptions, HSMMOptions
from dyntree.mixtures.sva.records import Durations, LambdaPath, Path
from dyntree.mixtures.sva.resolution import sample_of
from dyntree.mixtures.sva.scales import (
    MISS,
    radius,
    spherical_cost_path,
    subspace_cost_path,
)
from dyntree.mixtures.sva.semi_markov import (
    SemiMarkov,
    duration_laws,
    ends_of,
    move_probabilities,
    over_all_paths,
    refuse_lengths,
    segments_of,
    smooth_path,
)
from dyntree.mixtures.sva.sequence_scales import near_rows, sequence_scales
from dyntree.mixtures.sva.state import State
from dyntree.mixtures.sva.subspaces import SubspaceMixture
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn

WITH_GAPS = (  # values may be missing
    "decode", "score", "score_total", "filter_one", "predict", "predict_proba", "bic",
    "aic",
)  # fmt: skip
SMOOTHING = 1.0  # of counts of moves, where sequences are decoded


@checkpoint.savable
class OnlineHDPHSMM(SubspaceMixture):
    """Online hierarchical Dirichlet process hidden semi-Markov model, in closed form.

    States are clusters as in `OnlineDPMPPCA` or `OnlineDPGMM`. The cost of a row is its
    distance to a state plus the cost of the transition from the state of the row
    before. Each row updates the states and the counts of transitions and durations
    (Tanwani and Calinon 2019). A segment is a run of rows in one state; rows in
    unconfirmed clusters do not end it.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Distance beyond which a row opens a state, in squared units of the rows. For
        compact states, ``1.5 * noise**2 * chi2.isf(1e-5, n_features)`` is a good value.
        "auto" chooses it from the first `warm_up` rows: see Notes. Curves need a larger
        value, which `lambda_path` helps to find. If it no longer fits, there is a
        `ScaleWarning`, as in `OnlineDPGMM`.
    noise : float or "auto", default "auto"
        Standard deviation of the noise around subspaces, in units of the rows. "auto"
        chooses it with `lambda_`. Of round states, whose columns have variances of
        their own, it only weighs the costs of transitions.
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
    emission : {"auto", "mppca", "gmm"}, default "auto"
        "mppca" for states with subspaces, "gmm" for round states. "auto" chooses
        between them with the scales, and is "mppca" where both scales are given.
    covariance : {"diag", "spherical"}, default "diag"
        Variance of a column in a state, beside its subspace, in densities and so in
        decoding: its own, or ``noise**2``, which is also the least beside a subspace.
        Learning measures distances with the noise.
    gate, bandwidth, max_dim, spare, subspace, merge, merge_factor, check_every
        As in `OnlineDPMPPCA`. Round states have no use for `lambda_1` and for the first
        five of these.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPMPPCA`. `forget` does not apply to transitions and durations.
    warm_up : int, default 800
        Rows from which "auto" values are chosen; until then there are no answers. Of
        these, rows with missing values are left out of the choice. If many are, give
        the scales: those of whole rows alone may be poor.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
        Seed of `sample`. Learning uses no random numbers.

    Attributes
    ----------
    options : HSMMOptions
    lambda_, noise : float
    emission : str or None
        Shape of the states; None until it is chosen.
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

    The scales of "auto" are multiples of those in `OnlineDPMPPCA` for states with
    subspaces, and in `OnlineDPGMM` for round states. The sequence model of the rows set
    aside that has the best BIC, by the likelihood over all paths, gives its scales and
    its shape of states. In that likelihood a row is of no state with probability 1e-5,
    so that a few odd rows decide nothing. These scales suit compact states, but not
    curves.

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
        lambda_: float | str = "auto",
        *,
        noise: float | str = "auto",
        lambda_1: float | None = None,
        lambda_2: float | None = None,
        lambda_3: float | None = None,
        lambda_4: float = 0.0,
        duration: str = "gaussian",
        max_duration: int | None = None,
        emission: str = "auto",
        covariance: str = "diag",
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
        warm_up: int = 800,
        seed: int | None = None,
    ) -> None:
        given = params.given_options(locals(), HSMM_OPTIONS)
        self._begin(HSMMOptions(**given), given_or_drawn(seed))
        self._warn_of_lambda_1()

    def _begin(self, options: Any, seed: Any) -> None:
        super()._begin(options, seed)
        # probabilities of state and dwell at the last row filtered
        self._belief: Matrix = np.empty((0, 0))
        self._belief_at: tuple[Any, ...] = ()  # what had been learned then
        self._chain: tuple[tuple[Any, ...], SemiMarkov] | None = None
        self._labels_at_start: Ids = np.empty(0, dtype=np.int64)  # of rows set aside

    @property
    def emission(self) -> str | None:
        """Shape of the states, "mppca" or "gmm"; None until it is chosen."""
        clusters, shapes = self._state.clusters, self.options.emissions_to_try
        if clusters is not None:
            return "gmm" if isinstance(clusters, Spheres) else "mppca"
        return shapes[0] if len(shapes) == 1 else None

    def _own_facts(self) -> dict[str, Any]:
        return super()._own_facts() | {"emission": self.emission}

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[ClusterOptions, float, float | None]:
        state = self._state
        return sequence_scales(self.options, rows, names, state.ends, self._tested)

    @staticmethod
    def _tested(options: HSMMOptions, rows: Matrix, ends: list[int]) -> OnlineHDPHSMM:
        """Another model, of scales to try, that has learned sequences of rows."""
        model = OnlineHDPHSMM(**asdict(options), seed=0)
        for first, last in pairwise([0, *ends, len(rows)]):
            model.update(rows[first:last], progress=False)
            if last in ends:
                model.end_sequence()
        return model

    def _n_to_start(self, rows: Matrix) -> int:
        """As many rows as are set aside, or as have two without a gap among them."""
        least = self.options.n_set_aside
        if not least:
            return least
        whole = np.flatnonzero(~np.isnan(rows).any(axis=1))[1:2] + 1
        return max(least, *whole.tolist()) if len(whole) else max(least, len(rows) + 1)

    def _start(self, features: FeatureMap, waiting: Matrix) -> Ids:
        """Choose scales, and learn the sequences set aside; returns their labels."""
        before, ends = self._state, self._state.ends
        options, lambda_, noise = self._scales_of(waiting, features.feature_names)
        clusters = new_clusters(options, waiting.shape[1], lambda_, noise)
        labels = np.full(len(waiting), -1, dtype=np.int64)
        try:
            self._state = State(features, no_rows(), (), lambda_, noise, clusters)
            for first, last in pairwise([0, *ends, len(waiting)]):
                self._learn(waiting[first:last], labels[first:last])
                if last in ends:
                    self.end_sequence()
        except BaseException:  # an interrupt: the rows wait as before
            self._state = before
            raise
        self._labels_at_start = labels
        return labels

    # ------------------------------------------------------------ rows
    def _encoded(self, X: Any, argument: str = "X") -> tuple[FeatureMap, Matrix]:
        """Rows, with NaN for what is missing.

        Gaps are where rows follow the value that fills them.
        """
        plain = filled(X, 0.0)
        features, rows = super()._encoded(plain, argument)
        if plain is X:
            return features, rows
        other = features.encode(filled(X, 1.0), argument)
        return features, np.where(rows == other, rows, np.nan)

    def _answered(self, X: Any, what: str) -> tuple[Any, Matrix]:
        """The clusters of the kernel, and rows; only sequences may have gaps."""
        known, rows = super()._answered(X, what)
        if what not in WITH_GAPS and np.isnan(rows).any():
            super()._encoded(X)  # which names the value
        return known, rows

    def _learn(self, rows: Matrix, labels: Ids) -> None:
        """Learn rows, some of which may have gaps."""
        first, clusters = 0, self._state.clusters
        if not np.isnan(rows).any():
            super()._learn(rows, labels)
            return
        while first < len(rows):
            holes = np.flatnonzero(np.isnan(rows[first:]).any(axis=1))
            last = first + int(holes[0]) if len(holes) else len(rows)
            if last > first:
                super()._learn(rows[first:last], labels[first:last])
            if last < len(rows):
                labels[last] = learned_row(clusters, rows[last])
            first = last + 1

    def _nearest(self, rows: Matrix, places: Ids, measures: bool) -> tuple[Ids, Vector]:
        """Which state is nearest to each row, by the values that it has."""
        gaps = np.isnan(rows)
        if not gaps.any():
            return super()._nearest(rows, places, measures)
        known = self._state.clusters
        nearest, distance = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        whole = ~gaps.any(axis=1)
        if whole.any():
            among = super()._nearest(np.ascontiguousarray(rows[whole]), places, True)
            nearest[whole], distance[whole] = among
        for k in np.flatnonzero(~whole):
            filled = np.where(gaps[k], known.means(), rows[k])
            squares = np.diag(known.squared_distances(np.ascontiguousarray(filled)))
            nearest[k] = np.argmin(squares[places])
            distance[k] = squares[places].min()
        return nearest, distance

    def _n_parameters(self) -> int:
        """Those of the states, of the moves between them and of their durations."""
        K = self.n_clusters
        return super()._n_parameters() - (K - 1) + K * max(K - 2, 0) + 2 * K

    def _likelihood(self, X: Any, what: str) -> tuple[float, float]:
        """Log density of a sequence, and how many rows it has."""
        total, n_rows = self._total(X, None, None, what)
        if not n_rows:
            raise ArgumentError(what, "needs at least one row", Message("none"))
        return total, float(n_rows)

    def _log_density(self, rows: Matrix, places: Ids) -> Matrix:
        """Log density of the values that are there in each of some clusters."""
        if not np.isnan(rows).any():
            return super()._log_density(rows, places)
        laws = self._column_laws(places)
        if laws is None:
            known = self._state.clusters
            _, bases, variances = self._emission.subspaces_of(known, np.arange(known.n))
            laws = noise_laws(known, self.noise, places, bases, variances)
        return log_density_of_seen(laws, rows, not self.options.has_column_laws)

    def _column_laws(self, places: Ids) -> ColumnLaws | None:
        """Laws of columns, whose variances beside a subspace are at least the noise's.

        A state in a curve has columns that hardly vary beside its subspace; narrower
        ones would cut the curve into pieces.
        """
        laws = super()._column_laws(places)
        if laws is None:
            return None
        has_subspace = np.array([B.shape[1] > 0 for B in laws.along])[:, None]
        least = np.where(has_subspace, self.noise**2, 0.0)
        return replace(laws, variance=np.maximum(laws.variance, least))

    @locked
    def update(
        self, X: Any, y: Any = None, *, lengths: Any = None, progress: Progress = None
    ) -> Self:
        """Learn rows in order, as a continuation of the sequence or as new sequences.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers, or NaN where one is missing: see Notes. The first call fixes the
            columns. A call without rows changes nothing.
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

        Notes
        -----
        In a row with missing values, distances are those of the other columns, and the
        means and variances of the missing ones stay as they are. A row in which all
        values are missing is a step without a row: the sequence stays in its state. So
        it is for `decode`, `score`, `score_total` and `filter_one`. Rows with missing
        values that come before the first state are passed over. `predict` and
        `predict_proba`, which ask for each row alone, go by the other columns, too.
        """
        if lengths is None or is_nothing(X):
            if y is not None and not is_nothing(X):
                refuse_lengths(y, len(self._encoded(X)[1]))
            return super().update(X, y, progress=progress)
        check_progress(progress)
        features, rows = self._encoded(X)
        refuse_lengths(y, len(rows))
        parts: list[Ids] = []
        ends = ends_of(lengths, len(rows))
        n_before = None if self.is_ready else len(self._state.waiting)
        with rows_bar(progress, len(rows), "learning") as tell:
            for first, last in ends:
                self._take(features, rows[first:last], tell)
                parts.append(self.labels_)
                self.end_sequence()
        labels = np.concatenate(parts)
        if n_before is not None and self.is_ready:  # earlier sequences waited, too
            at_start = self._labels_at_start[n_before:]
            labels[: len(at_start)] = at_start
        self._labels = labels
        return self

    @locked
    def end_sequence(self) -> Self:
        """End the current segment; the next row belongs to a new sequence.

        The duration of the segment is recorded, but no transition.

        Returns
        -------
        self
        """
        state = self._state
        if self.is_ready:
            state.clusters.chain.end(state.clusters.n_rows)
            self._belief_at = ()
        elif len(state.waiting) > max(state.ends, default=0):
            self._state = replace(state, ends=(*state.ends, len(state.waiting)))
        return self

    # ------------------------------------------------------------ moves and durations
    @locked
    def transition_counts(self) -> NDArray[np.int64]:
        """How often each confirmed state followed each other one.

        Returns
        -------
        ndarray of int64 of shape (n_clusters, n_clusters)
            Number of segments of the state in the row that were followed by the state
            in the column, in the order of `clusters`.
        """
        known = self._ready("transition_counts")
        places = self._confirmed()
        counts: NDArray[np.int64] = known.chain.counts(known.n)[np.ix_(places, places)]
        return counts

    def transition_matrix(self, smoothing: float = SMOOTHING) -> Matrix:
        """Probability that each confirmed state is followed by each other one.

        Parameters
        ----------
        smoothing : float, default 1
            Added to every count.

        Returns
        -------
        ndarray of shape (n_clusters, n_clusters)
            Rows sum to 1 if there is another state. The row of a state that was never
            left is uniform over the other states, also without smoothing.
        """
        mass = not_negative("smoothing", smoothing)
        counts = self.transition_counts().astype(np.float64)
        return move_probabilities(counts, mass) if len(counts) else counts

    @locked
    def durations(self) -> Durations:
        """Durations of the segments of each confirmed state.

        Returns
        -------
        Durations
        """
        known = self._ready("durations")
        places = self._confirmed()
        count, mean, m2 = known.chain.durations(known.n)[places].T
        with np.errstate(invalid="ignore", divide="ignore"):
            sd = np.sqrt(np.where(count > 1, m2 / (count - 1.0), np.nan))
        return Durations(
            id=known.array("ids")[places],
            count=count.astype(np.int64),
            mean=np.where(count > 0, mean, np.nan),
            sd=sd,
        )

    def _stamp(self) -> tuple[Any, ...]:
        """A stamp that differs once anything has been learned."""
        known = self._state.clusters
        return known.n_rows, known.n, known.lost, known.chain.last

    def _semi_markov(self, what: str) -> SemiMarkov:
        """Moves and durations of the confirmed states."""
        known, now = self._ready(what), self._stamp()
        if self._chain is None or self._chain[0] != now:
            places = self._some(what)
            options = self.options
            tally = known.chain.durations(known.n)[places]
            laws = duration_laws(
                tally, known.chain.dwell, options.duration, options.max_duration
            )
            move = self.transition_matrix(SMOOTHING)
            self._chain = now, SemiMarkov(known.array("ids")[places], move, *laws)
        return self._chain[1]

    # ------------------------------------------------------------ sequences
    @locked
    def decode(self, X: Any, *, lengths: Any = None) -> Path:
        """The most probable path of rows through the confirmed states (Viterbi).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            At least one row.
        lengths : sequence of int, optional
            Number of rows of each sequence; by default all rows are one sequence.

        Returns
        -------
        Path

        Notes
        -----
        A sequence may begin in any state. One is added to the counts of transitions.
        The probability of a duration of k rows is the mass of a normal distribution
        between k - 1/2 and k + 1/2, normalised up to the longest duration, as in
        learning with ``lambda_4 > 0``. The normal distribution has the mean and the
        standard deviation (at least 0.5) of the segments of the state. For a single
        segment the standard deviation is 20 % of its length, and a state without
        segments has the mean over all states. Without `max_duration`, any segment may
        be longer than all that were learned: 1 % of them have a geometric distribution
        with ten times the longest mean duration, that of the segment under way
        included. The last segment may continue beyond the rows.
        """
        chain, density, ends = self._sequences(X, lengths, "decode")
        if not len(density):
            raise ArgumentError(
                "X", "must have at least one row to decode", Message("none")
            )
        top = density.max(axis=1, keepdims=True)
        parts, total = [], float(top.sum())
        for first, last in ends:
            law = chain.lasting(last - first).law()
            places, value = law.viterbi(density[first:last] - top[first:last])
            parts.append((chain.id[places], first))
            total += value
        found = [segments_of(labels) for labels, _ in parts]
        shifts = [first for _, first in parts]
        return Path(
            labels=np.concatenate([labels for labels, _ in parts]),
            state=np.concatenate([state for state, _, _ in found]),
            start=np.concatenate(
                [start + k for (_, start, _), k in zip(found, shifts, strict=True)]
            ),
            stop=np.concatenate(
                [stop + k for (_, _, stop), k in zip(found, shifts, strict=True)]
            ),
            log_density=total,
        )

    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Log density of sequences, over all paths through the states, in nats a row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Ignored.
        lengths : sequence of int, optional
            Number of rows of each sequence; by default all rows are one sequence.

        Returns
        -------
        float
            `score_total` divided by the number of rows.
        """
        total, n_rows = self._total(X, y, lengths, "score")
        if not n_rows:
            raise no_mean()
        return total / n_rows

    def score_total(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Log density of sequences, over all paths through the states (forward).

        Parameters
        ----------
        X, y, lengths
            As for `score`.

        Returns
        -------
        float
            Log density of all rows together, under the model of `decode`.
        """
        return self._total(X, y, lengths, "score_total")[0]

    @locked
    def _total(self, X: Any, y: Any, lengths: Any, what: str) -> tuple[float, int]:
        """Log density of sequences, and how many rows these have."""
        chain, density, ends = self._sequences(X, lengths, what)
        refuse_lengths(y, len(density))
        return over_all_paths(chain, density, ends), len(density)

    @locked
    def _total_with_others(self, rows: Matrix, lengths: Any) -> float:
        """Log density of sequences in which a row may be of no confirmed state.

        Without such rows, whose share is MISS, one outside all states would outweigh
        all others.
        """
        chain, density, ends = self._sequences(rows, lengths, "score_total")
        behind = background_log_density(self._state.clusters, self.noise, rows)
        mixed = np.logaddexp(density + np.log1p(-MISS), behind[:, None] + np.log(MISS))
        return over_all_paths(chain, mixed, ends)

    def _sequences(
        self, X: Any, lengths: Any, what: str
    ) -> tuple[SemiMarkov, Matrix, list[tuple[int, int]]]:
        """Chain, log densities of rows in its states, and where sequences end."""
        _, rows = self._answered(X, what)
        ends = ends_of(lengths, len(rows))
        chain = self._semi_markov(what)
        density = self._log_density(rows, self._confirmed())
        return chain, np.ascontiguousarray(density), ends

    # ------------------------------------------------------------ live
    def _belief_now(self, chain: SemiMarkov) -> Matrix | None:
        """State and dwell at the last row; None before the first row of a sequence."""
        if self._belief_at == self._stamp():
            return self._belief
        known = self._state.clusters.chain
        if known.state < 0:
            return None
        belief = np.zeros(chain.log_duration.shape)
        place = np.flatnonzero(self._confirmed() == known.state)
        if not len(place):
            return None
        belief[place[0], min(known.dwell, chain.most) - 1] = 1.0
        return belief

    @locked
    def filter_one(self, x: Any) -> Vector:
        """Probabilities of the states at one more row, which is not learned.

        The filter continues from the last row that was learned or filtered, and takes
        into account how long the sequence has been in its state. `end_sequence` and
        every learned row reset it.

        Parameters
        ----------
        x : dict or array_like of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_clusters,)
            In the order of `clusters`.
        """
        _, rows = self._answered(self._one_row(x), "filter_one")
        chain = self._semi_markov("filter_one")
        density = self._log_density(rows, self._confirmed())[0]
        if np.isfinite(best := density.max()):
            density = density - best
        else:  # out of reach of every state: the row tells nothing
            density = np.zeros_like(density)
        belief = self._expected(chain)
        belief = belief * np.exp(density)[:, None]
        total = belief.sum()
        if not total > 0.0:  # the states that could be are out of reach of the row
            belief = np.zeros_like(belief)
            belief[:, 0] = np.exp(density)
            total = belief.sum()
        self._belief, self._belief_at = belief / total, self._stamp()
        states: Vector = self._belief.sum(axis=1)
        return states

    def _expected(self, chain: SemiMarkov) -> Matrix:
        """Probability of states and dwells at the next row."""
        belief = self._belief_now(chain)
        if belief is None:
            belief = np.zeros(chain.log_duration.shape)
            belief[:, 0] = 1.0 / len(chain.id)
            return belief
        return chain.advanced(belief)

    @locked
    def predict_next(self, steps: int = 1) -> Matrix:
        """Probabilities of the states at the next rows.

        Parameters
        ----------
        steps : int, default 1
            Number of rows after the last one that was learned or filtered.

        Returns
        -------
        ndarray of shape (steps, n_clusters)
            In the order of `clusters`.
        """
        n = params.count("steps", steps, 1)
        chain = self._semi_markov("predict_next")
        out = np.empty((n, len(chain.id)))
        belief = self._expected(chain)
        for k in range(n):
            out[k] = belief.sum(axis=1)
            belief = chain.advanced(belief)
        return out

    # ------------------------------------------------------------ draws
    @locked
    def sample(self, n_samples: int = 1, *, seed: Any = None) -> tuple[Matrix, Ids]:
        """Draw a sequence: states, their durations, and rows.

        Parameters
        ----------
        n_samples : int, default 1
            Number of rows.
        seed : int or numpy Generator, optional
            By default the seed of the model.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of int64 of shape (n_samples,)
            Ids of their states.
        """
        count = params.count("n_samples", n_samples, 1)
        places, labels, rng = self._walk(count, seed, "sample")
        return self._rows_of(places, rng), labels

    @locked
    def sample_path(
        self, n_samples: int = 1, *, seed: Any = None
    ) -> tuple[Matrix, Ids]:
        """Draw a sequence of states, and join their means by a smooth path.

        Parameters
        ----------
        n_samples, seed
            As for `sample`.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            A cubic spline through the mean of each state in the middle of its segment.
        labels : ndarray of int64 of shape (n_samples,)
            Ids of the states.
        """
        count = params.count("n_samples", n_samples, 1)
        places, labels, _ = self._walk(count, seed, "sample_path")
        return smooth_path(self._state.clusters.means()[places], labels), labels

    def _walk(
        self, count: int, seed: Any, what: str
    ) -> tuple[Ids, Ids, np.random.Generator]:
        """States of so many rows, drawn: places and ids."""
        rng = params.generator(self.seed if seed is None else seed)
        chain = self._semi_markov(what)
        states: list[int] = []
        state = int(rng.integers(len(chain.id)))
        while len(states) < count:
            rows = chain.drawn_duration(state, rng)
            states += [state] * (count if len(chain.id) == 1 else rows)
            if len(chain.id) > 1:
                state = int(rng.choice(len(chain.id), p=chain.move[state]))
        own = np.array(states[:count], dtype=np.int64)
        return self._confirmed()[own], chain.id[own], rng

    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        sample = sample_of(np.ascontiguousarray(rows[near_rows(rows, names)]))
        rows, chosen = sample.rows, self._state.noise
        given = self.options.noise if chosen is None else chosen
        if self.emission != "gmm":
            return subspace_cost_path(
                sample, given, lambda value, noise: self._tried(rows, value, noise)
            )
        unit = radius(1.0, rows.shape[1])  # noise that is open fits the cost

        def run(value: float) -> Any:
            noise = given if isinstance(given, float) else np.sqrt(value / unit)
            return self._tried(rows, value, float(noise))

        return spherical_cost_path(sample, run)

    def _tried(self, rows: Matrix, lambda_: float, noise: float) -> Any:
        """Clusters that have learned rows at another cost of a new one."""
        options = replace(self.options, emission=self.emission or "mppca")
        clusters = new_clusters(options, rows.shape[1], lambda_, noise, True)
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
