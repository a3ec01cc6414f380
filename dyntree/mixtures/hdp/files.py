"""What a file holds of a topic model, and the checks on what claims to be one."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.mixtures.hdp.compression import Limits
from dyntree.mixtures.hdp.learned import HISTORY, SECONDS, Learned, scaled_family
from dyntree.mixtures.hdp.learning import MOST_FAR
from dyntree.mixtures.hdp.options import HDPSettings, byte_count, optional
from dyntree.mixtures.hdp.store import Arrays, Longs, Store, added, row_numbers
from dyntree.mixtures.hdp.sweeps import Topics
from dyntree.mixtures.shared.arrays import check_shape, demand

CLUMPS_AT_ONCE = 1024  # whose scatters are full matrices at a time
SLACK = 1e-6  # relative, of sums that were taken in another order
LEAST_ALPHA = 1e-13  # learning keeps 1e-12
OPTIONAL = ("document_ids", "document_group", "document_epoch", "index", "index_ids")


def described(
    kind: str, settings: HDPSettings, seed: int, learned: Learned | None
) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model."""
    header: dict[str, Any] = {
        "kind": kind, "settings": plain(asdict(settings)), "seed": seed, "learned": None
    }  # fmt: skip
    if learned is None:
        return header, {}
    header["learned"] = {
        "features": learned.features.to_header(),
        "width": learned.family.n_words or learned.family.d,
        "n_points": learned.n_points,
        "n_documents": learned.n_documents,
        "n_epochs": learned.n_epochs,
        "next_id": learned.next_id,
        "limits": asdict(learned.limits),
        "F": learned.F,
        "warned": list(learned.warned),
        "transient": [list(pair) for pair in learned.transient],
    }
    arrays = dict(learned.arrays())
    history = learned.history.copy()
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


def restored(
    settings: HDPSettings, header: dict[str, Any], arrays: Arrays
) -> Learned | None:
    """What was learned, checked."""
    known = header["learned"]
    if known is None:
        demand(not arrays, "arrays of a model that has learned")
        return None
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    width = params.count("width", known["width"], 1)
    is_words = settings.family == "multinomial"
    none = np.zeros(0)
    shift, scale = (none, none) if is_words else (arrays["shift"], arrays["scale"])
    if not is_words:
        check_shape(arrays, "shift", np.float64, (width,))
        check_shape(arrays, "scale", np.float64, (width,))
        least = 1.0 / LARGEST  # whose inverse has a finite square
        demand((scale >= least) & (scale <= LARGEST), "scales within the numbers")
        demand(np.abs(shift) <= LARGEST, "shifts whose squares are finite")
        P = width if settings.family == "diag" else width * (width + 1) // 2
        check_shape(arrays, "scatters", np.float64, (None, P))
        demand(len(arrays["scatters"]), "a topic, before so much is reserved")
    family = scaled_family(settings, width, shift, scale)
    topics = restored_topics(family, arrays)
    store = restored_store(family, topics.S, arrays)
    limits = Limits(
        optional(byte_count, "memory", known["limits"]["memory"]),
        optional(params.count, "items", known["limits"]["items"], 1),
        optional(params.count, "groups", known["limits"]["groups"], 1),
    )
    check_shape(arrays, "history", np.float64, (None, len(HISTORY)))
    check_shape(arrays, "aliases", np.int64, (None, 2))
    features = FeatureMap.from_header(known["features"])
    demand(features.n_features == width, "columns")
    learned = Learned(
        features, family, shift, scale, store, topics,
        params.real("n_points", known["n_points"]),
        params.count("n_documents", known["n_documents"], 1, 2**53),
        params.count("n_epochs", known["n_epochs"], 1, 2**31 - 1),
        params.count("next_id", known["next_id"], 1, 2**62),
        arrays["aliases"], arrays["history"], limits, params.real("F", known["F"]),
        tuple(str(one) for one in known["warned"]),
        **extras(arrays),
        transient=tuple((str(n), int(b)) for n, b in known["transient"]),
    )  # fmt: skip
    demand(set(arrays) == set(learned.arrays()), "names of arrays")
    demand(int(topics.ids.max()) < learned.next_id, "ids below the next")
    total = store.at_rest().total
    demand(abs(total - learned.n_points) <= 1e-6 * learned.n_points, "points")
    demand(abs(topics.documents.sum() - learned.n_documents) < 1e-6, "documents")
    of_topics = np.abs(topics.counts.sum(0) - topics.N)
    demand(of_topics <= SLACK * learned.n_points, "points of topics and groups")
    log_z = family.expected(*topics.statistics).log_z
    demand(np.isfinite(log_z), "topics that have a density")
    check_extras(learned)
    return learned


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


