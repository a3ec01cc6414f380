"""The state of one key <-> few bytes with a checksum.

A blob is a CRC-32 and one zlib stream of a header in JSON and arrays. What the trees of
all keys share is not in it: the columns of the map, and the text of a header, which is
the dictionary of the compression. Equal states give equal bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.rng import CounterSource
from dyntree._core.trees.cloud import Cloud
from dyntree.checkpoint.layout import check_arrays, reals, require
from dyntree.checkpoint.models import with_labels
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST
from dyntree.errors import CheckpointError
from dyntree.keyed.state import KeyState
from dyntree.params import NIG, StreamOptions, TreeOptions
from dyntree.params.labels import from_json, to_json
from dyntree.storage.archive import header_in, header_text
from dyntree.trees.files import (
    check_responses,
    take_effects,
    without_effects,
    without_pieces,
)
from dyntree.trees.learning.exposures import read_back
from dyntree.trees.state import TreeState, n_waiting
from dyntree.trees.streaming import StreamingTree

LEVEL = 1  # of zlib: 6 takes three times as long and saves a fiftieth
TYPES = ("<f8", "<i4", "<i8", "<u8")
HEAD = struct.Struct("<I")
NUMBERS = "log_weights", "level", "past"  # arrays of a key beside those of its tree


class Codec:
    """Writes and reads states of keys whose trees have the same options.

    Parameters
    ----------
    blank : StreamingTree
        A tree without rows, with the options of all.
    """

    def __init__(self, blank: StreamingTree) -> None:
        self.blank = blank
        header, _ = blank.to_arrays()
        self._usual = _text({"tree": _bare(header), "place": [0, []]})

    def dumps(self, state: KeyState) -> bytes:
        """Return the bytes of a state."""
        header: dict[str, Any] = {"n_rows": state.n_rows, "position": state.position}
        if state.snapshot is not None:
            header["snapshot"] = state.snapshot
        arrays = {name: getattr(state, name) for name in NUMBERS}
        if state.tree is not None:
            own, tree_arrays = state.tree.to_arrays()
            features = state.tree.state.features
            assert features is not None
            header["place"] = [len(features.late), list(features.unknown)]
            header["tree"] = _bare(own)
            arrays |= {f"tree_{name}": array for name, array in tree_arrays.items()}
        head = _text(header)
        packed = [_packed(name, arrays[name]) for name in sorted(arrays)]
        parts = [HEAD.pack(len(head)), head, *packed]
        squeeze = zlib.compressobj(LEVEL, zdict=self._usual)
        data = squeeze.compress(b"".join(parts)) + squeeze.flush()
        return HEAD.pack(zlib.crc32(data)) + data

    def loads(
        self, blob: bytes, features: FeatureMap, checked: bool = False
    ) -> KeyState:
        """Return the state that `dumps` wrote.

        Parameters
        ----------
        blob : bytes
        features : FeatureMap
            The columns of all keys as they are now; a tree may know fewer.
        checked : bool, default False
            Whether to check the tree as one of a file from elsewhere; else the checksum
            says that it is as it was written.

        Raises
        ------
        CheckpointError
            If bytes have changed, or describe no state.
        """
        header, data, end = self._opened(blob)
        arrays = _unpacked(data, end)
        weights, level, past = (arrays.pop(name) for name in NUMBERS)
        place = header["position"]
        state = KeyState(header["n_rows"], place, weights, level, past)
        state.snapshot = header.get("snapshot")
        if "tree" in header:
            own = {name.removeprefix("tree_"): a for name, a in arrays.items()}
            n_late, unknown = header["place"]
            columns = features.before(n_late, tuple(unknown))
            state.tree = self._tree(header["tree"], own, columns, checked)
        return state

    def snapshot_of(self, blob: bytes) -> str | None:
        """The snapshot that a blob names; errors are those of `loads`."""
        snapshot: str | None = self._opened(blob)[0].get("snapshot")
        return snapshot

    def _opened(self, blob: bytes) -> tuple[dict[str, Any], bytes, int]:
        """Header of a blob, its bytes expanded, and where its arrays begin there."""
        if len(blob) < HEAD.size or HEAD.unpack_from(blob)[0] != zlib.crc32(
            blob[HEAD.size :]
        ):
            raise CheckpointError("the state of a key is damaged: its checksum differs")
        try:
            expand = zlib.decompressobj(zdict=self._usual)
            data = expand.decompress(blob[HEAD.size :])
        except zlib.error as error:
            raise CheckpointError(
                "the state of a key is not of this model: its options differ"
            ) from error
        (size,) = HEAD.unpack_from(data)
        end = HEAD.size + size
        return with_labels(header_in(data[HEAD.size : end]), from_json), data, end

    def _tree(
        self, header: dict[str, Any], arrays: dict[str, Any], features: FeatureMap,
        checked: bool,
    ) -> StreamingTree:  # fmt: skip
        """The tree of a key."""
        own = header["tree"]
        if checked and own["cloud"] is not None:
            own["features"] = features.to_header()
            return StreamingTree.from_arrays(header, arrays)
        options = dict(own["options"])
        if isinstance(options["prior"], dict):
            options["prior"] = NIG(options["prior"]["b0"])
        state = TreeState(TreeOptions(**options), own["seed"], features)
        arrays, _ = without_pieces(arrays)
        arrays, effects = without_effects(arrays)
        state.waiting_X = arrays.pop("waiting_X").copy()
        state.waiting_y = read_back(state.options, own["waiting_y"])
        if checked:
            _check_waiting(state, arrays)
        if own["cloud"] is not None:
            source = CounterSource.from_state(arrays["random_state"])
            state.cloud = Cloud.from_arrays(own["cloud"], arrays, source)
        take_effects(state, effects)
        window = StreamOptions(**header["options"]).for_model(state.options)
        return StreamingTree.of_state(state, window, header["is_frozen"])


def _check_waiting(state: TreeState, rest: Mapping[str, Any]) -> None:
    """Raise an error unless encoded rows can wait until a key has trees."""
    require(not rest, "a key has arrays without a use")
    assert state.features is not None
    n, width = len(state.waiting_y), state.features.n_features
    rows = reals(n, width, low=-LARGEST, high=LARGEST, gaps=True)
    check_arrays({"X": state.waiting_X}, {"X": rows})
    check_responses(state, state.waiting_y, n)
    require(n < n_waiting(state.options), "a key has waited for too many rows")


def _bare(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of a tree without its columns, which all keys share."""
    return dict(header) | {"tree": dict(header["tree"]) | {"features": None}}


