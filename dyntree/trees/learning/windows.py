"""Rows -> trees that learn them and let older rows go, and fresh trees beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree import params
from dyntree._core.trees.window import next_to_go, roll
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.params import StreamOptions
from dyntree.trees.learning.weights import Responses
from dyntree.trees.state import TreeState


def row_positions(state: TreeState, row_ids: ArrayLike, name: str) -> NDArray[np.int64]:
    """Numbers of active rows, each named once -> their places in the cloud's order."""
    ids = np.atleast_1d(params.as_array(name, row_ids))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ArgumentError(name, "must be row numbers (ints)", row_ids)
    places: dict[int, list[int]] = {}
    for k, row in enumerate(state.row_ids().tolist()):
        places.setdefault(row, []).append(k)
    unknown = [row for row in ids.tolist() if row not in places]
    if unknown:
        raise ArgumentError(
            name,
            "must name active rows; {unknown} is not one (see active_ids)",
            unknown=unknown[0],
        )
    if len(set(ids.tolist())) != len(ids):
        raise ArgumentError(name, "must name each row once", row_ids)
    found = [place for row in ids.tolist() for place in places[row]]
    return np.array(found, dtype=np.int64)


def rejuvenate(cloud: Any, positions: NDArray[np.int64] | None = None) -> None:
    """Grow fresh particles from the active rows and add them to the cloud.

    `positions` has the places of the active rows in the order in which they are learned
    anew; random by default.
    """
    if not cloud.n_active:
        raise ArgumentError(
            "rejuvenate", "needs rows, but remove_data dropped all of them"
        )
    if positions is None:
        saved, n_particles = cloud.source.save(), cloud.n_particles
        try:
            uniforms = cloud.source.uniforms(cloud.n_active)
            cloud.rejuvenate(np.argsort(uniforms, kind="stable"))
        except BaseException:
            if cloud.n_particles == n_particles:  # not an interrupt at the end
                cloud.source.restore(saved)
            raise
        return
    destinations = np.empty(cloud.n_active, dtype=np.int64)
    destinations[positions] = np.arange(cloud.n_active)
    cloud.rejuvenate(destinations)


def _rejuvenate_once(cloud: Any) -> None:
    """Rejuvenate a cloud, unless it holds fresh particles of an interrupted call."""
    if cloud.n_particles == cloud.options["n_particles"]:
        rejuvenate(cloud)


def learn_in_window(
    state: TreeState, options: StreamOptions, rows: Matrix, responses: Responses
) -> int:
    """Learn some rows, at least one, and retire as many; returns how many."""
    if state.options.rules == "r":
        return _replace(state.cloud, options, rows, responses.y)
    found = roll(
        state.cloud, rows, responses.y, *options.terms, None, responses.weights,
        responses.exposures,
    )  # fmt: skip
    return len(found)


def _replace(
    cloud: Any, options: StreamOptions, rows: Matrix, responses: Vector
) -> int:
    """Fill the window, or let one row take another's place; returns how many.

    R's rules, which retire before they learn. An interrupt waits for both, and for the
    rejuvenation that may be due.
    """
    every, seen = options.rejuvenate_every, cloud.n_seen
    assert options.discard is not None
    room = options.window - cloud.n_active
    if room > 0:
        return len(cloud.update(rows[:room], responses[:room]))
    drawn = cloud.source.save()
    interrupt = None
    while True:
        try:
            if cloud.n_seen == seen:
                cloud.source.restore(drawn)
                place = next_to_go(cloud, options.discard)
                cloud.replace(place, options.forget, rows[:1], responses[:1])
            if every and cloud.n_seen % every == 0:
                _rejuvenate_once(cloud)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    return 1
