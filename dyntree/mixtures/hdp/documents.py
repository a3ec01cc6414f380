"""Documents as users hold them -> rows, or words, and which document each is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    TIMES,
    UNKNOWN,
    Column,
    kind_of,
    numbers_of,
)
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.given import named_columns
from dyntree.encoding.ordered import ordered
from dyntree.encoding.pairing import check_paired
from dyntree.encoding.series import column_of, objects_of
from dyntree.encoding.tables import is_frame
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.labels import is_label

Longs = NDArray[np.int64]
Times = tuple[tuple[int, str], ...]  # places of columns of times, and of which kind
NAME = "MemoryBoundedHDP"
MOST_COUNT = 2**31  # of a word in a document, which an int32 holds


@dataclass(frozen=True)
class Batch:
    """Documents that were read: checked, but not yet fitted to a model."""

    document: Longs  # (n,) of each row, or of each pair of document and word
    n_documents: int
    rows: Matrix | None = None  # (n, d)
    words: tuple[Longs, Vector] | None = None  # ids and counts, (n,) each
    n_words: int | None = None  # width of a count matrix
    weight: Vector | None = None
    names: tuple[str, ...] | None = None  # of the columns
    times: Times = ()
    labels: tuple[Any, ...] | None = None  # of the documents, from groups
    is_array: bool = False  # whether all rows came as one table
    order: Longs | None = None  # where each row stood in that table

    @property
    def width(self) -> int:
        """Columns."""
        assert self.rows is not None
        return int(self.rows.shape[1])

    @property
    def n(self) -> int:
        """Rows, or pairs of document and word."""
        return len(self.document)

    @property
    def n_points(self) -> float:
        """Points: rows by their weight, or words as often as they came."""
        if self.words is not None:
            return float(self.words[1].sum())
        return float(self.n if self.weight is None else self.weight.sum())

    def part(self, first: int, last: int) -> Batch:
        """Some of the documents, in order."""
        last = min(last, self.n_documents)
        inside = (self.document >= first) & (self.document < last)
        words = self.words
        return Batch(
            self.document[inside] - first, last - first,
            None if self.rows is None else self.rows[inside],
            None if words is None else (words[0][inside], words[1][inside]),
            self.n_words,
            None if self.weight is None else self.weight[inside],
            self.names,
            self.times,
            None if self.labels is None else self.labels[first:last],
            self.is_array,
        )  # fmt: skip


def read_documents(
    documents: Any,
    family: str,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    allow_empty: bool = False,
    n_words: int | None = None,
    ignore_unknown: bool = False,
    allow_none: bool = False,
    names: tuple[str, ...] | None = None,
) -> Batch:
    """Read documents in any of the forms that the model takes, and check them.

    `names` are the words that the model knows, where frames named them.
    """
    if family == "multinomial":
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is for families of rows; counts of words are weights "
                "already."
            )
        batch = read_words(documents, groups, n_words, ignore_unknown, names)
        empty = np.bincount(batch.document, minlength=batch.n_documents) == 0
    else:
        batch = read_rows(documents, groups, sample_weight)
        empty = np.bincount(batch.document, minlength=batch.n_documents) == 0
    if batch.n_documents == 0:
        raise ValueError("documents must hold at least one document; got none.")
    if empty.any() and not allow_empty:
        what = "words" if family == "multinomial" else "rows"
        raise ValueError(
            f"documents[{int(np.argmax(empty))}] has no {what}; drop it or set "
            "allow_empty through options."
        )
    if batch.n == 0 and not allow_none:
        raise ValueError("documents must hold at least one row; got none.")
    return batch


# ---------------------------------------------------------------- rows
def read_rows(documents: Any, groups: Any, sample_weight: Any) -> Batch:
    """Rows of numbers: a list of tables, or one table and the groups of its rows."""
    if isinstance(documents, Encoded):
        documents = documents.rows
    if is_table(documents):
        return read_table(documents, groups, sample_weight)
    if groups is not None:
        raise ValueError(
            "groups is for one table of rows; got a list of documents, each of which "
            "is a group already."
        )
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise ValueError(
            "documents must be a list of 2-D arrays, or one array and groups=...; got "
            f"{params.short(documents)}."
        )
    tables: list[Matrix] = []
    names: tuple[str, ...] | None = None
    times: Times = ()
    for number, one in enumerate(documents):
        rows, found, own = document_rows(one, f"documents[{number}]", names)
        names, times = names or found, own if not tables else times
        if own != times:
            raise ValueError(
                f"documents[{number}] must hold the same kinds of numbers and times in "
                f"its columns as documents[0]; got {own} and {times}."
            )
        if tables and rows.shape[1] != tables[0].shape[1]:
            raise ValueError(
                f"documents[{number}] has {rows.shape[1]} columns; documents[0] has "
                f"{tables[0].shape[1]}."
            )
        check_finite(rows, f"documents[{number}]", names)
        tables.append(rows)
    if not tables:
        raise ValueError("documents must hold at least one document; got none.")
    lengths = [len(rows) for rows in tables]
    document = np.repeat(np.arange(len(tables)), lengths)
    rows = np.concatenate(tables)
    weight = read_weight(sample_weight, len(rows))
    return Batch(document, len(tables), rows, weight=weight, names=names, times=times)


def is_table(documents: Any) -> bool:
    """Whether all rows are in one two-dimensional table."""
    if is_frame(documents) or isinstance(documents, Mapping):
        return True
    if hasattr(documents, "tocsr"):
        return True
    if isinstance(documents, np.ndarray):
        return documents.ndim == 2 or (documents.ndim < 2 and documents.dtype != object)
    if isinstance(documents, list | tuple) and documents:
        first = documents[0]
        return isinstance(first, Mapping) or (np.ndim(first) == 1 and np.ndim(
            np.asarray(first, dtype=object)[:1][0] if len(first) else 0
        ) == 0 and not is_frame(first))  # fmt: skip
    return False


def group_numbers(
    groups: Any, n_rows: int
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number of each row's document, from 0 as labels come, and the labels."""
    column = column_of(groups)
    if column.values.ndim != 1 or len(column) != n_rows:
        came = column.values.shape
        n = came[0] if len(came) == 1 else f"shape {came}"
        raise ValueError(f"groups must have one label per row ({n_rows}); got {n}.")
    labels: dict[Any, int] = {}
    place = []
    for row, label in enumerate(column.labels()):
        if not is_label(label):
            raise ValueError(f"groups[{row}] must be a label; got {label!r}.")
        place.append(labels.setdefault(label, len(labels)))
    return np.array(place, dtype=np.int64), tuple(labels)


