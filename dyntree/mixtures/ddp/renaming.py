"""Ids of phases that were learned again: those that their rows had before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyntree.mixtures.ddp.state import State
from dyntree.mixtures.shared.arrays import Ids, settled_aliases


def renamed(new: State, old: State, least: int) -> State:
    """The new state with ids of an old one that has learned some of the same rows.

    Particles that share most rows have one id. Others are numbered after those of the
    old state, whose ids become aliases of the particles that now have most of their
    rows. Ids below `least` are of particles before, and stay.
    """
    settled = settled_aliases(new.aliases)
    fresh = {one: settled.get(one, one) for one in range(least, new.next_id)}
    now, before = shared_labels(new, old)
    found = np.array([fresh.get(one, one) for one in now.tolist()], dtype=np.int64)
    some = (found >= least) & (before >= least)
    names, lost = matched(found[some], before[some])
    next_id = old.next_id
    for one in range(least, new.next_id):
        if fresh[one] == one and one not in names:
            names[one] = next_id
            next_id += 1
    table = np.arange(new.next_id + 1)  # and -1 in the last place
    table[-1] = -1
    for one, became in fresh.items():
        table[one] = names.get(became, became)
    aliases = {a: b for a, b in old.aliases.items() if a >= least}
    aliases |= {a: names[b] for a, b in lost.items()}
    aliases |= {a: b for a, b in new.aliases.items() if a < least}
    return with_names(replace(new, aliases=aliases, next_id=next_id), table)


def shared_labels(new: State, old: State) -> tuple[Ids, Ids]:
    """Labels of the rows that both have learned, of phases that both have stored."""
    pairs, nothing = [], np.empty(0, dtype=np.int64)
    aliases = settled_aliases(old.aliases)
    for phase in range(old.n_phases - len(old.labels), old.n_phases):
        place = phase - (new.n_phases - len(new.labels))
        if place >= 0:
            one, other = new.labels[place], old.labels[phase - old.n_phases]
            n = min(len(one), len(other))
            pairs.append((one[:n], other[:n]))
    now, before = (
        np.concatenate([nothing, *(pair[k] for pair in pairs)]) for k in (0, 1)
    )
    resolved = [aliases.get(one, one) for one in before.tolist()]
    return now, np.array(resolved, dtype=np.int64)


def matched(new: Ids, old: Ids) -> tuple[dict[int, int], dict[int, int]]:
    """New ids -> old ids of most shared rows; old ids without a match -> new ids."""
    from scipy.optimize import linear_sum_assignment

    own, place = np.unique(new, return_inverse=True)
    others, other_place = np.unique(old, return_inverse=True)
    shared = np.zeros((len(own), len(others)), dtype=np.int64)
    np.add.at(shared, (place, other_place), 1)
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    names = {int(own[i]): int(others[j]) for i, j in pairs if shared[i, j]}
    left = {*others.tolist()} - {*names.values()}
    lost = {
        one: int(own[shared[:, np.searchsorted(others, one)].argmax()])
        for one in sorted(left)
    }
    return names, lost


def with_names(state: State, table: Ids) -> State:
    """The state with other ids; that of id k is in the table's place k."""
    p, history, counts = state.particles, state.history, state.counts.copy()
    counts[:, 1] = table[counts[:, 1]]
    p = replace(p, id=table[p.id])
    return replace(
        state,
        particles=p.taken(np.argsort(p.id)),
        history=replace(history, owner=table[history.owner]),
        counts=counts,
        labels=tuple(table[one] for one in state.labels),
    )
