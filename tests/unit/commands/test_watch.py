"""Status, reports, surprise and alarms of the shell's stream."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import cli
from dyntree.commands.watch import HELP
from tests.unit.commands.conftest import STREAM
from tests.unit.commands.test_stops import ROWS, running, wait_for


def table(
    path: Path, n: int = 300, change: int | None = None
) -> list[dict[str, float]]:
    """Rows whose response turns at one of them."""
    rng, rows = np.random.default_rng(5), []
    for k, x in enumerate(rng.normal(size=n).round(3).tolist()):
        slope = -2.0 if change is not None and k >= change else 2.0
        rows.append({"x": x, "y": round(slope * x + 0.1 * rng.normal(), 3)})
    path.write_text("x,y\n" + "".join(f"{row['x']},{row['y']}\n" for row in rows))
    return rows


def run(path: Path, out: Path, *more: Any) -> None:
    call = ["stream", path, "--out", out, *STREAM, "--quiet", *more]
    assert cli.main([str(one) for one in call]) == 0


def read(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out.read_text())))


def test_surprise_is_the_tail_probability_of_each_row(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows = table(path, 60)
    model = dyntree.StreamingTree(window=50, n_particles=10, seed=1)
    run(path, out, "--surprise")
    for row, line in zip(rows, read(out), strict=True):
        x, y = {"x": row["x"]}, row["y"]
        if model.is_ready:
            expected = model.predict(x).tail_probability([y])[0]
            assert float(line["surprise"]) == expected
        model.update(x, [y])


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_marks_change_nothing_else(suffix: str, tmp_path: Path) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / f"out.{suffix}"
    rows = table(path, 80)
    if suffix == "ndjson":
        path = tmp_path / "rows.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(path, out)
    plain = out.read_text().splitlines()
    run(path, out, "--surprise", "--alarm", 1e-5, "--report", 0.001)
    for line, marked in zip(plain, out.read_text().splitlines(), strict=True):
        if suffix == "csv":
            assert marked.rsplit(",", 2)[0] == line
        else:
            held = json.loads(marked)
            assert set(held) - set(json.loads(line)) == {"surprise", "alarm"}
            assert {name: held[name] for name in json.loads(line)} == json.loads(line)


def test_alarms_mark_the_change(tmp_path: Path, capsys: Any) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    table(path, 1200, change=900)
    run(path, out, "--alarm", 1e-5)
    rows = [k for k, line in enumerate(read(out)) if line["alarm"] == "True"]
    assert rows
    assert 900 <= rows[0] < 960
    assert f"alarm at row {rows[0]}: predictions have become worse" in (
        capsys.readouterr().err
    )


def test_a_resumed_alarm_is_that_of_one_run(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    table(path, 1200, change=900)
    run(path, out, "--alarm", 1e-3, "--surprise")
    whole, text = out.read_bytes(), path.read_text().splitlines(keepends=True)
    out.unlink()
    kept = ["--checkpoint", tmp_path / "m.dyn", "--resume", "--alarm", 1e-3]
    for n in (500, 905, 1201):
        path.write_text("".join(text[:n]))
        run(path, out, *kept, "--surprise")
    assert out.read_bytes() == whole


@pytest.mark.parametrize("kind", ["real", "class"])
def test_status_is_json(kind: str, tmp_path: Path) -> None:
    path, out, status = (tmp_path / name for name in ("r.csv", "out.csv", "s.json"))
    rows = table(path)
    if kind == "class":
        path.write_text(
            "x,y\n" + "".join(f"{r['x']},{'ud'[r['y'] > 0]}\n" for r in rows)
        )
    more = ["--over", 100, "--window", "auto", "--alarm", 1e-5]
    run(path, out, "--status", status, *more)
    held = json.loads(status.read_text())
    assert (held["rows"], held["learned"], held["scored"]) == (300, 300, 100)
    assert (held["running"], held["alarms"], held["pid"]) == (False, 0, os.getpid())
    assert held["process_bytes"] > held["model_bytes"] > 0
    assert sum(one["weight"] for one in held["members"]) == pytest.approx(1.0, abs=1e-3)
    assert 0 < held["latency_p50_seconds"] <= held["latency_p99_seconds"]
    assert held["latency_p99_seconds"] <= held["latency_max_seconds"]
    last = read(out)[-100:]
    if kind == "class":
        wrong = [one["label"] != one["y"] for one in last]
        p = [float(one["p_y"]) for one in last]
        assert held["error"] == pytest.approx(np.mean(wrong))
        assert held["log_density"] == pytest.approx(np.mean(np.log(p)))
    else:
        error = [float(one["y"]) - float(one["mean"]) for one in last]
        inside = [float(r["q0.05"]) <= float(r["y"]) <= float(r["q0.95"]) for r in last]
        assert held["rmse"] == pytest.approx(np.mean(np.square(error)) ** 0.5)
        assert held["coverage"] == pytest.approx(np.mean(inside))


def test_status_for_prometheus(tmp_path: Path) -> None:
    path, status = tmp_path / "rows.csv", tmp_path / "s.prom"
    table(path, 60)
    run(path, tmp_path / "o", "--status", status, "--window", "auto")
    lines = status.read_text().splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    pattern = r'[a-z_0-9]+(\{[a-z_0-9]+="[^"]*"(,[a-z_0-9]+="[^"]*")*\})? \S+'
    assert all(re.fullmatch(pattern, line) for line in samples)
    assert "dyntree_rows_total 60" in samples
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert typed == {re.split(r"[ {]", line)[0] for line in samples}


def test_reports_name_what_there_is(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "rows.csv"
    table(path, 100)
    run(path, tmp_path / "o", "--report", 0.01)
    told = capsys.readouterr().err.splitlines()
    assert len(told) > 1
    assert re.fullmatch(
        r"dyntree: rows 100, learned 100, (rows_per_second .*, )?latency_p50 .* ms, "
        r"latency_p99 .* ms, latency_max .* ms, scored 9\d, rmse .*, log_density .*, "
        r"coverage .*, model .* MB, process .* MB",
        told[-1],  # without a speed where no row came since the last report
    )
    assert any("rows_per_second" in line for line in told)
    assert set(HELP) >= {"rows", "coverage"}


@pytest.mark.filterwarnings("default")
def test_a_status_that_cannot_be_written_is_told_once(
    tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "rows.csv"
    table(path, 60)
    status = tmp_path / "nowhere" / "s.json"
    run(path, tmp_path / "o", "--status", status, "--report", 0.001)
    told = capsys.readouterr().err
    assert told.count("warning: --status: ") == 1
    assert f"{status} cannot be written: there is no folder {status.parent}." in told
    assert (tmp_path / "o").read_text().count("\n") == 61


def test_a_status_is_written_while_nothing_comes(tmp_path: Path) -> None:
    out, status = tmp_path / "out", tmp_path / "s.json"
    more = "--format", "ndjson", "--status", str(status), "--report", "1"
    source, target = os.pipe()
    with running("-", out, tmp_path / "m.dyn", *more, source=source) as process:
        os.write(target, f"{ROWS[0]}\n".encode())
        wait_for(out, 1)
        end = time.monotonic() + 30.0
        while not status.exists() or json.loads(status.read_text())["rows"] != 1:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert json.loads(status.read_text())["running"] is True
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    os.close(source)
    os.close(target)
    assert json.loads(status.read_text())["running"] is False


def test_late_labels_are_scored_when_they_come(tmp_path: Path) -> None:
    rows = table(tmp_path / "r.csv", 1200, change=900)
    path, labels, status = (tmp_path / name for name in ("a.csv", "l.csv", "s.json"))
    path.write_text("k,x\n" + "".join(f"{k},{r['x']}\n" for k, r in enumerate(rows)))
    labels.write_text("k,y\n" + "".join(f"{k},{r['y']}\n" for k, r in enumerate(rows)))
    more = ["--labels", labels, "--key", "k", "--alarm", 1e-5, "--status", status]
    run(path, tmp_path / "o.csv", *more)
    held = json.loads(status.read_text())
    assert (held["learned"], held["pending"], held["scored"]) == (1200, 0, 1000)
    assert held["alarms"] >= 1
    assert held["last_alarm"].startswith("the label of ")


@pytest.mark.parametrize("kind", ["json", "prom"])
def test_a_new_label_is_counted_apart_and_hides_no_score(
    kind: str, tmp_path: Path, capsys: Any
) -> None:
    labels = [("a", "b")[k % 2] for k in range(60)]
    labels[40] = labels[50] = "new"
    path, status = tmp_path / "rows.csv", tmp_path / f"status.{kind}"
    rows = [f"{k % 5},{label}\n" for k, label in enumerate(labels)]
    path.write_text("x,y\n" + "".join(rows))
    run(path, tmp_path / "out.csv", "--status", status)
    model = dyntree.StreamingTree("class", window=50, n_particles=10, seed=1)
    seen = dyntree.evaluate.prequential(
        model, [{"x": k % 5} for k in range(60)], labels
    )
    assert seen.n_new_labels == 2  # the first "b", and one
    if kind == "prom":
        assert "\ndyntree_n_new_labels 2\n" in status.read_text()
        return
    told = json.loads(status.read_text())
    assert (told["scored"], told["n_new_labels"]) == (59, 2)
    assert told["log_density"] == pytest.approx(seen.log_density.mean())
    call = ["evaluate", path, *STREAM, "--quiet", "--out", tmp_path / "losses.csv"]
    assert cli.main([str(one) for one in call]) == 0
    assert "rows with labels that were new: 2; they count as" in capsys.readouterr().out
    densities = [line["log_density"] for line in read(tmp_path / "losses.csv")]
    assert [k + 1 for k, one in enumerate(densities) if not one] == [1, 40]


def test_labels_that_are_all_new_have_no_density(tmp_path: Path) -> None:
    path, status = tmp_path / "rows.csv", tmp_path / "status.json"
    path.write_text("x,y\n" + "".join(f"{k},u{k}\n" for k in range(9)))
    run(path, tmp_path / "out.csv", "--status", status)
    told = json.loads(status.read_text())
    assert (told["scored"], told["n_new_labels"], told["error"]) == (8, 8, 1.0)
    assert "log_density" not in told
