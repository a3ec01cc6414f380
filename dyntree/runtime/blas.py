"""BLAS in one thread, where threads of our own call it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    """What sets the threads of the BLAS libraries that this process has loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Let BLAS use one thread within the block.

    The libraries are looked for once in a process: a look takes most of a millisecond.
    NumPy's and SciPy's are loaded long before the first call.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
