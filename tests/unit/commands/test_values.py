"""What cells mean to the commands: levels, decimal commas, labels of every kind."""

from __future__ import annotations

import csv
import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import cli
from dyntree.storage.plain import in_cell, plain, strict, text_of
from tests.helpers import mostly_slow
from tests.unit.commands.conftest import SMALL, run
from tests.unit.commands.test_rows import COMMANDS, written
from tests.unit.faces import without

N = 60
RNG = np.random.default_rng(4)
X = RNG.random(N).round(3)
S = RNG.integers(1, 3, N)
Y = (X + 5.0 * S).round(3)


def call(command: str, path: Path, formula: str, *more: Any) -> Path:
    """Run a command on a table, which must succeed; what it wrote."""
    kind = {"fit": ".dyn", "stream": path.suffix}.get(command, ".csv")
    out = path.with_name(f"out{kind}")
    rest = [command, path, "--formula", formula, "--out", out, *SMALL, *more]
    assert run(*rest) == 0
    return out


def table(path: Path, cells: list[Any], **more: Any) -> Path:
    return written(path, [["x", "s", "y"], *zip(X, cells, Y, strict=True)], **more)


def losses(command: str, path: Path, formula: str, *more: Any) -> Any:
    """What a command says of the rows, as text."""
    return call(command, path, formula, *more).read_text()


CELLS: dict[str, list[Any]] = {
    "whole": S.tolist(), "with a point": S.astype(float).tolist(),
    "both": [float(s) if k % 2 else int(s) for k, s in enumerate(S)],
}  # fmt: skip


# ---------------------------------------------------------------- levels
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("formula", ["y ~ s + x", "y ~ C(s) + x"])
@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("command", ["stream", "evaluate"])
def test_named_levels_are_found_however_they_are_written(
    command: str, cells: str, formula: str, tmp_path: Path
) -> None:
    if "C(" in formula:
        pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    text = [("one", "two")[s - 1] for s in S]
    named = table(tmp_path / "named.csv", text)
    expected = losses(command, named, formula, "--levels", "s=one,two")
    given = table(tmp_path / "given.csv", CELLS[cells])
    for levels in ("s=1,2", "s=1.0,2.0"):
        assert losses(command, given, formula, "--levels", levels) == expected


