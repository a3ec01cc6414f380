"""The bridge between dyntree and R; the R mirror itself is `dyntree.api.rmirror`."""

from .session import Session, session

__all__ = ["Session", "session"]
