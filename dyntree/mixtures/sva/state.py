"""What a small-variance mixture has learned, as one record that is swapped whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.rows import no_rows


@dataclass(frozen=True, eq=False)
class State:
    """Columns, rows that wait for scales, scales in force, and clusters."""

    features: FeatureMap | None = None
    waiting: Matrix = field(default_factory=no_rows)  # until scales are chosen
    ends: tuple[int, ...] = ()  # of sequences, among the rows that wait
    lambda_: float | None = None
    noise: float | None = None  # where clusters need one
    clusters: Any = None  # of the kernel, which learns rows in place, each as a whole

    @property
    def n_seen(self) -> int:
        """Rows that have come."""
        return len(self.waiting) if self.clusters is None else self.clusters.n_rows

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        n_bytes = 0 if self.clusters is None else self.clusters.memory_usage()
        return int(n_bytes) + self.waiting.nbytes
