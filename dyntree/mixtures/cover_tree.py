"""CoverTree: exact neighbours among rows that lie near a few dimensions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.covertree import build
from dyntree._core.treesearch import Searcher
from dyntree.encoding.values import Matrix

Ids = NDArray[np.int64]
REBUILT_FROM = (
    64  # rows that wait, or are gone; or an eighth, or a quarter, of the tree
)


def rows_of(argument: str, X: Any, n_features: int | None = None) -> Matrix:
    """A table of finite numbers as float64, C order."""
    rows = np.ascontiguousarray(params.as_array(argument, X, float))
    if rows.ndim != 2 or not rows.shape[1]:
        raise ValueError(
            f"{argument} must be of shape (n_rows, n_features); got "
            f"{params.short(rows)}."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"{argument} must have {n_features} columns, as the rows of the tree; got "
            f"{rows.shape[1]}."
        )
    bad = ~np.isfinite(rows) | (np.abs(rows) > 1e150)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{argument} must be finite, and below 1e150 for squares to be; got "
            f"{rows[row, column]} in row {row}, column {column}."
        )
    return rows


class CoverTree:
    """Exact nearest neighbours by Euclidean distance.

    Balls within balls: the children of a ball lie in it and have radii smaller by
    `base` at least. A search opens the nearest balls first and leaves out those that
    cannot hold a nearer row, so that it costs what the rows' own dimension asks for,
    not that of the table.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_features)
        Finite; one row at least.
    base : float in [1.1, 4], default 1.3
        Ratio of the radii of two levels.
    leaf_size : int, default 16
        Rows of a ball that are not parted further.
    max_nodes : int, optional
        Most balls; by default as many as it takes.
    seed : int, default 0
        Of the rows that become centres; answers do not depend on it.

    Attributes
    ----------
    n_rows : int
    n_features : int
    nodes : dict of ndarray
        The tree, depth first: order (n_rows,); and by node centre, parent, level,
        row_begin, own_end, row_end, radius_own, radius_sub. Rows ``order[row_begin:
        row_end]`` lie within radius_sub of the centre, those up to own_end are its own.

    Notes
    -----
    A simplified cover tree (Beygelzimer, Kakade and Langford 2006; Izbicki and Shelton
    2015) with strong covering: all rows below a node lie within its radius, which is at
    most base^level. Rows that are inserted wait in a list that is looked through, until
    they are an eighth of the tree, which is then built anew; so are trees of which a
    quarter was removed.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import CoverTree
    >>> tree = CoverTree(np.arange(10.0)[:, None])
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
        seed: int = 0,
    ) -> None:
        self.base = params.real("base", base)
        if not 1.1 <= self.base <= 4.0:
            raise ValueError(f"base must be in [1.1, 4]; got {base!r}.")
        self.leaf_size = params.count("leaf_size", leaf_size, 1)
        self.max_nodes = (
            None if max_nodes is None else params.count("max_nodes", max_nodes, 1)
        )
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)
        rows = rows_of("X", X)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        self.n_features = rows.shape[1]
        self._next_id = len(rows)
        self._build(rows, np.arange(len(rows), dtype=np.int64))

    def _build(self, rows: Matrix, ids: Ids) -> None:
        """Make the tree of some rows; none wait then, and none are gone."""
        most = len(rows) if self.max_nodes is None else self.max_nodes
        threads = params.n_threads()
        nodes = build(rows, self.base, self.leaf_size, most, self.seed, threads)
        self._rows = np.ascontiguousarray(rows[nodes["order"]])
        self._ids = np.ascontiguousarray(ids[nodes["order"]])
        self._tree = nodes
        self._searcher = Searcher(nodes, self._rows, self._ids)
        self._late, self._late_ids = rows[:0], ids[:0]
        self._gone: Ids = np.empty(0, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """Rows that are searched."""
        return len(self._rows) + len(self._late) - len(self._gone)

    @property
    def nodes(self) -> dict[str, NDArray[Any]]:
        """The tree as arrays; rows that wait are not in it."""
        return {name: array.copy() for name, array in self._tree.items()}

    # ------------------------------------------------------------ questions
    def query(self, X: Any, k: int = 1) -> tuple[Matrix, Ids]:
        """The k nearest rows of each row of X.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features)
        k : int, default 1
            At most `n_rows`.

        Returns
        -------
        distance : ndarray of shape (n_queries, k)
            Ascending.
        index : ndarray of int64 of shape (n_queries, k)
            Numbers of the rows, in the order in which they came; of equal distances the
            lower comes first.
        """
        rows = rows_of("X", X, self.n_features)
        k = params.count("k", k, 1)
        if k > self.n_rows:
            raise ValueError(
                f"k must be at most the number of rows, {self.n_rows}; got {k}."
            )
        if not len(self._gone) and not len(self._late):
            return self._searcher.query(rows, k, params.n_threads())
        wanted = min(len(self._rows), k + len(self._gone))
        distance, index = self._searcher.query(rows, wanted, params.n_threads())
        distance = np.where(np.isin(index, self._gone), np.inf, distance)
        late = np.sqrt(((rows[:, None] - self._late) ** 2).sum(axis=-1))
        late_ids = np.broadcast_to(self._late_ids, late.shape)
        late = np.where(np.isin(late_ids, self._gone), np.inf, late)
        distance = np.concatenate([distance, late], axis=1)
        index = np.concatenate([index, late_ids], axis=1)
        turn = np.lexsort((index, distance), axis=1)[:, :k]
        return np.take_along_axis(distance, turn, 1), np.take_along_axis(index, turn, 1)

    def query_radius(self, X: Any, radius: float) -> tuple[list[Matrix], list[Ids]]:
        """All rows within a radius of each row of X.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features)
        radius : float
            Not negative; rows at just that distance count.

        Returns
        -------
        distance : list of ndarray of shape (n_found,)
            One for each row of X, ascending.
        index : list of ndarray of int64 of shape (n_found,)
        """
        rows = rows_of("X", X, self.n_features)
        limit = params.real("radius", radius)
        if limit < 0.0:
            raise ValueError(f"radius must be >= 0; got {radius!r}.")
        begin, distance, index = self._searcher.query_radius(
            rows, limit, params.n_threads()
        )
        distances, indices = [], []
        for q, row in enumerate(rows):
            part = slice(begin[q], begin[q + 1])
            late = np.sqrt(((row - self._late) ** 2).sum(axis=-1))
            near = late <= limit
            far = np.concatenate([distance[part], late[near]])
            ids = np.concatenate([index[part], self._late_ids[near]])
            kept = ~np.isin(ids, self._gone)
            far, ids = far[kept], ids[kept]
            turn = np.lexsort((ids, far))
            distances.append(far[turn])
            indices.append(ids[turn])
        return distances, indices

    def truncate(self, n_nodes: int) -> tuple[Ids, Ids]:
        """Part the rows into balls: the first `n_nodes` that a tree of them has.

        Parameters
        ----------
        n_nodes : int

        Returns
        -------
        labels : ndarray of int64 of shape (n_rows,)
            Which ball a row belongs to, for rows by ascending number.
        centres : ndarray of int64 of shape (n_balls,)
            Numbers of the rows that are centres.
        """
        most = params.count("n_nodes", n_nodes, 1)
        rows, ids = self._all()
        turn = np.argsort(ids)
        rows, ids = np.ascontiguousarray(rows[turn]), ids[turn]
        tree = build(rows, self.base, 1, most, self.seed, params.n_threads())
        labels = np.empty(len(rows), dtype=np.int64)
        sizes = tree["own_end"] - tree["row_begin"]
        labels[tree["order"]] = np.repeat(np.arange(len(sizes)), sizes)
        return labels, ids[tree["centre"]]

    # ------------------------------------------------------------ changes
    def _all(self) -> tuple[Matrix, Ids]:
        """Rows that are searched, and their numbers."""
        ids = np.concatenate([self._ids, self._late_ids])
        kept = ~np.isin(ids, self._gone)
        return np.concatenate([self._rows, self._late])[kept], ids[kept]

    def _settle(self) -> None:
        """Build the tree anew where too much waits, or is gone."""
        n = len(self._rows)
        if len(self._late) > max(REBUILT_FROM, n // 8) or len(self._gone) > max(
            REBUILT_FROM, n // 4
        ):
            self._build(*self._all())

    def insert(self, X: Any) -> Self:
        """Add rows, which get the next numbers.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        self
        """
        rows = rows_of("X", X, self.n_features)
        ids = np.arange(self._next_id, self._next_id + len(rows), dtype=np.int64)
        self._next_id += len(rows)
        self._late = np.concatenate([self._late, rows])
        self._late_ids = np.concatenate([self._late_ids, ids])
        self._settle()
        return self

    def remove(self, index: Any) -> Self:
        """Take rows out; one at least stays.

        Parameters
        ----------
        index : array_like of int of shape (n_removed,)
            Their numbers.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For numbers of no row; nothing is removed then.
        """
        ids = params.as_array("index", index)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise ValueError(
                f"index must be a vector of ints; got {params.short(ids)}."
            )
        ids = np.unique(ids.astype(np.int64))
        known = np.setdiff1d(np.concatenate([self._ids, self._late_ids]), self._gone)
        if not np.isin(ids, known).all():
            odd = ids[~np.isin(ids, known)][0]
            raise ValueError(f"index must name rows of the tree; there is no {odd}.")
        if len(ids) == len(known):
            raise ValueError("index must leave one row at least; it names all.")
        self._gone = np.union1d(self._gone, ids)
        self._settle()
        return self

    def memory_usage(self) -> int:
        """Bytes held."""
        held = self._rows.nbytes + self._ids.nbytes + self._late.nbytes
        centres = len(self._tree["centre"]) * self.n_features * 8
        nodes = sum(array.nbytes for array in self._tree.values())
        return int(held + centres + nodes)
