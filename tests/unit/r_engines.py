"""Which ways to R there are on this machine, for the tests of the bridge."""

from __future__ import annotations

import pytest

from rbridge.errors import RBridgeError
from rbridge.session import BACKENDS, Session, session

WAYS = tuple(BACKENDS)


def running(backend: str, *, cran: bool = False) -> Session:
    """Return a session, or skip with the reason why there is none."""
    try:
        found = session(backend)
        if cran and found.versions()["dynaTree"] is None:
            pytest.skip("R has no package dynaTree (see R_LIBS)")
    except RBridgeError as error:
        pytest.skip(str(error))
    return found
