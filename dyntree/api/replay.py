"""Rows that a model has learned, learned once more to see what foresaw them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.summaries import Prediction
from dyntree.trees.factory import Trees


def replayed(
    tree: Trees, rows: Matrix, responses: Any, weights: Vector | None
) -> tuple[list[Any], Vector]:
    """Let a tree without rows learn some, one by one.

    Parameters
    ----------
    tree : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
    rows : ndarray of shape (n_rows, n_features)
    responses : ndarray of shape (n_rows,)
        Responses or labels.
    weights : ndarray of shape (n_rows,), or None
        Rows of weight 0 are foreseen, but not learned.

    Returns
    -------
    foreseen : list
        Predictive mean, or most probable label, of each row before it was learned; NaN
        for a number that nothing foresaw.
    log_density : ndarray of shape (n_rows,)
        What each row added to the log evidence.
    """
    weights = np.ones(len(responses)) if weights is None else weights
    foreseen: list[Any] = []
    evidence = [0.0]
    for k, y in enumerate(responses):
        row = rows[k : k + 1]
        prediction = tree.predict(row)
        if isinstance(prediction, Prediction):
            known = tree.n_seen > 0
            foreseen.append(float(prediction.mean[0]) if known else np.nan)
        else:
            foreseen.append(prediction.label[0])
        if weights[k]:
            tree.update(row, [y], weights[k : k + 1], progress=False)
        evidence.append(tree.log_evidence)
    return foreseen, np.diff(evidence)
