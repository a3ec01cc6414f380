"""Work side by side through joblib: in threads, or wherever its user says."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


class Stopped(Exception):
    """Ends work that nobody waits for any more."""


class Brake:
    """What work in threads has as `progress`: once pulled, it ends it."""

    pulled = False

    def __call__(self, done: int, total: int = 0) -> None:
        """Raise `Stopped` if it was pulled."""
        if self.pulled:
            raise Stopped


@contextmanager
def late_interrupts() -> Iterator[None]:
    """Let a Ctrl-C that comes in the block, in the main thread, wait for its end."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handler is None:
        yield  # Python's handlers run in the main thread; this one is not Python's
        return
    interrupts = []
    signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if interrupts:
            signal.raise_signal(signal.SIGINT)


def side_by_side(
    work: Callable[..., Result],
    jobs: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    tell: Callable[[], object],
) -> list[Result]:
    """Results of ``work(*job, brake)`` for every job, in the order of the jobs.

    Parameters
    ----------
    work : callable
        At the top of a module, so that processes find it. `brake` is to be called
        with (done, total) every tenth of a second or so.
    jobs : iterable of tuple
        What processes can be sent.
    n_jobs : int or None
        At a time; None leaves it to an enclosing ``joblib.parallel_config``, else 1.
    tell : callable
        Called after each result, in order.

    Raises
    ------
    BaseException
        What work or `tell` raised first. Threads still at work end with the next call
        of their brake; what becomes of processes is for joblib's backend to say.
    """
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    brake = Brake()
    found: list[Result] = []
    results = None
    try:
        with late_interrupts():  # one in the midst would leave threads behind
            results = run(delayed(work)(*job, brake) for job in jobs)
        for result in results:
            found.append(result)
            tell()
    except BaseException as error:
        brake.pulled = True
        if results is not None:
            results.throw(error)  # joblib drops what waits and raises it again
        raise
    return found
