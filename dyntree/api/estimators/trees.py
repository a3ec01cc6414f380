"""Dynamic trees for scikit-learn: a regressor and a classifier that learn on."""

from __future__ import annotations

from typing import Any

from dyntree import params
from dyntree.api.estimators.arguments import RandomState
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

    With one cloud, rows are learned in the order given. With several, the first cloud
    learns them in this order, and each other cloud learns the rows of a call in a
    random order of its own. `fit` starts anew, and `partial_fit` adds to what was
    learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    model : {"constant", "linear"}, default "constant"
        The model in each leaf: a mean, or a linear regression.
    window : int or "auto", optional
        Largest number of rows that are held individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`. By default all rows are held.
    n_clouds : int, optional
        Number of clouds of trees. Several clouds are averaged, as in `AveragedTrees`; 1
        means a single `DynamicTree`. The default is 10 without a window, and 1 with
        one.
    discard : {"alc", "age", "random"}, optional
        Which row leaves the window, as in `StreamingTree`.
    forget : float in [0, 1], optional
        Factor by which the retired sums of a leaf are multiplied when one of its rows
        leaves the window. The default is 1, or 0.95 with `drift`.
    drift : bool, default False
        Whether the relation between X and y is expected to change over time.
    rejuvenate_every : int, optional
        Number of rows between rejuvenations, or 0 for none. In a rejuvenation, new
        trees grow from the window, a few rows at a time, and join the others. The
        default is as in `StreamingTree`.
    n_particles : int, optional
        Number of trees in a cloud. The default is 100 if several clouds or windows are
        averaged, else 1000.
    intercept, proposal, min_leaf, tree_prior, first_split, n_basis
        As in `DynamicTree`.
    prior, max_retired_mass, new_levels
        As in `DynamicTree`.
    weighting : {"variance", "frequency"}, optional
        What row weights mean. With "variance", the default, a weight divides the
        variance of the response. With "frequency" it is the number of times that the
        row counts. See `DynamicTree`.
    robust : bool, default False
        Whether a row far outside its prediction gets less weight. After four such rows
        in succession, the stream counts as changed, and they get their full weight. See
        `DynamicTree`.
    n_jobs : int, optional
        Number of clouds that learn in parallel, and of threads of a prediction; -1
        means all cores. The default is 1, or the value of an enclosing
        ``joblib.parallel_config``. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the seed of the model. By default the seed is drawn from the system.

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

    With one cloud, rows are learned in the order given. With several, the first cloud
    learns them in this order, and each other cloud learns the rows of a call in a
    random order of its own. `fit` starts anew, and `partial_fit` adds to what was
    learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    window : int or "auto", optional
        Largest number of rows that are held individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`. By default all rows are held.
    n_clouds : int, optional
        Number of clouds of trees. Several clouds are averaged, as in `AveragedTrees`; 1
        means a single `DynamicTree`. The default is 10 without a window, and 1 with
        one.
    discard : {"entropy", "age", "random"}, optional
        Which row leaves the window, as in `StreamingTree`.
    forget, drift, rejuvenate_every, n_particles
        As in `DynamicTreeRegressor`.
    proposal, min_leaf, tree_prior, class_mass, max_retired_mass, new_levels
        As in `DynamicTree`.
    class_weight : dict, "balanced" or None, default None
        Weights of the labels, which multiply those of the rows. With "balanced", which
        only `fit` accepts, all labels have the same total weight. By default all
        weights are 1.
    n_jobs : int, optional
        Number of clouds that learn in parallel, and of threads of a prediction; -1
        means all cores. The default is 1, or the value of an enclosing
        ``joblib.parallel_config``. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the seed of the model. By default the seed is drawn from the system.

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
