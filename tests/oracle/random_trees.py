"""Random trees with all prunings averaged exactly, as plainly as possible."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import cos, exp, inf, isnan, lgamma, log, log1p, pi, sin
from typing import Any

import numpy as np

from tests.oracle.philox import Uniforms

CUTTING, REGROWING = 9, 10
MEAN_ROWS, SHAPE, LEAF_SHARE = 0.1, 1.5, 0.1
MOST_OPEN = 6


def clipped(odds: float) -> float:
    """Odds within the bounds that keep their exponential a number."""
    return min(max(odds, -300.0), 300.0)


@dataclass
class Counts:
    """Dirichlet-multinomial leaf of faded counts."""

    share: float
    n: Any

    def add(self, y: float, weight: float) -> None:
        """Count a label."""
        self.n[int(y)] += weight

    def fade(self, kept: float) -> None:
        """Let all counts fade."""
        self.n *= kept

    def together(self, other: Counts) -> Counts:
        """The rows of two."""
        return Counts(self.share, self.n + other.n)

    def is_pure(self) -> bool:
        """Whether one label has all."""
        return bool(max(self.n) >= sum(self.n) - 1e-3)

    def log_evidence(self) -> float:
        """Of all rows."""
        mass = self.share * len(self.n)
        found = lgamma(mass) - lgamma(mass + sum(self.n))
        return found + sum(lgamma(self.share + c) - lgamma(self.share) for c in self.n)

    def log_density(self, y: float) -> float:
        """Of one more label."""
        return float(np.log(self.proba()[int(y)]))

    def proba(self) -> Any:
        """Of each label."""
        return (self.n + self.share) / (self.n.sum() + self.share * len(self.n))


@dataclass
class Normal:
    """Normal-inverse-gamma leaf of faded sums of (y - mean)."""

    mean: float
    variance: float
    n: float = 0.0
    total: float = 0.0
    square: float = 0.0

    def add(self, y: float, weight: float) -> None:
        """Count a response."""
        off = y - self.mean
        self.n += weight
        self.total += weight * off
        self.square += weight * off * off

    def fade(self, kept: float) -> None:
        """Let all sums fade."""
        self.n, self.total, self.square = (
            kept * self.n, kept * self.total, kept * self.square
        )  # fmt: skip

    def together(self, other: Normal) -> Normal:
        """The rows of two."""
        return Normal(
            self.mean, self.variance, self.n + other.n, self.total + other.total,
            self.square + other.square,
        )  # fmt: skip

    def is_pure(self) -> bool:
        """Whether no response differs from another."""
        return self.n * self.square - self.total**2 <= 1e-12 * self.n * self.square

    def posterior(self) -> tuple[float, float, float, float]:
        """Rows, mean, shape and rate of the posterior."""
        k = MEAN_ROWS + self.n
        rate = LEAF_SHARE * SHAPE * self.variance
        rate += 0.5 * (self.square - self.total**2 / k)
        return k, self.mean + self.total / k, SHAPE + 0.5 * self.n, rate

    def log_evidence(self) -> float:
        """Of all rows."""
        if not self.n:
            return 0.0
        k, _, shape, rate = self.posterior()
        found = 0.5 * log(MEAN_ROWS / k) + lgamma(shape) - lgamma(SHAPE)
        found += SHAPE * log(LEAF_SHARE * SHAPE * self.variance) - shape * log(rate)
        return found - 0.5 * self.n * log(2.0 * pi)

    def log_density(self, y: float) -> float:
        """Of one more response."""
        k, mean, shape, rate = self.posterior()
        square = rate / shape * (1.0 + 1.0 / k)
        found = lgamma(shape + 0.5) - lgamma(shape) - 0.5 * log(2 * shape * pi * square)
        return found - (shape + 0.5) * log1p((y - mean) ** 2 / (2 * shape * square))


@dataclass
class Knot:
    """A node of a random tree."""

    leaf: Any
    last: int
    depth: int = 0
    odds: float = 0.0
    rows: list[int] = field(default_factory=list)  # oldest first
    n_held: int = 0
    cut: tuple[int, int, float, float, float, bool] | None = None
    parts_gaps: bool = False
    children: list[Knot] = field(default_factory=list)

    def value(self, x: Any) -> float:
        """What the cut compares."""
        assert self.cut is not None
        j, other, one, two, *_ = self.cut
        return float(x[j] if other < 0 else one * x[j] + two * x[other])

    def side(self, x: Any) -> int:
        """0: left, 1: right."""
        assert self.cut is not None
        *_, at, missing_left = self.cut
        value = self.value(x)
        return int(not missing_left) if isnan(value) else int(value > at)

    def is_open(self, x: Any) -> bool:
        """Whether a row lacks what the cut compares, and no such row was parted yet."""
        return bool(self.children) and isnan(self.value(x)) and not self.parts_gaps

    def path(self, x: Any) -> list[Knot]:
        """From here to the leaf of x."""
        found = [self]
        while found[-1].children:
            found.append(found[-1].children[found[-1].side(x)])
        return found


class RandomTrees:
    """A forest; parameters as of the core's, nodes without a limit."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.seed, self.options = seed, options
        self.__dict__.update(options)
        self.prior_odds = log(options["split_share"] / (1.0 - options["split_share"]))
        self.X: list[Any] = []
        self.y: list[float] = []
        self.reference: list[Any] = [[] for _ in range(options["n_features"])]
        self.scale = (0.0, 1.0)
        self.roots: list[Knot] = []

    def begin(self, mean: float = 0.0, spread: float = 1.0) -> None:
        """Make all trees one leaf."""
        self.scale = (mean, spread)
        self.roots = [Knot(self.leaf(), 0) for _ in range(self.options["n_trees"])]

    def leaf(self) -> Counts | Normal:
        """A leaf without rows."""
        n_classes = self.options["n_classes"]
        if n_classes:
            share = self.options["class_mass"] / n_classes
            return Counts(share, np.zeros(n_classes))
        return Normal(self.scale[0], self.scale[1] ** 2)

    def split(self, knot: Knot) -> float:
        """Probability that the tree is not pruned at a node."""
        return 1.0 / (1.0 + exp(-knot.odds - self.prior_odds))

    def left_share(self, knot: Knot, now: int) -> float:
        """Share of the rows below a cut that lie left."""
        left, right = (
            self.options["discount"] ** max(now - child.last, 0) * np.sum(child.leaf.n)
            for child in knot.children
        )
        return float(left / (left + right)) if left + right > 0.0 else 0.5

    def ways(
        self, path: list[Knot], x: Any, now: int, n_open: int = 0
    ) -> list[tuple[float, list[Knot]]]:
        """Paths from these nodes on that end in a leaf for x, and their shares."""
        knot = path[-1]
        if not knot.children:
            return [(1.0, path)]
        if not knot.is_open(x):
            return self.ways([*path, knot.children[knot.side(x)]], x, now, n_open)
        left = self.left_share(knot, now)
        if n_open == MOST_OPEN or left in (0.0, 1.0):
            larger = knot.children[0 if left >= 0.5 else 1]
            return self.ways([*path, larger], x, now, n_open)
        return [
            (side * share, whole)
            for side, child in zip((left, 1.0 - left), knot.children, strict=True)
            for share, whole in self.ways([*path, child], x, now, n_open + 1)
        ]

    def part(self, knot: Knot, x: Any, now: int, draw: Any) -> None:
        """Draw sides at the open cuts on the way of a row, for good."""
        while knot.children:
            if knot.is_open(x):
                assert knot.cut is not None
                knot.cut = (*knot.cut[:5], draw() < self.left_share(knot, now))
                knot.parts_gaps = True
            knot = knot.children[knot.side(x)]

    def log_ahead(self, path: list[Knot], y: float) -> list[float]:
        """Log densities P_0 .. P_K of a path."""
        found = [path[-1].leaf.log_density(y)]
        for knot in reversed(path[:-1]):
            odds, here = knot.odds + self.prior_odds, knot.leaf.log_density(y)
            pruned, split = -np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)
            found.insert(0, np.logaddexp(pruned + here, split + found[0]))
        return found

    def update(self, X: Any, y: Any) -> Any:
        """Learn rows; log density of each given those before."""
        return np.array([self.learn(x, one) for x, one in zip(X, y, strict=True)])

    def learn(self, x: Any, y: float) -> float:
        """Learn a row."""
        row, T = len(self.X), self.options["n_trees"]
        gone = 1.0 - self.options["discount"]
        if self.is_due(row):
            self.refresh(row)
        self.X.append(np.asarray(x))
        self.y.append(y)
        found = []
        for k in range(T):
            if gone:
                every = max(1, int(4.0 / (gone * T)))
                if row and row % every == 0 and row // every % T == k:
                    self.regrow(k, row, int(min(self.options["n_held"] - 1, 3 / gone)))
            draw = Uniforms(self.seed, row, k, CUTTING)
            found.append(self.learn_in(self.roots[k], row, draw))
        return float(np.logaddexp.reduce(found) - log(T))

    def regrow(self, k: int, row: int, most: int) -> None:
        """Let a tree begin anew from rows before one."""
        draw, first = Uniforms(self.seed, row, k, REGROWING), max(row - most, 0)
        self.roots[k] = Knot(self.leaf(), first)
        for one in range(first, row):
            self.learn_in(self.roots[k], one, draw)

    def learn_in(self, root: Knot, row: int, draw: Any) -> float:
        """Let a tree learn a row that is held."""
        x, y = self.X[row], self.y[row]
        ways = self.ways([root], x, row)
        self.fade({id(knot): knot for _, path in ways for knot in path}, row)
        mixed = [log(share) + self.log_ahead(path, y)[0] for share, path in ways]
        self.part(root, x, row, draw)
        path = root.path(x)
        self.fade({id(knot): knot for knot in path}, row)
        ahead = self.log_ahead(path, y)
        for h, knot in enumerate(path[:-1]):
            knot.odds = clipped(knot.odds + ahead[h + 1] - knot.leaf.log_density(y))
        for knot in path:
            knot.leaf.add(y, 1.0)
        leaf = path[-1]
        leaf.rows.append(row)
        leaf.n_held += 1
        while (
            leaf.n_held >= self.options["least_held"]
            and leaf.depth < self.options["most_depth"]
            and not leaf.leaf.is_pure()
            and self.expand(leaf, row, draw)
        ):
            self.raise_odds(root.path(x), leaf)
            leaf = leaf.children[leaf.side(x)]
        return float(np.logaddexp.reduce(mixed)) if len(mixed) > 1 else ahead[0]

    def fade(self, knots: dict[int, Knot], row: int) -> None:
        """Let nodes fade until a row."""
        for knot in knots.values():
            kept = self.options["discount"] ** max(row - knot.last, 0)
            knot.leaf.fade(kept)
            knot.odds *= kept
            knot.last = row

    def expand(self, leaf: Knot, row: int, draw: Any) -> bool:
        """Cut a leaf by the rows it holds."""
        held = [one for one in leaf.rows if one > row - self.options["n_held"]]
        held = held[-self.options["most_held"] :]
        cut = self.cut_of(held[::-1], draw) if len(held) > 1 else None
        if cut is None:
            return False
        leaf.cut, leaf.rows = cut, []
        leaf.parts_gaps = any(isnan(leaf.value(self.X[one])) for one in held)
        leaf.children = [Knot(self.leaf(), row, leaf.depth + 1) for _ in range(2)]
        for one in held:
            child = leaf.children[leaf.side(self.X[one])]
            child.leaf.add(self.y[one], self.options["discount"] ** (row - one))
            child.rows.append(one)
            child.n_held += 1
        left, right = (child.leaf for child in leaf.children)
        leaf.odds = left.log_evidence() + right.log_evidence()
        leaf.odds -= left.together(right).log_evidence()
        return True

    def raise_odds(self, path: list[Knot], new: Knot) -> None:
        """Tell the nodes above what a new cut found."""
        share = self.options["split_share"]
        more = log(1.0 - share + share * exp(min(new.odds, 500.0)))
        above = itertools.takewhile(lambda knot: knot is not new, path)
        for knot in reversed(list(above)):
            s = self.split(knot)
            knot.odds = clipped(knot.odds + more)
            more = log(1.0 - s + s * exp(min(more, 500.0)))

    # ------------------------------------------------------------ cuts
    def is_due(self, row: int) -> bool:
        """Whether references are found anew before a row."""
        room = self.options["n_held"]
        if row < 16:
            return False
        return (row & (row - 1)) == 0 if row <= room else row % (room // 2) == 0

    def refresh(self, row: int) -> None:
        """Values of up to 256 rows, evenly spaced among those held."""
        held = min(row, self.options["n_held"])
        n = min(held, 256)
        X = np.array([self.X[row - 1 - i * held // n] for i in range(n)])
        self.reference = [np.sort(column[~np.isnan(column)]) for column in X.T]

    def rank(self, j: int, value: float) -> float:
        """Mean rank among the references."""
        known = self.reference[j]
        low, high = (np.searchsorted(known, value, side) for side in ("left", "right"))
        return (low + high) / (2.0 * max(len(known), 1))

    def cut_of(self, ids: list[int], draw: Any) -> Any:
        """The cut of rows, the newest first; None where no two of them differ."""
        X, y = np.array([self.X[i] for i in ids]), np.array([self.y[i] for i in ids])
        with np.errstate(all="ignore"):
            low, high = np.fmin.reduce(X), np.fmax.reduce(X)
        width = [
            max(self.rank(j, b) - self.rank(j, a), 1e-3) if b > a else 0.0
            for j, (a, b) in enumerate(zip(low, high, strict=True))
        ]
        if not any(width):
            return None
        best, most = None, -inf
        for _ in range(self.options["n_candidates"]):
            found = self.candidate(X, (low, high, width), draw)
            if found is None:
                continue
            cut, right = found
            score = 0.0
            if self.options["n_candidates"] > 1:
                score = sum(self.evidence(y[side]) for side in (~right, right))
                if self.options["n_classes"]:
                    j = self.column(width, draw)
                    beyond = ~(X[:, j] <= X[int(draw() * len(X)), j])
                    four = [a & b for a in (~right, right) for b in (~beyond, beyond)]
                    both = sum(self.evidence(y[part]) for part in four)
                    score = np.logaddexp(score, both)
                score -= log(-log(draw()))
            if best is None or score > most:
                best, most = cut, score
        return best

    def evidence(self, y: Any) -> float:
        """Log evidence of rows in a leaf of their own."""
        leaf = self.leaf()
        for one in y:
            leaf.add(one, 1.0)
        return leaf.log_evidence()

    def column(self, width: list[float], draw: Any) -> int:
        """A column by its width."""
        left, found = draw() * sum(width), -1
        for j, one in enumerate(width):
            if one > 0.0:
                left, found = left - one, j
                if left <= 0.0:
                    break
        return found

    def candidate(self, X: Any, spans: Any, draw: Any) -> Any:
        """A cut and which rows lie right of it; None where values do not differ."""
        low, high, width = spans
        n_varying, d = sum(w > 0.0 for w in width), len(width)
        j, other, one, two = self.column(width, draw), -1, 1.0, 0.0
        known = sum(len(one) > 0 and one[-1] > one[0] for one in self.reference)
        if n_varying > 1 and draw() < 2.0 / (max(n_varying, known) + 2.0):
            place = int(draw() * (n_varying - 1))
            other = [i for i in range(d) if width[i] > 0.0 and i != j][place]
            angle = 2.0 * pi * draw()
            one = cos(angle) / (high[j] - low[j])
            two = sin(angle) / (high[other] - low[other])
        missing_left = draw() < 0.5
        value = X[:, j] if other < 0 else one * X[:, j] + two * X[:, other]
        a, b = np.fmin.reduce(value), np.fmax.reduce(value)
        if not b > a:
            return None
        value = np.where(np.isnan(value), -inf if missing_left else inf, value)
        at = self.place(j, other, value, (a, b), draw)
        right = value > at
        if not self.options["n_classes"] and min(right.sum(), (~right).sum()) < 2:
            return None
        return (j, other, one, two, at, missing_left), right

    def place(self, j: int, other: int, value: Any, span: Any, draw: Any) -> float:
        """Where to cut."""
        a, b = map(float, span)
        if other >= 0:
            at = a + draw() * (b - a)
            return at if at < b else a
        known = self.reference[j]
        if len(known) >= 16:
            first, end = np.searchsorted(known, [a, b])
            if end > first:
                at = float(known[first + int(draw() * (end - first))])
                return halfway(at, min([b, *(v for v in known if v > at)]))
        for _ in range(20):
            at = float(value[int(draw() * len(value))])
            if a <= at < b:
                break
        else:
            at = a
        return halfway(at, min([b, *(float(v) for v in value if at < v)]))

    # ------------------------------------------------------------ answers
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes after all rows."""
        now, out = len(self.X), []
        for x in X:
            total = 0.0
            for root in self.roots:
                for share, path in self.ways([root], x, now):
                    ahead = np.zeros(self.options["n_classes"])
                    for knot in reversed(path):
                        kept = self.options["discount"] ** max(now - knot.last, 0)
                        own = Counts(knot.leaf.share, kept * knot.leaf.n).proba()
                        s = 1.0 / (1.0 + exp(-kept * knot.odds - self.prior_odds))
                        s = s if knot.children else 0.0
                        ahead = (1.0 - s) * own + s * ahead
                    total = total + share * ahead
            out.append(total / len(self.roots))
        return np.array(out)


def halfway(low: float, high: float) -> float:
    """Between two values, the lower one where nothing is."""
    found = 0.5 * low + 0.5 * float(high)
    return found if low <= found < high else low


def prunings(knot: Knot) -> Iterator[list[Knot]]:
    """All prunings of a tree, each as the list of its leaves."""
    yield [knot]
    if knot.children:
        left, right = (list(prunings(child)) for child in knot.children)
        for one, other in itertools.product(left, right):
            yield one + other
