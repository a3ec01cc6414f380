"""The benchmarks run: the figures themselves are for the machine that takes them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.bench import compare, work


def test_every_line_has_its_work() -> None:
    assert [line.work for line in compare.LINES] == list(work.WORK)
    assert work.Predict.params == list(work.WORK)


@pytest.mark.parametrize("name", ["predict r constant", "predict native linear"])
def test_a_piece_of_work_reads_its_rows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "N_LEARNED", 30)
    monkeypatch.setattr(work, "N_PARTICLES", 10)
    folder = compare.write_rows(tmp_path / "rows", 5)
    work.main(name, folder, "1", "2")


def test_without_the_peer_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    out = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", ["compare", "--json", str(out)])
    compare.main()
    assert "nothing is compared" in capsys.readouterr().out
    assert json.loads(out.read_text()) == []
