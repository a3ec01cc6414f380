"""LearnerOptions: what options of models without particles have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from dyntree import params
from dyntree.params.table import check_options


class LearnerOptions:
    """Checks of options, and what stands in for those of `dyntree.params.TreeOptions`.

    The layers that encode rows and answer questions ask for the latter.
    """

    rules: ClassVar[str] = "native"
    robust: ClassVar[bool] = False
    intercept: ClassVar[str] = "implicit"
    n_start: ClassVar[int | None] = None
    n_basis: ClassVar[int | None] = None
    terms: ClassVar[None] = None  # of a window, which there is none of
    dispersion: float | None = None
    weighting: str | None = None
    model: str

    def __post_init__(self) -> None:
        check_options(self)
        names = "model", "classes", "categories", "weighting", "dispersion"
        shared = params.TreeOptions(**{name: getattr(self, name) for name in names})
        for name in names[1:]:
            object.__setattr__(self, name, getattr(shared, name))

    @property
    def is_count(self) -> bool:
        """Whether responses are counts of events."""
        return self.model in params.COUNTS

    @property
    def has_labels(self) -> bool:
        """Whether responses are labels."""
        return self.model in params.LABELS

    @property
    def has_slopes(self) -> bool:
        """Whether leaves of trees are regressions: there are none."""
        return False

    @property
    def meaning_of_weights(self) -> str:
        """What weights of rows mean, as of `dyntree.params.TreeOptions`."""
        return params.meaning_of_weights(self.model, self.weighting)

    def with_width(self, width: int, n_used: int | None = None) -> Self:
        """Options for rows of that width: the same."""
        return self

    def check_model(self, options: Any) -> None:
        """Accept the options of trees: they are these."""
