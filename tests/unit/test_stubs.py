"""Stubs of compiled modules name what the modules have, with the same parameters."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import dyntree

CORE = Path(dyntree.__file__).parent / "_core"
STUBS = sorted(
    ".".join(path.relative_to(CORE).with_suffix("").parts)
    for path in CORE.rglob("*.pyi")
)


def check_function(node: ast.FunctionDef, found: Any) -> None:
    """The parameters that a stub gives a function are its own, in order."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    assert [a.arg for a in given] == [*inspect.signature(found).parameters]


def check_class(node: ast.ClassDef, kind: Any) -> None:
    """What a stub gives a class, it has, or every class of ours that is made of it."""
    ours = [
        one for one in kind.__subclasses__() if one.__module__.startswith("dyntree.")
    ]
    kinds = ours or [kind]
    for member in node.body:
        if isinstance(member, ast.AnnAssign):
            assert isinstance(member.target, ast.Name)
            assert all(hasattr(one, member.target.id) for one in kinds)
        if isinstance(member, ast.FunctionDef):
            for one in kinds:
                found = getattr(one, member.name)
                if not member.decorator_list and member.name != "__init__":
                    check_function(member, found)


# What the core alone calls, and Python has no use for.
CORE_ONLY = {
    "covertree": {"Builder", "Nodes", "Rows"},
    "mixtures.chain": {"Chain.store"},
    "mixtures.decoder": {"Durations", "Longer", "Window"},
    "mixtures.emissions": {"AxisGaussians.grow_derived", "Emission.derived"},
    "mixtures.phase": {"Phase"},
    "mixtures.regressions": {"Regressions.grow_derived"},
    "mixtures.scores": {"Scores.arrays"},
    "mixtures.words": {"Words.grow_derived"},
    "trees.input_samples": {"draw_levels", "leave_out", "hypercube", "scaled_beta"},
}


def named(body: list[ast.stmt]) -> set[str]:
    """Names that the statements of a stub, or of a class in it, declare."""
    found = {
        node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    targets = [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return found | {target.id for target in targets if isinstance(target, ast.Name)}


def unnamed(module: Any, body: list[ast.stmt]) -> set[str]:
    """Public names of a module that its stub has not."""
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    }
    found = own - named(body)
    for name, node in classes.items():
        kind = getattr(module, name)
        kinds = [one.__name__ for one in kind.__mro__ if one.__name__ in classes]
        known = {member for one in kinds for member in named(classes[one].body)}
        for base in kind.__mro__[1:]:  # the stub of its module is told apart
            if base.__module__.removeprefix("dyntree._core.") in STUBS:
                known |= set(vars(base))
        members = {member for member in vars(kind) if not member.startswith("_")}
        found |= {f"{node.name}.{member}" for member in members - known}
    return found


@pytest.mark.parametrize("name", STUBS)
def test_modules_have_nothing_that_stubs_do_not_name(name: str) -> None:
    module = importlib.import_module(f"dyntree._core.{name}")
    path = CORE / f"{name.replace('.', '/')}.pyi"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assert unnamed(module, body) == CORE_ONLY.get(name, set())


@pytest.mark.parametrize("name", STUBS)
def test_stubs_agree_with_modules(name: str) -> None:
    module = importlib.import_module(f"dyntree._core.{name}")
    path = CORE / f"{name.replace('.', '/')}.pyi"
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            check_function(node, getattr(module, node.name))
        elif isinstance(node, ast.ClassDef):
            check_class(node, getattr(module, node.name))
    assert any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in nodes)
