"""Calls that make the real package overrun its memory, refused before R gets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# They return something per particle, and right after rejuvenate there are 2 N.
_PER_PARTICLE = ("relevance", "intervals", "classprobs", "sens")


def refuse_what_crashes(name: str, given: Mapping[str, Any], doubled: bool) -> None:
    """Raise an error for calls after which R would crash, at once or later.

    Parameters
    ----------
    name : str
        Name of the function of dynaTree.
    given : mapping of str to object
        The arguments that were given, by the names of the mirror.
    doubled : bool
        Whether the cloud was rejuvenated and has learned no row since then.

    Raises
    ------
    ValueError
        If the call would crash R. The message says what to do instead.
    """
    if name in _PER_PARTICLE and doubled:
        raise ValueError(
            f"{name}() in R must not follow rejuvenate() directly: CRAN dynaTree then "
            f"writes beyond its memory. Call update() in between."
        )
    if name == "classprobs" and given.get("output", "p") != "both":
        raise ValueError(
            f"output must be 'both' in R, as CRAN dynaTree writes beyond its memory "
            f"otherwise; got {given.get('output', 'p')!r}. Take the part you want."
        )
    if name == "rejuvenate" and given.get("odr", "random") is None:
        raise ValueError(
            "odr must not be None in R, where CRAN dynaTree crashes on it. Give 1..n, "
            "or leave it out for a random order."
        )
    if name in ("dynaTree", "update") and _has_missing(given["X"]):
        raise ValueError(
            "X must be without missing values in R, where CRAN dynaTree crashes on "
            "them. Drop or fill those rows."
        )


def _has_missing(rows: Any) -> bool:
    try:
        return bool(np.isnan(np.asarray(rows, dtype=np.float64)).any())
    except (TypeError, ValueError):
        return False  # not numbers: R says what is wrong
