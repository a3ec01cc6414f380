"""Scales of a sequence model that nobody gave, from its first rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.values import Matrix
from dyntree.errors import Message
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.misfit import warn_of_few
from dyntree.mixtures.sva.options import MPPCA_OPTIONS

WARM_UP = MPPCA_OPTIONS["warm_up"]  # rows that scales are chosen from, at most


def with_scales(options: dict[str, Any], rows: Matrix) -> dict[str, Any]:
    """Return options of `OnlineHDPHSMM` with numbers in place of "auto".

    They are those of the mixture without moves that has clusters of the same shape.
    """
    lambda_, noise = options["lambda_"], options["noise"]
    if not isinstance(lambda_, str) and not isinstance(noise, str):
        return options
    rows = rows[:WARM_UP]
    if len(rows) < 2:
        raise ValueError(
            Message(
                f"'auto' scales need at least 2 rows; got n_samples = {len(rows)}. "
                "Give lambda_ and noise."
            )
        )
    warn_of_few(len(rows))
    model: OnlineDPGMM | OnlineDPMPPCA
    if options["emission"] == "gmm":
        model = OnlineDPGMM(lambda_, warm_up=len(rows), seed=0)
    else:
        alike = params.given_options(
            {**MPPCA_OPTIONS, **options, "warm_up": len(rows)}, MPPCA_OPTIONS
        )
        model = OnlineDPMPPCA(**alike, seed=0)
    model.update(np.ascontiguousarray(rows), progress=False)
    found = model.noise if isinstance(noise, str) else noise
    return options | {"lambda_": model.lambda_, "noise": found}
