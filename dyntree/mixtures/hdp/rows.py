"""Rows of numbers as users hold them -> documents of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import (
    LEVELS,
    NOUNS,
    NUMBERS,
    TIMES,
    UNKNOWN,
    ZONES,
    Column,
    kind_of,
    numbers_of,
)
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.frames import is_frame
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.row_input import named_columns, names_amiss
from dyntree.encoding.series import column_of, objects_of
from dyntree.encoding.values import LARGEST, NUMBER, Matrix, Vector
from dyntree.errors import ArgumentError, Message, ScaleWarning, warn
from dyntree.mixtures.hdp.batch import Batch, Times
from dyntree.mixtures.hdp.families import MOST_FAR, Family
from dyntree.mixtures.hdp.row_store import RowStore
from dyntree.mixtures.shared.arrays import constants
from dyntree.mixtures.shared.lattice import (
    cell_widths,
    spread_over_cells,
    usual_copies,
)
from dyntree.mixtures.shared.outlying import far_values, warn_of_far
from dyntree.params.checks import as_numbers
from dyntree.params.labels import check_text, is_label

NAME = "MemoryBoundedHDP"
FEWEST_WORDS = 5  # columns from which rows can look like counts of words


@dataclass(frozen=True, kw_only=True)
class RowBatch(Batch):
    """Documents of rows of numbers."""

    noun = "rows"

    rows: Matrix  # (n, d)
    weight: Vector | None = None

    @property
    def n_points(self) -> float:
        """Rows by their weight."""
        return float(self.n if self.weight is None else self.weight.sum())

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.rows.shape[1])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Documents and rows."""
        return self.document, self.rows

    def taken(self, where: Any) -> Self:
        """Rows at some places, numbered as before."""
        weight = None if self.weight is None else self.weight[where]
        return replace(
            self, document=self.document[where], rows=self.rows[where], weight=weight
        )

    def matched(self, features: FeatureMap) -> Self:
        """Documents with the columns that a model knows, in its order."""
        if self.width != features.n_features:
            raise ArgumentError(
                "documents[0]",
                "has {width} columns; the model was started with {n_features}",
                width=self.width,
                n_features=features.n_features,
            )
        names, batch = features.names, self
        if names is not None and self.names is not None and self.names != names:
            if set(names) != set(self.names):
                raise ArgumentError(
                    "documents",
                    "must have the columns {names}",
                    list(self.names),
                    names=list(names),
                )
            order = [self.names.index(name) for name in names]
            rows, times = np.ascontiguousarray(self.rows[:, order]), dict(self.times)
            kinds = [(k, times[old]) for k, old in enumerate(order) if old in times]
            batch = replace(self, rows=rows, names=names, times=tuple(kinds))
        check_times(batch.times, features)
        return batch

    def scales(self, standardize: bool) -> tuple[Vector, Vector]:
        """Means and standard deviations of columns; 1 for a constant column.

        Values far from all others do not count, but no value is more than `MOST_FAR`
        standard deviations away.
        """
        rows = self.rows
        if are_counts_of_words(rows):
            warn(
                ScaleWarning,
                "documents look like counts of words: whole numbers >= 0, most of "
                "them 0. This family takes rows for points with Gaussian noise. For "
                "counts take family='multinomial'.",
            )
        by: NDArray[Any] | None = self.weight
        if not standardize:
            return np.zeros(self.width), np.ones(self.width)
        far = far_values(rows, by)
        if far.any():
            self._warn_of_far(far)
            by = ~far if by is None else by[:, None] * ~far
        shift = np.average(rows, axis=0, weights=by)
        scale = np.sqrt(np.average(np.square(rows - shift), axis=0, weights=by))
        if far.any():
            scale = np.maximum(scale, np.abs(rows - shift).max(axis=0) / MOST_FAR)
        still = constants(rows)
        shift = np.where(still, rows[0], shift)
        if still.any() and len(rows) > 1:
            known = zip(self.features.feature_names, still, strict=True)
            warn(
                ScaleWarning,
                "columns {known} are constant in the first epoch, so that they keep "
                "their unit. Leave them out, or start with documents in which they "
                "vary.",
                known=[name for name, one in known if one],
            )
        return shift, np.where(still, 1.0, scale)

    def _warn_of_far(self, far: NDArray[np.bool_]) -> None:
        """Warn of rows with far values, and name the first by its document."""
        is_far = far.any(axis=1)
        row, column = (int(place) for place in np.argwhere(far)[0])
        document = int(self.document[row])
        warn_of_far(
            self.features.feature_names[column], self.rows[row, column],
            int(is_far.sum()), "row {row} of documents[{document}]",
            row=row - int(np.searchsorted(self.document, document)), document=document,
        )  # fmt: skip

    def cells(self) -> Vector:
        """Widths of the cells that values of columns stand for; see `cell_widths`."""
        return cell_widths(self.rows)

    def spread(self, cells: Vector, *key: int) -> Self:
        """Documents whose values are at random places of their cells, by a key."""
        return replace(self, rows=spread_over_cells(self.rows, cells, *key))

    def without_copies(self) -> Self:
        """Documents in which as many rows that repeat count as one as usually do."""
        usual = usual_copies(self.rows) if self.weight is None else 1
        if usual == 1:
            return self
        return replace(self, weight=np.full(self.n, 1.0 / usual))

    def standardised(self, shift: Vector, scale: Vector) -> Self:
        """Documents on the scale of the first epoch."""
        rows = np.ascontiguousarray((self.rows - shift) / scale)
        return replace(self, rows=rows)

    def check_near(self) -> None:
        """Refuse standardised documents that are far out of scale."""
        far = np.abs(self.rows).max(axis=1) if self.n else np.zeros(0)
        if len(far) and far.max() > MOST_FAR:
            row = int(np.argmax(far))
            raise ValueError(
                Message(
                    "documents[{document}] lies {far:.1e} first-epoch standard "
                    "deviations away; check units or refit.",
                    document=int(self.document[row]),
                    far=far[row],
                )
            )

    def store(self, family: Family, group: Any) -> RowStore:
        """Points, or clumps where they have weights, of so numbered groups."""
        return RowStore.of(family, self.rows, group, self.weight)


