"""Candidate rows -> how much a response there promises; columns -> what they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.rng import CounterSource, RandomSource
from dyntree._core.student_mixture import moments
from dyntree._core.trees import criteria, query
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import TreeOptions
from dyntree.summaries.counts import RateLaws
from dyntree.trees.answers.predictions import laws_of, mixture_of
from dyntree.trees.learning.exposures import (
    refuse_exposure,
)
from dyntree.trees.learning.weights import response_weights
from dyntree.trees.state import TreeState

Bounds = Sequence[Sequence[float]] | Matrix
Region = tuple[Vector, Vector, NDArray[np.bool_]]


def region(
    cloud: Any,
    ones: int,
    candidates: Matrix | None = None,
    bounds: Bounds | None = None,
    categorical: Sequence[bool] | None = None,
    active: bool = False,
) -> Region:
    """Lower and upper bounds and 0/1 flags of every stored column.

    Parameters
    ----------
    cloud : Cloud
    ones : int
        Columns of ones before the user's own: 1 with an augmented intercept, else 0.
    candidates : ndarray of shape (n_rows, n_stored), optional
        Rows that the default bounds cover besides those of `Cloud.spans`.
    bounds : array_like of shape (n_features, 2), optional
    categorical : sequence of bool of shape (n_features,), optional
        By default the columns whose values are exactly 0 and 1.
    active : bool, default False
        Whether defaults are those of the active rows, whatever `Cloud.spans` says.
    """
    is_bare = cloud.options["rules"] == "native" and not cloud.n_active
    if is_bare and (active or bounds is None or categorical is None):
        raise ValueError(
            "bounds and categorical must be given, and no rows can be drawn, because "
            "remove_data dropped all rows and their ranges."
        )
    low, high, flags = cloud.spans(active)
    m = len(low)
    if candidates is not None and len(candidates):
        low = np.fmin(low, np.fmin.reduce(candidates, axis=0))
        high = np.fmax(high, np.fmax.reduce(candidates, axis=0))
    low = np.nan_to_num(low, nan=0.0)  # missing throughout
    high = np.nan_to_num(high, nan=0.0)
    if bounds is not None:
        given = params.as_array("bounds", bounds, np.float64)
        if given.shape != (m - ones, 2) or not np.all(np.isfinite(given)):
            raise ArgumentError(
                "bounds",
                "must be finite, of shape ({m}, 2), one pair a column",
                bounds,
                m=m - ones,
            )
        if np.any(given[:, 0] > given[:, 1]):
            raise ArgumentError(
                "bounds", "must hold pairs (low, high) with low <= high", bounds
            )
        low[ones:], high[ones:] = given.T
    if categorical is not None:
        chosen = params.as_array("categorical", categorical)
        if chosen.shape != (m - ones,) or chosen.dtype != bool:
            raise ArgumentError(
                "categorical", "must be {m} booleans", categorical, m=m - ones
            )
        flags = np.concatenate([flags[:ones], chosen])
    wrong = np.flatnonzero(flags & ((low != 0.0) | (high != 1.0)))
    if len(wrong):
        k = wrong[0]
        name = "categorical" if candidates is None or categorical is not None else "X"
        name = name if bounds is None else "bounds"
        raise ValueError(_not_binary(name, k - ones, low[k], high[k]))
    return low, high, flags


def _not_binary(argument: str, column: int, low: float, high: float) -> str:
    """Error message for a categorical column that is not of 0 and 1."""
    rule = {
        "bounds": "bounds of categorical columns must be exactly (0, 1)",
        "categorical": "categorical must flag columns of 0 and 1 only",
        "X": "X must be within 0 and 1 in a column of 0 and 1 only",
    }[argument]
    remedy = {
        "bounds": "Set them so, or flag the column False in categorical.",
        "categorical": "Give the column bounds of (0, 1), or flag it False.",
        "X": "Give bounds, or flag the column False in categorical.",
    }[argument]
    return f"{rule}; got ({low}, {high}) in column {column}. {remedy}"


def _incumbent(cloud: Any, rows: Matrix, best: str | float) -> Matrix | float:
    """`best` -> the value that improves if a response is lower, one or a particle's."""
    if not isinstance(best, str):
        return params.real("best", best)
    params.one_of("best", best, ("candidates", "rows"))
    if best == "rows" and not cloud.n_active:
        raise ValueError(
            Message("best='rows' needs rows, but remove_data dropped all of them.")
        )
    return query.least_location(
        cloud, rows if best == "candidates" else cloud.rows()[0]
    )


