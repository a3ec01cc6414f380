"""The top level of the repository holds what belongs there, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

import dyntree

ROOT = Path(dyntree.__file__).parents[1]
TOP = {
    "pyproject.toml", "setup.py", "dyntree", "rbridge", "tests", "vignettes", "data",
    "README.md", "LICENSE",
}  # fmt: skip


def test_the_top_level_is_as_it_should_be() -> None:
    """A file that a run left behind, such as a picture, is not committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no clone, or no git")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    found = {Path(name).parts[0] for name in listed if name}
    assert {name for name in found if not name.startswith(".")} == TOP


def test_what_tests_alone_use_is_there_in_a_clone() -> None:
    """Tests that look into the core would be skipped without."""
    if not (ROOT / "setup.py").exists():
        pytest.skip("no clone")
    import_module("dyntree._core.probe")
    import_module("dyntree._core.trees.probe")
