"""A model for every key for river: a regressor and a classifier of rows as dicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from river import base

from dyntree import params
from dyntree.api.adapters.answers import LabelAnswers, RowAnswers, RowDistribution
from dyntree.api.adapters.base import (
    Row,
    best_labels,
    numbered,
    proba_frame,
    records_of,
    responses_of,
    series_of,
    words_for,
)
from dyntree.encoding.columns import unusable, value_kind
from dyntree.encoding.growing_map import check_row
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.values import is_missing
from dyntree.errors import ArgumentError, Speaking, UnseenLevelWarning, warn
from dyntree.keyed.keys import warn_without_key
from dyntree.keyed.model import KeyedStream
from dyntree.params.names import Suggesting
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.answers.predictions import blank_prediction
from dyntree.trees.model import DynamicTree

if TYPE_CHECKING:
    import pandas as pd

WITHOUT = ["key", "classes", "categories", "store"]


class KeyedAdapter(Speaking, Suggesting, base.Estimator):
    """What adapters around a model for keys have in common.

    Parameters
    ----------
    key : str or another name of a feature, optional
        The feature that has the key of each row. By default all rows have one key,
        with a warning.
    """

    _words = words_for("RiverKeyedClassifier")
    key: Hashable | None
    stream: KeyedStream
    _names: tuple[Hashable, ...] | None = None  # features of the first row
    _is_warned = False

    def __init__(
        self, *arguments: Any, key: Hashable | None = None, **options: Any
    ) -> None:
        self.stream = self._fresh()
        if self.stream.is_classifier != isinstance(self, base.Classifier):
            raise ArgumentError(
                "model", "must have leaves for such responses", self.stream.model,
                "Leave it out, or use the other of RiverKeyedRegressor and "
                "RiverKeyedClassifier.",
            )  # fmt: skip

    def _fresh(self) -> KeyedStream:
        """Make a model that has seen no row."""
        return KeyedStream(**self._options())

    def _options(self) -> dict[str, Any]:
        """Options of the model by the parameters of the adapter."""
        own = params.model_options(self, KeyedStream)
        return own | {"key": None, "classes": None}

    def _apart(self, x: Row) -> tuple[dict[Hashable, Any], Any]:
        """The features of the first row, and the key."""
        check_row(x)
        if self.key is None:
            own, key = dict(x), 0
        elif self.key not in x:
            raise KeyError(
                f"x must have the key, {self.key!r}; it has {[*x]}. Rows without a key "
                "can have one of their own, such as 'none'."
            )
        else:
            key = x[self.key]
            own = {name: value for name, value in x.items() if name != self.key}
        for name, value in own.items():
            if not is_missing(value) and value_kind(value) is None:
                raise unusable("x", name, value)
        if self._names is None:
            names = sorted(own, key=lambda name: (str(name), type(name).__name__))
            return {name: own[name] for name in names} or {"none": None}, key
        late = [name for name in own if name not in self._names]
        if late and not self._is_warned:
            warn(
                UnseenLevelWarning,
                "rows have features that the first row did not have, such as {name!r}; "
                "they are left out. Begin with a row that has all of them, with None "
                "for values that are not known.",
                name=late[0],
            )
            self._is_warned = True
        return {name: own.get(name) for name in self._names}, key

    def _learn(self, x: Row, y: Any) -> None:
        """Learn a row."""
        if self.key is None and self._names is None:
            warn_without_key()
        own, key = self._apart(x)
        self.stream.update([own], [y], [key], progress=False)
        self._names = tuple(own)

    def _answers(self, records: list[Row]) -> Any:
        """The prediction at rows, also before the first row was learned."""
        pairs = [numbered(row, self._apart, x) for row, x in enumerate(records)]
        if not self.stream.is_ready or not pairs:
            return blank_prediction(self.stream.state.options, len(pairs))
        rows, keys = zip(*pairs, strict=True)
        return self.stream.predict([*rows], [*keys])

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn rows in order, as `learn_one` would, until a row is bad.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)
        y : Series of shape (n_rows,)
        """
        check_paired(X, y)
        records = records_of(X)
        rows = zip(records, responses_of(y, len(records)), strict=True)
        for row, (x, response) in enumerate(rows):
            numbered(row, self._learn, x, response)

    @property
    def _raw_memory_usage(self) -> int:
        return int(super()._raw_memory_usage) + self.stream.memory_usage()


