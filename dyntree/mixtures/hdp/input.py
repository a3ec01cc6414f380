"""Documents as users hold them -> checked batches of points, fitted to a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import Encoded
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.hdp.batch import Batch
from dyntree.mixtures.hdp.options import HDPSettings
from dyntree.mixtures.hdp.registry import kind_of
from dyntree.mixtures.hdp.rows import document_rows, is_table, read_rows
from dyntree.mixtures.hdp.state import State
from dyntree.mixtures.hdp.words import Vocabulary, read_words, whole_numbers


def read_documents(
    documents: Any,
    of_words: bool,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    allow_empty: bool = False,
    vocabulary: Vocabulary | None = None,
    allow_none: bool = False,
    least: int = 1,
) -> Batch:
    """Read documents in any of the forms that the model takes, and check them.

    `vocabulary` is of the words that the model has, and `least` is how many documents
    there must be.
    """
    if of_words and sample_weight is not None:
        raise ArgumentError(
            "sample_weight",
            "is for families of rows; counts of words are weights already",
        )
    batch: Batch = (
        read_words(documents, groups, vocabulary or Vocabulary())
        if of_words
        else read_rows(documents, groups, sample_weight)
    )
    empty = np.bincount(batch.document, minlength=batch.n_documents) == 0
    if batch.n_documents < least:
        raise ArgumentError(
            "documents", "must hold at least one document", Message("none")
        )
    if empty.any() and not allow_empty:
        raise ValueError(
            Message(
                "documents[{document}] has no {noun}; drop it or set allow_empty "
                "through options.",
                document=int(np.argmax(empty)),
                noun=batch.noun,
            )
        )
    if batch.n == 0 and not allow_none:
        raise ArgumentError(
            "documents",
            "must hold at least one row",
            Message("none"),
            "Scales and topics come from the first documents that have some.",
        )
    return batch


def read_to_learn(
    documents: Any,
    settings: HDPSettings,
    state: State | None,
    groups: Any = None,
    sample_weight: Any = None,
    *,
    allow_none: bool = False,
) -> Batch:
    """Documents to learn, of the columns that the model has, or with further words.

    An epoch without a row needs a model that has topics, or `allow_none`.
    """
    n_words = settings.options.n_words
    vocabulary = Vocabulary(n_words, is_fixed=n_words is not None, is_new=True)
    if state is not None and state.family.of_words:
        n_words, names = state.family.n_words, state.features.names
        vocabulary = replace(vocabulary, n_words=n_words, names=names, is_new=False)
    batch = read_documents(
        documents, kind_of(settings).of_words, groups=groups,
        sample_weight=sample_weight, allow_empty=settings.options.allow_empty,
        vocabulary=vocabulary, allow_none=allow_none or state is not None,
    )  # fmt: skip
    return batch if state is None else batch.matched(state.features)


def read_to_answer(documents: Any, state: State, groups: Any = None) -> Batch:
    """Documents to answer for; one table without groups is one document."""
    features, of_words = state.features, state.family.of_words
    times, is_encoded = features.times, isinstance(documents, Encoded)
    is_nothing = isinstance(documents, list | tuple) and not documents
    if is_nothing:  # a list of no documents
        documents = np.empty((0, features.n_features))
        groups = None if of_words else np.zeros(0, dtype=np.int64)
    if is_encoded:
        documents = features.encode(documents)
    names, whole = None, groups is None and not of_words and is_table(documents)
    if whole:
        documents, names, own = document_rows(documents, "documents", features.names)
        names, times = names or features.names, times if is_encoded else own
        groups = np.zeros(len(documents), dtype=np.int64)
    batch = read_documents(
        documents, of_words, groups=groups, allow_empty=True,
        vocabulary=known_words(state), allow_none=True, least=0,
    )  # fmt: skip
    if is_nothing:
        return replace(batch, order=None)
    if whole:
        batch = replace(batch, names=names, times=times)
    return batch.matched(features)


def read_points(points: Any, state: State) -> Any:
    """Points to answer for one by one: rows on the model's scale, or word ids."""
    if not state.family.of_words:
        return state.standardised(state.features.encode(points))
    ids = whole_numbers(params.as_array("points", points))
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ArgumentError(
            "points",
            "must be a 1-D array of word ids",
            Message("dtype {dtype}, ndim {ndim}", dtype=ids.dtype, ndim=ids.ndim),
        )
    if np.any((ids < 0) | (ids >= state.family.n_words)):
        raise ArgumentError(
            "points",
            "must be ids of words that were learned, from 0 to {most}",
            int(ids[(ids < 0) | (ids >= state.family.n_words)][0]),
            most=state.family.n_words - 1,
        )
    return ids


