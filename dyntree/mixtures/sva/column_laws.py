"""Laws of columns within clusters: their variances, and the densities these give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from dyntree.encoding.values import Matrix, Vector

PRIOR_ROWS = 1.0  # rows that the pooled variance of a column stands for in a cluster


@dataclass(frozen=True, eq=False)
class ColumnLaws:
    """Columns of some clusters, independent but for the subspace that a cluster has.

    The prior of a variance is scaled inverse chi squared, of `PRIOR_ROWS` degrees of
    freedom about the variance pooled over all clusters. So a column of a cluster of w
    rows without a subspace is a Student t of w + 1 degrees of freedom; one beside a
    subspace is taken to be normal.
    """

    mean: Matrix
    weight: Vector
    variance: Matrix  # of columns, beside the subspaces, (n_clusters, n_features)
    along: tuple[Matrix, ...]  # scaled directions of subspaces, (n_features, dim) each

    @property
    def scale(self) -> Matrix:
        """Variances of new rows, whose distance to an uncertain mean they are."""
        widened: Matrix = (
            self.variance * (1.0 + 1.0 / np.maximum(self.weight, 1.0))[:, None]
        )
        return widened

    def of_columns(self, some: Any) -> ColumnLaws:
        """The laws of some of the columns."""
        return ColumnLaws(
            self.mean[:, some], self.weight, self.variance[:, some],
            tuple(B[some] for B in self.along),
        )  # fmt: skip

    def covariances(self) -> Matrix:
        """Covariance of each cluster, shape (n_clusters, n_features, n_features)."""
        return np.array(
            [
                np.diag(v) + B @ B.T
                for v, B in zip(self.variance, self.along, strict=True)
            ]
        ).reshape(len(self.mean), *2 * self.mean.shape[1:])

    def log_density(self, rows: Matrix) -> Matrix:
        """Log densities of rows, shape (n_rows, n_clusters)."""
        out = np.empty((len(rows), len(self.mean)))
        with np.errstate(over="ignore"):  # a row that is beyond all density
            for k, (m, v, B) in enumerate(
                zip(self.mean, self.scale, self.along, strict=True)
            ):
                if B.shape[1]:
                    out[:, k] = beside_subspace(rows - m, v, B)
                else:
                    out[:, k] = students(rows - m, v, self.weight[k] + PRIOR_ROWS)
        return out

    def draw(self, k: int, n: int, rng: np.random.Generator) -> Matrix:
        """Draw n rows of a cluster."""
        shape, B = (n, self.mean.shape[1]), self.along[k]
        if B.shape[1]:
            unit = rng.normal(size=shape)
        else:
            unit = rng.standard_t(self.weight[k] + PRIOR_ROWS, size=shape)
        rows: Matrix = self.mean[k] + unit * np.sqrt(self.scale[k])
        return rows + rng.normal(size=(n, B.shape[1])) @ B.T


def students(steps: Matrix, scale: Vector, df: float) -> Vector:
    """Log density of independent Student t columns, by steps from their location."""
    constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
    total = len(scale) * constant - 0.5 * np.log(scale).sum()
    far = log1p_square(steps, df * scale).sum(axis=1)
    density: Vector = total - 0.5 * (df + 1.0) * far
    return density


def log1p_square(steps: Matrix, scale: Vector) -> Matrix:
    """log(1 + steps^2 / scale), also where the quotient is beyond all numbers."""
    with np.errstate(over="ignore", divide="ignore"):
        found: Matrix = np.log1p(steps**2 / scale)
        beyond = 2.0 * np.log(np.abs(steps)) - np.log(scale)
    return np.where(np.isfinite(found), found, beyond)


def beside_subspace(steps: Matrix, variance: Vector, B: Matrix) -> Vector:
    """Log density of normals of covariance diag(variance) + B B' (Woodbury)."""
    part = B / variance[:, None]
    inner = np.eye(B.shape[1]) + B.T @ part
    factor = np.linalg.cholesky(inner)
    shadow = np.linalg.solve(factor, (steps @ part).T)
    square = (steps**2 / variance).sum(axis=1) - (shadow**2).sum(axis=0)
    log_det = np.log(variance).sum() + 2.0 * np.log(np.diag(factor)).sum()
    density: Vector = -0.5 * (len(variance) * np.log(2.0 * np.pi) + log_det + square)
    return density


def variances_now(known: Any, bases: Any, variances: Any) -> Any:
    """Variances along bases, which exact clusters find anew only now and then."""
    if not getattr(known, "exact", False):
        return variances
    width, weight = known.n_features, known.array("weight")
    below = np.tril_indices(width)
    found = []
    for U, w, packed, decay in zip(
        bases, weight, known.array("packed"), known.array("decay"), strict=True
    ):
        C = np.zeros((width, width))
        C[below] = packed * (decay / w)
        C = C + np.tril(C, -1).T
        found.append((U * (C @ U)).sum(axis=0))
    return found


def noise_laws(
    known: Any, noise: float, places: Any, bases: Any, variances: Any
) -> ColumnLaws:
    """The same with the variance of the noise in each column, beside subspaces."""
    mean = known.means()[places]
    return ColumnLaws(
        mean=mean,
        weight=known.array("weight")[places],
        variance=np.full_like(mean, noise**2),
        along=tuple(
            bases[k] * np.sqrt(np.maximum(variances[k] - noise**2, 0.0)) for k in places
        ),
    )


def column_laws(
    known: Any, noise: float, places: Any, bases: Any, variances: Any
) -> ColumnLaws:
    """Return the laws of the clusters at some places of a kernel.

    Bases and variances are those of the subspaces of all clusters. A column that varies
    in no cluster has the variance of the noise.
    """
    weight = known.array("weight")
    variances = variances_now(known, bases, variances)
    along = tuple(
        U * np.sqrt(np.maximum(e - noise**2, 0.0))
        for U, e in zip(bases, variances, strict=True)
    )
    inside = np.array([(B**2).sum(axis=1) for B in along])
    inside = inside.reshape(len(weight), known.n_features)
    own = np.maximum(known.squared_deviations() - weight[:, None] * inside, 0.0)
    freedom = float(weight.sum()) - len(weight)
    pooled = own.sum(axis=0) / freedom if freedom > 0.0 else np.zeros(own.shape[1])
    pooled = np.where(pooled > 0.0, pooled, noise**2)
    mine = weight[places]
    return ColumnLaws(
        mean=known.means()[places],
        weight=mine,
        variance=(PRIOR_ROWS * pooled + own[places]) / (PRIOR_ROWS + mine[:, None]),
        along=tuple(along[k] for k in places),
    )
