"""The page's consumer of a Redis stream, killed again and again, and a real server."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dyntree import load
from tests.unit.conftest import ROOT
from tests.unit.pages import PAGES

redis = pytest.importorskip("redis", reason="needs redis-py: dyntree[test]")
SERVER = shutil.which("redis-server")
pytestmark = [
    pytest.mark.skipif(SERVER is None, reason="redis-server is not installed"),
    pytest.mark.skipif(not PAGES.is_dir(), reason="no source tree"),
]
PATIENCE = 120.0  # seconds
N_MESSAGES = 800  # before each kill
N_KILLS = 6
BAD: dict[int, dict[str, Any]] = {7: {"price": "free"}, 307: {"clicks": "inf"}}
NO_RESPONSE = 311


def consumer() -> str:
    """The code of the page, as it stands there."""
    text = (PAGES / "production.md").read_text(encoding="utf-8")
    (found,) = re.findall(r'^```python\n("""consumer\.py.*?)^```', text, re.M | re.S)
    return str(found)


@pytest.fixture
def server() -> Iterator[str]:
    """Address of a server of the test's own, which keeps nothing on disk."""
    assert SERVER is not None
    with tempfile.TemporaryDirectory() as folder:  # names of sockets must be short
        call = [SERVER, "--port", "0", "--unixsocket", f"{folder}/socket"]
        call += ["--save", "", "--appendonly", "no", "--dir", folder]
        with subprocess.Popen(call, stdout=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: os.path.exists(f"{folder}/socket"))
                yield f"unix://{folder}/socket"
            finally:
                process.kill()


def wait_until(happened: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.002)


def add_messages(server: str, n: int, chance: int) -> str:
    """Add messages to the stream, some of them bad; returns the id of the last."""
    rng = random.Random(chance)
    client = redis.Redis.from_url(server, decode_responses=True)
    with client, client.pipeline() as pipeline:
        for k in range(n):
            fields = {"price": rng.random(), "hour": k % 24}
            fields["clicks"] = fields["price"] + rng.gauss(0.0, 0.1)
            fields |= BAD.get(k, {})
            if k == NO_RESPONSE:
                del fields["clicks"]
            pipeline.xadd("clicks", fields)
        return str(pipeline.execute()[-1])


@contextmanager
def consuming(folder: Path, server: str) -> Iterator[subprocess.Popen[str]]:
    """The consumer at work in a folder, killed at the end by a signal it cannot see."""
    environment = {**os.environ, "REDIS_URL": server, "PYTHONPATH": str(ROOT)}
    with (
        (folder / "errors").open("a") as errors,
        subprocess.Popen(
            [sys.executable, "-c", consumer()],
            cwd=folder, env=environment, stderr=errors, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def has_come_to(folder: Path, last: str, process: subprocess.Popen[str]) -> bool:
    assert process.poll() is None, (folder / "errors").read_text()
    path = folder / "clicks.dyn"
    return path.exists() and load(path, with_position=True)[1] == last


def test_each_message_is_learned_exactly_once(server: str, tmp_path: Path) -> None:
    rng = random.Random()  # when a process is killed is chance, whatever the seed
    plain, killed = tmp_path / "plain", tmp_path / "killed"
    plain.mkdir()
    killed.mkdir()
    path = killed / "clicks.dyn"
    ends = []
    for k in range(N_KILLS):
        last = add_messages(server, N_MESSAGES, k)
        before = path.stat().st_mtime_ns if path.exists() else 0
        with consuming(killed, server) as process:
            wait_until(lambda t=before: path.exists() and path.stat().st_mtime_ns > t)
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
        ends.append(load(path, with_position=True)[1])
    for folder in (killed, plain):
        with consuming(folder, server) as process:
            wait_until(lambda f=folder, p=process: has_come_to(f, last, p))
    assert path.read_bytes() == (plain / "clicks.dyn").read_bytes()
    n_bad = N_KILLS * (len(BAD) + 1)
    assert load(path).n_seen == N_KILLS * N_MESSAGES - n_bad
    told = (plain / "errors").read_text().splitlines()
    assert len(told) == n_bad
    assert len({*ends, "0", last}) > N_KILLS  # each came somewhere, and went on there


def test_a_second_consumer_of_the_same_file_is_refused(
    server: str, tmp_path: Path
) -> None:
    last = add_messages(server, 20, 3)
    with consuming(tmp_path, server) as first:
        wait_until(lambda: has_come_to(tmp_path, last, first))
        with consuming(tmp_path, server) as second:
            assert second.wait(PATIENCE) == 1
    said = (tmp_path / "errors").read_text()
    assert f"clicks.dyn is written by another process, number {first.pid}" in said
