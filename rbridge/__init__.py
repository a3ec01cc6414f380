"""The bridge between dyntree and R; the R mirror itself is `dyntree.api.rmirror`."""

from pathlib import Path

from .crosscheck import crosscheck
from .errors import RBridgeError, RError
from .record import record
from .report import Report
from .session import Session, session

__all__ = [
    "RBridgeError",
    "RError",
    "Report",
    "Session",
    "crosscheck",
    "r_package",
    "record",
    "session",
]


def r_package() -> Path:
    """Return the folder of the R package, for ``R CMD INSTALL``."""
    return Path(__file__).parent / "r"
