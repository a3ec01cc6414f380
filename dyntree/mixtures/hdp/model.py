"""MemoryBoundedHDP: topics of a stream of documents, in a memory of so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
from dyntree.mixtures.hdp import answers
from dyntree.mixtures.hdp.compression import Limits
from dyntree.mixtures.hdp.documents import (
    Batch,
    document_rows,
    is_stream,
    is_table,
    read_documents,
    taken_ahead,
)
from dyntree.mixtures.hdp.files import described, restored
from dyntree.mixtures.hdp.heldout import log_density as log_mixture
from dyntree.mixtures.hdp.learned import HISTORY, Learned
from dyntree.mixtures.hdp.learning import (
    Context,
    begun,
    check_least,
    held_free_energy,
    one_epoch,
    squeezed,
)
from dyntree.mixtures.hdp.options import (
    HDP_SETTINGS,
    HDPOptions,
    HDPPrior,
    HDPSettings,
    byte_count,
    optional,
)
from dyntree.mixtures.hdp.records import Ids, Retrieved, TopicLabels
from dyntree.mixtures.hdp.store import Store, store_of
from dyntree.mixtures.hdp.sweeps import Search, swept, table_of_logs
from dyntree.mixtures.hdp.working import cut_to_fit
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar

NAME = "MemoryBoundedHDP"
METHODS = ("hard", "soft", "fast")
PER = ("point", "document")
SAMPLING = 3  # purpose of random numbers


@checkpoint.savable
class MemoryBoundedHDP:
    """Topics shared by documents, learned epoch by epoch in bounded memory.

    A hierarchical Dirichlet process mixture by variational inference. Points are
    summarised by clumps that share one topic, documents by groups that share their
    proportions; what is held never takes more than `memory_limit` bytes, and the
    number of topics grows with the data as far as that allows.

    Parameters
    ----------
    family : {"full", "diag", "multinomial"}, default "full"
        Gaussian topics with full or diagonal covariances, or topics of words.
    memory_limit : int or str, optional
        Bytes held between calls, such as 65536 or "64kB"; by default there is no
        bound and nothing is compressed (batch learning).
    max_items, max_groups : int, optional
        Most clumps and single points together; most groups of documents.
    epoch_size : int, default 10
        Documents of an epoch in `fit`, and from generators.
    expected_documents, expected_points : int, optional
        Totals of the lifetime: while clumps are formed, data count as if they had
        come already. `fit` knows the documents; otherwise twice those seen.
    init_topics : int or "auto", default "auto"
        Topics that the first epoch starts from; "auto" is a two-hundredth of the
        points, at most 20, of words at most 40.
    max_topics : int, optional
        Most topics; memory may allow fewer.
    min_gain : float, default 0.0
        Nats that one more topic must bring by the end of the lifetime.
    prior : HDPPrior, optional
    options : HDPOptions, optional
    compat : {"paper"}, optional
        Takes all choices of Gomes et al. (2008); `options` go before it.
    seed : int, default 0
    n_threads : int, optional
        Default ``DYNTREE_NUM_THREADS``, or 1; of no effect on any result.
    callback : callable, optional
        Called with every `SweepReport` and `EpochReport`; what returns True ends the
        search of the epoch early.

    Raises
    ------
    ValueError
        On bad parameters.

    See Also
    --------
    dyntree.api.estimators.MemoryBoundedTopics : the same for scikit-learn.

    Notes
    -----
    alpha_k ~ Gamma(a, b), pi_j ~ Dirichlet(alpha), z_ij ~ pi_j, x_ij ~ p(x | eta_z)
    with a conjugate prior of eta. Updates and free energy are those of Gomes, Welling
    and Perona (2008), "Memory bounded inference in topic models", ICML, eqs. 8-30; the
    step of alpha is Newton's on the first of Minka's bounds, as the second one is
    reversed for counts below 1. Columns are shifted and scaled by the first epoch.

    An epoch is what is learned at a time: how a stream is cut into epochs matters.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> rng = np.random.default_rng(1)
    >>> documents = [
    ...     rng.normal(size=(100, 2)) + 12 * rng.choice(3, (100, 1), p=[k, 0.8 - k, 0.2])
    ...     for k in np.linspace(0.1, 0.7, 20)
    ... ]
    >>> model = MemoryBoundedHDP(memory_limit="4kB").fit(documents)
    >>> model.n_topics_, model.memory_used_ <= 4000
    (3, True)
    >>> model.transform(documents[:1]).round(1)
    array([[0.7, 0.2, 0.1]])
    """

    def __init__(
        self,
        family: str = "full",
        *,
        memory_limit: int | str | None = None,
        max_items: int | None = None,
        max_groups: int | None = None,
        epoch_size: int = 10,
        expected_documents: int | None = None,
        expected_points: int | None = None,
        init_topics: int | str = "auto",
        max_topics: int | None = None,
        min_gain: float = 0.0,
        prior: HDPPrior | None = None,
        options: HDPOptions | None = None,
        compat: str | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.settings = HDPSettings(**params.given_options(locals(), HDP_SETTINGS))
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)
        self.n_threads = params.n_threads(n_threads)
        if not (callback is None or callable(callback)):
            raise ValueError(f"callback must be a callable; got {callback!r}.")
        self.callback = callback
        self._lock = RLock()
        self._learned: Learned | None = None

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
        """Learn documents anew, `epoch_size` at a time.

        Parameters
        ----------
        documents : list of ndarray of shape (n_points, n_features)
            Or a generator of them; or one table of all points with `groups`; for words
            a count matrix (documents x words), dense or sparse, or a list of arrays of
            word ids, or of lists of (id, count) pairs as gensim's corpora have.
        y : object, optional
            Of no effect.
        groups : array_like of shape (n_points,), or str, optional
            The document of each row of a table: labels, or the column that has them.
        ids : sequence, optional
            Names of the documents; remembered with ``track_documents``.
        sample_weight : array_like of shape (n_points,), optional
            Points that each row stands for, > 0.
        progress : bool, callable or None, default None
            True: progress bar; False: none; None: a bar for long work on a terminal;
            a callable is called with (points done, points in all).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
        KeyboardInterrupt
            The model is then what it is after the last complete epoch.
        """
        check_progress(progress)
        if is_stream(documents):
            return self._fit_stream(documents, progress)
        batch = self._read(documents, None, groups, sample_weight)
        names = self._names(ids, batch, None)
        size = self.settings.epoch_size
        starts = list(range(0, batch.n_documents, size))
        context = self._context(total=float(batch.n_documents))
        learned = begun(context, feature_map(batch), batch.part(0, size))
        with rows_bar(progress, batch.n, "learning") as tell:
            for first in starts:
                part = batch.part(first, first + size)
                some = None if names is None else names[first : first + size]
                last = first == starts[-1]
                learned = self._epochs(replace(context, last=last), learned, part, some)
                tell(part.n)
                self._learned = learned
        return self

    def _fit_stream(self, documents: Any, progress: Progress) -> Self:
        """Learn what a generator gives, as repeated partial_fit."""
        self._learned, before = None, self._learned
        try:
            while some := taken_ahead(documents, self.settings.epoch_size):
                self.partial_fit(some, progress=progress)
        finally:
            if self._learned is None:
                self._learned = before
        if self._learned is before:
            raise ValueError("documents must hold at least one document; got none.")
        return self

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
        ValueError
            On bad input; the model is then what it was before.
        KeyboardInterrupt
            The model is what it was before.
        """
        check_progress(progress)
        if is_stream(documents):
            documents = list(documents)
        learned = self._learned
        batch = self._read(documents, learned, groups, sample_weight)
        self._learn(batch, ids, progress)
        return self

    def _learn(self, batch: Batch, ids: Any, progress: Progress) -> None:
        """One epoch; the model changes at the very end."""
        learned, context = self._learned, self._context()
        names = self._names(ids, batch, learned)
        if learned is None:
            learned = begun(context, feature_map(batch), batch)
        with rows_bar(progress, batch.n, "learning") as tell:
            learned = self._epochs(context, learned, batch, names)
            tell(batch.n)
        self._learned = learned

    def _epochs(
        self, context: Context, learned: Learned, batch: Batch, names: Any
    ) -> Learned:
        """One epoch, or several where `working_limit` cuts it."""
        learned = replace(learned, index=None, index_ids=None)
        group = None
        for part, continues in cut_to_fit(context, learned, batch):
            n_new = part.n_documents - continues
            some, names = (
                (None, None) if names is None else (names[:n_new], names[n_new:])
            )
            done = one_epoch(
                context, learned, part, ids=some, continues=group if continues else None
            )
            learned, group = done.learned, done.last_group
        return learned

    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn one epoch of rows; y says which document each is of.

        Parameters
        ----------
        X : array_like of shape (n_points, n_features), frame, dict or list of dicts
            Of words a count matrix.
        y : array_like of shape (n_points,), optional
            Labels of documents; without them all rows are one document.
        progress : bool, callable or None, default None
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
        """
        check_progress(progress)
        if self.settings.family == "multinomial":
            return self.partial_fit(X, progress=progress)
        features, rows = self._encoded(X)
        if isinstance(y, list) and all(one is None for one in y):
            y = None
        groups = np.zeros(len(rows), dtype=np.int64) if y is None else y
        batch = read_documents(rows, self.settings.family, groups=groups)
        self._learn(replace(batch, names=features.names), None, progress)
        return self

    def _encoded(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Columns and rows, checked; nothing changes."""
        if self._learned is None:
            features, rows = FeatureMap.learn(X)
        else:
            features = self._learned.features
            rows = features.encode(X)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        return features, rows

    @locked
    def preview(
        self, X: Any, y: Any = None, start: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Check rows that are to be learned, and encode them; see `Learner.preview`."""
        if start is not None:
            params.count("start", start, 0)
        if self.settings.family == "multinomial":
            batch = self._read(X, self._learned, None, None)
            return X, [None] * batch.n_documents
        _, rows = self._encoded(X)
        rows = rows.copy() if rows is X else rows
        return Encoded(rows), [None] * len(rows) if y is None else list(y)

    def _context(self, total: float | None = None) -> Context:
        return Context(self.settings, self.seed, self.n_threads, self.callback, total)

    def _read(
        self, documents: Any, learned: Learned | None, groups: Any, sample_weight: Any
    ) -> Batch:
        """Documents in any form, of the columns or words that the model has."""
        options = self.settings.options
        assert options is not None
        n_words = options.n_words
        if learned is not None and learned.family.kind == 2:
            n_words = learned.family.n_words
        batch = read_documents(
            documents, self.settings.family, groups=groups,
            sample_weight=sample_weight, allow_empty=options.allow_empty,
            n_words=n_words,
        )  # fmt: skip
        return batch if learned is None else fitting(batch, learned)

    def _names(self, ids: Any, batch: Batch, learned: Learned | None) -> Any:
        """Ids of documents, where they are tracked: distinct, and none seen before."""
        options = self.settings.options
        assert options is not None
        if ids is None and not options.track_documents:
            return None
        if ids is None:
            first = 0 if learned is None else learned.n_documents
            labels = batch.labels
            if labels is None:
                labels = tuple(range(first, first + batch.n_documents))
            ids = labels
        names = as_ids(ids, batch.n_documents)
        found, counts = np.unique(names, return_counts=True)
        if (counts > 1).any():
            twice = found[np.argmax(counts > 1)]
            at = int(np.flatnonzero(names == twice)[1])
            raise ValueError(
                f"ids[{at}]={twice.item()!r} comes twice; documents need names of "
                "their own."
            )
        if not options.track_documents:
            return None
        if learned is not None and learned.document_ids is not None:
            before = learned.document_ids
            assert learned.document_epoch is not None
            for at, name in enumerate(
                names.astype(before.dtype.kind == "U" and str or names.dtype)
            ):
                seen = np.flatnonzero(before == name)
                if len(seen):
                    raise ValueError(
                        f"ids[{at}]={names[at].item()!r} was already learnt in epoch "
                        f"{learned.document_epoch[seen[0]]}; documents cannot be "
                        "extended after their epoch."
                    )
        return names

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
        """Compress what is held, at once.

        Parameters
        ----------
        memory_limit, max_items, max_groups : optional
            Bounds for this call; those that are not given stay as they are.
        keep : bool, default False
            Whether they hold from now on.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Where a bound cannot be met; the model is then what it was before.
        """
        learned = self._ready("compress")
        own = learned.limits
        limits = Limits(
            optional(byte_count, "memory_limit", memory_limit) or own.memory,
            optional(params.count, "max_items", max_items, 1) or own.items,
            optional(params.count, "max_groups", max_groups, 1) or own.groups,
        )
        kept = params.flag("keep", keep)
        columns = 8 * (len(learned.shift) + len(learned.scale))
        check_least(limits, learned.family, self.settings.family, columns)
        held = learned.store.at_rest()
        draft = replace(learned, limits=limits, store=held).with_aliases([]).trimmed()
        search, context = self._search(), self._context()
        topics = draft.topics
        expected = search.family.expected(*topics.statistics)
        table = table_of_logs(topics, expected)
        label = swept(search, draft.store, table, expected, labels=True).label
        m = 1.0
        small, draft = squeezed(
            context, search, draft, draft.store, topics, label, m, m, 0, False
        )
        F = held_free_energy(search, small.store, small.topics)
        draft = replace(draft, store=small.store.at_rest(), topics=small.topics, F=F)
        if draft.index is not None and small.topics.K != topics.K:
            draft = replace(draft, index=None, index_ids=None)
        self._learned = draft if kept else replace(draft, limits=own)
        return self

    @property
    def memory_used_(self) -> int:
        """Bytes of all arrays that are held, which are those of `to_arrays`."""
        return 0 if self._learned is None else self._learned.nbytes

    def memory_usage(self) -> int:
        """Bytes held by the model, with a little for its objects."""
        return self.memory_used_ + 2000

    # ------------------------------------------------------------ answers
    def _ready(self, what: str) -> Learned:
        """What was learned, where there is something."""
        if self._learned is None:
            raise NotReadyError(
                f"{NAME} has seen no documents; call fit or partial_fit before {what}."
            )
        return self._learned

    def _search(self) -> Search:
        learned = self._ready("this")
        context = self._context()
        return Search(learned.family, context.prior, context.options, self.n_threads)

    def _asked(
        self, documents: Any, what: str, ignore_unknown: bool = False
    ) -> tuple[Learned, Batch, Store]:
        """Documents to answer for; one table without groups is one document."""
        learned = self._ready(what)
        if isinstance(documents, Encoded):
            documents = learned.features.encode(documents)
        groups = None
        if learned.family.kind != 2 and is_table(documents):
            rows, names = document_rows(documents, "documents", learned.features.names)
            groups = np.zeros(len(rows), dtype=np.int64)
            documents = rows
            if learned.features.names is not None and names is None:
                names = learned.features.names
        else:
            names = None
        n_words = learned.family.n_words if learned.family.kind == 2 else None
        batch = read_documents(
            documents, self.settings.family, groups=groups, allow_empty=True,
            n_words=n_words, ignore_unknown=ignore_unknown,
        )  # fmt: skip
        batch = fitting(replace(batch, names=names) if names else batch, learned)
        if batch.words is not None:
            store = store_of(learned.family, None, batch.document, words=batch.words)
        else:
            assert batch.rows is not None
            rows = learned.standardised(batch.rows)
            store = store_of(learned.family, rows, batch.document)
        return learned, batch, store

    def _folded(
        self, documents: Any, what: str, ignore_unknown: bool = False
    ) -> tuple[Learned, Batch, answers.Folded]:
        learned, batch, store = self._asked(documents, what, ignore_unknown)
        search = self._search()
        found = answers.folded(search, learned.topics, store, batch.n_documents)
        return learned, batch, found

    @locked
    def transform(self, documents: Any, *, ignore_unknown: bool = False) -> Matrix:
        """Expected share of each topic in each document, topics as they are.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.
        ignore_unknown : bool, default False
            Whether words outside the vocabulary are left out, not refused.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Rows sum to 1.
        """
        unknown = params.flag("ignore_unknown", ignore_unknown)
        return self._folded(documents, "transform", unknown)[2].proportions

    @locked
    def predict(self, documents: Any) -> TopicLabels:
        """Best topic of each point, and the proportions of documents.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.

        Returns
        -------
        TopicLabels
        """
        learned, batch, found = self._folded(documents, "predict")
        label = answers.best_topics(self._search(), found).astype(np.int64)
        if batch.is_array and batch.order is not None:
            labels: Any = np.empty_like(label)
            labels[batch.order] = label
        else:
            edges = np.searchsorted(batch.document, np.arange(1, batch.n_documents))
            labels = np.split(label, edges)
        return TopicLabels(labels, found.proportions)

    @locked
    def predict_proba(self, documents: Any) -> Matrix:
        """Probability of each topic at each point.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.

        Returns
        -------
        ndarray of shape (n_points, n_topics)
        """
        _, batch, found = self._folded(documents, "predict_proba")
        store = found.store
        points = store.word if store.family.kind == 2 else store.x
        return unsorted(batch, answers.responsibilities(self._search(), found, points))

    @locked
    def topic_proba(self, points: Any) -> Matrix:
        """Probability of each topic at points of unknown documents.

        Parameters
        ----------
        points : array_like of shape (n_points, n_features), or word ids (n_points,)

        Returns
        -------
        ndarray of shape (n_points, n_topics)
            Each row by itself, topics weighted as `topic_weights_`.
        """
        learned, rows = self._points(points, "topic_proba")
        search, topics = self._search(), learned.topics
        expected = search.family.expected(*topics.statistics)
        logs = answers.point_logs(search, expected, rows) + expected.c
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
        learned, rows = self._points(points, "log_density")
        topics = learned.topics
        shares = np.broadcast_to(topics.N / topics.N.sum(), (len(rows), topics.K))
        found = log_mixture(learned.family, topics, rows, shares)
        return found - learned.log_scale

    def _points(self, points: Any, what: str) -> tuple[Learned, Any]:
        """Points to answer for one by one."""
        learned = self._ready(what)
        if learned.family.kind == 2:
            batch = read_documents(
                [points], "multinomial", n_words=learned.family.n_words
            )
            assert batch.words is not None
            return learned, np.asarray(points)
        return learned, learned.standardised(learned.features.encode(points))

    @locked
    def score_samples(self, documents: Any, *, given: Any = None) -> Vector:
        """Log predictive density of each point, in units of the data.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document. Of words, the answer has one entry
            for each pair of document and word.
        given : optional
            As many documents, from which the proportions are found; by default those
            of `documents` themselves.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        _, batch, found, density = self._densities(documents, given, "score_samples")
        return unsorted(batch, density)

    def _densities(
        self, documents: Any, given: Any, what: str
    ) -> tuple[Learned, Batch, answers.Folded, Vector]:
        learned, batch, found = self._folded(documents, what)
        shares = found.proportions
        if given is not None:
            shares = self._folded(given, what)[2].proportions
            if len(shares) != batch.n_documents:
                raise ValueError(
                    f"given must hold as many documents, {batch.n_documents}; got "
                    f"{len(shares)}."
                )
        density = answers.log_predictive(self._search(), found, shares)
        return learned, batch, found, density - learned.log_scale

    @locked
    def score(
        self, documents: Any, y: Any = None, *, given: Any = None, per: str = "point"
    ) -> Any:
        """Mean log predictive density; perplexity is exp(-score).

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.
        y : object, optional
            Of no effect.
        given : optional
            As in `score_samples`.
        per : {"point", "document"}, default "point"
            Whether points are averaged, or added up for each document.

        Returns
        -------
        float, or ndarray of shape (n_documents,)

        Notes
        -----
        log sum_k E[pi_jk] p(x | data of topic k), with the proportions of each document
        found by (20) and (21), topics fixed.
        """
        params.one_of("per", per, PER)
        _, batch, found, density = self._densities(documents, given, "score")
        weight = found.store.weights
        if per == "document":
            return np.bincount(batch.document, weight * density, batch.n_documents)
        return float(weight @ density / weight.sum())

    @locked
    def free_energy(self, documents: Any = None) -> float:
        """Free energy in nats, in units of the data.

        Parameters
        ----------
        documents : optional
            Documents whose proportions are found with topics as they are; all points
            of a stream give the full free energy of what was learned. By default that
            of what is held.

        Returns
        -------
        float
        """
        learned = self._ready("free_energy")
        if documents is None:
            return float(learned.F + learned.log_scale * learned.n_points)
        _, batch, found = self._folded(documents, "free_energy")
        F = answers.documents_free_energy(self._search(), found)
        return float(F + learned.log_scale * batch.n_points)

    # ------------------------------------------------------------ retrieval
    @locked
    def index(self, documents: Any, ids: Any = None) -> Self:
        """Add documents to those that `retrieve` looks through.

        Parameters
        ----------
        documents
            As in `fit`; one table is one document.
        ids : sequence, optional
            Their names; by default numbers in order.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Where the index does not fit in `memory_limit`.

        Notes
        -----
        A document takes 4 bytes a topic, and its name. Learning drops the index, as
        topics are others then.
        """
        learned, batch, found = self._folded(documents, "index")
        rows = answers.index_logs(found).astype(np.float32)
        n_before = 0 if learned.index is None else len(learned.index)
        if ids is None:
            ids = np.arange(n_before, n_before + batch.n_documents)
        names = as_ids(ids, batch.n_documents)
        if learned.index is not None:
            assert learned.index_ids is not None
            rows = np.concatenate([learned.index, rows])
            before = learned.index_ids
            if before.dtype.kind != names.dtype.kind:
                before, names = before.astype(str), names.astype(str)
            names = np.concatenate([before, names])
        draft = replace(learned, index=rows, index_ids=names)
        limit = learned.limits.memory
        if limit is not None and draft.nbytes > limit:
            raise ValueError(
                f"index of {len(rows)} documents needs {draft.nbytes - learned.nbytes} "
                f"bytes more; memory_limit leaves {limit - learned.nbytes}. Make room "
                "by compress(max_items=...), or index fewer documents."
            )
        self._learned = draft
        return self

    @locked
    def retrieve(self, query: Any, n: int = 10, *, method: str = "hard") -> Retrieved:
        """Documents that are most like each query document.

        Parameters
        ----------
        query
            Documents, as in `fit`; one table is one document.
        n : int, default 10
            How many are wanted for each.
        method : {"hard", "soft", "fast"}, default "hard"
            Each point on its best topic (eq. 28), a sum over topics, or the hard counts
            that the query has under its own proportions.

        Returns
        -------
        Retrieved
            Of indexed documents, or of groups where none is indexed.
        """
        wanted = params.count("n", n, 1)
        params.one_of("method", method, METHODS)
        learned, _, found = self._folded(query, "retrieve")
        if learned.index is not None:
            assert learned.index_ids is not None
            stored, names = learned.index, learned.index_ids
        else:
            own = answers.Folded(learned.topics, found.expected, learned.store)
            stored = answers.index_logs(own)
            names = np.arange(len(stored))
        scores = answers.retrieval_scores(self._search(), found, stored, method)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :wanted]
        return Retrieved(names[best], np.take_along_axis(scores, best, axis=1))

    # ------------------------------------------------------------ sampling
    @locked
    def sample(
        self, n_documents: int, n_points: int
    ) -> tuple[list[NDArray[Any]], list[Ids]]:
        """Draw documents from what was learned.

        Parameters
        ----------
        n_documents, n_points : int
            How many, and of how many points each.

        Returns
        -------
        documents : list of ndarray of shape (n_points, n_features), or of word ids
        labels : list of ndarray of shape (n_points,)
            Topics. The same draw comes again until an epoch is learned.
        """
        learned = self._ready("sample")
        n_documents = params.count("n_documents", n_documents, 1)
        n_points = params.count("n_points", n_points, 1)
        rng = np.random.default_rng([self.seed, learned.n_epochs, SAMPLING])
        documents, labels = [], []
        for _ in range(n_documents):
            pi = rng.dirichlet(learned.topics.alpha)
            label = rng.choice(len(pi), n_points, p=pi)
            documents.append(drawn(learned, label, self.covariances_, self.means_, rng)
                             if learned.family.kind < 2 else
                             drawn_words(learned, label, rng))  # fmt: skip
            labels.append(label.astype(np.int64))
        return documents, labels

    # ------------------------------------------------------------ what it is
    @property
    def n_topics_(self) -> int:
        """Topics there are."""
        return 0 if self._learned is None else self._learned.topics.K

    @property
    def topic_weights_(self) -> Vector:
        """Share of all points in each topic, descending."""
        N = self._ready("topic_weights_").topics.N
        return N / N.sum()

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
        if self._learned is None:
            return {}
        into: dict[int, int] = dict(self._learned.aliases.tolist())
        for old in reversed(list(into)):
            into[old] = into.get(into[old], into[old])
        return into

    @property
    def means_(self) -> Matrix:
        """Posterior means of Gaussian topics, shape (n_topics, n_features)."""
        learned = self._gaussian("means_")
        topics = learned.topics
        share = topics.N / (learned.family.kappa0 + topics.N)
        m = learned.family.m0 + (topics.mean - learned.family.m0) * share[:, None]
        out: Matrix = learned.shift + m * learned.scale
        return out

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Expected covariances, (n_topics, n_features, n_features); "diag" variances."""
        learned = self._gaussian("covariances_")
        family, scale = learned.family, learned.scale
        found = family.posterior(*learned.topics.statistics)  # type: ignore[attr-defined]
        if family.kind == 1:
            _, a, _, b = found
            variances: NDArray[np.float64] = b / (a[:, None] - 1.0) * scale**2
            return variances
        _, nu, _, B = found[:4]
        free = np.maximum(nu - family.d - 1.0, 1e-9)
        out: NDArray[np.float64] = B / free[:, None, None] * np.outer(scale, scale)
        return out

    def _gaussian(self, what: str) -> Learned:
        learned = self._ready(what)
        if learned.family.kind == 2:
            raise AttributeError(f"{what} is of Gaussian topics; see topic_words_.")
        return learned

    @property
    def topic_words_(self) -> Matrix:
        """Probability of each word in each topic, shape (n_topics, n_words)."""
        learned = self._ready("topic_words_")
        if learned.family.kind != 2:
            raise AttributeError("topic_words_ is of topics of words; see means_.")
        counts = learned.topics.mean + learned.family.scale0
        out: Matrix = counts / counts.sum(1, keepdims=True)
        return out

    @property
    def group_sizes_(self) -> Vector:
        """Documents in each group, shape (n_groups,)."""
        return self._ready("group_sizes_").topics.documents.copy()

    @property
    def group_proportions_(self) -> Matrix:
        """Expected share of each topic in each group, shape (n_groups, n_topics)."""
        return answers.proportions(self._ready("group_proportions_").topics)

    @property
    def n_clumps_(self) -> int:
        """Clumps that are held."""
        return 0 if self._learned is None else self._learned.store.n_clumps

    @property
    def n_singlets_(self) -> int:
        """Single points that are held."""
        return 0 if self._learned is None else self._learned.store.n_points

    @property
    def free_energy_(self) -> float:
        """Free energy of what is held, in nats, in units of the data."""
        return self.free_energy()

    @property
    def n_seen(self) -> int:
        """Points ever learned; words as often as they came."""
        return 0 if self._learned is None else round(self._learned.n_points)

    @property
    def n_documents_seen_(self) -> int:
        """Documents ever learned."""
        return 0 if self._learned is None else self._learned.n_documents

    @property
    def history_(self) -> NDArray[Any]:
        """One record an epoch, thinned where memory is small.

        Fields are epoch, documents, points, topics, free_energy,
        free_energy_per_point (all data so far, in units of the data), seconds_build,
        seconds_compress (of the processor, in this process; NaN from a file), sweeps,
        moves_tried, moves_made, splits_refused, items, bytes, magnification, jitters.
        """
        kinds = [(name, np.float64) for name in HISTORY]
        if self._learned is None:
            return np.zeros(0, dtype=kinds)
        rows = [tuple(row) for row in self._learned.history]
        return np.array(rows, dtype=kinds).view(np.recarray)

    @property
    def is_ready(self) -> bool:
        """Whether there are topics to answer from."""
        return self._learned is not None

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing: never."""
        return False

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels: there are none."""
        return False

    @property
    def classes(self) -> None:
        """Labels that responses may have: there are no responses."""
        return None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, where they had names; None while not known."""
        return None if self._learned is None else self._learned.features.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, ... where none were given."""
        return () if self._learned is None else self._learned.features.feature_names

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context in which no other thread's call comes between the caller's calls."""
        return self._lock

    @locked
    def facts(self) -> dict[str, Any]:
        """What the model is, by name, as values for JSON."""
        facts: dict[str, Any] = {
            "kind": type(self).__name__,
            "rows learned": self.n_seen,
            "documents learned": self.n_documents_seen_,
            "columns": list(self.feature_names) if self.n_columns_ <= 64 else [],
            "topics": self.n_topics_,
        }
        if self._learned is not None:
            facts |= {
                "groups": self._learned.topics.S,
                "clumps": self.n_clumps_,
                "single points": self.n_singlets_,
                "memory limit": self._learned.limits.memory,
            }
        return facts | {"memory, bytes": self.memory_used_}

    @property
    def n_columns_(self) -> int:
        """Columns, or words of the vocabulary."""
        if self._learned is None:
            return 0
        return self._learned.family.d or self._learned.family.n_words

    @property
    def learned_(self) -> Learned:
        """All that was learned, as reports read it; not to be written to."""
        return self._ready("learned_")

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        if self._learned is not None:
            raise ValueError(
                "a model can have another seed before its first row only; it has seen "
                f"{self.n_seen}. Make a new one with the same options."
            )
        again = self.copy()
        again.seed = params.count("seed", seed, 0, params.MAX_SEED)
        return again

    @locked
    def copy(self) -> Self:
        """Return an independent model that would go on alike."""
        again = type(self).__new__(type(self))
        again.settings, again.seed = self.settings, self.seed
        again.n_threads, again.callback = self.n_threads, self.callback
        again._lock, again._learned = RLock(), self._learned
        return again

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return checkpoint.loads, (checkpoint.dumps(self),)

    @locked
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything the model is, as a plain header and arrays.

        Returns
        -------
        header : dict
        arrays : dict of ndarray
            All that `memory_used_` counts. Seconds in the history are those of this
            process and are left out; threads and the callback are its own, too.
        """
        return described(type(self).__name__, self.settings, self.seed, self._learned)

    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Self:
        """Return the model that `to_arrays` described.

        Parameters
        ----------
        header : dict
        arrays : dict of ndarray

        Returns
        -------
        MemoryBoundedHDP

        Raises
        ------
        ValueError
            If header and arrays do not describe a model; also LookupError or TypeError
            if parts of them are missing or of another kind.
        """
        model = cls()
        model.settings = HDPSettings.from_header(header["settings"])
        model.seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
        model._learned = restored(model.settings, header, arrays)
        return model


def feature_map(batch: Batch) -> FeatureMap:
    """Names of the columns of documents, or the number of words."""
    if batch.words is not None:
        assert batch.n_words is not None
        return FeatureMap(batch.n_words)
    return FeatureMap(batch.width, batch.names)


def fitting(batch: Batch, learned: Learned) -> Batch:
    """Documents whose columns are those of the model, in its order."""
    if batch.words is not None:
        return batch
    assert batch.rows is not None
    if batch.width != learned.family.d:
        raise ValueError(
            f"documents[0] has {batch.width} columns; the model was started with "
            f"{learned.family.d}."
        )
    names = learned.features.names
    if names is None or batch.names is None or batch.names == names:
        return batch
    if set(names) != set(batch.names):
        raise ValueError(
            f"documents must have the columns {list(names)}; got {list(batch.names)}."
        )
    order = [batch.names.index(name) for name in names]
    return replace(batch, rows=np.ascontiguousarray(batch.rows[:, order]), names=names)


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """Names of documents as an array of whole numbers or of text."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ValueError(
            f"ids must have one name per document ({n}); got {params.short(ids)}."
        )
    given = list(ids)
    if len(given) != n:
        raise ValueError(
            f"ids must have one name per document ({n}); got {len(given)}."
        )
    whole = all(
        isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given
    )
    return (
        np.array(given, dtype=np.int64)
        if whole
        else np.array([str(one) for one in given])
    )


def unsorted(batch: Batch, values: Any) -> Any:
    """Values of rows in the order in which the rows came."""
    if batch.order is None:
        return values
    out = np.empty_like(values)
    out[batch.order] = values
    return out


def drawn(
    learned: Learned, label: Any, covariances: Any, means: Any, rng: np.random.Generator
) -> Matrix:
    """Points of Gaussian topics."""
    noise = rng.standard_normal((len(label), learned.family.d))
    if learned.family.kind == 1:
        spread = np.sqrt(covariances)[label] * noise
    else:
        roots = np.linalg.cholesky(covariances)
        spread = np.einsum("nij,nj->ni", roots[label], noise)
    out: Matrix = means[label] + spread
    return out


def drawn_words(learned: Learned, label: Any, rng: np.random.Generator) -> Ids:
    """Word ids of topics."""
    out = np.empty(len(label), dtype=np.int64)
    for k in np.unique(label):
        p = learned.topics.mean[k] + learned.family.scale0
        own = label == k
        out[own] = rng.choice(len(p), int(own.sum()), p=p / p.sum())
    return out