def restored_topics(family: Any, arrays: Arrays) -> Topics:
    """Topics and groups, checked."""
    K, S = len(arrays["alpha"]), len(arrays["group_sizes"])
    demand(K >= 1 and S >= 1, "a topic and a group at least")
    for name, dtype, shape in (
        ("alpha", np.float64, (K,)), ("counts", np.float64, (K,)),
        ("topic_ids", np.int64, (K,)), ("group_counts", np.float64, (S, K)),
        ("group_sizes", np.float64, (S,)),
    ):  # fmt: skip
        check_shape(arrays, name, dtype, shape)
    if family.kind == 2:
        check_shape(arrays, "topic_words", np.float64, (K, family.n_words))
        mean, scatter = arrays["topic_words"], np.zeros((K, 0))
        demand(mean >= 0.0, "counts of words")
    else:
        check_shape(arrays, "means", np.float64, (K, family.d))
        check_shape(arrays, "scatters", np.float64, (K, family.n_second))
        mean, scatter = arrays["means"], arrays["scatters"]
        demand(np.abs(mean) <= MOST_FAR * (1.0 + SLACK), "means within the scale")
        demand(np.abs(scatter) <= widest(arrays["counts"]), "scatters within the scale")
        if family.kind == 0:
            check_positive(family, scatter)
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


def restored_store(family: Any, S: int, arrays: Arrays) -> Store:
    """Points and clumps, checked."""
    store = Store.from_arrays(family, arrays)
    given = {one.name: getattr(store, one.name) for one in fields(store)}
    n, C, nnz = store.n_points, store.n_clumps, len(store.clump_group)
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "group": (np.int32, (n,)), "clump_count": (np.float64, (C,)),
        "clump_indptr": (np.int64, (C + 1,)), "clump_group": (np.int32, (nnz,)),
        "clump_group_count": (np.float64, (nnz,)),
    }  # fmt: skip
    pointers = [("clump_indptr", nnz)]
    if family.kind == 2:
        words = len(store.clump_word)
        shapes |= {
            "word": (np.int32, (n,)), "word_count": (np.int32, (n,)),
            "clump_word_indptr": (np.int64, (C + 1,)),
            "clump_word": (np.int32, (words,)),
            "clump_word_count": (np.float64, (words,)),
        }  # fmt: skip
        pointers.append(("clump_word_indptr", words))
        for word in (store.word, store.clump_word):
            demand((word >= 0) & (word < family.n_words), "words of the vocabulary")
        demand(store.word_count > 0, "counts of words")
    else:
        shapes |= {
            "x": (np.float64, (n, family.d)), "clump_mean": (np.float64, (C, family.d)),
            "clump_scatter": (np.float64, (C, family.n_second)),
        }  # fmt: skip
        for name in ("x", "clump_mean"):
            far = np.abs(given[name])
            demand(far <= MOST_FAR * (1.0 + SLACK), f"{name} within the scale")
    for name, (dtype, shape) in shapes.items():
        check_shape(given, name, dtype, shape)
    for name, stop in pointers:
        indptr = given[name]
        demand(indptr[0] == 0 and indptr[-1] == stop, "row pointers")
        demand((indptr >= 0) & (indptr <= stop), "row pointers within the rows")
        demand(np.diff(indptr) >= 0, "row pointers that ascend")
    for group in (store.group, store.clump_group):
        demand((group >= 0) & (group < S), "groups that there are")
    demand(
        (store.clump_count > 0.0) & np.isfinite(store.clump_count), "clumps of points"
    )
    demand(store.n_items > 0, "points")
    check_sums(store.clump_count, store.clump_indptr, store.clump_group_count)
    if family.kind == 2:
        check_sums(store.clump_count, store.clump_word_indptr, store.clump_word_count)
    else:
        scatter = store.clump_scatter
        demand(scatter[:, family.rows == family.columns] >= 0.0, "variances >= 0")
        demand(
            np.abs(scatter) <= widest(store.clump_count), "scatters within the scale"
        )
        if family.kind == 0:
            check_positive(family, scatter)
    return store


def check_positive(family: Any, scatter: Matrix) -> None:
    """Raise ValueError unless packed scatters are those of some points."""
    for start in range(0, len(scatter), CLUMPS_AT_ONCE):
        some = family.unpacked(scatter[start : start + CLUMPS_AT_ONCE])
        least = np.linalg.eigvalsh(some)[:, 0]
        size = np.trace(some, axis1=1, axis2=2)
        demand(least >= -SLACK * size, "scatters that are positive semi-definite")


def widest(N: Vector) -> Matrix:
    """More than the scatter of N points within the scale can be, shape (n, 1)."""
    out: Matrix = N[:, None] * (2.0 * MOST_FAR) ** 2
    return out


def check_sums(total: Vector, indptr: Longs, part: Vector) -> None:
    """Raise ValueError unless the counts of each clump's row sum to its points."""
    demand((part > 0.0) & np.isfinite(part), "counts of groups and words")
    found = added(row_numbers(indptr), part, len(total))
    demand(np.abs(found - total) <= SLACK * total, "counts that sum to the points")


def check_extras(learned: Learned) -> None:
    """Raise ValueError unless names and index fit the rest."""
    tracked = [getattr(learned, name) for name in OPTIONAL[:3]]
    if any(one is not None for one in tracked):
        demand(all(one is not None for one in tracked), "names of documents")
        names, group, epoch = tracked
        demand(len(names) == len(group) == len(epoch), "names of documents")
        for one in (group, epoch):
            demand(one.dtype == np.int32 and one.ndim == 1, "places of documents")
        demand((group >= 0) & (group < learned.topics.S), "groups of documents")
    if learned.index is not None:
        demand(learned.index_ids is not None, "names of the index")
        shape = (len(learned.index_ids), learned.topics.K)  # type: ignore[arg-type]
        demand(learned.index.shape == shape, "an index of all topics")
