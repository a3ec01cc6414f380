"""MemoryBoundedHDP: topics of a stream of documents, in a memory of so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.hdp.batch import Batch
from dyntree.mixtures.hdp.context import SAMPLING, Context
from dyntree.mixtures.hdp.files import from_arrays, to_arrays
from dyntree.mixtures.hdp.input import (
    check_alone,
    document_ids,
    epoch_edges,
    is_stream,
    read_documents,
    read_points,
    read_to_answer,
    read_to_learn,
    taken_ahead,
)
from dyntree.mixtures.hdp.learning import (
    after_documents,
    after_first_documents,
    compressed_on_request,
    with_words,
)
from dyntree.mixtures.hdp.limits import Limits
from dyntree.mixtures.hdp.options import (
    HDP_SETTINGS,
    HDPOptions,
    HDPPrior,
    HDPSettings,
    byte_count,
    optional,
)
from dyntree.mixtures.hdp.records import Retrieved, TopicLabels
from dyntree.mixtures.hdp.registry import kind_of
from dyntree.mixtures.hdp.scoring import FoldIn, fold_in, indexed, retrieved
from dyntree.mixtures.hdp.state import HISTORY, State
from dyntree.mixtures.shared.arrays import Arrays, Ids, settled_aliases
from dyntree.mixtures.shared.base import Mixture
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn

NAME = "MemoryBoundedHDP"
METHODS = ("hard", "soft", "fast")


@checkpoint.savable
class MemoryBoundedHDP(Mixture):
    """Topics shared by documents, learned epoch by epoch in bounded memory.

    The model is a hierarchical Dirichlet process mixture, learned by variational
    inference. Points are summarised by clumps that share one topic, and documents by
    groups that share their proportions. The model never holds more than `memory_limit`
    bytes, and the number of topics grows with the data as far as this limit allows.

    Parameters
    ----------
    family : {"auto", "full", "diag", "multinomial"}, default "auto"
        Gaussian topics with full or diagonal covariances, or topics of words. "auto" is
        that of "full" and "diag" with the lower free energy of the first epoch, and
        "full" if `prior.dof` is given.
    memory_limit : int or str, optional
        Largest number of bytes in use between calls, such as 65536 or "64kB". By
        default there is no limit, and nothing is compressed (batch learning).
    max_items, max_groups : int, optional
        Largest number of clumps and single points together, and of groups of documents.
    epoch_size : int or "auto", default "auto"
        Number of documents in an epoch, for `fit` and generators. "auto" is 10 for rows
        and 1,000 for words.
    expected_documents, expected_points : int, optional
        Expected total numbers over the lifetime of the model. While clumps are formed,
        the data are scaled up to these totals. `fit` knows the number of documents;
        otherwise the default is twice the number seen.
    init_topics : int or "auto", default "auto"
        Number of topics at the start of the first epoch. "auto" is the number of points
        divided by 200, and at most 20. For words, increasing numbers are tried, up to
        the number of points divided by 200.
    max_topics : int, optional
        Largest number of topics. The memory limit may allow fewer.
    min_gain : float, default 0.0
        Gain in nats that a further topic must give by the end of the lifetime.
    prior : HDPPrior, optional
        Priors of topics and proportions.
    options : HDPOptions, optional
        Options of the search.
    compat : {"paper"}, optional
        "paper" makes all choices of Gomes et al. (2008). Given `options` take
        precedence.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
    threads : int, optional
        Number of threads; by default ``DYNTREE_NUM_THREADS``, or 1. The result does not
        depend on it.
    callback : callable, optional
        Called with every `SweepReport` and `EpochReport`. If it returns True, the
        search of the epoch ends early.

    Raises
    ------
    ValueError
        If parameters are bad.

    See Also
    --------
    dyntree.api.estimators.MemoryBoundedTopics : The same for scikit-learn.

    Notes
    -----
    The model is alpha_k ~ Gamma(a, b), pi_j ~ Dirichlet(alpha), z_ij ~ pi_j and
    x_ij ~ p(x | eta_z), with a conjugate prior for eta. Updates and free energy are
    those of Gomes, Welling and Perona (2008), "Memory bounded inference in topic
    models", ICML, eqs. 18-30. The step of alpha is a Newton step on the first of
    Minka's bounds, because the second one is reversed for counts below 1. Columns are
    shifted and scaled by the first epoch. In a column that has few values there (eight
    rows each or more), a row stands for places up to the next values to both sides, and
    is learned at a random one: the points of a lattice are no topics. If nine of ten
    distinct rows of an epoch are there m times or more, m copies of a row count as one
    point, because copies show no spread.

    The documents of an epoch are learned together. The result therefore depends on how
    a stream is divided into epochs.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> rng = np.random.default_rng(1)
    >>> documents = [
    ...     rng.normal(size=(99, 2)) + 12 * rng.choice(3, (99, 1), p=[k, 0.8 - k, 0.2])
    ...     for k in np.linspace(0.1, 0.7, 20)
    ... ]
    >>> model = MemoryBoundedHDP(memory_limit="4kB", seed=0).fit(documents)
    >>> model.n_topics_, model.memory_used_ <= 4000
    (3, True)
    >>> model.transform(documents[:1]).round(1)
    array([[0.6, 0.2, 0.2]])
    """

    unit = "epoch"
    _counted = "topics"
    settings: HDPSettings
    threads: int
    callback: Callable[[Any], Any] | None
    _state: State | None

    def __init__(
        self,
        family: str = "auto",
        *,
        memory_limit: int | str | None = None,
        max_items: int | None = None,
        max_groups: int | None = None,
        epoch_size: int | str = "auto",
        expected_documents: int | None = None,
        expected_points: int | None = None,
        init_topics: int | str = "auto",
        max_topics: int | None = None,
        min_gain: float = 0.0,
        prior: HDPPrior | None = None,
        options: HDPOptions | None = None,
        compat: str | None = None,
        seed: int | None = None,
        threads: int | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.settings = HDPSettings.of_arguments(
            **params.given_options(locals(), HDP_SETTINGS)
        )
        self.seed = given_or_drawn(seed)
        self.threads = params.n_threads(threads, "threads")
        if not (callback is None or callable(callback)):
            raise ArgumentError("callback", "must be a callable", callback)
        self.callback = callback
        self._lock = ModelLock()
        self._state = None

    # ------------------------------------------------------------ learning
    @locked
    def fit(
        self,
        documents: Any,
        y: Any = None,
        *,
        groups: Any = None,
        ids: Any = None,
        sample_weight: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn documents from scratch, `epoch_size` at a time.

        Parameters
        ----------
        documents : list of ndarray of shape (n_points, n_features)
            The documents. This may also be a generator, or one table of all points
            together with `groups`. For words it may be a dense or sparse count matrix
            (documents x words), a list of arrays of word ids, or a list of lists of
            (id, count) pairs, as in corpora of gensim. The vocabulary grows with the
            words that come, unless `HDPOptions.n_words` is its size. Columns of
            frames are words by their names.
        y : object, optional
            Ignored.
        groups : array_like of shape (n_points,), or str, optional
            The document of each row of a table: labels, or the name of their column.
        ids : sequence, optional
            Names of the documents, which are stored with ``track_documents``. They, and
            `groups` and `sample_weight`, are not possible with a generator.
        sample_weight : array_like of shape (n_points,), optional
            Number of points that each row represents, > 0.
        progress : bool, callable or None, default None
            As in `dyntree.DynamicTree.update`. It counts points.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If documents are empty, or have negative counts or values that are not
            finite, or options exclude one another. The model is then as it was before
            the call.
        KeyboardInterrupt
            If the call is interrupted. The model has then learned all complete epochs.
        """
        check_progress(progress)
        if is_stream(documents):
            check_alone(groups=groups, ids=ids, sample_weight=sample_weight)
            return self._fit_stream(documents, progress)
        batch = read_to_learn(documents, self.settings, None, groups, sample_weight)
        return self._fit_batch(batch, ids, progress)

    def _fit_batch(self, batch: Batch, ids: Any, progress: Progress) -> Self:
        """Learn all documents anew, epoch by epoch."""
        edges = epoch_edges(batch, self._epoch_size)
        names = document_ids(ids, batch, self.settings.options.track_documents, None)
        context = self._context(total=float(batch.n_documents))
        state: State | None = None
        with self._all_or_before(), rows_bar(progress, batch.n, "learning") as tell:
            for first, end in pairwise(edges):
                part = batch.part(first, end)
                some = None if names is None else names[first:end]
                last = end == batch.n_documents
                context = replace(context, last=last)
                if state is None:
                    state = after_first_documents(context, batch.features, part, some)
                else:
                    state = after_documents(context, state, part, some)
                tell(part.n)
                self._state = state
        return self

    @property
    def _epoch_size(self) -> int:
        """Number of documents of an epoch."""
        given = self.settings.epoch_size
        return kind_of(self.settings).epoch_size if given == "auto" else int(given)

    @contextmanager
    def _all_or_before(self) -> Iterator[None]:
        """After an error the model is what it was; an interrupt keeps its epochs."""
        before = self._state
        try:
            yield
        except Exception:
            self._state = before
            raise

    def _fit_stream(self, documents: Any, progress: Progress) -> Self:
        """Learn what a generator gives, as repeated partial_fit."""
        before, size = self._state, self._epoch_size
        with self._all_or_before():
            some = taken_ahead(documents, size)
            if not some:
                raise ArgumentError(
                    "documents", "must hold at least one document", Message("none")
                )
            self._state = None
            try:
                while more := self._without_rows(some) and taken_ahead(documents, size):
                    some += more
                while some:
                    self.partial_fit(some, progress=progress)
                    some = taken_ahead(documents, size)
            finally:
                if self._state is None:
                    self._state = before
        return self

    def _without_rows(self, documents: Any) -> bool:
        """Whether documents of a first epoch hold no row at all."""
        return read_to_learn(documents, self.settings, None, allow_none=True).n == 0

    @locked
    def partial_fit(
        self,
        documents: Any,
        y: Any = None,
        *,
        groups: Any = None,
        ids: Any = None,
        sample_weight: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn one epoch of documents on top of what was learned before.

        Parameters
        ----------
        documents, y, groups, ids, sample_weight, progress
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError, KeyboardInterrupt
            As in `fit`. The model is then as it was before the call.
        """
        check_progress(progress)
        if is_stream(documents):
            documents = list(documents)
        batch = read_to_learn(
            documents, self.settings, self._state, groups, sample_weight
        )
        return self._learn(batch, ids, progress)

    def _learn(self, batch: Batch, ids: Any, progress: Progress) -> Self:
        """One epoch; the model changes at the very end."""
        state, context = self._state, self._context()
        track = self.settings.options.track_documents
        names = document_ids(ids, batch, track, state)
        with rows_bar(progress, batch.n, "learning") as tell:
            if state is None:
                state = after_first_documents(context, batch.features, batch, names)
            else:
                state = with_words(context, state, batch)
                state = after_documents(context, state, batch, names)
            tell(batch.n)
        self._state = state
        return self

    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn one epoch of rows; y gives the document of each row.

        Parameters
        ----------
        X : array_like of shape (n_points, n_features), frame, dict or list of dicts
            Points; for words, a count matrix.
        y : array_like of shape (n_points,), optional
            Labels of documents. Without them all rows are one document.
        progress : bool, callable or None, default None
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad. The model is then as it was before the call.
        """
        check_progress(progress)
        if is_nothing(X):
            return self
        if kind_of(self.settings).of_words:
            return self.partial_fit(X, progress=progress)
        features, rows = self._encoded(X)
        if isinstance(y, list) and all(one is None for one in y):
            y = None
        groups = np.zeros(len(rows), dtype=np.int64) if y is None else y
        batch = read_documents(rows, False, groups=groups)
        batch = replace(batch, names=features.names, times=features.times)
        return self._learn(batch, None, progress)

    def _encoded(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Columns and rows, checked; nothing changes."""
        if self._state is None:
            features, rows = FeatureMap.learn(X)
        else:
            features = self._state.features
            rows = features.encode(X)
        if not len(rows):
            raise ArgumentError("X", "must have at least one row", Message("none"))
        return features, rows

    @locked
    def preview(
        self, X: Any, y: Any = None, start: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Check and encode rows that are to be learned; see `Learner.preview`."""
        if start is not None:
            params.count("start", start, 0)
        if kind_of(self.settings).of_words:
            batch = read_to_learn(X, self.settings, self._state)
            return X, [None] * batch.n_documents
        _, rows = self._encoded(X)
        rows = rows.copy() if rows is X else rows
        return Encoded(rows), [None] * len(rows) if y is None else list(y)

    # ------------------------------------------------------------ what was learned
    def _context(self, total: float | None = None) -> Context:
        return Context(self.settings, self.seed, self.threads, self.callback, total)

    def _ready(self, what: str) -> State:
        """The state, or NotReadyError before the first document."""
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
        bound: bool = False,
    ) -> tuple[Batch, FoldIn]:
        """Documents that are asked about, and their proportions."""
        state = self._ready(what)
        batch = read_to_answer(documents, state, groups)
        scaled = batch.standardised(state.shift, state.scale)
        store = scaled.store(state.family, batch.document)
        search = self._context().search(state.family)
        found = fold_in(search, state.topics, store, batch.n_documents, bound=bound)
        return batch, found

    @property
    def memory_used_(self) -> int:
        """Bytes of all arrays, which are those of `to_arrays`."""
        return 0 if self._state is None else self._state.nbytes

    def memory_usage(self) -> int:
        """Bytes used by the model, with a little for its objects."""
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
        """Clumps that are stored."""
        return 0 if self._state is None else self._state.store.n_clumps

    @property
    def n_singlets_(self) -> int:
        """Single points that are stored."""
        return 0 if self._state is None else self._state.store.n_points

    @property
    def free_energy_(self) -> float:
        """Free energy of what is stored, in nats, in units of the data."""
        state = self._ready("free_energy_")
        return float(state.F + state.log_scale * state.n_points)

    @property
    def n_seen(self) -> int:
        """Points ever learned; words as often as they occur."""
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
    def transform(self, documents: Any, *, groups: Any = None) -> Matrix:
        """Expected share of each topic in each document; the topics do not change.

        Parameters
        ----------
        documents
            As in `fit`. Without `groups`, one table is one document. Words that were
            not learned are left out, with an `UnseenWordsWarning`.
        groups : array_like of shape (n_points,), or str, optional
            The document of each row of a table, as in `fit`. Documents are in the order
            in which their labels first occur.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Rows sum to 1.
        """
        _, found = self._folded(documents, "transform", groups)
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
                    f"must hold as many documents, {batch.n_documents}",
                    len(shares),
                )
        density = found.log_predictive(shares)
        return batch, found, density - self._ready(what).log_scale

    @locked
    def score(
        self, documents: Any, y: Any = None, *, given: Any = None, groups: Any = None
    ) -> float:
        """Mean log predictive density of a point; perplexity is exp(-score).

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.
        y : object, optional
            Ignored.
        given, groups : optional
            As in `score_samples`.

        Returns
        -------
        float

        Notes
        -----
        The density is log sum_k E[pi_jk] p(x | data of topic k). Eqs. 20 and 21 give
        the proportions of each document, with fixed topics and equal proportions at the
        start. For words, the mean probabilities of the topics are used.
        """
        _, found, density = self._densities(documents, given, groups, "score")
        if not len(density):
            raise ArgumentError(
                "score",
                "needs at least one point",
                Message("empty documents alone"),
            )
        weight = found.store.weights
        return float(weight @ density / weight.sum())

    def score_total(
        self, documents: Any, y: Any = None, *, given: Any = None, groups: Any = None
    ) -> float:
        """Log predictive density of all points together, in nats.

        Parameters
        ----------
        documents, y, given, groups
            As in `score`. Of words, each counts as often as it is there.

        Returns
        -------
        float
        """
        return float(
            np.sum(self.score_documents(documents, given=given, groups=groups))
        )

    @locked
    def score_documents(
        self, documents: Any, *, given: Any = None, groups: Any = None
    ) -> Vector:
        """Log predictive density of each document, summed over its points.

        Parameters
        ----------
        documents, given, groups
            As in `score`.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        batch, found, density = self._densities(
            documents, given, groups, "score_documents"
        )
        weighted = found.store.weights * density
        sums = np.bincount(batch.document, weighted, batch.n_documents)
        return sums.astype(np.float64)

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

    # ------------------------------------------------------------ memory
    @locked
    def compress(
        self,
        *,
        memory_limit: int | str | None = None,
        max_items: int | None = None,
        max_groups: int | None = None,
        keep: bool = False,
    ) -> Self:
        """Compress the model now.

        Parameters
        ----------
        memory_limit, max_items, max_groups : optional
            Limits for this call; those that are not given remain in force.
        keep : bool, default False
            Whether these limits also apply to later calls.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a limit cannot be met. The model is then as it was before the call.
        """
        state = self._ready("compress")
        own = state.limits
        limits = Limits(
            optional(byte_count, "memory_limit", memory_limit) or own.memory,
            optional(params.count, "max_items", max_items, 1) or own.items,
            optional(params.count, "max_groups", max_groups, 1) or own.groups,
        )
        keeps = params.flag("keep", keep)
        small = compressed_on_request(self._context(), state, limits)
        self._state = small if keeps else replace(small, limits=own)
        return self

    # ------------------------------------------------------------ copies and files
    def with_state(self, state: State) -> Self:
        """Return a copy of the model with another learned state; see `merge_models`."""
        again = self.copy()
        again._state = state
        return again

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        return to_arrays(self.settings, self.seed, self._state)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = cls()
        model.settings = HDPSettings.from_header(header["settings"])
        model.seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
        model._state = from_arrays(model.settings, header, arrays)
        return model
