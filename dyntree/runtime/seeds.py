"""Seeds of several models that one seed stands for."""

from __future__ import annotations

import numpy as np


def spawned(seed: int, n: int) -> list[int]:
    """Seeds of n models: the first words of what a SeedSequence spawns.

    More of them leave the first ones as they are.

    Examples
    --------
    >>> spawned(1, 3)[:2] == spawned(1, 2)
    True
    """
    children = np.random.SeedSequence(seed).spawn(n)
    return [int(child.generate_state(1)[0]) for child in children]
