"""Bayesian dynamic trees for data streams, in bounded memory."""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dyntree.runtime.release import RELEASE

if find_spec("dyntree._core.rng") is None:
    raise ImportError(
        "dyntree's compiled core is not beside its sources, in "
        f"{__path__[0]}. Build it there with pip install -e ., or leave this folder, "
        "so that the installed package is imported."
    )

if TYPE_CHECKING:
    from dyntree import mixtures
    from dyntree.checkpoint import load, save
    from dyntree.evaluate.alarm import ChangeAlarm
    from dyntree.evaluate.delayed import DelayedLabels
    from dyntree.evaluate.repeats import fit_repeats
    from dyntree.keyed.model import KeyedStream
    from dyntree.trees.averages.stream import AveragedStream
    from dyntree.trees.averages.tables import AveragedTrees
    from dyntree.trees.linear_stream import LinearStream
    from dyntree.trees.model import DynamicTree
    from dyntree.trees.random_trees import RandomTreesStream
    from dyntree.trees.streaming import StreamingTree

__version__ = RELEASE

__all__ = [
    "AveragedStream",
    "AveragedTrees",
    "ChangeAlarm",
    "DelayedLabels",
    "DynamicTree",
    "KeyedStream",
    "LinearStream",
    "RandomTreesStream",
    "StreamingTree",
    "__version__",
    "fit_repeats",
    "load",
    "mixtures",
    "save",
]

HOMES = {  # modules of the public names, imported where a name is first asked for
    "AveragedStream": "trees.averages.stream",
    "AveragedTrees": "trees.averages.tables",
    "ChangeAlarm": "evaluate.alarm",
    "DelayedLabels": "evaluate.delayed",
    "DynamicTree": "trees.model",
    "KeyedStream": "keyed.model",
    "LinearStream": "trees.linear_stream",
    "RandomTreesStream": "trees.random_trees",
    "StreamingTree": "trees.streaming",
    "fit_repeats": "evaluate.repeats",
    "load": "checkpoint",
    "save": "checkpoint",
}
SUBPACKAGES = ("mixtures", "evaluate", "datasets")  # likewise
FACES = {  # modules that are imported by their names
    "api": "dyntree.api.estimators or dyntree.api.adapters",
    "formula": "dyntree.formula.api",
    "river": "dyntree.api.adapters",
    "sklearn": "dyntree.api.estimators",
    "R": "dyntree.api.rmirror",
}


def __getattr__(name: str) -> Any:
    """Import a public name where it is asked for (PEP 562)."""
    if name in SUBPACKAGES:
        return import_module(f"dyntree.{name}")
    if name not in HOMES:
        raise AttributeError(f"module 'dyntree' has no attribute {name!r}{_hint(name)}")
    value = globals()[name] = getattr(import_module(f"dyntree.{HOMES[name]}"), name)
    return value


def _hint(name: str) -> str:
    """Where in the package a name is that is not here, for an error."""
    if name in FACES:
        return f"; import {FACES[name]}"
    if name.startswith("_") or not name.isidentifier():
        return ""
    # who imports a module from the package asks for its name first
    if find_spec(f"dyntree.{name}") is not None:
        return ""
    for module in (
        "dyntree.mixtures",
        "dyntree.evaluate",
        "dyntree.datasets",
        "dyntree.formula.api",
        "dyntree.api.estimators",
        "dyntree.api.adapters",
        "dyntree.api.rmirror",
    ):
        try:
            if name in import_module(module).__all__:
                return f"; it is in {module}"
        except ImportError:  # of an extra that is not installed
            continue
    return ""


def __dir__() -> list[str]:
    modules = {name for name in globals() if f"dyntree.{name}" in sys.modules}
    return sorted(modules.union(__all__))
