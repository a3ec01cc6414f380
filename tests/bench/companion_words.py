"""Topics of words, with our defaults and beside other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dyntree.mixtures import MemoryBoundedHDP
from tests.oracle.hdp import folded_score

from .companion_tables import SEEDS, Cells, Table, needs, timed
from .hdp_scenes import bars, docstrings, news, short_topics, zipf_topics
from .hdp_text import PEERS, lda_topics, score_of

COLUMNS = {
    "held out": "low", "own score": "low", "NPMI": "low", "NPMI, 15": "low",
    "NPMI, words": "low", "K": "each", "topics over 1 %": "each", "CPU s": "high",
}  # fmt: skip
LARGEST = 15  # topics of which all programs are compared
FLOOR = 0.01  # share of the words from which a topic counts
Split = tuple[Any, Any, Any]  # documents to learn, and halves of those held out


def coherences(words: Any, train: Any, top: int) -> Any:
    """NPMI of the likeliest words of each topic, by the documents that hold them."""
    held = (train > 0).astype(np.float64)
    n = held.shape[0]
    together = (held.T @ held).toarray() / n
    alone = together.diagonal()
    found = []
    for topic in np.argsort(-words, axis=1)[:, :top]:
        i, j = np.triu_indices(top, 1)
        p, a, b = together[topic[i], topic[j]], alone[topic[i]], alone[topic[j]]
        known = np.maximum(p, 1e-12)
        scores = np.log(known / np.maximum(a * b, 1e-12)) / -np.log(known)
        found.append(np.where(p > 0.0, np.minimum(scores, 1.0), -1.0).mean())
    return np.array(found)


def shares(alpha: Any, words: Any, train: Any) -> Any:
    """Shares of topics in the words of all documents, by EM with the topics fixed."""
    counts = np.asarray(train.sum(axis=0), dtype=np.float64).ravel()
    counts, words = counts[counts > 0], words[:, counts > 0]
    found = alpha / alpha.sum()
    for _ in range(200):
        q = found[:, None] * words
        found = q @ (counts / np.maximum(q.sum(axis=0), 1e-300))
        found /= found.sum()
    return found


def learned_topics(train: Any, seed: int, **more: Any) -> tuple[Any, Any, Any]:
    """Our model's alpha and words, and the model."""
    model = MemoryBoundedHDP("multinomial", seed=seed, **more)
    model.fit(train, progress=False)
    return model.alpha_, model.topic_words_, model


def told(find: Callable[[Any, int], Any], split: Split, seed: int, top: int) -> Cells:
    """Held-out words by one fold-in for all programs, coherence, topics and seconds.

    NPMI is the mean over topics with over 1 % of the words, over the largest 15, and
    over the words: of all topics, by the share that each has of them. The first is the
    higher the fewer topics are that large, whatever the others are.
    """
    train, given, rest = split
    (alpha, words, *model), seconds = timed(lambda: find(train, seed))
    share = shares(alpha, words, train)
    npmi = coherences(words, train, top)
    found = {
        "held out": folded_score(alpha, words, given, rest),
        "NPMI": npmi[share > FLOOR].mean(),
        "NPMI, 15": npmi[np.argsort(-share)[:LARGEST]].mean(),
        "NPMI, words": npmi @ share,
        "K": len(words), "topics over 1 %": int((share > FLOOR).sum()),
        "CPU s": seconds,
    }  # fmt: skip
    if model:
        found["own score"] = score_of(model[0], given, rest)
    return found


def words_table(
    title: str,
    split: Callable[[int], Split],
    top: int,
    programs: dict[str, Any],
    seeds: Iterable[int] = SEEDS,
) -> Table:
    """A table of programs, at some seeds."""
    table = Table(title, COLUMNS)
    table.fill({
        name: lambda seed, find=find: told(find, split(seed), seed, top)
        for name, find in programs.items()
    }, seeds)  # fmt: skip
    return table


def drawn_bars(seed: int) -> Split:
    """600 documents of 60 words about ten bars, and halves of 150 more."""
    counts, _ = bars(750, 60, seed=seed)
    half = np.random.default_rng(seed).binomial(counts[600:], 0.5)
    return csr_matrix(counts[:600]), half, counts[600:] - half


def bars_found() -> Iterator[Table]:
    """Ten bars, which are true."""
    programs = {
        "MemoryBoundedHDP": learned_topics,
        "scikit-learn LDA 10": lambda train, seed: lda_topics(train, 10, seed),
    } | {name: find for name, find in PEERS.items() if "LDA" not in name}
    yield words_table(
        "bars: 600 documents of 60 words, 10 topics (asked: 10-14 over 1 %, K <= 30, "
        "1 s)", drawn_bars, 5, programs,
    )  # fmt: skip


def news_found() -> Iterator[Table]:
    """300 items of news that gensim brings along."""
    title = "news: 240 items to learn, 60 held out"
    try:
        needs("gensim")
    except ModuleNotFoundError:
        yield Table(f"{title}: skipped, gensim, which has the texts, is absent", {})
        return
    programs = {
        "MemoryBoundedHDP": learned_topics,
        "MemoryBoundedHDP, stream of 40": lambda train, seed: learned_topics(
            train, seed, epoch_size=40
        ),
    }
    yield words_table(title, lambda seed: news(240, seed), 10, programs | PEERS)


def many_documents() -> Iterator[Table]:
    """Time and topics of more documents: drawn ones, and docstrings of packages."""
    programs = {
        "MemoryBoundedHDP": learned_topics,
        "tomotopy HDPModel, 1,000 sweeps": PEERS["tomotopy HDPModel, 1,000 sweeps"],
    }
    for n in (240, 1200, 5000):
        yield words_table(
            f"{n} drawn documents of 120 words, 40 topics of 2,000 words",
            lambda seed, n=n: zipf_topics(n, seed), 10, programs,
        )  # fmt: skip
        yield words_table(
            f"{n} docstrings of at most 120 words (asked: 3 times tomotopy's seconds)",
            lambda seed, n=n: docstrings(n, seed), 10, programs,
        )  # fmt: skip


def short_documents() -> Iterator[Table]:
    """830 documents of 4 to 15 words: five collections, and five starts on one."""
    programs = {
        "MemoryBoundedHDP": learned_topics,
        "scikit-learn LDA 20": lambda train, seed: lda_topics(train, 20, seed),
        "tomotopy HDPModel, 1,000 sweeps": PEERS["tomotopy HDPModel, 1,000 sweeps"],
    }
    for title, collection in (
        ("830 documents of 4 to 15 words, five collections", lambda seed: seed),
        ("the first collection, five starts (asked: spread <= .1)", lambda _: 0),
    ):
        yield words_table(
            title, lambda seed, of=collection: short_topics(830, of(seed)), 10,
            programs, range(5),
        )  # fmt: skip
