"""What a demonstration writes to its folder, and what it says of its progress."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.unit.conftest import python


@pytest.fixture(scope="module")
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Files of the demonstration that a module tests, which prints its `PRINTED`."""
    name = request.module.demo.__name__.rpartition(".")[2]
    made: Path = tmp_path_factory.mktemp("demo") / name
    process = python("-m", "dyntree", "demo", name, str(made), "--quiet")
    assert (process.returncode, process.stderr) == (0, "")
    assert request.module.PRINTED in process.stdout
    return made


def heard(demo: Any, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """The last count that `progress` was called with, the text, and the summary."""
    counts: list[int] = []
    text = io.StringIO()
    told = demo.run(
        folder, seed=2, progress=lambda done, total: counts.append(done), stream=text
    )
    return counts[-1], text.getvalue(), told
