"""R's own serialization format: how values cross without the change of a bit.

Both backends speak it, so what arrives does not depend on how R is run. Only data have
a place in it: vectors, lists, NULL and their attributes.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

_TYPES = {"logical": 10, "integer": 13, "double": 14, "character": 16, "list": 19}
_TYPES["raw"] = 24
_KINDS = {code: kind for kind, code in _TYPES.items()}
_POINTER = 22  # to memory of a program in C, as in attributes of data.table
_NO_DATA = {
    3: "a function", 4: "an environment", 6: "a call or a formula", 7: "a function",
    8: "a function", 15: "complex numbers", 20: "an expression", _POINTER: "a pointer",
    25: "an S4 object",
}  # fmt: skip
_CODES = {"logical": "i4", "integer": "i4", "double": "f8", "raw": "u1"}
_NUMBERS = {kind: np.dtype(code) for kind, code in _CODES.items()}
_SYMBOL, _PAIRS, _CHARS, _NULL, _REFERENCE = 1, 2, 9, 254, 255
_IS_OBJECT, _HAS_ATTRIBUTES, _HAS_TAG = 1 << 8, 1 << 9, 1 << 10
_UTF8, _LATIN1 = 1 << 15, 1 << 14
_INTEGER, _TWO = struct.Struct("=i"), struct.Struct("=ii")
_HEADER = b"B\n" + struct.pack("=iii", 2, 0x00040000, 0x00020300)
NA_INTEGER = -(2**31)


@dataclass(eq=False, slots=True, init=False)
class RValue:
    """A value in the form in which R holds it.

    Attributes
    ----------
    kind : {"NULL", "logical", "integer", "double", "character", "list", "raw"}
        R's ``typeof``.
    data : ndarray or list
        Numbers in R's order (int32, also for logical; NA is the smallest int32),
        strings with None for NA, or the values of the list.
    attributes : dict of str to RValue
        R's ``attributes()``.
    """

    kind: str
    data: Any
    attributes: Mapping[str, RValue]

    def __init__(
        self,
        kind: str,
        data: Any = (),
        attributes: Mapping[str, RValue] = MappingProxyType({}),
    ) -> None:
        self.kind = kind
        self.data = data
        self.attributes = attributes

    def strings(self, attribute: str) -> list[Any]:
        """Return the strings of an attribute; empty if there is none."""
        found = self.attributes.get(attribute)
        return list(found.data) if found is not None else []

    def items(self) -> dict[str, RValue]:
        """Return the values of a list by name."""
        return dict(zip(self.strings("names"), self.data, strict=True))


def named_list(values: Mapping[str, RValue]) -> RValue:
    """Return an R list of these values."""
    names = RValue("character", list(values))
    return RValue("list", list(values.values()), {"names": names})


def dumps(value: RValue) -> bytearray:
    """Return the bytes from which R's ``unserialize`` makes the value.

    The byte order is that of this machine, as in ``serialize(x, NULL, xdr = FALSE)``.
    """
    parts: list[Any] = [_HEADER]
    _write(value, parts)
    return bytearray().join(parts)


def loads(data: bytes | bytearray) -> RValue:
    """Return the value that R's ``serialize(x, NULL, version = 2)`` wrote.

    Both byte orders can be read, that of ``xdr = TRUE`` and that of this machine. Texts
    that are not valid in their encoding raise ValueError.
    """
    return _Reader(data).value()


def _write(value: RValue, parts: list[Any]) -> None:
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
        parts.append(np.ascontiguousarray(value.data, dtype=_NUMBERS[kind]))
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


class _Order:
    """How numbers lie in bytes that begin with one of R's two marks."""

    def __init__(self, mark: str) -> None:
        self.one = struct.Struct(f"{mark}i").unpack_from
        self.two = struct.Struct(f"{mark}ii").unpack_from
        self.low = struct.pack(f"{mark}i", 1).index(1)  # an integer's last byte
        codes = _CODES.items()
        self.numbers = {kind: np.dtype(mark + code) for kind, code in codes}


_ORDERS = {b"X\n": _Order(">"), b"B\n": _Order("=")}


class _Reader:
    """One pass over the bytes; symbols are numbered as they come."""

    def __init__(self, data: bytes | bytearray) -> None:
        mark = bytes(data[:2])
        if mark not in _ORDERS:
            raise ValueError(
                f"data must start with R's b'X\\n' or b'B\\n'; got {mark!r}."
            )
        self.data = data
        self.order = _ORDERS[mark]
        self.place = 14
        self.symbols: list[str] = []

    def value(self) -> RValue:
        data, place, order = self.data, self.place, self.order
        code = data[place + order.low]
        if code == _NULL:
            self.place = place + 4
            return RValue("NULL")
        if code not in _KINDS:
            raise TypeError(
                f"R sent something that is not data that Python has: "
                f"{_NO_DATA.get(code, f'type {code} of its own')}. Ask R for numbers, "
                f"texts, logicals, lists or frames of it instead."
            )
        kind = _KINDS[code]
        flags, length = order.two(data, place)
        self.place = place + 8
        found: Any
        if kind == "list":
            found = [self.value() for _ in range(length)]
        elif kind == "character":
            found = self.strings(length)
        else:
            layout = order.numbers[kind]
            found = np.frombuffer(data, layout, length, place + 8)
            found = found.astype(_NUMBERS[kind])
            self.place += length * layout.itemsize
        if flags & _HAS_ATTRIBUTES:
            return RValue(kind, found, self.pairs())
        return RValue(kind, found)

    def pairs(self) -> dict[str, RValue]:
        found, low = {}, self.order.low
        while self.data[self.place + low] == _PAIRS:
            self.place += 4
            name = self.symbol()
            if self.data[self.place + low] == _POINTER:
                self.skip()
            else:
                found[name] = self.value()
        self.place += 4
        return found

    def skip(self) -> None:
        """Pass over a pointer, or over what one protects."""
        if self.data[self.place + self.order.low] != _POINTER:
            self.value()
            return
        (flags,) = self.order.one(self.data, self.place)
        self.place += 4
        self.symbols.append("")  # pointers are numbered with them
        self.skip()
        self.skip()
        if flags & _HAS_ATTRIBUTES:
            self.pairs()

    def symbol(self) -> str:
        (flags,) = self.order.one(self.data, self.place)
        self.place += 4
        if flags & 0xFF != _REFERENCE:
            self.symbols.append(str(self.strings(1)[0]))
            return self.symbols[-1]
        number: int = flags >> 8
        if not number:
            (number,) = self.order.one(self.data, self.place)
            self.place += 4
        return self.symbols[number - 1]

    def strings(self, length: int) -> list[str | None]:
        data, place, two = self.data, self.place, self.order.two
        found: list[str | None] = []
        for _ in range(length):
            flags, size = two(data, place)
            place += 8
            if size < 0:
                found.append(None)
                continue
            text = data[place : place + size]
            try:
                found.append(text.decode("latin-1" if flags & _LATIN1 else "utf-8"))
            except UnicodeDecodeError:
                shown = bytes(text).decode(errors="backslashreplace")
                raise ValueError(
                    f"texts from R must be valid UTF-8 or marked as latin1; got "
                    f"'{shown}'. Convert them by iconv() first."
                ) from None
            place += size
        self.place = place
        return found
