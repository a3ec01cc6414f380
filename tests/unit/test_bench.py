"""The benchmarks run: the figures themselves are for the machine that takes them."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import checkpoint
from tests.bench import (
    compare,
    floor,
    gauges,
    growth,
    lines,
    page,
    rates,
    results,
    steps,
    work,
)
from tests.bench.gauges import Absent, Reading, Spent
from tests.bench.lines import LINES, Line
from tests.bench.rates import RATES, Rate
from tests.bench.results import Results
from tests.bench.task import N_INPUTS, Rows, Task, terciles
from tests.unit.conftest import TREE

SMALL = Task("fit native", "constant", particles=10, rows=40, points=5, window=20)


def small(tmp_path: Path, task: Task = SMALL) -> Path:
    folder = tmp_path / "rows"
    task.write_rows(folder)
    return folder


# ------------------------------------------------------------ tasks
def test_rows_come_back_as_they_were_drawn(tmp_path: Path) -> None:
    drawn, read = Rows.draw("friedman", 40, 5, 1), Rows.read(small(tmp_path))
    for name in ("X", "y", "labels", "new"):
        np.testing.assert_array_equal(getattr(read, name), getattr(drawn, name))
    assert read.new.shape == (5, N_INPUTS)
    assert read.target("class") is read.labels
    assert read.target("linear implicit") is read.y


def test_terciles_are_of_one_size() -> None:
    labels = terciles(np.random.default_rng(0).random(300))
    assert np.unique(labels, return_counts=True)[1].tolist() == [100, 100, 100]


# ------------------------------------------------------------ our side
@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, "constant") for name in work.WORK),
        *((name, "linear augmented") for name in ("fit native", "fit r", "online alc")),
        *((name, "class") for name in ("fit native", "fit r", "learn")),
    ],
)
def test_a_piece_of_work_is_done(
    name: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = replace(SMALL, work=name, model=model, rows=60)
    work.main(*task.arguments(small(tmp_path, task), 2))
    before, after = (
        [float(figure) for figure in line.split()]
        for line in capsys.readouterr().out.splitlines()
    )
    assert np.all(np.subtract(after, before)[:2] >= 0)
    # Linux sums what a process holds from counters per core, some pages off
    assert after[2] > 0.99 * before[2] > 0


def test_asv_runs_what_the_table_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows.draw("friedman", 40, 5, 1)
    monkeypatch.setattr(Rows, "draw", lambda *_: rows)
    for suite in (work.Fit, work.Predict, work.Online):
        assert set(suite.params[0]) <= set(work.WORK)
    suite = work.Predict()
    suite.setup("predict native", "constant")
    suite.time_work("predict native", "constant")
    suite.peakmem_work("predict native", "constant")


# ------------------------------------------------------------ gauges
def test_a_process_tells_what_it_spent() -> None:
    lines = "print('1 2 3'); print('1.5 4 5')"
    assert gauges.spend([sys.executable, "-c", lines]) == Spent(0.5, 2.0, 2048.0)


def fake(**spent: float) -> Any:
    """A side that spends this much, whatever is asked of it."""
    given = {"user": 0.0, "wall": 0.0, "memory": 0.0} | spent
    return lambda *_: Spent(**given)


def test_against_cran_is_per_run_and_sees_other_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "r_facts", lambda: {"R": "4"})
    monkeypatch.setattr(gauges, "ours", fake(user=1.0, memory=2.0))
    monkeypatch.setattr(gauges, "cran", fake(user=6.0, memory=8.0))
    task = replace(SMALL, times=4, peer_times=2)
    assert gauges.against_cran(task, tmp_path) == Reading(12.0, 0.25, 3.0)
    assert gauges.memory_against_cran(SMALL, tmp_path).ratio == 4.0
    (tmp_path / "ours.bin").write_bytes(b"1")
    for theirs, same in ((b"1", True), (b"2", False)):
        (tmp_path / "theirs.bin").write_bytes(theirs)
        assert gauges.against_cran(task, tmp_path).same_numbers is same


def test_two_threads_compares_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(gauges, "ours", lambda t, f, n: Spent(0.0, 3.0 / n, 0.0))
    assert gauges.two_threads(SMALL, tmp_path) == Reading(2.0, 1.5, 3.0)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with pytest.raises(Absent, match="second core"):
        gauges.two_threads(SMALL, tmp_path)


def test_exponent_is_the_slope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "DOUBLINGS", (10, 20, 40))
    monkeypatch.setattr(
        gauges, "ours", lambda t, f: Spent(t.times * t.rows**1.25, 0.0, 0.0)
    )
    assert gauges.exponent(SMALL, tmp_path).ratio == pytest.approx(1.25)


@pytest.mark.parametrize("gauge", [gauges.against_cran, gauges.instructions])
def test_what_is_absent_is_said(
    gauge: gauges.Gauge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results.r_facts.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Absent, match="absent"):
        gauge(SMALL, tmp_path)
    results.r_facts.cache_clear()


def test_river_is_named_where_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Absent, match="river"):
        gauges.against_river("Hoeffding tree")(SMALL, tmp_path)


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_faces_and_their_core_take_the_same_rows(model: str) -> None:
    pytest.importorskip("river", reason="river is not installed")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    overhead = importlib.import_module("tests.heavy.overhead")
    X, y = overhead.rows(model)
    for _, tree, face in overhead.faces(model, X, y):
        beside = overhead.core(tree, X, y)
        for t in range(overhead.START, overhead.START + 3):
            face(t)
            beside(t)
        assert tree.n_seen == overhead.START + 3


def test_steps_go_on_from_what_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "BLOCK", 30)
    monkeypatch.setattr(steps, "SEEDS", (1, 2))
    told: list[str] = []
    monkeypatch.setattr(steps, "tell", told.append)
    folder, task = small(tmp_path), replace(SMALL, work="online alc")
    steps.save(task, folder, (30, 60))
    for state in ("30-1", "30-2", "60-1", "60-2"):
        steps.walk("constant", state, str(folder))
    assert told == ["instrumentation on", "zero", "dump"] * 4
    stream = checkpoint.load(folder / "60-2.dyntree")
    leaves, met = growth.trees(stream, Rows.read(folder))
    assert leaves >= 1.0
    assert 1.0 <= met <= SMALL.particles


# ------------------------------------------------------------ the table
def test_every_line_can_be_told_apart_and_done() -> None:
    names = [line.work for line in LINES]
    assert len(set(names)) == len(names)
    assert all(line.task.work in work.WORK for line in LINES)
    assert len({rate.work for rate in RATES}) == 27
    assert all(task.work in work.WORK for task in floor.WORKS.values())


def line(gauge: gauges.Gauge, target: float = 2.0, at_most: bool = False) -> Line:
    return Line("a line", SMALL, gauge, target, "s", at_most)


def test_a_line_is_the_median_over_pairs_of_rows() -> None:
    readings = [Reading(3.0, 1.0, 3.0), Reading(1.0, 1.0, 1.0), Reading(2.5, 2.0, 5.0)]
    seen = []

    def gauge(task: Task, folder: Path) -> Reading:
        seen.append(Rows.read(folder).y[0])
        return readings[len(seen) - 1]

    row = line(gauge).measure(3)
    assert len(set(seen)) == 3
    assert (row["ratio"], row["ours"], row["theirs"]) == (2.5, 1.0, 3.0)
    assert row["ratios"] == [3.0, 1.0, 2.5]
    assert row["met"]
    assert {"work", "target", "unit", "date", "load", "versions"} <= set(row)


def test_a_line_says_whether_it_is_met() -> None:
    assert line(lambda *_: Reading(1.0, 1.0, 1.0), 1.15, True).measure(1)["met"]
    assert not line(lambda *_: Reading(1.2, 1.0, 1.0), 1.15, True).measure(1)["met"]
    row = line(lambda *_: Reading(9.0, 1.0, 9.0, False)).measure(1)
    assert not row["met"]
    assert "differs" in lines.text(row)
    assert ">= 2" in lines.text(row)


def test_a_rate_is_of_the_rows_after_two_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rates, "ours", fake(user=0.5))
    row = Rate("class", 1000, 100).measure(2)
    assert row["rows_per_second"] == 2000.0
    assert "class" in rates.text(row)


# ------------------------------------------------------------ the command
def test_results_are_taken_up_where_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Task] = []

    def gauge(task: Task, folder: Path) -> Reading:
        calls.append(task)
        return Reading(3.0, 1.0, 3.0)

    def missing(task: Task, folder: Path) -> Reading:
        raise Absent("the peer is absent")

    table = [line(gauge), replace(line(missing), work="another")]
    monkeypatch.setattr(lines, "LINES", table)
    out = tmp_path / "rows.json"

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["compare", "--json", str(out), *arguments])
        compare.main()
        return capsys.readouterr().out

    assert "another: left out, the peer is absent" in run()
    assert len(calls) == 3
    (row,) = json.loads(out.read_text())
    assert (row["work"], row["ratio"], row["met"]) == ("a line", 3.0, True)
    assert "a line" in run()
    assert len(calls) == 3
    run("--again", "--pairs", "1")
    assert len(calls) == 4
    monkeypatch.setattr(lines, "LINES", [replace(table[0], pairs=5)])
    run()
    assert len(calls) == 9
    assert "a line" not in run("--only", "another")


@pytest.mark.parametrize(
    "change", [{"date": "2000-01-01"}, {"versions": {"dyntree": "0"}}, {"pairs": 2}]
)
def test_results_of_another_day_or_version_or_fewer_pairs_are_not_fresh(
    change: dict[str, Any], tmp_path: Path
) -> None:
    kept = Results(tmp_path / "rows.json")
    row = {"work": "a line", "pairs": 3, **results.stamp()}
    kept.add(row)
    again = Results(tmp_path / "rows.json")
    assert again.fresh("a line", 3) == row
    again.add(row | change)
    assert again.fresh("a line", 3) is None


def test_the_stamp_says_what_was_measured() -> None:
    stamp = results.stamp()
    assert {"dyntree", "numpy", "river", "SciPy's BLAS"} <= set(stamp["versions"])


def test_river_reads_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("river")
    command = gauges.RIVER + SMALL.arguments(small(tmp_path), 1)
    command[3] = "Hoeffding tree"
    assert gauges.spend(command).user >= 0.0


def test_the_page_on_performance_is_that_of_the_stored_results() -> None:
    assert page.PAGE.read_text() == page.page()


def test_benchmarks_ask_all_models_in_one_way() -> None:
    """No file but asking.py calls a density that models over phases have alone."""
    others = [
        path for path in (TREE / "tests/bench").rglob("*.py") if path.stem != "asking"
    ]
    assert len(others) > 40
    assert not [path.name for path in others if "log_predictive(" in path.read_text()]
