"""Calls on one model from several threads wait for one another, and a fork for them."""

from __future__ import annotations

import os
from _thread import RLock  # the class; that of threading is a function
from collections.abc import Callable
from functools import wraps
from time import monotonic, sleep
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakSet

from dyntree._core.openmp import after_fork

P = ParamSpec("P")
Result = TypeVar("Result")
Model = TypeVar("Model", bound=Any)

PATIENCE = 5.0  # seconds that a fork waits for calls under way in other threads
TURN = 0.1  # seconds that it waits for one of them with others in hand
PAUSE = 0.001  # seconds between two turns


class ModelLock(RLock):  # type: ignore[misc]  # final in stubs alone
    """A reentrant lock of one model that outlives a fork of the process.

    A fork copies memory, and of all threads only the one that forks. It therefore waits
    until no other thread is in a call on a model, for `PATIENCE` seconds at the most. A
    model whose call takes longer is half-way through it in the child, whose
    questions to that model are errors; the parent goes on as if nothing were.
    """

    def __init__(self) -> None:
        with listing:
            LOCKS.add(self)


class LostLock(ModelLock):  # type: ignore[misc]
    """The lock of a model that another thread was using when the process was forked."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Say why the model cannot be used."""
        raise RuntimeError(
            "This model cannot be used in this process: when the process was forked, "
            "another thread was in a call on the model, and had been for more than "
            f"{PATIENCE:.0f} seconds. Fork before such a call or after it, or load the "
            "model in this process with dyntree.load."
        )

    __enter__ = acquire


LOCKS: WeakSet[ModelLock] = WeakSet()
listing = RLock()  # held by whoever adds to LOCKS or goes through them
locks_held: list[ModelLock] = []  # of the fork under way
busy: list[ModelLock] = []


def locked(
    method: Callable[Concatenate[Model, P], Result],
) -> Callable[Concatenate[Model, P], Result]:
    """Let a method of a model wait until no other thread is in one of its methods.

    The core lets other threads run while it works; without a lock, one could ask, or
    teach, a model that is half-way through a row. The model has a `_lock`, a ModelLock,
    so that its methods may call each other.
    """

    @wraps(method)
    def waiting(self: Model, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        with self._lock:
            return method(self, *args, **kwargs)

    return waiting


def hold_all() -> None:
    """Hold the locks of all models, but for those that are busy for too long.

    Whoever waits for one lock with others in hand may be waited for, by a call that
    goes from one model to another. So the others are given back where a lock is busy
    for `TURN`, and the next turn begins with that lock.
    """
    deadline = monotonic() + PATIENCE
    first: list[ModelLock] = []
    while True:
        listing.acquire()
        usable = [lock for lock in LOCKS if not isinstance(lock, LostLock)]
        is_last = monotonic() > deadline
        for lock in dict.fromkeys([*first, *usable]):
            if lock.acquire(timeout=0.0 if is_last else TURN):
                locks_held.append(lock)
            elif is_last:
                busy.append(lock)
            else:
                first = [lock, *first]
                break
        else:
            return
        release_all()
        sleep(PAUSE)


def release_all() -> None:
    """Give back what `hold_all` took."""
    for lock in locks_held:
        lock.release()
    locks_held.clear()
    busy.clear()
    listing.release()


def begin_child() -> None:
    """Go on in the forked process, which has this one thread."""
    for lock in busy:
        lock.__class__ = LostLock
    release_all()
    after_fork()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(
        before=hold_all, after_in_parent=release_all, after_in_child=begin_child
    )
