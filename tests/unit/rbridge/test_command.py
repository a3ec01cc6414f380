"""``dyntree crosscheck``: a report, a table, a picture, and what is refused."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dyntree import cli
from rbridge.session import _running
from tests.unit.rbridge.engines import running


@pytest.fixture
def table(tmp_path: Path) -> str:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((60, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] + rng.normal(0, 0.1, 60)
    frame["soil"] = np.where(frame["b"] > 0.5, "clay", "sand")
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return str(path)


def crosscheck(*arguments: str) -> int:
    given = ["crosscheck", *arguments, "--particles", "30", "--backend", "subprocess"]
    return cli.main(given)


@pytest.mark.cran
@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("y ~ a", ["--model", "linear", "--intercept", "augmented"]),
        ("y ~ a + b", ["--model", "linear", "--proposal", "luall"]),
        ("soil ~ a + b", ["--model", "class"]),
        ("y ~ a + b", ["--model", "prior"]),
    ],
)
def test_the_report_is_written(
    table: str, formula: str, model: list[str], tmp_path: Path
) -> None:
    running("subprocess", cran=True)
    out, csv, html, picture = (
        str(tmp_path / f"r.{kind}") for kind in ("txt", "csv", "html", "png")
    )
    files = ["--out", out, "--csv", csv, "--html", html, "--picture", picture]
    assert crosscheck(table, "--formula", formula, *model, *files) == 0
    told = Path(out).read_text().splitlines()
    assert told[0].endswith("and dyntree from seed 1")
    assert told[-1].startswith("draw for draw; largest relative difference ")
    frame = pd.read_csv(csv)
    assert frame["agrees"].all()
    assert {"dynaTree", "update", "rejuvenate"} <= set(frame["name"])
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    page = Path(html).read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"<p>{escape(told[-1])}.</p>" in page
    assert escape("\n".join(told)) in page
    assert page.count('src="') == page.count('src="data:image/svg+xml;base64,') == 1
    assert page.count("<h2>") == 3


@pytest.mark.cran
def test_a_difference_is_an_exit_code(
    table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rbridge import dynatree

    running("subprocess", cran=True)
    look = dynatree.treestats
    monkeypatch.setattr(
        dynatree,
        "treestats",
        lambda obj: look(obj) + (not isinstance(obj, dynatree.RDynaTree)),
    )
    assert crosscheck(table, "--formula", "y ~ a + b") == 1
    told = capsys.readouterr()
    assert "DIFFERS" in told.out
    assert told.err == (
        "dyntree: not draw for draw: treestats differs first, at step 0 (dynaTree)\n"
    )


def test_tables_that_do_not_suit_are_refused(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.csv"
    pd.read_csv(table).head(9).to_csv(short, index=False)
    holes = tmp_path / "holes.csv"
    pd.read_csv(table).replace({"soil": {"clay": np.nan}}).to_csv(holes, index=False)
    for path, formula, told in (
        (table, "y ~ .", "column 'soil' must hold numbers, none of them missing"),
        (table, "soil ~ a", "for labels say --model class"),
        (table, "y ~ c", "formula must name columns of the table"),
        (str(short), "y ~ a", "the table must have at least 18 rows; got 9"),
        (str(holes), "soil ~ a", "column 'soil' must not have missing values"),
    ):
        assert crosscheck(path, "--formula", formula) == 1
        assert told in capsys.readouterr().err


def test_no_r_is_one_line(
    table: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(_running, "subprocess", raising=False)
    monkeypatch.delenv("R_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert crosscheck(table, "--formula", "y ~ a") == 1
    assert capsys.readouterr().err.startswith("dyntree: Rscript must be in PATH or")
