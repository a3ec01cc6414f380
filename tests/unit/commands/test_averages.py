"""Averages in the shell: fitted, asked, evaluated with a page, streamed and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import AveragedStream
from tests.unit.commands.conftest import run
from tests.unit.commands.test_commands import complaint, exact, table

AUTO = ["--window", "auto", "--particles", "6", "--seed", "1"]


@pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
@pytest.mark.parametrize("formula", ["y ~ .", "y ~ p + C(site)"])
def test_an_average_is_fitted_and_asked(formula: str, tmp_path: Path) -> None:
    if "C(" in formula:
        pytest.importorskip("formulaic", reason="formulaic is not installed")
    rows, frame = table(tmp_path)
    model, answers = tmp_path / "m.dyn", tmp_path / "a.csv"
    assert run("fit", rows, "--formula", formula, "--out", model, *AUTO) == 0
    assert run("predict", model, rows, "--out", answers) == 0
    saved = dyntree.load(model)
    assert isinstance(saved, AveragedStream)
    assert (saved.n_seen, saved.options.n_particles) == (80, 6)
    told = exact(answers)
    assert np.isfinite(told.to_numpy()).all()
    if formula == "y ~ .":
        mean = saved.predict(frame.drop(columns="y")).mean
        np.testing.assert_allclose(told["mean"], mean, rtol=1e-12)


def test_an_average_is_evaluated_with_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows, _ = table(tmp_path, "class")
    page = tmp_path / "r.html"
    call = ["evaluate", rows, "--formula", "y ~ .", "--start", "20", *AUTO]
    assert run(*call, "--html", page, "--json") == 0
    assert 0.0 < json.loads(capsys.readouterr().out)["error"] < 1.0
    assert page.read_text().count("<img") > 5


def test_a_stream_averages_unless_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, frame = table(tmp_path)
    saved, out = tmp_path / "m.dyn", tmp_path / "o.csv"
    call = ["stream", rows, "--formula", "y ~ .", "--checkpoint", saved, "--out", out,
            "--particles", "6", "--seed", "1", "--quiet"]  # fmt: skip
    assert run(*call) == 0
    model = dyntree.load(saved)
    assert isinstance(model, AveragedStream)
    again = AveragedStream(n_particles=6, seed=1)
    means = []
    for k in range(80):
        row = frame[k : k + 1]
        means.append(again.predict(row.drop(columns="y")).mean[0] if k else 0.0)
        again.update(row.drop(columns="y"), row["y"])
    np.testing.assert_allclose(pd.read_csv(out)["mean"][1:], means[1:], rtol=1e-9)
    assert run(*call, "--resume") == 0
    assert dyntree.load(saved).n_seen == 80
    capsys.readouterr()
    for options, words in [
        (["--drift"], "--drift with --window auto"),
        (["--rules", "r"], "--rules r is for one cloud of trees"),
        (["--model", "prior"], "--model prior is for one cloud of trees"),
    ]:
        other = ["stream", rows, "--formula", "y ~ .", "--quiet", *options]
        assert run(*other) == 2
        assert words in complaint(capsys)
