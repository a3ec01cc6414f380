"""Answers of a mixture with many components: in float64, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.canopy.components import Components, Family
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.canopy.parts import check_weight
from dyntree.mixtures.canopy.scaling import Scaling, check_rows, read
from dyntree.mixtures.canopy.state import State
from dyntree.mixtures.canopy.user_components import unscaled
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.base import Mixture, no_mean
from dyntree.runtime.locking import locked

SCORES = 1 << 21  # held at a time
LARGEST_TABLE = 2_000_000_000  # bytes of a dense answer


class CanopyAnswers(Mixture):
    """The part of `Canopy` that asks and changes nothing."""

    unit = "batch"
    _counted = "components"
    options: MixtureOptions
    _state: State

    @property
    def _family(self) -> Family:
        return FAMILY_OF[self.options.family]

    @property
    def is_ready(self) -> bool:
        """Whether there are components to answer from."""
        return self._state.components is not None

    def _ready(self, what: str) -> tuple[Components, Scaling]:
        """Components and scales, or why there are none."""
        state = self._state  # which another thread may swap
        known, scaling = state.components, state.scaling
        if known is None or scaling is None:
            raise NotReadyError(
                Message(
                    "{what!a} needs components; there are none yet. Call fit, give "
                    "update more rows, or use set_components.",
                    what=what,
                )
            )
        return known, scaling

    def _joint(self, X: Any, what: str) -> Iterator[tuple[slice, Matrix]]:
        """Log weight plus log density of rows in scaled units, block by block."""
        known, scaling = self._ready(what)
        features, rows = read(X, self._state.features)
        family = self._family
        check_rows(rows, family, features.feature_names)
        step = max(1, SCORES // max(known.mean.shape))
        for first in range(0, len(rows), step):
            part = slice(first, min(first + step, len(rows)))
            yield part, family.log_joint(scaling.doubles(rows[part]), known)

    def _n_rows(self, X: Any) -> int:
        return len(read(X, self._state.features)[1])

    # ------------------------------------------------------------ parameters
    @property
    def weights(self) -> Vector:
        """Weights of the components, ndarray of shape (n_components,)."""
        return self._ready("weights")[0].weight.copy()

    @property
    def means(self) -> Matrix:
        """Means in the units of the columns, (n_components, n_features).

        For Poisson components these are rates, and for multinomial ones probabilities.
        """
        return unscaled(*self._ready("means")).mean

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Variances or covariances in the units of the columns.

        The shape is (n_components,) for the spherical families, (n_components,
        n_features) for "diag", and (n_components, n_features, n_features) for "full".
        Families of counts have none.
        """
        known, scaling = self._ready("covariances_")
        if self._family.is_count:
            raise ArgumentError(
                "covariances_",
                "are those of Gaussian families; this is {family!r}",
                remedy="Its parameters are `means`.",
                family=self.options.family,
            )
        return unscaled(known, scaling).spread

    # ------------------------------------------------------------ answers
    @locked
    def predict(self, X: Any) -> Ids:
        """Most probable component of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        labels = np.empty(self._n_rows(X), dtype=np.int64)
        for part, joint in self._joint(X, "predict"):
            labels[part] = joint.argmax(axis=1)
        return labels

    @locked
    def predict_proba(self, X: Any, top: int | None = None) -> Any:
        """Probability of each component at each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        top : int, optional
            Number of largest probabilities to return for each row. The rows then sum to
            less than 1.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            With `top` a scipy.sparse.csr_array of that shape.

        Raises
        ------
        ValueError
            If the dense result would need more than 2 GB.
        """
        known, _ = self._ready("predict_proba")
        n, m = self._n_rows(X), len(known.weight)
        if top is None:
            if 8 * n * m > LARGEST_TABLE:
                raise ValueError(
                    Message(
                        "predict_proba would need {n:.1f} GB for {n_2} rows and {m} "
                        "components. Give top=k for the k largest of each row, or "
                        "fewer rows at a time.",
                        n=8e-09 * n * m,
                        n_2=n,
                        m=m,
                    )
                )
            dense = np.empty((n, m))
            for part, joint in self._joint(X, "predict_proba"):
                joint -= logsumexp(joint, axis=1, keepdims=True)
                dense[part] = np.exp(joint)
            return dense
        k = params.count("top", top, 1, m)
        places, values = np.empty((n, k), dtype=np.int64), np.empty((n, k))
        for part, joint in self._joint(X, "predict_proba"):
            joint -= logsumexp(joint, axis=1, keepdims=True)
            best = np.sort(np.argpartition(-joint, k - 1, axis=1)[:, :k], axis=1)
            places[part] = best
            values[part] = np.exp(np.take_along_axis(joint, best, axis=1))
        begin = np.arange(0, n * k + 1, k)
        return sparse.csr_array((values.ravel(), places.ravel(), begin), shape=(n, m))

    def _log_densities(self, X: Any) -> Vector:
        _, scaling = self._ready("score_samples")
        density = np.empty(self._n_rows(X))
        for part, joint in self._joint(X, "score_samples"):
            density[part] = logsumexp(joint, axis=1) - scaling.log_scale
        return density

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Mean log density of rows, in nats.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Ignored.
        sample_weight : array_like of shape (n_rows,), optional

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If X has no rows.
        """
        found = self.score_samples(X)
        if not len(found):
            raise no_mean()
        weight = check_weight(sample_weight, len(found), X)
        return float(np.average(found, weights=weight))

    def _n_parameters(self) -> int:
        known, _ = self._ready("bic")
        m, d = known.mean.shape
        return int(self._family.n_parameters(m, d) + m - 1)

    def _likelihood(self, X: Any, sample_weight: Any, what: str) -> tuple[float, float]:
        """Log likelihood of one row at least, and what the rows count for."""
        density = self.score_samples(X)
        if not len(density):
            raise ArgumentError(
                what,
                "needs at least one row",
                Message("none"),
                "Give it the rows that the model was fitted to.",
            )
        weight = check_weight(sample_weight, len(density), X)
        if weight is None:
            return float(density.sum()), float(len(density))
        return float(weight @ density), float(weight.sum())

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Bayesian information criterion of rows; lower is better.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        sample_weight : array_like of shape (n_rows,), optional
            How often each row counts; by default once.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If X has no rows.
        """
        log_likelihood, n_rows = self._likelihood(X, sample_weight, "bic")
        return float(self._n_parameters() * np.log(n_rows) - 2.0 * log_likelihood)

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike information criterion of rows; lower is better.

        Parameters
        ----------
        X, sample_weight
            As for `bic`.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If X has no rows.
        """
        log_likelihood, _ = self._likelihood(X, sample_weight, "aic")
        return 2.0 * self._n_parameters() - 2.0 * log_likelihood

    @locked
    def sample(self, n_samples: int = 1, seed: Any = None) -> tuple[Matrix, Ids]:
        """Rows drawn from the mixture.

        Parameters
        ----------
        n_samples : int, default 1
        seed : int, numpy Generator or None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of int64 of shape (n_samples,)
        """
        known, scaling = self._ready("sample")
        n, rng = params.count("n_samples", n_samples, 1), params.generator(seed)
        labels = rng.choice(
            len(known.weight), size=n, p=known.weight / known.weight.sum()
        )
        rows = self._family.sample(known, labels, rng)
        return rows * scaling.scale + scaling.centre, labels
