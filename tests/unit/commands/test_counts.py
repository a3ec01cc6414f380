"""Counts and offsets in the shell: the numbers of the classes and of formulas."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import AveragedStream, AveragedTrees, StreamingTree
from tests.helpers import mostly_slow
from tests.unit.commands.conftest import run
from tests.unit.commands.test_commands import complaint, exact

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}
# files of formulas with offsets are opened for their trees
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
FLAGS = ["--particles", "20", "--seed", "1", "--quiet"]
COUNTS = ["--model", "negbin", "--exposure", "hours"]


def table(folder: Path, n: int = 60) -> tuple[Path, pd.DataFrame]:
    """Counts `k` over `hours`, numbers `y` beside `z`, and the file they are in."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.random(n), "z": rng.normal(0.0, 20.0, n)})
    frame["hours"] = rng.uniform(0.5, 4.0, n)
    frame["k"] = rng.poisson(frame["hours"] * np.where(frame["x"] > 0.5, 8.0, 2.0))
    frame["y"] = frame["x"] + frame["z"] + 0.1 * rng.standard_normal(n)
    path = folder / "counts.csv"
    frame[["x", "z", "hours", "k", "y"]].to_csv(path, index=False)
    return path, exact(path)


def answers(path: Path, name: str = "mean") -> list[float]:
    """A column of a file, to the last digit."""
    with path.open() as file:
        return [float(line[name]) for line in csv.DictReader(file)]


def formulas() -> Any:
    """The face of formulas, where formulaic is there."""
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    import dyntree.formula.api as dtf

    return dtf


@pytest.mark.parametrize("window", ["0", "30", "auto"])
@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_counts_are_those_of_the_classes(
    model: str, window: str, tmp_path: Path
) -> None:
    path, frame = table(tmp_path)
    made, out = tmp_path / "m.dyn", tmp_path / "p.csv"
    asked = ["--formula", "k ~ x + z", "--model", model, "--exposure", "hours"]
    assert run("fit", path, *asked, "--window", window, *FLAGS, "--out", made) == 0
    assert run("predict", made, path, "--out", out, "--quantiles", "0.1,0.9") == 0
    own: Any = {
        "0": lambda: AveragedTrees(model, **SMALL),
        "30": lambda: StreamingTree(model, window=30, **SMALL),
        "auto": lambda: AveragedStream(model, **SMALL),
    }[window]()
    own.update(frame[["x", "z"]], frame["k"], exposure=frame["hours"])
    told = own.predict(frame[["x", "z"]], exposure=frame["hours"])
    assert answers(out) == told.mean.tolist()
    assert answers(out, "sd") == (told.var**0.5).tolist()
    assert answers(out, "q0.9") == told.quantile(0.9).tolist()


def test_all_other_columns_are_without_the_exposure(tmp_path: Path) -> None:
    path, _ = table(tmp_path)
    made = tmp_path / "m.dyn"
    assert run("fit", path, "--formula", "k ~ .", *COUNTS, *FLAGS, "--out", made) == 0
    assert dyntree.load(made).feature_names == ("x", "z", "y")
    formulas()
    asked = ["--formula", "k ~ . - y", *COUNTS, *FLAGS, "--out", made]
    assert run("fit", path, *asked) == 0
    assert dyntree.load(made).feature_names == ("x", "z")


def test_info_tells_of_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path)
    made = tmp_path / "m.dyn"
    asked = ["--formula", "k ~ x", *COUNTS, "--dispersion", "0.5", *FLAGS]
    assert run("fit", path, *asked, "--out", made) == 0
    assert dyntree.load(made).tree.options.dispersion == 0.5
    assert run("info", made, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["model"], told["exposure"]) == ("negbin", "hours")


FORMULAS = ["k ~ x + offset(z)", "k ~ x", "k ~ np.sqrt(x)"]


