"""Streams with a model for every key, and the commands that ask its store."""

from __future__ import annotations

import csv
import json
import sqlite3
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import KeyedStream
from dyntree.storage.plain import in_cell, plain
from tests.helpers import model_bytes, mostly_slow
from tests.kills import contents
from tests.unit.commands.conftest import run
from tests.unit.commands.test_commands import complaint, shell

FLAGS = ["--particles", "5", "--window", "20", "--seed", "1", "--quiet"]
Rows = list[dict[str, Any]]


def rows_of(n: int = 60, n_keys: int = 4) -> Rows:
    """Rows with keys s0, s1, ... that have levels."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(n):
        k, x = int(rng.integers(n_keys)), round(rng.random(), 3)
        y = round(x + k + 0.1 * rng.normal(), 3)
        rows.append({"sensor": f"s{k}", "x": x, "at": number, "y": y})
    return rows


class Fleet:
    """Calls of the stream in a folder, with rows, an output and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "rows.csv"
        self.out, self.store = folder / "out.csv", folder / "fleet.db"

    def write(self, rows: Rows) -> None:
        """Write rows, in the format that the name of the file says."""
        with self.path.open("w", newline="") as file:
            if self.path.suffix == ".ndjson":
                file.writelines(json.dumps(row) + "\n" for row in rows)
                return
            lines = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
            lines.writeheader()
            lines.writerows(rows)

    def __call__(self, *more: Any, formula: str = "y ~ x", by: str = "sensor") -> int:
        return run(
            "stream", self.path, "--formula", formula, "--key-by", by, "--out",
            self.out, "--checkpoint", self.store, "--resume", *FLAGS, *more,
        )  # fmt: skip

    def answers(self) -> Rows:
        """What the stream wrote."""
        with self.out.open() as file:
            return [*csv.DictReader(file)]


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path)
    made.write(rows_of())
    return made


def in_python(rows: Rows, **options: Any) -> tuple[KeyedStream, list[float]]:
    """The model that learns such rows, and the means that it predicts before."""
    given = {"model": "linear", "window": 20, "n_particles": 5, "seed": 1}
    model, means = KeyedStream(**given | options, key="sensor"), []
    for row in rows:
        learned = [{"x": row["x"]}], [row["y"]], [row["sensor"]]
        answer = model.predict_then_learn(*learned)
        means.append(float(answer.mean[0]))
    return model, means


# ---------------------------------------------------------------- streams
def test_a_stream_is_the_class_row_by_row(fleet: Fleet) -> None:
    assert fleet() == 0
    model, means = in_python(rows_of())
    lines = fleet.answers()
    assert [*lines[0]][:4] == ["row", "key", "y", "mean"]
    assert [line["key"] for line in lines] == [row["sensor"] for row in rows_of()]
    assert lines[0]["mean"] == ""
    assert [float(line["mean"]) for line in lines[1:]] == means[1:]
    with KeyedStream.from_store(fleet.store, read_only=True) as stored:
        assert model_bytes(stored.copy()) == model_bytes(model)


def test_a_stream_without_a_checkpoint_has_its_keys_in_memory(fleet: Fleet) -> None:
    given = [fleet.path, "--formula", "y ~ x", "--key-by", "sensor", *FLAGS]
    assert run("stream", *given, "--out", fleet.out) == 0
    assert len(fleet.answers()) == 60
    assert not fleet.store.exists()


def test_rows_without_a_response_are_predicted_only(fleet: Fleet) -> None:
    rows = rows_of()
    for row in rows[20:40]:
        row["y"] = ""
    fleet.write(rows)
    assert fleet("--surprise") == 0
    assert all(line["mean"] for line in fleet.answers()[20:40])
    with KeyedStream.from_store(fleet.store) as stored:
        assert stored.n_seen == 40


@pytest.mark.parametrize("cut", [1, 7, 33])
def test_a_stream_goes_on_where_it_ended(fleet: Fleet, cut: int) -> None:
    assert fleet() == 0
    whole, rows, before = fleet.out.read_bytes(), rows_of(), contents(fleet.store)
    fleet.out.unlink()
    fleet.store.unlink()
    fleet.write(rows[:cut])
    assert fleet("--every", 3) == 0
    fleet.write(rows)
    assert fleet("--every", 3) == 0
    assert fleet.out.read_bytes() == whole
    assert contents(fleet.store) == before


