"""State of a tree <-> header and arrays of a file, checked before they are believed.

The core trusts its trees: a child's handle, a row's place or a column's number leads
straight to memory. Arrays that come from outside are therefore checked here first, so
that a file changed by chance or on purpose makes an error and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.rng import CounterSource, RSource
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.gaussian_leaves import FACTOR, SCALE, SHAPE
from dyntree._core.trees.particles import FIRST_LOOK
from dyntree.checkpoint.layout import (
    Layout,
    check_arrays,
    check_close,
    ints,
    places,
    reals,
    require,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.targets import (
    MOST_EVENTS,
    count_response,
    label_list,
    real_response,
)
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.params import NIG, StreamOptions, TreeOptions
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.learning.exposures import apart, check_exposure, read_back
from dyntree.trees.learning.level_effects import LevelEffects
from dyntree.trees.learning.scaling import REACH
from dyntree.trees.learning.warmup import cloud_options
from dyntree.trees.linear_options import LinearOptions
from dyntree.trees.state import TreeState

Ints = NDArray[np.int64]

MAX_DEPTH = 10_000  # of a leaf: the core's recursions go that deep
MAX_COLUMNS = 1 << 20
MAX_COUNT = 1 << 62
BLOCK = 1 << 13  # leaf rows looked at together
ARRAYS = {
    "X": reals("n", "p", low=-LARGEST, high=LARGEST, gaps=True),
    "y": reals("n", low=-LARGEST, high=LARGEST),
    "row_ids": ints("n", low=0, below="n_seen"),
    "roots": places(None),
    "split_variable": places("splits", low=0, below="p"),
    "split_value": Layout("f8", ("splits",), low=-np.inf, high=np.inf),
    "split_links": places("splits", 5),
    "leaf_shape": places("leaves", 3),
    "leaf_sums": Layout("f8", ("leaves", "sums"), low=-np.inf, high=np.inf, gaps=True),
    "leaf_rows": places(None, low=0, below="n"),
    "leaf_credit": reals(None),
    "leaf_outside": places("leaves", low=0),
    "weights": reals("n", above=0.0),
    "exposures": reals("n", above=0.0),
    "xi": reals("n", low=0.0, high=LARGEST),
    "spans": reals("p", 4, low=-LARGEST, high=LARGEST, gaps=True),
}
GROWING = {  # arrays of trees that are still growing
    "fresh_roots": places("n_particles", needed=False),
    "waiting": places(None, low=0, below="n", needed=False),
}
POSITIVE = ("b0", "relaxed", "y_spread", "y_unit", "spreads", "n_told",
            "mean_weight", "weight_unit", "rate", "shape", "exposure_unit",
            "tau")  # fmt: skip
EFFECT_ARRAYS = "level_", "residual_"  # how names of those of effects begin
ROUNDING = 1e-9  # of weights that were added and taken away
ROUNDED = 1e-6  # of a sum: what a hundred roundings leave, in the unit of 1e-8
FAR_EVENTS = 1e12  # in a row that is gone


def tree_arrays(state: TreeState) -> tuple[Header, Arrays]:
    """State of a tree -> its header and its arrays."""
    header: Header = {
        "kind": "DynamicTree",
        "options": asdict(state.options),
        **state.header(),
        "cloud": None,
    }
    arrays = row_arrays(state)
    if state.cloud is not None:
        header["cloud"], cloud_arrays = state.cloud.to_arrays()
        arrays |= cloud_arrays
    return header, arrays


def row_arrays(state: TreeState) -> Arrays:
    """Arrays of a state beside those of its trees: waiting rows, pieces, effects."""
    arrays: Arrays = {"waiting_X": state.waiting_X.copy()}
    if state.pieces is not None:
        arrays["pieces"] = state.pieces.copy()
    features = state.features
    if state.effects is not None and features is not None and features.effect_groups:
        state.effects.settle(state.n_pieces)
        arrays |= state.effects.arrays()
    return arrays


def tree_state(header: Header, arrays: Arrays) -> TreeState:
    """Header and arrays, as from `tree_arrays` -> the state of a tree, checked.

    Lists may stand for tuples. What describes no tree is a CheckpointError,
    LookupError, TypeError or ValueError.
    """
    options = dict(header["options"])
    if isinstance(options["prior"], dict):
        options["prior"] = NIG(options["prior"]["b0"])
    seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
    state = TreeState(TreeOptions(**options), seed)
    if header["features"] is not None:
        state.features = FeatureMap.from_header(header["features"])
    arrays, pieces = without_pieces(arrays)
    arrays, effects = without_effects(arrays)
    _check_tree(state, header, arrays)
    state.waiting_X = arrays["waiting_X"].copy()
    state.waiting_y = read_back(state.options, header["waiting_y"])
    if header["cloud"] is not None:
        kind = RSource if state.options.rules == "r" else CounterSource
        source = kind.from_state(arrays["random_state"])
        keyed = kind is RSource or arrays["random_state"][0] == seed
        require(keyed, "its random numbers are of another seed")
        state.cloud = Cloud.from_arrays(header["cloud"], arrays, source)
        check_computed(state.cloud, header["cloud"], arrays)
    take_pieces(state, pieces)
    take_effects(state, effects)
    return state


def stream_arrays(
    state: TreeState, options: StreamOptions, is_frozen: bool
) -> tuple[Header, Arrays]:
    """State of a tree in a window, and the window -> header and arrays."""
    tree, arrays = tree_arrays(state)
    header = {
        "kind": "StreamingTree",
        "options": asdict(options),
        "is_frozen": is_frozen,
        "tree": tree,
    }
    return header, arrays


def stream_state(
    header: Header, arrays: Arrays
) -> tuple[TreeState, StreamOptions, bool]:
    """Header and arrays -> the state of a tree, its window, and whether it is frozen.

    Errors are those of `tree_state`.
    """
    state = tree_state(header["tree"], arrays)
    options = StreamOptions(**header["options"]).for_model(state.options)
    options.check_model(state.options)
    return state, options, params.flag("is_frozen", header["is_frozen"])


def _check_tree(state: TreeState, header: Header, arrays: Arrays) -> None:
    """Raise an error unless header and arrays fit the options and the columns."""
    options, features = state.options, state.features
    waiting = arrays["waiting_X"]
    fits = waiting.dtype == np.float64 and waiting.ndim == 2
    require(fits and isinstance(header["waiting_y"], list), "no rows can wait so")
    take_weights(state, header, header["cloud"] is not None)
    if header["cloud"] is None:
        require(arrays.keys() == {"waiting_X"}, "it has arrays without a use")
        check_waiting(state, waiting, read_back(state.options, header["waiting_y"]))
    else:
        require(features is not None and not waiting.size, "its rows began no trees")
        assert features is not None
        grows = options.new_levels == "grow"
        require(grows or not features.unknown, "columns are unknown")
        params.count("n_features", features.n_features, 1, MAX_COLUMNS)
        complete = options.with_width(features.n_features)
        require(complete == options, "options are missing")
        known = (options.classes is not None) == options.has_labels
        require(known and not header["waiting_y"], "labels are missing")
        cloud = {name: arrays[name] for name in arrays if name != "waiting_X"}
        wanted = cloud_options(options, features.n_features)
        if header["cloud"]["weighting"] is not None:
            require(options.rules == "native", "R's rules know no weights")
            wanted["weighting"] = options.meaning_of_weights
        check_cloud(header["cloud"], cloud, wanted)
    if features is not None:
        native = options.rules == "native"
        require(features.allow_missing == native, "its columns follow other rules")


def without_pieces(arrays: Arrays) -> tuple[Arrays, Ints | None]:
    """Arrays without the numbers of pieces, and these."""
    rest = dict(arrays)
    return rest, rest.pop("pieces", None)


def without_effects(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Arrays without those of effects of levels, and these."""
    effects = {k: v for k, v in arrays.items() if k.startswith(EFFECT_ARRAYS)}
    return {k: v for k, v in arrays.items() if k not in effects}, effects


