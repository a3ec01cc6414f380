"""Random trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from dyntree import params
from dyntree.api.estimators.base import words_for
from dyntree.api.estimators.supervised import OnlineClassifier, OnlineRegressor
from dyntree.trees.model import DynamicTree
from dyntree.trees.random_trees import RandomTreesStream


@params.derived(
    RandomTreesStream,
    DynamicTree,
    without=["model", "classes", "class_mass", "categories", "seed"],
)
class RandomTreesRegressor(OnlineRegressor):
    """Random trees, averaged over all their prunings, as a scikit-learn regressor.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed. Leaves are never linear;
    `DynamicTreeRegressor` offers linear leaves.

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

    _words = words_for("RandomTreesClassifier", "RandomTreesRegressor")

    def _fresh(self) -> RandomTreesStream:
        return RandomTreesStream(**self._options(model="constant"))


@params.derived(
    RandomTreesStream,
    DynamicTree,
    without=["model", "classes", "categories", "weighting", "seed"],
)
class RandomTreesClassifier(OnlineClassifier):
    """Random trees, averaged over all their prunings, as a scikit-learn classifier.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned. Missing values (NaN) are allowed.

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

    def _fresh(self) -> RandomTreesStream:
        options = self._options(model="class", classes=list(self.classes_))
        return RandomTreesStream(**options)