def test_an_empty_store_of_a_process_that_was_killed_is_begun_anew(
    fleet: Fleet, capsys: Any
) -> None:
    fleet.store.touch()
    assert fleet() == 0
    whole = contents(fleet.store)
    plain = ["stream", fleet.path, "--formula", "y ~ x", "--checkpoint", fleet.store]
    with sqlite3.connect(fleet.store) as base:
        base.execute("delete from keys")
        base.execute("delete from facts where name != 'format'")
    base.close()
    assert run(*plain, *FLAGS, "--resume", "--out", fleet.out) == 1
    assert "fleet.db holds no model yet" in complaint(capsys)
    assert fleet() == 0
    assert contents(fleet.store) == whole


@pytest.mark.parametrize("name", ["write", "settle"])
def test_a_store_killed_before_the_first_line_is_resumed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert fleet() == 0
    whole = fleet.out.read_bytes()
    fleet.out.unlink()
    fleet.store.unlink()

    def killed(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(f"dyntree.commands.outputs.Output.{name}", killed)
        with pytest.raises(MemoryError):
            fleet()
    assert fleet() == 0
    assert fleet.out.read_bytes() == whole


def test_labels_named_and_not(fleet: Fleet) -> None:
    rows = rows_of()
    for row in rows:
        row["y"] = "hi" if row["y"] > 2 else "lo"
    fleet.write(rows)
    assert fleet() == 0
    first = fleet.answers()
    assert [*first[0]] == ["row", "key", "y", "label", "p_label", "p_y"]
    assert sum(line["label"] == line["y"] for line in first[20:]) > 30
    fleet.store.unlink()
    fleet.out.unlink()
    assert fleet("--classes", "hi,lo") == 0
    assert fleet.answers()[0]["p_label"] == "0.5"


# ---------------------------------------------------------------- keys of rows
@pytest.mark.parametrize(
    ("written", "keys"),
    mostly_slow(
        [
            (["1", "2", "1"], [1, 2]),
            (["007", "7", "007"], ["007", "7"]),
            (["4f", "45", "4f"], ["45", "4f"]),
            (["a b", "é", "a b"], ["a b", "é"]),
            (["1.0", "true", "1.0"], ["1.0", "true"]),
        ],
        2,
    ),
)
def test_the_first_key_says_whether_cells_are_integers(
    written: list[str], keys: list[Any], fleet: Fleet, capsys: Any
) -> None:
    rows = rows_of(12)
    for k, row in enumerate(rows):
        row["sensor"] = written[k % 3]
    fleet.write(rows)
    out = fleet.folder / "p.csv"
    assert fleet() == 0
    assert run("predict", fleet.store, fleet.path, "--out", out) == 0
    assert run("keys", fleet.store, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert sorted(json.loads(captured.out), key=str) == keys
    asked = shell("keys", fleet.store, written[0], "--json")
    assert json.loads(asked.stdout)["rows learned"] == 8


@pytest.mark.filterwarnings("default")
def test_types_of_ndjson_are_those_of_keys(fleet: Fleet, capsys: Any) -> None:
    rows = rows_of(20)
    for k, row in enumerate(rows):
        row["sensor"] = [1, True, "1", 2.0][k % 4] if k > 3 else 1
    fleet.path = fleet.folder / "rows.ndjson"
    fleet.write(rows[:4])
    assert fleet("--format", "ndjson") == 0
    assert capsys.readouterr().err == ""
    fleet.write(rows)
    assert fleet("--format", "ndjson") == 0
    assert "keys were integers before and some are" in capsys.readouterr().err
    with KeyedStream.from_store(fleet.store) as stored:
        assert {*map(repr, stored.keys())} == {"1", "True", "'1'", "2"}


def test_rows_behind_the_last_one_of_their_key_are_late(fleet: Fleet) -> None:
    rows = rows_of()
    fleet.write([*rows, *rows[30:50]])
    status = fleet.folder / "s.json"
    assert fleet("--position", "at", "--status", status, "--alarm", "1e-4") == 0
    facts = json.loads(status.read_text())
    expected = {"rows": 80, "learned": 60, "late": 20, "keys": 4, "scored": 58}
    expected |= {"hot_keys": 4, "new_keys": 4}
    assert {name: facts[name] for name in expected} == expected
    assert all(line["mean"] for line in fleet.answers()[60:])
    lines = fleet.folder / "s.prom"
    assert fleet("--position", "at", "--alarm", "1e-4", "--status", lines) == 0
    assert "dyntree_late_total 20\n" in lines.read_text()
    assert "dyntree_new_keys 0\n" in lines.read_text()


# ---------------------------------------------------------------- counts, terms
def counted(n: int = 60) -> Rows:
    """Rows of counts over hours."""
    rng, rows = np.random.default_rng(2), rows_of(n)
    for row in rows:
        row["hours"] = round(float(rng.uniform(0.5, 4.0)), 2)
        row["y"] = int(rng.poisson(row["hours"] * (1 + 3 * int(row["sensor"][1]))))
    return rows


def test_counts_have_exposures(fleet: Fleet) -> None:
    rows = counted()
    fleet.write(rows)
    out = fleet.folder / "p.csv"
    assert fleet("--model", "poisson", "--exposure", "hours", formula="y ~ x") == 0
    model = KeyedStream("poisson", window=20, n_particles=5, seed=1)
    for row, line in zip(rows, fleet.answers(), strict=True):
        answer = model.predict_then_learn(
            [{"x": row["x"]}], [row["y"]], [row["sensor"]], exposure=[row["hours"]]
        )
        assert not line["mean"] or float(line["mean"]) == answer.mean[0]
    assert run("predict", fleet.store, fleet.path, "--out", out) == 0
    with out.open() as file:
        means = [float(line["mean"]) for line in csv.DictReader(file)]
    keys, hours = ([row[name] for row in rows] for name in ("sensor", "hours"))
    X = [{"x": row["x"]} for row in rows]
    assert means == model.predict(X, keys, exposure=hours).mean.tolist()


def test_terms_of_formulas(fleet: Fleet) -> None:
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    rows = counted()
    fleet.write(rows)
    out, asked = fleet.folder / "p.csv", ["--model", "poisson"]
    assert fleet(*asked, formula="y ~ x + I(x**2) + offset(np.log(hours))") == 0
    assert run("predict", fleet.store, fleet.path, "--out", out) == 0
    with out.open() as file:
        means = [float(line["mean"]) for line in csv.DictReader(file)]
    rates = np.array(means) / [row["hours"] for row in rows]
    key = np.array([row["sensor"] for row in rows])
    assert rates[key == "s3"].mean() > 4 * rates[key == "s0"].mean()
    assert fleet(*asked, formula="y ~ x + I(x**2) + offset(np.log(hours))") == 0
    fleet.store.unlink()
    fleet.out.unlink()
    fleet.write([row | {"y": row["y"] + 100 * row["at"]} for row in rows_of()])
    assert fleet(formula="y ~ np.sqrt(x) + offset(100 * at)") == 0
    last = fleet.answers()[-20:]
    assert all(abs(float(one["mean"]) - float(one["y"])) < 3 for one in last)


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--key-by", "nothing"], "--key-by must name a column of the table"),
        (["--formula", "y ~ x + sensor"],
         "--key-by must name a column that the formula does not have"),
        (["--position", "nothing"], "--position must name a column of the table"),
    ],
)  # fmt: skip
def test_columns_that_are_not_there(
    arguments: list[str], message: str, fleet: Fleet, capsys: Any
) -> None:
    assert fleet(*arguments) == 1
    assert message in complaint(capsys)
    assert not fleet.out.exists()
    assert not fleet.store.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--labels", "l.csv", "--key", "at"], "--labels does not go with --key-by"),
        (["--weights", "at"], "--weights does not go with --key-by"),
        (["--discard", "alc"], "--discard does not go with --key-by: a model for keys "
         "has --model, --window"),
        (["--window", "0"], "--key-by needs a window"),
        (["--position", "sensor"], "--position must name another column than --key-by"),
        (["--key-by", "y"], "--key-by must name another column than the response"),
        (["--model", "prior"], "model must be one of"),
        (["--exposure", "at"], "--exposure is for counts"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(
    arguments: list[str], message: str, fleet: Fleet, capsys: Any
) -> None:
    try:
        code = fleet(*arguments)
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert message in capsys.readouterr().err
    assert not fleet.store.exists()


def test_positions_need_keys(fleet: Fleet, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        run("stream", fleet.path, "--formula", "y ~ x", "--position", "at")
    assert "--position needs --key-by" in capsys.readouterr().err


def bad_key(row: dict[str, Any]) -> None:
    row["sensor"] = "NA"


def bad_position(row: dict[str, Any]) -> None:
    row["at"] = "1.5"


def bad_response(row: dict[str, Any]) -> None:
    row["y"] = "inf"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (bad_key, "a row must have a key in column 'sensor'; got none."),
        (bad_position, "a row must have a whole number in column 'at', its position; "
         "got 1.5."),
        (bad_response, "the response must be finite"),
    ],
)  # fmt: skip
def test_a_bad_row_stops_the_stream_or_is_left_out(
    spoil: Callable[[dict[str, Any]], None], message: str, fleet: Fleet, capsys: Any
) -> None:
    rows = rows_of()
    bad = dict(rows[30])
    spoil(bad)
    fleet.write([*rows[:30], bad, *rows[30:]])
    assert fleet("--position", "at") == 1
    assert f"row 30: {message}" in capsys.readouterr().err
    assert len(fleet.answers()) == 30
    assert fleet("--position", "at", "--bad-rows", "skip") == 0
    with KeyedStream.from_store(fleet.store) as stored:
        assert stored.n_seen == 60