def take_effects(state: TreeState, arrays: Arrays) -> None:
    """Set the effects of levels that a state knows; an error unless they fit it."""
    has_groups = state.features is not None and bool(state.features.effect_groups)
    has_effects = has_groups and state.cloud is not None
    require(has_effects == bool(arrays), "effects of levels do not fit the columns")
    if has_effects:
        assert state.features is not None
        state.effects = LevelEffects.from_arrays(
            state.options.model, state.options.robust, arrays, state.features
        )


def take_pieces(state: TreeState, pieces: Ints | None) -> None:
    """Number the pieces that a state has learned; an error unless they are of rows."""
    if pieces is None:
        return
    check_arrays({"pieces": pieces}, {"pieces": ints("pieces", low=0)})
    require(0 < len(pieces) <= state.n_pieces, "it has numbers of other pieces")
    rows = np.unique(pieces)
    require(rows == np.arange(len(rows)), "pieces are of no rows")
    state.number(pieces.copy())


def take_weights(state: TreeState, header: Header, has_trees: bool) -> None:
    """Set the weights of waiting rows from a header; an error unless they are valid."""
    stored = header["waiting_weights"]
    if stored is not None:
        require(state.options.rules == "native", "R's rules know no weights")
        weights = [params.positive("a weight", w) for w in stored]
        same = len(weights) == len(header["waiting_y"]) and not has_trees
        require(same, "other rows have weights")
        state.waiting_weights = np.array(weights, dtype=np.float64)


def check_waiting(state: TreeState, rows: Any, responses: list[Any]) -> None:
    """Raise an error unless these rows can wait until there are trees."""
    if not rows.size and not responses:
        return  # columns may be fixed before the first row
    require(state.features is not None, "rows wait without columns")
    assert state.features is not None
    state.features.check_codes(rows)
    check_responses(state, responses, len(rows))


