"""Clouds by number: the one weak table of live clouds, as R numbers them."""

from __future__ import annotations

import weakref
from typing import Any

from dyntree.errors import DeletedCloudError, Message

_live: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()


class Handle:
    """A cloud's place in the table: the lowest number that was free.

    Objects that share a cloud share its handle. The table holds weak references, so
    that a cloud without objects frees its number.
    """

    def __init__(self, cloud: Any) -> None:
        self._cloud: Any | None = cloud
        num = 0
        while num in _live:
            num += 1
        self.num = num
        _live[num] = self

    @property
    def cloud(self) -> Any:
        """The cloud itself; raises DeletedCloudError once it was deleted."""
        if self._cloud is None:
            raise DeletedCloudError(
                Message(
                    "cloud {num} was deleted; fit again, or work on a copy() made "
                    "before deletecloud().",
                    num=self.num,
                )
            )
        return self._cloud

    def drawing_from(self, source: Any) -> Any:
        """Return the cloud after making `source` the one it draws from."""
        if self.cloud.source is not source:
            self._cloud = self.cloud.copy(source)
        return self._cloud

    def delete(self) -> None:
        """Drop the cloud and free the number."""
        _ = self.cloud
        self._cloud = None
        _live.pop(self.num, None)


def live_handles() -> list[Handle]:
    """Return the handles of all live clouds, by number."""
    return sorted(_live.values(), key=lambda handle: handle.num)