def test_keys_of_a_type_that_keys_cannot_have(fleet: Fleet, capsys: Any) -> None:
    fleet.path = fleet.folder / "rows.ndjson"
    fleet.write([*rows_of(5), rows_of(5)[0] | {"sensor": 0.5}])
    assert fleet() == 1
    text = capsys.readouterr().err
    assert "row 5: key must be text, integers, truth values, dates" in text
    assert "got 0.5. It is of type float." in text


def test_a_store_of_other_options_is_refused(fleet: Fleet, capsys: Any) -> None:
    assert fleet() == 0
    before = contents(fleet.store)
    for more, told in [
        (["--key-by", "at"], "key-by: sensor then, at now"),
        (["--position", "at"], "position: none then, at now"),
        (["--window", "30"], "window: 20 then, 30 now"),
        (["--seed", "2"], "seed: 1 then, 2 now"),
    ]:
        assert fleet(*more) == 1
        assert told in complaint(capsys)
    plain = ["stream", fleet.path, "--formula", "y ~ x", "--checkpoint", fleet.store]
    assert run(*plain, *FLAGS, "--resume", "--out", fleet.out) == 1
    assert "key-by: sensor then, none now" in complaint(capsys)
    assert run(*plain, *FLAGS, "--key-by", "sensor", "--out", fleet.out) == 1
    assert "exists already; add --resume" in complaint(capsys)
    fleet.write([row | {"x": 0.0} for row in rows_of()])
    assert fleet() == 1
    assert "its first row is another" in complaint(capsys)
    assert contents(fleet.store) == before


