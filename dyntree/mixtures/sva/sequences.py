"""SequenceMixture: what a mixture whose clusters follow one another can be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.base import no_mean
from dyntree.mixtures.shared.checks import not_negative
from dyntree.mixtures.sva.options import HSMMOptions
from dyntree.mixtures.sva.records import Durations, Path
from dyntree.mixtures.sva.semi_markov import (
    SemiMarkov,
    duration_laws,
    ends_of,
    move_probabilities,
    segments_of,
    smooth_path,
)
from dyntree.mixtures.sva.subspaces import SubspaceMixture
from dyntree.runtime.locking import locked

SMOOTHING = 1.0  # of counts of moves, where sequences are decoded


class SequenceMixture(SubspaceMixture):
    """The part of `OnlineHDPHSMM` that answers."""

    options: HSMMOptions
    _belief: Matrix  # state and dwell at the last row filtered
    _belief_at: tuple[Any, ...]  # what had been learned then
    _chain: tuple[tuple[Any, ...], SemiMarkov] | None

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
        """What tells whether anything was learned since."""
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
        total, n_rows = self._total(X, lengths, "score")
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
        return self._total(X, lengths, "score_total")[0]

    @locked
    def _total(self, X: Any, lengths: Any, what: str) -> tuple[float, int]:
        """Log density of sequences, and how many rows these have."""
        chain, density, ends = self._sequences(X, lengths, what)
        top = density.max(axis=1, keepdims=True)
        total = float(top.sum())
        for first, last in ends:
            law = chain.lasting(last - first).law()
            total += law.log_likelihood(density[first:last] - top[first:last])
        return total, len(density)

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
