"""dynaTree: every check on a fit's arguments, then the fit itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from . import engine
from .arguments import as_count, as_numbers, as_verb, match_arg
from .handles import Handle
from .inputs import (
    InputSpec,
    Names,
    as_labels,
    as_matrix,
    as_responses,
    augment,
)
from .progress import print_step
from .record import DynaTree
from .stream import RStream, check_seed_or_rng, choose_stream

MODELS = ("constant", "linear", "class", "prior")
INTERCEPTS = ("implicit", "augmented", "none")
PROPOSALS = ("luvar", "luall", "reject")
_PROPOSAL_CODES = {"luall": 1, "luvar": 2, "reject": 3}


@dataclass(frozen=True)
class FitPlan:
    """The checked arguments of one fit; `X` is augmented, `y` counts classes from 0."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    spec: InputSpec
    n_particles: int
    model: str
    variance_prior: tuple[float, float]
    tree_prior: tuple[float, float]
    minp: int
    sb: tuple[int, int]
    nstart: int
    icept: str
    rprop: str

    def reordered(self, order: NDArray[np.int64]) -> FitPlan:
        """Return the plan for these rows in this order."""
        plan = replace(self, X=self.X[order], y=self.y[order])
        plan.check_start()
        return plan

    def check_start(self) -> None:
        """Raise unless the first minp responses differ, as R's regression needs."""
        if self.nstart and self.model in ("constant", "linear"):
            first = self.y[: self.minp]
            if np.unique(first).size < 2:
                raise ValueError(
                    Message(
                        "the first minp = {minp} entries of y must hold at least two "
                        "distinct values; all are {first:g}. Reorder the rows or "
                        "raise minp.",
                        minp=self.minp,
                        first=first[0],
                    )
                )


