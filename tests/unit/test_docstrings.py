"""Docstrings of public names, by numpydoc's own checks."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

pytest.importorskip("numpydoc", reason="numpydoc is not installed: dyntree[test]")

from numpydoc.validate import ERROR_MSGS, Validator, validate

MODULES = [
    "dyntree", "dyntree.checkpoint", "dyntree.runtime.config", "dyntree.datasets",
    "dyntree.errors", "dyntree.evaluate", "dyntree.evaluate.density",
    "dyntree.mixtures", "dyntree.runtime.online", "dyntree.params",
    "dyntree.summaries", "dyntree.trees.factory", "dyntree.trees.view",
    "dyntree.api.adapters", "dyntree.api.distributed", "dyntree.api.draws",
    "dyntree.api.estimators",
    "dyntree.api.formula", "dyntree.api.plots", "dyntree.api.predictions",
    "dyntree.api.report", "dyntree.api.results", "dyntree.api.rmirror",
    "dyntree.api.spark", "dyntree.api.terms",
    "dyntree.formula.api", "rbridge",
]  # fmt: skip
NOT_ASKED = {
    "SA01": "See Also is for what a reader could not guess",
    "ES01": "one sentence may say it all",
    "EX01": "examples are asked of what modules export, not of each method",
    "PR04": "names that mean what they mean elsewhere refer there: 'a, b', 'As in f'",
    "PR07": "the type, with its shape, may say it all",
    "RT03": "so it may for what is returned",
    "SS05": "takes nouns in the plural ('Rows ...') for verbs",
}
IF_SECTIONS = {"PR01", "RT01"}  # a docstring of one paragraph names things in it


def exported(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Public classes and functions of a module, and their full names."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, found in vars(module).items()
            if not name.startswith("_")
            and getattr(found, "__module__", "") == module.__name__
        ]
    for name in names:  # some are imported when they are asked for
        found = getattr(module, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            yield f"{found.__module__}.{found.__qualname__}", found


def methods(item: object) -> Iterator[str]:
    """Public methods of a class, by the classes of this project that define them."""
    for owner in inspect.getmro(item) if inspect.isclass(item) else ():
        if owner.__module__.split(".")[0] not in ("dyntree", "rbridge"):
            continue
        for name, part in vars(owner).items():
            method = inspect.isfunction(part) or isinstance(
                part, property | classmethod | staticmethod
            )
            if method and not name.startswith("_"):
                yield f"{owner.__module__}.{owner.__qualname__}.{name}"


def public_names() -> list[str]:
    """Everything that modules export, with the public methods of classes."""
    names = set()
    for module in MODULES:
        try:
            found = dict(exported(importlib.import_module(module)))
        except ImportError:  # an optional package is absent
            continue
        names |= set(found)
        for item in found.values():
            names |= {*methods(item)}
    return sorted(names)


NAMES = public_names()


def test_the_list_of_checks_is_whole() -> None:
    assert set(NOT_ASKED) | IF_SECTIONS < set(ERROR_MSGS)
    assert len(NAMES) > 200


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_is_numpydocs(name: str) -> None:
    told = validate(name)
    text = told["docstring"]
    item = Validator._load_obj(name)
    record = inspect.isclass(item) and "Attributes\n" in text
    is_rule = getattr(item, "_is_protocol", False)  # nobody makes one by its name
    found = [
        (code, message)
        for code, message in told["errors"]
        if code not in NOT_ASKED
        and not (code in IF_SECTIONS and "\n---" not in text)
        and not (code == "PR01" and (record or is_rule) and "Parameters\n" not in text)
    ]
    assert not found
    assert not re.search(r"\w -{4,}", text)  # a heading that fell into its paragraph


def test_what_is_exported_has_an_example_or_is_one_of_few() -> None:
    """Errors, and records that only answers make, need none."""
    without = []
    for module in ("dyntree", "dyntree.api.plots", "dyntree.api.rmirror"):
        for name, item in exported(importlib.import_module(module)):
            text = inspect.getdoc(item) or ""
            record = inspect.isclass(item) and "Parameters\n" not in text
            if ">>>" not in text and not record:
                without.append(name)
    assert without == []
