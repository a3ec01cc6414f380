"""Reports on topic models."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree.mixtures import MemoryBoundedHDP, memory_report, to_lda, topics
from tests.unit.mixtures.hdp.test_memory import documents_of


@pytest.mark.parametrize("family", ["full", "diag", "multinomial"])
def test_memory_is_all_there_is(family: str) -> None:
    documents = documents_of(family)
    model = MemoryBoundedHDP(family, max_items=30).fit(documents)
    report = memory_report(model)
    assert report.total == model.memory_used_
    model.index(documents, list("abcdefghijklmnopqrst"))
    report = memory_report(model)
    assert report.total == model.memory_used_
    assert report.resting["index"] == 20 * 4 * model.n_topics_ + 20 * 4
    assert report.transient["tiles"] > 0
    S = len(model.group_sizes_)
    numbers = {"full": 9, "diag": 6, "multinomial": 30}[family] + S
    single = 1 if family == "multinomial" else 3
    paper = 8 * (numbers * model.n_clumps_ + single * model.n_singlets_)
    assert report.paper == paper


def test_the_paper_s_own_arithmetic() -> None:
    """435 images of 200x160, d = 5, K = 85 (section 5 of the paper)."""
    points = 435 * 200 * 160
    data, assignments = 8 * 5 * points / 2**20, 8 * 85 * points / 2**30
    assert data == pytest.approx(531.0, abs=0.05)
    assert assignments == pytest.approx(8.8155, abs=1e-4)
    assert (data + 1024 * assignments) / 257 == pytest.approx(37.19, abs=0.01)


def test_topics_are_listed_by_count() -> None:
    documents = documents_of("full")
    model = MemoryBoundedHDP("full").fit(documents)
    table = topics(model)
    assert (np.diff(table.count) <= 0).all()
    assert table.mean is not None
    assert table.covariance is not None
    assert table.mean.shape == (model.n_topics_, 3)
    assert table.covariance.shape == (model.n_topics_, 3, 3)
    assert table.words is None
    assert (table.documents <= 20).all()
    assert table.weight.sum() == pytest.approx(1.0)


def test_words_and_the_lda() -> None:
    model = MemoryBoundedHDP("multinomial").fit(documents_of("multinomial"))
    table, lda = topics(model, 4), to_lda(model)
    assert table.words is not None
    assert table.word_probability is not None
    assert table.words.shape == (model.n_topics_, 4)
    assert (np.diff(table.word_probability, axis=1) <= 0).all()
    assert lda.topic_words.sum(1) == pytest.approx(np.ones(model.n_topics_))
    assert lda.alpha.tolist() == model.alpha_.tolist()
    with pytest.raises(ValueError, match="n_words must be"):
        topics(model, 0)


def test_reports_name_what_they_are_of() -> None:
    model = MemoryBoundedHDP().fit(documents_of("full"))
    with pytest.raises(ValueError, match="family='multinomial'; got family='auto'"):
        to_lda(model)
    for report in (topics, memory_report, to_lda):
        with pytest.raises(ValueError, match="model must be a MemoryBoundedHDP; got 3"):
            report(3)  # type: ignore[arg-type]
