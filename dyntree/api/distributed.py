"""Mixtures and models for keys on the machines of a Dask cluster.

A `KeyedCluster` lets keys learn side by side. `fit_canopy` fits a mixture to rows that
never leave the workers: a sweep sends parameters out, and sums of whole numbers back. A
worker that dies takes its labels with it; its shards are read anew elsewhere, and draw
their labels from exact posteriors, which for "em" and "esca" gives the same parameters,
bit for bit, as a run without the fault.

Start a cluster by ``dask scheduler`` on one machine and ``dask worker HOST:8786`` on
each, with dyntree installed on all, or use ``distributed.LocalCluster``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from distributed import get_worker
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree.api.distributed needs distributed >= 2024.8. Install it with: "
        "pip install '.[distributed]' in a clone of dyntree."
    ) from error

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.keyed.model import KeyedStream
from dyntree.keyed.parts import learned, put_together, slots_of
from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.components import Components, Family
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.parts import (
    added,
    badly_fitted,
    drawn,
    reach_of_parts,
)
from dyntree.mixtures.canopy.records import CanopySweep
from dyntree.mixtures.canopy.scaling import (
    ColumnSums,
    Scaling,
    check_rows,
    read,
    squares_of,
    sums_of,
)
from dyntree.mixtures.canopy.shards import Plan, ShardReport, ShardWorker, SweepRequest
from dyntree.mixtures.shared.outlying import Reach
from dyntree.runtime.progress import Progress

RETRIES = 4  # of a task whose worker died


# ------------------------------------------------------------ what workers run
def _rows_of(recipe: Any) -> Any:
    """Rows of a shard: what the recipe makes, or the array that it is."""
    return read(recipe() if callable(recipe) else recipe, None)[1]


def _shape(recipe: Any) -> tuple[int, FeatureMap]:
    """Number of the rows of a shard, and its columns."""
    features, rows = read(recipe() if callable(recipe) else recipe, None)
    return len(rows), features


def _checked(recipe: Any, family: str, names: tuple[str, ...]) -> None:
    """Raise ValueError for rows that a family cannot have."""
    check_rows(_rows_of(recipe), FAMILY_OF[family], names)


def _sums(recipe: Any, reach: Reach) -> ColumnSums:
    """Number of the rows of a shard, and sums and extremes of its columns."""
    return sums_of(_rows_of(recipe), None, reach)


def _squares(recipe: Any, centre: Vector, reach: Reach) -> tuple[Vector, Vector]:
    """Squares of a shard about a centre."""
    return squares_of(_rows_of(recipe), None, centre, reach)


def _numbered(sums: ColumnSums, first: int) -> ColumnSums:
    """Sums of a shard, whose far row has its number among all rows."""
    if sums.far is None:
        return sums
    row, column, value = sums.far
    return replace(sums, far=(first + row, column, value))


def _taken(recipe: Any, places: NDArray[np.int64]) -> Matrix:
    """Rows of a shard at these places, in float64."""
    return np.asarray(_rows_of(recipe)[places], dtype=np.float64)


def _shards() -> dict[tuple[str, int], tuple[int, ShardWorker, ShardReport]]:
    """Shards of this worker: sweeps done, the shard, the report of its last sweep."""
    worker = get_worker()
    if not hasattr(worker, "dyntree_shards"):
        worker.dyntree_shards = {}
    shards: dict[tuple[str, int], tuple[int, ShardWorker, ShardReport]] = (
        worker.dyntree_shards
    )
    return shards


def _swept(
    run: str, k: int, recipe: Any, first: int, plan: Plan, task: SweepRequest
) -> ShardReport:
    """Do a sweep over a shard, which is read anew where this worker has no such."""
    shards = _shards()
    for old in [key for key in shards if key[0] != run]:
        del shards[old]
    done, shard, report = shards.get((run, k), (-1, None, None))
    if report is not None and done == task.time + 1:
        return report  # the sweep was done, and its result was lost on the way
    if shard is None or done != task.time:
        shard = ShardWorker(_rows_of(recipe), first, None, plan)
    report = shard.sweep(task)
    shards[run, k] = task.time + 1, shard, report
    return report


def _outcome(work: Callable[..., Any], *arguments: Any) -> Any:
    """What work returns, or the error of bad rows, which no other worker would mend."""
    try:
        return work(*arguments)
    except ValueError as error:
        return error


# ------------------------------------------------------------ what the client does
def _recipes_of(client: Any, shards: Any) -> list[Any]:
    """What makes each shard: callables, arrays, or futures of what is delayed."""
    if isinstance(shards, np.ndarray) or hasattr(shards, "iloc"):
        raise ArgumentError(
            "shards",
            "must be a list of callables or arrays, one for each shard",
            Message("a table of shape {shape}", shape=shards.shape),
            "Cut it, as in np.array_split(X, 8).",
        )
    if hasattr(shards, "to_delayed"):  # an array or a frame of Dask
        blocks = getattr(shards, "numblocks", (0, 1))
        if len(blocks) > 1 and blocks[1] > 1:
            raise ArgumentError(
                "shards",
                "must hold whole rows; the array has chunks of columns, {blocks} in "
                "a row",
                remedy="Rechunk it, as in X.rechunk({{1: -1}}).",
                blocks=blocks[1],
            )
        shards = np.ravel(shards.to_delayed())
    each = list(shards)
    delayed = [k for k, one in enumerate(each) if hasattr(one, "__dask_graph__")]
    for k, future in zip(
        delayed, client.compute([each[k] for k in delayed]), strict=True
    ):
        each[k] = future
    return each


def _gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results in order; the first error of bad rows is raised."""
    found: list[Any] = client.gather(futures)
    for one in found:
        if isinstance(one, ValueError):
            raise one
    return found