def known_words(state: State) -> Vocabulary | None:
    """The words of a model that answers; None where it has none."""
    if not state.family.of_words:
        return None
    return Vocabulary(state.family.n_words, state.features.names, grows=False)


# ---------------------------------------------------------------- names of documents
def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """Names of documents as an array of whole numbers or of text."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ArgumentError("ids", f"must have one name per document ({n})", ids)
    given = list(ids)
    if len(given) != n:
        raise ArgumentError("ids", f"must have one name per document ({n})", len(given))
    whole = all(
        isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given
    )
    return (
        np.array(given, dtype=np.int64)
        if whole
        else np.array([str(one) for one in given])
    )


def document_ids(
    ids: Any, batch: Batch, track: bool, state: State | None
) -> NDArray[Any] | None:
    """Names of documents to learn, where they are tracked: distinct, and new."""
    if ids is None:
        if not track:
            return None
        first = 0 if state is None else state.n_documents
        ids = batch.labels or tuple(range(first, first + batch.n_documents))
    names = as_ids(ids, batch.n_documents)
    found, counts = np.unique(names, return_counts=True)
    if (counts > 1).any():
        twice = found[np.argmax(counts > 1)]
        at = int(np.flatnonzero(names == twice)[1])
        raise ValueError(
            Message(
                "ids[{at}]={twice!r} comes twice; documents need names of their own.",
                at=at,
                twice=twice.item(),
            )
        )
    if not track:
        return None
    if state is not None:
        check_unseen(names, state)
    return names


def check_unseen(names: NDArray[Any], state: State) -> None:
    """Refuse names of documents that were learned before."""
    before, epoch = state.document_ids, state.document_epoch
    if before is None or epoch is None or not len(before):
        return
    texts = before.dtype.kind == "U" or names.dtype.kind == "U"
    known = before.astype(str) if texts else before
    asked = names.astype(str) if texts else names
    for at in np.flatnonzero(np.isin(asked, known)):
        seen = int(np.flatnonzero(known == asked[at])[0])
        raise ValueError(
            Message(
                "ids[{at}]={names!r} was already learnt in epoch {epoch}; documents "
                "cannot be extended after their epoch.",
                at=at,
                names=names[at].item(),
                epoch=epoch[seen],
            )
        )


# ---------------------------------------------------------------- streams
def epoch_edges(batch: Batch, size: int) -> list[int]:
    """Where each epoch begins, and the end; the first goes on until there is a row."""
    first = size * (1 + int(batch.document[0]) // size)
    return [0, *range(first, batch.n_documents, size), batch.n_documents]


def is_stream(documents: Any) -> bool:
    """Whether documents come one by one, and only once."""
    return isinstance(documents, Iterator)


def check_alone(**given: Any) -> None:
    """Refuse arguments with a value a document beside a generator of unknown length."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(
                name,
                "cannot go with a generator of documents; pass a list, or call "
                "partial_fit with each epoch",
            )


def taken_ahead(documents: Iterator[Any], n: int) -> list[Any]:
    """The next n documents of a generator."""
    out = []
    for one in documents:
        out.append(one)
        if len(out) == n:
            break
    return out
