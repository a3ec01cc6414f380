"""The state of a model for keys <-> header and arrays of a file, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyntree import params
from dyntree.checkpoint.layout import Layout, check_arrays, ints, reals, require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.targets import Exposed
from dyntree.encoding.values import LARGEST
from dyntree.keyed.blobs import Codec
from dyntree.keyed.keys import key_in, key_seed, key_text
from dyntree.keyed.laws import N_GRID, Fleet, Law
from dyntree.keyed.shared import Shared
from dyntree.keyed.state import Waiting
from dyntree.keyed.weights import N_AGES, age_of
from dyntree.params import TreeOptions
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.learning.exposures import LARGEST_RATIO, read_back

STREAMS = "level", "history"
WAITING = "X", "at", "past", "misses", "ages", "log_densities"
BLOBS = {
    "blobs": Layout("u8", (None,), low=0, high=np.iinfo(np.uint64).max),
    "blob_ends": ints("keys", low=0),
}


def blob_arrays(blobs: Mapping[str, bytes]) -> tuple[list[str], Arrays]:
    """Texts of keys, and their blobs end to end in an array."""
    data = b"".join(blobs.values())
    ends = np.cumsum([len(blob) for blob in blobs.values()], dtype=np.int64)
    whole = data + bytes(-len(data) % 8)
    return [*blobs], {
        "blobs": np.frombuffer(whole, np.uint64).copy(),
        "blob_ends": ends,
    }


def blobs_in(texts: Any, arrays: Arrays) -> dict[str, bytes]:
    """The blobs that `blob_arrays` wrote, by the texts of their keys."""
    check_arrays(arrays, BLOBS)
    ends = arrays["blob_ends"]
    require(isinstance(texts, list) and len(texts) == len(ends), "keys are missing")
    data = np.ascontiguousarray(arrays["blobs"]).tobytes()
    starts = np.concatenate([[0], ends])[:-1]
    sound = np.all(starts < ends) and len(data) == -(-int(ends.max(initial=0)) // 8) * 8
    require(sound, "states of keys are cut off")
    require(texts == sorted({*texts}), "keys are not in order")
    for text in texts:
        require(key_text(key_in(text)) == text, "a key has another text")
    parts = zip(texts, starts.tolist(), ends.tolist(), strict=True)
    return {text: data[start:end] for text, start, end in parts}


def stream_arrays(shared: Shared) -> tuple[Header, Arrays]:
    """Header and arrays of the shared streams; both are empty before they begin."""
    header: Header = {}
    arrays: Arrays = {}
    if shared.level is not None:
        for name in STREAMS:
            header[name], own = getattr(shared, name).to_arrays()
            arrays |= {f"{name}_{other}": array for other, array in own.items()}
    return header, arrays


def rest_arrays(shared: Shared, waiting: Waiting | None) -> tuple[Header, Arrays]:
    """Header and arrays of what keys share beside streams, and of the block's rows."""
    y = [] if waiting is None else waiting.y
    header: Header = {
        "n_rows": shared.n_rows,
        "waiting_y": [tuple(one) if isinstance(one, Exposed) else one for one in y],
    }
    arrays: Arrays = {
        "totals": shared.fleet.totals.copy(),
        "grid": shared.fleet.grid.copy(),
        "by_age": shared.by_age.copy(),
    }
    if waiting is not None:
        arrays |= {f"waiting_{name}": getattr(waiting, name).copy() for name in WAITING}
    return header, arrays


