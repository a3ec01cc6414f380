"""What a model of trees says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.errors import NotReadyError
from dyntree.params import LABELS, MODELS


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (DynamicTree("linear", n_particles=20), "<DynamicTree 'linear': 20 particles"),
        (
            StreamingTree("constant", window=9, n_particles=8),
            "<StreamingTree 'constant': 8 particles",
        ),
        (
            AveragedTrees("constant", n_clouds=3, n_particles=8),
            "<AveragedTrees 'constant': 3 clouds of 8 particles",
        ),
        (
            AveragedStream("linear", n_particles=8),
            "<AveragedStream 'linear': 7 clouds of 8 particles",
        ),
        (
            AveragedTrees("class", n_clouds=3, n_particles=8),
            "<AveragedTrees 'class': 3 clouds of 8 particles, 3 forests of 20 trees, "
            "3 regressions",
        ),
        (
            AveragedStream("class", n_particles=8),
            "<AveragedStream 'class': 10 clouds of 8 particles, "
            "2 forests of 10 or 20 trees, 2 regressions",
        ),
    ],
)
def test_a_model_names_its_leaves_its_particles_and_its_rows(
    model: Any, said: str
) -> None:
    assert repr(model) == f"{said}, 0 rows learned>"
    X = np.linspace(0.0, 1.0, 30)[:, None]
    model.update(X, (X[:, 0] > 0.5).astype(float))
    assert repr(model) == f"{said}, 30 rows learned>"


KINDS: dict[str, Any] = {
    "tree": lambda model: DynamicTree(model, n_particles=5, seed=1),
    "stream": lambda model: StreamingTree(model, window=20, n_particles=5, seed=1),
    "trees": lambda model: AveragedTrees(model, n_clouds=2, n_particles=5, seed=1),
    "streams": lambda model: AveragedStream(model, n_particles=5, seed=1),
    "random trees": lambda model: RandomTreesStream(model, n_trees=3, seed=1),
    "regressions": lambda model: LinearStream(model, seed=1),
    "R's rules": lambda model: DynamicTree(model, rules="r", n_particles=5, seed=1),
}
AVERAGED = tuple(model for model in MODELS if model not in ("logit", "prior"))
LEAVES = {
    "trees": AVERAGED,
    "streams": AVERAGED,
    "random trees": ("class", "constant"),
    "regressions": ("class",),
    "R's rules": ("constant", "linear", "class", "prior"),
}


@pytest.mark.parametrize(
    ("kind", "model"), [(k, m) for k in KINDS for m in LEAVES.get(k, MODELS)]
)
def test_a_model_without_rows_is_not_ready(kind: str, model: str) -> None:
    """It has nothing to say; from the first row on it has, under native rules."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    y = (X[:, 0] > 0.5).astype(int)
    fresh = KINDS[kind](model)
    asks = [lambda: fresh.predict(X), lambda: fresh.predict(X[:1].tolist())]
    if kind != "R's rules":
        way = "proba_at" if model in LABELS else "mean_at"
        asks.append(lambda: getattr(fresh.tree, way)(X[:1]))
    for ask in asks:
        with pytest.raises(NotReadyError, match=r"learned .*; got (none|0)\. Call"):
            ask()
    if kind != "R's rules":
        answer = fresh.update(X[:1], y[:1]).predict(X[:3])
        assert np.isfinite(answer.proba if model in LABELS else answer.mean).all()
