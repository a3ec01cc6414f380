"""The R package beside R's own dynaTree: neither takes the other's objects for its."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.rbridge.engines import need, run

ORDERS = (("dyntree", "dynaTree"), ("dynaTree", "dyntree"))

# Fits of both packages to the same inputs, those of the original 5000 lower, and what
# they are like, so that a cloud that was touched or taken for another shows.
BOTH = """
suppressPackageStartupMessages(
  for (package in commandArgs(TRUE)) library(package, character.only = TRUE))
ours <- asNamespace("dyntree")
theirs <- asNamespace("dynaTree")
pdf(NULL)
set.seed(1)
x <- matrix(runif(50))
few <- matrix(c(0.1, 0.2))
fits <- function(of, level) list(
  constant = of$dynaTree(x, sin(5 * x) + level, N = 20, verb = 0),
  linear = of$dynaTree(x, sin(5 * x) + level, N = 20, model = "linear", verb = 0),
  class = of$dynaTree(x, 1 + (x > 0.5), N = 20, model = "class", verb = 0))
repeats <- function(of)
  of$dynaTrees(x, sin(5 * x), N = 20, R = 2, verb = 0, pverb = 0)
mine <- c(fits(ours, 0), repeats = list(repeats(ours)))
originals <- c(fits(theirs, -5000), repeats = list(repeats(theirs)))
state <- function() list(
  lapply(originals[1:3], theirs$treestats.dynaTree),
  lapply(originals[1:3],
         function(fit) theirs$predict.dynaTree(fit, few, verb = 0)$mean),
  lapply(mine[1:3], ours$treestats),
  lapply(mine[1:3], function(fit) ours$predict.dyntree(fit, few)$mean))

# All functions of a package that ask an object's cloud, called with another's objects.
arguments <- list(XX = few, X = few, y = c(1, 2), indices = 1:2, class = 1, index = 1,
                  var = 1, output = "both", verb = 0)
outcomes <- function(of, class, given) {
  asking <- c(grep(paste0("[.]", class, "$"), ls(of), value = TRUE), "deletecloud")
  no <- c("coef", "plot", "print", "summary", "dynaTree",
          getNamespaceExports("stats")) # which ask predict(), which goes by class
  asking <- c(asking[!sub("[.].*", "", asking) %in% no],
              paste0(c("predict", "update"), ".", class))
  told <- list()
  for (kind in names(given)) for (name in asking) {
    f <- of[[name]]
    more <- arguments[intersect(names(formals(f)), names(arguments))]
    told[[paste(kind, name)]] <- tryCatch(
      {do.call(f, c(list(given[[kind]]), more)); "answered"},
      error = conditionMessage)
  }
  stopifnot(length(asking) >= 20)
  unlist(told)
}
"""

METHODS = """
level <- function(fit) mean(predict(fit, few)$mean)
stopifnot(abs(level(mine$constant)) < 2, abs(level(originals$constant) + 5000) < 2)
stopifnot(abs(mean(coef(mine$linear, few)$coef)) < 100)
stopifnot(mean(coef(originals$linear, few)$coef) < -1000)
plot(predict(mine$constant, few))
plot(predict(originals$constant, few))
grown <- list(update(mine$constant, few, c(0, 0), verb = 0),
              update(originals$constant, few, c(0, 0) - 5000, verb = 0))
stopifnot(inherits(grown[[1]], "dyntree"), !inherits(grown[[2]], "dyntree"))
stopifnot(lengths(lapply(grown, `[[`, "y")) == 52)
stopifnot(abs(level(grown[[1]])) < 2, abs(level(grown[[2]]) + 5000) < 2)
mine$constant <- grown[[1]] # an older object is nothing to ask the original about: its
originals$constant <- grown[[2]] # alcX() then writes where it has no memory
"""

THEIRS_GIVEN_OURS = """
before <- state()
told <- outcomes(theirs, "dynaTree", mine)
print(told[told == "answered"])
stopifnot(told != "answered", identical(state(), before))
stopifnot(is.na(mine$constant$num), is.null(mine$repeats$num))
"""

OURS_GIVEN_THEIRS = """
before <- state()
told <- outcomes(ours, "dyntree", originals)
print(told[!grepl("object is one of R's package dynaTree", told)])
stopifnot(grepl("object is one of R's package dynaTree", told))
stopifnot(identical(state(), before))
"""

# The functions that both have under one name, as they are found on the search path and
# by name: an answer of the right package or an error.
AT_THE_PROMPT = """
before <- state()
asking <- c("alc", "alcX", "relevance", "sens", "treestats", "varpropuse",
            "varproptotal", "qEI", "qEntropy")
own <- list(dyntree = mine$constant, dynaTree = originals$constant)
for (name in asking) for (package in names(own)) {
  method <- get(paste0(name, ".", package), asNamespace(package))
  more <- arguments[intersect(names(formals(method)), "XX")]
  ask <- function(f) {
    set.seed(5)
    told <- do.call(f, c(list(own[[package]]), more))
    told$time <- attr(told, "cloud") <- NULL
    told
  }
  stopifnot(identical(ask(getExportedValue(package, name)), ask(method)))
  found <- tryCatch(ask(get(name)), error = function(e) NULL)
  stopifnot(is.null(found) || identical(found, ask(method)))
}
stopifnot(identical(state(), before))
"""


@pytest.mark.cran
@pytest.mark.parametrize("order", ORDERS, ids="-then-".join)
def test_each_package_answers_for_its_own_objects(
    order: tuple[str, str], r_library: Path, tmp_path: Path
) -> None:
    need(tmp_path, "dynaTree")
    code = BOTH + METHODS + THEIRS_GIVEN_OURS + OURS_GIVEN_THEIRS + AT_THE_PROMPT
    (tmp_path / "both.R").write_text(code)
    process = run(tmp_path, "Rscript", "both.R", *order, library=r_library)
    assert process.returncode == 0, process.stdout + process.stderr


# The generator of parallel workers, of whom each has a stream of its own.
WORKERS = """
suppressPackageStartupMessages({library(dynaTree); library(dyntree)})
RNGkind("L'Ecuyer-CMRG")
set.seed(3)
x <- cbind(runif(60), round(runif(60), 1))
stream <- .Random.seed
for (worker in 1:3) {
  stream <- parallel::nextRNGStream(stream)
  for (model in c("constant", "linear", "class")) {
    y <- if (model == "class") 1 + (x[, 1] > x[, 2]) else sin(5 * x[, 1]) + x[, 2]
    told <- lapply(c("dynaTree", "dyntree"), function(package) {
      of <- asNamespace(package)
      assign(".Random.seed", stream, envir = globalenv())
      fit <- of$dynaTree(x, y, N = 40, model = model, verb = 0)
      fit <- of$rejuvenate(fit, verb = 0)
      fit <- predict(fit, x[1:5, ], verb = 0)
      list(fit$lpred, fit$mean, fit$p, of$treestats(fit), .Random.seed, runif(3))
    })
    stopifnot(isTRUE(all.equal(told[[1]], told[[2]], tolerance = 1e-12)),
              identical(told[[1]][5:6], told[[2]][5:6]))
  }
}
"""


@pytest.mark.cran
def test_streams_of_parallel_workers_give_the_originals_numbers(
    r_library: Path, tmp_path: Path
) -> None:
    need(tmp_path, "dynaTree")
    (tmp_path / "workers.R").write_text(WORKERS)
    process = run(tmp_path, "Rscript", "workers.R", library=r_library)
    assert process.returncode == 0, process.stdout + process.stderr
