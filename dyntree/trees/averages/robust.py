"""Rows far outside in an average: clouds say how much each counts, forests follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.learning.weights import Responses, admit_weights
from dyntree.trees.random_trees import RandomTreesStream

Members = Sequence[Any]


def lead_forests(members: Members) -> None:
    """Give forests without rows the scale that clouds have, by the first usual rows.

    The first member is a cloud.
    """
    lead = members[0].state.cloud
    spread = lead.prior_point["y_spread"] if lead.has_unit else 0.0
    for member in members:
        if isinstance(member, RandomTreesStream):
            admit_weights(member.state, np.ones(1))
            member.state.cloud.set_scale(lead.prior_point["y_centre"], spread)


def learn_robustly(
    members: Members, rows: Matrix, responses: Responses, run: Callable[..., Any]
) -> tuple[Matrix, Vector]:
    """Let members learn rows: clouds, then forests with what rows counted for in those.

    That is the median over the clouds.

    Parameters
    ----------
    members : sequence of StreamingTree and RandomTreesStream
    rows : ndarray of shape (n_rows, n_features)
    responses : Responses of length n_rows
    run : callable
        As `map`; may run members side by side.

    Returns
    -------
    densities : ndarray of shape (n_rows, n_members)
        Log densities.
    shares : ndarray of shape (n_rows,)
        How much of each row counted, the median over the clouds.
    """
    shares = np.ones((len(members), len(rows)))
    found = np.empty((len(rows), len(members)))
    led = np.array([isinstance(member, RandomTreesStream) for member in members])
    clouds, forests = (np.flatnonzero(kind).tolist() for kind in (~led, led))
    learned = run(
        lambda k: members[k].learn_encoded(rows, responses, None, shares[k]), clouds
    )
    found[:, clouds] = np.column_stack([*learned])
    weights = usual = np.median(shares[clouds], axis=0)
    if responses.weights is not None:
        weights = usual * responses.weights
    counted = replace(responses, weights=weights)
    learned = run(lambda k: members[k].learn_encoded(rows, counted, None), forests)
    for k, densities in zip(forests, learned, strict=True):
        found[:, k] = densities
    return found, usual


def last_shares(members: Members) -> Vector:
    """How much of the last row counted, the median over the clouds: shape (1,)."""
    clouds = [m.state.cloud for m in members if not isinstance(m, RandomTreesStream)]
    return np.array([np.median([cloud.last_share for cloud in clouds])])
