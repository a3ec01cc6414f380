"""The bar over rows: shown, hidden, or replaced by a callable."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dyntree.runtime.progress import check_progress, rows_bar
from tests.unit.models import refused


@pytest.mark.parametrize("progress", [True, False, None])
def test_the_bar_goes_to_standard_error_where_asked(
    progress: bool | None, capfd: pytest.CaptureFixture[str]
) -> None:
    with rows_bar(progress, 5, "reading") as tell:
        for _ in range(5):
            assert tell(1) is None
    out, err = capfd.readouterr()
    assert out == ""
    if progress:
        assert "reading" in err
        assert "5/5" in err
    else:
        assert err == ""


def test_a_callable_hears_rows_done_and_rows_in_all() -> None:
    told: list[tuple[int, int]] = []
    with rows_bar(lambda done, total: told.append((done, total)), 6, "x") as tell:
        for step in (1, 2, 3):
            tell(step)
    assert told == [(1, 6), (3, 6), (6, 6)]


def test_what_a_callable_raises_comes_through() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), rows_bar(stop, 2, "x") as tell:
        tell(1)


def test_no_bar_no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # importing it would fail
    for progress in (False, print):
        with rows_bar(progress, 2, "x") as tell:
            assert callable(tell)
    with pytest.raises(ImportError), rows_bar(True, 2, "x"):
        pass


@pytest.mark.parametrize("progress", ["yes", 0, 1, 2.5, [True]])
def test_anything_else_is_refused(progress: Any) -> None:
    with refused("progress", repr(progress)):
        check_progress(progress)


@pytest.mark.parametrize("progress", [True, False, None, print])
def test_what_progress_may_be(progress: Any) -> None:
    check_progress(progress)
