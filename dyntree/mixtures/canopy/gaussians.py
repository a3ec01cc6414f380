"""Gaussian families."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dyntree._core.mixtures.scores import NARROW, Scores
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.canopy.components import (
    FLOOR,
    FULL,
    LEAST,
    LOG_2PI,
    NORM,
    SQUARES,
    Components,
    Family,
    Moments,
    Prior,
    as_float32,
)

VERY_NARROW = 2.0**26  # as NARROW, where products in float64 lose 10^-8


def floored(
    spread: NDArray[np.float64], floor: float
) -> tuple[NDArray[np.float64], int]:
    """Raise eigenvalues of covariances to a floor; returns how many of them changed."""
    value, vector = np.linalg.eigh(spread)
    low = (value < floor).any(axis=1)
    if low.any():
        turned = vector[low] * np.maximum(value[low], floor)[:, None, :]
        spread = spread.copy()
        spread[low] = turned @ vector[low].transpose(0, 2, 1)
    return spread, int(low.sum())


def mean_of(moments: Moments, prior: Prior) -> tuple[Vector, Matrix]:
    """Rows that means are worth, with the prior's, and the means."""
    if prior.reg_covar is not None:
        weight = moments.weight + 10 * np.finfo(float).eps
        return weight, moments.first / weight[:, None]
    weight = prior.strength + moments.weight
    return weight, (prior.strength * prior.mean + moments.first) / weight[:, None]


def scattered(moments: Moments, prior: Prior, weight: Vector, mean: Matrix) -> Matrix:
    """Squared deviations by column of rows and prior mean from the posterior means."""
    strength = 0.0 if prior.reg_covar is not None else prior.strength
    return moments.second + strength * prior.mean**2 - weight[:, None] * mean**2


class Gaussian(Family):
    """What all Gaussian families have in common."""

    @abstractmethod
    def _alike(self, variance: Vector, m: int) -> NDArray[np.float64]:
        """The spread of m components that have these variances of columns."""

    def begin(
        self, rows: Matrix, prior: Prior, variance: Vector | None = None
    ) -> Components:
        """Components at some rows, with the spread of the prior and equal weights."""
        m, spread = len(rows), prior.variance
        if prior.reg_covar is not None:
            spread = np.ones(rows.shape[1])
        elif variance is not None and prior.least is not None:
            spread = np.clip(variance, np.maximum(FLOOR * spread, LEAST), spread)
        return Components(np.full(m, 1.0 / m), rows.copy(), self._alike(spread, m))


