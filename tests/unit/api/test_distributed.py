"""Mixtures over a cluster of processes: faults change no bit of an exact fit."""

from __future__ import annotations

import functools
import os
import random
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")

from distributed import Client, LocalCluster

from dyntree import KeyedStream
from dyntree.api.distributed import KeyedCluster, fit_canopy
from dyntree.mixtures import Canopy
from tests.helpers import model_bytes, same_bytes

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, of ports and tasks
N_SHARDS = 4


@pytest.fixture(autouse=True)
def _global_random_state_is_left_alone() -> Iterator[None]:
    """Not asked here: threads of Dask draw from the global generator at any time."""
    state = random.getstate()
    yield
    random.setstate(state)


def rows(seed: int, bad: bool = False) -> np.ndarray:
    """A shard, made where it is asked for."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(6, 3)) * 6
    X = centres[rng.integers(6, size=900)] + rng.normal(size=(900, 3))
    if bad:
        X[5, 1] = np.nan
    return X


def counted(seed: int, folder: str) -> np.ndarray:
    """The same, leaving a mark each time."""
    (Path(folder) / f"{seed}-{os.getpid()}").touch()
    return rows(seed)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, Client(cluster) as one:
            yield one


def model(inference: str, **more: Any) -> Canopy:
    return Canopy(
        6, inference=inference, max_iter=8, tol=0.0, init="random", seed=1, **more
    )


@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_a_cluster_finds_what_parts_in_memory_give(client: Any, inference: str) -> None:
    shards = [functools.partial(rows, k) for k in range(N_SHARDS)]
    there = fit_canopy(client, shards, model(inference))
    here = model(inference).fit([rows(k) for k in range(N_SHARDS)])
    assert there.means.tobytes() == here.means.tobytes()
    assert there.weights.tobytes() == here.weights.tobytes()
    assert there.n_seen == N_SHARDS * 900
    arrays = fit_canopy(client, [rows(k) for k in range(N_SHARDS)], model(inference))
    assert arrays.means.tobytes() == here.means.tobytes()


def test_what_dask_holds_is_taken_by_its_chunks(client: Any) -> None:
    import dask
    import dask.array

    parts = [rows(k) for k in range(N_SHARDS)]
    here = model("esca").fit(parts)
    X = np.concatenate(parts)
    delayed = [dask.delayed(rows)(k) for k in range(N_SHARDS)]
    for shards in (dask.array.from_array(X, chunks=(900, 3)), delayed):
        there = fit_canopy(client, shards, model("esca"))
        assert there.means.tobytes() == here.means.tobytes()
    columns = dask.array.from_array(X, chunks=(900, 2))
    with pytest.raises(ValueError, match=r"whole rows.*rechunk\({1: -1}\)"):
        fit_canopy(client, columns, model("esca"))


@pytest.mark.parametrize("table", [np.zeros((50, 3)), pd.DataFrame({"a": [1.0, 2.0]})])
def test_one_table_is_no_list_of_shards(client: Any, table: Any) -> None:
    with pytest.raises(ValueError, match=r"list of callables or arrays.*array_split"):
        fit_canopy(client, table, model("esca"))


def marked(k: int, folder: str) -> np.ndarray:
    """A shard that leaves a line each time; that of seed 1 has a bad row."""
    with (Path(folder) / "reads").open("a") as file:
        file.write(f"{k}\n")
    return rows(k, bad=k == 1)


def test_bad_rows_are_read_once(client: Any, tmp_path: Path) -> None:
    shards = [functools.partial(marked, k, str(tmp_path)) for k in range(N_SHARDS)]
    with pytest.raises(ValueError, match="finite"):
        fit_canopy(client, shards, model("esca"))
    reads = (tmp_path / "reads").read_text().split()
    assert reads.count("1") == 1  # no worker reads bad rows again


@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_a_worker_that_is_killed_in_mid_sweep_changes_nothing(
    client: Any, inference: str, tmp_path: Path
) -> None:
    shards = [functools.partial(counted, k, str(tmp_path)) for k in range(N_SHARDS)]
    calm = fit_canopy(client, shards, model(inference))
    killed: list[int] = []

    def kill(report: Any) -> None:
        if report.sweep == 3 and not killed:
            pids = client.run(os.getpid)
            killed.append(sorted(pids.values())[0])
            os.kill(killed[0], signal.SIGKILL)

    struck = fit_canopy(client, shards, model(inference), callback=kill)
    assert killed
    client.wait_for_workers(2, timeout=60)
    assert len(struck.history) == 8
    if inference in ("em", "esca"):
        assert struck.means.tobytes() == calm.means.tobytes()
        assert struck.covariances_.tobytes() == calm.covariances_.tobytes()
        assert struck.weights.tobytes() == calm.weights.tobytes()
    else:
        whole = np.concatenate([rows(k) for k in range(N_SHARDS)])
        assert abs(struck.score(whole) - calm.score(whole)) < 0.05


def test_a_moment_without_workers_changes_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them may start anew at once; the scheduler then knows none."""
    shards = [functools.partial(rows, k) for k in range(N_SHARDS)]
    calm = fit_canopy(client, shards, model("esca"))
    monkeypatch.setattr(client, "scheduler_info", lambda **asked: {"workers": {}})
    struck = fit_canopy(client, shards, model("esca"))
    assert struck.means.tobytes() == calm.means.tobytes()


