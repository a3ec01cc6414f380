from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.forest import Forest

Vector = NDArray[np.float64]
Members = Sequence[Cloud | Forest]

def mean(
    members: Members, weights: Vector, row: Vector, low: float = ..., high: float = ...
) -> float: ...
def mixture(
    members: Members,
    weights: Vector,
    row: Vector,
    factor: float = ...,
    more: tuple[float, float, float, float, float] | None = None,
) -> tuple[Any, Vector, Vector, Vector, Vector, Vector] | None: ...
def proba(members: Members, row: Vector) -> Vector: ...
def learn_averaged(
    members: Members,
    terms: Sequence[tuple[int, str, float, int] | None],
    row: Vector,
    y: float,
    weight: float,
    exposure: float,
    discount: float,
    tempering: float,
    log_weights: Vector,
    evidence: Vector,
    stacker: tuple[Vector, Vector, Vector, float] | None = None,
    spread: Vector | None = None,
    persistence: Vector | None = None,
    beside: tuple[Vector, float] | None = None,
) -> None: ...
def learn(
    members: Members,
    terms: Sequence[tuple[int, str, float, int] | None],
    row: Vector,
    y: float,
    proba: Vector | None = None,
    weight: float = 1.0,
    exposure: float = 1.0,
) -> Vector: ...
