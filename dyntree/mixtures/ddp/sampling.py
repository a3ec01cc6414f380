"""Gibbs sampling of one phase: sweeps, votes, and what the chains agree on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dyntree._core.mixtures.ddp import PhaseSampler, voted
from dyntree._core.mixtures.phase import shuffled
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.options import MOST_SWEEPS, DDPOptions
from dyntree.mixtures.ddp.records import Diagnostics
from dyntree.mixtures.ddp.state import Outcome, Prediction
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.parallel import Brake

MOST_PROPOSALS = 5  # of splits and merges, a sweep of those that do not vote
SELDOM = 4  # sweeps that vote, for each proposal
N_TRIAL = 5  # sweeps of each start
N_PASSES = 3  # row by row, in orders of their own


@dataclass
class Chain:
    """What one chain left behind."""

    labels: Ids  # (n_kept, n_rows) of the sweeps that vote
    rho: Matrix  # (n_kept, K); NaN where a particle has rows
    K: Ids  # (n_sweeps,)
    u: Vector  # (n_sweeps,)
    log_joint: Vector  # (n_kept,)
    moves: tuple[int, int]
    was_full: bool
    last: Vector  # alive probabilities at the end
    source: dict[int, int]


@dataclass
class Sampler:
    """The kernel's sampler of a phase, with rows in a random order."""

    kernel: PhaseSampler
    order: Ids  # row of each row of the kernel

    def labels(self) -> Ids:
        """Names of the rows in their own order."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = self.kernel.labels()
        return found


def started(
    make: Callable[[int], Sampler],
    ahead: Prediction,
    parts: Ids | None,
    options: DDPOptions,
    chain: int,
) -> Sampler:
    """The sampler of a phase, with its rows in a random order and first labels.

    `make` returns a sampler without labels for a given order. If the family has a
    partition to start from, it competes with row-by-row passes in several orders. The
    start with the highest joint density after some sweeps is retained.
    """
    one = passed(make(chain))
    K = len(ahead.particles)
    if parts is None or parts.max() + K >= options.max_particles:
        return one
    orders = [chain + k * options.n_chains for k in range(1, N_PASSES)]
    starts = [one, *(passed(make(order)) for order in orders), make(chain)]
    names = dict.fromkeys((K + np.unique(parts)).tolist(), len(ahead.mass) - 1)
    starts[-1].kernel.start(K + parts[starts[-1].order], names, one.kernel.u)
    for sweep in range(N_TRIAL):
        for sampler in starts:
            sweep_once(sampler.kernel, MOST_SWEEPS + 1 + sweep, 1, options)
    return max(starts, key=lambda sampler: sampler.kernel.log_joint())


def passed(sampler: Sampler) -> Sampler:
    """The sampler after a pass row by row."""
    sampler.kernel.labels_once(0, True)
    return sampler


def sweep_once(
    kernel: PhaseSampler, sweep: int, n_proposals: int, options: DDPOptions
) -> None:
    """Labels, so many proposals of splits and merges, and the rest."""
    kernel.labels_once(sweep, False)
    kernel.split_or_merge(sweep, n_proposals)
    kernel.rest_of_sweep(sweep, options.identity_move)


def kernel_of(
    ahead: Prediction,
    rows: Matrix,
    options: DDPOptions,
    family: Family,
    seed: int,
    phase: int,
    chain: int,
) -> Sampler:
    """The sampler of a phase, without labels."""
    p = ahead.particles
    order = shuffled(len(rows), seed, phase, chain)
    most = options.max_particles + int(np.sum(p.alive == 0.0))  # the dead take no room
    kernel = PhaseSampler(
        family.emission(ahead.priors(), rows[order]), p.m, p.E, p.alive, ahead.mass,
        ahead.source_exposure, ahead.base.astype(np.int32), options.uses_paper_weights,
        options.sampler == "uncollapsed", most, seed, phase, chain,
    )  # fmt: skip
    return Sampler(kernel, order)


def run_chain(made: Sampler, options: DDPOptions, tell: Callable[[], None]) -> Chain:
    """Run all sweeps of a chain; `tell` is called after each."""
    labels, rho, log_joint = [], [], []
    K, u = np.empty(options.n_sweeps, dtype=np.int64), np.empty(options.n_sweeps)
    votes = set(options.voting_sweeps())
    source: dict[int, int] = {}
    sampler = made.kernel
    n_proposals = min(sampler.n_clusters, MOST_PROPOSALS)  # each takes all rows of one
    for sweep in range(1, options.n_sweeps + 1):
        burning = sweep < min(votes)
        n = n_proposals if burning else int(sweep % SELDOM == 0)
        sweep_once(sampler, sweep, n, options)
        K[sweep - 1], u[sweep - 1] = sampler.n_clusters, sampler.u
        if sweep in votes:
            labels.append(made.labels())
            rho.append(sampler.alive())
            log_joint.append(sampler.log_joint())
            source |= sampler.sources()
        tell()
    return Chain(
        np.array(labels), np.array(rho), K, u, np.array(log_joint),
        sampler.identity_moves, sampler.was_full, sampler.alive(), source,
    )  # fmt: skip


def run_chains(
    make: Callable[[int], Sampler],
    options: DDPOptions,
    n_threads: int,
    tell: Callable[[], None],
) -> list[Chain]:
    """All chains, side by side where there are several; each has its own streams."""
    numbers = range(1, options.n_chains)
    if n_threads == 1 or options.n_chains == 1:
        first = run_chain(make(0), options, tell)
        return [first, *(run_chain(make(c), options, tell) for c in numbers)]
    brake = Brake()

    def run(chain: int) -> Chain:
        return run_chain(make(chain), options, lambda: brake(0, 0))

    with ThreadPoolExecutor(n_threads) as pool:
        rest = [pool.submit(run, chain) for chain in numbers]
        try:
            first = run_chain(make(0), options, tell)
            return [first, *(one.result() for one in rest)]
        except BaseException:
            brake.pulled = True
            raise


def aligned(reference: Ids, labels: Ids, K: int, first_name: int) -> dict[int, int]:
    """New names of a chain -> new names of the first, by the rows that they share."""
    from scipy.optimize import linear_sum_assignment

    own, theirs = np.unique(labels[labels >= K]), np.unique(reference[reference >= K])
    shared = np.array([
        [np.sum((labels == a) & (reference == b)) for b in theirs] for a in own
    ]).reshape(len(own), len(theirs))  # fmt: skip
    found = {}
    if shared.size:
        for i, j in zip(*linear_sum_assignment(-shared), strict=True):
            if shared[i, j]:
                found[int(own[i])] = int(theirs[j])
    free = first_name
    for name in own.tolist():
        if name not in found:
            found[name] = free
            free += 1
    return found


def pooled(chains: list[Chain], K: int) -> tuple[Ids, dict[int, int]]:
    """Votes of all chains under the names of the first, and the sources of names."""
    votes, source = [chains[0].labels], dict(chains[0].source)
    reference = voted(chains[0].labels)[0]
    free = 1 + max([K, *source, int(chains[0].labels.max(initial=0))])
    for chain in chains[1:]:
        winner = voted(chain.labels)[0]
        names = aligned(reference, winner, K, free)
        for name in np.unique(chain.labels[chain.labels >= K]).tolist():
            if name not in names:
                names[name] = 1 + max([free, *names.values()])
        top = max([K, *names]) + 1
        table = np.arange(top)
        for own, name in names.items():
            table[own] = name
            source.setdefault(name, chain.source.get(own, 0))
        votes.append(table[chain.labels])
        free = 1 + max([free, *names.values()])
    return np.concatenate(votes), source


def outcome(
    ahead: Prediction, chains: list[Chain], counting: np.ndarray
) -> tuple[Outcome, Diagnostics]:
    """Voted labels of all rows, u of the last sweep, mean alive probabilities."""
    K = len(ahead.particles)
    votes, source = pooled(chains, K) if len(chains) > 1 else (
        chains[0].labels, chains[0].source
    )  # fmt: skip
    winner, share = voted(np.ascontiguousarray(votes))
    rho = np.concatenate([chain.rho for chain in chains])
    known = ~np.isnan(rho)
    alive = np.where(known, rho, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # one with rows in all voting sweeps that lost the vote of each row is surely alive
    alive = np.where(known.any(axis=0), alive, 1.0)
    labels = np.full(len(counting), -1, dtype=np.int64)
    labels[counting] = winner
    first = chains[0]
    diagnostics = Diagnostics(
        n_clusters=first.K, u=first.u, log_joint=first.log_joint,
        proposed=sum(chain.moves[0] for chain in chains),
        accepted=sum(chain.moves[1] for chain in chains), merges=0,
        agreement=float(share.mean()),
        was_full=any(chain.was_full for chain in chains),
    )  # fmt: skip
    return Outcome(labels, float(first.u[-1]), alive, source), diagnostics
