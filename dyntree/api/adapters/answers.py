"""What adapters to river answer about one row, beside its mean or label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from river import conf

from dyntree import params
from dyntree.api.adapters.base import Row
from dyntree.errors import ArgumentError, Speaking
from dyntree.params.names import Suggesting, SuggestingAttributes
from dyntree.summaries import ClassPrediction, Prediction

SAVING = MappingProxyType(
    dict.fromkeys(
        ("save", "to_file", "dump"),
        "Pickle it, or call dyntree.save(adapter.stream, path).",
    )
)


@dataclass(frozen=True)
class RowDistribution(SuggestingAttributes):
    """Predictive distribution of the response at one row.

    Attributes
    ----------
    prediction : Prediction
        The prediction, which has this row only.
    """

    _nested = ("prediction",)

    prediction: Prediction

    @property
    def mu(self) -> float:
        """Mean."""
        return float(self.prediction.mean[0])

    @property
    def sigma(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.prediction.var[0]))

    def __call__(self, y: float) -> float:
        """Density at y."""
        return float(np.exp(self.prediction.log_density([y])[0]))

    def cdf(self, y: float) -> float:
        """Probability of a response <= y."""
        return float(self.prediction.cdf([y])[0])

    def tail_probability(self, y: float) -> float:
        """Two-sided tail probability of a response; small means anomalous."""
        return float(self.prediction.tail_probability([y])[0])

    def ppf(self, q: float) -> float:
        """Point below which the response has probability q, in (0, 1)."""
        return float(self.prediction.quantile(q)[0])


class RowAnswers(Speaking, Suggesting):
    """Answers about the response of one row, a number."""

    _hints = SAVING

    @abstractmethod
    def _answer(self, x: Row) -> Prediction:
        """The prediction at a row, also before the first row was learned."""

    def tail_probability_one(self, x: Row, y: float) -> float:
        """Two-sided tail probability of a response at a row; small is anomalous.

        Parameters
        ----------
        x : dict
        y : float

        Returns
        -------
        float
            Except for counts, it is 1 until two distinct responses have come.
        """
        return float(self._answer(x).tail_probability([y])[0])

    def predict_interval_one(self, x: Row, level: float = 0.9) -> conf.Interval:
        """Central interval of the response at a row with probability `level`.

        Parameters
        ----------
        x : dict
        level : float in (0, 1), default 0.9

        Returns
        -------
        river.conf.Interval
            It is infinite until two distinct responses have come.
        """
        if not 0.0 < params.real("level", level) < 1.0:
            raise ArgumentError("level", "must be in (0, 1)", level)
        tail = 0.5 - level / 2.0
        low, high = self._answer(x).quantile([tail, 1.0 - tail])[0]
        return conf.Interval(lower=float(low), upper=float(high))


class LabelAnswers(Speaking, Suggesting):
    """Answers about the label of one row."""

    _hints = SAVING

    @abstractmethod
    def _answer(self, x: Row) -> ClassPrediction:
        """The prediction at a row, also before the first label."""

    @abstractmethod
    def predict_proba_one(self, x: Row) -> dict[Hashable, float]:
        """Probability of each label that was learned; {} before the first one."""

    def predict_one(self, x: Row) -> Hashable:
        """Most probable label at a row; None before the first label.

        Parameters
        ----------
        x : dict

        Returns
        -------
        hashable
        """
        proba = self.predict_proba_one(x)
        return max(proba, key=proba.__getitem__) if proba else None

    def tail_probability_one(self, x: Row, y: Hashable) -> float:
        """Total probability of the labels that are not more probable than `y`.

        Parameters
        ----------
        x : dict
        y : hashable

        Returns
        -------
        float
            A small value is anomalous. It is 0 for an unknown label, and 1 before the
            first label has come.
        """
        prediction = self._answer(x)
        tail = prediction.tail_probability([y])
        return float(tail[0]) if prediction.classes else 1.0
