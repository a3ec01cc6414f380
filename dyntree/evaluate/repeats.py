"""Repeats: one model fitted several times to the same rows, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.runtime.online import OnlineModel, check_online_model
from dyntree.runtime.parallel import side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import spawned
from dyntree.trees.averages.tables import AveragedTrees, Table, learned_in_order
from dyntree.trees.base import TreeModel
from dyntree.trees.learning.exposures import with_exposure
from dyntree.trees.learning.weights import weighed
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree


def fit_repeats(
    model: OnlineModel,
    X: Any,
    y: Any,
    n_repeats: int = 10,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    shuffle: bool = True,
    threads: int | None = None,
    progress: Progress = None,
) -> Sequence[Any]:
    """Fit copies of a model to the same rows, each with its own seed and row order.

    The predictions of a cloud of particles depend a little on its random draws and on
    the order of the rows. The differences between repeats show how much.

    Parameters
    ----------
    model : DynamicTree, StreamingTree or another OnlineModel
        A model that has not learned any rows. It does not change.
    X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        Rows in any form that the model takes.
    y : array_like of shape (n_rows,)
        Responses, or labels of a class model.
    n_repeats : int, default 10
    sample_weight : array_like of shape (n_rows,) or float, optional
        Weights of the rows, as for ``DynamicTree.update``; for models of trees.
    exposure : array_like of shape (n_rows,) or float, optional
        Exposures of counts, as for ``DynamicTree.update``; by default 1.
    shuffle : bool, default True
        Whether every repeat but the first learns the rows in a random order. Use False
        if the order of the rows has a meaning.
    threads : int, optional
        Number of repeats that run at the same time. The default is DYNTREE_NUM_THREADS,
        or ``n_jobs`` of an enclosing ``joblib.parallel_config``, or 1. Repeats run in
        threads, unless such a config names another backend, such as processes of "loky"
        or a cluster of "dask". The result does not depend on it.
    progress : bool, callable or None, default None
        As in `DynamicTree.update`. It counts the rows of all repeats, and moves when a
        repeat is done.

    Returns
    -------
    AveragedTrees, or list of models of the same class
        The `n_repeats` fitted models. Trees come as a sequence that is also a model
        itself: the average of their predictive distributions.

    Raises
    ------
    ValueError
        If the input is bad.
    KeyboardInterrupt
        If the call is interrupted. Threads stop within about a tenth of a second;
        joblib's backend stops processes.

    Notes
    -----
    The seeds are the first words of the children that ``numpy.random.SeedSequence``
    spawns from the seed of `model`, so that the first repeats do not depend on
    `n_repeats`. The first repeat learns the rows in the order given, as in CRAN's
    ``dynaTrees``. A repeat with the seed ``s`` learns them in the order
    ``numpy.random.default_rng(s).permutation(n_rows)``.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree, fit_repeats
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> tree = DynamicTree("linear", n_particles=100, seed=1)
    >>> repeats = fit_repeats(tree, x, np.sin(6 * x[:, 0]), 5, threads=2)
    >>> means = [repeat.predict([[0.25]]).mean[0] for repeat in repeats]
    >>> print(np.round(means, 2))
    [1.   0.99 1.   0.99 0.99]
    """
    check_progress(progress)
    n_repeats = params.count("n_repeats", n_repeats, 1)
    shuffle = params.flag("shuffle", shuffle)
    n_jobs = params.n_jobs(threads)
    check_online_model("model", model)
    if model.n_seen:
        raise ArgumentError(
            "model",
            "must not have learned any rows",
            Message(f"one that has seen {model.n_seen}"),
            "Make a new one with the same options.",
        )
    if model.is_frozen:
        raise ArgumentError("model", "must not be frozen: it would learn nothing")
    weights = None
    for name, given in (("sample_weight", sample_weight), ("exposure", exposure)):
        if given is not None and not isinstance(model, TreeModel):
            raise ArgumentError(
                name,
                "is for models of trees",
                Message("it with a {kind}", kind=type(model).__name__),
            )
    if isinstance(model, TreeModel):
        y = with_exposure(model.state.options, X, y, exposure)
        X, y, weights = weighed(model.state.options, X, y, sample_weight)
    _, y = model.preview(X, y)
    table = Table(X, y, weights)
    seeds = spawned(model.seed, n_repeats)
    jobs = [
        (
            model.reseeded(seed),
            table,
            np.random.default_rng(seed).permutation(len(y)) if shuffle and k else None,
            k == 0,
        )
        for k, seed in enumerate(seeds)
    ]
    with rows_bar(progress, n_repeats * len(y), "repeats") as tell:
        found = side_by_side(learned_in_order, jobs, n_jobs, lambda: tell(len(y)))
    if isinstance(model, DynamicTree | StreamingTree):
        return AveragedTrees.of(found, model.seed, shuffle)
    return found
