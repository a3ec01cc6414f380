"""Models for keys on the machines of a Spark cluster, in streams and in tables.

`learn_keys` has the state of each key in Spark's own state store, as one blob, and
`fit_keys` learns a table of history in one go. Both give what one machine gives, bit
for bit, whatever the partitions and micro-batches, and when executors or the driver
die, because a key depends on nothing but its rows in the order of their positions, and
on a snapshot of what keys share (`KeyedStream.snapshot`).

dyntree has to be installed on the workers, in the same release. Each Python worker of
Spark uses one thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any

try:
    from pyspark.sql.streaming import StatefulProcessor
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        BooleanType,
        ByteType,
        DoubleType,
        IntegerType,
        LongType,
        ShortType,
        StructField,
        StructType,
    )
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree.api.spark needs pyspark >= 4.0. Install it with: "
        "pip install '.[spark]' in a clone of dyntree."
    ) from error


from dyntree import checkpoint
from dyntree.errors import ArgumentError, Message
from dyntree.keyed.keys import Key
from dyntree.keyed.model import KeyedStream
from dyntree.keyed.parts import KeyResult, learned_key
from dyntree.runtime.blas import single_threaded_blas
from dyntree.runtime.release import RELEASE

LARGEST_BLOB = 100_000  # bytes of a key, which Spark rewrites at each batch with it
STATE = "model"  # name of the state variable
WHOLE = ByteType, ShortType, IntegerType, LongType
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learn_keys(
    rows: Any, snapshot: KeyedStream, *, y: str, key: str | None = None,
    position: str | None = None, exposure: str | None = None, initial: Any = None,
) -> Any:  # fmt: skip
    """Predict each row before its key learns it, on the executors of Spark.

    Parameters
    ----------
    rows : pyspark.sql.DataFrame
        A streaming frame or a table, with the columns that the snapshot has learned,
        and those that follow.
    snapshot : KeyedStream
        A model beside a snapshot, ``fleet.snapshot()``. A query may be stopped and
        started again with the same checkpoint and a later snapshot of the same fleet.
    y : str
        Column of responses, without missing values.
    key : str, optional
        Column of the keys: text, whole numbers, truth values or dates. The default is
        the option `key` of the snapshot.
    position : str
        Column of whole numbers by which the rows of a key are in order; Spark does not
        retain any other order. No two rows of a key have the same. A row whose position
        is not larger than the last of its key has come before, or late: it is answered
        and not learned, unless the model has ``late="learn"``.
    exposure : str, optional
        Column of exposures of counts.
    initial : pyspark.sql.DataFrame, optional
        States with which keys begin in the first batch: the columns `key` and `blob`
        of `fit_keys` or `read_keys`.

    Returns
    -------
    pyspark.sql.DataFrame
        A row for each row, with the columns of key and position, `mean` and `var`, or,
        for labels, `label`, the most probable one, and `proba`, the probabilities in
        the order of ``snapshot.classes``; `log_density` of the response, and `skipped`,
        whether it was late.

    Raises
    ------
    ValueError
        If an argument is bad, or Spark's state store is not RocksDB. Bad rows, such as
        missing responses, stop the query when they are read, and their batch is not
        learned; filter them before.
    ImportError
        If protobuf or pyarrow is missing, which Spark needs here.

    Notes
    -----
    A blob is read and written at each batch with its key: choose batches with many rows
    of a key, by a trigger of some minutes. Blobs of more than 100 kB are refused. The
    number of shuffle partitions of a query with state cannot change; `read_keys` and
    `initial` are the way to another.

    Examples
    --------
    >>> spark.conf.set(PROVIDER, ROCKS_DB)  # doctest: +SKIP
    >>> answers = learn_keys(  # doctest: +SKIP
    ...     rows, fleet.snapshot(), y="y", key="sensor", position="offset"
    ... )
    >>> query = answers.writeStream.option(  # doctest: +SKIP
    ...     "checkpointLocation", "s3://bucket/sensors"
    ... ).toTable("answers")
    """
    _check_packages("google.protobuf", "pyarrow")
    task = _task(rows, snapshot, y, key, position, exposure)
    _check_store(rows.sparkSession)
    schema, more = rows.schema, []
    if snapshot.is_classifier:
        more += [("label", schema[y].dataType), ("proba", ArrayType(DoubleType()))]
    else:
        more += [("mean", DoubleType()), ("var", DoubleType())]
    more += [("log_density", DoubleType()), ("skipped", BooleanType())]
    fields = [(task.key, schema[task.key].dataType), (task.position, LongType()), *more]
    begun = None
    if initial is not None:
        begun = initial.select(initial["key"].alias(task.key), "blob").groupBy(task.key)
    return (
        rows.select(*task.columns)
        .groupBy(task.key)
        .transformWithStateInPandas(
            _Learner(task),
            StructType([StructField(*field) for field in fields]),
            outputMode="Append",
            timeMode="None",
            initialState=begun,
        )
    )


def fit_keys(
    history: Any, snapshot: KeyedStream, *, y: str, key: str | None = None,
    position: str | None = None, exposure: str | None = None,
) -> Any:  # fmt: skip
    """Let all keys of a table learn their rows, each on one executor.

    Parameters
    ----------
    history : pyspark.sql.DataFrame
        A table. All rows of a key have to fit into the memory of a worker.
    snapshot, y, key, position, exposure
        As in `learn_keys`.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns `key` and `blob`, the state of the key: ``initial`` of `learn_keys`,
        or, as a dict, what `KeyedStream.take` joins to a model on one machine.

    Raises
    ------
    ValueError
        If an argument is bad, or the frame is a stream.
    ImportError
        If pyarrow is missing, which Spark needs here.

    Examples
    --------
    >>> blobs = fit_keys(  # doctest: +SKIP
    ...     history, snapshot, y="y", key="sensor", position="offset"
    ... )
    >>> states = {row.key: bytes(row.blob) for row in blobs.collect()}  # doctest: +SKIP
    >>> fleet = snapshot.copy().take(states)  # doctest: +SKIP
    """
    _check_packages("pyarrow")
    task = _task(history, snapshot, y, key, position, exposure)
    if history.isStreaming:
        raise ArgumentError(
            "history", "must be a table", Message("a streaming frame"),
            "Use learn_keys, whose states are in the checkpoint of its query.",
        )  # fmt: skip

    def fitted(of: Any, part: Any) -> Any:
        import pandas as pd

        result = task.learned(of[0], part, None)
        return pd.DataFrame({"key": [of[0]], "blob": [result.blob]})

    key_type = history.schema[task.key].dataType
    schema = [StructField("key", key_type), StructField("blob", BinaryType())]
    by_key = history.select(*task.columns).groupBy(task.key)
    return by_key.applyInPandas(fitted, StructType(schema))


def read_keys(spark: Any, checkpoint_location: str) -> Any:
    """States of keys that a query of `learn_keys` has in its checkpoint.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    checkpoint_location : str
        The option ``checkpointLocation`` of a query, which has been stopped.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns `key` and `blob`, as `fit_keys` gives them.

    Examples
    --------
    >>> blobs = read_keys(spark, "s3://bucket/sensors")  # doctest: +SKIP
    """
    from pyspark.sql import functions

    store = spark.read.format("statestore").option("path", checkpoint_location)
    states = store.option("stateVarName", STATE).load()
    name = states.schema["key"].dataType.names[0]
    key = functions.col("key").getField(name).alias("key")
    return states.select(key, functions.col("value.blob").alias("blob"))


@dataclass(frozen=True)
class _Task:
    """What a worker has to know: the snapshot, in the format of files, and columns."""

    snapshot: bytes
    digest: str
    y: str
    key: str
    position: str
    exposure: str | None
    inputs: tuple[str, ...]
    release: str = RELEASE

    @property
    def columns(self) -> list[str]:
        """All columns that are read, each once."""
        more = () if self.exposure is None else (self.exposure,)
        return [*dict.fromkeys((self.key, self.position, self.y, *more, *self.inputs))]

    def learned(self, key: Key, rows: Any, blob: bytes | None) -> KeyResult:
        """Learn rows of one key, a frame of pandas, in the order of their positions."""
        rows = rows.sort_values(self.position, kind="stable")
        exposure = None if self.exposure is None else rows[self.exposure].to_numpy()
        with single_threaded_blas():
            result = learned_key(
                self._decoded(), key, blob, rows[[*self.inputs]],
                rows[self.y].to_numpy(), rows[self.position].to_numpy(), exposure,
            )  # fmt: skip
        if len(result.blob) > LARGEST_BLOB:
            raise ArgumentError(
                "snapshot",
                "must have keys of {most} bytes at most for Spark",
                Message("{key!r} of {n} bytes", key=key, n=len(result.blob)),
                "Use a smaller window, fewer particles, constant leaves, or own=False.",
                most=LARGEST_BLOB,
            )
        return result

    def _decoded(self) -> KeyedStream:
        """The snapshot, which each Python worker decodes once.

        It is known by all of its bytes: its id says nothing of `late`, or of the
        earlier snapshots whose keys it continues.
        """
        if self.digest not in _snapshots:
            if self.release.split(".")[0] != RELEASE.split(".")[0]:
                raise RuntimeError(
                    f"the driver has dyntree {self.release} and this worker {RELEASE}: "
                    "install the same on all machines."
                )
            os.environ.setdefault("DYNTREE_NUM_THREADS", "1")
            model = checkpoint.loads(self.snapshot)
            assert isinstance(model, KeyedStream)
            _snapshots.clear()
            _snapshots[self.digest] = model
        return _snapshots[self.digest]


_snapshots: dict[str, KeyedStream] = {}  # the last that this process has decoded


class _Learner(StatefulProcessor):
    """Has the blob of each key in the state store of Spark."""

    def __init__(self, task: _Task) -> None:
        self.task = task

    def init(self, handle: Any) -> None:
        """Name the state."""
        self.state = handle.getValueState(STATE, "blob binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: Any
    ) -> Iterator[Any]:  # fmt: skip
        """Learn all rows of a key that a batch has; they come in several pieces."""
        import pandas as pd

        frame = pd.concat([*rows], ignore_index=True)
        before = bytes(self.state.get()[0]) if self.state.exists() else None
        result = self.task.learned(key[0], frame, before)
        self.state.update((result.blob,))
        yield _answers(self.task, key[0], result)

    def handleInitialState(
        self, key: Any, initialState: Any, timerValues: Any
    ) -> None:  # fmt: skip
        """Begin with a state that another run has left."""
        self.state.update((bytes(initialState["blob"].iloc[0]),))

    def close(self) -> None:
        """Nothing is open."""


def _answers(task: _Task, key: Key, result: KeyResult) -> Any:
    """Predictions of the rows of a key as a frame of pandas."""
    import pandas as pd

    found = result.prediction
    at: dict[str, Any] = {task.key: [key] * len(result.late)}
    at[task.position] = result.positions
    if hasattr(found, "proba"):
        best = found.proba.argmax(axis=1).tolist()
        at["label"] = [found.classes[place] for place in best]
        at["proba"] = [*found.proba]
    else:
        at["mean"], at["var"] = found.mean, found.var
    at["log_density"], at["skipped"] = result.log_density, result.late
    return pd.DataFrame(at)


# ------------------------------------------------------------ checks before a start
def _check_packages(*names: str) -> None:
    """Raise ImportError for a package that Spark needs and did not bring.

    Without protobuf the only sign would be a driver worker that "exited unexpectedly".
    """
    for name in names:
        root, _, _ = name.partition(".")
        if find_spec(root) is None or find_spec(name) is None:
            package = {"google.protobuf": "protobuf"}.get(name, name)
            raise ImportError(
                f"Spark needs {package} for this, which pyspark does not install. "
                "Install it here and on the workers; the extra 'spark' does so."
            )


def _check_store(spark: Any) -> None:
    """Refuse a session whose state store is not RocksDB."""
    store = spark.conf.get(PROVIDER, "")
    if "RocksDB" not in store:
        raise ArgumentError(
            PROVIDER, "must be RocksDB, as states of keys need it", store,
            Message("Before the query: {line}",
                    line=f'spark.conf.set("{PROVIDER}", "{ROCKS_DB}")'),
        )  # fmt: skip


def _task(
    rows: Any, snapshot: Any, y: str, key: str | None, position: str | None,
    exposure: str | None,
) -> _Task:  # fmt: skip
    """What workers have to do, checked against the columns of a frame."""
    if not isinstance(snapshot, KeyedStream) or snapshot.snapshot_id is None:
        raise ArgumentError(
            "snapshot", "must be a KeyedStream beside a snapshot", snapshot,
            "Pass fleet.snapshot(), of a fleet that has learned some thousand rows.",
        )  # fmt: skip
    if snapshot.columns is None:
        raise ArgumentError(
            "snapshot", "must have learned a frame, whose columns have names",
            Message("one of an array"),
        )  # fmt: skip
    key = snapshot.key if key is None else key  # type: ignore[assignment]
    if position is None:
        raise ArgumentError(
            "position", "must name a column by which the rows of a key are in order",
            None, "Spark does not retain the order of rows.",
        )  # fmt: skip
    names = {"y": y, "key": key, "position": position}
    names |= {} if exposure is None else {"exposure": exposure}
    for argument, name in names.items():
        if name not in rows.columns:
            raise ArgumentError(
                argument, "must name a column of the frame, one of {columns}", name,
                columns=rows.columns,
            )  # fmt: skip
    for name in snapshot.columns:
        if name not in rows.columns:
            raise ArgumentError(
                "rows", "must have the columns of the snapshot, {columns}",
                Message("none of the name {missing!r}", missing=name),
                columns=[*snapshot.columns],
            )  # fmt: skip
    if not isinstance(rows.schema[position].dataType, WHOLE):
        raise ArgumentError(
            "position", "must be a column of whole numbers",
            Message("{of!r} of type {kind}", of=position,
                    kind=rows.schema[position].dataType.simpleString()),
            "Convert times by pyspark.sql.functions.unix_micros.",
        )  # fmt: skip
    file = checkpoint.dumps(snapshot.snapshot())
    assert key is not None
    digest = blake2b(file, digest_size=16).hexdigest()
    return _Task(file, digest, y, key, position, exposure, snapshot.columns)
