"""Epochs cut so that their passing memory stays below a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dyntree.mixtures.hdp.documents import Batch
from dyntree.mixtures.hdp.learned import Learned
from dyntree.mixtures.hdp.learning import Context

ROW_EXTRA = 52  # labels, places, shares and weights of one row, in bytes


def cut_to_fit(
    context: Context, learned: Learned, batch: Batch
) -> Iterator[tuple[Batch, bool]]:
    """Parts of an epoch, and whether each goes on with the document before it.

    Documents are kept whole where they fit; one that does not is cut into ranges of
    its points, all of the same group.
    """
    limit = context.options.working_limit
    if limit is None:
        yield batch, False
        return
    assert isinstance(limit, int)
    # a row is held as it came, standardised, and once more while parts are halved
    each = 3 * max(8, learned.family.point_bytes) + ROW_EXTRA
    most = max(1, limit // each)
    sizes = np.bincount(batch.document, minlength=batch.n_documents)
    first = 0
    while first < batch.n_documents:
        last, total = first, 0
        while last < batch.n_documents and total + sizes[last] <= most:
            total += int(sizes[last])
            last += 1
        if last > first:
            yield batch.part(first, last), False
            first = last
            continue
        whole = batch.part(first, first + 1)
        for start in range(0, whole.n, most):
            yield rows_of(whole, slice(start, start + most)), start > 0
        first += 1


def rows_of(batch: Batch, some: slice) -> Batch:
    """A range of the points of one document."""
    words = batch.words
    return replace(
        batch,
        document=batch.document[some],
        rows=None if batch.rows is None else batch.rows[some],
        words=None if words is None else (words[0][some], words[1][some]),
        weight=None if batch.weight is None else batch.weight[some],
    )
