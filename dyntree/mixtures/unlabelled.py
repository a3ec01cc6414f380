"""What all mixtures are alike: models of rows that have no responses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import RLock
from typing import Any

from dyntree.encoding.feature_map import FeatureMap


class Unlabelled:
    """The part of a model that tells others what it is."""

    _lock: RLock
    _features: FeatureMap | None

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing: never."""
        return False

    @property
    def is_classifier(self) -> bool:
        """Whether there are responses, and they are labels: there are none."""
        return False

    @property
    def classes(self) -> None:
        """Labels that responses may have: there are no responses."""
        return None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had names; None while not known."""
        return None if self._features is None else self._features.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, ... where none were given."""
        return () if self._features is None else self._features.feature_names

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context in which no other thread's call comes between the caller's calls."""
        return self._lock
