"""Points and clumps of rows of numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Expected, Family
from dyntree.mixtures.hdp.store import ASIDE, Longs, Store, added
from dyntree.mixtures.shared.arrays import Arrays


class RowStore(Store):
    """Single points x, and clumps by their mean and centred scatter."""

    family: Any  # a Gaussian one
    stored = (
        "singlet_x", "singlet_group", "clump_count", "clump_mean", "clump_scatter",
        "clump_indptr", "clump_group", "clump_group_count",
    )  # fmt: skip

    @classmethod
    def of(
        cls, family: Family, rows: Any, group: Any, weight: Vector | None = None
    ) -> Self:
        """Store rows as points, or as clumps of so many equal points."""
        rows, group = np.ascontiguousarray(rows), np.asarray(group, dtype=np.int32)
        if weight is None:
            return cls.from_arrays(family, {"singlet_x": rows, "singlet_group": group})
        weight = np.asarray(weight, dtype=np.float64)
        arrays = {
            "clump_count": weight,
            "clump_mean": rows,
            "clump_scatter": np.zeros((len(rows), family.n_second)),
            "clump_indptr": np.arange(len(rows) + 1, dtype=np.int64),
            "clump_group": group,
            "clump_group_count": weight,
        }
        return cls.from_arrays(family, arrays)

    @property
    def points(self) -> Matrix:
        """Rows of single points."""
        return self.x

    @property
    def point_counts(self) -> Vector:
        """1 for each single point."""
        return np.ones(self.n_points)

    def positions(self, items: Longs) -> Matrix:
        """Points, or means of clumps."""
        single, joint = self.split_items(items)
        out = np.empty((len(items), self.family.d))
        out[single] = self.x[items[single]]
        out[joint] = self.clump_mean[items[joint] - self.n_points]
        return out

    def moments(self, items: Longs, share: Vector) -> tuple[float, Vector, Vector]:
        """Count, mean and scatter of items, of which a share counts."""
        single, joint = self.split_items(items)
        points, clumps = items[single], items[joint] - self.n_points
        weight = share * self.weights[items]
        N = float(weight.sum())
        where = np.concatenate([self.x[points], self.clump_mean[clumps]])
        by = np.concatenate([weight[single], weight[joint]])
        mean = by @ where / N
        scatter = by @ self.family.outer(where - mean)
        scatter += share[joint] @ self.clump_scatter[clumps]
        return N, mean, scatter

    def add_log_odds(
        self, logit: Vector, items: Longs, expected: Expected, a: int, b: int
    ) -> None:
        """Add log odds of topic a against b, by content alone, for some items."""
        _, joint = self.split_items(items)
        clumps = items[joint] - self.n_points
        x = self.positions(items)
        within = np.zeros((len(items), self.family.n_second))
        within[joint] = self.clump_scatter[clumps] / self.clump_count[clumps][:, None]
        logit += self.family.item_logs(expected, x, within, a)
        logit -= self.family.item_logs(expected, x, within, b)

    def singles(self, places: Any, group: Any) -> Self:
        """A store of some of the single points, of these groups."""
        return self.of(self.family, self.x[places], group)

    def put_aside(self, before: Self, rng: np.random.Generator) -> tuple[Self, Self]:
        """The store without a tenth of the latest points, and these points."""
        new = slice(before.n_points, None)
        x, group = self.x[new], self.group[new]
        gone = rng.random(len(group)) < ASIDE
        mine = self.of(self.family, x[~gone], group[~gone])
        rest = self.of(self.family, x[gone], group[gone])
        if self.n_clumps > before.n_clumps:  # rows that have weights
            new = slice(before.n_clumps, None)
            x, weight = self.clump_mean[new], self.clump_count[new]
            group = self.clump_group[self.clump_indptr[:-1][new]]
            gone = rng.random(len(weight)) < ASIDE
            mine = mine.joined(
                self.of(self.family, x[~gone], group[~gone], weight[~gone])
            )
            rest = rest.joined(self.of(self.family, x[gone], group[gone], weight[gone]))
        return before.joined(mine), rest

    def on_scale(self, ratio: Vector, offset: Vector) -> Self:
        """The store in other units."""
        arrays = self.arrays() | {
            "singlet_x": self.x * ratio + offset,
            "clump_mean": self.clump_mean * ratio + offset,
            "clump_scatter": self.clump_scatter * self.family.outer(ratio),
        }
        return self.from_arrays(self.family, arrays)

    def content(self, items: Longs, clump: Longs, count: Vector, stay: Longs) -> Arrays:
        """Rows that stay; means and scatters of clumps."""
        _, joint = self.split_items(items)
        n_clumps = len(count)
        where, weight = self.positions(items), self.weights[items]
        mean = np.empty((n_clumps, self.family.d))
        for j in range(self.family.d):
            mean[:, j] = added(clump, weight * where[:, j], n_clumps)
        mean /= count[:, None]
        where -= mean[clump]
        scatter = np.empty((n_clumps, self.family.n_second))
        within, own = self.clump_scatter[items[joint] - self.n_points], clump[joint]
        for j, (a, b) in enumerate(zip(*self.family.pairs, strict=True)):
            each = weight * where[:, a] * where[:, b]
            scatter[:, j] = added(clump, each, n_clumps)
            scatter[:, j] += added(own, within[:, j], n_clumps)
        return {"singlet_x": self.x[stay], "clump_mean": mean, "clump_scatter": scatter}
