"""Documents that are asked about: proportions and scores, topics fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.mixtures import MemoryBoundedHDP, to_lda
from tests.oracle.hdp import folded_score


def rare_topics(n: int, seed: int) -> Any:
    """Counts of 20 words a document, of 40 topics of which most are rare."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(0).dirichlet(np.full(200, 0.2), 40)
    weights = np.geomspace(1.0, 0.01, 40)
    shares = rng.dirichlet(4.0 * weights / weights.sum(), n) @ topics
    return np.stack([rng.multinomial(20, p / p.sum()) for p in shares])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scores_of_words_are_those_of_one_fold_in(seed: int) -> None:
    model = MemoryBoundedHDP("multinomial", epoch_size=120, init_topics=40)
    model.fit(rare_topics(120, 10 + seed), progress=False)
    asked = rare_topics(40, 20 + seed)
    given = np.random.default_rng(seed).binomial(asked, 0.5)
    rest = asked - given
    some = (given.sum(1) > 0) & (rest.sum(1) > 0)
    topics = to_lda(model)
    common = folded_score(topics.alpha, topics.topic_words, given[some], rest[some])
    # both stop short of the fixed point, by a thousandth of a word or 100 steps
    assert model.score(rest[some], given=given[some]) == pytest.approx(common, abs=1e-3)


def test_a_total_counts_each_word_as_often_as_it_is_there() -> None:
    counts, given = rare_topics(40, 1), rare_topics(40, 2)
    model = MemoryBoundedHDP("multinomial").fit(counts, progress=False)
    for more in ({}, {"given": given}):
        total = model.score_total(counts, **more)
        expected = counts.sum() * model.score(counts, **more)
        assert total == pytest.approx(expected, rel=1e-9)
        parts = model.score_documents(counts, **more)
        assert total == pytest.approx(parts.sum(), rel=1e-12)


@pytest.mark.parametrize("family", ["full", "diag"])
def test_free_energy_of_the_documents_learned_is_that_which_is_held(
    family: str,
) -> None:
    rng = np.random.default_rng(0)
    centres = 9.0 * np.arange(3)[:, None]
    documents = [
        rng.normal(size=(30, 2))
        + centres[rng.choice(3, 30, p=rng.dirichlet([0.4] * 3))]
        for _ in range(20)
    ]
    model = MemoryBoundedHDP(family, epoch_size=20).fit(documents, progress=False)
    assert model.free_energy(documents) == pytest.approx(model.free_energy_, rel=1e-3)


def test_a_table_with_groups_is_asked_like_its_documents() -> None:
    rng = np.random.default_rng(3)
    label = np.array(["c", "a", "b"])[rng.integers(3, size=120)]
    X = rng.normal(size=(120, 2)) + 9.0 * rng.integers(3, size=(120, 1))
    model = MemoryBoundedHDP().fit(X, groups=label)
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(document=label)
    of_frame = MemoryBoundedHDP().fit(frame, groups="document")
    order = list(dict.fromkeys(label))
    apart = [X[label == one] for one in order]
    for asked, table, groups in (
        (model, X, label),
        (of_frame, frame, "document"),
        (of_frame, frame[["v", "document", "u"]], "document"),
    ):
        shares = asked.transform(table, groups=groups)
        assert shares == pytest.approx(asked.transform(apart), abs=1e-12)
        found = asked.predict(table, groups=groups)
        probability = asked.predict_proba(table, groups=groups)
        density = asked.score_samples(table, groups=groups)
        for one, own in zip(order, apart, strict=True):
            inside = label == one
            assert (found.labels[inside] == asked.predict([own]).labels[0]).all()
            assert probability[inside] == pytest.approx(asked.predict_proba([own]))
            assert density[inside] == pytest.approx(asked.score_samples([own]))
        for score in (asked.score, asked.score_documents):
            assert score(table, groups=groups) == pytest.approx(score(apart))
        named = asked.copy().index(table, groups=groups)
        assert set(named.retrieve(apart[0], n=3).ids[0]) == {"a", "b", "c"}
        best = named.retrieve(table, n=1, groups=groups).ids
        assert best.tolist() == named.retrieve(apart, n=1).ids.tolist()


def test_groups_to_answer_for_are_checked() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = MemoryBoundedHDP().fit([X])
    with pytest.raises(ValueError, match="one label per row"):
        model.transform(X, groups=[0, 1])
    with pytest.raises(ValueError, match="groups is for one table"):
        model.transform([X], groups=np.zeros(20))
    words = MemoryBoundedHDP("multinomial").fit(np.ones((4, 3), dtype=int))
    with pytest.raises(ValueError, match="groups is for rows"):
        words.transform(np.ones((4, 3), dtype=int), groups=[0, 0, 1, 1])
