"""TreeAverage: several clouds of trees that answer as one model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree import checkpoint, params
from dyntree._core.student_mixture import moments
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.targets import NumbersWatch, are_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.params import MIXED, TreeOptions
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.progress import Progress
from dyntree.runtime.seeds import spawned
from dyntree.summaries import (
    ClassPrediction,
    Importance,
    Prediction,
    Relevance,
    Sensitivity,
    TreeStats,
)
from dyntree.summaries.counts import CountPrediction, RateLaws
from dyntree.trees.answers.criteria import Bounds, check_scoring, region
from dyntree.trees.answers.draws import (
    DrawBlock,
    cloud_draws,
    moved,
    systematic,
    transport,
)
from dyntree.trees.answers.level_effects import mean_spreads, with_mean_spreads
from dyntree.trees.answers.predictions import laws_of, mixture_of, proba_of
from dyntree.trees.answers.sensitivity import input_shares
from dyntree.trees.averages.effects import Reference
from dyntree.trees.averages.view import AverageView, picked
from dyntree.trees.base import TreeModel, is_forest, is_regression
from dyntree.trees.learning.check import coded, coded_once, stored, with_effects
from dyntree.trees.learning.exposures import (
    asked_exposure,
    check_response_pairs,
    predicted_exposure,
)
from dyntree.trees.learning.scaling import on_scale
from dyntree.trees.learning.weights import response_weights
from dyntree.trees.model import DynamicTree
from dyntree.trees.state import TreeState, with_ones
from dyntree.trees.view import Rehearsal, TreeView

HELD_SHARE = 0.1  # of the range of responses: how far outside a location may be
STATE = attrgetter("state")  # of a member; a loop in C, as it runs with each row
Parts = tuple[NDArray[np.int64], Vector, Vector, Vector, Vector, Vector]


def joined(parts: Sequence[Parts], weights: Vector) -> Parts:
    """Mixtures of each member at each row -> one weighted mixture at each row.

    Parts are the arrays of `query.mixture`, as is what is returned: the components of
    a row stand together, those of the first member first.
    """
    if len(parts[0][0]) == 2:  # one row
        columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)][2:]
        weight = np.concatenate([w * p[1] for w, p in zip(weights, parts, strict=True)])
        return np.array([0, len(weight)]), weight, *columns  # type: ignore[return-value]
    sizes = np.array([np.diff(part[0]) for part in parts])
    start = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
    first = start[:-1] + np.cumsum(sizes, axis=0) - sizes
    found = [np.empty(start[-1]) for _ in parts[0][1:]]
    for k, (begin, weight, *others) in enumerate(parts):
        place = np.repeat(first[k] - begin[:-1], sizes[k]) + np.arange(len(weight))
        for array, values in zip(found, [weights[k] * weight, *others], strict=True):
            array[place] = values
    return start, *found  # type: ignore[return-value]


def among(weights: Vector) -> Vector:
    """Weights as shares of their sum, or equal ones if all have come down to 0.

    Of shape (n_members,), like what is returned.
    """
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))


def share_effects(members: Sequence[Any]) -> None:
    """Let members that learn the same rows in one order know one set of effects."""
    for member in members[1:]:
        member.state.effects = members[0].state.effects


def share_warnings(members: Sequence[Any]) -> None:
    """Let members know which warnings the others have given, so that one says each."""
    for member in members[1:]:
        member.state.warned = members[0].state.warned


class TreeAverage(TreeModel, checkpoint.Stored):
    """Weighted average of several clouds.

    All results are those of the mixture of their predictive distributions.

    Attributes
    ----------
    members : list of DynamicTree or StreamingTree
        The clouds, each with all methods of its class.
    seed : int
    """

    members: list[Any]
    seed: int
    _model: str
    _watch: NumbersWatch | None = None  # of responses, if nobody named the leaves
    _is_open: bool  # whether the first rows may yet choose the leaves, by being labels
    _span: tuple[float, float] | None  # lowest and highest response, see `_is_held`

    @property
    @abstractmethod
    def weights(self) -> Vector:
        """Current weight of each member in predictions, shape (n_members,)."""

    @property
    def state(self) -> TreeState:  # type: ignore[override]
        """State of the first member; all members know the same columns and labels."""
        state: TreeState = self.members[0].state
        return state

    @property
    def _trees(self) -> list[DynamicTree]:
        """Dynamic trees of the members, without their windows."""
        trees = [member.tree for member in self.members]
        return [tree for tree in trees if isinstance(tree, DynamicTree)]

    @property
    def _tree_weights(self) -> Vector:
        """What each of the dynamic trees counts for among them, shape (n_trees,)."""
        is_tree = [isinstance(member.tree, DynamicTree) for member in self.members]
        return among(self.weights[np.array(is_tree)])

    @property
    def model(self) -> str:
        """The model in the leaves: one of `DynamicTree`'s, or "mixed"."""
        return self._model

    @property
    def states(self) -> list[TreeState]:
        """States of all members."""
        return [*map(STATE, self.members)]

    @property
    def _is_linear(self) -> Vector:
        """1 for each member with linear leaves, and else 0, shape (n_members,)."""
        return np.array(
            [state.options.model == "linear" for state in self.states], float
        )

    def _widen_span(self, low: float, high: float) -> None:
        """Take account of the ends of further responses in `_span`."""
        if self._span is not None:
            low, high = min(low, self._span[0]), max(high, self._span[1])
        self._span = low, high

    @property
    def spread_factor(self) -> float:
        """What the scales of clouds are multiplied by in predictions."""
        return 1.0

    @property
    def _is_held(self) -> bool:
        """Whether members may predict no location far outside of the responses so far.

        A line goes on beyond its rows, where steps and random trees stay: a mixed
        average without a forest needs it.
        """
        return self.model == MIXED and not any(map(is_forest, self.states))

    @property
    def _reach(self) -> tuple[float, float]:
        """Lowest and highest location that a member may predict, see `_is_held`.

        They are a tenth of the range of the responses so far outside of it.
        """
        if self._span is None:
            return -np.inf, np.inf
        low, high = self._span
        return low - HELD_SHARE * (high - low), high + HELD_SHARE * (high - low)

    @abstractmethod
    def _for_labels(self) -> Self:
        """A model like this one, without rows, that classifies."""

    @contextmanager
    def _leaves_for(self, y: Any) -> Iterator[None]:
        """Let the first responses choose labels, if nobody named a model.

        An error in the body undoes it.
        """
        watch, before = self._watch, dict(vars(self)) if self._is_open else {}
        has_labels = self._is_open and not self.n_seen and are_labels(y)
        if has_labels:
            vars(self).update(vars(self._for_labels()) | {"_lock": self._lock})
        elif watch is not None and not self.is_classifier:
            self._watch = watch.after(y, self.model)
        try:
            yield
        except BaseException:
            self._watch = watch
            if not self.n_seen:
                vars(self).update(before)
            raise
        if self.n_seen:
            self._is_open = False

    @locked
    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Encoded, list[Any]]:
        """Check and encode a stream that is to be learned; see `Learner.preview`.

        Labels choose the leaves if nobody named a model, as in `update`.
        """
        with self._leaves_for(y):
            return super().preview(X, y, start)

    @property
    def tree(self) -> Any:
        """The average itself, under the name that streams use for their tree."""
        return self

    @property
    def options(self) -> TreeOptions:
        """Options of the first member's trees."""
        return self.state.options

    @property
    def n_active(self) -> int:
        """Number of rows stored individually, in all members together."""
        return sum(state.n_active for state in self.states)

    @property
    def n_retired(self) -> int:
        """Number of rows retired so far, in all members together."""
        return sum(state.n_retired for state in self.states)

    def _reseeded_members(self, seed: int) -> list[Any]:
        """Copies of members that have seen no row, with seeds that come from one."""
        seeds = spawned(seed, len(self.members))
        pairs = zip(self.members, seeds, strict=True)
        return [member.reseeded(own) for member, own in pairs]

    def _check_same_rows(self) -> None:
        """Raise RuntimeError unless all members have learned the same rows."""
        if len({state.n_seen for state in self.states}) > 1:
            raise RuntimeError(
                "members must have learned the same rows; got "
                f"{[member.n_seen for member in self.members]} rows. One member "
                "learned rows by itself, or memory ran out; continue from a "
                "checkpoint."
            )

    @locked
    def remove_data(self) -> Self:
        """Drop every row in all members; see `DynamicTree.remove_data`."""
        self._ready("remove_data")
        for member in self.members:
            member.tree.remove_data()
        if self._span is not None:  # whose ends are responses: further out, on a grid
            low, high = self._span
            step = 2.0 ** np.ceil(np.log2((high - low) / 32.0)) if high > low else 1.0
            ends = np.floor(low / step) * step, np.ceil(high / step) * step
            self._span = float(ends[0]), float(ends[1])
        return self

    @locked
    def rehearse(self, X: Any, y: Any) -> Rehearsal | None:
        """Report what a further row would do to the particles; see `DynamicTree`.

        Shares are averaged over the members by their weights.
        """
        found = [tree.rehearse(X, y) for tree in self._ready("rehearse")]
        if any(one is None for one in found):
            return None
        return Rehearsal(
            *self._tree_average([np.array([*one]) for one in found if one])
        )

    def _ready(self, what: str) -> list[DynamicTree]:
        """Return the trees, or raise NotReadyError."""
        trees = self._trees
        for tree in trees:
            tree.state.ready(what)
        return trees

    # ------------------------------------------------------------ predictions
    def predict(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        threads: int | None = None,
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X, a mixture over the members.

        The parameters and the result are those of `DynamicTree.predict`.
        """
        n_threads = params.n_threads(threads)
        check_response_pairs(X, sample_weight, exposure)
        with self._lock:
            if not self.is_ready:
                return self._trees[0].predict(X, sample_weight, exposure=exposure)
            asked = coded_once(self.state, X)
            rows = self._member_rows(asked)
            at = predicted_exposure(self.state, X, len(rows[0]), exposure)
            weights = response_weights(self.state, len(rows[0]), sample_weight)
            n_threads = n_threads if len(rows[0]) > 1 else 1
            if self.is_classifier:
                proba = self._proba(rows, n_threads)
                entropy: Vector = entr(proba).sum(axis=1)
                return ClassPrediction(proba, self.classes or (), entropy)
            if self.options.is_count:
                more = mean_spreads(
                    self.state, asked, partial(self._means_at, exposure=at)
                )
                laws = self._laws(rows, n_threads, at)
                return CountPrediction.of_laws(laws, at, more)
            whole = self._mixture(rows, n_threads, weights)
            if self._span is not None:
                np.clip(whole[2], *self._reach, out=whole[2])
            whole = with_mean_spreads(
                whole, mean_spreads(self.state, asked, self._means_at)
            )
            return Prediction.of_mixture(whole, n_threads, LEAST_DF)

    def _laws(self, rows: Sequence[Matrix], n_threads: int, exposure: Vector) -> Any:
        """Laws of counts of all members, as of `laws_of`; rows as of `_member_rows`."""
        laws = [
            laws_of(state.cloud, own, n_threads, exposure)
            for state, own in zip(self.states, rows, strict=True)
        ]
        return joined(laws, self.weights)

    def _means_at(self, X: Any, exposure: Vector | None = None) -> Vector:
        """Predicted means at rows, of counts by their exposures, shape (n_rows,)."""
        rows = self._member_rows(X)
        if exposure is not None:
            return RateLaws(*self._laws(rows, 1, exposure)).moments()[0]
        whole = self._mixture(rows, 1, None)
        if self._span is not None:
            np.clip(whole[2], *self._reach, out=whole[2])
        return np.asarray(moments(*whole[:5])[0])

    def _mixture(
        self, rows: Sequence[Matrix], n_threads: int, weights: Vector | None
    ) -> Parts:
        """The mixture of all members at each row, as of `query.mixture`.

        Rows are as of `_member_rows`; `weights` of the responses are as they have them.
        """
        parts = [
            mixture_of(state.cloud, own, n_threads, weights)
            for state, own in zip(self.states, rows, strict=True)
        ]
        if self.spread_factor != 1.0:
            for state, part in zip(self.states, parts, strict=True):
                if not is_forest(state):
                    np.multiply(part[3], self.spread_factor, out=part[3])
        return joined(parts, self.weights)

    def mean_at(self, row: Matrix) -> float:
        """Predictive mean at one encoded row; see `DynamicTree.mean_at`."""
        if self.is_classifier or not self.is_ready:
            return self._trees[0].mean_at(row)
        prediction = self.predict(Encoded(row))
        assert isinstance(prediction, Prediction)
        return float(prediction.mean[0])

    def proba_at(self, row: Matrix) -> Vector:
        """Probabilities of the classes at one encoded row, as in `mean_at`."""
        if not (self.is_classifier and self.is_ready):
            return self._trees[0].proba_at(row)
        prediction = self.predict(Encoded(row))
        assert isinstance(prediction, ClassPrediction)
        first: Vector = prediction.proba[0]
        return first

    def _member_rows(self, X: Any, argument: str = "X") -> list[Matrix]:
        """Rows as the cloud of each member stores them, checked."""
        lead, *others = self.states
        if isinstance(X, Encoded) and X.has_effects:
            return [with_ones(X.rows, lead.ones)] * len(self.members)
        rows, features = coded(lead, X, argument), lead.features
        assert features is not None
        plain = np.ascontiguousarray(rows[:, lead.ones :])
        near = (
            on_scale(state.cloud, features, plain, state.warned) for state in others
        )
        members = [rows, *(with_ones(own, lead.ones) for own in near)]
        return [*map(with_effects, self.states, members)]

    def _proba(self, rows: Sequence[Matrix], n_threads: int = 1) -> Matrix:
        """Probabilities at each row, shape (n_rows, n_classes)."""
        return self._mixed(np.array(self._member_proba(rows, n_threads)))

    @abstractmethod
    def _mixed(self, members: NDArray[np.float64]) -> Matrix:
        """Probabilities of the average at each row, (n_rows, n_classes).

        Those of the members are of shape (n_members, n_rows, n_classes).
        """

    def _member_proba(self, rows: Sequence[Matrix], n_threads: int) -> list[Matrix]:
        """Probabilities at each row by each member."""
        return [
            proba_of(state.cloud, own, n_threads)
            for state, own in zip(self.states, rows, strict=True)
        ]

    def _averaged(self, values: Any) -> Any:
        """Weighted mean of one array a member."""
        return sum(w * value for w, value in zip(self.weights, values, strict=True))

    def _tree_average(self, values: Any) -> Any:
        """Weighted mean of one array a dynamic tree."""
        pairs = zip(self._tree_weights, values, strict=True)
        return sum(weight * value for weight, value in pairs)

    # ------------------------------------------------------------ draws
    @property
    def _draw_weights(self) -> Vector:
        """Weight of each member among draws, shape (n_members,)."""
        return self.weights

    @property
    def _effect_weights(self) -> Vector:
        """Weight of each member in questions about effects, shape (n_members,).

        In a mixed average these are for linear leaves alone: constant ones shrink a
        slope towards zero with confidence, however well they predict.
        """
        weights = self._draw_weights
        if self.model != MIXED:
            return weights
        shares = np.zeros(len(weights))
        is_linear = self._is_linear > 0.0
        shares[is_linear] = among(weights[is_linear])
        return shares

    def _draw_blocks(
        self,
        X: Any,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Any,
        n_compared: int,
    ) -> Iterator[DrawBlock]:
        """As `draw_blocks`, for fixed effects of levels."""
        rows = self._member_rows(X)
        weights = self._effect_weights if n_compared else self._draw_weights
        at = asked_exposure(self.state, len(rows[0]), exposure)
        reference = self._reference(rows[0], n_compared)
        if reference is not None:
            yield from self._effect_blocks(rows[0], reference, n_draws, rng, at)
            return
        which = systematic(weights, n_draws, rng)
        parts: tuple[Matrix, Matrix] | None = None
        if self.is_classifier:
            members = np.array(self._member_proba(rows, 1))
            before = sum(w * own for w, own in zip(weights, members, strict=True))
            parts = transport(np.asarray(before), self._mixed(members))
        for k in np.unique(which).tolist():
            own = np.flatnonzero(which == k)
            cloud = self.states[k].cloud
            for block in cloud_draws(cloud, rows[k], len(own), rng, at):
                mean = block.mean if parts is None else moved(block.mean, *parts)
                if self._span is not None and not n_compared:
                    mean = np.clip(mean, *self._reach)
                noise = block.noise
                if noise is not None and not is_forest(self.states[k]):
                    noise = noise * self.spread_factor
                yield DrawBlock(own[block.places], mean, noise, block.size)

    def _reference(self, rows: Matrix, n_compared: int) -> Reference | None:
        """Rows over which regressions say how large effects are, or None."""
        filters = next(filter(is_regression, self.states), None)
        if filters is None:
            return None
        pool = max(self._trees, key=lambda tree: tree.n_active).state.cloud
        return Reference.of(filters.cloud, rows, n_compared, pool)

    def _by_effects(self) -> tuple[Vector, Vector]:
        """Weights among the trees, and among the regressions, each (n_members,)."""
        of_lines = np.array([is_regression(state) for state in self.states])
        found = np.zeros((2, len(of_lines)))
        for weights, part in zip(found, (~of_lines, of_lines), strict=True):
            weights[part] = among(self._draw_weights[part])
        return found[0], found[1]

    def _member_draws(
        self,
        weights: Vector,
        rows: Matrix,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Vector,
    ) -> Iterator[DrawBlock]:
        """Draws of members by these weights, as they are."""
        which = systematic(weights, n_draws, rng)
        for k in np.unique(which).tolist():
            own = np.flatnonzero(which == k)
            cloud = self.states[k].cloud
            for block in cloud_draws(cloud, rows, len(own), rng, exposure):
                yield replace(block, places=own[block.places])

    def _effect_blocks(
        self,
        rows: Matrix,
        reference: Reference,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Vector,
    ) -> Iterator[DrawBlock]:
        """Draws of trees, whose means at reference rows are those of regressions."""
        trees, lines = self._by_effects()
        ones, own, whole = np.ones(len(reference.rows)), *self._levels(lines, reference)
        wanted = np.empty((n_draws, *own.shape[1:]))
        for block in self._member_draws(lines, reference.rows, n_draws, rng, ones):
            means = reference.means(block.mean)
            wanted[block.places] = reference.wanted(means, own, whole)
        n, at = len(rows), np.concatenate([exposure, ones])
        both = np.concatenate([rows, reference.rows])
        for block in self._member_draws(trees, both, n_draws, rng, at):
            parts = block.mean[:, :n], block.mean[:, n:]
            mean = reference.calibrated(*parts, wanted[block.places])
            size = None if block.size is None else block.size[:n]
            yield DrawBlock(block.places, mean, None, size)

    def effect_means(self, X: Any, n_compared: int) -> Vector | Matrix:
        """As of any model of trees, by the members that are right about effects."""
        if not self.is_ready:
            return super().effect_means(X, n_compared)
        with self._lock:
            if self.model == MIXED:
                return self._means_by(self._effect_weights, X)
            rows = self._member_rows(X)[0]
            reference = self._reference(rows, n_compared)
            if reference is None:
                return super().effect_means(X, n_compared)
            trees, lines = self._by_effects()
            own, whole = self._levels(lines, reference)
            values, means = (
                self._means_by(trees, Encoded(some, has_effects=True))[None]
                for some in (rows, reference.rows)
            )
            wanted = reference.wanted(own, own, whole)
            return np.asarray(reference.calibrated(values, means, wanted)[0])

    def _levels(self, lines: Vector, reference: Reference) -> tuple[Any, Any]:
        """Means at reference rows, as regressions and as the average predict them."""
        asked = Encoded(reference.rows, has_effects=True)
        both = self._means_by(lines, asked), super().effect_means(asked, 0)
        own, whole = (reference.means(np.asarray(values)[None]) for values in both)
        return own, whole

    def _means_by(self, weights: Vector, X: Any) -> Vector | Matrix:
        """Means or probabilities at rows of members by these weights."""
        pairs = zip(weights, self.members, strict=True)
        means = sum(w * one.tree.effect_means(X, 0) for w, one in pairs if w > 0.0)
        return np.asarray(means)

    # ------------------------------------------------------------ other questions
    @locked
    def acquisition(
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
        X, rule, sample_weight, exposure, Xref, q, alpha, best
            As in `DynamicTree.acquisition`.
        bounds : array_like of shape (n_features, 2), optional
            Rectangle of "alc". The default covers the rectangles of all members.
        categorical, approx
            As in `DynamicTree.acquisition`.

        Returns
        -------
        ndarray of shape (n_rows,)
            For "alm" the variance of the mixture, else the weighted average of the
            members' values.
        """
        trees = self._ready("acquisition")
        check_scoring(self.options, rule, sample_weight, exposure, Xref)
        if rule == "alm":
            prediction = self.predict(X, sample_weight)
            assert isinstance(prediction, Prediction)
            if isinstance(prediction, CountPrediction):
                return prediction.of_mean.moments()[1]
            return prediction.var.copy()
        if rule == "alc" and bounds is None and Xref is None:
            bounds = self._bounds(X)
        scores: Vector = self._tree_average(
            tree.acquisition(
                X, rule, sample_weight=sample_weight, exposure=exposure, Xref=Xref, q=q,
                alpha=alpha, best=best, bounds=bounds, categorical=categorical,
                approx=approx,
            )
            for tree in trees
        )  # fmt: skip
        return scores

    def _bounds(self, X: Any = None) -> Matrix:
        """Rectangle of all members, and of rows, shape (n_features, 2)."""
        sides = []
        for state in (tree.state for tree in self._trees):
            rows = None if X is None else stored(state, X)
            low, high, _ = region(state.cloud, state.ones, rows)
            sides.append((low[state.ones :], high[state.ones :]))
        lows, highs = zip(*sides, strict=True)
        return np.column_stack([np.min(lows, axis=0), np.max(highs, axis=0)])

    @locked
    def coef(self, X: Any) -> Matrix:
        """Coefficients of linear leaves at each row; see `DynamicTree.coef`."""
        self._ready("coef")
        weights = self._effect_weights  # of which all but linear leaves have none
        coefficients: Matrix = sum(
            weight * member.tree.coef(X)
            for weight, member in zip(weights, self.members, strict=True)
            if weight > 0.0
        )
        return coefficients

    @locked
    def relevance(
        self,
        *,
        bounds: Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Relevance:
        """How much splits on each column reduce the predictive variance or entropy.

        The parameters are as in `acquisition`. The values come from as many trees as
        all members have together, and each member gives a number of trees in proportion
        to its weight.
        """
        found = [
            tree.relevance(bounds=bounds, categorical=categorical, approx=approx)
            for tree in self._ready("relevance")
        ]
        places = picked([len(part.values) for part in found], self._tree_weights)
        values = np.concatenate([part.values for part in found])[places]
        return Relevance(values, self.feature_names)

    @locked
    def importance(
        self,
        *,
        n_samples: int = 500,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Importance:
        """Share of the predicted variance that each input accounts for.

        See `DynamicTree.importance`. The prediction is that of the average, and the
        rows are those of the member that holds the most.
        """
        trees = self._ready("importance")
        holder = max(trees, key=lambda tree: tree.n_active).state

        def mean(rows: Matrix) -> Matrix:
            asked = np.ascontiguousarray(rows[:, holder.ones :])
            answer = self.predict(Encoded(asked, has_effects=True))
            if isinstance(answer, ClassPrediction):
                return answer.proba
            return answer.mean[:, None]

        return input_shares(holder, mean, n_samples, factors, self.seed)

    @locked
    def sensitivity(
        self,
        *,
        label: Hashable | None = None,
        n_samples: int = 1000,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: Bounds | None = None,
        shape: Sequence[float] | None = None,
        mode: Sequence[float] | None = None,
        categorical: Sequence[bool] | None = None,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Sensitivity:
        """Estimate main effects and Sobol' indices.

        The parameters are those of `DynamicTree.sensitivity`. The default bounds cover
        those of all members. There is one set of indices for each tree. There are as
        many trees as all members have together, and each member gives a number of trees
        in proportion to its weight.
        """
        trees = self._ready("sensitivity")
        if bounds is None and method != "boot":
            bounds = self._bounds()
        found = [
            tree.sensitivity(
                label=label, n_samples=n_samples, n_grid=n_grid, span=span,
                method=method, bounds=bounds, shape=shape, mode=mode,
                categorical=categorical, factors=factors,
            )
            for tree in trees
        ]  # fmt: skip
        places = picked([len(part.first) for part in found], self._tree_weights)
        main, first, total = (
            np.concatenate([getattr(part, name) for part in found])[places]
            for name in ("main", "first", "total")
        )
        one = found[0]
        return replace(one, main=main, first=first, total=total)

    @locked
    def stats(self) -> TreeStats:
        """Return height, leaves and leaf sizes, averaged over particles."""
        found = [tree.stats() for tree in self._ready("stats")]
        columns = zip(*map(astuple, found), strict=True)
        return TreeStats(*(float(self._tree_average(column)) for column in columns))

    @locked
    def frozen_view(self, what: str = "a view") -> AverageView:
        """Return the trees as they are now; see `DynamicTree.frozen_view`."""
        self._ready(what)
        twin = self.copy()
        views = [TreeView(tree) for tree in twin._trees]
        return AverageView(twin, views, twin._tree_weights)

    @abstractmethod
    def update(
        self, X: Any, y: Any, *, threads: int | None = None, progress: Progress = None
    ) -> Self:
        """Let the members learn rows."""

    def _with_members(self, header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
        """State of an average with that of its members."""
        header["members"] = {}
        for k, member in enumerate(self.members):
            header["members"][str(k)], own = member.to_arrays()
            arrays |= {f"m{k}_{name}": array for name, array in own.items()}
        return header, arrays

    @staticmethod
    def _members_in(
        header: Header, arrays: Arrays, kinds: dict[str, Any]
    ) -> tuple[list[Any], Arrays]:
        """Members that `_with_members` described, and arrays that belong to none."""
        members, rest = [], dict(arrays)
        for k in range(len(header["members"])):
            start = f"m{k}_"
            names = [name for name in rest if name.startswith(start)]
            own = {name.removeprefix(start): rest.pop(name) for name in names}
            member = header["members"][str(k)]
            members.append(kinds[member["kind"]].from_arrays(member, own))
        return members, rest
