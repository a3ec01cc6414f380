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
from dyntree._core.trees.window import worth
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import TreeOptions
from dyntree.runtime.locking import locked
from dyntree.summaries import Relevance
from dyntree.summaries.counts import RateLaws
from dyntree.trees.answers.predictions import TreePredictions, laws_of, mixture_of
from dyntree.trees.learning.check import stored
from dyntree.trees.learning.exposures import (
    asked_exposure,
    check_response_pairs,
    refuse_exposure,
)
from dyntree.trees.learning.weights import candidate_weights, response_weights
from dyntree.trees.state import TreeState

Bounds = Sequence[Sequence[float]] | Matrix
Region = tuple[Vector, Vector, NDArray[np.bool_]]


def region(
    cloud: Any,
    ones: int,
    candidates: Matrix | None = None,
    bounds: Bounds | None = None,
    categorical: Sequence[bool] | None = None,
    held: bool = False,
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
    held : bool, default False
        Whether defaults are those of the active rows, whatever `Cloud.spans` says.
    """
    is_bare = cloud.options["rules"] == "native" and not cloud.n_active
    if is_bare and (held or bounds is None or categorical is None):
        raise ValueError(
            "bounds and categorical must be given, and no rows can be drawn, because "
            "remove_data dropped all rows and their ranges."
        )
    low, high, flags = cloud.spans(held)
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
    """Raise ValueError where a rule of `score` is not for such trees and arguments."""
    params.one_of("rule", rule, params.SCORES)
    if options.model == "class":
        raise ValueError(
            Message(
                "rule={rule!r} needs a real response; for model='class' see "
                "predict(X).entropy.",
                rule=rule,
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


class TreeCriteria(TreePredictions):
    """The part of `DynamicTree` that scores candidates, active rows and columns."""

    @locked
    def score(
        self,
        X: Any,
        rule: str,
        *,
        sample_weight: Any = None,
        exposure: Any = None,
        Xref: Any = None,
        q: float = 0.0,
        alpha: float = 2.0,
        best: str | float = "candidates",
        bounds: Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Vector:
        """Expected benefit of sampling a response at each candidate row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            The candidates.
        rule : {"alm", "alc", "ei", "ieci", "qei", "qentropy"}
            "alm" is the predictive variance (MacKay 1992); for counts, the variance of
            the rate. "alc" is the reduction of variance, averaged over a rectangle or
            over `Xref` (Cohn 1996). "ei" is the expected improvement towards the
            minimum, and "ieci" its integrated conditional form (Gramacy and Lee 2011).
            "qei" and "qentropy" are the expected improvement and the entropy for the
            contour at `q`.
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights > 0 of the responses at the candidates, for "alm" and for "alc" over
            a rectangle; by default 1.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures of the counts at the candidates, for "alc" over a rectangle; by
            default 1.
        Xref : rows like X, optional
            Reference rows of "alc" (by default the whole rectangle) and of "ieci" (by
            default X).
        q : float, default 0.0
            Level of the contour.
        alpha : float, default 2.0
            Half-width of the band around the contour in standard deviations, > 0.
        best : {"candidates", "rows"} or float, default "candidates"
            The value that "ei" improves on: the lowest mean of each particle at the
            candidates of this call, or at the active rows, or a given value. With the
            default, the score of a row depends on the other candidates, as in CRAN
            dynaTree.
        bounds : array_like of shape (n_features, 2), optional
            Rectangle of "alc". By default it covers the candidates and all learned
            rows; with ``forget`` below 1 and under R's rules, the candidates and the
            active rows.
        categorical : sequence of bool of shape (n_features,), optional
            Which columns hold 0 and 1 only. By default, this is decided by the rows
            that `bounds` covers, without the candidates.
        approx : bool, default False
            Whether leaves are weighted by their number of rows instead of their volume.

        Returns
        -------
        ndarray of shape (n_rows,)
            Larger values are more promising.
        """
        cloud = self.state.ready("score")
        if not isinstance(rule, str) and isinstance(X, str):
            raise ArgumentError(
                "rule",
                "must be text, after the candidates",
                rule,
                "Call score(X, {x!r}).",
                x=X,
            )
        check_scoring(self.options, rule, sample_weight, exposure, Xref)
        check_response_pairs(X, sample_weight, exposure)
        state, approx = self.state, params.flag("approx", approx)
        references = None if Xref is None else stored(state, Xref, "Xref")
        rows = stored(state, X)
        if references is not None and not len(references):
            raise ArgumentError("Xref", "must have at least one row", Message("none"))
        if rule == "alm":
            if state.options.rules == "r":
                return np.asarray(query.predict(cloud, rows)["var"])
            if self.options.is_count:
                laws = laws_of(cloud, rows, 1, np.ones(len(rows)))
                return RateLaws(*laws).moments()[1]
            weights = response_weights(state, len(rows), sample_weight)
            start, share, mean, scale, df, _ = mixture_of(cloud, rows, 1, weights)
            return moments(start, share, mean, scale, df, least_df=LEAST_DF)[1]
        if rule == "ei":
            return query.mean_improvement(cloud, rows, _incumbent(cloud, rows, best))
        if rule == "qentropy":
            return np.asarray(criteria.q_entropy(cloud, rows, params.real("q", q)))
        if rule == "qei":
            width, level = params.positive("alpha", alpha), params.real("q", q)
            return np.asarray(criteria.q_improvement(cloud, rows, level, width))
        if rule == "ieci":
            references = rows if references is None else references
            return np.asarray(criteria.ieci(cloud, rows, references))
        if references is not None:
            return np.asarray(criteria.alc_reference(cloud, rows, references))
        where = region(cloud, state.ones, rows, bounds, categorical)
        weights = candidate_weights(state, len(rows), sample_weight)
        if self.options.is_count:
            weights = asked_exposure(state, len(rows), exposure) / state.exposure_unit
        return np.asarray(criteria.alc_rectangle(cloud, rows, *where, approx, weights))

    @locked
    def score_active(self, rule: str) -> Vector:
        """Value of each active row to the model; rows with low values may go first.

        Parameters
        ----------
        rule : {"alc", "entropy", "age", "random"}
            "alc" (regression) is the reduction of variance, averaged over the default
            rectangle of `score`. Native rules multiply it by the root of n / m, where
            the leaf of the row has learned n rows and holds m. "entropy" (classes) is
            the entropy of the row's leaf. "age" is the number of the row, and "random"
            is a random number.

        Returns
        -------
        ndarray of shape (n_active,)
            Values in the order of `active_ids`.
        """
        cloud = self.state.ready("score_active")
        params.one_of("rule", rule, params.DISCARDS)
        fits = {
            "entropy": ("class",),
            "alc": ("constant", "linear", "prior", *params.COUNTS),
        }
        if self.options.model not in fits.get(rule, params.MODELS):
            raise ValueError(
                Message(
                    "rule={rule!r} does not fit model={model!r}; 'entropy' is for "
                    "class models and 'alc' for the others.",
                    rule=rule,
                    model=self.options.model,
                )
            )
        return worth(cloud, rule, drawing_source(self.state))

    @locked
    def relevance(
        self,
        *,
        bounds: Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Relevance:
        """How much splits on each column reduce the predictive variance or entropy.

        The parameters are those of `score`. The method is that of Gramacy, Taddy and
        Wild (2013), section 2.
        """
        cloud = self.state.ready("relevance")
        values = criteria.relevance(
            cloud,
            *region(cloud, self.state.ones, None, bounds, categorical),
            params.flag("approx", approx),
        )
        return Relevance(values[:, self.state.ones :].copy(), self.feature_names)
