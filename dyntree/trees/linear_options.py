"""LinearOptions: options of regressions that learn row by row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError
from dyntree.params.table import check_options, checked

MOST_SPREADS = 100


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
class LinearOptions:
    """Options of linear filters, checked.

    Attributes stand in for those of `dyntree.params.TreeOptions` where the layers that
    encode rows and answer questions ask for them.
    """

    model: str = checked("class", params.one_of, ("class",))
    forget: float = checked(1.0, _within, 0.5, 1.0)
    spreads: tuple[float, ...] = checked((0.1, 0.5, 2.0), _spreads)
    clip: float = checked(4.0, _within, 0.1, 100.0)
    classes: tuple[Hashable, ...] | None = None
    categories: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    new_levels: str = checked("grow", params.one_of, params.NEW_LEVELS)

    rules: ClassVar[str] = "native"
    robust: ClassVar[bool] = False
    is_count: ClassVar[bool] = False
    intercept: ClassVar[str] = "implicit"
    n_start: ClassVar[int | None] = None
    n_basis: ClassVar[int | None] = None
    terms: ClassVar[None] = None  # of a window, which there is none of
    weighting: ClassVar[None] = None  # of labels: rows occur as often as they weigh

    def __post_init__(self) -> None:
        check_options(self)
        shared = params.TreeOptions(
            model=self.model, classes=self.classes, categories=self.categories
        )
        object.__setattr__(self, "classes", shared.classes)
        object.__setattr__(self, "categories", shared.categories)

    @property
    def meaning_of_weights(self) -> str:
        """What weights of rows mean, as of `dyntree.params.TreeOptions`."""
        return params.meaning_of_weights(self.model, None)

    def with_width(self, width: int, n_used: int | None = None) -> Self:
        """Options for rows of that width: the same."""
        return self

    def check_model(self, options: Any) -> None:
        """Accept the options of trees: they are these."""

    def for_core(self, n_features: int) -> dict[str, Any]:
        """Options of the core's filters."""
        return {
            "n_features": n_features, "n_classes": len(self.classes or ()),
            "forget": self.forget, "spreads": self.spreads, "clip": self.clip,
        }  # fmt: skip


LINEAR_OPTIONS = params.defaults_of(LinearOptions)
