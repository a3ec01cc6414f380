"""Evaluation of models on streams: scores, alarms, delays and repeats."""

from dyntree.evaluate.alarm import (
    ChangeAlarm,
)
from dyntree.evaluate.delayed import (
    DelayedLabels,
)
from dyntree.evaluate.density import (
    PrequentialDensity,
    prequential_density,
)
from dyntree.evaluate.prequential_runs import (
    Prequential,
    RowForecast,
    compare,
    prequential,
    prequential_each,
)
from dyntree.evaluate.repeats import (
    fit_repeats,
)
from dyntree.evaluate.residuals import (
    OneStepAhead,
)
from dyntree.evaluate.scores import (
    ClassScores,
    RealScores,
    auc,
    class_scores,
    real_scores,
)

__all__ = [
    "ChangeAlarm",
    "ClassScores",
    "DelayedLabels",
    "OneStepAhead",
    "Prequential",
    "PrequentialDensity",
    "RealScores",
    "RowForecast",
    "auc",
    "class_scores",
    "compare",
    "fit_repeats",
    "prequential",
    "prequential_density",
    "prequential_each",
    "real_scores",
]


def __dir__() -> list[str]:
    return __all__