def _text(header: Mapping[str, Any]) -> bytes:
    described: Mapping[str, Any] = with_labels(header, to_json)
    return header_text(described)


def _packed(name: str, array: Any) -> bytes:
    """An array with its name, type and shape; a matrix by columns, which are alike."""
    array = np.asarray(array)
    kind = TYPES.index(array.dtype.newbyteorder("<").str)
    text = name.encode("ascii")
    head = struct.pack("<BBB", len(text), kind, array.ndim)
    shape = struct.pack(f"<{array.ndim}I", *array.shape)
    data: bytes = array.astype(TYPES[kind], copy=False).T.tobytes()
    return head + text + shape + data


def _unpacked(data: bytes, at: int) -> dict[str, NDArray[Any]]:
    """The arrays that `_packed` wrote, from a place in the data to its end."""
    found = {}
    while at < len(data):
        n_text, kind, n_axes = data[at : at + 3]
        name = data[at + 3 : at + 3 + n_text].decode("ascii")
        at += 3 + n_text
        shape = struct.unpack_from(f"<{n_axes}I", data, at)
        at += 4 * n_axes
        dtype = np.dtype(TYPES[kind])
        size = int(np.prod(shape))
        # kernels read numbers where their types may stand, which is not at any byte
        flat = np.require(np.frombuffer(data, dtype, size, at), requirements="A")
        found[name] = np.ascontiguousarray(flat.reshape(shape[::-1]).T)
        at += size * dtype.itemsize
    return found
