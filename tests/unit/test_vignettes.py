"""The pages of the site run, and what they assert of themselves holds.

The site's build executes the same cells; `.ci/run` builds it without executing any.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import shutil
import subprocess
import sys
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
def test_cells_can_be_pasted_one_after_the_other(path: Path) -> None:
    """What a cell uses, those that are shown define, and no hidden one alone."""
    known = {*dir(builtins), "__name__"}
    for code in cells(path, shown=True):
        nodes = [*ast.walk(ast.parse(code))]
        known |= {name for node in nodes for name in bound(node)}
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert used <= known, code


def bound(node: ast.AST) -> set[str]:
    """Names that a part of a cell's syntax defines."""
    match node:
        case ast.Name(ctx=ast.Store()):
            return {node.id}
        case ast.alias():
            return {(node.asname or node.name).partition(".")[0]}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.arg():
            return {node.arg}
        case ast.ExceptHandler(name=str()):
            return {str(node.name)}
    return set()


def is_short(path: Path) -> bool:
    """Whether a page is one of the first that are read: these take few seconds."""
    return path.stem in ("index", "pandas", "river", "rusers", "sklearn")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if is_short(path) else pytest.mark.slow)
        for path in executed()
    ],
    ids=lambda path: path.stem,
)
@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
def test_a_page_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in sorted(needed(path)):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(path.parent)  # where a notebook runs
    run(path)


README = PAGES.parent / "README.md"
NUMBER = re.compile(r"-?\d+(\.\d+)?")
CLOSE = 0.05  # other versions of scikit-learn and river give slightly other forests


def readme_blocks(is_of_r: bool) -> list[tuple[str, str, str]]:
    """Language, code and printed output of the README's blocks but those that install.

    Either those that need R, or all others.
    """
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(
        r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, re.M | re.S
    )
    return [
        (language, code, output)
        for language, code, output in blocks
        if language == "python" or (language == "sh" and "-m venv" not in code)
        if ("Rscript" in code) == is_of_r
    ]


def assert_prints(output: str, shown: str) -> None:
    """Words are as shown, and numbers are close to those that are shown."""
    assert NUMBER.sub("#", output).split() == NUMBER.sub("#", shown).split(), output
    ours, theirs = (
        [float(number.group()) for number in NUMBER.finditer(text)]
        for text in (output, shown)
    )
    assert ours == pytest.approx(theirs, rel=CLOSE, abs=0.002), output


def in_shell(code: str, folder: Path, **more: str) -> str:
    """What a block for a shell prints where a clone with an environment is."""
    here = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], cwd=folder, text=True, check=False,
        capture_output=True, env=os.environ | here | more,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.skipif(not README.is_file(), reason="no source tree")
def test_the_readme_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("formulaic", "sklearn", "river"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(README.parent / "data")
    names: dict[str, Any] = {}
    blocks = readme_blocks(is_of_r=False)
    assert len(blocks) == 6
    for language, code, output in blocks:
        if language == "python":
            capsys.readouterr()
            exec(code, names)
            assert_prints(capsys.readouterr().out, output)
        else:
            assert_prints(in_shell(code, tmp_path), output)


@pytest.mark.skipif(not README.is_file(), reason="no source tree")
def test_the_readme_prints_what_it_shows_in_r(tmp_path: Path) -> None:
    check = "loadNamespace('reticulate')"
    if (
        not shutil.which("Rscript")
        or subprocess.run(
            ["Rscript", "-e", check], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("R with reticulate is not installed")
    for name, place in ("rbridge", README.parent / "rbridge"), (".venv", sys.prefix):
        (tmp_path / name).symlink_to(place)
    (tmp_path / "library").mkdir()
    ((_, code, output),) = readme_blocks(is_of_r=True)
    printed = in_shell(code, tmp_path, R_LIBS=str(tmp_path / "library"))
    assert_prints(printed.splitlines()[-1], output)


@pytest.mark.parametrize("path", executed(), ids=lambda path: path.stem)
def test_a_page_asserts_its_headline(path: Path) -> None:
    """In its last cell; the gallery, which computes nothing, has pictures instead."""
    if path.stem == "gallery":
        assert "plots." in "\n".join(cells(path))
        return
    last = ast.parse(cells(path)[-1])
    assert any(isinstance(node, ast.Assert) for node in ast.walk(last))
