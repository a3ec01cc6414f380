"""Which ways to R there are on this machine, for the tests of the bridge."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dyntree
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


def environment(library: Path) -> dict[str, str]:
    """R with its own library first, and this Python for reticulate."""
    here = str(Path(dyntree.__file__).parents[1])
    libraries = [str(library), os.environ.get("R_LIBS", "")]
    return {
        **os.environ,
        "R_LIBS": os.pathsep.join(filter(None, libraries)),
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": here,
        "OPENBLAS_NUM_THREADS": "1",
        "NOT_CRAN": "true",
        "_R_CHECK_SYSTEM_CLOCK_": "0",  # no question to the network, nor by the next
        "_R_CHECK_CRAN_INCOMING_": "false",
    }


def run(folder: Path, *command: str, library: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(library),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def need(folder: Path, *packages: str) -> None:
    """Skip where there is no R, or R lacks a package."""
    if shutil.which("R") is None:
        pytest.skip("there is no R")
    for package in packages:
        code = f"quit(status = !requireNamespace('{package}', quietly = TRUE))"
        if run(folder, "Rscript", "-e", code, library=folder).returncode:
            pytest.skip(f"R has no package {package}")
