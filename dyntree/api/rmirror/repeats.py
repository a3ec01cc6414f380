"""dynaTrees: one model over several orders of the rows; getBF compares two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from .arguments import as_count, as_flag, as_permutation, as_verb, real_array
from .combine import Extras, combine
from .fit import FitPlan, plan_fit, run_fit
from .record import DynaTree
from .stream import RStream, check_seed_or_rng, choose_stream


def dynaTrees(
    X: ArrayLike,
    y: ArrayLike,
    N: int = 1000,
    R: int = 10,
    sub: int | None = None,
    model: str = "constant",
    nu0s20: ArrayLike = (0, 0),
    ab: ArrayLike = (0.95, 2),
    minp: int | None = None,
    sb: ArrayLike | None = None,
    nstart: int | str | None = "minp",
    icept: str = "implicit",
    rprop: str = "luvar",
    XX: ArrayLike | str | None = None,
    yy: ArrayLike | None = None,
    varstats: bool = False,
    lhs: Mapping[str, ArrayLike] | None = None,
    plotit: bool = False,
    proj: int = 1,
    rorder: ArrayLike | bool = True,
    verb: int | None = None,
    pverb: int | None = None,
    *,
    quants: bool = True,
    ei: bool = False,
    cls: ArrayLike | None = None,
    nns: int = 1000,
    nME: int = 100,
    span: float = 0.3,
    method: str = "lhs",
    categ: ArrayLike | None = None,
    rect: ArrayLike | None = None,
    approx: bool = False,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Fit the same model to `R` orders of the rows and combine the results.

    Parameters
    ----------
    X, y, N
        As in `dynaTree`. `N` is the number of particles in each repeat.
    R : int, default 10
        Number of repeats, >= 2.
    sub : int, optional
        Number of rows to use, the first ones; by default all.
    model, nu0s20, ab, minp, sb
        As in `dynaTree`.
    nstart : int, "minp" or None, default "minp"
        As in `dynaTree`, except that "minp" without a `minp` means twice the default of
        `minp`, as in R.
    icept, rprop
        As in `dynaTree`.
    XX : array_like or data frame of shape (n_new, n_inputs) or "sens", optional
        Rows to predict in each repeat. "sens" runs `sens` in each repeat.
    yy : array_like of shape (n_new,), optional
        Responses at which to compute the predictive density.
    varstats : bool, default False
        Whether to compute `varpropuse`, `varproptotal` and `relevance`.
    lhs : mapping, optional
        As in `sens`.
    plotit : bool, default False
        True raises an error, because there is no device to draw on; see `plot`.
    proj : int, default 1
        The input to plot against. It is not used.
    rorder : array_like of int of shape (sub, R - 1), or bool, default True
        Orders of repeats 2 to R, one in each column, counted from 1. True and False
        both draw random orders, as in R.
    verb : int, optional
        Print a line every `verb` rows; by default every ``round(sub / 10)`` rows.
    pverb : int, optional
        Print a line every `pverb` particles; by default every ``round(N / 10)``
        particles.
    quants, ei
        As in `predict`. R passes these and the following ones through ``...``.
    cls, nns, nME, span, method, categ
        As in `sens`. `categ` is also used by `relevance`.
    rect, approx
        As in `relevance`.
    seed : int, optional
        Seed of a new stream, as in ``set.seed(seed)``.
    rng : RStream, optional
        The stream from which to draw.

    Returns
    -------
    DynaTree
        An object without a cloud. N is the total number of particles. lpred, mean,
        vmean, var, df, q1, q2, ei, entropy and yypred have a column for each repeat; p,
        MEmean, MEq1 and MEq2 are averages over the repeats. S, T and relevance contain
        the rows of the repeats one below the other. vpu and vpt have a row for each
        repeat. X and y are those of repeat 1. R is the number of repeats.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule. No random number is then drawn.
    NotImplementedError
        If `plotit` is True.

    Notes
    -----
    See the R help topic ``dynaTrees``. Repeat 1 uses the rows in the order given. As in
    R, all repeats draw from one stream, in which each continues where the last one
    ended. They can therefore not run in parallel. ``dyntree.fit_repeats`` can, with a
    seed for each.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTrees
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTrees(x, x, N=5, R=3, XX=[0.2, 0.8], verb=0, pverb=0, seed=1)
    >>> fit.N, fit.lpred.shape, fit.mean.shape
    (15, (20, 3), (2, 3))
    """
    check_seed_or_rng(seed, rng)
    if as_flag(plotit, "plotit"):
        raise NotImplementedError(
            "plotit must be False, because there is no device to draw on; got True. "
            "Call plot() with what dynaTrees() returns."
        )
    as_count(proj, "proj")
    n_repeats = as_count(R, "R", 2)
    start = None if minp is None and nstart == "minp" else nstart
    plan = plan_fit(X, y, N, model, nu0s20, ab, minp, sb, start, icept, rprop, sub=sub)
    extras = Extras(
        XX=XX, yy=yy, varstats=as_flag(varstats, "varstats"),
        pverb=as_verb(pverb, plan.n_particles, "pverb"), quants=quants, ei=ei, cls=cls,
        nns=nns, nME=nME, span=span, method=method, lhs=lhs, categ=categ, rect=rect,
        approx=approx,
    )  # fmt: skip
    every = as_verb(verb, plan.y.size)
    stream = choose_stream(seed, rng, None)
    return fit_orders(plan, extras, n_repeats, rorder, every, stream, run_fit)


