"""The page "For R users": R prints what it shows, and Python has the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.api.rmirror import RStream
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
