"""Scaling: rows as they are given -> checked, centred and scaled float32."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.errors import ArgumentError, Message, ScaleWarning, warn
from dyntree.mixtures.canopy.components import LEAST, Family, Prior
from dyntree.mixtures.canopy.options import MixturePrior
from dyntree.mixtures.canopy.parquet import ParquetRows, is_path
from dyntree.mixtures.shared.arrays import is_constant
from dyntree.mixtures.shared.outlying import Reach, warn_of_far

Singles = NDArray[np.float32]
BLOCK = 1 << 18  # numbers in float64 at a time
FARTHEST = 1e12  # scaled; only rows of no weight lie beyond it
BITS_FOR_FAR = 17  # half of those of squares, to which scales leave far values
BITS = 60  # that a sum over all rows may fill
MOST_BITS = 900  # after the point, where the sum is tiny


def is_plain(X: Any) -> bool:
    """Whether rows are an array of real numbers, which is never copied whole."""
    plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
    return plain and X.ndim == 2 and X.dtype.kind in "fiub"


def blocks(X: Any) -> Iterator[slice]:
    """Runs of rows of BLOCK numbers, about."""
    step = max(1, BLOCK // max(1, X.shape[1]))
    for first in range(0, len(X), step):
        yield slice(first, min(len(X), first + step))


def pieces(X: Any, weight: Vector | None) -> Iterator[tuple[Matrix, Vector]]:
    """Rows in float64 and their weights, a block at a time."""
    for part in blocks(X):
        w = np.ones(part.stop - part.start) if weight is None else weight[part]
        yield np.array(X[part], dtype=np.float64, order="C"), w


@dataclass(frozen=True)
class ColumnSums:
    """Weight of values that are not far, their weighted sums, and the extremes.

    Rows with a far value are counted, and the first of them is named.
    """

    total: Vector
    first: Vector
    low: Vector
    high: Vector
    n_far: int = 0
    far: tuple[int, int, float] | None = None  # row, column and value of the first

    @property
    def mean(self) -> Vector:
        """Weighted means of the columns."""
        return self.first / self.total


def sums_of(
    X: Any, weight: Vector | None, reach: Reach, first_row: int = 0
) -> ColumnSums:
    """Sums and extremes of the columns, over rows that have weight."""
    d, n_far, number, named = X.shape[1], 0, first_row, None
    total, first = np.zeros(d), np.zeros(d)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for rows, w in pieces(X, weight):
        far = reach.exceeded(rows) & (w > 0.0)[:, None]
        if far.any():
            row, column = (int(place) for place in np.argwhere(far)[0])
            named = named or (number + row, column, float(rows[row, column]))
            n_far += int(far.any(axis=1).sum())
            total += w @ ~far
            first += w @ np.where(far, 0.0, rows)
        else:
            total += w.sum()
            first += w @ rows
        there = rows[w > 0.0]
        low = np.minimum(low, there.min(axis=0, initial=np.inf))
        high = np.maximum(high, there.max(axis=0, initial=-np.inf))
        number += len(rows)
    return ColumnSums(total, first, low, high, n_far, named)


def squares_of(
    X: Any, weight: Vector | None, centre: Vector, reach: Reach
) -> tuple[Vector, Vector]:
    """Weighted sums of squares about a centre, without far values and with them."""
    near, every = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows, w in pieces(X, weight):
        squares = (rows - centre) ** 2
        far = reach.exceeded(rows)
        every += w @ squares
        near += w @ (np.where(far, 0.0, squares) if far.any() else squares)
    return near, every


class SparseRows:
    """Counts of a sparse matrix, of which only rows that are asked for are dense."""

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, X: Any) -> None:
        self.matrix = X.tocsr()
        self.shape = self.matrix.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, places: Any) -> Matrix:
        rows: Matrix = self.matrix[places].toarray().astype(np.float64)
        return rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self[:].astype(np.float64 if dtype is None else dtype, copy=False)


def read(
    X: Any, features: FeatureMap | None, argument: str = "X"
) -> tuple[FeatureMap, Any]:
    """Columns, and rows as an array that is the caller's own where it can be.

    Raises ValueError for what is no table of finite numbers, or has other columns than
    before; the first bad row and column are named. Sparse rows are `SparseRows`, which
    `check_rows` refuses where a family has no counts.
    """
    if is_path(X):
        X = ParquetRows(X, features, argument)
        features = X.features
    if isinstance(X, np.ndarray) and X.ndim == 2 and not X.shape[1]:
        raise ArgumentError(argument, "must have one column at least", X.shape)
    if hasattr(X, "tocsr"):
        X = SparseRows(X)
    reads = is_plain(X) and not (features and features.times)
    if not (reads or isinstance(X, ParquetRows | SparseRows)) or not len(X):
        if features is None:
            features, rows = FeatureMap.learn(X)
        else:
            rows = features.encode(X, argument)
        return features, rows
    if features is None:
        features = FeatureMap.learn(np.zeros((1, X.shape[1])))[0]
    elif features.n_features != X.shape[1]:
        features.encode(np.zeros((1, X.shape[1])), argument)  # says what is wrong
    if X.dtype.kind == "f":
        most = min(LARGEST, float(np.finfo(X.dtype).max))
        for part in blocks(X):
            bad = ~(np.abs(X[part]) <= most)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                if np.isfinite(X[part][row, column]):
                    raise ArgumentError(
                        argument,
                        f"must be at most {most:g}",
                        Message("{x:g}", x=X[part][row, column]),
                        "Rescale the column.",
                        row=part.start + row,
                        column=features.feature_names[column],
                    )
                raise ArgumentError(
                    argument,
                    "must be finite",
                    X[part][row, column],
                    "Missing values are not supported; impute or drop the row.",
                    row=part.start + row,
                    column=features.feature_names[column],
                )
    return features, X


def check_rows(
    X: Any, family: Family, names: tuple[str, ...], argument: str = "X"
) -> None:
    """Raise ValueError for what a family cannot have had; only counts may be sparse."""
    if not family.is_count:
        if isinstance(X, SparseRows):
            params.check_dense(argument, X.matrix)
        return
    for part in blocks(X):
        rows = np.asarray(X[part], dtype=np.float64)
        bad = (rows < 0) | (rows != np.floor(rows))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ArgumentError(
                argument,
                "must have whole numbers >= 0 for family {label!r}",
                Message("{rows:g}", rows=rows[row, column]),
                row=part.start + row,
                column=names[column],
                label=family.name,
            )
        if family.needs_a_count and not rows.any(axis=1).all():
            row = int(np.flatnonzero(~rows.any(axis=1))[0])
            raise ArgumentError(
                argument,
                "must have a count in every row for family {label!r}; row {start} "
                "has none",
                remedy="Drop it.",
                label=family.name,
                start=part.start + row,
            )


@dataclass(frozen=True)
class Scaling:
    """Where columns are centred, and what they are divided by; (n_features,) each."""

    centre: Vector
    scale: Vector
    variance: Vector  # of the columns, before
    power: float  # mean x'x, scaled: no sum over rows is larger than their weight by it
    counts: Vector  # means of the columns

    @classmethod
    def of(
        cls,
        sums: ColumnSums,
        squares: tuple[Vector, Vector],
        total: float,
        family: Family,
        names: tuple[str, ...],
    ) -> Scaling:
        """Weighted means and standard deviations of columns, without far values.

        By what `sums_of` gives over all rows, `squares_of` about the means, and the
        weight of all rows. All scales are larger by a factor where squares of far
        values would leave too few bits for their sums.
        """
        centre, variance, d = sums.mean, squares[0] / sums.total, len(sums.first)
        whole = squares[1] / total
        if family.is_count:
            power = max(1.0, float((variance + centre**2).sum()))
            return cls(np.zeros(d), np.ones(d), variance, power, centre)
        equal = is_constant(sums.low, sums.high)
        centre = np.where(equal, sums.low, centre)
        variance = np.where(equal, 0.0, variance)
        if equal.any():
            listed = ", ".join(repr(names[j]) for j in np.flatnonzero(equal)[:5])
            warn(
                ScaleWarning,
                "{equal} of {d} columns are constant ({listed}), so that they do not "
                "distinguish components. Drop them.",
                equal=int(equal.sum()),
                d=d,
                listed=listed,
            )
        if sums.far is not None:
            row, column, value = sums.far
            warn_of_far(names[column], value, sums.n_far, row=row)
        whole = np.where(equal, 0.0, whole)
        middle = float(np.sqrt(variance.mean())) or 1.0
        scale = np.full(d, middle)
        if not family.one_scale:
            scale = np.where(equal, middle, np.sqrt(variance))
        power = float(d)
        if sums.far is not None:
            most = 2.0 ** max(0.0, BITS_FOR_FAR - 0.5 * np.log2(total * d))
            scale = scale * max(1.0, float(np.sqrt(whole / scale**2).max()) / most)
            power = max(power, float((whole / scale**2).sum()))
        return cls(centre, scale, variance, power, centre)

    def taken(self, X: Any, into: Singles | None = None) -> Singles:
        """Rows in float32, scaled block by block."""
        out = np.empty(X.shape, dtype=np.float32) if into is None else into
        for part in blocks(X):
            rows = np.array(X[part], dtype=np.float64)
            rows -= self.centre
            rows /= self.scale
            out[part] = np.clip(rows, -FARTHEST, FARTHEST, out=rows)
        return out

    def doubles(self, X: Any) -> Matrix:
        """Rows in float64, scaled."""
        return (np.asarray(X, dtype=np.float64) - self.centre) / self.scale

    def square(self, spread: NDArray[np.float64]) -> Any:
        """What divides variances or covariances of that shape."""
        if spread.ndim < 2:
            return self.scale[0] ** 2
        return self.scale**2 if spread.ndim == 2 else np.outer(self.scale, self.scale)

    @property
    def log_scale(self) -> float:
        """What is subtracted from a log density of scaled rows, for one of the rows."""
        return float(np.log(self.scale).sum())

    def units(self, total: float, family: Family) -> tuple[float, float, float]:
        """Powers of two in which sums over rows of weight `total` are counted.

        Families of counts sum no squares. Raises ValueError where fewer than 20 bits
        would be left after the point.
        """
        bits = [
            min(MOST_BITS, BITS - int(np.ceil(np.log2(total) + np.log2(most))))
            for most in (1.0, np.sqrt(self.power), self.power)
        ]
        used, what, mean = bits, "sums of squares", f"mean square of {self.power:.3g}"
        if family.is_count:
            used, what, mean = bits[:2], "sums", f"size of {np.sqrt(self.power):.3g}"
        if min(used) < 20:
            raise ValueError(
                Message(
                    "sample_weight and X must keep {what} below 2^40; a weight of "
                    "{total:.3g} times a {mean} does not. Divide the weights, or "
                    "clip or rescale columns.",
                    what=what,
                    total=total,
                    mean=mean,
                )
            )
        weight, first, second = (2.0**b for b in bits)
        return weight, first, second

    def prior(self, given: MixturePrior, family: Family, alpha: float) -> Prior:
        """A prior in scaled coordinates, with its defaults."""
        d = len(self.scale)
        for name in ("mean", "variance"):
            value = getattr(given, name)
            if value is not None and len(value) != d:
                rule = f"must have {d} numbers, one for each column"
                raise ArgumentError(f"prior.{name}", rule, len(value))
        mean = np.zeros(d)
        if given.mean is not None:
            mean = (given.mean - self.centre) / self.scale
        least, variance = None, given.variance
        if variance is None:
            some = self.variance[self.variance > 0.0]
            middle = np.full(d, float(np.median(some)) if len(some) else 0.0)
            if not family.one_scale:  # columns have units of their own
                middle = np.where(self.variance > 0.0, self.variance, middle)
            least = 1e-3 * middle / self.scale**2
            variance = 0.1 * self.variance + 1e-3 * middle
        variance = np.where(variance > 0.0, variance, 1e-3) / self.scale**2
        variance = np.maximum(variance, LEAST)
        df = given.df if given.df is not None else 4.0
        df = max(df, family.least_df(d))
        rate, exposure = family.count_prior(given.rate, float(self.counts.mean()), d)
        flat = given.reg_covar
        if flat is not None and family.is_count:
            rate, exposure = np.full(d, 1e-10), 1e-10
        return Prior(
            mean=mean, strength=given.mean_strength, df=df, variance=variance,
            rate=rate, exposure=exposure,
            reg_covar=None if flat is None else flat / self.scale**2,
            concentration=0.0 if flat is not None else alpha,
            least=None if flat is not None else least,
        )  # fmt: skip