def check_responses(state: TreeState, responses: list[Any], n_rows: int) -> None:
    """Raise an error unless these are responses of so many rows."""
    if state.options.has_labels:
        label_list(responses, n_rows)
    elif state.options.is_count:
        counts, exposure = apart(responses)
        count_response(counts, n_rows)
        check_exposure(exposure, n_rows)
    else:
        real_response(responses, n_rows, state.options.rules)


def check_cloud(header: Header, arrays: Arrays, options: dict[str, Any]) -> None:
    """Raise an error unless header and arrays are a sound cloud with these options.

    They are as from ``Cloud.to_arrays``; lists may stand for tuples.
    """
    n_basis = options["n_basis"] if options["model"] in params.SLOPES else 0
    n_leaves, width = arrays["leaf_sums"].shape
    require(n_leaves > 0, "it has no leaves")  # so that the file is as long as this:
    least = max(options["n_classes"], n_basis * (n_basis + 1) // 2)
    require(least <= width, "leaf_sums is too narrow")
    like = _template(options)
    like_header, like_arrays = like.to_arrays()
    require(header.keys() == like_header.keys(), "its cloud has other fields")
    for name, value in options.items():
        require(_listed(header[name]) == _listed(value), f"{name} is {header[name]!r}")
    _check_counts(header, arrays, options)
    _check_prior(header["leaf_model"], like_header["leaf_model"], options)
    random_state = like_arrays.pop("random_state")
    layouts = {name: ARRAYS[name] for name in like_arrays}
    layouts["random_state"] = Layout(random_state.dtype.str, random_state.shape)
    if options["rules"] == "native":
        layouts |= GROWING
    else:  # rows of any size, without gaps
        layouts |= {"X": reals("n", "p"), "y": reals("n")}
    require(("fresh_roots" in arrays) == ("waiting" in arrays), "no tree is growing")
    check_arrays(
        arrays, layouts, p=options["n_features"], n_seen=header["n_seen"],
        n_particles=options["n_particles"], sums=like_arrays["leaf_sums"].shape[1],
    )  # fmt: skip
    require(len(arrays["roots"]) >= options["n_particles"], "it lacks particles")
    _check_rows(header, arrays, options)
    if "spans" in arrays:
        _check_spans(header, arrays)
    forest = Forest(arrays)
    forest.check_places(options["rules"] == "native" or not header["n_retired"])
    forest.check_rows()
    implicit = options["model"] == "linear" and options["intercept"]
    if not (options["rules"] == "r" and implicit):  # whose leaves round their rows
        forest.check_routes()
    _check_splits(header, arrays, options)
    _check_sums(forest, header, arrays, like.row_width)


def check_computed(cloud: Cloud, header: Header, arrays: Arrays) -> None:
    """Raise CheckpointError unless leaf_sums agree with the rows and one another.

    Active sums are those of the rows, and what leaves derive is computed from the sums
    again. Rows that have gone may have been far from the others, and rounding leaves
    something of their products.
    """
    rows, found = cloud.computed_sums()
    stride, is_r = rows.shape[1], header["rules"] == "r"
    sums = arrays["leaf_sums"]
    active, retired, derived = np.split(sums, [stride, 2 * stride], axis=1)
    lazy = np.isnan(derived) & (not is_r)  # made when they are asked for
    lazy[:, [0, *range(4, lazy.shape[1])]] = False
    size = np.abs(sums[:, : 2 * stride]).max(axis=1, keepdims=True)
    size = np.tile(1.0 + 1e-4 * size + np.sqrt(size), found.shape[1])
    largest = np.abs(rows).max(axis=0) + np.abs(retired).max(axis=0)
    drift = np.zeros(stride)
    if header["model"] in ("constant", "linear", "logit", "prior"):
        lazy |= _rounding(header, arrays, derived, found)
        drift = _term_sizes(_largest_squares_retired(largest, header), header)
        largest = _term_sizes(largest, header)
    elif header["model"] in params.COUNTS:  # logarithms, that exposures and events have
        largest += largest.max() + 1.0
        drift[1:3], drift[3:] = FAR_EVENTS, FAR_EVENTS * np.log(FAR_EVENTS)
    if is_r and header["model"] == "linear":  # sums of squares, that cancel most
        size[:, [1, 7]] = 1.0 + 100.0 * np.abs(active[:, 2:3])
    check_close("leaf_sums", np.where(lazy, found, derived), found, size)
    if is_r:  # which drops matrices without an inverse, and tiny squares
        end = stride - (header["n_basis"] if stride > 3 else 0)
        rows[:, 3:end] = active[:, 3:end]
        largest += 1e-7
    if header["n_retired"]:
        largest += ROUNDED * _heaviest(arrays) * drift
    check_close("leaf_sums", active, rows, largest, 1e-8)


def _rounding(
    header: Header, arrays: Arrays, derived: Matrix, found: Matrix
) -> NDArray[np.bool_]:
    """Which derived numbers of Gaussian leaves may differ by rounding alone.

    Under R's rules they are those of perfect fits and singular matrices. Under others,
    the last row of a leaf takes along what rounding had left in its sums, where what
    was derived from them stays. Rounding shows in several numbers at once.
    """
    several = np.sum((derived != found) & ~np.isnan(found), axis=1) > 1
    n_rows, odd = arrays["leaf_shape"][:, 1], np.zeros(found.shape, dtype=bool)
    sums, X = arrays["leaf_sums"], arrays["X"]
    stride = (sums.shape[1] - found.shape[1]) // 2
    if header["rules"] == "r":
        odd[np.abs(found[:, 1]) <= 1e-9 * (sums[:, 2] + sums[:, stride + 2])] = True
        if header["model"] == "linear" and len(X):
            spread = min(float(np.ptp(X, axis=0).max()), 1e150)
            inverse = np.abs(found[:, 8:]).max(axis=1, initial=0.0)
            odd[inverse * n_rows * spread**2 > 1e8] = True
    elif header["n_retired"]:
        of_sums = [0, SCALE, *range(FACTOR, found.shape[1] - stride)]
        odd[np.ix_(n_rows == 0, of_sums)] = True
    odd &= several[:, None]
    return odd


def _n_terms(stride: int) -> int:
    """Level, columns and response of native regressions, by the length of their sums.

    A sum of weights may come before the products.
    """
    return int(np.sqrt(2 * stride + 1) - 0.5)


def _largest_squares_retired(largest: Vector, header: Header) -> Vector:
    """Largest squares that retired rows may have had, at the places of their sums.

    Columns are clipped at a million spreads (`REACH`), of which rounding may add up to
    ten. Responses are not; 1e12 is taken for the most, and ten million times those that
    are left. Under R's rules spreads are of the rows that are left: 1e4, and 1e8.
    """
    if header["rules"] == "r":
        squares: Vector = 1e8 * largest / max(largest[0], 1.0)
        squares[:2] = 1.0, 0.0
        squares[2] *= 1e8
        return squares
    n_terms, far = _n_terms(len(largest)), 1e24
    reach = (10.0 * REACH) ** 2 if header["intercept"] else far  # else not clipped
    squares = np.full(len(largest), reach)
    squares[: len(largest) - n_terms * (n_terms + 1) // 2 + 1] = 1.0
    squares[-1] = max(far, 1e14 * largest[-1])
    return squares


def _heaviest(arrays: Arrays) -> float:
    """Largest weight of a row, at least 1."""
    return float(arrays.get("weights", np.ones(1)).max(initial=1.0))


def _term_sizes(squares: Vector, header: Header) -> Vector:
    """Sizes of what cross products are sums of, by those of the squares.

    A sum of products is no larger than the root of the sums of both squares.
    """
    size = squares.copy()
    if header["rules"] == "r":
        size[1] = np.sqrt(squares[0] * squares[2])
        n_terms, first = header["n_basis"] if len(size) > 3 else 0, 3
    else:
        n_terms = _n_terms(len(size))
        first = len(size) - n_terms * (n_terms + 1) // 2
    ends = first + np.cumsum(np.arange(n_terms) + 1) - 1
    roots = np.sqrt(squares[ends])
    for j, end in enumerate(ends):
        size[end - j : end + 1] = roots[: j + 1] * roots[j]
    if header["rules"] == "r" and n_terms:
        size[ends[-1] + 1 :] = roots * np.sqrt(squares[2])
    return size


def _template(options: dict[str, Any]) -> Cloud:
    """The smallest cloud with these options."""
    source = RSource(0) if options["rules"] == "r" else CounterSource(0)
    cloud = Cloud(source, **{**options, "n_particles": 1})
    cloud.start(np.zeros((1, options["n_features"])), np.zeros(1))
    return cloud


def _listed(value: Any) -> Any:
    """A value with its tuples as lists."""
    if isinstance(value, list | tuple):
        return [_listed(part) for part in value]
    return value


def _check_counts(header: Header, arrays: Arrays, options: dict[str, Any]) -> None:
    """Raise an error unless so many rows and looks there can be."""
    for name in ("n_seen", "n_retired", "n_degenerate", "time", "last_look",
                 "n_outside"):  # fmt: skip
        params.count(name, header[name], 0, MAX_COUNT)
    extra = params.real("extra_told", header["extra_told"])
    require(-header["n_seen"] <= extra <= MAX_COUNT, "extra_told is no frequency")
    n_held = header["n_seen"] - header["n_retired"]
    require(n_held == len(arrays["y"]), f"{n_held} rows should be stored")
    require(isinstance(header["log_evidence"], float), "log_evidence is no number")
    params.flag("fades", header["fades"])
    if options["prior"] is not None and options["prior"]["adaptive"]:
        look = params.real("next_look", header["next_look"])
        require(look >= FIRST_LOOK, f"next_look is {look}")
    else:
        require(header["next_look"] is None, "next_look has no use")


def _check_prior(
    state: dict[str, Any], like: dict[str, Any], options: dict[str, Any]
) -> None:
    """Raise an error unless the prior of the leaves and its scale can be."""
    require(state.keys() == like.keys(), "leaf_model has other fields")
    if "y_open" in like:  # regression: responses, weights may have no unit
        is_open = params.flag("y_open", state["y_open"])
        require(not is_open or state["y_spread"] == 1.0, "y_open is odd")
        units = {state["mean_weight"], state["weight_unit"]}
        require(options["weighting"] == "variance" or units == {1.0}, "a unit is odd")
    for name in like.keys() - {"y_open"}:
        model, value = like[name], state[name]
        if isinstance(model, list):
            require(isinstance(value, list) and len(value) == len(model), name)
        else:
            require(not isinstance(value, list), f"{name} is no number")
        values = [params.real(name, v) for v in np.atleast_1d(value).tolist()]
        if name in POSITIVE:
            require(min(values, default=1.0) > 0.0, f"{name} is {value!r}")
        if name in ("spread", "grain", "widest", "size"):
            require(min(values, default=0.0) >= 0.0, f"{name} is {value!r}")


def _check_rows(header: Header, arrays: Arrays, options: dict[str, Any]) -> None:
    """Raise an error unless the stored rows have responses and distinct numbers."""
    y, ids = arrays["y"], arrays["row_ids"]
    if options["model"] in params.LABELS:
        places = np.arange(options["n_classes"], dtype=np.float64)
        require(np.isin(y, places), "y names labels that there are not")
    if options["model"] in params.COUNTS:
        require((y >= 0.0) & (y <= MOST_EVENTS) & (y == np.floor(y)), "y are no counts")
    require(len(np.unique(ids)) == len(ids), "row_ids are no row numbers")


def _check_spans(header: Header, arrays: Arrays) -> None:
    """Raise an error unless ranges cover the rows, and are theirs if none has gone."""
    low, high, other, gaps = arrays["spans"].T
    X = arrays["X"]
    require(~(low > high), "a span runs backwards")
    require((other == 0.0) | (other == 1.0), "spans are flagged oddly")
    require(np.isnan(low) == np.isnan(high), "a span has one end")
    missing = np.isnan(X)
    counted = gaps >= missing.sum(axis=0) * (1.0 - ROUNDING)  # of late columns: guessed
    require(counted & (gaps <= header["n_seen"]), "gaps are miscounted")
    within = (low <= X) & (high >= X) & ((X == 0.0) | (X == 1.0) | (other == 1.0))
    require(within | missing, "a row is beyond the spans")
    if not header["n_retired"]:
        rounding = ROUNDING * (1.0 + gaps)
        require(np.abs(gaps - missing.sum(axis=0)) <= rounding, "gaps are miscounted")
        ends = [np.where(missing, odd, X) for odd in (np.inf, -np.inf)]
        least, most = ends[0].min(axis=0), ends[1].max(axis=0)
        exact = (low == least) & (high == most)
        exact |= (low == np.minimum(least, 0.0)) & (high == np.maximum(most, 0.0))
        # columns added later may have been 0 in rows that have a gap now
        require(exact | missing.all(axis=0), "spans are wider than the rows")


def _check_splits(header: Header, arrays: Arrays, options: dict[str, Any]) -> None:
    """Raise an error unless splits are on columns that may be split, at numbers."""
    least, most = options["first_split"], options["n_features"] - 1
    columns = header["open_columns"]
    require(isinstance(columns, list), "open_columns is no list")
    columns = [params.count("open_columns", c, least, most) for c in columns]
    require(sorted(set(columns)) == columns, "open_columns are out of order")
    require(np.isin(arrays["split_variable"], columns), "a split is odd")
    value = arrays["split_value"]
    by_gap = (value == np.inf) & (arrays["split_links"][:, 3] == 0)
    require(np.isfinite(value) | (by_gap & (options["rules"] == "native")),
           "split_value is odd")  # fmt: skip


def _check_sums(forest: Forest, header: Header, arrays: Arrays, stride: int) -> None:
    """Raise an error unless leaves weigh their rows, and no divisor is zero.

    The core looks weights up in tables. A row of leaf_sums holds the active sums, the
    retired ones (`stride` doubles each) and what is derived from them.
    """
    sums = arrays["leaf_sums"]
    native = header["rules"] == "native"
    retired = sums[:, stride]
    rounded = 0.0  # of rows that are gone, up to a billion times as heavy
    if header["n_retired"]:
        rounded = ROUNDED * _heaviest(arrays)
    if header["weighting"] == "frequency":
        forest.check_masses(sums[:, 0], rounded)
    else:
        require(sums[:, 0] == forest.n_rows, "leaf_sums does not weigh the rows")
    require(np.isfinite(retired) & (retired >= 0.0), "a retired weight is odd")
    none = (retired[:, None] == 0.0) & (sums[:, stride : 2 * stride] != 0.0)
    require(~none, "retired sums are of no rows")
    if header["model"] == "class":
        forest.check_labels(sums[:, 1:stride], rounded)
        rest = sums[:, stride + 1 : 2 * stride]
        require(np.isfinite(rest) & (rest >= 0.0), "retired labels are odd")
        off = np.abs(rest.sum(axis=1) - retired)
        require(off <= ROUNDING * (1.0 + retired), "retired labels are miscounted")
    elif native:
        derived = sums[:, 2 * stride :]
        require(np.isfinite(sums[:, : 2 * stride]), "leaf_sums is not finite")
        require(np.isfinite(derived[:, SHAPE:]), "a posterior is not finite")
        require(derived[:, [SHAPE, SCALE]] > 0.0, "a posterior is not positive")
        require(derived[:, -stride] >= 0.0, "an inherited weight is negative")


class Forest:
    """The trees of a cloud: splits 0 .. n - 1, then leaves.

    Made from the arrays of ``Cloud.to_arrays``, of the right types and widths. Trees
    that are still growing lack the rows that wait for them.
    """

    def __init__(self, arrays: Arrays) -> None:
        shape, links = arrays["leaf_shape"], arrays["split_links"]
        self.arrays = arrays
        self.n_splits = len(links)
        self.n_rows: Ints = shape[:, 1].astype(np.int64)
        self.depth: Ints = np.concatenate([links[:, 2], shape[:, 0]]).astype(np.int64)
        none = np.empty(0, dtype=np.int32)
        self.roots = self._places(arrays["roots"])
        self.fresh = self._places(arrays.get("fresh_roots", none))
        self.waiting: Ints = arrays.get("waiting", none).astype(np.int64)
        self.below = self._places(links[:, :2])
        self.above = np.full(len(self.depth), -1)  # one parent of each
        self.above[self.below.ravel()] = np.repeat(np.arange(self.n_splits), 2)
        self.is_left = np.zeros(len(self.depth), dtype=bool)
        self.is_left[self.below[:, 0]] = True
        depth = self.depth[: self.n_splits]
        order = np.argsort(depth, kind="stable")
        ends = np.flatnonzero(np.diff(depth[order])) + 1
        self.splits_by_depth: list[Ints] = np.split(order, ends) if len(order) else []

    def _places(self, numbers: NDArray[np.int32]) -> Ints:
        """Places of nodes by number: splits count from 1 up, leaves from -1 down."""
        found: Ints = numbers.astype(np.int64)
        n_leaves = len(self.depth) - self.n_splits
        known = (found != 0) & (found <= self.n_splits) & (found >= -n_leaves)
        require(np.all(known), "a tree leads nowhere")
        return np.where(found > 0, found - 1, self.n_splits - found - 1)

    def check_places(self, has_depths: bool) -> None:
        """Nodes lie below their parents, and in the same place in all trees.

        A place is the splits above and the sides taken. As a node has but one, no tree
        can hold it twice.
        """
        n, depth = self.n_splits, self.depth
        met = np.zeros(len(depth), dtype=bool)
        met[self.roots] = met[self.fresh] = met[self.below] = True
        require(np.all(met), "a node belongs to no tree")
        require(np.all((depth >= 0) & (depth <= MAX_DEPTH)), "a depth is odd")
        require(depth[self.below] > depth[:n, None], "a tree goes in circles")
        if has_depths:  # R's rules leave them as they are when a split above goes
            require(depth[self.below] == depth[:n, None] + 1, "a depth is odd")
            require(depth[np.append(self.roots, self.fresh)] == 0, "a root is deep")
        side, last = self.arrays["split_links"][:, 3], 0
        parts = self.arrays["split_links"][:, 4]
        for flags in (side, parts):
            good = np.all((flags == 0) | (flags == 1))
            require(good, "missing values go astray")
        variable = self.arrays["split_variable"].astype(np.int64)
        value = self.arrays["split_value"].view(np.int64)
        place = np.full(len(depth), -1)
        place[self.roots] = place[self.fresh] = 0
        for level in self.splits_by_depth:
            parents, children = np.repeat(level, 2), self.below[level].ravel()
            way = np.column_stack(
                [place[parents], variable[parents], value[parents], side[parents],
                 np.tile([0, 1], len(level))]
            )  # fmt: skip
            found = np.unique(way, axis=0, return_inverse=True)[1].reshape(-1) + last
            found += 1
            known = place[children]
            require(np.all((known < 0) | (known == found)), "trees share what differs")
            place[children] = found
            require(np.all(place[children] == found), "trees share what differs")
            last = int(found.max())
        known, growing = self._reached(self.roots), self._reached(self.fresh)
        require(not np.any(known & growing), "growing trees share with others")

    def _reached(self, roots: Ints) -> NDArray[np.bool_]:
        """Whether each node belongs to a tree with one of these roots."""
        reached = np.zeros(len(self.depth), dtype=bool)
        reached[roots] = True
        for level in self.splits_by_depth:
            reached[self.below[level[reached[level]]]] = True
        return reached

    def check_rows(self) -> None:
        """Every tree holds every row once, if it does not wait for a growing one."""
        rows, n_held = self.arrays["leaf_rows"], len(self.arrays["y"])
        require(np.all(self.n_rows >= 0), "a leaf has a negative number of rows")
        require(np.all(self.n_rows <= n_held), "a leaf has too many rows")
        require(self.n_rows.sum() == len(rows), "leaf_rows has another length")
        require(np.all((rows >= 0) & (rows < n_held)), "a leaf lists rows not stored")
        late, waits = self.waiting, np.zeros(n_held, dtype=bool)
        require(np.all((late >= 0) & (late < n_held)), "rows wait that are not stored")
        waits[late] = True
        require(np.sum(waits) == len(late), "a row waits twice")
        growing = self._reached(self.fresh)
        for _, _, row, leaf in self._leaf_rows():
            seats = leaf * n_held + row
            seats.sort()
            require(np.all(np.diff(seats) > 0), "a leaf holds a row twice")
            early = growing[self.n_splits + leaf] & waits[row]
            require(not np.any(early), "a tree holds a row that waits for it")
        total = np.concatenate([np.zeros(self.n_splits, dtype=np.int64), self.n_rows])
        for level in reversed(self.splits_by_depth):
            total[level] = total[self.below[level]].sum(axis=1)
        require(np.all(total[self.roots] == n_held), "a tree lacks rows")
        learned = n_held - len(late)
        require(np.all(total[self.fresh] == learned), "a growing tree lacks rows")
        credited = self.arrays["leaf_shape"][:, 2]
        may_have = (credited == 0) | ((credited == 1) & (self.n_rows > 0))
        require(np.all(may_have), "leaf_shape is odd")
        n_credits = self.n_rows[credited == 1].sum()
        require(n_credits == len(self.arrays["leaf_credit"]), "leaf_credit is odd")

    def check_routes(self) -> None:
        """Every row reaches the leaf that holds it."""
        X, variable = self.arrays["X"], self.arrays["split_variable"]
        missing_left, parts = self.arrays["split_links"][:, 3:].T == 1
        value = self.arrays["split_value"]
        known = (variable >= 0) & (variable < X.shape[1])
        require(np.all(known), "a split uses no column")
        for _, _, row, leaf in self._leaf_rows():
            node = self.n_splits + leaf
            while len(node):
                up = self.above[node]
                low = up >= 0
                node, row, up = node[low], row[low], up[low]
                x = X[row, variable[up]]
                astray = np.isnan(x) & ~parts[up] & (value[up] < np.inf)
                require(not np.any(astray), "a split denies a gap that it has parted")
                left = (x <= value[up]) | (np.isnan(x) & missing_left[up])
                require(np.array_equal(left, self.is_left[node]), "a row is astray")
                node = up

    def check_masses(self, masses: Vector, rounded: float) -> None:
        """Leaves weigh what their rows do together, shape (n_leaves,)."""
        weights = self.arrays["weights"]
        for first, last, row, leaf in self._leaf_rows():
            found = np.bincount(leaf - first, weights[row], minlength=last - first)
            off = np.abs(masses[first:last] - found)
            good = off <= ROUNDING * (1.0 + found) + rounded
            require(good, "leaf_sums does not weigh the rows")

    def check_labels(self, counts: Matrix, rounded: float) -> None:
        """Leaves count the labels of their rows, shape (n_leaves, n_classes)."""
        n_classes = counts.shape[1]
        codes = self.arrays["y"].astype(np.int64)
        weights = self.arrays.get("weights")
        for first, last, row, leaf in self._leaf_rows():
            places = (leaf - first) * n_classes + codes[row]
            found = np.bincount(
                places,
                None if weights is None else weights[row],
                minlength=(last - first) * n_classes,
            )
            off = np.abs(counts[first:last].ravel() - found)
            least = 0.0 if weights is None else ROUNDING * (1.0 + found) + rounded
            require(off <= least, "labels are miscounted")

    def _leaf_rows(self) -> Iterator[tuple[int, int, Ints, Ints]]:
        """Some whole leaves at a time, first .. last - 1: their rows, and whose."""
        ends = np.concatenate([[0], np.cumsum(self.n_rows)])
        first = 0
        while first < len(self.n_rows):
            last = int(np.searchsorted(ends, ends[first] + BLOCK, "right")) - 1
            last = max(last, first + 1)
            row = self.arrays["leaf_rows"][ends[first] : ends[last]].astype(np.int64)
            leaf = np.repeat(np.arange(first, last), self.n_rows[first:last])
            yield first, last, row, leaf
            first = last


ERRORS_BEHIND = 5.0  # rows at most behind the scale of persistence
AVERAGE = {
    "log_weights": reals("k", high=0.0), "spread": reals(2, low=0.0),
    "persistence": reals(4),
    "coef": reals("m"),
    "covariance": reals("m", "m"), "log_shares": reals("shares", high=0.0),
    "noted_weights": reals("n", "m", low=0.0, high=1.0),
    "noted": ints("n", low=0, high="n_seen"),
}  # fmt: skip


def check_members(states: list[TreeState], model: str) -> None:
    """Raise CheckpointError unless trees, each checked, have learned the same rows.

    `model` names the leaves of the average, of which all members have theirs.
    """
    leaves = params.LEAVES.get(model, (model,))
    known = set()
    for state in states:
        options, features = state.options, state.features
        names = features and (features.feature_names, features.names)
        waits = state.cloud is None
        require(options.model in leaves, "a member has other leaves")
        known.add((options.classes, waits, state.n_seen, names))
    require(len(known) == 1, "its members do not belong together")
    require(states[0].options.model == leaves[0], "its first member has other leaves")


def span_in(header: Header) -> tuple[float, float] | None:
    """The lowest and the highest response of an average, of which it may have none."""
    if header["_span"] is None:
        return None
    low, high = (params.real("span", end) for end in header["_span"])
    require(low <= high, "its span runs backwards")
    return low, high


def check_average(header: Header, arrays: Arrays, states: list[TreeState]) -> None:
    """Raise an error unless the state of an averaged stream fits its members.

    Header and arrays are as from ``AveragedStream.to_arrays``, without those of the
    members, whose states are checked already.
    """
    check_members(states, header["_model"])
    is_open = params.flag("is_open", header["_is_open"])
    require(not is_open or header["_model"] == params.MIXED, "its leaves are open")
    if header["_n_particles"] is not None:
        params.count("n_particles", header["_n_particles"], 1, params.MAX_PARTICLES)
    for state in states:
        params.one_of("rules", state.options.rules, ("native",))
    params.discount_factor("discount", header["discount"])
    params.positive("tempering", header["tempering"])
    params.count("seed", header["seed"], 0, params.MAX_SEED)
    params.flag("is_frozen", header["is_frozen"])
    if not isinstance(header["_follows_width"], bool):
        params.one_of("follows_width", header["_follows_width"], params.MEMBER_SETS)
    params.flag("linear", header["_linear"])
    require(isinstance(header["_log_evidence"], float), "its evidence is no number")
    params.count("note_every", header["_note_every"], 1, MAX_COUNT)
    persists = header["_model"] == params.MIXED
    m, n_seen = len(states), states[0].n_seen
    beside = n_beside(states)
    check_arrays(
        arrays, AVERAGE, m=m, k=m + persists - beside, n_seen=n_seen,
        shares=1 + (beside or 1),
    )  # fmt: skip
    if persists:
        _check_persistence(arrays["persistence"], states[0])
    else:
        require(not arrays["persistence"].any(), "it has errors of persistence")
    for name in ("log_weights", "log_shares"):
        require(arrays[name].max() == 0.0, f"the largest of {name} is not 0")
    shares = arrays["noted_weights"].sum(axis=1)
    low = -1.0 if persists else 1.0 - 1e-6
    require((low < shares) & (shares < 1.0 + 1e-6), "noted_weights do not sum to 1")
    require(np.diff(arrays["noted"]) > 0, "noted rows are out of order")
    covariance = arrays["covariance"]
    size = 1e-9 * np.trace(covariance)
    require(np.abs(covariance - covariance.T) <= size, "covariance is not symmetric")
    positive = np.linalg.eigvalsh(covariance)[0] >= -size
    require(positive, "covariance is not positive")


def n_beside(states: list[TreeState]) -> int:
    """How many members of counts stand beside the average: regressions, at the end."""
    linear = [isinstance(state.options, LinearOptions) for state in states]
    if not states[0].options.is_count:
        return 0
    require(linear == sorted(linear), "its regressions do not come last")
    return sum(linear)


def _check_persistence(persistence: Vector, state: TreeState) -> None:
    """Raise CheckpointError unless the last response and its errors can be so."""
    _, squares, n_rows, unit = persistence
    most = ERRORS_BEHIND * (1.0 - (1.0 - 1.0 / ERRORS_BEHIND) ** state.n_seen)
    require(0.0 <= n_rows <= most + 1e-9, "its last errors are of too many rows")
    require(squares >= 0.0, "its last squared errors are negative")
    known = state.cloud is not None and state.cloud.has_unit
    own = state.cloud.prior_point["y_spread"] if known else 0.0
    require(unit in (0.0, own), "its last errors have another unit")
