"""Without memory a call raises MemoryError, and the model goes on."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.heavy import allocations


@pytest.mark.skipif(
    shutil.which("cc") is None
    or not sys.platform.startswith("linux")
    or "LD_PRELOAD" in os.environ,  # as under sanitizers
    reason="needs a C compiler, glibc, and to be loaded first",
)
def test_any_allocation_may_fail() -> None:
    process = allocations.fail_each(["linear"])
    assert process.returncode == 0, process.stderr
    told = process.stdout.removeprefix("linear: ").split(", ")
    assert [part.split()[0] for part in told] == list(allocations.deeds("linear"))
    assert all(int(part.split()[1]) > 5 for part in told)