@params.derived(KeyedStream, DynamicTree, without=WITHOUT)
class RiverKeyedRegressor(KeyedAdapter, RowAnswers, base.MiniBatchRegressor):
    """A model for every key as a river regressor.

    The features are those of the first row: others that come later are left out, with a
    warning, and absent ones are missing.

    Attributes
    ----------
    stream : KeyedStream
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverKeyedRegressor
    >>> fleet = RiverKeyedRegressor(key="sensor", seed=1)
    >>> for k in range(200):
    ...     row = {"x": k % 10, "sensor": f"s{k % 3}"}
    ...     fleet.learn_one(row, k % 10 + 5.0 * (k % 3))
    >>> round(fleet.predict_one({"x": 2, "sensor": "s1"}), 1)
    7.0
    """

    def __init__(
        self, model: str = "linear", *, key: Hashable | None = None, **options: Any
    ) -> None:
        super().__init__()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 5, "members": "fast"}

    def learn_one(self, x: Row, y: float) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Numbers and text, with the key.
        y : float

        Raises
        ------
        KeyError
            If the row has no key.
        ValueError
            If values are bad. The model is then as it was before the call.
        """
        self._learn(x, y)

    def predict_one(self, x: Row, with_dist: bool = False) -> float | RowDistribution:
        """Predictive mean at a row; it is 0 before the first row is learned.

        Parameters
        ----------
        x : dict
            With the key.
        with_dist : bool, default False
            Whether to return the whole predictive distribution.

        Returns
        -------
        float or RowDistribution
        """
        prediction = self._answer(x)
        return RowDistribution(prediction) if with_dist else float(prediction.mean[0])

    def _answer(self, x: Row) -> Prediction:
        prediction = self._answers([x])
        assert isinstance(prediction, Prediction)
        return prediction

    def predict_many(self, X: pd.DataFrame) -> pd.Series[float]:
        """Predictive means of rows, as a Series with the index of X.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        Series of shape (n_rows,)
        """
        mean = self._answers(records_of(X)).mean.copy()
        answer: pd.Series[float] = series_of(X, mean)
        return answer


@params.derived(KeyedStream, DynamicTree, without=WITHOUT)
class RiverKeyedClassifier(KeyedAdapter, LabelAnswers, base.MiniBatchClassifier):
    """A model for every key as a river classifier.

    New labels are learned when they first appear; features are as in
    `RiverKeyedRegressor`.

    Attributes
    ----------
    stream : KeyedStream
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverKeyedClassifier
    >>> fleet = RiverKeyedClassifier(key="shop", seed=1)
    >>> for k in range(300):
    ...     row = {"x": k % 10, "shop": k % 3}
    ...     fleet.learn_one(row, "ab"[(k % 10 > 4) ^ (k % 3 == 2)])
    >>> fleet.predict_one({"x": 8, "shop": 0}), fleet.predict_one({"x": 8, "shop": 2})
    ('b', 'a')
    """

    def __init__(
        self, model: str = "class", *, key: Hashable | None = None, **options: Any
    ) -> None:
        super().__init__()

    @property
    def _multiclass(self) -> bool:
        return self.stream.model != "logit"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 5}

    def learn_one(self, x: Row, y: Hashable) -> None:
        """Learn a row and its label, known or new.

        Parameters
        ----------
        x : dict
            Numbers and text, with the key.
        y : hashable

        Raises
        ------
        KeyError
            If the row has no key.
        ValueError
            If values are bad. The model is then as it was before the call.
        """
        self._learn(x, y)

    def predict_proba_one(self, x: Row) -> dict[Hashable, float]:
        """Probability of each label that has come; {} before the first one.

        Parameters
        ----------
        x : dict
            With the key.

        Returns
        -------
        dict of float
        """
        prediction = self._answer(x)
        return dict(zip(prediction.classes, prediction.proba[0].tolist(), strict=True))

    def _answer(self, x: Row) -> ClassPrediction:
        prediction = self._answers([x])
        assert isinstance(prediction, ClassPrediction)
        return prediction

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities at rows, as a frame with the index of X and a column per label.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        DataFrame of shape (n_rows, n_classes)
        """
        answer: pd.DataFrame = proba_frame(X, self._answers(records_of(X)))
        return answer

    def predict_many(self, X: pd.DataFrame) -> pd.Series[Any]:
        """Most probable labels at rows, as a Series with the index of X.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        Series of shape (n_rows,)
        """
        answer: pd.Series[Any] = best_labels(X, self._answers(records_of(X)))
        return answer
