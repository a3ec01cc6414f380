"""What a file holds of a topic model, and the checks on what claims to be one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.checkpoint.layout import Layout, check_close, ints, places, reals, require
from dyntree.checkpoint.layout import check_arrays as check_layouts
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST
from dyntree.mixtures.hdp.families import MOST_FAR
from dyntree.mixtures.hdp.limits import Limits
from dyntree.mixtures.hdp.options import HDPSettings, byte_count, optional
from dyntree.mixtures.hdp.registry import FAMILIES, scaled_family
from dyntree.mixtures.hdp.state import HISTORY, OPTIONAL, SECONDS, TRACKED, State
from dyntree.mixtures.hdp.store import SLACK, Store, added, row_numbers
from dyntree.mixtures.hdp.topics import Topics
from dyntree.mixtures.shared.arrays import Arrays
from dyntree.mixtures.shared.lineage import origins_from_header

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
        "family": state.family.name,
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
    if not array.shape[1]:
        return np.zeros(len(array), dtype="U1")
    return np.ascontiguousarray(array).view(f"U{array.shape[1]}").reshape(len(array))


def plain(value: Any) -> Any:
    """Tuples as lists, so that a header is what JSON gives back."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


FAR = MOST_FAR * (1.0 + SLACK)
LAYOUTS = {
    "alpha": reals("K", low=LEAST_ALPHA),
    "counts": reals("K", above=0.0),
    "topic_ids": ints("K", low=0, below="next_id"),
    "group_counts": reals("S", "K", low=0.0),
    "group_sizes": reals("S", above=0.0),
    "history": Layout("f8", (None, len(HISTORY)), low=-np.inf, high=np.inf, gaps=True),
    "aliases": ints(None, 2, low=0, below="next_id"),
    "singlet_group": places("points", low=0, below="S"),
    "clump_count": reals("clumps", above=0.0),
    "clump_indptr": ints("pointers", low=0, high="entries"),
    "clump_group": places("entries", low=0, below="S"),
    "clump_group_count": reals("entries", above=0.0),
    "document_ids": Layout("i4", (None, None), high=0x10FFFF, low=0, needed=False),
    "document_group": places("documents", low=0, below="S", needed=False),
    "document_epoch": places("documents", low=0, high="n_epochs", needed=False),
    "index": places("names", "K", needed=False),
    "index_ids": Layout("i4", (None, None), high=0x10FFFF, low=0, needed=False),
}
ROWS = {
    "shift": reals("width", low=-LARGEST, high=LARGEST),
    # whose inverse has a finite square
    "scale": reals("width", low=1.0 / LARGEST, high=LARGEST),
    "cells": Layout("f8", ("width",), low=0.0, high=2.0 * LARGEST, needed=False),
    "means": reals("K", "width", low=-FAR, high=FAR),
    "scatters": reals("K", "n_second"),
    "singlet_x": reals("points", "width", low=-FAR, high=FAR),
    "clump_mean": reals("clumps", "width", low=-FAR, high=FAR),
    "clump_scatter": reals("clumps", "n_second"),
}
WORDS = {
    "topic_words": reals("K", "width", low=0.0),
    "singlet_word": places("points", low=0, below="width"),
    "singlet_count": places("points", low=1),
    "clump_word_indptr": ints("pointers", low=0, high="of_words"),
    "clump_word": places("of_words", low=0, below="width"),
    "clump_word_count": reals("of_words", above=0.0),
}


def from_arrays(
    settings: HDPSettings, header: dict[str, Any], arrays: Arrays
) -> State | None:
    """The state that header and arrays describe, checked."""
    known = header["learned"]
    if known is None:
        require(not arrays, "arrays of a model that has learned")
        return None
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    width = params.count("width", known["width"], 1)
    n_epochs = params.count("n_epochs", known["n_epochs"], 1, 2**31 - 1)
    next_id = params.count("next_id", known["next_id"], 1, 2**62)
    require(known["family"] in settings.families, "the family of the settings")
    kind = FAMILIES[known["family"]]
    layouts = LAYOUTS | (WORDS if kind.of_words else ROWS)
    for name in ("document_ids", "index_ids"):
        if name in arrays and arrays[name].dtype == np.int64:
            layouts[name] = ints(None, needed=False)
    if not kind.of_words:
        n_full = width * (width + 1) // 2
        n_second = width if arrays["scatters"].shape[-1] == width else n_full
    check_layouts(
        arrays, layouts, width=width, next_id=next_id, n_epochs=n_epochs,
        entries=len(arrays["clump_group"]),
        **({"of_words": len(arrays["clump_word"])} if kind.of_words
           else {"n_second": n_second}),
    )  # fmt: skip
    none = np.zeros(0)
    shift, scale = arrays.get("shift", none), arrays.get("scale", none)
    cells = arrays.get("cells", np.zeros(len(shift)))
    require("cells" not in arrays or cells.any(), "cells of some width")
    family = scaled_family(known["family"], settings, width, shift, scale)
    require(kind.of_words or family.n_second == n_second, "scatters of the family")
    store = family.store.from_arrays(family, arrays)
    mean, scatter = family.from_arrays(arrays)
    topics = Topics(
        arrays["alpha"], arrays["counts"], mean, scatter, arrays["group_counts"],
        arrays["group_sizes"], arrays["topic_ids"],
    )  # fmt: skip
    limits = Limits(
        optional(byte_count, "memory", known["limits"]["memory"]),
        optional(params.count, "items", known["limits"]["items"], 1),
        optional(params.count, "groups", known["limits"]["groups"], 1),
    )
    features = FeatureMap.from_header(known["features"])
    require(features.n_features == width, "columns")
    state = State(
        features, family, shift, scale, cells, store, topics,
        params.real("n_points", known["n_points"]),
        params.count("n_documents", known["n_documents"], 1, 2**53), n_epochs, next_id,
        arrays["aliases"], arrays["history"], limits, params.real("F", known["F"]),
        tuple(str(one) for one in known["warned"]),
        **extras(arrays),
        transient=tuple((str(n), int(b)) for n, b in known["transient"]),
        origins=origins_from_header(known["origins"]),
    )  # fmt: skip
    check_store(store)
    check_topics(state)
    check_extras(state)
    return state


