"""The state of one key, and of the rows of a block that shared streams wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.streaming import StreamingTree


@dataclass
class KeyState:
    """What is known of one key.

    Attributes
    ----------
    n_rows : int
        Rows of the key.
    position : int or None
        Of its last row in the user's source, if rows had positions.
    log_weights : ndarray of shape (n_members,)
    level : ndarray of shape (2, n_sums)
        See `laws`.
    past : ndarray of shape (n_past,)
        Its history; see `laws`.
    tree : StreamingTree or None
        Its own; None while it has no row, or where keys have none.
    snapshot : str or None
        The snapshot of shared streams beside which it learned last; see
        `KeyedStream.snapshot`.
    """

    n_rows: int
    position: int | None
    log_weights: Vector
    level: Matrix
    past: Vector
    tree: StreamingTree | None = None
    snapshot: str | None = None

    def copy(self) -> KeyState:
        """Return an independent state."""
        return KeyState(
            self.n_rows, self.position, self.log_weights.copy(), self.level.copy(),
            self.past.copy(), None if self.tree is None else self.tree.copy(),
            self.snapshot,
        )  # fmt: skip


@dataclass
class Waiting:
    """Rows of a block, which shared streams learn at its end.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : list
        Responses, counts with exposures, or labels, as models learn them.
    at : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Levels before the rows; see `laws.Levels`, as for `misses` and `past`.
    past : ndarray of shape (n_rows, n_past)
    misses : ndarray of shape (n_rows, 24)
    ages : ndarray of int64 of shape (n_rows,)
        Groups of the keys by their rows.
    log_densities : ndarray of shape (n_rows, n_members)
    """

    X: Matrix
    y: list[Any]
    at: NDArray[Any]
    past: Matrix
    misses: Matrix
    ages: NDArray[np.int64]
    log_densities: Matrix


def joined_rows(parts: Sequence[Waiting], features: FeatureMap) -> Waiting:
    """Rows of a block as one, with all columns and labels of the last."""
    width = parts[-1].at.shape[1] if parts[-1].at.ndim == 2 else 0

    def all_labels(at: NDArray[Any]) -> NDArray[Any]:
        return np.pad(at, ((0, 0), (0, width - at.shape[1])), constant_values=1.0)

    def all_counts(past: Matrix) -> Matrix:
        wide = np.zeros((len(past), parts[-1].past.shape[1]))
        wide[:, : past.shape[1] - 1], wide[:, -1] = past[:, :-1], past[:, -1]
        return wide

    return Waiting(
        np.concatenate([features.widen(part.X) for part in parts]),
        [label for part in parts for label in part.y],
        np.concatenate([all_labels(p.at) if width else p.at for p in parts]),
        np.concatenate([all_counts(part.past) for part in parts]),
        np.concatenate([part.misses for part in parts]),
        np.concatenate([part.ages for part in parts]),
        np.concatenate([part.log_densities for part in parts]),
    )
