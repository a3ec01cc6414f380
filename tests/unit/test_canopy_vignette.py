"""The vignette of large mixtures: its cells run, its headline holds."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

VIGNETTE = ROOT / "vignettes" / "canopy.md"


@pytest.mark.skipif(not VIGNETTE.is_file(), reason="no source tree")
def test_the_vignette_runs_and_its_headline_holds() -> None:
    text = VIGNETTE.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(cells), str(VIGNETTE), "exec"), {})
