"""TreeState: one for a stream and the tree inside, none in common for copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, DynamicTree, StreamingTree
from tests.unit.models import data

SMALL: dict[str, Any] = {"n_particles": 10, "seed": 1}
MODELS = [
    lambda: DynamicTree(**SMALL),
    lambda: StreamingTree(window=20, **SMALL),
    lambda: AveragedStream(members=[{"window": 20}, {"window": 30}], **SMALL),
]


def test_a_stream_and_the_tree_inside_see_the_same() -> None:
    X, y = data("constant", 60)
    stream = StreamingTree(window=20, **SMALL).update(X[:40], y[:40])
    assert stream.tree.state is stream.state
    stream.tree.retire(stream.tree.active_ids[:3])
    stream.update(X[40:41], y[40:41])
    assert (stream.n_seen, stream.tree.n_seen) == (41, 41)
    assert stream.tree.n_active == 18  # 17 held, and room for one more


def test_a_copy_warns_anew() -> None:
    rows = [{"x": float(k), "s": "ab"[k % 2]} for k in range(40)]
    tree = DynamicTree(**SMALL).update(rows, np.arange(40.0))
    new = [{"x": 1.0, "s": "c"}]
    for model in (tree, tree.copy()):
        with pytest.warns(UserWarning, match="'s'"):
            model.predict(new)
