"""What a file holds of a small-variance mixture, and checks of such files."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dyntree import params
from dyntree.checkpoint.layout import check_arrays as check_arrays_by
from dyntree.checkpoint.layout import check_close, ints, places, reals, require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST
from dyntree.mixtures.shared.arrays import Arrays
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
        "ends": [*state.ends],
    }
    arrays = {"waiting": state.waiting.copy()}
    if state.clusters is not None:
        arrays |= state.clusters.to_arrays()
    return header, arrays


def scales_from_header(header: dict[str, Any]) -> State:
    """Return a state of the columns and scales in a header, checked."""
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
    state, clusters = scales_from_header(header), None
    if header["has_clusters"]:
        assert state.features is not None
        assert state.lambda_ is not None
        width = state.features.n_features
        shaped = with_shape(options, arrays)
        clusters = new_clusters(shaped, width, state.lambda_, state.noise)
        clusters.take(arrays)
    waiting, ends = arrays["waiting"].copy(), tuple(header["ends"])
    return replace(state, waiting=waiting, ends=ends, clusters=clusters)


def with_shape(options: ClusterOptions, arrays: Arrays) -> ClusterOptions:
    """Options with the shape of clusters that was chosen, which their arrays show."""
    if not isinstance(options, HSMMOptions) or len(options.emissions_to_try) == 1:
        return options
    return replace(options, emission="mppca" if "cols" in arrays else "gmm")


MOST_MERGED = 65536
CLUSTERS = {
    "ids": ints("n", low=0, below="next_id"),
    **{name: ints("n", low=1, high="n_rows") for name in ("born", "seen", "rows")},
    "since": ints("n", low=1, high="n_rows"),
    "settled": ints("n", low=0, high="n_rows"),
    "confirmed": places("n", low=0, high=1),
    "weight": reals("n", above=0.0),
    "mean": reals("n", "width", low=-LARGEST, high=LARGEST),
    "scatter": reals("n", low=0.0),
    "squares": reals("n", "width", low=0.0),
    "merged": ints("n_merged", low=0, below="next_id"),
    "merged_into": ints("n_merged", low=0, below="next_id"),
    "counts": ints(2),
    "lost": reals(1, low=0.0, high="n_rows"),
    "watch": reals(9, low=0.0),
    "gathered": reals(None, "width", low=-LARGEST, high=LARGEST),
}
SUBSPACES = {
    "cols": places("n", low=0, high="most_room"),
    "dim": places("n", low=0, high="most_room"),
    "eig": reals("n", "room", low=0.0),
    "gain": reals("n", "room", low=0.0, high=1.0),
    "basis": reals("n", "room", "width", low=-1.0 - 1e-6, high=1.0 + 1e-6),
}
EXACT = {
    "packed": reals("n", "n_packed"),
    "w_ref": reals("n", above=0.0),
    "decay": reals("n", above=0.0, high=1.0),
}
CHAIN = {
    "moves": ints("n", "n", low=0, high="n_rows"),
    "left": ints("n", low=0, high="n_rows"),
    "tally": reals("n", 3, low=0.0),
    "base": reals("n", 3, low=0.0),
    "kept": ints("n", "n_kept", 2, low=0, high="n_rows"),
    "n_kept": ints("n", low=0, high="n_kept"),
    "place": ints(5, low=-1, high="n_rows"),
}
BELIEF = reals(None, None, low=0.0, high=1.0 + 1e-9)


def check_arrays(
    options: ClusterOptions, header: dict[str, Any], arrays: Arrays
) -> None:
    """Raise ValueError unless arrays describe such a model."""
    has_clusters = params.flag("has_clusters", header["has_clusters"])
    features = scales_from_header(header).features
    width = 0 if features is None else features.n_features
    is_sequence = isinstance(options, HSMMOptions)
    rows = reals(None, None, low=-LARGEST, high=LARGEST, gaps=is_sequence)
    layouts = {"waiting": rows} | ({"belief": BELIEF} if is_sequence else {})
    n_waiting = len(arrays["waiting"])
    ends = [params.count("ends", end, 1, n_waiting) for end in header["ends"]]
    require(ends == sorted({*ends}), "ends of sequences in order")
    require(is_sequence or not ends, "ends of sequences")
    if not has_clusters:
        check_arrays_by(arrays, layouts)
        require(header["lambda_"] is None, "scales before the first cluster")
        require(header["noise"] is None, "scales before the first cluster")
        whole = ~np.isnan(arrays["waiting"]).any(axis=1)
        waits = n_waiting < max(options.n_set_aside, 1)
        waits = waits or (options.n_set_aside > 0 and whole.sum() < 2)
        require(waits, "rows that should be clusters")
        require((n_waiting > 0) <= (features is not None), "columns of rows")
        fits = not n_waiting or arrays["waiting"].shape[1] == width
        require(fits, "columns of rows")
        return
    require(features is not None and header["lambda_"] is not None, "columns, scales")
    require(not n_waiting, "rows that wait beside clusters")
    require((header["noise"] is not None) == options.has_noise, "noise")
    given = options.lambda_
    require(isinstance(given, str) or given == header["lambda_"], "lambda_")
    # before so much is reserved
    CLUSTERS["mean"].check("mean", arrays["mean"], {"width": width})
    shaped = with_shape(options, arrays)
    known = new_clusters(shaped, width, header["lambda_"], header["noise"])
    like = known.to_arrays()
    layouts |= CLUSTERS
    sizes = {"width": width}
    if "cols" in like:
        layouts |= SUBSPACES
        room = arrays["eig"].shape[-1] if "eig" in arrays else 0
        sizes |= {"most_room": known.most_room, "room": room}
    if "packed" in like:
        layouts |= EXACT
        sizes["n_packed"] = width * (width + 1) // 2
    if "moves" in like:
        layouts |= CHAIN
        sizes["n_kept"] = like["kept"].shape[1]
    n_rows, next_id = (int(count) for count in arrays["counts"])
    check_arrays_by(arrays, layouts, n_rows=n_rows, next_id=next_id, **sizes)
    check_clusters(options, n_rows, next_id, arrays)
    check_watch(options.n_set_aside, n_rows, arrays)
    if "cols" in arrays:
        check_subspaces(options, known, arrays)
    if "moves" in arrays:
        check_chain(arrays)


def check_clusters(
    options: ClusterOptions, n_rows: int, next_id: int, arrays: Arrays
) -> None:
    """Raise ValueError unless what all kinds of clusters have is sound.

    Without forgetting a weight is the number of rows.
    """
    ids, weight, rows = arrays["ids"], arrays["weight"], arrays["rows"]
    born, confirmed, settled = (arrays[k] for k in ("born", "confirmed", "settled"))
    require(len(ids) <= options.max_clusters, "more clusters than allowed")
    require(n_rows >= 1 and next_id <= n_rows, "no more clusters than rows")
    require(np.diff(ids) > 0, "ids that ascend")
    for name in ("seen", "since"):
        require(born <= arrays[name], f"{name} since there is a cluster")
    require((settled == 0) | (settled >= born), "confirmed since there is a cluster")
    total = weight.sum() + arrays["lost"][0]
    require(total <= n_rows * (1.0 + 1e-9), "weights of rows seen")
    require(rows.sum() <= n_rows, "rows of clusters among those seen")
    require(weight <= rows * (1.0 + 1e-9), "weights of the rows of a cluster")
    enough = rows >= options.min_weight
    require(enough | (confirmed == 0), "confirmed clusters of rows enough")
    require((settled > 0) | (confirmed == 0), "clusters that were confirmed once")
    squares, merged = arrays["squares"].sum(axis=1), arrays["merged"]
    if options.forget == 1.0:
        require(weight == rows, "weights that are numbers of rows")
        require((enough == (confirmed == 1)) & (enough == (settled > 0)), "confirmed")
        check_close("scatter", arrays["scatter"], squares, 1e-6 * squares)
        if total == n_rows and not arrays["lost"][0] and len(merged) < MOST_MERGED // 2:
            require(next_id == len(ids) + len(merged), "an id of each cluster")
    else:  # the sum fades at once, its parts when the next row comes
        fades = options.forget ** (n_rows - arrays["seen"]) * squares
        least, most = fades * (1.0 - 1e-6), squares * (1.0 + 1e-6)
        require((least <= arrays["scatter"]) & (arrays["scatter"] <= most), "scatter")
    require(len(merged) <= MOST_MERGED, "merged ids")
    require(~np.isin(merged, ids), "merged ids that are gone")
    require(len(np.unique(merged)) == len(merged), "ids that are merged once")
    require(arrays["merged_into"] != merged, "ids that others became")


def check_watch(n_set_aside: int, n_rows: int, arrays: Arrays) -> None:
    """Raise ValueError unless what is known of the scales' fit is sound."""
    watch, n_gathered = arrays["watch"], len(arrays["gathered"])
    counts, n, n_wanted = np.delete(watch, [3, 7]), watch[5], watch[8]
    require((counts == np.floor(counts)) & (counts <= n_rows), "counts of rows")
    require(watch[0] <= 1.0, "whether a misfit was reported")
    require((n_wanted == 0) | (n_wanted == n_set_aside), "rows that are to be gathered")
    require(n_gathered < max(n_wanted, 1), "fewer rows than are to be gathered")
    require(watch[6] <= n, "rows near clusters among those of a window")
    require((watch[6] > 0) | (watch[7] == 0.0), "distances of rows near clusters")


