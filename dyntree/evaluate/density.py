"""Prequential evaluation of mixtures: the density of each row, then it is learned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import take
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.evaluate.scores import Codes
from dyntree.runtime.online import check_online_model
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.records import Record


@dataclass(frozen=True, eq=False, repr=False)
class PrequentialDensity(Record):
    """Prequential log densities of a stream of rows without responses.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_scored,)
        Which rows of the stream were scored.
    log_density : ndarray of shape (n_scored,)
        Log density of each row before it was learned.
    seconds_per_row : float
        Time to score and learn a row.
    """

    rows: Codes
    log_density: Vector
    seconds_per_row: float


def prequential_density(
    model: Any, X: Any, *, start: int = 0, progress: Progress = None
) -> PrequentialDensity:
    """Evaluate a mixture on a stream: each row is scored, then learned.

    Parameters
    ----------
    model : OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM or another OnlineModel
        One with `score_samples`. It learns the rows as a side effect.
    X : array_like of shape (n_rows, n_features), frame, list or iterator of dicts
        Rows in any form that the model takes.
    start, progress
        As in `prequential`.

    Returns
    -------
    PrequentialDensity

    Raises
    ------
    ValueError
        If the input is bad, before any row is learned; also if no row could be scored.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.evaluate import prequential_density
    >>> from dyntree.mixtures import OnlineDPGMM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> seen = prequential_density(OnlineDPGMM(25.0), X, start=50)
    >>> bool(-3.2 < seen.log_density.mean() < -2.7)
    True
    """
    check_progress(progress)
    start = params.count("start", start, 0)
    check_online_model("model", model)
    if not hasattr(model, "score_samples"):
        raise ArgumentError(
            "model",
            "must have score_samples, as a mixture has",
            Message("{kind}", kind=type(model).__name__),
            "Use prequential(model, X, y).",
        )
    X = list(X) if hasattr(X, "__next__") else X
    rows, _ = model.preview(X, None, start)
    n_rows = len(rows.rows)
    scored: list[int] = []
    density: list[float] = []
    clock = time.perf_counter()
    with rows_bar(progress, n_rows, "prequential") as tell:
        if start:
            model.update(take(X, slice(start)), progress=False)
            tell(min(start, n_rows))
            clock = time.perf_counter()
        for t in range(start, n_rows):
            row = take(rows if model.is_ready else X, slice(t, t + 1))
            try:
                density.append(float(model.score_samples(row)[0]))
                scored.append(t)
            except NotReadyError:
                pass
            model.update(row, progress=False)
            tell(1)
    clock = time.perf_counter() - clock
    if not scored:
        raise ValueError(
            Message(
                f"no row was scored: the model needs more than the {n_rows} rows given."
            )
        )
    return PrequentialDensity(
        rows=np.array(scored),
        log_density=np.array(density),
        seconds_per_row=clock / (n_rows - start),
    )
