"""Tables: which columns a formula means, and files of rows as frames."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree.commands.lines import Limits
from dyntree.commands.readers import (
    OTHERS,
    TABULAR,
    Tabular,
    format_of,
    format_to_write,
    good_rows,
    opened,
    text_rows,
)
from dyntree.commands.rows import (
    TIME,
    Cells,
    Kinds,
    column_kind,
    ndjson_line,
    time_of,
)
from dyntree.encoding.columns import LEVELS, kind_of
from dyntree.encoding.expressions import sides
from dyntree.encoding.levels import MOST_NEW, Levels, place_of
from dyntree.encoding.series import column_of
from dyntree.errors import Message
from dyntree.storage.atomic_files import writing
from dyntree.storage.plain import distinct_names, in_cell

if TYPE_CHECKING:
    import pandas as pd

LOOKED_AT = 100  # values of a column, before it is said that none is a named level


def split_formula(
    formula: str, columns: Sequence[str], beside: Iterable[str] = ()
) -> tuple[str, list[str]]:
    """Response and inputs that a formula names.

    Parameters
    ----------
    formula : str
        ``"y ~ ."`` or ``"y ~ a + b"``, by plain column names.
    columns : sequence of str
        Columns that there are.
    beside : iterable of str, optional
        Those that ``.`` does not stand for.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> split_formula("y ~ .", ["a", "y", "b"])
    ('y', ['a', 'b'])
    """
    response, tilde, right = sides(formula)
    inputs = [name.strip() for name in right.split("+")]
    if not response or not tilde or not all(inputs):
        raise ValueError(
            f"formula must be like 'y ~ .' or 'y ~ a + b'; got {formula!r}."
        )
    if inputs == ["."]:
        others = frozenset([response, *beside])
        inputs = [name for name in columns if name not in others]
    known = frozenset(columns)
    absent = [name for name in inputs if name not in known]
    if absent or not inputs:
        got = absent or "none but the response"
        raise ValueError(
            f"formula must name columns of the table, {list(columns)}; got {got} in "
            f"{formula!r}." + separator_of(columns)
        )
    if response in inputs or len(set(inputs)) != len(inputs):
        raise ValueError(f"formula must name each column once; got {formula!r}.")
    return response, inputs


class TableFile:
    """A table as a frame, with the faults of columns, raised where one is used.

    Parameters
    ----------
    frame : DataFrame
    failures : dict of str to str
        Error messages, by name, of columns with text among numbers.
    """

    def __init__(self, frame: pd.DataFrame, failures: dict[str, str]) -> None:
        self.frame, self.failures = frame, failures

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns by name, once each is there and sound."""
        self.check(names)
        return self.frame[list(names)]

    def check(self, names: Sequence[str]) -> None:
        """Raise ValueError for columns that are absent or not sound."""
        found = list(self.frame.columns)
        known = frozenset(found)
        if absent := [name for name in names if name not in known]:
            reason = f"the table must have the columns {absent}; it has {found}."
            raise ValueError(reason + separator_of(found))
        for name in names:
            if name in self.failures:
                raise ValueError(self.failures[name])