def test_files_that_are_no_store_are_refused(fleet: Fleet, capsys: Any) -> None:
    text, tree = fleet.folder / "a.txt", fleet.folder / "m.dyn"
    text.write_text("no database" * 100)
    dyntree.save(dyntree.StreamingTree(window=50, seed=1), tree)
    with KeyedStream(key="sensor", store=fleet.store, seed=1) as model:
        model.update(rows_of(5), [1.0] * 5)
    for path, told in [
        (text, "a.txt cannot be opened: file is not a database"),
        (tree, "m.dyn cannot be opened: file is not a database"),
        (fleet.store, "fleet.db is not a checkpoint of a stream, but another model."),
    ]:
        before, fleet.store = path.read_bytes(), path
        assert fleet() == 1
        assert told in complaint(capsys)
        assert path.read_bytes() == before
    assert run("keys", tree) == 1
    assert "must hold a model for keys; it holds a StreamingTree" in complaint(capsys)
    assert run("predict", tree, fleet.path, "--out", fleet.store) == 2
    assert "--out must not be a saved model" in complaint(capsys)


def test_a_second_process_is_refused(fleet: Fleet, capsys: Any) -> None:
    assert fleet() == 0
    with KeyedStream.from_store(fleet.store):
        done = shell(
            "stream", fleet.path, "--formula", "y ~ x", "--key-by", "sensor", "--out",
            fleet.out, "--checkpoint", fleet.store, "--resume", *FLAGS,
        )  # fmt: skip
        assert done.returncode == 1
        assert "fleet.db is written by another process, number" in done.stderr
    assert fleet() == 0


# ---------------------------------------------------------------- other commands
def test_others_may_ask_while_a_process_learns(fleet: Fleet, capsys: Any) -> None:
    assert fleet() == 0
    out = fleet.folder / "p.csv"
    assert run("predict", fleet.store, fleet.path, "--out", out) == 0
    before = out.read_bytes()
    with KeyedStream.from_store(fleet.store) as model:
        model.autocommit = False
        again = rows_of(120)[60:]
        rest = [{k: row[k] for k in ("sensor", "x")} for row in again]
        model.update(rest, [row["y"] for row in again])
        assert run("predict", fleet.store, fleet.path, "--out", out) == 0
        assert out.read_bytes() == before
        reader = KeyedStream.from_store(fleet.store, read_only=True)
        model.commit()
        assert (reader.n_seen, model.n_seen) == (60, 120)
        with pytest.raises(ValueError, match="store must be open to write"):
            reader.update(rest[:1], [1.0])
        reader.close()
        assert run("predict", fleet.store, fleet.path, "--out", out) == 0
        assert out.read_bytes() != before
    assert {path.name for path in fleet.folder.iterdir()} == {
        "rows.csv", "out.csv", "fleet.db", "p.csv",
    }  # fmt: skip
    assert capsys.readouterr() == ("", "")


