"""Dynamic trees for river: a regressor and a classifier that learn row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dyntree import params
from dyntree.api.adapters.streams import Stream, StreamClassifier, StreamRegressor
from dyntree.errors import ArgumentError, Message
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

    Features may come late, in any order, or not at all. A feature that a row does not
    have is missing in that row, and a new feature was missing in all rows before. A
    text feature becomes one 0/1 feature for each level, but the second level shares
    that of the first, and new levels may come late, too.

    Parameters
    ----------
    model : {"constant", "linear", "poisson", "negbin"}, default "constant"
        The model in each leaf. Linear regressions use the features of the first ten
        rows; later features can be split on. "poisson" and "negbin" are for counts of
        events.
    window : int or "auto", default "auto"
        Largest number of rows that are held individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`, which needs no tuning.
    discard : {"alc", "age", "random"}, optional
        Which row leaves the window, as in `StreamingTree`. This and the next two
        options are for a single window.
    forget : float in [0, 1], optional
        Factor by which the retired sums of a leaf are multiplied when one of its rows
        leaves the window. The default is 1, or 0.95 with `drift`.
    drift : bool, default False
        Whether the relation between features and responses is expected to change over
        time.
    rejuvenate_every : int, optional
        Number of rows between rejuvenations, or 0 for none. In a rejuvenation, new
        trees grow from the window, a few rows at a time, and join the others. The
        default is as in `StreamingTree`.
    n_particles : int, optional
        Number of trees in a cloud, to which time is proportional. The default is 1000,
        or 100 in each of several averaged clouds.
    intercept, proposal, min_leaf, tree_prior, prior, max_retired_mass
        As in `DynamicTree`.
    weighting : {"variance", "frequency"}, optional
        What row weights mean. With "variance", the default, a weight divides the
        variance of the response. With "frequency" it is the number of times that the
        row counts. See `DynamicTree`.
    exposure : str, optional
        Counts: name of the value that is the exposure of the count, a number > 0 in
        every row that is learned. It is not a feature. Rows to predict that do not have
        it have the exposure 1.
    dispersion : float, optional
        "negbin": as in `DynamicTree`.
    robust : bool, default False
        Whether a row far outside its prediction gets less weight. After four such rows
        in succession, the stream counts as changed, and they get their full weight. See
        `DynamicTree`.
    new_columns : {"grow", "ignore"}, default "grow"
        What happens to features and levels that first come after the first row. "grow"
        adds them to the model, which copies it. "ignore" leaves them out. Use it if
        their number has no limit, as for identifiers, because memory grows with the
        number of features. A column can have 1000 levels. All others count as missing,
        with a warning the first time.
    seed : int, optional
        By default it is drawn from the system.

    Attributes
    ----------
    stream : AveragedStream or StreamingTree
        The model, with all of its methods.

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
            raise ArgumentError(
                "exposure",
                "is for counts, model='poisson' or 'negbin'",
                Message(
                    "{exposure!r} with model={model!r}", exposure=exposure, model=model
                ),
                "Leave it out.",
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
    or not at all. A feature that a row does not have is missing in that row, and a new
    feature was missing in all rows before. A text feature becomes one 0/1 feature for
    each level, but the second level shares that of the first, and new levels may come
    late, too.

    Parameters
    ----------
    window : int or "auto", default "auto"
        Largest number of rows that are held individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`, which needs no tuning.
    discard : {"entropy", "age", "random"}, optional
        Which row leaves the window, as in `StreamingTree`.
    forget, drift, rejuvenate_every, n_particles
        As in `RiverDynamicTreeRegressor`.
    proposal, min_leaf, tree_prior, class_mass, max_retired_mass
        As in `DynamicTree`.
    new_columns, seed
        As in `RiverDynamicTreeRegressor`.

    Attributes
    ----------
    stream : AveragedStream or StreamingTree
        The model, with all of its methods.

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
