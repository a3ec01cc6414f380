"""Calls of the command in this process, and of the stream in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dyntree import cli

SMALL = ["--particles", "10", "--seed", "1", "--quiet"]
STREAM = ["--particles", "10", "--seed", "1", "--formula", "y ~ x", "--window", "50"]


def run(*arguments: Any) -> int:
    return cli.main([str(argument) for argument in arguments])


class Runs:
    """Calls of the stream in a folder, with an input, an output and a checkpoint."""

    def __init__(self, folder: Path, capsys: Any) -> None:
        self.folder, self._capsys = folder, capsys
        self.path, self.out = folder / "rows.csv", folder / "out.csv"
        self.saved = folder / "m.dyn"

    def write(self, *parts: str) -> None:
        self.path.write_text("".join(parts))

    def __call__(self, *more: Any, saves: bool = True) -> int:
        stored = ["--checkpoint", self.saved, "--resume"] if saves else []
        return run("stream", self.path, "--out", self.out, *STREAM, *more, *stored)

    def forget(self) -> None:
        """Begin anew: without a checkpoint an output that has rows is refused."""
        self.saved.unlink()
        self.out.unlink()

    def told(self) -> str:
        text: str = self._capsys.readouterr().err
        return text

    def undisturbed(self, *parts: str) -> bytes:
        """Output of an input that comes as a whole."""
        path, out = self.folder / "whole.csv", self.folder / "whole.out"
        path.write_text("".join(parts))
        assert run("stream", path, "--out", out, *STREAM, "--quiet") == 0
        return out.read_bytes()


@pytest.fixture
def runs(tmp_path: Path, capsys: Any) -> Runs:
    return Runs(tmp_path, capsys)
