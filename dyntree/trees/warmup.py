"""First rows -> a cloud with trees in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree._core.rng import CounterSource, RSource
from dyntree._core.trees.cloud import Cloud
from dyntree.encoding.targets import label_codes, sorted_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.params import N_SCALE, NIG, TreeOptions
from dyntree.trees.scaling import frozen_scale


def with_ones(rows: Matrix, ones: int) -> Matrix:
    """Rows with a column of ones in front, where asked."""
    if ones:
        rows = np.concatenate([np.ones((len(rows), 1)), rows], axis=1)
    return np.ascontiguousarray(rows)


def n_ones(options: TreeOptions) -> int:
    """Columns of ones stored before the user's own: R's explicit intercept."""
    return int(options.rules == "r" and options.intercept == "augmented")


def n_waiting(options: TreeOptions, n_scale: int = N_SCALE) -> int:
    """Rows that are kept back before trees are planted.

    R's rules plant trees on n_start rows and want one more. Native regression fixes its
    scale by the first `n_scale` rows; native class leaves need none.
    """
    if options.rules == "r":
        assert options.n_start is not None
        return options.n_start + 1
    return 1 if options.model == "class" else n_scale


def options_for(options: TreeOptions, X: Matrix) -> TreeOptions:
    """Options for trees that are planted on these first rows, defaults filled in.

    Under native rules columns of which no two values differ do not count towards
    `min_leaf`: linear leaves leave them out until one does.
    """
    width = X.shape[1]
    n_used = None
    if options.rules == "native" and options.model == "linear":
        columns = X[:, : width if options.n_basis is None else options.n_basis]
        with np.errstate(invalid="ignore"):
            n_used = int(np.sum(np.fmin.reduce(columns) < np.fmax.reduce(columns)))
    return options.with_width(width, n_used)


@dataclass(frozen=True, eq=False)
class Planted:
    """Trees that have just begun.

    Attributes
    ----------
    cloud : Cloud
    options : TreeOptions
        With the labels.
    responses : ndarray of shape (n_rows,)
        y as the cloud takes it.
    n_held : int
        Rows that the trees hold already.
    """

    cloud: Any
    options: TreeOptions
    responses: Vector
    n_held: int


def plant(
    options: TreeOptions, X: Matrix, y: list[Any], seed: int, n_scale: int = N_SCALE
) -> Planted:
    """Return a cloud with trees that can learn, and what is left to be learned.

    Parameters
    ----------
    options : TreeOptions
        Complete but for the labels, which are those of y where none are named; under
        native rules y may add some.
    X : ndarray of shape (n_rows, n_features)
    y : list of length n_rows
        Responses or labels; n_rows > n_start.
    seed : int
    n_scale : int, default N_SCALE
        Native regression: rows that fix the scale.

    Returns
    -------
    Planted

    Raises
    ------
    ValueError
        Where R would refuse these rows: regression needs two distinct responses among
        the first min_leaf.
    """
    if options.model == "class":
        known = options.classes
        if known is None:
            options = replace(options, classes=sorted_labels(y))
        elif options.rules == "native":
            options = replace(options, classes=tuple(dict.fromkeys([*known, *y])))
        assert options.classes is not None
        responses = label_codes(y, options.classes)
    else:
        responses = np.array(y, dtype=np.float64)
    if options.rules == "r" and options.model in ("constant", "linear"):
        first = responses[: options.min_leaf]
        if np.all(first == first[0]):
            raise ValueError(
                f"y must hold two distinct values among the first min_leaf="
                f"{options.min_leaf} rows; all are {first[0]}. Begin with other rows "
                "or set min_leaf higher."
            )
    ones = n_ones(options)
    native = options.rules == "native"
    cloud = Cloud(
        CounterSource(seed) if native else RSource(seed),
        **cloud_options(options, X.shape[1]),
    )
    if native and options.model != "class":
        basis = (options.n_basis or 0) if options.model == "linear" else 0
        centred = options.intercept != "none" or options.model != "linear"
        scale = frozen_scale(X[:n_scale, :basis], responses[:n_scale], centred)
        cloud.set_scale(*scale)
    held = options.n_start or 0
    cloud.start(with_ones(X[:held], ones), responses[:held])
    return Planted(cloud, options, responses, held)


def cloud_options(options: TreeOptions, n_features: int) -> dict[str, Any]:
    """Options of the cloud for rows of so many columns.

    Parameters
    ----------
    options : TreeOptions
        Complete, with the labels.
    n_features : int
        Of X, without a column of ones.
    """
    assert options.min_leaf is not None
    assert options.tree_prior is not None
    ones = n_ones(options)
    basis = n_features if options.n_basis is None else options.n_basis
    return {
        "model": options.model,
        "n_features": n_features + ones,
        "n_particles": options.n_particles,
        "min_leaf": options.min_leaf,
        "tree_prior": options.tree_prior,
        "proposal": options.proposal,
        "variance_prior": options.variance_prior,
        "intercept": _has_level(options),
        "n_basis": basis + ones,
        "first_split": options.first_split + ones,
        "n_classes": len(options.classes or ()),
        "rules": options.rules,
        "prior": _prior(options) if options.rules == "native" else None,
        "max_retired": options.max_retired_mass,
    }


def _has_level(options: TreeOptions) -> bool:
    """Whether the core's leaves have a level besides the columns they are given."""
    if options.model != "linear":
        return True
    if options.rules == "r":
        return options.intercept == "implicit"
    return options.intercept != "none"


def _prior(options: TreeOptions) -> dict[str, Any]:
    """Where the prior of the leaves starts, and whether it stays there."""
    fixed = options.prior if isinstance(options.prior, NIG) else None
    return {
        "b0": 0.03 if fixed is None else fixed.b0,
        "kappa0": 0.01 if fixed is None else fixed.kappa0,
        "adaptive": fixed is None and options.model in ("constant", "linear"),
        "class_mass": options.class_mass,
    }


def widened(cloud: Any, widen: Callable[[Matrix], Matrix]) -> Any:
    """A cloud like this one that has more columns, the new ones last (native rules).

    `widen` gives the active rows their values there, and so the rows that were retired.
    Linear leaves go on with the columns that they began with.
    """
    header, arrays = cloud.to_arrays()
    X, known = widen(arrays["X"]), arrays["spans"]
    spans = np.zeros((X.shape[1], known.shape[1]))
    spans[:, :2] = widen(known[:, :2].T).T  # 0 at most where a column was missing
    spans[: len(known), 2:] = known[:, 2:]
    header = dict(header, n_features=X.shape[1])
    if header["model"] != "linear":
        header["n_basis"] = X.shape[1]
    return Cloud.from_arrays(header, dict(arrays, X=X, spans=spans), cloud.source)
