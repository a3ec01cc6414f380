"""Dynamic trees for river: a regressor and a classifier that learn row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dyntree import params
from dyntree.api.adapters.streams import Stream, StreamClassifier, StreamRegressor
from dyntree.errors import ArgumentError, Message
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.factory import make_tree
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree


class WindowMixin:
    """Adapters around dynamic trees, which average several windows by default.

    Parameters
    ----------
    window : int or "auto", default "auto"
        Largest number of rows to store individually, as in `StreamingTree`. "auto"
        averages several windows, as in `AveragedStream`, which needs no tuning.
    n_particles : int, optional
        Number of trees in a cloud. The default is 1000 for one window. For "auto" it is
        that of the members of `AveragedStream`.
    """

    def __init__(
        self,
        window: int | str = "auto",
        n_particles: int | None = None,
        *arguments: Any,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)

    def _fresh(self) -> Stream:
        options = params.model_options(self, StreamingTree)
        if options["window"] is None:
            params.count("window", None, 2)  # a stream has one
        stream = make_tree(options)
        assert isinstance(stream, StreamingTree | AveragedStream)
        return stream


@params.derived(
    StreamingTree,
    DynamicTree,
    without=params.only_for("r", "class")
    | {"categories", "new_levels", "first_split", "n_basis"},
)
class RiverDynamicTreeRegressor(WindowMixin, StreamRegressor):
    """Dynamic tree in a bounded window, as a river regressor.

    Features may come late, in any order, or not at all. A feature that a row does not
    have is missing in that row, and a new feature was missing in all rows before. A
    text feature becomes one 0/1 feature for each level, but the second level shares
    that of the first, and new levels may come late, too.

    Parameters
    ----------
    model : {"mixed", "linear", "constant", "poisson", "negbin"}, optional
        The model in each leaf. Linear regressions use the features of the first ten
        rows; later features can be split on. "poisson" and "negbin" are for counts of
        events. The default is "mixed", some windows with linear and some with constant
        leaves, and "linear" with one window.
    exposure : str, optional
        Counts: name of the value that is the exposure of the count, a number > 0 in
        every row that is learned. It is not a feature. Rows to predict that do not have
        it have the exposure 1.

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
        model: str | None = None,
        *arguments: Any,
        exposure: str | None = None,
        **options: Any,
    ) -> None:
        if model is not None:
            of_numbers = (params.MIXED, "linear", "constant", *params.COUNTS)
            params.one_of("model", model, of_numbers)
        if exposure is not None and model not in params.COUNTS:
            raise ArgumentError(
                "exposure",
                "is for counts, model='poisson' or 'negbin'",
                Message(
                    "{exposure!r} with model={model!r}", exposure=exposure, model=model
                ),
                "Leave it out.",
            )
        super().__init__(*arguments, **options)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 20}
        yield {"model": "linear", "window": 50, "drift": True, "n_particles": 20}


@params.derived(
    StreamingTree,
    DynamicTree,
    without=params.only_for("r", "real", "linear", "slopes", "count")
    | {"classes", "categories", "new_levels"},
)
class RiverDynamicTreeClassifier(WindowMixin, StreamClassifier):
    """Dynamic tree in a bounded window, as a river classifier.

    New labels are learned when they first appear. Features may come late, in any order,
    or not at all. A feature that a row does not have is missing in that row, and a new
    feature was missing in all rows before. A text feature becomes one 0/1 feature for
    each level, but the second level shares that of the first, and new levels may come
    late, too.

    Parameters
    ----------
    model : {"class", "logit"}, default "class"
        What each leaf has: a probability of each label, or for two labels a logistic
        regression, in one window.

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

    def __init__(self, *, model: str = "class", **options: Any) -> None:
        params.one_of("model", model, params.LABELS)
        super().__init__(**options)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_particles": 20}
        yield {"window": 50, "drift": True, "n_particles": 20}
