"""What an operator watches: speed, running scores, memory and alarms of a stream.

Scores are of the last rows that had a response. Each was predicted before it was
learned: when it arrived, or where labels come late, when its label had come.
"""

from __future__ import annotations

import base64
import math
import os
import time
import warnings
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dyntree import checkpoint
from dyntree.commands.rows import ndjson_line
from dyntree.commands.terminal import say
from dyntree.evaluate.alarm import ChangeAlarm
from dyntree.runtime.release import RELEASE
from dyntree.storage.atomic_files import replacing
from dyntree.summaries import ClassPrediction

LEVEL = 0.9  # of the intervals whose coverage is reported
TAILS = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]
STATUS_SECONDS = 10.0  # between two writings of a status, where nobody says
PROMETHEUS = ".prom"  # how the name of a status in that format ends
HELP = {
    "rows": "Rows taken.",
    "learned": "Rows learned.",
    "bad_rows": "Rows left out because they could not be taken.",
    "pending": "Rows that wait for their labels.",
    "dropped": "Rows dropped before their label arrived.",
    "unmatched": "Labels of no row that waited.",
    "unlabelled": "Labels that arrived and were missing.",
    "keys": "Keys that have had a row.",
    "hot_keys": "Keys whose trees are in memory as they are.",
    "new_keys": "Keys that had their first row in this call.",
    "late": "Rows that were not learned because of their position.",
    "rows_per_second": "Rows taken a second, since the last report.",
    "latency_p50_seconds": "Median time that one of the last rows took.",
    "latency_p99_seconds": "Time that 99 of 100 of the last rows did not exceed.",
    "latency_max_seconds": "Longest time that a row has taken.",
    "scored": "Rows that the running scores are of.",
    "error": "Share of wrong labels among them.",
    "rmse": "Root mean squared error of their predictive means.",
    "log_density": "Their mean log predictive density, or probability.",
    "n_new_labels": "Rows among them whose label the model could not know; they are no "
    "part of log_density.",
    "coverage": f"Share of them inside their central {LEVEL:.0%} interval.",
    "alarms": "Alarms that predictions have become worse.",
    "model_bytes": "Memory of the model.",
    "process_bytes": "Memory of the process.",
    "written": "When this was written, in seconds since 1970.",
    "running": "1 while the stream goes on.",
}
COUNTERS = {
    "rows",
    "learned",
    "bad_rows",
    "dropped",
    "unmatched",
    "unlabelled",
    "late",
    "alarms",
}


class Watch:
    """Running figures of a stream.

    Parameters
    ----------
    over : int
        Rows of running scores and latencies.
    rate : float or None
        False alarms a row; None for no alarm.
    seed : int or None
        Of the alarm.
    text : str or None
        The alarm of a checkpoint, from its `alarm_text`.
    """

    def __init__(
        self, over: int, rate: float | None, seed: int | None, text: str | None
    ) -> None:
        self._seconds: deque[float] = deque(maxlen=over)
        self._scores: deque[tuple[float, float, float]] = deque(maxlen=over)
        self._longest = 0.0
        self._is_class = False
        self.alarm: ChangeAlarm | None = None
        if text is not None:
            self.alarm = checkpoint.loads(base64.b64decode(text))
        elif rate is not None:
            self.alarm = ChangeAlarm(rate, seed=seed)

    @property
    def alarm_text(self) -> str | None:
        """The alarm as a checkpoint's notes hold it."""
        if self.alarm is None:
            return None
        return base64.b64encode(checkpoint.dumps(self.alarm)).decode("ascii")

    def took(self, seconds: float) -> None:
        """Know how long a row has taken."""
        self._seconds.append(seconds)
        self._longest = max(self._longest, seconds)

    def scored(self, answer: Any, y: Any) -> tuple[float, bool]:
        """Score what was predicted; the response's tail probability, and any alarm."""
        tail = float(answer.tail_probability([y])[0])
        self._is_class = isinstance(answer, ClassPrediction)
        if isinstance(answer, ClassPrediction):
            known = dict(zip(answer.classes, answer.proba[0].tolist(), strict=True))
            p = known.get(y, math.nan)  # of a new label
            error = float(answer.label[0] != y)
            score = error, math.log(p) if p else -math.inf, math.nan
        else:
            low, high = answer.quantile(TAILS)[0]
            density = float(answer.log_density([y])[0])
            score = float((answer.mean[0] - y) ** 2), density, float(low <= y <= high)
        if self._is_class or math.isfinite(score[1]):  # not under a flat prediction
            self._scores.append(score)
        return tail, self.alarm is not None and self.alarm.update(tail)

    def figures(self) -> dict[str, Any]:
        """Running scores and latencies, by name."""
        found: dict[str, Any] = {"scored": len(self._scores)}
        if self._scores:
            errors, densities, inside = np.array(self._scores).T
            if self._is_class:
                found["error"] = float(errors.mean())
                found["n_new_labels"] = int(np.isnan(densities).sum())
                densities = densities[~np.isnan(densities)]
            else:
                found["rmse"] = float(np.sqrt(errors.mean()))
                found["coverage"] = float(inside.mean())
            if len(densities):
                found["log_density"] = float(densities.mean())
        if self._seconds:
            p50, p99 = np.quantile(np.array(self._seconds), [0.5, 0.99])
            found["latency_p50_seconds"] = float(p50)
            found["latency_p99_seconds"] = float(p99)
            found["latency_max_seconds"] = self._longest
        return found


