"""Text: held-out words of news items beside other programs, and bars."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dyntree.mixtures import HDPOptions, MemoryBoundedHDP
from dyntree.mixtures.hdp.state import State
from tests.bench.hdp_scenes import bars, news
from tests.oracle.hdp import folded_score


def ours(train: Any, given: Any, rest: Any, name: str, **more: Any) -> MemoryBoundedHDP:
    """Our model: its score and what it took."""
    clock = time.process_time()
    model = MemoryBoundedHDP("multinomial", **{"seed": 0} | more).fit(
        train, progress=False
    )
    seconds = time.process_time() - clock
    score = folded_score(model.alpha_, model.topic_words_, given, rest)
    own = score_of(model, given, rest)
    known: State = model.learned_
    print(
        f"{name:44s} {model.n_topics_:4d}  {score:.3f} (own fold-in {own:.3f})  "
        f"{seconds:5.1f} s  {known.store.n_items} items"
    )
    return model


def score_of(model: MemoryBoundedHDP, given: Any, rest: Any) -> float:
    """The same by `score`, halves without words left out."""
    some = (given.sum(1) > 0) & (rest.sum(1) > 0)
    return float(model.score(rest[some], given=given[some]))


def news_items() -> None:
    """8.6: 300 news items."""
    print("8.6 300 news items, 240 for training; log probability per held-out token")
    train, given, rest = news()
    p = np.asarray(train.sum(0)).ravel() + 0.1
    print(f"unigram {float((rest @ np.log(p / p.sum())).sum()) / rest.sum():.3f}")
    peers(train, given, rest)
    ours(train, given, rest, "ours, defaults")
    ours(train, given, rest, "ours, batch, one topic", epoch_size=240, init_topics=1)
    for items in (None, 3000, 1000):
        ours(
            train, given, rest, f"ours, stream of 40, births kept, {items} items",
            epoch_size=40, max_items=items,
        )  # fmt: skip
    by_F = HDPOptions(n_birth=0)
    ours(
        train, given, rest, "ours, stream of 40, no births, 1000 items", epoch_size=40,
        max_items=1000, options=by_F,
    )  # fmt: skip
    ours(
        train, given, rest, "ours, stream of 40, 400 kB", epoch_size=40,
        memory_limit="400kB",
    )  # fmt: skip
    print("targets: batch >= -6.45 in <= 3 s; stream of 40 with 1,000 items >= -6.59")


def lda_topics(train: Any, K: int, seed: int) -> tuple[Any, Any]:
    """scikit-learn's alpha and words of topics."""
    from sklearn.decomposition import LatentDirichletAllocation

    lda = LatentDirichletAllocation(K, max_iter=100, random_state=seed).fit(train)
    words = lda.components_ / lda.components_.sum(1, keepdims=True)
    return np.full(K, 1.0 / K), words


def gensim_topics(train: Any, seed: int) -> tuple[Any, Any]:
    """gensim's alpha and words of topics."""
    from gensim.corpora import Dictionary
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = list(Sparse2Corpus(train.T))
        names = Dictionary.from_corpus(
            corpus, {v: str(v) for v in range(train.shape[1])}
        )
        hdp = HdpModel(corpus, names, random_state=seed, max_chunks=50)
        alpha, words = hdp.hdp_to_lda()
    more = train.shape[1] - np.shape(words)[1]
    wide = np.pad(np.asarray(words), ((0, 0), (0, more)), constant_values=1e-12)
    return np.asarray(alpha), wide


def tomotopy_topics(train: Any, seed: int) -> tuple[Any, Any]:
    """tomotopy's alpha and words of topics, after 1,000 sweeps."""
    import tomotopy

    model = tomotopy.HDPModel(seed=seed)
    for row in train:
        model.add_doc([str(v) for v in np.repeat(row.indices, row.data)])
    model.train(1000, workers=1, show_progress=False)
    lda, _ = model.convert_to_lda()
    place = {word: k for k, word in enumerate(lda.used_vocabs)}
    order = [place.get(str(v), -1) for v in range(train.shape[1])]
    words = np.stack([lda.get_topic_word_dist(k) for k in range(lda.k)])
    wide = np.where(np.array(order) >= 0, words[:, order], 1e-12)
    return np.asarray(lda.alpha), wide


PEERS: dict[str, Callable[[Any, int], tuple[Any, Any]]] = {
    "scikit-learn LDA 20": lambda train, seed: lda_topics(train, 20, seed),
    "scikit-learn LDA 40": lambda train, seed: lda_topics(train, 40, seed),
    "gensim HdpModel": gensim_topics,
    "tomotopy HDPModel, 1,000 sweeps": tomotopy_topics,
}


def peers(train: Any, given: Any, rest: Any) -> None:
    """scikit-learn, gensim and tomotopy on the same words."""
    for name, topics in PEERS.items():
        clock = time.process_time()
        alpha, words = topics(train, 0)
        seconds = time.process_time() - clock
        score = folded_score(alpha, words, given, rest)
        print(f"{name:44s} {len(words):4d}  {score:.3f}  {seconds:5.1f} s")


def bars_found() -> None:
    """True topics of bars that are found, cosine above .95."""
    print("8.6 bars, 200 documents of 60 words: true topics found of 10, seeds 0-4")
    for name, more in (
        ("batch from 20 random topics", {"epoch_size": 200, "init_topics": 20}),
        ("batch from one topic", {"epoch_size": 200, "init_topics": 1}),
        (
            "stream of 40, 200 items",
            {"epoch_size": 40, "init_topics": 20, "max_items": 200},
        ),
    ):
        found = []
        for seed in range(5):
            counts, topics = bars(200, 60, seed=seed)
            model = MemoryBoundedHDP("multinomial", seed=seed, **more).fit(counts)  # type: ignore[arg-type]
            words = model.topic_words_
            unit = words / np.linalg.norm(words, axis=1)[:, None]
            true = topics / np.linalg.norm(topics, axis=1)[:, None]
            found.append(int(((true @ unit.T).max(1) > 0.95).sum()))
        print(f"  {name}: {found}")
    print("targets: batch 10 on 4 of 5, stream >= 9 on 4 of 5")
