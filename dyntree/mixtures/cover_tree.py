"""CoverTree: exact neighbours among rows that lie near a few dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree._core.covertree import build, centre_places
from dyntree._core.treesearch import Searcher
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.neighbours import neighbours
from dyntree.mixtures.shared.arrays import Arrays, Ids
from dyntree.mixtures.shared.base import StoredArrays
from dyntree.mixtures.shared.checks import not_negative, within
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.seeds import given_or_drawn

LARGEST = 1e300  # entries up to it have distances, in up to 1e15 columns
MAX_ID = 2**62
OPTIONS = ("base", "leaf_size", "max_nodes", "seed")
REBUILT_FROM = 64  # rows that wait or are gone; or an eighth, or a quarter, of the tree


def checked(argument: str, rows: Matrix) -> Matrix:
    """Rows as they are, if they have distances."""
    bad = ~(np.abs(rows) <= LARGEST)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ArgumentError(
            argument,
            f"must be finite, and within {LARGEST:g} of 0",
            Message(
                "{rows} in row {row}, column {column}",
                rows=rows[row, column],
                row=row,
                column=column,
            ),
        )
    return rows


def numbers(first: int, end: int) -> Ids:
    """Numbers of rows."""
    return np.arange(first, end, dtype=np.int64)


def appended(array: NDArray[Any], n: int, new: NDArray[Any]) -> NDArray[Any]:
    """An array with new entries after its first n, which stay as they are.

    Where it has to move it takes twice the room, so that rows added one by one are
    not copied again and again.
    """
    if n + len(new) > len(array):
        n_room = max(n + len(new), 2 * len(array))
        room = np.empty((n_room, *array.shape[1:]), dtype=array.dtype)
        room[:n] = array[:n]
        array = room
    array[n : n + len(new)] = new
    return array


@dataclass(frozen=True, eq=False)
class TreeRows:
    """The rows of a tree at some time: replaced as a whole, never altered."""

    rows: Matrix  # in the order of the tree, as all that is by row
    ids: Ids
    nodes: dict[str, NDArray[Any]]  # as `build` gives it
    searcher: Searcher
    gone: NDArray[np.uint8]  # whether a row was removed
    n_gone: int
    late: Matrix  # rows that wait, the first `n_late`; there is room for more
    late_ids: Ids
    n_late: int
    next_id: int

    @property
    def n_rows(self) -> int:
        """Number of rows that are searched."""
        return len(self.rows) - self.n_gone + self.n_late

    @property
    def waiting(self) -> tuple[Matrix, Ids]:
        """Rows that wait, and their numbers."""
        return self.late[: self.n_late], self.late_ids[: self.n_late]

    def all(self) -> tuple[Matrix, Ids]:
        """Rows that are searched, by ascending number, and their numbers."""
        rows, ids = self.waiting
        there = np.flatnonzero(self.gone == 0)
        there = there[np.argsort(self.ids[there])]
        return (
            np.concatenate([self.rows[there], rows]),
            np.concatenate([self.ids[there], ids]),
        )


@checkpoint.savable
class CoverTree(Suggesting, StoredArrays):
    """Exact nearest neighbours by Euclidean distance.

    The tree consists of nested balls: the children of a ball lie in it, and their radii
    are smaller by a factor of at least `base`. A search visits the nearest balls first
    and skips those that cannot contain a nearer row. Its cost therefore depends on the
    intrinsic dimension of the rows, not on the number of columns.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_features) or frame
        Finite numbers, or times, which are converted to days; at least one row. If the
        columns have names, frames of later calls are matched by name, and arrays by
        position.
    base : float in [1.1, 4], default 1.3
        Ratio of the radii of two levels.
    leaf_size : int, default 16
        Balls with at most this number of rows are not divided further.
    max_nodes : int, optional
        Largest number of balls; by default there is no limit.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
        Seed of the choice of centres. Results do not depend on it.

    Attributes
    ----------
    n_rows : int
    n_features : int
    columns : tuple of str or None
        Names of the columns, if X had names.
    nodes : dict of ndarray
        The tree in depth-first order. `order`, of shape (n_rows,), has row numbers. The
        other arrays have one entry for each node: centre (a row number), parent, level,
        row_begin, own_end, row_end, radius_own, radius_sub. The rows
        ``order[row_begin:row_end]`` lie within radius_sub of the centre, and the rows
        ``order[row_begin:own_end]`` belong to the node itself.

    Notes
    -----
    This is a simplified cover tree (Beygelzimer, Kakade and Langford 2006; Izbicki and
    Shelton 2015) with strong covering: all rows below a node lie within its radius,
    which is at most base^level. Inserted rows wait in a list, which is searched row by
    row. The tree is built anew when this list is an eighth of the tree, or when a
    quarter of its rows was removed.

    Rows may have any scale up to 1e300. If squares of differences would be too small or
    too large for a float, the differences are first scaled by a power of two. The
    relative error of a distance is at most (n_features + 8) 1e-16, or the spacing of
    floats if the distance is below 1e-307. Rows whose distances differ by less may
    change places. A distance depends on the two rows alone, and not on the tree, so
    that equal rows have equal distances; they are sorted by their numbers.

    If there are many queries, the first 32 show how many rows the tree visits. If it is
    faster to compute all distances, as in tables with an intrinsic dimension of more
    than about eight, the other queries use products of matrices. Results are the same
    bit for bit.

    A tree can be copied and pickled. `dyntree.save` stores the rows and their numbers,
    and `dyntree.load` builds an equivalent tree from them.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import CoverTree
    >>> tree = CoverTree(np.arange(10.0)[:, None], seed=0)
    >>> distance, index = tree.query([[3.2]], k=2)
    >>> index.tolist(), distance.round(1).tolist()
    ([[3, 4]], [[0.2, 0.8]])
    """

    def __init__(
        self,
        X: Any,
        *,
        base: float = 1.3,
        leaf_size: int = 16,
        max_nodes: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._begin(base, leaf_size, max_nodes, given_or_drawn(seed))
        self._features, rows = FeatureMap.learn(X)
        checked("X", rows)
        if not len(rows):
            raise ArgumentError("X", "must have at least one row", Message("none"))
        self._stored = self._built(rows, numbers(0, len(rows)), len(rows))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_rows} rows>"

    def _begin(self, base: Any, leaf_size: Any, max_nodes: Any, seed: Any) -> None:
        """Take the options, checked."""
        self.base = within("base", base, 1.1, 4.0)
        self.leaf_size = params.count("leaf_size", leaf_size, 1)
        self.max_nodes = (
            None if max_nodes is None else params.count("max_nodes", max_nodes, 1)
        )
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)
        self._lock = ModelLock()

    def _rows(self, X: Any) -> Matrix:
        """Rows of a later call, their columns in the order of the tree's."""
        return checked("X", self._features.encode(X))

    def _tree_of(
        self, rows: Matrix, leaf_size: int, max_nodes: int | None
    ) -> dict[str, NDArray[Any]]:
        """The tree of some rows; more nodes or larger leaves than rows are no more."""
        n = len(rows)
        most = n if max_nodes is None else min(n, max_nodes)
        threads = params.n_threads()
        return build(rows, self.base, min(n, leaf_size), most, self.seed, threads)

    def _built(self, rows: Matrix, ids: Ids, next_id: int) -> TreeRows:
        """Rows in a tree: none wait, and none are gone."""
        nodes = self._tree_of(rows, self.leaf_size, self.max_nodes)
        ordered, names = rows[nodes["order"]], ids[nodes["order"]]
        return TreeRows(
            rows=ordered,
            ids=names,
            nodes=nodes,
            searcher=Searcher(nodes, ordered, names),
            gone=np.zeros(len(rows), dtype=np.uint8),
            n_gone=0,
            late=np.empty((0, rows.shape[1])),
            late_ids=np.empty(0, dtype=np.int64),
            n_late=0,
            next_id=next_id,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows that are searched."""
        return self._stored.n_rows

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self._stored.rows.shape[1])

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns if the first rows had names."""
        return self._features.names

    @property
    def nodes(self) -> dict[str, NDArray[Any]]:
        """The tree as arrays, without buffered rows but with rows just removed."""
        stored = self._stored
        nodes = {name: array.copy() for name, array in stored.nodes.items()}
        nodes["centre"] = stored.ids[centre_places(nodes)]
        nodes["order"] = stored.ids.copy()
        return nodes

    # ------------------------------------------------------------ questions
    def query(self, X: Any, k: int = 1) -> tuple[Matrix, Ids]:
        """The k nearest rows of each row of X.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features)
        k : int, default 1
            Number of neighbours, at most `n_rows`.

        Returns
        -------
        distance : ndarray of shape (n_queries, k)
            Distances in increasing order.
        index : ndarray of int64 of shape (n_queries, k)
            Numbers of the rows. Rows at equal distances are in the order of their
            numbers.
        """
        stored = self._stored
        rows = self._rows(X)
        k = params.count("k", k, 1)
        if k > stored.n_rows:
            raise ArgumentError(
                "k", f"must be at most the number of rows, {stored.n_rows}", k
            )
        return neighbours(
            stored.searcher, stored.rows, stored.gone, rows, k, params.n_threads(),
            *stored.waiting,
        )  # fmt: skip

    def query_radius(self, X: Any, radius: float) -> tuple[list[Matrix], list[Ids]]:
        """All rows within a radius of each row of X.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features)
        radius : float
            Radius >= 0. Rows at exactly this distance are included.

        Returns
        -------
        distance : list of ndarray of shape (n_found,)
            One array for each row of X, in increasing order.
        index : list of ndarray of int64 of shape (n_found,)
        """
        stored = self._stored
        rows = self._rows(X)
        limit = not_negative("radius", radius)
        begin, distance, index = stored.searcher.query_radius(
            rows, limit, params.n_threads(), stored.gone, *stored.waiting
        )
        parts = [slice(a, b) for a, b in pairwise(begin.tolist())]
        return [distance[part] for part in parts], [index[part] for part in parts]

    def truncate(self, n_nodes: int) -> tuple[Ids, Ids]:
        """Partition the rows into balls: the first `n_nodes` nodes of their tree.

        Parameters
        ----------
        n_nodes : int

        Returns
        -------
        labels : ndarray of int64 of shape (n_rows,)
            The ball of each row, in the order of the row numbers.
        centres : ndarray of int64 of shape (n_balls,)
            Numbers of the rows that are centres.
        """
        most = params.count("n_nodes", n_nodes, 1)
        rows, ids = self._stored.all()
        tree = self._tree_of(rows, 1, most)
        labels = np.empty(len(rows), dtype=np.int64)
        sizes = tree["own_end"] - tree["row_begin"]
        labels[tree["order"]] = np.repeat(np.arange(len(sizes)), sizes)
        return labels, ids[tree["centre"]]

    # ------------------------------------------------------------ changes
    def _settled(self, stored: TreeRows) -> TreeRows:
        """The same rows in a new tree, where too much waits, or is gone."""
        n = len(stored.rows)
        if stored.n_late <= max(REBUILT_FROM, n // 8) and stored.n_gone <= max(
            REBUILT_FROM, n // 4
        ):
            return stored
        return self._built(*stored.all(), stored.next_id)

    @locked
    def insert(self, X: Any) -> Self:
        """Add rows, which get the next numbers.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        self
        """
        rows = self._rows(X)
        stored = self._stored
        n, next_id = stored.n_late, stored.next_id + len(rows)
        new = replace(
            stored,
            late=appended(stored.late, n, rows),
            late_ids=appended(stored.late_ids, n, numbers(stored.next_id, next_id)),
            n_late=n + len(rows),
            next_id=next_id,
        )
        self._stored = self._settled(new)
        return self

    @locked
    def remove(self, index: Any) -> Self:
        """Remove rows; at least one row must remain.

        Parameters
        ----------
        index : array_like of int of shape (n_removed,)
            Numbers of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a number belongs to no row. Nothing is removed then.
        """
        given = params.as_array("index", index)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ArgumentError("index", "must be a vector of ints", given)
        given = np.unique(given)
        ids = given.astype(np.int64)
        stored = self._stored
        late, late_ids = stored.waiting
        in_tree = np.isin(stored.ids, ids) & (stored.gone == 0)
        waits = np.isin(late_ids, ids)
        known = np.isin(ids, np.concatenate([stored.ids[in_tree], late_ids[waits]]))
        if not known.all():
            raise ArgumentError(
                "index",
                "must name rows of the tree; there is no {given}",
                given=given[~known][0],
            )
        if len(ids) == stored.n_rows:
            raise ArgumentError("index", "must leave one row at least; it names all")
        new = replace(
            stored,
            gone=stored.gone | in_tree,
            n_gone=stored.n_gone + int(in_tree.sum()),
            late=late[~waits],
            late_ids=late_ids[~waits],
            n_late=stored.n_late - int(waits.sum()),
        )
        self._stored = self._settled(new)
        return self

    def memory_usage(self) -> int:
        """Bytes in use."""
        stored = self._stored
        by_row = stored.rows.nbytes + stored.ids.nbytes + stored.gone.nbytes
        waiting = stored.late.nbytes + stored.late_ids.nbytes
        centres = len(stored.nodes["centre"]) * self.n_features * 8
        nodes = sum(array.nbytes for array in stored.nodes.values())
        return int(by_row + waiting + centres + nodes)

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent tree of the same rows."""
        again, stored = super().copy(), self._stored
        late, late_ids = stored.waiting
        again._stored = replace(stored, late=late.copy(), late_ids=late_ids.copy())
        return again

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        header = {name: getattr(self, name) for name in OPTIONS}
        header |= {
            "next_id": self._stored.next_id,
            "features": self._features.to_header(),
        }
        rows, ids = self._stored.all()
        return header, {"rows": rows, "ids": ids}

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        tree = cls.__new__(cls)
        tree._begin(*(header[name] for name in OPTIONS))
        next_id = params.count("next_id", header["next_id"], 1, MAX_ID)
        ids = arrays["ids"]
        if arrays["rows"].dtype != np.float64 or ids.dtype != np.int64:
            raise ArgumentError("rows", "must be of float64, and ids of int64")
        rows = arrays["rows"]
        if rows.ndim != 2 or not rows.shape[1]:
            raise ArgumentError("rows", "must be of shape (n_rows, n_features)")
        checked("rows", rows)
        if not len(rows) or ids.shape != (len(rows),):
            raise ArgumentError(
                "ids", "must be one number for each row, of one at least"
            )
        if ids[0] < 0 or ids[-1] >= next_id or (ids[1:] <= ids[:-1]).any():
            raise ArgumentError("ids", "must ascend, from 0 on and below next_id")
        width = rows.shape[1]
        tree._features = FeatureMap.from_header(header["features"])
        if tree._features.n_features != width or tree._features.may_grow:
            raise ArgumentError(
                "features", "must be numbers, one for each column of rows"
            )
        tree._stored = tree._built(rows, ids, next_id)
        return tree
