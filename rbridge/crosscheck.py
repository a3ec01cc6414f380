"""The same steps in both engines from the same seed, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import dynatree
from .session import Session, default_session

Step = str | tuple[str, Mapping[str, Any]]
BOUND = 1e-8
_BOUNDS = {"sens": 1e-6, "treestats": 1e-12, "varpropuse": 1e-12, "varproptotal": 1e-12}
_LOOK = ("treestats", "varpropuse", "varproptotal")
_OWN = ("time", "num", "verb")  # each engine's own, not part of the answer
_STEPS = (
    "update", "retire", "rejuvenate", "copy", "predict", "coef", "classprobs",
    "sameleaf", "intervals", "alc", "alcX", "alcalc", "entropyX", "ieci", "qEI",
    "qEntropy", "relevance", "sens", *_LOOK,
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """One quantity after one step.

    Attributes
    ----------
    step : int
        Which step, 0 for the fit.
    name, quantity : str
        The step's function, and the field or answer compared; "stream" is the state of
        the random numbers after the step.
    size : int
        How many numbers.
    absolute, relative : float
        Largest absolute difference, and that over max(1, largest value in R); inf where
        sizes or the places of NaN and infinities differ.
    bound : float
        What `relative` may be.
    """

    step: int
    name: str
    quantity: str
    size: int
    absolute: float
    relative: float
    bound: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the bound."""
        return self.relative <= self.bound


@dataclass(frozen=True)
class Report:
    """What `crosscheck` found.

    Attributes
    ----------
    seed : int
        The seed of both engines.
    versions : dict
        R, its BLAS, the package and the bridge (`Session.versions`).
    comparisons : tuple of Comparison
        Every quantity that a step made or changed, in order.
    """

    seed: int
    versions: dict[str, Any]
    comparisons: tuple[Comparison, ...]

    @property
    def draw_for_draw(self) -> bool:
        """Whether all agrees, the streams after each step included."""
        return self.first_difference is None

    @property
    def first_difference(self) -> Comparison | None:
        """The first quantity beyond its bound."""
        return next((one for one in self.comparisons if not one.agrees), None)

    @property
    def worst(self) -> Comparison:
        """The quantity with the largest relative difference."""
        return max(self.comparisons, key=lambda one: one.relative)

    def summary(self) -> str:
        """Return the report as text, a line for each quantity."""
        known = self.versions
        lines = [
            f"CRAN dynaTree {known['dynaTree']} and dyntree from seed {self.seed}",
            f"{known['R']}, BLAS {known['BLAS']}, backend {known['backend']}",
            "",
            f"{'step':<18}{'quantity':<14}{'size':>7}{'absolute':>11}{'relative':>11}",
        ]
        for one in self.comparisons:
            lines.append(
                f"{f'{one.step} {one.name}':<18}{one.quantity:<14}{one.size:>7}"
                f"{one.absolute:>11.2e}{one.relative:>11.2e}"
                f"{'' if one.agrees else '  DIFFERS'}"
            )
        first = self.first_difference
        verdict = (
            f"draw for draw; largest relative difference {self.worst.relative:.2e} "
            f"({self.worst.quantity}, step {self.worst.step})"
            if first is None
            else f"not draw for draw: {first.quantity} differs first, at step "
            f"{first.step} ({first.name})"
        )
        return "\n".join([*lines, "", verdict])

    def to_frame(self) -> Any:
        """Return the comparisons as a pandas DataFrame, a row for each."""
        import pandas as pd

        return pd.DataFrame([{**vars(c), "agrees": c.agrees} for c in self.comparisons])


