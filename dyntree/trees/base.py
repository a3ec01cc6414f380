"""TreeModel: what one tree and an average of several have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, Self

from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.params.labels import is_label
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress
from dyntree.storage.plain import plain
from dyntree.trees.forest_options import ForestOptions
from dyntree.trees.learning.check import is_idle, is_plain_row, previewed
from dyntree.trees.learning.exposures import with_exposure
from dyntree.trees.learning.weights import weighed
from dyntree.trees.state import TreeState


def cloud_sizes(model: Any) -> str:
    """Particles of a model, "1000"; of several clouds "10 clouds of 1000"."""
    n_particles = model.options.n_particles
    if getattr(model, "members", None) is None:
        return str(n_particles)
    n_clouds = sum(not is_forest(state) for state in model.states)
    return f"{n_clouds} clouds of {n_particles}"


def forest_sizes(model: Any) -> str:
    """Random trees beside the clouds of a model, "10 forests of 6"; "" without any."""
    sizes = [state.options.n_particles for state in model.states if is_forest(state)]
    if not sizes or getattr(model, "members", None) is None:
        return ""
    return f"{len(sizes)} forests of {' or '.join(map(str, sorted({*sizes})))}"


def is_forest(state: TreeState) -> bool:
    """Whether a state is that of random trees."""
    return isinstance(state.options, ForestOptions)


class TreeModel:
    """A model of one tree or several: its rows, columns, labels and size, by name.

    Attributes
    ----------
    state : TreeState
        Of the tree, or of the first of several, which know the same.
    states : list of TreeState
        Of all its trees.
    """

    unit = "row"
    state: TreeState
    _lock: AbstractContextManager[Any]
    learn_row: Callable[..., None]
    _learn: Callable[..., None]

    @property
    def states(self) -> list[TreeState]:
        """States of all trees of the model."""
        return [self.state]

    @property
    def n_seen(self) -> int:
        """Number of rows given to `update` so far."""
        return self.state.n_seen

    @property
    def n_degenerate(self) -> int:
        """Steps at which no particle of a tree gave the row a positive density."""
        return sum(state.n_degenerate for state in self.states)

    @property
    def is_ready(self) -> bool:
        """Whether the model has trees, so that it can predict."""
        return all(state.cloud is not None for state in self.states)

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""
        return self.state.options.model == "class"

    @property
    def log_evidence(self) -> float:
        """Sum of log predictive densities of the rows, each given those before it."""
        cloud = self.state.cloud
        return 0.0 if cloud is None else cloud.log_evidence

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None until they are known."""
        return self.state.options.classes

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names of X, if it had names; None until they are known."""
        features = self.state.features
        return None if features is None else features.names

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Levels, as text, of each column whose levels are known or were named."""
        state = self.state
        found = {} if state.features is None else state.features.known
        return dict(state.options.categories or ()) | found

    @property
    def columns_without_values(self) -> tuple[str, ...]:
        """Columns without any value so far, whose type is still open."""
        features = self.state.features
        return () if features is None else features.unknown

    @property
    def level_places(self) -> dict[str, list[int]]:
        """Feature indices of the levels, for each column that has levels."""
        features = self.state.features
        return {} if features is None else dict(features.level_places)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... where none were given."""
        features = self.state.features
        return () if features is None else features.feature_names

    def class_place(self, label: Hashable) -> int:
        """Index of a label in `classes`.

        Parameters
        ----------
        label : hashable

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If it is none of them.
        """
        classes = self.state.options.classes or ()
        if not is_label(label) or label not in classes:
            raise ValueError(
                "label must name the class whose probability is analysed, one of "
                f"{list(classes)}; got {label!r}."
            )
        return classes.index(label)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context manager that keeps other threads out of a series of calls."""
        return self._lock

    @locked
    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Encoded, list[Any]]:
        """Check and encode a stream that is to be learned; see `Learner.preview`.

        The first rows determine the encoding as they will when the model learns them.
        While there are no trees, only `update` refuses values that are beyond the scale
        of the first rows.
        """
        return previewed(self.state, X, y, start)

    @locked
    def fix_columns(self, features: FeatureMap) -> None:
        """Set the columns of rows before the first row comes.

        Parameters
        ----------
        features : FeatureMap
        """
        if self.n_seen:
            raise ValueError(
                f"columns can be set only before the first row; {self.n_seen} rows "
                "have come."
            )
        for state in self.states:
            state.features = features

    def _take_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        exposure: Any,
        progress: Progress,
        *more: Any,
    ) -> Self:
        """Learn rows: one that needs no encoding by `learn_row`, others by `_learn`."""
        with self._lock:
            y = with_exposure(self.state.options, X, y, exposure)
            X, y, weights = weighed(self.state.options, X, y, sample_weight)
            if progress in (None, False) and is_plain_row(self.state, X, y):
                self.learn_row(X, y.item(), 1.0 if weights is None else weights.item())
            else:
                check_progress(progress)
                if not is_idle(self.state, X, y):
                    self._learn(X, y, weights, *more, progress)
        return self

    def leave_new_levels_to_another(self) -> None:
        """Do not count new levels; another model that learns the same rows does."""
        for state in self.states:
            state.new_levels = None

    @locked
    def memory_usage(self) -> int:
        """Bytes held by trees, rows and work space."""
        return sum(state.nbytes() for state in self.states)

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        model: Any = self
        options = self.state.options
        return {
            "kind": type(self).__name__,
            "model": options.model,
            "rules": options.rules,
            "particles": sum(
                state.options.n_particles
                for state in self.states
                if not is_forest(state)
            ),
            "seed": model.seed,
            "columns": list(self.feature_names),
            "classes": plain(self.classes),
            "rows learned": self.n_seen,
            "rows held": sum(state.n_active for state in self.states),
            "log evidence": self.log_evidence,
            "bytes in memory": self.memory_usage(),
        }

    def __repr__(self) -> str:
        model: Any = self
        forests = forest_sizes(model.tree)
        beside = f", {forests} trees" if forests else ""
        return (
            f"<{type(self).__name__} {model.tree.options.model!r}: "
            f"{cloud_sizes(model.tree)} particles{beside}, {model.n_seen} rows learned>"
        )
