"""State of random trees <-> header and arrays of a file, checked before use.

As for dynamic trees, whatever leads to memory is checked here: children, parents,
columns, rows and labels.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from dyntree import params
from dyntree._core.rng import CounterSource
from dyntree._core.trees.forest import CUT, KNOT, Forest
from dyntree.encoding.feature_map import FeatureMap
from dyntree.errors import CheckpointError, Message
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.files import take_weights
from dyntree.trees.forest_options import ForestOptions
from dyntree.trees.state import TreeState

FIELDS = {name: KNOT[name] for name in KNOT.names or () if name != "cut"}
FIELDS |= {name: CUT[name] for name in CUT.names or ()}
GIVEN_UP = -2


def demand(holds: Any, fault: str) -> None:
    """Raise CheckpointError unless something holds."""
    if not holds:
        raise CheckpointError(
            Message("the file does not hold a model: {fault}.", fault=fault)
        )


def forest_arrays(state: TreeState, is_frozen: bool) -> tuple[Header, Arrays]:
    """State of random trees -> its header and its arrays."""
    header: Header = {
        "kind": "RandomTreesStream",
        "options": asdict(state.options),
        "is_frozen": is_frozen,
        **state.header(),
        "forest": None,
    }
    arrays = {"waiting_X": state.waiting_X.copy()}
    if state.cloud is not None:
        header["forest"], own = state.cloud.to_arrays()
        arrays |= own
    return header, arrays


def forest_state(header: Header, arrays: Arrays) -> tuple[TreeState, bool]:
    """Header and arrays, as from `forest_arrays` -> a state and whether it is frozen.

    What describes no model is a CheckpointError, LookupError, TypeError or ValueError.
    """
    options: Any = ForestOptions(**header["options"])
    seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
    state = TreeState(options, seed)
    if header["features"] is not None:
        state.features = FeatureMap.from_header(header["features"])
    take_weights(state, header, header["forest"] is not None)
    waiting = arrays["waiting_X"]
    demand(waiting.dtype == np.float64 and waiting.ndim == 2, "no rows can wait so")
    if header["forest"] is None:
        demand(arrays.keys() == {"waiting_X"}, "it has arrays without a use")
        demand(len(waiting) == len(header["waiting_y"]), "rows wait without responses")
        state.waiting_X, state.waiting_y = waiting.copy(), list(header["waiting_y"])
    else:
        demand(state.features is not None and not waiting.size, "columns are missing")
        assert state.features is not None
        own = {name: array for name, array in arrays.items() if name != "waiting_X"}
        check_forest(header["forest"], own, options, state.features.n_features)
        source = CounterSource.from_state(own["random_state"])
        state.cloud = Forest.from_arrays(header["forest"], own, source)
    return state, params.flag("is_frozen", header["is_frozen"])


def check_forest(
    header: dict[str, Any], arrays: Arrays, options: ForestOptions, width: int
) -> None:
    """Raise an error unless header and arrays describe a forest of these options."""
    kind = header["weighting"]
    meant = kind in (None, options.meaning_of_weights)
    demand(meant, "its weights mean something else")
    wanted = options.for_core(width) | {"weighting": kind}
    demand({name: header[name] for name in wanted} == wanted, "options differ")
    demand((options.classes is not None) == (options.model == "class"), "labels lack")
    n_seen = params.count("n_seen", header["n_seen"], 0, 1 << 62)
    mean, spread = header["scale"]
    demand(np.isfinite([mean, spread]).all() and spread >= 0.0, "a scale is odd")
    demand(np.isfinite(header["log_evidence"]), "its evidence is odd")
    n_trees, n = wanted["n_trees"], int(arrays["n_knots"].sum())
    held = len(arrays["y"])  # fewer than there were after remove_data
    demand(held <= min(n_seen, wanted["n_held"]), "too many rows are held")
    shapes: dict[str, Any] = {name: ((n,), kind) for name, kind in FIELDS.items()}
    unit = params.positive("weight_unit", header["weight_unit"])
    demand(unit == 1.0 or kind == "variance", "its weights have an odd unit")
    n_sums = wanted["n_classes"] or 2 + (kind == "variance")
    shapes |= {
        "sums": ((n, n_sums), np.float64), "n_knots": ((n_trees,), np.int64),
        "n_spare": ((n_trees,), np.int64),
        "spare": ((int(arrays["n_spare"].sum()),), np.int32),
        "before": ((n_trees, held), np.int64), "X": ((held, width), np.float64),
        "y": ((held,), np.float64),
        "random_state": (arrays["random_state"].shape, np.uint64),
    }  # fmt: skip
    if kind is not None:
        shapes["weights"] = (held,), np.float64
    demand({*arrays} == {*shapes, "reference"}, "arrays are missing, or too many")
    for name, (shape, kind) in shapes.items():
        fits = arrays[name].shape == shape and arrays[name].dtype == kind
        demand(fits, f"{name} has another shape or type")
    known = arrays["reference"]
    demand(known.dtype == np.float64 and known.ndim == 2, "references are odd")
    demand(known.shape[0] <= width and known.shape[1] == 256, "references are odd")
    sums, total = arrays["sums"], arrays["total"]
    demand(np.isfinite(sums).all() and (sums[:, -1] >= 0.0).all(), "sums are odd")
    if wanted["n_classes"]:
        counted = (sums >= 0.0).all() and np.allclose(sums.sum(axis=1), total)
        demand(counted, "labels are miscounted")
    for name in ("at", "odds", "total", "weight", "weight_2"):
        demand(np.isfinite(arrays[name]).all(), f"{name} is odd")
    check_rows(arrays, wanted, n_seen)
    ends = np.cumsum(arrays["n_knots"])
    spare_ends = np.cumsum(arrays["n_spare"])
    for k, (end, spare_end) in enumerate(zip(ends, spare_ends, strict=True)):
        part = slice(end - arrays["n_knots"][k], end)
        spare = arrays["spare"][spare_end - arrays["n_spare"][k] : spare_end]
        check_tree({name: arrays[name][part] for name in FIELDS}, spare, wanted, n_seen)


def check_rows(arrays: Arrays, wanted: dict[str, Any], n_seen: int) -> None:
    """Rows held have labels or responses, and lead to rows before them."""
    y, before = arrays["y"], arrays["before"]
    n_classes = wanted["n_classes"]
    if n_classes:
        codes = (y >= 0) & (y < n_classes) & (y == np.floor(y))
        demand(codes.all(), "a row has no label")
    demand(np.isfinite(y).all(), "a response is odd")
    weights = arrays.get("weights", np.ones(len(y)))
    demand((np.isfinite(weights) & (weights > 0.0)).all(), "a weight is odd")
    rows = np.arange(n_seen - len(y), n_seen)
    demand(((before >= -1) & (before < rows)).all(), "rows lead nowhere")


def check_tree(tree: Arrays, spare: Any, wanted: dict[str, Any], n_seen: int) -> None:
    """Nodes form one tree, beside pairs that were given up."""
    n, left, parent = len(tree["left"]), tree["left"], tree["parent"]
    demand(1 <= n <= wanted["most_nodes"], "a tree has too many nodes")
    for name in ("feature", "feature_2"):
        low = 0 if name == "feature" else -1
        inside = (tree[name] >= low) & (tree[name] < wanted["n_features"])
        demand(inside[left >= 0].all(), "a cut uses no column")
    split = np.flatnonzero(left >= 0)
    children = np.concatenate([left[split], left[split] + 1])
    leads = (left[split] % 2 == 1).all() and (children < n).all()
    demand(leads, "a tree leads nowhere")
    demand(len(np.unique(children)) == len(children), "a node has two parents")
    gone = np.concatenate([spare, spare + 1])
    demand(((spare % 2 == 1) & (spare > 0)).all() and (gone < n).all(), "pairs are odd")
    met = np.sort(np.concatenate([[0], children, gone]))
    demand(np.array_equal(met, np.arange(n)), "a node belongs to no tree")
    demand((parent[gone] == GIVEN_UP).all(), "a pair is not given up")
    demand(parent[0] == -1, "a tree has no root")
    depth = tree["depth"]
    demand(np.array_equal(parent[children], np.tile(split, 2)), "parents are odd")
    demand(depth[0] == 0 and (depth[children] == depth[np.tile(split, 2)] + 1).all(),
           "depths are odd")  # fmt: skip
    demand((depth <= wanted["most_depth"]).all(), "a tree is too deep")
    head = tree["head"]
    demand(((head >= -1) & (head < n_seen)).all(), "a leaf holds no row")
    demand(((tree["last"] >= 0) & (tree["last"] <= n_seen)).all(), "a row came late")
    demand((tree["total"] >= 0.0).all() and (tree["held"] >= 0).all(), "counts are odd")
