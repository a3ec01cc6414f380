"""One file format for every model: what `save` writes and `load` reads."""

from dyntree.checkpoint.models import (
    FORMAT,
    VERSION,
    Stored,
    dumps,
    kind_named,
    load,
    load_parts,
    load_with,
    loads,
    savable,
    save,
    save_with,
)
from dyntree.storage.one_writer import sole_writer

__all__ = [
    "FORMAT",
    "VERSION",
    "Stored",
    "dumps",
    "kind_named",
    "load",
    "load_parts",
    "load_with",
    "loads",
    "savable",
    "save",
    "save_with",
    "sole_writer",
]


def __dir__() -> list[str]:
    return __all__
