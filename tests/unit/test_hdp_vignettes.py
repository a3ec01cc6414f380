"""The vignettes of topic models: their cells run, their headlines hold."""

from __future__ import annotations

import re

import pytest

from .conftest import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.mark.parametrize("name", ["hdp_images", "hdp_text"])
def test_a_vignette_runs_and_its_headline_holds(name: str) -> None:
    path = ROOT / "vignettes" / f"{name}.md"
    if not path.is_file():
        pytest.skip("no source tree")
    text = path.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(cells), str(path), "exec"), {})
