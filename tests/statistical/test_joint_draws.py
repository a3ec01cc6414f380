"""Intervals of effects by joint draws hold the truth about as often as they promise.

`effects` in this folder measures the same over more sets, beside least squares.
"""

from __future__ import annotations

import numpy as np
import pytest

from dyntree import AveragedTrees
from tests.helpers import mostly_slow

from .effects import WORLDS, by_draws, drawn_set, effects, truth

N_SETS = 20


@pytest.mark.parametrize("world", mostly_slow(WORLDS))
def test_treatment_effects_are_held(world: str) -> None:
    """By ten clouds: 15 of 20 sets at least.

    Where intervals of 90 % hold as they promise, fewer are with probability .011.
    """
    f, _ = WORLDS[world]
    held = []
    for seed in range(N_SETS):
        X, y = drawn_set(world, seed)
        model = AveragedTrees("linear", seed=seed).update(X, y)
        effect = effects(X)["treatment"]
        low, high, _ = by_draws(model, effect, seed)
        held.append(low <= truth(f, effect) <= high)
    assert np.mean(held) >= 0.75
