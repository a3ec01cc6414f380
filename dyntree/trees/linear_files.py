"""State of linear filters <-> header and arrays of a file, checked before use."""

from __future__ import annotations

import numpy as np

from dyntree import params
from dyntree._core.rng import CounterSource
from dyntree._core.trees.linear_filters import COLUMNS, LinearFilters
from dyntree.checkpoint.layout import Layout, check_arrays, reals, require
from dyntree.encoding.values import LARGEST
from dyntree.params import N_SCALE
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.linear_options import LinearOptions

ROUNDING = 1e-6  # of a covariance and of what it is multiplied by
ARRAYS = {
    "place": reals("p", gaps=True), "unit": reals("p", low=0.0),
    "column_mean": reals("p"), "square": reals("p", low=0.0),
    "n_values": reals("p", low=0.0),
    "n_gaps": reals("p", low=0.0, high="n_seen"), "low": reals("p", gaps=True),
    "high": reals("p", gaps=True), "is_many": reals("p", low=0.0, high=1.0),
    "log_weights": reals("k", high=0.0),
    "prior": reals("k", "d", above=0.0), "covariance": reals("k", "m", "d", "d"),
    "mean": reals("k", "m", "d"), "moment": reals("k", "m", "d"),
    "first_X": reals("n", "p", low=-LARGEST, high=LARGEST, gaps=True),
    "first_y": reals("n", low=0.0, below="n_responses"),
    "first_w": reals("n", above=0.0), "first_e": reals("n", above=0.0),
    "random_state": Layout("u8", (2,)),
}  # fmt: skip


def filters_in(
    header: Header, arrays: Arrays, options: LinearOptions, width: int, seed: int
) -> LinearFilters:
    """The filters that header and arrays of a file describe, checked."""
    check_filters(header, arrays, options, width, seed)
    source = CounterSource.from_state(arrays["random_state"])
    return LinearFilters.from_arrays(header, arrays, source)


def check_filters(
    header: Header, arrays: Arrays, options: LinearOptions, width: int, seed: int
) -> None:
    """Raise an error unless header and arrays describe filters of these options."""
    kind = header["weighting"]
    require(
        kind in (None, options.meaning_of_weights), "its weights mean something else"
    )
    wanted = options.for_core(width)
    wanted |= {name: list(wanted[name]) for name in ("spreads", "sizes")}
    require({name: header[name] for name in wanted} == wanted, "options differ")
    require(options.is_count or options.classes is not None, "labels lack")
    n_seen = params.count("n_seen", header["n_seen"], 0, 1 << 62)
    require(isinstance(header["log_evidence"], float), "its evidence is no number")
    has_units = params.flag("has_units", header["has_units"])
    n_classes = wanted["n_classes"]
    m = 1 + (n_classes if n_classes > 2 else n_classes - 1)
    check_arrays(
        arrays, ARRAYS, p=width, d=width + 1, n_seen=n_seen,
        k=len(options.spreads) * max(1, len(options.sizes)),
        m=1 if options.is_count else m,
        n_responses=np.inf if options.is_count else n_classes,
    )  # fmt: skip
    check_rates(header, options)
    require(arrays["random_state"][0] == seed, "its random numbers are of another seed")
    require(arrays["log_weights"].max() == 0.0, "the largest of log_weights is not 0")
    n_first = len(arrays["first_y"])
    fits = n_first == 0 if has_units else n_first < N_SCALE and n_first <= n_seen
    require(fits, "too many rows are stored")
    y = arrays["first_y"]
    require(y == np.floor(y), "a row has no label")
    check_columns(arrays, has_units, n_seen)
    check_coefficients(arrays, options)


def check_rates(header: Header, options: LinearOptions) -> None:
    """Rates and exposures are positive numbers; of labels they are 1."""
    rate, unit = (params.positive(n, header[n]) for n in ("rate", "exposure_unit"))
    require(options.is_count or rate == unit == 1.0, "labels have a rate")
    is_known = np.isfinite(header["most"]) == options.is_count
    require(is_known, "its highest rate is odd")


def check_columns(arrays: Arrays, has_units: bool, n_seen: int) -> None:
    """Columns have a unit only with a place, and values that are counted."""
    place, unit, mean, square, n, gaps, low, high, many = (
        arrays[name] for name in COLUMNS
    )
    require(np.isnan(low) == np.isnan(high), "a column has one end")
    require(np.isnan(low) | (low <= high), "values of a column run backwards")
    has_ends = ~np.isnan(low)
    require((many == 0.0) | ((many == 1.0) & ~has_ends), "values are miscounted")
    require((has_ends | (many == 1.0)) == (gaps < n_seen), "gaps are miscounted")
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
    n_sizes = max(1, len(options.sizes))
    spreads = np.repeat(options.spreads, n_sizes)[:, None]
    ratio = (prior[:, 1:] * spreads**2) / (prior[:1, 1:] * spreads[:1] ** 2)
    unitless = arrays["unit"] == 0.0
    alike = np.abs(np.log(ratio)) < np.log(2.0)  # they are renewed one by one
    require(alike | unitless, "priors of spreads differ")
