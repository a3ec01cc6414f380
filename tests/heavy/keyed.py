"""kill -9, full disks and second writers: keys are those of an undisturbed run.

Run ``python -m tests.heavy.keyed`` as root, who may mount a small tmpfs, with
distributed, pyspark and Java; the last result is stored beside this file in keyed.txt.
What is not installed is left out, and said to be. Met: at the end the tables of the
store are, byte for byte, those of a run on one machine that nobody disturbed. The kills
come at random times: of a process that learns into a store, alone and beside a
snapshot; of a worker of Dask; of Spark's driver with its JVM and workers, whose answers
also are each there once, with the bits of one machine.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dyntree
from dyntree import KeyedStream
from dyntree.errors import CheckpointError
from tests.heavy.full_disk import PAGE, small_disk

Spawned = multiprocessing.get_context("spawn")
ROOT = Path(__file__).resolve().parents[2]
KILLS = {"store": 5, "store beside a snapshot": 5, "Dask": 7, "Spark": 3}  # twenty
FIRST, N, N_KEYS = 600, 1800, 60  # rows of the snapshot and after it; keys
A_CALL = 20  # rows
LOG = 1000  # pages of SQLite's log, before it is written to the file itself
OPTIONS: dict[str, Any] = {
    "key": "shop", "members": [{"window": 40, "n_particles": 10}], "n_particles": 10,
    "hot": 15, "seed": 7,
}  # fmt: skip
SCHEMA = "a double, b double, shop string, y double, offset long"


def rows() -> pd.DataFrame:
    """Rows of shops, with offsets."""
    rng = np.random.default_rng(11)
    n = FIRST + N
    frame = pd.DataFrame(rng.random((n, 2)), columns=["a", "b"])
    frame["shop"] = [f"s{k}" for k in rng.zipf(1.3, n) % N_KEYS]
    level = frame["shop"].str[1:].astype(float) / 10.0
    frame["y"] = frame["a"] + level + 0.2 * rng.standard_normal(n)
    return frame.assign(offset=np.arange(n) - FIRST)


def snapshot_of(frame: pd.DataFrame) -> KeyedStream:
    fleet = KeyedStream("linear", **OPTIONS)
    return fleet.update(frame[:FIRST].drop(columns="offset"), "y").snapshot()


def opened(path: Path, snapshot: KeyedStream | None) -> KeyedStream:
    """The model of a store, which begins with a snapshot if there is one."""
    model = KeyedStream("linear", store=path, **OPTIONS)
    return model if snapshot is None else model.take(snapshot)


def learn_on(path: Path, beside: bool, n_rows: int = A_CALL) -> None:
    """Learn the rows into a store, from where it stands."""
    frame = rows()
    snapshot = snapshot_of(frame) if beside else None
    with opened(path, snapshot) as model:
        begun = 0 if snapshot is None else snapshot.n_seen
        for first in range(model.n_seen - begun, N, n_rows):
            part = frame[FIRST:][first : min(first + n_rows, N)]
            model.update(part.drop(columns="offset"), "y", position=part["offset"])


def stored(path: Path) -> list[Any]:
    """All that a store holds."""
    base = sqlite3.connect(path)
    tables = ("keys", "facts")
    found = [
        base.execute(f"select * from {name} order by 1").fetchall() for name in tables
    ]
    base.close()
    return found


def undisturbed(folder: Path, beside: bool) -> list[Any]:
    path = folder / f"calm {beside}.db"
    learn_on(path, beside, N)
    return stored(path)


def said(what: str, clock: float) -> None:
    print(f"{what}, {time.perf_counter() - clock:.0f} s  met", flush=True)


# ---------------------------------------------------------------- a store
def kill_writers(folder: Path, beside: bool, n_kills: int) -> None:
    """Kill a process that learns into a store, and let another go on."""
    path, hits, seconds = folder / f"torn {beside}.db", 0, 4.0
    while hits < n_kills:
        child = Spawned.Process(target=learn_on, args=(path, beside))
        child.start()
        while child.is_alive() and not path.exists():
            time.sleep(0.01)
        child.join(random.uniform(0.0, seconds))
        if child.is_alive():
            os.kill(child.pid or 0, signal.SIGKILL)
            hits += 1
        else:  # it had learned all: begin anew
            path.unlink()
            seconds *= 0.7
        child.join()
    learn_on(path, beside)
    assert stored(path) == undisturbed(folder, beside)


def fill_disks(folder: Path) -> int:
    """Learn into a store on a disk that fills up, make room, and go on."""
    frame, calm = rows(), undisturbed(folder, True)
    snapshot, failed = snapshot_of(frame), 0
    n_pages = (folder / "calm True.db").stat().st_size // PAGE + LOG
    for share in (0.05, 0.2, 0.4, 0.6, 0.8):
        with small_disk(int(share * n_pages)) as disk:
            path = disk / "fleet.db"
            try:
                with opened(path, snapshot) as model:
                    for first in range(0, N, A_CALL):
                        part = frame[FIRST:][first : first + A_CALL]
                        rest = part.drop(columns="offset")
                        model.update(rest, "y", position=part["offset"])
            except (OSError, CheckpointError) as error:
                failed += "full" in str(error)
            size = f"remount,size={8 * n_pages * PAGE}"
            subprocess.run(["mount", "-o", size, str(disk)], check=True)
            learn_on(path, True)
            assert stored(path) == calm
    return failed


def second_writer(folder: Path) -> None:
    path = folder / "one.db"
    code = (
        "import sys; from dyntree import KeyedStream\n"
        "try: KeyedStream('linear', store=sys.argv[1])\n"
        "except ValueError as error: print(error)"
    )
    with opened(path, None) as model:
        model.update(rows()[:50].drop(columns="offset"), "y")
        call = [sys.executable, "-c", code, str(path)]
        told = subprocess.run(call, check=True, capture_output=True, text=True).stdout
        assert str(os.getpid()) in told, told
        model.update(rows()[50:60].drop(columns="offset"), "y")


# ---------------------------------------------------------------- Dask
def kill_workers(folder: Path, n_kills: int) -> None:
    """Kill workers of Dask while keys learn."""
    from distributed import Client, LocalCluster

    from dyntree.api.distributed import KeyedCluster

    frame, path = rows(), folder / "dask.db"
    a_call = N // (n_kills + 1)
    local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local, Client(local) as client, opened(path, snapshot_of(frame)) as model:
        cluster = KeyedCluster(client, model, slots=8)
        for call, first in enumerate(range(0, N, a_call)):
            part = frame[FIRST:][first : first + a_call]
            try:
                client.wait_for_workers(2, timeout=15)
            except TimeoutError:  # killed while it began, which Dask does not mend
                local.scale(len(local.workers) + 1)
                client.wait_for_workers(2, timeout=60)
            pid = random.choice([*client.run(os.getpid).values()])
            killer = threading.Timer(random.uniform(0.0, 0.7), os.kill, (pid, 9))
            if call < n_kills:
                killer.start()
            rest = part.drop(columns="offset")
            cluster.learn(rest, "y", position=part["offset"].to_numpy())
            if call < n_kills:
                killer.join()
                time.sleep(0.5)  # until the scheduler has seen it
    assert stored(path) == undisturbed(folder, True)


# ---------------------------------------------------------------- Spark
def drive(folder: Path) -> None:
    """What the driver does: learn all files that a query has not learned yet."""
    from pyspark.sql import SparkSession

    from dyntree.api.spark import PROVIDER, ROCKS_DB, learn_keys, read_keys

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", str(folder / "local"))
        .config(PROVIDER, ROCKS_DB)
        .getOrCreate()
    )
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    answers = learn_keys(
        stream.parquet(str(folder / "in")), snapshot_of(rows()), y="y",
        position="offset",
    )  # fmt: skip
    query = (
        answers.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "state"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    read_keys(spark, str(folder / "state")).toPandas().to_pickle(folder / "keys.pkl")
    frame = spark.read.parquet(str(folder / "out")).toPandas()
    frame.to_pickle(folder / "answers.pkl")
    spark.stop()


def driver(folder: Path) -> subprocess.Popen[bytes]:
    call = [sys.executable, "-m", "tests.heavy.keyed", "drive", str(folder)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        call, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def kill_drivers(folder: Path, n_kills: int) -> int:
    """Kill drivers of Spark, and let others go on; how many hit a batch."""
    frame, within = rows()[FIRST:], 0
    (folder / "in").mkdir()
    order, begun = np.random.default_rng(0).permutation, time.time() - 60.0
    for k, part in enumerate(np.array_split(np.arange(N), 8)):
        shuffled = frame.iloc[part].iloc[order(len(part))]
        file = folder / "in" / f"{k}.parquet"
        shuffled.to_parquet(file, index=False)
        os.utime(file, (begun + k, begun + k))  # Spark reads them by their times
    offsets, commits = folder / "state" / "offsets", folder / "state" / "commits"

    def count(place: Path) -> int:
        return sum(one.name.isdigit() for one in place.glob("*"))

    for _ in range(n_kills):
        before, process = count(commits), driver(folder)
        while process.poll() is None and count(offsets) <= before:
            time.sleep(0.1)
        assert process.poll() is None, "the driver ended before it was killed"
        time.sleep(random.uniform(0.0, 8.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        within += count(offsets) > count(commits)
    with driver(folder) as last:
        assert last.wait() == 0
    keys, path = pd.read_pickle(folder / "keys.pkl"), folder / "spark.db"
    with opened(path, snapshot_of(rows())) as model:
        model.take(dict(zip(keys["key"], map(bytes, keys["blob"]), strict=True)))
    assert stored(path) == undisturbed(folder, True)
    whole = snapshot_of(rows()).copy()
    one = whole.predict_then_learn(
        frame.drop(columns="offset"), "y", position=frame["offset"].to_numpy()
    )
    answers = pd.read_pickle(folder / "answers.pkl").sort_values("offset")
    assert answers["offset"].tolist() == frame["offset"].tolist()
    assert not answers["skipped"].any()
    assert answers["mean"].to_numpy().tobytes() == one.mean.tobytes()
    return within


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    seed = time.time_ns() % 2**32
    random.seed(seed)  # the times of kills
    for name, beside in (("store", False), ("store beside a snapshot", True)):
        clock = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            kill_writers(Path(folder), beside, KILLS[name])
        said(f"{KILLS[name]} kills of the process of a {name}", clock)
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        failed = fill_disks(Path(folder))
    said(f"{failed} of 5 disks filled up under a store, which went on", clock)
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        second_writer(Path(folder))
    said("a second writer was refused by the number of the first", clock)
    if importlib.util.find_spec("distributed") is None:
        print("distributed is not installed: NO WORKER OF DASK WAS KILLED")
    else:
        clock = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            kill_workers(Path(folder), KILLS["Dask"])
        said(f"{KILLS['Dask']} kills of a worker of Dask", clock)
    if importlib.util.find_spec("pyspark") is None or not shutil.which("java"):
        print("pyspark or Java is not installed: NO DRIVER OF SPARK WAS KILLED")
    else:
        clock = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            within = kill_drivers(Path(folder), KILLS["Spark"])
        said(
            f"{KILLS['Spark']} kills of Spark's driver, {within} within a batch, "
            f"{N} rows answered once each",
            clock,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["drive"]:
        drive(Path(sys.argv[2]))
    else:
        main()
