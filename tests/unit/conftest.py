"""Global random state is guarded; the demonstration runs once for all tests."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyntree
import rbridge
from tests.unit.rbridge.engines import need, run

ROOT = Path(dyntree.__file__).parent.parent  # of the package, which may be installed
TREE = Path(__file__).parents[2]  # of the project's own files
STATUS = Path("/proc/self/status")
measures_memory = pytest.mark.skipif(
    not STATUS.is_file(), reason=f"what a process holds is read from {STATUS}"
)


@pytest.fixture(autouse=True)
def _global_random_state_is_left_alone() -> Iterator[None]:
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    assert random.getstate() == ours
    kind, words, *rest = np.random.get_state()  # noqa: NPY002
    assert kind == theirs[0]
    assert np.array_equal(words, theirs[1])
    assert rest == list(theirs[2:])


@pytest.fixture(autouse=True)
def _stores_are_closed() -> Iterator[None]:
    """Python 3.13 warns of one that is not, in whichever test it is collected."""
    yield
    if (module := sys.modules.get("dyntree.keyed.key_file")) is not None:
        assert not [file.path for file in module.open_files.values()]


@pytest.fixture
def global_randomness_on_loan() -> Iterator[None]:
    """Let another package's checks draw from the global generators, then put back."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    yield
    random.setstate(ours)
    np.random.set_state(theirs)  # noqa: NPY002


def here() -> dict[str, str]:
    """Environment in which Python finds this dyntree."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def python(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python where it finds this dyntree."""
    call = [sys.executable, *map(str, arguments)]
    usual: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(call, env=here(), check=False, **usual | options)


@contextmanager
def short_files(n_bytes: int) -> Iterator[None]:
    """Context in which no file can be longer, as on a disk that is full."""
    resource = pytest.importorskip("resource", reason="this system has no limits")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Demo:
    """One run of ``python -m dyntree demo``: what it printed and what it wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = python("-m", "dyntree", "demo", str(folder))


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return Demo(tmp_path_factory.mktemp("demo") / "made" / "here")


@pytest.fixture(scope="session")
def r_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of R's that holds the R package."""
    folder = tmp_path_factory.mktemp("library")
    need(folder, "reticulate")
    command = ("R", "CMD", "INSTALL", "--no-docs", "-l", str(folder))
    process = run(folder, *command, str(rbridge.r_package()), library=folder)
    assert process.returncode == 0, process.stderr
    return folder
