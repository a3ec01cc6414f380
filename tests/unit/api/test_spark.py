"""Keys in the state store of Spark are those of one machine, bit for bit."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: dyntree[spark]")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

from pyspark.sql import SparkSession

from dyntree import KeyedStream
from dyntree.api import spark as face
from dyntree.api.spark import PROVIDER, ROCKS_DB, fit_keys, learn_keys, read_keys
from tests.helpers import model_bytes
from tests.unit.conftest import ROOT

pytestmark = [
    pytest.mark.slow,  # a session, its workers and each query take some ten seconds
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]
N, N_KEYS = 400, 30
SCHEMA = "a double, b double, c string, sensor string, y double, offset long"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), os.environ.get("PYTHONPATH", "")]
    )
    one = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "7")  # keys in pieces
        .config(PROVIDER, ROCKS_DB)
        .getOrCreate()
    )
    one.sparkContext.setLogLevel("OFF")
    yield one
    one.stop()


def rows_of(n: int, seed: int = 0) -> pd.DataFrame:
    """Rows of sensors in the order of their offsets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((n, 2)), columns=["a", "b"])
    frame["c"] = rng.choice(["u", "v"], n)
    frame["sensor"] = [f"s{k}" for k in rng.integers(0, N_KEYS, n)]
    level = frame["sensor"].str[1:].astype(float) / 10.0
    frame["y"] = frame["a"] + level + 0.1 * rng.standard_normal(n)
    frame["offset"] = np.arange(n)
    return frame


def snapshot_of(model: str, frame: pd.DataFrame, **more: Any) -> KeyedStream:
    members = [{"window": 20, "n_particles": 5}]
    options: dict[str, Any] = {"members": members, "window": 20, "n_particles": 8}
    fleet = KeyedStream(model, key="sensor", seed=4, **options | more)
    return fleet.update(frame.drop(columns="offset"), "y").snapshot()


def on_one_machine(snapshot: KeyedStream, frame: pd.DataFrame) -> tuple[Any, Any]:
    """Answers in the order of the rows, and the model."""
    model = snapshot.copy()
    rows, at = frame.drop(columns="offset"), frame["offset"].to_numpy()
    return model.predict_then_learn(rows, "y", position=at), model


def states(blobs: Any) -> dict[Any, bytes]:
    return {row.key: bytes(row.blob) for row in blobs.collect()}


