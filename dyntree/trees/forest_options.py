"""ForestOptions: options of random trees, read by all that learns and answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dyntree import params
from dyntree.params.table import check_options, checked

MOST_DEPTH = 30  # of a node
SPLIT_SHARE = 0.9  # prior probability that a node is split
MOST_HELD = 32  # rows by which a cut is chosen, or twice as many as bring it


@dataclass(frozen=True)
class ForestOptions:
    """Options of random trees, checked.

    Attributes stand in for those of `dyntree.params.TreeOptions` where the layers that
    encode rows and answer questions ask for them.
    """

    model: str = checked("class", params.one_of, ("class", "constant"))
    n_trees: int = checked(20, params.count, 1, params.MAX_PARTICLES)
    discount: float = checked(1.0, params.discount_factor)
    min_split: int = checked(32, params.count, 2, params.MAX_ROWS)
    n_candidates: int = checked(64, params.count, 1, params.MAX_PARTICLES)
    window: int = 4096
    max_nodes: int = checked(8192, params.count, 3, params.MAX_ROWS)
    classes: tuple[Hashable, ...] | None = None
    class_mass: float = checked(1.0, params.positive)
    categories: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    new_levels: str = checked("grow", params.one_of, params.NEW_LEVELS)
    weighting: str | None = None

    rules: ClassVar[str] = "native"
    robust: ClassVar[bool] = False
    is_count: ClassVar[bool] = False
    intercept: ClassVar[str] = "implicit"
    n_start: ClassVar[int | None] = None
    n_basis: ClassVar[int | None] = None
    terms: ClassVar[None] = None  # of a window, which there is none of

    def __post_init__(self) -> None:
        check_options(self)
        params.count("window", self.window, 2, params.MAX_ROWS)
        shared = params.TreeOptions(
            model=self.model, classes=self.classes, categories=self.categories,
            weighting=self.weighting,
        )  # fmt: skip
        object.__setattr__(self, "classes", shared.classes)
        object.__setattr__(self, "categories", shared.categories)

    @property
    def meaning_of_weights(self) -> str:
        """What weights of rows mean, as of `dyntree.params.TreeOptions`."""
        return params.meaning_of_weights(self.model, self.weighting)

    @property
    def n_particles(self) -> int:
        """Trees, under the name that clouds of trees have for theirs."""
        return self.n_trees

    def with_width(self, width: int, n_used: int | None = None) -> Self:
        """Options for rows of that width: the same."""
        return self

    def check_model(self, options: Any) -> None:
        """Accept the options of trees: they are these."""

    def for_core(self, n_features: int) -> dict[str, Any]:
        """Options of the core's forest."""
        return {
            "n_features": n_features, "n_classes": len(self.classes or ()),
            "n_trees": self.n_trees, "discount": self.discount,
            "least_held": min(self.min_split, self.window),
            "most_held": min(max(MOST_HELD, 2 * self.min_split), self.window),
            "n_candidates": self.n_candidates, "n_held": self.window,
            "most_nodes": self.max_nodes, "most_depth": MOST_DEPTH,
            "class_mass": self.class_mass, "split_share": SPLIT_SHARE,
        }  # fmt: skip


FOREST_OPTIONS = params.defaults_of(ForestOptions)
