"""The answers of one engine to a sequence of operations, as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dynatree

Numbers = NDArray[np.float64]
Plan = Sequence[tuple[str, Mapping[str, Any]]]
_LOOK = ("treestats", "varpropuse", "varproptotal")
_OWN = ("time", "num", "verb")  # each engine's own, not part of the answer
_CHANGES = ("update", "retire", "rejuvenate", "copy")
STEPS = (
    *_CHANGES, "predict", "coef", "classprobs", "sameleaf", "intervals", "alc", "alcX",
    "alcalc", "entropyX", "ieci", "qEI", "qEntropy", "relevance", "sens", *_LOOK,
)  # fmt: skip


@dataclass(frozen=True)
class StepAnswers:
    """Results of one step.

    Attributes
    ----------
    name : str
        The function of the step.
    quantities : dict of str to ndarray
        Fields or the result, tree statistics after changes, and "stream", the state of
        the random numbers.
    unchanged : set of str
        Fields that are the same as in the previous step.
    """

    name: str
    quantities: dict[str, Numbers]
    unchanged: set[str]


def trace(arguments: Mapping[str, Any], plan: Plan) -> list[StepAnswers]:
    """Fit, then run the steps of a plan, each with the object of the previous step.

    Parameters
    ----------
    arguments : mapping of str to object
        Those of `rbridge.dynatree.dynaTree`, including engine and session.
    plan : sequence of (str, mapping)
        Functions of `rbridge.dynatree` and their arguments by name.

    Returns
    -------
    list of StepAnswers
        One element for each step. The first is the fit.
    """
    obj = dynatree.dynaTree(**arguments)
    found = [StepAnswers("dynaTree", _fields(obj) | _looked(obj) | _stream(obj), set())]
    for name, given in plan:
        answer, unchanged = getattr(dynatree, name)(obj, **given), set()
        if isinstance(answer, Mapping) and hasattr(answer, "rng"):
            before, numbers = _fields(obj), _fields(answer)
            unchanged = {
                key
                for key, value in numbers.items()
                if key in before and np.array_equal(value, before[key], equal_nan=True)
            }
            obj = answer
        else:
            numbers = {name: numbers_of(answer)}
        looked = _looked(obj) if name in _CHANGES else {}
        found.append(StepAnswers(name, numbers | looked | _stream(obj), unchanged))
    return found


def checked_plan(steps: Sequence[str | tuple[str, Mapping[str, Any]]]) -> Plan:
    """Return steps with their arguments; raise ValueError for an unknown one."""
    plan = []
    for step in steps:
        name, given = (step, {}) if isinstance(step, str) else (step[0], dict(step[1]))
        if name not in STEPS:
            raise ValueError(f"steps must be of {', '.join(STEPS)}; got {name!r}.")
        takes_verb = name in ("update", "rejuvenate")
        plan.append((name, {"verb": 0, **given} if takes_verb else given))
    return plan


def numbers_of(value: Any) -> Numbers:
    """Return all numbers of an answer in R's order; none for words."""
    if value is None or isinstance(value, str):
        return np.empty(0)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return np.concatenate([np.empty(0), *map(numbers_of, value)])
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return np.empty(0)
    return array.astype(np.float64).ravel(order="F")


def _fields(obj: Mapping[str, Any]) -> dict[str, Numbers]:
    numbers = {name: numbers_of(obj[name]) for name in obj if name not in _OWN}
    return {name: found for name, found in numbers.items() if found.size}


def _looked(obj: Any) -> dict[str, Numbers]:
    return {look: numbers_of(getattr(dynatree, look)(obj)) for look in _LOOK}


def _stream(obj: Any) -> dict[str, Numbers]:
    return {"stream": numbers_of(obj.rng.state)}
