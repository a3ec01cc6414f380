"""Dynamic trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.base import OnlineMixin, RandomState, is_column, seed_of
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix, Vector
from dyntree.params import NIG
from dyntree.trees.factory import Trees, make_tree


class TreeMixin(OnlineMixin):
    """An estimator whose model is made of dynamic trees, in a window or not."""

    n_features_in_: int
    model: str
    get_params: Callable[..., dict[str, Any]]

    def _tree_of(self, **options: Any) -> Trees:
        """Return a new model by the parameters of the estimator and further options."""
        options |= self.get_params(deep=False)
        options["seed"] = seed_of(options.pop("random_state"))
        del options["n_jobs"]
        if options["n_clouds"] is None:
            options["n_clouds"] = params.N_CLOUDS if options["window"] is None else 1
        return make_tree(options)

    @property
    def feature_importances_(self) -> Vector:
        """Share of the predicted variance that each column accounts for.

        Zeros where predictions do not vary. See `DynamicTree.importance`, which tells
        their Monte Carlo errors, too.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        check_is_fitted(self)
        tree = self.model_.tree
        if not tree.is_ready:
            return np.zeros(self.n_features_in_)
        shares: Vector = tree.importance().values
        return shares.copy()


class DynamicTreeRegressor(TreeMixin, RegressorMixin, BaseEstimator):
    """A dynamic tree as a regressor of scikit-learn.

    Rows are learned in the order they come, by `fit` anew and by `partial_fit` on top.
    Missing values (NaN) are taken as they are.

    Parameters
    ----------
    model : {"constant", "linear"}, default "constant"
        What leaves hold.
    window : int or "auto", optional
        Most rows held one by one, as in `StreamingTree`; "auto" for the average of
        several windows, `AveragedStream`. By default all are held.
    n_clouds : int, optional
        Without a window: clouds of trees, each of which learns the rows in an order of
        its own, averaged as in `AveragedTrees`, by default 10; 1 for a single
        `DynamicTree`.
    discard : {"alc", "age", "random"}, optional
        Which row leaves the window.
    forget : float in [0, 1], optional
        Factor on what a leaf remembers when a row leaves the window; default 1, or .95
        with `drift`.
    drift : bool, default False
        Whether the relation changes in time.
    rejuvenate_every : int, optional
        Rows between rejuvenations, in which trees grown anew from the window, a few of
        its rows at a time, join the others; 0 never. Defaults are those of
        `StreamingTree`.
    n_particles : int, optional
        Trees in a cloud; default 100 where several are averaged, else 1000.
    intercept, proposal, min_leaf, tree_prior, first_split, n_basis
        As in `DynamicTree`.
    prior, max_retired_mass, new_levels
        As in `DynamicTree`.
    n_jobs : int, optional
        Clouds that learn side by side, and threads of a prediction; -1 for all cores.
        By default one, or what an enclosing ``joblib.parallel_config`` says. Results
        do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the model's seed. By default the system gives one.

    Attributes
    ----------
    model_ : AveragedTrees, DynamicTree, StreamingTree or AveragedStream
        The model, open to every question.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X had names, all of them strings.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the predicted variance that each column accounts for.
    log_evidence_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DynamicTreeRegressor
    >>> X = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTreeRegressor("linear", n_particles=200, random_state=1)
    >>> tree = tree.fit(X, np.sin(6 * X[:, 0]))
    >>> tree.predict([[0.25], [0.75]]).round(1)
    array([ 1., -1.])
    """

    def __init__(
        self,
        model: str = "constant",
        *,
        window: int | str | None = None,
        n_clouds: int | None = None,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int | None = None,
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        first_split: int = 0,
        n_basis: int | None = None,
        prior: str | NIG = "adaptive",
        max_retired_mass: float | None = None,
        new_levels: str = "grow",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> Trees:
        params.one_of("model", self.model, ("constant", "linear"))
        return self._tree_of()

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows in order, and nothing else: what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            NaN for what is missing.
        y : array_like of shape (n_rows,)

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad rows or parameters.
        """
        return self._learn(*self._checked(X, y, True, y_numeric=True), True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows in order; parameters and returns are those of `fit`.

        A first call is a `fit`. Later ones go on with the parameters of the first.
        """
        if self._is_plain(X) and is_column(y, X) and y.dtype == np.float64:
            return self._learn(X, y, False)  # the model refuses what is not finite
        first = not hasattr(self, "model_")
        return self._learn(*self._checked(X, y, first, y_numeric=True), first)

    def predict(
        self, X: Any, return_std: bool = False
    ) -> Vector | tuple[Vector, Vector]:
        """Predictive mean of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        return_std : bool, default False
            Return the predictive standard deviation too. It is infinite where leaves
            know fewer than three degrees of freedom.

        Returns
        -------
        ndarray of shape (n_rows,), or two of them
        """
        prediction = self._prediction(X)
        mean = prediction.mean.copy()
        return (mean, np.sqrt(prediction.var)) if return_std else mean

    def predict_quantiles(self, X: Any, q: ArrayLike = (0.05, 0.5, 0.95)) -> Vector:
        """Quantiles of the predictive distribution of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        q : float or array_like of shape (n_q,), default (0.05, 0.5, 0.95)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_q) for a sequence of probabilities
        """
        quantiles: Vector = self._prediction(X).quantile(q)
        return quantiles


def check_labels(labels: Any) -> None:
    """Refuse what are no classes, and labels that are missing among objects."""
    if labels.dtype == object:
        label_list(labels, len(labels))
    check_classification_targets(labels)


class DynamicTreeClassifier(TreeMixin, ClassifierMixin, BaseEstimator):
    """A dynamic tree as a classifier of scikit-learn.

    Rows are learned in the order they come, by `fit` anew and by `partial_fit` on top.
    Missing values (NaN) are taken as they are.

    Parameters
    ----------
    window : int or "auto", optional
        Most rows held one by one, as in `StreamingTree`; "auto" for the average of
        several windows, `AveragedStream`. By default all are held.
    n_clouds : int, optional
        Without a window: clouds of trees, each of which learns the rows in an order of
        its own, averaged as in `AveragedTrees`, by default 10; 1 for a single
        `DynamicTree`.
    discard : {"entropy", "age", "random"}, optional
        Which row leaves the window.
    forget, drift, rejuvenate_every, n_particles
        As in `DynamicTreeRegressor`.
    proposal, min_leaf, tree_prior, class_mass, max_retired_mass, new_levels
        As in `DynamicTree`.
    n_jobs : int, optional
        Clouds that learn side by side, and threads of a prediction; -1 for all cores.
        By default one, or what an enclosing ``joblib.parallel_config`` says. Results
        do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the model's seed. By default the system gives one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    model_ : AveragedTrees, DynamicTree, StreamingTree or AveragedStream
        The model, open to every question.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X had names, all of them strings.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the predicted variance that each column accounts for.
    log_evidence_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DynamicTreeClassifier
    >>> X = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTreeClassifier(n_particles=100, random_state=1)
    >>> tree = tree.fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    >>> tree.predict([[0.9], [0.1]]).tolist()
    ['high', 'low']
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        window: int | str | None = None,
        n_clouds: int | None = None,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int | None = None,
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        class_mass: float = 1.0,
        max_retired_mass: float | None = None,
        new_levels: str = "grow",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> Trees:
        return self._tree_of(model="class", classes=list(self.classes_))

    def fit(self, X: Any, y: Any) -> Self:
        """Learn rows in order, and nothing else: what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            NaN for what is missing.
        y : array_like of shape (n_rows,)
            Labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad rows or parameters.
        """
        rows, labels = self._checked(X, y, True)
        check_labels(labels)
        self.classes_ = np.unique(labels)
        return self._learn(rows, labels, True)

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Hashable] | None = None
    ) -> Self:
        """Learn more rows in order, on top of what was learned before.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : array_like of shape (n_rows,)
        classes : array_like of shape (n_classes,), optional
            All labels that may ever come; needed at the first call, if that is no
            `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad rows or parameters, missing or changed classes, unknown labels.
        """
        if classes is None and self._is_plain(X) and is_column(y, X):
            known = self.classes_
            if y.dtype == known.dtype and {*y.tolist()} <= {*known.tolist()}:
                return self._learn(X, y, False)
        first = not hasattr(self, "model_")
        rows, labels = self._checked(X, y, first)
        check_labels(labels)
        if classes is not None:
            given = np.unique(np.asarray(classes))
        elif first:
            raise ValueError(
                "classes must name all labels at the first call of partial_fit; got "
                "None. Give classes=[...], or call fit."
            )
        else:
            given = self.classes_
        if not first and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes must stay those of the first call, {self.classes_.tolist()}; "
                f"got {given.tolist()}. Leave the argument out."
            )
        unknown = np.setdiff1d(labels, given)
        if len(unknown):
            raise ValueError(
                f"y must hold labels among {given.tolist()}; got {unknown[0]!r}. Name "
                "every label at the first call: classes=[...]."
            )
        self.classes_ = given
        return self._learn(rows, labels, first)

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each label, in the order of `classes_`.

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
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels
