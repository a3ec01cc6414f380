"""Models beside trees in R: each number is that of Python's call with the same seed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, StreamingTree
from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    MemoryBoundedHDP,
    MixturePrior,
    OnlineDPGMM,
    RandomWalk,
)
from dyntree.trees.factory import make_tree
from rbridge.convert import from_r, to_r
from rbridge.guest_models import FACES
from rbridge.wire import dumps, loads
from tests.unit.rbridge.engines import need, run

RNG = np.random.default_rng(11)
N = 90
TABLE = pd.DataFrame({
    "x": RNG.random(N), "g": pd.Categorical(RNG.choice(["u", "v"], N)),
    "s": RNG.choice(["p", "q", "r"], N), "l": RNG.random(N) > 0.5,
    "day": pd.date_range("2024-01-01", periods=N).to_numpy().astype("datetime64[s]"),
})  # fmt: skip
TABLE.loc[5, "x"] = np.nan
Y = np.sin(6 * TABLE["x"].fillna(0.0).to_numpy()) + RNG.normal(0, 0.1, N)
LABELS = pd.Categorical.from_codes((Y > 0.3).astype(int), ["low", "high"])
ROWS = pd.DataFrame(
    RNG.normal(size=(N, 2)) + 15 * RNG.integers(1, 4, (N, 1)), columns=["a", "b"]
)
PHASE = np.repeat([1, 2, 3], N // 3)
COUNTS = RNG.poisson(0.3, (40, 16)) + np.kron(
    np.eye(2, dtype=int), np.ones((20, 8), int)
)
EVENTS = RNG.poisson(3.0, N).astype(float)
HOURS = RNG.uniform(1.0, 4.0, N)

IN_R = """
library(dyntree)
given <- unserialize(readBin("given.rds", "raw", 1e7))
d <- cbind(given$table, y = given$y, k = given$labels)
d$n <- given$events
d$h <- given$hours
X <- given$rows
W <- given$counts
new <- d[1:20, ]
told <- list()
fit <- dyntree_stream(y ~ x + g + s + l + day, d, window = 40, n_particles = 30,
                      seed = 1)
fit <- update(fit, new)
told$stream <- list(predict(fit, new), predict(fit, new, type = "sd"), fit$log_evidence,
                    as.matrix(predict(fit, new, type = "quantile")))
fit <- dyntree_stream(y ~ x + g, d, model = "linear", window = "auto", n_particles = 20,
                      seed = 1)
told$auto <- list(predict(fit, new), fit$log_evidence)
fit <- dyntree_stream(n ~ x, d, model = "negbin", exposure = h, drift = TRUE,
                      window = 40, n_particles = 30, seed = 1)
told$counts <- list(predict(fit, new), fit$log_evidence)
fit <- dyntree_average(k ~ x + g, d, n_clouds = 3, n_particles = 20, seed = 1)
told$average <- list(as.matrix(predict(fit, new, type = "prob")), fit$log_evidence)
fit <- dyntree_average(y ~ x, d, stream = TRUE, n_particles = 20, seed = 1, weights = h,
                       members = list(list(window = 20, forget = 0.5),
                                      list(window = 60)))
told$memories <- list(predict(fit, new), fit$log_evidence)
fit <- dp_gmm(X)
told$dp_gmm <- list(as.integer(fit$cluster), fit$components$b, fit$covariance[[2]],
                    predict(fit, X, type = "density"))
fit <- ddp_mixture(X, given$phase, n_sweeps = 9, burn_in = 3, seed = 1)
told$ddp <- list(as.integer(as.character(fit$cluster)), fit$components$b,
                 predict(fit, X, "density", ahead = 2))
fit <- ddp_mixture(X, given$phase, family = list("known_variance", variance = 2),
                   transition = list("random_walk", variance = 0.5), n_sweeps = 9,
                   burn_in = 3, seed = 1)
told$walk <- list(as.integer(as.character(fit$cluster)), fit$components$b)
fit <- canopy_mixture(X, 3, family = "full", prior = list(mean_strength = 0.1),
                      seed = 1)
told$canopy <- list(as.integer(fit$cluster), fit$components$a, fit$covariance[[3]],
                    as.matrix(predict(fit, X, type = "prob")), BIC(fit))
fit <- hdp_topics(W, seed = 1)
told$topics <- list(fit$topics$weight, as.matrix(predict(fit, W)), as.matrix(coef(fit)),
                    predict(fit, W, type = "density"))
plain <- function(x) {
  if (is.list(x)) lapply(x, plain) else if (is.matrix(x)) unname(x) else as.vector(x)
}
writeBin(serialize(plain(told), NULL, version = 2), "told.rds")
"""


def in_python() -> dict[str, list[Any]]:
    new, options = TABLE[:20], {"n_sweeps": 9, "burn_in": 3, "seed": 1}
    stream = StreamingTree(window=40, n_particles=30, seed=1)
    stream = stream.update(TABLE, Y).update(new, Y[:20])
    found = stream.predict(new)
    told: dict[str, list[Any]] = {
        "stream": [
            found.mean, np.sqrt(found.var), stream.tree.log_evidence,
            found.quantile([0.05, 0.95]),
        ]
    }  # fmt: skip
    own = TABLE[["x", "g"]]
    auto = make_tree(
        {"model": "linear", "window": "auto", "n_particles": 20, "seed": 1}
    )
    auto.update(own, Y)
    told["auto"] = [auto.predict(own[:20]).mean, auto.log_evidence]
    negbin = StreamingTree("negbin", drift=True, window=40, n_particles=30, seed=1)
    negbin.update(TABLE[["x"]], EVENTS, exposure=HOURS)
    told["counts"] = [
        negbin.predict(TABLE[["x"]][:20], exposure=HOURS[:20]).mean,
        negbin.tree.log_evidence,
    ]
    clouds = AveragedTrees(
        "class", classes=["low", "high"], n_clouds=3, n_particles=20, seed=1
    ).update(own, list(LABELS))
    told["average"] = [clouds.predict(own[:20]).proba, clouds.log_evidence]
    memories = AveragedStream(
        members=[{"window": 20, "forget": 0.5}, {"window": 60}], n_particles=20, seed=1
    ).update(TABLE[["x"]], Y, HOURS)
    told["memories"] = [memories.predict(TABLE[["x"]][:20]).mean, memories.log_evidence]
    gmm = OnlineDPGMM().update(ROWS).finish_warm_up().merge_now()
    told["dp_gmm"] = [
        np.searchsorted(gmm.clusters().id, gmm.predict(ROWS)) + 1,
        gmm.clusters().mean[:, 1], gmm.covariances_[1], gmm.score_samples(ROWS),
    ]  # fmt: skip
    for name, family, more in (
        ("ddp", GaussianUnknown(), {}),
        ("walk", GaussianKnownVariance(2.0), {"transition": RandomWalk(0.5)}),
    ):
        ddp = DependentDPMixture(family, **options, **more)
        ddp.update(ROWS, phases=PHASE, progress=False)
        labels = np.concatenate([ddp.labels(phase) for phase in range(3)]) + 1
        told[name] = [labels, ddp.particles().mean[:, 1]]
        if name == "ddp":
            told[name].append(ddp.log_predictive(ROWS, ahead=2))
    prior = MixturePrior(mean_strength=0.1)
    canopy = Canopy(3, family="full", prior=prior, seed=1).fit(ROWS, progress=False)
    told["canopy"] = [
        canopy.predict(ROWS) + 1, canopy.means[:, 0], canopy.covariances_[2],
        canopy.predict_proba(ROWS), canopy.bic(ROWS),
    ]  # fmt: skip
    hdp = MemoryBoundedHDP("multinomial", seed=1).fit(COUNTS, progress=False)
    told["topics"] = [
        hdp.topic_weights_, hdp.transform(COUNTS), hdp.topic_words_,
        hdp.score_documents(COUNTS),
    ]  # fmt: skip
    return told


@pytest.mark.filterwarnings("ignore::UserWarning")  # of so few rows and sweeps
def test_numbers_are_those_of_python(r_library: Path, tmp_path: Path) -> None:
    need(tmp_path, "reticulate")
    given = {
        "table": TABLE, "y": Y, "labels": LABELS, "rows": ROWS, "phase": PHASE,
        "counts": COUNTS, "events": EVENTS, "hours": HOURS,
    }  # fmt: skip
    (tmp_path / "given.rds").write_bytes(dumps(to_r(given)))
    (tmp_path / "run.R").write_text(IN_R)
    process = run(tmp_path, "Rscript", "run.R", library=r_library)
    assert process.returncode == 0, process.stderr
    told = from_r(loads((tmp_path / "told.rds").read_bytes()))
    for name, ours in in_python().items():
        for k, (theirs, own) in enumerate(zip(told[name], ours, strict=True)):
            if (name, k) == ("canopy", 4):  # R computes it from the likelihood
                assert theirs == pytest.approx(own, rel=1e-12)
            else:
                np.testing.assert_array_equal(theirs, own, err_msg=f"{name} {k}")


SAVED = """
library(dyntree)
set.seed(1)
d <- data.frame(a = rnorm(60) + rep(c(0, 9), 30), b = rnorm(60),
                g = rep(c("u", "v"), 30))
