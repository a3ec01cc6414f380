"""State of a model without particles <-> header and arrays of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from dyntree import params
from dyntree.checkpoint.layout import require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.runtime.online import Arrays, Header
from dyntree.trees.files import (
    check_waiting,
    row_arrays,
    take_effects,
    take_pieces,
    take_weights,
    without_effects,
    without_pieces,
)
from dyntree.trees.learning.exposures import read_back
from dyntree.trees.state import TreeState

# header, arrays, options, columns and seed -> what the core knows, checked
Read = Callable[[Header, Arrays, Any, int, int], Any]


def learner_arrays(
    kind: str, state: TreeState, is_frozen: bool
) -> tuple[Header, Arrays]:
    """State of a model of this kind -> its header and its arrays."""
    header: Header = {
        "kind": kind,
        "options": asdict(state.options),
        "is_frozen": is_frozen,
        **state.header(),
        "cloud": None,
    }
    arrays = row_arrays(state)
    if state.cloud is not None:
        header["cloud"], own = state.cloud.to_arrays()
        arrays |= own
    return header, arrays


def learner_state(
    header: Header, arrays: Arrays, options: Any, read: Read
) -> tuple[TreeState, bool]:
    """Header and arrays, as from `learner_arrays` -> a state, whether it is frozen.

    What describes no model is a CheckpointError, LookupError, TypeError or ValueError.
    """
    seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
    state = TreeState(options, seed)
    if header["features"] is not None:
        state.features = FeatureMap.from_header(header["features"])
    has_learned = header["cloud"] is not None
    take_weights(state, header, has_learned)
    own, pieces = without_pieces(arrays)
    own, effects = without_effects(own)
    waiting = own.pop("waiting_X")
    require(waiting.dtype == np.float64 and waiting.ndim == 2, "no rows can wait so")
    responses = read_back(options, header["waiting_y"])
    if has_learned:
        require(not waiting.size and not responses, "rows wait in vain")
        require(state.features is not None, "columns are missing")
        assert state.features is not None
        width = state.features.n_features
        state.cloud = read(header["cloud"], own, options, width, seed)
    else:
        require(not own, "it has arrays without a use")
        check_waiting(state, waiting, responses)
        state.waiting_X, state.waiting_y = waiting.copy(), responses
    take_pieces(state, pieces)
    take_effects(state, effects)
    return state, params.flag("is_frozen", header["is_frozen"])
