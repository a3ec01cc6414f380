"""LinearOptions: options of regressions that learn row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError
from dyntree.params.table import checked
from dyntree.trees.learner_options import LearnerOptions

MOST_SPREADS = 100
# of negative binomial counts of a mean exposure; the first is Poisson
SIZES = (np.inf, 10.0, 3.0, 1.0, 0.3)


def _within(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float between two numbers."""
    number = params.real(name, value)
    if not low <= number <= high:
        rule = "must be from {low:g} to {high:g}"
        raise ArgumentError(name, rule, value, low=low, high=high)
    return number


def _spreads(name: str, value: Any) -> tuple[float, ...]:
    """Some numbers from 1e-3 to 1e3 as a tuple, or ArgumentError."""
    is_list = np.iterable(value) and not isinstance(value, str | Mapping)
    spreads = tuple(value) if is_list else ()
    if not 1 <= len(spreads) <= MOST_SPREADS:
        raise ArgumentError(
            name, "must be a sequence of 1 to {most} numbers", value, most=MOST_SPREADS
        )
    return tuple(_within(name, each, 1e-3, 1e3) for each in spreads)


@dataclass(frozen=True)
class LinearOptions(LearnerOptions):
    """Options of linear filters, checked."""

    model: str = checked("class", params.one_of, ("class", *params.COUNTS))
    forget: float = checked(1.0, _within, 0.5, 1.0)
    spreads: tuple[float, ...] = checked((0.1, 0.5, 2.0), _spreads)
    clip: float = checked(4.0, _within, 0.1, 100.0)
    classes: tuple[Hashable, ...] | None = None
    categories: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    new_levels: str = checked("grow", params.one_of, params.NEW_LEVELS)
    encode_levels: str = checked("auto", params.one_of, params.ENCODE_LEVELS)
    dispersion: float | None = None

    @property
    def sizes(self) -> tuple[float, ...]:
        """Sizes of the negative binomial that are weighed; none of labels."""
        if self.model != "negbin":
            return (np.inf,) if self.is_count else ()
        return SIZES if self.dispersion is None else (1.0 / self.dispersion,)

    def for_core(self, n_features: int) -> dict[str, Any]:
        """Options of the core's filters."""
        return {
            "n_features": n_features, "n_classes": len(self.classes or ()),
            "sizes": self.sizes, "forget": self.forget, "spreads": self.spreads,
            "clip": self.clip,
        }  # fmt: skip


LINEAR_OPTIONS = params.defaults_of(LinearOptions)