def drawing_source(state: TreeState) -> RandomSource | None:
    """Random numbers for one question; None for the cloud's own stream (R's rules)."""
    if state.options.rules == "r":
        return None
    words = np.random.SeedSequence([state.seed, state.n_seen]).generate_state(2)
    return CounterSource((int(words[0]) << 32) + int(words[1]))


def check_scoring(
    options: TreeOptions, rule: str, sample_weight: Any, exposure: Any, Xref: Any
) -> None:
    """Raise ValueError unless a rule of `acquisition` fits trees and arguments."""
    params.one_of("rule", rule, params.SCORES)
    if options.has_labels:
        raise ValueError(
            Message(
                "rule={rule!r} needs a real response; for model={model!r} see "
                "predict(X).entropy.",
                rule=rule,
                model=options.model,
            )
        )
    if sample_weight is not None and (rule not in ("alm", "alc") or Xref is not None):
        raise ArgumentError(
            "sample_weight",
            "is for rule='alm', and for 'alc' over a rectangle",
            Message(
                "it with rule={rule!r}{value}",
                rule=rule,
                value="" if Xref is None else " and Xref",
            ),
        )
    if options.is_count and rule not in ("alm", "alc"):
        raise ValueError(
            Message(
                "rule={rule!r} needs a real response; got model={model!r}. For "
                "counts there are 'alm' and 'alc'.",
                rule=rule,
                model=options.model,
            )
        )
    if exposure is not None:
        refuse_exposure(options)
        if rule != "alc" or Xref is not None:
            raise ArgumentError(
                "exposure",
                "is for rule='alc' over a rectangle",
                Message(
                    "it with rule={rule!r}{value}",
                    rule=rule,
                    value="" if Xref is None else " and Xref",
                ),
            )


def response_variances(state: TreeState, rows: Matrix, sample_weight: Any) -> Vector:
    """Stored rows -> variance of a response at each; for counts, of the rate."""
    if state.options.rules == "r":
        return np.asarray(query.predict(state.cloud, rows)["var"])
    if state.options.is_count:
        laws = laws_of(state.cloud, rows, 1, np.ones(len(rows)))
        return RateLaws(*laws).moments()[1]
    weights = response_weights(state, len(rows), sample_weight)
    start, share, mean, scale, df, _ = mixture_of(state.cloud, rows, 1, weights)
    return moments(start, share, mean, scale, df, least_df=LEAST_DF)[1]


def improvements(
    cloud: Any,
    rows: Matrix,
    rule: str,
    references: Matrix,
    q: float,
    alpha: float,
    best: str | float,
) -> Vector:
    """Stored rows -> their scores by a rule that needs no rectangle.

    The parameters are those of `DynamicTree.acquisition`.
    """
    if rule == "ei":
        return query.mean_improvement(cloud, rows, _incumbent(cloud, rows, best))
    if rule == "qentropy":
        return np.asarray(criteria.q_entropy(cloud, rows, params.real("q", q)))
    if rule == "qei":
        width, level = params.positive("alpha", alpha), params.real("q", q)
        return np.asarray(criteria.q_improvement(cloud, rows, level, width))
    if rule == "ieci":
        return np.asarray(criteria.ieci(cloud, rows, references))
    return np.asarray(criteria.alc_reference(cloud, rows, references))
