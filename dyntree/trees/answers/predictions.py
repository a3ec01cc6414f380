"""Rows -> predictions of a tree: distributions, coefficients, heights and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree import params
from dyntree._core.student_mixture import moments
from dyntree._core.trees import query
from dyntree._core.trees.forest import Forest
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import TreeOptions
from dyntree.runtime.locking import locked
from dyntree.summaries import ClassPrediction, Prediction, TreeStats
from dyntree.summaries.counts import CountPrediction
from dyntree.trees.answers.draws import JointDraws
from dyntree.trees.learning.check import extended, stored
from dyntree.trees.learning.exposures import (
    apart,
    check_response_pairs,
    predicted_exposure,
)
from dyntree.trees.learning.scaling import on_scale
from dyntree.trees.learning.weights import response_weights, reweighed


def mixture_of(
    cloud: Any, rows: Matrix, n_threads: int = 1, weights: Vector | None = None
) -> Any:
    """Predictive of real responses at encoded rows, as of `query.mixture`.

    `weights`, of shape (n_rows,), divide the variance of each response about its mean.
    """
    if isinstance(cloud, Forest):
        parts = cloud.mixture(rows)
    else:
        parts = query.mixture(cloud, rows, n_threads)
    return parts if weights is None else reweighed(parts, weights)


def laws_with(
    cloud: Any,
    start: NDArray[np.int64],
    share: Vector,
    first: Vector,
    second: Vector,
    exposure: Vector,
) -> Any:
    """Laws of counts by the parameters that leaves tell; see `RateLaws`.

    Exposures, of shape (n_rows,), are in the cloud's unit.
    """
    each = np.repeat(exposure, np.diff(start))
    size = cloud.prior_point["size"]
    return start, share, first, second, size * each if size else each * np.inf, each


def laws_of(cloud: Any, rows: Matrix, n_threads: int, exposure: Vector) -> Any:
    """Laws of counts at encoded rows, by exposures of shape (n_rows,) as users give."""
    start, share, _, first, second, _ = query.mixture(cloud, rows, n_threads)
    own = exposure / cloud.prior_point["exposure_unit"]
    return laws_with(cloud, start, share, first, second, own)


def proba_of(cloud: Any, rows: Matrix, n_threads: int = 1) -> Matrix:
    """Probabilities of the classes at encoded rows, shape (n_rows, n_classes)."""
    if isinstance(cloud, Forest):
        return cloud.predict_proba(rows, n_threads)
    return query.predict_class(cloud, rows, n_threads)["p"]


def blank_prediction(
    options: TreeOptions, n_rows: int, exposure: Any = None
) -> Prediction | ClassPrediction:
    """Predictions of rows by a model that has learned none, where a face needs some.

    Their mean is 0 and their variance infinite, and all classes have the same
    probability. `exposure`, of shape (n_rows,), is that of counts, by default 1.
    """
    if options.is_count:
        at = np.ones(n_rows) if exposure is None else np.asarray(exposure)
        return CountPrediction.of_sample(np.empty(0), np.empty(0), at)
    if options.model == "class":
        classes = options.classes or ()
        proba = np.full((n_rows, len(classes)), 1.0 / max(1, len(classes)))
        return ClassPrediction(proba, classes, entr(proba).sum(axis=1))
    return Prediction.of_sample([], n_rows)


def mean_of(cloud: Any, rows: Matrix) -> Matrix:
    """Mean prediction, or probabilities, of rows as the cloud stores them."""
    if cloud.model == "class":
        return proba_of(cloud, rows)
    mean: Matrix = moments(*mixture_of(cloud, rows)[:5])[0][:, None]
    return mean


class TreePredictions(JointDraws):
    """The part of `DynamicTree` that says what it is and predicts."""

    @property
    def options(self) -> TreeOptions:
        """The options in force, complete once the width of X is known."""
        return self.state.options

    @property
    def seed(self) -> int:
        """The seed of all random draws."""
        return self.state.seed

    @property
    def n_active(self) -> int:
        """Number of active rows, which are held individually."""
        return self.state.n_active

    @property
    def n_retired(self) -> int:
        """Number of rows retired so far."""
        return self.state.n_retired

    @property
    @locked
    def active_ids(self) -> NDArray[np.int64]:
        """Row numbers of the active rows, ndarray of int64 of shape (n_active,)."""
        if self.state.cloud is None:
            return np.arange(len(self.state.waiting_y))
        return np.asarray(self.state.cloud.row_ids())

    def predict(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        threads: int | None = None,
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Under native rules values may be missing (NaN).
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights > 0 of the predicted responses, if weights divide variances (see the
            option `weighting`); by default 1.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of the predicted counts. By default they are 1, so that means
            are rates.
        threads : int, optional
            Number of threads, each for some of the rows; by default
            DYNTREE_NUM_THREADS, or 1. The result does not depend on it.

        Returns
        -------
        Prediction, CountPrediction or ClassPrediction
            `Prediction` for real responses, `CountPrediction` for counts and
            `ClassPrediction` for labels.

        Raises
        ------
        NotReadyError
            Before the first row, unless `classes` names labels, which have equal
            probabilities then; and under R's rules before there are trees.
        ValueError
            If the input is bad.
        """
        if threads is not None:
            params.n_threads(threads)
        check_response_pairs(X, sample_weight, exposure)
        with self._lock:
            state = self.state
            cloud, classes = state.cloud, state.options.classes
            if cloud is None:
                response_weights(state, None, sample_weight)
                if state.options.rules == "r":
                    raise state.not_ready("predict")
                return self._predict_cold(X, exposure)
            rows = stored(state, X)
            weights = response_weights(state, len(rows), sample_weight)
            at = predicted_exposure(state, X, len(rows), exposure)
            n_threads = params.n_threads(threads) if len(rows) > 1 else 1
            if state.options.is_count:
                return CountPrediction.of_laws(laws_of(cloud, rows, n_threads, at), at)
            if classes is None:
                parts = mixture_of(cloud, rows, n_threads, weights)
                least_df = LEAST_DF if state.options.rules == "native" else 0.0
                return Prediction.of_mixture(parts, n_threads, least_df)
            if state.options.rules == "native":
                proba = proba_of(cloud, rows, n_threads)
                return ClassPrediction(proba, classes, entr(proba).sum(axis=1))
            answer = query.predict_class(cloud, rows, n_threads)
            return ClassPrediction(answer["p"], classes, answer["entropy"])

    def _predict_cold(
        self, X: Any, exposure: Any = None
    ) -> Prediction | ClassPrediction:
        """Predict before there are trees, from the rows that wait for them.

        Labels have trees from the first row on; before, those that were named have
        their prior probabilities.
        """
        is_prior = self.options.classes is not None
        if not is_prior:
            self.state.require_rows("predict")
        is_encoded = isinstance(X, Encoded)
        n_rows = len(X.rows if is_encoded else extended(self.state, X)[1])
        if is_prior:
            return blank_prediction(self.options, n_rows)
        at = predicted_exposure(self.state, X, n_rows, exposure)
        if self.options.is_count:
            return CountPrediction.of_sample(*apart(self.state.waiting_y), at)
        return Prediction.of_sample(self.state.waiting_y, n_rows)

    @locked
    def mean_at(self, row: Matrix) -> float:
        """Predictive mean at one row, by a faster path than `predict` (native rules).

        Parameters
        ----------
        row : ndarray of shape (1, n_features)
            Encoded and checked.

        Returns
        -------
        float
        """
        if self.is_classifier:
            raise ArgumentError(
                "mean_at", "needs real responses", Message("model='class'")
            )
        if self.state.cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, Prediction)
            return float(prediction.mean[0])
        state = self.state
        assert state.features is not None
        row = on_scale(state.cloud, state.features, row)
        parts = mixture_of(state.cloud, row)[:5]
        return float(moments(*parts)[0][0])

    @locked
    def proba_at(self, row: Matrix) -> Vector:
        """Probabilities of the classes at one row, as in `mean_at`."""
        if not self.is_classifier:
            raise ArgumentError(
                "proba_at",
                "needs model='class'",
                Message("model={model!r}", model=self.options.model),
            )
        if self.state.cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, ClassPrediction)
            return np.asarray(prediction.proba[0])
        return np.asarray(proba_of(self.state.cloud, row)[0])

    @locked
    def coef(self, X: Any) -> Matrix:
        """Coefficients of the linear leaves at each row, averaged over particles.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts

        Returns
        -------
        ndarray of shape (n_rows, n_basis + 1), or (n_rows, n_basis) without intercept
            The intercept comes first.

        Raises
        ------
        NotReadyError
            If there are no trees yet.
        ValueError
            If leaves are not linear, or the input is bad.
        """
        cloud = self.state.ready("coef")
        if self.options.model != "linear":
            raise ArgumentError(
                "coef",
                "needs model='linear'",
                Message("model={model!r}", model=self.options.model),
            )
        return np.asarray(query.coef(cloud, stored(self.state, X)))

    @locked
    def stats(self) -> TreeStats:
        """Return height, leaves and leaf sizes, averaged over particles."""
        return TreeStats(*map(float, query.tree_stats(self.state.ready("stats"))))
