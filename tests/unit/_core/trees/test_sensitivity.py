"""Sensitivity: the oracle's draws and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree._core.trees.sensitivity import sensitivity
from tests import helpers
from tests.oracle.sensitivity import sensitivity as oracle_sensitivity

PASTS = [(name, False) for name in helpers.MODELS] + [
    (name, True) for name in helpers.RETIRING
]


def plan(d: int, **changes: Any) -> dict[str, Any]:
    """Uniform inputs on the unit cube."""
    return {
        "n_samples": 40,
        "grid": np.tile(np.linspace(0.0, 1.0, 7)[:, None], (1, d)),
        "span": 0.3,
        "lower": np.zeros(d),
        "upper": np.ones(d),
        "shape": np.ones(d),
        "mode": np.full(d, 0.5),
        "categorical": np.zeros(d, dtype=bool),
    } | changes


def both(name: str, retire: bool = False, d: int | None = None, **changes: Any) -> None:
    """Same numbers from the same draws."""
    core, oracle = helpers.pair(name, 30, retire=retire, n_particles=5)
    d = d or (1 if name == "augmented" else 2)
    label = {"label": 1} if name == "class" else {}
    got = sensitivity(core, **plan(d, **changes), **label)
    expected = oracle_sensitivity(oracle, **plan(d, **changes), **label)
    for values, wanted, what in zip(
        got, expected, ("main", "first", "total"), strict=True
    ):
        helpers.assert_close(values, wanted, what)
    assert core.source.n_draws == oracle.source.n_draws
    helpers.assert_same_cloud(core, oracle)


@pytest.mark.parametrize("method", ["lhs", "boot"])
@pytest.mark.parametrize(("name", "retire"), PASTS)
def test_all_models(name: str, retire: bool, method: str) -> None:
    both(name, retire, method=method)


@pytest.mark.parametrize(
    ("shape", "mode"), [(0.0, 0.3), (0.0, 7.0), (3.0, 0.2), (2.0, 1.0), (0.5, -4.0)]
)
def test_scaled_betas(shape: float, mode: float) -> None:
    shapes, modes = np.array([shape, 1.0]), np.array([mode, 0.5])
    both("constant", shape=shapes, mode=modes)


def test_a_categorical_input() -> None:
    both(
        "constant",
        shape=np.array([0.0, 1.0]),
        categorical=np.array([True, False]),
    )


@pytest.mark.parametrize("span", [0.0, 0.05, 1.0])
def test_windows(span: float) -> None:
    both("constant", span=span)


def test_ties_stand_in_decreasing_order() -> None:
    """Stored rows drawn twice give windows without width as well: NaN (quirk 25)."""
    both("constant", method="boot", span=0.02)


def test_a_constant_column_has_no_effect() -> None:
    both("constant", lower=np.array([0.4, 0.0]), upper=np.array([0.4, 1.0]))
