"""One reading of tables: all commands take them by the same rules."""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import json
import lzma
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import cli
from tests.unit.commands.conftest import SMALL, run

COMMANDS = ["fit", "stream", "evaluate"]


def rows(n: int = 40) -> list[list[Any]]:
    rng = np.random.default_rng(1)
    table: list[list[Any]] = [["p", "q", "y"]]
    table += rng.random((n, 3)).round(3).tolist()
    return table


def written(path: Path, table: list[list[Any]], separator: str = ",") -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(table)
    return path


def call(command: str, path: Path, *more: Any, formula: str = "y ~ .") -> list[Any]:
    out = path.with_name("out." + ("dyn" if command == "fit" else "csv"))
    return [command, path, "--formula", formula, "--out", out, *SMALL, *more]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("column", "told"),
    [
        (0, "row 7: column 'p' must hold numbers; got 'oops'. Mend it, leave it "
            "out, or name its levels: --levels p=A,B,..."),
        (2, "row 7: column 'y' must hold numbers; got 'oops'. Mend it, or say --model"),
    ],
)  # fmt: skip
def test_a_bad_cell_is_told_alike(
    command: str, column: int, told: str, tmp_path: Path, capsys: Any
) -> None:
    table = rows()
    table[8][column] = "oops"
    path = written(tmp_path / "a.csv", table)
    assert run(*call(command, path)) == 1
    assert told in capsys.readouterr().err
    if column == 0:  # of no interest where the formula does not name it
        assert run(*call(command, path, formula="y ~ q")) == 0


