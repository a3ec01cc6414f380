"""What a file holds of a topic model, and the checks on what claims to be one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Vector
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.limits import Limits
from dyntree.mixtures.hdp.options import HDPSettings, byte_count, optional
from dyntree.mixtures.hdp.registry import FAMILIES, scaled_family
from dyntree.mixtures.hdp.state import HISTORY, OPTIONAL, SECONDS, TRACKED, State
from dyntree.mixtures.hdp.store import SLACK
from dyntree.mixtures.hdp.topics import Topics
from dyntree.mixtures.shared.arrays import Arrays, check_shape, demand
from dyntree.mixtures.shared.lineage import origins_told

LEAST_ALPHA = 1e-13  # learning keeps 1e-12


def to_arrays(
    settings: HDPSettings, seed: int, state: State | None
) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model."""
    header: dict[str, Any] = {
        "settings": plain(asdict(settings)), "seed": seed, "learned": None,
    }  # fmt: skip
    if state is None:
        return header, {}
    header["learned"] = {
        "features": state.features.to_header(),
        "width": state.family.width,
        "n_points": state.n_points,
        "n_documents": state.n_documents,
        "n_epochs": state.n_epochs,
        "next_id": state.next_id,
        "limits": asdict(state.limits),
        "F": state.F,
        "warned": list(state.warned),
        "transient": [list(pair) for pair in state.transient],
        "origins": list(state.origins),
    }
    arrays = dict(state.arrays())
    history = state.history.copy()
    history[:, SECONDS] = np.nan
    arrays["history"] = history
    return header, {name: as_numbers(array) for name, array in arrays.items()}


def as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Text as its code points, and short floats as their bits: what archives hold."""
    if array.dtype.kind == "U":
        letters = array.dtype.itemsize // 4
        return np.ascontiguousarray(array).view(np.int32).reshape(len(array), letters)
    return array.view(np.int32) if array.dtype == np.float32 else array


def as_names(array: NDArray[Any]) -> NDArray[Any]:
    """Names of documents, from their code points."""
    if array.dtype == np.int64 and array.ndim == 1:
        return array
    demand(array.dtype == np.int32 and array.ndim == 2, "names of documents")
    demand((array >= 0) & (array < 0x110000), "names of documents")
    if not array.shape[1]:
        return np.zeros(len(array), dtype="U1")
    return np.ascontiguousarray(array).view(f"U{array.shape[1]}").reshape(len(array))


def plain(value: Any) -> Any:
    """Tuples as lists, so that a header is what JSON gives back."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def from_arrays(
    settings: HDPSettings, header: dict[str, Any], arrays: Arrays
) -> State | None:
    """The state that header and arrays describe, checked."""
    known = header["learned"]
    if known is None:
        demand(not arrays, "arrays of a model that has learned")
        return None
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    width = params.count("width", known["width"], 1)
    shift, scale = units_of(FAMILIES[settings.family], width, arrays)
    family = scaled_family(settings, width, shift, scale)
    topics = checked_topics(family, arrays)
    store = family.store.from_arrays(family, arrays)
    store.check(topics.S)
    limits = Limits(
        optional(byte_count, "memory", known["limits"]["memory"]),
        optional(params.count, "items", known["limits"]["items"], 1),
        optional(params.count, "groups", known["limits"]["groups"], 1),
    )
    check_shape(arrays, "history", np.float64, (None, len(HISTORY)))
    check_shape(arrays, "aliases", np.int64, (None, 2))
    features = FeatureMap.from_header(known["features"])
    demand(features.n_features == width, "columns")
    state = State(
        features, family, shift, scale, store, topics,
        params.real("n_points", known["n_points"]),
        params.count("n_documents", known["n_documents"], 1, 2**53),
        params.count("n_epochs", known["n_epochs"], 1, 2**31 - 1),
        params.count("next_id", known["next_id"], 1, 2**62),
        arrays["aliases"], arrays["history"], limits, params.real("F", known["F"]),
        tuple(str(one) for one in known["warned"]),
        **extras(arrays),
        transient=tuple((str(n), int(b)) for n, b in known["transient"]),
        origins=origins_told(known["origins"]),
    )  # fmt: skip
    demand(set(arrays) == set(state.arrays()), "names of arrays")
    demand(int(topics.ids.max()) < state.next_id, "ids below the next")
    total = store.at_rest().total
    demand(abs(total - state.n_points) <= 1e-6 * state.n_points, "points")
    demand(abs(topics.documents.sum() - state.n_documents) < 1e-6, "documents")
    of_topics = np.abs(topics.counts.sum(0) - topics.N)
    demand(of_topics <= SLACK * state.n_points, "points of topics and groups")
    log_z = family.expected(*topics.statistics).log_z
    demand(np.isfinite(log_z), "topics that have a density")
    check_extras(state)
    return state


