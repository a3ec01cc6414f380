"""The evidence of models over seeds and row orders, on which it hangs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.fitted_model import FittedModel
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import HeavyRowsWarning, warn
from dyntree.runtime.parallel import Brake, side_by_side
from dyntree.runtime.progress import Progress, rows_bar
from dyntree.runtime.seeds import spawned
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.factory import Trees
from dyntree.trees.streaming import StreamingTree

HEAVY = 10.0  # times min_leaf: frequencies of rows on whose order evidence depends


def evidence_over_orders(
    models: Sequence[FittedModel],
    n_repeats: int,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Matrix:
    """Log evidence of models that are fitted several times.

    Parameters
    ----------
    models : sequence of DynamicTreeModel
        Models with data, and with equal numbers of rows.
    n_repeats : int
        Number of fits. Each has another seed, and all but the first have the rows in
        another order. Seeds and orders are those of `fit_repeats`, and the same for all
        models. If a model has a window, the order is part of the model, and all models
        learn the rows in the order given.
    seed : int, default 0
        Seed from which those of the models derive.
    n_jobs : int, optional
        Number of fits at a time.
    progress
        As in `DynamicTree.update`, counted over all fits.

    Returns
    -------
    ndarray of shape (n_models, n_repeats)
    """
    trees = [model.unlearned("log evidence over row orders") for model in models]
    shuffle = not any(isinstance(one, StreamingTree | AveragedStream) for one in trees)
    jobs = [
        (
            one.reseeded(own),
            model.exog,
            model.learned_response(),
            model.weights,
            own if k and shuffle else None,
        )
        for one, model in zip(trees, models, strict=True)
        for k, own in enumerate(spawned(seed, n_repeats))
    ]
    with rows_bar(progress, len(jobs), "fits", "fit") as tell:
        found = side_by_side(_evidence, jobs, n_jobs, lambda: tell(1))
    return np.reshape(found, (len(models), n_repeats))


def warn_of_heavy_rows(tree: Trees, row_counts: Vector) -> None:
    """Warn if the log evidence of trees is that of a stream with heavy rows.

    Parameters
    ----------
    tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        Rows that it holds count as well.
    row_counts : ndarray of shape (n_rows,)
        How often rows count that it has learned.
    """
    cloud = tree.state.cloud
    is_stream = isinstance(tree, StreamingTree | AveragedStream)
    if not is_stream or cloud is None or cloud.weighting != "frequency":
        return
    heaviest = np.max(np.concatenate([cloud.weights(), row_counts]), initial=0.0)
    if heaviest > HEAVY * (tree.state.options.min_leaf or 1):
        warn(
            HeavyRowsWarning,
            "a row of the stream counted {heaviest:g} times, and the log evidence "
            "depends on the order of such rows, which are learned whole. To compare "
            "models of a table, fit them without a window.",
            heaviest=heaviest,
        )


def _evidence(
    tree: Trees,
    rows: Matrix,
    y: NDArray[Any],
    weights: Vector | None,
    shuffled_by: int | None,
    brake: Brake,
) -> float:
    """Log evidence of rows in their order, or in the random one of a seed."""
    order = np.arange(len(y))
    if shuffled_by is not None:
        order = np.random.default_rng(shuffled_by).permutation(len(y))
    if weights is not None:
        weights = weights[order]
    tree.update(rows[order], [y[k] for k in order.tolist()], weights, progress=brake)
    return float(tree.log_evidence)