@pytest.mark.filterwarnings("ignore::dyntree.errors.FormulaFileWarning")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("formula", ["y ~ s + x", "y ~ C(s) + x"])
def test_a_saved_model_finds_them_too(formula: str, tmp_path: Path) -> None:
    if "C(" in formula:
        pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    path = table(tmp_path / "a.csv", CELLS["whole"])
    saved = call("fit", path, formula, "--levels", "s=1,2")
    assert len(dyntree.load(saved).feature_names) == 2
    answers = []
    for cells in CELLS.values():
        asked, out = table(tmp_path / "b.csv", cells), tmp_path / "p.csv"
        assert run("predict", saved, asked, "--out", out) == 0
        answers.append(out.read_text())
    assert answers[0] == answers[1] == answers[2]
    low, high = (pd.read_csv(tmp_path / "p.csv")["mean"][s == S].mean() for s in (1, 2))
    assert high - low > 4.0


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["fit", "evaluate", "stream"])
def test_named_levels_that_a_column_never_has_are_told(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    path = table(tmp_path / "a.csv", ["", *CELLS["whole"][1:]])
    call(command, path, "y ~ s + x", "--levels", "s=one,two")
    told = capsys.readouterr().err
    assert told.count("column 's' has none of the named levels") == 1
    assert "in its first 59 values" in told
    call(command, path, "y ~ s + x", "--levels", "s=1,two")
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(("command", "told"), [("stream", 1), ("evaluate", 0)])
def test_a_stream_without_an_end_tells_of_named_levels_in_time(
    command: str, told: int, tmp_path: Path, capsys: Any
) -> None:
    rows = [[k / 200, "late" if k > 150 else "early", k % 7] for k in range(200)]
    path = written(tmp_path / "a.csv", [["x", "s", "y"], *rows])
    call(command, path, "y ~ s + x", "--levels", "s=late,never")
    err = capsys.readouterr().err
    assert err.count("column 's' has none of the named levels") == told
    assert err.count("in its first 100 values, but values such as 'early'") == told


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("window", ["500", "0", "auto"])
def test_predict_tells_of_named_levels_that_never_come(
    window: str, tmp_path: Path, capsys: Any
) -> None:
    path = table(tmp_path / "a.csv", CELLS["whole"])
    named = ["--levels", "s=1,2", "--window", window]
    saved = call("fit", path, "y ~ s + x", *named)
    other = table(tmp_path / "b.csv", ["one" if s == 1 else "two" for s in S])
    for asked, n_told in ((path, 0), (other, 1)):
        assert run("predict", saved, asked, "--out", tmp_path / "p.csv") == 0
        err = capsys.readouterr().err
        assert err.count("column 's' has none of the named levels") == n_told


def test_levels_that_look_like_numbers_and_are_none_stay_text(tmp_path: Path) -> None:
    codes = [f"{s:03d}" for s in S]
    path = table(tmp_path / "a.csv", codes)
    saved = call("fit", path, "y ~ s + x", "--levels", "s=001,002,1")
    assert dyntree.load(saved).feature_names == ("s=001", "s=002", "s=1", "x")
    rows = dyntree.load(saved).preview([{"x": 0.5, "s": "001"}], [1.0])[0].rows
    assert rows.tolist() == [[1.0, 0.0, 0.0, 0.5]]


@without("pyarrow")
def test_categories_and_times_of_parquet_are_read_as_everywhere(tmp_path: Path) -> None:
    when = pd.date_range("2024-01-01", periods=N, freq="D", tz="UTC")
    kind = pd.Categorical(S.astype(str))  # Parquet has none of numbers
    frame = pd.DataFrame({"s": kind, "when": when, "y": Y})
    frame.to_parquet(tmp_path / "a.parquet")
    saved = dyntree.load(call("fit", tmp_path / "a.parquet", "y ~ .", "--window", "0"))
    assert saved.feature_names == ("s=2", "when")
    direct = dyntree.AveragedTrees(n_particles=10, seed=1)
    direct.update(frame[["s", "when"]], Y)
    assert saved.log_evidence == direct.log_evidence
    assert run("predict", tmp_path / "out.dyn", tmp_path / "a.parquet") == 0
    frame["when"] = [b"u"] * N
    frame.to_parquet(tmp_path / "b.parquet")
    assert run("predict", tmp_path / "out.dyn", tmp_path / "b.parquet") == 1


# ---------------------------------------------------------------- decimal commas
def with_commas(path: Path, columns: list[str]) -> Path:
    """A table that parts cells by semicolons, with commas in these columns."""
    rows: list[list[Any]] = [["x", "y"]]
    for x, y in zip(X, -Y, strict=True):
        cells = {"x": str(x), "y": str(y)}
        rows.append(
            [cells[n].replace(".", "," if n in columns else ".") for n in cells]
        )
    return written(path, rows, ";")


@pytest.mark.parametrize("columns", [["x", "y"], ["y"], ["x"]])
@pytest.mark.parametrize("command", COMMANDS)
def test_decimal_commas_are_told_and_read(
    command: str, columns: list[str], tmp_path: Path, capsys: Any
) -> None:
    path, out = with_commas(tmp_path / "a.csv", columns), tmp_path / "o"
    rest = [command, path, "--formula", "y ~ x", "--separator", ";", "--out", out]
    assert run(*rest, *SMALL) == 1
    told = capsys.readouterr().err
    assert "--decimal ," in told
    assert f"column '{columns[-1]}'" in told
    if len(columns) < 2:
        return
    plain = with_commas(tmp_path / "plain.csv", [])
    expected = call(command, plain, "y ~ x", "--separator", ";").read_bytes()
    found = call(command, path, "y ~ x", "--separator", ";", "--decimal", ",")
    assert found.read_bytes() == expected
    assert run(*rest, *SMALL, "--decimal", ",", "--model", "linear") == 0


def test_a_model_of_commas_predicts_and_goes_on(tmp_path: Path, capsys: Any) -> None:
    path = with_commas(tmp_path / "a.csv", ["x", "y"])
    more = ["--separator", ";", "--decimal", ","]
    saved = call("fit", path, "y ~ x", *more)
    assert run("predict", saved, path, *more) == 0
    assert run("predict", saved, path, "--separator", ";") == 1
    assert "say --decimal ," in capsys.readouterr().err
    kept = ["--checkpoint", tmp_path / "c.dyn"]
    call("stream", path, "y ~ x", *more, *kept)
    rest = ["--formula", "y ~ x", "--separator", ";", "--out", tmp_path / "out.csv"]
    assert run("stream", path, *rest, *SMALL, *kept, "--resume") == 1
    assert "decimal: , then, . now" in capsys.readouterr().err


@pytest.mark.parametrize("first", [[], ["7"]])  # before: a number, or nothing
@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize(
    ("cell", "decimal", "advised"),
    [
        ("1,000", ".", True), ("-12,345", ".", True), ("1,234,567", ".", False),
        ("1,234.5", ".", False), ("1.234,5", ",", False), ("1.234.567,8", ",", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", COMMANDS)
def test_marks_between_thousands_are_to_be_removed(
    command: str, cell: str, decimal: str, advised: bool, column: str, first: list[str],
    tmp_path: Path, capsys: Any,
) -> None:  # fmt: skip
    rows = [{"x": one, "y": one} for one in [*first, cell, "8", "9"]]
    cells = [[row[n] if n == column else "3" for n in ("x", "y")] for row in rows]
    path = written(tmp_path / "a.csv", [["x", "y"], *cells], ";")
    rest = ["--formula", "y ~ x", "--separator", ";", "--decimal", decimal]
    assert run(command, path, *rest, "--out", tmp_path / "o", *SMALL) == 1
    told = capsys.readouterr().err
    marks = "commas" if decimal == "." else "dots"
    assert f"row {len(first)}: column {column!r}" in told
    assert f"Remove these {marks} from the column" in told
    assert ("--decimal" in told) == advised
    assert not advised or f"(only if {cell} means {cell.replace(',', '.')}, say" in told


@pytest.mark.parametrize("cell", ["1,5", "1000,25", "0,125", "1.000,25"])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_thousands_is_a_decimal_comma(
    command: str, cell: str, tmp_path: Path, capsys: Any
) -> None:
    path = written(tmp_path / "a.csv", [["x", "y"], [cell, 1], [cell, 2]], ";")
    rest = ["--formula", "y ~ x", "--separator", ";", "--out", tmp_path / "o"]
    assert run(command, path, *rest, *SMALL) == 1
    told = capsys.readouterr().err
    assert "a number with a decimal comma. Say --decimal , (no dots" in told
    assert "Remove" not in told


@pytest.mark.filterwarnings("ignore:column")
def test_dots_between_thousands_are_told_by_all_cells(
    tmp_path: Path, capsys: Any
) -> None:
    path = written(tmp_path / "a.csv", [["x", "y"], ["1.000", 1], ["2,5", 2]], ";")
    rest = ["--separator", ";", "--decimal", ","]
    out = ["--formula", "y ~ x", "--out", tmp_path / "o", *SMALL]
    assert run("fit", path, *out, *rest) == 1
    assert "row 0: column 'x' must hold numbers; got '1.000'" in capsys.readouterr().err
    versions = [["x", "y"], *([f"1.00{k % 3}", k] for k in range(N))]  # no numbers
    call("fit", written(path, versions, ";"), "y ~ x", *rest, "--model", "linear")
    call("fit", path, "y ~ x", *rest, "--levels", "x=1.000,1.001,1.002")


@pytest.mark.filterwarnings("ignore:column")
def test_commas_beside_other_text_are_levels_and_labels_may_have_them(
    tmp_path: Path,
) -> None:
    cells = [("1,2", "2,3", "none")[s] for s in RNG.integers(0, 3, N)]
    cells[0] = "1,2"
    path = table(tmp_path / "a.csv", cells)
    assert "s=none" in dyntree.load(call("fit", path, "y ~ s + x")).feature_names
    labels = [[x, ("1,2", "2,3")[k % 2]] for k, x in enumerate(X)]
    path = written(tmp_path / "b.csv", [["x", "y"], *labels])
    for command in COMMANDS:
        call(command, path, "y ~ x", "--model", "class")


# ---------------------------------------------------------------- labels out
LABELS: dict[str, tuple[Any, Any]] = {
    "whole numbers": (0, 1), "truth values": (True, False), "numbers": (1.0, 2.0),
    "text": ("no", "yes"),
}  # fmt: skip


@pytest.mark.parametrize("kind", mostly_slow(LABELS))
def test_labels_of_ndjson_come_out_as_they_went_in(kind: str, tmp_path: Path) -> None:
    path, labels = tmp_path / "a.ndjson", LABELS[kind]
    lines = [{"x": x, "y": labels[int(x > 0.5)]} for x in X.tolist()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept = ["--checkpoint", tmp_path / "c.dyn", "--model", "class"]
    told = call("stream", path, "y ~ x", *kept).read_text().splitlines()
    out = [json.loads(line) for line in told]
    assert [line["y"] for line in out] == [line["y"] for line in lines]
    assert {type(line["label"]) for line in out[1:]} == {type(labels[0])}
    assert {line["label"] for line in out[1:]} == {*labels}
    names = {text_of(label) for label in labels}
    assert {*out[-1]["proba"]} == names
    model = dyntree.load(tmp_path / "c.dyn")
    assert {*model.classes} == {*labels}
    facts = model.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert run("info", tmp_path / "c.dyn", "--json") == 0
    saved = call("fit", path, "y ~ x", "--model", "class")
    answers = tmp_path / "p.csv"
    assert run("predict", saved, path, "--out", answers) == 0
    with answers.open() as file:
        told = {line["label"] for line in csv.DictReader(file)}
    assert told <= {str(label) for label in labels}
    page = tmp_path / "page.html"
    call("evaluate", path, "y ~ x", "--model", "class", "--html", page)
    assert page.read_text().startswith("<!DOCTYPE html>")


@without("pyarrow")
def test_labels_of_parquet_come_out(tmp_path: Path) -> None:
    for labels in ([True, False], [3, 4], [date(2024, 1, 1), date(2024, 1, 2)]):
        y = [labels[int(x > 0.5)] for x in X]
        pd.DataFrame({"x": X, "y": y}).to_parquet(tmp_path / "a.parquet")
        path = tmp_path / "a.parquet"
        saved = call("fit", path, "y ~ x", "--model", "class")
        assert {*dyntree.load(saved).classes} == {*labels}
        answers = tmp_path / "p.csv"
        assert run("predict", saved, path, "--out", answers) == 0
        with answers.open() as file:
            told = {line["label"] for line in csv.DictReader(file)}
        assert told == {str(in_cell(label)) for label in labels}
        assert run("info", saved, "--json") == 0


# ---------------------------------------------------------------- the encoder
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3), (np.uint8(3), 3), (np.float32(0.5), 0.5), (np.True_, True),
        (np.str_("u"), "u"), (None, None), (pd.NA, None), (Decimal("1.5"), 1.5),
        (date(2024, 2, 29), "2024-02-29"), (time(12, 30), "12:30:00"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00+00:00"),
        (pd.Timestamp("2024-02-29"), "2024-02-29T00:00:00"),
        (np.datetime64("2024-02-29", "ns"), "2024-02-29T00:00:00"),
        (np.datetime64("2024-02-29"), "2024-02-29"),
        (timedelta(1, 2, 500), "P1DT2.0005S"), (("u", np.int8(1)), ["u", 1]),
        (np.arange(2), [0, 1]), ({1: {2.5}}, {"1": [2.5]}),
        (pd.Period("2024-02", "M"), "2024-02"), (pd.Interval(0, 1), "(0, 1]"),
        (b"u", "75"),
    ],
)  # fmt: skip
def test_every_value_has_a_plain_form(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(strict(value))) == expected


def test_what_is_not_finite_is_null_in_json_alone() -> None:
    for value in (math.nan, math.inf, np.float32("-inf")):
        assert strict({"q": [value]}) == {"q": [None]}
    assert plain(math.inf) == math.inf
    assert pd.Timedelta(plain(timedelta(-1, 3))) == timedelta(-1, 3)


@pytest.mark.filterwarnings("default::dyntree.errors.DatesAsTextWarning")
def test_dates_are_said_to_need_their_option(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "days.csv"
    days = [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d},{k}" for k in range(300)]
    path.write_text("\n".join(["t,y", *days]) + "\n")
    call = ["fit", str(path), "--formula", "y ~ t", "--out", str(tmp_path / "m.dyn")]
    assert run(*call, "--particles", 10, "--quiet") == 0
    told = capsys.readouterr().err
    assert "Say --times t, or, if they are levels" in told
    assert run(*call, "--particles", 10, "--quiet", "--times", "t") == 0
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------ said once, and kept
@pytest.mark.parametrize("formula", ["y ~ t", "y ~ t + np.sqrt(t)"])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
def test_columns_of_times_stay_with_the_model(
    tmp_path: Path, formula: str, form: str
) -> None:
    days = [(datetime(2024, 1, 1) + timedelta(k)).strftime(form) for k in range(60)]
    path = written(tmp_path / "a.csv", [["t", "y"], *zip(days, range(60), strict=True)])
    saved, outs = tmp_path / "m.dyn", [tmp_path / "p.csv", tmp_path / "q.csv"]
    times = ["--times", f"t={form}"]
    small = ["--particles", 20, "--seed", 1]
    assert run("fit", path, "--formula", formula, "--out", saved, *small, *times) == 0
    for out, again in zip(outs, ([], times), strict=True):
        assert run("predict", saved, path, "--out", out, *again) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_words_for_what_is_missing_stay_with_the_model(tmp_path: Path) -> None:
    rows = [["-999" if k % 5 == 0 else k / 10, k / 10] for k in range(60)]
    path = written(tmp_path / "a.csv", [["x", "y"], *rows])
    saved, out = tmp_path / "m.dyn", tmp_path / "p.csv"
    rest = ["--model", "linear", "--missing=-999", "--particles", "20", "--seed", "1"]
    fit = ["fit", path, "--formula", "y ~ x", "--out", saved, *rest]
    assert run(*fit) == 0
    asked = written(tmp_path / "q.csv", [["x"], ["-999"], [""]])
    assert cli.main(["predict", str(saved), str(asked), "--out", str(out)]) == 0
    first, second = out.read_text().splitlines()[1:]
    assert first == second
    more = ["--out", str(out), "--missing", "none"]
    assert cli.main(["predict", str(saved), str(asked), *more]) == 0
    assert len({*out.read_text().splitlines()[1:]}) == 2


@pytest.mark.parametrize("command", ["fit", "stream", "evaluate"])
def test_numbers_as_text_are_no_labels(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(
        "".join(f'{{"x": {k}, "y": "{k / 7:.4f}"}}\n' for k in range(1, 40))
    )
    call = [command, str(path), "--formula", "y ~ x", "--out", str(tmp_path / "o")]
    assert cli.main(call) == 1
    assert "got the text '0.1429', which reads as a number" in capsys.readouterr().err
    more = ["--model", "class", "--particles", "5", "--quiet"]
    assert cli.main([*call, *more]) == 0
