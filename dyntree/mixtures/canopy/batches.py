"""Rows of a stream: kept back until they make a batch, learned batch by batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.canopy.answers import CanopyAnswers
from dyntree.mixtures.canopy.parts import LocalShards, Parts, check_weight
from dyntree.mixtures.canopy.scaling import Scaling, check_rows, read
from dyntree.mixtures.canopy.shards import Plan
from dyntree.mixtures.canopy.state import State
from dyntree.mixtures.canopy.sweep_loop import Fit
from dyntree.mixtures.shared.rows import no_rows
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


class CanopyStreams(CanopyAnswers):
    """The part of `Canopy` that learns a stream."""

    batch_size: int
    n_threads: int | None  # None: as many as the environment says

    def _begin(self, options: Any, seed: Any, n_threads: Any = None) -> None:
        """Become a model that has seen no row."""
        super()._begin(options, seed)
        if n_threads is not None:
            n_threads = params.n_threads(n_threads, "n_threads")
        self.n_threads = n_threads
        self._state = State()

    @abstractmethod
    def _fitted_first(self, parts: Parts) -> tuple[State, Fit]:
        """Fit the first batch as a table of its own: what was learned, and how."""

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
                with self._kept_on_errors(before):
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
        held = self._state.waiting.reshape(-1, new.shape[1])
        batch = np.concatenate([held, new])
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
            with self._kept_on_errors(state):
                self._learn(state.waiting, state.features)
        return self

    @contextmanager
    def _kept_on_errors(self, before: State) -> Iterator[None]:
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
        with self._kept_on_errors(self._state):
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
            params.n_threads(self.n_threads),
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
