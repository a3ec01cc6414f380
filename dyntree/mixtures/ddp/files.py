"""Dependent mixtures as plain headers and arrays, and back, checked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.nearness import UNKNOWN, Nearness
from dyntree.mixtures.ddp.options import (
    DDPOptions,
    family_from_header,
    options_to_header,
)
from dyntree.mixtures.ddp.records import Diagnostics
from dyntree.mixtures.ddp.state import MOST_COHORTS, History, Particles, State
from dyntree.mixtures.shared.arrays import Arrays, Ids, check_shape, demand
from dyntree.mixtures.shared.lineage import origins_told

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
    return header, arrays


def family_told(
    options: DDPOptions, header: dict[str, Any], width: int
) -> Family | None:
    """Return the checked family of a header, with its scales."""
    if header["family"] is None:
        return None
    family = family_from_header(header["family"])
    demand(type(family) is type(options.family), "families")
    demand(header["features"] is not None, "columns beside a family")
    resolved: Family = family.resolved(np.zeros((1, width)))
    demand(resolved.to_header() == family.to_header(), "scales of a family")
    return resolved


def joins_told(told: Any, next_id: int) -> tuple[tuple[int, ...], ...]:
    """Return the ends of the ids of superposed models, checked."""
    demand(isinstance(told, list), "a list of superpositions")
    found = tuple(tuple(params.count("joins", k, 0, next_id) for k in j) for j in told)
    demand([len(join) > 2 for join in found], "models that were superposed")
    demand([list(join) == sorted(join) for join in found], "their ids in order")
    return found


def nearness_told(told: Any, width: int) -> Nearness:
    """Return the checked distances between rows of a header."""
    n_rows = params.count("nearness", told[0], 0, MOST)
    if not n_rows:
        return UNKNOWN
    found = np.array(told[1], dtype=np.float64)
    demand(found.shape == (width,), "distances of near rows, one a column")
    demand(((found >= 0.0) & np.isfinite(found)).all(), "finite distances >= 0")
    return Nearness(n_rows, found)


def from_arrays(options: DDPOptions, header: dict[str, Any], arrays: Arrays) -> State:
    """Return the state that header and arrays describe, checked."""
    features = header["features"]
    columns = None if features is None else FeatureMap.from_header(features)
    width = 0 if columns is None else columns.n_features
    family = family_told(options, header, width)
    still = np.zeros(0 if family is None else width, dtype=bool)
    places = [params.count("still", k, 0, width - 1) for k in header["still"]]
    if family is not None:
        still[places] = True
    n_rows = params.count("n_rows", header["n_rows"], 0, MOST)
    check_arrays(options, family, n_rows, header, arrays)
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
        first_counted=header["first_counted"],
        phase_column=header["phase_column"],
        joins=joins_told(header["joins"], header["next_id"]),
        nearness=nearness_told(header["nearness"], width),
        origins=() if family is None else origins_told(header["origins"]),
        diagnostics=Diagnostics(**diagnostics),
    )


def check_arrays(
    options: DDPOptions,
    family: Family | None,
    n_rows: int,
    header: dict[str, Any],
    arrays: Arrays,
) -> None:
    """Raise ValueError unless arrays describe such a model."""
    n_phases = params.count("n_phases", header["n_phases"], 0, MOST)
    next_id = params.count("next_id", header["next_id"], 0, MOST)
    expected = {f"particles_{name}" for name in PARTICLES}
    expected |= {f"history_{name}" for name in HISTORY} | set(STATE)
    expected |= {f"draws_{name}" for name in DRAWS} | {"aliases", "n_labels", "labels"}
    demand(set(arrays) == expected, "names of arrays")
    check_particles(options, arrays, n_phases, next_id)
    check_prior_rows(family, arrays)
    demand(arrays["particles_m"] <= n_rows, "m of rows seen")
    check_history(family, n_rows, arrays)
    check_cohorts(options, arrays, n_phases)
    u = check_shape(arrays, "u", np.float64, (None,))
    demand(np.isfinite(u) & (u >= 0.0), "u >= 0")
    demand(len(u) <= options.history, "u of phases held")
    counts = check_shape(arrays, "counts", np.int64, (None, 3))
    demand((counts >= 0) & (counts[:, :1] < max(n_phases, 1)), "counts of phases")
    demand(counts[:, 1] < next_id, "counts of particles")
    demand(family is not None or header["origins"] == [], "origins of rows")
    first = params.count("first_counted", header["first_counted"], 0, n_phases)
    demand(counts[:, 0] >= first, "counts of phases that are counted")
    column = header["phase_column"]
    demand(column is None or isinstance(column, str), "the column of phases")
    aliases = check_shape(arrays, "aliases", np.int64, (None, 2))
    demand((aliases >= 0) & (aliases[:, :1] < next_id), "aliases of ids")
    demand(aliases[:, 1] < aliases[:, 0], "aliases that are older")
    demand(len(np.unique(aliases[:, 0])) == len(aliases), "an alias each")
    check_labels(arrays, min(n_phases, options.history), n_rows, next_id)
    for name, dtype in zip(DRAWS, (np.int64, np.float64, np.float64), strict=True):
        check_shape(arrays, f"draws_{name}", dtype, (None,))
    for name in ("proposed", "accepted", "merges"):
        params.count(name, header["diagnostics"][name], 0)
    params.real("agreement", header["diagnostics"]["agreement"])
    params.flag("was_full", header["diagnostics"]["was_full"])


def check_cohorts(options: DDPOptions, arrays: Arrays, n_phases: int) -> None:
    """Raise ValueError unless the cohorts of mass that was never seen are valid."""
    mass = check_shape(arrays, "mass", np.float64, (None,))
    for name in ("mass", "source_exposure"):
        found = check_shape(arrays, name, np.float64, mass.shape)
        demand(np.isfinite(found) & (found > 0.0), f"{name} > 0")
    total = options.concentration + n_phases * options.alpha_new
    demand(mass.sum() <= total * (1.0 + 1e-9), "mass of cohorts")
    age = check_shape(arrays, "age", np.int64, mass.shape)
    demand((age >= 0) & (age <= n_phases) & (len(mass) > 0), "ages of cohorts")
    demand(age <= MOST_COHORTS, "ages that bases move for")


def check_particles(
    options: DDPOptions, arrays: Arrays, n_phases: int, next_id: int
) -> None:
    """Raise ValueError unless particles are sound."""
    ids: Ids = check_shape(arrays, "particles_id", np.int64, (None,))
    demand((ids >= 0) & (ids < next_id), "ids below the next")
    demand(np.diff(ids) > 0, "ids that ascend")
    for name in ("born", "seen", "first_phase"):
        found = check_shape(arrays, f"particles_{name}", np.int64, ids.shape)
        demand((found >= 0) & (found < max(n_phases, 1)), f"{name} among the phases")
    first = n_phases - options.history
    demand(arrays["particles_first_phase"] >= first, "first phases that are held")
    gone = check_shape(arrays, "particles_gone", np.int64, ids.shape)
    demand(np.isin(gone, (0, 1)), "gone or not")
    for name in ("m", "E", "alive", "mass", "log_q"):
        found = check_shape(arrays, f"particles_{name}", np.float64, ids.shape)
        demand(np.isfinite(found), f"{name} that is finite")
        if name != "log_q":
            demand(found >= 0.0 if name == "alive" else found > 0.0, f"{name} > 0")
    demand(arrays["particles_alive"] <= 1.0, "alive at most 1")


def check_prior_rows(family: Family | None, arrays: Arrays) -> None:
    """Raise ValueError unless what is known of locations is as the family has it."""
    ids = arrays["particles_id"]
    width = 0 if family is None else len(family.base())
    for name in ("row", "first"):
        found = check_shape(arrays, f"particles_{name}", np.float64, (len(ids), None))
        demand(found.shape[1] == width or not len(ids), f"{name} of the family")
        demand(np.isfinite(found), f"{name} that is finite")
    demand(family is not None or not len(ids), "particles without a family")
    if family is not None and len(ids):
        rows = np.concatenate([arrays["particles_row"], arrays["particles_first"]])
        demand(np.isfinite(family.means(rows)), "locations that are finite")
        demand(family.is_sound(rows), "prior rows of the family")


def check_history(family: Family | None, n_rows: int, arrays: Arrays) -> None:
    """Raise ValueError unless histories are of particles there are."""
    owner = check_shape(arrays, "history_owner", np.int64, (None,))
    phase = check_shape(arrays, "history_phase", np.int64, owner.shape)
    sums = check_shape(arrays, "history_sums", np.float64, (len(owner), None))
    ids = arrays["particles_id"]
    demand(np.isin(owner, ids), "histories of particles")
    place, order = np.searchsorted(ids, owner), np.argsort(owner, kind="stable")
    known = arrays["particles_first_phase"][place] <= phase
    demand(known & (phase <= arrays["particles_seen"][place]), "histories of phases")
    later = np.diff(phase[order]) > 0
    demand(later | (np.diff(owner[order]) > 0), "histories in the order of phases")
    demand(np.isfinite(sums), "sums that are finite")
    if family is not None and len(owner):
        demand(sums.shape[1] == family.n_sums(), "sums of the family")
        demand((sums[:, 0] > 0.0) & (sums[:, 0] <= n_rows), "sums of rows")


def check_labels(arrays: Arrays, held: int, n_rows: int, next_id: int) -> None:
    """Raise ValueError unless labels are of phases held, and of ids given."""
    n_labels = check_shape(arrays, "n_labels", np.int64, (None,))
    labels = check_shape(arrays, "labels", np.int64, (None,))
    demand(len(n_labels) == held, "labels of the phases held")
    demand(n_labels >= 0, "numbers of labels")
    demand(n_labels.sum() == len(labels), "labels of all rows held")
    demand(len(labels) <= n_rows, "labels of rows seen")
    demand((labels >= -1) & (labels < max(next_id, 1)), "labels of ids")
