"""TreeView: the trees of a cloud one by one, for pictures, exports and recorders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.trees import query
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries import student_log_density
from dyntree.summaries.counts import CountMixture
from dyntree.trees.answers.draws import particle_draws
from dyntree.trees.answers.predictions import laws_with
from dyntree.trees.learning.check import stored
from dyntree.trees.learning.weights import Responses
from dyntree.trees.state import with_ones


@dataclass(frozen=True, eq=False)
class LeafView:
    """A leaf of one particle's tree.

    Attributes
    ----------
    depth : int
    n_rows : int
        Active rows in it.
    retired : float
        Weight of its retired rows.
    """

    depth: int
    n_rows: int
    retired: float


@dataclass(frozen=True, eq=False)
class SplitView:
    """A split of one particle's tree: rows with feature <= value go left.

    If the value is infinite, rows with a value of the feature go left, and rows in
    which it is missing go right.

    Attributes
    ----------
    depth : int
    feature : int
        Place of the feature.
    value : float
    left, right : SplitView or LeafView
    """

    depth: int
    feature: int
    value: float
    left: SplitView | LeafView
    right: SplitView | LeafView


class TreeView:
    """The particles of a `DynamicTree` at the time when the view was made.

    ``DynamicTree.frozen_view`` makes it. Rows are given as features, as `encode`
    returns them.

    Attributes
    ----------
    tree : DynamicTree
        A copy of the tree, with all its methods.
    n_particles : int
        Number of trees in the cloud. Right after a rejuvenation it is larger than the
        option of this name.
    """

    def __init__(self, tree: Any) -> None:
        self.tree, self._cloud = tree, tree.state.cloud
        self.n_particles: int = self._cloud.n_particles
        self._ones = tree.state.ones
        self._first: Any = slice(None)  # of the active pieces of each row
        self._row: NDArray[np.int64] | None = None  # of each piece, if there are some
        if tree.state.pieces is not None:
            ids = tree.state.row_ids()
            _, self._first, self._row = np.unique(
                ids, return_index=True, return_inverse=True
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_particles} particles>"

    def encode(self, X: Any) -> Matrix:
        """Check rows and return their features, array of shape (n_rows, n_features)."""
        return np.array(stored(self.tree.state, X)[:, self._ones :])

    def rows(self) -> tuple[Matrix, NDArray[Any]]:
        """Active rows as features, and their responses or places of labels."""
        X, y = self._cloud.rows()
        return np.asarray(X[self._first, self._ones :]), np.asarray(y[self._first])

    def row_counts(self) -> Vector:
        """How often each active row counts: its weight if weights are frequencies.

        Of shape (n_rows,).
        """
        weights = np.ones(self._cloud.n_active)
        if self._cloud.weighting == "frequency":
            weights = np.array(self._cloud.weights(), dtype=np.float64)
        if self._row is not None:
            return np.bincount(self._row, weights).astype(np.float64)
        return weights

    def exposures(self) -> Vector | None:
        """Exposures of the counts of `rows`, shape (n_rows,); None without counts."""
        if not self.tree.options.is_count:
            return None
        unit: float = self._cloud.prior_point["exposure_unit"]
        exposures = np.array(self._cloud.exposures(), dtype=np.float64) * unit
        return np.asarray(exposures[self._first])

    def spans(self) -> tuple[Vector, Vector]:
        """Lowest and highest value of each feature, each of shape (n_features,).

        They cover all rows learned; where the past fades, and under R's rules, only the
        active rows. They are infinite for features without any value.
        """
        low, high, _ = self._cloud.spans()
        return np.asarray(low[self._ones :]), np.asarray(high[self._ones :])

    def shapes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Height and number of leaves of each tree, each of shape (n_particles,)."""
        shapes = self._cloud.shapes()
        return shapes[:, 0].astype(np.int64), shapes[:, 1].astype(np.int64)

    def split_counts(self) -> NDArray[Any]:
        """Splits of each tree on each feature, shape (n_particles, n_features)."""
        return np.asarray(query.split_counts(self._cloud))[:, self._ones :]

    def gap_features(self) -> set[int]:
        """Indices of features where a split tests whether a value is missing."""
        found, nodes = set(), [self.particle(k) for k in range(self.n_particles)]
        while nodes:
            node = nodes.pop()
            if isinstance(node, SplitView):
                nodes += [node.left, node.right]
                if node.value == np.inf:
                    found.add(node.feature)
        return found

    def predictive(self, rows: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Location, scale and degrees of freedom of each tree's Student t.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        three ndarrays of shape (n_particles, n_rows)
        """
        if self.tree.is_classifier or self.tree.options.is_count:
            raise ArgumentError(
                "predictive",
                "needs real responses",
                Message("model={model!r}", model=self.tree.options.model),
            )
        location, scale, df = query.predictive(self._cloud, with_ones(rows, self._ones))
        return location, scale, df

    def moments(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and variance of a response under each tree, where variances are finite.

        Under native rules, small degrees of freedom are treated as in `Prediction.var`.
        The moments of counts are for an exposure of 1.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        two ndarrays of shape (n_particles, n_rows)
        """
        if not self.tree.options.is_count:
            location, scale, df = self.predictive(rows)
            df = np.maximum(df, LEAST_DF)
            return location, scale**2 * df / (df - 2.0)
        rate, laws = self._counts(rows, np.ones(len(rows)))
        return rate, laws.variances().reshape(rate.shape)

    def count_log_density(self, rows: Matrix, y: Vector, exposure: Vector) -> Matrix:
        """Log probability of a count at each row under each tree.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        y, exposure : ndarray of shape (n_rows,)
            Counts, and their exposures as users give them.

        Returns
        -------
        ndarray of shape (n_particles, n_rows)
        """
        rate, laws = self._counts(rows, exposure)
        return laws.log_density(np.tile(y, len(rate))).reshape(rate.shape)

    def _counts(self, rows: Matrix, exposure: Vector) -> tuple[Matrix, CountMixture]:
        """Rate by each tree at each row, and the laws of counts, one tree on another.

        The rate, of shape (n_particles, n_rows), is that of a unit of exposure.
        """
        if not self.tree.options.is_count:
            raise ArgumentError(
                "model",
                "must be of counts",
                Message("model={model!r}", model=self.tree.options.model),
            )
        cloud = self._cloud
        rate, first, second = query.predictive(cloud, with_ones(rows, self._ones))
        own = np.tile(exposure / cloud.prior_point["exposure_unit"], len(rate))
        parts = laws_with(
            cloud, np.arange(rate.size + 1), np.ones(rate.size), first.ravel(),
            second.ravel(), own,
        )  # fmt: skip
        return rate, CountMixture(*parts)

    def drawn(
        self, rows: Matrix, rng: np.random.Generator, exposure: Vector | None = None
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """One joint draw from each tree: means or probabilities, and responses.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        rng : Generator
        exposure : ndarray of shape (n_rows,), optional
            Of counts, as users give them; 1 by default.

        Returns
        -------
        mean : ndarray of shape (n_particles, n_rows), or (..., n_classes) for labels
        response : ndarray of shape (n_particles, n_rows)
            Real responses, counts, or places of labels, about these means.
        """
        which, features = np.arange(self.n_particles), with_ones(rows, self._ones)
        classes = self.tree.classes
        shape = (self.n_particles, len(rows))
        mean = np.empty(shape if classes is None else (*shape, len(classes)))
        response = np.empty(shape, np.float64 if classes is None else np.int64)
        for block in particle_draws(self._cloud, features, which, rng, exposure):
            mean[block.places] = block.mean
            response[block.places] = block.responses(rng)
        return mean, response

    def proba(self, rows: Matrix) -> NDArray[np.float64]:
        """Each tree's probabilities, shape (n_particles, n_rows, n_classes)."""
        if not self.tree.is_classifier:
            raise ArgumentError(
                "proba",
                "needs model='class'",
                Message("model={model!r}", model=self.tree.options.model),
            )
        features = with_ones(rows, self._ones)
        classes = range(len(self.tree.classes or ()))
        parts = [query.class_probabilities(self._cloud, k, features) for k in classes]
        return np.stack(parts, axis=2)

    def particle(self, particle: int) -> SplitView | LeafView:
        """Root of one particle's tree.

        Parameters
        ----------
        particle : int
            Below `n_particles`.

        Returns
        -------
        SplitView or LeafView
        """
        k = params.count("particle", particle, 0, self.n_particles - 1)
        return self._node(self._cloud.tree(k))

    def _node(self, node: tuple[Any, ...]) -> SplitView | LeafView:
        """A node of the core as a view, with all that is below."""
        if node[0] == "leaf":
            _, depth, rows, retired, _ = node
            return LeafView(depth, len(rows), retired)
        _, depth, variable, value, left, right = node
        below = self._node(left), self._node(right)
        return SplitView(depth, variable - self._ones, value, *below)


@dataclass(frozen=True)
class Rehearsal:
    """What a further row would do to the particles.

    Attributes
    ----------
    ess : float
        Effective sample size, ``sum(w)^2 / sum(w^2)``, of the weights that the row
        gives the particles, as a share of their number.
    n_distinct : float
        Share of the particles that survive resampling.
    grow, prune : float
        Shares whose tree gains or loses leaves.
    """

    ess: float
    n_distinct: float
    grow: float
    prune: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.ess, self.n_distinct, self.grow, self.prune))


