"""State of linear filters <-> header and arrays of a file, checked before use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from dyntree import params
from dyntree._core.rng import CounterSource
from dyntree._core.trees.linear_filters import COLUMNS, LinearFilters
from dyntree.checkpoint.layout import Layout, check_arrays, reals, require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST
from dyntree.params import N_SCALE
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.files import take_weights
from dyntree.trees.linear_options import LinearOptions
from dyntree.trees.state import TreeState

ROUNDING = 1e-6  # of a covariance and of what it is multiplied by
ARRAYS = {
    "place": reals("p", gaps=True), "unit": reals("p", low=0.0),
    "column_mean": reals("p"), "square": reals("p", low=0.0),
    "n_values": reals("p", low=0.0),
    "n_gaps": reals("p", low=0.0, high="n_seen"), "log_weights": reals("k", high=0.0),
    "prior": reals("k", "d", above=0.0), "covariance": reals("k", "m", "d", "d"),
    "mean": reals("k", "m", "d"), "moment": reals("k", "m", "d"),
    "first_X": reals("n", "p", low=-LARGEST, high=LARGEST, gaps=True),
    "first_y": reals("n", low=0.0, below="n_classes"),
    "first_w": reals("n", above=0.0), "random_state": Layout("u8", (2,)),
}  # fmt: skip


def linear_arrays(state: TreeState, is_frozen: bool) -> tuple[Header, Arrays]:
    """State of linear filters -> its header and its arrays."""
    header: Header = {
        "kind": "LinearStream",
        "options": asdict(state.options),
        "is_frozen": is_frozen,
        **state.header(),
        "filters": None,
    }
    arrays = {"waiting_X": state.waiting_X.copy()}
    if state.cloud is not None:
        header["filters"], own = state.cloud.to_arrays()
        arrays |= own
    return header, arrays


def linear_state(header: Header, arrays: Arrays) -> tuple[TreeState, bool]:
    """Header and arrays, as from `linear_arrays` -> a state and whether it is frozen.

    What describes no model is a CheckpointError, LookupError, TypeError or ValueError.
    """
    options: Any = LinearOptions(**header["options"])
    seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
    state = TreeState(options, seed)
    if header["features"] is not None:
        state.features = FeatureMap.from_header(header["features"])
    take_weights(state, header, header["filters"] is not None)
    own = dict(arrays)
    waiting = own.pop("waiting_X")
    require(not waiting.size and not header["waiting_y"], "no rows can wait so")
    if header["filters"] is None:
        require(not own, "it has arrays without a use")
    else:
        require(state.features is not None, "columns are missing")
        assert state.features is not None
        check_filters(header["filters"], own, options, state.features.n_features, seed)
        source = CounterSource.from_state(own["random_state"])
        state.cloud = LinearFilters.from_arrays(header["filters"], own, source)
    return state, params.flag("is_frozen", header["is_frozen"])


def check_filters(
    header: Header, arrays: Arrays, options: LinearOptions, width: int, seed: int
) -> None:
    """Raise an error unless header and arrays describe filters of these options."""
    kind = header["weighting"]
    require(
        kind in (None, options.meaning_of_weights), "its weights mean something else"
    )
    wanted = options.for_core(width) | {"spreads": list(options.spreads)}
    require({name: header[name] for name in wanted} == wanted, "options differ")
    require(options.classes is not None, "labels lack")
    n_seen = params.count("n_seen", header["n_seen"], 0, 1 << 62)
    require(isinstance(header["log_evidence"], float), "its evidence is no number")
    has_units = params.flag("has_units", header["has_units"])
    n_classes = wanted["n_classes"]
    check_arrays(
        arrays, ARRAYS, p=width, d=width + 1, k=len(options.spreads),
        m=1 + (n_classes if n_classes > 2 else n_classes - 1), n_classes=n_classes,
        n_seen=n_seen,
    )  # fmt: skip
    require(arrays["random_state"][0] == seed, "its random numbers are of another seed")
    require(arrays["log_weights"].max() == 0.0, "the largest of log_weights is not 0")
    n_first = len(arrays["first_y"])
    fits = n_first == 0 if has_units else n_first < N_SCALE and n_first <= n_seen
    require(fits, "too many rows are stored")
    y = arrays["first_y"]
    require(y == np.floor(y), "a row has no label")
    check_columns(arrays, has_units)
    check_coefficients(arrays, options)


def check_columns(arrays: Arrays, has_units: bool) -> None:
    """Columns have a unit only with a place, and values that are counted."""
    place, unit, mean, square, n, _ = (arrays[name] for name in COLUMNS)
    require(has_units or (np.isnan(place) & (unit == 0.0)), "units come too early")
    require((unit == 0.0) | ~np.isnan(place), "a unit has no place")
    require((unit > 0.0) | ((mean == 0.0) & (square == 0.0)), "a column has no unit")
    require((n > 0.0) == ~np.isnan(place), "values of a column are miscounted")


def check_coefficients(arrays: Arrays, options: LinearOptions) -> None:
    """Covariances are positive, below their priors', and lead from moments to means."""
    covariance, prior = arrays["covariance"], arrays["prior"]
    require(
        covariance == np.swapaxes(covariance, -1, -2), "covariance is not symmetric"
    )
    size = 1.0 / np.sqrt(prior)[:, None, :]  # prior standard deviations
    unit = covariance / (size[..., :, None] * size[..., None, :])
    values = np.linalg.eigvalsh(unit)
    require(values > -ROUNDING, "covariance is not positive")
    require(np.einsum("kmii->kmi", covariance) > 0.0, "a variance is not positive")
    require(values < 1.0 + ROUNDING, "covariance is above its prior")
    mean = np.einsum("kmij,kmj->kmi", covariance, arrays["moment"])
    moment = np.abs(arrays["moment"])  # what heavy rows add cancels
    size = np.einsum("kmij,kmj->kmi", np.abs(covariance), moment)
    off = np.abs(arrays["mean"] - mean)
    require(off <= 1e-3 * (size + np.sqrt(np.einsum("kmii->kmi", covariance))),
            "means are not of moments")  # fmt: skip
    spreads = np.array(options.spreads)[:, None]
    ratio = (prior[:, 1:] * spreads**2) / (prior[:1, 1:] * spreads[:1] ** 2)
    unitless = arrays["unit"] == 0.0
    alike = np.abs(np.log(ratio)) < np.log(2.0)  # they are renewed one by one
    require(alike | unitless, "priors of spreads differ")