class Diagonal(Gaussian):
    """Gaussian, each column with a variance of its own."""

    name = "diag"
    layout = SQUARES

    def spread_shape(self, m: int, d: int) -> tuple[int, ...]:
        """Shape of the variances or covariances of m components of d columns."""
        return m, d

    def second_of(self, known: Components, weight: Vector) -> NDArray[np.float64]:
        """Second moments over as many rows of components as `weight` says."""
        return weight[:, None] * (known.spread + known.mean**2)

    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns about the means of their components."""
        return known.weight @ known.spread

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""
        weight, mean = mean_of(moments, prior)
        scatter = scattered(moments, prior, weight, mean)
        if prior.reg_covar is not None:
            variance = np.maximum(scatter / weight[:, None], 0.0) + prior.reg_covar
            low = int((variance[moments.weight > 0.0] < LEAST).sum())
            variance = np.maximum(variance, LEAST)
            return Components(self.weights_of(moments, prior), mean, variance), low
        own = prior.df + moments.weight + 3.0
        variance = (prior.df * prior.variance + scatter) / own[:, None]
        floor = np.maximum(FLOOR * prior.variance, LEAST)
        low = int((variance < floor).sum())
        variance = np.maximum(variance, floor)
        return Components(self.weights_of(moments, prior), mean, variance), low

    def scatter(self, moments: Moments, prior: Prior) -> Vector | None:
        """Squared deviations from the means of components, by column."""
        out: Vector = scattered(moments, prior, *mean_of(moments, prior)).sum(axis=0)
        return out

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior."""
        weight, mean = mean_of(moments, prior)
        scatter = prior.df * prior.variance + scattered(moments, prior, weight, mean)
        variance = scatter / rng.chisquare(
            (prior.df + moments.weight)[:, None], mean.shape
        )
        noise = rng.standard_normal(mean.shape)
        mean = mean + noise * np.sqrt(variance / weight[:, None])
        return Components(self.weights_of(moments, prior), mean, variance)

    def _alike(self, variance: Vector, m: int) -> NDArray[np.float64]:
        return np.tile(variance, (m, 1))

    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""
        inverse = 1.0 / known.spread
        theta = np.concatenate([known.mean * inverse, -0.5 * inverse], axis=1)
        with np.errstate(divide="ignore"):
            peak = np.log(known.weight)
        peak = peak - 0.5 * (np.log(known.spread) + LOG_2PI).sum(axis=1)
        whole = peak - 0.5 * (known.mean**2 * inverse).sum(axis=1)
        return Scores(
            self.layout, as_float32(theta), as_float32(whole), known.mean.shape[1],
            as_float32(known.mean), as_float32(peak),
        )  # fmt: skip

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""
        inverse = 1.0 / known.spread
        apart, peak = known.mean**2 * inverse, np.log(known.spread) + LOG_2PI
        out: Matrix = rows @ (known.mean * inverse).T - 0.5 * (
            rows**2 @ inverse.T + (apart + peak).sum(axis=1)
        )
        for z in np.flatnonzero(apart.sum(axis=1) > VERY_NARROW):
            squares = (rows - known.mean[z]) ** 2 @ inverse[z]
            out[:, z] = -0.5 * (squares + peak[z].sum())
        return out

    def widened_to_float32(
        self, known: Components, sharp: NDArray[np.bool_]
    ) -> Components:
        """Return components whose variances are large enough for sums in float32."""
        least = np.where(sharp[:, None], 0.0, known.mean**2 / (2.0 * NARROW))
        return replace(known, spread=np.maximum(known.spread, least))

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Rows of components."""
        noise = rng.standard_normal((len(labels), known.mean.shape[1]))
        return known.mean[labels] + noise * np.sqrt(known.spread[labels])


class Spherical(Gaussian):
    """Gaussian, one variance for all columns of a component."""

    name = "spherical"
    layout = NORM
    one_scale = True

    def spread_shape(self, m: int, d: int) -> tuple[int, ...]:
        """Shape of the variances or covariances of m components of d columns."""
        return (m,)

    def second_of(self, known: Components, weight: Vector) -> NDArray[np.float64]:
        """Second moments over as many rows of components as `weight` says."""
        mean = known.mean
        second: Vector = weight * (mean.shape[1] * known.spread + (mean**2).sum(axis=1))
        return second

    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns about the means of their components."""
        return np.full(len(centre), known.weight @ known.spread)

    def second(self, sums: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        """Second moments in their own shape."""
        return sums[:, 0]

    def _scatter(
        self, moments: Moments, prior: Prior, weight: Vector, mean: Matrix
    ) -> Vector:
        strength = 0.0 if prior.reg_covar is not None else prior.strength
        out: Vector = (
            moments.second
            + strength * (prior.mean**2).sum()
            - weight * (mean**2).sum(axis=1)
        )
        return out

    def scatter(self, moments: Moments, prior: Prior) -> Vector | None:
        """Squared deviations from the means of components, by column."""
        weight, mean = mean_of(moments, prior)
        d = mean.shape[1]
        return np.full(d, self._scatter(moments, prior, weight, mean).sum() / d)

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""
        weight, mean = mean_of(moments, prior)
        d = mean.shape[1]
        scatter = self._scatter(moments, prior, weight, mean)
        if prior.reg_covar is not None:
            variance = np.maximum(scatter / (d * weight), 0.0) + prior.reg_covar.mean()
            low = int((variance[moments.weight > 0.0] < LEAST).sum())
            variance = np.maximum(variance, LEAST)
            return Components(self.weights_of(moments, prior), mean, variance), low
        variance, floor = self._variance(moments, prior, scatter, d)
        floor = max(floor, LEAST)
        low = int((variance < floor).sum())
        variance = np.maximum(variance, floor)
        return Components(self.weights_of(moments, prior), mean, variance), low

    def _variance(
        self, moments: Moments, prior: Prior, scatter: Vector, d: int
    ) -> tuple[Vector, float]:
        s0 = float(prior.variance.mean())
        own = prior.df + d * moments.weight + d + 2.0
        return (prior.df * s0 + scatter) / own, FLOOR * s0

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior."""
        weight, mean = mean_of(moments, prior)
        variance = self._draw_variance(moments, prior, weight, mean, rng)
        noise = rng.standard_normal(mean.shape)
        mean = mean + noise * np.sqrt(variance / weight)[:, None]
        return Components(self.weights_of(moments, prior), mean, variance)

    def _draw_variance(
        self, moments: Moments, prior: Prior, weight: Vector, mean: Matrix,
        rng: np.random.Generator,
    ) -> Vector:  # fmt: skip
        s0 = float(prior.variance.mean())
        scatter = prior.df * s0 + self._scatter(moments, prior, weight, mean)
        df = prior.df + mean.shape[1] * moments.weight
        out: Vector = scatter / rng.chisquare(df)
        return out

    def _alike(self, variance: Vector, m: int) -> NDArray[np.float64]:
        return np.full(m, float(variance.mean()))

    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""
        inverse, d = 1.0 / known.spread, known.mean.shape[1]
        theta = np.column_stack([known.mean * inverse[:, None], -0.5 * inverse])
        with np.errstate(divide="ignore"):
            peak = np.log(known.weight)
        peak = peak - 0.5 * d * (np.log(known.spread) + LOG_2PI)
        whole = peak - 0.5 * (known.mean**2).sum(axis=1) * inverse
        return Scores(
            self.layout, as_float32(theta), as_float32(whole), d,
            as_float32(known.mean), as_float32(peak),
        )  # fmt: skip

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""
        d = rows.shape[1]
        squares = (
            (rows**2).sum(axis=1)[:, None]
            + (known.mean**2).sum(axis=1)
            - 2.0 * rows @ known.mean.T
        )
        apart = (known.mean**2).sum(axis=1) / known.spread
        for z in np.flatnonzero(apart > VERY_NARROW):
            squares[:, z] = ((rows - known.mean[z]) ** 2).sum(axis=1)
        out: Matrix = -0.5 * (
            np.maximum(squares, 0.0) / known.spread
            + d * (np.log(known.spread) + LOG_2PI)
        )
        return out

    def widened_to_float32(
        self, known: Components, sharp: NDArray[np.bool_]
    ) -> Components:
        """Return components whose variances are large enough for sums in float32."""
        least = (known.mean**2).sum(axis=1) / (2.0 * NARROW)
        least = np.where(sharp, 0.0, least)
        if self.one_spread:
            least = np.full(len(least), float(known.weight @ least))
        return replace(known, spread=np.maximum(known.spread, least))

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Rows of components."""
        noise = rng.standard_normal((len(labels), known.mean.shape[1]))
        return known.mean[labels] + noise * np.sqrt(known.spread[labels])[:, None]


class SphericalTied(Spherical):
    """Gaussian, one variance for all columns and components."""

    name = "spherical_tied"
    one_spread = True

    def _variance(
        self, moments: Moments, prior: Prior, scatter: Vector, d: int
    ) -> tuple[Vector, float]:
        s0, m = float(prior.variance.mean()), len(scatter)
        own = prior.df + d * moments.total + m * d + 2.0
        return np.full(m, (prior.df * s0 + scatter.sum()) / own), FLOOR * s0

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""
        known, low = super().estimate(moments, prior)
        if prior.reg_covar is not None:
            floor = prior.reg_covar.mean()
            share = moments.weight / moments.total
            one = float(((known.spread - floor) * share).sum()) + floor
            known = replace(known, spread=np.full(len(share), one))
        return known, low

    def _draw_variance(
        self, moments: Moments, prior: Prior, weight: Vector, mean: Matrix,
        rng: np.random.Generator,
    ) -> Vector:  # fmt: skip
        s0, m = float(prior.variance.mean()), len(mean)
        scatter = self._scatter(moments, prior, weight, mean).sum()
        df = prior.df + mean.shape[1] * moments.total
        return np.full(m, (prior.df * s0 + scatter) / rng.chisquare(df))

    def n_parameters(self, m: int, d: int) -> int:
        """Free parameters of m components, but for the weights."""
        return m * d + 1


class Full(Gaussian):
    """Gaussian with any covariance."""

    name = "full"
    layout = FULL

    def spread_shape(self, m: int, d: int) -> tuple[int, ...]:
        """Shape of the variances or covariances of m components of d columns."""
        return m, d, d

    def second_of(self, known: Components, weight: Vector) -> NDArray[np.float64]:
        """Second moments over as many rows of components as `weight` says."""
        outer = known.mean[:, :, None] * known.mean[:, None, :]
        return weight[:, None, None] * (known.spread + outer)

    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns about the means of their components."""
        return known.weight @ np.diagonal(known.spread, axis1=1, axis2=2)

    def least_df(self, d: int) -> float:
        """Least degrees of freedom, so that covariances have a mean."""
        return d + 2.0

    def second(self, sums: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        """Second moments in their own shape."""
        out = np.empty((len(sums), d, d))
        row, column = np.tril_indices(d)
        out[:, row, column] = sums
        out[:, column, row] = sums
        return out

    def _scatter(
        self, moments: Moments, prior: Prior, weight: Vector, mean: Matrix
    ) -> NDArray[np.float64]:
        strength = 0.0 if prior.reg_covar is not None else prior.strength
        out: NDArray[np.float64] = (
            moments.second
            + strength * np.outer(prior.mean, prior.mean)
            - weight[:, None, None] * mean[:, :, None] * mean[:, None, :]
        )
        return out

    def scatter(self, moments: Moments, prior: Prior) -> Vector | None:
        """Squared deviations from the means of components, by column."""
        weight, mean = mean_of(moments, prior)
        inner = self._scatter(moments, prior, weight, mean)
        out: Vector = np.diagonal(inner, axis1=1, axis2=2).sum(axis=0)
        return out

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""
        weight, mean = mean_of(moments, prior)
        scatter, d = self._scatter(moments, prior, weight, mean), mean.shape[1]
        weights = self.weights_of(moments, prior)
        if prior.reg_covar is not None:
            spread = scatter / weight[:, None, None] + np.diag(prior.reg_covar)
            spread, low = floored(spread, max(float(prior.reg_covar.min()), LEAST))
            return Components(weights, mean, spread), low
        own = prior.df + moments.weight + d + 2.0
        spread = (np.diag(prior.df * prior.variance) + scatter) / own[:, None, None]
        floor = max(FLOOR * float(prior.variance.mean()), LEAST)
        spread, low = floored(spread, floor)
        return Components(weights, mean, spread), low

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior."""
        from scipy.stats import invwishart

        weight, mean = mean_of(moments, prior)
        scatter = np.diag(prior.df * prior.variance) + self._scatter(
            moments, prior, weight, mean
        )
        spread = np.stack(
            [
                np.atleast_2d(invwishart.rvs(prior.df + n, s, random_state=rng))
                for n, s in zip(moments.weight, scatter, strict=True)
            ]
        )
        root = np.linalg.cholesky(spread)
        noise = np.einsum("zij,zj->zi", root, rng.standard_normal(mean.shape))
        mean = mean + noise / np.sqrt(weight)[:, None]
        return Components(self.weights_of(moments, prior), mean, spread)

    def _alike(self, variance: Vector, m: int) -> NDArray[np.float64]:
        return np.tile(np.diag(variance), (m, 1, 1))

    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""
        d = known.mean.shape[1]
        root = np.linalg.cholesky(known.spread)
        inverse = np.stack(
            [solve_triangular(one, np.eye(d), lower=True) for one in root]
        )
        log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        with np.errstate(divide="ignore"):
            whole = np.log(known.weight) - log_det - 0.5 * d * LOG_2PI
        return Scores(
            self.layout, as_float32(inverse.reshape(len(root), -1)), as_float32(whole),
            d, as_float32(known.mean),
        )  # fmt: skip

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""
        root = np.linalg.cholesky(known.spread)
        out = np.empty((len(rows), len(root)))
        for z, (one, mean) in enumerate(zip(root, known.mean, strict=True)):
            turned = solve_triangular(one, (rows - mean).T, lower=True)
            out[:, z] = -0.5 * (turned**2).sum(axis=0) - np.log(np.diag(one)).sum()
        out -= 0.5 * rows.shape[1] * LOG_2PI
        return out

    def widened_to_float32(
        self, known: Components, sharp: NDArray[np.bool_]
    ) -> Components:
        """Return components whose variances are large enough for sums in float32."""
        spread = known.spread.copy()
        for z in np.flatnonzero(~sharp):
            least = float((known.mean[z] ** 2).max()) / (2.0 * NARROW)
            spread[z] = floored(spread[z : z + 1], least)[0][0]
        return replace(known, spread=spread)

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Rows of components."""
        root = np.linalg.cholesky(known.spread)
        noise = rng.standard_normal((len(labels), known.mean.shape[1]))
        out: Matrix = known.mean[labels] + np.einsum("nij,nj->ni", root[labels], noise)
        return out

    def n_parameters(self, m: int, d: int) -> int:
        """Free parameters of m components, but for the weights."""
        return m * d + m * d * (d + 1) // 2
