"""Where models come from: the first rows that each has learned, as a fingerprint.

Copies of a model share it, and what was made of several models has that of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.checkpoint.layout import require
from dyntree.errors import ArgumentError

LENGTH = 16  # bytes


def origin_of(seed: int, *rows: NDArray[Any]) -> str:
    """A fingerprint of a seed and of first rows, the same on all machines."""
    found = hashlib.blake2b(str(seed).encode(), digest_size=LENGTH)
    for array in rows:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def origins_from_header(stored: Any) -> tuple[str, ...]:
    """The origins in a header, checked."""
    require(isinstance(stored, list) and len(stored) > 0, "origins")
    for one in stored:
        require(isinstance(one, str) and len(one) == 2 * LENGTH, "origins as text")
        require({*one} <= {*"0123456789abcdef"}, "origins in hexadecimal digits")
    require(len({*stored}) == len(stored), "origins, each once")
    return tuple(stored)


def joined_origins(origins: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The origins of several models that become one.

    Raises
    ------
    ValueError
        If two of them share one: what they have both learned would count twice.
    """
    every = tuple(one for own in origins for one in own)
    if len({*every}) != len(every):
        raise ArgumentError(
            "models",
            "must have learned apart from their first rows on; two of them share a "
            "past, as copies of one model do, and it would count twice",
            remedy=(
                "Let one model learn what both have learned, or begin each with rows "
                "of its own."
            ),
        )
    return every