def fit_orders(
    plan: FitPlan,
    extras: Extras,
    n_repeats: int,
    rorder: ArrayLike | bool,
    every: int,
    stream: RStream,
    run: Callable[[FitPlan, int, RStream], DynaTree],
) -> DynaTree:
    """Run a plan on several orders of its rows and combine what they say."""
    extras.check(plan)
    n_rows = plan.y.size
    given = _given_orders(rorder, n_rows, n_repeats)
    n_draws = n_rows * (n_repeats - 1)
    orders = _random_orders(stream.ahead(n_draws), n_rows) if given is None else given
    plans = [plan.reordered(order) for order in (np.arange(n_rows), *orders)]
    if given is None:
        stream.uniforms(n_draws)
    repeats = []
    for r, repeat in enumerate(plans):
        if every > 0:
            print(f"\nround {r + 1}:")
        repeats.append(extras.ask(run(repeat, every, stream)))
    if every > 0:
        print()
    return combine(repeats)


def getBF(obj1: Mapping[str, Any], obj2: Mapping[str, Any]) -> NDArray[np.float64]:
    """Log Bayes factor of one fit over another, row by row.

    Parameters
    ----------
    obj1, obj2 : DynaTree
        Fits of the same rows, by `dynaTree` or by `dynaTrees` with the same R.

    Returns
    -------
    ndarray of shape (n_rows, R)
        Cumulative differences of lpred, from the first row that both fits predict.

    Raises
    ------
    ValueError
        If the numbers of rows or repeats differ, or a fit has no predictive densities.

    Notes
    -----
    See the R help topic ``getBF``, and Taddy, Gramacy and Polson (2011), section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, getBF
    >>> x = np.linspace(0, 1, 30)
    >>> y = x + 0.1 * np.sin(40 * x)
    >>> constant = dynaTree(x, y, N=20, verb=0, seed=1)
    >>> linear = dynaTree(x, y, N=20, model="linear", verb=0, seed=1)
    >>> getBF(linear, constant).shape
    (30, 1)
    """
    first, second = _log_predictive(obj1, "obj1"), _log_predictive(obj2, "obj2")
    if first.shape != second.shape:
        raise ValueError(
            Message(
                "obj1 and obj2 must have as many rows and repeats in lpred; got "
                "{shape} and {shape_2}.",
                shape=first.shape,
                shape_2=second.shape,
            )
        )
    answer = np.zeros_like(first)
    for r in range(first.shape[1]):
        start = max(np.flatnonzero(fit[:, r])[0] for fit in (first, second))
        gains = [np.cumsum(fit[start:, r]) for fit in (first, second)]
        answer[start:, r] = gains[0] - gains[1]
    return answer


def _given_orders(
    rorder: ArrayLike | bool, n_rows: int, n_repeats: int
) -> list[NDArray[np.int64]] | None:
    if isinstance(rorder, bool | np.bool_):
        return None
    matrix = real_array(rorder, "rorder")
    if matrix.ndim < 2:
        matrix = matrix.reshape(-1, 1)
    if matrix.shape != (n_rows, n_repeats - 1):
        raise ArgumentError(
            "rorder",
            f"must be True, False or of shape ({n_rows}, {n_repeats - 1}), a column "
            "for each repeat but the first",
            Message("shape {shape}", shape=matrix.shape),
        )
    return [
        as_permutation(column, f"column {j + 1} of rorder", n_rows)
        for j, column in enumerate(matrix.T)
    ]


def _random_orders(
    uniforms: NDArray[np.float64], n_rows: int
) -> list[NDArray[np.int64]]:
    return [
        np.argsort(column, kind="stable") for column in uniforms.reshape(-1, n_rows)
    ]


def _log_predictive(obj: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    if not isinstance(obj, Mapping) or "lpred" not in obj:
        raise ArgumentError(name, "must have the field lpred; fit with dynaTree()")
    lpred = real_array(obj["lpred"], f"lpred of {name}")
    lpred = lpred.reshape(len(lpred), -1)
    if not np.all(np.any(lpred != 0, axis=0)):
        raise ArgumentError(
            name,
            "must hold predictive densities; its lpred is all zero, as it is with "
            "N=1 particle or model='prior'",
        )
    return lpred
