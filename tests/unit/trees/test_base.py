"""What a model of trees says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree


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
    ],
)
def test_a_model_names_its_leaves_its_particles_and_its_rows(
    model: Any, said: str
) -> None:
    assert repr(model) == f"{said}, 0 rows learned>"
    X = np.linspace(0.0, 1.0, 30)[:, None]
    model.update(X, X[:, 0])
    assert repr(model) == f"{said}, 30 rows learned>"
