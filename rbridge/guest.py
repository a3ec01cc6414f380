"""What the R package in rbridge/r asks of Python, one call at a time.

A request and its answer are R's own serialized bytes (`rbridge.wire`); beside them only
the handle of a tree crosses. So no bit changes on the way, and the versions of
reticulate and NumPy need not fit one another.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dyntree import checkpoint
from dyntree._core.trees.cloud import Cloud
from dyntree.api import rmirror
from dyntree.api.rmirror import DynaTree, RStream
from dyntree.api.rmirror.handles import Handle
from dyntree.api.rmirror.inputs import InputSpec
from dyntree.api.rmirror.variables import tree_means
from dyntree.encoding.as_text import meaning
from dyntree.encoding.targets import warn_of_two_numbers
from dyntree.errors import Message, in_words

from . import counts, native, weights
from .convert import from_r, to_r
from .interrupts import Interruptible
from .quantiles import of_mean, quantiles
from .wire import RValue, dumps, loads
from .words import MIRROR, PYTHON_NAMES, RWords

_OWN = (
    "m", "N", "X", "y", "model", "params", "nstart", "verb", "lpred", "num", "time",
    "classes", "icept", "removed", "rules", *weights.BESIDE,
)  # fmt: skip
_CHANGES = ("update", "retire", "rejuvenate", "alcX", "entropyX")
_NATIVE: dict[str, Callable[..., Any]] = {
    "dynaTree": native.dynaTree,
    "dynaTrees": native.dynaTrees,
}


def _warn_of_text(name: str, texts: Sequence[str]) -> None:
    """Warn of a column of text, coded by R, that holds numbers or dates.

    Parameters
    ----------
    name : str
    texts : sequence of str
        Its different values.
    """
    found = meaning([*map(str, texts)])
    if found is not None:
        found.warn(name, Message("factor({name!s})", name=name))


_OTHERS: dict[str, Callable[..., Any]] = {
    "warn_of_text": _warn_of_text,
    "warn_of_two_numbers": warn_of_two_numbers,
    "treestats": tree_means,  # no pandas for R
    "quantiles": quantiles,
    "of_mean": of_mean,
}
_TO_KEEP = ("dynaTree", "copy", *_CHANGES)
_ROWS = {"predict": "XX", "retire": "indices", "update": "X"}  # their work goes with it
_QUICK = 20_000  # particles times numbers in those rows: some hundredths of a second
_BESIDES = 10  # particles that take as long as the rest of a row's work
_NO_GUARD: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
_WITH_NA = ("S", "T", "varpropuse", "varproptotal")  # R has NA there, and not NaN
_SENT = {"lpred": np.empty(0), "time": 0.0}  # R has them; it adds what comes
_NONE = object()  # no field is this
_NA_REAL = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)[0]
_NA_INTEGER = RValue("integer", np.array([-(2**31)], dtype=np.int32))

_WORDS = RWords(MIRROR)
_stream = RStream(0)  # R's own, set to .Random.seed before each call


class RObject:
    """A tree that R holds. Calls from R use it and may replace it.

    Attributes
    ----------
    tree : DynaTree or None
        It is None before a fit, and after a fit that keeps no cloud.
    """

    def __init__(self) -> None:
        self.tree: DynaTree | None = None
        self._holders = weakref.WeakSet([self])  # of the same cloud

    def shared(self) -> Self:
        """Return another holder of the same tree.

        The first change of one of them copies the cloud, unless R has freed the others.
        """
        other = copy.copy(self)
        self._holders.add(other)
        return other

    def forget(self) -> None:
        """Hold no tree any longer."""
        self.tree = None
        self._leave()

    def _leave(self) -> None:
        """Be the only holder of what it holds."""
        self._holders.discard(self)
        self._holders = weakref.WeakSet([self])

    def _part(self) -> None:
        """Hold a copy where others hold the same."""
        if len(self._holders) > 1:
            self._copy()
            self._leave()

    def _copy(self) -> None:
        assert self.tree is not None
        self.tree = rmirror.copy(self.tree)

    def answer(self, request: bytes | bytearray) -> bytearray:
        """Answer one call of a function of the mirror.

        Parameters
        ----------
        request : bytes
            An R list of the arguments by R's names, and of .name, .rules
            (only if they are native), .save (only if a checkpoint is requested), .rows
            (only if the numbers of the stored rows are requested) and .state
            (``.Random.seed``, for functions that draw random numbers).

        Returns
        -------
        bytearray
            A serialized R list: value (the new fields of an object, with only the
            additions to lpred and time, or the result), state, changed
            (only if the cloud has changed), warnings (only if there are some) and saved
            (a checkpoint, if requested). If the call fails, it has error, the message,
            or interrupted.
        """
        try:
            asked = loads(request).items()
            guard = _NO_GUARD if self._soon_answers(asked) else Interruptible()
            with guard, _recorded() as notes, _to_r:
                answer = self._perform(asked)
        except KeyboardInterrupt:
            return _sent({"interrupted": True})
        except Exception as error:
            return _sent({"error": in_words(error, _WORDS) or type(error).__name__})
        if notes:
            answer["warnings"] = [in_words(note.message, _WORDS) for note in notes]
        return _sent(answer)

    def restore(self, saved: bytes, since: Sequence[bytes]) -> bytearray:
        """Restore the tree of a checkpoint, and repeat the later calls that changed it.

        Parameters
        ----------
        saved : bytes
            A checkpoint that `answer` made.
        since : sequence of bytes
            Requests to `answer`, in order.

        Returns
        -------
        bytearray
            A serialized R list: empty, or with error, the message, or interrupted.
        """
        try:
            with Interruptible(), _to_nobody:
                self._load(bytes(saved))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for request in since:
                        self._perform(loads(request).items())
        except KeyboardInterrupt:
            return _sent({"interrupted": True})
        except Exception as error:
            return _sent({"error": in_words(error, _WORDS) or type(error).__name__})
        return _sent({})

    def _load(self, saved: bytes) -> None:
        """Hold the tree of a checkpoint."""
        self.tree = checkpoint.loads(saved).tree

    def _soon_answers(self, asked: dict[str, RValue]) -> bool:
        """Whether a call is over before an interrupt is missed: R then waits."""
        rows = asked.get(_ROWS.get(asked[".name"].data[0], ""))
        if self.tree is None or rows is None:
            return False
        return (int(self.tree.N) + _BESIDES) * len(rows.data) <= _QUICK

    def _perform(self, asked: dict[str, RValue]) -> dict[str, Any]:
        (name,) = asked.pop(".name").data
        is_native = asked.pop(".rules", None) is not None
        save, state = asked.pop(".save", None), asked.pop(".state", None)
        tells_rows = asked.pop(".rows", None) is not None
        given = {
            PYTHON_NAMES.get(key, key): from_r(item) for key, item in asked.items()
        }
        answer: dict[str, Any] = {"changed": True} if name in _CHANGES else {}
        if state is not None:
            if not np.array_equal(state.data, _stream.state):
                _stream.source.restore(RStream.from_state(state.data).source)
            given["rng"] = _stream
        if name in _CHANGES:
            self._part()
        functions = _NATIVE if is_native else _OTHERS
        function = functions.get(name) or getattr(rmirror, name)
        tree = self.tree
        if counts.of_counts(tree):
            function = counts.FUNCTIONS.get(name, function)
        if tree is not None and tree.get("rules") == "native":
            function = weights.FUNCTIONS.get(name, function)
        result = function(**given) if tree is None else function(tree, **given)
        if state is not None:
            # words, one of which may look like NA
            answer["state"] = RValue("integer", _stream.state)
        if not isinstance(result, DynaTree):
            return answer | {"value": _in_r(name, result)}
        answer["value"] = _new_fields(tree, result)
        if tells_rows:
            answer["value"][".rows"] = result.row_ids + 1
        if name in _TO_KEEP:
            asides = [key for key in result if key not in _OWN]
            self.tree = result.extended(_SENT, without=asides)
        if name == "copy":
            self._leave()
        if save is not None and self.tree is not None:
            answer["saved"] = _saved(self.tree)
        return answer


def listen(show: Callable[[str], Any]) -> None:
    """Let R take what is printed."""
    _printed.show = show


def _new_fields(before: DynaTree | None, after: DynaTree) -> dict[str, Any]:
    """Return the fields that a call has made, as R is to hold them."""
    old = {} if before is None else dict(before.items())
    return {
        name: _in_r(name, value)
        for name, value in after.items()
        if old.get(name, _NONE) is not value
    }


def _in_r(name: str, value: Any) -> Any:
    """Return a field or an answer as R's dynaTree holds it.

    `num` is NA: by a number R's package dynaTree would find a cloud of its own, and
    R lets no NA pass to its functions.
    """
    if name == "num":
        return _NA_INTEGER
    if isinstance(value, MappingProxyType):
        labels = range(1, max(value) + 1)
        return RValue("list", [to_r(_in_r(name, value.get(k))) for k in labels])
    if name == "sens.class":
        return np.asarray(value, dtype=np.float64)
    if name in _WITH_NA and value is not None:
        return np.where(np.isnan(value), _NA_REAL, value)
    return float(value) if name == "R" else value


def _sent(answer: Mapping[str, Any]) -> bytearray:
    return dumps(to_r(answer))


class _Printed:
    """A standard output whose text goes to R."""

    def __init__(self) -> None:
        self.show: Callable[[str], Any] = lambda text: None  # until R listens

    def write(self, text: str) -> int:
        self.show(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: R shows at once."""