def rehearsed(cloud: Any, row: Matrix, response: Responses) -> Rehearsal:
    """Report what a stored row would do to a cloud, by learning it on a copy."""
    cloud = cloud.copy(cloud.source.copy())
    n_before, shares = cloud.n_particles, _weights(cloud, row, response)
    seen: list[tuple[int, Vector]] = []
    cloud.update(
        row, response.y, 1, lambda *step: seen.append((step[2], cloud.shapes()[:, 1])),
        response.weights, response.exposures,
    )  # fmt: skip
    (n_distinct, before), after = seen[0], cloud.shapes()[:, 1]
    return Rehearsal(
        min(1.0, float(shares.sum() ** 2 / (shares**2).sum() / n_before)),
        n_distinct / n_before,
        float(np.mean(after > before)),
        float(np.mean(after < before)),
    )


def _weights(cloud: Any, row: Matrix, response: Responses) -> Vector:
    """Density or probability of a row under each particle, up to a factor."""
    y = response.y[0]
    if cloud.n_classes:
        return query.class_probabilities(cloud, int(y), row)[:, 0]
    location, scale, df = (part[:, 0] for part in query.predictive(cloud, row))
    if response.exposures is None:
        log_density = student_log_density(y - location, scale, df)
    else:
        exposure, one = response.exposures, np.ones(len(location))
        parts = laws_with(
            cloud, np.arange(len(one) + 1), one, scale, df, exposure * one
        )
        log_density = CountMixture(*parts).log_density(y * one)
    return np.asarray(np.exp(log_density - log_density.max()))
