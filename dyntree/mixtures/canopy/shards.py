"""Shards: rows with their labels and lists, and what a sweep over them returns.

A shard knows its rows, its seed and nothing of other shards, so that it can live in
another process, and be built again there: its labels are drawn anew by an exact sweep.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dyntree._core.covertree import build, linked
from dyntree._core.mixtures.scores import Scores
from dyntree._core.mixtures.soft_sweep import em
from dyntree._core.mixtures.sweeps import Shard
from dyntree._core.mixtures.tree_sampler import Means, sample_rows
from dyntree._core.rng import CounterSource
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.canopy.components import LOG_2PI, Components
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.groups import BASE, centres, grouped
from dyntree.mixtures.canopy.options import CanopyOptions
from dyntree.mixtures.canopy.scaling import Scaling, Singles, blocks
from dyntree.runtime.blas import single_threaded_blas

ROW_LOSS = 10.0  # how much more than its group a row may lose
GROUPED = ("canopy1", "canopy2")
LEAF = 4  # components of a node of a tree that are not parted
KINDS = {"spherical": 0, "spherical_tied": 0, "diag": 1, "poisson": 2, "multinomial": 3}


@dataclass(frozen=True)
class Plan:
    """What a shard is built by, the same for all shards of a fit."""

    family: str
    inference: str
    sweeps: CanopyOptions
    scaling: Scaling
    units: tuple[float, float, float]
    seed: int
    n_threads: int


@dataclass(frozen=True)
class SweepRequest:
    """Instructions for one sweep: the parameters, and how labels are drawn."""

    time: int
    known: Components
    pace: float  # sweeps in which all groups are refreshed once
    exact: bool  # every row from its exact posterior
    inference: str
    begun: Matrix  # where components began again, which no list has yet


@dataclass(frozen=True)
class ShardReport:
    """What a sweep over a shard did."""

    sums: NDArray[np.int64]  # of all rows of the shard, by component
    log_likelihood: float  # sum over the rows that were scored exactly
    scored: float  # weight of these
    stale: float  # their posterior mass outside of the lists there were
    n_changed: int
    proposed: int
    accepted: int
    list_length: float
    seconds: float


class ShardWorker:
    """Hold the scaled rows and labels of one shard, and sweep over them.

    The rows of X are read once, block by block; `first_id` is the number of the first
    one in the whole data, and `rows` where the scaled ones are to stand.
    """

    def __init__(
        self, X: Any, first_id: int, weight: Vector | None, plan: Plan,
        rows: Singles | None = None,
    ) -> None:  # fmt: skip
        family, sweeps = FAMILY_OF[plan.family], plan.sweeps
        self.plan = plan
        rows = plan.scaling.taken(X, rows)
        begin = None
        if plan.inference in GROUPED:
            points = sweeps.prototypes if plan.inference == "canopy1" else None
            order, begin = grouped(
                rows, sweeps.group_size, points, plan.seed, plan.n_threads
            )
        else:
            order = np.arange(len(rows), dtype=np.int32)
        self.order = order
        base = None
        if family.is_count:
            base = np.empty(len(rows))
            for part in blocks(X):
                base[part] = family.log_base(plan.scaling.doubles(X[part]))
        self.kernel = Shard(
            rows, order.astype(np.uint32) + np.uint32(first_id), family.layout,
            plan.units,
            None if weight is None else np.ascontiguousarray(weight[order], float),
            None if base is None else base[order],
        )  # fmt: skip
        self.weight = float(len(rows) if weight is None else weight.sum())
        self.sums: NDArray[np.int64] | None = None
        if begin is not None:
            self.origins = centres(rows, begin)
            self.kernel.group(begin, self.origins)
            self.turns = np.random.default_rng([plan.seed, 2, first_id]).permutation(
                len(begin) - 1
            )
            self.next_turn = 0

    # ------------------------------------------------------------ sweeps
    def sweep(self, order: SweepRequest) -> ShardReport:
        """Let rows choose their components anew."""
        clock = time.perf_counter()
        with single_threaded_blas():
            found = self._swept(order)
        n_groups = getattr(self.kernel, "n_groups", 0)
        lengths = self.kernel.list_lengths.mean() if n_groups else 0.0
        assert self.sums is not None
        return ShardReport(
            self.sums, *found, float(lengths), time.perf_counter() - clock
        )

    def _swept(self, order: SweepRequest) -> tuple[float, float, float, int, int, int]:
        scores = FAMILY_OF[self.plan.family].scores(order.known)
        source, threads = CounterSource(self.plan.seed), self.plan.n_threads
        if order.inference == "em":
            self.sums, fit, changed = em(self.kernel, scores, threads)
            return fit, self.weight, 0.0, changed, 0, 0
        if order.inference == "canopy2":
            return self._listed(scores, source, order)
        if order.inference == "esca" or order.exact or self.sums is None:
            change, fit, changed = self.kernel.esca(scores, source, order.time, threads)
            self._add(change)
            return fit, self.weight, 0.0, changed, 0, 0
        if order.inference == "canopy1":
            steps = self.plan.sweeps.mh_steps or 2
            change, changed, proposed, accepted = self.kernel.canopy1(
                scores, source, order.time, steps, threads
            )
        else:
            means = component_tree(self.plan.family, order.known, self.plan.seed)
            change, changed, _, proposed = sample_rows(
                self.kernel, means, source, order.time, threads
            )
            accepted = self.kernel.n_rows
        self._add(change)
        return 0.0, 0.0, 0.0, changed, proposed, accepted

    def _listed(
        self, scores: Scores, source: CounterSource, order: SweepRequest
    ) -> tuple[float, float, float, int, int, int]:
        """A sweep of which most is restricted to lists."""
        options, n_groups = self.plan.sweeps, self.kernel.n_groups
        fresh = np.zeros(n_groups, dtype=np.uint8)
        n_fresh = int(np.ceil(n_groups / order.pace))
        if order.exact or self.sums is None:
            n_fresh = n_groups
        turns = np.arange(self.next_turn, self.next_turn + n_fresh) % n_groups
        fresh[self.turns[turns]] = 1
        for mean in order.begun:  # its neighbours are to know of it
            far = ((self.origins - mean.astype(np.float32)) ** 2).sum(axis=1)
            fresh[np.argmin(far)] = 1
        ask = (
            options.list_loss, ROW_LOSS * options.list_loss, options.explore,
            options.list_max, options.mh_steps or 1,
        )  # fmt: skip
        change, fit, scored, stale, changed, proposed, accepted = self.kernel.canopy2(
            scores, source, order.time, fresh, ask, self.plan.n_threads
        )
        self.next_turn = (self.next_turn + n_fresh) % n_groups
        self._add(change)
        return fit, scored, stale, changed, proposed, accepted

    def _add(self, change: NDArray[np.int64]) -> None:
        self.sums = change if self.sums is None else self.sums + change

    # ------------------------------------------------------------ labels and files
    @property
    def labels(self) -> NDArray[np.int32]:
        """Labels in the order in which rows were given."""
        out = np.empty(len(self.order), dtype=np.int32)
        out[self.order] = self.kernel.labels
        return out

    def state(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint keeps: labels and lists."""
        arrays = {"labels": self.kernel.labels.copy()}
        if self.plan.inference in GROUPED:
            arrays["lengths"] = self.kernel.list_lengths
            arrays["lists"] = self.kernel.lists()
            arrays["turn"] = np.array([self.next_turn])
        return arrays

    def resume(self, arrays: dict[str, NDArray[Any]], n_components: int) -> None:
        """Become what `state` describes."""
        self.kernel.labels[:] = arrays["labels"]
        self.sums = self.kernel.sums_of(n_components)
        if self.plan.inference in GROUPED:
            self.kernel.take_lists(arrays["lengths"], arrays["lists"])
            self.next_turn = int(arrays["turn"][0])

    def memory_usage(self) -> int:
        """Bytes of rows, labels, order and lists."""
        kernel = self.kernel
        return int(
            kernel.X.nbytes + kernel.labels.nbytes + 3 * self.order.nbytes
            + kernel.memory_usage()
        )  # fmt: skip


