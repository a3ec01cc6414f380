"""The same steps in both engines from the same seed, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .report import Agreement, Comparison, Report
from .session import Session, default_session
from .trace import Numbers, Plan, StepAnswers, checked_plan, trace

Step = str | tuple[str, Mapping[str, Any]]
BOUND = 1e-8
SENS_BOUND = 1e-6
_LEAST_SEEDS = 20
_BOUNDS = {
    "treestats": 1e-12,
    "varpropuse": 1e-12,
    "varproptotal": 1e-12,
    "stream": 0.0,
}


def crosscheck(
    X: ArrayLike,
    y: ArrayLike,
    *,
    seed: int = 1,
    model: str = "constant",
    options: Mapping[str, Any] | None = None,
    steps: Sequence[Step] = (),
    session: Session | None = None,
    n_seeds: int = 0,
    level: float = 0.001,
) -> Report:
    """Run the same operations in CRAN dynaTree and in dyntree and compare.

    Parameters
    ----------
    X, y : array_like of shape (n_rows, n_inputs) and (n_rows,)
        The rows of the fit.
    seed : int, default 1
        Seed of both streams.
    model : {"constant", "linear", "class", "prior"}
        The model in each leaf.
    options : mapping of str to object, optional
        Further arguments of `dynaTree`, such as ``{"N": 30, "icept": "augmented"}``.
    steps : sequence of str or (str, mapping)
        Functions of `rbridge.dynatree` to call after the fit, with their arguments by
        name, apart from the object. Each uses the object of the previous step.
    session : Session, optional
        The R to use. The default is the embedded one if rpy2 is installed, else an
        Rscript.
    n_seeds : int, default 0
        If results differ bit by bit: number of seeds with which each engine is run
        again, for two-sample tests of every quantity.
    level : float, default 0.001
        Largest probability that these tests together find a difference if there is
        none.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If a step is unknown, or an engine refuses it, `n_seeds` is too small for any
        test to reach the level, or `seed` is None, with which nothing is compared.
    RError
        If the real package raises an error.

    Notes
    -----
    After each step that changes the cloud, `treestats`, `varpropuse` and
    `varproptotal`, which use no random numbers, are compared, too. A quantity agrees if
    the largest difference is within 1e-8 of max(1, largest value), or 1e-6 for `sens`,
    or 1e-12 for tree statistics. Streams must be equal.

    Some results of the real package are undefined and should not be compared: `alc`
    with `Xref` and `ieci`, both without `probs`, and columns of `coef` that `sb` leaves
    out.

    Results cannot be equal bit by bit if R uses a BLAS other than the reference one.
    The tests are then Kolmogorov-Smirnov tests between the engines, each with its own
    seeds, of the mean of a quantity's finite numbers. Holm's bound applies to all tests
    together.

    Examples
    --------
    >>> import rbridge
    >>> report = rbridge.crosscheck(  # doctest: +SKIP
    ...     X, y, options={"N": 30}, steps=[("predict", {"XX": X}), "relevance"]
    ... )
    >>> print(report.summary())  # doctest: +SKIP
    """
    plan = checked_plan(steps)
    if seed is None:
        raise ValueError(
            "seed must be a whole number; got None, with which each engine would draw "
            "a seed of its own, so that nothing can be compared. Give seed=1."
        )
    if n_seeds and n_seeds < _LEAST_SEEDS:
        raise ValueError(
            f"n_seeds must be 0, or at least {_LEAST_SEEDS} for the tests to show "
            f"anything; got {n_seeds}."
        )
    running = session or default_session()
    arguments: dict[str, Any] = {"X": X, "y": y, "model": model, "verb": 0}
    arguments |= dict(options or {})
    in_r = {**arguments, "engine": "R", "session": running}
    here = {**arguments, "engine": "dyntree"}
    theirs, ours = (trace({**one, "seed": seed}, plan) for one in (in_r, here))
    compared = tuple(_compared(theirs, ours))
    agreements: tuple[Agreement, ...] = ()
    if n_seeds and not all(one.agrees for one in compared):
        samples = [
            [_means({**one, "seed": first + k}, plan) for k in range(n_seeds)]
            for one, first in ((in_r, seed + 1), (here, seed + 1 + n_seeds))
        ]
        agreements = tuple(_agreements(*samples))
    return Report(seed, running.versions(), compared, agreements, n_seeds, level)


def _compared(
    theirs: Sequence[StepAnswers], ours: Sequence[StepAnswers]
) -> list[Comparison]:
    """Compare what either engine made or changed, step by step."""
    found, nothing = [], np.empty(0)
    for step, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        same = one.unchanged & other.unchanged
        for key in dict.fromkeys([*one.quantities, *other.quantities]):
            if key not in same:
                pair = (each.quantities.get(key, nothing) for each in (one, other))
                found.append(_comparison(step, one.name, key, *pair))
    return found


def _comparison(
    step: int, name: str, quantity: str, theirs: Numbers, ours: Numbers
) -> Comparison:
    bound = _BOUNDS.get(quantity, SENS_BOUND if name == "sens" else BOUND)
    absolute = relative = np.inf
    if theirs.shape == ours.shape:
        finite = np.isfinite(theirs) & np.isfinite(ours)
        if np.array_equal(theirs[~finite], ours[~finite], equal_nan=True):
            gaps = np.abs(theirs[finite] - ours[finite])
            absolute = float(gaps.max(initial=0.0))
            relative = absolute / float(np.abs(theirs[finite]).max(initial=1.0))
    return Comparison(step, name, quantity, theirs.size, absolute, relative, bound)


Means = dict[tuple[int, str, str], float]


def _means(arguments: dict[str, Any], plan: Plan) -> Means:
    """Return the mean of each quantity's finite numbers, by step, name and quantity."""
    found = {}
    for step, one in enumerate(trace(arguments, plan)):
        for key, numbers in one.quantities.items():
            finite = numbers[np.isfinite(numbers)]
            if key not in one.unchanged and key != "stream" and finite.size:
                found[step, one.name, key] = float(finite.mean())
    return found


def _agreements(theirs: list[Means], ours: list[Means]) -> list[Agreement]:
    """Test each quantity that varies with the seed or between engines."""
    from scipy.stats import ks_2samp

    found = []
    for key in dict.fromkeys(key for one in (*theirs, *ours) for key in one):
        a, b = (
            np.array([one.get(key, np.nan) for one in sample])
            for sample in (theirs, ours)
        )
        if not np.ptp(np.r_[a, b]) > 1e-12 * max(1.0, np.abs(a).max()):
            continue  # the rows of X, for one
        p = float(ks_2samp(a, b).pvalue)
        found.append(Agreement(*key, float(a.mean()), float(b.mean()), p))
    return found
