"""Random trees for river: a regressor and a classifier that learn row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dyntree import params
from dyntree.api.adapters.streams import Stream, StreamClassifier, StreamRegressor
from dyntree.trees.forest_options import FOREST_OPTIONS
from dyntree.trees.random_trees import RandomTreesStream


def forest_of(arguments: Mapping[str, Any]) -> RandomTreesStream:
    """Make the random trees that options stand for."""
    options = params.given_options(arguments, FOREST_OPTIONS, {"seed": None})
    return RandomTreesStream(**options)


class RiverRandomTreesRegressor(StreamRegressor):
    """Random trees, averaged over all their prunings, as a river regressor.

    Features may come late, in any order, or not at all, as in
    `RiverDynamicTreeRegressor`.

    Parameters
    ----------
    n_trees, discount, min_split, n_candidates, window, max_nodes
        As in `dyntree.RandomTreesStream`. With a `discount` below 1, trees follow
        drift.
    weighting : {"variance", "frequency"}, optional
        What row weights mean. With "variance", the default, a weight divides the
        variance of the response. With "frequency" it is the number of times that the
        row counts. See `DynamicTree`.
    new_columns, seed
        As in `RiverDynamicTreeRegressor`.

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

    def __init__(
        self,
        n_trees: int = 20,
        discount: float = 1.0,
        min_split: int = 8,
        n_candidates: int = 16,
        window: int = 4096,
        max_nodes: int = 8192,
        weighting: str | None = None,
        new_columns: str = "grow",
        seed: int | None = None,
    ) -> None:
        self._begin(locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_trees": 5}

    def _stream_of(self, arguments: Mapping[str, Any]) -> Stream:
        return forest_of({**arguments, "model": "constant"})


class RiverRandomTreesClassifier(StreamClassifier):
    """Random trees, averaged over all their prunings, as a river classifier.

    New labels are learned when they first appear. Features may come late, in any order,
    or not at all, as in `RiverDynamicTreeRegressor`.

    Parameters
    ----------
    n_trees, discount, min_split, n_candidates, window, max_nodes, class_mass
        As in `dyntree.RandomTreesStream`. With a `discount` below 1, trees follow
        drift.
    new_columns, seed
        As in `RiverDynamicTreeRegressor`.

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

    def __init__(
        self,
        n_trees: int = 20,
        discount: float = 1.0,
        min_split: int = 8,
        n_candidates: int = 16,
        window: int = 4096,
        max_nodes: int = 8192,
        class_mass: float = 1.0,
        new_columns: str = "grow",
        seed: int | None = None,
    ) -> None:
        self._begin(locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_trees": 5}

    def _stream_of(self, arguments: Mapping[str, Any]) -> Stream:
        return forest_of({**arguments, "model": "class"})
