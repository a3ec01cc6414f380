"""Header and arrays <-> a zip file of header.json and NumPy's .npy files.

Members are stored, not compressed, with fixed times and in a fixed order, so that equal
contents give equal bytes, and a size that a file claims is a size that it has.
"""

from __future__ import annotations

import errno
import json
import math
import re
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import CheckpointError, Message
from dyntree.runtime.online import Arrays

HEADER = "header.json"
MAX_HEADER = 1 << 24  # bytes
MAX_VALUES = 1 << 21  # of a header, each of which takes about 60 bytes of memory
MAX_MEMBERS = 1 << 14
END, END_BYTES = b"PK\x05\x06", 18  # the last record of a zip file, without a comment
MAGIC = b"\x93NUMPY\x01\x00"
LAYOUT = re.compile(
    rb"\{'descr': '(<f8|<i4|<i8|<u8)', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18},|[0-9]{1,18}(?:, [0-9]{1,18})+)?)\), \} *\n"
)
EXACT = frozenset({bool, int, str, type(None)})  # which JSON has
ODD_FLOATS = {str(value): value for value in (math.nan, math.inf, -math.inf)}
BROKEN = (
    zipfile.BadZipFile, ArithmeticError, LookupError, NotImplementedError,
    RecursionError, RuntimeError, TypeError, ValueError, EOFError, struct.error,
)  # fmt: skip


def write(file: BinaryIO, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write header and arrays.

    Parameters
    ----------
    file : binary file, open for writing and seekable
    header : dict
        Text, numbers (NaN and infinities too), booleans, None, lists, tuples, dicts.
    arrays : dict of ndarray
        Of float64, int32, int64 or uint64.

    Raises
    ------
    ValueError
        For a header that is too long to be read again.
    """
    text = header_text(header)
    if len(text) > MAX_HEADER:
        raise ValueError(
            Message(
                f"a saved header must have at most {MAX_HEADER} bytes; got "
                f"{len(text)}. Use fewer or shorter levels and labels."
            )
        )
    if (n_values := _most_values(text)) > MAX_VALUES:
        raise ValueError(
            Message(
                f"a saved header must have at most {MAX_VALUES} names and values; "
                f"got {n_values}. Use fewer columns, levels and labels."
            )
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _store(archive, HEADER, text)
        for name in sorted(arrays):
            array = np.ascontiguousarray(arrays[name])
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            bare = array.reshape(-1).view(np.uint8)
            _store(archive, f"{name}.npy", _layout(array), bare)


def header_text(header: Mapping[str, Any]) -> bytes:
    """Return a header as JSON; see `write`."""
    return json.dumps(_plain(header), allow_nan=False).encode("ascii")


def header_in(text: bytes) -> Any:
    """Return the header that `header_text` wrote, with lists where tuples were."""
    return json.loads(text, object_hook=_value, parse_constant=_refuse)


def read(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """Read what `write` wrote.

    Parameters
    ----------
    file : binary file, open for reading and seekable

    Returns
    -------
    header : dict
        With lists where tuples were.
    arrays : dict of ndarray
        Read-only.

    Raises
    ------
    CheckpointError
        If the file is broken, or holds or claims anything else. Nothing larger than the
        file is allocated.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, file.seek(0, 2))
            file.seek(-len(END) - END_BYTES, 2)
            if not file.read().startswith(END):
                raise CheckpointError("it has other bytes after the model")
            text = archive.read(HEADER)
            if (n_values := _most_values(text)) > MAX_VALUES:
                raise CheckpointError(
                    Message(f"its header has {n_values} names and values")
                )
            header = header_in(text)
            arrays = {
                name.removesuffix(".npy"): _array(name, archive.read(name))
                for name in members
                if name != HEADER
            }
    except CheckpointError:
        raise
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            Message(
                "it is not a model that dyntree saved, or it is broken ({error})",
                error=error,
            )
        ) from error
    except BROKEN as error:
        raise CheckpointError(Message("it is broken ({error})", error=error)) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # its directory counts bytes that are gone, back to before the file begins
        raise CheckpointError("it is broken (bytes are missing)") from error
    if not isinstance(header, dict):
        raise CheckpointError("its header is not a JSON object")
    return header, arrays


