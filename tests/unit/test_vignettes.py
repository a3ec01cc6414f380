"""The vignettes run, and what they assert of themselves holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

VIGNETTES = [ROOT / "vignettes" / name for name in ("averaging.md",)]


@pytest.mark.skipif(not VIGNETTES[0].is_file(), reason="no source tree")
@pytest.mark.parametrize("path", VIGNETTES, ids=lambda path: path.stem)
def test_a_vignette_runs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert cells[-1].startswith(("assert", "best")), "the last cell asserts something"
    exec(compile("\n".join(cells), str(path), "exec"), {})