W <- matrix(rpois(60 * 9, 1), 60)
fits <- list(dyntree_stream(a ~ b + g, d, window = 30, n_particles = 20),
             dyntree_average(g ~ a + b, d, n_clouds = 2, n_particles = 20),
             dp_gmm(d[1:2]), canopy_mixture(~ a + g, 2, data = d), hdp_topics(W),
             ddp_mixture(d[1:2], rep(1:2, 30), n_sweeps = 5, burn_in = 1))
rows <- list(d, d, d, d, W, d)
fits <- Map(function(fit, more) update(fit, more[1:20, ]), fits, rows)
saveRDS(list(fits, rows, Map(predict, fits, rows)), "fits.rds")
"""
READ = """
library(dyntree)
told <- readRDS("fits.rds")
stopifnot(identical(Map(predict, told[[1]], told[[2]]), told[[3]]))
more <- update(told[[1]][[1]], told[[2]][[1]])
stopifnot(nobs(more) == 140)
"""


@pytest.mark.slow
def test_saved_objects_answer_alike_in_another_session(
    r_library: Path, tmp_path: Path
) -> None:
    need(tmp_path, "reticulate")
    for name, code in (("save.R", SAVED), ("read.R", READ)):
        (tmp_path / name).write_text(code)
        process = run(tmp_path, "Rscript", name, library=r_library)
        assert process.returncode == 0, process.stderr


DEFAULTS = """
library(dyntree)
for (name in commandArgs(TRUE)) {
  shown <- vapply(formals(name), function(one) paste(deparse(one), collapse = " "), "")
  choices <- grep("^c\\\\(", shown)
  shown[choices] <- vapply(shown[choices], function(one)
    deparse(eval(parse(text = one))[1]), "")
  cat(paste(name, names(shown), shown, sep = "\\t"), sep = "\\n")
}
"""
MODELS = {
    "dyntree_stream": StreamingTree, "dyntree_average": AveragedTrees,
    "dp_gmm": OnlineDPGMM, "ddp_mixture": DependentDPMixture,
    "canopy_mixture": Canopy, "hdp_topics": MemoryBoundedHDP,
}  # fmt: skip
OTHERS = {  # by R's ways: from 1, by a name, by the size of what is averaged
    ("dyntree_stream", "n_particles"), ("dyntree_stream", "first_split"),
    ("dyntree_average", "first_split"), ("ddp_mixture", "family"),
}  # fmt: skip


def test_defaults_are_those_of_python(r_library: Path, tmp_path: Path) -> None:
    need(tmp_path, "reticulate")
    (tmp_path / "defaults.R").write_text(DEFAULTS)
    process = run(tmp_path, "Rscript", "defaults.R", *MODELS, library=r_library)
    assert process.returncode == 0, process.stderr
    compared = 0
    for line in process.stdout.splitlines():
        face, name, shown = line.split("\t")
        theirs = {ours: python for python, ours in FACES[face].names.items()}
        known = inspect.signature(MODELS[face]).parameters
        python = theirs.get(name, name)
        if python not in known or name == "weights" or (face, name) in OTHERS:
            continue
        words = {"None": "NULL", "True": "TRUE", "False": "FALSE"}
        default = known[python].default
        if name == "seed":
            assert shown == "NULL"
            continue
        text = f'"{default}"' if isinstance(default, str) else str(default)
        text = words.get(text, text)
        numbers = [re.fullmatch(r"-?[\d.e+-]+", one) for one in (shown, text)]
        if all(numbers):
            assert float(shown) == float(text), line
        else:
            assert shown == text, line
        compared += 1
    assert compared > 70
