"""TreeQueries: everything a tree can be asked that leaves its trees as they are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from dyntree import params
from dyntree._core.rng import CounterSource, RandomSource
from dyntree._core.student_mixture import moments
from dyntree._core.trees import criteria as core_criteria
from dyntree._core.trees import query
from dyntree._core.trees.window import worth
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.levels import NewLevels
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
from dyntree.labels import is_label
from dyntree.params import TreeOptions
from dyntree.runtime.locking import locked
from dyntree.storage.plain import plain
from dyntree.summaries import (
    ClassPrediction,
    Importance,
    Prediction,
    Relevance,
    Sensitivity,
    StudentMixture,
    TreeStats,
)
from dyntree.trees import criteria
from dyntree.trees.levels import refuse_unseen, warn_unseen
from dyntree.trees.named import Named
from dyntree.trees.scaling import on_scale
from dyntree.trees.warmup import n_ones, n_waiting, with_ones


class TreeQueries(Named):
    """The part of `DynamicTree` that changes no tree: prediction, criteria, summaries.

    Questions that draw do so by the seed and the number of rows learned: asked twice
    they answer alike, and what is learned later does not depend on them. Under R's
    rules they draw from the model's stream, as CRAN dynaTree does.
    ``score_active("alc")`` and ``("entropy")`` keep what they found in the leaves.
    """

    options: TreeOptions
    seed: int
    _lock: AbstractContextManager[Any]
    _features: FeatureMap | None
    _cloud: Any
    _waiting_X: Matrix
    _waiting_y: list[Any]
    _n_scale: int
    _settles_all: bool
    _told: set[str]
    _new_levels: NewLevels | None

    @property
    def n_seen(self) -> int:
        """Rows ever given to `update`."""
        return len(self._waiting_y) if self._cloud is None else self._cloud.n_seen

    @property
    def n_active(self) -> int:
        """Rows held one by one."""
        return len(self._waiting_y) if self._cloud is None else self._cloud.n_active

    @property
    def n_retired(self) -> int:
        """Rows given up since the start."""
        return 0 if self._cloud is None else self._cloud.n_retired

    @property
    def is_ready(self) -> bool:
        """Whether trees have been planted, so that questions can be answered."""
        return self._cloud is not None

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""
        return self.options.model == "class"

    @property
    def log_evidence(self) -> float:
        """Sum of the log predictive densities of the rows learned by the filter."""
        return 0.0 if self._cloud is None else self._cloud.log_evidence

    @property
    @locked
    def active_ids(self) -> NDArray[np.int64]:
        """Numbers of the active rows, ndarray of int64 of shape (n_active,)."""
        if self._cloud is None:
            return np.arange(len(self._waiting_y))
        return np.asarray(self._cloud.row_ids())

    @locked
    def memory_usage(self) -> int:
        """Bytes held by trees, rows and scratch."""
        waiting = int(self._waiting_X.nbytes) + 8 * len(self._waiting_y)
        return waiting if self._cloud is None else int(self._cloud.nbytes())

    @locked
    def facts(self) -> dict[str, Any]:
        """What the model is, by name, as values for JSON."""
        return {
            "kind": type(self).__name__,
            "model": self.options.model,
            "rules": self.options.rules,
            "particles": self.options.n_particles,
            "seed": self.seed,
            "columns": list(self.feature_names),
            "classes": plain(self.classes),
            "rows learned": self.n_seen,
            "rows held": self.n_active,
            "log evidence": self.log_evidence,
            "bytes in memory": self.memory_usage(),
        }

    def _ready(self, what: str) -> Any:
        """Return the cloud, or raise NotReadyError."""
        if self._cloud is None:
            raise self._not_ready(what)
        return self._cloud

    def _not_ready(self, what: str) -> NotReadyError:
        """Say how many rows must come before `what` can be answered."""
        options = self.options
        if self._features is not None:
            options = options.with_width(self._features.n_features)
        if options.rules == "r" and options.n_start is None:
            needed, more = "more than n_start rows", "more rows"
        else:
            n_needed = n_waiting(options, self._n_scale)
            n_more = n_needed - self.n_seen
            needed = f"at least {n_needed} row" + "s" * (n_needed > 1)
            if options.rules == "r":
                needed = f"more than n_start={options.n_start} rows"
            more = f"{n_more} more row" + "s" * (n_more > 1)
        return NotReadyError(
            f"{what} needs a model that has learned {needed}; got {self.n_seen}. "
            f"Call update with {more} first."
        )

    @property
    def _ones(self) -> int:
        """Columns of ones stored before the user's own."""
        return n_ones(self.options)

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None while they are not known."""
        return self.options.classes

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had names; None while not known."""
        return None if self._features is None else self._features.names

    @property
    def columns_with_levels(self) -> tuple[str, ...]:
        """Columns of strings or categories, as far as they are known or were named."""
        found = () if self._features is None else self._features.levels
        return tuple(dict([*(self.options.categories or ()), *found]))

    @property
    def columns_without_values(self) -> tuple[str, ...]:
        """Columns that had no value so far and may become one of any kind."""
        return () if self._features is None else self._features.unknown

    @property
    def level_places(self) -> dict[str, list[int]]:
        """Places of its levels among the features, of each column that has levels."""
        return {} if self._features is None else dict(self._features.level_places)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, ... where none were given."""
        return () if self._features is None else self._features.feature_names

    def predict(
        self, X: Any, *, threads: int | None = None
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Under native rules values may be missing (NaN).
        threads : int, optional
            Threads over rows, default DYNTREE_NUM_THREADS or 1. The answer does not
            depend on it.

        Returns
        -------
        Prediction or ClassPrediction
            The latter for class models.
        """
        if threads is not None:
            params.n_threads(threads)
        with self._lock:
            cloud, classes = self._cloud, self.options.classes
            if cloud is None:
                if self.options.rules == "r":
                    raise self._not_ready("predict")
                return self._predict_cold(X)
            rows = self._rows(X)
            n_threads = params.n_threads(threads) if len(rows) > 1 else 1
            if classes is None:
                start, weight, location, scale, df, of_mean = query.mixture(
                    cloud, rows, n_threads
                )
                return Prediction(
                    *moments(start, weight, location, scale, df, n_threads),
                    StudentMixture(start, weight, location, scale, df),
                    StudentMixture(start, weight, location, of_mean, df),
                )
            answer = query.predict_class(cloud, rows, n_threads)
            entropy = answer["entropy"]
            if self.options.rules == "native":
                entropy = entr(answer["p"]).sum(axis=1)
            return ClassPrediction(answer["p"], classes, entropy)

    def _predict_cold(self, X: Any) -> Prediction | ClassPrediction:
        """Before there are trees: what the rows kept back say without them."""
        n_rows = len(self._extended(X)[1])
        if self.options.model == "class":
            classes = self.options.classes or ()
            proba = np.full((n_rows, len(classes)), 1.0 / max(1, len(classes)))
            entropy = np.full(n_rows, float(np.log(max(1, len(classes)))))
            return ClassPrediction(proba, classes, entropy)
        return Prediction.of_sample(self._waiting_y, n_rows)

    def _extended(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Columns as they are known with these rows too, and the rows' codes."""
        if self._features is not None:
            return self._features.extend(X)
        native = self.options.rules == "native"
        return FeatureMap.learn(X, native, self.options.categories or ())

    @locked
    def mean_at(self, row: Matrix) -> float:
        """Predictive mean at one row, by a shorter way than `predict` (native rules).

        Parameters
        ----------
        row : ndarray of shape (1, n_features)
            Encoded and checked.
        """
        if self.is_classifier:
            raise ValueError("mean_at needs real responses; got model='class'.")
        if self._cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, Prediction)
            return float(prediction.mean[0])
        assert self._features is not None
        row = on_scale(self._cloud, self._features, row)
        parts = query.mixture(self._cloud, row)[:5]
        return float(moments(*parts)[0][0])

    @locked
    def proba_at(self, row: Matrix) -> Vector:
        """Probabilities of the classes at one row, as in `mean_at`."""
        if not self.is_classifier:
            raise ValueError(
                f"proba_at needs model='class'; got model={self.options.model!r}."
            )
        if self._cloud is None:
            prediction = self._predict_cold(row)
            assert isinstance(prediction, ClassPrediction)
            proba = prediction.proba
        else:
            proba = query.predict_class(self._cloud, row)["p"]
        return np.asarray(proba[0])

    def _rows(self, X: Any, argument: str = "X") -> Matrix:
        """Rows as the cloud stores them, checked; for a tree that has one."""
        assert self._features is not None
        rows = self._encoded(self._features, X, argument)
        rows = on_scale(self._cloud, self._features, rows, argument=argument)
        return with_ones(rows, self._ones)

    def _encoded(self, features: FeatureMap, X: Any, argument: str = "X") -> Matrix:
        """Rows by these columns; levels without one are told of, or refused."""
        if not features.may_grow or isinstance(X, Encoded):
            return features.encode(X, argument)
        codes = features.codes(X, argument)
        if self.options.new_levels == "error":
            refuse_unseen(features, X, codes, argument)
        late = features.unseen(codes) or features.undecided(X)
        if late and "unseen" not in self._told:
            self._told.add("unseen")
            warn_unseen(late[0], self.options.new_levels == "grow")
        return features.expand(codes)

    @locked
    def score(
        self,
        X: Any,
        rule: str,
        *,
        Xref: Any = None,
        q: float = 0.0,
        alpha: float = 2.0,
        best: str | float = "candidates",
        bounds: criteria.Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Vector:
        """How much sampling a response at each candidate row promises.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Candidates.
        rule : {"alm", "alc", "ei", "ieci", "qei", "qentropy"}
            Predictive variance (MacKay 1992); reduction of variance averaged over a
            rectangle or over `Xref` (Cohn 1996); expected improvement towards the
            minimum; its integrated conditional form (Gramacy and Lee 2011); expected
            improvement and entropy for the contour at q.
        Xref : rows like X, optional
            References of "alc" (default: the whole rectangle) and "ieci" (default X).
        q : float, default 0.0
            Level of the contour.
        alpha : float, default 2.0
            Width of its band in standard deviations, > 0.
        best : {"candidates", "rows"} or float, default "candidates"
            What "ei" improves on: the lowest mean, by each particle, at the candidates
            of this call or at the active rows, or a value. By default the score of a
            row depends on the rows asked with it, as in CRAN dynaTree.
        bounds : array_like of shape (n_features, 2), optional
            Rectangle of "alc", default the range of the candidates and of all rows
            learned; where the past fades (``forget`` below 1) and under R's rules, of
            the candidates and the active rows.
        categorical : sequence of bool of shape (n_features,), optional
            0/1 columns; by default those whose values in these rows, candidates left
            out, are exactly 0 and 1.
        approx : bool, default False
            Weigh leaves by their rows instead of their area.

        Returns
        -------
        ndarray of shape (n_rows,)
            High is promising.
        """
        cloud = self._ready("score")
        if not isinstance(rule, str) and isinstance(X, str):
            raise ValueError(
                f"rule must be text, after the candidates; got {params.short(rule)}. "
                f"Call score(X, {X!r})."
            )
        params.one_of("rule", rule, params.SCORES)
        if self.options.model == "class":
            raise ValueError(
                f"rule={rule!r} needs a real response; for model='class' see "
                "predict(X).entropy."
            )
        references = None if Xref is None else self._rows(Xref, "Xref")
        return criteria.score(
            cloud,
            self._ones,
            self._rows(X),
            rule,
            references,
            q,
            alpha,
            best,
            bounds,
            categorical,
            params.flag("approx", approx),
        )

    @locked
    def score_active(self, rule: str) -> Vector:
        """How much each active row still tells; low values may go first.

        Parameters
        ----------
        rule : {"alc", "entropy", "age", "random"}
            Average reduction of variance over the default rectangle of `score`
            (regression), under native rules times the root of rows learned over rows
            held in the row's leaf; entropy of the row's leaf (classes); the row's
            number; or chance, drawn as the class says.

        Returns
        -------
        ndarray of shape (n_active,)
            In the order of `active_ids`.
        """
        cloud = self._ready("score_active")
        params.one_of("rule", rule, params.DISCARDS)
        fits = {"entropy": ("class",), "alc": ("constant", "linear", "prior")}
        if self.options.model not in fits.get(rule, params.MODELS):
            raise ValueError(
                f"rule={rule!r} does not fit model={self.options.model!r}; 'entropy' "
                "is for class models and 'alc' for the others."
            )
        return worth(cloud, rule, self._asking())

    @locked
    def coef(self, X: Any) -> Matrix:
        """Coefficients of the linear leaves at each row, averaged over particles.

        Returns
        -------
        ndarray of shape (n_rows, n_basis + 1), or (n_rows, n_basis) without intercept
            The intercept comes first.
        """
        cloud = self._ready("coef")
        if self.options.model != "linear":
            raise ValueError(
                f"coef needs model='linear'; got model={self.options.model!r}."
            )
        return np.asarray(query.coef(cloud, self._rows(X)))

    @locked
    def relevance(
        self,
        *,
        bounds: criteria.Bounds | None = None,
        categorical: Sequence[bool] | None = None,
        approx: bool = False,
    ) -> Relevance:
        """How much splits on each column reduce the predictive variance or entropy.

        Parameters are those of `score`. See Gramacy, Taddy and Wild (2013), section 2.
        """
        cloud = self._ready("relevance")
        values = core_criteria.relevance(
            cloud,
            *criteria.region(cloud, self._ones, None, bounds, categorical),
            params.flag("approx", approx),
        )
        return Relevance(values[:, self._ones :].copy(), self.feature_names)

    @locked
    def importance(
        self,
        *,
        n_samples: int = 500,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Importance:
        """Share of the predicted variance that each input accounts for.

        Through splits and slopes alike. An input's effect is half the mean squared
        change of the mean prediction, of the probabilities for classes, when its value
        in an active row is replaced by that of another one: the total Sobol' effect
        (Jansen 1999, equation 12), over the rows held. Its share is of the sum over all
        inputs, so that effects which inputs have together count for each of them. Of
        inputs that nearly are functions of each other, each change leads to rows that
        never come: their shares tell what the model does there.

        Parameters
        ----------
        n_samples : int, default 500
            Pairs of rows, >= 2, drawn by the seed and the number of rows learned; the
            model is left as it is.
        factors : dict of str to sequence of str, optional
            As in `sensitivity`; under R's rules every column is an input.

        Returns
        -------
        Importance

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import DynamicTree
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> tree = DynamicTree("linear", n_particles=50, seed=1)
        >>> tree.update(X, X @ [3.0, 1.0]).importance().values.round(1)
        array([0.9, 0.1])
        """
        cloud = self._ready("importance")
        inputs = self._inputs(factors)
        ones = self._ones
        values, errors = criteria.importance(
            self._mean_of_rows,
            cloud.rows()[0],
            [group + ones for group in inputs.values()],
            n_samples,
            np.random.default_rng([self.seed, self.n_seen]),
        )
        return Importance(values, errors, tuple(inputs))

    def _mean_of_rows(self, rows: Matrix) -> Matrix:
        """Mean prediction, or probabilities, of rows as the cloud stores them."""
        if self.is_classifier:
            proba: Matrix = query.predict_class(self._cloud, rows)["p"]
            return proba
        parts = query.mixture(self._cloud, rows)[:5]
        return moments(*parts)[0][:, None]

    @locked
    def sensitivity(
        self,
        *,
        label: Hashable | None = None,
        n_samples: int = 1000,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: criteria.Bounds | None = None,
        shape: Sequence[float] | None = None,
        mode: Sequence[float] | None = None,
        categorical: Sequence[bool] | None = None,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Sensitivity:
        """Estimate main effects and Sobol' indices (Gramacy and Taddy 2010).

        Parameters
        ----------
        label : hashable, optional
            Class models: whose probability is analysed; needed there.
        n_samples : int, default 1000
            Size of each of the two samples of inputs, >= 2.
        n_grid : int, default 100
            Points per main effect, >= 1.
        span : float in [0, 1], default 0.3
            Share of the samples that a main effect averages over.
        method : {"lhs", "boot"}, default "lhs"
            Latin hypercube samples of scaled beta distributions, or active rows drawn
            with replacement.
        bounds : array_like of shape (n_features, 2), optional
            Default the range of all rows learned; where the past fades, for "boot" and
            under R's rules, of the active rows.
        shape, mode : sequence of float of shape (n_features,), optional
            Of the beta distributions: shape >= 1, default 1 (uniform), mode within the
            bounds, default the means of the active rows. 0/1 columns have shape 0 and
            mean `mode`, default 1/2 where the active rows do not show both values.
        categorical : sequence of bool of shape (n_features,), optional
            0/1 columns, as in `score`.
        factors : dict of str to sequence of str, optional
            Inputs that have several columns, their levels, by the names of the columns;
            by default those of strings. In each draw one level holds, with
            probabilities in proportion to `mode`, and a factor has one index. Native
            rules.

        Returns
        -------
        Sensitivity

        Notes
        -----
        The variance that indices are shares of is that of a new response, its noise
        included: an input that does nothing has a total index of the noise's share, p
        (1 - p) on average for classes, and not 0. `importance` leaves the noise out.
        Native rules take the expectation over responses and estimate from differences
        of means (Saltelli et al. 2010, table 2), which no constant in the
        responses enters; R's rules are those of Gramacy and Taddy.
        """
        cloud = self._ready("sensitivity")
        place = None
        if self.options.classes is not None:
            place = self.class_place(label)
        elif label is not None:
            raise ValueError(f"label is for class models only; got {label!r}.")
        inputs = self._inputs(factors)
        answer = criteria.sensitivity(
            cloud,
            self._ones,
            place,
            n_samples,
            n_grid,
            span,
            method,
            bounds,
            shape,
            mode,
            categorical,
            list(inputs.values()),
            self._asking(),
        )
        return Sensitivity(*answer, self.feature_names, tuple(inputs))

    def _asking(self) -> RandomSource | None:
        """Where a question draws from; None for the cloud's own stream (R's rules)."""
        if self.options.rules == "r":
            return None
        words = np.random.SeedSequence([self.seed, self.n_seen]).generate_state(2)
        return CounterSource((int(words[0]) << 32) + int(words[1]))

    def _inputs(
        self, factors: Mapping[str, Sequence[str]] | None
    ) -> dict[str, NDArray[np.int64]]:
        """Places of the columns of each input, by its name."""
        names = self.feature_names
        places = self.level_places
        if factors is not None:
            if self.options.rules == "r":
                raise ValueError("factors is an option of rules='native'.")
            unknown = [n for group in factors.values() for n in group if n not in names]
            if unknown or not all(map(len, factors.values())):
                raise ValueError(
                    f"factors must name columns among {list(names)}, at least one a "
                    f"factor; got {unknown or dict(factors)!r}."
                )
            places = {
                factor: [names.index(name) for name in group]
                for factor, group in factors.items()
            }
        home = {k: factor for factor, group in places.items() for k in group}
        found: dict[str, list[int]] = {}
        for k, name in enumerate(names):
            found.setdefault(home.get(k, name), []).append(k)
        return {name: np.array(group) for name, group in found.items()}

    def class_place(self, label: Hashable) -> int:
        """Place of a label among `classes`.

        Raises
        ------
        ValueError
            If it is none of them.
        """
        classes = self.options.classes or ()
        if not is_label(label) or label not in classes:
            raise ValueError(
                "label must name the class whose probability is analysed, one of "
                f"{list(classes)}; got {label!r}."
            )
        return classes.index(label)

    @locked
    def stats(self) -> TreeStats:
        """Return height, leaves and leaf sizes, averaged over particles."""
        return TreeStats(*map(float, query.tree_stats(self._ready("stats"))))
