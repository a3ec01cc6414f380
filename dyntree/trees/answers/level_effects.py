"""How uncertain effects of levels are: in draws, and in intervals of means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.learning.check import coded, with_effects
from dyntree.trees.state import TreeState

N_SETS = 64  # of effects that are drawn, each for some of the draws


def drawn_effects(
    state: TreeState, X: Any, n_draws: int, rng: np.random.Generator, n_compared: int
) -> Iterator[tuple[slice, Any]]:
    """Draws, and the rows at which they are made, with effects drawn for them.

    The effect of a level is normal about its posterior mean, and one for all rows of a
    draw. Over the sets of effects, each is a Latin hypercube sample. Where settings of
    the same rows are compared, and have the same levels, effects are not drawn.

    Parameters
    ----------
    state : TreeState
    X
        Rows as users hold them.
    n_draws : int
    rng : Generator
    n_compared : int
        How many settings of the same rows follow one another; or 0.

    Yields
    ------
    places : slice
        Of draws.
    X
        Rows for these.
    """
    groups = _groups(state, X)
    rows = coded(state, X) if groups else np.empty((0, 0))
    codes = [rows[:, places[0]] for places in groups]
    if all(n_compared > 1 and _are_alike(levels, n_compared) for levels in codes):
        yield slice(0, n_draws), X
        return
    means, spreads = _law(state, rows)
    n_sets = min(N_SETS, n_draws)
    normal = ndtri((np.arange(n_sets) + 0.5) / n_sets)
    scores = []
    for levels, spread in zip(codes, spreads, strict=True):
        distinct, place = np.unique(levels, return_inverse=True)
        shape = len(distinct), spread.shape[1], n_sets
        scores.append(rng.permuted(np.broadcast_to(normal, shape), axis=2)[place])
    ends = np.linspace(0, n_draws, n_sets + 1).astype(int)
    for k in range(n_sets):
        some = means.copy()
        for places, spread, score in zip(groups, spreads, scores, strict=True):
            some[:, places] += spread * score[:, :, k]
        yield slice(ends[k], ends[k + 1]), Encoded(some, has_effects=True)


def mean_spreads(
    state: TreeState, X: Any, means: Callable[[Any], Vector]
) -> Vector | None:
    """Standard deviations of means at rows, for what is not known of effects.

    Half the difference between the means one standard deviation of an effect above and
    below it; squares are added over columns of levels.

    Parameters
    ----------
    state : TreeState
    X
        Rows as users hold them.
    means : callable
        Gives the predicted means at rows, shape (n_rows,).

    Returns
    -------
    ndarray of shape (n_rows,), or None where all effects are known
    """
    groups = _groups(state, X)
    if not groups:
        return None
    rows = coded(state, X)
    middle, spreads = _law(state, rows)
    square = np.zeros(len(rows))
    for places, spread in zip(groups, spreads, strict=True):
        if not spread.any():
            continue
        ends = []
        for sign in (-1.0, 1.0):
            side = middle.copy()
            side[:, places] += sign * spread
            ends.append(means(Encoded(side, has_effects=True)))
        square += (0.5 * (ends[1] - ends[0])) ** 2
    return np.sqrt(square) if square.any() else None


def with_mean_spreads(parts: Any, spreads: Vector | None) -> Any:
    """A mixture at each row, as of `query.mixture`, whose means vary so much more.

    The spread of a response stays, as the rows learned had such effects, too.
    """
    if spreads is None:
        return parts
    start, weight, location, scale, df, of_mean = parts
    more = np.repeat(spreads, np.diff(start))
    wide = np.minimum(np.hypot(of_mean, more), np.maximum(scale, of_mean))
    return start, weight, location, scale, df, wide


def follow_levels(state: TreeState, rows: Matrix, levels: Sequence[int]) -> None:
    """Give rows of features the effects of the level that they have in a column.

    Parameters
    ----------
    state : TreeState
    rows : ndarray of shape (n_rows, n_features)
        Changed in place. Rows that are 0 in all features of the column stay as they
        are.
    levels : sequence of int
        Places of these features.
    """
    features = state.features
    assert features is not None
    effects = features.effect_places
    names = [k for k in effects if features.level_places[k] == levels]
    if not names:
        return
    (name,) = names
    places = effects[name]
    there, which = np.nonzero(rows[:, levels] == 1.0)
    asked = np.full((len(there), rows.shape[1]), np.nan)
    codes = np.array(features.levels_of[name].featured, dtype=np.float64)[which]
    asked[:, places] = codes[:, None]
    rows[there[:, None], places] = with_effects(state, asked)[:, places]


def _law(state: TreeState, rows: Matrix) -> tuple[Matrix, list[Matrix]]:
    """Rows with the posterior means of effects for codes, and the spreads of effects.

    Spreads are as of `LevelEffects.spreads`.
    """
    means = with_effects(state, rows)
    return means, state.effects.spreads(rows, state.features, state.n_pieces)


def _groups(state: TreeState, X: Any) -> list[list[int]]:
    """Places of the effect columns of rows, unless their effects are fixed."""
    if state.effects is None or (isinstance(X, Encoded) and X.has_effects):
        return []
    state.effects.settle(state.n_pieces)
    assert state.features is not None
    return state.features.effect_groups[: len(state.effects.sums)]


def _are_alike(codes: Vector, n_compared: int) -> bool:
    """Whether all settings of the same rows have the same levels."""
    settings: Matrix = codes.reshape(n_compared, -1)
    return bool(np.array_equal(settings, np.broadcast_to(settings[0], settings.shape),
                               equal_nan=True))  # fmt: skip
