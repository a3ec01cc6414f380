"""R's print of a list of numbers, matrices and words (7 digits, 80 columns)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyntree.errors import shown

_DIGITS = 7
_WIDTH = 80
_MAX_PRINT = 99999
_HOLD_NA = ("S", "T")


def format_object(
    fields: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]
) -> str:
    """Return what R prints for an object of class dynaTree with these fields.

    Parameters
    ----------
    fields : mapping
        Field names and values: scalars, strings, arrays, dicts by class label, None.
    names : mapping of str to tuple of str
        Column names, or names of the elements of a vector, of the fields that have
        names.

    Returns
    -------
    str
    """
    parts = []
    for key, value in fields.items():
        missing = "NA" if key in _HOLD_NA else "NaN"
        own = names.get(key)
        own = None if own is None else tuple(map(shown, own))
        lines = _element(f"${key}", value, own, missing)
        parts += [f"${key}", *lines, ""]
    return "\n".join([*parts, 'attr(,"class")', '[1] "dynaTree"'])


def _element(
    path: str, value: Any, names: tuple[str, ...] | None, missing: str
) -> list[str]:
    if isinstance(value, Mapping):
        lines: list[str] = []
        for label in range(1, max(value, default=0) + 1):
            item = f"{path}[[{label}]]"
            inner = _element(item, value.get(label), names, missing)
            lines += [item, *inner, ""]
        return lines
    if value is None:
        return ["NULL"]
    array = np.atleast_1d(np.asarray(value))
    if array.ndim == 2:
        return _matrix(array, names, missing)
    cells = _cells(array, missing)
    if names is not None and len(names) == array.size:
        return _named_vector(cells, names)
    return _vector(cells) if array.size else [f"{_type_name(array)}(0)"]


def _vector(cells: Sequence[str]) -> list[str]:
    cut = cells[:_MAX_PRINT]
    label = len(str(len(cut))) + 2
    width = max(map(len, cut))
    per_line = max(1, (_WIDTH - label) // (width + 1))
    lines = []
    for start in range(0, len(cut), per_line):
        row = cut[start : start + per_line]
        head = f"[{start + 1}]".rjust(label)
        lines.append(" ".join([head, *(_justified(cell, width) for cell in row)]))
    if len(cut) < len(cells):
        lines.append(_omitted(len(cells) - len(cut), "entries"))
    return lines


def _justified(cell: str, width: int) -> str:
    return cell.ljust(width) if cell.startswith('"') else cell.rjust(width)


def _named_vector(cells: Sequence[str], names: Sequence[str]) -> list[str]:
    width = max(map(len, [*cells, *names]))
    per_line = max(1, _WIDTH // (width + 1))
    lines = []
    for start in range(0, len(cells), per_line):
        for row in (names, cells):
            part = row[start : start + per_line]
            lines.append("".join(f"{word:>{width}} " for word in part))
    return lines


def _matrix(
    array: np.ndarray, names: tuple[str, ...] | None, missing: str
) -> list[str]:
    n_rows = array.shape[0]
    printed = array[: max(1, _MAX_PRINT // max(1, array.shape[1]))]
    heads = [f"[{i + 1},]" for i in range(len(printed))]
    label = len(str(len(printed) + 1)) + 3
    columns = []
    for j in range(array.shape[1]):
        title = f"[,{j + 1}]" if names is None else names[j]
        cells = _cells(printed[:, j], missing) if len(printed) else []
        width = max(map(len, [title, *cells]))
        columns.append([f"{word:>{width}}" for word in (title, *cells)])
    lines = []
    for block in _columns_in_blocks(
        [len(column[0]) for column in columns], _WIDTH - label
    ):
        for i, head in enumerate(["", *heads]):
            words = [head.rjust(label), *(columns[j][i] for j in block)]
            lines.append(" ".join(words))
    if len(printed) < n_rows:
        lines.append(_omitted(n_rows - len(printed), "rows"))
    return lines


def _columns_in_blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns of a printed table, in as many blocks as lines of this width need."""
    blocks: list[list[int]] = [[]]
    used = 0
    for j, width in enumerate(widths):
        if blocks[-1] and used + width + 1 > room:
            blocks.append([])
            used = 0
        blocks[-1].append(j)
        used += width + 1
    return blocks


def _omitted(count: int, what: str) -> str:
    return f' [ reached getOption("max.print") -- omitted {count} {what} ]'


def _cells(array: np.ndarray, missing: str) -> list[str]:
    kind = array.dtype.kind
    if kind == "b":
        return ["TRUE" if value else "FALSE" for value in array]
    if kind in "iu":
        return [str(value) for value in array]
    if kind == "f":
        return _format_reals(array, missing)
    return [f'"{value}"' for value in array]


def _type_name(array: np.ndarray) -> str:
    return {"b": "logical", "i": "integer", "f": "numeric"}.get(
        array.dtype.kind, "character"
    )


def _format_reals(values: np.ndarray, missing: str) -> list[str]:
    finite = values[np.isfinite(values)]
    parts = [_significant(float(value)) for value in finite]
    if parts:
        decimals = max(0, *(digits - 1 - power for digits, power in parts))
        whole = max(max(power, 0) + 1 for _, power in parts)
        digits = max(digits for digits, _ in parts)
        exponent = 3 if any(abs(power) >= 100 for _, power in parts) else 2
        fixed_width = whole + (decimals + 1 if decimals else 0)
        short_width = digits + (1 if digits > 1 else 0) + exponent + 2
        pattern = f".{decimals}f" if fixed_width <= short_width else f".{digits - 1}e"
    else:
        pattern = ".0f"
    return [_format_real(float(value), pattern, missing) for value in values]


def _format_real(value: float, pattern: str, missing: str) -> str:
    if np.isnan(value):
        return missing
    if np.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return format(value, pattern)


def _significant(value: float) -> tuple[int, int]:
    """Return how many digits `value` needs (at most 7), and its power of ten."""
    mantissa, power = f"{abs(value):.{_DIGITS - 1}e}".split("e")
    return max(1, len(mantissa.replace(".", "").rstrip("0"))), int(power)
