"""Documents of a few words: first topics from those that share rare words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dyntree.mixtures import MemoryBoundedHDP
from dyntree.mixtures.hdp import building
from dyntree.mixtures.hdp.options import HDPPrior
from dyntree.mixtures.hdp.registry import family_of
from dyntree.mixtures.hdp.starting import alike_documents
from dyntree.mixtures.hdp.words import Vocabulary, read_words
from tests.unit.mixtures.sva.test_dpgmm import agreement


def short(seed: int, n: int = 300, K: int = 6, width: int = 120) -> np.ndarray:
    """Documents of 4 to 15 words, most of them of one topic."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(width, 0.05), K)
    shares = rng.dirichlet(np.full(K, 0.1), n)
    sizes = rng.integers(4, 16, n)
    return np.array(
        [rng.multinomial(m, p @ topics) for m, p in zip(sizes, shares, strict=True)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_documents_without_a_word_in_common_are_apart(seed: int) -> None:
    """Four sets of words of their own, beside one that all documents have."""
    rng = np.random.default_rng(seed)
    group = np.arange(80) % 4
    counts = np.zeros((80, 21), dtype=int)
    for k in range(80):  # half the words of its set, so that any two share some
        counts[k, 5 * group[k] + rng.permutation(5)[:4]] = 1
    counts[:, 20] = 3
    batch = read_words(csr_matrix(counts), None, Vocabulary())
    family = family_of("multinomial", 21, HDPPrior(), np.zeros(0))
    store = batch.store(family, batch.document)
    label = alike_documents(store, 80, 4, np.random.default_rng(seed))
    # k-means++ picks a document of a set that is there already with probability 0
    assert agreement(label, group) > 0.5
    assert len(np.unique(label)) <= 4
    one = alike_documents(store, 80, 1, np.random.default_rng(seed))
    assert one.tolist() == [0] * 80


@pytest.mark.parametrize("seed", range(3))
def test_further_starts_never_raise_the_free_energy(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = short(seed)
    model = MemoryBoundedHDP("multinomial", seed=seed).fit(counts)
    again = MemoryBoundedHDP("multinomial", seed=seed, threads=2).fit(counts)
    assert again.free_energy_ == model.free_energy_
    monkeypatch.setattr(building, "BY_WORDS", ())
    plain = MemoryBoundedHDP("multinomial", seed=seed).fit(counts)
    assert model.free_energy_ <= plain.free_energy_ * (1.0 + 1e-12)


def test_long_documents_have_no_further_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = 5 * short(1, 60)
    model = MemoryBoundedHDP("multinomial", seed=1).fit(counts)
    monkeypatch.setattr(building, "BY_WORDS", ())
    plain = MemoryBoundedHDP("multinomial", seed=1).fit(counts)
    assert model.free_energy_ == plain.free_energy_
