"""What a topic model answers: for documents and points, and of its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.hdp.batch import Batch
from dyntree.mixtures.hdp.context import SAMPLING, Context
from dyntree.mixtures.hdp.input import read_points, read_to_answer
from dyntree.mixtures.hdp.options import HDPSettings
from dyntree.mixtures.hdp.records import Retrieved, TopicLabels
from dyntree.mixtures.hdp.scoring import FoldIn, fold_in, indexed, retrieved
from dyntree.mixtures.hdp.state import HISTORY, State
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.mixtures.shared.base import Mixture
from dyntree.runtime.locking import locked

NAME = "MemoryBoundedHDP"
METHODS = ("hard", "soft", "fast")
PER = ("point", "document")


class TopicAnswers(Mixture):
    """Questions to a memory-bounded topic model; none of them teaches it anything."""

    unit = "epoch"
    _counted = "topics"
    settings: HDPSettings
    n_threads: int
    callback: Callable[[Any], Any] | None
    _state: State | None

    def _context(self, total: float | None = None) -> Context:
        return Context(self.settings, self.seed, self.n_threads, self.callback, total)

    def _ready(self, what: str) -> State:
        """What was learned, where there is something."""
        if self._state is None:
            raise NotReadyError(
                Message(
                    "{name!a} has seen no documents; call fit or partial_fit before "
                    "{what}.",
                    name=NAME,
                    what=what,
                )
            )
        return self._state

    def _folded(
        self,
        documents: Any,
        what: str,
        groups: Any = None,
        *,
        ignore_unknown: bool = False,
        bound: bool = False,
    ) -> tuple[Batch, FoldIn]:
        """Documents that are asked about, and their proportions."""
        state = self._ready(what)
        batch = read_to_answer(documents, state, ignore_unknown, groups)
        scaled = batch.standardised(state.shift, state.scale)
        store = scaled.store(state.family, batch.document)
        search = self._context().search(state.family)
        found = fold_in(search, state.topics, store, batch.n_documents, bound=bound)
        return batch, found

    @property
    def memory_used_(self) -> int:
        """Bytes of all arrays that are held, which are those of `to_arrays`."""
        return 0 if self._state is None else self._state.nbytes

    def memory_usage(self) -> int:
        """Bytes held by the model, with a little for its objects."""
        return self.memory_used_ + 2000

    # ------------------------------------------------------------ what it is
    @property
    def n_topics_(self) -> int:
        """Topics there are."""
        return 0 if self._state is None else self._state.topics.K

    @property
    def topic_weights_(self) -> Vector:
        """Share of all points in each topic, descending."""
        N = self._ready("topic_weights_").topics.N
        shares: Vector = N / N.sum()
        return shares

    @property
    def topic_counts_(self) -> Vector:
        """Points in each topic."""
        return self._ready("topic_counts_").topics.N.copy()

    @property
    def alpha_(self) -> Vector:
        """Prior weight of each topic in a document."""
        return self._ready("alpha_").topics.alpha.copy()

    @property
    def topic_ids_(self) -> Ids:
        """Permanent numbers of topics."""
        return self._ready("topic_ids_").topics.ids.copy()

    @property
    def topic_aliases_(self) -> dict[int, int]:
        """What merged topics became: id -> id of the topic that took them in."""
        if self._state is None:
            return {}
        return settled_aliases(self._state.aliases.tolist())

    @property
    def means_(self) -> Matrix:
        """Posterior means of Gaussian topics, shape (n_topics, n_features)."""
        state = self._ready("means_")
        m = state.family.means(state.topics.statistics)
        return state.shift + m * state.scale

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Expected covariances of each topic, (d, d); variances (d,) where diagonal."""
        state = self._ready("covariances_")
        found: NDArray[np.float64] = state.family.covariances(
            state.topics.statistics, state.scale
        )
        return found

    @property
    def topic_words_(self) -> Matrix:
        """Probability of each word in each topic, shape (n_topics, n_words)."""
        state = self._ready("topic_words_")
        return state.family.word_probabilities(state.topics.statistics)

    @property
    def group_sizes_(self) -> Vector:
        """Documents in each group, shape (n_groups,)."""
        return self._ready("group_sizes_").topics.documents.copy()

    @property
    def group_proportions_(self) -> Matrix:
        """Expected share of each topic in each group, shape (n_groups, n_topics)."""
        return self._ready("group_proportions_").topics.proportions

    @property
    def n_clumps_(self) -> int:
        """Clumps that are held."""
        return 0 if self._state is None else self._state.store.n_clumps

    @property
    def n_singlets_(self) -> int:
        """Single points that are held."""
        return 0 if self._state is None else self._state.store.n_points

    @property
    def free_energy_(self) -> float:
        """Free energy of what is held, in nats, in units of the data."""
        state = self._ready("free_energy_")
        return float(state.F + state.log_scale * state.n_points)

    @property
    def n_seen(self) -> int:
        """Points ever learned; words as often as they came."""
        return 0 if self._state is None else round(self._state.n_points)

    @property
    def n_documents_seen_(self) -> int:
        """Documents ever learned."""
        return 0 if self._state is None else self._state.n_documents

    @property
    def history_(self) -> NDArray[Any]:
        """One record for each epoch, or for some of them if memory is small.

        Its fields are epoch, documents, points, topics, free_energy,
        free_energy_per_point (of all data so far, in units of the data), seconds_build
        and seconds_compress (CPU time in this process; NaN from a file), sweeps,
        moves_tried, moves_made, splits_refused, items, bytes, magnification, jitters.
        """
        kinds = [(name, np.float64) for name in HISTORY]
        if self._state is None:
            return np.zeros(0, dtype=kinds)
        rows = [tuple(row) for row in self._state.history]
        return np.array(rows, dtype=kinds).view(np.recarray)

    @property
    def is_ready(self) -> bool:
        """Whether there are topics to answer from."""
        return self._state is not None

    @property
    def _columns_learned(self) -> FeatureMap | None:
        return None if self._state is None else self._state.features

    def _own_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "documents learned": self.n_documents_seen_,
            "topics": self.n_topics_,
        }
        if self._state is not None:
            facts |= {
                "groups": self._state.topics.S,
                "clumps": self.n_clumps_,
                "single points": self.n_singlets_,
                "memory limit": self._state.limits.memory,
            }
        return facts

    @property
    def n_columns_(self) -> int:
        """Columns, or words of the vocabulary."""
        return 0 if self._state is None else self._state.family.width

    @property
    def learned_(self) -> State:
        """All that was learned, as reports read it; not to be written to."""
        return self._ready("learned_")

    # ------------------------------------------------------------ documents
    @locked
    def transform(
        self, documents: Any, *, groups: Any = None, ignore_unknown: bool = False
    ) -> Matrix:
        """Expected share of each topic in each document; the topics do not change.

        Parameters
        ----------
        documents
            As in `fit`. Without `groups`, one table is one document.
        groups : array_like of shape (n_points,), or str, optional
            The document of each row of a table, as in `fit`. Documents are in the order
            in which their labels first occur.
        ignore_unknown : bool, default False
            Whether words outside the vocabulary are ignored instead of refused.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Rows sum to 1.
        """
        unknown = params.flag("ignore_unknown", ignore_unknown)
        _, found = self._folded(documents, "transform", groups, ignore_unknown=unknown)
        return found.topics.proportions

    @locked
    def predict(self, documents: Any, *, groups: Any = None) -> TopicLabels:
        """Best topic of each point, and the proportions of documents.

        Parameters
        ----------
        documents
            As in `fit`. Without `groups`, one table is one document.
        groups : array_like of shape (n_points,), or str, optional
            As in `transform`.

        Returns
        -------
        TopicLabels
        """
        batch, found = self._folded(documents, "predict", groups)
        label = found.best_topics().astype(np.int64)
        labels = batch.unsorted(label)
        if not (batch.is_array and batch.order is not None):
            edges = np.searchsorted(batch.document, np.arange(1, batch.n_documents))
            labels = np.split(label, edges)[: batch.n_documents]
        return TopicLabels(labels, found.topics.proportions)

    @locked
    def predict_proba(self, documents: Any, *, groups: Any = None) -> Matrix:
        """Probability of each topic at each point.

        Parameters
        ----------
        documents, groups
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_points, n_topics)
        """
        batch, found = self._folded(documents, "predict_proba", groups)
        ordered: Matrix = batch.unsorted(found.responsibilities())
        return ordered

    @locked
    def topic_proba(self, points: Any) -> Matrix:
        """Probability of each topic at points of unknown documents.

        Parameters
        ----------
        points : array_like of shape (n_points, n_features), or word ids (n_points,)

        Returns
        -------
        ndarray of shape (n_points, n_topics)
            Each row is treated separately, with `topic_weights_` as weights.
        """
        state = self._ready("topic_proba")
        family, topics = state.family, state.topics
        expected = family.expected_for_answers(topics.statistics)
        logs = family.point_logs(expected, read_points(points, state)) + expected.c
        out: Matrix = softmax(logs + np.log(topics.N / topics.N.sum()), axis=1)
        return out

    @locked
    def log_density(self, points: Any) -> Vector:
        """Log predictive density of points of unknown documents, in data units.

        Parameters
        ----------
        points : array_like of shape (n_points, n_features), or word ids (n_points,)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        state = self._ready("log_density")
        rows, topics = read_points(points, state), state.topics
        shares = np.broadcast_to(topics.N / topics.N.sum(), (len(rows), topics.K))
        found = state.family.log_mixture(rows, topics.statistics, shares)
        return found - state.log_scale

    @locked
    def score_samples(
        self, documents: Any, *, given: Any = None, groups: Any = None
    ) -> Vector:
        """Log predictive density of each point, in units of the data.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document. For words, the result has one entry
            for each pair of a document and a word.
        given : optional
            Other documents, one for each of `documents`, that determine the
            proportions. By default `documents` themselves do.
        groups : array_like of shape (n_points,), or str, optional
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        return self._log_densities(documents, given, groups)

    def _log_densities(self, X: Any, given: Any = None, groups: Any = None) -> Vector:
        batch, _, density = self._densities(X, given, groups, "score_samples")
        ordered: Vector = batch.unsorted(density)
        return ordered

    def _densities(
        self, documents: Any, given: Any, groups: Any, what: str
    ) -> tuple[Batch, FoldIn, Vector]:
        """Log predictive density of each point, proportions from `given`."""
        batch, found = self._folded(documents, what, groups)
        shares = found.topics.proportions
        if given is not None:
            shares = self._folded(given, what)[1].topics.proportions
            if len(shares) != batch.n_documents:
                raise ArgumentError(
                    "given",
                    "must hold as many documents, {n_documents}",
                    len(shares),
                    n_documents=batch.n_documents,
                )
        density = found.log_predictive(shares)
        return batch, found, density - self._ready(what).log_scale

    @locked
    def score(
        self,
        documents: Any,
        y: Any = None,
        *,
        given: Any = None,
        groups: Any = None,
        per: str = "point",
    ) -> Any:
        """Mean log predictive density; perplexity is exp(-score).

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.
        y : object, optional
            Ignored.
        given, groups : optional
            As in `score_samples`.
        per : {"point", "document"}, default "point"
            Whether to average over all points, or to sum over the points of each
            document.

        Returns
        -------
        float, or ndarray of shape (n_documents,)

        Notes
        -----
        The density is log sum_k E[pi_jk] p(x | data of topic k). Eqs. 20 and 21 give
        the proportions of each document, with fixed topics and equal proportions at the
        start. For words, the mean probabilities of the topics are used.
        """
        params.one_of("per", per, PER)
        batch, found, density = self._densities(documents, given, groups, "score")
        weight = found.store.weights
        if per == "document":
            return np.bincount(batch.document, weight * density, batch.n_documents)
        if not len(density):
            raise ArgumentError(
                "score",
                "needs at least one point",
                Message("empty documents alone"),
                'Ask for per="document".',
            )
        return float(weight @ density / weight.sum())

    @locked
    def free_energy(self, documents: Any = None) -> float:
        """Free energy in nats, in units of the data.

        Parameters
        ----------
        documents : optional
            Documents whose proportions are computed with fixed topics. All points of a
            stream give the full free energy of the model. By default the result is the
            free energy of the compressed data that the model holds.

        Returns
        -------
        float
        """
        if documents is None:
            return self.free_energy_
        batch, found = self._folded(documents, "free_energy", bound=True)
        units = self._ready("free_energy").log_scale * batch.n_points
        return float(found.free_energy() + units)

    # ------------------------------------------------------------ retrieval
    @locked
    def index(self, documents: Any, ids: Any = None, *, groups: Any = None) -> Self:
        """Add documents to the index that `retrieve` searches.

        Parameters
        ----------
        documents
            As in `fit`. Without `groups`, one table is one document.
        ids : sequence, optional
            Names of the documents, all different; by default the labels of `groups`, or
            successive numbers.
        groups : array_like of shape (n_points,), or str, optional
            As in `transform`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the index does not fit into `memory_limit`, or a name occurs twice. The
            index is then as it was before the call.

        Notes
        -----
        A document needs 4 bytes for each topic, and its name. Learning deletes the
        index, because it changes the topics.
        """
        batch, found = self._folded(documents, "index", groups, bound=True)
        names = batch.labels if ids is None else ids
        self._state = indexed(self._ready("index"), found.topics, names)
        return self

    @locked
    def retrieve(
        self, query: Any, n: int = 10, *, method: str = "hard", groups: Any = None
    ) -> Retrieved:
        """Documents that are most like each query document.

        Parameters
        ----------
        query
            Documents, as in `fit`; one table is one document without `groups`.
        n : int, default 10
            Number of results for each query.
        method : {"hard", "soft", "fast"}, default "hard"
            "hard" assigns each point to its best topic (eq. 28), and "soft" sums over
            topics. "fast" assigns the points only once, under the proportions of the
            query itself.
        groups : array_like of shape (n_points,), or str, optional
            As in `transform`.

        Returns
        -------
        Retrieved
            Indexed documents, or groups of documents if none is indexed.
        """
        wanted = params.count("n", n, 1)
        params.one_of("method", method, METHODS)
        _, found = self._folded(query, "retrieve", groups, bound=True)
        return retrieved(self._ready("retrieve"), found, wanted, method)

    # ------------------------------------------------------------ sampling
    @locked
    def sample(
        self, n_documents: int, n_points: int
    ) -> tuple[list[NDArray[Any]], list[Ids]]:
        """Draw documents from what was learned.

        Parameters
        ----------
        n_documents, n_points : int
            Number of documents, and of points in each.

        Returns
        -------
        documents : list of ndarray of shape (n_points, n_features), or of word ids
        labels : list of ndarray of shape (n_points,)
            Topics of the points. A second call gives the same draw, until an epoch is
            learned.
        """
        state = self._ready("sample")
        n_documents = params.count("n_documents", n_documents, 1)
        n_points = params.count("n_points", n_points, 1)
        rng = self._context().random(state.n_epochs, SAMPLING)
        documents, labels = [], []
        for _ in range(n_documents):
            pi = rng.dirichlet(state.topics.alpha)
            label = rng.choice(len(pi), n_points, p=pi)
            statistics, units = state.topics.statistics, (state.shift, state.scale)
            documents.append(state.family.drawn(label, statistics, units, rng))
            labels.append(label.astype(np.int64))
        return documents, labels
