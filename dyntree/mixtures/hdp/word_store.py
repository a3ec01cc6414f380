"""Points and clumps of words."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dyntree.encoding.values import Vector
from dyntree.mixtures.hdp.families import Expected, Family
from dyntree.mixtures.hdp.store import (
    ASIDE,
    Longs,
    Store,
    added,
    distinct,
    row_numbers,
    rows_of,
    summed,
)
from dyntree.mixtures.shared.arrays import Arrays


class WordStore(Store):
    """Words of documents with their counts, and clumps by the counts of words."""

    stored = (
        "singlet_word", "singlet_count", "singlet_group", "clump_count",
        "clump_indptr", "clump_group", "clump_group_count", "clump_word_indptr",
        "clump_word", "clump_word_count",
    )  # fmt: skip

    @classmethod
    def of(cls, family: Family, ids: Any, counts: Any, group: Any) -> Self:
        """Store words that occur so many times in documents of some groups."""
        arrays = {
            "singlet_word": np.asarray(ids, dtype=np.int32),
            "singlet_count": np.asarray(counts, dtype=np.int32),
            "singlet_group": np.asarray(group, dtype=np.int32),
        }
        return cls.from_arrays(family, arrays)

    @property
    def points(self) -> Any:
        """Ids of words of single points."""
        return self.word

    @property
    def point_counts(self) -> Vector:
        """How often each word occurs."""
        return self.word_count.astype(np.float64)

    def positions(self, items: Longs) -> Any:
        """Ids of words; clumps have none."""
        return self.word[items]

    def moments(self, items: Longs, share: Vector) -> tuple[float, Vector, Vector]:
        """Count, counts of words and no scatter of items, of which a share counts."""
        single, joint = self.split_items(items)
        points, clumps = items[single], items[joint] - self.n_points
        weight = share * self.weights[items]
        V = self.family.n_words
        counts = added(self.word[points], weight[single], V)
        places, owner = rows_of(self.clump_word_indptr, clumps)
        each = self.clump_word_count[places] * share[joint][owner]
        counts += added(self.clump_word[places], each, V)
        return float(weight.sum()), counts, np.zeros(0)

    def words_in(self, label: Any, n: int) -> Longs:
        """Different words among the items of each of n labels."""
        owner = label[self.n_points :][row_numbers(self.clump_word_indptr)]
        return distinct(
            np.concatenate([label[: self.n_points], owner]),
            np.concatenate([self.word, self.clump_word]), n, self.family.n_words,
        )  # fmt: skip

    def add_log_odds(
        self, logit: Vector, items: Longs, expected: Expected, a: int, b: int
    ) -> None:
        """Add log odds of topic a against b, by content alone, for some items."""
        single, joint = self.split_items(items)
        clumps = items[joint] - self.n_points
        gap = expected.theta[:, a] - expected.theta[:, b]
        logit[single] += gap[self.word[items[single]]]
        places, owner = rows_of(self.clump_word_indptr, clumps)
        by_word = self.clump_word_count[places] * gap[self.clump_word[places]]
        count = self.clump_count[clumps]
        logit[joint] += np.bincount(owner, by_word, len(clumps)) / count

    def singles(self, places: Any, group: Any) -> Self:
        """A store of some of the single points, of these groups."""
        return self.of(self.family, self.word[places], self.word_count[places], group)

    def put_aside(self, before: Self, rng: np.random.Generator) -> tuple[Self, Self]:
        """The store without some of the words that arrived last, and these words.

        They are a tenth of those that a document has once: of a word that it repeats,
        the others would predict the one, whatever the topics.
        """
        new = np.arange(before.n_points, self.n_points)
        gone = (rng.random(len(new)) < ASIDE) & (self.word_count[new] == 1.0)
        mine = self.singles(new[~gone], self.group[new[~gone]])
        rest = self.singles(new[gone], self.group[new[gone]])
        return before.joined(mine), rest

    def content(self, items: Longs, clump: Longs, count: Vector, stay: Longs) -> Arrays:
        """Words that stay; counts of words in clumps."""
        single, joint = self.split_items(items)
        places, owner = rows_of(self.clump_word_indptr, items[joint] - self.n_points)
        own = self.weights[items[single]]
        indptr, word, counts = summed(
            np.concatenate([clump[single], clump[joint][owner]]),
            np.concatenate([self.word[items[single]], self.clump_word[places]]),
            np.concatenate([own, self.clump_word_count[places]]),
            len(count), self.family.n_words,
        )  # fmt: skip
        return {
            "singlet_word": self.word[stay],
            "singlet_count": self.word_count[stay],
            "clump_word_indptr": indptr,
            "clump_word": word,
            "clump_word_count": counts,
        }
