"""Dependent mixtures as plain headers and arrays, and back, checked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from dyntree import params
from dyntree.checkpoint.layout import Layout, check_close, ints, reals, require
from dyntree.checkpoint.layout import check_arrays as check_layouts
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.multinomial import Multinomial
from dyntree.mixtures.ddp.nearness import UNKNOWN, Nearness
from dyntree.mixtures.ddp.options import (
    DDPOptions,
    family_from_header,
    options_to_header,
)
from dyntree.mixtures.ddp.records import Diagnostics
from dyntree.mixtures.ddp.state import (
    ENOUGH,
    MOST_COHORTS,
    History,
    Particles,
    State,
    base_survival,
)
from dyntree.mixtures.shared.arrays import Arrays, Ids, settled_aliases
from dyntree.mixtures.shared.lineage import origins_from_header

PARTICLES = tuple(one.name for one in fields(Particles))
HISTORY = tuple(one.name for one in fields(History))
STATE = ("mass", "source_exposure", "age", "u", "counts")
DRAWS = ("n_clusters", "u", "log_joint")
SCALARS = ("proposed", "accepted", "merges", "agreement", "was_full")
MOST = 2**53  # of rows, phases and ids


def to_arrays(
    options: DDPOptions, seed: int, state: State
) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model."""
    header = {
        "options": options_to_header(options),
        "seed": seed,
        "features": None if state.features is None else state.features.to_header(),
        "family": None if state.family is None else state.family.to_header(),
        "n_rows": state.n_rows,
        "n_chosen": state.n_chosen,
        "n_phases": state.n_phases,
        "next_id": state.next_id,
        "origins": list(state.origins),
        "still": np.flatnonzero(state.still).tolist(),
        "first_counted": state.first_counted,
        "phase_column": state.phase_column,
        "joins": [list(join) for join in state.joins],
        "nearness": [state.nearness.n_rows, state.nearness.distance.tolist()],
        "diagnostics": {name: getattr(state.diagnostics, name) for name in SCALARS},
    }
    arrays: Arrays = {
        f"particles_{name}": getattr(state.particles, name).copy() for name in PARTICLES
    }
    arrays |= {
        f"history_{name}": getattr(state.history, name).copy() for name in HISTORY
    }
    arrays |= {name: getattr(state, name).copy() for name in STATE}
    arrays |= {
        f"draws_{name}": getattr(state.diagnostics, name).copy() for name in DRAWS
    }
    pairs = list(state.aliases.items())
    arrays["aliases"] = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    arrays["n_labels"] = np.array([len(one) for one in state.labels], dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    arrays["labels"] = np.concatenate([nothing, *state.labels])
    arrays["cells"] = state.cells.copy()
    early = [rows for rows in state.early if len(rows)]
    arrays["early"] = np.concatenate(early) if early else np.empty((0, 0))
    arrays["n_early"] = np.array([len(one) for one in state.early], dtype=np.int64)
    arrays["joined"] = state.joined.copy()
    return header, arrays


def checked_family(
    options: DDPOptions, header: dict[str, Any], width: int
) -> Family | None:
    """Return the checked family of a header, with its scales."""
    if header["family"] is None:
        return None
    family = family_from_header(header["family"])
    require(type(family) is type(options.family), "families")
    require(header["features"] is not None, "columns beside a family")
    resolved: Family = family.resolved(np.zeros((1, width)))
    require(resolved.to_header() == family.to_header(), "scales of a family")
    return resolved


def joins_from_header(stored: Any, next_id: int) -> tuple[tuple[int, ...], ...]:
    """Return the ends of the ids of superposed models, checked."""
    require(isinstance(stored, list), "a list of superpositions")
    found = tuple(
        tuple(params.count("joins", k, 0, next_id) for k in j) for j in stored
    )
    require([len(join) > 2 for join in found], "models that were superposed")
    require([list(join) == sorted(join) for join in found], "their ids in order")
    return found


def nearness_from_header(stored: Any, width: int) -> Nearness:
    """Return the checked distances between rows of a header."""
    n_rows = params.count("nearness", stored[0], 0, MOST)
    if not n_rows:
        return UNKNOWN
    found = np.array(stored[1], dtype=np.float64)
    require(found.shape == (width,), "distances of near rows, one a column")
    require(((found >= 0.0) & np.isfinite(found)).all(), "finite distances >= 0")
    return Nearness(n_rows, found)


def from_arrays(options: DDPOptions, header: dict[str, Any], arrays: Arrays) -> State:
    """Return the state that header and arrays describe, checked."""
    features = header["features"]
    columns = None if features is None else FeatureMap.from_header(features)
    width = 0 if columns is None else columns.n_features
    family = checked_family(options, header, width)
    still = np.zeros(0 if family is None else width, dtype=bool)
    places = [params.count("still", k, 0, width - 1) for k in header["still"]]
    if family is not None:
        still[places] = True
    n_rows = params.count("n_rows", header["n_rows"], 0, MOST)
    check_arrays(options, family, columns, n_rows, header, arrays)
    diagnostics: dict[str, Any] = {
        name: header["diagnostics"][name] for name in SCALARS
    } | {name: arrays[f"draws_{name}"].copy() for name in DRAWS}
    ends = np.cumsum(arrays["n_labels"])[:-1]
    parts = np.split(arrays["labels"], ends) if len(arrays["n_labels"]) else []
    return State(
        Particles(**{name: arrays[f"particles_{name}"].copy() for name in PARTICLES}),
        History(**{name: arrays[f"history_{name}"].copy() for name in HISTORY}),
        **{name: arrays[name].copy() for name in STATE},
        n_phases=header["n_phases"],
        next_id=header["next_id"],
        aliases=dict(arrays["aliases"].tolist()),
        features=columns,
        family=family,
        still=still,
        labels=tuple(part.copy() for part in parts),
        n_rows=n_rows,
        n_chosen=header["n_chosen"],
        early=early_rows(arrays),
        cells=arrays["cells"].copy(),
        joined=arrays["joined"].copy(),
        first_counted=header["first_counted"],
        phase_column=header["phase_column"],
        joins=joins_from_header(header["joins"], header["next_id"]),
        nearness=nearness_from_header(header["nearness"], width),
        origins=() if family is None else origins_from_header(header["origins"]),
        diagnostics=Diagnostics(**diagnostics),
    )


def early_rows(arrays: Arrays) -> tuple[Matrix, ...]:
    """Rows of all phases, where they are stored to choose scales from."""
    if not len(arrays["n_early"]):
        return ()
    parts = np.split(arrays["early"], np.cumsum(arrays["n_early"])[:-1])
    return tuple(part.copy() for part in parts)


def check_early(n_rows: int, n_phases: int, n_chosen: int, arrays: Arrays) -> None:
    """Raise ValueError unless early rows are those of all phases, or of none."""
    n_early = arrays["n_early"]
    require(n_early.sum() == len(arrays["early"]), "early rows of phases")
    require(len(n_early) in (0, n_phases), "early rows of all phases")
    if len(n_early):
        require(n_early.sum() == n_rows, "all rows among the early ones")
        require(n_chosen <= n_rows and n_chosen < ENOUGH, "rows of scales")


LAYOUTS = {
    "particles_id": ints("n", low=0, below="next_id"),
    **{f"particles_{name}": ints("n", low=0, below="phases")
       for name in ("born", "seen")},
    "particles_first_phase": ints("n", low="first_stored", below="phases"),
    "particles_gone": ints("n", low=0, high=1),
    "particles_m": reals("n", above=0.0, high="n_rows"),
    "particles_E": reals("n", above=0.0),
    "particles_alive": reals("n", low=0.0, high=1.0),
    "particles_mass": reals("n", above=0.0),
    "particles_log_q": reals("n", high=0.0),
    "particles_row": reals("n", None),
    "particles_first": reals("n", None),
    "history_owner": ints("entries", low=0, below="next_id"),
    "history_phase": ints("entries", low=0, below="phases"),
    "history_sums": reals("entries", None),
    "mass": reals("cohorts", above=0.0),
    "source_exposure": reals("cohorts", above=0.0),
    "age": ints("cohorts", low=0, high="most_age"),
    "u": reals(None, low=0.0),
    "counts": ints("counted", 3, low=0),
    "aliases": ints(None, 2, low=0, below="next_id"),
    "n_labels": ints("stored", low=0),
    "labels": ints("rows", low=-1, below="next_id"),
    "cells": reals(None, low=0.0),
    "early": reals(None, None),
    "n_early": ints(None, low=0),
    "joined": reals(None, None),
    "draws_n_clusters": ints(None, low=0),
    "draws_u": reals(None, low=0.0),
    "draws_log_joint": Layout("f8", (None,), low=-np.inf, high=np.inf, gaps=True),
}  # fmt: skip


def check_arrays(
    options: DDPOptions,
    family: Family | None,
    columns: FeatureMap | None,
    n_rows: int,
    header: dict[str, Any],
    arrays: Arrays,
) -> None:
    """Raise ValueError unless arrays describe such a model."""
    n_phases = params.count("n_phases", header["n_phases"], 0, MOST)
    next_id = params.count("next_id", header["next_id"], 0, MOST)
    first = params.count("first_counted", header["first_counted"], 0, n_phases)
    column = header["phase_column"]
    require(column is None or isinstance(column, str), "the column of phases")
    require(family is not None or header["origins"] == [], "origins of rows")
    for name in ("proposed", "accepted", "merges"):
        params.count(name, header["diagnostics"][name], 0)
    params.real("agreement", header["diagnostics"]["agreement"])
    params.flag("was_full", header["diagnostics"]["was_full"])
    check_layouts(
        arrays, LAYOUTS, n_rows=n_rows, phases=max(n_phases, 1), next_id=next_id,
        first_stored=max(n_phases - options.history, 0),
        most_age=min(n_phases, MOST_COHORTS), stored=min(n_phases, options.history),
    )  # fmt: skip
    require(len(arrays["u"]) <= options.history, "u of the stored phases")
    require(len(arrays["mass"]) > 0, "a cohort")
    require(arrays["n_labels"].sum() == len(arrays["labels"]), "labels of stored rows")
    require(len(arrays["labels"]) <= n_rows, "labels of rows seen")
    n_chosen = params.count("n_chosen", header["n_chosen"], 0, MOST)
    check_early(n_rows, n_phases, n_chosen, arrays)
    aliases = arrays["aliases"]
    require(aliases[:, 1] != aliases[:, 0], "aliases of others")
    require(len(np.unique(aliases[:, 0])) == len(aliases), "an alias each")
    require(np.diff(arrays["particles_id"]) > 0, "ids that ascend")
    check_prior_rows(family, arrays)
    check_history(family, n_rows, arrays)
    check_joined(family, n_phases, n_rows, arrays["joined"])
    if family is None:
        return
    assert columns is not None
    require(len(arrays["cells"]) == columns.n_features, "cells of all columns")
    file = File(options, family, n_phases, first, bool(header["joins"]), arrays)
    file.check_counts()
    file.check_rows()
    file.check_particles()
    counts = arrays["counts"]
    from_first = n_phases <= MOST_COHORTS and not first and not counts[:1, 0].any()
    if from_first and not file.is_superposed:
        file.check_cohorts()


def check_prior_rows(family: Family | None, arrays: Arrays) -> None:
    """Raise ValueError unless what is known of locations is as the family has it."""
    ids = arrays["particles_id"]
    require(family is not None or not len(ids), "particles without a family")
    if family is not None and len(ids):
        rows = [arrays["particles_row"], arrays["particles_first"]]
        width = len(family.base())
        require([part.shape[1] == width for part in rows], "prior rows of the family")
        both = np.concatenate(rows)
        require(np.isfinite(family.means(both)), "locations that are finite")
        require(family.is_sound(both), "prior rows of the family")


def check_history(family: Family | None, n_rows: int, arrays: Arrays) -> None:
    """Raise ValueError unless histories are of particles there are."""
    owner, phase = arrays["history_owner"], arrays["history_phase"]
    sums, ids = arrays["history_sums"], arrays["particles_id"]
    require(np.isin(owner, ids), "histories of particles")
    place, order = np.searchsorted(ids, owner), np.argsort(owner, kind="stable")
    known = arrays["particles_first_phase"][place] <= phase
    require(known & (phase <= arrays["particles_seen"][place]), "histories of phases")
    later = np.diff(phase[order]) > 0
    require(later | (np.diff(owner[order]) > 0), "histories in the order of phases")
    if family is not None and len(owner):
        require(sums.shape[1] == family.n_sums(), "sums of the family")
        require((sums[:, 0] > 0.0) & (sums[:, 0] <= n_rows), "sums of rows")


def check_joined(
    family: Family | None, n_phases: int, n_rows: int, joined: Matrix
) -> None:
    """Raise ValueError unless copies that were joined began in phases there were."""
    require(family is not None or not joined.size, "joined copies without a family")
    if family is None or not joined.size:
        return
    require(joined.shape[1] == 1 + family.n_sums(), "sums of joined copies")
    phase, n = joined.T[:2]
    require((phase == np.floor(phase)) & (phase >= 0.0), "phases of joined copies")
    require((phase < n_phases) & (n > 0.0) & (n <= n_rows), "rows of joined copies")


class File:
    """Arrays of a model that has a family, and what they must agree in."""

    def __init__(
        self, options: DDPOptions, family: Family, n_phases: int, first_counted: int,
        is_superposed: bool, arrays: Arrays,
    ) -> None:  # fmt: skip
        self.options, self.family, self.arrays = options, family, arrays
        self.n_phases, self.first_counted = n_phases, first_counted
        self.is_superposed = is_superposed
        self.p = {name: arrays[f"particles_{name}"] for name in PARTICLES}
        self.live = self.p["gone"] == 0
        self.settled = settled_aliases(arrays["aliases"].tolist())

    def resolved(self, ids: Ids) -> Ids:
        """Ids of the particles that others have become."""
        distinct, place = np.unique(ids, return_inverse=True)
        became = [self.settled.get(one, one) for one in distinct.tolist()]
        return np.array(became, dtype=np.int64)[place.reshape(-1)]

    def check_counts(self) -> None:
        """Histories, labels and counts are of the same rows."""
        phase, owner, n = self.arrays["counts"].T
        counted = (phase >= self.first_counted) & (phase < self.n_phases)
        require(counted, "counts of phases")
        require(n > 0, "counts of rows")
        totals = added(phase, self.resolved(owner), n)
        sums = self.arrays["history_sums"]
        entries = self.arrays["history_phase"], self.arrays["history_owner"]
        if len(sums):
            some = entries[0] >= self.first_counted
            require(
                [totals.get(key) == r for key, r in zip(
                    zip(*(part[some].tolist() for part in entries), strict=True),
                    sums[some, 0].tolist(), strict=True)],
                "histories of the rows that are counted",
            )  # fmt: skip
        n_stored = len(self.arrays["n_labels"])
        at = np.repeat(np.arange(self.n_phases - n_stored, self.n_phases),
                       self.arrays["n_labels"])  # fmt: skip
        labels = self.arrays["labels"]
        some = (labels >= 0) & (at >= self.first_counted)
        ones = np.ones(some.sum(), dtype=np.int64)
        found = added(at[some], self.resolved(labels[some]), ones)
        since = [key for key in totals if key[0] >= self.n_phases - n_stored]
        more = isinstance(self.family, Multinomial)  # rows without words count nowhere
        require(
            [found.get(key, 0) - totals[key] in range(1 << 62 if more else 1)
             for key in since],
            "labels that are counted",
        )  # fmt: skip
        require(more or set(found) <= set(since), "labels that are counted")

    def check_particles(self) -> None:
        """Rows, phases and shares of particles follow from counts and options."""
        p, options, last = self.p, self.options, self.n_phases - 1
        paper = options.uses_paper_weights
        memory = options.count_memory if paper else options.weight_memory
        phase, owner, n = self.arrays["counts"].T
        owner = self.resolved(owner)
        place = np.searchsorted(p["id"], owner)
        there = np.isin(owner, p["id"])
        place, phase, n = place[there], phase[there], n[there]
        fade = float(memory) ** (last - p["born"])
        whole = self.live & (p["born"] >= self.first_counted) & (fade > 1e-60)
        m = np.bincount(
            place, n * float(memory) ** (last - phase), minlength=len(p["id"])
        )
        check_close("particles_m", p["m"][whole], m[whole], 0.0)
        seen = np.full(len(p["id"]), -1)
        np.maximum.at(seen, place, phase)
        born = np.full(len(p["id"]), self.n_phases)
        np.minimum.at(born, place, phase)
        whole = p["born"] >= self.first_counted
        require((born == p["born"])[whole], "births with the first rows")
        require((seen == p["seen"]) | (p["seen"] < self.first_counted), "last rows")
        require(p["born"] <= p["first_phase"], "histories since a birth")
        first_stored = self.n_phases - options.history
        at = np.maximum(p["born"], first_stored)
        require(p["first_phase"] == at, "histories since a birth")
        require((p["seen"] == last) <= (p["alive"] == 1.0), "particles that have rows")
        pruned = (p["alive"] < options.prune) | (p["alive"] <= 0.0)
        many = len(p["id"]) and int(p["id"][-1]) >= options.max_particles
        require(np.where(self.live, ~pruned, pruned | many), "pruned particles")
        if not isinstance(options.survival, float) or self.is_superposed:
            return
        q = max(options.survival, 1e-300)
        log_q = np.log(q) * (last - p["born"])
        off = np.where(self.live, p["log_q"], np.maximum(p["log_q"], log_q)) - log_q
        require(np.abs(np.where(self.live, off, 0.0)) <= 1e-6 * (1.0 - log_q), "log_q")

    def check_rows(self) -> None:
        """The knowledge of a location is that before the history, and the history.

        Of those that are gone it stood still from some phase on.
        """
        p, transition = self.p, self.options.transition
        assert transition is not None
        owner, phase = self.arrays["history_owner"], self.arrays["history_phase"]
        sums = self.arrays["history_sums"]
        row, first = p["first"].copy(), p["first_phase"]
        fits = np.zeros(len(row), dtype=bool)
        for t in range(int(first.min(initial=self.n_phases)), self.n_phases):
            old = np.flatnonzero(first < t)
            row[old] = self.family.moved(row[old], transition)
            here = np.flatnonzero(phase == t)
            at = np.searchsorted(p["id"], owner[here])
            if len(at):
                row[at] = self.family.posterior(row[at], sums[here])
            close = np.abs(row - p["row"]).max(axis=1, initial=0.0) <= 1e-9 * (
                np.abs(row).max(axis=1, initial=0.0)
            )
            fits = close | (fits & ~self.live)
        require(fits, "locations that follow from histories")

    def check_cohorts(self) -> None:
        """Masses, exposures and ages of cohorts follow from options and phases."""
        a, options = self.arrays, self.options
        q, last = base_survival(options, self.family), max(self.n_phases - 1, 0)
        mass, age = a["mass"], a["age"]
        require((np.diff(age) < 0) & (age[:-1] <= last), "cohorts in order")
        begun = np.where(age == last, options.concentration, options.alpha_new)
        log_q = np.log(max(q, 1e-300))
        check_close("mass", mass, np.exp(np.log(begun) + age * log_q), 1e-290)
        p = self.p
        birth = p["born"][:, None] - np.arange(self.n_phases)[None]  # of its source
        start = np.full(self.n_phases, options.alpha_new)
        start[:1] = options.concentration
        possible = (birth >= 0) & (
            np.abs(np.log(p["mass"])[:, None] - np.log(start) - log_q * birth) <= 1e-6
        )
        u = np.zeros(self.n_phases) if options.uses_paper_weights else a["u"]
        if len(u) == self.n_phases and self.n_phases:
            since = np.append(np.cumsum(u[::-1])[::-1], 0.0)
            exposure = 1.0 + since[last - age]
            check_close("source_exposure", a["source_exposure"], exposure)
            E = np.empty(possible.shape)
            memory = 1.0 if options.uses_paper_weights else options.weight_memory
            for k, b in enumerate(p["born"].tolist()):
                E[k] = 1.0 + since[:-1] - since[b + 1]
                for step in u[b + 1 :]:
                    E[k] = memory * E[k] + step
            good = np.abs(E - p["E"][:, None]) <= 1e-6 * E
            possible &= good | ~self.live[:, None]
        require(possible.any(axis=1), "masses and exposures of sources")


def added(phase: Ids, owner: Ids, n: Ids) -> dict[tuple[int, int], int]:
    """Totals by phase and owner."""
    totals: dict[tuple[int, int], int] = {}
    for one, whose, more in np.column_stack([phase, owner, n]).tolist():
        totals[one, whose] = totals.get((one, whose), 0) + more
    return totals
