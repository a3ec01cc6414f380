"""Tables: which columns a formula means, and files of rows as frames."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyntree.files import replacing

if TYPE_CHECKING:
    import pandas as pd


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
    """A CSV or, by its suffix, Parquet file as a frame; "-" is standard input."""
    import pandas as pd

    if Path(path).suffix in (".parquet", ".pq"):
        try:
            return pd.read_parquet(path)
        except ImportError as error:
            raise ImportError(
                f"reading {path} needs pyarrow: pip install pyarrow."
            ) from error
    return pd.read_csv(sys.stdin if path == "-" else path)


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
