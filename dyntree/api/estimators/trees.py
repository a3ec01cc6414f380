"""Dynamic trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from typing import Any

from dyntree import params
from dyntree.api.estimators.supervised import (
    OnlineClassifier,
    OnlineRegressor,
    TreesMixin,
)
from dyntree.trees.factory import Trees, make_tree
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree

OF_MODELS = {"categories", "seed"}  # columns of scikit-learn have no declared levels
NOT_FOR_NUMBERS = params.only_for("r", "class", "count") | OF_MODELS
NOT_FOR_LABELS = (
    params.only_for("r", "real", "linear", "count") | OF_MODELS | {"classes"}
)
NOT_FOR_COUNTS = params.only_for("r", "real", "linear", "slopes", "class") | OF_MODELS


MODELS = {  # of leaves, by estimator
    "DynamicTreeRegressor": (params.MIXED, "linear", "constant"),
    "DynamicTreeClassifier": params.LABELS,
    "DynamicTreeCountRegressor": params.COUNTS,
}


def check_model(model: Any, estimator: str) -> None:
    """Raise ValueError unless an estimator has a model; name the one that has it."""
    homes = {leaves: name for name, models in MODELS.items() for leaves in models}
    remedy = (
        f"{homes[model]} has it." if isinstance(model, str) and model in homes else ""
    )
    params.one_of("model", model, MODELS[estimator], remedy)


class CloudsMixin:
    """Estimators around dynamic trees: all rows are stored, unless a window is set.

    Parameters
    ----------
    window : int or "auto", optional
        Largest number of rows to store individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`. By default all stay.
    n_clouds : int, optional
        Number of clouds of trees. Several clouds are averaged, as in `AveragedTrees`; 1
        means a single `DynamicTree`. The default is 10 without a window, and 1 with
        one.
    n_particles : int, optional
        Number of trees in a cloud. The default is 100 if several clouds or windows are
        averaged, else 1000.
    """

    def __init__(
        self,
        *,
        window: int | str | None = None,
        n_clouds: int | None = None,
        n_particles: int | None = None,
        **options: Any,
    ) -> None: ...


def tree_of(estimator: TreesMixin, **options: Any) -> Trees:
    """Return a new model by the parameters of an estimator and further options."""
    return make_tree(estimator._options(**options))


@params.derived(StreamingTree, DynamicTree, without=NOT_FOR_NUMBERS)
class DynamicTreeRegressor(CloudsMixin, OnlineRegressor):
    """Dynamic tree as a scikit-learn regressor.

    With one cloud, rows are learned in the order given. With several, the first cloud
    learns them in this order, and each other cloud learns the rows of a call in a
    random order of its own. `fit` starts anew, and `partial_fit` adds to what was
    learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    model : {"mixed", "linear", "constant"}, optional
        The model in each leaf: a linear regression, a mean, or some clouds of each. The
        default is "mixed" where several clouds or windows are averaged, and else
        "linear".

    Attributes
    ----------
    model_ : AveragedTrees, DynamicTree, StreamingTree or AveragedStream
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
    >>> from dyntree.api.estimators import DynamicTreeRegressor
    >>> X = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTreeRegressor("linear", n_particles=200, random_state=1)
    >>> tree = tree.fit(X, np.sin(6 * X[:, 0]))
    >>> tree.predict([[0.25], [0.75]]).round(1)
    array([ 1., -1.])
    """

    def __init__(self, model: str | None = None, **options: Any) -> None: ...

    def _fresh(self) -> Trees:
        if self.model is not None:
            check_model(self.model, "DynamicTreeRegressor")
        return tree_of(self)


@params.derived(StreamingTree, DynamicTree, without=NOT_FOR_LABELS)
class DynamicTreeClassifier(CloudsMixin, OnlineClassifier):
    """Dynamic tree as a scikit-learn classifier.

    With one cloud, rows are learned in the order given. With several, the first cloud
    learns them in this order, and each other cloud learns the rows of a call in a
    random order of its own. `fit` starts anew, and `partial_fit` adds to what was
    learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    model : {"class", "logit"}, default "class"
        What each leaf has: a probability of each label, or for two labels a logistic
        regression, in one cloud.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    model_ : AveragedTrees, DynamicTree, StreamingTree or AveragedStream
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
    >>> from dyntree.api.estimators import DynamicTreeClassifier
    >>> X = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTreeClassifier(n_particles=100, random_state=1)
    >>> tree = tree.fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    >>> tree.predict([[0.9], [0.1]]).tolist()
    ['high', 'low']
    """

    def __init__(self, *, model: str = "class", **options: Any) -> None: ...

    def _fresh(self) -> Trees:
        check_model(self.model, "DynamicTreeClassifier")
        return tree_of(self, classes=list(self.classes_))
