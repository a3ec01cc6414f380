"""Frozen answers: arrays and names, detached from the model that gave them."""

from dyntree.summaries.counts import (
    Bracket,
    CountMixture,
    CountPrediction,
    RateLaws,
    drawn_events,
    drawn_means,
    least,
    log_odds_ratio,
    rates_upto,
)
from dyntree.summaries.draws import (
    PosteriorDraws,
    grouped,
    interval_levels,
    shares,
    value_order,
)
from dyntree.summaries.effects import (
    MainEffect,
    PartialDependence,
    VariableSensitivity,
)
from dyntree.summaries.labels import (
    ClassPrediction,
)
from dyntree.summaries.real import (
    Prediction,
    RowMixture,
    StudentMixture,
    student_log_density,
)
from dyntree.summaries.trees import (
    Importance,
    Relevance,
    Sensitivity,
    TreeStats,
)

__all__ = [
    "Bracket",
    "ClassPrediction",
    "CountMixture",
    "CountPrediction",
    "Importance",
    "MainEffect",
    "PartialDependence",
    "PosteriorDraws",
    "Prediction",
    "RateLaws",
    "Relevance",
    "RowMixture",
    "Sensitivity",
    "StudentMixture",
    "TreeStats",
    "VariableSensitivity",
    "drawn_events",
    "drawn_means",
    "grouped",
    "interval_levels",
    "least",
    "log_odds_ratio",
    "rates_upto",
    "shares",
    "student_log_density",
    "value_order",
]


def __dir__() -> list[str]:
    return __all__
