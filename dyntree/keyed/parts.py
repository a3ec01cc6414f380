"""Rows of keys that learn apart beside a snapshot: what an engine sends and gets back.

An engine, such as Dask or Spark, has to call `learned` for each part of the keys, or
`learned_key` for each key, with states as they were left; both are pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.keyed.keys import Key, key_in, key_text, keys_of
from dyntree.keyed.model import Ints, KeyedStream
from dyntree.keyed.rows import KeyedRows, Part, response_apart
from dyntree.trees.learning.growth import Growth


@dataclass(frozen=True, eq=False)
class SlotRows:
    """Checked rows of some keys, in order, and the states of these keys before them.

    Attributes
    ----------
    places : ndarray of int64 of shape (n_rows,)
        Where the rows are among all rows of a call.
    texts : list of str
        Keys.
    X : ndarray of shape (n_rows, n_features)
    y : list
        Responses, counts with exposures, or labels.
    exposure : ndarray of shape (n_rows,)
    positions : list of int, or None
    blobs : dict of bytes
        States of those keys that have had rows, by their texts.
    """

    places: Ints
    texts: list[str]
    X: Matrix
    y: list[Any]
    exposure: Vector
    positions: list[int] | None
    blobs: dict[str, bytes]


@dataclass(frozen=True, eq=False)
class SlotResult:
    """What comes of rows: predictions before each was learned, and states of keys.

    Attributes
    ----------
    prediction : Prediction or ClassPrediction
    blobs : dict of bytes
    n_rows, n_skipped : int
        Rows that were learned, and those that were late.
    """

    prediction: Any
    blobs: dict[str, bytes]
    n_rows: int
    n_skipped: int


def beside(snapshot: KeyedStream, blobs: Mapping[str, bytes]) -> KeyedStream:
    """A model beside a snapshot with these keys, by their texts, alone.

    Raises
    ------
    CheckpointError
        If a checksum differs.
    ValueError
        If a state names no snapshot of the same model that is as early.
    """
    model = snapshot.snapshot()
    for text, blob in blobs.items():
        of = model._keys.codec.snapshot_of(blob)
        if of not in model._snapshots:
            raise ArgumentError(
                "snapshot",
                "must be that of the states of keys, or a later one of the same model",
                Message(
                    "{mine}, and {key!r} beside {of}",
                    mine=model.snapshot_id, key=key_in(text), of=of,
                ),
                "Let the model that gave that snapshot learn more rows and give one.",
            )  # fmt: skip
    model._keys.take(blobs)
    return model


def slots_of(
    fleet: KeyedStream, X: Any, y: Any, key: Any, position: Any, exposure: Any,
    n_slots: int,
) -> list[SlotRows]:  # fmt: skip
    """Rows of one call, as `update` takes them, by the slots of their keys.

    A key belongs to the slot crc32(text of the key) % n_slots. Rows of a key stay in
    order. Errors are those of `update`.
    """
    if isinstance(y, str):
        X, y = response_apart(X, y)
    check_paired(X, y)
    fleet._check_writable()
    part = fleet._part(X, y, key, position, exposure)
    slot = np.array([crc32(text.encode()) % n_slots for text in part.texts])
    found = []
    for k in np.unique(slot).tolist():
        places = np.flatnonzero(slot == k)
        rows, at = part.rows, part.rows.positions
        texts = [part.texts[row] for row in places.tolist()]
        known = [text for text in dict.fromkeys(texts) if text in fleet._keys]
        found.append(
            SlotRows(
                places,
                texts,
                part.X[places],
                [part.y[row] for row in places.tolist()],
                rows.exposure[places],
                None if at is None else [at[row] for row in places.tolist()],
                dict(fleet._keys.blobs(known)),
            )
        )
    return found


def learned(snapshot: KeyedStream, rows: SlotRows) -> SlotResult:
    """Learn rows of some keys; neither the snapshot nor the rows change."""
    model = beside(snapshot, rows.blobs)
    features = model._features
    keyed = KeyedRows([], None, rows.exposure, rows.positions)
    learns = model._in_time(rows.texts, rows.positions)
    growth = Growth(features, [], features.widen)
    part = Part(keyed, rows.texts, rows.X, growth, rows.y, learns)
    found = _gone_through(model, part)
    blobs = dict(model._keys.blobs())
    return SlotResult(found, blobs, model._n_beside, model.n_skipped)


@dataclass(frozen=True, eq=False)
class KeyResult:
    """What comes of rows of one key, as `learned_key` returns it.

    Attributes
    ----------
    prediction : Prediction or ClassPrediction
        At each row before it was learned.
    log_density : ndarray of shape (n_rows,)
        Of the responses.
    late : ndarray of bool of shape (n_rows,)
        Which rows were left out because of their positions.
    positions : list of int
    blob : bytes
        The state of the key after the rows.
    """

    prediction: Any
    log_density: Vector
    late: NDArray[np.bool_]
    positions: list[int]
    blob: bytes


def learned_key(
    snapshot: KeyedStream, key: Key, blob: bytes | None, X: Any, y: Any, position: Any,
    exposure: Any = None,
) -> KeyResult:  # fmt: skip
    """Learn rows of one key as users have them; the snapshot stays as it is.

    Parameters
    ----------
    snapshot : KeyedStream
    key : str, int, bool, date or tuple
    blob : bytes or None
        The state of the key before; None if it has had no row.
    X, y, position, exposure
        As in `KeyedStream.update`.
    """
    text = key_text(keys_of([key], 1)[0])
    model = beside(snapshot, {} if blob is None else {text: blob})
    part = model._part(X, y, [key] * len(X), position, exposure)
    found = _gone_through(model, part)
    at = part.rows.positions
    assert at is not None
    (after,) = model._keys.blobs([text])
    log_density = model._law.log_density(found, part.y)
    return KeyResult(found, log_density, ~part.learns, at, after[1])


def _gone_through(model: KeyedStream, part: Part) -> Any:
    """Let a model learn rows; predictions of each before it was learned."""
    answers: list[Any] = []
    model._go_through(part, answers, lambda n_rows: None)
    return model._law.together(answers)


def put_together(
    fleet: KeyedStream, slots: Sequence[SlotRows], results: Sequence[SlotResult]
) -> Any:
    """Let a model have the states of keys that slots gave; predictions of all rows."""
    law = fleet._law
    together = law.together([result.prediction for result in results])
    order = np.argsort(np.concatenate([slot.places for slot in slots]))
    fleet._add_blobs(
        {text: blob for result in results for text, blob in result.blobs.items()},
        sum(result.n_rows for result in results),
        sum(result.n_skipped for result in results),
    )
    fleet._warn_of_many()
    return law.reordered(together, order)