def read_table(
    path: str,
    separator: str = ",",
    kinds: Mapping[str, str] | None = None,
    response: str = "",
    cells: Cells | None = None,
    limits: Limits | None = None,
) -> TableFile:
    """A CSV or, by its suffix, NDJSON, Parquet or Arrow file; "-" is CSV on stdin.

    Parameters
    ----------
    path : str
    separator : str, default ","
        Of a CSV file.
    kinds : dict of str to str, optional
        What is known of columns; see `commands.rows`.
    response : str, optional
        The column that errors call the response.
    cells : Cells, optional
        How those of a CSV file are read.
    limits : Limits, optional
        How much text a row may be.

    Raises
    ------
    ValueError
        If it is none, has no row, or its header names a column twice.
    """
    import pandas as pd

    kind = format_of(path)
    try:
        if kind == "parquet":
            return TableFile(pd.read_parquet(path), {})
        if kind == "arrow":
            with opened(path) as packed:
                return TableFile(
                    pd.DataFrame(list(good_rows(Tabular(packed, kind)))), {}
                )
        with opened(path) as file:
            rows = list(text_rows(file, kind, separator, limits))
    except OSError as error:
        if error.filename is not None:
            raise
        name = "standard input" if path == "-" else path
        reason = f"cannot be read: {error.strerror}"
        raise OSError(error.errno, reason, name) from error
    except ImportError as error:
        if kind not in TABULAR:
            raise
        raise ImportError(
            f"reading {path} needs pyarrow: pip install pyarrow."
        ) from error
    except ValueError as error:
        raise ValueError(
            Message("{path} cannot be read: {error}", path=path, error=error)
        ) from error
    if not rows:
        raise ValueError(f"{path} cannot be read: it has no row.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    parsed = (cells or Cells()) if kind == "csv" else None
    columns: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name in names:
        known = {name: kinds[name]} if kinds and name in kinds else {}
        as_kind = parsed and column_kind([row.get(name) for row in rows], parsed)
        if as_kind:
            known.setdefault(name, as_kind)
        reader, number = Kinds(known, response, parsed, kinds or ()), 0
        try:
            for number, row in enumerate(rows):  # noqa: B007 # which one is named below
                row[name] = reader.values(row, [name])[name]
        except ValueError as error:
            failures[name] = Message(
                "row {number}: {error}", number=number, error=error
            )
        values = pd.Series([row[name] for row in rows], dtype=object)
        kind = reader.known.get(name, "")
        if kind == "number" and name not in failures:
            values = pd.to_numeric(values)
        elif kind.startswith(TIME) and name not in failures:
            values = values.infer_objects()
        columns[name] = values
    return TableFile(pd.DataFrame(columns), failures)


def separator_of(names: Sequence[str]) -> str:
    """What to add to a complaint of a table with one column that should be several.

    Examples
    --------
    >>> separator_of(["a;b"])
    ' If cells are separated by ";": --separator ";".'
    >>> separator_of(["a;b", "c"]), separator_of(["a"])
    ('', '')
    """
    other = next((mark for mark in OTHERS if mark in names[0]), "")
    if len(names) > 1 or not other:
        return ""
    word = "tab" if other == "\t" else f'"{other}"'
    return f" If cells are separated by {word}: --separator {word}."


def warn_of_text(
    frame: pd.DataFrame, names: Sequence[str], cells: Cells | None
) -> None:
    """Warn of columns that look like text by accident: each value makes a level.

    They hold some number for every other value, unless a source with types says that
    all are text, or hardly any value twice. Of numbers or dates as text the model that
    learns them warns.

    Parameters
    ----------
    frame : DataFrame
    names : sequence of str
    cells : Cells, optional
        How those of CSV were read; None where the table has types of its own.
    """
    import pandas as pd

    for name in names:
        column = frame[name].dropna()
        if kind_of(name, column_of(column)) != LEVELS or column.dtype == "category":
            continue
        if Levels(tuple(column.drop_duplicates())).meaning is not None:
            continue
        odd = column[pd.to_numeric(column.astype(str), errors="coerce").isna()]
        is_mixed = 2 * len(odd) <= len(column) and not all(
            type(value) is str for value in column
        )
        n_levels = column.nunique()
        many = n_levels > max(20, len(column) / 2)
        is_warned = 2 * n_levels - len(column) > MOST_NEW  # by the model that learns it
        if is_mixed or (many and not is_warned):
            text = str([*odd, *column][0])
            remedy, missing = "Correct it", ""
            if time_of(text) is not None:
                remedy = f"Say --times {name} if it holds times"
            elif is_mixed and len(odd) and cells is not None:
                missing = cells.way_to_miss(text)
            warnings.warn(
                f"column {name!r} holds text, such as {text!r}, so "
                f"each of its {n_levels} values is a level. {remedy}, or leave it "
                f"out of the formula.{missing}",
                stacklevel=2,
            )


class NamedLevels:
    """Columns whose levels somebody named, as long as they have had none of them.

    It warns of a column once: when so many values have come, or at the end.

    Parameters
    ----------
    named : dict
        Levels of each such column.
    most : float, default 100
        Values of a column to wait for.
    """

    def __init__(
        self, named: Mapping[str, Sequence[str]], most: float = LOOKED_AT
    ) -> None:
        self._most = most
        self._places = {
            name: {level: k for k, level in enumerate(levels)}
            for name, levels in named.items()
        }
        self._others: dict[str, list[Any]] = {name: [] for name in named}

    def look(self, name: str, values: Iterable[Any]) -> None:
        """Look at values of a column that are not missing."""
        for value in values:
            if name not in self._places:
                return
            if place_of(value, self._places[name]) is not None:
                del self._places[name], self._others[name]
                return
            self._others[name].append(value)
            if len(self._others[name]) >= self._most:
                self._warn(name)

    def tell(self) -> None:
        """Warn of columns that had values, and none of the levels."""
        for name in [name for name, others in self._others.items() if others]:
            self._warn(name)

    def _warn(self, name: str) -> None:
        levels, others = self._places.pop(name), self._others.pop(name)
        warnings.warn(
            f"column {name!r} has none of the named levels, {', '.join(levels)}, in "
            f"its first {len(others)} values, but values such as {others[0]!r}, which "
            "count as missing. When the model is made, name the levels as the table "
            f"writes them: --levels {name}=A,B,...",
            stacklevel=2,
        )


def warn_of_levels(frame: pd.DataFrame, named: Mapping[str, Sequence[str]]) -> None:
    """Warn of columns that have none of the levels that somebody named."""
    levels = NamedLevels(named, np.inf)
    for name in named:
        if name in frame:
            levels.look(name, column_of(frame[name].dropna()).objects())
    levels.tell()


def write_table(frame: pd.DataFrame, path: str | None) -> None:
    """Write CSV, or by its name NDJSON, whole or not at all, or to standard output."""
    if format_to_write(path, "--out") == "ndjson":
        assert path is not None
        with writing(path) as file:
            for row in frame.to_dict("records"):
                file.write(ndjson_line({str(name): row[name] for name in row}))
        return
    for name in frame.columns:
        if frame[name].dtype.kind == "O":
            frame[name] = frame[name].map(in_cell)
    if path is None or path == "-":
        frame.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
        return
    with writing(path) as file:
        file.write(frame.to_csv(index=False).encode("utf-8"))


def answer_columns(answer: Any, levels: Sequence[float]) -> dict[str, Any]:
    """Mean, sd and quantiles of a prediction, or label and probabilities, by name."""
    if hasattr(answer, "proba"):
        columns = {"label": answer.label}
        names = [f"{in_cell(label)}" for label in answer.classes]
        for k, name in enumerate(distinct_names(answer.classes, names)):
            columns[f"p_{name}"] = answer.proba[:, k]
        return columns
    quantiles = answer.quantile(list(levels))
    columns = {"mean": answer.mean, "sd": answer.var**0.5}
    return columns | {f"q{p:g}": quantiles[:, k] for k, p in enumerate(levels)}
