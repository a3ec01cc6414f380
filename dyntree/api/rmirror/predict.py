"""Predictions and other answers at given rows."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError

from . import engine
from .arguments import as_count, as_flag, as_verb, match_arg
from .inputs import InputSpec
from .progress import print_particles
from .record import DynaTree, cloud_of, current_cloud, need_class_model
from .stream import RStream, check_seed_or_rng, choose_stream

_OUTPUTS = ("p", "c", "both")


@dataclass(frozen=True)
class PredictPlan:
    """The checked arguments of one prediction."""

    X: NDArray[np.float64]
    y: NDArray[np.float64] | None
    quants: bool
    ei: bool


def predict(
    object: DynaTree,
    XX: ArrayLike,
    yy: ArrayLike | None = None,
    quants: bool = True,
    ei: bool = False,
    verb: int = 0,
) -> DynaTree:
    """Predict at new rows, averaging over particles.

    Parameters
    ----------
    object : DynaTree
        The model.
    XX : array_like or data frame of shape (n_new, n_inputs)
        Rows to predict. A vector is one column.
    yy : array_like of shape (n_new,), optional
        Responses at which to compute the predictive density.
    quants : bool, default True
        Whether to compute the 5 % and 95 % quantiles of regression models.
    ei : bool, default False
        Whether to compute the expected improvement of regression models.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        For regression, an object with the fields mean, vmean, var, df, q1, q2, yypred
        and ei, each of shape (n_new,), and XX as stored. For classes, one with p of
        shape (n_new, n_classes), entropy, yypred and XX. yypred is empty without `yy`.

    Raises
    ------
    TypeError, ValueError
        If the rows or responses do not fit the model.

    Warns
    -----
    UserWarning
        If `ei` is requested for a class model.

    Notes
    -----
    See the R help topic ``predict.dynaTree``. Quantiles are averages of the particles'
    quantiles, and vmean is the variance of their means. The expected improvement is
    that of Taddy, Gramacy and Polson (2011), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, predict
    >>> x = np.linspace(0, 1, 20)
    >>> fit = predict(dynaTree(x, x, N=5, verb=0, seed=1), [0.2, 0.8])
    >>> fit.mean.shape, bool(fit.mean[0] < fit.mean[1])
    ((2,), True)
    """
    cloud = cloud_of(object)
    plan = plan_predict(object.spec, XX, yy, quants, ei)
    every = as_verb(verb, 0)
    if object.model == "class":
        if plan.ei:
            warnings.warn("ei is not relevant for classification.", stacklevel=2)
        answer = engine.query.predict(cloud, plan.X, plan.y)
        found = {name: answer[name] for name in ("p", "entropy")}
    else:
        answer = engine.query.predict(cloud, plan.X, plan.y, plan.quants, plan.ei)
        wanted = ["mean", "vmean", "var", "df", *(["q1", "q2"] if plan.quants else [])]
        found = {name: answer[name] for name in wanted}
    print_particles(cloud.n_particles, every)
    density = np.empty(0) if plan.y is None else answer["density"]
    if plan.y is not None and object.model != "class":
        density = np.where(np.isnan(answer["var"]), np.nan, density)  # as R, no scale
    found["yypred"] = density
    if plan.ei and object.model != "class":
        found["ei"] = answer["ei"]
    labels = {"p": _class_names(object.spec.n_classes)}
    old = {"q1", "q2", "ei"} - set(found)  # of another call, perhaps of other rows
    return object.extended(found | {"XX": plan.X}, names=labels, without=old)


@functools.cache
def _class_names(n_classes: int) -> tuple[str, ...]:
    return tuple(f"c{k + 1}" for k in range(n_classes))


def plan_predict(
    spec: InputSpec, XX: ArrayLike, yy: ArrayLike | None, quants: bool, ei: bool
) -> PredictPlan:
    """Check the arguments of `predict`."""
    X = spec.encode(XX, "XX")
    y = None if yy is None else spec.responses(yy, "yy", X.shape[0])
    return PredictPlan(X, y, as_flag(quants, "quants"), as_flag(ei, "ei"))


def coef(object: DynaTree, XX: ArrayLike, verb: int = 0) -> DynaTree:
    """Average the coefficients of the linear leaves that new rows fall into.

    Parameters
    ----------
    object : DynaTree
        A linear model. Constant and class models warn, and predict instead.
    XX : array_like or data frame of shape (n_new, n_inputs)
        The rows. A vector is one column.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the fields XXc (XX as stored) and coef. The shape of coef is
        (n_new, m), or (n_new, m + 1) with an implicit intercept, which is first. Inputs
        that `sb` leaves out of the leaves have NaN.

    Raises
    ------
    TypeError, ValueError
        If it is a prior model, or the rows do not fit the model.

    Warns
    -----
    UserWarning
        If it is a constant or class model.

    Notes
    -----
    See the R help topic ``coef.dynaTree``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import coef, dynaTree
    >>> x = np.linspace(0, 1, 30)
    >>> y = 1 + 2 * x + 1e-3 * np.sin(50 * x)
    >>> fit = dynaTree(x, y, N=5, model="linear", verb=0, seed=1)
    >>> coef(fit, [0.5]).coef.round(1).tolist()
    [[1.0, 2.0]]
    """
    cloud = cloud_of(object)
    if object.model == "prior":
        raise ArgumentError(
            "coef", "is for linear models; this object's model is 'prior'"
        )
    if object.model != "linear":
        warnings.warn(
            "coef and predict are the same for classification and constant models.",
            stacklevel=2,
        )
        return predict(object, XX, verb=verb)
    X = object.spec.encode(XX, "XX")
    every = as_verb(verb, 0)
    answer = engine.query.coef(cloud, X)
    print_particles(cloud.n_particles, every)
    is_native = object.get("rules") == "native"  # its X has no column of ones
    level = object.icept == ("augmented" if is_native else "implicit")
    missing = object.m + level - answer.shape[1]
    padding = np.full((X.shape[0], missing), np.nan)
    return object.extended({"XXc": X, "coef": np.hstack([answer, padding])})


def classprobs(
    object: DynaTree,
    cls: int,
    XX: ArrayLike,
    output: str = "p",
    verb: int = 0,
    *,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Give each particle's probability of one class, or samples from it.

    Parameters
    ----------
    object : DynaTree
        A class model.
    cls : int
        Number of the class (R: ``class``), from 1.
    XX : array_like or data frame of shape (n_new, n_inputs)
        The rows. A vector is one column.
    output : {"p", "c", "both"}
        Whether to return probabilities ("p"), 0/1 samples of the class ("c"), or both.
    verb : int, default 0
        Print a line every `verb` particles.
    seed, rng : int or RStream, optional
        Seed of a new stream, or a stream, for the samples instead of the object's own.

    Returns
    -------
    DynaTree
        An object with the fields pcls and cls, which are dicts by class label of arrays
        of shape (n_particles, n_new), and XX.

    Raises
    ------
    TypeError, ValueError
        If it is a regression model, the class is unknown, or the rows do not fit the
        model.

    Notes
    -----
    This is R's unexported ``classprobs.dynaTree``. As in R, the samples use the next
    uniforms of the stream but do not advance it.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import classprobs, dynaTree
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, 1 + (x > 0.5), N=5, model="class", verb=0, seed=1)
    >>> classprobs(fit, 2, [0.1, 0.9]).pcls[2].shape
    (5, 2)
    """
    cloud = cloud_of(object)
    need_class_model(object, "classprobs")
    check_seed_or_rng(seed, rng)
    label = as_count(cls, "cls")
    if label > object.spec.n_classes:
        raise ArgumentError("cls", f"must be in 1..{object.spec.n_classes}", label)
    X = object.spec.encode(XX, "XX")
    output = match_arg(output, "output", _OUTPUTS)
    every = as_verb(verb, 0)
    stream = choose_stream(seed, rng, object.rng)
    p = engine.query.class_probabilities(cloud, label - 1, X)
    print_particles(cloud.n_particles, every)
    found: dict[str, Any] = {}
    if output != "c":
        found["pcls"] = object.get("pcls", {}) | {label: p}
    if output != "p":
        sample = stream.ahead(p.size).reshape(p.shape) < p
        found["cls"] = object.get("cls", {}) | {label: sample.astype(np.float64)}
    return object.extended(found | {"XX": X}, rng=stream)


