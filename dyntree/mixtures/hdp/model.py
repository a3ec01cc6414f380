"""MemoryBoundedHDP: topics of a stream of documents, in a memory of so many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.mixtures.hdp.answers import TopicAnswers
from dyntree.mixtures.hdp.batch import Batch
from dyntree.mixtures.hdp.files import from_arrays, to_arrays
from dyntree.mixtures.hdp.input import (
    check_alone,
    document_ids,
    epoch_edges,
    is_stream,
    read_documents,
    read_to_learn,
    taken_ahead,
)
from dyntree.mixtures.hdp.learning import (
    after_documents,
    compressed_on_request,
    fresh_state,
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
from dyntree.mixtures.hdp.registry import FAMILIES
from dyntree.mixtures.hdp.state import State
from dyntree.mixtures.shared.arrays import Arrays
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


@checkpoint.savable
class MemoryBoundedHDP(TopicAnswers):
    """Topics shared by documents, learned epoch by epoch in bounded memory.

    The model is a hierarchical Dirichlet process mixture, learned by variational
    inference. Points are summarised by clumps that share one topic, and documents by
    groups that share their proportions. The model never holds more than `memory_limit`
    bytes, and the number of topics grows with the data as far as this limit allows.

    Parameters
    ----------
    family : {"full", "diag", "multinomial"}, default "full"
        Gaussian topics with full or diagonal covariances, or topics of words.
    memory_limit : int or str, optional
        Largest number of bytes held between calls, such as 65536 or "64kB". By default
        there is no limit, and nothing is compressed (batch learning).
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
    seed : int, default 0
    n_threads : int, optional
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
    shifted and scaled by the first epoch.

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
        epoch_size: int | str = "auto",
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
        self.settings = HDPSettings.of_arguments(
            **params.given_options(locals(), HDP_SETTINGS)
        )
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)
        self.n_threads = params.n_threads(n_threads, "n_threads")
        if not (callback is None or callable(callback)):
            raise ValueError(f"callback must be a callable; got {callback!r}.")
        self.callback = callback
        self._lock = ModelLock()
        self._state: State | None = None

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
            (id, count) pairs, as in corpora of gensim.
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
        state = fresh_state(context, batch.features, batch.part(0, edges[1]))
        with self._all_or_before(), rows_bar(progress, batch.n, "learning") as tell:
            for first, end in pairwise(edges):
                part = batch.part(first, end)
                some = None if names is None else names[first:end]
                last = end == batch.n_documents
                state = after_documents(replace(context, last=last), state, part, some)
                tell(part.n)
                self._state = state
        return self

    @property
    def _epoch_size(self) -> int:
        """Documents of an epoch."""
        given = self.settings.epoch_size
        return (
            FAMILIES[self.settings.family].epoch_size if given == "auto" else int(given)
        )

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
                raise ValueError("documents must hold at least one document; got none.")
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
        if state is None:
            state = fresh_state(context, batch.features, batch)
        with rows_bar(progress, batch.n, "learning") as tell:
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
        if FAMILIES[self.settings.family].of_words:
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
            raise ValueError("X must have at least one row; got none.")
        return features, rows

    @locked
    def preview(
        self, X: Any, y: Any = None, start: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Check and encode rows that are to be learned; see `Learner.preview`."""
        if start is not None:
            params.count("start", start, 0)
        if FAMILIES[self.settings.family].of_words:
            batch = read_to_learn(X, self.settings, self._state)
            return X, [None] * batch.n_documents
        _, rows = self._encoded(X)
        rows = rows.copy() if rows is X else rows
        return Encoded(rows), [None] * len(rows) if y is None else list(y)

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
        kept = params.flag("keep", keep)
        small = compressed_on_request(self._context(), state, limits)
        self._state = small if kept else replace(small, limits=own)
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
