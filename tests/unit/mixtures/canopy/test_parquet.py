"""Rows of Parquet files, read by row groups, are the rows of their frames."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.parquet import ParquetRows
from tests.helpers import same_bytes
from tests.unit.mixtures.canopy.rows import QUICK, blobs


def frame(n: int = 3000) -> pd.DataFrame:
    return pd.DataFrame(blobs(n), columns=["a", "b", "c"])


@pytest.mark.parametrize("inference", ["em", "esca", "canopy2"])
def test_files_give_the_fit_of_their_frames(inference: str, tmp_path: Path) -> None:
    """Two files, the second with its columns in another order."""
    rows, paths = frame(), [tmp_path / "1.parquet", str(tmp_path / "2.PQ")]
    parts = rows.iloc[:1700], rows.iloc[1700:]
    parts[0].to_parquet(paths[0], row_group_size=400)
    parts[1][["c", "a", "b"]].to_parquet(paths[1], row_group_size=999)
    files = Canopy(8, inference=inference, **QUICK).fit(paths)
    memory = Canopy(8, inference=inference, **QUICK).fit(list(parts))
    assert files.means.tobytes() == memory.means.tobytes()
    assert files.columns == ("a", "b", "c")
    assert (files.predict(paths[1]) == memory.predict(parts[1])).all()


def test_counts_and_streams_come_from_files_too(tmp_path: Path) -> None:
    counts = pd.DataFrame(np.random.default_rng(0).poisson(3.0, size=(700, 2)))
    counts.columns = ["u", "v"]
    counts.to_parquet(tmp_path / "c.parquet")
    files = Canopy(3, family="poisson", **QUICK).fit(tmp_path / "c.parquet")
    memory = Canopy(3, family="poisson", **QUICK).fit(counts)
    assert files.score(counts) == memory.score(tmp_path / "c.parquet")
    files.learn_batch(tmp_path / "c.parquet")
    assert files.n_seen == 1400


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"t": "x"}, "'t' of"),
        ({"a": np.nan}, "row 0, column 'a'"),
        ({"a": pd.Timestamp("2020-01-01")}, "'a' of timestamp"),
        ({"z": 1.0}, "unknown"),
    ],
)
def test_bad_files_are_told_and_change_nothing(
    change: dict[str, Any], word: str, tmp_path: Path
) -> None:
    model = Canopy(4, **QUICK).fit(frame(400))
    frame(50).assign(**change).to_parquet(tmp_path / "bad.parquet")
    with same_bytes(model), pytest.raises(ValueError, match=word):
        model.learn_batch(tmp_path / "bad.parquet")


def test_what_is_no_file_of_rows_says_so(tmp_path: Path) -> None:
    (tmp_path / "junk.parquet").write_text("junk")
    with pytest.raises(ValueError, match="must be Parquet"):
        Canopy(2).fit(tmp_path / "junk.parquet")
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        Canopy(2).fit(str(tmp_path / "none.parquet"))
    frame().iloc[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="at least 2 rows"):
        Canopy(2).fit(tmp_path / "empty.parquet")


def test_labels_of_rows_are_no_column(tmp_path: Path) -> None:
    """A frame that was filtered has its old numbers written beside its columns."""
    rows = frame(400)
    for part in (rows[rows.a > 0], rows.set_index(pd.Index(range(400), name="id"))):
        part.to_parquet(tmp_path / "1.parquet")
        model = Canopy(3, **QUICK).fit(tmp_path / "1.parquet")
        assert model.columns == ("a", "b", "c")
        assert model.means.tobytes() == Canopy(3, **QUICK).fit(part).means.tobytes()


def test_a_block_costs_what_it_holds(tmp_path: Path) -> None:
    """Not the numbers of all rows, which are 8 MB here."""
    zeros = pd.DataFrame({"a": np.zeros(1_000_000, dtype=np.int8)})
    zeros.to_parquet(tmp_path / "1.parquet", row_group_size=10_000)
    rows = ParquetRows(tmp_path / "1.parquet", None, "X")
    tracemalloc.start()
    try:
        assert rows[500_000:500_100].shape == (100, 1)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
