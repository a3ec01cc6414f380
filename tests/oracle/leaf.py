"""Leaves: the sums they keep, their evidence and their predictive density.

A leaf holds the ordered list of its active rows and, for rows no longer held, a
retired weight and retired sums.  The order of rows matters: sums run along it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.oracle import ieee, linear
from tests.oracle.density import t_density

EPS = 2.220446049250313e-16
_LOG_2_OVER_PI = math.log(2.0 / math.pi)  # R has 2/pi where 2*pi is meant


@dataclass(frozen=True, slots=True)
class Rules:
    """What never changes in the life of a cloud; symbols as in the text."""

    model: str
    m: int
    q: int
    icept: int
    minp: int
    smin: int
    a: float
    b: float
    nu0: float
    s20: float
    proposal: str
    n_classes: int


class Pool:
    """The active rows, shared by all trees of a cloud.

    Attributes
    ----------
    x : list of list of float
        Rows in internal order.
    y : list of float
        Responses, or class labels from 0.
    ids : list of int
        Permanent numbers of the rows.
    n_retired : int
        How many rows were ever retired.
    """

    __slots__ = ("ids", "n_retired", "rules", "x", "y")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.x: list[list[float]] = []
        self.y: list[float] = []
        self.ids: list[int] = []
        self.n_retired = 0

    def copy(self) -> Pool:
        """Deep copy."""
        other = Pool(self.rules)
        other.x = [row[:] for row in self.x]
        other.y = self.y[:]
        other.ids = self.ids[:]
        other.n_retired = self.n_retired
        return other


class Leaf:
    """What the leaves of all models share.

    Attributes
    ----------
    rows : list of int
        Positions of the active rows, in order (p).
    retired : float
        Retired weight (g_l).
    cache : list of float or None
        Active-learning statistic of each entry of rows, as last computed (al).
    """

    __slots__ = ("_evidence", "cache", "pool", "retired", "rows")

    def __init__(self, pool: Pool, rows: list[int]) -> None:
        self.pool = pool
        self.rows = rows
        self.retired = 0.0
        self.cache: list[float] | None = None
        self._changed()

    def _changed(self) -> None:
        self._evidence: float | None = None

    def clone(self, pool: Pool) -> Leaf:
        """Deep copy that reads its rows from `pool`."""
        other = type(self).__new__(type(self))
        other.pool = pool
        other.rows = self.rows[:]
        other.retired = self.retired
        other.cache = None if self.cache is None else self.cache[:]
        other._evidence = self._evidence
        self._copy_sums(other)
        return other

    def child(self, rows: list[int]) -> Leaf:
        """A new leaf on some of the rows, with its share of the retired sums."""
        leaf = type(self)(self.pool, rows)
        if self.retired > 0.0:
            leaf.retired = (len(rows) / len(self.rows)) * self.retired
            if leaf.retired > 0.0:
                leaf._inherit(self, leaf.retired / self.retired)
        leaf.build()
        return leaf

    @classmethod
    def pooled(cls, leaves: list[Leaf]) -> Leaf:
        """One leaf in place of several, taken from left to right."""
        pool = cls(leaves[0].pool, [row for leaf in leaves for row in leaf.rows])
        for leaf in leaves:
            pool.retired += leaf.retired
        pool._pool(leaves)
        return pool

    def retire(self, row: int, forget: float) -> None:
        """Move a row from the active to the retired sums."""
        place = self.rows.index(row)
        self.rows[place] = self.rows[-1]
        self.rows.pop()
        if self.cache is not None:
            self.cache[place] = self.cache[-1]
            self.cache.pop()
        self.retired = forget * self.retired + 1.0
        self._retire(row, forget)
        self._changed()

    def add(self, row: int) -> None:
        """Append a row."""
        self.rows.append(row)
        self.cache = None
        self._add(row)
        self._changed()

    def log_evidence(self) -> float:
        """Log marginal likelihood ("post")."""
        if self._evidence is None:
            self._evidence = self._log_evidence()
        return self._evidence


class RegressionLeaf(Leaf):
    """Constant leaf, and the regression core of the linear ones.

    sy, syy are the sums of y and y^2 over active rows, retired_sy and retired_syy the
    same over retired ones; sy stays 0 without an implicit intercept.  fit is the least
    squares of a linear leaf, else None.
    """

    __slots__ = ("_moments", "fit", "retired_sy", "retired_syy", "sy", "syy")

    def __init__(self, pool: Pool, rows: list[int]) -> None:
        super().__init__(pool, rows)
        self.sy = self.syy = self.retired_sy = self.retired_syy = 0.0
        self.fit: linear.Fit | None = None

    def _changed(self) -> None:
        self._evidence = None
        self._moments = None

    def _copy_sums(self, other: RegressionLeaf) -> None:
        other.sy, other.syy = self.sy, self.syy
        other.retired_sy, other.retired_syy = self.retired_sy, self.retired_syy
        other.fit = self.fit  # a value: replaced, never changed
        other._moments = self._moments

    def _inherit(self, parent: RegressionLeaf, share: float) -> None:
        self.retired_sy = share * parent.retired_sy
        self.retired_syy = share * parent.retired_syy

    def build(self) -> None:
        """Compute the active sums from scratch."""
        y = self.pool.y
        sy = syy = 0.0
        for row in self.rows:
            sy += y[row]
            syy += y[row] * y[row]
        if self.pool.rules.icept:
            self.sy = sy
        self.syy = 0.0 if syy < EPS else syy

    def _pool(self, leaves: list[RegressionLeaf]) -> None:
        for leaf in leaves:
            self.sy += leaf.sy
            self.syy += leaf.syy
            self.retired_sy += leaf.retired_sy
            self.retired_syy += leaf.retired_syy

    def _add(self, row: int) -> None:
        y = self.pool.y[row]
        self.syy += y * y
        if self.pool.rules.icept:
            self.sy += y

    def _retire(self, row: int, forget: float) -> None:
        y = self.pool.y[row]
        icept = self.pool.rules.icept
        if not self.rows:
            self.sy = self.syy = 0.0
        else:
            self.syy -= y * y
            if icept:
                self.sy -= y
        if icept:
            self.retired_sy = forget * self.retired_sy + y
        self.retired_syy = forget * self.retired_syy + y * y

    def moments(self) -> tuple[float, float, float, float, float]:
        """Return (df, Q, mu, Q0, d): the posterior of level and variance."""
        if self._moments is not None:
            return self._moments
        rules, g, n = self.pool.rules, self.retired, len(self.rows)
        d, explained = rules.icept, 0.0
        if self.fit is not None:
            explained = self.fit.explained
            if explained > 0.0:
                d += rules.q
        q0 = rules.nu0 * rules.s20 + self.retired_syy
        if g > 0.0:
            q0 = q0 - (self.retired_sy * self.retired_sy) / g
        ybar = self.sy / n if n > 0 else 0.0
        q1 = self.syy - n * (ybar * ybar)
        if g > 0.0 and n > 0:
            gap = ybar - self.retired_sy / g
            q0 = q0 + ((g * n) * (gap * gap)) / (g + n)
        df = ((rules.nu0 + g) + n) - d
        q = (q1 - explained) + q0
        mu = ybar if g <= 0.0 else (self.retired_sy + self.sy) / (g + n)
        self._moments = (df, q, mu, q0, d)
        return self._moments

    def _log_evidence(self) -> float:
        df, q, _, q0, d = self.moments()
        if q <= 0.0:
            return -math.inf
        rules, g, n = self.pool.rules, self.retired, len(self.rows)
        post = -0.5 * ((n - d) * _LOG_2_OVER_PI)
        if rules.icept:
            if n > 0:
                post -= 0.5 * math.log(n)
            if g > 0.0:
                post += 0.5 * math.log(g)
        post -= 0.5 * df * ieee.log(0.5 * q)
        post += ieee.log_gamma(0.5 * df)
        w = rules.nu0 + g
        if w > 0.0 and q0 > 0.0:
            post += 0.5 * w * math.log(0.5 * q0) - ieee.log_gamma(0.5 * w)
        if self.fit is not None:
            post += 0.5 * self.fit.log_det
        return post

    def centre(self, x: list[float]) -> list[float]:
        """Return z, what multiplies the slopes; empty for constant leaves."""
        return []

    def lift(self, z: list[float]) -> list[float]:
        """Return A z."""
        return []

    def base(self) -> float:
        """Return I/(g + n)."""
        if not self.pool.rules.icept:
            return 0.0
        return ieee.divide(1.0, self.retired + len(self.rows))

    def at(self, x: list[float]) -> tuple[float, float]:
        """Return (mu, kappa) at x."""
        return self.moments()[2], self.base()

    def predictive(self, x: list[float]) -> tuple[float, float, float]:
        """Return (mu, sd, df) of the predictive t distribution at x."""
        df, q = self.moments()[:2]
        mu, kappa = self.at(x)
        return mu, ieee.sqrt(ieee.divide(q, ieee.divide(df, 1.0 + kappa))), df

    def density(self, x: list[float], y: float) -> float:
        """Predictive density of y at x; rounds x in place in implicit leaves."""
        df, q = self.moments()[:2]
        if q <= 0.0:
            return 0.0
        mu, kappa = self.at(x)
        self.drift(x)
        precision = ieee.sqrt(ieee.divide(df, 1.0 + kappa) / q)
        return t_density((y - mu) * precision, df) * precision

    def drift(self, x: list[float]) -> None:
        """Centre x and shift it back, in place (implicit leaves only)."""


class PriorLeaf(RegressionLeaf):
    """Sums of a constant leaf, but neither evidence nor density."""

    __slots__ = ()

    def _log_evidence(self) -> float:
        return 0.0

    def density(self, x: list[float], y: float) -> float:
        """Return 1, whatever the row."""
        return 1.0


class LinearLeaf(RegressionLeaf):
    """What linear leaves with and without an implicit intercept share."""

    __slots__ = ()

    def _columns(self) -> list[list[float]]:
        """The first q columns of the active rows, in order."""
        x = self.pool.x
        rows = [x[row] for row in self.rows]
        return [[row[k] for row in rows] for k in range(self.pool.rules.q)]

    def lift(self, z: list[float]) -> list[float]:
        """Return A z."""
        return linear.symmetric_product(self.fit.inverse, z)

    def at(self, x: list[float]) -> tuple[float, float]:
        """Return (mu, kappa) at x."""
        z = self.centre(x)
        kappa = self.base() + linear.dot(z, self.lift(z))
        return self.moments()[2] + linear.dot(z, self.fit.slope), kappa


class ImplicitLeaf(LinearLeaf):
    """Linear leaf about its own means, rebuilt from its rows at every change."""

    __slots__ = ("xbar",)

    def _copy_sums(self, other: ImplicitLeaf) -> None:
        super()._copy_sums(other)
        other.xbar = self.xbar

    def build(self) -> None:
        """Compute sums and least squares from scratch."""
        super().build()
        self._refit()

    def _pool(self, leaves: list[ImplicitLeaf]) -> None:
        super()._pool(leaves)
        self._refit()

    def _add(self, row: int) -> None:
        super()._add(row)
        self._refit()

    def _refit(self) -> None:
        n = len(self.rows)
        ybar = ieee.divide(self.sy, n)
        y = [self.pool.y[row] - ybar for row in self.rows]
        self.xbar = []
        centred = []
        for column in self._columns():
            total = 0.0
            for value in column:
                total += value
            mean = ieee.divide(total, n)
            self.xbar.append(mean)
            centred.append([value - mean for value in column])
        self.fit = linear.solve(linear.gram(centred), linear.cross(centred, y))

    def centre(self, x: list[float]) -> list[float]:
        """Return x - xbar, first q columns."""
        return [xk - mk for xk, mk in zip(x, self.xbar, strict=False)]

    def drift(self, x: list[float]) -> None:
        """Centre x and shift it back, in place."""
        for k, mean in enumerate(self.xbar):
            x[k] = (x[k] - mean) + mean


class ExplicitLeaf(LinearLeaf):
    """Linear leaf through the origin; a column of ones may serve as intercept.

    gram and cross are the total sums of x x' and y x, retired_gram and retired_cross
    their retired parts (None until needed).
    """

    __slots__ = ("cross", "gram", "retired_cross", "retired_gram")

    def __init__(self, pool: Pool, rows: list[int]) -> None:
        super().__init__(pool, rows)
        q = pool.rules.q
        self.gram, self.cross = linear.zeros(q), [0.0] * q
        self.retired_gram: linear.Matrix | None = None
        self.retired_cross: linear.Vector | None = None

    def _copy_sums(self, other: ExplicitLeaf) -> None:
        super()._copy_sums(other)
        other.gram, other.cross = self.gram, self.cross
        other.retired_gram = self.retired_gram
        other.retired_cross = self.retired_cross

    def _inherit(self, parent: ExplicitLeaf, share: float) -> None:
        super()._inherit(parent, share)
        self.retired_gram = linear.scale_matrix(parent.retired_gram, share)
        self.retired_cross = linear.scale_vector(parent.retired_cross, share)

    def build(self) -> None:
        """Compute sums and least squares from scratch."""
        super().build()
        self._sum_products()

    def _sum_products(self) -> None:
        columns = self._columns()
        y = [self.pool.y[row] for row in self.rows]
        self.gram, self.cross = linear.gram(columns), linear.cross(columns, y)
        if self.retired > 0.0:
            self.gram = linear.add_matrices(self.gram, self.retired_gram)
            self.cross = linear.add_vectors(self.cross, self.retired_cross)
        self._solve()

    def _solve(self) -> None:
        self.fit = linear.solve(self.gram, self.cross)
        self.gram = self.fit.gram  # a failed factorisation leaves zeros behind

    def _pool(self, leaves: list[ExplicitLeaf]) -> None:
        super()._pool(leaves)
        for leaf in leaves:
            self.gram = linear.add_matrices(self.gram, leaf.gram)
            self.cross = linear.add_vectors(self.cross, leaf.cross)
            if leaf.retired_gram is not None:
                self._need_retired()
                self.retired_gram = linear.add_matrices(
                    self.retired_gram, leaf.retired_gram
                )
                self.retired_cross = linear.add_vectors(
                    self.retired_cross, leaf.retired_cross
                )
        self._solve()

    def _need_retired(self) -> None:
        if self.retired_gram is None:
            q = self.pool.rules.q
            self.retired_gram, self.retired_cross = linear.zeros(q), [0.0] * q

    def _add(self, row: int) -> None:
        super()._add(row)
        x, y = self.pool.x[row], self.pool.y[row]
        self.gram = linear.add_outer(self.gram, x)
        self.cross = linear.add_scaled(self.cross, x, y)
        self._solve()

    def _retire(self, row: int, forget: float) -> None:
        super()._retire(row, forget)
        x, y = self.pool.x[row], self.pool.y[row]
        if self.retired == 1.0:
            self.retired_gram = None
        self._need_retired()
        self.retired_gram = linear.add_outer(
            linear.scale_matrix(self.retired_gram, forget), x
        )
        self.retired_cross = linear.add_scaled(
            linear.scale_vector(self.retired_cross, forget), x, y
        )
        if forget < 1.0:
            self._sum_products()

    def centre(self, x: list[float]) -> list[float]:
        """Return the first q columns of x."""
        return x[: self.pool.rules.q]


class ClassLeaf(Leaf):
    """Dirichlet leaf: active and retired counts per class, weight 1/C each."""

    __slots__ = ("counts", "retired_counts")

    def __init__(self, pool: Pool, rows: list[int]) -> None:
        super().__init__(pool, rows)
        self.counts = [0] * pool.rules.n_classes
        self.retired_counts = [0.0] * pool.rules.n_classes

    def _copy_sums(self, other: ClassLeaf) -> None:
        other.counts = self.counts[:]
        other.retired_counts = self.retired_counts[:]

    def _inherit(self, parent: ClassLeaf, share: float) -> None:
        self.retired_counts = [share * count for count in parent.retired_counts]

    def build(self) -> None:
        """Count the active rows."""
        for row in self.rows:
            self._add(row)

    def _pool(self, leaves: list[ClassLeaf]) -> None:
        for leaf in leaves:
            for k, count in enumerate(leaf.counts):
                self.counts[k] += count
                self.retired_counts[k] += leaf.retired_counts[k]

    def _add(self, row: int) -> None:
        self.counts[int(self.pool.y[row])] += 1

    def _retire(self, row: int, forget: float) -> None:
        label = int(self.pool.y[row])
        self.counts[label] -= 1
        if self.retired == 1.0:
            self.retired_counts = [0.0] * len(self.counts)
        self.retired_counts = [forget * count for count in self.retired_counts]
        self.retired_counts[label] += 1.0

    def _log_evidence(self) -> float:
        share, g = 1.0 / len(self.counts), self.retired
        post = -math.lgamma(len(self.rows) + g + 1.0)
        for count, retired in zip(self.counts, self.retired_counts, strict=True):
            post += math.lgamma(count + (retired + share))
        return post - len(self.counts) * math.lgamma(share)

    def probabilities(self) -> list[float]:
        """Predictive probability of each class."""
        share, total = 1.0 / len(self.counts), (1.0 + len(self.rows)) + self.retired
        return [
            ((count + retired) + share) / total
            for count, retired in zip(self.counts, self.retired_counts, strict=True)
        ]

    def density(self, x: list[float], y: float) -> float:
        """Predictive probability of the label y."""
        return self.probabilities()[int(y)]

    def entropy(self) -> float:
        """Entropy of the predictive probabilities."""
        total = 0.0
        for p in self.probabilities():
            total += p * math.log(p)
        return -total


def leaf_class(rules: Rules) -> type[Leaf]:
    """The kind of leaf these rules ask for."""
    if rules.model == "linear":
        return ImplicitLeaf if rules.icept else ExplicitLeaf
    kinds = {"constant": RegressionLeaf, "prior": PriorLeaf, "class": ClassLeaf}
    return kinds[rules.model]
