"""Canopy: a mixture of very many components, fitted at the cost of a look-up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, CheckpointError, Message, NotReadyError
from dyntree.mixtures.canopy import files, user_components
from dyntree.mixtures.canopy.components import Components, Family
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.options import CanopyOptions, MixtureOptions, MixturePrior
from dyntree.mixtures.canopy.parts import LocalShards, Parts, check_weight, held_out
from dyntree.mixtures.canopy.records import CanopySweep, history_of
from dyntree.mixtures.canopy.scaling import FARTHEST, Scaling, check_rows, read
from dyntree.mixtures.canopy.shards import Plan
from dyntree.mixtures.canopy.starts import (
    chosen_start,
    n_wanted,
    start,
    too_few,
    variances_within,
)
from dyntree.mixtures.canopy.state import State
from dyntree.mixtures.canopy.sweep_loop import Fit
from dyntree.mixtures.canopy.user_components import unscaled
from dyntree.mixtures.shared.arrays import Arrays, Ids
from dyntree.mixtures.shared.base import Mixture, no_mean
from dyntree.mixtures.shared.rows import no_rows
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn

Callback = Callable[[CanopySweep], object]
WATCHED = 4096  # rows whose likelihood tells when to stop
ROWS_GIVEN = 100.0  # that a component set by hand counts for
SCORES = 1 << 21  # in memory at a time
LARGEST_TABLE = 2_000_000_000  # bytes of a dense answer


@checkpoint.savable
class Canopy(Mixture):
    """Finite mixture of many components.

    EM visits every pair of a row and a component in every sweep. Here, rows that are
    neighbours in a cover tree share a short list of candidate components, which is
    calibrated on exact posteriors. Each row draws its label from this list. A
    Metropolis-Hastings correction preserves the posterior of the labels for any lists.
    The lists are rebuilt as fast as they become stale. A late sweep over n rows and m
    components costs O(n) for the draws, and O(n m) only once in many sweeps (after
    Zaheer, Kottur, Ahmed and Smola 2017).

    Parameters
    ----------
    n_components : int, default 64
    family : str, default "diag"
        "spherical", "spherical_tied" (one variance for all), "diag" or "full" Gaussian;
        "poisson" or "multinomial" for counts.
    inference : str, default "auto"
        "em" is exact EM with soft assignments. "esca" draws exactly from the posterior
        of the labels (Zaheer et al. 2016). "canopy2" draws from the lists. "canopy1"
        has proposals from one point for each group. "tree" draws exactly through a tree
        over the means; it was slower than "esca" wherever both were timed. "auto" is
        "esca" for up to 64 components or 10^8 products of rows, components and columns,
        else "canopy2".
    init : str or array_like of shape (n_components, n_features), default "auto"
        "random" takes random rows. "kmeans" takes the means of k-means on a sample of
        the rows, and "kmeans++" the rows with which k-means begins. "covertree" takes
        the centres of the fullest nodes of a cover tree, and "covertree_means" the
        means of their rows. "covertree_level" is the start of Zaheer et al. (2017): it
        takes the centres of the last level with at most `n_components` nodes, and
        replaces random ones by their children. "auto" is "kmeans" for up to 256
        components, else "random".
    weights : {"map", "sample", "collapsed"}, default "map"
        "map" uses posterior means of the weights, and "sample" draws them from a
        Dirichlet distribution. "collapsed" draws them from a Dirichlet process of which
        at most `n_components` components have rows: Dirichlet(N_1, .., N_M, alpha).
        Components without rows divide the share of alpha by stick-breaking, and their
        parameters are drawn from the prior (Sethuraman 1994). Given the weights, rows
        are independent, so that sweeps over all rows at once are exact.
    concentration : float, default 1.0
        Concentration of the Dirichlet prior of the weights, over all components.
    prior : MixturePrior, optional
        Prior of each component.
    max_iter : int, default 100
        Largest number of sweeps.
    tol : float, default 1e-4
        The fit ends if five sweeps gain less than this, in nats per row. With 0 it does
        all sweeps.
    options : CanopyOptions, optional
        Options of the sweeps.
    batch_size : int, default 10_000
        Number of rows that `update` learns at a time.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.
    threads : int, optional
        Number of threads of a fit; by default ``DYNTREE_NUM_THREADS``, or 1. The result
        does not depend on it, and files do not store it.

    Attributes
    ----------
    weights, means, covariances_ : ndarray
        Parameters, in the units of the columns.
    labels_ : ndarray of int32 of shape (n_rows,)
        Components of the rows of the last `fit` or batch, from the last draw. Files do
        not store them.
    history : numpy.recarray
        One `CanopySweep` for each sweep of the last `fit`. Files do not store the
        seconds.
    converged : bool
        Whether the last `fit` converged before `max_iter` sweeps.

    Notes
    -----
    During a fit, rows are stored and scored in float32, relative to the mean of their
    group, or to the mean of each component if components are narrow compared with their
    distance from the group's mean. Sums over rows are 64-bit integers, so that the
    result is the same for any number of threads. The order of the rows determines their
    random numbers and their groups; it changes an exact EM by about 1e-6. The widths of
    clusters are exact down to 10^-5 of a column's standard deviation, or 10^-4 in
    tables of more than 10^8 numbers. During a fit, scores of counts of 10^5 in 8
    columns can have an error of half a nat; the methods of the fitted model have none.

    Columns are centred and scaled without values more than 30 times as far from the
    median as nine rows in ten, and a `ScaleWarning` names the first row with one. Such
    a row takes a component for itself, or widens one.

    Parameters are posterior modes given the labels, so that "esca" and "canopy2" are
    stochastic EM. The result is one draw around a mode.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import Canopy
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(600, 2)) + 20 * rng.integers(1, 4, size=(600, 1))
    >>> model = Canopy(3, seed=1).fit(X)
    >>> np.sort(model.means[:, 0]).round(0)
    array([20., 40., 60.])
    """

    unit = "batch"
    _counted = "components"
    options: MixtureOptions
    _state: State
    batch_size: int
    threads: int | None  # None: as many as the environment says

    def __init__(
        self,
        n_components: int = 64,
        *,
        family: str = "diag",
        inference: str = "auto",
        init: Any = "auto",
        weights: str = "map",
        concentration: float = 1.0,
        prior: MixturePrior | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        options: CanopyOptions | None = None,
        batch_size: int = 10_000,
        seed: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.batch_size = params.count("batch_size", batch_size, 2)
        self._begin(
            MixtureOptions(
                n_components=n_components,
                family=family,
                inference=inference,
                init=checked_init(init),
                weights=weights,
                concentration=concentration,
                prior=MixturePrior() if prior is None else prior,
                max_iter=max_iter,
                tol=tol,
                sweeps=CanopyOptions() if options is None else options,
            ),
            given_or_drawn(seed),
            threads,
        )

    def _begin(self, options: Any, seed: Any, threads: Any = None) -> None:
        """Become a model that has seen no row."""
        super()._begin(options, seed)
        if threads is not None:
            threads = params.n_threads(threads, "threads")
        self.threads = threads
        self._state = State()

    # ------------------------------------------------------------ what it is
    @property
    def labels_(self) -> NDArray[np.int32]:
        """Components of the rows of the last `fit` or batch, as last drawn."""
        return self._state.labels

    @property
    def history(self) -> np.recarray[Any, Any]:
        """One `CanopySweep` for each sweep of the last `fit`, as a record array."""
        return self._state.history

    @property
    def converged(self) -> bool:
        """Whether the last `fit` converged before `max_iter`."""
        return self._state.converged

    def _own_facts(self) -> dict[str, Any]:
        return {
            "components": self.options.n_components,
            "family": self.options.family,
            "sweeps of the last fit": len(self.history),
        }

    def memory_usage(self) -> int:
        """Bytes of parameters, their sums, and buffered rows."""
        return self._state.nbytes + 2000

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

    # ------------------------------------------------------------ fitting
    @locked
    def fit(
        self,
        X: Any,
        *,
        sample_weight: Any = None,
        validation: Any = None,
        start: Canopy | None = None,
        progress: Progress = None,
        callback: Callback | None = None,
        save_to: str | os.PathLike[str] | None = None,
        save_every: int = 10,
        scratch: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit to a complete table; earlier results are dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, path, or list of them
            Finite numbers. A list is read part by part. Memory maps stay on disk, and
            so do Parquet files, which are given by their paths (this needs pyarrow).
            Counts may be sparse matrices; one block at a time becomes dense.
        sample_weight : array_like of shape (n_rows,), optional
            Weights of the rows. Each draw assigns a row with its whole weight to one
            component.
        validation : float or array_like, optional
            Share of the rows to hold out, or other rows, to decide when to stop.
        start : Canopy, optional
            A mixture with the same family, columns and number of components. The fit
            begins with its components instead of `init`. It may be this model.
        progress : bool, callable or None, default None
            True shows a progress bar over sweeps, and None shows one for long work on a
            terminal.
        callback : callable, optional
            Called with a `CanopySweep` after each sweep. If it returns True, the fit
            ends.
        save_to : str or path, optional
            File for checkpoints, from which `resume` continues bit for bit.
        save_every : int, default 10
            Number of sweeps between two checkpoints.
        scratch : str or path, optional
            Folder for the scaled rows, if they are not to be in memory.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad. The model is then as it was before the call, as it is
            after an interrupt.
        """
        check_progress(progress)
        params.count("save_every", save_every, 1)
        parts = Parts(X, None, sample_weight)
        parts, out = self._held_out(parts, validation)
        fit, shards = self._prepared(parts, out, scratch, start)
        keep = None
        if save_to is not None:
            keep = (save_to, save_every, files.fingerprint_of(parts, out))
        self._run(fit, shards, parts, out is not None, progress, callback, keep)
        return self

    @locked
    def fit_parts(
        self,
        parts: Any,
        *,
        validation: Any = None,
        progress: Progress = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit to rows that other processes hold; see `dyntree.api.distributed`.

        Parameters
        ----------
        parts : object
            An object with the public methods of `dyntree.mixtures.canopy.parts.Parts`.
        validation : array_like of shape (n_held_out, n_features), optional
        progress, callback
            As for `fit`.

        Returns
        -------
        self
        """
        check_progress(progress)
        out = None
        if validation is not None:
            out = held_out(validation, parts.features, self._family)
        fit, shards = self._prepared(parts, out, None)
        self._run(fit, shards, parts, out is not None, progress, callback, None)
        return self

    def _held_out(self, parts: Parts, validation: Any) -> tuple[Parts, Matrix | None]:
        """Rows to learn, and the validation rows."""
        if validation is None:
            return parts, None
        if isinstance(validation, Real):
            places = parts.share_of(validation, self.seed)
            return parts.without(places), parts.take(places)
        return parts, held_out(validation, parts.features, self._family)

    def _prepared(
        self,
        parts: Parts,
        out: Matrix | None,
        scratch: Any,
        start: Canopy | None = None,
    ) -> tuple[Fit, LocalShards]:
        """A fit that has done no sweep, and its shards."""
        options, n, family = self.options, parts.n_rows, self._family
        if n < 2:
            raise ArgumentError("X", "must have at least 2 rows", n)
        if options.n_components > n:
            raise too_few(options.n_components, n)
        parts.check(family)
        scaling = parts.scaling(family)
        how = options.chosen(n, parts.features.n_features)
        units = scaling.units(parts.total, family)
        plan = Plan(
            options.family, how, options.sweeps, scaling, units, self.seed,
            params.n_threads(self.threads),
        )  # fmt: skip
        prior = scaling.prior(options.prior, family, options.concentration)
        if start is None:
            means, variance = self._starts(parts, plan)
            known = family.begin(means, prior, variance)
        else:
            known = user_components.scaled(
                self._components_at(start, parts.features), scaling
            )
        shards = parts.shards(plan, scratch)
        watched = scaling.doubles(
            parts.take(parts.drawn(np.random.default_rng([self.seed, 4]), WATCHED))
            if out is None
            else out
        )
        watched = np.clip(watched, -FARTHEST, FARTHEST)  # as rows of a fit are
        fit = Fit(plan, options, prior, known, watched, n, parts.total)
        return fit, shards

    def _components_at(self, start: Any, features: FeatureMap) -> Components:
        """Components at which a fit begins, in the units of the columns."""
        columns = start._state.features if isinstance(start, Canopy) else None
        if columns is None or not start.is_ready:
            what = "one without components" if isinstance(start, Canopy) else start
            raise ArgumentError("start", "must be a Canopy that has components", what)
        user_components.check_alike(self.options, features, start.options, columns)
        return user_components.unscaled(*start._ready("start"))

    def _starts(self, parts: Parts, plan: Plan) -> tuple[Matrix, Vector | None]:
        """Where components begin, scaled, and how wide they are there if known."""
        m, init = self.options.n_components, self.options.init
        if not isinstance(init, str):
            shape = (m, parts.features.n_features)
            if init.shape != shape or not np.isfinite(init).all():
                raise ArgumentError(
                    "init",
                    "must be finite and of shape {shape}, (n_components, n_features)",
                    init,
                    shape=shape,
                )
            return plan.scaling.doubles(init), None
        rng, n = np.random.default_rng([self.seed, 7]), parts.n_weighted
        for how_many in (n_wanted(chosen_start(init, m), m, n), n):
            places = parts.drawn(rng, how_many)
            rows = plan.scaling.doubles(parts.take(places)).astype(np.float32)
            how = chosen_start(init, m)
            try:
                means = start(how, m, rows, self.seed, plan.n_threads)
            except ValueError:  # too few different rows in a sample
                if how_many == n:
                    raise
                continue
            return means, variances_within(rows, means) if how == "kmeans" else None
        raise AssertionError("the last sample is all rows")

    def _run(
        self, fit: Fit, shards: LocalShards, parts: Parts, held_out: bool,
        progress: Progress, callback: Callback | None, keep: Any,
    ) -> None:  # fmt: skip
        """Do the sweeps, and set the state to the result."""

        def store(fit: Fit) -> None:
            path, every, notes = keep
            if fit.time % every == 0 or fit.converged:
                running = files.Running(
                    self.options, self.batch_size, self.seed,
                    state_of(fit, shards, parts), fit.pace, fit.begun, shards.state(),
                )  # fmt: skip
                checkpoint.save_with(running, notes, path)

        with rows_bar(progress, self.options.max_iter, "fitting", "sweep") as tell:
            tell(fit.time)
            fit.run(shards, held_out, tell, callback, store if keep else None)
        self._state = state_of(fit, shards, parts)
        fit.warn_of_trouble()

    def _fitted_first(self, parts: Parts) -> tuple[State, Fit]:
        """Fit the first batch as a table of its own: what was learned, and how."""
        fit, shards = self._prepared(parts, None, None)
        fit.run(shards, False, lambda n: None, None, None)
        return state_of(fit, shards, parts), fit

    # ------------------------------------------------------------ streams
    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn rows of a stream, `batch_size` at a time.

        The first batch is fitted as a whole and fixes columns and scales. Each later
        batch gets one exact sweep, and its sums are added to those of all earlier rows
        (incremental EM: Neal and Hinton 1998). Rows wait until a batch is full, so that
        the result does not depend on how a stream is cut into calls.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        y : object, optional
            Ignored.
        progress : bool, callable or None, default None

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad. The model is then as it was before the call.
        """
        check_progress(progress)
        if is_nothing(X):
            return self
        features, rows = self._encoded(X)
        before = self._state
        with rows_bar(progress, len(rows), "learning") as tell:
            first = 0
            while first < len(rows):
                room = self.batch_size - len(self._state.waiting)
                new = rows[first : first + room]
                with self._restored_on_errors(before):
                    self._wait_or_learn(features, new)
                first += len(new)
                tell(len(new))
        return self

    def _encoded(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Columns and rows of a batch, checked whole; nothing changes."""
        features, given = read(X, self._state.features)
        if not len(given):
            raise ArgumentError("X", "must have at least one row", Message("none"))
        check_rows(given, self._family, features.feature_names)
        rows = np.array(given, dtype=np.float64)
        if self._state.scaling is not None:
            self._room_for(rows, self._state.scaling)
        return features, rows

    def _room_for(self, rows: Matrix, scaling: Scaling) -> Scaling:
        """The scales of the first rows, with room for the sums of others."""
        with np.errstate(over="ignore"):
            most = float((scaling.doubles(rows) ** 2).sum(axis=1).max())
        again = replace(scaling, power=max(scaling.power, most))
        again.units(float(max(self.batch_size, len(rows))), self._family)
        return again

    def _wait_or_learn(self, features: FeatureMap, new: Matrix) -> None:
        """Let rows wait, or learn the batch that they complete."""
        waiting = self._state.waiting.reshape(-1, new.shape[1])
        batch = np.concatenate([waiting, new])
        if len(batch) < self.batch_size:
            self._state = replace(self._state, features=features, waiting=batch)
            return
        self._learn(batch, features)

    @locked
    def flush(self) -> Self:
        """Learn the waiting rows as one batch.

        Returns
        -------
        self
        """
        state = self._state
        if len(state.waiting) and state.features is not None:
            with self._restored_on_errors(state):
                self._learn(state.waiting, state.features)
        return self

    @contextmanager
    def _restored_on_errors(self, before: State) -> Iterator[None]:
        """Be as before, where anything but an interrupt ends the learning."""
        try:
            yield
        except Exception:
            self._state = before
            raise

    @locked
    def learn_batch(self, X: Any, *, sample_weight: Any = None) -> Self:
        """Learn rows as one batch, at once; see `update`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        sample_weight : array_like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        features, rows = self._encoded(X)
        weight = check_weight(sample_weight, len(rows), X)
        with self._restored_on_errors(self._state):
            waiting = self._state.waiting
            if not self.is_ready and len(waiting):  # too few for a batch of their own
                rows = np.concatenate([waiting, rows])
                if weight is not None:
                    weight = np.concatenate([np.ones(len(waiting)), weight])
            else:
                self.flush()
            self._learn(rows, features, weight)
        return self

    def _learn(self, rows: Matrix, features: FeatureMap, weight: Any = None) -> None:
        """Fit the first batch, or give a later one an exact sweep."""
        before = self._state
        parts = Parts(rows, features, weight)
        fit = None
        if before.components is None:
            after, fit = self._fitted_first(parts)
        else:
            after = self._swept(parts)
        self._state = replace(
            after, features=features, waiting=no_rows(),
            n_learned=before.n_learned + len(rows), n_batches=before.n_batches + 1,
        )  # fmt: skip
        if fit is not None:
            fit.warn_of_trouble()

    def _swept(self, parts: Parts) -> State:
        """The state after one exact sweep over a batch, on top of those before."""
        state, own = self._state, self._state.scaling
        assert own is not None
        assert state.components is not None
        family, scaling = self._family, self._room_for(parts.arrays[0], own)
        how = "em" if self.options.inference == "em" else "esca"
        plan = Plan(
            family.name, how, self.options.sweeps, scaling,
            scaling.units(parts.total, family), self.seed,
            params.n_threads(self.threads),
        )  # fmt: skip
        prior = own.prior(self.options.prior, family, self.options.concentration)
        options = replace(self.options, inference=how, max_iter=1)
        unwatched = np.empty((0, len(scaling.scale)))
        fit = Fit(
            plan, options, prior, state.components, unwatched, parts.n_rows, parts.total
        )
        shards = LocalShards(parts, plan)
        fit.before, fit.turn = state.moments, 1000 + state.n_batches
        fit.step(shards)
        return replace(
            state, components=fit.known, moments=fit.moments, labels=shards.labels
        )

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
                        f"predict_proba would need {8e-09 * n * m:.1f} GB for {n} "
                        f"rows and {m} components. Give top=k for the k largest of "
                        "each row, or fewer rows at a time."
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

    # ------------------------------------------------------------ fits under way
    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        *,
        sample_weight: Any = None,
        validation: Any = None,
        progress: Progress = None,
        callback: Callback | None = None,
        save_every: int = 10,
        scratch: str | os.PathLike[str] | None = None,
        threads: int | None = None,
    ) -> Canopy:
        """Continue a fit that `save_to` stored; the result is as if it had not stopped.

        Parameters
        ----------
        path : str or path
        X, sample_weight, validation, progress, callback, save_every, scratch
            As for `fit`. The rows must be the same.
        threads : int, optional
            As in `Canopy`.

        Returns
        -------
        Canopy

        Raises
        ------
        CheckpointError
            If the rows are not the same, or the file is not a checkpoint of a fit.
        """
        check_progress(progress)
        stored, notes = checkpoint.load_with(path)
        if not isinstance(stored, files.Running):
            raise CheckpointError(
                Message(
                    "{fspath!a} holds a {kind}, no fit under way. Load it by "
                    "dyntree.load.",
                    fspath=os.fspath(path),
                    kind=type(stored).__name__,
                )
            )
        model = cls.__new__(cls)
        model.batch_size = stored.batch_size
        model._begin(stored.options, stored.seed, threads)
        parts = Parts(X, None, sample_weight)
        parts, out = model._held_out(parts, validation)
        if files.fingerprint_of(parts, out) != notes:
            raise CheckpointError(
                Message(
                    "{fspath!a} stores a fit to other rows. Give resume the X, "
                    "sample_weight and validation that fit had.",
                    fspath=os.fspath(path),
                )
            )
        fit, shards = model._prepared(parts, out, scratch)
        stored.restore(fit, shards)
        model._run(
            fit, shards, parts, out is not None, progress, callback,
            (path, save_every, notes),
        )  # fmt: skip
        return model

    # ------------------------------------------------------------ known parameters
    @locked
    def set_components(
        self,
        weights: Any,
        means: Any,
        covariances: Any = None,
        *,
        n_rows: float | None = None,
    ) -> Self:
        """Set known components.

        Parameters
        ----------
        weights : array_like of shape (n_components,)
            Weights, which sum to 1.
        means : array_like of shape (n_components, n_features)
            Means; for counts, rates or probabilities.
        covariances : array_like, optional
            Covariances in the form of `covariances_`. Families of counts have none.
        n_rows : float, optional
            Number of rows that the components represent if `update` or `learn_batch`
            learn more rows; by default 100 for each component. For the family
            "multinomial", these rows have one count each.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the parameters are not those of a mixture. The message names the
            component.
        """
        family, m = self._family, self.options.n_components
        worth = ROWS_GIVEN * m
        if n_rows is not None:
            worth = params.positive("n_rows", n_rows)
        own = user_components.components_of(family, m, weights, means, covariances)
        scaling = user_components.scaling_of(family, own)
        known = user_components.scaled(own, scaling)
        self._state = State(
            features=FeatureMap.learn(np.zeros((1, own.mean.shape[1])))[0],
            scaling=scaling,
            components=known,
            moments=user_components.moments_of(family, known, worth),
        )
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        again = super().copy()
        again._state = self._state.independent()
        return again

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        return files.to_arrays(self.options, self.batch_size, self.seed, self._state)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = cls.__new__(cls)
        options, model.batch_size = files.options_read(header, arrays)
        model._begin(options, header["seed"])
        model._state = files.from_arrays(options, model.batch_size, header, arrays)
        return model


def state_of(fit: Fit, shards: LocalShards, parts: Parts) -> State:
    """Return the state that a fit has come to."""
    return State(
        features=parts.features,
        scaling=shards.plan.scaling,
        components=fit.known,
        moments=fit.moments,
        n_learned=parts.n_rows,
        labels=shards.labels,
        history=history_of(fit.reports),
        converged=fit.converged,
    )


def checked_init(init: Any) -> Any:
    """The name of a start, or a copy of the points at which components begin."""
    if isinstance(init, str):
        return init
    points: Matrix = np.array(params.as_array("init", init, float))
    points.setflags(write=False)  # copies share it
    return points
