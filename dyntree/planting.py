"""First rows -> a cloud with trees in it; row numbers -> places in a cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree._core.cloud import Cloud
from dyntree._core.rng import RSource
from dyntree.features import Matrix, Vector, label_codes, sorted_labels, with_ones
from dyntree.params import TreeOptions, as_array


def plant(
    options: TreeOptions, X: Matrix, y: list[Any], seed: int
) -> tuple[Any, TreeOptions, Vector]:
    """Return a cloud whose trees hold the first n_start rows.

    Parameters
    ----------
    options : TreeOptions
        Complete but for the labels, which are those of y where none are named.
    X : ndarray of shape (n_rows, n_features)
    y : list of length n_rows
        Responses or labels; n_rows > n_start.
    seed : int

    Returns
    -------
    cloud : Cloud
    options : TreeOptions
        With the labels.
    responses : ndarray of shape (n_rows,)
        y as the cloud takes it.

    Raises
    ------
    ValueError
        Where R would refuse these rows: regression needs two distinct responses among
        the first min_leaf.
    """
    if options.model == "class":
        if options.classes is None:
            options = replace(options, classes=sorted_labels(y))
        assert options.classes is not None
        responses = label_codes(y, options.classes)
    else:
        responses = np.array(y, dtype=np.float64)
    if options.model in ("constant", "linear"):
        first = responses[: options.min_leaf]
        if np.all(first == first[0]):
            raise ValueError(
                f"y must hold two distinct values among the first min_leaf="
                f"{options.min_leaf} rows; all are {first[0]}. Begin with other rows "
                "or set min_leaf higher."
            )
    assert options.min_leaf is not None
    ones = int(options.intercept == "augmented")
    basis = X.shape[1] if options.n_basis is None else options.n_basis
    cloud = Cloud(
        RSource(seed),
        model=options.model,
        n_features=X.shape[1] + ones,
        n_particles=options.n_particles,
        min_leaf=options.min_leaf,
        tree_prior=options.tree_prior,
        proposal=options.proposal,
        variance_prior=options.variance_prior,
        intercept=options.model != "linear" or options.intercept == "implicit",
        n_basis=basis + ones,
        first_split=options.first_split + ones,
        n_classes=len(options.classes or ()),
    )
    start = options.n_start
    cloud.start(with_ones(X[:start], ones), responses[:start])
    return cloud, options, responses


def row_positions(cloud: Any, row_ids: ArrayLike, name: str) -> NDArray[np.int64]:
    """Places of active rows in the cloud's order, by their numbers.

    Raises
    ------
    ValueError
        For what is not a whole number, names no active row, or comes twice.
    """
    ids = np.atleast_1d(as_array(name, row_ids))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be row numbers (ints); got {row_ids!r}.")
    place = {row: k for k, row in enumerate(cloud.row_ids().tolist())}
    unknown = [row for row in ids.tolist() if row not in place]
    if unknown:
        raise ValueError(
            f"{name} must name active rows; {unknown[0]} is not one (see active_ids)."
        )
    if len(set(ids.tolist())) != len(ids):
        raise ValueError(f"{name} must name each row once; got {row_ids!r}.")
    return np.array([place[row] for row in ids.tolist()], dtype=np.int64)
