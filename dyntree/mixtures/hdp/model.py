"""MemoryBoundedHDP: topics of a stream of documents, in a memory of so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.mixtures.hdp.compression import Limits
from dyntree.mixtures.hdp.documents import (
    Batch,
    check_alone,
    is_stream,
    read_documents,
    taken_ahead,
)
from dyntree.mixtures.hdp.files import described, restored
from dyntree.mixtures.hdp.fitting import as_ids, check_unseen, feature_map, fitting
from dyntree.mixtures.hdp.learned import Learned
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
from dyntree.mixtures.hdp.questions import TopicAnswers
from dyntree.mixtures.hdp.sweeps import swept, table_of_logs
from dyntree.mixtures.hdp.working import cut_to_fit
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


@checkpoint.savable
class MemoryBoundedHDP(TopicAnswers):
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
    dyntree.api.estimators.MemoryBoundedTopics : The same for scikit-learn.

    Notes
    -----
    alpha_k ~ Gamma(a, b), pi_j ~ Dirichlet(alpha), z_ij ~ pi_j, x_ij ~ p(x | eta_z)
    with a conjugate prior of eta. Updates and free energy are those of Gomes, Welling
    and Perona (2008), "Memory bounded inference in topic models", ICML, eqs. 18-30; the
    step of alpha is Newton's on the first of Minka's bounds, as the second one is
    reversed for counts below 1. Columns are shifted and scaled by the first epoch.

    An epoch is what is learned at a time: how a stream is cut into epochs matters.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP
    >>> rng = np.random.default_rng(1)
    >>> documents = [
    ...     rng.normal(size=(99, 2)) + 12 * rng.choice(3, (99, 1), p=[k, 0.8 - k, 0.2])
    ...     for k in np.linspace(0.1, 0.7, 20)
    ... ]
    >>> model = MemoryBoundedHDP(memory_limit="4kB").fit(documents)
    >>> model.n_topics_, model.memory_used_ <= 4000
    (3, True)
    >>> model.transform(documents[:1]).round(1)
    array([[0.6, 0.2, 0.2]])
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
        self.n_threads = params.n_threads(n_threads, "n_threads")
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
            Names of the documents; remembered with ``track_documents``. A generator
            comes without groups, ids and sample_weight.
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
            check_alone(groups=groups, ids=ids, sample_weight=sample_weight)
            return self._fit_stream(documents, progress)
        batch = self._read(documents, None, groups, sample_weight)
        names = self._names(ids, batch, None)
        size = self.settings.epoch_size
        starts = list(range(0, batch.n_documents, size))
        context = self._context(total=float(batch.n_documents))
        learned = begun(context, feature_map(batch), batch.part(0, size))
        with self._all_or_before(), rows_bar(progress, batch.n, "learning") as tell:
            for first in starts:
                part = batch.part(first, first + size)
                some = None if names is None else names[first : first + size]
                last = first == starts[-1]
                learned = self._epochs(replace(context, last=last), learned, part, some)
                tell(part.n)
                self._learned = learned
        return self

    @contextmanager
    def _all_or_before(self) -> Iterator[None]:
        """After an error the model is what it was; an interrupt keeps its epochs."""
        before = self._learned
        try:
            yield
        except Exception:
            self._learned = before
            raise

    def _fit_stream(self, documents: Any, progress: Progress) -> Self:
        """Learn what a generator gives, as repeated partial_fit."""
        before = self._learned
        with self._all_or_before():
            some = taken_ahead(documents, self.settings.epoch_size)
            if not some:
                raise ValueError("documents must hold at least one document; got none.")
            self._learned = None
            try:
                while some:
                    self.partial_fit(some, progress=progress)
                    some = taken_ahead(documents, self.settings.epoch_size)
            finally:
                if self._learned is None:
                    self._learned = before
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
        if is_nothing(X):
            return self
        if self.settings.family == "multinomial":
            return self.partial_fit(X, progress=progress)
        features, rows = self._encoded(X)
        if isinstance(y, list) and all(one is None for one in y):
            y = None
        groups = np.zeros(len(rows), dtype=np.int64) if y is None else y
        batch = read_documents(rows, self.settings.family, groups=groups)
        batch = replace(batch, names=features.names, times=features.times)
        self._learn(batch, None, progress)
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
            n_words=n_words, names=None if learned is None else learned.features.names,
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
        if learned is not None:
            check_unseen(names, learned)
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
            context, search, draft, draft.store, topics, label, m, m, False
        )
        F = held_free_energy(search, small.store, small.topics)
        draft = replace(draft, store=small.store.at_rest(), topics=small.topics, F=F)
        if draft.index is not None and small.topics.K != topics.K:
            draft = replace(draft, index=None, index_ids=None)
        self._learned = draft if kept else replace(draft, limits=own)
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent model that would go on alike."""
        again = type(self).__new__(type(self))
        again.settings, again.seed = self.settings, self.seed
        again.n_threads, again.callback = self.n_threads, self.callback
        again._lock, again._learned = RLock(), self._learned
        return again

    def holding(self, learned: Learned) -> Self:
        """Return a copy that has learned something else; see `merge_models`."""
        again = self.copy()
        again._learned = learned
        return again

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
