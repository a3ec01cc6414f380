"""Nearest rows of many queries: by the cover tree, or all distances where it is slower.

Both ways give the same bits. Where all distances are taken, they come from one matrix
product with a bound on its rounding; the rows that may be among the nearest are then
compared by the tree's own distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.treesearch import Searcher
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids

TRIED = 32  # queries by which the tree shows what it costs
BLOCK, CHUNK = 64, 512  # queries, and rows, whose distances exist at a time
SAMPLE = 512  # rows whose k-th nearest bounds which others may be dropped
LOOK, LOOK_COLUMN = 25.0, 0.9  # ns of a distance in the tree, and of a column in it
ALL, ALL_COLUMN = 5.0, 0.08  # the same of one in a product of matrices
LARGE, SMALL = 1e140, 1e-140  # of entries, whose squares are floats of full precision


def neighbours(
    searcher: Searcher, rows: Matrix, gone: Any, X: Matrix, k: int, n_threads: int,
    late: Matrix, late_ids: Ids,
) -> tuple[Matrix, Ids]:  # fmt: skip
    """Distances and numbers of the k nearest rows of each row of X.

    The first queries go through the tree. If they looked at so many rows that all
    distances would have cost less, the others are answered by those.
    """
    looked = np.zeros(min(len(X), TRIED), dtype=np.int64)
    first = searcher.query(
        X[:TRIED], k, n_threads, gone, late, late_ids, looked
    )  # fmt: skip
    if len(X) <= TRIED:
        return first
    n, d = rows.shape
    by_tree = looked.mean() * (LOOK + LOOK_COLUMN * d)
    rest = None
    if by_tree > n * (ALL + ALL_COLUMN * d) and k <= n - gone.sum():
        rest = by_all(searcher, rows, gone, X[TRIED:], k, n_threads, late, late_ids)
    if rest is None:
        rest = searcher.query(X[TRIED:], k, n_threads, gone, late, late_ids)
    return np.concatenate([first[0], rest[0]]), np.concatenate([first[1], rest[1]])


def by_all(
    searcher: Searcher, rows: Matrix, gone: Any, X: Matrix, k: int, n_threads: int,
    late: Matrix, late_ids: Ids,
) -> tuple[Matrix, Ids] | None:  # fmt: skip
    """As `neighbours`, from all distances; None where their squares are no floats."""
    products = Products(rows, gone, k)
    if not SMALL < products.largest(X) < LARGE:
        return None
    parts = []
    for start in range(0, len(X), BLOCK):
        some = X[start : start + BLOCK]
        among = products.nearest_places(some)
        parts.append(
            searcher.query(some, k, n_threads, None, late, late_ids, among=among)
        )
    return (
        np.concatenate([distance for distance, _ in parts]),
        np.concatenate([names for _, names in parts]),
    )


class Products:
    """Squared distances of queries and rows by products of matrices, a block at a time.

    A product is |r|^2 - 2 q.r, the squared distance but for |q|^2, of rows about their
    mean. It is off by (2 d + 8) eps (2 max |r|^2 + |q|^2) at most; four times that
    stands for the rounding of centred rows and of the tree's distances as well.
    """

    def __init__(self, rows: Matrix, gone: NDArray[np.uint8], k: int) -> None:
        self.rows, self.gone, self.k = rows, gone, k
        self.any_gone = bool(gone.any())
        self.centre = rows.mean(axis=0)
        self.chunks = [slice(k, k + CHUNK) for k in range(0, len(rows), CHUNK)]
        self.most_square = 0.0  # of a row

    def largest(self, X: Matrix) -> float:
        """The largest entry of rows and queries about the mean of the rows."""
        found = 0.0
        for table in (self.rows, X):
            low, high = table.min(axis=0), table.max(axis=0)
            apart = np.maximum(np.abs(low - self.centre), np.abs(high - self.centre))
            found = max(found, float(apart.max()))
        return found

    def columns(self, places: Any) -> Matrix:
        """Some rows as factors of the product."""
        rows = self.rows[places] - self.centre
        square = np.einsum("ij,ij->i", rows, rows)
        return np.concatenate([rows, square[:, None]], axis=1)

    def nearest_places(self, X: Matrix) -> tuple[Ids, Ids]:
        """Places of rows that may be among the k nearest of queries, one by one."""
        if not self.most_square:
            self.most_square = max(
                float(self.columns(chunk)[:, -1].max()) for chunk in self.chunks
            )
        asked, k, d = X - self.centre, self.k, X.shape[1]
        own = np.einsum("ij,ij->i", asked, asked)
        slack = (8 * d + 64) * 2.0**-52 * (2.0 * self.most_square + own)
        asked = np.concatenate([-2.0 * asked, np.ones((len(asked), 1))], axis=1)
        sample = np.flatnonzero(self.gone == 0) if self.any_gone else len(self.rows)
        sample = spread(sample, max(SAMPLE, 4 * k))
        squares = asked @ self.columns(sample).T
        squares.partition(k - 1, axis=1)
        found = Candidates(k, slack, squares[:, k - 1] + 2.0 * slack)
        for chunk in self.chunks:
            squares = asked @ self.columns(chunk).T
            if self.any_gone:
                squares[:, self.gone[chunk] != 0] = np.inf
            found.add(squares, chunk.start)
        return found.arrays()


def spread(places: Any, n: int) -> Any:
    """About n of some places, or of the first so many, spread evenly."""
    if isinstance(places, int):
        return slice(None, None, max(1, places // n))
    return places[:: max(1, len(places) // n)]


class Candidates:
    """Rows that may be among the k nearest of some queries."""

    def __init__(self, k: int, slack: Vector, most: Vector) -> None:
        self.k, self.slack = k, slack
        self.most = most  # above it no row is among the k nearest
        self.query = self.place = np.empty(0, dtype=np.int64)
        self.value = np.empty(0)
        self.room = 4 * k * len(slack)

    def add(self, squares: Matrix, first: int) -> None:
        """Take the near ones of rows from a place on."""
        near = np.flatnonzero(squares <= self.most[:, None])
        self.query = np.concatenate([self.query, near // squares.shape[1]])
        self.place = np.concatenate([self.place, near % squares.shape[1] + first])
        self.value = np.concatenate([self.value, squares.ravel()[near]])
        if len(self.query) > self.room:
            self._prune()

    def _prune(self) -> None:
        """Drop those beyond the k nearest of each query, all by query and value."""
        order = np.lexsort((self.value, self.query))
        query, value = self.query[order], self.value[order]
        begin = np.searchsorted(query, np.arange(len(self.most) + 1))
        full = np.diff(begin) >= self.k
        last = value[begin[:-1][full] + self.k - 1] + 2.0 * self.slack[full]
        self.most[full] = np.minimum(self.most[full], last)
        near = value <= self.most[query]
        self.query, self.value = query[near], value[near]
        self.place = self.place[order][near]
        self.room = max(self.room, 2 * len(self.query))

    def arrays(self) -> tuple[Ids, Ids]:
        """Where the rows of each query begin, and their places."""
        self._prune()
        begin = np.searchsorted(self.query, np.arange(len(self.most) + 1))
        return begin.astype(np.int64), np.ascontiguousarray(self.place)