class RemoteParts:
    """Rows that workers read, with the public names of `canopy.parts.Parts`."""

    weight: Vector | None = None

    def __init__(self, client: Any, recipes: Any) -> None:
        self.client, self.recipes = client, _recipes_of(client, recipes)
        if not self.recipes:
            raise ArgumentError("shards", "must name one at least", Message("none"))
        shapes = self.each(_shape)
        self.recipes = [
            one for one, s in zip(self.recipes, shapes, strict=True) if s[0]
        ]
        shapes = [shape for shape in shapes if shape[0]]
        if not shapes:
            raise ArgumentError("shards", "must have one row at least; all are empty")
        each = [features for _, features in shapes]
        widths = {features.n_features for features in each}
        if len(widths) > 1:
            raise ArgumentError(
                "shards",
                "must agree on the number of columns; they have {widths}",
                widths=sorted(widths),
            )
        names = {features.feature_names for features in each}
        if len(names) > 1:
            raise ArgumentError(
                "shards",
                "must have the same columns in the same order; they have {names}",
                names=sorted(names),
            )
        self.first = np.cumsum([0, *(n for n, _ in shapes)])
        self.features = each[0]

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Result of a function for every shard, computed by the workers, in order."""
        futures = [
            self.client.submit(
                _outcome, work, recipe, *arguments, pure=False, retries=RETRIES
            )
            for recipe in self.recipes
        ]
        return _gathered(self.client, futures)

    @property
    def n_rows(self) -> int:
        """Rows in all."""
        return int(self.first[-1])

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.n_rows)

    def check(self, family: Family) -> None:
        """Raise ValueError for rows that a family cannot have."""
        if family.is_count:
            self.each(_checked, family.name, self.features.feature_names)

    def scaling(self, family: Family) -> Scaling:
        """Centres and scales of the columns of all shards."""
        reach = reach_of_parts(self, family)
        each = self.each(_sums, reach)
        sums = added(map(_numbered, each, self.first.tolist()))
        near, every = np.sum(self.each(_squares, sums.mean, reach), axis=0)
        names = self.features.feature_names
        return Scaling.of(sums, (near, every), self.total, family, names)

    def take(self, places: NDArray[np.int64]) -> Matrix:
        """Some rows, by ascending numbers; float64."""
        out = np.empty((len(places), self.features.n_features))
        futures = {}
        for k, recipe in enumerate(self.recipes):
            mine = (places >= self.first[k]) & (places < self.first[k + 1])
            if mine.any():
                wanted = places[mine] - self.first[k]
                futures[k] = (
                    mine,
                    self.client.submit(
                        _taken, recipe, wanted, pure=False, retries=RETRIES
                    ),
                )
        for mine, future in futures.values():
            out[mine] = future.result()
        return out

    @property
    def n_weighted(self) -> int:
        """Number of rows with positive weight: all rows."""
        return self.n_rows

    def drawn(self, rng: np.random.Generator, most: int) -> NDArray[np.int64]:
        """Numbers of up to so many rows, drawn at random; ascending."""
        return drawn(self.n_rows, rng, most)

    def shards(self, plan: Plan, scratch: Any = None) -> RemoteShards:
        """The same rows, ready for sweeps."""
        return RemoteShards(self, plan)


class RemoteShards:
    """Shards that are stored by workers; the worker of a shard is only a preference."""

    def __init__(self, parts: RemoteParts, plan: Plan) -> None:
        self.parts, self.plan = parts, plan
        self.run = uuid.uuid4().hex  # names this fit among a worker's shards
        self.places: list[str | None] = [None] * len(parts.recipes)

    def sweep(self, task: SweepRequest) -> list[ShardReport]:
        """Run a sweep on all shards, each on its previous worker if that still runs."""
        client, parts = self.parts.client, self.parts
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        futures = []
        for k, recipe in enumerate(parts.recipes):
            if self.places[k] not in workers:
                self.places[k] = workers[k % len(workers)] if workers else None
            place = self.places[k]  # None while all workers start anew
            futures.append(
                client.submit(
                    _outcome,
                    _swept,
                    self.run,
                    k,
                    recipe,
                    int(parts.first[k]),
                    self.plan,
                    task,
                    workers=None if place is None else [place],
                    allow_other_workers=place is not None,
                    pure=False,
                    retries=RETRIES,
                )
            )
        return _gathered(client, futures)

    def badly_fitted(self, known: Components, n: int, time: int) -> Matrix:
        """Scaled rows of low density from a few thousand rows, lowest first."""
        return badly_fitted(self.parts, self.plan, known, n, time)

    @property
    def labels(self) -> NDArray[np.int32]:
        """None, because labels stay with the workers; use `predict` instead."""
        return np.empty(0, dtype=np.int32)


def fit_canopy(
    client: Any,
    shards: Any,
    model: Canopy,
    *,
    validation: Any = None,
    progress: Progress = None,
    callback: Callable[[CanopySweep], object] | None = None,
) -> Canopy:
    """Fit a mixture to rows that Dask's workers read.

    Parameters
    ----------
    client : distributed.Client
    shards : sequence of callables, arrays or Delayed, or an array or frame of Dask
        Each makes, or is, an array of shape (n_rows, n_features). Callables run on the
        workers, for example ``functools.partial(np.load, "part0.npy", mmap_mode="r")``,
        and may run again after a failure. Each chunk of rows of a Dask collection is a
        shard. About 250,000 rows for each shard work well. With thousands of
        components, fewer and larger shards are faster, one for each core, because each
        shard sends sums for all components in every sweep. The result depends on how
        the rows are divided into shards, but not on the workers.
    model : Canopy
        The model to fit, which is changed in place.
    validation : array_like of shape (n_held_out, n_features), optional
        Rows that decide when to stop.
    progress, callback
        As in `Canopy.fit`.

    Returns
    -------
    Canopy
        The fitted model. Its `labels_` are empty.

    Raises
    ------
    ValueError
        If shards do not fit together, or rows are bad. The model is then as it was
        before the call.

    Examples
    --------
    >>> import numpy as np, functools
    >>> from dyntree.mixtures import Canopy
    >>> def rows(seed):
    ...     return np.random.default_rng(seed).normal(size=(500, 3))
    >>> shards = [functools.partial(rows, seed) for seed in range(4)]
    >>> with distributed.Client(processes=False) as client:  # doctest: +SKIP
    ...     model = fit_canopy(client, shards, Canopy(8, inference="esca", seed=0))
    """
    if not isinstance(model, Canopy):
        raise ArgumentError("model", "must be a Canopy", model)
    return model.fit_parts(
        RemoteParts(client, shards), validation=validation, progress=progress,
        callback=callback,
    )  # fmt: skip


class KeyedCluster:
    """Lets the keys of a model learn on the workers of Dask, as one machine would.

    The states of keys are with this process, in memory or in the model's store. Each
    call sends the rows of a key, and its state, to one worker and stores what comes
    back: answers and states are those of `KeyedStream.predict_then_learn` on one
    machine, bit for bit, also if workers die, whose tasks others do again.

    Parameters
    ----------
    client : distributed.Client
    snapshot : KeyedStream
        A model beside a snapshot (`KeyedStream.snapshot`), with keys or without, which
        learns. One with a store is on disk when `learn` returns, as in
        ``KeyedStream(store="fleet.db").take(snapshot)``.
    slots : int, default 64
        Tasks of a call, at most; a few for each thread of the workers. A key belongs to
        the slot crc32(key) % slots.

    Attributes
    ----------
    fleet : KeyedStream
        The model, which may be asked, saved or read at any time.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import KeyedStream
    >>> rng = np.random.default_rng(0)
    >>> X, shop = rng.random((400, 2)), rng.integers(0, 10, 400)
    >>> y = X[:, 0] + shop
    >>> snapshot = KeyedStream(seed=1).update(X, y, key=shop).snapshot()
    >>> with distributed.Client(processes=False) as client:  # doctest: +SKIP
    ...     cluster = KeyedCluster(client, snapshot)
    ...     prediction = cluster.learn(X, y, key=shop)
    >>> len(cluster.fleet)  # doctest: +SKIP
    10
    """

    def __init__(self, client: Any, snapshot: KeyedStream, slots: int = 64) -> None:
        if not isinstance(snapshot, KeyedStream) or snapshot.snapshot_id is None:
            raise ArgumentError(
                "snapshot", "must be a KeyedStream beside a snapshot", snapshot,
                "Pass fleet.snapshot(), of a fleet that has learned some thousand "
                "rows.",
            )  # fmt: skip
        self.client, self.fleet = client, snapshot
        self.slots = params.count("slots", slots, 1)
        file = checkpoint.dumps(snapshot.snapshot())
        # a task and no scattered data, as those are lost with the worker that has them
        self._snapshot = client.submit(checkpoint.loads, file, retries=RETRIES)

    def learn(
        self, X: Any, y: Any, key: Any = None, *, position: Any = None,
        exposure: Any = None,
    ) -> Any:  # fmt: skip
        """Predict each row before it is learned, and learn it, on the workers.

        Parameters
        ----------
        X, y, key, position, exposure
            As in `KeyedStream.predict_then_learn`.

        Returns
        -------
        Prediction, CountPrediction or ClassPrediction
            In the order of the rows.

        Raises
        ------
        ValueError
            If the input is bad, or the model is frozen; nothing is learned then. The
            same holds for errors of the cluster.
        """
        with self.fleet.exclusive():
            if is_nothing(X) and not np.size(y):
                return self.fleet.predict_then_learn(X, y, key)
            if self.fleet.is_frozen:
                raise ArgumentError(
                    "fleet", "must not be frozen", Message("a frozen one"),
                    "Ask it by fleet.predict(X, key).",
                )  # fmt: skip
            rows = slots_of(self.fleet, X, y, key, position, exposure, self.slots)
            tasks = [
                self.client.submit(
                    learned, self._snapshot, one, pure=False, retries=RETRIES
                )
                for one in rows
            ]
            return put_together(self.fleet, rows, self.client.gather(tasks))
