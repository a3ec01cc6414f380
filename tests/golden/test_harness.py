"""The harness itself: a recording with one wrong number must not pass."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .replay import HERE, replay

CASES = ["class2", "design_ei_const", "dynaTrees_reg", "sens_class3", "tiny_N"]


@pytest.mark.parametrize("name", CASES)
def test_every_wrong_number_is_found(name: str, tmp_path: Path) -> None:
    case = json.loads((HERE / f"{name}.json").read_text())
    path = tmp_path / f"{name}.json"
    missed = []
    for place in _places(case):
        wrong = copy.deepcopy(case)
        item = wrong
        for key in place[:-1]:
            item = item[key]
        item[place[-1]] += 1e-4
        path.write_text(json.dumps(wrong))
        if not replay(path)[1]:
            missed.append(place)
    assert not missed


def _places(case: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield where the last number of every recorded array is."""
    for i, step in enumerate(case["steps"]):
        for part in ("out", "state", "trace", "rng"):
            for place in _last_numbers(step.get(part, {})):
                if place[-1] != "class":
                    yield ("steps", i, part, *place)


def _last_numbers(value: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from ((key, *place) for place in _last_numbers(item))
    elif isinstance(value, list) and value:
        last = len(value) - 1
        yield from ((last, *place) for place in _last_numbers(value[last]))
    elif isinstance(value, int | float):
        yield ()
