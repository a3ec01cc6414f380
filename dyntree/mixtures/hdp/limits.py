"""Limits on bytes, items, groups and topics (section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from dyntree.errors import ArgumentError
from dyntree.mixtures.hdp.families import Family


@dataclass(frozen=True)
class Limits:
    """Bounds on what is stored; None where there is none."""

    memory: int | None = None
    items: int | None = None
    groups: int | None = None

    def check_least(self, family: Family, fixed: int) -> None:
        """Raise ValueError where one topic, one group and one clump do not fit."""
        clump = family.clump_bytes(1, family.n_words)  # which may hold every word
        least = fixed + family.topic_bytes + 16 + clump + family.pointer_bytes
        if self.memory is not None and self.memory < least:
            raise ArgumentError(
                "memory_limit",
                "must be >= {least} bytes for {described_width}, family={label!r}",
                self.memory,
                least=least,
                described_width=family.described_width,
                label=family.name,
            )

    def most_groups(self, S: int, K: int, fixed: int) -> int:
        """Groups that may stay: half of the memory is theirs at most."""
        most = S if self.groups is None else min(S, self.groups)
        if self.memory is not None:
            room = (self.memory - fixed) // 2 // (8 + 8 * K)
            most = min(most, max(1, room))
        return most

    def most_topics(self, family: Family, S: int, fixed: int) -> int:
        """Most topics that the limits leave room for (section 5.3)."""
        most = 2**31 if self.items is None else self.items
        if self.memory is not None:
            most_groups = S if self.groups is None else min(S, self.groups)
            groups = max(1, min(most_groups, isqrt(self.memory // 16)))
            room = self.memory - fixed - 8 * groups - family.pointer_bytes
            each = family.topic_bytes + 8 * groups + family.smallest_clump
            most = min(most, max(1, room // each))
        return most

    def bytes_left(self, family: Family, K: int, S: int, fixed: int) -> float:
        """Bytes for points and clumps, without the first entries of row pointers."""
        if self.memory is None:
            return np.inf
        own = K * family.topic_bytes + 8 * S * (1 + K)
        return float(self.memory - fixed - own - family.pointer_bytes)


class BudgetError(ValueError):
    """A limit that not even one topic, one group and one clump can meet."""

    def __init__(self, needed: int, left: float) -> None:
        super().__init__(f"{needed} bytes do not fit in {left}")
        self.missing = int(needed - left)
