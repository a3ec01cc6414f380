"""Adapters of river around a stream of trees: rows as dicts, columns that come late."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
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
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.growing_map import GrowingMap, check_row
from dyntree.encoding.levels import LevelCounts, warn_full
from dyntree.encoding.row_alignment import check_paired, warn_of_times
from dyntree.encoding.targets import Exposed, count_response, label_list
from dyntree.encoding.values import LARGEST, MOST_COLUMNS, Matrix, as_number
from dyntree.errors import (
    ArgumentError,
    ManyLevelsWarning,
    Message,
    MissingInputWarning,
    Speaking,
    rename,
    warn,
)
from dyntree.params.names import Suggesting
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.answers.predictions import blank_prediction
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.learning.check import warn_of_many
from dyntree.trees.learning.growth import with_columns
from dyntree.trees.learning.weights import check_weights, one_weight
from dyntree.trees.random_trees import RandomTreesStream
from dyntree.trees.streaming import StreamingTree

if TYPE_CHECKING:
    import pandas as pd

LABEL = (str, int, bool)  # labels that need no look


Stream = StreamingTree | AveragedStream | RandomTreesStream
MOST_NAMED = 5  # features that a warning lists
MOST_COMPARED = 10  # names, of which one may be misspelt
SHORTEST = 4  # letters of a name that another one may go on from
ALIKE = 0.75  # share of letters of two names in common from which one may be misspelt
DIGITS = re.compile(r"\d+")
BETWEEN_WORDS = re.compile(r"(?<=\w)[\s_.\-/]+(?=\w)|(?<=[a-z])(?=[A-Z])")


def misspelt(
    strange: Collection[Hashable], lacking: Collection[Hashable]
) -> tuple[str, str] | None:
    """A strange name and the absent one that it resembles, or None.

    Names whose digits differ are others, and so are those that differ in whole words.
    Of rows with many such names, as bags of words have, none is taken for misspelt.

    Examples
    --------
    >>> misspelt({"Temp", "x9"}, {"temp", "x1"}), misspelt({"sensor_12"}, {"sensor_13"})
    (('Temp', 'temp'), None)
    >>> misspelt({"temperature"}, {"temp"}), misspelt({"huor"}, {"hour"})
    (('temperature', 'temp'), ('huor', 'hour'))
    >>> misspelt({"price_max"}, {"price_min"}), misspelt({"load_yesterday"}, {"load"})
    (None, None)
    >>> misspelt({"priceMax"}, {"priceMin"}), misspelt({"Na+"}, {"Na-"})
    (None, None)
    """
    if max(len(strange), len(lacking)) > MOST_COMPARED:
        return None
    for name in sorted(map(str, strange)):
        digits = DIGITS.findall(name)
        for other in sorted(map(str, lacking)):
            if DIGITS.findall(other) == digits and _alike(name, other):
                return name, other
    return None


def _alike(name: str, other: str) -> bool:
    """Whether two names have most letters in common, or one goes on from the other."""
    name, other = _without_shared_words(name, other)
    short, long = sorted((name, other), key=len)
    if len(short) >= SHORTEST and long.startswith(short):
        return True
    return SequenceMatcher(None, name, other).ratio() >= ALIKE


def _without_shared_words(name: str, other: str) -> tuple[str, str]:
    """What is left of two names without the words that both begin or end with."""
    words, others = _words(name), _words(other)
    for end in (0, -1):
        while words and others and words[end] == others[end]:
            words.pop(end)
            others.pop(end)
    return "".join(words), "".join(others)


def _words(name: str) -> list[str]:
    return [word.casefold() for word in BETWEEN_WORDS.split(name) if word]


class StreamAdapter(Speaking, Suggesting, base.Estimator):
    """What adapters around a stream have in common: rows as dicts or frames.

    Parameters
    ----------
    new_columns : {"grow", "ignore"}, default "grow"
        What happens to features and levels that first come after the first row. "grow"
        adds them to the model, which copies it. "ignore" leaves them out. Use it if
        their number has no limit, as for identifiers, because memory grows with the
        number of features. A column can have 1000 levels. All others count as missing,
        with a warning the first time.
    """

    new_columns: str
    stream: Stream
    _words = words_for("RiverDynamicTreeClassifier")
    _warned_of_levels = False  # of levels without end
    _warned_of_columns = False  # of columns without end
    _warned_of_names = False  # of a row of which no name is known
    _new_levels: LevelCounts
    learn_one: Callable[[Row, Any, float], None]

    def __init__(
        self, *arguments: Any, new_columns: str = "grow", **options: Any
    ) -> None:
        params.one_of("new_columns", self.new_columns, ("grow", "ignore"))
        self.stream = self._fresh()
        encode_levels = self.stream.state.options.encode_levels
        self._columns = GrowingMap(encode_levels=encode_levels)
        self._new_levels = LevelCounts()

    @abstractmethod
    def _fresh(self) -> Stream:
        """Make a stream that has seen no row, by the parameters of the adapter."""

    def _learn(self, x: Row, y: Any, w: float) -> None:
        """Learn a row whose response was checked; an error leaves all as it was."""
        check_row(x)
        w = one_weight(self.stream.state.options, w, "w")
        if w == 0.0:
            return
        with self.stream.exclusive():
            columns = self._columns
            try:
                if columns.has_numbers_alone(x):
                    self.stream.learn_row(columns.encode(x), y, w)
                else:
                    self._learn_names(x, y, w)
            except ValueError as error:
                rename(error, {"sample_weight": "w"})
                raise

    def _learn_names(self, x: Row, y: Any, w: float) -> None:
        """Learn a row that may bring columns or levels; if refused, none is counted."""
        counts, n_seen = self._new_levels, self.stream.n_seen
        self._new_levels = counts.copy()
        try:
            if self._must_grow(x):
                self._grow(x, y, w)
            else:
                self.stream.learn_row(self._columns.encode(x), y, w)
        except BaseException:  # an interrupt may come after the row was learned
            if self.stream.n_seen == n_seen:
                self._new_levels = counts
            raise

    def _must_grow(self, x: Row) -> bool:
        """Whether a row brings columns or levels that are taken; says which are not."""
        columns = self._columns
        self._check_names(x, learns=True)
        if self.new_columns != "grow" and columns.slots:
            return False
        news = columns.news(x)
        if not self._warned_of_levels and news.beyond:
            warn_full(news.beyond[0])
            self._warned_of_levels = True
        if not self._warned_of_columns and news.surplus:
            warn(
                ManyLevelsWarning,
                "rows have had more than {most_columns} different columns; {name!r} "
                "and all other new ones are ignored. Each column needs its own "
                "feature, memory and time. Give rows the same columns, and put what "
                "varies into values.",
                most_columns=MOST_COLUMNS,
                name=news.surplus[0],
            )
            self._warned_of_columns = True
        for name, n_new in news.counts.items():
            known = columns.levels_of.get(name)
            levels = chain(known.labels if known else (), (x[name],))
            self._new_levels.count(name, 1, n_new, levels)
        return bool(news.taken) and not self.stream.is_frozen

    def _grow(self, x: Row, y: Any, w: float) -> None:
        """Learn a row that brings columns or levels."""
        columns, n_seen = self._columns, self.stream.n_seen
        labels = self.stream.classes
        n_labels = 2 if labels is None else len({*labels, y})
        wider = columns.grown(x, n_labels)
        warn_of_many(self.stream.state, wider)
        row, features = wider.encode(x), wider.features()
        try:
            with with_columns(self.stream.states, features, wider.widen):
                self._columns = wider
                self.stream.learn_row(row, y, w)
        except BaseException:  # an interrupt may come after the row was learned
            if self.stream.n_seen == n_seen:
                self._columns = columns
            raise

    def _asked(self, x: Row) -> Matrix:
        """Features of a row to predict."""
        row = self._columns.encode(x)
        if not x.keys() <= self._columns.kinds.keys():
            self._check_names(x)
        return row

    def _check_names(self, x: Row, learns: bool = False) -> None:
        """Warn once of a row one of whose names may be misspelt, or all of them.

        A row to be learned may bring columns, and lack those that there were.
        """
        known = self._columns.kinds.keys()
        if self._warned_of_names or not known or not x:
            return
        if known.isdisjoint(x) and not learns:
            warn(
                MissingInputWarning,
                "x has no feature of the rows learned, {known}; got {names}. All its "
                "features count as missing. Mend the names.",
                known=[*known][:MOST_NAMED],
                names=[*x][:MOST_NAMED],
            )
            self._warned_of_names = True
        elif pair := misspelt(x.keys() - known, known - x.keys()):
            warn(
                MissingInputWarning,
                "x has {name!r}, which was not learned, and lacks {meant!r}, which "
                "counts as missing. Mend the name if they are the same.",
                name=pair[0],
                meant=pair[1],
            )
            self._warned_of_names = True

    def _rows(self, records: Sequence[Row]) -> Matrix:
        """Features of rows as dicts, ndarray of shape (n_rows, n_features)."""
        rows = [numbered(row, self._asked, x) for row, x in enumerate(records)]
        return np.concatenate([np.empty((0, self._columns.n_features)), *rows])

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = 1.0) -> None:
        """Learn rows in order, as `learn_one` would, until a row is bad.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)
        y : Series of shape (n_rows,)
        w : float or array_like of shape (n_rows,), default 1.0
            Weights of the rows.

        Raises
        ------
        ValueError
            If values are bad, or `y` or `w` has another index than `X`.
        """
        check_paired(X, y)
        check_paired(X, w, "w")
        warn_of_times(X, self.stream.state.warned)
        records = records_of(X)
        weights = check_weights(w, len(records), "w").tolist()
        rows = zip(records, responses_of(y, len(records)), weights, strict=True)
        for row, (x, response, weight) in enumerate(rows):
            numbered(row, self.learn_one, x, response, weight)

    @property
    def _raw_memory_usage(self) -> int:
        return int(super()._raw_memory_usage) + self.stream.memory_usage()


class StreamRegressor(StreamAdapter, RowAnswers, base.MiniBatchRegressor):
    """A stream of real responses, or of counts, as a regressor of river."""

    exposure: str | None = None  # of random trees, which have none

    def _apart(self, x: Row) -> tuple[Row, float | None]:
        """A row without its exposure, and that; None where the row has none."""
        if self.exposure is None:
            return x, None
        check_row(x)
        if self.exposure not in x:
            return x, None
        given = as_number(x[self.exposure])
        if given is None or not given > 0.0:
            raise ValueError(
                Message(
                    "{exposure!r}, the exposure, must be a number > 0; got {x!r}.",
                    exposure=self.exposure,
                    x=x[self.exposure],
                )
            )
        return {k: v for k, v in x.items() if k != self.exposure}, given

    def _response(self, response: float, exposure: float | None) -> Any:
        """A number as the model learns it."""
        if not self.stream.state.options.is_count:
            return response
        count = float(count_response([response], 1)[0])
        if self.exposure is None:
            return count
        if exposure is None:
            raise ArgumentError(
                "x",
                "must have the exposure of its count, {exposure!r}",
                Message("none"),
                exposure=self.exposure,
            )
        return Exposed(count, exposure)

    def learn_one(self, x: Row, y: float, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            Numbers and text. A value that is None, NaN or absent is missing.
        y : float
        w : float, default 1.0
            Weight >= 0 of the row; see `weighting`. A row of weight 0 is dropped.

        Raises
        ------
        ValueError
            If values are bad. The model is then as it was before the call.
        """
        response = None if isinstance(y, bool | np.bool_) else as_number(y)
        if response is None:
            raise ArgumentError(
                "y",
                "must be a number of at most {largest:g} in size",
                y,
                "Labels need model='class'; leave rows without a response out.",
                largest=LARGEST,
            )
        x, exposure = self._apart(x)
        self._learn(x, self._response(response, exposure), w)

    def predict_one(self, x: Row, with_dist: bool = False) -> float | RowDistribution:
        """Predictive mean at a row; it is 0 before the first row is learned.

        Parameters
        ----------
        x : dict
        with_dist : bool, default False
            Whether to return the whole predictive distribution, with `mu` and `sigma`.

        Returns
        -------
        float or RowDistribution
        """
        x, exposure = self._apart(x)
        with self.stream.exclusive():
            row = self._asked(x)
            if with_dist:
                return RowDistribution(self._predict(row, exposure))
            if not self.stream.n_seen:
                mean = float(self._predict(row).mean[0])
            else:
                mean = self.stream.tree.mean_at(row)
            return mean if exposure is None else exposure * mean

    def _answer(self, x: Row) -> Prediction:
        x, exposure = self._apart(x)
        with self.stream.exclusive():
            return self._predict(self._asked(x), exposure)

    def predict_many(self, X: pd.DataFrame) -> pd.Series[float]:
        """Predictive means of rows, as a Series with the index of X.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        Series of shape (n_rows,)
        """
        found = [numbered(k, self._apart, x) for k, x in enumerate(records_of(X))]
        exposure = [1.0 if over is None else over for _, over in found]
        with self.stream.exclusive():
            rows = self._rows([x for x, _ in found])
            prediction = self._predict(rows, exposure)
        answer: pd.Series[float] = series_of(X, prediction.mean.copy())
        return answer

    def _predict(self, rows: Matrix, exposure: Any = None) -> Prediction:
        if not self.stream.n_seen:
            over = np.full(len(rows), 1.0 if exposure is None else exposure)
            prediction = blank_prediction(self.stream.state.options, len(rows), over)
        else:
            more = {} if self.exposure is None else {"exposure": exposure}
            prediction = self.stream.predict(Encoded(rows), **more)
        assert isinstance(prediction, Prediction)
        return prediction


