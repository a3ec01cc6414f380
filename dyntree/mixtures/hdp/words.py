"""Words as users hold them -> documents of words and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import Column
from dyntree.encoding.frames import is_frame
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import NUMBER, Vector, real_array
from dyntree.errors import ArgumentError, Message, UnseenWordsWarning, warn
from dyntree.mixtures.hdp.batch import Batch, Longs
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.word_store import WordStore

MOST_COUNT = 2**31  # of a word in a document, which an int32 holds
MOST_WORDS = 2**24  # of a vocabulary whose size is not given


@dataclass(frozen=True, kw_only=True)
class WordBatch(Batch):
    """Documents of words: a pair of id and count for each word of a document."""

    noun = "words"

    word: Longs  # (n,)
    count: Vector  # (n,)
    n_words: int  # of the vocabulary

    @property
    def n_points(self) -> float:
        """Words as often as they occur."""
        return float(self.count.sum())

    @property
    def width(self) -> int:
        """Words of the vocabulary."""
        return self.n_words

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Documents, words and counts."""
        return self.document, self.word, self.count

    def taken(self, where: Any) -> Self:
        """Words at some places, of documents numbered as before."""
        return replace(
            self, document=self.document[where], word=self.word[where],
            count=self.count[where],
        )  # fmt: skip

    def store(self, family: Family, group: Any) -> WordStore:
        """Words and their counts in so numbered groups."""
        return WordStore.of(family, self.word, self.count, group)


# ---------------------------------------------------------------- reading
@dataclass(frozen=True)
class Vocabulary:
    """The words that a model has, and what becomes of others.

    Attributes
    ----------
    n_words : int or None
        None before the first document.
    names : tuple of str or None
        Of the words, where frames named them.
    is_fixed : bool
        Whether the user gave the size, so that other words are refused.
    grows : bool
        Whether other words are taken in; else they are left out, with a warning.
    is_new : bool
        Whether there is no document yet, so that the first ones name the words.
    """

    n_words: int | None = None
    names: tuple[str, ...] | None = None
    is_fixed: bool = False
    grows: bool = True
    is_new: bool = False

    def has_room(self, n_words: int, what: str, is_named: bool = False) -> bool:
        """Whether words below a number can be read, all of them; or raise."""
        if self.n_words is None or n_words <= self.n_words:
            return True
        if self.is_fixed and self.grows:
            raise ValueError(
                Message(
                    "{what!a}; the vocabulary has {n_words} words, by "
                    "HDPOptions(n_words={n_words}). Leave it out, or give a larger "
                    "n_words to a new model.",
                    what=what,
                    n_words=self.n_words,
                )
            )
        if self.names is not None and self.grows and not is_named:
            raise ValueError(
                Message(
                    "{what!a}; the vocabulary has {n_words} words with names. Give a "
                    "frame, whose columns name further words.",
                    what=what,
                    n_words=self.n_words,
                )
            )
        return self.grows


def warn_of_words(unseen: str, missing: list[str] | None = None) -> None:
    """Warn of words that are left out, and of names that are missing."""
    lacking = ""
    if missing:
        lacking = (
            f"{' ' if unseen else ''}{len(missing)} words that were learned have no "
            f"column, such as {missing[0]!r}, and count as 0."
        )
    warn(UnseenWordsWarning, "{unseen}{lacking}", unseen=unseen, lacking=lacking)


def read_words(documents: Any, groups: Any, vocabulary: Vocabulary) -> WordBatch:
    """Counts of words: a matrix, lists of word ids, or lists of (id, count) pairs."""
    if groups is not None:
        raise ArgumentError(
            "groups",
            "is for rows of numbers; of words each row, or list, is a document",
        )
    if hasattr(documents, "tocsr"):
        return from_counts(documents.tocsr(), vocabulary)
    if is_frame(documents):
        if vocabulary.names is None:
            return from_frame(documents, vocabulary)
        counts, names = ordered(documents, vocabulary)
        batch = read_words(counts, None, Vocabulary(len(names)))
        return replace(batch, names=names)
    if isinstance(documents, np.ma.MaskedArray):  # of which the hidden are no counts
        documents = params.as_array("documents", documents)
    if isinstance(documents, np.ndarray) and documents.ndim == 2:
        from scipy.sparse import csr_matrix

        if documents.dtype.kind not in "biufO":
            raise ValueError(
                Message(
                    "count matrix must hold numbers; got dtype {dtype}.",
                    dtype=documents.dtype,
                )
            )
        documents = plain_numbers("count matrix", documents)
        bad = ~np.isfinite(documents.astype(np.float64))
        if bad.any():
            row, word = np.argwhere(bad)[0]
            refuse_count(int(row), int(word), documents[row, word])
        return from_counts(csr_matrix(documents), vocabulary)
    if isinstance(documents, str | bytes | Mapping) or not isinstance(
        documents, Iterable
    ):
        raise ArgumentError(
            "documents",
            "must be a count matrix (documents x words), or a list of arrays of word "
            "ids",
            documents,
        )
    return from_lists(documents, vocabulary)


