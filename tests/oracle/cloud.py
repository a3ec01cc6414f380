"""The cloud: all particles, and one step of the filter over them.

For each row the cloud weighs its particles by their predictive density, resamples
them, and lets each add the row and move.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np

from tests.oracle import ieee
from tests.oracle.leaf import Leaf, Pool, Rules
from tests.oracle.stream import RSource
from tests.oracle.tree import Node, Tree

Report = Callable[[int, int, int, float, float, float, float, float], None]


class Cloud:
    """Particles over one pool of rows.

    Parameters
    ----------
    source : RSource
        Where all random numbers come from.
    model : {"constant", "linear", "class", "prior"}
    n_features : int
        Columns, an augmented column of ones included.
    n_particles, min_leaf : int
    tree_prior : tuple of float
        Probability alpha * (1 + depth)**-beta of a split.
    proposal : {"luvar", "luall", "reject"}
    variance_prior : tuple of float
        nu0 and s20.
    intercept : bool
        Whether the leaf has an implicit intercept.
    n_basis : int, optional
        Leading columns in the linear leaf.
    first_split : int
        First column that may be split on.
    n_classes : int
    """

    def __init__(
        self,
        source: RSource,
        *,
        model: str,
        n_features: int,
        n_particles: int,
        min_leaf: int,
        tree_prior: tuple[float, float] = (0.95, 2.0),
        proposal: str = "luvar",
        variance_prior: tuple[float, float] = (0.0, 0.0),
        intercept: bool = True,
        n_basis: int | None = None,
        first_split: int = 0,
        n_classes: int = 0,
    ) -> None:
        self.source = source
        self.n_target = n_particles
        self.rules = Rules(
            model=model,
            m=n_features,
            q=n_features if n_basis is None else n_basis,
            icept=int(intercept),
            minp=min_leaf,
            smin=first_split,
            a=float(tree_prior[0]),
            b=float(tree_prior[1]),
            nu0=float(variance_prior[0]),
            s20=float(variance_prior[1]),
            proposal=proposal,
            n_classes=n_classes,
        )
        self.pool = Pool(self.rules)
        self.trees: list[Tree] = []

    # Growing ------------------------------------------------------------------

    def start(self, X, y) -> None:
        """Plant identical single-leaf trees on the first rows. No draws."""
        if self.trees:
            raise ValueError("start needs an empty cloud; this one has rows.")
        self._append(X, y)
        self.trees = self._plant(len(self.pool.y), self.n_target)

    def _plant(self, n: int, n_trees: int) -> list[Tree]:
        first = Tree.planted(self.pool, n)
        return [first] + [first.clone(self.pool) for _ in range(n_trees - 1)]

    def update(self, X, y, every: int = 0, report: Report | None = None) -> np.ndarray:
        """Add rows one at a time: weigh, resample, propagate.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
        every : int
            If positive, call `report` at every so many rows.
        report : callable, optional

        Returns
        -------
        lpred : ndarray of shape (n_rows,)
            Log predictive density of each row given those before.
        """
        if not self.trees:
            raise ValueError("update needs a cloud with rows; call start first.")
        start = len(self.pool.y)
        self._append(X, y)
        lpred = [self._step(t, every, report) for t in range(start, len(self.pool.y))]
        return np.array(lpred, dtype=np.float64)

    def _append(self, X, y) -> None:
        X = np.asarray(X, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.rules.m or y.shape != (X.shape[0],):
            raise ValueError(
                f"X must be (n, {self.rules.m}) and y (n,); got {X.shape}, {y.shape}."
            )
        labels = range(self.rules.n_classes)
        if self.rules.model == "class" and not all(label in labels for label in y):
            raise ValueError(f"labels must be in 0..{self.rules.n_classes - 1}.")
        pool = self.pool
        first = len(pool.y) + pool.n_retired
        pool.x.extend(X.tolist())
        pool.y.extend(y.tolist())
        pool.ids.extend(range(first, first + len(y)))

    def _step(self, t: int, every: int, report: Report | None) -> float:
        pool = self.pool
        lpred, variance, kept = 0.0, 0.0, len(self.trees)
        if len(self.trees) != 1:
            weights, total, variance = self._weigh(t)
            if variance > 0.0:
                kept = self._resample(weights)
            lpred = ieee.log(total) - math.log(len(self.trees))
        seen = t + 1 + pool.n_retired
        if every > 0 and report is not None and seen % every == 0:
            report(t + 1, pool.n_retired, kept, variance, *self.tree_stats())
        for tree in self.trees:
            tree.propagate(t, self.source)
        return lpred

    def _weigh(self, t: int) -> tuple[list[float], float, float]:
        """Return normalised weights, the sum of densities, the weight variance."""
        x, y = self.pool.x[t], self.pool.y[t]
        n = len(self.trees)
        weights = []
        total = 0.0
        for tree in self.trees:
            weight = tree.leaf_at(x).density(x, y)
            weights.append(weight)
            total += weight
        norm = total
        if norm == 0.0 or norm != norm:
            weights, norm = [1.0 / n] * n, 1.0
        mean = square = 0.0
        for i in range(n):
            weights[i] = w = weights[i] / norm
            mean += w
            square += w * w
        mean = mean / n
        variance = square / n - mean * mean
        return weights, total, 0.0 if variance < 0.0 else variance

    def _resample(self, weights: list[float]) -> int:
        """Residual resampling to n_target particles; return how many survive."""
        n_target = self.n_target
        expected = [w * n_target for w in weights]
        whole = [int(e) for e in expected]
        slots = [i for i, times in enumerate(whole) for _ in range(times)]
        rest = n_target - len(slots)
        if rest > 0:
            cumulated = []
            total = 0.0
            for e, times in zip(expected, whole, strict=True):
                total += (e - times) / rest
                cumulated.append(total)
            if cumulated[-1] < 1.0:
                cumulated[-1] = 1.0
            for _ in range(rest):
                u = self.source.uniform()
                slots.append(bisect_left(cumulated, u))
        trees: list[Tree] = []
        used: set[int] = set()
        for index in slots:
            tree = self.trees[index]
            trees.append(tree.clone(self.pool) if index in used else tree)
            used.add(index)
        self.trees = trees
        return len(used)

    # Shrinking and refreshing ---------------------------------------------------

    def retire(self, positions, forget: float = 1.0) -> None:
        """Retire rows by their positions before the call.

        Parameters
        ----------
        positions : sequence of int
            Distinct positions, taken in this order.
        forget : float
            Factor on what the leaf of each row had retired before.
        """
        pool = self.pool
        queue = [int(position) for position in positions]
        if len(set(queue)) != len(queue):
            raise ValueError("positions must be distinct.")
        if any(not 0 <= position < len(pool.y) for position in queue):
            raise ValueError(f"positions must be in 0..{len(pool.y) - 1}.")
        if self.rules.model == "linear" and self.rules.icept and queue:
            raise ValueError("rows of implicit linear leaves cannot be retired.")
        for k, hole in enumerate(queue):
            for tree in self.trees:
                tree.retire(hole, forget)
            last = len(pool.y) - 1
            pool.x[hole], pool.y[hole] = pool.x[last], pool.y[last]
            pool.ids[hole] = pool.ids[last]
            pool.x.pop()
            pool.y.pop()
            pool.ids.pop()
            pool.n_retired += 1
            for later in range(k + 1, len(queue)):
                if queue[later] == last:
                    queue[later] = hole
                    break

    def rejuvenate(
        self, destinations, every: int = 0, report: Report | None = None
    ) -> None:
        """Permute the rows and append fresh particles grown on them.

        Parameters
        ----------
        destinations : sequence of int
            Where each row goes; a permutation of 0..n-1.
        every, report
            As in `update`.
        """
        pool = self.pool
        n = len(pool.y)
        places = [int(place) for place in destinations]
        if sorted(places) != list(range(n)):
            raise ValueError(f"destinations must be a permutation of 0..{n - 1}.")
        for tree in self.trees:
            tree.renumber(places)
        origin = [0] * n
        for old, new in enumerate(places):
            origin[new] = old
        pool.x = [pool.x[i] for i in origin]
        pool.y = [pool.y[i] for i in origin]
        pool.ids = [pool.ids[i] for i in origin]
        old_trees = self.trees
        first = min(self.rules.minp, n - 1)
        self.trees = self._plant(first, self.n_target)
        for t in range(first, n):
            self._step(t, every, report)
        self.trees = old_trees + self.trees

    def copy(self, source: RSource | None = None) -> Cloud:
        """Deep copy, caches included, drawing from `source` or the same source."""
        other = Cloud.__new__(Cloud)
        other.source = self.source if source is None else source
        other.n_target = self.n_target
        other.rules = self.rules
        other.pool = self.pool.copy()
        other.trees = [tree.clone(other.pool) for tree in self.trees]
        return other

    # Looking ------------------------------------------------------------------

    def tree_stats(self) -> tuple[float, float, float, float]:
        """Average height, leaves, active leaf size and retired leaf size."""
        height = leaves = size = retired = 0.0
        for tree in self.trees:
            own = tree.leaves()
            height += tree.root.height()
            leaves += len(own)
            size += sum(len(leaf.rows) for leaf in own) / len(own)
            retired += sum(leaf.retired for leaf in own) / len(own)
        n = len(self.trees)
        if self.pool.n_retired == 0:
            retired = 0.0
        return height / n, leaves / n, size / n, retired / n

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the active rows in internal order: (n, m) and (n,)."""
        x = np.array(self.pool.x, dtype=np.float64).reshape(-1, self.rules.m)
        return x, np.array(self.pool.y, dtype=np.float64)

    def row_ids(self) -> np.ndarray:
        """Permanent row numbers in internal order: ndarray of shape (n,), int64."""
        return np.array(self.pool.ids, dtype=np.int64)

    def tree(self, i: int) -> tuple:
        """Particle i as nested tuples."""
        return self._describe(self.trees[i].root)

    def _describe(self, node: Node) -> tuple:
        if node.leaf is None:
            left, right = self._describe(node.left), self._describe(node.right)
            return "split", node.depth, node.variable, node.value, left, right
        leaf: Leaf = node.leaf
        ids = tuple(self.pool.ids[row] for row in leaf.rows)
        return "leaf", node.depth, ids, leaf.retired, leaf.log_evidence()

    @property
    def n_active(self) -> int:
        """Active rows: those in memory one by one."""
        return len(self.pool.y)

    @property
    def n_retired(self) -> int:
        """Rows ever retired."""
        return self.pool.n_retired

    @property
    def n_particles(self) -> int:
        """Particles now."""
        return len(self.trees)

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.rules.m

    @property
    def n_classes(self) -> int:
        """Class labels; 0 unless the model is "class"."""
        return self.rules.n_classes

    @property
    def n_basis(self) -> int:
        """Leading columns in the linear leaf."""
        return self.rules.q

    @property
    def first_split(self) -> int:
        """First column that may be split on."""
        return self.rules.smin

    @property
    def model(self) -> str:
        """Kind of leaf."""
        return self.rules.model

    @property
    def intercept(self) -> bool:
        """Whether the leaf has an implicit intercept."""
        return bool(self.rules.icept)
