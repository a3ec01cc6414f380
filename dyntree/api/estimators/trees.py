"""Dynamic trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from typing import Any

from dyntree import params
from dyntree.api.estimators.base import RandomState
from dyntree.api.estimators.supervised import (
    OnlineClassifier,
    OnlineRegressor,
    TreesMixin,
)
from dyntree.params import NIG
from dyntree.trees.factory import Trees, make_tree


def tree_of(estimator: TreesMixin, **options: Any) -> Trees:
    """Return a new model by the parameters of an estimator and further options."""
    options = estimator._options(**options)
    if options["n_clouds"] is None:
        options["n_clouds"] = params.N_CLOUDS if options["window"] is None else 1
    return make_tree(options)


class DynamicTreeRegressor(OnlineRegressor):
    """Dynamic tree as a scikit-learn regressor.

    Rows are learned in the order they come. `fit` starts anew, and `partial_fit` adds
    to what was learned. Missing values (NaN) are allowed.

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
    weighting : {"variance", "frequency"}, optional
        What weights of rows mean: each divides the variance of its response (the
        default), or says how often the row counts; see `DynamicTree`.
    robust : bool, default False
        Whether rows far outside of their prediction count with less weight, until four
        in a row have shown a change; see `DynamicTree`.
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
        weighting: str | None = None,
        robust: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> Trees:
        params.one_of("model", self.model, ("constant", "linear"))
        return tree_of(self)


class DynamicTreeClassifier(OnlineClassifier):
    """Dynamic tree as a scikit-learn classifier.

    Rows are learned in the order they come. `fit` starts anew, and `partial_fit` adds
    to what was learned. Missing values (NaN) are allowed.

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
    class_weight : dict, "balanced" or None, default None
        Weights of the labels, times those of the rows; "balanced", of `fit` alone:
        such that the labels weigh the same together. By default all weigh 1.
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
        class_weight: str | dict[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> Trees:
        return tree_of(self, model="class", classes=list(self.classes_))