def check_store(store: Store) -> None:
    """Raise ValueError unless clumps have points, and rows of groups and words."""
    arrays, family = store.arrays(), cast(Any, store.family)
    require(store.n_items > 0, "points")
    for name in ("clump_indptr", "clump_word_indptr"):
        if name not in arrays:
            continue
        indptr = arrays[name]
        count = arrays[name.replace("indptr", "count")
                       if "word" in name else "clump_group_count"]  # fmt: skip
        require(len(indptr) == store.n_clumps + 1, "row pointers of clumps")
        require(indptr[0] == 0 and indptr[-1] == len(count), "row pointers")
        require(np.diff(indptr) >= 0, "row pointers that ascend")
        found = added(row_numbers(indptr), count, store.n_clumps)
        check_close("clump_count", store.clump_count, found)
    if not family.of_words:
        rows, columns = family.pairs
        require(store.clump_scatter[:, rows == columns] >= 0.0, "variances >= 0")
        family.check_scatters(store.clump_count, store.clump_scatter)


def check_topics(state: State) -> None:
    """Raise ValueError unless topics and groups sum up the stored points.

    What topics have together, of each column or word and of each group, is what points
    and clumps have.
    """
    topics, store, family = state.topics, state.store, cast(Any, state.family)
    n = state.n_points
    require(len(np.unique(topics.ids)) == topics.K, "ids of their own")
    require(abs(topics.documents.sum() - state.n_documents) < 1e-6, "documents")
    check_close("n_points", np.array(n), store.at_rest().total)
    check_close("counts", topics.N, topics.counts.sum(0), n)
    items = np.arange(store.n_items)
    whole = np.ones(store.n_items)
    by_group = store.group_sums(items, whole, topics.S)
    check_close("group_counts", topics.counts.sum(1), by_group)
    count, mean, scatter = store.moments(items, whole)
    if family.of_words:
        check_close("topic_words", topics.mean.sum(0), mean)
        check_close("topic_words", topics.mean.sum(1), topics.N)
    else:
        family.check_scatters(topics.N, topics.scatter)
        rows, columns = family.pairs
        squares = np.diag_indices(family.d)
        second = scatter + count * mean[rows] * mean[columns]
        found = topics.scatter + topics.N[:, None] * family.outer(topics.mean)
        size = np.zeros((family.d, family.d))
        size[rows, columns] = second
        size = np.sqrt(size[squares])
        check_close("means", topics.N @ topics.mean, count * mean, np.sqrt(n) * size)
        check_close("scatters", found.sum(0), second, size[rows] * size[columns])
    log_z = family.expected(*topics.statistics).log_z
    require(np.isfinite(log_z), "topics that have a density")


def extras(arrays: Arrays) -> dict[str, Any]:
    """Names of documents and the index, where there are some."""
    found: dict[str, Any] = {name: arrays[name] for name in OPTIONAL if name in arrays}
    for name in ("document_ids", "index_ids"):
        if name in found:
            found[name] = as_names(found[name])
    if "index" in found:
        found["index"] = found["index"].view(np.float32)
        require(np.isfinite(found["index"]), "an index that is finite")
    return found


def check_extras(state: State) -> None:
    """Raise ValueError unless names and index fit the rest."""
    tracked = [getattr(state, name) for name in TRACKED]
    if any(one is not None for one in tracked):
        require(all(one is not None for one in tracked), "names of documents")
        names, group, _ = tracked
        require(len(names) == len(group), "names of documents")
    if state.index is not None:
        names = state.index_ids
        require(names is not None and len(names) == len(state.index), "an index")
