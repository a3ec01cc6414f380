"""Reports on topic models, for reading: topics, memory, the same model as an LDA."""

from __future__ import annotations

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.hdp.model import MemoryBoundedHDP
from dyntree.mixtures.hdp.records import LDAParameters, MemoryReport, TopicTable
from dyntree.mixtures.hdp.state import State

USED = 0.01  # share of a document's points from which it uses a topic
N_TOP = 10  # words shown of a topic


def topics(model: MemoryBoundedHDP, n_words: int = N_TOP) -> TopicTable:
    """Return a table of the topics, sorted by decreasing count.

    Parameters
    ----------
    model : MemoryBoundedHDP
    n_words : int, default 10
        Number of most probable words to show for each topic.

    Returns
    -------
    TopicTable

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP, topics
    >>> counts = np.repeat([[9, 9, 0, 0], [0, 0, 9, 9]], 20, axis=0)
    >>> model = MemoryBoundedHDP("multinomial", epoch_size=40, seed=0).fit(counts)
    >>> table = topics(model, 2)
    >>> table.weight.round(2), np.sort(table.words, axis=1).tolist()
    (array([0.5, 0.5]), [[0, 1], [2, 3]])
    """
    wanted = params.count("n_words", n_words, 1)
    learned = learned_by(model)
    known = learned.topics
    share = known.counts / np.maximum(known.counts.sum(1, keepdims=True), 1e-300)
    documents = known.documents @ (share > USED)
    is_words = learned.family.of_words
    words = probability = None
    if is_words:
        chance = model.topic_words_
        words = np.argsort(-chance, axis=1, kind="stable")[:, :wanted]
        probability = np.take_along_axis(chance, words, axis=1)
    return TopicTable(
        id=model.topic_ids_, weight=model.topic_weights_, count=model.topic_counts_,
        alpha=model.alpha_, documents=documents,
        mean=None if is_words else model.means_,
        covariance=None if is_words else model.covariances_,
        words=words, word_probability=probability,
    )  # fmt: skip


def memory_report(model: MemoryBoundedHDP) -> MemoryReport:
    """Report the memory of a model in bytes, by use.

    Parameters
    ----------
    model : MemoryBoundedHDP

    Returns
    -------
    MemoryReport

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP, memory_report
    >>> rng = np.random.default_rng(0)
    >>> documents = list(rng.normal(size=(9, 30, 2)))
    >>> model = MemoryBoundedHDP(memory_limit=3000, seed=0).fit(documents)
    >>> memory_report(model).total == model.memory_used_ <= 3000
    True
    """
    learned = learned_by(model)
    rows = {
        "topics": ("alpha", "counts", "topic_ids", "means", "scatters", "topic_words"),
        "groups": ("group_counts", "group_sizes"),
        "single points": (
            "singlet_x", "singlet_word", "singlet_count", "singlet_group"
        ),
        "clumps": (
            "clump_count", "clump_mean", "clump_scatter", "clump_indptr",
            "clump_group", "clump_group_count", "clump_word_indptr", "clump_word",
            "clump_word_count",
        ),
        "scale": ("shift", "scale", "cells"),
        "history": ("history", "aliases"),
        "documents": ("document_ids", "document_group", "document_epoch"),
        "index": ("index", "index_ids"),
    }  # fmt: skip
    arrays = learned.arrays()
    resting = {
        name: sum(arrays[part].nbytes for part in parts if part in arrays)
        for name, parts in rows.items()
    }
    family, S = learned.family, learned.topics.S
    each = (family.n_words or family.n_statistics) + S
    single = family.d or 1
    paper = 8 * (each * model.n_clumps_ + single * model.n_singlets_)
    return MemoryReport(resting, dict(learned.transient), paper)


def to_lda(model: MemoryBoundedHDP) -> LDAParameters:
    """Convert a topic model of word counts to a latent Dirichlet allocation.

    Parameters
    ----------
    model : MemoryBoundedHDP
        A model of the family "multinomial".

    Returns
    -------
    LDAParameters
        It has all ``n_topics_`` topics.

    Raises
    ------
    ValueError
        If the model has another family.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP, to_lda
    >>> counts = np.repeat([[9, 9, 0, 0], [0, 0, 9, 9]], 20, axis=0)
    >>> model = MemoryBoundedHDP("multinomial", epoch_size=40, seed=0).fit(counts)
    >>> to_lda(model).alpha.shape
    (2,)
    """
    if not learned_by(model).family.of_words:
        raise ArgumentError(
            "model",
            "must have topics of words, family='multinomial'",
            Message("family={family!r}", family=model.settings.family),
        )
    return LDAParameters(model.alpha_, model.topic_words_)


def learned_by(model: MemoryBoundedHDP) -> State:
    """What a topic model has learned; it must be one, and have seen documents."""
    if not isinstance(model, MemoryBoundedHDP):
        raise ArgumentError("model", "must be a MemoryBoundedHDP", model)
    return model.learned_
