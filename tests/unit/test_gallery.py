"""The gallery shows every picture there is; test_vignettes.py runs it."""

from __future__ import annotations

import pytest

from dyntree.api import plots, rmirror
from dyntree.api.results import DynamicTreeResults
from tests.unit.pages import PAGES

GALLERY = PAGES / "gallery.md"


@pytest.mark.skipif(not GALLERY.is_file(), reason="no source tree")
def test_the_gallery_shows_every_picture() -> None:
    text = GALLERY.read_text(encoding="utf-8")
    shown = {"plots": plots, "r": rmirror, "pile": DynamicTreeResults}
    for called, owner in shown.items():
        for name in dir(owner):
            if name.startswith("plot") and callable(getattr(owner, name)):
                assert f"{called}.{name}(" in text, name
