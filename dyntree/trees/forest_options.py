"""ForestOptions: options of random trees, read by all that learns and answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dyntree import params

MOST_DEPTH = 30  # of a node
SPLIT_SHARE = 0.9  # prior probability that a node is split
MOST_HELD = 32  # rows by which a cut is chosen, or twice as many as bring it


@dataclass(frozen=True)
class ForestOptions:
    """Options of random trees, checked.

    Attributes stand in for those of `dyntree.params.TreeOptions` where the layers that
    encode rows and answer questions ask for them.
    """

    model: str = "class"
    n_trees: int = 20
    discount: float = 1.0
    min_split: int = 8
    n_candidates: int = 16
    window: int = 4096
    max_nodes: int = 8192
    classes: tuple[Hashable, ...] | None = None
    class_mass: float = 1.0
    categories: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    new_levels: str = "grow"
    weighting: str | None = None

    rules: ClassVar[str] = "native"
    robust: ClassVar[bool] = False
    is_count: ClassVar[bool] = False
    intercept: ClassVar[str] = "implicit"
    n_start: ClassVar[int | None] = None
    n_basis: ClassVar[int | None] = None
    terms: ClassVar[None] = None  # of a window, which there is none of

    def __post_init__(self) -> None:
        params.one_of("model", self.model, ("class", "constant"))
        params.count("n_trees", self.n_trees, 1, params.MAX_PARTICLES)
        params.discount_factor("discount", self.discount)
        params.count("min_split", self.min_split, 2, params.MAX_ROWS)
        params.count("n_candidates", self.n_candidates, 1, params.MAX_PARTICLES)
        params.count("window", self.window, self.min_split, params.MAX_ROWS)
        params.count("max_nodes", self.max_nodes, 3, params.MAX_ROWS)
        params.positive("class_mass", self.class_mass)
        params.one_of("new_levels", self.new_levels, params.NEW_LEVELS)
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
            "least_held": self.min_split,
            "most_held": min(max(MOST_HELD, 2 * self.min_split), self.window),
            "n_candidates": self.n_candidates, "n_held": self.window,
            "most_nodes": self.max_nodes, "most_depth": MOST_DEPTH,
            "class_mass": self.class_mass, "split_share": SPLIT_SHARE,
        }  # fmt: skip


FOREST_OPTIONS = params.defaults_of(ForestOptions)