def check_subspaces(options: Any, known: Any, arrays: Arrays) -> None:
    """Raise ValueError unless columns, their variances and gains are sound.

    A gain is that of its variance. What clusters hold of their covariance is no more
    than their scatter.
    """
    cols, dim, eig = arrays["cols"], arrays["dim"], arrays["eig"]
    require(dim <= cols, "dimensions within the columns")
    used = np.arange(eig.shape[1]) < cols[:, None]
    excess = np.maximum(eig - known.variance, 0.0)
    check_close("gain", arrays["gain"], excess / (excess + known.variance))
    require((eig == 0.0) | used, "variances of columns in use")
    require((np.diff(eig) <= 1e-9 * eig[:, :1]) | ~used[:, 1:], "variances in order")
    for basis, row in zip(arrays["basis"], used, strict=True):
        require(basis[~row] == 0.0, "columns in use")
        product = basis[row] @ basis[row].T
        require(np.abs(product - np.eye(len(product))) < 1e-6, "orthonormal columns")
    scatter = arrays["scatter"]
    weight = arrays["w_ref"] if known.exact else arrays["weight"]
    if options.forget == 1.0:
        require(dim == dimensions(options, known, weight, eig, used), "dimensions")
    whole = scatter * (1.0 + 1e-6) + 1e-9 * np.abs(arrays["mean"]).max(axis=1) ** 2
    require(weight * eig.sum(axis=1) <= whole, "variances within the scatter")
    if known.exact:
        check_exact(arrays)