def read_table(documents: Any, groups: Any, sample_weight: Any) -> Batch:
    """One table, whose rows are of the documents that `groups` says."""
    column = None
    if isinstance(groups, str):
        found = named_columns(documents, "documents")
        if found is None:
            raise ValueError(
                f"groups={groups!r} names a column, but documents have no names; give "
                "a frame, or one label per row."
            )
        if groups not in found:
            raise ValueError(
                f"groups={groups!r} is not a column; columns are {list(found)}."
            )
        column = objects_of(found.pop(groups).labels())
        documents = found
    if isinstance(documents, dict) and column is not None:
        rows, times = columns_of(documents, "documents")
        names: tuple[str, ...] | None = tuple(documents)
    else:
        rows, names, times = document_rows(documents, "documents", None)
    if groups is None:
        raise ValueError("one array needs groups=...; pass groups or a list of arrays.")
    if column is None:
        check_paired(documents, groups, "groups", "documents")
        column = groups
    check_paired(documents, sample_weight, "sample_weight", "documents")
    check_finite(rows, "documents", names)
    weight = read_weight(sample_weight, len(rows))
    number, labels = group_numbers(column, len(rows))
    order = np.argsort(number, kind="stable")
    return Batch(
        number[order], len(labels), rows[order],
        weight=None if weight is None else weight[order], names=names,
        times=times, labels=labels, is_array=True, order=order,
    )  # fmt: skip


def columns_of(columns: Mapping[str, Column], what: str) -> tuple[Matrix, Times]:
    """Columns of numbers as rows; times count in days."""
    if not columns:
        raise ValueError(f"{what} must have columns beside that of groups; got none.")
    arrays, times = [], []
    for k, (name, column) in enumerate(columns.items()):
        kind = kind_of(name, column, what)
        if kind == LEVELS:
            raise ValueError(
                f"{what} must hold numbers; column {name!r} has dtype "
                f"{column.values.dtype}."
            )
        if kind in TIMES:
            times.append((k, kind))
        kind = NUMBERS if kind == UNKNOWN else kind
        arrays.append(numbers_of(name, column, kind, what))
    return np.column_stack(arrays), tuple(times)


