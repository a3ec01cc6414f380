"""What a file holds of a small-variance mixture, and checks of such files."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST
from dyntree.mixtures.shared.arrays import Arrays, check_shape, demand
from dyntree.mixtures.sva.emission import new_clusters
from dyntree.mixtures.sva.options import ClusterOptions, HSMMOptions
from dyntree.mixtures.sva.state import State


def to_arrays(
    options: ClusterOptions, seed: int, state: State
) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a model."""
    features = state.features
    header: dict[str, Any] = {
        "options": asdict(options),
        "seed": seed,
        "features": None if features is None else features.to_header(),
        "lambda_": state.lambda_,
        "noise": state.noise,
        "has_clusters": state.clusters is not None,
    }
    arrays = {"waiting": state.waiting.copy()}
    if state.clusters is not None:
        arrays |= state.clusters.to_arrays()
    return header, arrays


def scales_told(header: dict[str, Any]) -> State:
    """Return what a header alone tells: columns and scales, checked."""
    features = header["features"]
    lambda_, noise = header["lambda_"], header["noise"]
    return State(
        features=None if features is None else FeatureMap.from_header(features),
        lambda_=None if lambda_ is None else params.positive("lambda_", lambda_),
        noise=None if noise is None else params.positive("noise", noise),
    )


def from_arrays(
    options: ClusterOptions, header: dict[str, Any], arrays: Arrays
) -> State:
    """Return the state that header and arrays describe, once they are checked."""
    told, clusters = scales_told(header), None
    if header["has_clusters"]:
        assert told.features is not None
        assert told.lambda_ is not None
        width = told.features.n_features
        clusters = new_clusters(options, width, told.lambda_, told.noise)
        clusters.take(arrays)
    return replace(told, waiting=arrays["waiting"].copy(), clusters=clusters)


def check_arrays(
    options: ClusterOptions, header: dict[str, Any], arrays: Arrays
) -> None:
    """Raise ValueError unless arrays describe such a model."""
    has_clusters = params.flag("has_clusters", header["has_clusters"])
    features = scales_told(header).features
    more = {"waiting", "belief"} if isinstance(options, HSMMOptions) else {"waiting"}
    width = 0 if features is None else features.n_features
    check_shape(arrays, "waiting", np.float64, (None, None))
    waiting = arrays["waiting"]
    n_waiting = len(waiting)
    if not has_clusters:
        demand(set(arrays) == more, "clusters without being told of them")
        demand(header["lambda_"] is None, "scales before the first cluster")
        demand(header["noise"] is None, "scales before the first cluster")
        demand(n_waiting < max(options.n_kept_back, 1), "rows that should be clusters")
        demand((n_waiting > 0) <= (features is not None), "columns of rows")
        demand(not n_waiting or waiting.shape[1] == width, "columns of rows")
        demand(np.abs(waiting) <= LARGEST, "rows that are finite")
        return
    demand(features is not None and header["lambda_"] is not None, "columns, scales")
    demand(not n_waiting, "rows held back beside clusters")
    demand((header["noise"] is not None) == options.has_noise, "noise")
    given = options.lambda_
    demand(isinstance(given, str) or given == header["lambda_"], "lambda_")
    check_shape(arrays, "mean", np.float64, (None, width))  # before so much is reserved
    known = new_clusters(options, width, header["lambda_"], header["noise"])
    expected = known.to_arrays()
    demand(set(arrays) == {*more, *expected}, "names of arrays")
    n, n_merged = len(arrays["ids"]), len(arrays["merged"])
    sizes: dict[str, tuple[int, ...]] = {
        "merged": (n_merged,), "merged_into": (n_merged,), "moves": (n, n),
        "gathered": (len(arrays["gathered"]), width),
    }  # fmt: skip
    if "cols" in arrays:
        check_shape(arrays, "cols", np.int32, (n,))
        most = int(arrays["cols"].max(initial=0))
        sizes |= {"eig": (n, most), "gain": (n, most), "basis": (n, most, width)}
    for name, empty in expected.items():
        whole = name in ("counts", "lost", "place", "watch")
        shape = empty.shape if whole else (n, *empty.shape[1:])
        check_shape(arrays, name, empty.dtype, sizes.get(name, shape))
    check_clusters(options.max_clusters, arrays)
    check_watch(options.n_kept_back, arrays)
    if "cols" in arrays:
        check_subspaces(known, arrays)
    if "moves" in arrays:
        check_chain(arrays)


