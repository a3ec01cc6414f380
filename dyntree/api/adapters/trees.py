"""Dynamic trees for river: a regressor and a classifier that learn row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dyntree import params
from dyntree.api.adapters.streams import Stream, StreamClassifier, StreamRegressor
from dyntree.params import NIG
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.factory import make_tree
from dyntree.trees.streaming import StreamingTree


def stream_of(arguments: Mapping[str, Any]) -> Stream:
    """Make the stream that options stand for, in one window or several."""
    kinds = params.TREE_OPTIONS, params.STREAM_OPTIONS, {"seed": None}
    options = params.given_options(arguments, *kinds)
    if options["window"] is None:
        params.count("window", None, 2)  # a stream has one
    stream = make_tree(options)
    assert isinstance(stream, StreamingTree | AveragedStream)
    return stream


class RiverDynamicTreeRegressor(StreamRegressor):
    """Dynamic tree in a bounded window, as a river regressor.

    Features may come late, in any order, or not at all: a feature that a row lacks is
    missing in that row, and a new feature was missing in all rows before. A text
    feature becomes one 0/1 feature for each level, and new levels may come late too.

    Parameters
    ----------
    model : {"constant", "linear", "poisson", "negbin"}, default "constant"
        What leaves hold. Linear ones regress on the features of the first ten rows;
        later features can be split on. The last two are for counts of events.
    window : int or "auto", default "auto"
        Most rows held one by one, as in `StreamingTree`; "auto" for the average of
        several windows, `AveragedStream`, which needs no tuning.
    discard : {"alc", "age", "random"}, optional
        Which row leaves the window.
    forget : float in [0, 1], optional
        Factor on what a leaf remembers when a row leaves the window; default 1, or .95
        with `drift`.
    drift : bool, default False
        Whether the relation changes in time; for one window, as the two before.
    rejuvenate_every : int, optional
        Rows between rejuvenations, in which trees grown anew from the window, a few of
        its rows at a time, join the others; 0 never. Defaults are those of
        `StreamingTree`.
    n_particles : int, optional
        Trees in a cloud, to which time is proportional; default 1000, or 100 in each of
        those that are averaged.
    intercept, proposal, min_leaf, tree_prior, prior, max_retired_mass
        As in `DynamicTree`.
    weighting : {"variance", "frequency"}, optional
        What weights of rows mean: each divides the variance of its response (the
        default), or says how often the row counts; see `DynamicTree`.
    exposure : str, optional
        Counts: the name of what each was counted over, a number > 0 in every row that
        is learned, and no feature; rows that are asked about without it have 1.
    dispersion : float, optional
        "negbin": as in `DynamicTree`.
    robust : bool, default False
        Whether rows far outside of their prediction count with less weight, until four
        in a row have shown a change; see `DynamicTree`.
    new_columns : {"grow", "ignore"}, default "grow"
        What features and levels do that come after the first row: make the model wider,
        which copies it, or nothing. Ignore them where there is no end of them, as with
        identifiers: memory grows with the features. A column takes 1000 levels; all
        others are missing in it, with a warning the first time.
    seed : int, optional
        Drawn from the system where absent.

    Attributes
    ----------
    stream : AveragedStream or StreamingTree
        The model, open to every question.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverDynamicTreeRegressor
    >>> tree = RiverDynamicTreeRegressor(n_particles=50, seed=1)
    >>> for k in range(100):
    ...     tree.learn_one({"x": k % 10}, 2.0 * (k % 10 > 4))
    >>> round(tree.predict_one({"x": 8}), 1)
    2.0
    >>> tree.predict_one({"x": 8}, with_dist=True).cdf(1.0) < 0.1
    True
    """

    def __init__(
        self,
        model: str = "constant",
        window: int | str = "auto",
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int | None = None,
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        prior: str | NIG = "adaptive",
        max_retired_mass: float | None = None,
        weighting: str | None = None,
        exposure: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        new_columns: str = "grow",
        seed: int | None = None,
    ) -> None:
        params.one_of("model", model, ("constant", "linear", *params.COUNTS))
        if exposure is not None and model not in params.COUNTS:
            raise ValueError(
                "exposure is for counts, model='poisson' or 'negbin'; got "
                f"{exposure!r} with model={model!r}. Leave it out."
            )
        self._begin(locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 20}
        yield {"model": "linear", "window": 50, "drift": True, "n_particles": 20}

    def _stream_of(self, arguments: Mapping[str, Any]) -> Stream:
        return stream_of(arguments)


class RiverDynamicTreeClassifier(StreamClassifier):
    """Dynamic tree in a bounded window, as a river classifier.

    New labels are learned when they first appear. Features may come late, in any order,
    or not at all: a feature that a row lacks is missing in that row, and a new feature
    was missing in all rows before. A text feature becomes one 0/1 feature for each
    level, and new levels may come late too.

    Parameters
    ----------
    window : int or "auto", default "auto"
        Most rows held one by one, as in `StreamingTree`; "auto" for the average of
        several windows, `AveragedStream`, which needs no tuning.
    discard : {"entropy", "age", "random"}, optional
        Which row leaves the window.
    forget, drift, rejuvenate_every, n_particles
        As in `RiverDynamicTreeRegressor`.
    proposal, min_leaf, tree_prior, class_mass, max_retired_mass
        As in `DynamicTree`.
    new_columns, seed
        As in `RiverDynamicTreeRegressor`.

    Attributes
    ----------
    stream : AveragedStream or StreamingTree
        The model, open to every question.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverDynamicTreeClassifier
    >>> tree = RiverDynamicTreeClassifier(n_particles=50, seed=1)
    >>> for k in range(100):
    ...     tree.learn_one({"x": k % 10}, "high" if k % 10 > 4 else "low")
    >>> tree.predict_one({"x": 8})
    'high'
    """

    def __init__(
        self,
        window: int | str = "auto",
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
        new_columns: str = "grow",
        seed: int | None = None,
    ) -> None:
        self._begin(locals() | {"model": "class"})

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 20}
        yield {"window": 50, "drift": True, "n_particles": 20}

    def _stream_of(self, arguments: Mapping[str, Any]) -> Stream:
        return stream_of(arguments)
