"""Criteria of active learning: where to look next, which row to let go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from . import engine
from .arguments import as_flag, as_number, as_verb, match_arg, real_array
from .progress import print_categories, print_particles
from .record import (
    DynaTree,
    cloud_of,
    need_class_model,
    refuse_class_model,
)
from .rectangles import plan_rectangle

_CRITERIA = ("alm", "alc", "ei", "ieci", "qEntropy", "qEI")


def alc(
    object: DynaTree,
    XX: ArrayLike,
    rect: ArrayLike | bool | None = None,
    categ: ArrayLike | None = None,
    approx: bool = False,
    Xref: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    verb: int = 0,
) -> DynaTree:
    """Expected reduction of the predictive variance by a response at each candidate.

    Parameters
    ----------
    object : DynaTree
        A regression model.
    XX : array_like or data frame of shape (n_new, n_inputs)
        Candidates. A vector is one column.
    rect : array_like of shape (n_inputs, 2), False or None
        Bounds over which to average; by default the ranges of X and XX. False averages
        over the candidates.
    categ : array_like of bool of shape (n_inputs,), optional
        Which inputs are categorical; by default those whose values are exactly 0 and 1.
    approx : bool, default False
        Whether areas are measured by their numbers of rows.
    Xref : array_like or data frame of shape (n_ref, n_inputs), optional
        Rows over which to average instead of a rectangle.
    probs : array_like of shape (n_particles, n_ref), optional
        Weights of the reference rows in each particle; by default 1.
    verb : int, default 0
        If positive, print the categorical inputs, and a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the field alc of shape (n_new,), and XX as stored. For a
        rectangle it also has Xref (the bounds) and categ, and for reference rows Xref
        (transposed, as in R) and probs.

    Raises
    ------
    TypeError, ValueError
        If it is a class model, shapes are bad, bounds are reversed, or options exclude
        one another.

    Warns
    -----
    UserWarning
        If the area of the rectangle is larger than 2**26 and `approx` is False.

    Notes
    -----
    See the R help topic ``alc``, and Taddy, Gramacy and Polson (2011), section 4.1.
    Without `probs`, R reads invalid memory; here the weights are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import alc, dynaTree
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, np.sin(9 * x), N=5, verb=0, seed=1)
    >>> alc(fit, [0.2, 0.8]).alc.shape
    (2,)
    """
    cloud = cloud_of(object)
    refuse_class_model(object, "alc")
    X = object.spec.encode(XX, "XX")
    every = as_verb(verb, 0)
    found: dict[str, Any]
    use_candidates = isinstance(rect, bool | np.bool_) and not rect
    if Xref is not None or use_candidates:
        _refuse_rectangle(rect if Xref is not None else None, categ)
        if Xref is None and as_flag(approx, "approx"):
            raise ArgumentError(
                "approx", "must be False with rect=False", Message("True")
            )
        reference = X if Xref is None else object.spec.encode(Xref, "Xref")
        weights = _checked_probs(probs, cloud.n_particles, reference.shape[0])
        values = engine.criteria.alc_reference(cloud, X, reference, weights)
        found = {"alc": values, "XX": X}
        if Xref is not None:
            found["Xref"] = reference.T
        if weights is not None:
            found["probs"] = weights
    else:
        if probs is not None:
            raise ValueError("probs weighs reference rows: give Xref with it.")
        plan = plan_rectangle(object.X, object.spec.ones, rect, categ, approx, X)
        plan.warn_if_large()
        if every > 0:
            print_categories(plan.categ)
        values = engine.criteria.alc_rectangle(
            cloud, X, plan.lower, plan.upper, plan.categ, plan.approx
        )
        found = {"alc": values, "XX": X, "Xref": plan.bounds, "categ": plan.categ}
    print_particles(cloud.n_particles, every)
    return object.extended(found)


def alcX(
    object: DynaTree,
    rect: ArrayLike | None = None,
    categ: ArrayLike | None = None,
    approx: bool = False,
    verb: int = 0,
) -> DynaTree:
    """Compute `alc` over a rectangle, with the stored rows as candidates.

    Parameters
    ----------
    object : DynaTree
        A regression model.
    rect : array_like of shape (n_inputs, 2), optional
        Bounds over which to average; by default the ranges of X.
    categ : array_like of bool of shape (n_inputs,), optional
        Which inputs are categorical; by default those whose values are exactly 0 and 1.
    approx : bool, default False
        Whether areas are measured by their numbers of rows.
    verb : int, default 0
        If positive, print the categorical inputs, and a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the fields alcX of shape (n,), in the order of the cloud
        (`DynaTree.row_order`), rect, categ and approx.

    Raises
    ------
    TypeError, ValueError
        If it is a class model, bounds are bad, or the object has alcX with another
        `approx`.

    Notes
    -----
    See the R help topic ``alcX``. As in R, a leaf keeps its values until a row enters
    it, so that another `rect` changes only the final division. A `copy` made before the
    first call has no earlier values.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import alcX, dynaTree
    >>> x = np.linspace(0, 1, 20)
    >>> alcX(dynaTree(x, np.sin(9 * x), N=5, verb=0, seed=1)).alcX.shape
    (20,)
    """
    cloud = cloud_of(object)
    refuse_class_model(object, "alcX")
    plan = plan_rectangle(object.X, object.spec.ones, rect, categ, approx)
    if "alcX" in object and object.approx != plan.approx:
        raise ArgumentError(
            "approx",
            "must stay {approx}, as the object's field approx says",
            plan.approx,
            "Start from a copy() made before alcX().",
            approx=object.approx,
        )
    every = as_verb(verb, 0)
    if every > 0:
        print_categories(plan.categ)
    values = engine.criteria.alc_active(
        cloud, plan.lower, plan.upper, plan.categ, plan.approx
    )
    print_particles(cloud.n_particles, every)
    return object.extended(
        {
            "alcX": values,
            "rect": plan.bounds,
            "categ": plan.categ,
            "approx": plan.approx,
        }
    )


def ieci(
    object: DynaTree,
    XX: ArrayLike,
    Xref: ArrayLike | None = None,
    probs: ArrayLike | None = None,
    verb: int = 0,
) -> DynaTree:
    """Integrated expected conditional improvement by a response at each candidate.

    Parameters
    ----------
    object : DynaTree
        A regression model.
    XX : array_like or data frame of shape (n_new, n_inputs)
        Candidates. A vector is one column.
    Xref : array_like or data frame of shape (n_ref, n_inputs), optional
        Rows over which to average; by default the candidates.
    probs : array_like of shape (n_particles, n_ref), optional
        Weights of the reference rows in each particle; by default 1.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the field ieci of shape (n_new,), and XX as stored. It also has
        Xref (transposed, as in R) and probs if they were given.

    Raises
    ------
    TypeError, ValueError
        If it is a class model, or shapes are bad.

    Notes
    -----
    This is R's unexported ``ieci.dynaTree``; see Gramacy and Lee (2011), Optimization
    under unknown constraints. Without `probs`, R reads invalid memory; here the weights
    are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, ieci
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, np.sin(9 * x), N=5, verb=0, seed=1)
    >>> ieci(fit, [0.2, 0.8]).ieci.shape
    (2,)
    """
    cloud = cloud_of(object)
    refuse_class_model(object, "ieci")
    X = object.spec.encode(XX, "XX")
    reference = X if Xref is None else object.spec.encode(Xref, "Xref")
    weights = _checked_probs(probs, cloud.n_particles, reference.shape[0])
    every = as_verb(verb, 0)
    found = {"ieci": engine.criteria.ieci(cloud, X, reference, weights), "XX": X}
    print_particles(cloud.n_particles, every)
    if Xref is not None:
        found["Xref"] = reference.T
    if weights is not None:
        found["probs"] = weights
    return object.extended(found)


def entropyX(object: DynaTree, verb: int = 0) -> DynaTree:
    """Average predictive entropy of the classes at the stored rows.

    Parameters
    ----------
    object : DynaTree
        A class model.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the field entropyX of shape (n,), in the order of the cloud
        (`DynaTree.row_order`).

    Raises
    ------
    ValueError
        If it is a regression model.

    Notes
    -----
    This is R's unexported ``entropyX.dynaTree``; see Anagnostopoulos and Gramacy
    (2013), section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, entropyX
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, 1 + (x > 0.5), N=5, model="class", verb=0, seed=1)
    >>> entropyX(fit).entropyX.shape
    (20,)
    """
    cloud = cloud_of(object)
    need_class_model(object, "entropyX")
    every = as_verb(verb, 0)
    values = engine.criteria.entropy_active(cloud)
    print_particles(cloud.n_particles, every)
    return object.extended({"entropyX": values})


def qEntropy(object: DynaTree, XX: ArrayLike, q: float = 0, verb: int = 0) -> DynaTree:
    """Average entropy of whether the response at each candidate is below `q`.

    Parameters
    ----------
    object : DynaTree
        A regression model.
    XX : array_like or data frame of shape (n_new, n_inputs)
        Candidates. A vector is one column.
    q : float, default 0
        The level.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the field qEntropy of shape (n_new,), and XX as stored.

    Raises
    ------
    TypeError, ValueError
        If it is a class model, or arguments are bad.

    Notes
    -----
    See the R help topic ``qEntropy``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, qEntropy
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, np.sin(9 * x), N=5, verb=0, seed=1)
    >>> qEntropy(fit, [0.2, 0.8]).qEntropy.shape
    (2,)
    """
    cloud = cloud_of(object)
    refuse_class_model(object, "qEntropy")
    X = object.spec.encode(XX, "XX")
    level = as_number(q, "q")
    every = as_verb(verb, 0)
    values = engine.criteria.q_entropy(cloud, X, level)
    print_particles(cloud.n_particles, every)
    return object.extended({"qEntropy": values, "XX": X})


def qEI(
    object: DynaTree, XX: ArrayLike, q: float = 0, alpha: float = 2, verb: int = 0
) -> DynaTree:
    """Expected improvement of each candidate for the contour at the level `q`.

    Parameters
    ----------
    object : DynaTree
        A regression model.
    XX : array_like or data frame of shape (n_new, n_inputs)
        Candidates. A vector is one column.
    q : float, default 0
        The level.
    alpha : float, default 2
        Half the width of the band around the level, in standard deviations, > 0.
    verb : int, default 0
        Print a line every `verb` particles.

    Returns
    -------
    DynaTree
        An object with the field qEI of shape (n_new,), and XX as stored.

    Raises
    ------
    TypeError, ValueError
        If it is a class model, or arguments are bad.

    Notes
    -----
    See the R help topic ``qEI``, and Ranjan, Bingham and Michailidis (2008),
    Technometrics 50.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, qEI
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, np.sin(9 * x), N=5, verb=0, seed=1)
    >>> qEI(fit, [0.2, 0.8]).qEI.shape
    (2,)
    """
    cloud = cloud_of(object)
    refuse_class_model(object, "qEI")
    X = object.spec.encode(XX, "XX")
    level = as_number(q, "q")
    band = as_number(alpha, "alpha")
    if band <= 0:
        raise ArgumentError("alpha", "must be > 0", Message("{band:g}", band=band))
    every = as_verb(verb, 0)
    values = engine.criteria.q_improvement(cloud, X, level, band)
    print_particles(cloud.n_particles, every)
    return object.extended({"qEI": values, "XX": X})


def alcalc(
    obj: Mapping[str, Any], method: str = "alm", prec: float = 1
) -> NDArray[np.float64]:
    """Return the criterion of a method from an object that has already computed it.

    Parameters
    ----------
    obj : DynaTree
        Return value of `predict`, `alc`, `ieci`, `qEntropy` or `qEI`.
    method : {"alm", "alc", "ei", "ieci", "qEntropy", "qEI"}
        Name of the criterion. "alm" is the predictive variance.
    prec : float, default 1
        For "ei": if positive, ``sqrt(var) / prec`` is added.

    Returns
    -------
    ndarray of shape (n_new,)

    Raises
    ------
    ValueError
        If the object does not have the field that the method needs.

    Notes
    -----
    See the R help topic ``alcalc``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import alcalc, dynaTree, predict
    >>> x = np.linspace(0, 1, 20)
    >>> fit = predict(dynaTree(x, x, N=5, verb=0, seed=1), [0.2, 0.8])
    >>> np.array_equal(alcalc(fit, "alm"), fit.var)
    True
    """
    method = match_arg(method, "method", _CRITERIA)
    weight = as_number(prec, "prec")
    if method == "alm":
        return _field(obj, "var")
    values = _field(obj, method)
    if method == "ei" and weight > 0:
        return values + np.sqrt(_field(obj, "var")) / weight
    return values


def _field(obj: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    if name not in obj:
        source = {
            "var": "predict()",
            "ei": "predict(ei=True)",
        }.get(name, f"{name}()")
        raise ArgumentError(
            "obj",
            "must have the field {label}; call {source} first",
            label=name,
            source=source,
        )
    return np.asarray(obj[name])


def _refuse_rectangle(rect: Any, categ: Any) -> None:
    if rect is not None:
        raise ValueError("give Xref or rect, not both.")
    if categ is not None:
        raise ValueError(
            Message(
                "categ describes a rectangle; leave it out with Xref or rect=False."
            )
        )


def _checked_probs(
    probs: ArrayLike | None, n_particles: int, n_ref: int
) -> NDArray[np.float64] | None:
    if probs is None:
        return None
    weights = real_array(probs, "probs")
    if weights.shape != (n_particles, n_ref):
        raise ArgumentError(
            "probs",
            f"must have shape ({n_particles}, {n_ref}), particles by reference rows",
            weights.shape,
        )
    if not np.all(np.isfinite(weights)):
        raise ArgumentError("probs", "must be finite")
    return weights
