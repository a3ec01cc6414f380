"""R's own serialization format: how values cross without the change of a bit.

Both backends speak it, so what arrives does not depend on how R is run. Only data have
a place in it: vectors, lists, NULL and their attributes.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_TYPES = {"logical": 10, "integer": 13, "double": 14, "character": 16, "list": 19}
_TYPES["raw"] = 24
_KINDS = {code: kind for kind, code in _TYPES.items()}
_NUMBERS = {
    kind: np.dtype(code)
    for kind, code in {
        "logical": ">i4",
        "integer": ">i4",
        "double": ">f8",
        "raw": "u1",
    }.items()
}
_NATIVE = {kind: layout.newbyteorder("=") for kind, layout in _NUMBERS.items()}
_SYMBOL, _PAIRS, _CHARS, _NULL, _REFERENCE = 1, 2, 9, 254, 255
_IS_OBJECT, _HAS_ATTRIBUTES, _HAS_TAG = 1 << 8, 1 << 9, 1 << 10
_UTF8, _LATIN1 = 1 << 15, 1 << 14
_INTEGER, _TWO = struct.Struct(">i"), struct.Struct(">ii")
NA_INTEGER = -(2**31)


@dataclass(eq=False, slots=True)
class RValue:
    """A value as R holds it.

    Attributes
    ----------
    kind : {"NULL", "logical", "integer", "double", "character", "list", "raw"}
        R's ``typeof``.
    data : ndarray or list
        Numbers in R's order (int32, also for logical; NA is the least int32), strings
        with None for NA, or the list's values.
    attributes : dict of str to RValue
        R's ``attributes()``.
    """

    kind: str
    data: Any = ()
    attributes: Mapping[str, RValue] = field(default_factory=dict)

    def strings(self, attribute: str) -> list[Any]:
        """Return the strings of an attribute, empty where there is none."""
        found = self.attributes.get(attribute)
        return list(found.data) if found is not None else []

    def items(self) -> dict[str, RValue]:
        """Return the values of a list by name."""
        return dict(zip(self.strings("names"), self.data, strict=True))


def named_list(values: Mapping[str, RValue]) -> RValue:
    """Return an R list of these values."""
    names = RValue("character", list(values))
    return RValue("list", list(values.values()), {"names": names})


def dumps(value: RValue) -> bytes:
    """Return the bytes from which R's ``unserialize`` makes the value."""
    parts = [b"X\n", struct.pack(">iii", 2, 0x00040000, 0x00020300)]
    _write(value, parts)
    return b"".join(parts)


def loads(data: bytes) -> RValue:
    """Return the value that R's ``serialize(x, NULL, version = 2)`` wrote."""
    return _Reader(data).value()


def _write(value: RValue, parts: list[bytes]) -> None:
    kind, attributes = value.kind, value.attributes
    if kind == "NULL":
        parts.append(_INTEGER.pack(_NULL))
        return
    flags = _TYPES[kind]
    if attributes:
        flags |= _HAS_ATTRIBUTES
        if "class" in attributes:
            flags |= _IS_OBJECT
    if kind == "list":
        parts.append(_TWO.pack(flags, len(value.data)))
        for item in value.data:
            _write(item, parts)
    elif kind == "character":
        parts.append(_strings(flags, tuple(value.data)))
    else:
        parts.append(_TWO.pack(flags, len(value.data)))
        parts.append(np.asarray(value.data, dtype=_NUMBERS[kind]).tobytes())
    if attributes:
        for name, item in attributes.items():
            parts.append(_tag(name))
            _write(item, parts)
        parts.append(_INTEGER.pack(_NULL))


@functools.lru_cache(maxsize=256)
def _tag(name: str) -> bytes:
    return _TWO.pack(_PAIRS | _HAS_TAG, _SYMBOL) + _chars(name)


@functools.lru_cache(maxsize=256)
def _strings(flags: int, texts: tuple[str | None, ...]) -> bytes:
    return _TWO.pack(flags, len(texts)) + b"".join(map(_chars, texts))


def _chars(text: str | None) -> bytes:
    if text is None:
        return _TWO.pack(_CHARS, -1)
    code = text.encode()
    return _TWO.pack(_CHARS | _UTF8, len(code)) + code


class _Reader:
    """One pass over the bytes; symbols are numbered as they come."""

    def __init__(self, data: bytes) -> None:
        if data[:2] != b"X\n":
            raise ValueError(f"data must start with R's b'X\\n'; got {data[:2]!r}.")
        self.data = data
        self.place = 14
        self.symbols: list[str] = []

    def value(self) -> RValue:
        data, place = self.data, self.place
        (flags,) = _INTEGER.unpack_from(data, place)
        code = flags & 0xFF
        if code == _NULL:
            self.place = place + 4
            return RValue("NULL")
        if code not in _KINDS:
            raise TypeError(
                f"R sent something that is not data (type {code} in R's internals, "
                f"such as a function or a formula). Ask for its data instead."
            )
        kind = _KINDS[code]
        (length,) = _INTEGER.unpack_from(data, place + 4)
        self.place = place + 8
        found: Any
        if kind == "list":
            found = [self.value() for _ in range(length)]
        elif kind == "character":
            found = [self.chars() for _ in range(length)]
        else:
            layout = _NUMBERS[kind]
            found = np.frombuffer(data, layout, length, place + 8)
            found = found.astype(_NATIVE[kind])
            self.place += length * layout.itemsize
        return RValue(kind, found, self.pairs() if flags & _HAS_ATTRIBUTES else {})

    def pairs(self) -> dict[str, RValue]:
        found = {}
        while self.integer() & 0xFF == _PAIRS:
            name = self.symbol()
            found[name] = self.value()
        return found

    def integer(self) -> int:
        (number,) = _INTEGER.unpack_from(self.data, self.place)
        self.place += 4
        return int(number)

    def symbol(self) -> str:
        flags = self.integer()
        if flags & 0xFF == _REFERENCE:
            return self.symbols[(flags >> 8 or self.integer()) - 1]
        self.symbols.append(str(self.chars()))
        return self.symbols[-1]

    def chars(self) -> str | None:
        flags, length = _TWO.unpack_from(self.data, self.place)
        start = self.place + 8
        self.place = start + max(length, 0)
        if length < 0:
            return None
        text = self.data[start : self.place]
        return text.decode("latin-1" if flags & _LATIN1 else "utf-8")
