"""Rows of results in a file, each stamped with where, when and of what it was taken."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import scipy

import dyntree
from dyntree.runtime.config import show_config

Row = dict[str, Any]
ASK_R = """
suppressMessages(library(dynaTree))
blas <- sessionInfo()$BLAS
cat(paste(R.version$major, R.version$minor, sep = "."),
    as.character(packageVersion("dynaTree")),
    file.path(basename(dirname(blas)), basename(blas)), sep = "\\n")
"""


@functools.cache
def r_facts() -> dict[str, str]:
    """Versions of R and its dynaTree and the BLAS of R; empty without the two."""
    try:
        ask = ["Rscript", "--vanilla", "-e", ASK_R]
        said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(zip(("R", "dynaTree", "R's BLAS"), said.split(), strict=True))


def today() -> str:
    return time.strftime("%Y-%m-%d")


def stamp() -> Row:
    """Day, load of the last minute and versions, those of the BLAS included."""
    versions = show_config()
    for name in ("river", "scikit-learn"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    versions["dyntree"] = dyntree.__version__
    blas = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    versions["SciPy's BLAS"] = f"{blas['name']} {blas['version']}"
    return {
        "date": today(),
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
        "versions": versions | r_facts(),
    }


class Results:
    """Rows by the name of their work, written to the file as each comes."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        if path is not None and path.exists():
            self.rows = {row["work"]: row for row in json.loads(path.read_text())}

    def fresh(self, work: str, pairs: int) -> Row | None:
        """The row of this work, if taken today with this version and so many pairs."""
        row = self.rows.get(work)
        if row is None or row["date"] != today() or row["pairs"] < pairs:
            return None
        return row if row["versions"]["dyntree"] == dyntree.__version__ else None

    def add(self, row: Row) -> None:
        """Keep a row in place of an older one."""
        self.rows[row["work"]] = row
        if self.path is not None:
            rows = list(self.rows.values())
            self.path.write_text(json.dumps(rows, indent=1) + "\n")
