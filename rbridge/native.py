"""A tree under native rules that answers all questions of R's functions."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dyntree import planting
from dyntree._core.cloud import Cloud
from dyntree.api.rmirror import DynaTree, RStream
from dyntree.api.rmirror import fit as mirror
from dyntree.api.rmirror.arguments import as_count, as_verb
from dyntree.api.rmirror.progress import print_step
from dyntree.params import N_SCALE, TreeOptions


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
    rng: RStream,
) -> DynaTree:
    """Fit under native rules what `dyntree.api.rmirror.dynaTree` fits under R's.

    Parameters
    ----------
    X, y, ..., verb, rng
        Those of the mirror. `ab` and `minp` default to those of the native rules;
        `nu0s20` must stay at its default, and `nstart` is not used.

    Returns
    -------
    DynaTree
        With the mirror's fields, and rules, "native". lpred holds the log predictive
        density of every row, the first ones included; nstart is 0. Linear leaves have
        a level of their own and can retire rows whether icept is "implicit" or
        "augmented"; the field says "augmented", and X has no column of ones.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule of the mirror, or belongs to R's rules.

    Notes
    -----
    All draws come from R's stream, in their order, and not by coordinate.
    """
    level = icept != "none"
    plan = mirror.plan_fit(
        X, y, N, model, nu0s20, ab, 1, sb, "minp",
        "implicit" if icept == "augmented" else icept, rprop,
    )  # fmt: skip
    if plan.variance_prior != (0.0, 0.0):
        raise ValueError(
            f"nu0s20 belongs to R's rules and must be c(0, 0) under native rules; got "
            f"{plan.variance_prior}. Leave it out, or set options(dyntree.rules = 'r')."
        )
    linear, labels = plan.model == "linear", range(plan.spec.n_classes)
    options = TreeOptions(
        model=plan.model,
        n_particles=plan.n_particles,
        intercept="implicit" if level else "none",
        proposal=plan.rprop,
        min_leaf=None if minp is None else as_count(minp, "minp"),
        tree_prior=None if plan.tree_prior == (0.95, 2) else plan.tree_prior,
        first_split=plan.sb[0] - 1,
        n_basis=plan.sb[1] if linear else None,
        classes=tuple(labels) or None,
    ).with_width(plan.spec.n_inputs)
    assert options.min_leaf is not None
    assert options.tree_prior is not None
    began = time.perf_counter()
    every = as_verb(verb, plan.y.size)
    cloud = Cloud(rng.source, **planting.cloud_options(options, plan.spec.n_inputs))
    if plan.model != "class":
        n_basis = plan.sb[1] if linear else 0
        first = plan.X[:N_SCALE, :n_basis], plan.y[:N_SCALE]
        scale = planting.frozen_scale(*first)
        cloud.set_scale(
            *(scale if level else ([0.0] * n_basis, scale[1], 0.0, scale[3]))
        )
    cloud.start(plan.X[:0], plan.y[:0])
    lpred = cloud.update(plan.X, plan.y, max(every, 0), print_step)
    plan = replace(
        plan,
        minp=options.min_leaf,
        tree_prior=options.tree_prior,
        nstart=0,
        icept="augmented" if linear and level else plan.icept,
    )
    elapsed = time.perf_counter() - began
    return mirror.wrapped(plan, cloud, every, np.asarray(lpred), elapsed, rng).extended(
        {"rules": "native"}
    )