def are_counts_of_words(rows: Matrix) -> bool:
    """Whether rows look like documents that count words in many columns.

    Examples
    --------
    >>> counts = np.eye(8)[[0, 3, 5]] + np.eye(8)[[0, 1, 2]]
    >>> are_counts_of_words(counts), are_counts_of_words(counts - 0.5)
    (True, False)
    """
    if rows.shape[1] < FEWEST_WORDS or not _are_counts(rows[:1]):
        return False  # without a look at the others
    return _are_counts(rows) and bool(2 * np.count_nonzero(rows) < rows.size)


def _are_counts(rows: Matrix) -> bool:
    """Whether all values are whole numbers >= 0."""
    return bool(((rows >= 0.0) & (rows == np.floor(rows))).all())


def check_times(times: Times, features: FeatureMap) -> None:
    """Refuse times where there were none before, and the other way round."""
    if times != features.times:
        k = min({*times} ^ {*features.times})[0]
        name = features.feature_names[k]
        was, kind = (dict(one).get(k, NUMBERS) for one in (features.times, times))
        nouns = ZONES if {was, kind} == {*ZONES} else NOUNS
        raise ArgumentError(
            "documents",
            "must hold {nouns} in column {label!r}, as at first",
            nouns[kind],
            nouns=nouns[was],
            label=name,
        )


# ---------------------------------------------------------------- reading
def read_rows(documents: Any, groups: Any, sample_weight: Any) -> RowBatch:
    """Rows of numbers: a list of tables, or one table and the groups of its rows."""
    if isinstance(documents, Encoded):
        documents = documents.rows
    if is_table(documents):
        return read_table(documents, groups, sample_weight)
    if groups is not None:
        raise ArgumentError(
            "groups",
            "is for one table of rows",
            Message("a list of documents, each of which is a group already"),
        )
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise ArgumentError(
            "documents",
            "must be a list of 2-D arrays, or one array and groups=...",
            documents,
        )
    tables: list[Matrix] = []
    names: tuple[str, ...] | None = None
    times: Times = ()
    for number, one in enumerate(documents):
        rows, found, own = document_rows(one, f"documents[{number}]", names)
        names, times = names or found, own if not tables else times
        if own != times:
            raise ValueError(
                Message(
                    "documents[{document}] must hold the same kinds of numbers and "
                    "times in its columns as documents[0]; got {own} and {times}.",
                    document=number,
                    own=own,
                    times=times,
                )
            )
        if tables and rows.shape[1] != tables[0].shape[1]:
            raise ValueError(
                Message(
                    "documents[{document}] has {shape} columns; documents[0] has "
                    "{shape_2}.",
                    document=number,
                    shape=rows.shape[1],
                    shape_2=tables[0].shape[1],
                )
            )
        check_finite(rows, f"documents[{number}]", names)
        tables.append(rows)
    if not tables:
        raise ArgumentError(
            "documents", "must hold at least one document", Message("none")
        )
    lengths = [len(rows) for rows in tables]
    document = np.repeat(np.arange(len(tables)), lengths)
    rows = np.concatenate(tables)
    weight = read_weight(sample_weight, len(rows))
    return RowBatch(
        document=document, n_documents=len(tables), rows=rows, weight=weight,
        names=names, times=times,
    )  # fmt: skip


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
        if isinstance(first, Mapping) or is_frame(first):
            return isinstance(first, Mapping)
        row = first if hasattr(first, "ndim") else np.asarray(first, dtype=object)
        return row.ndim == 1 and (not len(row) or np.ndim(row[0]) == 0)
    return False