def from_frame(frame: Any, vocabulary: Vocabulary) -> WordBatch:
    """Columns as words by their places; the first documents of a model name them."""
    counts, names = columns_of(frame, None)
    batch = read_words(counts, None, vocabulary)
    is_named = vocabulary.is_new or vocabulary.n_words is None
    return replace(batch, names=names) if is_named else batch


def columns_of(
    frame: Any, names: tuple[str, ...] | None
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Columns of these names, 0 where there is none, or all of them, and the names."""
    columns = table_of(frame, "documents").columns()
    names = tuple(columns) if names is None else names
    n_rows = len(next(iter(columns.values()))) if columns else 0
    none = Column(np.zeros(n_rows))
    arrays = [columns.get(name, none).values for name in names]
    return np.column_stack(arrays) if arrays else np.empty((n_rows, 0)), names


def ordered(frame: Any, vocabulary: Vocabulary) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Columns of a frame in the order of the vocabulary, new ones last, and all names.

    A word without a column does not occur.
    """
    names = vocabulary.names
    assert names is not None
    columns, known = table_of(frame, "documents").columns(), {*names}
    missing = [name for name in names if name not in columns]
    new = [name for name in columns if name not in known]
    if len(missing) == len(names):
        raise ArgumentError(
            "documents",
            "must have columns that were learned, such as {names}",
            [*columns][:3],
            "Count the words of these documents by the same names.",
            names=[*names][:3],
        )
    what = f"documents have {len(new)} other words, such as {[*new, ''][0]!r}"
    takes = vocabulary.has_room(len(names) + len(new), what, is_named=True)
    out = [] if takes else new
    if missing or out:
        warn_of_words(
            f"{len(out)} words of documents were not learned, such as {out[0]!r}, and "
            "are left out." if out else "", missing,
        )  # fmt: skip
    return columns_of(frame, (*names, *new) if takes else names)


def plain_numbers(what: str, array: NDArray[Any]) -> NDArray[Any]:
    """Numbers in types that SciPy has, also of objects and of another byte order.

    Raises
    ------
    ValueError
        For an object that is no number.
    """
    if array.dtype.kind == "O":
        return real_array(what, array, "Leave such entries out.")
    if array.dtype == np.float16:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def whole_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Objects that are whole numbers, as int64; all else as it is."""
    if array.dtype.kind != "O" or not all(isinstance(v, NUMBER) for v in array.flat):
        return array
    numbers = array.astype(np.float64)
    is_whole = np.all(np.abs(numbers) < MOST_COUNT) and np.all(numbers % 1.0 == 0.0)
    return numbers.astype(np.int64) if is_whole else array


def refuse_count(row: int, word: int, value: Any) -> None:
    """Raise for what is no count."""
    most = f" and below {MOST_COUNT}" if value >= MOST_COUNT else ""
    raise ValueError(
        Message(
            "count matrix row {row}, word {word} is {value}; counts must be whole "
            "numbers >= 0{most}.",
            row=row,
            word=word,
            value=value,
            most=most,
        )
    )


def are_no_counts(value: Vector) -> Any:
    """Whether each of some values is no count of a word."""
    return ~((value >= 0.0) & (value == np.floor(value)) & (value < MOST_COUNT))


def check_counts(number: int, ids: Any, counts: Vector) -> None:
    """Refuse what are no counts of words in one document."""
    bad = are_no_counts(counts)
    if bad.any():
        at = int(np.argmax(bad))
        refuse_count(number, int(ids[at]), counts[at])


def from_counts(matrix: Any, vocabulary: Vocabulary) -> WordBatch:
    """Counts of a sparse matrix."""
    matrix = matrix.copy()
    matrix.sum_duplicates()
    value = matrix.data.astype(np.float64)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    bad = are_no_counts(value)
    if bad.any():
        at = int(np.argmax(bad))
        refuse_count(int(row[at]), int(matrix.indices[at]), matrix.data[at])
    width, n_words = int(matrix.shape[1]), vocabulary.n_words
    if n_words is not None and width < n_words:
        raise ArgumentError(
            "documents",
            f"have {width} columns; the vocabulary has {n_words} words",
            remedy="Count with the same vocabulary, or name the columns in a frame.",
        )
    if n_words is None or n_words < width:
        check_vocabulary(width, "documents have as many columns")
    some = value > 0.0
    if not vocabulary.has_room(width, f"documents have {width} words"):
        assert n_words is not None
        beyond = some & (matrix.indices >= n_words)
        width, some = n_words, some & ~beyond
        if beyond.any():
            warn_of_words(
                f"{value[beyond].sum():.0f} words of documents were not learned, such "
                f"as that of column {int(matrix.indices[beyond][0])}, and are left "
                "out."
            )
    return WordBatch(
        document=row[some].astype(np.int64), n_documents=matrix.shape[0],
        word=matrix.indices[some].astype(np.int64), count=value[some],
        n_words=width, is_array=True,
    )  # fmt: skip


def check_vocabulary(n_words: int, cause: str) -> None:
    """Refuse words by the million that nobody has asked for: all topics hold them."""
    if n_words > MOST_WORDS:
        raise ArgumentError(
            "documents",
            "must have word ids below {most_words}; {cause}",
            remedy=(
                "Number the words that come from 0, or give the size of the "
                "vocabulary, HDPOptions(n_words={n_words})."
            ),
            most_words=MOST_WORDS,
            cause=cause,
            n_words=n_words,
        )


def from_lists(documents: Iterable[Any], vocabulary: Vocabulary) -> WordBatch:
    """Word ids of each document, or pairs of id and count as gensim's corpora have."""
    document, word, count = [], [], []
    number, n_out, first_out = -1, 0.0, 0
    for number, one in enumerate(documents):
        ids, counts = ids_and_counts(one, number)
        if len(ids):
            cause = f"documents[{number}] has word id {int(ids.max())}"
            check_vocabulary(int(ids.max()) + 1, cause)
            if not vocabulary.has_room(int(ids.max()) + 1, cause):
                assert vocabulary.n_words is not None
                out = ids >= vocabulary.n_words
                first_out = first_out if n_out else int(ids[out][0])
                n_out += float(counts[out].sum())
                ids, counts = ids[~out], counts[~out]
        found, place = np.unique(ids, return_inverse=True)
        total = np.bincount(place, counts, len(found)).astype(np.float64)
        check_counts(number, found, total)
        document.append(np.full(len(found), number, dtype=np.int64))
        word.append(found.astype(np.int64))
        count.append(total)
    if number < 0:
        raise ArgumentError(
            "documents", "must hold at least one document", Message("none")
        )
    if n_out:
        warn_of_words(
            f"{n_out:.0f} words of documents were not learned, such as the id "
            f"{first_out}, and are left out."
        )
    ids = np.concatenate(word)
    width = max(vocabulary.n_words or 1, int(ids.max(initial=0)) + 1)
    return WordBatch(
        document=np.concatenate(document), n_documents=number + 1, word=ids,
        count=np.concatenate(count), n_words=width,
    )  # fmt: skip


def ids_and_counts(one: Any, number: int) -> tuple[Longs, Vector]:
    """Ids of words and how often they occur in one document."""
    what = f"documents[{number}]"
    is_pairs = isinstance(one, Sequence) and len(one) > 0 and isinstance(one[0], tuple)
    array = params.as_array(what, one if hasattr(one, "__len__") else list(one))
    if array.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    array = whole_numbers(array)
    if (
        is_pairs
        and array.ndim == 2
        and array.shape[1] == 2
        and array.dtype.kind in "iuf"
    ):
        ids, counts = array[:, 0], array[:, 1].astype(np.float64)
    elif array.ndim == 1 and array.dtype.kind in "iu":
        ids, counts = array, np.ones(len(array))
    else:
        hint = ""
        if array.dtype.kind in "USO":
            hint = " Number the words of a text, or count them into a matrix of words."
        raise ValueError(
            Message(
                "{what!a} must be a 1-D array of word ids, or a list of (id, count) "
                "pairs; got dtype {dtype}, ndim {ndim}.{hint}",
                what=what,
                dtype=array.dtype,
                ndim=array.ndim,
                hint=hint,
            )
        )
    if np.any(ids < 0) or np.any(ids != np.floor(ids)):
        raise ArgumentError(what, "must hold word ids >= 0", ids.min())
    check_counts(number, ids, counts)
    some = counts > 0.0
    return ids[some].astype(np.int64), counts[some]
