"""Declared layouts: what fits them, and what is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.checkpoint.layout import (
    check_arrays,
    check_close,
    ints,
    places,
    reals,
    require,
)
from dyntree.errors import CheckpointError

LAYOUTS = {
    "mean": reals("k", 2, low=-1.0, high=1.0, gaps=True),
    "weight": reals("k", above=0.0),
    "label": ints("n", low=0, below="k"),
    "late": places(None, needed=False),
}


def sound() -> dict[str, Any]:
    return {
        "mean": np.array([[0.0, np.nan], [1.0, -1.0]]),
        "weight": np.array([0.5, 2.0]),
        "label": np.array([0, 1, 1]),
    }


def test_sizes_are_those_of_the_arrays_and_of_the_caller() -> None:
    assert check_arrays(sound(), LAYOUTS) == {"k": 2, "n": 3}
    assert check_arrays(sound(), LAYOUTS, n=3, m=9) == {"k": 2, "n": 3, "m": 9}
    empty = {"mean": np.zeros((0, 2)), "weight": np.zeros(0)}
    check_arrays(empty | {"label": np.zeros(0, dtype=np.int64)}, LAYOUTS)
    check_arrays(sound() | {"late": np.zeros(7, dtype=np.int32)}, LAYOUTS)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"mean": np.zeros((3, 2))}, "weight has shape"),
        ({"mean": np.zeros((2, 3))}, "mean has shape"),
        ({"mean": np.full((2, 2), 1.5)}, "mean has values"),
        ({"weight": np.array([0.0, 1.0])}, "weight has values"),
        ({"weight": np.array([np.nan, 1.0])}, "weight has values"),
        ({"weight": np.array([np.inf, 1.0])}, "weight has values"),
        ({"weight": np.ones((2, 1))}, "weight has type float64 and 2 dimensions"),
        ({"label": np.array([0, 2])}, "label has values"),
        ({"label": np.array([0, -1])}, "label has values"),
        ({"label": np.array([0.0, 1.0])}, "label has type float64"),
        ({"more": np.zeros(1)}, r"no use for the arrays \['more'\]"),
    ],
)
def test_other_arrays_are_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(CheckpointError, match=fault):
        check_arrays(sound() | change, LAYOUTS)


def test_arrays_that_are_missing_are_named() -> None:
    some = {name: array for name, array in sound().items() if name != "weight"}
    with pytest.raises(CheckpointError, match=r"lacks the arrays \['weight'\]"):
        check_arrays(some, LAYOUTS)


def test_numbers_are_compared_up_to_rounding() -> None:
    found = np.array([1.0, np.nan, np.inf, 1e9])
    check_close("sums", found * (1.0 + 1e-9), found)
    check_close("sums", np.array([2.0]), np.array([1.0]), size=1e7)
    for other in (np.array([1.001]), np.array([np.nan]), np.array([np.inf])):
        with pytest.raises(CheckpointError, match="sums is not what other arrays say"):
            check_close("sums", other, np.array([1.0]))
    with pytest.raises(CheckpointError, match="sums is not what"):
        check_close("sums", np.array([1.0]), np.array([np.inf]))
    with pytest.raises(CheckpointError, match="model: sums"):
        require([True, False], "sums")