def group_numbers(
    groups: Any, n_rows: int
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Number of each row's document, from 0 as labels come, and the labels."""
    column = column_of(groups)
    if column.values.ndim != 1 or len(column) != n_rows:
        shape = column.values.shape
        n = shape[0] if len(shape) == 1 else Message("shape {shape}", shape=shape)
        raise ArgumentError("groups", f"must have one label per row ({n_rows})", n)
    labels: dict[Any, int] = {}
    place = []
    for row, label in enumerate(column.labels()):
        if not is_label(label):
            raise ValueError(
                Message(
                    "groups[{row}] must be a label; got {label!r}.",
                    row=row,
                    label=label,
                )
            )
        if isinstance(label, str):
            check_text(label, "groups", row=row)
        place.append(labels.setdefault(label, len(labels)))
    return np.array(place, dtype=np.int64), tuple(labels)


def read_table(documents: Any, groups: Any, sample_weight: Any) -> RowBatch:
    """One table, whose rows are of the documents that `groups` says."""
    column = None
    if isinstance(groups, str):
        found = named_columns(documents, "documents")
        if found is None:
            raise ValueError(
                Message(
                    "groups={groups!r} names a column, but documents have no names; "
                    "give a frame, or one label per row.",
                    groups=groups,
                )
            )
        if groups not in found:
            raise ValueError(
                Message(
                    "groups={groups!r} is not a column; columns are {found}.",
                    groups=groups,
                    found=list(found),
                )
            )
        column = objects_of(found.pop(groups).labels())
        documents = found
    if isinstance(documents, dict) and column is not None:
        rows, times = columns_of(documents, "documents")
        names: tuple[str, ...] | None = tuple(documents)
    else:
        rows, names, times = document_rows(documents, "documents", None)
    if groups is None:
        raise ValueError(
            Message("one array needs groups=...; pass groups or a list of arrays.")
        )
    if column is None:
        check_paired(documents, groups, "groups", "documents")
        column = groups
    check_paired(documents, sample_weight, "sample_weight", "documents")
    check_finite(rows, "documents", names)
    weight = read_weight(sample_weight, len(rows))
    number, labels = group_numbers(column, len(rows))
    order = np.argsort(number, kind="stable")
    return RowBatch(
        document=number[order], n_documents=len(labels), rows=rows[order],
        weight=None if weight is None else weight[order], names=names,
        times=times, labels=labels, is_array=True, order=order,
    )  # fmt: skip


def columns_of(columns: Mapping[str, Column], what: str) -> tuple[Matrix, Times]:
    """Columns of numbers as rows; times count in days."""
    if not columns:
        raise ArgumentError(
            what, "must have columns beside that of groups", Message("none")
        )
    arrays, times = [], []
    for k, (name, column) in enumerate(columns.items()):
        kind = kind_of(name, column, what)
        if kind == LEVELS:
            raise ArgumentError(
                what,
                "must hold numbers; column {label!r} has dtype {dtype}",
                label=name,
                dtype=column.values.dtype,
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
                raise ArgumentError(
                    what,
                    "must have the columns {names}; " + names_amiss(missing, unknown),
                    names=list(names),
                    missing=missing,
                    unknown=unknown,
                )
            found = {name: found[name] for name in names}
        rows, times = columns_of(found, what)
        return rows, tuple(found), times
    if hasattr(one, "tocsr"):
        raise ArgumentError(
            what,
            "must be a 2-D numeric array",
            Message("a sparse matrix"),
            "For counts of words take family='multinomial'; give other numbers as a "
            "dense array, X.toarray().",
        )
    array = params.as_array(what, one)
    if array.ndim == 2 and (
        array.shape[0] == 0
        or (array.dtype == object and all(isinstance(v, NUMBER) for v in array.flat))
    ):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ArgumentError(
            what,
            "must be a 2-D numeric array",
            Message("dtype {dtype}, ndim {ndim}", dtype=array.dtype, ndim=array.ndim),
        )
    if array.shape[1] == 0:
        raise ArgumentError(what, "must have at least one column", Message("none"))
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
            Message(
                "{what} row {row}, column {name!r} is {value:g}; numbers must be at "
                "most {largest:g}. Rescale the column.",
                what=what,
                row=row,
                name=name,
                value=value,
                largest=LARGEST,
            )
        )
    raise ValueError(
        Message(
            "{what} row {row}, column {name!r} is {value}; {name_2} has no "
            "missing-value model; drop or impute the row.",
            what=what,
            row=row,
            name=name,
            value=value,
            name_2=NAME,
        )
    )


def read_weight(sample_weight: Any, n: int) -> Vector | None:
    """Weights > 0, one a row."""
    if sample_weight is None:
        return None
    weight = as_numbers("sample_weight", sample_weight)
    if weight.shape != (n,):
        raise ArgumentError(
            "sample_weight",
            f"must have one number per row ({n})",
            Message("shape {shape}", shape=weight.shape),
        )
    bad = ~((weight > 0.0) & np.isfinite(weight))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            Message(
                "sample_weight[{row}] must be > 0; got {weight}.",
                row=row,
                weight=weight[row],
            )
        )
    if n and weight.max() > LARGEST:
        row = int(np.argmax(weight))
        raise ValueError(
            Message(
                "sample_weight[{row}] must be at most {largest:g}; got {weight:g}.",
                row=row,
                largest=LARGEST,
                weight=weight[row],
            )
        )
    return weight