def sameleaf(object: DynaTree, X: ArrayLike) -> NDArray[np.float64]:
    """Count, over all particles, the rows that share a leaf with each row.

    Parameters
    ----------
    object : DynaTree
        The model.
    X : array_like or data frame of shape (n_new, n_inputs)
        Rows to compare with one another. A vector is one column.

    Returns
    -------
    ndarray of shape (n_new,)
        Each row counts itself once per particle.

    Raises
    ------
    TypeError, ValueError
        If the rows do not fit the model.

    Notes
    -----
    This is R's unexported ``sameleaf.dynaTree``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, sameleaf
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, x, N=5, verb=0, seed=1)
    >>> sameleaf(fit, [0.1, 0.9]).tolist()
    [5.0, 5.0]
    """
    cloud = cloud_of(object)
    return np.asarray(engine.query.sameleaf(cloud, object.spec.encode(X, "X")))


def intervals(object: DynaTree, index: int, var: int) -> Any:
    """Give each particle's range of an input within the leaf of a stored row.

    Parameters
    ----------
    object : DynaTree
        The model.
    index : int
        Number of the row, from 1, in the order of the cloud (`DynaTree.row_order`).
    var : int
        Number of the input, from 1, in the user's order.

    Returns
    -------
    pandas.DataFrame of shape (n_particles, 2)
        Columns a and b are the smallest and the largest value among the active rows of
        the leaf.

    Raises
    ------
    TypeError, ValueError
        If `index` or `var` is out of range.
    StaleObjectError
        If a later call changed the rows of the object's cloud.

    Notes
    -----
    This is R's unexported ``intervals.dynaTree``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, intervals
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, x, N=5, verb=0, seed=1)
    >>> intervals(fit, 1, 1).a.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    import pandas as pd

    cloud = current_cloud(object)
    row = as_count(index, "index")
    variable = as_count(var, "var")
    if row > cloud.n_active:
        raise ArgumentError("index", f"must be in 1..{cloud.n_active}", row)
    if variable > object.spec.n_inputs:
        raise ArgumentError("var", f"must be in 1..{object.spec.n_inputs}", variable)
    column = variable - 1 + object.spec.ones
    ends = np.asarray(engine.query.intervals(cloud, row - 1, column))
    labels = pd.RangeIndex(1, len(ends) + 1)
    return pd.DataFrame(ends, columns=["a", "b"], index=labels)