class StreamClassifier(StreamAdapter, LabelAnswers, base.MiniBatchClassifier):
    """A stream of labels as a classifier of river."""

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Row, y: Hashable, w: float = 1.0) -> None:
        """Learn a row and its label, known or new.

        Parameters
        ----------
        x : dict
            Numbers and text. A value that is None, NaN or absent is missing.
        y : hashable
        w : float, default 1.0
            Number of times that the row counts, >= 0. A row of weight 0 is dropped.

        Raises
        ------
        ValueError
            If values are bad. The model is then as it was before the call.
        """
        self._learn(x, y if type(y) in LABEL else label_list([y], 1)[0], w)

    def predict_proba_one(self, x: Row) -> dict[Hashable, float]:
        """Probability of each label that has come; {} before the first one.

        Parameters
        ----------
        x : dict

        Returns
        -------
        dict of float
        """
        tree = self.stream.tree
        with tree.exclusive():
            row = self._asked(x)
            proba = (
                tree.proba_at(row) if tree.n_seen else self._prediction_at(row).proba[0]
            )
            return dict(zip(tree.classes or (), proba.tolist(), strict=True))

    def _answer(self, x: Row) -> ClassPrediction:
        with self.stream.exclusive():
            return self._prediction_at(self._asked(x))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities at rows, as a frame with the index of X and a column per label.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_features)

        Returns
        -------
        DataFrame of shape (n_rows, n_classes)
        """
        answer: pd.DataFrame = proba_frame(X, self._predict(X))
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
        answer: pd.Series[Any] = best_labels(X, self._predict(X))
        return answer

    def _predict(self, X: Any) -> ClassPrediction:
        """Probabilities at the rows of a frame."""
        with self.stream.exclusive():
            return self._prediction_at(self._rows(records_of(X)))

    def _prediction_at(self, rows: Matrix) -> ClassPrediction:
        """Probabilities at encoded rows, also before the first label."""
        if not self.stream.n_seen:
            prediction = blank_prediction(self.stream.state.options, len(rows))
        else:
            prediction = self.stream.predict(Encoded(rows))
        assert isinstance(prediction, ClassPrediction)
        return prediction
