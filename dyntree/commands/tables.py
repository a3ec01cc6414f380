"""Tables: which columns a formula means, and files of rows as frames."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyntree.commands.rows import read_ndjson
from dyntree.storage.atomic_files import replacing

if TYPE_CHECKING:
    import pandas as pd

NDJSON = (".ndjson", ".jsonl")  # suffixes


def split_formula(formula: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """Response and inputs that a formula names.

    Parameters
    ----------
    formula : str
        ``"y ~ ."`` or ``"y ~ a + b"``, by plain column names.
    columns : sequence of str
        Columns that there are.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> split_formula("y ~ .", ["a", "y", "b"])
    ('y', ['a', 'b'])
    """
    response, tilde, right = (part.strip() for part in formula.partition("~"))
    inputs = [name.strip() for name in right.split("+")]
    if not response or not tilde or not all(inputs):
        raise ValueError(
            f"formula must be like 'y ~ .' or 'y ~ a + b'; got {formula!r}."
        )
    if inputs == ["."]:
        inputs = [name for name in columns if name != response]
    absent = [name for name in inputs if name not in columns]
    if absent or not inputs:
        raise ValueError(
            f"formula must name columns of the table, {list(columns)}; got "
            f"{formula!r}. It takes plain names only."
        )
    if response in inputs or len(set(inputs)) != len(inputs):
        raise ValueError(f"formula must name each column once; got {formula!r}.")
    return response, inputs


def read_table(path: str) -> pd.DataFrame:
    """A CSV or, by its suffix, NDJSON or Parquet file; "-" is CSV on standard input.

    Raises
    ------
    ValueError
        If it is none, or its header names a column twice.
    """
    import pandas as pd

    try:
        if Path(path).suffix in (".parquet", ".pq"):
            return pd.read_parquet(path)
        if Path(path).suffix in NDJSON:
            with open(path, encoding="utf-8-sig") as file:
                return pd.DataFrame(list(read_ndjson(file)))
        return _read_csv(io.StringIO(sys.stdin.read()) if path == "-" else path)
    except ImportError as error:
        raise ImportError(
            f"reading {path} needs pyarrow: pip install pyarrow."
        ) from error
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _read_csv(source: str | io.StringIO) -> pd.DataFrame:
    """A CSV file as a frame, whose columns have the names in the header."""
    import pandas as pd

    header = pd.read_csv(source, header=None, nrows=1, dtype=str).iloc[0].dropna()
    if not header.is_unique:
        raise ValueError(f"the header must name each column once; got {[*header]}.")
    if isinstance(source, io.StringIO):
        source.seek(0)
    return pd.read_csv(source)


def warn_of_text(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Warn of columns that look like text by accident: each value makes a level.

    They hold some number for every other value, or hardly any value twice.
    """
    import pandas as pd

    for name in names:
        column = frame[name].dropna()
        if pd.api.types.is_numeric_dtype(column) or not len(column):
            continue
        odd = column[pd.to_numeric(column.astype(str), errors="coerce").isna()]
        n_levels = column.nunique()
        if 2 * len(odd) <= len(column) or n_levels > max(20, len(column) / 2):
            warnings.warn(
                f"column {name!r} holds text, such as {str([*odd, *column][0])!r}, "
                f"and so each of its {n_levels} values is a level. Mend it, or leave "
                "it out of the formula.",
                stacklevel=2,
            )


def some_columns(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Columns by name."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise ValueError(
            f"the table must have the columns {absent}; it has {list(frame.columns)}."
        )
    return frame[list(names)]


def write_table(frame: pd.DataFrame, path: str | None) -> None:
    """Write a CSV file, whole or not at all, or to standard output."""
    if path is None or path == "-":
        frame.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
        return
    with replacing(path) as file:
        file.write(frame.to_csv(index=False).encode("utf-8"))


def answer_columns(answer: Any, levels: Sequence[float]) -> dict[str, Any]:
    """Mean, sd and quantiles of a prediction, or label and probabilities, by name."""
    if hasattr(answer, "proba"):
        columns = {"label": answer.label}
        for k, label in enumerate(answer.classes):
            columns[f"p_{label}"] = answer.proba[:, k]
        return columns
    quantiles = answer.quantile(list(levels))
    columns = {"mean": answer.mean, "sd": answer.var**0.5}
    return columns | {f"q{p:g}": quantiles[:, k] for k, p in enumerate(levels)}
