"""Seeds: given, drawn, or those of several models that one seed stands for."""

from __future__ import annotations

import secrets

import numpy as np

from dyntree import params


def given_or_drawn(seed: int | None) -> int:
    """Return the seed, checked, or where there is none one drawn from the system."""
    if seed is None:
        return secrets.randbits(31)
    return params.count("seed", seed, 0, params.MAX_SEED)


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
