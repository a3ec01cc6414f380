"""The bridge between dyntree and R; the R mirror itself is `dyntree.api.rmirror`."""

from .crosscheck import Report, crosscheck
from .session import Session, session

__all__ = ["Report", "Session", "crosscheck", "session"]