def crosscheck(
    X: ArrayLike,
    y: ArrayLike,
    *,
    seed: int = 1,
    model: str = "constant",
    options: Mapping[str, Any] | None = None,
    steps: Sequence[Step] = (),
    session: Session | None = None,
) -> Report:
    """Run the same operations in CRAN dynaTree and in dyntree and compare.

    Parameters
    ----------
    X, y : array_like of shape (n_rows, n_inputs) and (n_rows,)
        The rows of the fit.
    seed : int, default 1
        What both streams are opened with.
    model : {"constant", "linear", "class", "prior"}
        Leaf model.
    options : mapping of str to object, optional
        Further arguments of `dynaTree`, such as ``{"N": 30, "icept": "augmented"}``.
    steps : sequence of str or (str, mapping)
        Functions of `rbridge.dynatree` to call after the fit, with their arguments by
        name; the object is put in. Each works on the object of the step before.
    session : Session, optional
        The R to use; default the embedded one where rpy2 is installed, else an Rscript.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If a step is unknown, or either engine refuses it.
    RError
        If the real package raises an error.

    Notes
    -----
    After each step that changes the cloud, `treestats`, `varpropuse` and `varproptotal`
    are compared too; they draw nothing. A quantity agrees if the largest difference is
    within 1e-8 of max(1, largest value), for `sens` 1e-6, for tree statistics 1e-12;
    streams must be equal.

    Some answers of the real package are undefined and should not be compared: `alc`
    with `Xref` and `ieci` without `probs`, and columns of `coef` that `sb` leaves out.

    Examples
    --------
    >>> import rbridge
    >>> report = rbridge.crosscheck(  # doctest: +SKIP
    ...     X, y, options={"N": 30}, steps=[("predict", {"XX": X}), "relevance"]
    ... )
    >>> print(report.summary())  # doctest: +SKIP
    """
    plan = [_checked(step) for step in steps]
    running = session or default_session()
    arguments: dict[str, Any] = {"X": X, "y": y, "model": model, "seed": seed}
    arguments |= {"verb": 0, **(options or {})}
    theirs = dynatree.dynaTree(**arguments, engine="R", session=running)
    ours = dynatree.dynaTree(**arguments, engine="dyntree")
    found = _compared(0, "dynaTree", _fields(theirs), _fields(ours))
    found += _looked(0, "dynaTree", theirs, ours)
    for number, (name, given) in enumerate(plan, start=1):
        function = getattr(dynatree, name)
        answers = function(theirs, **given), function(ours, **given)
        if isinstance(answers[0], dynatree.RDynaTree):
            now = [_fields(answer) for answer in answers]
            before = [_fields(obj) for obj in (theirs, ours)]
            same = _unchanged(now[0], before[0]) & _unchanged(now[1], before[1])
            found += _compared(number, name, *(_without(each, same) for each in now))
            theirs, ours = answers
        else:
            found += _compared(number, name, *({name: _numbers(a)} for a in answers))
        if name in ("update", "retire", "rejuvenate", "copy"):
            found += _looked(number, name, theirs, ours)
        found.append(_streams(number, name, theirs, ours))
    return Report(seed, running.versions(), tuple(found))


def _checked(step: Step) -> tuple[str, dict[str, Any]]:
    name, given = (step, {}) if isinstance(step, str) else (step[0], dict(step[1]))
    if name not in _STEPS:
        raise ValueError(f"steps must be of {', '.join(_STEPS)}; got {name!r}.")
    takes_verb = name in ("update", "rejuvenate")
    return name, {"verb": 0, **given} if takes_verb else given


def _fields(obj: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    numbers = {name: _numbers(obj[name]) for name in obj if name not in _OWN}
    return {name: found for name, found in numbers.items() if found.size}


def _unchanged(
    now: Mapping[str, NDArray[np.float64]], before: Mapping[str, NDArray[np.float64]]
) -> set[str]:
    return {
        name
        for name, value in now.items()
        if name in before and np.array_equal(value, before[name], equal_nan=True)
    }


def _without(
    fields: dict[str, NDArray[np.float64]], names: set[str]
) -> dict[str, NDArray[np.float64]]:
    return {name: value for name, value in fields.items() if name not in names}


def _numbers(value: Any) -> NDArray[np.float64]:
    """Return all numbers of an answer in R's order; none for words."""
    if value is None or isinstance(value, str):
        return np.empty(0)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return np.concatenate([np.empty(0), *map(_numbers, value)])
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return np.empty(0)
    return array.astype(np.float64).ravel(order="F")


def _compared(
    step: int,
    name: str,
    theirs: Mapping[str, NDArray[np.float64]],
    ours: Mapping[str, NDArray[np.float64]],
) -> list[Comparison]:
    bound = _BOUNDS.get(name, BOUND)
    quantities = dict.fromkeys([*theirs, *ours])
    nothing = np.empty(0)
    return [
        _comparison(
            step, name, key, theirs.get(key, nothing), ours.get(key, nothing), bound
        )
        for key in quantities
    ]


def _looked(step: int, name: str, theirs: Any, ours: Any) -> list[Comparison]:
    """Compare the trees, and after the fit the streams."""
    found = []
    for look in _LOOK:
        of = getattr(dynatree, look)
        numbers = _numbers(of(theirs)), _numbers(of(ours))
        found.append(_comparison(step, name, look, *numbers, _BOUNDS[look]))
    return found if step else [*found, _streams(step, name, theirs, ours)]


def _streams(step: int, name: str, theirs: Any, ours: Any) -> Comparison:
    states = _numbers(theirs.rng.state), _numbers(ours.rng.state)
    return _comparison(step, name, "stream", *states, 0.0)


def _comparison(
    step: int,
    name: str,
    quantity: str,
    theirs: NDArray[np.float64],
    ours: NDArray[np.float64],
    bound: float,
) -> Comparison:
    absolute = relative = np.inf
    if theirs.shape == ours.shape:
        finite = np.isfinite(theirs) & np.isfinite(ours)
        if np.array_equal(theirs[~finite], ours[~finite], equal_nan=True):
            gaps = np.abs(theirs[finite] - ours[finite])
            absolute = float(gaps.max(initial=0.0))
            relative = absolute / float(np.abs(theirs[finite]).max(initial=1.0))
    return Comparison(step, name, quantity, theirs.size, absolute, relative, bound)
