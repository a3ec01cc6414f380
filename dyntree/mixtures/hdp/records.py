"""What memory-bounded topic models answer with, and report while they learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids
from dyntree.params.names import SuggestingAttributes
from dyntree.runtime.records import Record


@dataclass(frozen=True)
class SweepReport(SuggestingAttributes):
    """One variational sweep of an epoch.

    Attributes
    ----------
    epoch : int
    n_sweeps : int
        Number of sweeps of the epoch so far.
    n_topics : int
    free_energy : float
        Free energy in nats, in standardised units.
    """

    epoch: int
    n_sweeps: int
    n_topics: int
    free_energy: float


@dataclass(frozen=True)
class EpochReport(SuggestingAttributes):
    """Report of an epoch that is about to become part of a model.

    Attributes
    ----------
    epoch, n_documents : int
    n_points : float
    n_topics, n_items : int
    free_energy : float
        Free energy of the stored data in nats, in units of the data.
    memory : int
        Number of bytes in use between epochs.
    """

    epoch: int
    n_documents: int
    n_points: float
    n_topics: int
    n_items: int
    free_energy: float
    memory: int


@dataclass(frozen=True, repr=False)
class TopicLabels(Record):
    """Topics of points.

    Attributes
    ----------
    labels : ndarray of int64, or list of them
        Index of the best topic of each point. For one table it is an array, else a list
        with one array for each document. Words have one label for each pair of a
        document and a word.
    proportions : ndarray of shape (n_documents, n_topics)
        Expected share of each topic in each document.
    """

    labels: Any
    proportions: Matrix


@dataclass(frozen=True, repr=False)
class Retrieved(Record):
    """Documents that are most like a query.

    Attributes
    ----------
    ids : ndarray of shape (n_queries, n)
        Ids of indexed documents, or numbers of groups.
    scores : ndarray of shape (n_queries, n)
        Log probability of the query given each of them, up to a constant, in decreasing
        order.
    """

    ids: NDArray[Any]
    scores: Matrix


@dataclass(frozen=True, repr=False)
class TopicTable(Record):
    """Table of topics, sorted by decreasing count.

    Attributes
    ----------
    id : ndarray of shape (n_topics,)
        Permanent numbers.
    weight, count, alpha, documents : ndarray of shape (n_topics,)
        Share and number of points; prior weight; number of documents with more than a
        hundredth of their points in the topic.
    mean, covariance : ndarray of shape (n_topics, n_features[, n_features]), or None
        Mean and covariance in units of the data.
    words : ndarray of shape (n_topics, n_top), or None
        Ids of the words most probable in each topic.
    word_probability : ndarray of shape (n_topics, n_top), or None
    """

    id: Ids
    weight: Vector
    count: Vector
    alpha: Vector
    documents: Vector
    mean: Matrix | None
    covariance: NDArray[np.float64] | None
    words: Ids | None
    word_probability: Matrix | None


@dataclass(frozen=True)
class MemoryReport(SuggestingAttributes):
    """Memory in bytes, by use.

    Attributes
    ----------
    resting : dict of str to int
        Number of bytes in use between calls, by their use.
    transient : dict of str to int
        Largest number of further bytes during the last epoch, computed from the sizes
        of arrays.
    paper : int
        Number of bytes of clumps and single points by the formula of Gomes et al.
        (2008, eq. 26): eight for each number, with a count for every group in every
        clump.
    """

    resting: dict[str, int]
    transient: dict[str, int]
    paper: int

    @property
    def total(self) -> int:
        """Total bytes in use between epochs."""
        return sum(self.resting.values())


@dataclass(frozen=True, repr=False)
class LDAParameters(Record):
    """Latent Dirichlet allocation with the topics of a fitted model, fixed.

    Attributes
    ----------
    alpha : ndarray of shape (n_topics,)
    topic_words : ndarray of shape (n_topics, n_words)
        Probabilities of the words in each topic; rows sum to 1.
    """

    alpha: Vector
    topic_words: Matrix
