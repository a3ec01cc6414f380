"""Anomalies and changes for river: scores by tail probabilities, and an alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from river.base import DriftDetector

from dyntree.api.adapters.base import Row
from dyntree.api.adapters.streams import StreamClassifier, StreamRegressor
from dyntree.api.adapters.trees import (
    RiverDynamicTreeClassifier,
    RiverDynamicTreeRegressor,
)
from dyntree.errors import ArgumentError
from dyntree.evaluate.alarm import ChangeAlarm
from dyntree.params.names import Suggesting

try:
    from river.base import SupervisedAnomalyDetector
except ImportError:  # before river 0.26
    from river.anomaly.base import SupervisedAnomalyDetector


class RiverAnomalyDetector(Suggesting, SupervisedAnomalyDetector):
    """An anomaly detector for river, based on the predictive distribution of a model.

    The score is 1 minus the tail probability (see `Prediction` and `ClassPrediction`).
    It is 0 for the most expected response, close to 1 for an anomaly, and 1 for a label
    that was never seen before. If rows follow the model, a share of about 1 - c of them
    has a score of c or more.

    Parameters
    ----------
    model : RiverDynamicTreeRegressor, RiverDynamicTreeClassifier or random trees
        The regressor or classifier of this package that learns the rows. It is not
        copied and may also be used directly.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverAnomalyDetector
    >>> from dyntree.api.adapters import RiverDynamicTreeRegressor
    >>> detector = RiverAnomalyDetector(
    ...     RiverDynamicTreeRegressor(n_particles=50, seed=1)
    ... )
    >>> for k in range(100):
    ...     detector.learn_one({"x": k % 10}, 2.0 * (k % 10 > 4) + 0.1 * (k % 3))
    >>> detector.score_one({"x": 8}, 2.1) < 0.9 < detector.score_one({"x": 8}, 5.0)
    True
    """

    def __init__(self, model: StreamRegressor | StreamClassifier) -> None:
        if not isinstance(model, StreamRegressor | StreamClassifier):
            raise ArgumentError(
                "model",
                "must be a regressor or classifier of dyntree.api.adapters, such as "
                "RiverDynamicTreeRegressor()",
                model,
            )
        self.model = model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": RiverDynamicTreeRegressor(n_particles=20)}
        yield {"model": RiverDynamicTreeClassifier(n_particles=20)}

    def learn_one(self, x: Row, y: Any, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
        y : float or label
        w : float, default 1.0
            Weight of the row, as in the model.
        """
        self.model.learn_one(x, y, w)

    def score_one(self, x: Row, y: Any) -> float:
        """Anomaly score of a response at a row, in [0, 1]; 0 before any row is known.

        Parameters
        ----------
        x : dict
        y : float or label

        Returns
        -------
        float
        """
        return 1.0 - self.model.tail_probability_one(x, y)


class RiverChangeAlarm(Suggesting, DriftDetector):
    """A `ChangeAlarm` as a drift detector of river.

    As for river's detectors, large values are bad: errors, losses or anomaly scores.
    Only a change for the worse counts as drift.

    Parameters
    ----------
    false_alarm_rate, memory, seed
        As in `dyntree.ChangeAlarm`.

    Attributes
    ----------
    alarm : ChangeAlarm
        The alarm, with all of its methods. Its scores are the negative values.

    Examples
    --------
    >>> from dyntree.api.adapters import RiverChangeAlarm
    >>> detector = RiverChangeAlarm(seed=1)
    >>> for k in range(1100):
    ...     detector.update(k % 7 + 5.0 * (k >= 1000))
    ...     if detector.drift_detected:
    ...         print(k)
    1005
    """

    def __init__(
        self,
        false_alarm_rate: float = 1e-5,
        memory: int = 2000,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.false_alarm_rate, self.memory, self.seed = false_alarm_rate, memory, seed
        self.alarm = ChangeAlarm(false_alarm_rate, memory=memory, seed=seed)

    def update(self, x: int | float) -> None:
        """Take the next value.

        Parameters
        ----------
        x : float
            An error or a loss. Larger is worse, and inf is the worst.

        Raises
        ------
        ValueError
            If it is NaN, -inf or not a number. The detector is then as it was before
            the call.
        """
        is_number = isinstance(x, bool | int | float | np.number | np.bool_)
        loss = float(x) if is_number else math.nan
        if not loss > -math.inf:
            raise ArgumentError(
                "x", "must be a number or inf", x, "Leave such rows out."
            )
        self._drift_detected = self.alarm.update(-loss)