def dynaTree(
    X: ArrayLike,
    y: ArrayLike,
    N: int = 1000,
    model: str = "constant",
    nu0s20: ArrayLike = (0, 0),
    ab: ArrayLike = (0.95, 2),
    minp: int | None = None,
    sb: ArrayLike | None = None,
    nstart: int | str | None = "minp",
    icept: str = "implicit",
    rprop: str = "luvar",
    verb: int | None = None,
    *,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Fit a dynamic tree by particle learning, row by row.

    Parameters
    ----------
    X : array_like or data frame of shape (n_rows, n_inputs)
        Numeric inputs. A vector is one column. Column names are retained.
    y : array_like of shape (n_rows,)
        Responses. For ``model="class"`` they are labels 1, 2, ...
        (rounded half to even) or a pandas categorical.
    N : int, default 1000
        Number of particles, >= 1.
    model : {"constant", "linear", "class", "prior"}
        The model in each leaf. Unique prefixes are allowed, here and for other options.
    nu0s20 : array_like of shape (2,), default (0, 0)
        Prior of the variance in a leaf. Both numbers are >= 0, and the second must be 0
        if the first is.
    ab : array_like of shape (2,), default (0.95, 2)
        Tree prior: a node at depth d splits with probability ``a * (1 + d)**-b``, where
        0 <= a < 1 and b > 0.
    minp : int, optional
        Smallest number of rows in a leaf. The default is 4 for constant leaves,
        ``2 * sb[1] + 4`` for linear ones, and else 1.
    sb : array_like of shape (2,), optional
        Linear models only: first input that may be split on, and number of leading
        inputs in linear leaves. Both are counted from 1. The default is (1, n_inputs).
    nstart : int, "minp" or None, default "minp"
        Number of rows in the first leaf, >= minp and < n_rows. None means ``2 * minp``,
        like an explicit NULL in R.
    icept : {"implicit", "augmented", "none"}
        Intercept of linear leaves. "augmented" stores a column of ones.
    rprop : {"luvar", "luall", "reject"}
        How splits are proposed.
    verb : int, optional
        Print a line every `verb` rows, or none if it is 0. The default is
        ``round(n_rows / 10)``.
    seed : int, optional
        Seed of a new stream, as in ``set.seed(seed)``.
    rng : RStream, optional
        The stream from which to draw. Without `seed` and `rng`, a new seed is chosen,
        which is retained as ``result.rng.seed``.

    Returns
    -------
    DynaTree
        An object with the fields m, N, X, y, model, params, nstart, verb, lpred, num,
        time, classes (class models) and icept.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule above, or X or y is not finite. No random number is
        then drawn.

    Notes
    -----
    See the R help topic ``dynaTree``, and Taddy, Gramacy and Polson (2011), Dynamic
    Trees for Learning and Design, JASA 106. lpred is the log of the average predictive
    density over the particles, for each row before it is learned. It is 0 for the first
    nstart rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, predict
    >>> x = np.linspace(0, 1, 40)
    >>> fit = dynaTree(x, np.sin(6 * x), N=20, verb=0, seed=1)
    >>> predict(fit, [0.25, 0.75]).mean.round().tolist()
    [1.0, -1.0]
    """
    check_seed_or_rng(seed, rng)
    plan = plan_fit(X, y, N, model, nu0s20, ab, minp, sb, nstart, icept, rprop)
    plan.check_start()
    every = as_verb(verb, plan.y.size)
    return run_fit(plan, every, choose_stream(seed, rng, None))


def plan_fit(
    X: ArrayLike,
    y: ArrayLike,
    N: int,
    model: str,
    nu0s20: ArrayLike,
    ab: ArrayLike,
    minp: int | None,
    sb: ArrayLike | None,
    nstart: int | str | None,
    icept: str,
    rprop: str,
    sub: int | None = None,
    gaps: bool = False,
) -> FitPlan:
    """Check the arguments of a fit to the first `sub` rows, R's checks in R's order.

    That the first responses differ is left to `FitPlan.check_start`, as it depends on
    the order of the rows. With `gaps` X may have missing values.
    """
    matrix, columns = as_matrix(X, "X", gaps)
    n_inputs = matrix.shape[1]
    model = match_arg(model, "model", MODELS)
    response, levels = _fit_responses(y, model, matrix.shape[0])
    rows = _checked_sub(sub, matrix.shape[0])
    matrix, response = matrix[:rows], response[:rows]
    basis = _checked_sb(sb, model, n_inputs)
    least = _checked_minp(minp, model, basis)
    start = _checked_nstart(nstart, least, rows)
    icept = match_arg(icept, "icept", INTERCEPTS)
    if icept != "implicit" and model != "linear":
        raise ValueError(
            Message(
                "icept={icept!r} needs model='linear'; got model={model!r}. Leave "
                "icept at 'implicit'.",
                icept=icept,
                model=model,
            )
        )
    augmented = icept == "augmented"
    if augmented:
        matrix, basis = augment(matrix), (basis[0] + 1, basis[1] + 1)
    return FitPlan(
        X=matrix,
        y=response,
        spec=InputSpec(
            n_inputs=n_inputs,
            augmented=augmented,
            columns=columns,
            n_classes=int(response.max()) + 1 if model == "class" else 0,
            levels=levels,
            gaps=gaps,
        ),
        minp=least,
        variance_prior=_checked_variance_prior(nu0s20),
        tree_prior=_checked_tree_prior(ab),
        n_particles=as_count(N, "N"),
        model=model,
        sb=basis,
        nstart=start,
        icept=icept,
        rprop=match_arg(rprop, "rprop", PROPOSALS),
    )


def run_fit(plan: FitPlan, verb: int, stream: RStream) -> DynaTree:
    """Start a cloud, learn the rows and make R's object of it."""
    began = time.perf_counter()
    cloud = engine.Cloud(
        stream.source,
        model=plan.model,
        n_features=plan.X.shape[1],
        n_particles=plan.n_particles,
        min_leaf=plan.minp,
        tree_prior=plan.tree_prior,
        proposal=plan.rprop,
        variance_prior=plan.variance_prior,
        intercept=plan.icept == "implicit",
        n_basis=plan.sb[1],
        first_split=plan.sb[0] - 1,
        n_classes=plan.spec.n_classes,
    )
    cloud.start(plan.X[: plan.nstart], plan.y[: plan.nstart])
    lpred = cloud.update(
        plan.X[plan.nstart :], plan.y[plan.nstart :], max(verb, 0), print_step
    )
    elapsed = time.perf_counter() - began
    return wrapped(
        plan, cloud, verb, np.r_[np.zeros(plan.nstart), lpred], elapsed, stream
    )


def wrapped(
    plan: FitPlan,
    cloud: Any,
    verb: int,
    lpred: NDArray[np.float64],
    elapsed: float,
    stream: RStream,
) -> DynaTree:
    """Return R's object of a cloud that has learned the rows of a plan."""
    handle = Handle(cloud)
    return DynaTree(
        _fields(plan, verb, lpred, elapsed, handle),
        handle=handle,
        rng=stream,
        spec=plan.spec,
        names=_names(plan.spec.columns, plan.spec.augmented),
        row_ids=np.arange(plan.y.size, dtype=np.int64),
    )


def _fields(
    plan: FitPlan,
    verb: int,
    lpred: NDArray[np.float64],
    elapsed: float,
    handle: Handle,
) -> dict[str, Any]:
    y = plan.y + 1 if plan.model == "class" else plan.y
    params = [
        *plan.variance_prior,
        *plan.tree_prior,
        plan.minp,
        *plan.sb,
        plan.icept == "implicit",
        _PROPOSAL_CODES[plan.rprop],
    ]
    fields: dict[str, Any] = {
        "m": plan.X.shape[1],
        "N": plan.n_particles,
        "X": plan.X,
        "y": y,
        "model": plan.model,
        "params": np.array(params, dtype=np.float64),
        "nstart": plan.nstart,
        "verb": verb,
        "lpred": lpred,
        "num": handle.num,
        "time": elapsed,
    }
    if plan.model == "class":
        fields["classes"] = np.unique(y)
    return fields | {"icept": plan.icept}


def _names(columns: Names, augmented: bool) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {"time": ("elapsed",)}
    if columns is not None:
        names["X"] = ("", *columns) if augmented else columns
    return names


def _fit_responses(
    y: ArrayLike, model: str, rows: int
) -> tuple[NDArray[np.float64], tuple[Any, ...] | None]:
    if model != "class":
        return as_responses(y, "y", rows), None
    labels, levels = as_labels(y, "y", rows)
    bad = np.flatnonzero(labels < 1)
    if bad.size:
        raise ArgumentError(
            "y",
            "must hold labels >= 1 for model='class'",
            Message(
                "{labels:g} at element {element}",
                labels=labels[bad[0]],
                element=bad[0] + 1,
            ),
            "Number the classes from 1.",
        )
    if labels.max() > 2**31 - 1:
        raise ValueError(
            Message("labels in y must be < 2**31; got {labels:g}.", labels=labels.max())
        )
    return labels - 1, levels


def _checked_sub(sub: int | None, rows: int) -> int:
    count = rows if sub is None else as_count(sub, "sub")
    if count > rows:
        raise ArgumentError("sub", f"must be in 1..{rows}, the number of rows", count)
    return count


def _checked_sb(sb: ArrayLike | None, model: str, n_inputs: int) -> tuple[int, int]:
    if sb is None:
        return 1, n_inputs
    if model != "linear":
        raise ArgumentError(
            "sb",
            "needs model='linear'",
            Message("model={model!r}", model=model),
            "Leave it out.",
        )
    pair = as_numbers(sb, "sb", 2)
    if np.any((pair != np.floor(pair)) | (pair < 1) | (pair > n_inputs)):
        raise ArgumentError(
            "sb",
            f"must hold two ints in 1..{n_inputs}, the number of inputs",
            pair.tolist(),
        )
    return int(pair[0]), int(pair[1])


def _checked_minp(minp: int | None, model: str, sb: tuple[int, int]) -> int:
    if minp is not None:
        return as_count(minp, "minp")
    return {"constant": 4, "linear": 2 * sb[1] + 4}.get(model, 1)


def _checked_nstart(nstart: int | str | None, minp: int, rows: int) -> int:
    if nstart is None:
        start = 2 * minp
    elif isinstance(nstart, str):
        if nstart != "minp":
            raise ArgumentError("nstart", "must be an int, 'minp' or None", nstart)
        start = minp
    else:
        start = as_count(nstart, "nstart")
    if start < minp:
        raise ArgumentError("nstart", f"must be >= minp = {minp}", start)
    if rows <= start:
        raise ArgumentError(
            "y",
            f"must have more than nstart = {start} entries",
            rows,
            "Give more rows, or lower minp or nstart.",
        )
    return start


def _checked_variance_prior(nu0s20: ArrayLike) -> tuple[float, float]:
    nu0, s20 = as_numbers(nu0s20, "nu0s20", 2).tolist()
    if nu0 < 0 or s20 < 0 or (nu0 == 0 and s20 != 0):
        raise ArgumentError(
            "nu0s20",
            "must hold two numbers >= 0, the second 0 if the first is",
            [nu0, s20],
        )
    return nu0, s20


def _checked_tree_prior(ab: ArrayLike) -> tuple[float, float]:
    alpha, beta = as_numbers(ab, "ab", 2).tolist()
    if not 0 <= alpha < 1 or not beta > 0:
        raise ArgumentError(
            "ab",
            "must be (alpha, beta) with 0 <= alpha < 1 and beta > 0",
            [alpha, beta],
        )
    return alpha, beta
