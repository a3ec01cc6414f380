"""What terms of a formula learn from the rows of a fit: means, spreads, knots."""

from __future__ import annotations

import numpy as np

from dyntree.encoding.bases import Basis, Polynomials, powers
from dyntree.encoding.formula_calls import Request, wrong
from dyntree.encoding.splines import b_spline, cubic_spline, natural_spline
from dyntree.encoding.values import LARGEST, Vector
from dyntree.errors import ArgumentError, Message


def statistic(what: str, values: Vector, label: str) -> float:
    """The mean of values, or their spread: the root of their mean square.

    Parameters
    ----------
    what : str
        "mean", or "spread" and what is taken from the number of values: "spread 1".
    values : ndarray of shape (n_rows,)
        Those that are missing or not finite do not count.
    label : str
        Of the factor, for errors.
    """
    values = usable(values, label)
    if what == "mean":
        return float(values.mean())
    n_free = len(values) - int(what.removeprefix("spread "))
    spread = np.sqrt((values**2).sum() / n_free) if n_free > 0 else 0.0
    if not spread > 0.0 or not np.isfinite(spread):
        raise ArgumentError(
            "data",
            "must have distinct values to be scaled in {label}",
            Message(
                "{n_values} of spread {spread}", n_values=len(values), spread=spread
            ),
            "Leave the scale out.",
            label=label,
        )
    return float(spread)


def usable(values: Vector, label: str) -> Vector:
    """Values that are finite."""
    found: Vector = values[np.abs(values) <= LARGEST]
    if not len(found):
        raise ArgumentError(
            "data",
            "must have a value in {label}, which is learned from the rows of the fit",
            Message("none"),
            "Fit it to rows that have some.",
            label=label,
        )
    return found


def learn_basis(request: Request, values: Vector, label: str) -> Basis:
    """The columns that a call asks for, over these values.

    Parameters
    ----------
    request : Request
    values : ndarray of shape (n_rows,)
        Those that are missing or not finite do not count.
    label : str
        Of the factor, for errors.
    """
    is_spline = request.name != "poly"
    if is_spline and request.get("df") is None and request.get("knots") is None:
        raise wrong(
            label, f"{request.name} df or knots", "neither", "Give df=, such as df=4"
        )
    values = usable(values, label)
    if not is_spline:
        return _polynomials(request, values, label)
    low = float(request.get("lower_bound", values.min()))
    high = float(request.get("upper_bound", values.max()))
    if not low < high:
        raise wrong(
            label, "a lower bound below the upper one", f"{low} and {high}",
            "Give lower_bound= and upper_bound=, or leave the term out",
        )  # fmt: skip
    has_constant = request.get("include_intercept", False)
    if request.name in ("cr", "cc"):
        knots = _distinct_knots(request, values, (low, high), label)
        return cubic_spline(knots, cyclic=request.name == "cc")
    if request.name == "bs":
        degree = request.get("degree", 3)
        n_fixed = degree + has_constant
        knots = _inner_knots(request, values, (low, high), n_fixed, label)
        spline = b_spline(knots, (low, high), degree)
        return spline if has_constant else spline.without_first()
    n_fixed = 1 + has_constant
    inside = values[(values >= low) & (values <= high)]
    knots = _inner_knots(request, inside, (low, high), n_fixed, label)
    return natural_spline(knots, (low, high), with_intercept=has_constant)


def _polynomials(request: Request, values: Vector, label: str) -> Basis:
    degree = request.get("degree", 1)
    n_distinct = len(np.unique(values))
    if degree < 1:
        raise wrong(label, "degree at least 1", degree, "Leave the term out")
    if request.get("raw", False):
        return powers(degree)
    if degree >= n_distinct:
        raise wrong(
            label, f"degree below {n_distinct}, the distinct values", degree,
            "Take a lower one, or raw=True",
        )  # fmt: skip
    return Polynomials.learn(values, degree)


def _inner_knots(
    request: Request,
    values: Vector,
    bounds: tuple[float, float],
    n_fixed: int,
    label: str,
) -> Vector:
    """Inner knots as they were given, or quantiles: as many as df asks for."""
    df, given = request.get("df"), request.get("knots")
    n_knots = len(given) if df is None else df - n_fixed
    if n_knots < 0 or n_fixed + n_knots < 1:
        passed = df if given is None else f"{n_fixed + n_knots} by its knots"
        raise wrong(label, f"df at least {max(n_fixed, 1)}", passed, "Give more")
    if given is None:
        shares = np.linspace(0.0, 1.0, n_knots + 2)[1:-1]
        given = np.quantile(usable(values, label), shares)
    return _checked_knots(np.sort(given), n_knots, bounds, label)


def _checked_knots(
    knots: Vector, n_knots: int, bounds: tuple[float, float], label: str
) -> Vector:
    """Knots within the bounds, as many as they must be."""
    if len(knots) != n_knots:
        raise wrong(
            label, f"{n_knots} inner knots, by its df", f"{len(knots)}",
            "Leave df or knots out",
        )  # fmt: skip
    if np.any(knots < bounds[0]) or np.any(knots > bounds[1]):
        raise wrong(
            label, f"knots from {bounds[0]} to {bounds[1]}", f"{knots.tolist()}",
            "Move them, or give lower_bound= and upper_bound=",
        )  # fmt: skip
    return np.asarray(knots, dtype=np.float64)


def _distinct_knots(
    request: Request, values: Vector, bounds: tuple[float, float], label: str
) -> Vector:
    """All knots of a cubic spline, outer ones included; none are equal."""
    df, given = request.get("df"), request.get("knots")
    n_fixed = 1 if request.name == "cc" else 2
    given = given and (*{*given},)
    n_knots = len(given) if df is None else df - n_fixed
    if n_knots < 0:
        raise wrong(label, f"df at least {n_fixed}", df, "Give more")
    if given is None:
        inside = np.unique(values[(values >= bounds[0]) & (values <= bounds[1])])
        shares = np.linspace(0.0, 1.0, n_knots + 2)[1:-1]
        given = np.quantile(usable(inside, label), shares)
    inner = _checked_knots(np.sort(given), n_knots, bounds, label)
    knots = np.unique(np.r_[bounds[0], inner, bounds[1]])
    if len(knots) != n_knots + 2 or len(knots) < 2 + (request.name == "cc"):
        raise wrong(
            label, f"{max(n_knots, 1) + 2} distinct knots with the bounds",
            f"{knots.tolist()}", "Take another df, or give knots inside the bounds",
        )  # fmt: skip
    return knots
