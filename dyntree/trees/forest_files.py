"""State of random trees <-> header and arrays of a file, checked before use.

As for dynamic trees, whatever leads to memory is checked here: children, parents,
columns, rows and labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree._core.rng import CounterSource
from dyntree._core.trees.forest import Forest
from dyntree.checkpoint.layout import Layout, check_arrays, ints, places, reals, require
from dyntree.encoding.values import LARGEST
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.forest_options import ForestOptions

N_REFERENCE, FIRST_DUE = 256, 16
GIVEN_UP = -2
ROUNDING = 1e-9  # of counts that fade
MOST_COUNTED = 2e9  # rows that a leaf counts at most
FAR = 1e9  # spreads that the response of a row may be away that is gone
ARRAYS = {
    "n_knots": ints("trees", low=1, high="most_nodes"),
    "n_spare": ints("trees", low=0),
    "spare": places("spares", low=1),
    "at": reals("knots"),
    "weight": reals("knots"),
    "weight_2": reals("knots"),
    "feature": places("knots"),
    "feature_2": places("knots"),
    "missing_left": places("knots", low=0, high=1),
    "parts_gaps": places("knots", low=0, high=1),
    "odds": reals("knots"),
    "total": reals("knots", low=0.0),
    "last": ints("knots", low=0, high="n_seen"),
    "head": ints("knots", low=-1, below="n_seen"),
    "left": places("knots", low=-1),
    "parent": places("knots", low=GIVEN_UP),
    "held": places("knots", low=0),
    "depth": places("knots", low=0, high="most_depth"),
    "sums": reals("knots", "sums"),
    "before": ints("trees", "rows", low=-1),
    "X": reals("rows", "p", low=-LARGEST, high=LARGEST, gaps=True),
    "y": reals("rows", low=-LARGEST, high=LARGEST),
    "reference": reals(None, None, gaps=True),
    "random_state": Layout("u8", (2,)),
}
FIELDS = [name for name, layout in ARRAYS.items() if layout.shape == ("knots",)]


def forest_in(
    header: Header, arrays: Arrays, options: ForestOptions, width: int, seed: int
) -> Forest:
    """The forest that header and arrays of a file describe, checked."""
    check_forest(header, arrays, options, width, seed)
    source = CounterSource.from_state(arrays["random_state"])
    made: Forest = Forest.from_arrays(header, arrays, source)
    return made


def check_forest(
    header: Header, arrays: Arrays, options: ForestOptions, width: int, seed: int
) -> None:
    """Raise an error unless header and arrays describe a forest of these options."""
    kind = header["weighting"]
    meant = kind in (None, options.meaning_of_weights)
    require(meant, "its weights mean something else")
    wanted = options.for_core(width) | {"weighting": kind}
    require({name: header[name] for name in wanted} == wanted, "options differ")
    require((options.classes is not None) == (options.model == "class"), "labels lack")
    n_seen = params.count("n_seen", header["n_seen"], 0, 1 << 62)
    mean, spread = header["scale"]
    require(np.isfinite([mean, spread]).all() and spread >= 0.0, "a scale is odd")
    require(isinstance(header["log_evidence"], float), "its evidence is no number")
    unit = params.positive("weight_unit", header["weight_unit"])
    require(unit == 1.0 or kind == "variance", "its weights have an odd unit")
    n_held = len(arrays["y"])  # fewer than there were after remove_data
    require(n_held <= min(n_seen, wanted["n_held"]), "too many rows are stored")
    layouts = ARRAYS | ({"weights": reals("rows", above=0.0)} if kind else {})
    check_arrays(
        arrays, layouts, p=width, trees=wanted["n_trees"], n_seen=n_seen,
        knots=int(arrays["n_knots"].sum()), spares=int(arrays["n_spare"].sum()),
        sums=wanted["n_classes"] or 2 + (kind == "variance"),
        most_nodes=wanted["most_nodes"], most_depth=wanted["most_depth"],
    )  # fmt: skip
    require(arrays["random_state"][0] == seed, "its random numbers are of another seed")
    rows = np.arange(n_seen - n_held, n_seen)
    require(arrays["before"] < rows, "rows lead nowhere")
    y, n_classes = arrays["y"], wanted["n_classes"]
    if n_classes:
        require((y >= 0) & (y < n_classes) & (y == np.floor(y)), "a row has no label")
    check_references(arrays, n_seen, wanted["n_held"])
    ends = np.cumsum(arrays["n_knots"])
    spare_ends = np.cumsum(arrays["n_spare"])
    for k, (end, spare_end) in enumerate(zip(ends, spare_ends, strict=True)):
        part = slice(end - arrays["n_knots"][k], end)
        spare = arrays["spare"][spare_end - arrays["n_spare"][k] : spare_end]
        tree = {name: arrays[name][part] for name in (*FIELDS, "sums")}
        check_tree(tree, spare, wanted)
        check_counts(Counted(tree, header, arrays, arrays["before"][k]))


def check_references(arrays: Arrays, n_seen: int, room: int) -> None:
    """Values to cut at are in order, and those of the rows if all are stored."""
    known, X = arrays["reference"], arrays["X"]
    require(
        known.shape[0] <= X.shape[1] and known.shape[1] == N_REFERENCE, "references"
    )
    gone = np.isnan(known)
    require((np.diff(known) >= 0.0) | gone[:, 1:], "references are out of order")
    due = FIRST_DUE
    while 2 * due < n_seen and 2 * due <= room:
        due *= 2
    if len(X) < n_seen or due >= n_seen or n_seen > room or 2 * due < n_seen:
        return
    n_taken = min(due, N_REFERENCE)
    taken = X[due - 1 - np.arange(n_taken) * due // n_taken]
    for j, values in enumerate(known):
        found = np.sort(taken[~np.isnan(taken[:, j]), j])
        n = len(found)
        same = np.array_equal(values[:n], found) and gone[j, n:].all()
        require(same or gone[j].all(), "references are of other rows")


def check_tree(tree: Arrays, spare: Any, wanted: dict[str, Any]) -> None:
    """Nodes form one tree, beside pairs that were given up."""
    n, left, parent = len(tree["left"]), tree["left"], tree["parent"]
    for name in ("feature", "feature_2"):
        low = 0 if name == "feature" else -1
        inside = (tree[name] >= low) & (tree[name] < wanted["n_features"])
        require(inside[left >= 0], "a cut uses no column")
    split = np.flatnonzero(left >= 0)
    children = np.concatenate([left[split], left[split] + 1])
    leads = (left[split] % 2 == 1).all() and (children < n).all()
    require(leads, "a tree leads nowhere")
    require(len(np.unique(children)) == len(children), "a node has two parents")
    gone = np.concatenate([spare, spare + 1])
    require(
        ((spare % 2 == 1) & (spare > 0)).all() and (gone < n).all(), "pairs are odd"
    )
    met = np.sort(np.concatenate([[0], children, gone]))
    require(np.array_equal(met, np.arange(n)), "a node belongs to no tree")
    require(parent[gone] == GIVEN_UP, "a pair is not given up")
    require(parent[0] == -1, "a tree has no root")
    depth = tree["depth"]
    require(np.array_equal(parent[children], np.tile(split, 2)), "parents are odd")
    require(depth[0] == 0 and (depth[children] == depth[np.tile(split, 2)] + 1).all(),
           "depths are odd")  # fmt: skip


class Counted:
    """One tree, what it counts, and the rows that its leaves hold."""

    def __init__(
        self, tree: Arrays, header: Header, arrays: Arrays, before: Any
    ) -> None:
        self.tree, self.discount = tree, header["discount"]
        self.n_seen, self.n_classes = header["n_seen"], header["n_classes"]
        self.weighting = header["weighting"]
        self.X, self.y = arrays["X"], arrays["y"]
        self.weights = arrays.get("weights", np.ones(len(self.y)))
        self.first = self.n_seen - len(self.y)
        self.far = float(np.abs(self.y).max(initial=0.0))  # farthest response
        if self.first:
            self.far = max(self.far, FAR * header["scale"][1])
        self.leaves = np.flatnonzero((tree["left"] < 0) & (tree["parent"] != GIVEN_UP))
        self.row, self.leaf, self.whole = self._chains(before)

    def _chains(self, before: Any) -> tuple[Any, Any, Any]:
        """Places of rows, their leaves, and whether a leaf lost none of its rows."""
        head, found, owners = self.tree["head"], [], []
        leaf, row = self.leaves, head[self.leaves]
        whole = np.ones(len(head), dtype=bool)
        while len(leaf):
            whole[leaf[(row >= 0) & (row < self.first)]] = False
            leaf, row = leaf[row >= self.first], row[row >= self.first]
            found.append(row - self.first)
            owners.append(leaf)
            row = before[row - self.first]
        none = [np.empty(0, dtype=np.int64)]
        rows = np.concatenate(found or none)
        require(len(np.unique(rows)) == len(rows), "a tree holds a row twice")
        return rows, np.concatenate(owners or none), whole

    def sums(self, knots: Any, rows: Any) -> Any:
        """Total and sums over rows (places) by knot, as they fade to its last one.

        Sums of real responses are total, weight, weighted sum and sum of squares.
        """
        n = len(self.tree["left"])
        age = np.maximum(self.tree["last"][knots] - self.first - rows, 0)
        factor = self.discount ** age.astype(np.float64)
        weight = factor * self.weights[rows]
        y = self.y[rows]
        if self.n_classes:
            places = knots * self.n_classes + y.astype(np.int64)
            counts = np.bincount(places, weight, minlength=n * self.n_classes)
            return counts.reshape(n, -1)
        total = factor if self.weighting == "variance" else weight
        terms = (total, weight, weight * y, weight * y * y)
        return np.column_stack([np.bincount(knots, t, minlength=n) for t in terms])

    def stored(self) -> Any:
        """What knots count, in the form of `sums`."""
        sums, total = self.tree["sums"], self.tree["total"]
        if self.n_classes:
            return sums
        weight = sums[:, 2] if self.weighting == "variance" else total
        first = weight * sums[:, 0]
        return np.column_stack([total, weight, first, sums[:, 1] + first * sums[:, 0]])

    def faded_to(self, knots: Any, last: Any) -> Any:
        """What some knots count, as it is at later rows."""
        age = (last - self.tree["last"][knots]).astype(np.float64)
        return self.stored()[knots] * (self.discount**age)[:, None]


def check_counts(tree: Counted) -> None:
    """Leaves count the rows that they hold, and a split those of both its leaves.

    They may count more: rows of a leaf that was given up, or too many for a cut.
    """
    knot, stored = tree.tree, tree.stored()
    require(np.isfinite(stored), "sums are too large")
    size = np.abs(stored).max(initial=0.0)
    if tree.n_classes:
        total = knot["total"]
        off = np.abs(stored.sum(axis=1) - total)
        require((stored >= 0.0) & (off[:, None] <= ROUNDING * (1.0 + total))[:, :1],
               "labels are miscounted")  # fmt: skip
    else:
        require(knot["sums"][:, 1:] >= 0.0, "squares are negative")
    counted = np.ones(len(tree.row))
    if tree.weighting == "frequency":
        counted = np.ceil(tree.weights[tree.row])
    leaves, counts = tree.leaves, np.bincount(tree.leaf, counted, minlength=len(stored))
    counts = np.minimum(counts, MOST_COUNTED)
    counted_well = np.where(tree.whole, knot["held"] == counts, knot["held"] >= counts)
    require(counted_well[leaves], "rows of a leaf are miscounted")
    found = tree.sums(tree.leaf, tree.row)[leaves]
    agree("leaves", stored[leaves], found, tree)
    split = np.flatnonzero(knot["left"] >= 0)
    children = np.column_stack([knot["left"][split], knot["left"][split] + 1])
    last = knot["last"]
    require(last[children].max(axis=1) == last[split], "a row is late")
    require(last[leaves] >= knot["head"][leaves], "a row is early")
    both = sum(tree.faded_to(children[:, k], last[split]) for k in (0, 1))
    agree("splits", stored[split], both, tree)
    if not tree.first and tree.discount == 1.0:  # of all rows; others begin again
        rows = np.arange(len(tree.y))
        whole = tree.sums(np.zeros(len(rows), dtype=np.int64), rows)[:1]
        agree("roots", stored[:1], whole, tree)
        require(
            stored[0, 0] <= whole[0, 0] + ROUNDING * (1.0 + size), "a root miscounts"
        )
    require(last[0] == max(tree.n_seen - 1, 0), "a root missed rows")
    check_sides(tree)


def agree(what: str, stored: Any, found: Any, tree: Counted) -> None:
    """Raise CheckpointError unless counts are those of parts, or are of more rows.

    Sums of responses are those of the parts but for rounding, by the farthest response
    of which there may have been some.
    """
    if not len(stored):
        return
    counts = slice(0, tree.n_classes or 2)
    least = ROUNDING * (1.0 + np.abs(found))
    require((stored >= found - least)[:, counts], f"{what} are miscounted")
    if tree.n_classes:
        return
    all_there = np.all((np.abs(stored - found) <= least)[:, counts], axis=1)
    # squares bound the sums that they are of
    size = np.abs(found[:, 3:]) + np.sqrt(np.abs(found[:, 1:2] * found[:, 3:]))
    terms = np.array([0.0, 0.0, tree.far, tree.far**2])
    rounded = 1e-14 * (1.0 + found[:, :1] + found[:, 1:2]) * terms
    close = np.abs(stored - found) <= 1e-6 * size + least + rounded
    require(close.all(axis=1) | ~all_there, f"{what} count other responses")


def check_sides(tree: Counted) -> None:
    """Rows lie on the side of each split to which they lead; gaps, if it parts them."""
    knot, node, row = tree.tree, tree.leaf, tree.row
    while len(node):
        up = knot["parent"][node]
        node, row, up = node[up >= 0], row[up >= 0], up[up >= 0]
        second = knot["feature_2"][up]
        other = np.where(second >= 0, tree.X[row, second], 0.0)
        parts = np.column_stack([tree.X[row, knot["feature"][up]], other])
        weights = np.column_stack([knot["weight"][up], knot["weight_2"][up]])
        with np.errstate(invalid="ignore"):  # NA of R is a signalling NaN
            parts *= np.where(second[:, None] >= 0, weights, 1.0)
        value, gap = parts.sum(axis=1), np.isnan(parts).any(axis=1)
        require(~gap | (knot["parts_gaps"][up] == 1), "a split has parted a gap")
        left = np.where(gap, knot["missing_left"][up] == 1, value <= knot["at"][up])
        edge = np.abs(value - knot["at"][up]) <= 1e-9 * np.abs(parts).sum(axis=1)
        require(edge | (left == (node == knot["left"][up])), "a row is astray")
        node = up
