"""Topics of words with defaults: how many are found; models of before go on alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.errors import ConvergenceWarning
from dyntree.mixtures import MemoryBoundedHDP
from dyntree.mixtures.hdp import building
from dyntree.mixtures.hdp.building import BuildRecord, proposals
from dyntree.mixtures.hdp.moves import swept_for_proposals
from dyntree.mixtures.hdp.starting import with_births
from dyntree.mixtures.hdp.sweeps import swept_until_settled
from tests.bench.hdp_scenes import bars
from tests.unit.mixtures.hdp.problems import problem_of


def found(model: MemoryBoundedHDP, topics: Any) -> int:
    """How many of the true topics are among the model's, by their cosine."""
    words = model.topic_words_ / np.linalg.norm(model.topic_words_, axis=1)[:, None]
    true = topics / np.linalg.norm(topics, axis=1)[:, None]
    return int(((true @ words.T).max(axis=1) > 0.95).sum())


# Data and seeds are drawn anew. Over 78 seeds at least 6 of ten topics were recovered
# from 100 documents and 9 from more, 9 to 16 topics were large, and short epochs had 35
# topics at most. Each bound is a fifth beyond that: fewer than one run in a hundred
# should fail by chance.
@pytest.mark.parametrize("n", [100, 300, 600])
def test_topics_of_bars_do_not_follow_the_documents(n: int) -> None:
    seed = int(np.random.default_rng().integers(10**6))
    counts, topics = bars(n, 60, seed=seed)
    model = MemoryBoundedHDP("multinomial", seed=seed).fit(counts, progress=False)
    assert found(model, topics) >= (4 if n == 100 else 7)  # others are mixed
    assert 7 <= (model.topic_weights_ > 0.01).sum() <= 20
    assert model.n_topics_ <= 30


def test_topics_of_short_epochs_do_not_follow_the_documents() -> None:
    seed = int(np.random.default_rng().integers(10**6))
    counts, _ = bars(240, 60, seed=seed)
    model = MemoryBoundedHDP("multinomial", epoch_size=40, seed=seed)
    assert model.fit(counts, progress=False).n_topics_ <= 60


def test_topics_of_the_same_words_in_other_documents_are_tried_for_a_merge() -> None:
    half, group = np.repeat(np.arange(6), 16), np.repeat(np.arange(12), 16)
    words = 4 * np.concatenate([half, half]) + np.tile(np.arange(4), 48)
    both = problem_of("multinomial", words, group)
    q = np.eye(12)[group]  # topics k and k + 6 have the same words
    search = both.search
    solution = swept_until_settled(search, both.store, both.topics(q, np.full(12, 0.3)))
    assert solution.topics.K == 12
    swept = swept_for_proposals(search, both.store, solution)
    moves = proposals(search, both.store, solution, swept, BuildRecord(20, 0.0, 12))
    good = {frozenset(m.topics) for m in moves if not m.is_split and m.gain < 0}
    assert good >= {frozenset({k, k + 6}) for k in range(6)}


def test_every_document_of_a_short_epoch_proposes_a_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, _ = bars(220, 40, seed=3)
    asked: list[int] = []

    def noted(store: Any, topics: Any, groups: Any, n_birth: int, *more: Any) -> Any:
        asked.append(n_birth)
        return with_births(store, topics, groups, n_birth, *more)

    monkeypatch.setattr(building, "with_births", noted)
    model = MemoryBoundedHDP("multinomial").partial_fit(counts[:100])
    assert not asked  # the first epoch starts from random topics
    model.partial_fit(counts[100:130])
    model.partial_fit(counts[130:])
    assert asked == [30, 40]


def documents_of_five_topics(seed: int) -> tuple[Any, Any]:
    """300 documents of 60 words, and the word probabilities of each."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(100, 0.05), 5)
    proba = rng.dirichlet(np.full(5, 0.2), 300) @ topics
    return np.array([rng.multinomial(60, p) for p in proba]), proba


def test_topics_do_not_follow_documents_that_repeat_their_words() -> None:
    """Over 78 seeds there were at most 10, 29 and 18 topics."""
    seed = int(np.random.default_rng().integers(10**6))
    counts, proba = documents_of_five_topics(seed)
    assert MemoryBoundedHDP("multinomial", seed=seed).fit(counts).n_topics_ <= 20
    tripled = MemoryBoundedHDP("multinomial", seed=seed).fit(3 * counts)
    assert tripled.n_topics_ <= 60
    long = counts.copy()  # one document of a hundred thousand words
    long[0] = np.random.default_rng(seed).multinomial(100_000, proba[0])
    assert MemoryBoundedHDP("multinomial", seed=seed).fit(long).n_topics_ <= 40


def test_topics_that_follow_single_documents_are_told() -> None:
    counts, _ = documents_of_five_topics(1)
    with pytest.warns(ConvergenceWarning, match="the topics follow single documents"):
        MemoryBoundedHDP("multinomial").fit(20 * counts[:60])
