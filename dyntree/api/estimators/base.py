"""What estimators around any model that learns row by row have in common."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dyntree import params
from dyntree.api.estimators.rows import as_frame, holds_more
from dyntree.encoding.values import Matrix
from dyntree.runtime.rewording import reworded
from dyntree.trees.averages.base import TreeAverage
from dyntree.trees.random_trees import RandomTreesStream

RandomState = int | np.random.RandomState | np.random.Generator | None


def seed_of(random_state: RandomState) -> int | None:
    """Seed of a model: the int itself, or drawn from a generator; None stays None."""
    if random_state is None:
        return None
    if isinstance(random_state, numbers.Integral):
        return params.count("random_state", random_state, 0, params.MAX_SEED)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ValueError(
            "random_state must be an int >= 0, a RandomState, a Generator or None; got "
            f"{random_state!r}."
        ) from error


def threads_of(n_jobs: int | None) -> int | None:
    """Number of threads of a model: all cores for -1, and None for None."""
    if n_jobs is None:
        return None
    if n_jobs == -1:
        return os.cpu_count() or 1
    if isinstance(n_jobs, numbers.Integral) and n_jobs < 1:
        raise ValueError(f"n_jobs must be an int >= 1, or -1 for all; got {n_jobs!r}.")
    return params.count("n_jobs", n_jobs, 1, params.MAX_THREADS)


def is_column(y: Any, X: Matrix) -> bool:
    """Whether y is an array with one value for each row of X."""
    return type(y) is np.ndarray and y.shape == (len(X),)


class OnlineMixin:
    """What estimators around any model that learns row by row have in common.

    A class that uses it defines `_fresh`, which makes a model from its parameters. The
    model learns by ``update(X, y)`` and answers by ``predict(X)``, whose result can be
    sampled. The model handles missing values.
    """

    model_: Any
    n_jobs: int | None
    _fresh: Callable[[], Any]

    def _is_plain(self, X: Any) -> bool:
        """Whether scikit-learn's checks would give later rows back as they are.

        To ask it, and which library's frame they might be, takes longer than to learn
        a row.
        """
        held = self.__dict__
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and "model_" in held
            and X.shape[1] == held.get("n_features_in_")
            and "feature_names_in_" not in held
            and bool(np.vdot(X, X) < np.inf)  # not where NaN
        )

    def _checked(self, X: Any, y: Any, first: bool, **more: Any) -> tuple[Matrix, Any]:
        """Rows and responses; the first ones fix the columns.

        Rows are an array, or as they were given where the model has to read them.
        """
        X = as_frame(X)
        if isinstance(y, np.ma.MaskedArray):
            y = params.as_array("y", y)
        if self._reads_itself(X, first):
            responses = column_or_1d(y, warn=True)
            check_consistent_length(X, responses)
            return self._named(X, first), responses
        rows, responses = validate_data(
            self, X, y, reset=first, dtype=np.float64, ensure_all_finite="allow-nan",
            **more,
        )  # fmt: skip
        return rows, responses

    def _reads_itself(self, X: Any, first: bool) -> bool:
        """Whether the model has to read rows as they are: levels, times, names."""
        known = not first and self.model_.columns is not None
        return known or holds_more(X)

    def _named(self, X: Any, first: bool) -> Any:
        """Rows as they are, once scikit-learn has checked their columns."""
        return validate_data(self, X, reset=first, skip_check_array=True)

    def _learn(
        self,
        rows: Matrix,
        responses: Any,
        first: bool,
        sample_weight: Any = None,
        **more: Any,
    ) -> Self:
        """Give rows to the model, at first to a new one."""
        model = self._fresh() if first else self.model_
        given = [rows, responses]
        if sample_weight is not None:
            given.append(sample_weight)
        if isinstance(model, TreeAverage | RandomTreesStream):
            threads = threads_of(self.n_jobs)
            more |= {"threads": threads}
        with (
            reworded("model='class'", "DynamicTreeClassifier"),
            reworded("model='constant' or 'linear'", "DynamicTreeRegressor"),
        ):
            model.update(*given, **more, progress=False)
        self.model_ = model
        return self

    def _asked(self, X: Any) -> Any:
        """Rows to answer for, as the model takes them."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        X = as_frame(X)
        if self._reads_itself(X, first=False):
            return self._named(X, first=False)
        return validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )

    def _prediction(self, X: Any, **more: Any) -> Any:
        """The model's prediction at the rows of X."""
        rows = self._asked(X)
        return self.model_.predict(rows, **more, threads=threads_of(self.n_jobs))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: RandomState = None
    ) -> NDArray[Any]:
        """Draw responses from the predictive distribution, jointly at all rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        n_samples : int, default 1
            Number of draws for each row.
        random_state : int, RandomState or Generator, optional
            Seed of the draws. By default it is drawn from the system.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Real responses, or labels. All rows of one sample use the same tree and the
            same parameters of it, as in `posterior_draws`. Before there are trees, rows
            are drawn independently.
        """
        n_samples = params.count("n_samples", n_samples, 1)
        rows, rng = self._asked(X), np.random.default_rng(seed_of(random_state))
        model = self.model_
        if model.is_ready:
            draws = model.drawn(rows, n_samples, "obs", rng).values
        else:
            draws = model.predict(rows).sample(n_samples, rng)
        responses: NDArray[Any] = draws.T.astype(getattr(self, "classes_", draws).dtype)
        return responses

    @property
    def log_evidence_(self) -> float:
        """Sum of log predictive densities of the rows, each given those before it."""
        check_is_fitted(self)
        return float(self.model_.log_evidence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags
