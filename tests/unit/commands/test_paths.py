"""No command writes to what it reads, whatever the name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dyntree import cli
from tests.unit.commands.conftest import SMALL, run
from tests.unit.commands.test_harmless import shell

CONTENT = "p,site,y\n" + "".join(
    f"{k},{'uv'[k % 2]},{k % 7 + k / 10}\n" for k in range(40)
)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(CONTENT)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any, code: int = 2) -> str:
    assert run(*arguments) == code
    return capsys.readouterr().err


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard", "relative", "folder"])
@pytest.mark.parametrize("command", ["stream", "fit", "evaluate"])
def test_a_table_is_not_written_over(
    command: str, kind: str, rows: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out: Any = rows
    if kind == "symbolic":
        out = rows.with_name("link.csv")
        out.symlink_to(rows)
    elif kind == "hard":
        out = rows.with_name("twin.csv")
        os.link(rows, out)
    elif kind == "relative":
        monkeypatch.chdir(rows.parent)
        out = "./a.csv"
    elif kind == "folder":
        (rows.parent / "sub").symlink_to(rows.parent)
        out = rows.parent / "sub" / ".." / rows.parent.name / "a.csv"
    call = [command, rows, "--formula", "y ~ .", "--out", out, *SMALL]
    assert "--out must be another file than the table" in refused(capsys, *call)
    assert rows.read_text() == CONTENT


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["stream", "ROWS", "--checkpoint", "ROWS"], "--checkpoint must be another"),
        (["stream", "ROWS", "--checkpoint", "NEW", "--out", "NEW"],
         "than --out, which the command writes"),
        (["evaluate", "ROWS", "--html", "ROWS"], "--html must be another file"),
        (["evaluate", "ROWS", "--html", "NEW", "--out", "NEW"], "than --out"),
        (["crosscheck", "ROWS", "--csv", "ROWS"], "--csv must be another file"),
    ],
)  # fmt: skip
def test_other_outputs_are_looked_at_too(
    arguments: list[str], told: str, rows: Path, capsys: Any
) -> None:
    places = {"ROWS": str(rows), "NEW": str(rows.with_name("new"))}
    call = [places.get(word, word) for word in arguments]
    if arguments[0] != "crosscheck":
        call += ["--quiet"]
    assert told in refused(capsys, *call, "--formula", "y ~ .")
    assert rows.read_text() == CONTENT
    assert not rows.with_name("new").exists()


def test_a_model_is_not_written_over_by_its_predictions(
    rows: Path, capsys: Any
) -> None:
    model = rows.with_name("m.dyn")
    fit = ["fit", rows, "--formula", "y ~ .", "--out", model, *SMALL]
    assert run(*fit) == 0
    before = model.read_bytes()
    for out in (model, rows):
        told = refused(capsys, "predict", model, rows, "--out", out)
        assert "--out must be another file" in told
    assert (model.read_bytes(), rows.read_text()) == (before, CONTENT)


@pytest.mark.parametrize("redirect", ["< a.csv > out.csv", "- < a.csv --out a.csv",
                                      "a.csv >> a.csv"])  # fmt: skip
def test_a_shells_redirections_count(redirect: str, rows: Path) -> None:
    """The shell itself empties what ``>`` names; ``>>`` would never end."""
    where = "- " + redirect if redirect.startswith("<") else redirect
    call = f"dyntree stream --formula 'y ~ .' {' '.join(SMALL)} {where}"
    process = shell(call, rows.parent)
    assert rows.read_text() == CONTENT
    if "out.csv" in redirect:
        assert process.returncode == 0
        assert rows.with_name("out.csv").read_text().count("\n") == 41
    else:
        assert process.returncode == 2
        assert "must be another file than" in process.stderr


def test_an_old_output_goes_when_the_first_row_is_read(rows: Path, capsys: Any) -> None:
    out = rows.with_name("p.csv")
    out.write_text("old")
    call = ["stream", rows, "--out", out, *SMALL, "--formula"]
    refused(capsys, *call, "nowhere ~ .", code=1)
    assert out.read_text() == "old"
    assert run(*call, "y ~ .") == 0
    assert out.read_text().count("\n") == 41
    assert sorted(p.name for p in rows.parent.iterdir()) == ["a.csv", "p.csv"]


def test_a_stream_goes_where_a_link_leads(rows: Path) -> None:
    call = ["stream", rows, "--formula", "y ~ .", *SMALL, "--out"]
    target, link = rows.with_name("there"), rows.with_name("link")
    link.symlink_to(target)
    assert run(*call, link) == 0
    assert link.is_symlink()
    assert target.read_text().count("\n") == 41


@pytest.mark.parametrize("option", ["--out", "--bad-rows", "--html"])
def test_a_model_is_not_written_over_by_a_table(
    option: str, rows: Path, capsys: Any
) -> None:
    model = rows.with_name("good.dyn")
    fit = ["fit", str(rows), "--formula", "y ~ p", "--out", str(model), *SMALL]
    assert cli.main(fit) == 0
    before = model.read_bytes()
    capsys.readouterr()
    ask = ["evaluate" if option == "--html" else "stream", rows, "--formula", "y ~ p"]
    told = refused(capsys, *ask, option, model, *SMALL)
    assert f"{option} must not be a saved model" in told
    if option == "--out":
        other = rows.with_name("other.dyn")
        other.write_bytes(before)
        told = refused(capsys, "predict", model, rows, option, other)
        assert "--out must not be a saved model" in told
    assert model.read_bytes() == before
    assert cli.main(fit) == 0  # a model may replace a model


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_other_separators_are_named(separator: str, rows: Path, capsys: Any) -> None:
    lines = ["a;b;y", *(f"{k},5;{k};{k % 7}" for k in range(9))]
    rows.write_text("\n".join(lines).replace(";", separator) + "\n")
    out = rows.with_name("m.dyn")
    told = refused(
        capsys, "fit", rows, "--formula", "y ~ a", "--out", out, *SMALL, code=1
    )
    assert "--separator tab" in told if separator == "\t" else f'"{separator}"' in told
    assert not out.exists()


@pytest.mark.parametrize("model", ["trees", "sva", "ddp", "canopy", "hdp"])
def test_a_demo_needs_a_folder(
    model: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"Write dyntree demo {model} OUT" in refused(capsys, "demo", model)
    assert "--seed must be a whole number >= 0; got -2" in refused(
        capsys, "demo", model, "out", "--seed", -2
    )
    assert [*tmp_path.iterdir()] == []
