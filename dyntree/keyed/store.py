"""Keys of a model: those last used as they are, all as blobs in a mapping or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

from dyntree.encoding.feature_map import FeatureMap
from dyntree.keyed.blobs import Codec
from dyntree.keyed.state import KeyState


class Keys:
    """The states of all keys by their texts, of which the last used ones are live.

    Parameters
    ----------
    codec : Codec
    features : callable
        Gives the columns of all keys as they are now.
    hot : int
        Live keys at most.
    cold : mutable mapping of str to bytes
        Blobs of keys, by their texts; those of live keys may be out of date.
    """

    def __init__(
        self,
        codec: Codec,
        features: Callable[[], FeatureMap],
        hot: int,
        cold: MutableMapping[str, bytes],
    ) -> None:
        self.codec, self._features, self.hot, self.cold = codec, features, hot, cold
        self._live: dict[str, KeyState] = {}  # the last used one last
        self._changed: set[str] = set()  # since their blobs were written
        self._fresh: set[str] = set()  # live ones that have no blob yet
        self.begin()

    def __len__(self) -> int:
        return len(self.cold) + len(self._fresh)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.cold, *self._live}))

    def __contains__(self, text: str) -> bool:
        return text in self._live or text in self.cold

    @property
    def n_hot(self) -> int:
        """Number of live keys."""
        return len(self._live)

    def get(self, text: str) -> KeyState | None:
        """The state of a key, not to be changed; None for a new key."""
        if text in self._live:
            return self._live[text]
        blob = self.cold.get(text)
        return None if blob is None else self.codec.loads(blob, self._features())

    def begin(self) -> None:
        """Begin what `take_back` takes back."""
        self._before: dict[
            str, KeyState | None
        ] = {}  # None where the blob is up to date
        self._blobs_before: dict[str, bytes | None] = {}  # None where there was none

    def remember(self, texts: Iterable[str]) -> None:
        """Have the states of keys that are about to learn for `take_back`."""
        for text in texts:
            if text not in self._before:
                is_new = text in self._changed
                self._before[text] = self._live[text].copy() if is_new else None

    def take_back(self) -> None:
        """Let all keys be as they were when it began, if `remember` had them."""
        states, blobs = self._before, self._blobs_before
        self.begin()
        for text in states:
            self._forget(text)
        for text, blob in blobs.items():
            if blob is None:
                self.cold.pop(text, None)
            else:
                self.cold[text] = blob
        self.put({text: one for text, one in states.items() if one is not None})

    def put(self, states: Mapping[str, KeyState]) -> None:
        """Have these states; beyond `hot` keys the longest unused are blobs alone."""
        for text, state in states.items():
            if self._live.pop(text, None) is None and text not in self.cold:
                self._fresh.add(text)
            self._live[text] = state
        self._changed |= states.keys()
        while len(self._live) > self.hot:
            self._write(text := next(iter(self._live)))
            del self._live[text]

    def take(self, blobs: Mapping[str, bytes]) -> None:
        """Have these blobs, also in place of others."""
        for text, blob in blobs.items():
            self._forget(text)
            self.cold[text] = blob

    def write(self) -> None:
        """Write the blobs of all keys that have changed."""
        for text in sorted(self._changed):
            self._write(text)

    def _write(self, text: str) -> None:
        if text in self._changed:
            if text in self._before and text not in self._blobs_before:
                self._blobs_before[text] = self.cold.get(text)
            self.cold[text] = self.codec.dumps(self._live[text])
            self._changed.discard(text)
            self._fresh.discard(text)

    def drop(self, text: str) -> None:
        """Forget a key."""
        self._forget(text)
        self.cold.pop(text, None)

    def _forget(self, text: str) -> None:
        """Forget all of a key but for its blob."""
        self._live.pop(text, None)
        self._changed.discard(text)
        self._fresh.discard(text)

    def blobs(self, texts: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """Texts and blobs of these keys; by default of all, in the order of texts."""
        for text in self if texts is None else texts:
            is_new = text in self._changed
            yield (
                text,
                self.codec.dumps(self._live[text]) if is_new else self.cold[text],
            )

    def copy(self, features: Callable[[], FeatureMap]) -> Keys:
        """Return independent keys in memory, of a model with these columns."""
        twin = Keys(self.codec, features, self.hot, dict(self.cold))
        twin._live = {text: state.copy() for text, state in self._live.items()}
        twin._changed, twin._fresh = {*self._changed}, {*self._fresh}
        return twin

    def nbytes(self) -> int:
        """Bytes of live trees, and of blobs in memory."""
        trees = (state.tree for state in self._live.values())
        live = sum(0 if tree is None else tree.memory_usage() for tree in trees)
        blobs = sum(map(len, self.cold.values())) if type(self.cold) is dict else 0
        return live + blobs