def document_rows(
    one: Any, what: str, names: tuple[str, ...] | None
) -> tuple[Matrix, tuple[str, ...] | None, Times]:
    """The rows of one table, in the order of the names where there are some."""
    found = named_columns(one, what)
    if found is not None:
        if names is not None:
            missing = [name for name in names if name not in found]
            unknown = [name for name in found if name not in names]
            if missing or unknown:
                raise ValueError(
                    f"{what} must have the columns {list(names)}; missing {missing}, "
                    f"unknown {unknown}."
                )
            found = {name: found[name] for name in names}
        rows, times = columns_of(found, what)
        return rows, tuple(found), times
    if hasattr(one, "tocsr"):
        raise ValueError(
            f"{what} must be a 2-D numeric array; got a sparse matrix. Give a dense "
            'one, X.toarray(), or take family="multinomial" for counts of words.'
        )
    try:
        array = np.asarray(one)
    except ValueError:
        array = np.empty(0, dtype=object)
    if isinstance(one, np.ma.MaskedArray):
        array = params.as_array(what, one)
    if array.ndim == 2 and array.shape[0] == 0:
        array = array.astype(np.float64)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{what} must be a 2-D numeric array; got dtype {array.dtype}, ndim "
            f"{array.ndim}."
        )
    if array.shape[1] == 0:
        raise ValueError(f"{what} must have at least one column; got none.")
    return np.ascontiguousarray(array, dtype=np.float64), None, ()


def check_finite(rows: Matrix, what: str, names: tuple[str, ...] | None) -> None:
    """Refuse NaN, infinities and what is too large, naming the first."""
    bad = ~(np.abs(rows) <= LARGEST)
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    name = names[column] if names else f"x{column}"
    value = rows[row, column]
    if np.isfinite(value):
        raise ValueError(
            f"{what} row {row}, column {name!r} is {value:g}; numbers must be at most "
            f"{LARGEST:g}. Rescale the column."
        )
    raise ValueError(
        f"{what} row {row}, column {name!r} is {value}; {NAME} has no missing-value "
        "model; drop or impute the row."
    )


def read_weight(sample_weight: Any, n: int) -> Vector | None:
    """Weights > 0, one a row."""
    if sample_weight is None:
        return None
    weight = params.as_array("sample_weight", sample_weight, np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one number per row ({n}); got shape "
            f"{weight.shape}."
        )
    bad = ~((weight > 0.0) & np.isfinite(weight))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"sample_weight[{row}] must be > 0; got {weight[row]}.")
    if n and weight.max() > LARGEST:
        row = int(np.argmax(weight))
        raise ValueError(
            f"sample_weight[{row}] must be at most {LARGEST:g}; got {weight[row]:g}."
        )
    return weight


# ---------------------------------------------------------------- words
def read_words(
    documents: Any,
    groups: Any,
    n_words: int | None,
    ignore_unknown: bool,
    names: tuple[str, ...] | None = None,
) -> Batch:
    """Counts of words: a matrix, lists of word ids, or lists of (id, count) pairs."""
    if groups is not None:
        raise ValueError(
            "groups is for rows of numbers; of words each row, or list, is a document."
        )
    if hasattr(documents, "tocsr"):
        return from_counts(documents.tocsr(), n_words)
    if is_frame(documents):
        table, found = ordered(documents, names, "documents", ignore_unknown)
        batch = read_words(table, None, n_words, ignore_unknown)
        return replace(batch, names=found)
    if isinstance(documents, np.ndarray) and documents.ndim == 2:
        from scipy.sparse import csr_matrix

        if documents.dtype.kind not in "biuf":
            raise ValueError(
                f"count matrix must hold numbers; got dtype {documents.dtype}."
            )
        bad = ~np.isfinite(documents.astype(np.float64))
        if bad.any():
            row, word = np.argwhere(bad)[0]
            refuse_count(int(row), int(word), documents[row, word])
        return from_counts(csr_matrix(documents), n_words)
    if isinstance(documents, str | bytes | Mapping) or not isinstance(
        documents, Iterable
    ):
        raise ValueError(
            "documents must be a count matrix (documents x words), or a list of "
            f"arrays of word ids; got {params.short(documents)}."
        )
    return from_lists(documents, n_words, ignore_unknown)


