"""What is said where the cost of a new cluster no longer fits the rows that come."""

from __future__ import annotations

from typing import Any

from dyntree.errors import ScaleWarning, warn

MANY_ROWS = 500  # after which clusters are missed
FEW_ROWS = 24  # fewer than which do not show three clusters


def warn_of_misfit(watch: Any, n_wanted: int) -> None:
    """Warn of scales that no longer fit, with the remedy.

    `n_wanted` rows are gathered to choose scales from; 0 where these were given.
    """
    if watch.grew:
        found = (
            f"{watch.growth} clusters more opened in the last {watch.rows_judged} rows"
        )
    else:
        found = (
            f"the last {watch.rows_judged} rows are {watch.near:.3g} from their "
            "clusters in mean square, where it was at least "
            f"{watch.least_near:.3g} before"
        )
    remedy = (
        f"Scales are chosen again from the next {n_wanted} rows, and clusters begin "
        "anew with them."
        if n_wanted
        else "Begin a new model with scales that fit, or with lambda_='auto', which "
        "chooses them again."
    )
    warn(
        ScaleWarning,
        "lambda_ no longer fits the rows: {found}. Their unit or gain may have "
        "changed. {remedy}",
        found=found,
        remedy=remedy,
    )


def warn_of_few(n_rows: int) -> None:
    """Warn of scales that were chosen from too few rows to show clusters."""
    if n_rows < FEW_ROWS:
        warn(
            ScaleWarning,
            f"the scales were chosen from {n_rows} rows only; with fewer than "
            f"{FEW_ROWS}, clusters are often not separated. Give more rows, or give "
            "the scales (lambda_, and noise where there is one) instead of 'auto'.",
        )


def warn_of_none(clusters: Any, min_weight: float) -> None:
    """Warn of many rows of which no cluster has come."""
    if not clusters.array("confirmed").any():
        warn(
            ScaleWarning,
            "none of {n} clusters has the {min_weight:g} rows that confirm it, after "
            "{n_rows} rows: lambda_ is too small for them, or they have another "
            "unit. Begin a new model with lambda_='auto', or with what lambda_path "
            "shows.",
            n=clusters.n,
            min_weight=min_weight,
            n_rows=clusters.n_rows,
        )
