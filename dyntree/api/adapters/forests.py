"""Random trees for river: a regressor and a classifier that learn row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dyntree import params
from dyntree.api.adapters.base import words_for
from dyntree.api.adapters.streams import Stream, StreamClassifier, StreamRegressor
from dyntree.trees.model import DynamicTree
from dyntree.trees.random_trees import RandomTreesStream


@params.derived(
    RandomTreesStream,
    DynamicTree,
    without=["model", "classes", "class_mass", "categories", "new_levels"],
)
class RiverRandomTreesRegressor(StreamRegressor):
    """Random trees, averaged over all their prunings, as a river regressor.

    Features may come late, in any order, or not at all, as in
    `RiverDynamicTreeRegressor`.

    Attributes
    ----------
    stream : RandomTreesStream
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverRandomTreesRegressor
    >>> trees = RiverRandomTreesRegressor(seed=1)
    >>> for k in range(200):
    ...     trees.learn_one({"x": k % 10}, 2.0 * (k % 10 > 4))
    >>> round(trees.predict_one({"x": 8}), 1)
    2.0
    """

    _words = words_for("RiverRandomTreesClassifier")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_trees": 5}

    def _fresh(self) -> Stream:
        return RandomTreesStream(
            "constant", **params.model_options(self, RandomTreesStream)
        )


@params.derived(
    RandomTreesStream,
    DynamicTree,
    without=["model", "classes", "categories", "new_levels", "weighting"],
)
class RiverRandomTreesClassifier(StreamClassifier):
    """Random trees, averaged over all their prunings, as a river classifier.

    New labels are learned when they first appear. Features may come late, in any order,
    or not at all, as in `RiverDynamicTreeRegressor`.

    Attributes
    ----------
    stream : RandomTreesStream
        The model, with all of its methods.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverRandomTreesClassifier
    >>> trees = RiverRandomTreesClassifier(seed=1)
    >>> for k in range(200):
    ...     trees.learn_one({"x": k % 10}, "high" if k % 10 > 4 else "low")
    >>> trees.predict_one({"x": 8})
    'high'
    """

    _words = words_for("RiverRandomTreesClassifier")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_trees": 5}

    def _fresh(self) -> Stream:
        return RandomTreesStream(
            "class", **params.model_options(self, RandomTreesStream)
        )
