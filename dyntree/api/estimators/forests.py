"""Random trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from typing import Any

from dyntree import params
from dyntree.api.estimators.arguments import RandomState
from dyntree.api.estimators.supervised import OnlineClassifier, OnlineRegressor
from dyntree.trees.random_trees import RandomTreesStream


class RandomTreesRegressor(OnlineRegressor):
    """Random trees, averaged over all their prunings, as a scikit-learn regressor.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed. Leaves are never linear;
    `DynamicTreeRegressor` offers linear leaves.

    Parameters
    ----------
    n_trees, discount, min_split, n_candidates, window, max_nodes, new_levels
        As in `dyntree.RandomTreesStream`.
    weighting : {"variance", "frequency"}, optional
        What row weights mean. With "variance", the default, a weight divides the
        variance of the response. With "frequency" it is the number of times that the
        row counts. See `DynamicTree`.
    n_jobs : int, optional
        Number of trees that learn in parallel, and of threads of a prediction; -1 means
        all cores. The default is 1. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the seed of the model. By default the seed is drawn from the system.

    Attributes
    ----------
    model_ : RandomTreesStream
        The fitted model, with all of its methods.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the predicted variance that each column accounts for.
    log_evidence_ : float
        Sum of the log predictive densities of the rows, each given the rows before it.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import RandomTreesRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> trees = RandomTreesRegressor(random_state=1).fit(X, 2.0 * (X[:, 0] > 0.5))
    >>> trees.predict([[0.25], [0.75]]).round(1)
    array([0., 2.])
    """

    def __init__(
        self,
        *,
        n_trees: int = 20,
        discount: float = 1.0,
        min_split: int = 8,
        n_candidates: int = 16,
        window: int = 4096,
        max_nodes: int = 8192,
        new_levels: str = "grow",
        weighting: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> RandomTreesStream:
        return RandomTreesStream(**self._options(model="constant"))


class RandomTreesClassifier(OnlineClassifier):
    """Random trees, averaged over all their prunings, as a scikit-learn classifier.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    n_trees, discount, min_split, n_candidates, window, max_nodes
        As in `dyntree.RandomTreesStream`.
    class_mass, new_levels
        As in `dyntree.RandomTreesStream`.
    class_weight : dict, "balanced" or None, default None
        Weights of the labels, which multiply those of the rows. With "balanced", which
        only `fit` accepts, all labels have the same total weight. By default all
        weights are 1.
    n_jobs, random_state
        As in `RandomTreesRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    model_ : RandomTreesStream
        The fitted model, with all of its methods.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the predicted variance that each column accounts for.
    log_evidence_ : float
        Sum of the log predictive densities of the rows, each given the rows before it.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import RandomTreesClassifier
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> trees = RandomTreesClassifier(random_state=1)
    >>> trees = trees.fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    >>> trees.predict([[0.9], [0.1]]).tolist()
    ['high', 'low']
    """

    def __init__(
        self,
        *,
        n_trees: int = 20,
        discount: float = 1.0,
        min_split: int = 8,
        n_candidates: int = 16,
        window: int = 4096,
        max_nodes: int = 8192,
        class_mass: float = 1.0,
        new_levels: str = "grow",
        class_weight: str | dict[Any, float] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> RandomTreesStream:
        options = self._options(model="class", classes=list(self.classes_))
        return RandomTreesStream(**options)
