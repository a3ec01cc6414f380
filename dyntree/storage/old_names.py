"""Names that modules had in earlier layouts, for pickles that were written then.

A pickle names the module of each class it holds. Those that have moved are found here
under the names they had, and imported only where a pickle asks.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

MOVED = {
    "dyntree.design": "dyntree.encoding.design",
    "dyntree.expressions": "dyntree.encoding.expressions",
    "dyntree.factors": "dyntree.encoding.factors",
    "dyntree.frames": "dyntree.encoding.tables",
    "dyntree.features": "dyntree.encoding.feature_map",
    "dyntree.growing": "dyntree.encoding.growing_map",
    "dyntree.model": "dyntree.trees.model",
    "dyntree.streaming": "dyntree.trees.streaming",
    "dyntree.mixtures.canopy.fitting": "dyntree.mixtures.canopy.records",
    "dyntree.mixtures.ddp.finite": "dyntree.mixtures.teaching.finite",
    "dyntree.mixtures.ddp.processes": "dyntree.mixtures.teaching.processes",
    "dyntree.trees.averaging": "dyntree.trees.averages.stream",
    "dyntree.trees.growth": "dyntree.trees.learning.growth",
}


class MovedModule(ModuleType):
    """A module that has the names of another."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(MOVED[self.__name__]), name)


def keep_old_names() -> None:
    """Let pickles find what has moved."""
    for name in MOVED:
        sys.modules.setdefault(name, MovedModule(name))
