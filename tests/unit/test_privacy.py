"""Nobody reaches into another class's private names from outside its package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.unit.conftest import ROOT
from tests.unit.test_layers import PACKAGE, modules

# (file, name): why it may
EXCEPTIONS = {
    ("dyntree/errors.py", "_getframe"): "Python's own door to the caller's line",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def is_own(owner: ast.expr) -> bool:
    """Whether the owner of an attribute is self, cls or super()."""
    return ast.unparse(owner) in ("self", "cls", "super()")


@cache
def defined(path: Path) -> set[str]:
    """Private names that a file defines: functions, variables, attributes of self."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if is_own(node.value) else set()
    return {name for name in found if is_private(name)}


def reaches(path: Path, package: set[str]) -> Iterator[tuple[int, str]]:
    """Lines and names where a file uses privates that its package does not define."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (is_own(node.value) or node.attr in package):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            ours = node.level or (node.module or "").startswith(("dyntree", "rbridge"))
            for alias in node.names if ours else ():
                if is_private(alias.name) and alias.name not in {*package, "_core"}:
                    yield node.lineno, alias.name


def neighbours(path: Path) -> list[Path]:
    """The files of a file's package; itself at the top, where rooms are files.

    In the trees, too: what learns and asks there shares a state, and no private names.
    """
    if path.parent in (PACKAGE, PACKAGE / "api") or PACKAGE / "trees" in path.parents:
        return [path]
    return sorted(path.parent.glob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_stay_in_their_package(path: Path) -> None:
    package = {name for near in neighbours(path) for name in defined(near)}
    file = path.relative_to(ROOT).as_posix()
    found = [
        (line, name)
        for line, name in reaches(path, package)
        if (file, name) not in EXCEPTIONS
    ]
    assert not found


def test_there_are_few_exceptions_and_all_are_used() -> None:
    assert len(EXCEPTIONS) <= 5
    for file, name in EXCEPTIONS:
        assert name in {found for _, found in reaches(ROOT / file, set())}


def test_a_reach_is_found(tmp_path: Path) -> None:
    path = tmp_path / "face.py"
    path.write_text(
        "from dyntree.trees.model import _hidden\n"
        "class Face:\n"
        "    def __init__(self, tree):\n"
        "        self._tree = tree\n"
        "        self._kept = tree._cloud\n"
        "        self.other._kept = super()._begin()\n"
        "    def __copy__(self):\n"
        "        return self._tree.__class__\n"
    )
    assert list(reaches(path, defined(path))) == [(1, "_hidden"), (5, "_cloud")]
