"""How a demonstration is run: where it writes, and what it prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from dyntree.runtime.config import show_config
from dyntree.runtime.progress import Progress


@dataclass(frozen=True)
class Run:
    """One run of a demonstration."""

    folder: Path  # that it writes to
    seed: int
    progress: Progress
    stream: TextIO

    def reported(self, summary: dict[str, Any], text: str) -> dict[str, Any]:
        """Print the results, and store them in summary.json with the configuration."""
        summary = summary | {"config": show_config()}
        print(text, file=self.stream)
        (self.folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
        return summary


def demonstration(
    shown: Callable[[Run], dict[str, Any]],
) -> Callable[..., dict[str, Any]]:
    """Make a function that users call of one that shows a model at work."""

    def run(
        out: str | Path,
        *,
        seed: int = 1,
        progress: Progress = True,
        stream: TextIO | None = None,
    ) -> dict[str, Any]:
        """Show a model at work, and write the result of it.

        Parameters
        ----------
        out : str or Path
            Folder for pictures, tables and summary.json; made if absent.
        seed : int, default 1
            Of data and models.
        progress : bool, callable or None, default True
            Progress bar on standard error.
        stream : text file, optional
            Where the summary is printed; standard output by default.

        Returns
        -------
        dict
            What summary.json holds.
        """
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        before = written_in(folder)
        out_stream = stream or sys.stdout
        summary = shown(Run(folder, seed, progress, out_stream))
        names = sorted(
            name
            for name, when in written_in(folder).items()
            if before.get(name) != when
        )
        print(f"\nwrote {', '.join(names)} to {folder.resolve()}", file=out_stream)
        return summary

    return run


def written_in(folder: Path) -> dict[str, int]:
    """The files in a folder, and when each was last written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
