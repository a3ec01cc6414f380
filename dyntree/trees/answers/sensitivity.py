"""Inputs -> how much of a prediction each accounts for: importance and sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.trees import sensitivity as core_sensitivity
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.runtime.locking import locked
from dyntree.summaries import Importance, Sensitivity
from dyntree.trees.answers.criteria import Bounds, TreeCriteria, drawing_source, region
from dyntree.trees.answers.draws import particle_draws
from dyntree.trees.answers.predictions import mean_of
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
    held = cloud.rows()[0][:, ones:]
    shapes = np.where(flags, 0.0, 1.0) if shape is None else _floats("shape", shape)
    modes = _means(held, flags) if mode is None else _floats("mode", mode)
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
    state: TreeState, factors: Mapping[str, Sequence[str]] | None
) -> dict[str, NDArray[np.int64]]:
    """Places of the columns of each input, by its name."""
    features = state.features
    assert features is not None
    names, places = features.feature_names, features.level_places
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


class TreeAnswers(TreeCriteria):
    """The methods of a `DynamicTree` that do not learn.

    Methods that use random numbers derive them from the seed and the number of learned
    rows. A second call therefore gives the same result, and no call changes what is
    learned later. Under R's rules they draw from the model's own random numbers, as
    CRAN dynaTree does, and ``score_active("alc")`` and ``("entropy")`` store their
    results in the leaves.
    """

    @locked
    def importance(
        self,
        *,
        n_samples: int = 500,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Importance:
        """Share of the predicted variance that each input accounts for.

        Both splits and slopes count. The effect of an input is half the mean squared
        change of the mean prediction (of the probabilities for classes) when its value
        in an active row is replaced by that of another row. This is the total Sobol'
        effect (Jansen 1999, equation 12) over the rows held. The share is relative to
        the sum over all inputs, so that a joint effect of several inputs counts for
        each of them. If inputs are nearly functions of each other, such a change leads
        to rows that never occur, and their shares describe the model at those rows.

        Parameters
        ----------
        n_samples : int, default 500
            Number of random pairs of rows, >= 2.
        factors : dict of str to sequence of str, optional
            As in `sensitivity`; under R's rules every column is an input.

        Returns
        -------
        Importance

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import DynamicTree
        >>> X = np.random.default_rng(0).random((200, 2))
        >>> tree = DynamicTree("linear", n_particles=50, seed=1)
        >>> tree.update(X, X @ [3.0, 1.0]).importance().values.round(1)
        array([0.9, 0.1])
        """
        mean = partial(mean_of, self.state.ready("importance"))
        return input_shares(self.state, mean, n_samples, factors, self.seed)

    @locked
    def sensitivity(
        self,
        *,
        label: Hashable | None = None,
        n_samples: int = 1000,
        n_grid: int = 100,
        span: float = 0.3,
        method: str = "lhs",
        bounds: Bounds | None = None,
        shape: Sequence[float] | None = None,
        mode: Sequence[float] | None = None,
        categorical: Sequence[bool] | None = None,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Sensitivity:
        """Estimate main effects and Sobol' indices (Gramacy and Taddy 2010).

        Parameters
        ----------
        label : hashable, optional
            Class models: the label whose probability is analysed. It is required there.
        n_samples : int, default 1000
            Size of each of the two samples of inputs, >= 2.
        n_grid : int, default 100
            Number of points of each main effect, >= 1.
        span : float in [0, 1], default 0.3
            Share of the samples over which a point of a main effect averages.
        method : {"lhs", "boot"}, default "lhs"
            "lhs" draws Latin hypercube samples of scaled beta distributions, and "boot"
            draws active rows with replacement. With "lhs", an input is missing as often
            as in the learned rows if trees split on whether it is missing.
        bounds : array_like of shape (n_features, 2), optional
            Range of each input. By default it is the range of all learned rows; with
            ``forget`` below 1, for "boot" and under R's rules, that of the active rows.
        shape, mode : sequence of float of shape (n_features,), optional
            Parameters of the beta distributions. The shape is >= 1, by default 1
            (uniform). The mode is within the bounds, by default the mean of the active
            rows. A 0/1 column has shape 0, and `mode` is its mean, by default 1/2 if
            the active rows do not have both values.
        categorical : sequence of bool of shape (n_features,), optional
            Which columns hold 0 and 1 only, as in `score`.
        factors : dict of str to sequence of str, optional
            Native rules: names of the indicator columns of each factor. By default
            the factors are the text columns. Each sample has one level of a factor,
            with probabilities in proportion to `mode`, and a factor has one index. What
            the modes of a factor lack to one is the share of a level without a column.

        Returns
        -------
        Sensitivity

        Notes
        -----
        The indices are shares of the variance of a new response, which includes noise.
        The total index of an input without effect is therefore the share of the noise
        (for classes the mean of p (1 - p)), and not 0. `importance` excludes the noise.

        Under native rules, the main effects of a particle come from one draw of the
        parameters of its leaves, so that their spread is that of the posterior. Under
        R's rules they come from its means. Native rules integrate over responses and
        use differences of means (Saltelli et al. 2010, table 2), so that a constant
        added to all responses has no influence. R's rules use the estimator of Gramacy
        and Taddy.
        """
        cloud = self.state.ready("sensitivity")
        place = None
        if self.options.classes is not None:
            place = self.class_place(label)
        elif label is not None:
            raise ArgumentError("label", "is for class models only", label)
        inputs = inputs_of(self.state, factors)
        method = params.one_of("method", method, ("lhs", "boot"))
        law = input_law(self.state, method, bounds, shape, mode, categorical)
        share = params.real("span", span)
        if not 0.0 <= share <= 1.0:
            raise ArgumentError("span", "must be in [0, 1]", span)
        n_grid = params.count("n_grid", n_grid, 1)
        grid = np.linspace(law["lower"], law["upper"], n_grid)
        found = core_sensitivity.sensitivity(
            cloud, n_samples=params.count("n_samples", n_samples, 2), grid=grid,
            span=share, method=method, label=place, groups=list(inputs.values()),
            source=drawing_source(self.state), drawn=self._drawn_levels(place), **law,
        )  # fmt: skip
        places = tuple(tuple(group.tolist()) for group in inputs.values())
        return Sensitivity(grid, *found, self.feature_names, tuple(inputs), places)

    def _drawn_levels(self, place: int | None) -> Callable[[int, Matrix], Vector]:
        """Particle and rows -> one joint draw of its means, or of a probability."""
        rng = np.random.default_rng([self.seed, self.state.n_seen])

        def drawn(particle: int, rows: Matrix) -> Vector:
            which = np.array([particle])
            (block,) = particle_draws(self.state.cloud, rows, which, rng)
            found = block.mean[0] if place is None else block.mean[0, :, place]
            return np.ascontiguousarray(found)

        return drawn
