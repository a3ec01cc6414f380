"""Documents that are asked about: proportions and scores, topics fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
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
