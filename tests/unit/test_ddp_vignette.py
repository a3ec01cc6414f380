"""The vignette of the dependent mixtures: its cells run, its headline holds."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

VIGNETTE = ROOT / "vignettes" / "ddp.md"


@pytest.mark.skipif(not VIGNETTE.is_file(), reason="no source tree")
@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
def test_the_vignette_runs_and_its_headline_holds() -> None:
    text = VIGNETTE.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(cells), str(VIGNETTE), "exec"), {})