@pytest.mark.parametrize("formula", mostly_slow(FORMULAS))
def test_evaluate_and_its_page(
    formula: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if formula != "k ~ x":
        formulas()
    path, frame = table(tmp_path)
    frame.assign(z=0.1 * frame["x"]).to_csv(path, index=False)
    asked = ["--formula", formula, *COUNTS, *FLAGS, "--start", "20", "--window", 500]
    assert run("evaluate", path, *asked, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    page = tmp_path / "p.html"
    assert run("evaluate", path, *asked, "--html", page) == 0
    assert "40 rows predicted" in capsys.readouterr().out
    assert "negbin" in page.read_text()
    if formula == "k ~ x":
        own = StreamingTree("negbin", **SMALL)
        seen = dyntree.evaluate.prequential(
            own, frame[["x"]], frame["k"], exposure=frame["hours"], start=20
        )
        assert plain["log_density"] == seen.scores.log_density


def test_a_page_says_that_offsets_were_taken_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formulas()
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path, frame = table(tmp_path)
    page = tmp_path / "p.html"
    asked = ["--formula", "y ~ x + offset(z)", *FLAGS, "--start", "20", "--html", page]
    asked += ["--window", 500]
    assert run("evaluate", path, *asked, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rmse"] < 1.0  # z has a standard deviation of 20
    assert told["baseline"]["rmse"] < 1.0
    own = StreamingTree(**SMALL)
    seen = dyntree.evaluate.prequential(
        own, frame[["x"]], frame["y"] - frame["z"], start=20
    )
    assert told["rmse"] == pytest.approx(seen.scores.rmse, rel=1e-9)


# ------------------------------------------------------------ terms
@pytest.mark.parametrize("window", [0, 30])
@pytest.mark.parametrize(
    ("formula", "counts"),
    [
        ("y ~ x + offset(z)", False),
        ("np.exp(I(y / 50)) ~ x + offset(np.sign(z)) + offset(z)", False),
        ("k ~ np.sqrt(x) + offset(I(z / 50))", True),
        ("k ~ np.sqrt(x)", True),
    ],
)
def test_offsets_are_those_of_formulas(
    formula: str, counts: bool, window: int, tmp_path: Path
) -> None:
    dtf = formulas()
    path, frame = table(tmp_path)
    made, out = tmp_path / "m.dyn", tmp_path / "p.csv"
    asked = ["--formula", formula, "--window", window, *FLAGS]
    asked += COUNTS if counts else []
    assert run("fit", path, *asked, "--out", made) == 0
    assert run("predict", made, path, "--out", out) == 0
    own = {"model": "negbin", "exposure": "hours"} if counts else {}
    fit = dtf.dynamic_tree(formula, frame, window=window or None, **own, **SMALL).fit()
    assert answers(out) == fit.predict(frame).tolist()
    assert dtf.load(made).predict(frame).tolist() == answers(out)
    fit.save(made)  # a file of the face serves the command as well
    assert run("predict", made, path, "--out", out) == 0
    assert answers(out) == fit.predict(frame).tolist()


STREAMS = [
    ("k ~ x + z", True), ("k ~ np.sqrt(x) + offset(I(z / 50))", True),
    ("y ~ x + offset(z)", False),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "counts"), STREAMS)
@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_streams_are_resumed_without_a_trace(
    kind: str, formula: str, counts: bool, tmp_path: Path
) -> None:
    if formula != "k ~ x + z":
        formulas()
    path, frame = table(tmp_path)
    first = tmp_path / f"first.{kind}"
    for rows, to in ((frame[:35], first), (frame, path.with_suffix(f".{kind}"))):
        if kind == "csv":
            rows.to_csv(to, index=False)
        else:
            rows.to_json(to, orient="records", lines=True, double_precision=15)
    path = path.with_suffix(f".{kind}")
    rest = ["--formula", formula, "--window", 30, *FLAGS, *(COUNTS if counts else [])]
    whole, parts, kept = (tmp_path / name for name in ("whole", "parts", "c.dyn"))
    other = tmp_path / "whole.dyn"
    assert run("stream", path, "--out", whole, "--checkpoint", other, *rest) == 0
    assert run("stream", first, "--out", parts, "--checkpoint", kept, *rest) == 0
    again = ["--out", parts, "--checkpoint", kept, "--resume", *rest]
    assert run("stream", path, *again) == 0
    assert parts.read_bytes() == whole.read_bytes()
    ours, theirs = dyntree.load(kept), dyntree.load(other)
    assert ours.log_evidence == theirs.log_evidence
    assert ours.n_seen == 60


@pytest.mark.parametrize(("formula", "counts"), STREAMS)
def test_a_stream_learns_what_a_table_does(
    formula: str, counts: bool, tmp_path: Path
) -> None:
    """And foresees a row with its own exposure and offset."""
    if formula != "k ~ x + z":
        formulas()
    path, _ = table(tmp_path)
    rest = ["--formula", formula, "--window", 30, *FLAGS, *(COUNTS if counts else [])]
    out, batch = tmp_path / "s.csv", tmp_path / "p.csv"
    files = [tmp_path / "s.dyn", tmp_path / "f.dyn"]
    assert run("stream", path, *rest, "--out", out, "--checkpoint", files[0]) == 0
    assert run("fit", path, *rest, "--out", files[1]) == 0
    one, two = (dyntree.load(file).log_evidence for file in files)
    assert one == two
    told = []
    for file in files:
        assert run("predict", file, path, "--out", batch) == 0
        told.append(answers(batch))
    assert told[0] == told[1]
    with out.open() as file:
        lines = [*csv.DictReader(file)][20:]
    y, mean = (
        np.array([float(line[name]) for line in lines]) for name in ("y", "mean")
    )
    # of numbers whose offset has a standard deviation of 20, and of rates times hours
    assert np.corrcoef(y, mean)[0, 1] > (0.6 if counts else 0.99)


def test_resuming_needs_the_same_exposure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path)
    kept = ["--checkpoint", tmp_path / "c.dyn", "--out", tmp_path / "o.csv"]
    rest = ["--formula", "k ~ x", "--model", "negbin", *FLAGS, *kept]
    assert run("stream", path, *rest, "--exposure", "hours") == 0
    capsys.readouterr()
    assert run("stream", path, *rest, "--resume") == 1
    assert "exposure: hours then, none now" in complaint(capsys)


# ------------------------------------------------------------ what is refused
@pytest.mark.parametrize("command", ["fit", "evaluate", "stream"])
@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (["--model", "negbin", "--exposure", "nowhere"], "nowhere", 1),
        (
            ["--model", "negbin", "--exposure", "k"],
            "another column than the response",
            2,
        ),
        (["--exposure", "hours"], "--exposure is for counts, --model poisson or", 2),
        (["--model", "constant", "--exposure", "hours"], "got --model constant", 2),
        (
            ["--model", "negbin", "--exposure", "zero"],
            "--exposure must be finite and",
            1,
        ),
        (["--model", "negbin", "--exposure", "gap"], "got nan", 1),
        (["--model", "negbin", "--exposure", "text"], "'text' must hold numbers", 1),
        (["--model", "negbin", "--rules", "r", "--window", "50"], "--rules native", 2),
        (["--model", "poisson", "--dispersion", "1"], "--model negbin only", 2),
    ],
)
@pytest.mark.parametrize("formula", ["k ~ x", "k ~ np.sqrt(x)"])
def test_other_exposures_are_refused(
    formula: str,
    words: list[str],
    told: str,
    code: int,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if formula != "k ~ x":
        formulas()
    path, frame = table(tmp_path)
    at = np.arange(len(frame)) == 25
    frame["zero"], frame["text"] = np.where(at, 0.0, 1.0), np.where(at, "long", "2")
    frame["gap"] = np.where(at, np.nan, 1.0)
    frame.to_csv(path, index=False)
    out = tmp_path / "out"
    asked = ["--formula", formula, *FLAGS, *words, "--out", out]
    assert run(command, path, *asked) == code
    assert told in complaint(capsys)
    assert command == "stream" or not out.exists()


@pytest.mark.parametrize("formula", ["k ~ x", "k ~ np.sqrt(x)"])
def test_new_rows_need_the_exposure(
    formula: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if formula != "k ~ x":
        formulas()
    path, frame = table(tmp_path)
    made = tmp_path / "m.dyn"
    assert run("fit", path, "--formula", formula, *COUNTS, *FLAGS, "--out", made) == 0
    for bad, told in (
        (frame.drop(columns="hours"), "'hours'"),
        (frame.assign(hours=0.0), "--exposure must be finite and > 0; got 0.0 in row"),
        (frame.assign(hours="long"), "'hours' must hold numbers"),
    ):
        bad.to_csv(path, index=False)
        assert run("predict", made, path) == 1
        assert told in complaint(capsys)


def test_offsets_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formulas()
    path, frame = table(tmp_path)
    frame["label"] = np.where(frame["x"] > 0.5, "a", "b")
    frame["part"] = frame["z"].where(frame.index != 25)
    frame.to_csv(path, index=False)
    for command in ("fit", "evaluate", "stream"):
        for formula, told in (
            ("label ~ x + offset(z)", "if the response is a label"),
            ("y ~ x + offset(nowhere)", "'nowhere'"),
            ("y ~ x + offset(part)", "a finite offset, offset(part), in every row"),
            ("y ~ x:offset(z)", "a term of its own"),
        ):
            out = tmp_path / f"{command}.out"
            asked = ["--formula", formula, *FLAGS, "--window", "30", "--out", out]
            assert run(command, path, *asked) == 1
            said = complaint(capsys)
            assert told in said
            assert "missing='drop'" not in said
