"""What a small-variance mixture has learned, as one record that is swapped whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.rows import no_rows


@dataclass(frozen=True, eq=False)
class State:
    """Columns, rows that wait for scales, scales in force, and clusters.

    Attributes
    ----------
    features : FeatureMap or None
        Columns; None before the first row.
    waiting : ndarray of shape (n_waiting, n_features)
        Rows held back until scales are chosen.
    lambda_ : float or None
        Cost of a new cluster.
    noise : float or None
        Standard deviation of the noise, where clusters need one.
    clusters : Spheres, Subspaces or None
        Those of the kernel, which learns rows in place, whole rows at a time.
    """

    features: FeatureMap | None = None
    waiting: Matrix = field(default_factory=no_rows)
    lambda_: float | None = None
    noise: float | None = None
    clusters: Any = None

    @property
    def n_seen(self) -> int:
        """Rows that have come."""
        return len(self.waiting) if self.clusters is None else self.clusters.n_rows

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held = 0 if self.clusters is None else self.clusters.memory_usage()
        return int(held) + self.waiting.nbytes