def test_bad_shards_are_named_and_change_nothing(client: Any) -> None:
    known = model("esca").fit(rows(0))
    with same_bytes(known), pytest.raises(ValueError, match="row 5, column 'x1'"):
        fit_canopy(client, [functools.partial(rows, 0, True)], known)
    with same_bytes(known), pytest.raises(ValueError, match="number of columns"):
        fit_canopy(client, [rows(0), rows(1)[:, :2]], known)
    with same_bytes(known), pytest.raises(ValueError, match="one at least"):
        fit_canopy(client, [], known)
    with pytest.raises(ValueError, match="model must be a Canopy"):
        fit_canopy(client, [rows(0)], 3)
    named = pd.DataFrame(rows(0), columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="same columns in the same order"):
        fit_canopy(client, [named, named[["b", "a", "c"]]], known)


def test_columns_keep_their_names(client: Any) -> None:
    frame = pd.DataFrame(rows(0) * [1.0, 10.0, 100.0], columns=["a", "b", "c"])
    fit = fit_canopy(client, [frame[:400], frame[400:]], model("em"))
    assert fit.columns == ("a", "b", "c")
    assert fit.score(frame[["c", "a", "b"]]) == fit.score(frame)


# ---------------------------------------------------------------- models for keys
def keyed_rows(n: int) -> tuple[pd.DataFrame, KeyedStream]:
    """Rows with keys, and a snapshot that three hundred other rows made."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((n + 300, 2)), columns=["a", "b"])
    frame["shop"] = [f"s{k}" for k in rng.integers(0, 40, n + 300)]
    frame["y"] = frame["a"] + frame["shop"].str[1:].astype(float) / 10.0
    members = [{"window": 20, "n_particles": 5}]
    fleet = KeyedStream(key="shop", members=members, n_particles=10, seed=2)
    return frame[300:], fleet.update(frame[:300], "y").snapshot()


def test_keys_on_workers_are_those_of_one_machine_when_one_is_killed(
    client: Any, tmp_path: Path
) -> None:
    frame, snapshot = keyed_rows(1000)
    whole, at = snapshot.copy(), np.arange(1000)
    said = whole.predict_then_learn(frame, "y", position=at)
    options = {"key": "shop", "members": whole.members, "n_particles": 10}
    store = KeyedStream("linear", store=tmp_path / "fleet.db", **options)
    cluster = KeyedCluster(client, store.take(snapshot), slots=8)
    means = []
    for first in range(0, 1000, 250):
        killer = None
        if first == 500:  # while its tasks run
            pid = sorted(client.run(os.getpid).values())[0]
            killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
            killer.start()
        part = slice(first, first + 250)
        means.append(cluster.learn(frame[part], "y", position=at[part]).mean)
        if killer is not None:
            killer.join()
    client.wait_for_workers(2, timeout=60)
    assert np.concatenate(means).tobytes() == said.mean.tobytes()
    assert model_bytes(cluster.fleet.copy()) == model_bytes(whole)
    store.close()
    with KeyedStream(store=tmp_path / "fleet.db", **options) as again:
        assert again.export() == whole.export()


def test_what_no_cluster_of_keys_can_learn_is_refused(client: Any) -> None:
    frame, snapshot = keyed_rows(50)
    cluster = KeyedCluster(client, snapshot.copy(), slots=3)
    with same_bytes(cluster.fleet), pytest.raises(ValueError, match="finite"):
        cluster.learn(frame.assign(y=np.nan), "y")
    cluster.fleet.freeze()
    with pytest.raises(ValueError, match="fleet must not be frozen"):
        cluster.learn(frame, "y")
    for one in (3, KeyedStream(seed=1)):
        with pytest.raises(ValueError, match="snapshot must be a KeyedStream beside"):
            KeyedCluster(client, one)