def shared_in(
    header: Header, arrays: Arrays, law: Law, n_members: int,
    features: FeatureMap | None, options: TreeOptions,
) -> tuple[Shared, list[Waiting]]:  # fmt: skip
    """What `rest_arrays` and `stream_arrays` described, checked against the others."""
    streams: dict[str, AveragedStream | None] = dict.fromkeys(STREAMS)
    rest = dict(arrays)
    if header["streams"]:
        for name in STREAMS:
            own = {k: rest.pop(k) for k in [*rest] if k.startswith(f"{name}_")}
            own = {k.removeprefix(f"{name}_"): array for k, array in own.items()}
            streams[name] = AveragedStream.from_arrays(header["streams"][name], own)
    n_rows = params.count("n_rows", header["n_rows"], 0)
    y = read_back(options, header["waiting_y"])
    law.numbers(y)
    level, past, totals = law.blank()
    bounds = {"low": law.least, "high": LARGEST}
    layouts = {
        "totals": reals(len(totals), **bounds),
        "grid": reals(N_GRID, high=0.0),
        "by_age": reals(N_AGES, n_members, high=0.0),
    }
    if y:
        require(features is not None, "rows wait without columns")
        assert features is not None
        n, width = len(y), (level.shape[1],) if law.levels_by_label else ()
        rows = reals(n, features.n_features, low=-LARGEST, high=LARGEST, gaps=True)
        rates = {"above": 0.0, "high": LARGEST_RATIO}
        layouts |= {
            "waiting_X": rows,
            "waiting_at": reals(n, *width, **(bounds if law.least else rates)),
            "waiting_past": reals(n, len(past), **bounds),
            "waiting_misses": reals(n, N_GRID, low=0.0, gaps=True),
            "waiting_ages": ints(n, low=0, below=N_AGES),
            "waiting_log_densities": Layout(
                "f8", (n, n_members), low=-np.inf, high=np.inf
            ),
        }
    check_arrays(rest, layouts)
    waiting = []
    if y:
        own = {name: rest[f"waiting_{name}"].copy() for name in WAITING}
        waiting = [Waiting(y=y, **own)]
        lacks = np.isnan(own["misses"])
        require(lacks.any(axis=1) == lacks.all(axis=1), "errors of levels are missing")
        n_before = law.rows_in(own["past"]).astype(np.int64).tolist()
        require(own["ages"] == [*map(age_of, n_before)], "ages are of other rows")
    is_begun = streams["level"] is not None
    require(is_begun == (n_rows > 0), "streams do not fit the rows")
    for name, stream in streams.items():
        if stream is not None:
            known = stream.state.features
            assert features is not None
            wide = (
                features if name == "level" else features.after_numbers(law.input_names)
            )
            require(known is not None and known.names == wide.names, "columns differ")
            classes = stream.classes or ()
            require(classes == (options.classes or ())[: len(classes)], "labels differ")
    fleet = Fleet(rest["totals"].copy(), n_rows, rest["grid"].copy())
    shared = Shared(
        streams["level"], streams["history"], fleet, rest["by_age"].copy(), n_rows
    )
    return shared, waiting


def check_key(
    text: str, blob: bytes, codec: Codec, features: FeatureMap | None, law: Law,
    n_members: int, seed: int, n_seen: int,
) -> None:  # fmt: skip
    """Raise CheckpointError unless a blob is a sound state of this key."""
    require(features is not None, "keys have no columns")
    assert features is not None
    state = codec.loads(blob, features, checked=True)
    level, past, _ = law.blank()
    n_rows = params.count("n_rows", state.n_rows, 1)
    require(n_rows <= n_seen, "a key has more rows than all")
    require(state.position is None or type(state.position) is int, "a bad position")
    arrays = {name: getattr(state, name) for name in ("log_weights", "level", "past")}
    at_most = "labels" if law.levels_by_label else None
    sizes = {"labels": level.shape[1]} if at_most else {}
    bounds = {"low": law.least, "high": LARGEST}
    layouts = {
        "log_weights": reals(n_members, high=0.0),
        "level": reals(2, None if at_most else level.shape[1], **bounds),
        "past": reals(None if at_most else len(past), **bounds),
    }
    check_arrays(arrays, layouts, **sizes)
    require(
        state.level.shape[1] <= level.shape[1], "a key has more labels than there are"
    )
    require(len(state.past) <= len(past), "a key has more labels than there are")
    require(law.rows_in(state.past[None])[0] == n_rows, "a history of other rows")
    require(not at_most or len(state.past) == state.level.shape[1] + 1, "labels differ")
    require((state.tree is not None) == (n_members == 3), "trees do not fit")
    if state.tree is not None:
        tree = state.tree
        require(tree.seed == key_seed(seed, text), "a tree has another seed")
        require(0 < tree.n_seen <= n_rows, "a tree has other rows than its key")
        least = codec.blank.options.window
        require(tree.options.window >= least, "a tree has a smaller window")
        require(tree.options.forget == codec.blank.options.forget, "a tree forgets")
        require(tree.model == codec.blank.model, "a tree has other leaves")