def dimensions(options: Any, known: Any, weight: Any, eig: Any, used: Any) -> Any:
    """Leading directions whose variance is no chance; see `Directions.dimension`."""
    width, most = known.n_features, options.max_dim
    most = width - 1 if most is None else min(most, width - 1)
    rule = 4.0 * known.variance if options.lambda_1 is None else options.lambda_1
    chance = known.variance * (1.0 + np.sqrt(width / weight)) ** 2
    low = used & (eig > np.maximum(rule, chance)[:, None])
    few = np.where(weight < most + 1.0, np.maximum(weight - 1.0, 0.0), most)
    return np.minimum(np.cumprod(low, axis=1).sum(axis=1), few.astype(int))


def check_exact(arrays: Arrays) -> None:
    """Raise ValueError unless whole scatters agree with their parts.

    The diagonal is that of the squares. Rows since the eigenvectors were computed
    have added to the scatter that they are of.
    """
    width = arrays["mean"].shape[1]
    lower = np.tril_indices(width)
    total = arrays["squares"].sum(axis=1)
    factor = arrays["scatter"] / np.where(total > 0.0, total, 1.0)
    now, then = arrays["weight"], arrays["w_ref"] * (1.0 + 1e-9)
    require((then <= now * (1.0 + 2e-9)) & (10.0 * now <= 11.0 * then), "past weights")
    for k, packed in enumerate(arrays["packed"]):
        scatter = np.zeros((width, width))
        scatter[lower] = scatter.T[lower] = packed * arrays["decay"][k]
        size = arrays["scatter"][k]
        check_close("packed", np.diag(scatter), arrays["squares"][k] * factor[k], size)
        basis, eig = arrays["basis"][k], arrays["eig"][k]
        rest = scatter - (basis.T * (arrays["w_ref"][k] * eig)) @ basis
        require(np.linalg.eigvalsh(rest)[0] >= -1e-6 * size, "a positive scatter")


def check_chain(arrays: Arrays) -> None:
    """Raise ValueError unless moves, durations and the place in them are sound."""
    moves, n = arrays["moves"], len(arrays["ids"])
    require(np.diag(moves) == 0, "no moves from a state to itself")
    require(moves.sum(axis=1) == arrays["left"], "moves that were counted")
    newest, n_kept = arrays["kept"], arrays["n_kept"]
    stored = np.arange(newest.shape[1]) < n_kept[:, None]
    require(
        np.where(stored[:, :, None], newest >= 1, newest == 0), "durations of a row"
    )
    require((np.diff(newest[:, :, 0]) >= 0) | ~stored[:, 1:], "durations in order")
    count, mean, m2 = arrays["base"].T
    long = np.where(stored, newest[:, :, 1], 0).astype(np.float64)
    total = count + n_kept
    whole = np.where(total > 0.0, (count * mean + long.sum(axis=1)), 0.0)
    whole /= np.maximum(total, 1.0)
    off = np.where(stored, long - whole[:, None], 0.0)
    spread = m2 + count * (mean - whole) ** 2 + (off**2).sum(axis=1)
    require(count == np.floor(count), "numbers of durations")
    check_close("tally", arrays["tally"], np.column_stack([total, whole, spread]))
    state, dwell, last, before, before_dwell = arrays["place"].tolist()
    require(max(state, last, before) < n, "places of states")
    require((dwell > 0) == (state >= 0) and before_dwell >= (before >= 0),
           "rows in a state")  # fmt: skip
    belief = arrays["belief"]
    require(not belief.size or abs(belief.sum() - 1.0) < 1e-6, "probabilities")
