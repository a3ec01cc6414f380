"""Labels that come later than their rows, in the shell's stream."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import cli
from dyntree.checkpoint import load_with
from dyntree.delayed import DelayedLabels
from tests.unit.commands.test_stops import running, wait_for

SMALL = ["--particles", "10", "--seed", "1", "--formula", "y ~ x", "--window", "50"]
Pairs = list[tuple[str, float]]


def pairs(n: int = 60) -> Pairs:
    rng = np.random.default_rng(3)
    return [(f"k{k}", round(x, 3)) for k, x in enumerate(rng.normal(size=n).tolist())]


class Runs:
    """Calls of the stream with labels, in a folder."""

    def __init__(self, folder: Path, capsys: Any) -> None:
        self.folder, self._capsys = folder, capsys
        self.rows, self.labels = folder / "rows.csv", folder / "labels.csv"
        self.out, self.saved = folder / "out.csv", folder / "m.dyn"

    def write(self, rows: Pairs, labels: Pairs | list[tuple[str, Any]]) -> None:
        text = "".join(f"{key},{x}\n" for key, x in rows)
        self.rows.write_text("id,x\n" + text)
        text = "".join(f"{y},{key}\n" for key, y in labels)
        self.labels.write_text("y,id\n" + text)

    def __call__(self, *more: Any) -> int:
        call = ["stream", self.rows, "--labels", self.labels, "--key", "id", *SMALL,
                "--out", self.out, "--checkpoint", self.saved, "--resume",
                *more]  # fmt: skip
        return cli.main([str(one) for one in call])

    def told(self) -> str:
        text: str = self._capsys.readouterr().err
        return text

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
    assert cli.main(["stream", str(plain), *SMALL, "--out", str(out)]) == 0
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
    assert "50 dropped before their label came" in told


@pytest.mark.filterwarnings("default")
def test_labels_that_start_late_are_not_lost(runs: Runs) -> None:
    rows = pairs()
    labels = [(key, 2 * x) for key, x in rows[40:]]
    runs.write(rows, labels)
    assert runs("--pending", 10) == 0
    told = runs.told()
    assert "none of the next 10 labels" in told
    assert "60 rows taken, 20 learned" in told


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
            call = str(runs.rows), out, saved, *more, "--resume", "--every", "13"
            with running(*call) as process:
                wait_for(out, rng.randrange(1, 250))
                process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
                process.communicate(timeout=60)
        with running(
            str(runs.rows), out, saved, *more, "--resume", "--every", "13"
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
    runs.rows.write_text(
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
    source, target = os.pipe()
    more = ["--labels", "-", "--key", "id", "--format", "csv"]
    with running(str(runs.rows), runs.out, runs.saved, *more, source=source) as process:
        wait_for(runs.out, 41)
        text = "".join(f"{key},{2 * x}\n" for key, x in rows)
        os.write(target, f"id,y\nunknown,1\n{text}".encode())
        os.close(target)
        _, complaint = process.communicate(timeout=60)
    os.close(source)
    assert process.returncode == 0, complaint
    late = runs.model()
    assert (late.model.n_seen, late.n_pending, late.n_unmatched) == (40, 0, 1)