def refuse_count(row: int, word: int, value: Any) -> None:
    """Raise for what is no count."""
    most = f" and below {MOST_COUNT}" if value >= MOST_COUNT else ""
    raise ValueError(
        f"count matrix row {row}, word {word} is {value}; counts must be whole numbers "
        f">= 0{most}."
    )


def check_counts(number: int, ids: Any, counts: Vector) -> None:
    """Refuse what are no counts of words in one document."""
    bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < MOST_COUNT))
    if bad.any():
        at = int(np.argmax(bad))
        refuse_count(number, int(ids[at]), counts[at])


def from_counts(matrix: Any, n_words: int | None) -> Batch:
    """Counts of a sparse matrix."""
    matrix = matrix.copy()
    matrix.sum_duplicates()
    value = matrix.data.astype(np.float64)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    bad = ~((value >= 0.0) & (value == np.floor(value)) & (value < MOST_COUNT))
    if bad.any():
        at = int(np.argmax(bad))
        refuse_count(int(row[at]), int(matrix.indices[at]), matrix.data[at])
    if n_words is not None and matrix.shape[1] != n_words:
        raise ValueError(
            f"documents have {matrix.shape[1]} words; the vocabulary has {n_words} "
            "words."
        )
    some = value > 0.0
    return Batch(
        row[some].astype(np.int64), matrix.shape[0],
        words=(matrix.indices[some].astype(np.int64), value[some]),
        n_words=int(matrix.shape[1]), is_array=True,
    )  # fmt: skip


def from_lists(
    documents: Iterable[Any], n_words: int | None, ignore_unknown: bool
) -> Batch:
    """Word ids of each document, or pairs of id and count as gensim's corpora have."""
    document, word, count = [], [], []
    number = -1
    for number, one in enumerate(documents):
        ids, counts = ids_and_counts(one, number)
        if len(ids) and n_words is not None and ids.max() >= n_words:
            if not ignore_unknown:
                raise ValueError(
                    f"documents[{number}] has word id {int(ids.max())}; the vocabulary "
                    f"has {n_words} words."
                )
            known = ids < n_words
            ids, counts = ids[known], counts[known]
        elif len(ids) and ids.max() >= MOST_COUNT:
            raise ValueError(
                f"documents[{number}] must hold word ids below {MOST_COUNT}; got "
                f"{int(ids.max())}."
            )
        found, place = np.unique(ids, return_inverse=True)
        total = np.bincount(place, counts, len(found)).astype(np.float64)
        check_counts(number, found, total)
        document.append(np.full(len(found), number, dtype=np.int64))
        word.append(found.astype(np.int64))
        count.append(total)
    if number < 0:
        raise ValueError("documents must hold at least one document; got none.")
    ids = np.concatenate(word)
    width = n_words if n_words is not None else int(ids.max(initial=0)) + 1
    return Batch(
        np.concatenate(document), number + 1, words=(ids, np.concatenate(count)),
        n_words=width,
    )  # fmt: skip


def ids_and_counts(one: Any, number: int) -> tuple[Longs, Vector]:
    """Ids of words and how often they came in one document."""
    what = f"documents[{number}]"
    is_pairs = isinstance(one, Sequence) and len(one) > 0 and isinstance(one[0], tuple)
    array = params.as_array(what, one if hasattr(one, "__len__") else list(one))
    if array.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
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
            f"{what} must be a 1-D array of word ids, or a list of (id, count) pairs; "
            f"got dtype {array.dtype}, ndim {array.ndim}.{hint}"
        )
    if np.any(ids < 0) or np.any(ids != np.floor(ids)):
        raise ValueError(f"{what} must hold word ids >= 0; got {ids.min()}.")
    check_counts(number, ids, counts)
    some = counts > 0.0
    return ids[some].astype(np.int64), counts[some]


# ---------------------------------------------------------------- streams
def is_stream(documents: Any) -> bool:
    """Whether documents come one by one, and only once."""
    return isinstance(documents, Iterator)


def check_alone(**given: Any) -> None:
    """Refuse what would have to be as long as a generator that is read by parts."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} cannot go with a generator of documents; pass a list, or call "
                "partial_fit with each epoch."
            )


def taken_ahead(documents: Iterator[Any], n: int) -> list[Any]:
    """The next n documents of a generator."""
    out = []
    for one in documents:
        out.append(one)
        if len(out) == n:
            break
    return out