def units_of(kind: type[Family], width: int, arrays: Arrays) -> tuple[Vector, Vector]:
    """Shift and scale of the columns, checked; words have none."""
    if kind.of_words:
        return np.zeros(0), np.zeros(0)
    shift = check_shape(arrays, "shift", np.float64, (width,))
    scale = check_shape(arrays, "scale", np.float64, (width,))
    least = 1.0 / LARGEST  # whose inverse has a finite square
    demand((scale >= least) & (scale <= LARGEST), "scales within the numbers")
    demand(np.abs(shift) <= LARGEST, "shifts whose squares are finite")
    return shift, scale


def extras(arrays: Arrays) -> dict[str, Any]:
    """Names of documents and the index, where there are some."""
    found: dict[str, Any] = {name: arrays[name] for name in OPTIONAL if name in arrays}
    for name in ("document_ids", "index_ids"):
        if name in found:
            found[name] = as_names(found[name])
    if "index" in found:
        check_shape(found, "index", np.int32, (None, None))
        found["index"] = found["index"].view(np.float32)
        demand(np.isfinite(found["index"]), "an index that is finite")
    return found


def checked_topics(family: Family, arrays: Arrays) -> Topics:
    """Topics and groups of a file, checked."""
    K, S = len(arrays["alpha"]), len(arrays["group_sizes"])
    demand(K >= 1 and S >= 1, "a topic and a group at least")
    for name, dtype, shape in (
        ("alpha", np.float64, (K,)), ("counts", np.float64, (K,)),
        ("topic_ids", np.int64, (K,)), ("group_counts", np.float64, (S, K)),
        ("group_sizes", np.float64, (S,)),
    ):  # fmt: skip
        check_shape(arrays, name, dtype, shape)
    mean, scatter = family.from_arrays(arrays, K)
    for name, array in (*arrays.items(), ("mean", mean), ("scatter", scatter)):
        if array.dtype.kind == "f" and name != "history":
            demand(np.isfinite(array), f"{name} that is finite")
    demand(arrays["alpha"] >= LEAST_ALPHA, "alpha > 0")
    demand(arrays["counts"] > 0.0, "topics of some points")
    demand(arrays["group_counts"] >= 0.0, "counts that are not negative")
    demand(arrays["group_sizes"] > 0.0, "groups of documents")
    ids = arrays["topic_ids"]
    demand((ids >= 0) & (len(np.unique(ids)) == K), "ids of their own")
    return Topics(
        arrays["alpha"], arrays["counts"], mean, scatter, arrays["group_counts"],
        arrays["group_sizes"], ids,
    )  # fmt: skip


def check_extras(state: State) -> None:
    """Raise ValueError unless names and index fit the rest."""
    tracked = [getattr(state, name) for name in TRACKED]
    if any(one is not None for one in tracked):
        demand(all(one is not None for one in tracked), "names of documents")
        names, group, epoch = tracked
        demand(len(names) == len(group) == len(epoch), "names of documents")
        for one in (group, epoch):
            demand(one.dtype == np.int32 and one.ndim == 1, "places of documents")
        demand((group >= 0) & (group < state.topics.S), "groups of documents")
    if state.index is not None:
        names = state.index_ids
        demand(names is not None, "names of the index")
        shape = (0 if names is None else len(names), state.topics.K)
        demand(state.index.shape == shape, "an index of all topics")
