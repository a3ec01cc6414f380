"""Labels that come later than their rows, in the shell's stream."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import cli
from dyntree.checkpoint import load_with
from dyntree.evaluate.delayed import DelayedLabels
from tests.unit.commands.conftest import STREAM
from tests.unit.commands.conftest import Runs as Plain
from tests.unit.commands.test_stops import running, wait_for

Pairs = list[tuple[str, float]]


def pairs(n: int = 60) -> Pairs:
    rng = np.random.default_rng(3)
    return [(f"k{k}", round(x, 3)) for k, x in enumerate(rng.normal(size=n).tolist())]


class Runs(Plain):
    """Calls of the stream with labels, in a folder."""

    def __init__(self, folder: Path, capsys: Any) -> None:
        super().__init__(folder, capsys)
        self.labels = folder / "labels.csv"

    def write(self, rows: Pairs, labels: Pairs | list[tuple[str, Any]]) -> None:
        text = "".join(f"{key},{x}\n" for key, x in rows)
        self.path.write_text("id,x\n" + text)
        text = "".join(f"{y},{key}\n" for key, y in labels)
        self.labels.write_text("y,id\n" + text)

    def __call__(self, *more: Any) -> int:
        return super().__call__("--labels", self.labels, "--key", "id", *more)

    def model(self) -> Any:
        return load_with(self.saved)[0]


@pytest.fixture
def runs(tmp_path: Path, capsys: Any) -> Runs:
    return Runs(tmp_path, capsys)


def learned(rows: Pairs, labels: Pairs) -> bytes:
    """A model that learned rows in the order of their labels."""
    model = dyntree.StreamingTree(window=50, n_particles=10, seed=1)
    late, by_key = DelayedLabels(model, max_pending=10_000), dict(rows)
    for key, y in labels:
        if key in by_key:
            late.predict_later(key, {"x": by_key[key]})
            late.learn(key, y)
    return dyntree.checkpoint.dumps(late.model)


def through_a_pipe(
    runs: Runs, labels: Any, text: str, ready: Callable[[], Any], *more: str
) -> Any:
    """The model of a stream that got rows or labels by a pipe, once it was ready."""
    source, target = os.pipe()
    call = runs.path, runs.out, runs.saved, "--labels", labels, "--key", "id", *more
    with running(*map(str, call), source=source) as process:
        ready()
        os.write(target, text.encode())
        os.close(target)
        _, complaint = process.communicate(timeout=60)
    os.close(source)
    assert process.returncode == 0, complaint
    return runs.model()


@pytest.mark.parametrize("chance", range(4))
def test_rows_are_learned_in_the_order_of_the_labels(chance: int, runs: Runs) -> None:
    rng, rows = random.Random(chance), pairs()
    labels = [(key, 2 * x) for key, x in rows if rng.random() < 0.9]
    rng.shuffle(labels)
    labels.insert(rng.randrange(len(labels)), ("never", 1.0))
    runs.write(rows, labels)
    assert runs() == 0
    told = runs.told()
    assert f"60 rows taken, {len(labels) - 1} learned" in told
    assert f"{61 - len(labels)} pending" in told
    assert "1 labels of no row that waited" in told
    assert dyntree.checkpoint.dumps(runs.model().model) == learned(rows, labels)
    lines = runs.out.read_text().splitlines()
    assert lines[0].startswith("row,key,y,mean,sd")
    assert [line.split(",")[1] for line in lines[1:]] == [key for key, _ in rows]


def test_a_label_is_taken_as_soon_as_its_row_is_there(runs: Runs) -> None:
    rows = pairs()
    runs.write(rows, [(key, 2 * x) for key, x in rows])
    assert runs() == 0
    late = runs.out.read_text().splitlines()
    plain = runs.folder / "plain.csv"
    plain.write_text("x,y\n" + "".join(f"{x},{2 * x}\n" for _, x in rows))
    out = runs.folder / "plain.out"
    assert cli.main(["stream", str(plain), *STREAM, "--out", str(out)]) == 0
    told = [line.split(",") for line in out.read_text().splitlines()]
    n = 25  # rows until a model that waits for labels says something
    found = [line.split(",")[3:] for line in late[n:]]
    assert found == [cells[2:] for cells in told[n:]]


@pytest.mark.parametrize("lost", [[5], [5, 6, 7], [*range(0, 60, 3)]])
def test_labels_of_no_row_are_passed_over(lost: list[int], runs: Runs) -> None:
    """Rows wait while nobody knows whether a row will come, and none is lost."""
    rows = pairs()
    labels = [(key, 2 * x) for key, x in rows]
    for place in reversed(lost):
        labels.insert(place, (f"no {place}", 0.0))
    runs.write(rows, labels)
    assert runs("--pending", 10) == 0
    told = runs.told()
    assert "60 rows taken, 60 learned" in told
    assert f"{len(lost)} labels of no row that waited" in told
    assert dyntree.checkpoint.dumps(runs.model().model) == learned(rows, labels)


@pytest.mark.filterwarnings("default")
def test_more_old_labels_than_may_wait_are_told(runs: Runs) -> None:
    rows = pairs()
    labels = [(f"old {k}", 0.0) for k in range(30)]
    labels += [(key, 2 * x) for key, x in rows]
    runs.write(rows, labels)
    assert runs("--pending", 10) == 0
    told = runs.told()
    assert "none of the next 10 labels" in told
    assert "10 learned" in told
    assert "50 dropped before their label arrived" in told


@pytest.mark.filterwarnings("default")
def test_labels_that_start_late_are_not_lost(runs: Runs) -> None:
    rows = pairs()
    labels = [(key, 2 * x) for key, x in rows[40:]]
    runs.write(rows, labels)
    assert runs("--pending", 10) == 0
    told = runs.told()
    assert "none of the next 10 labels" in told
    assert "60 rows taken, 20 learned" in told


@pytest.mark.slow
def test_killed_runs_go_on_alike(tmp_path: Path) -> None:
    rng, rows = random.Random(7), pairs(300)
    labels = [(key, 2 * x) for key, x in rows if rng.random() < 0.8]
    rng.shuffle(labels)
    runs = Runs(tmp_path, None)
    runs.write(rows, labels)
    more = ["--labels", str(runs.labels), "--key", "id", "--pending", "120"]
    outs = []
    for name in ("whole", "killed"):
        out, saved = tmp_path / f"{name}.csv", tmp_path / f"{name}.dyn"
        for _ in range(6 if name == "killed" else 0):
            call = str(runs.path), out, saved, *more, "--resume", "--every", "13"
            with running(*call) as process:
                wait_for(out, rng.randrange(1, 250))
                process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
                process.communicate(timeout=60)
        with running(
            str(runs.path), out, saved, *more, "--resume", "--every", "13"
        ) as process:
            _, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint
        outs.append((out.read_bytes(), saved.read_bytes()))
    assert outs[0] == outs[1]


def test_labels_in_bad_rows(runs: Runs) -> None:
    rows = pairs()
    labels: list[tuple[str, Any]] = [(key, 2 * x) for key, x in rows]
    labels[3] = (labels[3][0], "u")
    labels[4] = (labels[4][0], "inf")
    labels[5] = ("", 1.0)
    labels[6] = (labels[6][0], "")
    runs.write(rows, labels)
    assert runs() == 1
    assert "label 3: column 'y' must hold numbers; got 'u'" in runs.told()
    aside = runs.folder / "bad.ndjson"
    assert runs("--bad-rows", aside) == 0
    told = runs.told()
    assert "56 learned, 3 bad, 1 pending, 1 labels missing" in told
    found = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [(one["input"], one["line"]) for one in found] == [
        ("label", 5), ("label", 6), ("label", 7),
    ]  # fmt: skip


def test_rows_that_bring_their_response_are_learned_at_once(runs: Runs) -> None:
    rows = pairs(20)
    runs.write(rows, [])
    runs.path.write_text(
        "id,x,y\n" + "".join(f"{k},{x},{2 * x if x > 0 else ''}\n" for k, x in rows)
    )
    assert runs() == 0
    n = sum(x > 0 for _, x in rows)
    assert f"20 rows taken, {n} learned, {20 - n} pending" in runs.told()


def test_labels_of_classes_are_known_by_the_first(runs: Runs) -> None:
    rows = pairs()
    runs.write(rows, [(key, "up" if x > 0 else "down") for key, x in rows])
    assert runs() == 0
    assert runs.model().model.is_classifier
    assert runs.out.read_text().startswith("row,key,y,label,p_label,p_y\n")


def test_a_key_twice_is_a_bad_row(runs: Runs) -> None:
    rows = pairs(10)
    runs.write([*rows, rows[3]], [])
    assert runs() == 1
    assert "row 10: key must be that of no row that waits" in runs.told()


def test_labels_by_a_pipe(tmp_path: Path) -> None:
    rows = pairs(40)
    runs = Runs(tmp_path, None)
    runs.write(rows, [])
    text = "id,y\nunknown,1\n" + "".join(f"{key},{2 * x}\n" for key, x in rows)
    ready = partial(wait_for, runs.out, 41)
    late = through_a_pipe(runs, "-", text, ready, "--format", "csv")
    assert (late.model.n_seen, late.n_pending, late.n_unmatched) == (40, 0, 1)


def test_labels_before_the_first_row_wait_for_it(tmp_path: Path) -> None:
    """Until then nobody knows what they are labels of."""
    runs = Runs(tmp_path, None)
    runs.write([], [("a", 1.0)])
    runs.path = Path("-")
    text, ready = "id,x\na,0.5\nb,0.5\n", partial(time.sleep, 0.5)
    late = through_a_pipe(runs, runs.labels, text, ready, "--format", "csv")
    assert (late.model.n_seen, late.pending, late.n_unmatched) == (1, ("b",), 0)


def test_bad_rows_before_the_first_good_one_keep_the_labels(runs: Runs) -> None:
    rows = [(key, 2 * x) for key, x in pairs(20)]
    runs.write([("", 1.0), *rows], [("", 1.0), *rows])
    assert runs("--bad-rows", "skip") == 0
    assert "21 rows taken, 20 learned, 2 bad" in runs.told()


@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("np.log(y) ~ x + np.square(x)", []),
        ("y ~ . + np.exp(x)", ["--levels", "u=p,q"]),
        ("y ~ C(u):x", ["--levels", "u=p,q"]),
    ],
)
def test_formulas_with_terms(formula: str, more: list[str], runs: Runs) -> None:
    """Rows have no response, which the terms do not need."""
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    rows = pairs()
    labels = [(key, 2.0 + abs(x)) for key, x in rows]
    runs.write(rows, labels)
    text = "".join(f"{key},{x},{'pq'[k % 2]}\n" for k, (key, x) in enumerate(rows))
    runs.path.write_text("id,x,u\n" + text)
    more = ["--formula", formula, *more]
    assert runs(*more) == 0
    assert "60 rows taken, 60 learned" in runs.told()
    assert runs(*more) == 0  # by the design of the checkpoint
    with runs.labels.open("a") as file:
        file.write("1,again\n")
    assert runs(*more) == 0
    assert "1 labels of no row that waited" in runs.told()


def test_a_label_of_no_weight_teaches_nothing(runs: Runs) -> None:
    rows = pairs(20)
    labels = [(key, 2 * x) for key, x in rows]
    runs.write(rows, labels)
    text = "".join(f"{y},{key},{k % 2}\n" for k, (key, y) in enumerate(labels))
    runs.labels.write_text("y,id,w\n" + text)
    assert runs("--weights", "w") == 0
    assert "20 rows taken, 10 learned\n" in runs.told()
    assert runs.model().n_pending == 0


def test_a_label_without_the_response_is_told(runs: Runs) -> None:
    runs.write(pairs(3), [("k0", 1.0)])
    runs.labels.write_text("z,id\n1,k0\n")
    pytest.importorskip("formulaic", reason="formulaic is not installed")
    for formula in ("y ~ x", "np.log(y) ~ x"):
        assert runs("--formula", formula) == 1
        told = "label 0: a label must have the column 'y', of the formula's response"
        assert told in runs.told()
        runs.forget()


def test_keys_are_alike_in_all_formats(runs: Runs) -> None:
    """Whole numbers become floats in columns where some are missing."""
    rows = runs.folder / "rows.ndjson"
    rows.write_text("".join(f'{{"id": {k}, "x": {k}}}\n' for k in range(5)))
    runs.path, runs.labels = rows, runs.folder / "labels.ndjson"
    runs.labels.write_text(
        "".join(f'{{"id": {k}, "y": 1}}\n' for k in ("0", "1.0", '"2"', "3.5"))
    )
    assert runs() == 0
    told = runs.told()
    assert "5 rows taken, 3 learned, 2 pending, 1 labels of no row" in told


def test_keys_that_are_text_are_taken_as_they_are(runs: Runs) -> None:
    keys = ["NA", "null", "", "1", "01", "1.0", "None", " a"]
    runs.path, runs.labels = runs.folder / "rows.ndjson", runs.folder / "l.ndjson"
    rows = [{"id": key, "x": k} for k, key in enumerate(keys)]
    runs.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [{"id": key, "y": k} for k, key in enumerate(keys[::-1])]
    runs.labels.write_text("".join(json.dumps(row) + "\n" for row in labels))
    assert runs() == 0
    assert f"{len(keys)} rows taken, {len(keys)} learned" in runs.told()


def test_rows_and_labels_are_read_each_by_its_own_format(runs: Runs) -> None:
    """A missing word of CSV is text in NDJSON, beside rows of either."""
    rows = [("a", 1.0), ("b", 2.0), ("NA", 3.0)]
    runs.path.write_text("id,x\n" + "".join(f"{key},{x}\n" for key, x in rows[:2]))
    runs.labels = runs.folder / "labels.ndjson"
    labels = [{"id": "a", "y": "NA"}, {"id": "b", "y": "1"}]
    runs.labels.write_text("".join(json.dumps(row) + "\n" for row in labels))
    assert runs() == 0
    assert "2 rows taken, 2 learned" in runs.told()
    assert {*dyntree.load(runs.saved).model.classes} == {"NA", "1"}
    runs.forget()
    runs.path = runs.folder / "rows.ndjson"
    runs.path.write_text(
        "".join(json.dumps({"id": key, "x": x}) + "\n" for key, x in rows)
    )
    runs.labels = runs.folder / "labels.csv"
    runs.labels.write_text("id,y\na,1\nb,NA\nNA,3\n")
    assert runs() == 1  # a key that is missing
    assert "a label must have a key" in runs.told()


def test_labels_alone_may_be_rotated(runs: Runs) -> None:
    rows = pairs()
    labels = [(key, 2 * x) for key, x in rows]
    runs.write(rows, labels[:30])
    assert runs() == 0
    runs.write(rows, labels[30:])
    assert runs() == 1
    assert "add --input-continues" in runs.told()
    assert runs("--input-continues") == 0
    assert "60 rows taken, 60 learned" in runs.told()
    assert dyntree.checkpoint.dumps(runs.model().model) == learned(rows, labels)


def test_a_stop_keeps_nothing_of_files(tmp_path: Path) -> None:
    """The next call reads them again, with --input-continues as well."""
    rows = pairs(3000)
    runs = Runs(tmp_path, None)
    runs.path, runs.labels = tmp_path / "rows.ndjson", tmp_path / "labels.ndjson"
    text = [f'{{"id": "{key}", "x": {x}}}\n' for key, x in rows]
    told = [f'{{"id": "{key}", "y": {2 * x}}}\n' for key, x in reversed(rows[:200])]
    runs.path.write_text("".join(text))
    runs.labels.write_text("".join(told))
    more = ["--labels", str(runs.labels), "--key", "id", "--window", "50"]
    with running(str(runs.path), runs.out, runs.saved, *more) as process:
        wait_for(runs.out, 5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    n_taken = load_with(runs.saved)[1]["rows"]
    assert n_taken < 3000
    runs.path.write_text("".join(text[n_taken:]))
    assert runs("--input-continues") == 0
    late = runs.model()
    assert (late.model.n_seen, late.n_pending, late.n_unmatched) == (200, 2800, 0)


def test_labels_by_a_pipe_beside_parquet(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    runs = Runs(tmp_path, None)
    runs.path = tmp_path / "rows.parquet"
    pd.DataFrame(pairs(30), columns=["id", "x"]).to_parquet(runs.path)
    ready = partial(wait_for, runs.out, 31)
    assert through_a_pipe(runs, "-", "id,y\nk1,1\n", ready).model.n_seen == 1


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_labels_that_a_stop_leaves_are_kept_or_told(kind: str, tmp_path: Path) -> None:
    """Labels of rows that are not read yet, of a pipe that nobody reads again."""
    rows = pairs(3000)
    runs = Runs(tmp_path, None)
    runs.path = tmp_path / f"rows.{kind}"
    text = [f"{key},{x}\n" for key, x in rows]
    told = [f"{2 * x},{key}\n" for key, x in reversed(rows)]
    heads = "id,x\n", "y,id\n"
    if kind == "ndjson":
        text = [f'{{"id": "{key}", "x": {x}}}\n' for key, x in rows]
        told = [f'{{"id": "{key}", "y": {2 * x}}}\n' for key, x in reversed(rows)]
        heads = "", ""
    runs.path.write_text("".join([heads[0], *text]))
    source, target = os.pipe()
    os.write(target, "".join([heads[1], *told[:500]]).encode())
    more = ["--labels", "-", "--key", "id", "--quiet"]
    with running(str(runs.path), runs.out, runs.saved, *more, source=source) as process:
        wait_for(runs.out, 5)
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=60)
    os.close(source)
    os.close(target)
    assert process.returncode == 143
    notes = load_with(runs.saved)[1]
    assert notes["labels"]["rows"] == 0
    if kind == "csv":
        assert "500 labels were read from a pipe but not used" in complaint
    else:
        assert complaint == "dyntree: interrupted\n"
        assert notes["unfinished_label"].count("\n") == 500
