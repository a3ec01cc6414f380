"""Memory-bounded topics for scikit-learn: its own checks, and the model within."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from dyntree.api.estimators import CanopyMixture, DPGMMClusterer, MemoryBoundedTopics
from dyntree.mixtures import MemoryBoundedHDP
from tests.bench.hdp_scenes import bars
from tests.helpers import model_bytes


def table(n: int = 40, size: int = 30) -> tuple[Any, Any]:
    """Rows of three Gaussians, and the document of each."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(n), size)
    topic = np.array([rng.choice(3, p=rng.dirichlet(np.full(3, 0.4))) for _ in groups])
    return rng.normal(size=(n * size, 2)) + 12 * topic[:, None], groups


def test_a_fit_is_the_model() -> None:
    X, groups = table()
    fit = MemoryBoundedTopics(memory_limit=9000, random_state=3).fit(X, groups=groups)
    seed = int(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    model = MemoryBoundedHDP(memory_limit=9000, seed=seed).fit(X, groups=groups)
    assert model_bytes(fit.model_) == model_bytes(model)
    assert fit.n_topics_ == 3
    assert fit.model_.memory_used_ <= 9000
    assert fit.labels_.tolist() == fit.predict(X, groups).tolist()
    assert (
        fit.labels_.tolist()
        == model.predict([X[groups == k] for k in range(40)]).labels[0].tolist()
        + fit.labels_[30:].tolist()
    )
    assert fit.transform(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert fit.score(X) == pytest.approx(fit.score_samples(X).mean())
    assert clone(fit).fit_predict(X, groups=groups).tolist() == fit.labels_.tolist()


def test_epochs_are_added() -> None:
    X, groups = table()
    model = MemoryBoundedTopics(max_items=20, expected_documents=40, random_state=0)
    with pytest.raises(NotFittedError):
        model.transform(X)
    for k in range(0, 40, 10):
        some = (groups >= k) & (groups < k + 10)
        model.partial_fit(X[some], groups=groups[some])
        assert len(model.labels_) == 300
    assert model.model_.n_documents_seen_ == 40
    assert model.n_topics_ == 3


def test_counts_of_words_may_be_sparse() -> None:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, size=(30, 12)) + 5 * np.repeat(np.eye(2), 15, axis=0)[
        :, np.repeat([0, 1], 6)
    ].astype(int)
    dense = MemoryBoundedTopics("multinomial", random_state=0).fit(counts)
    sparse = MemoryBoundedTopics("multinomial", random_state=0).fit(csr_matrix(counts))
    assert model_bytes(dense.model_) == model_bytes(sparse.model_)
    assert dense.transform(counts).shape == (30, dense.n_topics_)
    assert dense.score_samples(counts).shape == (30,)
    assert dense.score(counts) > -np.log(12)


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([0, 0, 1], "one label per row"),
        (list(range(9)), "one label per row"),
        ([0, 0, 1, float("nan")], "must be a label"),
        ([[0, 0, 1, 1]], "one label per row"),
    ],
)
def test_groups_of_rows_to_answer_for_are_checked(groups: Any, word: str) -> None:
    X, known = table(10)
    fit = MemoryBoundedTopics(random_state=0).fit(X, groups=known)
    with pytest.raises(ValueError, match=word):
        fit.predict(X[:4], groups=groups)
    mixed = fit.predict(X[:4], groups=np.array([0, "a", 0, "a"], dtype=object))
    assert ((mixed >= 0) & (mixed < fit.n_topics_)).all()


def test_jobs_are_threads_and_minus_one_is_all_cores() -> None:
    X, known = table(10)
    one, all_ = (
        MemoryBoundedTopics(random_state=0, n_jobs=n).fit(X, groups=known)
        for n in (1, -1)
    )
    assert all_.model_.threads == os.cpu_count()
    assert (one.predict(X, groups=known) == all_.predict(X, groups=known)).all()
    one.set_params(n_jobs=2).partial_fit(X, groups=known)
    assert one.model_.threads == 2
    with pytest.raises(ValueError, match="n_jobs must be an int >= 1"):
        MemoryBoundedTopics(random_state=0, n_jobs=0).fit(X, groups=known)


def test_topics_of_words_do_not_follow_the_documents() -> None:
    counts, _ = bars(300, 60, seed=1)
    fit = MemoryBoundedTopics("multinomial", random_state=0).fit(counts)
    assert 10 <= (fit.model_.topic_weights_ > 0.01).sum() <= 14
    assert fit.n_topics_ <= 30


def test_components_are_counts_of_words_as_in_lda() -> None:
    counts, _ = bars(200, 60, seed=1)
    fit = MemoryBoundedTopics("multinomial", random_state=0).fit(counts)
    word = fit.model_.settings.prior.word
    assert fit.components_.shape == (fit.n_topics_, counts.shape[1])
    prior = fit.n_topics_ * counts.shape[1] * word
    assert fit.components_.sum() == pytest.approx(counts.sum() + prior)
    shares = fit.components_ / fit.components_.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(fit.model_.topic_words_)
    assert fit.perplexity(counts) == pytest.approx(np.exp(-fit.score(counts)))
    X, groups = table(10)
    rows = MemoryBoundedTopics(random_state=0).fit(X, groups=groups)
    assert rows.components_ == pytest.approx(rows.model_.means_)


def test_topics_of_rows_are_asked_with_their_documents() -> None:
    X, groups = table(10)
    fit = MemoryBoundedTopics(random_state=0).fit(X, groups=groups)
    own = fit.transform(X, groups=groups)
    assert own == pytest.approx(fit.model_.predict_proba(X, groups=groups))
    assert (own.argmax(axis=1) == fit.predict(X, groups=groups)).all()


def test_columns_of_transformers_have_names() -> None:
    X, _ = table(10)
    for fit in (MemoryBoundedTopics(random_state=0), DPGMMClusterer()):
        told = fit.set_output(transform="pandas").fit_transform(X)
        assert isinstance(told, pd.DataFrame)
        assert told.columns.tolist() == fit.get_feature_names_out().tolist()


def test_a_column_of_groups_and_texts_are_refused_with_the_remedy() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0.0, 1.0], "g": ["x", "y"]})
    for ask in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=r"groups=X\['g'\], and X without it"):
            getattr(MemoryBoundedTopics(), ask)(frame, groups="g")
    with pytest.raises(ValueError, match="CountVectorizer"):
        MemoryBoundedTopics("multinomial").fit(["a b", "c d"])
    with pytest.raises(ValueError, match="for family='multinomial'"):
        MemoryBoundedTopics().fit(["a b", "c d"])


@pytest.mark.parametrize("kind", [MemoryBoundedTopics, CanopyMixture])
def test_sparse_counts_need_a_family_of_counts(kind: Any) -> None:
    texts = ["cat dog cat mouse", "stock bond market", "dog cat pet"] * 5
    counts = CountVectorizer().fit_transform(texts)
    with pytest.raises(ValueError, match=r"of words, take family='multinomial'"):
        kind().fit(counts)
    fit = kind(family="multinomial", random_state=1).fit(counts)
    assert len(fit.labels_) == 15
