"""Parts: rows of a fit, in one array or in several, and what is asked of all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.canopy.components import Components, Family
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.parquet import is_path
from dyntree.mixtures.canopy.scaling import (
    ColumnSums,
    Scaling,
    Singles,
    check_rows,
    read,
    squares_of,
    sums_of,
)
from dyntree.mixtures.canopy.shards import Plan, ShardReport, ShardWorker, SweepRequest
from dyntree.mixtures.canopy.sweep_loop import worst_fitted
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.checks import within
from dyntree.mixtures.shared.outlying import Reach, reach_of
from dyntree.params.checks import as_numbers

REACH_ROWS, REACH_NUMBERS = 1_000, 2_000_000  # by which it is seen what is far
REJECTED_FROM = 4096  # rows that are looked through for such as fit badly


def check_weight(value: Any, n_rows: int, X: Any = None) -> Vector | None:
    """Weights of the rows of X, or None where all are 1."""
    if value is None:
        return None
    check_paired(X, value, "sample_weight")
    weight = as_numbers("sample_weight", value)
    if weight.shape != (n_rows,):
        raise ArgumentError(
            "sample_weight",
            f"must have shape ({n_rows},), one for each row of X",
            weight.shape,
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ArgumentError(
            "sample_weight", "must be finite, >= 0 and not zero in all rows"
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not total < np.inf:
        raise ArgumentError(
            "sample_weight", "must have a finite sum; divide it by its mean"
        )
    return weight


def added(sums: Iterable[ColumnSums]) -> ColumnSums:
    """Sums of all parts, in their order."""
    each = list(sums)
    return ColumnSums(
        np.sum([part.total for part in each], axis=0),
        np.sum([part.first for part in each], axis=0),
        np.min([part.low for part in each], axis=0),
        np.max([part.high for part in each], axis=0),
        sum(part.n_far for part in each),
        next((part.far for part in each if part.far is not None), None),
    )


def reach_of_parts(parts: Any, family: Family) -> Reach:
    """Reach of columns by some thousand rows of any weight; counts have no bounds."""
    d = parts.features.n_features
    if family.is_count:
        return Reach(np.zeros(d), np.full(d, np.inf))
    most = max(REACH_ROWS, REACH_NUMBERS // d)
    places = parts.drawn(np.random.default_rng(0), most)
    weight = None if parts.weight is None else parts.weight[places]
    return reach_of(parts.take(places), weight)


def drawn(n: int, rng: np.random.Generator, most: int) -> Ids:
    """Up to `most` of the numbers below n, ascending."""
    return np.sort(rng.choice(n, size=min(n, most), replace=False))


class SomeRows:
    """A selection of the rows of a table, read only when it is needed."""

    ndim = 2

    def __init__(self, rows: Any, places: Ids) -> None:
        self._rows, self._places = rows, places
        self.shape, self.dtype = (len(places), rows.shape[1]), rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, places: Any) -> NDArray[Any]:
        out: NDArray[Any] = self._rows[self._places[places]]
        return out


class Parts:
    """Rows of a fit, in one array or in several, as `Canopy.fit` takes them.

    Parts that are memory maps or Parquet files are read when they are asked for;
    weights are of all rows, in the order of the parts.
    """

    def __init__(
        self, X: Any, features: FeatureMap | None = None, sample_weight: Any = None
    ) -> None:
        several = (
            isinstance(X, Sequence)
            and not isinstance(X, str)
            and len(X)
            and (np.ndim(X[0]) == 2 or is_path(X[0]))
        )
        self.arrays: list[Any] = []
        for one in X if several else [X]:
            features, rows = read(one, features)
            if len(rows) or not several:
                self.arrays.append(rows)
        assert features is not None
        self.features = features
        self.first = np.cumsum([0, *(len(rows) for rows in self.arrays)])
        self.weight = check_weight(sample_weight, self.n_rows, X)

    @property
    def n_rows(self) -> int:
        """Rows in all."""
        return int(self.first[-1])

    @property
    def n_weighted(self) -> int:
        """Rows with any weight."""
        return int(self.n_rows if self.weight is None else (self.weight > 0).sum())

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.n_rows if self.weight is None else self.weight.sum())

    def each(self) -> Iterator[tuple[Any, int, Vector | None]]:
        """Rows, number of the first one, and weights of each part."""
        for k, rows in enumerate(self.arrays):
            first, last = self.first[k], self.first[k + 1]
            weight = None if self.weight is None else self.weight[first:last]
            yield rows, int(first), weight

    def check(self, family: Family) -> None:
        """Raise ValueError for rows that a family cannot have."""
        for rows, _, _ in self.each():
            check_rows(rows, family, self.features.feature_names)

    def scaling(self, family: Family) -> Scaling:
        """Centres and scales of the columns of all parts."""
        each, reach = list(self.each()), reach_of_parts(self, family)
        sums = added(sums_of(rows, w, reach, first) for rows, first, w in each)
        near, every = np.sum(
            [squares_of(rows, w, sums.mean, reach) for rows, _, w in each], axis=0
        )
        names = self.features.feature_names
        return Scaling.of(sums, (near, every), self.total, family, names)

    def shards(self, plan: Plan, scratch: Any = None) -> LocalShards:
        """The same rows, ready for sweeps."""
        return LocalShards(self, plan, scratch)

    def take(self, places: Ids) -> Matrix:
        """Return the rows with these ascending numbers, unscaled, in float64."""
        out = np.empty((len(places), self.features.n_features))
        for k, rows in enumerate(self.arrays):
            mine = (places >= self.first[k]) & (places < self.first[k + 1])
            out[mine] = rows[places[mine] - self.first[k]]
        return out

    def without(self, places: Ids) -> Parts:
        """All rows but some."""
        left = np.setdiff1d(np.arange(self.n_rows), places)
        rest = object.__new__(Parts)
        rest.features, rest.arrays = self.features, []
        for k, rows in enumerate(self.arrays):
            mine = left[(left >= self.first[k]) & (left < self.first[k + 1])]
            if len(mine):
                rest.arrays.append(SomeRows(rows, mine - self.first[k]))
        rest.first = np.cumsum([0, *(len(rows) for rows in rest.arrays)])
        rest.weight = None if self.weight is None else self.weight[left]
        return rest

    def drawn(self, rng: np.random.Generator, most: int) -> Ids:
        """Numbers of up to so many rows with any weight, drawn at random; ascending."""
        if self.weight is None:
            return drawn(self.n_rows, rng, most)
        usable = np.flatnonzero(self.weight)
        return usable[drawn(len(usable), rng, most)]

    def share_of(self, validation: Any, seed: int) -> Ids:
        """Numbers of a share of the rows with any weight, to hold out; ascending."""
        part = within("validation", validation, 0.0, 1.0, "()")
        n = self.n_weighted
        most = max(1, round(part * n))
        if n - most < 2:
            raise ArgumentError(
                "validation",
                "must leave at least 2 rows with any weight to learn; {part:g} of "
                "{n} leaves {n_2}",
                remedy="Hold out fewer.",
                part=part,
                n=n,
                n_2=n - most,
            )
        return self.drawn(np.random.default_rng([seed, 6]), most)


def held_out(validation: Any, features: FeatureMap, family: Family) -> Matrix:
    """Rows that a user holds out, checked as those of a fit are; float64."""
    _, rows = read(validation, features, "validation")
    if not len(rows):
        raise ArgumentError("validation", "must have at least one row", Message("none"))
    check_rows(rows, family, features.feature_names, "validation")
    return np.asarray(rows, dtype=np.float64)


def place_for(scratch: Any, rows: Any) -> Singles | None:
    """Where the scaled rows of a part stand: in memory, or in a file without a name."""
    if scratch is None:
        return None
    with tempfile.TemporaryFile(dir=scratch) as file:
        return np.memmap(file, dtype=np.float32, mode="w+", shape=rows.shape)


def badly_fitted(
    parts: Any, plan: Plan, known: Components, n: int, time: int
) -> Matrix:
    """Scaled rows of low density from a few thousand rows, lowest first."""
    places = parts.drawn(np.random.default_rng([plan.seed, 5, time]), REJECTED_FROM)
    rows = plan.scaling.doubles(parts.take(places))
    return worst_fitted(known, FAMILY_OF[plan.family], rows, n)


class LocalShards:
    """Shards in this process, one for each part.

    `scratch` is a folder for the scaled rows, where memory is not to hold them.
    """

    def __init__(self, parts: Parts, plan: Plan, scratch: Any = None) -> None:
        self.parts, self.plan = parts, plan
        self.shards = [
            ShardWorker(rows, first, weight, plan, place_for(scratch, rows))
            for rows, first, weight in parts.each()
        ]

    def sweep(self, order: SweepRequest) -> list[ShardReport]:
        """Let all shards do a sweep, one after another."""
        return [shard.sweep(order) for shard in self.shards]

    def badly_fitted(self, known: Components, n: int, time: int) -> Matrix:
        """Scaled rows of low density from a few thousand rows, lowest first."""
        return badly_fitted(self.parts, self.plan, known, n, time)

    @property
    def labels(self) -> NDArray[np.int32]:
        """Components of all rows, as they were last drawn."""
        return np.concatenate([shard.labels for shard in self.shards])

    def state(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint keeps of all shards."""
        return {
            f"shard{k}_{name}": array
            for k, shard in enumerate(self.shards)
            for name, array in shard.state().items()
        }

    def resume(self, arrays: dict[str, NDArray[Any]], n_components: int) -> None:
        """Become what `state` describes."""
        for k, shard in enumerate(self.shards):
            head = f"shard{k}_"
            mine = {
                name.removeprefix(head): array
                for name, array in arrays.items()
                if name.startswith(head)
            }
            shard.resume(mine, n_components)

    def memory_usage(self) -> int:
        """Bytes of all shards."""
        return sum(shard.memory_usage() for shard in self.shards)
