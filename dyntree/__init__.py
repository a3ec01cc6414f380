"""Bayesian dynamic trees for data streams, in bounded memory."""

from dyntree.checkpoint import load, save
from dyntree.model import DynamicTree
from dyntree.repeats import fit_repeats
from dyntree.streaming import StreamingTree

__version__ = "0.1.0.dev0"

__all__ = ["DynamicTree", "StreamingTree", "__version__", "fit_repeats", "load", "save"]
