"""Trees under native rules that answer all questions of R's functions."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dyntree._core.trees.cloud import Cloud
from dyntree.api.rmirror import DynaTree, RStream
from dyntree.api.rmirror import fit as mirror
from dyntree.api.rmirror.arguments import as_count, as_verb
from dyntree.api.rmirror.combine import Extras
from dyntree.api.rmirror.progress import print_step
from dyntree.api.rmirror.repeats import fit_orders
from dyntree.encoding.targets import Exposed
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params import COUNTS, N_SCALE, TreeOptions
from dyntree.trees.learning.scaling import frozen_scale
from dyntree.trees.learning.warmup import cloud_options, first_rate

from . import counts
from .weights import weighted, weights_in

_OF_THE_FIT = ("model", "nu0s20", "ab", "minp", "sb", "nstart", "icept", "rprop")


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
    exposure: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    classes: int | None = None,
    *,
    rng: RStream,
) -> DynaTree:
    """Fit as `dyntree.api.rmirror.dynaTree` does, but under native rules.

    Parameters
    ----------
    X, y, ..., verb, rng
        As in the mirror, and also the models "poisson" and "negbin". The defaults of
        `ab` and `minp` are those of the native rules. `nu0s20` must have its default,
        and `nstart` is not used.
    exposure : array_like of shape (n_rows,) or float, optional
        Exposures > 0 of counts; by default 1.
    weights : array_like of shape (n_rows,) or float, optional
        Weights > 0; by default 1. A real response of weight w has the variance sigma^2
        / w. For a label or a count, the weight is the number of times that it is
        learned.
    classes : int, optional
        How many labels there are, whether rows have them or not; by default as many as
        the largest one.

    Returns
    -------
    DynaTree
        An object with the fields of the mirror, and rules, which is "native". lpred is
        the log predictive density of every row, including the first ones, and nstart is
        0. Linear leaves have their own level and can retire rows whether icept is
        "implicit" or "augmented". The field icept is then "augmented", but X has no
        column of ones. Counts have the field exposure, and fits with weights the field
        weights, with one value for each stored row. X may have missing values (NaN) in
        all calls, and rows may be retired with lambda 0.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule of the mirror, or belongs to R's rules only.

    Notes
    -----
    All draws come from R's stream, one after the other.
    """
    plan = _plan_fit(
        X, y, N, model, nu0s20, ab, minp, sb, nstart, icept, rprop, classes=classes
    )
    found: dict[str, Vector] = {}
    if model in COUNTS:
        found["exposure"] = counts.exposures_in(exposure, plan.y.size)
    elif exposure is not None:
        raise ArgumentError(
            "exposure",
            "is for counts, model='poisson' or 'negbin'",
            Message("it with model={model!r}", model=model),
            "Leave it out.",
        )
    if weights is not None:
        found["weights"] = weights_in(weights, plan.y.size)
    return _run_fit(plan, as_verb(verb, plan.y.size), rng, **found).extended(found)


def dynaTrees(
    X: ArrayLike,
    y: ArrayLike,
    N: int = 1000,
    R: int = 10,
    sub: int | None = None,
    rorder: ArrayLike | bool = True,
    verb: int | None = None,
    pverb: int | None = None,
    classes: int | None = None,
    *,
    rng: RStream,
    **asked: Any,
) -> DynaTree:
    """Fit as `dyntree.api.rmirror.dynaTrees` does, but under native rules.

    Parameters
    ----------
    X, y, ..., pverb, rng, asked
        As in the mirror, without those for plots.
    classes : int, optional
        As for `dynaTree`.

    Returns
    -------
    DynaTree
        An object with the fields of the mirror, and rules, which is "native".

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule of the mirror, or belongs to R's rules only.
    """
    fitted = {name: asked.pop(name) for name in _OF_THE_FIT if name in asked}
    unknown = asked.keys() - {field.name for field in fields(Extras)}
    if unknown:
        raise TypeError(
            Message(
                "dynaTrees() got an unexpected argument {unknown!r}.",
                unknown=min(unknown),
            )
        )
    if fitted.get("model") in COUNTS:
        raise ArgumentError(
            "model",
            "must be of no counts in repeats",
            fitted["model"],
            "Fit each with dynaTree().",
        )
    plan = _plan_fit(X, y, N, **fitted, sub=sub, classes=classes)
    extras = Extras(pverb=as_verb(pverb, plan.n_particles, "pverb"), **asked)
    every = as_verb(verb, plan.y.size)
    return fit_orders(plan, extras, as_count(R, "R", 2), rorder, every, rng, _run_fit)


def _plan_fit(
    X: ArrayLike,
    y: ArrayLike,
    N: int,
    model: str = "constant",
    nu0s20: ArrayLike = (0, 0),
    ab: ArrayLike = (0.95, 2),
    minp: int | None = None,
    sb: ArrayLike | None = None,
    nstart: int | str | None = "minp",
    icept: str = "implicit",
    rprop: str = "luvar",
    *,
    sub: int | None = None,
    classes: int | None = None,
) -> mirror.FitPlan:
    """Check the arguments of a fit; `ab` and `minp` become those of native rules."""
    plan = mirror.plan_fit(
        X, y, N, "constant" if model in COUNTS else model, nu0s20, ab, 1, sb, "minp",
        "implicit" if icept == "augmented" else icept, rprop, sub=sub, gaps=True,
    )  # fmt: skip
    if model in COUNTS:
        plan = replace(plan, model=model, y=counts.counts_in(plan.y))
    if classes is not None:
        least = plan.spec.n_classes
        spec = replace(plan.spec, n_classes=as_count(classes, "classes", least))
        plan = replace(plan, spec=spec)
    if plan.variance_prior != (0.0, 0.0):
        raise ValueError(
            Message(
                "nu0s20 belongs to R's rules and must be c(0, 0) under native rules; "
                "got {variance_prior}. Leave it out, or set options(dyntree.rules = "
                "'r').",
                variance_prior=plan.variance_prior,
            )
        )
    options = _options(
        plan,
        None if minp is None else as_count(minp, "minp"),
        None if plan.tree_prior == (0.95, 2) else plan.tree_prior,
    )
    assert options.min_leaf is not None
    assert options.tree_prior is not None
    has_level = plan.model == "linear" and plan.icept != "none"
    return replace(
        plan,
        minp=options.min_leaf,
        tree_prior=options.tree_prior,
        nstart=0,
        icept="augmented" if has_level else plan.icept,
    )


def _options(
    plan: mirror.FitPlan, minp: int | None, tree_prior: tuple[float, float] | None
) -> TreeOptions:
    return TreeOptions(
        model=plan.model,
        n_particles=plan.n_particles,
        intercept="none" if plan.icept == "none" else "implicit",
        proposal=plan.rprop,
        min_leaf=minp,
        tree_prior=tree_prior,
        first_split=plan.sb[0] - 1,
        n_basis=plan.sb[1] if plan.model == "linear" else None,
        classes=tuple(range(plan.spec.n_classes)) or None,
    ).with_width(plan.spec.n_inputs)


def _run_fit(
    plan: mirror.FitPlan,
    every: int,
    stream: RStream,
    exposure: Vector | None = None,
    weights: Vector | None = None,
) -> DynaTree:
    """Start a cloud, learn the rows and make R's object of it."""
    began = time.perf_counter()
    options = _options(plan, plan.minp, plan.tree_prior)
    cloud = Cloud(stream.source, **cloud_options(options, plan.spec.n_inputs))
    own_weights: Vector | None = None
    own_exposure: Vector | None = None
    if exposure is not None:
        pairs = zip(plan.y[:N_SCALE].tolist(), exposure[:N_SCALE].tolist(), strict=True)
        unit, rate = first_rate([Exposed(*pair) for pair in pairs])
        cloud.set_exposure_unit(unit, rate)
        own_exposure = counts.in_units(exposure, unit)
    elif plan.model != "class":
        n_basis = plan.sb[1] if plan.model == "linear" else 0
        first = plan.X[:N_SCALE, :n_basis], plan.y[:N_SCALE]
        scale = frozen_scale(*first)
        if plan.icept == "none":
            scale = [0.0] * n_basis, scale[1], 0.0, scale[3]
        cloud.set_scale(*scale)
    cloud.start(plan.X[:0], plan.y[:0])
    if weights is not None:
        cloud, own_weights = weighted(cloud, options, weights)
    learned = cloud.update(
        plan.X, plan.y, max(every, 0), print_step, own_weights, own_exposure
    )
    lpred = np.asarray(learned)
    elapsed = time.perf_counter() - began
    fit = mirror.wrapped(plan, cloud, every, lpred, elapsed, stream)
    return fit.extended({"rules": "native"})
