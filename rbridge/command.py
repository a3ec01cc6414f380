"""What ``dyntree crosscheck`` does."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.commands.tables import (
    read_table,
    split_formula,
    write_table,
)
from dyntree.storage.atomic_files import writing

from .crosscheck import Step, crosscheck
from .errors import RBridgeError
from .session import default_session, session

_N_LATER = 6  # rows that come after the fit, at least


class Disagreement(RBridgeError):
    """Both engines answer otherwise."""


def run(arguments: argparse.Namespace) -> None:
    """Compare both engines on a table; write the report, a table, a page and a picture.

    Raises
    ------
    ValueError
        If the table or the formula does not suit R's rules.
    Disagreement
        If results differ bit by bit, and their distributions differ, too, or were not
        to be compared.
    """
    X, y = _numbers(arguments)
    n_fit = len(y) - max(_N_LATER, len(y) // 10)
    if n_fit < 2 * _N_LATER:
        raise ValueError(
            f"the table must have at least {3 * _N_LATER} rows; got {len(y)}."
        )
    report = crosscheck(
        X[:n_fit],
        y[:n_fit],
        seed=arguments.seed,
        model=arguments.model,
        options={
            "N": arguments.particles,
            "icept": arguments.intercept,
            "rprop": arguments.proposal,
        },
        steps=everything(arguments.model, arguments.intercept, X[n_fit:], y[n_fit:]),
        session=(
            session(arguments.backend) if arguments.backend else default_session()
        ),
        n_seeds=arguments.seeds,
    )
    if arguments.out is None:
        print(report.summary())
    else:
        with writing(arguments.out) as file:
            file.write(f"{report.summary()}\n".encode())
    if arguments.csv is not None:
        write_table(report.to_frame(), arguments.csv)
    if arguments.html is not None:
        with writing(arguments.html) as file:
            file.write(report.to_html().encode())
    if arguments.picture is not None:
        kind = Path(arguments.picture).suffix[1:] or None
        with writing(arguments.picture) as file:
            report.plot().savefig(file, format=kind, bbox_inches="tight")
    if not (report.draw_for_draw or report.statistical):
        raise Disagreement(report.verdict)


def everything(
    model: str, icept: str, X: NDArray[np.float64], y: NDArray[np.float64]
) -> list[Step]:
    """Return all functions that change a cloud, then all that compute from it.

    Parameters
    ----------
    model, icept : str
        Those of the fit.
    X, y : ndarray of shape (n_rows, n_inputs) and (n_rows,)
        Rows after those of the fit, at least four.
    """
    half = len(y) // 2
    first: dict[str, Any] = {"X": X[:half], "y": y[:half]}
    second: dict[str, Any] = {"X": X[half:], "y": y[half:]}
    changes: list[Step] = [
        ("update", first),
        ("retire", {"indices": [2, 5, 9], "lambda_": 0.9}),
        "rejuvenate",
        ("update", second),
    ]
    if model == "linear" and icept == "implicit":
        del changes[1]  # such leaves cannot retire rows
    if model == "prior":
        return changes
    new = {"XX": X}
    if model == "class":
        asked: list[Step] = [("predict", {**new, "yy": y}), "entropyX"]
    else:
        asked = [("predict", {**new, "yy": y, "ei": True}), ("alc", new), "alcX"]
        asked += [("qEI", new), ("qEntropy", new)]
    if model == "linear":
        asked.append(("coef", new))
    if icept != "augmented" or X.shape[1] > 1:  # else an error in R
        asked.append(("sens", {"nns": 100, "nME": 10}))
    return [*changes, *asked, "relevance", "copy"]


def _numbers(
    arguments: argparse.Namespace,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inputs and response as R's dynaTree takes them; labels count from 1."""
    read = read_table(arguments.table)
    response, inputs = split_formula(arguments.formula, list(read.frame.columns))
    columns = read.columns(inputs)
    for name in inputs:
        if columns[name].dtype.kind not in "biuf" or columns[name].isna().any():
            raise ValueError(
                f"column {name!r} must hold numbers, none of them missing, for R's "
                f"dynaTree. Leave it out of the formula, or code it as 0 and 1."
            )
    y = read.columns([response])[response]
    if y.isna().any():
        raise ValueError(f"column {response!r} must not have missing values.")
    if arguments.model == "class":
        codes = np.unique(y.to_numpy(), return_inverse=True)[1] + 1.0
        return columns.to_numpy(dtype=np.float64), np.asarray(codes)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"column {response!r} must hold numbers; for labels say --model class."
        )
    return columns.to_numpy(dtype=np.float64), y.to_numpy(dtype=np.float64)
