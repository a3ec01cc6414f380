"""Formulas in the shell: the terms and the numbers of `dyntree.formula.api`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import dyntree
import dyntree.formula.api as dtf
from dyntree.commands.formulas import is_plain
from tests.unit.commands.conftest import run
from tests.unit.commands.test_commands import complaint, table
from tests.unit.conftest import python

FORMULA = "np.exp(y) ~ . - q + np.log(q) + p:site"
SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}
FLAGS = ["--particles", "20", "--seed", "1", "--quiet"]
LEVELS = ["--levels", "site=u,v,w"]


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        ("y ~ .", True), ("y ~ a + b c", True), ("y ~ log(a) + b", True),
        ("y ~ d", True), ("y", True), ("y ~ . - a", False), ("y ~ log(b)", False),
        ("y ~ a:b", False), ("np.log(y) ~ a", False), ("y ~ `b c`", False),
    ],
)  # fmt: skip
def test_plain_formulas_name_columns(formula: str, plain: bool) -> None:
    assert is_plain(formula, ["a", "b c", "log(a)", "y"]) == plain


def means(path: Path) -> list[float]:
    """The column of that name, to the last digit."""
    with path.open() as file:
        return [float(line["mean"]) for line in csv.DictReader(file)]


@pytest.mark.parametrize("window", [0, 30])
def test_fit_and_predict_are_those_of_the_face(tmp_path: Path, window: int) -> None:
    path, _ = table(tmp_path)
    frame = pd.read_csv(path)  # not all versions of pandas read what they wrote
    out, answers = tmp_path / "m.dyn", tmp_path / "p.csv"
    rest = ["--formula", FORMULA, "--window", window, *FLAGS]
    assert run("fit", path, "--out", out, *rest) == 0
    fit = dtf.dynamic_tree(FORMULA, frame, window=window or None, **SMALL).fit()
    loaded = dtf.load(out)
    assert loaded.llf == fit.llf
    assert loaded.append(frame).llf == fit.append(frame).llf
    assert run("predict", out, path, "--out", answers) == 0
    found = means(answers)
    expected = dtf.dynamic_tree(FORMULA, frame, window=window or None, **SMALL).fit()
    assert found == expected.predict(frame).tolist()
    expected.save(out)  # a file of the face serves the command as well
    assert run("predict", out, path, "--out", answers) == 0
    assert means(answers) == found


@pytest.mark.parametrize("encode", ["auto", "onehot", "effect"])
def test_columns_of_many_levels_are_those_of_the_face(
    tmp_path: Path, encode: str
) -> None:
    """In a table, and in a stream, which is resumed without a trace."""
    rng = np.random.default_rng(3)
    g, x = rng.integers(0, 36, 120), rng.random(120)
    frame = pd.DataFrame({"x": x, "g": [f"g{k:02d}" for k in g], "y": x + g / 9.0})
    path, out, answers = (tmp_path / name for name in ("t.csv", "m.dyn", "p.csv"))
    frame.to_csv(path, index=False)
    frame = pd.read_csv(path)
    formula = "y ~ np.sqrt(x) + g"
    rest = ["--formula", formula, "--encode-levels", encode, *FLAGS]
    assert run("fit", path, "--out", out, *rest) == 0
    fit = dtf.dynamic_tree(formula, frame, encode_levels=encode, **SMALL).fit()
    assert dtf.load(out).exog_names == fit.exog_names
    assert ("effect of g" in fit.exog_names) == (encode != "onehot")
    assert run("predict", out, path, "--out", answers) == 0
    assert means(answers) == fit.predict(frame).tolist()

    rest += ["--levels", "g=" + ",".join(sorted(set(frame["g"]))), "--window", "60"]
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    assert run("stream", path, "--out", whole, *rest) == 0
    rest += ["--out", parts, "--checkpoint", tmp_path / "s.dyn"]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:60]))
    assert run("stream", path, *rest) == 0
    path.write_text("".join(lines))
    assert run("stream", path, *rest, "--resume") == 0
    assert parts.read_text() == whole.read_text()


def test_evaluate_and_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = table(tmp_path, "class")
    formula = ["--formula", "y ~ p*q + C(site)", "--model", "class", *FLAGS]
    assert run("evaluate", path, *formula, "--start", 20, *LEVELS) == 0
    assert "60 rows predicted" in capsys.readouterr().out
    assert run("fit", path, *formula, "--out", tmp_path / "m.dyn") == 0
    assert run("info", tmp_path / "m.dyn") == 0
    said = capsys.readouterr().out
    assert "C(site)[u]" in said
    assert "y ~ p*q + C(site)" in said
    assert "steps" not in said


@pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
@pytest.mark.parametrize("name", ["constant", "class"])
def test_a_stream_is_resumed_without_a_trace(tmp_path: Path, name: str) -> None:
    path, frame = table(tmp_path, name)
    response = "np.exp(y)" if name == "constant" else "y"
    formula = f"{response} ~ np.log(q) + C(site) + p:site"
    rest = ["--formula", formula, "--window", 30, *LEVELS, *FLAGS]
    rest += ["--model", name]
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    checkpoint = tmp_path / "c.dyn"
    assert run("stream", path, "--out", whole, *rest) == 0
    first = tmp_path / "first.csv"
    frame[:35].to_csv(first, index=False)
    kept = ["--checkpoint", checkpoint, "--out", parts]
    assert run("stream", first, *kept, *rest) == 0
    assert run("stream", path, *kept, "--resume", *rest) == 0
    assert parts.read_bytes() == whole.read_bytes()
    with whole.open() as file:
        lines = list(csv.DictReader(file))
    if name == "constant":
        fit = dtf.dynamic_tree(formula, frame, model=name, window=30, **SMALL).fit()
        assert dyntree.load(checkpoint).log_evidence == fit.llf
        assert float(lines[7]["y"]) == pytest.approx(np.exp(frame["y"][7]), rel=1e-12)
    else:
        assert [line["y"] for line in lines] == frame["y"].tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--formula", "y ~ te(p, 2)"], "got te"),
        (["--formula", "y ~ bs(p)"], "must give bs df or knots"),
        (
            ["--formula", "y ~ I(p**2)", "--rules", "r", "--window", "50"],
            "plain columns under --rules r",
        ),
        (["--formula", "y ~ C(nowhere)"], "['nowhere'] are absent"),
        (["--formula", "y ~ np.log(p)", "--levels", "q=1,2"], "--levels must name"),
    ],
)
def test_refusals(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, _ = table(tmp_path)
    for command in ("fit", "stream"):
        assert run(command, path, "--out", tmp_path / "m", *arguments, *FLAGS) == 1
        assert message in complaint(capsys)


def test_a_stream_must_know_levels_and_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, frame = table(tmp_path)
    rest = ["--formula", "y ~ scale(p)", "--out", tmp_path / "o.csv", *FLAGS]
    assert run("stream", path, *rest) == 1
    assert "must have a value in scale(p), which is learned" in complaint(capsys)
    rest[1] = "y ~ . - q"
    assert run("stream", path, *rest) == 1
    assert "must hold numbers in column 'site'" in complaint(capsys)
    rest += ["--checkpoint", tmp_path / "c.dyn", *LEVELS]
    assert run("stream", path, *rest) == 0
    frame.drop(columns="p").to_csv(path, index=False)
    assert run("stream", path, *rest, "--resume") == 1
    assert "its columns are" in complaint(capsys)


def test_plain_formulas_need_no_formulaic(tmp_path: Path) -> None:
    path, _ = table(tmp_path)
    code = (
        "import sys; sys.modules['formulaic'] = None\n"
        "from dyntree import cli\n"
        f"rest = ['--out', {str(tmp_path / 'm.dyn')!r}, *{FLAGS}]\n"
        f"fit = ['fit', {str(path)!r}, '--formula']\n"
        "print(cli.main([*fit, 'y ~ p + site', *rest]))\n"
        "print(cli.main([*fit, 'y ~ np.log(p)', *rest]))\n"
    )
    process = python("-c", code)
    assert process.stdout.split() == ["0", "1"], process.stderr
    assert process.stderr.strip().endswith(
        "pip install '.[formula]' in a clone of dyntree."
    )


@pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
@pytest.mark.parametrize("response", ["y > 0", "I(-1 < y <= 1)"])
def test_comparisons_are_classified(response: str, tmp_path: Path) -> None:
    """In every command; the labels are truth values, as of a formula in Python."""
    path, _ = table(tmp_path)
    frame = pd.read_csv(path)
    formula, out = f"{response} ~ p + q", tmp_path / "m.dyn"
    assert run("fit", path, "--formula", formula, "--out", out, *FLAGS) == 0
    fit = dtf.dynamic_tree(formula, frame, **SMALL).fit()
    again = dtf.load(out)
    assert {*again.tree.classes} == {False, True}
    assert {*again.predict(frame)} == {*fit.predict(frame)} == {False, True}
    said, saved = tmp_path / "o.csv", tmp_path / "s.dyn"
    asked = ["--formula", formula, "--out", said, "--checkpoint", saved, *FLAGS]
    assert run("stream", path, *asked) == 0
    assert {*dyntree.load(saved).classes} == {False, True}
    assert {*pd.read_csv(said)["label"].dropna()} <= {False, True}
    assert run("evaluate", path, "--formula", formula, *FLAGS) == 0
