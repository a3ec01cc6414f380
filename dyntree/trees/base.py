"""TreeModel and TreePredictions: what several models of trees have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree import params
from dyntree._core.student_mixture import moments
from dyntree._core.trees import query
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, DegenerateTreesWarning, Message, warn
from dyntree.params import TreeOptions
from dyntree.params.labels import is_label
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress
from dyntree.storage.plain import plain
from dyntree.summaries import ClassPrediction, Prediction, TreeStats
from dyntree.summaries.counts import CountPrediction, RateLaws
from dyntree.summaries.draws import KINDS, PosteriorDraws
from dyntree.trees.answers.draws import (
    LEAST_ROOTS,
    DrawBlock,
    cloud_draws,
    effective_roots,
)
from dyntree.trees.answers.level_effects import (
    drawn_effects,
    mean_spreads,
    with_mean_spreads,
)
from dyntree.trees.answers.predictions import (
    blank_prediction,
    laws_of,
    mixture_of,
    proba_of,
)
from dyntree.trees.forest_options import ForestOptions
from dyntree.trees.learning.check import (
    coded,
    coded_once,
    extended,
    is_idle,
    is_plain_row,
    previewed,
    stored,
    with_effects,
)
from dyntree.trees.learning.exposures import (
    apart,
    asked_exposure,
    check_response_pairs,
    predicted_exposure,
    with_exposure,
)
from dyntree.trees.learning.pieces import Pieces
from dyntree.trees.learning.scaling import on_scale
from dyntree.trees.learning.weights import response_weights, weighed
from dyntree.trees.linear_options import LinearOptions
from dyntree.trees.state import TreeState

CLOUD = attrgetter("cloud")  # of a state
INTERNAL = frozenset(  # what models ask of one another, and `dir` does not list
    {
        "class_place", "columns_without_values", "draw_blocks", "drawn", "effect_means",
        "effect_places",
        "exclusive",
        "fix_columns", "from_arrays", "learn_encoded", "learn_part", "learn_row",
        "leave_new_levels_to_another", "level_places", "mean_at", "of_state",
        "part_from_last_row", "pieces_of", "plain_row", "preview", "proba_at",
        "reseeded", "state", "states", "to_arrays", "unit", "warn_if_alike",
        "with_window",
    }
)  # fmt: skip


def cloud_sizes(model: Any) -> str:
    """Particles of a model, "1000"; of several clouds "15 clouds of 5 to 30"."""
    clouds = [state for state in model.states if is_cloud(state)]
    sizes = sorted({state.options.n_particles for state in clouds})
    some = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    if getattr(model, "members", None) is None:
        return some
    return f"{len(clouds)} clouds of {some}"


def forest_sizes(model: Any) -> str:
    """Random trees beside the clouds of a model, "10 forests of 6"; "" without any."""
    sizes = [state.options.n_particles for state in model.states if is_forest(state)]
    if not sizes or getattr(model, "members", None) is None:
        return ""
    some = "forest" if len(sizes) == 1 else "forests"
    return f"{len(sizes)} {some} of {' or '.join(map(str, sorted({*sizes})))}"


def regressions_in(model: Any) -> str:
    """Regressions beside the clouds of a model, "2 regressions"; "" without any."""
    n = sum(isinstance(state.options, LinearOptions) for state in model.states)
    return f"{n} regression" + "s" * (n > 1) if n and hasattr(model, "members") else ""


def is_forest(state: TreeState) -> bool:
    """Whether a state is that of random trees."""
    return isinstance(state.options, ForestOptions)


def is_regression(state: TreeState) -> bool:
    """Whether a state is that of regressions that learn row by row."""
    return isinstance(state.options, LinearOptions)


def is_cloud(state: TreeState) -> bool:
    """Whether a state is that of particles."""
    return isinstance(state.options, TreeOptions)


class TreeModel(Suggesting):
    """A model of one tree or several: its rows, columns, labels and size, by name.

    Attributes
    ----------
    state : TreeState
        Of the tree, or of the first of several, which know the same.
    states : list of TreeState
        Of all its trees.
    """

    unit = "row"
    state: TreeState
    _lock: AbstractContextManager[Any]
    learn_row: Callable[..., None]
    _learn: Callable[..., None]

    @property
    def states(self) -> list[TreeState]:
        """States of all trees of the model."""
        return [self.state]

    @property
    def n_seen(self) -> int:
        """Number of rows given to `update` so far."""
        return self.state.n_seen

    @property
    def n_degenerate(self) -> int:
        """Steps at which no particle of a tree gave the row a positive density."""
        return sum(state.n_degenerate for state in self.states)

    @property
    def is_ready(self) -> bool:
        """Whether the model has trees, so that it can predict."""
        return None not in map(CLOUD, self.states)

    @property
    def model(self) -> str:
        """The model in the leaves."""
        return self.state.options.model

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""
        return self.state.options.has_labels

    @property
    def log_evidence(self) -> float:
        """Sum of log predictive densities of the rows, each given those before it."""
        cloud = self.state.cloud
        return 0.0 if cloud is None else cloud.log_evidence

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None until they are known."""
        return self.state.options.classes

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names of X, if it had names; None until they are known."""
        features = self.state.features
        return None if features is None else features.names

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Levels, as text, of each column whose levels are known or were named."""
        state = self.state
        found = {} if state.features is None else state.features.levels_of
        texts = {name: (*own.places,) for name, own in found.items()}
        return dict(state.options.categories or ()) | texts

    @property
    def columns_without_values(self) -> tuple[str, ...]:
        """Columns without any value so far, whose type is still open."""
        features = self.state.features
        return () if features is None else features.unknown

    @property
    def level_places(self) -> dict[str, list[int]]:
        """Feature indices of the levels, for each column that has levels."""
        features = self.state.features
        return {} if features is None else dict(features.level_places)

    @property
    def effect_places(self) -> dict[str, list[int]]:
        """Feature indices of the effect columns, for each column that has some."""
        features = self.state.features
        return {} if features is None else dict(features.effect_places)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... where none were given."""
        features = self.state.features
        return () if features is None else features.feature_names

    def pieces_of(self, y: Any, weights: Vector | None) -> Pieces | None:
        """How the model, or the first of several trees, would learn a table of rows.

        Parameters
        ----------
        y : array_like of shape (n_rows,)
            Responses, or labels.
        weights : ndarray of shape (n_rows,) or None
            > 0.

        Returns
        -------
        Pieces, or None where rows are learned as they come
        """
        return None

    def class_place(self, label: Hashable) -> int:
        """Index of a label in `classes`.

        Parameters
        ----------
        label : hashable

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If it is none of them.
        """
        classes = self.state.options.classes or ()
        if not is_label(label) or label not in classes:
            raise ArgumentError(
                "label",
                "must name the class whose probability is analysed, one of {classes}",
                label,
                classes=list(classes),
            )
        return classes.index(label)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context manager that keeps other threads out of a series of calls."""
        return self._lock

    @locked
    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Encoded, list[Any]]:
        """Check and encode a stream that is to be learned; see `Learner.preview`.

        The first rows determine the encoding as they will when the model learns them.
        While there are no trees, only `update` refuses values that are beyond the scale
        of the first rows.
        """
        return previewed(self.state, X, y, start)

    @locked
    def fix_columns(self, features: FeatureMap) -> None:
        """Set the columns of rows before the first row comes.

        Parameters
        ----------
        features : FeatureMap
        """
        if self.n_seen:
            raise ValueError(
                Message(
                    f"columns can be set only before the first row; {self.n_seen} "
                    "rows have come."
                )
            )
        for state in self.states:
            state.features = features

    def _take_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        exposure: Any,
        progress: Progress,
        *more: Any,
    ) -> Self:
        """Learn rows: one that needs no encoding by `learn_row`, others by `_learn`."""
        with self._lock:
            y = with_exposure(self.state.options, X, y, exposure)
            X, y, weights = weighed(self.state.options, X, y, sample_weight)
            if progress in (None, False) and is_plain_row(self.state, X, y):
                self.learn_row(X, y.item(), 1.0 if weights is None else weights.item())
            else:
                check_progress(progress)
                if not is_idle(self.state, X, y):
                    self._learn(X, y, weights, *more, progress)
        return self

    def draw_blocks(
        self,
        X: Any,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Any = None,
        n_compared: int = 0,
    ) -> Iterator[DrawBlock]:
        """Joint draws at rows, in blocks of rows.

        Use it to reduce each block at once, so that not all draws are in memory
        together. The model must not learn in the meantime; see `exclusive`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        n_draws : int
        rng : Generator
        exposure : array_like of shape (n_rows,), optional
            Of counts; 1 by default.
        n_compared : int, default 0
            How many settings of the same rows follow one another, if differences
            between them are asked about; an average asks members that are right about
            these. Else 0.

        Yields
        ------
        DrawBlock
        """
        for state in self.states:
            state.ready("posterior_draws")
        for part, asked in drawn_effects(self.state, X, n_draws, rng, n_compared):
            n_own = part.stop - part.start
            for block in self._draw_blocks(asked, n_own, rng, exposure, n_compared):
                yield replace(block, places=part.start + block.places)

    def _draw_blocks(
        self,
        X: Any,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Any,
        n_compared: int,
    ) -> Iterator[DrawBlock]:
        """As `draw_blocks`, for fixed effects of levels."""
        rows = stored(self.state, X)
        at = asked_exposure(self.state, len(rows), exposure)
        yield from cloud_draws(self.state.cloud, rows, n_draws, rng, at)

    @locked
    def posterior_draws(
        self,
        X: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        sample_weight: Any = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows of X.

        A draw is one tree with one set of parameters for each of its leaves. Every draw
        covers all rows, so that differences and averages of rows have intervals.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        n_draws : int, default 1000
            At least 1.
        kind : {"mean", "obs"}, default "mean"
            "mean" draws mean responses, or probabilities of labels. "obs" draws new
            responses, or labels, with noise that is independent between rows.
        seed : int or Generator, optional
            Seed of the draws. The model's own random numbers are not used.
        sample_weight : array_like of shape (n_rows,), optional
            For ``kind="obs"``: weights > 0 of the new responses, if weights divide
            variances; by default 1.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of counts; by default 1, so that means are rates.

        Returns
        -------
        PosteriorDraws
            The shape of its `values` is (n_draws, n_rows), or (n_draws, n_rows,
            n_classes) for probabilities.

        Raises
        ------
        NotReadyError
            If there are no trees yet.
        ValueError
            If the input is bad.

        Warns
        -----
        DegenerateTreesWarning
            Once, if the model is a single cloud whose trees nearly all begin with the
            same few splits. Contrasts then vary too little between draws.

        Notes
        -----
        Particles are drawn systematically and in random order. From an average, members
        are drawn by their weights, and particles within them. In each leaf that rows
        reach, sigma^2 is inverse gamma and the coefficients are normal given it
        (O'Hagan and Forster 2004, section 11.4), the probabilities of labels are
        Dirichlet, and the rates of counts are gamma or beta prime. A draw from random
        trees is one tree and one of its prunings, by the posterior probability of each,
        with a draw from each of its leaves. An average of label models may predict
        something other than the mean of its members. Members are then drawn by `powers`
        or by weight, and the smallest part of each drawn probability that makes the
        mean of the draws equal to `predict` is moved to other labels.

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import AveragedTrees
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((200, 2))
        >>> y = 2 * X[:, 0] + 0.1 * rng.standard_normal(200)
        >>> trees = AveragedTrees("linear", n_particles=50, seed=1).update(X, y)
        >>> draws = trees.posterior_draws([[0.75, 0.5], [0.25, 0.5]], seed=1)
        >>> difference = draws.contrast([1, -1])
        >>> difference.mean().round(1), difference.conf_int().round(1)
        (array([1.]), array([[1., 1.]]))
        """
        n_draws = params.count("n_draws", n_draws, 1)
        params.one_of("kind", kind, KINDS)
        rng = params.generator(seed)
        response_weights(self.states[0], None, sample_weight)
        if sample_weight is not None and kind == "mean":
            raise ArgumentError(
                "sample_weight",
                "is for new responses, kind='obs'; a mean has no weight",
                remedy="Leave it out.",
            )
        self.warn_if_alike()
        return self.drawn(X, n_draws, kind, rng, sample_weight, exposure)

    @locked
    def drawn(
        self,
        X: Any,
        n_draws: int,
        kind: str,
        rng: np.random.Generator,
        sample_weight: Any = None,
        exposure: Any = None,
        n_compared: int = 0,
    ) -> PosteriorDraws:
        """As `posterior_draws`, for checked arguments and without a warning.

        `n_compared` is as in `draw_blocks`.
        """
        check_response_pairs(X, sample_weight, exposure)
        values: NDArray[Any] | None = None
        weights: Vector | None = None
        is_obs = kind == "obs"
        for block in self.draw_blocks(X, n_draws, rng, exposure, n_compared):
            if values is None:
                n_rows = block.mean.shape[1]
                weights = response_weights(self.states[0], n_rows, sample_weight)
            some = block.responses(rng, weights) if is_obs else block.mean
            if values is None:
                values = np.empty((n_draws, *some.shape[1:]), some.dtype)
            values[block.places] = some
        assert values is not None
        if is_obs and self.classes is not None:
            labels = np.empty(len(self.classes), dtype=object)
            labels[:] = self.classes
            values = labels[values]
        return PosteriorDraws(values, kind, self.classes)

    @locked
    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : array_like of shape (n_rows, n_features), or frame
            Two sets of rows of the same number. Each draw uses one tree and one set of
            parameters for both rows of a pair.
        n_draws, kind, seed
            As in `posterior_draws`. For labels only ``kind="mean"`` is possible, since
            probabilities have differences and labels have none.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposure of the counts of both rows of a pair; by default 1.

        Returns
        -------
        PosteriorDraws
            The draws at X_1 minus the draws at X_0.
        """
        n_draws = params.count("n_draws", n_draws, 1)
        params.one_of("kind", kind, KINDS)
        rng = params.generator(seed)
        if kind == "obs" and self.is_classifier:
            raise ArgumentError(
                "kind",
                "must be 'mean' for labels, which have no differences",
                Message("'obs'"),
            )
        self.state.ready("compute_contrast")
        before, after = (
            coded(self.state, X, name)[:, self.state.ones :]
            for X, name in ((X_0, "X_0"), (X_1, "X_1"))
        )
        if len(before) != len(after):
            raise ValueError(
                Message(
                    f"X_0 and X_1 must have as many rows; got {len(before)} and "
                    f"{len(after)}."
                )
            )
        if exposure is not None:
            check_response_pairs(X_1, None, exposure)
            exposure = np.tile(asked_exposure(self.state, len(after), exposure), 2)
        self.warn_if_alike()
        rows = Encoded(np.concatenate([after, before]))
        both = self.drawn(rows, n_draws, kind, rng, None, exposure, n_compared=2)
        n = len(after)
        values = both.values[:, :n] - both.values[:, n:]
        return PosteriorDraws(values, kind, self.classes)

    def effect_means(self, X: Any, n_compared: int) -> Vector | Matrix:
        """Predicted means, or probabilities, whose differences are asked about.

        Parameters
        ----------
        X
            As in `predict`.
        n_compared : int
            As in `draw_blocks`.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_classes) for labels
        """
        model: Any = self  # trees and averages of them predict
        answer = model.predict(X)
        found = answer.proba if isinstance(answer, ClassPrediction) else answer.mean
        return np.asarray(found)

    def warn_if_alike(self) -> None:
        """Warn once if the trees of a single cloud share their first few splits."""
        state = self.states[0]
        one_cloud = len(self.states) == 1 and is_cloud(state)
        if not one_cloud or state.cloud is None or "roots" in state.warned:
            return
        n_roots = effective_roots(state.cloud)
        if n_roots < LEAST_ROOTS:
            warn(
                DegenerateTreesWarning,
                f"the trees of this cloud begin with {n_roots:.1f} effectively "
                f"distinct splits, fewer than {LEAST_ROOTS:g}: they agree by chance, "
                "so that intervals of differences and effects are too narrow. "
                "Average several clouds: AveragedTrees(...), or n_clouds=10 in a "
                "formula or an estimator.",
            )
            state.warned.add("roots")

    def plain_row(self, row: Mapping[Any, Any]) -> Matrix | None:
        """A dict as an array that the model takes for the same row, or None.

        Parameters
        ----------
        row : dict

        Returns
        -------
        ndarray of shape (1, n_features) or None
            None where columns are missing, hold no floats, or are not known yet.
        """
        state = self.state
        if state.cloud is None or state.options.rules == "r":
            return None
        assert state.features is not None
        return state.features.plain_row(row)

    def leave_new_levels_to_another(self) -> None:
        """Do not count new levels; another model that learns the same rows does."""
        for state in self.states:
            state.new_levels = None

    @locked
    def memory_usage(self) -> int:
        """Bytes used by trees, rows and work space."""
        return sum(state.nbytes() for state in self.states)

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        model: Any = self
        options = self.state.options
        return {
            "kind": type(self).__name__,
            "model": self.model,
            "rules": options.rules,
            "particles": sum(
                state.options.n_particles for state in self.states if is_cloud(state)
            ),
            "seed": model.seed,
            "columns": list(self.feature_names),
            "classes": plain(self.classes),
            "rows learned": self.n_seen,
            "active rows": sum(state.n_active for state in self.states),
            "log evidence": self.log_evidence,
            "bytes in memory": self.memory_usage(),
        }

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]

    def __repr__(self) -> str:
        model: Any = self
        forests = forest_sizes(model.tree)
        regressions = regressions_in(model.tree)
        beside = f", {forests} trees" if forests else ""
        beside += f", {regressions}" if regressions else ""
        return (
            f"<{type(self).__name__} {self.model!r}: "
            f"{cloud_sizes(model.tree)} particles{beside}, {model.n_seen} rows learned>"
        )


class TreePredictions(TreeModel):
    """The part of a single model that says what it is and predicts."""

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
        """Number of active rows, which are stored individually."""
        return self.state.n_active

    @property
    def n_retired(self) -> int:
        """Number of rows retired so far."""
        return self.state.n_retired

    @property
    @locked
    def active_ids(self) -> NDArray[np.int64]:
        """Row numbers of the active rows, ndarray of int64 of shape (n_active,).

        A row that was learned in pieces is listed once for each that is active.
        """
        return self.state.row_ids()

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
            asked = coded_once(state, X)
            rows = stored(state, asked)
            weights = response_weights(state, len(rows), sample_weight)
            at = predicted_exposure(state, X, len(rows), exposure)
            n_threads = params.n_threads(threads) if len(rows) > 1 else 1
            if state.options.is_count:
                more = mean_spreads(state, asked, partial(self._means_at, exposure=at))
                laws = laws_of(cloud, rows, n_threads, at)
                return CountPrediction.of_laws(laws, at, more)
            if classes is None:
                parts = mixture_of(cloud, rows, n_threads, weights)
                more = mean_spreads(state, asked, self._means_at)
                parts = with_mean_spreads(parts, more)
                least_df = LEAST_DF if state.options.rules == "native" else 0.0
                return Prediction.of_mixture(parts, n_threads, least_df)
            if state.options.rules == "native":
                proba = proba_of(cloud, rows, n_threads)
                return ClassPrediction(proba, classes, entr(proba).sum(axis=1))
            answer = query.predict_class(cloud, rows, n_threads)
            return ClassPrediction(answer["p"], classes, answer["entropy"])

    def _means_at(self, X: Any, exposure: Vector | None = None) -> Vector:
        """Predicted means at rows, of counts by their exposures, shape (n_rows,)."""
        cloud, rows = self.state.cloud, stored(self.state, X)
        if exposure is not None:
            return RateLaws(*laws_of(cloud, rows, 1, exposure)).moments()[0]
        return np.asarray(moments(*mixture_of(cloud, rows)[:5])[0])

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
                "mean_at",
                "needs real responses",
                Message("model={model!r}", model=self.options.model),
            )
        if self.state.cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, Prediction)
            return float(prediction.mean[0])
        state = self.state
        assert state.features is not None
        row = on_scale(state.cloud, state.features, row, state.warned)
        row = with_effects(state, row)
        parts = mixture_of(state.cloud, row)[:5]
        return float(moments(*parts)[0][0])

    @locked
    def proba_at(self, row: Matrix) -> Vector:
        """Probabilities of the classes at one row, as in `mean_at`."""
        if not self.is_classifier:
            raise ArgumentError(
                "proba_at",
                "needs labels, model='class' or 'logit'",
                Message("model={model!r}", model=self.options.model),
            )
        if self.state.cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, ClassPrediction)
            return np.asarray(prediction.proba[0])
        return np.asarray(proba_of(self.state.cloud, with_effects(self.state, row))[0])

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
            If leaves have no coefficients, or the input is bad.
        """
        cloud = self.state.ready("coef")
        if not self.options.has_slopes:
            raise ArgumentError(
                "coef",
                "needs model='linear' or 'logit'",
                Message("model={model!r}", model=self.options.model),
            )
        return np.asarray(query.coef(cloud, stored(self.state, X)))

    @locked
    def stats(self) -> TreeStats:
        """Return height, leaves and leaf sizes, averaged over particles."""
        return TreeStats(*map(float, query.tree_stats(self.state.ready("stats"))))
