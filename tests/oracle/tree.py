"""One particle: a binary tree, its score and its moves.

A tree owns everything below its root; `Tree.clone` copies all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from tests.oracle import ieee
from tests.oracle.leaf import Leaf, Pool, Rules, leaf_class
from tests.oracle.stream import RSource


class Node:
    """A place in a tree: a leaf if `leaf` is not None, else a split.

    At a split, rows with x[variable] <= value go left, others (NaN too) right.
    """

    __slots__ = ("depth", "leaf", "left", "right", "value", "variable")

    def __init__(self, depth: int, leaf: Leaf) -> None:
        self.depth = depth
        self.make_leaf(leaf)

    def make_leaf(self, leaf: Leaf) -> None:
        """Forget what is below and hold `leaf`."""
        self.leaf: Leaf | None = leaf
        self.variable, self.value = -1, 0.0
        self.left: Node | None = None
        self.right: Node | None = None

    def make_split(self, split: Split) -> None:
        """Turn this leaf into a split with two new leaves below."""
        self.leaf = None
        self.variable, self.value = split.variable, split.value
        self.left = Node(self.depth + 1, split.left)
        self.right = Node(self.depth + 1, split.right)

    def goes_left(self, x: list[float]) -> bool:
        """Return whether x goes to the left child."""
        return x[self.variable] <= self.value

    def leaves(self) -> Iterator[Leaf]:
        """Leaves from left to right."""
        if self.leaf is not None:
            yield self.leaf
        else:
            yield from self.left.leaves()
            yield from self.right.leaves()

    def splits(self) -> Iterator[Node]:
        """Split nodes, parents before children."""
        if self.leaf is None:
            yield self
            yield from self.left.splits()
            yield from self.right.splits()

    def height(self) -> int:
        """Nodes on the longest path down; 1 for a leaf."""
        if self.leaf is not None:
            return 1
        return 1 + max(self.left.height(), self.right.height())

    def pooled(self) -> Leaf:
        """One leaf in place of all leaves below."""
        leaves = list(self.leaves())
        return type(leaves[0]).pooled(leaves)

    def clone(self, pool: Pool) -> Node:
        """Deep copy that reads its rows from `pool`."""
        other = Node.__new__(Node)
        other.depth = self.depth
        other.variable, other.value = self.variable, self.value
        if self.leaf is not None:
            other.leaf = self.leaf.clone(pool)
            other.left = other.right = None
        else:
            other.leaf = None
            other.left = self.left.clone(pool)
            other.right = self.right.clone(pool)
        return other

    def score(self, rules: Rules) -> float:
        """Log prior plus log evidence of the subtree."""
        if self.leaf is not None:
            return leaf_score(rules, self.depth, self.leaf)
        return split_score(
            rules, self.depth, self.left.score(rules), self.right.score(rules)
        )


class Split(NamedTuple):
    """A proposed split and the two leaves it makes."""

    variable: int
    value: float
    left: Leaf
    right: Leaf


def leaf_score(rules: Rules, depth: int, leaf: Leaf) -> float:
    """Score of a leaf at some depth."""
    split_prior = rules.a * (1.0 + depth) ** (-rules.b)
    return math.log(1.0 - split_prior) + leaf.log_evidence()


def split_score(rules: Rules, depth: int, left: float, right: float) -> float:
    """Score of a split at some depth, given the scores of its children."""
    own = ieee.log(rules.a) - rules.b * math.log(1.0 + depth)
    return (own + left) + right


class Tree:
    """A particle.

    Attributes
    ----------
    pool : Pool
        The active rows, shared with the other trees of the cloud.
    root : Node
    """

    __slots__ = ("pool", "root")

    def __init__(self, pool: Pool, root: Node) -> None:
        self.pool = pool
        self.root = root

    @classmethod
    def planted(cls, pool: Pool, n: int) -> Tree:
        """A single leaf on the first n rows."""
        leaf = leaf_class(pool.rules)(pool, list(range(n)))
        leaf.build()
        return cls(pool, Node(0, leaf))

    def clone(self, pool: Pool) -> Tree:
        """Deep copy that reads its rows from `pool`."""
        return Tree(pool, self.root.clone(pool))

    def path(self, x: list[float]) -> list[Node]:
        """Nodes from the root to the leaf x belongs to."""
        node = self.root
        path = [node]
        while node.leaf is None:
            node = node.left if node.goes_left(x) else node.right
            path.append(node)
        return path

    def leaf_at(self, x: list[float]) -> Leaf:
        """The leaf x belongs to."""
        return self.path(x)[-1].leaf

    def leaves(self) -> list[Leaf]:
        """Leaves from left to right."""
        return list(self.root.leaves())

    # One row more -------------------------------------------------------------

    def propagate(self, row: int, source: RSource) -> None:
        """Add a row to its leaf, then stay, grow or prune there."""
        rules = self.pool.rules
        path = self.path(self.pool.x[row])
        node = path[-1]
        parent = path[-2] if len(path) > 1 else None
        top = node if parent is None else parent
        node.leaf.add(row)
        stay = top.score(rules)
        split, grow = self._propose(node, parent, stay, source)
        merged, prune = self._merge(parent)
        move = choose(stay, grow, prune, source)
        if move == "grow" and split is not None:
            node.make_split(split)
        elif move == "prune":
            parent.make_leaf(merged)

    def _propose(
        self, node: Node, parent: Node | None, stay: float, source: RSource
    ) -> tuple[Split | None, float]:
        """Draw a split of the leaf at `node`; return it and its score."""
        rules, leaf = self.pool.rules, node.leaf
        drawn = _draw_rule(leaf, rules, source)
        if drawn is None:
            return None, -math.inf
        split = _partition(leaf, *drawn)
        if split is None:
            # Under luall a failed partition counts as a move that changes nothing.
            return None, stay if rules.proposal == "luall" else -math.inf
        depth = node.depth + 1
        left = leaf_score(rules, depth, split.left)
        right = leaf_score(rules, depth, split.right)
        score = split_score(rules, node.depth, left, right)
        if parent is None:
            return split, score
        if parent.left is node:
            both = score, parent.right.score(rules)
        else:
            both = parent.left.score(rules), score
        return split, split_score(rules, parent.depth, *both)

    def _merge(self, parent: Node | None) -> tuple[Leaf | None, float]:
        """Pool all leaves below `parent`; return the leaf and its score."""
        rules = self.pool.rules
        if parent is None:
            return None, -math.inf
        if sum(len(leaf.rows) for leaf in parent.leaves()) < 2 * rules.minp:
            return None, -math.inf
        merged = parent.pooled()
        return merged, leaf_score(rules, parent.depth, merged)

    # One row less -------------------------------------------------------------

    def retire(self, row: int, forget: float) -> None:
        """Retire an active row; the last row of the pool then takes its number."""
        pool = self.pool
        path = self.path(pool.x[row])
        leaf = path[-1].leaf
        leaf.retire(row, forget)
        if len(leaf.rows) + leaf.retired < pool.rules.minp:
            self._collapse(path)
        last = len(pool.y) - 1
        if last != row:
            rows = self.leaf_at(pool.x[last]).rows
            rows[rows.index(last)] = row

    def _collapse(self, path: list[Node]) -> None:
        """Dissolve the leaf at the end of `path` into its sibling's subtree.

        Retired sums of the leaf are lost, and the sibling keeps its depth.  A root
        stays as it is.
        """
        if len(path) == 1:
            return
        node, parent = path[-1], path[-2]
        sibling = parent.right if parent.left is node else parent.left
        for row in node.leaf.rows:
            Tree(self.pool, sibling).leaf_at(self.pool.x[row]).add(row)
        if len(path) == 2:
            self.root = sibling
        elif path[-3].left is parent:
            path[-3].left = sibling
        else:
            path[-3].right = sibling

    def renumber(self, destinations: list[int]) -> None:
        """Let every row i be called destinations[i]."""
        for leaf in self.leaves():
            leaf.rows = [destinations[row] for row in leaf.rows]


def _draw_rule(leaf: Leaf, rules: Rules, source: RSource) -> tuple[int, float] | None:
    """Draw the variable and value of a split, or None."""
    n, minp = len(leaf.rows), rules.minp
    if rules.a <= 0.0 or n < 2 * minp:
        return None
    first, last = minp - 1, n - minp
    if rules.proposal == "luall":
        candidates = []
        for j in range(rules.smin, rules.m):
            column = _sorted_column(leaf, j)
            if column[first] < column[last]:
                candidates.append((j, column[first], column[last]))
        if not candidates:
            return None
        drawn = candidates[int(len(candidates) * source.uniform())]
        variable, low, high = drawn
    else:
        variable = rules.smin + int((rules.m - rules.smin) * source.uniform())
        column = _sorted_column(leaf, variable)
        if rules.proposal == "reject":
            low, high = column[0], column[-1]
            if low == high:
                return variable, low
        else:
            low, high = column[first], column[last]
            if low >= high:
                return None
    return variable, low + (high - low) * source.uniform()


def _sorted_column(leaf: Leaf, variable: int) -> list[float]:
    x = leaf.pool.x
    return sorted([x[row][variable] for row in leaf.rows])


def _partition(leaf: Leaf, variable: int, value: float) -> Split | None:
    """Split a leaf, or None if a side gets too few rows."""
    x, minp = leaf.pool.x, leaf.pool.rules.minp
    left = [row for row in leaf.rows if x[row][variable] <= value]
    right = [row for row in leaf.rows if not x[row][variable] <= value]
    if len(left) < minp or len(right) < minp:
        return None
    return Split(variable, value, leaf.child(left), leaf.child(right))


def choose(stay: float, grow: float, prune: float, source: RSource) -> str:
    """Draw a move from log scores: "stay", "grow" or "prune".

    The smallest score is subtracted; if that overflows, the answer is "stay" and
    nothing is drawn.
    """
    base = 0.0
    if math.isfinite(prune):
        other = ieee.minimum(prune, grow) if math.isfinite(grow) else prune
        base = ieee.minimum(stay, other)
        prune -= base
        if math.isfinite(grow):
            grow -= base
        stay -= base
    elif math.isfinite(grow):
        base = ieee.minimum(stay, grow)
        grow -= base
        stay -= base
    else:
        stay = 0.0
    e_stay, e_grow, e_prune = ieee.exp(stay), ieee.exp(grow), ieee.exp(prune)
    norm = (e_stay + e_prune) + e_grow
    if not math.isfinite(norm) or norm == 0.0:
        return "stay"
    u = source.uniform()
    if u < e_stay / norm:
        return "stay"
    return "prune" if u < e_stay / norm + e_prune / norm else "grow"
