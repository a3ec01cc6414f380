"""Rows of a stream: kept back until they make a batch, learned batch by batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.mixtures.canopy.answers import CanopyAnswers
from dyntree.mixtures.canopy.components import Moments
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.fitting import Fit
from dyntree.mixtures.canopy.parts import LocalShards, Parts, check_weight
from dyntree.mixtures.canopy.scaling import Scaling, read
from dyntree.mixtures.canopy.shards import Plan
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


class CanopyStreams(CanopyAnswers):
    """The part of `Canopy` that learns a stream."""

    batch_size: int
    labels_: NDArray[np.int32]
    _moments: Moments | None
    _waiting: Matrix
    _n_learned: int
    _n_batches: int

    @abstractmethod
    def _fit_first(self, parts: Parts) -> None:
        """Fit the first batch as a table of its own."""

    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn rows of a stream, `batch_size` at a time.

        The first batch is fitted as a whole and fixes columns and scales; each later
        one gets one exact sweep, and its sums are added to those of all rows before
        (incremental EM: Neal and Hinton 1998). Rows wait until a batch is full; how a
        stream is cut into calls does not matter.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        y : object, optional
            Of no effect.
        progress : bool, callable or None, default None

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
        """
        check_progress(progress)
        if is_nothing(X):
            return self
        features, rows = self._encoded(X)
        before = dict(vars(self))
        with rows_bar(progress, len(rows), "learning") as tell:
            first = 0
            while first < len(rows):
                room = self.batch_size - len(self._waiting)
                new = rows[first : first + room]
                with self._kept_on_errors(before):
                    self._wait_or_learn(features, new)
                first += len(new)
                tell(len(new))
        return self

    def _encoded(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Columns and rows of a batch, checked whole; nothing changes."""
        features, given = read(X, self._features)
        if not len(given):
            raise ValueError("X must have at least one row; got none.")
        rows = np.array(given, dtype=np.float64)
        family = FAMILY_OF[self.options.family]
        Parts(rows, features).check(family)
        if self._scaling is not None:
            self._room_for(rows)
        return features, rows

    def _room_for(self, rows: Matrix) -> Scaling:
        """The scales of the first rows, with room for the sums of others."""
        assert self._scaling is not None
        with np.errstate(over="ignore"):
            most = float((self._scaling.doubles(rows) ** 2).sum(axis=1).max())
        again = replace(self._scaling, power=max(self._scaling.power, most))
        family = FAMILY_OF[self.options.family]
        again.units(float(max(self.batch_size, len(rows))), family)
        return again

    def _wait_or_learn(self, features: FeatureMap, new: Matrix) -> None:
        """Let rows wait, or learn the batch that they complete."""
        batch = np.concatenate([self._waiting.reshape(-1, new.shape[1]), new])
        if len(batch) < self.batch_size:
            self._features, self._waiting = features, batch
            return
        self._learn(batch, features)
        self._waiting = np.empty((0, 0))

    @locked
    def flush(self) -> Self:
        """Learn the rows that wait, as a batch of their own.

        Returns
        -------
        self
        """
        if len(self._waiting):
            assert self._features is not None
            with self._kept_on_errors():
                self._learn(self._waiting, self._features)
                self._waiting = np.empty((0, 0))
        return self

    @contextmanager
    def _kept_on_errors(self, before: dict[str, Any] | None = None) -> Iterator[None]:
        """Be what one was before, where anything but an interrupt ends the learning."""
        if before is None:
            before = dict(vars(self))  # arrays are replaced, none is written into
        try:
            yield
        except Exception:
            vars(self).clear()
            vars(self).update(before)
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
        with self._kept_on_errors():
            waiting = self._waiting
            if self._known is None and len(waiting):  # too few for a batch of their own
                rows = np.concatenate([waiting, rows])
                if weight is not None:
                    weight = np.concatenate([np.ones(len(waiting)), weight])
                self._waiting = np.empty((0, 0))
            else:
                self.flush()
            self._learn(rows, features, weight)
        return self

    def _learn(self, rows: Matrix, features: FeatureMap, weight: Any = None) -> None:
        """Fit the first batch, or give a later one an exact sweep."""
        n_before, n_batches = self._n_learned, self._n_batches
        parts = Parts(rows, features, weight)
        if self._known is None:
            self._fit_first(parts)
        else:
            self._sweep(parts)
        self._features = features
        self._n_learned, self._n_batches = n_before + len(rows), n_batches + 1

    def _sweep(self, parts: Parts) -> None:
        """One exact sweep over a batch, on top of the sums of those before."""
        assert self._known is not None
        assert self._moments is not None
        assert self._scaling is not None
        family = FAMILY_OF[self.options.family]
        scaling = self._room_for(parts.arrays[0])
        how = "em" if self.options.inference == "em" else "esca"
        plan = Plan(
            family.name, how, self.options.sweeps, scaling,
            scaling.units(parts.total, family), self.seed, params.n_threads(),
        )  # fmt: skip
        prior = self._scaling.prior(
            self.options.prior, family, self.options.concentration
        )
        options = replace(self.options, inference=how, max_iter=1)
        fit = Fit(
            family, options, how, prior, plan.units, self.seed, self._known,
            np.empty((0, len(scaling.scale))), parts.n_rows, parts.total,
            scaling.log_scale,
        )  # fmt: skip
        shards = LocalShards(parts, plan)
        fit.before, fit.turn = self._moments, 1000 + self._n_batches
        fit.step(shards)
        self._known, self._moments = fit.known, fit.moments
        self.labels_ = shards.labels