class Reports:
    """What is said of a stream now and then, on standard error and in a file.

    Parameters
    ----------
    facts : callable
        Gives what is known of the stream now, by the names of `HELP` and others.
    seconds : float or None
        Between two reports on standard error; None for none.
    path : str or None
        Of a status: JSON, or by its suffix the text format of Prometheus.
    """

    def __init__(
        self,
        facts: Callable[[], dict[str, Any]],
        seconds: float | None,
        path: str | None,
    ) -> None:
        self._facts, self._path, self._says = facts, path, seconds is not None
        self._every = STATUS_SECONDS if seconds is None else seconds
        self._at, self._rows = time.monotonic(), -1
        self._has_failed = False

    def tick(self) -> None:
        """Report, if it is time to."""
        if time.monotonic() - self._at >= self._every:
            self.report(running=True)

    def report(self, running: bool) -> None:
        """Report now."""
        now, facts = time.monotonic(), self._facts()
        if self._rows >= 0 and now > self._at:
            speed = (facts["rows"] - self._rows) / (now - self._at)
            facts["rows_per_second"] = round(speed, 3)
        self._at, self._rows = now, facts["rows"]
        written = datetime.now(UTC)
        facts |= {
            "running": running,
            "written": written.timestamp(),
            "time": written.isoformat(timespec="seconds"),
            "pid": os.getpid(),
            "release": RELEASE,
        }
        if self._says:
            say(_line(facts))
        if self._path is not None:
            self._write(self._path, facts)

    def _write(self, path: str, facts: dict[str, Any]) -> None:
        """Replace the status; a stream goes on where that fails, and says so once."""
        is_prometheus = Path(path).suffix == PROMETHEUS
        try:
            with replacing(path) as file:
                file.write(prometheus(facts) if is_prometheus else ndjson_line(facts))
        except OSError as error:
            if not self._has_failed:
                fault = error.strerror or error
                warnings.warn(f"--status: {path} {fault}.", stacklevel=2)
            self._has_failed = True
        else:
            self._has_failed = False


def _line(facts: dict[str, Any]) -> str:
    """Figures on one line; times in milliseconds, memory in megabytes."""
    parts = []
    for name in HELP:
        value = facts.get(name)
        if value is None or name in ("written", "running"):
            continue
        if name.endswith("_seconds"):
            parts.append(f"{name.removesuffix('_seconds')} {1e3 * value:.3g} ms")
        elif name.endswith("_bytes"):
            parts.append(f"{name.removesuffix('_bytes')} {value / 1e6:.3g} MB")
        elif value or name in ("rows", "learned"):
            parts.append(f"{name} {value:.6g}")
    return ", ".join(parts)


def prometheus(facts: dict[str, Any]) -> bytes:
    """Figures in the text format of Prometheus.

    Examples
    --------
    >>> members = [{"window": 50, "weight": 0.5}]
    >>> print(prometheus({"rows": 3, "members": members}).decode())
    # HELP dyntree_rows_total Rows taken.
    # TYPE dyntree_rows_total counter
    dyntree_rows_total 3
    # HELP dyntree_member_weight Weight of a member of the average.
    # TYPE dyntree_member_weight gauge
    dyntree_member_weight{member="0",window="50"} 0.5
    <BLANKLINE>
    """
    lines = []
    for name, help_text in HELP.items():
        value = facts.get(name)
        if value is None:
            continue
        kind = "counter" if name in COUNTERS else "gauge"
        full = f"dyntree_{name}" + "_total" * (kind == "counter")
        lines += [f"# HELP {full} {help_text}", f"# TYPE {full} {kind}"]
        lines.append(f"{full} {_number(value)}")
    if members := facts.get("members"):
        full = "dyntree_member_weight"
        lines += [f"# HELP {full} Weight of a member of the average."]
        lines += [f"# TYPE {full} gauge"]
        for place, member in enumerate(members):
            labels = {"member": place} | member
            weight = labels.pop("weight")
            text = ",".join(f'{key}="{value}"' for key, value in labels.items())
            lines.append(f"{full}{{{text}}} {_number(weight)}")
    return "\n".join([*lines, ""]).encode("utf-8")


def _number(value: float) -> str:
    """A number as Prometheus reads it."""
    if isinstance(value, float) and math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if isinstance(value, bool) else repr(value)


def process_bytes() -> int | None:
    """Memory of the process in bytes; None where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
