"""Predictions of labels: probabilities of classes, without the model."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.summaries.real import Distribution, freeze

EQUAL = 1.0 + 1e-12  # ratio of probabilities up to which they are one and the same


@dataclass(frozen=True, eq=False, repr=False)
class ClassPrediction(Distribution):
    """Predictive distribution of a label at n_rows rows.

    Attributes
    ----------
    proba : ndarray of shape (n_rows, n_classes)
        Probabilities, averaged over particles.
    classes : tuple
        The labels, in the order of the columns.
    entropy : ndarray of shape (n_rows,)
        Entropy in nats. Under native rules it is the entropy of `proba`, and under R's
        rules the mean of the entropies of the particles.
    """

    proba: Matrix
    classes: tuple[Hashable, ...]
    entropy: Vector
    _arrays = "Use proba or label of it."
    _hints = MappingProxyType(
        dict.fromkeys(
            ("mean", "var", "std", "quantile", "quantiles", "of_mean", "interval"),
            "The responses were learned as labels: use proba or label.",
        )
    )

    def __post_init__(self) -> None:
        freeze(self.proba, self.entropy)

    @property
    def label(self) -> NDArray[Any]:
        """Most probable label of each row, shape (n_rows,)."""
        self._check_classes("label")
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        if all(isinstance(label, str | int | float) for label in self.classes):
            plain = np.array(labels.tolist())
            labels = plain if plain.tolist() == labels.tolist() else labels
        result: NDArray[Any] = labels[self.proba.argmax(axis=1)]
        return result

    def _check_classes(self, what: str) -> None:
        """Raise NotReadyError where no label is known."""
        if not self.classes:
            raise NotReadyError(
                Message(
                    "{what!a} needs a model that knows a label; got none. Call "
                    "update with a row first, or name the labels: classes=(...).",
                    what=what,
                )
            )

    def log_density(self, y: Any) -> Vector:
        """Log probability of each row's own label, shape (n_rows,)."""
        place = {label: k for k, label in enumerate(self.classes)}
        labels = label_list(y, len(self.proba))
        for row, label in enumerate(labels):
            if label not in place:
                raise ArgumentError(
                    "y",
                    "must hold labels among {classes}",
                    label,
                    row=row,
                    classes=list(self.classes),
                )
        columns = np.array([place[label] for label in labels], dtype=np.int64)
        with np.errstate(divide="ignore"):
            result: Vector = np.log(self.proba[np.arange(len(columns)), columns])
        return result

    def tail_probability(self, y: Any) -> Vector:
        """Probability of all labels that are no more probable than the row's label.

        A small value is anomalous. If labels follow the prediction, at most a share
        alpha of them have a tail probability of alpha or less.

        Parameters
        ----------
        y : array_like of shape (n_rows,)
            Labels. The result for an unknown label is 0.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        place = {label: k for k, label in enumerate(self.classes)}
        found = np.zeros(len(self.proba))
        for row, label in enumerate(label_list(y, len(found))):
            if label in place:
                p = self.proba[row]
                found[row] = p[p <= EQUAL * p[place[label]]].sum()
        return np.minimum(found, 1.0)

    def sample(
        self, n: int, seed: int | np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Draw n labels per row, ndarray of shape (n, n_rows)."""
        n = params.count("n", n, 0)
        self._check_classes("sample")
        rng = params.generator(seed)
        ends = self.proba.cumsum(axis=1)
        u = rng.random((n, len(ends), 1)) * ends[:, -1:]
        place = (u >= ends[None, :, :-1]).sum(axis=2)
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        drawn: NDArray[Any] = labels[place]
        return drawn
