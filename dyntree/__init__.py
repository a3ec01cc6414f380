"""Bayesian dynamic trees for data streams, in bounded memory."""

try:
    import dyntree._core.rng  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(
        "dyntree's compiled core is not beside its sources, in "
        f"{__path__[0]}. Build it there with pip install -e ., or leave this folder, "
        "so that the installed package is found."
    ) from error

from dyntree import mixtures
from dyntree.checkpoint import load, save
from dyntree.repeats import fit_repeats
from dyntree.storage.old_names import keep_old_names
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.averages.tables import AveragedTrees
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree

keep_old_names()

__version__ = "0.1.0.dev0"

__all__ = [
    "AveragedStream",
    "AveragedTrees",
    "DynamicTree",
    "StreamingTree",
    "__version__",
    "fit_repeats",
    "load",
    "mixtures",
    "save",
]
