"""The R package: R CMD check with its own tests, its demos, and its numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rbridge
from tests.unit.rbridge.engines import need, run

SOURCE = rbridge.r_package()
DEMOS = ("reg1d", "class2d", "design", "fried", "online", "elec2")
NEEDS = ("reticulate", "testthat")


@pytest.mark.slow
def test_r_cmd_check_finds_nothing(tmp_path: Path) -> None:
    """Errors, warnings and notes of CRAN's own check; the package's tests are in it."""
    need(tmp_path, *NEEDS)
    built = run(tmp_path, "R", "CMD", "build", str(SOURCE), library=tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("dyntree_*.tar.gz")
    command = ("R", "CMD", "check", "--as-cran", "--no-manual", archive.name)
    checked = run(tmp_path, *command, library=tmp_path)
    assert checked.stdout.rstrip().endswith("Status: OK"), checked.stdout
    (shown,) = (tmp_path / "dyntree.Rcheck" / "tests").glob("testthat.Rout")
    told = re.search(r"FAIL 0 \| WARN 0 \| SKIP 0 \| PASS (\d+)", shown.read_text())
    assert told is not None, shown.read_text()[-2000:]
    assert int(told[1]) >= 60


def test_sources_in_the_working_directory_are_not_loaded(
    r_library: Path, tmp_path: Path
) -> None:
    (tmp_path / "rbridge").mkdir()
    (tmp_path / "rbridge" / "__init__.py").write_text("raise ImportError('not me')")
    code = "library(dyntree); cat(class(dynaTree(1:20, (1:20)^2, N = 5, verb = 0)))"
    process = run(tmp_path, "Rscript", "-e", code, library=r_library)
    assert (process.returncode, process.stdout) == (0, "dyntree dynaTree")


def test_a_python_without_dyntree_is_told_with_the_remedy(
    r_library: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "rbridge.py").write_text("raise ImportError('not here')")
    path = f"Sys.setenv(PYTHONPATH = {str(tmp_path / 'broken')!r})"
    code = f"{path}; library(dyntree); dynaTree(1:20, (1:20)^2)"
    process = run(tmp_path, "Rscript", "-e", code, library=r_library)
    assert process.returncode == 1
    assert (
        "needs the Python package dyntree, which could not be loaded" in process.stderr
    )
    assert "in a clone of its repository with pip install -e ." in process.stderr


DEMO = """
arguments <- commandArgs(TRUE)
options(dynamic.trees = arguments[1], demo.scale = 0.04, elec2 = "elec2.csv.gz")
pdf(NULL)
told <- list()
for (name in arguments[-1]) {
  suppressMessages(source(name))
  told[[name]] <- result
}
saveRDS(told, paste0(arguments[1], ".rds"))
"""


def demos(folder: Path, library: Path, package: str) -> str:
    """Run all demos with a package; returns what they print."""
    rng = np.random.default_rng(8)
    rows = np.column_stack(
        [rng.integers(1000, 9000, (400, 4)), rng.integers(1, 3, 400)]
    )
    text = "\n".join(["x1,x2,x3,x4,y", *(",".join(map(str, row)) for row in rows)])
    (folder / "elec2.csv.gz").write_text(text)
    (folder / "demos.R").write_text(DEMO)
    names = [str(SOURCE / "demo" / f"{name}.R") for name in DEMOS]
    process = run(folder, "Rscript", "demos.R", package, *names, library=library)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_demos_run(r_library: Path, tmp_path: Path) -> None:
    listed = (SOURCE / "demo" / "00Index").read_text().splitlines()
    assert {line.split()[0] for line in listed} == set(DEMOS)
    shown = demos(tmp_path, r_library, "dyntree")
    assert re.findall(r"^(\w+): [0-9.]+ s$", shown, re.MULTILINE) == list(DEMOS)


EQUAL = """
theirs <- readRDS("dynaTree.rds")
ours <- readRDS("dyntree.rds")
stopifnot(all.equal(theirs, ours, tolerance = 1e-10))
for (name in names(ours))
  stopifnot(identical(theirs[[name]]$stream, ours[[name]]$stream))
"""


@pytest.mark.cran
def test_demos_give_what_the_real_package_gives(
    r_library: Path, tmp_path: Path
) -> None:
    need(tmp_path, "dynaTree")
    for package in ("dynaTree", "dyntree"):
        demos(tmp_path, r_library, package)
    process = run(tmp_path, "Rscript", "-e", EQUAL, library=r_library)
    assert process.returncode == 0, process.stderr


QUIET = """
library(dyntree)
stream <- function() get0(".Random.seed", globalenv(), inherits = FALSE)
if (arguments[1] == "make") {
  fit <- dynaTree(mpg ~ wt, mtcars, N = 20, verb = 0)
  saveRDS(list(fit, dyntree_stream(mpg ~ wt, mtcars, seed = 1)), "fits.rds")
} else {
  fits <- readRDS("fits.rds")
  if (arguments[2] == "stream") fits <- rev(fits)
  for (fit in fits) predict(fit, mtcars)
  stopifnot(is.null(stream()))
  set.seed(1)
  before <- stream()
  predict(readRDS("fits.rds")[[1]], mtcars)
  stopifnot(identical(stream(), before))
}
"""


@pytest.mark.slow
def test_a_first_prediction_draws_nothing(r_library: Path, tmp_path: Path) -> None:
    for rules in ("native", "r"):
        setting = f"options(dyntree.rules = {rules!r}); arguments <- commandArgs(TRUE)"
        (tmp_path / "quiet.R").write_text(setting + QUIET)
        for asked in (("make",), ("ask", "tree"), ("ask", "stream")):
            process = run(tmp_path, "Rscript", "quiet.R", *asked, library=r_library)
            assert process.returncode == 0, process.stderr
