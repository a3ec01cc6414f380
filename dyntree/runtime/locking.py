"""Calls on one model from several threads wait for one another."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")
Model = TypeVar("Model", bound=Any)


def locked(
    method: Callable[Concatenate[Model, P], Result],
) -> Callable[Concatenate[Model, P], Result]:
    """Let a method of a model wait until no other thread is in one of its methods.

    The core lets other threads run while it works; without a lock, one could ask, or
    teach, a model that is half-way through a row. The model has a `_lock`, an RLock, so
    that its methods may call each other.
    """

    @wraps(method)
    def waiting(self: Model, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return waiting
