"""Small fits and checks shared by the tests of the mirror."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.api import rmirror as r
from tests.helpers import same_bytes

BAD = (TypeError, ValueError)


def rows(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """The data of the self-check table."""
    i = np.arange(1, n + 1)
    X = np.column_stack([(37 * i % 101) / 101, (53 * i % 103) / 103])
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 1] + (29 * i % 17) / 17
    return X, y


X, Y = rows()
LABELS = 1.0 + (Y > 4) + (Y > 8)


def fit(model: str = "constant", **options: Any) -> r.DynaTree:
    y = LABELS if model == "class" else Y
    given = {"N": 10, "seed": 1, "verb": 0} | options
    return r.dynaTree(X, y, model=model, **given)


def snapshot(obj: r.DynaTree) -> list[Any]:
    """Everything a rejected call must leave alone."""
    cloud = obj.cloud
    trees = [cloud.tree(i) for i in range(cloud.n_particles)]
    stream = [obj.rng.state.tobytes(), obj.rng.n_draws]
    parts = [part.tobytes() for part in (*cloud.rows(), cloud.row_ids())]
    return [trees, stream, parts, cloud.n_retired, repr(obj), obj.num]


def refused(obj: r.DynaTree, call: Callable[[], Any], match: str | None = None) -> None:
    with same_bytes(obj, snapshot), pytest.raises(BAD, match=match):
        call()
