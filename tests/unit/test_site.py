"""The site's reference lists every public name, and its pages have a place."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("numpydoc", reason="numpydoc is not installed: dyntree[test]")

from tests.unit.pages import PAGES
from tests.unit.test_docstrings import MODULES, exported

pytestmark = pytest.mark.skipif(not (PAGES / "api").is_dir(), reason="no source tree")
LISTING = re.compile(
    r"^\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n"
    r"(?:   :.*\n)+\n((?:   \w+\n)+)",
    re.MULTILINE,
)


def listed() -> list[str]:
    """Full names that the pages of the reference list, in order."""
    return [
        f"{module}.{name}"
        for path in sorted((PAGES / "api").glob("*.md"))
        for module, names in LISTING.findall(path.read_text(encoding="utf-8"))
        for name in names.split()
    ]


def found(names: list[str]) -> Iterator[Any]:
    """What the names stand for; those of absent optional packages are left out."""
    for full in names:
        module, _, name = full.rpartition(".")
        try:
            owner = importlib.import_module(module)
        except ImportError:
            continue
        yield getattr(owner, name)


def test_every_public_name_is_listed() -> None:
    known = {id(item) for item in found(listed())}
    missing = []
    for module in MODULES:
        try:
            public = dict(exported(importlib.import_module(module)))
        except ImportError:  # an optional package is absent
            continue
        missing += [name for name, item in public.items() if id(item) not in known]
    assert missing == []


def test_no_name_is_listed_twice() -> None:
    names = listed()
    assert len(names) > 200
    assert len(set(names)) == len(names)


def test_every_page_is_in_a_table_of_contents() -> None:
    pages = {
        path.relative_to(PAGES).with_suffix("").as_posix()
        for path in PAGES.rglob("*.md")
        if not path.relative_to(PAGES).as_posix().startswith("papers/")  # by a glob
    }
    named = set()
    for path in (PAGES / "index.md", PAGES / "api" / "index.md"):
        folder = path.parent.relative_to(PAGES).as_posix()
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
            lines = [line for line in block.splitlines() if not line.startswith(":")]
            named |= {
                line if folder == "." else f"{folder}/{line}"
                for line in lines
                if line and not line.endswith("*")
            }
    assert pages - named == {"index"}
    assert named <= pages
