"""Mixtures of very many components for scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted, check_random_state

from dyntree import params
from dyntree.api.estimators.answers import Ids, MixtureAnswers, passed_on
from dyntree.api.estimators.arguments import threads_of
from dyntree.api.estimators.rows import checked_rows, refuse_sparse, unchanged_on_errors
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError
from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.canopy.parts import Parts


def parted(
    rows: Matrix, sample_weight: Any, validation: float, seed: int
) -> tuple[Matrix, Any, Matrix]:
    """Rows to learn and their weights, and a share of those with any to hold out."""
    parts = Parts(rows, sample_weight=sample_weight)
    out = parts.share_of(validation, seed)
    rest = np.setdiff1d(np.arange(rows.shape[0]), out)
    weight = None if parts.weight is None else parts.weight[rest]
    return rows[rest], weight, rows[out]


COUNTS = ("poisson", "multinomial")  # families of counts, which may be sparse
USUAL = params.defaults_of(MixtureOptions)["n_components"]


def n_different(rows: Any, weight: Any, most: int) -> int:
    """Number of different rows that have weight, or `most` if there are more."""
    different: set[bytes] = set()
    weights = np.ones(rows.shape[0]) if weight is None else np.asarray(weight)
    for k in np.flatnonzero(weights) if weights.shape == rows.shape[:1] else []:
        row = rows[[k]].toarray() if hasattr(rows, "toarray") else rows[k]
        different.add(row.tobytes())
        if len(different) >= most:
            break
    return len(different)


@params.derived(Canopy, without=["seed", "batch_size", "threads"])
class CanopyMixture(MixtureAnswers, DensityMixin, ClusterMixin, BaseEstimator):
    """Finite Gaussian mixture with up to many thousands of components.

    It fits even if scikit-learn's GaussianMixture would run out of memory: a table of
    rows by components is never stored, and late sweeps cost O(n_rows). The method is
    described in `dyntree.mixtures.Canopy`.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default 64, or half the number of different rows if
        that is less.
    n_init : int, default 1
        Number of fits from different starts. The one with the largest likelihood is
        retained.
    validation : float or array_like of shape (n_held_out, n_features), optional
        Rows that decide when to stop, and which fit is chosen. A float is the share of
        the rows held out, the same rows for all `n_init` fits.
    warm_start : bool, default False
        Whether `fit` begins with the components of the last fit. Components then keep
        their numbers.
    random_state : int, RandomState instance or None, default None
    callback : callable, optional
        Called with a `CanopySweep` after each sweep. If it returns True, the fit ends.
    progress : bool or None, default False
        Whether to show a progress bar.
    n_jobs : int, optional
        Number of threads of a fit; -1 means all cores. Results do not depend on it. The
        default is ``DYNTREE_NUM_THREADS``, or 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
        For counts, the rates or probabilities.
    rates_, probabilities_ : ndarray of shape (n_components, n_features)
        The same as `means_`, only for the family "poisson" or "multinomial".
    covariances_ : ndarray
        The shape is (n_components,), (n_components, n_features) or (n_components,
        n_features, n_features). For counts it is None.
    precisions_ : ndarray
        Inverses of `covariances_`, of the same shape. Families of counts have none.
    labels_ : ndarray of int64 of shape (n_rows,)
        Most probable components of the training rows.
    n_iter_ : int
    converged_ : bool
    lower_bound_ : float
        Mean log density of the rows in the last exactly scored sweep of the last `fit`,
        or of the first batch, under the parameters before this sweep. It is NaN if
        there was no such sweep.
    history_ : numpy.recarray
        One row for each sweep.
    model_ : Canopy
    n_features_in_ : int
    feature_names_in_ : ndarray of str of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import CanopyMixture
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(600, 2)) + 20 * rng.integers(1, 4, size=(600, 1))
    >>> fit = CanopyMixture(3, random_state=1).fit(X)
    >>> len(set(fit.predict([[20, 20], [40, 40], [60, 60]]).tolist()))
    3
    """

    model_: Canopy
    _dtypes = (np.float64, np.float32)
    predict = passed_on(Canopy.predict)
    predict_proba = passed_on(Canopy.predict_proba)
    score = passed_on(Canopy.score)
    bic = passed_on(Canopy.bic)
    aic = passed_on(Canopy.aic)

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_init: int = 1,
        validation: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        callback: Callable[[Any], object] | None = None,
        progress: bool | None = False,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None: ...

    def _fresh(self, seed: int, n_components: int) -> Canopy:
        """The model that parameters ask for, with as many components by default."""
        options = params.model_options(self, Canopy)
        if options["n_components"] is None:
            options["n_components"] = n_components
        return Canopy(**options, seed=seed, threads=threads_of(self.n_jobs))

    def _seed(self) -> int:
        """A seed from `random_state`."""
        if isinstance(self.random_state, int | np.integer):
            return params.count("random_state", self.random_state, 0, params.MAX_SEED)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows; without `warm_start`, what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Rows of float32 are not converted.
        y : object, optional
            Ignored.
        sample_weight : array_like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        with unchanged_on_errors(self):
            return self._fitted(X, sample_weight)

    def _fitted(self, X: Any, sample_weight: Any) -> Self:
        known = list(getattr(self, "feature_names_in_", []))
        rows = self._checked(X, reset=True)
        names = list(getattr(self, "feature_names_in_", []))
        if self.warm_start and known and names and known != names:
            raise ArgumentError(
                "X",
                "must have the columns of the last fit, {known}, for warm_start",
                names,
                "Reorder them, or set warm_start=False.",
                known=known,
            )
        n_init, seed = params.count("n_init", self.n_init, 1), self._seed()
        begin, validation = None, self.validation
        if validation is not None and not isinstance(validation, Real):
            validation = checked_rows(
                self, validation, False, accept_sparse=self._sparse
            )
        if self.warm_start and hasattr(self, "model_"):
            begin, n_init = self.model_, 1
        learned, weight = rows, sample_weight
        if n_init > 1 and isinstance(validation, Real):  # the same rows judge all fits
            learned, weight, validation = parted(rows, weight, float(validation), seed)
        best, most = None, -np.inf
        n_usual = max(1, min(USUAL, n_different(learned, weight, 2 * USUAL) // 2))
        for k in range(n_init):
            model = self._fresh((seed + k) % (params.MAX_SEED + 1), n_usual)
            model.fit(
                learned, sample_weight=weight, validation=validation, start=begin,
                progress=self.progress, callback=self.callback,
            )  # fmt: skip
            if n_init == 1:
                best = model
                break
            score = (
                model.score(learned, sample_weight=weight)
                if validation is None
                else model.score(validation)
            )
            if best is None or score > most:
                best, most = model, score
        assert best is not None
        return self._store_fit(best, rows)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a batch of rows on top of what was learned before.

        The first batch is fitted as in `fit`. Each later one gets one exact sweep.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Ignored.
        sample_weight : array_like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "model_"):
            return self.fit(X, sample_weight=sample_weight)
        with unchanged_on_errors(self):
            rows = self._checked(X, reset=False)
            self.model_.threads = threads_of(self.n_jobs)
            self.model_.learn_batch(rows, sample_weight=sample_weight)
            return self._store_fit(self.model_, rows)

    def set_components(
        self,
        weights: Any,
        means: Any,
        covariances: Any = None,
        *,
        n_rows: float | None = None,
    ) -> Self:
        """Set known components, so that the mixture counts as fitted.

        Parameters
        ----------
        weights, means, covariances, n_rows
            As in `dyntree.mixtures.Canopy.set_components`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the parameters are not those of a mixture. The message names the
            component.
        """
        model = self._fresh(self._seed(), len(weights) if np.ndim(weights) else 1)
        model.set_components(weights, means, covariances, n_rows=n_rows)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = model.means.shape[1]
        return self._store_fit(model, np.empty((0, self.n_features_in_)))

    @property
    def _sparse(self) -> Any:
        return "csr" if self.family in COUNTS else False

    def _checked(self, X: Any, reset: bool) -> Matrix:
        """Rows as numbers, float32 or float64."""
        if self.family not in COUNTS:
            refuse_sparse(X, self.family, "family='multinomial' or 'poisson'")
        rows: Matrix = checked_rows(
            self,
            X,
            reset,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
            accept_sparse=self._sparse,
        )
        return rows

    def _store_fit(self, model: Canopy, rows: Matrix) -> Self:
        """Keep a model, and what there is to say of it."""
        self.model_ = model
        self.weights_, self.means_ = model.weights, model.means
        self.covariances_ = None if self.family in COUNTS else model.covariances_
        for family, name in (("poisson", "rates_"), ("multinomial", "probabilities_")):
            if self.family == family:
                setattr(self, name, self.means_)
            elif hasattr(self, name):
                delattr(self, name)
        self.labels_ = (
            model.predict(rows) if rows.shape[0] else np.empty(0, dtype=np.int64)
        )
        self.history_, self.converged_ = model.history, model.converged
        self.n_iter_ = len(model.history)
        scored = model.history.log_likelihood
        scored = scored[np.isfinite(scored)]
        self.lower_bound_ = float(scored[-1]) if len(scored) else np.nan
        return self

    @property
    def precisions_(self) -> NDArray[np.float64]:
        """Inverses of `covariances_`."""
        check_is_fitted(self)
        if self.covariances_ is None:
            raise AttributeError(f"family {self.family!r} has no precisions_.")
        turned: Any = np.linalg.inv if self.covariances_.ndim == 3 else np.reciprocal
        inverse: NDArray[np.float64] = turned(self.covariances_)
        return inverse

    def sample(self, n_samples: int = 1) -> tuple[Matrix, Ids]:
        """Rows drawn from the mixture.

        Parameters
        ----------
        n_samples : int, default 1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of int64 of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.model_.sample(n_samples, seed=self._seed())
