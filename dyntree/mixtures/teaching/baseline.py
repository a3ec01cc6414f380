"""What the models that dependent mixtures are measured against do alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.input import read_rows
from dyntree.mixtures.ddp.options import SweepOptions, check_family, check_transition
from dyntree.mixtures.ddp.transitions import Transition
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.phases import separated
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn


class PhaseBaseline(Suggesting, ABC):
    """A model of the families and transitions of dependent mixtures."""

    def __init__(
        self, family: Family, transition: Transition | None, sampler: str,
        n_sweeps: int, burn_in: int | None, thin: int, seed: int | None,
    ) -> None:  # fmt: skip
        self.family = check_family(family)
        self.transition = check_transition(family, transition)
        self.sweeps = SweepOptions(n_sweeps, burn_in, thin, sampler)
        self.seed = given_or_drawn(seed)
        self._lock = ModelLock()
        self._features: FeatureMap | None = None
        self._family: Family | None = None
        self._labels: list[Ids] = []

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=ModelLock())

    def _encoded(self, X: Any) -> tuple[FeatureMap | None, Matrix]:
        return read_rows(X, self._features, self.family)

    # ------------------------------------------------------------ learning
    @locked
    def update(
        self, X: Any, y: Any = None, *, phases: Any = None, progress: Progress = None
    ) -> Self:
        """Learn one phase, or several in the order of their labels.

        Parameters
        ----------
        X, y, phases, progress
            As in `DependentDPMixture.update`.

        Returns
        -------
        self
        """
        check_progress(progress)
        params.check_dense("X", X)
        X, parts = separated(X, phases)
        features, rows = self._encoded(X)
        with rows_bar(progress, len(rows), "learning") as tell:
            for piece in [rows[part] for part in parts] if parts else [rows]:
                self._learn(np.ascontiguousarray(piece))
                self._features = features
                tell(len(piece))
        return self

    def _learn(self, rows: Matrix) -> None:
        """Learn one phase; nothing changes before all of it is done."""
        family = self._family
        if family is None and len(rows):
            family = self.family.resolved(rows)
            family.check_steps(self.transition)
        labels = np.full(len(rows), -1, dtype=np.int64)
        if family is not None:
            counting = family.counting(rows)
            labels[counting] = self._learned(family, rows[counting])
        self._family = family
        self._labels.append(labels)

    @abstractmethod
    def _learned(self, family: Family, rows: Matrix) -> Ids:
        """Take in rows that count, and return their labels."""

    # ------------------------------------------------------------ answers
    @property
    def n_phases(self) -> int:
        """Phases ever given to `update`."""
        return len(self._labels)

    def _ready(self, what: str) -> Family:
        """The family with its scales, or why there is none."""
        if self._family is None:
            raise NotReadyError(
                Message(
                    "{what!a} needs a phase with rows; none has come. Call update "
                    "first.",
                    what=what,
                )
            )
        return self._family

    def labels(self, phase: int) -> Ids:
        """Labels of the rows of a phase, from 0; negative from the last one on."""
        if isinstance(phase, bool) or not isinstance(phase, int | np.integer):
            raise ArgumentError("phase", "must be an int", phase)
        if not -self.n_phases <= phase < self.n_phases:
            raise ArgumentError(
                "phase", f"must be one of the {self.n_phases} learned", phase
            )
        return self._labels[phase].copy()

    @property
    def labels_(self) -> Ids:
        """Labels of the rows of the last phase."""
        return self.labels(-1) if self._labels else np.empty(0, dtype=np.int64)

    @abstractmethod
    def _mixture(self, family: Family, ahead: int) -> tuple[Ids, Matrix, Vector]:
        """Labels, prior rows, and shares so many phases later; the base may follow."""

    def _log_joint(self, X: Any, what: str, ahead: int = 0) -> tuple[Ids, Matrix]:
        """Labels, and log share plus log density of each component."""
        family = self._ready(what)
        labels, priors, share = self._mixture(family, ahead)
        _, rows = self._encoded(X)
        density = family.emission(priors, rows).log_under()
        with np.errstate(divide="ignore"):
            return labels, density + np.log(share)

    @property
    def means_(self) -> Matrix:
        """Means of the components, shape (n_components, n_columns)."""
        family = self._ready("means_")
        labels, priors, _ = self._mixture(family, 0)
        return family.means(priors[: len(labels)])

    @locked
    def predict(self, X: Any) -> Ids:
        """Most probable component of each row, ndarray of int64 of shape (n_rows,)."""
        labels, joint = self._log_joint(X, "predict")
        if not len(labels):
            return np.full(len(joint), -1, dtype=np.int64)
        found: Ids = labels[np.argmax(joint[:, : len(labels)], axis=1)]
        return found

    @locked
    def log_predictive(self, X: Any, ahead: int = 0) -> Vector:
        """Log density of new rows of the last phase or of a later one.

        Parameters
        ----------
        X, ahead
            As in `DependentDPMixture.log_predictive`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        ahead = params.count("ahead", ahead, 0)
        return logsumexp(self._log_joint(X, "log_predictive", ahead)[1], axis=1)
