"""What a topic model answers for documents and points, topics as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from dyntree import params
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp import answers
from dyntree.mixtures.hdp.attributes import TopicsHeld
from dyntree.mixtures.hdp.documents import (
    Batch,
    document_rows,
    is_table,
    read_documents,
)
from dyntree.mixtures.hdp.fitting import as_ids, fitting, unsorted
from dyntree.mixtures.hdp.heldout import log_density as log_mixture
from dyntree.mixtures.hdp.learned import Learned
from dyntree.mixtures.hdp.records import Retrieved, TopicLabels
from dyntree.mixtures.hdp.store import Store, store_of
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.locking import locked

METHODS = ("hard", "soft", "fast")
PER = ("point", "document")
SAMPLING = 3  # purpose of random numbers


class TopicAnswers(TopicsHeld):
    """Questions to a memory-bounded topic model; none of them teaches it anything."""

    def _asked(
        self, documents: Any, what: str, ignore_unknown: bool = False
    ) -> tuple[Learned, Batch, Store]:
        """Documents to answer for; one table without groups is one document."""
        learned = self._ready(what)
        is_encoded, times = isinstance(documents, Encoded), learned.features.times
        if is_encoded:
            documents = learned.features.encode(documents)
        groups = None
        if learned.family.kind != 2 and is_table(documents):
            known = learned.features.names
            rows, names, own = document_rows(documents, "documents", known)
            times = times if is_encoded else own
            groups = np.zeros(len(rows), dtype=np.int64)
            documents = rows
            if learned.features.names is not None and names is None:
                names = learned.features.names
        else:
            names = None
        n_words = learned.family.n_words if learned.family.kind == 2 else None
        batch = read_documents(
            documents, self.settings.family, groups=groups, allow_empty=True,
            n_words=n_words, ignore_unknown=ignore_unknown, allow_none=True,
            names=learned.features.names if learned.family.kind == 2 else None,
        )  # fmt: skip
        if groups is not None:
            batch = replace(batch, names=names, times=times)
        batch = fitting(batch, learned)
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
        _, batch, found = self._folded(documents, "predict")
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
        q = answers.responsibilities(self._search(), found, points)
        ordered: Matrix = unsorted(batch, q)
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
            ids = params.as_array("points", points)
            if ids.ndim != 1 or ids.dtype.kind not in "iu":
                raise ValueError(
                    "points must be a 1-D array of word ids; got dtype "
                    f"{ids.dtype}, ndim {ids.ndim}."
                )
            read_documents([ids], "multinomial", n_words=learned.family.n_words)
            return learned, ids
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
        _, batch, _, density = self._densities(documents, given, "score_samples")
        ordered: Vector = unsorted(batch, density)
        return ordered

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
        found by eqs. 20 and 21, topics fixed.
        """
        params.one_of("per", per, PER)
        _, batch, found, density = self._densities(documents, given, "score")
        weight = found.store.weights
        if per == "document":
            return np.bincount(batch.document, weight * density, batch.n_documents)
        if not len(density):
            raise ValueError(
                "score needs at least one point; got empty documents alone. Ask for "
                'per="document".'
            )
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
        if documents is None:
            return self.free_energy_
        learned, batch, found = self._folded(documents, "free_energy")
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
            Their names, each of one document; by default numbers in order.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Where the index does not fit in `memory_limit`, or a name comes twice; the
            index is as it was then.

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
        found_names, times = np.unique(names, return_counts=True)
        if (times > 1).any():
            raise ValueError(
                "ids must be names that no other document of the index has; got "
                f"{found_names[times > 1][0].item()!r} twice. Give each its own, or "
                "learn again, which drops the index."
            )
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
            stored: Any = learned.index
            names = learned.index_ids
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
