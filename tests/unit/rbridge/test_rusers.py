"""The page "For R users": R prints what it shows, and Python has the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedTrees, DynamicTree
from dyntree.api.rmirror import RStream
from dyntree.evaluate.repeats import fit_repeats
from rbridge import native
from tests.unit.rbridge.engines import need, run

PAGE = Path(__file__).parents[3] / "vignettes" / "start" / "rusers.md"
MARK = "@@@ block"
FITS = {  # name in the script: whether set.seed(1) stands before it
    "ozone": True, "kinds": True, "teeth": True, "simpler": False, "cancer": True,
    "claims": False, "cars": True, "loads": False,
}  # fmt: skip

# Bits of the fits and of the last answers; the script is over when it runs.
BITS = """
told <- list(stream = predict(live, air[151:153, ]), clusters = eruptions$components)
for (name in c("FITS")) {
  fit <- get(name)
  n <- nrow(fit$X)
  beside <- function(x, none) if (is.null(x)) rep(none, n) else rep(x, length.out = n)
  taken <- if (name == "loads") mtcars$hp / -50 else rep(0, n)
  writeBin(as.double(c(n, fit$X, fit$y - taken, beside(fit$weights, 1),
                       beside(fit$exposure, 1), fit$lpred)), paste0(name, ".bin"))
}
writeBin(as.double(told$stream), "stream.bin")
writeBin(as.double(as.matrix(told$clusters[c("eruptions", "waiting")])), "clusters.bin")
write.csv(air, "air.csv", row.names = FALSE)
write.csv(faithful, "faithful.csv", row.names = FALSE)
""".replace("FITS", '", "'.join(FITS))


def blocks(kind: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


@pytest.fixture(scope="module")
def script(
    r_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """Folder in which the script was run, and what it printed."""
    folder = tmp_path_factory.mktemp("rusers")
    need(folder, "reticulate", "MASS")
    code = f'cat("\\n{MARK}\\n")\n'.join([*blocks("r"), BITS])
    (folder / "script.R").write_text(code)
    process = run(folder, "Rscript", "script.R", library=r_library)
    assert process.returncode == 0, process.stderr
    return folder, process.stdout


def test_the_script_is_of_sixty_lines() -> None:
    lines = [line for block in blocks("r") for line in block.splitlines()]
    code = [line for line in lines if line and not line.startswith("#")]
    assert 40 <= len(code) <= 60


@pytest.mark.slow
def test_r_prints_what_the_page_shows(script: tuple[Path, str]) -> None:
    printed = script[1].split(f"\n{MARK}\n")
    for block, text in zip(blocks("r"), printed, strict=False):
        shown = [line[2:].strip() for line in block.splitlines() if line[:2] == "#>"]
        assert [line.strip() for line in text.strip("\n").splitlines()] == shown, block


def test_fits_have_the_same_bits_in_python(script: tuple[Path, str]) -> None:
    kinds = {"kinds": "class", "cancer": "negbin", "claims": "poisson"}
    kinds |= dict.fromkeys(("ozone", "teeth", "simpler"), "linear")
    stream = RStream(1)
    for name, starts_anew in FITS.items():
        stream = RStream(1) if starts_anew else stream
        n, *rest = np.fromfile(script[0] / f"{name}.bin")
        parts = np.array(rest).reshape(-1, int(n))
        X, (y, weights, exposure, lpred) = parts[:-4].T, parts[-4:]
        model = kinds.get(name, "constant")
        beside: dict[str, Any] = {}
        if name == "cars":
            beside["weights"] = weights
        if model in ("poisson", "negbin"):
            beside["exposure"] = exposure
        fit = native.dynaTree(X, y, 200, model, verb=0, rng=stream, **beside)
        assert fit.lpred.tolist() == lpred.tolist(), name


def test_streams_and_clusters_have_the_same_bits_in_python(
    script: tuple[Path, str],
) -> None:
    air = pd.read_csv(script[0] / "air.csv", parse_dates=["Date"])
    names: dict[str, Any] = {
        "air": air,
        "faithful": pd.read_csv(script[0] / "faithful.csv"),
    }
    (code,) = blocks("python")
    exec(compile(code, str(PAGE), "exec"), names)
    stream = np.fromfile(script[0] / "stream.bin")
    clusters = np.fromfile(script[0] / "clusters.bin").reshape(2, -1).T
    assert names["stream"].tolist() == stream.tolist()
    assert names["clusters"].tolist() == clusters.tolist()


TABLES = """
library(dyntree)
options(dyntree.rules = "native")
pdf(NULL)
set.seed(1)
X <- matrix(runif(120), 40, dimnames = list(NULL, paste0("x", 1:3)))
y <- Z <- X[, 1] + rnorm(40, 0, 0.1)
data <- data.frame(X, y = y)
data$label <- factor(y > 0.5)
numbers <- data[names(data) != "label"]
XX <- x <- X[1:5, ]
N <- 20
model <- "constant"
file <- tempfile()
quiet <- function(...) dyntree::dynaTree(..., N = 20, verb = 0)
a <- fit <- quiet(y ~ x1 + x2 + x3, numbers)
b <- other <- quiet(y ~ x1, numbers)
matrices <- quiet(X, y)
stream <- dyntree_stream(y ~ ., numbers, n_particles = 10, seed = 1)
average <- dyntree_average(y ~ ., numbers, n_clouds = 2, n_particles = 10, seed = 1)
for (line in readLines("calls.txt")) {
  parts <- strsplit(line, "\t")[[1]]
  own <- list2env(list(data = numbers), parent = globalenv())
  if (grepl("label", parts[2])) own$data <- data
  of_rows <- grepl("(x|XX|X|1:3)[,)]", parts[2]) && !grepl("data", parts[2])
  if (of_rows) own$fit <- matrices
  if (grepl("x, y", parts[2], fixed = TRUE)) own$y <- y[1:5]
  answer <- tryCatch({
    printed <- utils::capture.output(found <- eval(parse(text = parts[2]), own))
    if (is.null(found) && !grepl("^(saveRDS|plot)", parts[2])) "NULL" else "answered"
  }, error = conditionMessage)
  cat(parts[1], answer, sep = "\t")
  cat("\n")
}
"""


def tables() -> list[tuple[str, str, str]]:
    """Heading of the second column and both cells, of each row of each table."""
    cells = []
    for table in re.findall(r"(?:^\|.*\|\n)+", PAGE.read_text("utf-8"), re.M):
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
        cells += [(rows[0][1], left, right) for left, right in rows[2:]]
    return cells


def calls(cell: str) -> list[str]:
    """The calls in a cell; names of functions, options and values are none."""
    spans = re.findall(r"`([^`]+)`", cell)
    return [span for span in spans if re.search(r"\([^)]|\w\.\w", span)]


@pytest.mark.slow
def test_every_call_of_the_tables_runs_in_r(r_library: Path, tmp_path: Path) -> None:
    need(tmp_path, "reticulate", "generics")
    asked = [
        call
        for head, left, right in tables()
        for call in calls(left if head == "in Python" else right)
    ]
    assert len(asked) > 40
    lines = [f"{k}\t{call}\n" for k, call in enumerate(asked)]
    (tmp_path / "calls.txt").write_text("".join(lines))
    (tmp_path / "script.R").write_text(TABLES)
    process = run(tmp_path, "Rscript", "script.R", library=r_library)
    assert process.returncode == 0, process.stderr
    printed = dict(line.split("\t", 1) for line in process.stdout.splitlines())
    answers = {call: printed.get(str(k)) for k, call in enumerate(asked)}
    assert {*answers.values()} == {"answered"}, answers


def test_every_call_of_the_tables_runs_in_python() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((40, 3))
    y = X[:, 0] + rng.normal(0.0, 0.1, 40)
    asked = [call for head, _, right in tables() if head == "in Python"
             for call in calls(right)]  # fmt: skip
    assert len(asked) >= 10
    for call in asked:
        tree = DynamicTree(n_particles=20, seed=1)
        names: dict[str, Any] = {
            "X": X, "y": y, "XX": X[:5], "N": 20, "model": "constant", "tree": tree,
            "a": DynamicTree(n_particles=20).update(X, y), "DynamicTree": DynamicTree,
            "b": DynamicTree(n_particles=20).update(X[:, :1], y),
            "AveragedTrees": AveragedTrees, "fit_repeats": fit_repeats,
        }  # fmt: skip
        if not call.startswith("fit_repeats"):
            tree.update(X, y)
        assert eval(call, names) is not None, call