@pytest.mark.parametrize(
    ("suffix", "opened"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)]
)
@pytest.mark.parametrize("command", COMMANDS)
def test_packed_files(command: str, suffix: str, opened: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", rows())
    packed = path.with_name("a.csv" + suffix)
    packed.write_bytes(opened.compress(path.read_bytes()))
    told = []
    for source in (path, packed):
        assert run(*call(command, source)) == 0
        (out,) = tmp_path.glob("out.*")
        told.append(out.read_bytes())
        out.unlink()
    assert told[0] == told[1]
    packed.write_bytes(packed.read_bytes()[:-20])
    assert run(*call(command, packed)) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_of_any_length(command: str, tmp_path: Path) -> None:
    table = rows()
    table[3][0], table[4][0], table[5][0] = "1" + "0" * 40, "9" * 5000, "-1e400"
    path = written(tmp_path / "a.csv", table)
    constant = ["--model", "constant"]  # linear leaves warn of numbers so far away
    assert run(*call(command, path), *constant) == 1  # too large for a double
    table[4][0], table[5][0] = 1, 2
    assert run(*call(command, written(path, table)), *constant) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_labels_make_a_classifier(command: str, tmp_path: Path, capsys: Any) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[2] = "high" if k % 2 else "low"
    path = written(tmp_path / "a.csv", table)
    more = ["--checkpoint", tmp_path / "c.dyn"] if command == "stream" else []
    assert run(*call(command, path, *more)) == 0
    if command != "evaluate":
        saved = tmp_path / ("c.dyn" if more else "out.dyn")
        assert set(dyntree.load(saved).classes) == {"high", "low"}
    assert run(*call(command, path, "--model", "linear")) == 1
    assert "say --model class" in capsys.readouterr().err


def test_a_stream_of_labels_is_resumed(tmp_path: Path) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[2] = "high" if k % 2 else "low"
    path = written(tmp_path / "a.csv", table[:20])
    rest = call("stream", path, "--checkpoint", tmp_path / "c.dyn")
    assert run(*rest) == 0
    written(path, table)
    assert run(*rest, "--resume") == 0
    assert dyntree.load(tmp_path / "c.dyn").n_seen == 40
    assert (tmp_path / "out.csv").read_text().count("\n") == 41


@pytest.mark.parametrize("command", COMMANDS)
def test_levels_are_text_whatever_they_look_like(command: str, tmp_path: Path) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[0] = ("7", "8", "x")[k % 3]
    path = written(tmp_path / "a.csv", table)
    assert run(*call(command, path)) == 1
    assert run(*call(command, path, "--levels", "p=7,8,x")) == 0


@pytest.mark.parametrize(
    ("separator", "named"), [(";", ";"), ("\t", "tab"), ("|", "|")]
)
@pytest.mark.parametrize("command", COMMANDS)
def test_separators(command: str, separator: str, named: str, tmp_path: Path) -> None:
    told = []
    for sign, word in ((",", ","), (separator, named)):
        path = written(tmp_path / "a.csv", rows(), sign)
        assert run(*call(command, path, "--separator", word)) == 0
        (out,) = tmp_path.glob("out.*")
        told.append(out.read_bytes())
        if command == "fit":
            answer = tmp_path / "answer.csv"
            assert run("predict", out, path, "--separator", word, "--out", answer) == 0
            assert answer.read_text().count("\n") == 41
    assert told[0] == told[1]


def test_predict_reads_as_fit_did(tmp_path: Path, capsys: Any) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[0] = ("7", "8", "x")[k % 3]
    path = written(tmp_path / "a.csv", table)
    assert run(*call("fit", path, "--levels", "p=7,8,x")) == 0
    new = written(tmp_path / "new.csv", [["p", "q"], ["7", ".5"], ["8", ".5"]])
    assert run("predict", tmp_path / "out.dyn", new) == 0
    lines = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    direct = dyntree.load(tmp_path / "out.dyn").predict(
        [{"p": "7", "q": 0.5}, {"p": "8", "q": 0.5}]
    )
    assert [float(line[0]) for line in lines[1:]] == direct.mean.tolist()
    written(new, [["p", "q"], ["7", ".5"], ["8", "x"]])
    assert run("predict", tmp_path / "out.dyn", new) == 1
    assert "row 1: column 'q' must hold numbers" in capsys.readouterr().err


def lines(path: Path, table: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in table))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_text_of_ndjson_is_text_whatever_it_looks_like(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    kinds = ("007", "NA", "1.5", "")
    table = [{"p": kinds[k % 4], "q": k % 7, "y": k % 4 + 0.5} for k in range(40)]
    path = lines(tmp_path / "a.ndjson", table)
    more = ["--checkpoint", tmp_path / "c.dyn"] if command == "stream" else []
    assert run(*call(command, path, *more)) == 0
    if command != "evaluate":
        model = dyntree.load(tmp_path / ("c.dyn" if more else "out.dyn"))
        assert sorted(model.levels["p"]) == sorted(kinds)
    for column in ("q", "y"):  # of numbers: a string is none of them
        bad = lines(path, [*table[:5], table[5] | {column: "3"}, *table[6:]])
        more = ["--model", "constant", "--window", "50"]
        assert run(*call(command, bad, *more)) == 1
        told = f"row 5: column {column!r} must hold numbers; got '3'"
        assert told in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::dyntree.errors.SimilarLabelsWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_labels_of_ndjson_that_look_alike_are_distinct(
    command: str, tmp_path: Path
) -> None:
    kinds = ["None", "1", "01", "1.0", "true" if command == "fit" else 1]
    table = [{"q": k % 5 + k / 100, "y": kinds[k % 5]} for k in range(50)]
    path = lines(tmp_path / "a.ndjson", table)
    more = ["--checkpoint", tmp_path / "c.dyn"] if command == "stream" else []
    assert run(*call(command, path, "--window", "60", *more)) == 0
    if command == "evaluate":
        return
    saved = tmp_path / ("c.dyn" if more else "out.dyn")
    model = dyntree.load(saved)
    assert model.n_seen == 50
    assert {*map(repr, model.classes)} == {*map(repr, kinds)}
    assert run("predict", saved, path, "--out", tmp_path / "p.csv") == 0
    with (tmp_path / "p.csv").open() as file:
        (titles, *_) = csv.reader(file)
    assert len({*titles}) == 6
    assert {*titles} >= ({"p_1", 'p_"1"'} if command == "stream" else {"p_1", "p_01"})


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_levels_and_classes_that_are_named_are_not_missing(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[0], row[2] = ("NA", "007", "", "null")[k % 4], ("NA", "yes", "")[k % 3]
    path = written(tmp_path / "a.csv", table)
    named = ["--levels", 'p=NA,"007",', "--classes", "yes,NA,"]
    more = ["--checkpoint", tmp_path / "c.dyn"] if command == "stream" else []
    assert run(*call(command, path, *named, *more)) == 0
    if command != "evaluate":
        model = dyntree.load(tmp_path / ("c.dyn" if more else "out.dyn"))
        assert model.classes == ("yes", "NA", "")
        assert model.levels["p"] == ("NA", "007", "")
        assert model.n_seen == 40
    capsys.readouterr()
    assert run(*call(command, path, "--model", "linear", "--classes", "yes,NA")) == 2
    told = "--classes is an option of labels only, --model class or logit"
    assert told in capsys.readouterr().err
    assert run(*call(command, path, "--classes", "yes,NA,yes")) == 2
    assert (
        "--classes must name at least one label, each once" in capsys.readouterr().err
    )
    assert run(*call(command, path, "--levels", 'p="NA\n",a\nb')) == 2
    assert "words with a line break must be in quotes" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_names_the_words_that_are_missing(
    command: str, tmp_path: Path, capsys: Any
) -> None:
    table = rows()
    for k, row in enumerate(table[1:]):
        row[0] = ("NA", "?", "", "nan", "u")[k % 5]
    table[7][1] = "?"
    path = written(tmp_path / "a.csv", table)
    more = ["--checkpoint", tmp_path / "c.dyn"] if command == "stream" else []
    assert run(*call(command, path, "--missing", "?,-", *more)) == 0
    saved = tmp_path / ("c.dyn" if more else "out.dyn")
    if command != "evaluate":
        assert sorted(dyntree.load(saved).levels["p"]) == ["NA", "nan", "u"]
    if command == "stream":
        assert run(*call(command, path, *more, "--resume")) == 1
        assert "missing: ?,- then, none now" in capsys.readouterr().err
    if command == "fit":
        out = ["--out", tmp_path / "p.csv"]
        assert run("predict", saved, path, "--missing", "?", *out) == 0
        assert run("predict", saved, path, *out) == 0  # the words stay with it
        assert run("predict", saved, path, "--missing", "-", *out) == 1
    assert run(*call(command, path)) == 1
    assert "row 6: column 'q' must hold numbers; got '?'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_predict_reads_csv_by_the_levels_of_the_model(tmp_path: Path) -> None:
    kinds = ["NA", "null", "007", "7", ""]
    truth = {kind: 10.0 * k for k, kind in enumerate(kinds)}
    table = [{"p": kinds[k % 5], "y": truth[kinds[k % 5]] + k % 3} for k in range(60)]
    saved = tmp_path / "out.dyn"
    assert run(*call("fit", lines(tmp_path / "a.ndjson", table))) == 0
    asked = written(
        tmp_path / "q.csv", [["p", "z"], *([kind, 1] for kind in [*kinds, "N/A"])]
    )
    assert run("predict", saved, asked, "--out", tmp_path / "p.csv") == 0
    model = dyntree.load(saved)
    expected = model.predict([{"p": kind} for kind in [*kinds, None]]).mean
    with (tmp_path / "p.csv").open() as file:
        told = [float(line["mean"]) for line in csv.DictReader(file)]
    assert told == expected.tolist()
    assert np.all(np.abs(expected[:5] - 1.0 - [*truth.values()]) < 3.0)


@pytest.mark.filterwarnings("always")
def test_remedies_are_in_the_words_of_the_shell(tmp_path: Path, capsys: Any) -> None:
    table = [[*row[:2], "u", row[2]] for row in rows()]
    table[0][2] = "site"
    table[35][2] = "late"
    path = written(tmp_path / "a.csv", table)
    run(*call("stream", path, "--formula", "y ~ ."))
    told = capsys.readouterr().err
    assert "categories=" not in told
    assert run(*call("fit", path, "--window", "3", "--model", "linear")) == 2
    told = capsys.readouterr().err
    assert "min_leaf=" not in told


def options_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Any]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                yield from ((f"{name} {title}", got) for title, got in options_of(one))
        else:
            yield " ".join(action.option_strings) or action.dest, action.help


def test_every_option_has_help() -> None:
    found = dict(options_of(cli.parser()))
    assert len(found) > 60
    assert not [name for name, text in found.items() if not text]


def test_text_in_a_column_that_a_model_knows(tmp_path: Path, capsys: Any) -> None:
    """`predict` has no --levels, and would not change the model by it."""
    path = written(tmp_path / "a.csv", rows())
    assert run(*call("fit", path)) == 0
    table = rows()
    table[8][0] = "oops"
    written(path, table)
    capsys.readouterr()
    assert run("predict", path.with_name("out.dyn"), path) == 1
    said = capsys.readouterr().err
    assert "column 'p' must hold numbers; got 'oops'. Mend it, or leave the row" in said
    assert "--levels" not in said


def test_dates_that_are_levels_are_said_to_be_times(
    tmp_path: Path, capsys: Any
) -> None:
    table = rows()
    days = [f"2024-01-{day:02}" for day in range(1, 32)]
    table = [[*row, day] for row, day in zip(table, ["day", *days], strict=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run(*call("fit", written(tmp_path / "a.csv", table))) == 0
    assert "Say --times day, or, if they are levels" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["p", "y"])
@pytest.mark.parametrize("place", [0, 6])
@pytest.mark.parametrize("word", ["?", "n. a.", "a,b", "it's"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_word_that_means_missing_is_said_how(
    command: str, word: str, place: int, column: str, tmp_path: Path, capsys: Any
) -> None:
    """What is advised is taken; a word in the first row names itself, too."""
    table = rows()
    table[1 + place][table[0].index(column)] = word
    path = written(tmp_path / "a.csv", table)
    if column == "p" and place == 0 and command == "stream":
        return  # one row of text makes a column of levels
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code = run(*call(command, path))
    said = capsys.readouterr().err
    assert code == int(column == "y" or place > 0)
    assert repr(word) in said
    if place == 0 and column == "y" and command != "stream":
        assert f"beside the text {word!r} in row 0" in said
    (advice,) = re.findall(
        "(?:means missing: |, say )--missing (.*?)(?: in CSV|\n)", said
    )
    advised = shlex.split(advice)
    code = run(*call(command, path, "--missing", *advised))
    assert code == int(column == "y" and command != "stream")  # which learn all rows
    assert word not in capsys.readouterr().err


def test_words_that_mean_missing_are_said_together(tmp_path: Path, capsys: Any) -> None:
    """As --missing takes the place of the words that mean it by default."""
    table = rows()
    table[7][0], table[9][0] = "?", "NA"
    path, words = written(tmp_path / "a.csv", table), []
    for expected in ["?", "?,NA"]:
        assert run(*call("fit", path, *words)) == 1
        said = capsys.readouterr().err
        (advice,) = re.findall("means missing: (--missing .*)", said)
        words = shlex.split(advice)
        assert words == ["--missing", expected]
    assert run(*call("fit", path, *words)) == 0
