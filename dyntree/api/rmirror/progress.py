"""What R prints when `verb` is positive, character by character."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def print_step(
    time: int,
    n_retired: int,
    n_distinct: int,
    weight_variance: float,
    depth: float,
    leaves: float,
    size: float,
    retired: float,
) -> None:
    """Print one line of a fit: rows so far, particles left, averages over trees."""
    if n_retired > 0:
        clock, tail = f"{time + n_retired}[{time}]", f"({retired:g})"
    else:
        clock, tail = f"{time}", ""
    print(
        f"t={clock}, np={n_distinct}, v(w)={weight_variance:g}, "
        f"avg: depth={depth:g}, leaves={leaves:g}, size={size:g}{tail}"
    )


def print_particles(n_particles: int, verb: int, act: str = "prediction") -> None:
    """Print one line for each `verb` particles."""
    if verb > 0:
        for i in range(verb, n_particles + 1, verb):
            print(f"{act} {i} of {n_particles} done")


def print_categories(categ: NDArray[np.bool_]) -> None:
    """Print which inputs count as categorical."""
    numbers = " ".join(str(j + 1) for j in np.flatnonzero(categ))
    print(f"categorical inputs: {numbers} ")


def print_retirement(
    positions: NDArray[np.int64], X: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Print the rows about to be retired, counted from 0 as R does here."""
    print(f"Retiring {positions.size} observations: {_spaced(map(str, positions))}")
    for i in positions:
        inputs = _spaced(f"{value:g}" for value in X[i])
        print(f"removing y={y[i]:g} and X={inputs}")


def _spaced(words: Iterable[str]) -> str:
    return "".join(f"{word} " for word in words)
