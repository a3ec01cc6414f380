"""Keys of rows in a shell, what a model for keys says of them, and the command keys.

A cell of CSV has no type. It is an integer, a truth value or a date if it is written as
one and the model has keys of that kind, and else text; so the first key of a stream
decides. All other formats say themselves what a key is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from dyntree.checkpoint import load_parts
from dyntree.commands.readers import Row
from dyntree.commands.rows import Cells
from dyntree.commands.tables import TableFile
from dyntree.encoding.series import objects_of
from dyntree.encoding.values import Vector
from dyntree.errors import shown
from dyntree.evaluate.delayed import DelayedLabels
from dyntree.keyed.keys import Key, key_text
from dyntree.keyed.model import KeyedStream
from dyntree.storage.atomic_files import is_database
from dyntree.storage.plain import in_cell, plain, strict


def key_in_row(row: Row, column: str, cells: Cells | None, model: KeyedStream) -> Key:
    """The key of a row, which it must have.

    Parameters
    ----------
    row : dict
    column : str
    cells : Cells or None
        How those of CSV are read; None where rows have types.
    model : KeyedStream
    """
    value = row.get(column)
    if value is not None and value != value:
        value = None
    if value is None or (cells is not None and cells.is_missing(value)):
        raise ValueError(f"a row must have a key in column {column!r}; got none.")
    return model.key_named(value) if cells is not None else _with_type(value)


def keys_in_table(
    read: TableFile, column: str, decimal: str | None, model: KeyedStream
) -> list[Key]:
    """The keys of a table that was read, None where one is missing.

    `decimal` is that of CSV, whose cells were read as levels; None for other tables.
    """
    values = objects_of([*read.columns([column])[column]])
    if decimal is None:
        return [*map(_with_type, values)]
    return [
        None
        if value is None or value != value
        else model.key_named(
            value if isinstance(value, str) else str(value).replace(".", decimal)
        )
        for value in values
    ]


def _with_type(value: Any) -> Any:
    """A key that has a type: whole numbers become floats where some are missing."""
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def position_in_row(row: Row, column: str, cells: Cells | None) -> int:
    """The position of a row in its source, a whole number that it must have."""
    value = row.get(column)
    if cells is not None:
        value = cells.value(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise ValueError(
            f"a row must have a whole number in column {column!r}, its position; got "
            f"{value!r}."
        )
    return value


def prediction_at(
    model: KeyedStream,
    X: Any,
    keys: Sequence[Key],
    exposure: Vector | None,
    shift: Vector | None,
) -> Any:
    """What a model predicts of rows with these keys, exposures and offsets."""
    exposure, shift = exposures(model, exposure, shift)
    answer = model.predict(X, key=keys, exposure=exposure)
    return answer if shift is None else answer.shifted(shift)  # type: ignore[union-attr]


def exposures(
    model: KeyedStream, exposure: Vector | None, shift: Vector | None
) -> tuple[Vector | None, Vector | None]:
    """Exposures and offsets of rows: for counts an offset is a log exposure."""
    if shift is None or not model.state.options.is_count:
        return exposure, shift
    return np.exp(shift), None


def saved_keys(path: str) -> tuple[KeyedStream, dict[str, Any]]:
    """The model for keys in a store, or in a file of `save`, and its notes."""
    if is_database(path):
        model = KeyedStream.from_store(path, read_only=True)
        return model, model.notes
    found, notes, _ = load_parts(path)
    if isinstance(found, DelayedLabels):
        found = found.model
    if not isinstance(found, KeyedStream):
        raise ValueError(
            f"{path} must hold a model for keys; it holds a {type(found).__name__}. "
            "See dyntree info."
        )
    return found, notes


def keys(arguments: argparse.Namespace) -> None:
    """List the keys of a model, or describe one."""
    model, _ = saved_keys(arguments.saved)
    with model:
        if arguments.key is None:
            if arguments.json:
                print(json.dumps([strict(plain(k)) for k in _names(model).values()]))
                return
            for name in _names(model):
                print(name)
            return
        facts = {"key": arguments.key} | model.facts(_named(model, arguments.key))
    if arguments.json:
        print(json.dumps(strict(facts)))
        return
    for name, value in facts.items():
        if value is not None:
            print(f"{name:<17} {shown(str(value))}")


def _names(model: KeyedStream) -> dict[str, Key]:
    """Keys by what a list shows of them: cells, or JSON where two would be alike."""
    listed = model.keys()
    by_cell = {shown(str(in_cell(key))): key for key in listed}
    if len(by_cell) == len(listed):
        return by_cell
    return {key_text(key): key for key in listed}


def _named(model: KeyedStream, text: str) -> Key:
    """The key that a text means: as the list names it, as a cell would, or as JSON."""
    names = _names(model)
    if text in names:
        return names[text]
    by_json = {key_text(key): key for key in names.values()}
    for key in (model.key_named(text), by_json.get(text)):
        if key is not None and key in model:
            return key
    raise ValueError(
        f"KEY must be one of the {len(model)} keys that dyntree keys lists; got "
        f"{text!r}."
    )
