"""How a piece of work is measured: figures of a fresh process, from before it to after.

A gauge takes a task and a folder with its rows and reads one pair of figures; where
what it needs is absent it raises `Absent`, with the reason.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from . import steps
from .results import r_facts
from .task import Task

HERE = Path(__file__).parent
OURS = [sys.executable, "-m", "tests.bench.work"]
CRAN = ["Rscript", "--vanilla", str(HERE / "peer.R")]
RIVER = [sys.executable, "-m", "tests.bench.peer_river"]
DOUBLINGS = (1000, 2000, 4000, 8000, 16_000)


class Absent(Exception):
    """Something that a gauge needs is not on this machine."""


@dataclass(frozen=True)
class Reading:
    """Figures of both sides and what is made of them."""

    ratio: float
    ours: float
    theirs: float
    same_numbers: bool = True


Gauge = Callable[[Task, Path], Reading]


@dataclass(frozen=True)
class Spent:
    """What a piece of work took: seconds, and bytes of peak memory added."""

    user: float
    wall: float
    memory: float


def spend(command: list[str], threads: int = 1) -> Spent:
    """Run a process that prints what it had spent before the work and after."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | single | {"DYNTREE_NUM_THREADS": str(threads)},
    )
    before, after = (np.array(line.split(), float) for line in done.stdout.splitlines())
    user, wall, kilobytes = (after - before).tolist()
    return Spent(user, wall, 1024.0 * kilobytes)


def ours(task: Task, folder: Path, threads: int = 1) -> Spent:
    return spend(OURS + task.arguments(folder, task.times), threads)


def cran(task: Task, folder: Path) -> Spent:
    return spend(CRAN + task.arguments(folder, task.peer_times))


def need_cran() -> None:
    if not r_facts():
        raise Absent("R or its package dynaTree is absent (R_LIBS?)")


def against_cran(task: Task, folder: Path) -> Reading:
    """User seconds, theirs by ours; and whether log densities are R's, bit for bit.

    Our side leaves its log densities in the folder where it works by R's rules.
    """
    need_cran()
    mine = ours(task, folder).user / task.times
    other = cran(task, folder).user / task.peer_times
    kept = folder / "ours.bin"
    same = (
        not kept.exists() or kept.read_bytes() == (folder / "theirs.bin").read_bytes()
    )
    return Reading(other / mine, mine, other, same)


def memory_against_cran(task: Task, folder: Path) -> Reading:
    """Peak memory added, theirs by ours."""
    need_cran()
    mine, other = ours(task, folder).memory, cran(task, folder).memory
    return Reading(other / mine, mine, other)


def against_river(model: str) -> Gauge:
    """User seconds, those of a model of river's by ours."""

    def gauge(task: Task, folder: Path) -> Reading:
        if importlib.util.find_spec("river") is None:
            raise Absent("river is absent")
        mine = ours(task, folder).user / task.rows
        arguments = replace(task, work=model).arguments(folder, 1)
        other = spend(RIVER + arguments).user / task.rows
        return Reading(other / mine, mine, other)

    return gauge


def two_threads(task: Task, folder: Path) -> Reading:
    """Wall seconds on one thread by those on two."""
    if (os.cpu_count() or 1) < 2:
        raise Absent("a second core is absent")
    one, two = (ours(task, folder, n).wall / task.times for n in (1, 2))
    return Reading(one / two, two, one)


def exponent(task: Task, folder: Path) -> Reading:
    """Slope of log user seconds on log rows; beside it the longest and the shortest."""
    seconds = []
    for rows in DOUBLINGS:
        times = DOUBLINGS[-1] // rows
        part = replace(task, rows=rows, times=times)
        part.write_rows(folder / str(rows))
        seconds.append(ours(part, folder / str(rows)).user / times)
    slope = np.polyfit(np.log(DOUBLINGS), np.log(seconds), 1)[0]
    return Reading(float(slope), seconds[-1], seconds[0])


def instructions(task: Task, folder: Path) -> Reading:
    """Instructions per step late in a stream by those early in it (see steps.py)."""
    if shutil.which("valgrind") is None or shutil.which("vgdb") is None:
        raise Absent("valgrind is absent")
    places = steps.EARLY, steps.LATE
    steps.save(task, folder, places)
    early, late = (steps.count(task, folder, row) / task.rows for row in places)
    return Reading(late / early, late, early)
