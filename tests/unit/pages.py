"""The pages of `vignettes/` that have cells, and how they are run."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.conftest import ROOT

PAGES = ROOT / "vignettes"
# a cell's options, such as tags, stand before its code
CELL = re.compile(r"^```\{code-cell\}\n((?::[^\n]*\n)*)(.*?)^```", re.M | re.S)
HIDDEN = re.compile(r"remove-(cell|input)")
WITH_R = "r.md"  # its cells read what its blocks of R write: test_rbridge_vignette.py


def cells(path: Path, shown: bool = False) -> list[str]:
    """Return the code of a page's cells, in order; of all, or of those that show it."""
    blocks = CELL.findall(path.read_text(encoding="utf-8"))
    return [code for tags, code in blocks if not (shown and HIDDEN.search(tags))]


def executed() -> list[Path]:
    """Return all pages that have cells, but for the one that needs R."""
    found = sorted(PAGES.rglob("*.md")) if PAGES.is_dir() else []
    return [path for path in found if path.name != WITH_R and cells(path)]


def run(path: Path) -> None:
    """Execute the cells of a page one after another, as a notebook does."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, code in enumerate(cells(path)):
        exec(compile(code, f"{path.name}, cell {number}", "exec"), names)
