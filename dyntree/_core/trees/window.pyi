import numpy as np
from numpy.typing import NDArray

from dyntree._core.rng import RandomSource
from dyntree._core.trees.cloud import Cloud

Vector = NDArray[np.float64]

def worth(c: Cloud, rule: str, source: RandomSource | None = None) -> Vector: ...
def next_to_go(c: Cloud, rule: str) -> int: ...
def roll(
    c: Cloud,
    X: Vector,
    y: Vector,
    window: int,
    rule: str,
    forget: float,
    every: int = 0,
    proba: Vector | None = None,
    weights: Vector | None = None,
    exposures: Vector | None = None,
    shares: Vector | None = None,
) -> Vector: ...