def component_tree(family: str, known: Components, seed: int) -> Means:
    """The tree of `inference="tree"`, for one sweep of any family but "full"."""
    m, d = known.mean.shape
    kind = KINDS[family]
    tree = linked(build(np.ascontiguousarray(known.mean), BASE, LEAF, m, seed, 1))
    spread = np.ones((m, d))
    with np.errstate(divide="ignore"):
        log_weight = np.log(known.weight)
    if kind == 0:
        spread = np.repeat(known.spread[:, None], d, axis=1)
    elif kind == 1:
        spread = np.ascontiguousarray(known.spread)
    if kind < 2:
        log_weight = log_weight - 0.5 * (np.log(spread) + LOG_2PI).sum(axis=1)
    order, n_nodes = tree["order"], len(tree["centre"])
    low, high, widest = (np.empty((n_nodes, d)) for _ in range(3))
    log_mass = np.empty(n_nodes)
    for node in range(n_nodes):
        below = order[tree["row_begin"][node] : tree["row_end"][node]]
        low[node], high[node] = (
            known.mean[below].min(axis=0),
            known.mean[below].max(axis=0),
        )
        widest[node] = spread[below].max(axis=0)
        log_mass[node] = logsumexp(log_weight[below])
    some = np.isfinite(log_mass)  # the others have no weight at all
    log_mass[some] += 1e-13 * (1.0 + np.abs(log_mass[some]))  # more than rounding took
    return Means(
        kind, tree, np.ascontiguousarray(known.mean), spread, log_weight, log_mass, low,
        high, widest,
    )  # fmt: skip
