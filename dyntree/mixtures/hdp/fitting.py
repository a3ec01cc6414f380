"""Documents that were read, fitted to what a model knows of columns and names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import NOUNS, NUMBERS, ZONES
from dyntree.encoding.feature_map import FeatureMap
from dyntree.mixtures.hdp.documents import Batch
from dyntree.mixtures.hdp.learned import Learned


def feature_map(batch: Batch) -> FeatureMap:
    """Names of the columns of documents, or the number of words."""
    if batch.words is not None:
        assert batch.n_words is not None
        return FeatureMap(batch.n_words, batch.names)
    return FeatureMap(batch.width, batch.names, times=batch.times)


def fitting(batch: Batch, learned: Learned) -> Batch:
    """Documents whose columns are those of the model, in its order."""
    if batch.words is not None:
        return batch
    assert batch.rows is not None
    if batch.width != learned.family.d:
        raise ValueError(
            f"documents[0] has {batch.width} columns; the model was started with "
            f"{learned.family.d}."
        )
    names = learned.features.names
    if names is None or batch.names is None or batch.names == names:
        return same_times(batch, learned)
    if set(names) != set(batch.names):
        raise ValueError(
            f"documents must have the columns {list(names)}; got {list(batch.names)}."
        )
    order = [batch.names.index(name) for name in names]
    rows, times = np.ascontiguousarray(batch.rows[:, order]), dict(batch.times)
    kinds = [(k, times[old]) for k, old in enumerate(order) if old in times]
    batch = replace(batch, rows=rows, names=names, times=tuple(kinds))
    return same_times(batch, learned)


def same_times(batch: Batch, learned: Learned) -> Batch:
    """Documents, once they hold times where those before did."""
    known = learned.features.times
    if batch.times != known:
        k = min({*batch.times} ^ {*known})[0]
        name = learned.features.feature_names[k]
        was, came = (dict(one).get(k, NUMBERS) for one in (known, batch.times))
        nouns = ZONES if {was, came} == {*ZONES} else NOUNS
        raise ValueError(
            f"documents must hold {nouns[was]} in column {name!r}, as at first; got "
            f"{nouns[came]}."
        )
    return batch


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """Names of documents as an array of whole numbers or of text."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ValueError(
            f"ids must have one name per document ({n}); got {params.short(ids)}."
        )
    given = list(ids)
    if len(given) != n:
        raise ValueError(
            f"ids must have one name per document ({n}); got {len(given)}."
        )
    whole = all(
        isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given
    )
    return (
        np.array(given, dtype=np.int64)
        if whole
        else np.array([str(one) for one in given])
    )


def unsorted(batch: Batch, values: Any) -> Any:
    """Values of rows in the order in which the rows came."""
    if batch.order is None:
        return values
    out = np.empty_like(values)
    out[batch.order] = values
    return out


def check_unseen(names: NDArray[Any], learned: Learned) -> None:
    """Refuse names of documents that were learned before."""
    before, epoch = learned.document_ids, learned.document_epoch
    if before is None or epoch is None or not len(before):
        return
    texts = before.dtype.kind == "U" or names.dtype.kind == "U"
    known = before.astype(str) if texts else before
    asked = names.astype(str) if texts else names
    for at in np.flatnonzero(np.isin(asked, known)):
        seen = int(np.flatnonzero(known == asked[at])[0])
        raise ValueError(
            f"ids[{at}]={names[at].item()!r} was already learnt in epoch "
            f"{epoch[seen]}; documents cannot be extended after their epoch."
        )