def test_keys_are_listed_and_described(fleet: Fleet, capsys: Any) -> None:
    assert fleet() == 0
    assert run("keys", fleet.store) == 0
    assert capsys.readouterr().out == "s0\ns1\ns2\ns3\n"
    assert run("keys", fleet.store, "s2") == 0
    text = capsys.readouterr().out
    assert text.startswith("key               s2\nrows learned ")
    assert run("keys", fleet.store, "s9") == 1
    assert "KEY must be one of the 4 keys that dyntree keys lists" in complaint(capsys)
    assert run("info", fleet.store, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["keys"], facts["key_by"]) == (
        "KeyedStream",
        4,
        "sensor",
    )


@pytest.mark.parametrize(
    "listed",
    [
        [10**18, 12345678901234567890, -(10**30)],
        [True, False],
        [date(2024, 2, 29), date(2024, 3, 1)],
        [datetime(2024, 2, 29, 12, 30), datetime(2024, 2, 29, tzinfo=UTC)],
        ["True", "2024-02-29", "12345678901234567890", "", "a b", '"1"'],
        ["a\nb", "a\\nb", "a\tb"],
        [("u", 1), ("u", 2)],
        [1, "1", True, '"1"', ("1", 1), date(2024, 2, 29), "2024-02-29"],
    ],
    ids=str,
)
def test_each_key_of_a_list_can_be_described(
    fleet: Fleet, capsys: Any, listed: list[Any]
) -> None:
    n = len(listed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyntree.errors.KeyTypeWarning)
        with KeyedStream("linear", seed=1, store=fleet.store) as model:
            model.update(np.arange(n)[:, None], np.arange(n), key=listed)
            names = [plain(key) for key in model.keys()]  # noqa: SIM118
            of_cells = [model.key_named(str(in_cell(key))) for key in listed]
    assert run("keys", fleet.store) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({*lines}) == n
    assert run("keys", fleet.store, "--json") == 0
    assert json.loads(capsys.readouterr().out) == names
    positions = set()
    for line in lines:
        assert run("keys", fleet.store, line, "--json") == 0
        level = json.loads(capsys.readouterr().out)
        assert level["rows learned"] == 1
        positions.add(json.dumps(level["key"]))
    assert len(positions) == n
    if len({*map(type, listed)} - {tuple}) == 1:
        assert of_cells == listed


def test_a_saved_model_for_keys_is_asked_as_a_store(fleet: Fleet, capsys: Any) -> None:
    assert fleet() == 0
    saved, names = fleet.folder / "m.dyn", ["p.csv", "q.csv"]
    with KeyedStream.from_store(fleet.store) as model:
        dyntree.save(model, saved)
    for path, name in zip((fleet.store, saved), names, strict=True):
        out = fleet.folder / name
        assert run("predict", path, fleet.path, "--out", out) == 0
        assert run("keys", path, "s1", "--json") == 0
    one, other = capsys.readouterr().out.splitlines()
    assert one == other
    first, second = (fleet.folder / name for name in names)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.filterwarnings("default")
def test_predictions_of_keys_that_are_missing_or_of_another_type(
    fleet: Fleet, capsys: Any
) -> None:
    assert fleet() == 0
    fleet.path = fleet.folder / "new.ndjson"
    fleet.write([{"sensor": "s1", "x": 0.5}, {"x": 0.5}])
    assert run("predict", fleet.store, fleet.path) == 1
    assert "key must not be missing; got None in row 1" in complaint(capsys)
    fleet.write([{"sensor": 1, "x": 0.5}])
    assert run("predict", fleet.store, fleet.path) == 0
    assert "keys were text before and some are integers" in capsys.readouterr().err
    fleet.write([{"x": 0.5}])
    assert run("predict", fleet.store, fleet.path) == 1
    assert "the table must have the columns ['sensor']" in complaint(capsys)
    with KeyedStream(store=fleet.folder / "own.db", seed=1) as model:
        model.update([{"x": 0.5}], [1.0], key=["a"])
    assert run("predict", fleet.folder / "own.db", fleet.path) == 1
    assert "holds a model that names no column of keys" in complaint(capsys)
