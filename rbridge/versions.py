"""Where R is, which R it is, and whether the rpy2 at hand fits it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from .errors import RBridgeLoadError, RBridgeVersionError, RNotFoundError

Version = tuple[int, ...]
_PARTS = ("rpy2", "rpy2-rinterface", "rpy2-robjects")
_OLDEST_RPY2 = (3, 5, 12)
_NEEDS_R_45 = (3, 6, 6)


def find_r(program: str = "R") -> str:
    """Return the path of ``R`` or ``Rscript``, from R_HOME or else from PATH.

    Raises
    ------
    RNotFoundError
        If it is not installed.
    """
    home = os.environ.get("R_HOME")
    found = shutil.which(str(Path(home) / "bin" / program) if home else program)
    if found is None:
        where = f"R_HOME={home}" if home else "PATH"
        raise RNotFoundError(
            f"{program} must be in PATH or in the bin folder of R_HOME; there is none "
            f"in {where}. Install R (Debian: apt install r-base-core), or set R_HOME "
            f"to what 'R RHOME' prints."
        )
    return found


def r_version() -> Version:
    """Return R's version without loading it, (4, 2, 2) for one."""
    process = subprocess.run(
        [find_r(), "--version"], capture_output=True, text=True, check=False
    )
    match = re.search(r"R version (\d+)\.(\d+)\.(\d+)", process.stdout)
    if match is None:
        raise RBridgeLoadError(
            f"'R --version' must print a version; it printed "
            f"{(process.stdout + process.stderr)[:200]!r}. Repair the installation of "
            "R."
        )
    return tuple(int(part) for part in match.groups())


def rpy2_versions() -> dict[str, str]:
    """Return the versions of the parts of rpy2 that are installed, by name."""
    found = {}
    for name in _PARTS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def check_fit(r: Version, rpy2: Mapping[str, str]) -> None:
    """Check that a release of rpy2 can load this R, before it is imported.

    Parameters
    ----------
    r : tuple of int
        Version of R.
    rpy2 : mapping of str to str
        Return value of `rpy2_versions`.

    Raises
    ------
    RBridgeLoadError
        If rpy2 is not installed.
    RBridgeVersionError
        If rpy2 is older than 3.5.12, or needs R 4.5 and R is older.
    """
    if not rpy2:
        raise RBridgeLoadError(
            "backend='rpy2' needs rpy2, which is not installed. Run pip install '.[r]' "
            "in a clone of dyntree, for R before 4.5 with rpy2==3.5.17, or use "
            "backend='subprocess', which needs R alone."
        )
    part = "rpy2-rinterface" if "rpy2-rinterface" in rpy2 else "rpy2"
    version = ".".join(map(str, r))
    release = tuple(int(digits) for digits in re.findall(r"\d+", rpy2[part])[:3])
    if release < _OLDEST_RPY2:
        wanted = "rpy2==3.5.17" if r < (4, 5) else "rpy2>=3.5.12"
        raise RBridgeVersionError(
            f"{part} must be >= 3.5.12; got {rpy2[part]}, with R {version}. Run pip "
            f"install '{wanted}'."
        )
    if r < (4, 5) and release >= _NEEDS_R_45:
        raise RBridgeVersionError(
            f"{part} {rpy2[part]} needs R >= 4.5; got R {version}. Run pip install "
            f"'rpy2==3.5.17', or pip install 'rpy2-rinterface<=3.6.5' "
            f"'rpy2-robjects<=3.6.6', or use backend='subprocess'."
        )