def _members(archive: zipfile.ZipFile, n_bytes: int) -> list[str]:
    """Names of the members, once all claim no more than there is."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if len(infos) > MAX_MEMBERS or len(set(names)) != len(names) or HEADER not in names:
        raise CheckpointError(
            Message("it has no {header}, or members that do not belong", header=HEADER)
        )
    start = min(info.header_offset for info in infos)
    if start < 0:
        raise CheckpointError("it is broken (bytes are missing)")
    if start > 0:
        raise CheckpointError(
            "it has other bytes before the model, as a file of pickle or joblib has, "
            "which may hold more than it. Read it by the library that wrote it"
        )
    for info in infos:
        plain = info.filename == HEADER or re.fullmatch(r"\w+\.npy", info.filename)
        stored = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
        if not plain or not stored or info.file_size != info.compress_size:
            raise CheckpointError(
                Message(
                    "its member {filename!r} has no known kind",
                    filename=info.filename,
                )
            )
        if info.filename == HEADER and info.file_size > MAX_HEADER:
            raise CheckpointError(
                Message("its header has {file_size} bytes", file_size=info.file_size)
            )
    if sum(info.file_size for info in infos) > n_bytes:
        raise CheckpointError("its members claim more bytes than it has")
    return names


def _most_values(text: bytes) -> int:
    """How many names and values a text of JSON holds at most; it is not parsed."""
    return 1 + sum(text.count(mark) for mark in (b",", b":", b"[", b"{"))


def _store(archive: zipfile.ZipFile, name: str, *parts: Any) -> None:
    """Add a member made of these bytes."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    info.file_size = sum(memoryview(part).nbytes for part in parts)
    with archive.open(info, "w") as member:
        for part in parts:
            member.write(part)


def _layout(array: NDArray[Any]) -> bytes:
    """What comes before the data in an .npy file of format 1.0."""
    words = (
        f"{{'descr': '{array.dtype.str}', 'fortran_order': False, "
        f"'shape': {array.shape}, }}"
    )
    length = -(-(len(MAGIC) + 2 + len(words) + 1) // 64) * 64 - len(MAGIC) - 2
    text = words.ljust(length - 1) + "\n"
    return MAGIC + struct.pack("<H", length) + text.encode("ascii")


def _array(name: str, member: bytes) -> NDArray[Any]:
    """The array in an .npy file of ours, over the same memory."""
    start = len(MAGIC) + 2
    (length,) = struct.unpack("<H", member[len(MAGIC) : start])
    found = LAYOUT.fullmatch(member[start : start + length])
    if not member.startswith(MAGIC) or found is None:
        raise CheckpointError(
            Message("its member {name!r} is not an array of dyntree", name=name)
        )
    dtype = np.dtype(found[1].decode("ascii"))
    shape = tuple(int(word) for word in found[2].split(b",") if word)
    if math.prod(shape) * dtype.itemsize != len(member) - start - length:
        raise CheckpointError(
            Message("its member {name!r} is not as long as it claims", name=name)
        )
    flat = np.frombuffer(member, dtype, offset=start + length)
    flat = np.require(flat, requirements="A")  # kernels read numbers of aligned memory
    return flat.astype(dtype.newbyteorder("="), copy=False).reshape(shape)


def _plain(value: Any) -> Any:
    """What JSON can hold: NumPy's scalars plain, NaN and infinities as {"float": s}."""
    if type(value) in EXACT:  # as nearly all are: states of keys are written often
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _value(found: dict[str, Any]) -> Any:
    """The odd float that a JSON object stands for, or the object.

    A column may be called float, and a dict by columns hold it alone.
    """
    word = found["float"] if list(found) == ["float"] else None
    return ODD_FLOATS.get(word, found) if isinstance(word, str) else found


def _refuse(word: str) -> Any:
    """Raise CheckpointError for a number that strict JSON does not have."""
    raise CheckpointError(
        Message("its header holds {word}, which is not JSON", word=word)
    )