_printed = _Printed()
_to_r = contextlib.redirect_stdout(_printed)
_to_nobody = contextlib.redirect_stdout(_Printed())  # reticulate flushes it meanwhile
_recorded = functools.partial(
    warnings.catch_warnings, record=True, action="always", category=Warning
)


@checkpoint.savable
class SavedTree:
    """A tree as R's objects carry it: its cloud, its options and R's names for them."""

    def __init__(self, tree: DynaTree) -> None:
        self.tree = tree

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a header and the cloud's arrays."""
        spec, cloud = self.tree.spec, self.tree.cloud
        plain = ("m", "N", "model", "nstart", "verb", "icept", "removed", "rules")
        described, arrays = cloud.to_arrays()
        header = {
            "kind": "SavedTree",
            "cloud": described,
            "fields": {key: self.tree[key] for key in plain if key in self.tree},
            "params": self.tree.params.tolist(),
            "seen": self.tree.get("classes", np.empty(0)).tolist(),
            "n_inputs": spec.n_inputs,
            "augmented": spec.augmented,
            "n_classes": spec.n_classes,
        }
        arrays = arrays | {"object_rows": self.tree.row_ids}
        for name in weights.BESIDE:
            if name in self.tree:
                arrays[f"object_{name}"] = self.tree[name]
        return header, arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> SavedTree:
        """Return the tree that `to_arrays` described; it draws from R's stream."""
        arrays = dict(arrays)
        rows = arrays.pop("object_rows")
        beside = {name: arrays.pop(f"object_{name}", None) for name in weights.BESIDE}
        cloud = Cloud.from_arrays(header["cloud"], arrays, _stream.source)
        stored = cloud.row_ids()
        places = np.argsort(stored)[np.searchsorted(np.sort(stored), rows)]
        X, y = (part[places] for part in cloud.rows())
        handle, fields = Handle(cloud), dict(header["fields"])
        fields |= {"params": np.array(header["params"]), "X": X, "num": handle.num}
        fields |= {"y": y + 1 if fields["model"] == "class" else y, "time": 0.0}
        fields |= {"lpred": np.zeros(0)}
        fields |= {name: one for name, one in beside.items() if one is not None}
        if header["seen"]:
            fields["classes"] = np.array(header["seen"])
        spec = InputSpec(
            header["n_inputs"],
            header["augmented"],
            None,
            header["n_classes"],
            None,
            gaps=fields.get("rules") == "native",
        )
        return cls(
            DynaTree(
                fields,
                handle=handle,
                rng=_stream,
                spec=spec,
                names={},
                row_ids=rows,
            )
        )


def _saved(tree: DynaTree) -> RValue:
    data = checkpoint.dumps(SavedTree(tree))
    return RValue("raw", np.frombuffer(data, dtype=np.uint8))
