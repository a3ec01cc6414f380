"""Several models become one: the superposition of their gamma processes.

Independent gamma processes add up to one, whose base measure is the sum of theirs (Lin,
Grimson and Fisher 2010, theorems 2 and 3). Superposed before they are normalised, all
that a model carries stays what it is: particles with their Gamma(m, E) weights, and
cohorts of mass never seen. So the state after is both states together.

Models that share a past are not independent: it would count twice, and so they are
refused, by the origins that their states carry (`shared/lineage.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.options import DDP_OPTIONS, DDPOptions
from dyntree.mixtures.ddp.records import no_diagnostics
from dyntree.mixtures.ddp.state import (
    ENOUGH,
    History,
    Particles,
    State,
    fewer_cohorts,
    pruned,
    with_fewer_counts,
    without_old_phases,
)
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.lineage import joined_origins

ADDED = ("concentration", "innovation")  # options that add up; others must be equal


def superposed_options(
    options: Sequence[DDPOptions], families: Sequence[Family]
) -> DDPOptions:
    """The common options of models; ValueError if they cannot be combined."""
    one = options[0]
    for other, family in zip(options[1:], families[1:], strict=True):
        if family != families[0]:
            raise ArgumentError(
                "models",
                "must have one family, with the same scales",
                Message(
                    "{families!r} and {family!r}", families=families[0], family=family
                ),
                "Start one with family=other.family_, or give its scales.",
            )
        for name in DDP_OPTIONS:
            own, its = getattr(one, name), getattr(other, name)
            if name not in (*ADDED, "family") and own != its:
                raise ArgumentError(
                    "models",
                    "must have the same {label}",
                    Message("{own!r} and {its!r}", own=own, its=its),
                    label=name,
                )
    if len(options) > 1 and one.weight_memory < 1.0 and one.history_merge:
        raise ArgumentError(
            "history_merge",
            "must be False for models of weight_memory < 1 that are superposed, "
            "because it compares exposures phase by phase, and these differ between "
            "models",
            Message("weight_memory={weight_memory:g}", weight_memory=one.weight_memory),
        )
    own = {name: getattr(one, name) for name in DDP_OPTIONS}
    return DDPOptions(**own | {
        "family": families[0],
        "concentration": sum(other.concentration for other in options),
        "innovation": sum(other.alpha_new for other in options),
    })  # fmt: skip


def superposed(states: Sequence[State], options: DDPOptions, family: Family) -> State:
    """Combine states into one, at the end of the last phase of each.

    Ids of a state are increased by the number of ids in the states before it, and
    phases so that all end together.
    """
    for other in states[1:]:
        check_columns(states[0], other)
    n_phases = max(state.n_phases for state in states)
    first_id = np.cumsum([0, *(state.next_id for state in states)]).tolist()
    parts = [
        raised(state, by, n_phases - state.n_phases)
        for state, by in zip(states, first_id[:-1], strict=True)
    ]
    cohorts = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("mass", "source_exposure", "age")
    ]
    order = np.lexsort((cohorts[2], -cohorts[1]))  # the oldest first
    mass, exposure, age = fewer_cohorts(*(one[order] for one in cohorts))
    first_counted = max(part.first_counted for part in parts)
    counts = np.concatenate([part.counts for part in parts])
    counts = counts[counts[:, 0] >= first_counted]
    joins = tuple(join for part in parts for join in part.joins)
    whole = State(
        together(Particles, [part.particles for part in parts]),
        together(History, [part.history for part in parts]),
        mass, exposure, age, n_phases=n_phases, next_id=first_id[-1],
        counts=counts[np.lexsort((counts[:, 1], counts[:, 0]))],
        aliases={k: v for part in parts for k, v in part.aliases.items()},
        features=parts[0].features, family=family,
        still=np.zeros(len(parts[0].still), dtype=bool), first_counted=first_counted,
        phase_column=parts[0].phase_column,
        labels=labels_together([part.labels for part in parts]),
        n_rows=sum(part.n_rows for part in parts), n_chosen=ENOUGH,
        cells=parts[0].cells,
        diagnostics=no_diagnostics(),
        joins=(*joins, tuple(first_id)) if len(parts) > 1 else joins,
        origins=joined_origins([part.origins for part in parts]),
        joined=joined_marks([part.joined for part in parts]),
    )  # fmt: skip
    whole = pruned(with_fewer_counts(whole), options)
    return without_old_phases(whole, options, family)


def joined_marks(marks: Sequence[Matrix]) -> Matrix:
    """Those of several states, some of which may have none."""
    some = [part for part in marks if part.size]
    return np.concatenate(some) if some else np.empty((0, 0))


def check_columns(one: State, other: State) -> None:
    """Raise ValueError unless two states are of the same columns."""
    assert one.features is not None
    assert other.features is not None
    names = (one.features.feature_names, other.features.feature_names)
    if names[0] != names[1]:
        raise ArgumentError(
            "models",
            "must have the same columns, in one order",
            Message("{names} and {names_2}", names=names[0], names_2=names[1]),
        )


def raised(state: State, by: int, later: int) -> State:
    """The state with other ids, and with its phases so many later."""
    p, history = state.particles, state.history
    pairs = state.aliases.items()
    return replace(
        state,
        particles=replace(
            p, id=p.id + by, born=p.born + later, seen=p.seen + later,
            first_phase=p.first_phase + later,
        ),
        history=replace(
            history, owner=history.owner + by, phase=history.phase + later
        ),
        counts=state.counts + np.array([later, by, 0]),
        aliases={old + by: new + by for old, new in pairs},
        first_counted=state.first_counted and state.first_counted + later,
        labels=tuple(np.where(one < 0, -1, one + by) for one in state.labels),
        joins=tuple(tuple(k + by for k in join) for join in state.joins),
    )  # fmt: skip


def together(kind: Any, parts: Sequence[Any]) -> Any:
    """Records of arrays, one after the other."""
    return kind(**{
        one.name: np.concatenate([getattr(part, one.name) for part in parts])
        for one in fields(kind)
    })  # fmt: skip


def labels_together(labels: Sequence[tuple[Ids, ...]]) -> tuple[Ids, ...]:
    """Labels of the phases stored, the last ones at the end of each; of all rows."""
    n_stored, nothing = max(len(one) for one in labels), np.empty(0, dtype=np.int64)
    return tuple(
        np.concatenate([nothing, *(one[-k] for one in labels if k <= len(one))])
        for k in range(n_stored, 0, -1)
    )
