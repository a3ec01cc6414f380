"""Run the R package's demos in full with the real dynaTree and with ours, and compare.

Needs R on the reference BLAS with reticulate and dynaTree 1.2-17 (R_LIBS), and the
table elec2.csv.gz. Run ``python -m tests.heavy.demos ELEC2``; the last table is stored
in demos.txt. Each demo runs in an R of its own; its seconds are those it prints, with
the start of Python within them, but not library(), which takes a second more for ours:
reticulate loads Matrix.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import dyntree
import rbridge

DEMOS = ("reg1d", "class2d", "design", "fried", "online", "elec2")
RUN = """
a <- commandArgs(TRUE)
options(dynamic.trees = a[1], elec2 = a[3])
pdf(NULL)
suppressMessages(source(a[2]))
saveRDS(result, paste0(a[1], ".rds"))
"""
COMPARE = """
theirs <- readRDS("dynaTree.rds")
ours <- readRDS("dyntree.rds")
worst <- 0
count <- 0
walk <- function(x, y) {
  stopifnot(identical(class(x), class(y)), length(x) == length(y))
  if (is.list(x)) return(Map(walk, x, y))
  stopifnot(identical(is.na(x), is.na(y)))
  scale <- max(1, abs(x[is.finite(x)]))
  worst <<- max(worst, abs(x - y)[is.finite(x)] / scale)
  count <<- count + length(x)
}
invisible(walk(theirs, ours))
cat(count, format(worst, digits = 3), identical(theirs$stream, ours$stream), "\\n")
"""
BOUND = 1e-6  # main effects, as for the recordings; all else is far below


def r(folder: Path, *arguments: str) -> str:
    """Return what Rscript prints."""
    environment = {
        **os.environ,
        "R_LIBS": f"{folder}{os.pathsep}{os.environ.get('R_LIBS', '')}",
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(dyntree.__file__).parents[1]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True
    )
    if process.returncode:
        sys.exit(process.stdout + process.stderr)
    return process.stdout


def main(elec2: str) -> int:
    """Print a table; the exit code is the number of demos that differ."""
    source, failures = rbridge.r_package(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        r(folder, "R", "CMD", "INSTALL", "--no-docs", "-l", ".", str(source))
        (folder / "run.R").write_text(RUN)
        told = "cat(R.version.string, 'BLAS', extSoftVersion()['BLAS'])"
        print(r(folder, "Rscript", "-e", told))
        print(
            "demo       dynaTree    dyntree    numbers  largest difference  same stream"
        )
        for demo in DEMOS:
            seconds = []
            for package in ("dynaTree", "dyntree"):
                path = str(source / "demo" / f"{demo}.R")
                shown = r(folder, "Rscript", "run.R", package, path, elec2)
                found = re.search(rf"^{demo}: ([0-9.]+) s", shown, re.MULTILINE)
                assert found is not None
                seconds.append(float(found[1]))
            count, worst, same = r(folder, "Rscript", "-e", COMPARE).split()
            failures += float(worst) > BOUND or same != "TRUE"
            times = "".join(f"{value:9.1f} s" for value in seconds)
            print(f"{demo:<8}{times}{count:>11}{worst:>20}{same:>13}", flush=True)
    print(f"{len(DEMOS)} demos, {failures} differ")
    return failures


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
