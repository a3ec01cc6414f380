"""How far apart two clusterings are."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import is_label


def variation_of_information(a: Any, b: Any) -> float:
    """Variation of information of two clusterings, H(a) + H(b) - 2 I(a, b), in nats.

    It is a metric: 0 if the clusterings are the same up to their labels, and at most
    log(n_rows).

    Parameters
    ----------
    a, b : array_like of shape (n_rows,)
        Labels of any type, one for each row.

    Returns
    -------
    float
        The distance, or 0 if there are no rows.

    Notes
    -----
    The definition is that of Meila (2007), Comparing clusterings: an information based
    distance. It is computed from the sparse table of the pairs of labels that occur.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], ["x", "x", "y", "y"])
    0.0
    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """
    first, second = codes("a", a), codes("b", b)
    if len(first) != len(second):
        raise ValueError(
            Message(
                f"a and b must have a label for each row; got {len(first)} and "
                f"{len(second)}."
            )
        )
    n = len(first)
    if not n:
        return 0.0
    pairs = np.unique(first * (second.max() + 1) + second, return_counts=True)[1]
    entropy = [
        -float(np.sum(counts / n * np.log(counts / n)))
        for counts in (np.bincount(first), np.bincount(second), pairs)
    ]
    return max(0.0, 2.0 * entropy[2] - entropy[0] - entropy[1])


def codes(name: str, labels: Any) -> Any:
    """Labels as whole numbers from 0."""
    values = params.as_array(name, labels)
    if values.ndim != 1:
        raise ArgumentError(
            name,
            "must be one label a row",
            Message("shape {shape}", shape=values.shape),
        )
    if values.dtype.kind in "biuf" and not np.any(values != values):
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    known: dict[Any, int] = {}
    for row, one in enumerate(values.tolist()):
        if not is_label(one):
            raise ArgumentError(name, "must hold labels", one, row=row)
        known.setdefault(one, len(known))
    return np.array([known[one] for one in values.tolist()], dtype=np.int64)
