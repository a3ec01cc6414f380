"""The console command: what it prints, where, and its exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dyntree import __version__, cli
from dyntree.demo import trees as demo
from tests.unit.conftest import python


def test_version() -> None:
    process = python("-m", "dyntree", "--version")
    assert (process.returncode, process.stdout) == (0, f"dyntree {__version__}\n")


def test_an_output_folder_that_is_a_file_is_an_error_in_one_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "taken"
    path.write_text("mine")
    process = python("-m", "dyntree", "demo", str(path))
    assert process.returncode == 1
    assert process.stderr.startswith("dyntree: ")
    assert process.stderr.count("\n") == 1
    assert str(path) in process.stderr
    assert process.stdout == ""
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn"], "'learn'"),
        (["fit"], "TABLE"),
        (["fit", "t.csv", "--formula", "y ~ .", "--out", "m", "--model", "x"], "x"),
        (["predict", "m", "t.csv", "--quantiles", "0.5,2"], "0.5,2"),
        (["stream", "t.csv", "--formula", "y ~ .", "--every", "0"], "0"),
        (["stream", "t.csv", "--formula", "y ~ .", "--resume"], "--checkpoint"),
        (["demo"], "OUT"),
        (["demo", "out", "--seed", "x"], "'x'"),
        (["demo", "out", "--bars"], "--bars"),
    ],
)
def test_wrong_usage_exits_with_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_call_without_a_command_lists_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main([]) == 2
    streams = capsys.readouterr()
    assert "learn a table and save the model" in streams.err
    assert not streams.out


def test_help_names_every_file_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["demo", "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for name in ("prequential.png", "predictions.csv", "summary.json"):
        assert name in out


def test_options_reach_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    got: dict[str, Any] = {}

    def run(out: str, **options: Any) -> None:
        got.update(out=out, **options)

    monkeypatch.setattr(demo, "run", run)
    assert cli.main(["demo", "there", "--seed", "7", "--quiet"]) == 0
    assert got == {"out": "there", "seed": 7, "progress": False}
    assert cli.main(["demo", "there"]) == 0
    assert got == {"out": "there", "seed": 1, "progress": True}


def test_a_bad_seed_is_an_error_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["demo", str(tmp_path), "--seed", "-1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dyntree: --seed must be")
    assert "-1" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError("disk"), 1), (ValueError("x"), 1), (KeyboardInterrupt(), 130)],
)
def test_errors_and_interrupts_have_their_codes(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(out: str, **options: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "run", run)
    assert cli.main(["demo", "out"]) == code
    assert capsys.readouterr().err.startswith("dyntree: ")


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(out: str, **options: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(demo, "run", run)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "out"])


@pytest.mark.parametrize("given", ["abc", "0.5,1", "0.5,", "nan", "0.1 0.9"])
def test_quantiles_that_are_none(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["predict", "m.dyn", "rows.csv", "--quantiles", given])
    told = capsys.readouterr().err
    assert f"must be numbers in (0, 1), separated by commas; got {given}" in told
