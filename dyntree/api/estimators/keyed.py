"""A model for every key for scikit-learn: a regressor and a classifier."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
)
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dyntree import params
from dyntree.api.estimators.arguments import RandomState, seed_of
from dyntree.api.estimators.base import Estimator, words_for
from dyntree.api.estimators.rows import as_frame, holds_more, unchanged_on_errors
from dyntree.api.estimators.supervised import RealAnswers
from dyntree.encoding.frames import is_frame
from dyntree.encoding.targets import refuse_booleans
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError
from dyntree.keyed.keys import warn_without_key
from dyntree.keyed.model import KeyedStream
from dyntree.trees.model import DynamicTree

FACES = "KeyedRegressor and KeyedClassifier"
WITHOUT = ["key", "classes", "categories", "store", "seed", "late"]


class KeyedMixin(Estimator):
    """What estimators around a model for keys have in common.

    Parameters
    ----------
    key : int or str, optional
        The column of X that has the key of each row: its name, or its place in an
        array. By default all rows have one key, with a warning for frames.
    random_state : int, RandomState or Generator, optional
        An int is the seed of the model. By default the seed is drawn from the system.
    """

    _words = words_for("KeyedClassifier", "KeyedRegressor")
    model_: KeyedStream
    key: Hashable | None

    def __init__(
        self,
        *,
        key: Hashable | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> None: ...

    def _fresh(self, **more: Any) -> KeyedStream:
        """Make a model that has seen no row."""
        options = self.get_params(deep=False)  # type: ignore[attr-defined]
        seed = seed_of(options.pop("random_state"))
        return KeyedStream(**options | {"key": None, "seed": seed} | more)

    def _rows(self, X: Any, first: bool) -> Any:
        """Rows as the model takes them, once scikit-learn has checked the columns."""
        X = as_frame(X)
        is_named = is_frame(X) and self.key is not None  # in a frame, as it is
        if is_named or holds_more(X) or not (first or self.model_.columns is None):
            return validate_data(self, X, reset=first, skip_check_array=True)
        return validate_data(
            self, X, reset=first, dtype=np.float64, ensure_all_finite="allow-nan"
        )

    def _given(self, X: Any, rows: Any) -> dict[str, Any]:
        """The keys of rows as an argument of the model."""
        if self.key is None:
            return {"key": np.zeros(len(rows), dtype=np.int64)}
        key = self.key
        is_number = isinstance(key, int | np.integer) and not isinstance(key, bool)
        if is_number and is_frame(rows) and key not in rows.columns:
            place = int(key)  # type: ignore[call-overload]
            if not 0 <= place < len(rows.columns):
                raise ArgumentError(
                    "key", "must be a column of X, or its place", key,
                    f"X has {len(rows.columns)} columns.",
                )  # fmt: skip
            return {"key": rows.columns[place]}
        return {"key": self.key}

    def _taught(self, X: Any, y: Any, first: bool, **more: Any) -> Self:
        """Give rows to the model, at first to a new one."""
        if first and self.key is None and is_frame(X):
            warn_without_key()
        with unchanged_on_errors(self):
            rows = self._rows(X, first)
            model = self._fresh(**more) if first else self.model_
            if model.is_classifier != is_classifier(self):
                raise ArgumentError(
                    "model", "must have leaves for such responses", model.model,
                    f"Leave it out, or use the other of {FACES}.",
                )  # fmt: skip
            model.update(rows, y, **self._given(X, rows), progress=False)
            self.model_ = model
        return self

    def _prediction(self, X: Any, **more: Any) -> Any:
        """The model's prediction at the rows of X."""
        check_is_fitted(self)
        rows = self._rows(X, False)
        return self.model_.predict(rows, **self._given(X, rows), **more)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags


@params.derived(KeyedStream, DynamicTree, without=WITHOUT)
class KeyedRegressor(KeyedMixin, RealAnswers, RegressorMixin, BaseEstimator):
    """A model for every key as a scikit-learn regressor.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed. With ``GroupKFold`` and the keys
    as groups, cross-validation asks about keys that have had no row.

    Attributes
    ----------
    model_ : KeyedStream
        The fitted model, with all of its methods.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import KeyedRegressor
    >>> rng = np.random.default_rng(0)
    >>> sensor = rng.integers(0, 5, 300)
    >>> X = np.column_stack([sensor, rng.random(300)])
    >>> y = 3.0 * sensor + X[:, 1]
    >>> fleet = KeyedRegressor(key=0, random_state=1).fit(X, y)
    >>> fleet.predict([[2, 0.5], [4, 0.5]]).round(1)
    array([ 6.5, 12.5])
    """

    def __init__(
        self,
        model: str = "linear",
        *,
        key: Hashable | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> None: ...

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            With the column of keys.
        y : array_like of shape (n_rows,)

        Returns
        -------
        self
        """
        refuse_booleans(y)
        return self._taught(X, column_or_1d(y, warn=True), True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows in order.

        Parameters
        ----------
        X, y
            As in `fit`; the first call is the same as `fit`.

        Returns
        -------
        self
        """
        refuse_booleans(y)
        first = not hasattr(self, "model_")
        return self._taught(X, column_or_1d(y, warn=True), first)


@params.derived(KeyedStream, DynamicTree, without=WITHOUT)
class KeyedClassifier(KeyedMixin, ClassifierMixin, BaseEstimator):
    """A model for every key as a scikit-learn classifier.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    model_ : KeyedStream
        The fitted model, with all of its methods.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import KeyedClassifier
    >>> rng = np.random.default_rng(0)
    >>> shop = rng.integers(0, 4, 400)
    >>> X = np.column_stack([shop, rng.random(400)])
    >>> y = np.where((X[:, 1] > 0.5) ^ (shop == 2), "yes", "no")
    >>> fleet = KeyedClassifier(key=0, random_state=1).fit(X, y)
    >>> fleet.predict([[1, 0.9], [2, 0.9]]).tolist()
    ['yes', 'no']
    """

    def __init__(
        self,
        model: str = "class",
        *,
        key: Hashable | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> None: ...

    def _labels(self, y: Any) -> NDArray[Any]:
        """Labels as scikit-learn checks them."""
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        return labels

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            With the column of keys.
        y : array_like of shape (n_rows,)
            Labels.

        Returns
        -------
        self
        """
        labels = self._labels(y)
        check_classification_targets(labels)
        classes = np.unique(labels)
        self._taught(X, labels, True, classes=classes.tolist())
        self.classes_ = classes
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows in order.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array_like of shape (n_classes,), optional
            All labels, at the first call; by default those of its rows.

        Returns
        -------
        self
        """
        labels = self._labels(y)
        first = not hasattr(self, "model_")
        if first:
            known = np.unique(labels if classes is None else np.asarray(classes))
        else:
            known = self.classes_
        if unknown := np.setdiff1d(labels, known).tolist():
            raise ArgumentError(
                "y",
                "must hold labels among {known}",
                unknown[0],
                "Name every label at the first call: classes=[...].",
                known=known.tolist(),
            )
        more = {"classes": known.tolist()} if first else {}
        self._taught(X, labels, first, **more)
        self.classes_ = known
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each label, in the order of `classes_`, at each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        proba: Matrix = self._prediction(X).proba.copy()
        return proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable label of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        proba = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[proba.argmax(axis=1)]
        return labels
