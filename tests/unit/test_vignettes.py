"""The pages of the site run, and what they assert of themselves holds.

The site's build executes the same cells; `.ci/run` builds it without executing any.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.pages import PAGES, cells, executed, run

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

# what pages use beyond the package, and beyond what their cells import
LIBRARIES = {"sklearn", "river", "formulaic", "statsmodels", "fastapi"}
NEEDS = {
    "pandas": {"formulaic", "narwhals"}, "effects": {"formulaic"},
    "calibration": {"formulaic"},
    "production": {"httpx2"},
}  # fmt: skip


def needed(path: Path) -> set[str]:
    """Optional libraries that a page imports, or its faces do."""
    code = "\n".join(cells(path))
    faces = {"estimators": "sklearn", "adapters": "river"}
    found = {one for face, one in faces.items() if f"dyntree.api.{face}" in code}
    found |= {one for one in LIBRARIES if re.search(rf"^from {one}\b", code, re.M)}
    return found | NEEDS.get(path.stem, set())


@pytest.mark.skipif(not PAGES.is_dir(), reason="no source tree")
def test_all_pages_with_cells_are_found() -> None:
    names = {path.relative_to(PAGES).as_posix() for path in executed()}
    assert {"averaging.md", "gallery.md", "start/shell.md", "choosing.md"} <= names
    with_blocks = {
        path.relative_to(PAGES).as_posix()
        for path in PAGES.rglob("*.md")
        if "{code-cell}" in path.read_text(encoding="utf-8")
    }
    assert with_blocks - names == {"r.md"}


@pytest.mark.parametrize("path", executed(), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
def test_a_page_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in sorted(needed(path)):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(path.parent)  # where a notebook runs
    run(path)


@pytest.mark.skipif(not PAGES.is_dir(), reason="no source tree")
def test_the_examples_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("formulaic", "sklearn", "river"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    text = (PAGES.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert 0.5 < names["seen"].scores.coverage <= 1.0
    assert names["stream"].n_seen == 301


@pytest.mark.parametrize("path", executed(), ids=lambda path: path.stem)
def test_a_page_asserts_its_headline(path: Path) -> None:
    """In its last cell; the gallery, which computes nothing, has pictures instead."""
    if path.stem == "gallery":
        assert "plots." in "\n".join(cells(path))
        return
    last = ast.parse(cells(path)[-1])
    assert any(isinstance(node, ast.Assert) for node in ast.walk(last))
