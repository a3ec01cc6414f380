"""OnlineModel: what every model offers, so that the layers above serve all of them.

`evaluate` and `repeats` ask for what stands here and know no model by name,
`checkpoint` stores whatever is `Savable`, and the command line prints the `facts` of
any model. A new model meets the protocol, is marked by ``checkpoint.savable``, and is
put under the tests that all models pass (``tests/contract.py``).
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from dyntree.errors import ArgumentError, Message
from dyntree.runtime.progress import Progress

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


@runtime_checkable
class Learner(Protocol):
    """Interface of models that predict rows and learn them in order."""

    @property
    def is_ready(self) -> bool:
        """Whether the model has learned enough to answer."""

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None until they are known."""

    def update(self, X: Any, y: Any, *, progress: Progress = None) -> Self:
        """Learn rows in order; models without responses need no y.

        A call that raises on bad input leaves the model unchanged. An interrupt leaves
        it in the state after the last complete unit. What is learned does not depend on
        how a stream is divided into calls, as long as the divisions are between units.
        """

    def predict(self, X: Any) -> Any:
        """Predictive distribution at each row of X, a record of `summaries`.

        Models without responses return an array of cluster ids.
        """

    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Check and encode a stream to be learned; the model does not change.

        Parameters
        ----------
        X, y
            As for `update`.
        start : int, optional
            Number of rows that a first call will learn; the others will be learned one
            by one. By default one call learns all rows.

        Returns
        -------
        rows
            Encoded rows. `predict` takes them in the place of X, and so does `update`
            once the model `is_ready`. ``feature_map.take`` selects some of them.
        y : list
            Responses or labels, as `update` takes them.

        Raises
        ------
        ValueError
            If `update` would refuse the rows.
        """


@runtime_checkable
class Savable(Protocol):
    """Interface of objects that can be saved to a file."""

    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model, as a plain header with a "kind", and arrays.

        Equal models give equal headers and equal bytes, however they were made.
        """

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, after checking it."""


@runtime_checkable
class OnlineModel(Learner, Savable, Protocol):
    """A model of a stream in bounded memory.

    The models of this package also have a `unit`, which is learned as a whole. It is a
    "row"; a "batch" of rows, which the model collects over calls; a "phase", which is
    the rows of a call or of one label; or an "epoch" or "call", the rows of a call.
    """

    @property
    def n_seen(self) -> int:
        """Number of rows given to `update` so far."""

    @property
    def is_frozen(self) -> bool:
        """Whether `update` checks its rows and learns nothing from them."""

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""

    @property
    def seed(self) -> int:
        """The seed of all random draws."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names of X, if it had names; None until they are known."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, into which the columns are encoded."""

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context manager that keeps other threads out of a series of calls."""

    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""

    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""

    def memory_usage(self) -> int:
        """Bytes used by the model."""

    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""


def check_online_model(name: str, value: Any, kind: type = OnlineModel) -> None:
    """Raise ValueError unless an argument is an OnlineModel or a Learner."""
    if isinstance(value, type) or not isinstance(value, kind):
        way = _way_online(value)
        is_short = isinstance(value, type) or not way
        raise ArgumentError(
            name,
            "must be a model that learns online, such as DynamicTree or StreamingTree",
            value if is_short else Message(type(value).__name__),
            way,
        )


def _way_online(value: Any) -> str:
    """What to do with a class, or with a model of another package."""
    if isinstance(value, type):
        return f"Make a model of the class first: {value.__name__}()."
    if hasattr(value, "learn_one"):
        return "river's evaluate.progressive_val_score is for such models."
    if hasattr(value, "partial_fit"):
        return "Pass one of dyntree's own models, such as AveragedStream()."
    return ""
