"""AverageView: the trees of several clouds, to look at one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.view import LeafView, SplitView, TreeView


def picked(sizes: Sequence[int], weights: Vector) -> NDArray[np.int64]:
    """Sizes and weights of clouds -> places of trees, as many from each as it weighs.

    Parameters
    ----------
    sizes : sequence of int
        Trees in each cloud.
    weights : ndarray of shape (n_clouds,)

    Returns
    -------
    ndarray of int64 of shape (sum(sizes),)
        Places in the clouds laid end to end: at the middles of as many equal parts of
        the weights (a systematic sample without chance).
    """
    n = sum(sizes)
    ends = np.cumsum(np.repeat(weights / np.array(sizes), sizes))
    middles = (np.arange(n) + 0.5) / n * ends[-1]
    return np.asarray(np.minimum(np.searchsorted(ends, middles), n - 1))


class AverageView(TreeView):
    """The trees of an average as they were when it was made.

    It has the attributes and methods of `TreeView`; its trees are taken from each
    member in proportion to its weight.

    Attributes
    ----------
    tree : TreeAverage
        A copy of the average, with all its methods.
    n_particles : int
        Number of trees of all members together.
    """

    def __init__(self, tree: Any, views: Sequence[TreeView], weights: Vector) -> None:
        self.tree, self._views = tree, list(views)
        sizes = [view.n_particles for view in views]
        self.n_particles = sum(sizes)
        self._places = picked(sizes, weights)
        self._homes = [(k, i) for k, size in enumerate(sizes) for i in range(size)]

    def encode(self, X: Any) -> Matrix:
        """Check rows and return their features, array of shape (n_rows, n_features)."""
        return self._views[0].encode(X)

    def rows(self) -> tuple[Matrix, NDArray[Any]]:
        """Rows of the member that holds most, and their responses or label places."""
        return max((view.rows() for view in self._views), key=lambda rows: len(rows[1]))

    def row_counts(self) -> Vector:
        """How often each of `rows` counts; see `TreeView`."""
        return max((view.row_counts() for view in self._views), key=len)

    def exposures(self) -> Vector | None:
        """Exposures of the counts of `rows`; see `TreeView`."""
        held = [view.exposures() for view in self._views]
        return max((one for one in held if one is not None), key=len, default=None)

    def spans(self) -> tuple[Vector, Vector]:
        """Lowest and highest value of each feature, each of shape (n_features,)."""
        low, high = zip(*(view.spans() for view in self._views), strict=True)
        return np.fmin.reduce(low), np.fmax.reduce(high)

    def shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Height and number of leaves of each tree, each of shape (n_particles,)."""
        height, leaves = zip(*(view.shapes() for view in self._views), strict=True)
        heights, n_leaves = np.concatenate(height), np.concatenate(leaves)
        return heights[self._places], n_leaves[self._places]

    def split_counts(self) -> NDArray[Any]:
        """Splits of each tree on each feature, shape (n_particles, n_features)."""
        found = np.concatenate([view.split_counts() for view in self._views])
        return np.asarray(found[self._places])

    def predictive(self, rows: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Location, scale and degrees of freedom of each tree; see `TreeView`."""
        parts = zip(*(view.predictive(rows) for view in self._views), strict=True)
        location, scale, df = (np.concatenate(part)[self._places] for part in parts)
        return location, scale, df

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and variance of a response by each tree; see `TreeView`."""
        parts = zip(*(view.moments(rows) for view in self._views), strict=True)
        mean, variance = (np.concatenate(part)[self._places] for part in parts)
        return mean, variance

    def count_log_density(self, rows: Matrix, y: Vector, exposure: Vector) -> Matrix:
        """Log probability of a count at each row by each tree; see `TreeView`."""
        parts = [view.count_log_density(rows, y, exposure) for view in self._views]
        return np.asarray(np.concatenate(parts)[self._places])

    def drawn(
        self, rows: Matrix, rng: np.random.Generator, exposure: Vector | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """One joint draw from each tree; see `TreeView.drawn`."""
        parts = [view.drawn(rows, rng, exposure) for view in self._views]
        mean, response = (
            np.concatenate(part)[self._places] for part in zip(*parts, strict=True)
        )
        return mean, response

    def proba(self, rows: Matrix) -> NDArray[np.float64]:
        """Each tree's probabilities, shape (n_particles, n_rows, n_classes)."""
        found = np.concatenate([view.proba(rows) for view in self._views])
        return np.asarray(found[self._places])

    def particle(self, particle: int) -> SplitView | LeafView:
        """Root of one tree; see `TreeView.particle`."""
        place = params.count("particle", particle, 0, self.n_particles - 1)
        member, own = self._homes[self._places[place]]
        root: SplitView | LeafView = self._views[member].particle(own)
        return root
