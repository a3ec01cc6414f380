"""Inputs -> how much of a prediction each accounts for: importance and sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries import Importance
from dyntree.trees.answers.criteria import Bounds, region
from dyntree.trees.answers.draws import particle_draws
from dyntree.trees.state import TreeState


def input_law(
    state: TreeState,
    method: str,
    bounds: Bounds | None,
    shape: Sequence[float] | None,
    mode: Sequence[float] | None,
    categorical: Sequence[bool] | None,
) -> dict[str, Any]:
    """Arguments of `DynamicTree.sensitivity` -> how its inputs are drawn, checked.

    By the names that the core gives them, arrays of shape (n_features,).
    """
    cloud, ones = state.cloud, state.ones
    low, high, flags = region(cloud, ones, None, bounds, categorical, method == "boot")
    low, high, flags = low[ones:], high[ones:], flags[ones:]
    rows = cloud.rows()[0][:, ones:]
    shapes = np.where(flags, 0.0, 1.0) if shape is None else _floats("shape", shape)
    modes = _means(rows, flags) if mode is None else _floats("mode", mode)
    if shapes.shape != low.shape or modes.shape != low.shape:
        raise ValueError(
            Message(
                "shape and mode must hold {n_low} numbers each; got {shape!r} and "
                "{mode!r}.",
                n_low=len(low),
                shape=shape,
                mode=mode,
            )
        )
    wrong = np.flatnonzero(np.where(flags, shapes != 0.0, shapes < 1.0))
    if len(wrong):
        raise ArgumentError(
            "shape",
            "must be 0 for 0/1 columns and >= 1, where 1 is uniform, for all others",
            Message("{shape!r}, wrong for column {wrong}", shape=shape, wrong=wrong[0]),
        )
    outside = np.flatnonzero((shapes != 1.0) & ((modes < low) | (modes > high)))
    if mode is not None and len(outside):
        k = outside[0]
        raise ArgumentError(
            "mode",
            "must be within the bounds, {low} to {high} for column {k}",
            mode,
            "Give wider bounds, or another mode.",
            low=low[k],
            high=high[k],
            k=k,
        )
    bounded = {"lower": low, "upper": high, "categorical": flags}
    return bounded | {"shape": shapes, "mode": modes}


def input_shares(
    state: TreeState,
    mean: Callable[[Matrix], Matrix],
    n_samples: int,
    factors: Mapping[str, Sequence[str]] | None,
    seed: int,
) -> Importance:
    """Predictions -> the share of their variance that each input accounts for.

    Parameters
    ----------
    state : TreeState
        Whose active rows are drawn from.
    mean : callable
        Predictions, shape (n_rows, n_outputs), of rows as the cloud stores them.
    n_samples, factors
        As in `DynamicTree.importance`.
    seed : int
        Of the model.
    """
    X, inputs = state.cloud.rows()[0], inputs_of(state, factors)
    groups = [group + state.ones for group in inputs.values()]
    n_samples = params.count("n_samples", n_samples, 2)
    if not len(X):
        raise ArgumentError(
            "importance", "needs rows, but remove_data dropped all of them"
        )
    rng = np.random.default_rng([seed, state.n_seen])
    base, other = X[rng.integers(len(X), size=(2, n_samples))]
    mixed = np.tile(base, (len(groups) + 1, 1, 1))
    for k, group in enumerate(groups):
        mixed[k, :, group] = other[:, group].T
    answers = mean(mixed.reshape(-1, X.shape[1])).reshape(len(mixed), n_samples, -1)
    return variance_shares(answers, tuple(inputs))


def variance_shares(answers: NDArray[np.float64], names: tuple[str, ...]) -> Importance:
    """Predictions in which each input was exchanged -> its share of their variance.

    Parameters
    ----------
    answers : ndarray of shape (n_inputs + 1, n_samples, n_outputs)
        With one input after the other taken from other rows; last, rows as they are.
    names : tuple of str
        The inputs.
    """
    n_samples = answers.shape[1]
    effects = 0.5 * ((answers[:-1] - answers[-1]) ** 2).sum(axis=2)
    total = effects.mean(axis=1)
    whole = total.sum()
    if not whole > 0.0:
        return Importance(np.zeros(len(names)), np.zeros(len(names)), names)
    values = total / whole
    # of a ratio of means, by its linear part
    apart = effects - values[:, None] * effects.sum(axis=0)
    errors: Vector = apart.std(axis=1, ddof=1) / (whole * np.sqrt(n_samples))
    return Importance(values, errors, names)


def _means(stored: Matrix, flags: NDArray[np.bool_]) -> Vector:
    """Column means of what is not missing; 0 where everything is.

    0/1 columns of which these rows show one value or none count as a fair coin.
    """
    n_there = np.maximum(1, (~np.isnan(stored)).sum(axis=0))
    means: Vector = np.nansum(stored, axis=0) / n_there
    means[flags & ((means == 0.0) | (means == 1.0))] = 0.5
    return means


def _floats(name: str, values: Sequence[float]) -> Vector:
    """Finite floats of shape (n,)."""
    array = params.as_array(name, values, np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ArgumentError(name, "must be a sequence of finite numbers", values)
    return array


def inputs_of(
    state: TreeState,
    factors: Mapping[str, Sequence[str]] | None,
) -> dict[str, NDArray[np.int64]]:
    """Places of the columns of each input, by its name."""
    features = state.features
    assert features is not None
    names, effects = features.feature_names, features.effect_places
    places = {
        name: [*levels, *effects.get(name, ())]
        for name, levels in features.level_places.items()
    }
    if factors is not None:
        if state.options.rules == "r":
            raise ArgumentError("factors", "is an option of rules='native'")
        at = {name: k for k, name in enumerate(names)}
        unknown = [n for group in factors.values() for n in group if n not in at]
        if unknown or not all(map(len, factors.values())):
            raise ArgumentError(
                "factors",
                "must name columns among {names}, at least one a factor",
                unknown or dict(factors),
                names=list(names),
            )
        places = {
            factor: [at[name] for name in group] for factor, group in factors.items()
        }
    home = {k: factor for factor, group in places.items() for k in group}
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        found.setdefault(home.get(k, name), []).append(k)
    return {name: np.array(group) for name, group in found.items()}


def joint_inputs(
    state: TreeState, inputs: Mapping[str, NDArray[np.int64]]
) -> list[int]:
    """Numbers of the inputs that have effect columns.

    Their values are those of an active row, as an effect and levels belong together.
    Without such rows there are none.
    """
    assert state.features is not None
    effects = [place for group in state.features.effect_groups for place in group]
    groups = enumerate(inputs.values())
    there = state.n_active > 0
    return [k for k, group in groups if there and np.isin(group, effects).any()]


def level_draws(state: TreeState, place: int | None) -> Callable[[int, Matrix], Vector]:
    """Particle and rows -> one joint draw of its means, or of a probability."""
    rng = np.random.default_rng([state.seed, state.n_seen])

    def drawn(particle: int, rows: Matrix) -> Vector:
        (block,) = particle_draws(state.cloud, rows, np.array([particle]), rng)
        found = block.mean[0] if place is None else block.mean[0, :, place]
        return np.ascontiguousarray(found)

    return drawn
