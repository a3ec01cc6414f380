"""Sensitivity analysis: main effects and Sobol indices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from . import engine
from .arguments import (
    as_indices,
    as_number,
    as_numbers,
    as_rounded_count,
    as_verb,
    match_arg,
)
from .progress import print_categories, print_particles
from .record import DynaTree, cloud_of
from .rectangles import (
    check_bounds,
    check_category_bounds,
    column_ranges,
    resolve_categories,
)
from .stream import RStream, check_seed_or_rng, choose_stream

METHODS = ("lhs", "boot")
_EFFECTS = ("MEmean", "MEq1", "MEq2", "S", "T")
_LHS_KEYS = ("rect", "shape", "mode")


@dataclass(frozen=True)
class SensPlan:
    """The checked arguments of one analysis; everything is per input."""

    labels: NDArray[np.int64] | None
    nns: int
    span: float
    method: str
    grid: NDArray[np.float64]
    bounds: NDArray[np.float64]
    shape: NDArray[np.float64]
    mode: NDArray[np.float64]
    categ: NDArray[np.bool_]


def sens(
    object: DynaTree,
    cls: ArrayLike | None = None,
    nns: int = 1000,
    nME: int = 100,
    span: float = 0.3,
    method: str = "lhs",
    lhs: Mapping[str, ArrayLike] | None = None,
    categ: ArrayLike | None = None,
    verb: int = 0,
    *,
    seed: int | None = None,
    rng: RStream | None = None,
) -> DynaTree:
    """Estimate main effects, first-order and total sensitivity indices.

    Parameters
    ----------
    object : DynaTree
        The model.
    cls : int or array_like of int, optional
        Class models only: labels to analyse (R: ``class``); by default all observed
        ones.
    nns : int, default 1000
        Size of each of the two input samples. It is rounded.
    nME : int, default 100
        Number of grid points of the main effects. It is rounded.
    span : float, default 0.3
        Share of the sampled points in a smoothing window, in [0, 1].
    method : {"lhs", "boot"}
        "lhs" draws Latin hypercube samples, and "boot" draws stored rows.
    lhs : mapping, optional
        Distributions of the inputs for "lhs". ``rect`` (n_inputs, 2) is by default the
        ranges of X. ``shape`` (n_inputs,) is the second parameter of the beta
        distribution, by default 1, and 0 for categorical inputs. ``mode`` (n_inputs,)
        is by default the means of X.
    categ : array_like of bool of shape (n_inputs,), optional
        Which inputs are categorical; by default those whose values are exactly 0 and 1.
    verb : int, default 0
        Print headings, and a line every `verb` particles.
    seed, rng : int or RStream, optional
        Seed of a new stream, or a stream, to use instead of the object's own.

    Returns
    -------
    DynaTree
        An object with the fields MEgrid, MEmean, MEq1 and MEq2 of shape
        (nME, n_inputs), S and T of shape (n_particles, n_inputs) with NaN (R: NA) for
        values outside [0, 1] (native rules leave these as they are), and categ. For
        class models, all but MEgrid and categ are
        dicts by class label, and sens.class contains the labels.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule above, a categorical input does not have the bounds
        (0, 1) and shape 0, or a class was not observed. No random number is then drawn.

    Warns
    -----
    UserWarning
        If `lhs` is given with ``method="boot"``, which ignores it.

    Notes
    -----
    See the R help topic ``sens``, Gramacy, Taddy and Wild (2013), section 4, and
    Saltelli (2002) for the indices.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.rmirror import dynaTree, sens
    >>> x = np.linspace(0, 1, 20)
    >>> fit = dynaTree(x, x, N=5, verb=0, seed=1)
    >>> sens(fit, nns=20, nME=4).MEmean.shape
    (4, 1)
    """
    cloud_of(object)
    check_seed_or_rng(seed, rng)
    inputs = object.X[:, object.spec.ones :]
    observed = object.get("classes")
    plan = plan_sens(inputs, observed, cls, nns, nME, span, method, lhs, categ)
    if plan.method == "boot" and lhs is not None:
        warnings.warn("method='boot' ignores lhs.", stacklevel=2)
    return run_sens(
        object, plan, as_verb(verb, 0), choose_stream(seed, rng, object.rng)
    )


def plan_sens(
    inputs: NDArray[np.float64],
    observed: NDArray[np.float64] | None,
    cls: ArrayLike | None,
    nns: int,
    nME: int,
    span: float,
    method: str,
    lhs: Mapping[str, ArrayLike] | None,
    categ: ArrayLike | None,
) -> SensPlan:
    """Check the arguments of `sens`; `observed` holds the class labels seen, if any."""
    n_inputs = inputs.shape[1]
    labels = _checked_labels(cls, observed)
    n_samples = as_rounded_count(nns, "nns")
    n_grid = as_rounded_count(nME, "nME")
    window = as_number(span, "span")
    if not 0 <= window <= 1:
        raise ArgumentError("span", "must be in [0, 1]", Message(f"{window:g}"))
    method = match_arg(method, "method", METHODS)
    flags = resolve_categories(inputs, categ)
    given = _checked_keys(lhs) if method == "lhs" else {}
    if method == "boot":
        _check_binary(inputs, flags)
    bounds = column_ranges(inputs)
    if given.get("rect") is not None:
        bounds = check_bounds(given["rect"], "lhs['rect']", n_inputs)
    check_category_bounds(bounds, flags, "lhs['rect']")
    shape = np.where(flags, 0.0, 1.0)
    if given.get("shape") is not None:
        shape = as_numbers(given["shape"], "lhs['shape']", n_inputs)
        _check_shape(shape, flags)
    mode = np.nanmean(inputs, axis=0)
    if given.get("mode") is not None:
        mode = as_numbers(given["mode"], "lhs['mode']", n_inputs)
    grid = np.linspace(bounds[:, 0], bounds[:, 1], n_grid)
    return SensPlan(
        labels=labels,
        nns=n_samples,
        span=window,
        method=method,
        grid=grid,
        bounds=bounds,
        shape=shape,
        mode=mode,
        categ=flags,
    )


def run_sens(object: DynaTree, plan: SensPlan, verb: int, stream: RStream) -> DynaTree:
    """Draw the samples and summarise them over particles."""
    if verb > 0 and plan.categ.any():
        print_categories(plan.categ)
    cloud = object.cloud
    if cloud.source is not stream.source:
        cloud = cloud.copy(stream.source)
    within = np.array if object.get("rules") == "native" else _within_unit
    found: dict[str, Any] = {}
    if plan.labels is None:
        if verb > 0:
            print("regression sensitivity analysis:")
        found["MEgrid"] = plan.grid
        found |= _analyse(cloud, plan, None, verb, within)
    else:
        found = {name: {} for name in _EFFECTS}
        for label in plan.labels:
            if verb > 0:
                print(f"class {label} sensitivity analysis:")
            for name, value in _analyse(
                cloud, plan, int(label) - 1, verb, within
            ).items():
                found[name][int(label)] = value
        found["sens.class"] = plan.labels
        found["MEgrid"] = plan.grid
    found["categ"] = plan.categ
    names = {}
    if object.columns is not None:
        names = dict.fromkeys(("MEgrid", *_EFFECTS, "categ"), object.columns)
    return object.extended(found, rng=stream, names=names)


def _analyse(
    cloud: Any,
    plan: SensPlan,
    label: int | None,
    verb: int,
    within: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    main, first, total = engine.sensitivity.sensitivity(
        cloud,
        n_samples=plan.nns,
        grid=np.ascontiguousarray(plan.grid),
        span=plan.span,
        lower=np.ascontiguousarray(plan.bounds[:, 0]),
        upper=np.ascontiguousarray(plan.bounds[:, 1]),
        shape=plan.shape,
        mode=plan.mode,
        categorical=plan.categ,
        method=plan.method,
        label=label,
    )
    print_particles(cloud.n_particles, verb)
    low, high = _order_statistics(main, (0.05, 0.95))
    return {
        "MEmean": main.mean(axis=0),
        "MEq1": low,
        "MEq2": high,
        "S": within(first),
        "T": within(total),
    }


def _order_statistics(
    values: NDArray[np.float64], levels: tuple[float, ...]
) -> list[NDArray[np.float64]]:
    """Return the values of rank trunc(n * level), NaN where any value is NaN."""
    ordered = np.sort(values, axis=0)
    missing = np.isnan(values).any(axis=0)
    return [
        np.where(missing, np.nan, ordered[int(len(values) * level)]) for level in levels
    ]


def _within_unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.where((values < 0) | (values > 1), np.nan, values)


def _checked_labels(
    cls: ArrayLike | None, observed: NDArray[np.float64] | None
) -> NDArray[np.int64] | None:
    if observed is None:
        if cls is not None:
            raise ArgumentError("cls", "is for classification models; leave it out")
        return None
    classes = observed.astype(np.int64)
    if cls is None:
        return classes
    labels = as_indices(cls, "cls", int(classes.max())) + 1
    strange = labels[~np.isin(labels, classes)]
    if strange.size or not labels.size:
        raise ArgumentError(
            "cls",
            "must hold observed labels, {classes}",
            labels.tolist(),
            classes=classes.tolist(),
        )
    return labels


def _checked_keys(lhs: Mapping[str, ArrayLike] | None) -> Mapping[str, ArrayLike]:
    if lhs is None:
        return {}
    if not isinstance(lhs, Mapping):
        raise TypeError(
            Message(
                "lhs must be a dict with keys among {lhs_keys}; got {kind}.",
                lhs_keys=", ".join(_LHS_KEYS),
                kind=type(lhs).__name__,
            )
        )
    strange = [key for key in lhs if key not in _LHS_KEYS]
    if strange:
        raise ArgumentError(
            "lhs",
            "must have keys among {lhs_keys}",
            strange[0],
            lhs_keys=", ".join(_LHS_KEYS),
        )
    return lhs


def _check_shape(shape: NDArray[np.float64], categ: NDArray[np.bool_]) -> None:
    if np.any(shape < 0):
        raise ArgumentError("lhs['shape']", "must be >= 0", shape.tolist())
    bad = np.flatnonzero(categ & (shape != 0))
    if bad.size:
        raise ArgumentError(
            "lhs['shape']",
            "must be 0 for categorical inputs; input {bad} has {shape:g}",
            bad=bad[0] + 1,
            shape=shape[bad[0]],
        )


def _check_binary(inputs: NDArray[np.float64], categ: NDArray[np.bool_]) -> None:
    for j in np.flatnonzero(categ):
        if not np.isin(inputs[:, j], (0.0, 1.0)).all():
            raise ValueError(
                Message(
                    "categorical inputs must hold only 0 and 1 with method='boot'; "
                    "input {j} does not.",
                    j=j + 1,
                )
            )
