"""LinearOptions: options of regressions that learn row by row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError
from dyntree.params.table import check_options, checked

MOST_SPREADS = 100


def _spreads(name: str, value: Any) -> tuple[float, ...]:
    """Some numbers > 0 as a tuple, or ArgumentError."""
    if not np.iterable(value) or isinstance(value, str) or not len(list(value)):
        raise ArgumentError(name, "must be a sequence of numbers > 0", value)
    spreads = tuple(params.positive(name, each) for each in value)
    params.count(f"the number of {name}", len(spreads), 1, MOST_SPREADS)
    return spreads


@dataclass(frozen=True)
class LinearOptions:
    """Options of linear filters, checked.

    Attributes stand in for those of `dyntree.params.TreeOptions` where the layers that
    encode rows and answer questions ask for them.
    """

    model: str = checked("class", params.one_of, ("class",))
    forget: float = checked(1.0, params.discount_factor)
    spreads: tuple[float, ...] = checked((0.1, 0.5, 2.0), _spreads)
    clip: float = checked(4.0, params.positive)
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
