"""The gallery: its cells run, and it shows every picture there is."""

from __future__ import annotations

import re

import pytest

from dyntree.api import plots, rmirror
from dyntree.api.results import DynamicTreeResults

from .conftest import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

GALLERY = ROOT / "vignettes" / "gallery.md"


@pytest.mark.skipif(not GALLERY.is_file(), reason="no source tree")
def test_the_gallery_runs_and_shows_every_picture() -> None:
    text = GALLERY.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(cells), str(GALLERY), "exec"), {})
    shown = {"plots": plots, "r": rmirror, "pile": DynamicTreeResults}
    for called, owner in shown.items():
        for name in dir(owner):
            if name.startswith("plot") and callable(getattr(owner, name)):
                assert f"{called}.{name}(" in text, name