def check_clusters(max_clusters: int, arrays: Arrays) -> None:
    """Raise ValueError unless what all kinds of clusters have is sound."""
    n_rows, next_id = (int(count) for count in arrays["counts"])
    ids, weight = arrays["ids"], arrays["weight"]
    check_shape(arrays, "ids", np.int64, (None,))
    demand(len(ids) <= max_clusters, "more clusters than allowed")
    demand(n_rows >= 1, "a row at least")
    demand(np.diff(ids) > 0, "ids that ascend")
    demand((ids >= 0) & (ids < next_id), "ids below the next")
    for name in ("born", "seen", "since", "rows"):
        check_shape(arrays, name, np.int64, ids.shape)
        demand((arrays[name] >= 1) & (arrays[name] <= n_rows), f"{name} among the rows")
    demand((weight > 0.0) & np.isfinite(weight), "weights that are positive")
    demand(np.sum(weight) <= n_rows * (1.0 + 1e-9), "weights of rows seen")
    for name in ("scatter", "squares"):
        demand(arrays[name] >= 0.0, f"{name} that is not negative")
    demand(np.isin(arrays["confirmed"], (0, 1)), "confirmed or not")
    merged = arrays["merged"]
    demand(len(merged) <= 65536, "merged ids")
    demand((merged >= 0) & (merged < next_id), "merged ids below the next")
    demand(~np.isin(merged, ids), "merged ids that are gone")
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            demand(np.isfinite(array), f"{name} that is finite")
    demand(np.abs(arrays["mean"]) <= LARGEST, "means whose squares are finite")
    demand(next_id <= n_rows, "no more clusters than rows")


def check_watch(n_kept_back: int, arrays: Arrays) -> None:
    """Raise ValueError unless what is known of the scales' fit is sound."""
    told, n_gathered = arrays["watch"], len(arrays["gathered"])
    counts, n, n_wanted = np.delete(told, [3, 7]), told[5], told[8]
    demand(told >= 0.0, "a watch of counts and squares")
    demand((counts == np.floor(counts)) & (counts < 2**53), "counts of rows")
    demand(told[0] <= 1.0, "whether a misfit was told of")
    demand((n_wanted == 0) | (n_wanted == n_kept_back), "rows that are to be gathered")
    demand(n_gathered < max(n_wanted, 1), "fewer rows than are to be gathered")
    demand(np.abs(arrays["gathered"]) <= LARGEST, "rows that are finite")
    demand(told[6] <= n, "rows near clusters among those of a window")


def check_subspaces(known: Any, arrays: Arrays) -> None:
    """Raise ValueError unless columns, their variances and gains are sound."""
    cols, dim = arrays["cols"], arrays["dim"]
    demand((dim >= 0) & (dim <= cols), "dimensions within the columns")
    demand((cols >= 0) & (cols <= known.most_room), "columns within what is allowed")
    used = np.arange(arrays["eig"].shape[1]) < cols[:, None]
    demand(arrays["eig"] >= 0.0, "variances that are not negative")
    demand((arrays["gain"] >= 0.0) & (arrays["gain"] <= 1.0), "gains in [0, 1]")
    for basis, row in zip(arrays["basis"], used, strict=True):
        demand(basis[~row] == 0.0, "columns in use")
        product = basis[row] @ basis[row].T
        demand(np.abs(product - np.eye(len(product))) < 1e-6, "orthonormal columns")
    if known.exact:
        demand(arrays["w_ref"] > 0.0, "weights that are positive")
        demand((arrays["decay"] > 0.0) & (arrays["decay"] <= 1.0), "shares in (0, 1]")


def check_chain(arrays: Arrays) -> None:
    """Raise ValueError unless moves, durations and the place in them are sound."""
    moves, n = arrays["moves"], len(arrays["ids"])
    n_rows = int(arrays["counts"][0])
    demand((moves >= 0) & (moves <= n_rows), "moves that are counts of rows")
    demand(np.diag(moves) == 0, "no moves from a state to itself")
    demand(moves.sum(axis=1) == arrays["left"], "moves that were counted")
    n_kept = arrays["n_kept"]
    demand((n_kept >= 0) & (n_kept <= arrays["kept"].shape[1]), "durations held")
    held = np.arange(arrays["kept"].shape[1]) < n_kept[:, None]
    kept = arrays["kept"]
    demand(np.where(held[:, :, None], kept >= 1, kept == 0), "durations of a row")
    demand(kept <= n_rows, "durations within the rows")
    for name in ("tally", "base"):
        demand(arrays[name] >= 0.0, f"{name} that is not negative")
    state, dwell, last, before, before_dwell = arrays["place"].tolist()
    for place in (state, last, before):
        demand(-1 <= place < n, "places of states")
    demand(0 <= dwell <= n_rows and 0 <= before_dwell <= n_rows, "rows in a state")
    belief = arrays["belief"]
    check_shape(arrays, "belief", np.float64, (None, None))
    demand((belief >= 0.0) & (belief <= 1.0 + 1e-9), "probabilities")
