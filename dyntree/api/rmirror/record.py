"""The object every mirror function takes and returns: R's list of fields."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import ArgumentError, DeletedCloudError, Message, StaleObjectError

from .handles import Handle
from .inputs import InputSpec, Names
from .printing import format_object
from .stream import RStream


class DynaTree(Mapping[str, Any]):
    """An object of R's class ``dynaTree``: named fields, and the cloud behind them.

    Fields are read as ``obj["mean"]`` or ``obj.mean`` (``sens.class`` also as
    ``obj.sens_class``) and never change. Functions return a new object with more
    fields. All objects that were made from one another share the same cloud, and only
    `copy` duplicates it. ``print(obj)`` shows the same as R.

    Attributes
    ----------
    rng : RStream
        The stream from which later calls draw, unless they are given another.
    names : mapping of str to tuple of str
        Column names of the fields that have some, for example ``names["X"]``.
    """

    __slots__ = ("_fields", "_handle", "names", "rng", "row_ids", "spec")

    def __init__(
        self,
        fields: Mapping[str, Any],
        *,
        handle: Handle | None,
        rng: RStream,
        spec: InputSpec,
        names: Mapping[str, tuple[str, ...]],
        row_ids: NDArray[np.int64],
    ) -> None:
        self._fields = _frozen_fields(fields)
        self._handle = handle
        self.rng = rng
        self.spec = spec
        self.row_ids = row_ids
        self.names = dict(names)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def items(self) -> ItemsView[str, Any]:
        """Return the fields with their names."""
        return self._fields.items()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._fields:
            return self._fields[name]
        key = name.replace("_", ".")
        if key in self._fields:
            return self._fields[key]
        raise AttributeError(f"no field {name!r}; there are {', '.join(self._fields)}.")

    def __dir__(self) -> list[str]:
        fields = [name.replace(".", "_") for name in self._fields]
        return [*super().__dir__(), *fields]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return format_object(self._fields, self.names)

    @property
    def columns(self) -> Names:
        """Names of the inputs, if the model was fitted on a frame."""
        return self.spec.columns

    @property
    def handle(self) -> Handle:
        """The cloud's place in the table of live clouds."""
        if self._handle is None:
            raise DeletedCloudError(
                "this object has no cloud (R: no field num): dynaTrees() deletes the "
                "cloud of each repeat. Fit with dynaTree() instead."
            )
        return self._handle

    @property
    def cloud(self) -> Any:
        """The live cloud; raises DeletedCloudError if there is none."""
        return self.handle.cloud

    @property
    def row_order(self) -> NDArray[np.int64]:
        """Number of each stored row in this object's X, from 1: shape (n,).

        After `rejuvenate`, the order of the rows in the cloud differs from that of the
        fields X and y, as in R. `retire`, `intervals`, `alcX` and `entropyX` count rows
        in the order of the cloud: their row k is row ``row_order[k - 1]`` of X and y.

        Raises
        ------
        StaleObjectError
            If the cloud no longer holds the rows of this object.
        """
        stored = current_cloud(self).row_ids()
        place = np.argsort(self.row_ids)
        found = np.searchsorted(self.row_ids, stored, sorter=place)
        return np.asarray(place[found] + 1, dtype=np.int64)

    def extended(
        self,
        fields: Mapping[str, Any],
        *,
        rng: RStream | None = None,
        names: dict[str, tuple[str, ...]] | None = None,
        row_ids: NDArray[np.int64] | None = None,
        without: Collection[str] = (),
    ) -> DynaTree:
        """Return a new object with some fields added or replaced and others dropped."""
        others = {key: item for key, item in self._fields.items() if key not in without}
        after = DynaTree.__new__(DynaTree)
        after._fields = others | _frozen_fields(fields)
        after._handle = self._handle
        after.rng = rng or self.rng
        after.spec = self.spec
        after.names = self.names | names if names else self.names
        after.row_ids = self.row_ids if row_ids is None else row_ids
        return after

    def with_handle(self, handle: Handle, rng: RStream) -> DynaTree:
        """Return the same fields with another cloud and stream behind them."""
        return DynaTree(
            self._fields | {"num": handle.num},
            handle=handle,
            rng=rng,
            spec=self.spec,
            names=self.names,
            row_ids=self.row_ids,
        )


def current_cloud(obj: DynaTree) -> Any:
    """Return the cloud of `obj` after checking that it holds the rows of `obj`."""
    cloud = cloud_of(obj)
    stored, ids = cloud.row_ids(), obj.row_ids
    in_order = np.array_equal(stored, ids)
    if not in_order and not np.array_equal(np.sort(stored), np.sort(ids)):
        raise StaleObjectError(
            Message(
                f"this object holds {obj.row_ids.size} row(s), its cloud "
                f"{cloud.n_active} of which some differ: a later call changed the "
                "cloud. Go on with the object that call returned."
            )
        )
    return cloud


def cloud_of(obj: Any) -> Any:
    """Return the live cloud behind `obj`, or say what is wrong with `obj`."""
    if not isinstance(obj, DynaTree):
        raise TypeError(
            Message(
                "object must be what dynaTree() returned; got {kind}.",
                kind=type(obj).__name__,
            )
        )
    return obj.cloud


def refuse_class_model(obj: DynaTree, what: str) -> None:
    """Raise for a classification model."""
    if obj.model == "class":
        raise ArgumentError(
            what,
            "is for regression models; this object's model is 'class'",
            remedy="Use entropyX() or the entropy of predict().",
        )


def need_class_model(obj: DynaTree, what: str) -> None:
    """Raise for a regression model."""
    if obj.model != "class":
        raise ArgumentError(
            what,
            "is for classification models; this object's model is {model!r}",
            model=obj.model,
        )


def _frozen_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _frozen(value) for key, value in fields.items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
    elif isinstance(value, dict):
        value = MappingProxyType({key: _frozen(item) for key, item in value.items()})
    return value
