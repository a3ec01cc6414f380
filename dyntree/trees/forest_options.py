"""ForestOptions: options of random trees, read by all that learns and answers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from dyntree import params
from dyntree.params.table import checked
from dyntree.trees.learner_options import LearnerOptions

MOST_DEPTH = 30  # of a node
SPLIT_SHARE = 0.9  # prior probability that a node is split
MOST_HELD = 32  # rows by which a cut is chosen, or twice as many as bring it


@dataclass(frozen=True)
class ForestOptions(LearnerOptions):
    """Options of random trees, checked."""

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
    encode_levels: str = checked("auto", params.one_of, params.ENCODE_LEVELS)
    weighting: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        params.count("window", self.window, 2, params.MAX_ROWS)

    @property
    def n_particles(self) -> int:
        """Trees, under the name that clouds of trees have for theirs."""
        return self.n_trees

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
