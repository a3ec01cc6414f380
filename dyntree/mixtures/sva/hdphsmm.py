"""OnlineHDPHSMM: clusters that follow one another, each for a while."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree._core.mixtures.chain import Chain
from dyntree._core.mixtures.spheres import Spheres
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.sva.learning import is_nothing
from dyntree.mixtures.sva.options import HSMM_OPTIONS, HSMMOptions
from dyntree.mixtures.sva.records import Durations, Ids, LambdaPath, Path
from dyntree.mixtures.sva.scales import spherical_path
from dyntree.mixtures.sva.semi_markov import (
    SemiMarkov,
    duration_laws,
    ends_of,
    move_probabilities,
    segments_of,
    smooth_path,
)
from dyntree.mixtures.sva.subspace_scales import subspace_path
from dyntree.mixtures.sva.subspaces import SubspaceMixture, make_subspaces
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar

SMOOTHING = 1.0  # of counts of moves, where sequences are decoded


@checkpoint.savable
class OnlineHDPHSMM(SubspaceMixture):
    """Online hierarchical Dirichlet process hidden semi-Markov model, in closed form.

    States are clusters as in `OnlineDPMPPCA` or `OnlineDPGMM`; a row pays for its
    distance to a state, and for the move from that of the row before. Moves, durations
    and states are counted as rows come (Tanwani and Calinon 2019). A segment is a run
    of rows in one state; rows in clusters that are not confirmed do not end it.

    Parameters
    ----------
    lambda_ : float
        Distance beyond which a row opens a state, in squared units of the rows.
        ``3 * noise**2 * chi2.isf(1e-5, n_features)`` for compact states; curves need
        more, as `lambda_path` shows.
    noise : float
        Standard deviation of the noise about subspaces.
    lambda_1 : float, optional
        As in `OnlineDPMPPCA`.
    lambda_2 : float, optional
        Weight of the log probabilities of moves; default ``4 * noise**2``.
    lambda_3 : float, optional
        Cost of a move that was never seen; default ``2 * noise**2 * log(100)``.
    lambda_4 : float, default 0
        Weight of the log probabilities of durations, once five are known.
    duration : {"gaussian", "negative-binomial"}, default "gaussian"
        Law of durations.
    max_duration : int, optional
        Longest segment that decoding knows of; default 4 standard deviations beyond
        the largest mean.
    emission : {"mppca", "gmm"}, default "mppca"
        Whether states have subspaces, or are round and as wide as the noise.
    gate, bandwidth, max_dim, spare, subspace, merge, merge_factor, check_every
        As in `OnlineDPMPPCA`.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPMPPCA`; moves and durations do not fade.
    seed : int, default 0
        Learning draws nothing; `sample` does.

    Attributes
    ----------
    options : HSMMOptions
    lambda_, noise : float
    n_clusters : int
        Confirmed states.
    labels_ : ndarray of int64
        Ids of the states of the rows of the last call.
    last_label_ : int
    aliases_ : dict of int to int
        What merged states became.

    Notes
    -----
    With c_ij segments of i followed by j and c_i of i followed by any, a row x after a
    row in state i costs ``dist_i(x)^2`` to stay, ``dist_j(x)^2 - lambda_2 log(c_ij /
    (c_i + 1))`` to move where i has moved before, ``dist_j(x)^2 + lambda_2 log(c_i + 1)
    + lambda_3`` to move elsewhere, and ``lambda + lambda_2 log(c_i + 1) + lambda_3`` in
    a new state. These are the limits of the log probabilities of the HDP-HSMM as its
    variance goes to 0 (for hidden Markov models Roychowdhury, Jiang and Kulis 2013).

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
    _more_arrays = ("belief",)
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

    @property
    def _n_kept_back(self) -> int:
        return 0

    def _clusters_of(self, n_features: int, lambda_: float, noise: float | None) -> Any:
        options = self.options
        assert noise is not None
        variance = noise**2
        moves, new = options.lambda_2, options.lambda_3
        chain = Chain(
            4.0 * variance if moves is None else moves,
            2.0 * variance * np.log(100.0) if new is None else new,
            options.lambda_4,
            options.duration != "gaussian",
        )
        if options.emission == "mppca":
            return make_subspaces(options, n_features, lambda_, noise, chain)
        return Spheres(
            n_features, lambda_, options.merge_factor * lambda_,
            options.check_every if options.merge else 0, options.min_weight,
            options.patience, options.forget, options.max_clusters, False, chain,
        )  # fmt: skip

    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[float, float | None]:
        return self.lambda_, self.noise

    # ------------------------------------------------------------ rows
    @locked
    def update(
        self, X: Any, y: Any = None, *, lengths: Any = None, progress: Progress = None
    ) -> Self:
        """Learn rows in order, as one sequence with those before, or as several.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Finite numbers. The first call fixes the columns; without rows a call does
            nothing.
        y : object, optional
            Of no effect.
        lengths : sequence of int, optional
            Rows of each sequence, which `end_sequence` ends; by default the sequence
            goes on over calls.
        progress : bool, callable or None, default None
            As in `OnlineDPGMM.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
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
        """End the segment that goes on; the next row belongs to another sequence.

        Its duration is recorded, and no move is.

        Returns
        -------
        self
        """
        if self._clusters is not None:
            self._clusters.chain.end(self._clusters.n_rows)
            self._belief_at = ()
        return self

    # ------------------------------------------------------------ moves and durations
    @locked
    def transition_counts(self) -> NDArray[np.int64]:
        """How often each confirmed state followed each other one.

        Returns
        -------
        ndarray of int64 of shape (n_clusters, n_clusters)
            Segments of the state of a row followed by that of a column, in the order of
            `clusters`.
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
            Rows sum to 1 where there is another state; that of a state that was never
            left is uniform over the others, without smoothing, too.
        """
        mass = params.real("smoothing", smoothing)
        if mass < 0.0:
            raise ValueError(f"smoothing must be >= 0; got {smoothing!r}.")
        counts = self.transition_counts().astype(np.float64)
        return move_probabilities(counts, mass) if len(counts) else counts

    @locked
    def durations(self) -> Durations:
        """How long the segments of each confirmed state were.

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

    def _now(self) -> tuple[Any, ...]:
        """What tells whether anything was learned since."""
        known = self._clusters
        return known.n_rows, known.n, known.lost, known.chain.last

    def _semi_markov(self, what: str) -> SemiMarkov:
        """Moves and durations of the confirmed states."""
        known, now = self._ready(what), self._now()
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
            A row at least.
        lengths : sequence of int, optional
            Rows of each sequence; by default all are one.

        Returns
        -------
        Path

        Notes
        -----
        All states may begin; moves have one added to their counts. Durations have the
        normal density at 1, 2, ... rows, normalised there, of the mean and standard
        deviation (at least .5) of the segments seen; of one segment 20 % of it, of none
        the mean of all states. The last segment may go on beyond the rows.
        """
        chain, density, ends = self._sequences(X, lengths, "decode")
        if not len(density):
            raise ValueError("X must have at least one row to decode; got none.")
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

    @locked
    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Log density of sequences, over all paths through the states (forward).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Of no effect.
        lengths : sequence of int, optional
            Rows of each sequence; by default all are one.

        Returns
        -------
        float
            Of all rows together; the chain is that of `decode`.
        """
        chain, density, ends = self._sequences(X, lengths, "score")
        top = density.max(axis=1, keepdims=True)
        total = float(top.sum())
        for first, last in ends:
            law = chain.lasting(last - first).law()
            total += law.log_likelihood(density[first:last] - top[first:last])
        return total

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
        if self._belief_at == self._now():
            return self._belief
        known = self._clusters.chain
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

        The filter goes on from the rows learned, or filtered, before; it knows for how
        long the sequence has been in its state. `end_sequence` begins it anew, and what
        is learned takes its place.

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
        belief = self._expected(chain)
        belief = belief * np.exp(density - density.max())[:, None]
        total = belief.sum()
        if not total > 0.0:  # the states that could be are out of reach of the row
            belief = np.zeros_like(belief)
            belief[:, 0] = np.exp(density - density.max())
            total = belief.sum()
        self._belief, self._belief_at = belief / total, self._now()
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
            Rows to look ahead from the last one learned or filtered.

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
    def sample(self, n: int, *, seed: Any = None) -> tuple[Matrix, Ids]:
        """Draw a sequence: states, their durations, and rows.

        Parameters
        ----------
        n : int
            Rows.
        seed : int or numpy Generator, optional
            Default the model's own seed.

        Returns
        -------
        X : ndarray of shape (n, n_features)
        labels : ndarray of int64 of shape (n,)
            Ids of their states.
        """
        places, labels, rng = self._walk(n, seed, "sample")
        mean, spread = self._clusters.means(), self._roots()
        X = mean[places]
        for k in np.unique(places):
            mine = places == k
            X[mine] += rng.normal(size=(int(mine.sum()), X.shape[1])) @ spread[k].T
        return X, labels

    @locked
    def sample_path(self, n: int, *, seed: Any = None) -> tuple[Matrix, Ids]:
        """Draw a sequence of states, and join their means by a smooth path.

        Parameters
        ----------
        n : int
            Rows.
        seed : int or numpy Generator, optional
            Default the model's own seed.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            A cubic spline through the mean of each state in the middle of its segment.
        labels : ndarray of int64 of shape (n,)
            Ids of the states.
        """
        places, labels, _ = self._walk(n, seed, "sample_path")
        return smooth_path(self._clusters.means()[places], labels), labels

    def _walk(
        self, n: Any, seed: Any, what: str
    ) -> tuple[Ids, Ids, np.random.Generator]:
        """States of so many rows, drawn: places and ids."""
        count = params.count("n", n, 1)
        rng = params.generator(self.seed if seed is None else seed)
        chain = self._semi_markov(what)
        states: list[int] = []
        state = int(rng.integers(len(chain.id)))
        while len(states) < count:
            p = np.exp(chain.log_duration[state])
            rows = int(rng.choice(chain.most, p=p / p.sum())) + 1
            states += [state] * (count if len(chain.id) == 1 else rows)
            if len(chain.id) > 1:
                state = int(rng.choice(len(chain.id), p=chain.move[state]))
        own = np.array(states[:count], dtype=np.int64)
        return self._confirmed()[own], chain.id[own], rng

    def _roots(self) -> dict[int, Matrix]:
        """Roots of the covariances of the confirmed states, by place."""
        places = self._confirmed()
        return {
            int(k): np.linalg.cholesky(c)
            for k, c in zip(places, self.covariances(), strict=True)
        }

    @locked
    def lambda_path(self, X: Any) -> LambdaPath:
        """How many states rows have under each of 14 costs of a new one.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Two rows at least, as one sequence.

        Returns
        -------
        LambdaPath
            As in `OnlineDPMPPCA.lambda_path` with the noise as given, or for round
            states as in `OnlineDPGMM.lambda_path`; the BIC is that of the mixture, and
            knows nothing of the order of the rows.
        """
        _, rows = self._encoded(X)
        if len(rows) < 2:
            raise ValueError(f"X must have at least two rows; got {len(rows)}.")

        if self.options.emission == "gmm":
            return spherical_path(rows, lambda value: self._tried(rows, value))
        return subspace_path(
            rows, self.noise, lambda value, _: self._tried(rows, value)
        )

    def _tried(self, rows: Matrix, lambda_: float) -> Any:
        """Clusters that have learned rows at another cost of a new one."""
        clusters = self._clusters_of(rows.shape[1], lambda_, self.noise)
        clusters.learn(rows, np.empty(len(rows), dtype=np.int64))
        if self.options.merge:
            clusters.merge()
        return clusters

    # ------------------------------------------------------------ round states
    def _subspaces(
        self, places: Ids
    ) -> tuple[Ids, tuple[Matrix, ...], tuple[Vector, ...]]:
        if self.options.emission == "mppca":
            return super()._subspaces(places)
        return self._no_subspaces(places)

    def _nearest(
        self, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        if self.options.emission == "mppca":
            return super()._nearest(rows, places, with_distance)
        found: tuple[Ids, Vector] = self._clusters.assign(
            rows, places, params.n_threads()
        )
        return found

    def _log_density(self, rows: Matrix, places: Ids) -> Matrix:
        if self.options.emission == "mppca":
            return super()._log_density(rows, places)
        variance = self.noise**2
        distance = self._clusters.squared_distances(rows)[:, places]
        constant = rows.shape[1] * np.log(2.0 * np.pi * variance)
        density: Matrix = -0.5 * (constant + distance / variance)
        return density

    # ------------------------------------------------------------ files
    @locked
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything the model is, and how far it has filtered; see `OnlineDPGMM`."""
        header, arrays = super().to_arrays()
        filters = self._clusters is not None and self._belief_at == self._now()
        arrays["belief"] = self._belief.copy() if filters else np.empty((0, 0))
        return header, arrays

    @classmethod
    def _filled(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = super()._filled(header, arrays)
        belief = arrays["belief"]
        if belief.size:
            if belief.shape != model._semi_markov("belief").log_duration.shape:
                raise ValueError("arrays must fit one another: belief by its states")
            model._belief, model._belief_at = belief.copy(), model._now()
        return model
