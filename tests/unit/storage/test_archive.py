"""The header of a file is bounded before it is read, and when it is written."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dyntree.errors import CheckpointError
from dyntree.storage import archive

MANY = {
    "pairs": b'{"a":1},',
    "lists": b"[],",
    "nested": b"[[]],",
    "numbers": b"0,",
}
READ = """
import resource, sys
from dyntree.errors import CheckpointError
from dyntree.storage import archive
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    archive.read(open(sys.argv[1], "rb"))
except CheckpointError as error:
    print(error, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def file_of(text: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(archive.HEADER, text)
    return file


def listed(unit: bytes, n: int) -> bytes:
    return b'{"x":[' + (unit * n).removesuffix(b",") + b"]}"


@pytest.mark.parametrize("kind", MANY)
def test_a_header_of_too_many_values_is_refused_before_it_is_parsed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_VALUES", 1000)
    good = file_of(listed(MANY[kind], 150))
    assert len(archive.read(good)[0]["x"]) == 150
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(CheckpointError, match=r"its header has \d+ names and values"):
        archive.read(file_of(listed(MANY[kind], 1200)))


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes")
@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize("is_whole", [True, False])
def test_no_header_takes_much_memory(kind: str, is_whole: bool, tmp_path: Path) -> None:
    """Of the longest headers, and of those with as many values as may be."""
    unit = MANY[kind]
    n = (archive.MAX_HEADER - 16) // len(unit)
    if not is_whole:
        marks = sum(unit.count(mark) for mark in (b",", b":", b"[", b"{"))
        n = min(n, archive.MAX_VALUES // marks - 4)
    path = tmp_path / "model.dyn"
    path.write_bytes(file_of(listed(unit, n)).getvalue())
    command = [sys.executable, "-c", READ, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(found.stdout) < 200_000  # was 570,000
    assert ("names and values" in found.stderr) == is_whole


def test_what_is_written_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_VALUES", 100)
    for n in range(1, 25):
        file, header = io.BytesIO(), {"levels": [["a", k] for k in range(n)]}
        archive.write(file, header, {})
        assert archive.read(file)[0] == header
    for n in range(40, 80):
        file, header = io.BytesIO(), {"levels": [["a", k] for k in range(n)]}
        with pytest.raises(ValueError, match=r"at most 100 names and values; got"):
            archive.write(file, header, {})
        assert not file.getvalue()


def saved(options: dict[str, int]) -> bytes:
    file = io.BytesIO()
    archive.write(file, {"model": "tree", **options}, {})
    return file.getvalue()


@pytest.mark.parametrize(
    "around",
    [
        pickle.dumps([saved({"k": 1}), 0]),
        pickle.dumps({"scaler": "dropped", "model": saved({"k": 1})}),
        saved({"k": 1}) + saved({"k": 2}),
        b"\0" + saved({"k": 1}),
    ],
)
def test_other_bytes_before_a_model_are_refused(around: bytes) -> None:
    """As in a pickle, which may hold a scaler that the model's rows went through."""
    with pytest.raises(CheckpointError, match="other bytes before the model"):
        archive.read(io.BytesIO(around))


def test_other_bytes_after_a_model_are_refused() -> None:
    for more in (b"\0", b"more", b"\0" * 30):
        with pytest.raises(CheckpointError, match=r"after the model|not a zip file"):
            archive.read(io.BytesIO(saved({"k": 1}) + more))
