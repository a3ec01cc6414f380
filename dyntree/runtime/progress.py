"""A progress bar over rows that can be turned off, or replaced by any callable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dyntree.errors import ArgumentError

Progress = bool | Callable[[int, int], object] | None


def check_progress(progress: Progress) -> None:
    """Raise ValueError for what is no progress; called before anything changes."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ArgumentError(
            "progress", "must be True, False, None or a callable", progress
        )


def _on_a_terminal() -> bool:
    """Whether standard error is a terminal that could show a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def rows_bar(
    progress: Progress, n_rows: int, title: str, unit: str = "row"
) -> Iterator[Callable[[int], None]]:
    """Open a bar over `n_rows` rows; yields a function to call with rows done.

    Parameters
    ----------
    progress : bool, callable or None
        True shows a bar, False none. None shows one where standard error is a terminal
        and the work takes over two seconds. A callable is called with (done, total).
    n_rows : int
        Rows in all.
    title : str
        What is being done.
    unit : str, default "row"
        What the bar counts.
    """
    if progress is False or (progress is None and not _on_a_terminal()):
        yield lambda n_done: None  # even a disabled tqdm bar starts a thread
        return
    if callable(progress):
        done = 0

        def tell(n_done: int) -> None:
            nonlocal done
            done += n_done
            progress(done, n_rows)

        yield tell
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=n_rows,
        desc=title,
        unit=unit,
        delay=0.0 if progress else 2.0,
        dynamic_ncols=True,
    ) as bar:
        yield lambda n_done: (bar.update(n_done), None)[1]
