"""Ids of snapshots of shared streams, and bytes that claim to be keys beside one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np

from dyntree.checkpoint.layout import require
from dyntree.checkpoint.models import UNSOUND
from dyntree.errors import CheckpointError, Message
from dyntree.runtime.online import Arrays, Header
from dyntree.storage.archive import header_text

ID = re.compile("[0-9a-f]{16}")


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Hash of a header and arrays, 16 digits; equal states give equal ones."""
    whole = blake2b(header_text(header), digest_size=8)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        whole.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def snapshots_in(header: Header) -> list[str]:
    """The ids of snapshots that a header lists, in the order in which they were made.

    A model beside a snapshot names that one last.
    """
    ids = header.get("snapshots", [])
    sound = all(isinstance(one, str) and ID.fullmatch(one) for one in ids)
    require(isinstance(ids, list) and sound, "ids of snapshots are damaged")
    if ids:
        require(header["snapshot"] in (None, ids[-1]), "it is of another snapshot")
    return [*ids]


@contextmanager
def sound_blobs() -> Iterator[None]:
    """Turn errors about bytes that describe no state of a key into CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except UNSOUND as error:
        raise CheckpointError(
            Message("the state of a key is damaged: {error}", error=error)
        ) from error
