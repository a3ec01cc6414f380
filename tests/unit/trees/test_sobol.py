"""Indices of exchanged rows, and main effects of what was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree import AveragedTrees, DynamicTree
from dyntree.trees import sobol
from dyntree.trees.sobol import level_means, smoothed, sobol_indices


def tree(model: str = "linear") -> DynamicTree:
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.standard_normal(80)
    labels = np.where(y > 0.8, "u", "v")
    made = DynamicTree(model, n_particles=8, seed=1)
    return made.update(X, labels if model == "class" else y)


def direct(f: np.ndarray, noise: np.ndarray) -> tuple[float, float]:
    """Of predictions at a, b and mixed rows, in float128 as they are defined."""
    a, b, mixed = f.astype(np.longdouble)
    level = np.concatenate([a, b])
    variance = level.var() + noise.mean()
    first = ((a - level.mean()) * (mixed - b)).mean() / variance
    return float(first), float(
        (noise.mean() + ((b - mixed) ** 2).mean() / 2) / variance
    )


def test_indices_are_those_of_their_definition() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 50, 2))
    mixed = np.column_stack([a[:, 0], b[:, 1]])
    for model in ("linear", "class"):
        view = tree(model).frozen_view()
        place = None if model == "linear" else 1
        first, total = sobol_indices(view, a, b, [mixed], place)
        rows = np.concatenate([a, b, mixed])
        if place is None:
            level, scale, df = view.predictive(rows)
            noise = scale**2 * np.maximum(df, 3.0) / (np.maximum(df, 3.0) - 2.0)
        else:
            level = view.proba(rows)[:, :, 1]
            noise = level * (1.0 - level)
        for k in range(view.n_particles):
            wanted = direct(np.array(np.split(level[k], 3)), noise[k, :100])
            np.testing.assert_allclose([first[k, 0], total[k, 0]], wanted, rtol=1e-9)


@pytest.mark.parametrize("model", ["constant", "linear", "poisson", "negbin"])
@pytest.mark.parametrize("kind", [DynamicTree, AveragedTrees])
def test_moments_of_trees_make_up_those_of_predictions(kind: type, model: str) -> None:
    rng = np.random.default_rng(0)
    X, is_count = rng.random((80, 2)), model in ("poisson", "negbin")
    y = rng.poisson(np.exp(2 * X[:, 0])) if is_count else X[:, 0] + rng.random(80)
    exposure = rng.uniform(0.5, 2.0, 80) if is_count else None
    more = {"linear": False} if is_count and kind is AveragedTrees else {}
    made = kind(model, n_particles=8, seed=1, **more).update(X, y, exposure=exposure)
    mean, variance = made.frozen_view().moments(X[:9])
    known = made.predict(X[:9], exposure=1 if is_count else None)
    np.testing.assert_allclose(mean.mean(axis=0), known.mean, rtol=1e-9)
    spread = variance.mean(axis=0) + mean.var(axis=0)
    np.testing.assert_allclose(spread, known.var, rtol=1e-9)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b, mixed = rng.random((3, 50, 2))
    view = tree().frozen_view()
    whole = sobol_indices(view, a, b, [mixed], None)
    monkeypatch.setattr(sobol, "MOST_VALUES", 7 * 24)
    parts = sobol_indices(view, a, b, [mixed], None)
    np.testing.assert_allclose(whole, parts, rtol=1e-9, atol=1e-12)


def test_a_far_response_loses_nothing() -> None:
    """A constant that all responses have in them moves no index."""
    rng = np.random.default_rng(1)
    X, (a, b) = rng.random((60, 1)), rng.random((2, 64, 1))
    near, far = (
        sobol_indices(
            DynamicTree(n_particles=5, seed=1).update(X, X[:, 0] + shift).frozen_view(),
            a, b, [a], None,
        )
        for shift in (0.0, 1e6)
    )  # fmt: skip
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_main_effects_of_levels_are_means_of_their_rows() -> None:
    levels = np.array([[1.0, 2.0, 3.0, 9.0], [0.0, 0.0, 1.0, 1.0]])
    found = level_means(np.array([0.0, 0.0, 1.0, np.nan]), levels, 3)
    np.testing.assert_allclose(found, [[1.5, 3.0, 3.75], [0.0, 1.0, 0.5]])


def test_moving_averages_leave_out_what_is_missing() -> None:
    x, grid = np.linspace(0, 1, 101), np.array([0.25, 0.5])
    levels = np.vstack([2 * x, np.full(101, 3.0)])
    found = smoothed(x, levels, grid, 0.1)
    np.testing.assert_allclose(found, [[0.5, 1.0], [3.0, 3.0]], atol=1e-12)
    gone = x.copy()
    gone[::2] = np.nan
    kept = smoothed(x[1::2], levels[:, 1::2], grid, 0.1)
    np.testing.assert_allclose(smoothed(gone, levels, grid, 0.1), kept, atol=1e-12)
    nothing = smoothed(np.full(101, np.nan), levels, grid, 0.1)
    np.testing.assert_allclose(nothing, [[1.0, 1.0], [3.0, 3.0]])
