"""The commands of the console: what they read, write and say, and how they end."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import StreamingTree
from dyntree.commands.tables import split_formula
from dyntree.evaluate import prequential
from tests import kills
from tests.helpers import mostly_slow
from tests.unit.commands.conftest import run
from tests.unit.conftest import here, python, short_files
from tests.unit.models import data

SMALL = ["--particles", "20", "--seed", "1"]


def table(folder: Path, name: str = "constant", n: int = 80) -> tuple[Path, Any]:
    """A CSV file of columns p, q, site, y, and its frame.

    Of few digits: before 3.1 pandas does not read the last of many exactly.
    """
    X, y = data(name, n)
    X, y = X.round(4), y.round(4) if y.dtype.kind == "f" else y
    frame = pd.DataFrame({"p": X[:, 0], "q": X[:, 1]})
    frame["site"] = np.array(["u", "v", "w"])[np.arange(n) % 3]
    frame["y"] = y
    path = folder / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


def exact(path: Path) -> pd.DataFrame:
    """Numbers of a CSV file to the last digit, whatever the version of pandas."""
    return pd.read_csv(path, dtype=str).astype(float)


def shell(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return python("-m", "dyntree", *arguments, **options)


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dyntree: ")
    assert err.count("\n") == 1
    return err


# ---------------------------------------------------------------- formula
@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("y ~ .", ("y", ["a", "b c"])),
        ("y~b c+a", ("y", ["b c", "a"])),
        (" a ~ y ", ("a", ["y"])),
        ("z ~ a", ("z", ["a"])),
    ],
)
def test_a_formula_names_columns(formula: str, expected: Any) -> None:
    assert split_formula(formula, ["a", "b c", "y"]) == expected


@pytest.mark.parametrize(
    ("formula", "came"),
    [
        ("y", "'y'"), ("y ~", "'y ~'"), ("~ a", "'~ a'"), ("y ~ a + ", "a +"),
        ("y ~ d", "['a', 'b c', 'y']"), ("y ~ log(a)", "got ['log(a)'] in"),
        ("y ~ y", "once"), ("y ~ a + a", "once"), ("", "''"),
    ],
)  # fmt: skip
def test_other_formulas_are_refused(formula: str, came: str) -> None:
    with pytest.raises(ValueError, match="formula must") as caught:
        split_formula(formula, ["a", "b c", "y"])
    assert came in str(caught.value)


# ---------------------------------------------------------------- tables
def test_fit_and_predict_are_those_of_the_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, frame = table(tmp_path)
    out, answers = tmp_path / "m.dyn", tmp_path / "p.csv"
    code = run(
        "fit", path, "--formula", "y ~ .", "--model", "linear", "--window", 50,
        "--discard", "age", "--forget", 0.98, "--out", out, *SMALL,
    )  # fmt: skip
    assert code == 0
    model = StreamingTree(
        "linear", window=50, discard="age", forget=0.98, n_particles=20, seed=1
    )
    model.update(frame[["p", "q", "site"]], frame["y"])
    assert dyntree.load(out).tree.log_evidence == model.log_evidence
    assert run("predict", out, path, "--out", answers, "--quantiles", "0.1,0.9") == 0
    assert capsys.readouterr() == ("", "")
    found = exact(answers)
    expected = model.predict(frame[["p", "q", "site"]])
    assert list(found) == ["mean", "sd", "q0.1", "q0.9"]
    assert found["mean"].tolist() == expected.mean.tolist()
    assert found["q0.9"].tolist() == expected.quantile([0.9])[:, 0].tolist()
    assert run("predict", out, path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mean,sd,q0.05,q0.5,q0.95"
    assert len(lines) == 81


def test_probabilities_of_labels(tmp_path: Path) -> None:
    path, frame = table(tmp_path, "class")
    out, answers = tmp_path / "m.dyn", tmp_path / "p.csv"
    assert run("fit", path, "--formula", "y ~ p + q", "--model", "class", "--out", out,
               "--window", 0, *SMALL) == 0  # fmt: skip
    assert dyntree.load(out).tree[0].n_active == 80
    assert run("predict", out, path, "--out", answers) == 0
    found = pd.read_csv(answers)
    assert list(found) == ["label", "p_a", "p_b", "p_c"]
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1.0)
    assert np.mean(found["label"] == frame["y"]) > 0.7


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, frame = table(tmp_path)
    seen: list[Any] = []

    def read(name: str) -> Any:
        seen.append(name)
        return frame

    monkeypatch.setattr(pd, "read_parquet", read)
    first, second = tmp_path / "a.dyn", tmp_path / "b.dyn"
    rest = ["--formula", "y ~ .", *SMALL]
    assert run("fit", "rows.parquet", "--out", first, *rest) == 0
    assert seen == ["rows.parquet"]
    assert run("fit", path, "--out", second, *rest) == 0
    assert first.read_bytes() == second.read_bytes()


def test_a_missing_reader_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(name: str) -> Any:
        raise ImportError("pyarrow")

    monkeypatch.setattr(pd, "read_parquet", read)
    assert run("fit", "rows.parquet", "--formula", "y ~ .", "--out", "m.dyn") == 1
    assert "pip install pyarrow" in complaint(capsys)


def test_evaluate_and_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = table(tmp_path)
    losses, out = tmp_path / "losses.csv", tmp_path / "m.dyn"
    rest = [path, "--formula", "y ~ p", "--start", 20, *SMALL]
    assert run("evaluate", *rest, "--out", losses) == 0
    text = capsys.readouterr().out
    assert "60 rows predicted" in text
    assert "trivial baseline" in text
    assert len(pd.read_csv(losses)) == 60
    assert run("evaluate", *rest, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["rmse"] < scores["baseline"]["rmse"]
    assert run("fit", path, "--formula", "y ~ p", "--out", out, *SMALL) == 0
    assert run("info", out) == 0
    assert "y ~ p" in capsys.readouterr().out
    assert run("info", out, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows learned"] == 80
    assert facts["columns"] == ["p"]
    assert facts["bytes on disk"] == out.stat().st_size


# ---------------------------------------------------------------- failures
@pytest.mark.parametrize("command", ["info", "predict"])
def test_files_of_no_model_are_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path)
    saved = tmp_path / "t.dyn"
    dyntree.save(dyntree.mixtures.CoverTree([[1.0]]), saved)
    assert run(command, saved, *([path] if command == "predict" else [])) == 1
    assert "t.dyn must hold a model that learns online; it holds a CoverTree" in (
        complaint(capsys)
    )


def piped(*options: Any, answers: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """A stream of its own process that reads rows from a pipe where none are named."""
    call = [sys.executable, "-m", "dyntree", "stream", *map(str, options), *SMALL]
    return subprocess.Popen(
        call,
        env=here(),
        stdin=subprocess.PIPE,
        stdout=answers,
        stderr=answers,
        text=True,
    )


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    path, _ = table(tmp_path, n=400)
    with piped(path, "--formula", "y ~ .") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    with piped("-", "--formula", "y ~ .") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("a,y\n1,2\n")
        process.stdin.flush()
        process.stdout.readline()
        assert process.stdout.readline().startswith("0,2,")  # as it comes
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "dyntree: 1 rows taken, 1 learned\ndyntree: interrupted\n"


# ---------------------------------------------------------------- stream
def test_lines_are_what_the_model_says_before_it_learns(tmp_path: Path) -> None:
    path, frame = table(tmp_path)
    out, saved = tmp_path / "o.csv", tmp_path / "m.dyn"
    assert run("stream", path, "--formula", "y ~ .", "--out", out, "--quiet",
               "--checkpoint", saved, "--window", 30, *SMALL) == 0  # fmt: skip
    found = exact(out)
    model = StreamingTree(window=30, n_particles=20, seed=1)
    rows = frame[["p", "q", "site"]].to_dict("records")
    for k, (row, y) in enumerate(zip(rows, frame["y"], strict=True)):
        assert found["row"][k] == k
        if k:
            assert found["mean"][k] == model.predict(row).mean[0]
        else:
            assert np.isnan(found["mean"][k])  # nothing is known before the first row
        model.update(row, [y])
    assert dyntree.load(saved).log_evidence == model.log_evidence


def test_csv_and_ndjson_say_the_same(tmp_path: Path) -> None:
    path, frame = table(tmp_path, "class")
    other = tmp_path / "rows.ndjson"
    frame.to_json(other, orient="records", lines=True, double_precision=15)
    round_trip = pd.read_json(other, lines=True, precise_float=True)
    round_trip.to_csv(path, index=False)
    outs = tmp_path / "a.csv", tmp_path / "b.ndjson"
    for source, out in zip((path, other), outs, strict=True):
        assert run("stream", source, "--formula", "y ~ p + site", "--model", "class",
                   "--quiet", "--out", out, "--levels", "site=u,v,w",
                   *SMALL) == 0  # fmt: skip
    rows = [json.loads(line) for line in outs[1].read_text().splitlines()]
    table_ = pd.read_csv(outs[0], keep_default_na=False)
    assert rows[0] == {"row": 0, "y": rows[0]["y"], "label": None, "proba": None}
    assert [row["label"] or "" for row in rows] == table_["label"].tolist()
    assert rows[-1]["proba"][rows[-1]["label"]] == float(table_["p_label"].iloc[-1])


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_rows_without_a_response_are_predicted_only(tmp_path: Path) -> None:
    path, _ = table(tmp_path, n=30)
    with path.open("a") as file:
        file.write("0.5,,u,\n0.5,0.5,v,NA\n")
    out, saved = tmp_path / "o.csv", tmp_path / "m.dyn"
    assert run("stream", path, "--formula", "y ~ .", "--out", out, "--quiet",
               "--checkpoint", saved, *SMALL) == 0  # fmt: skip
    assert dyntree.load(saved).n_seen == 30
    assert np.isfinite(pd.read_csv(out)["mean"][30:]).all()


@pytest.mark.parametrize("kind", mostly_slow(kills.KINDS))
def test_a_killed_stream_loses_and_doubles_nothing(kind: str, tmp_path: Path) -> None:
    chance = list(kills.KINDS).index(kind)
    assert kills.torture(tmp_path, kind, 1, 800, chance, every=50) == 1


def test_resuming_through_pipes(tmp_path: Path) -> None:
    path, _ = table(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    whole, out, saved = (tmp_path / name for name in ("w.csv", "o.csv", "m.dyn"))
    rest = ["--formula", "y ~ .", "--quiet", *SMALL]
    with whole.open("wb") as file:
        assert shell("stream", path, *rest, stdout=file, stderr=None,
                     capture_output=False).returncode == 0  # fmt: skip
    call = ["stream", "-", *rest, "--checkpoint", saved, "--resume"]
    parts = [(lines[:31], []), (lines, []), ([lines[0]], ["--input-continues"])]
    for part, more in parts:
        with out.open("ab") as file:
            file.write(b"torn line") if part is lines else None
            file.flush()
            process = shell(*call, *more, input="".join(part), stdout=file,
                            stderr=subprocess.PIPE, capture_output=False)  # fmt: skip
        assert process.returncode == 0, process.stderr
    assert out.read_bytes() == whole.read_bytes()


def test_what_does_not_fit_the_checkpoint_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, frame = table(tmp_path)
    out, saved, other = (tmp_path / name for name in ("o.csv", "m.dyn", "f.dyn"))
    rest = [path, "--formula", "y ~ .", "--quiet", "--out", out, *SMALL]
    call = ["stream", *rest, "--checkpoint", saved]
    assert run(*call) == 0
    text, old = out.read_text(), saved.read_bytes()
    assert run(*call) == 1
    assert "add --resume" in complaint(capsys)
    assert run(*call, "--resume", "--model", "linear") == 1
    assert "needs the options of the first call" in complaint(capsys)
    assert run(*call, "--resume") == 0
    assert (out.read_text(), saved.read_bytes()) == (text, old)
    assert run("fit", path, "--formula", "y ~ .", "--out", other, *SMALL) == 0
    assert run("stream", *rest, "--checkpoint", other, "--resume") == 1
    assert "not a checkpoint of a stream" in complaint(capsys)
    frame.rename(columns={"q": "r"}).to_csv(path, index=False)
    assert run(*call, "--resume") == 1
    assert "its columns are" in complaint(capsys)
    out.write_text("")
    assert run(*call, "--resume") == 1
    assert "needs the output of the first call" in complaint(capsys)
    assert saved.read_bytes() == old


def test_checkpoints_come_by_time_too(tmp_path: Path) -> None:
    saved = tmp_path / "m.dyn"
    options = ["-", "--formula", "y ~ a", "--checkpoint", saved, "--seconds", "0.001"]
    with piped(*options, answers=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write("a,y\n")
        end = time.monotonic() + 60.0
        while not (saved.exists() and dyntree.load(saved).n_seen):
            assert time.monotonic() < end
            process.stdin.write("1,2\n")
            process.stdin.flush()
            time.sleep(0.01)
        process.kill()


def test_a_full_disk_ends_a_stream_that_can_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path, n=300)
    whole, out, saved = (tmp_path / name for name in ("w.csv", "o.csv", "m.dyn"))
    rest = [path, "--formula", "y ~ .", "--quiet", "--window", 40, *SMALL]
    assert run("stream", *rest, "--out", whole) == 0
    call = ["stream", *rest, "--out", out, "--checkpoint", saved, "--every", 10]
    with short_files(20_000):
        assert run(*call) == 1
    assert "File too large" in complaint(capsys)
    assert run(*call, "--resume") == 0
    assert out.read_bytes() == whole.read_bytes()


def test_evaluate_takes_levels_as_they_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = table(tmp_path, n=120)
    rows = rows.sort_values("site", kind="stable")  # some levels come late
    rows.to_csv(path, index=False)
    whole = ["--window", "500", "--formula", "y ~ site", "--json", *SMALL]
    assert run("evaluate", path, *whole) == 0
    told, warned = capsys.readouterr()
    assert warned == ""
    told = json.loads(told)
    model = StreamingTree(window=500, n_particles=20, seed=1)
    expected = prequential(model, rows[["site"]], rows["y"]).scores
    assert told["rmse"] == pytest.approx(expected.rmse, rel=1e-6)


def test_new_levels_are_what_the_option_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = table(tmp_path, n=60)
    rows["late"] = np.where(np.arange(60) < 45, None, "a")
    rows["empty"] = None
    rows.to_csv(path, index=False)
    saved, out = tmp_path / "m.dyn", tmp_path / "o.csv"
    call = [path, "--formula", "y ~ .", "--quiet", "--out", saved, *SMALL]
    assert run("fit", *call) == 0
    tree = dyntree.load(saved).tree
    assert "late=a" in tree.feature_names
    assert tree.columns_without_values == ("empty",)
    rows["late"] = rows["empty"] = "b"
    rows.to_csv(path, index=False)
    process = shell("predict", saved, path, "--out", out)
    assert (process.returncode, process.stderr.count("\n")) == (0, 1)
    assert "levels in column 'late'" in process.stderr
    assert np.isfinite(pd.read_csv(out)["mean"]).all()
    rest = [path, "--formula", "y ~ site", "--quiet", "--out", out, *SMALL]
    rows.loc[50, "site"] = "moon"
    rows.to_csv(path, index=False)
    assert run("stream", *rest, "--new-levels", "error") == 1
    told = complaint(capsys)
    assert "row 50: X must hold known levels in column 'site'; got 'moon'" in told
    assert "Make a model with --new-levels grow, or" in told
    assert told.endswith("--levels site=A,B,....\n")


def test_progress_is_told_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = table(tmp_path, n=12)
    out = tmp_path / "o.csv"
    assert run("stream", path, "--formula", "y ~ p", "--out", out, *SMALL) == 0
    assert capsys.readouterr().err == "dyntree: 12 rows taken, 12 learned\n"


def test_warnings_are_lines_too(tmp_path: Path) -> None:
    path, _ = table(tmp_path, n=30)
    with path.open("a") as file:
        file.write("0.5,0.5,new,1.0\n")
    process = shell("stream", path, "--formula", "y ~ .", "--quiet", *SMALL)
    assert process.returncode == 0
    assert process.stderr.startswith("dyntree: warning: X has levels")
    assert process.stderr.count("\n") == 1
    named = shell("stream", path, "--formula", "y ~ .", "--quiet", *SMALL,
                  "--levels", "site=u,v,w,new")  # fmt: skip
    assert (named.returncode, named.stderr) == (0, "")
    assert len(pd.read_csv(io.StringIO(named.stdout))) == 31


# ---------------------------------------------------------------- odd files
def test_ndjson_is_a_table_too(tmp_path: Path, capsys: Any) -> None:
    path, frame = table(tmp_path)
    other = tmp_path / "rows.ndjson"
    other.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    told = []
    for file in (path, other):
        assert run("evaluate", file, "--formula", "y ~ .", "--json", *SMALL) == 0
        told.append(json.loads(capsys.readouterr().out)["rmse"])
    assert told[0] == told[1]


@pytest.mark.filterwarnings("always")
def test_text_by_accident_is_warned_of(tmp_path: Path, capsys: Any) -> None:
    frame = pd.DataFrame({"p": np.arange(30.0), "q": ["n.a.", *range(29)]})
    frame["day"] = pd.date_range("2024-01-01", periods=30).astype(str)
    frame["site"], frame["y"] = ["u", "v"] * 15, frame["p"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = ["--out", tmp_path / "m.dyn", *SMALL]
    for formula in ("y ~ .", "y ~ . - p"):  # of plain columns, and by terms
        if "-" in formula:
            pytest.importorskip("formulaic")
        assert run("fit", tmp_path / "rows.csv", "--formula", formula, *out) == 0
        told = capsys.readouterr().err.splitlines()
        assert sorted(line.split("'")[1:4:2] for line in told) == [
            ["day", "2024-01-01"], ["q", "n.a."],
        ]  # fmt: skip


WHOLE = {
    "mixed": "y",
    "linear": "y",
    "constant": "y",
    "poisson": "n",
    "negbin": "n",
    "class": "label",
    "logit": "label",
}  # models, and responses that they take


@pytest.mark.parametrize("model", WHOLE)
def test_a_stream_without_a_window_learns_all_rows(model: str, tmp_path: Path) -> None:
    """Tables have no quicker way for a row; with weights of 1 there is none anyhow."""
    a, y = np.random.default_rng(0).random((2, 25)).round(3)
    label, path = np.where(y > 0.5, "u", "v"), tmp_path / "rows.csv"
    table = {"a": a, "y": y, "n": (5 * y).round(), "label": label, "one": 1}
    pd.DataFrame(table).to_csv(path, index=False)
    call = ["stream", path, "--formula", f"{WHOLE[model]} ~ a", "--model", model]
    call += ["--window", 0, *SMALL, "--out"]
    plain, weighted = tmp_path / "plain.csv", tmp_path / "weighted.csv"
    assert run(*call, plain) == 0
    assert run(*call, weighted, "--weights", "one") == 0
    assert plain.read_bytes() == weighted.read_bytes()
    assert plain.read_text().count("\n") == 26


@pytest.mark.filterwarnings("always::dyntree.errors.UnseenLevelWarning")
def test_warnings_of_a_stream_name_no_row_of_a_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call has one row, so that its number, 0, would be another row's."""
    rng, path = np.random.default_rng(0), tmp_path / "rows.csv"
    rows = pd.DataFrame({"soil": rng.choice(["clay", "sand"], 60), "y": rng.random(60)})
    rows.loc[40, "soil"] = "peat"
    rows.to_csv(path, index=False)
    call = [path, "--formula", "y ~ soil", "--new-levels", "missing", *SMALL, "--out"]
    for command, where in (("stream", "'peat';"), ("evaluate", "'peat' in row 40;")):
        assert run(command, *call, tmp_path / command) == 0
        err = capsys.readouterr().err
        assert f"are later than the first trees, such as {where}" in err