def test_a_query_that_stops_and_gets_rows_again_is_one_machine(
    spark: Any, tmp_path: Path
) -> None:
    frame = rows_of(N)
    snapshot = snapshot_of("linear", rows_of(300, 1))
    said, whole = on_one_machine(snapshot, frame)
    (tmp_path / "in").mkdir()
    shuffled = np.random.default_rng(3)
    again = frame[100:150]  # sent a second time with the last batch
    for first, end in ((0, 130), (130, 260), (260, N)):
        part = pd.concat([frame[first:end], again] if end == N else [frame[first:end]])
        part = part.iloc[shuffled.permutation(len(part))]
        part.to_parquet(tmp_path / "in" / f"{first}.parquet", index=False)
        stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
        query = (
            learn_keys(stream, snapshot, y="y", position="offset")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "state"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()  # each query is a new one, from the checkpoint
    answers = spark.read.parquet(str(tmp_path / "out")).toPandas()
    assert len(answers) == N + len(again)
    late = answers[answers["skipped"]]
    assert {*late["offset"]} == {*again["offset"]}
    learned = answers[~answers["skipped"]].sort_values("offset")
    assert learned["offset"].tolist() == frame["offset"].tolist()
    assert learned["sensor"].tolist() == frame["sensor"].tolist()
    assert learned["mean"].to_numpy().tobytes() == said.mean.tobytes()
    assert learned["var"].to_numpy().tobytes() == said.var.tobytes()
    assert np.array_equal(learned["log_density"], said.log_density(frame["y"]))
    blobs = states(read_keys(spark, str(tmp_path / "state")))
    assert model_bytes(snapshot.copy().take(blobs)) == model_bytes(whole)


def test_history_in_one_go_and_a_stream_that_goes_on(spark: Any) -> None:
    frame = rows_of(200, 5)
    frame["y"] = np.where(frame["y"] > 1.5, "high", "low")
    first = rows_of(200, 6)
    first["y"] = np.where(first["y"] > 1.5, "high", "low")
    snapshot = snapshot_of("class", first)
    said, _ = on_one_machine(snapshot, frame)
    half = spark.createDataFrame(frame[:100].sample(frac=1.0, random_state=1))
    blobs = fit_keys(half, snapshot, y="y", position="offset")
    _, part = on_one_machine(snapshot, frame[:100])
    assert states(blobs) == part.export()
    rest = spark.createDataFrame(frame[100:].sample(frac=1.0, random_state=2))
    answers = learn_keys(rest, snapshot, y="y", position="offset", initial=blobs)
    after = answers.toPandas().sort_values("offset")
    assert np.array_equal(np.stack([*after["proba"]]), said.proba[100:])
    likely = [said.classes[k] for k in said.proba[100:].argmax(axis=1)]
    assert after["label"].tolist() == likely


def test_workers_take_no_snapshot_for_another(spark: Any) -> None:
    """Not even one that differs in an option that its id does not have."""
    frame, before = rows_of(40, 2), rows_of(300, 1)
    frame["sensor"] = "s1"
    drop = snapshot_of("linear", before)
    learn = snapshot_of("linear", before, late="learn")
    assert drop.snapshot_id == learn.snapshot_id
    table = spark.createDataFrame(frame, SCHEMA)
    tasks = [face._task(table, one, "y", None, "offset", None) for one in (drop, learn)]
    blob = tasks[0].learned("s1", frame, None).blob
    assert blob == tasks[1].learned("s1", frame, None).blob
    for task, is_late in zip(tasks * 2, [True, False] * 2, strict=True):
        assert (task.learned("s1", frame, blob).late == is_late).all()


def test_what_spark_cannot_do_is_named_before_the_start(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frame = rows_of(60)
    snapshot = snapshot_of("linear", frame)
    table = spark.createDataFrame(frame)
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (table, {"position": None}, "position must name a column by which"),
        (table, {"position": "a"}, "of whole numbers; got 'a' of type double"),
        (table, {"y": "z"}, "y must name a column of the frame"),
        (table, {"key": "z"}, "key must name a column of the frame"),
        (table.drop("b"), {}, "columns of the snapshot, .*; got none of the name 'b'"),
        (table, {"snapshot": 3}, "snapshot must be a KeyedStream beside a snapshot"),
    ]
    for rows, more, words in bad:
        options = {"snapshot": snapshot, "y": "y", "position": "offset"} | more
        for call in (learn_keys, fit_keys):
            with pytest.raises(ValueError, match=words):
                call(rows, **options)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(ValueError, match="history must be a table"):
        fit_keys(stream, snapshot, y="y", position="offset")
    spark.conf.set(PROVIDER, "org.example.Other")
    with pytest.raises(ValueError, match=r"must be RocksDB.*spark\.conf\.set\("):
        learn_keys(table, snapshot, y="y", position="offset")
    spark.conf.set(PROVIDER, ROCKS_DB)
    find = face.find_spec
    monkeypatch.setattr(
        face, "find_spec", lambda n: find(n) if n[:6] != "google" else None
    )
    with pytest.raises(ImportError, match="needs protobuf"):
        learn_keys(table, snapshot, y="y", position="offset")


def test_large_states_and_bad_rows_stop_a_run(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = rows_of(60)
    snapshot = snapshot_of("linear", frame)
    table = spark.createDataFrame(frame.assign(y=np.nan))
    with pytest.raises(Exception, match="must be finite"):
        fit_keys(table, snapshot, y="y", position="offset").collect()
    task = face._task(table, snapshot, "y", None, "offset", None)
    monkeypatch.setattr(face, "LARGEST_BLOB", 300)
    with pytest.raises(ValueError, match="must have keys of 300 bytes"):
        task.learned("s1", frame[frame["sensor"] == "s1"], None)
