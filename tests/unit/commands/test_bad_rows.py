"""Bad rows of the shell's stream: they end it, are counted, or are put aside."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from dyntree.checkpoint import load_with
from tests.unit.commands.conftest import Runs
from tests.unit.commands.test_inputs import HEADER, lines

BAD = {
    "short": "1\n", "long": "1,2,3\n", "text": "u,1\n", "infinite": "inf,1\n",
    "infinite y": "1,inf\n", "text y": "1,u\n", "bytes": "1,\udcff\n",
    "huge": '1,"' + "z" * 140_000 + '"\n',
}  # fmt: skip
BAD_JSON = {
    "cut": '{"x": 1, "y"\n', "list": "[1, 2]\n", "nested": '{"x": [1], "y": 2}\n',
    "text": '{"x": "u", "y": 1}\n', "infinite": '{"x": Infinity, "y": 1}\n',
    "deep": "[" * 100_000 + "\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_of_csv(kind: str, runs: Runs) -> None:
    # a first value that is text would make a column of levels
    check_bad(runs, HEADER, lines(), BAD[kind], "csv", first=int(kind == "text"))


@pytest.mark.parametrize("kind", BAD_JSON)
def test_bad_rows_of_ndjson(kind: str, runs: Runs) -> None:
    rows = [
        json.dumps(dict(zip("xy", map(float, row.split(",")), strict=True))) + "\n"
        for row in lines()
    ]
    runs.path = runs.path.with_suffix(".ndjson")
    runs.out = runs.out.with_suffix(".ndjson")
    check_bad(runs, "", rows, BAD_JSON[kind], "ndjson", first=int(kind == "text"))


def check_bad(
    runs: Runs, head: str, rows: list[str], bad: str, kind: str, first: int
) -> None:
    """Bad rows change nothing but the numbers of the rows, wherever they come."""
    places = [first, 3, 4, 20, 43]
    mixed = list(rows)
    for place in places:
        mixed.insert(place, bad)
    text = (head + "".join(mixed)).encode("utf-8", "surrogateescape")
    runs.path.write_bytes(text)
    # the model is named, since the first row tells which one is meant
    model = ["--model", "constant"]
    assert runs(*model) == 1
    assert f"row {first}: " in runs.told()
    aside = runs.folder / f"bad.{kind}"
    assert runs(*model, "--bad-rows", aside) == 0
    assert f"{len(mixed)} rows taken, {len(rows)} learned, 5 bad" in runs.told()
    found = aside.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    if kind == "csv":
        limit = csv.field_size_limit(2**20)
        told = list(csv.DictReader(found))
        csv.field_size_limit(limit)
    else:
        told = [json.loads(line) for line in found]
    assert [int(one["line"]) for one in told] == [
        place + 1 + bool(head) for place in places
    ]
    assert {one["row"] for one in told} == {bad.rstrip("\n")}
    assert all(one["reason"] for one in told)
    text = runs.out.read_text()
    runs.forget()
    assert runs(*model, "--bad-rows", "skip") == 0
    assert runs.out.read_text() == text
    runs.write(head, *rows)
    runs.forget()
    assert runs(*model) == 0
    assert without_numbers(text, kind) == without_numbers(runs.out.read_text(), kind)


def without_numbers(text: str, kind: str) -> list[Any]:
    if kind == "csv":
        return [line.split(",", 1)[1] for line in text.splitlines()]
    return [{**json.loads(line), "row": None} for line in text.splitlines()]


def test_a_file_of_bad_rows_is_never_overwritten(runs: Runs) -> None:
    rows, folder = lines(30), runs.folder
    first, second = folder / "bad.csv", folder / "more.csv"
    runs.write(HEADER, *rows[:10], "1\n")
    assert runs("--bad-rows", first) == 0
    runs.write(HEADER, *rows[:10], "1\n", "2\n")
    assert runs("--bad-rows", folder / "." / ".." / folder.name / "bad.csv") == 0
    assert first.read_text().count("\n") == 3  # by another name
    runs.write(HEADER, *rows[:10], "1\n", "2\n", "3\n")
    assert runs("--bad-rows", second) == 0
    assert second.read_text().count("\n") == 2
    before = first.read_bytes()
    assert runs("--bad-rows", first) == 1
    told = runs.told()
    assert "bad.csv exists already" in told
    assert "more.csv before" in told
    assert first.read_bytes() == before


def test_a_new_file_of_bad_rows_survives_a_kill(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, aside = lines(30), runs.folder / "bad.csv"
    runs.write(HEADER, *rows[:10])
    assert runs() == 0
    runs.write(HEADER, *rows[:10], "1\n", *rows[10:], "2\n")

    def killed(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("dyntree.commands.session.Session._learn", killed)
        with pytest.raises(MemoryError):
            runs("--bad-rows", aside)
    assert aside.read_text().count("\n") == 2
    assert runs("--bad-rows", aside) == 0
    assert aside.read_text().count("\n") == 3
    assert runs.out.read_bytes().count(b"\n") == 31


def test_a_broken_feed_stops(runs: Runs) -> None:
    runs.write(HEADER, *lines(10), *["1\n"] * 5, *lines(10), *["1\n"] * 6)
    assert runs("--bad-rows", "skip", "--most-bad", 5) == 1
    message = runs.told()
    assert "row 30: " in message
    assert "--most-bad is 5" in message
    notes = load_with(runs.saved)[1]
    assert (notes["rows"], notes["learned"], notes["bad"]["rows"]) == (30, 20, 10)
    runs.write(HEADER, *lines(10), *["1\n"] * 5, *lines(10), *["1\n"] * 5, *lines(3))
    assert runs("--bad-rows", "skip", "--most-bad", 5) == 0


def test_a_bad_row_that_stops_leaves_what_was_taken(runs: Runs) -> None:
    rows = lines(20)
    runs.write(HEADER, *rows[:15], "u,1\n", *rows[15:])
    assert runs("--every", 1000) == 1
    assert load_with(runs.saved)[1]["rows"] == 15
    runs.write(HEADER, *rows)
    assert runs("--every", 1000) == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def test_bad_rows_are_told_in_words_of_the_shell(runs: Runs) -> None:
    runs.write(HEADER, "u,1\n", "v,2\n", "w,3\n")
    more = ["--levels", "x=u,v", "--new-levels", "error"]
    aside = runs.folder / "bad.csv"
    assert runs(*more, "--bad-rows", aside) == 0
    told = aside.read_text()
    assert "Add it to those named: --levels x=A,B,..." in told
    assert "categories" not in told
