"""Random sequences of epochs, limits, copies and files: bytes and counts hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dyntree import checkpoint
from dyntree.errors import MemoryBudgetWarning
from dyntree.mixtures import MemoryBoundedHDP, memory_report
from tests.helpers import same_bytes
from tests.oracle import hdp as oracle


class HDPMachine(RuleBasedStateMachine):
    """One model of small documents, and what it must have counted."""

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("ignore", MemoryBudgetWarning)
        self.model = MemoryBoundedHDP(
            memory_limit=3000, expected_documents=1000, family="full"
        )
        self.limit = 3000
        self.points = self.documents = 0

    @rule(n=st.integers(1, 4), size=st.integers(1, 12), seed=st.integers(0, 2**20))
    def learn(self, n: int, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        centres = 4.0 * np.array([[0.0, 0.0], [1.0, 2.0], [-2.0, 1.0]])
        documents = [
            centres[rng.integers(3, size=size)] + rng.normal(size=(size, 2))
            for _ in range(n)
        ]
        self.model.partial_fit(documents)
        self.points += n * size
        self.documents += n

    @precondition(lambda self: self.model.is_ready)
    @rule(limit=st.integers(400, 6000), items=st.integers(1, 40) | st.none())
    def squeeze(self, limit: int, items: int | None) -> None:
        self.model.compress(memory_limit=limit, max_items=items, keep=True)
        self.limit = limit

    @rule()
    def save_and_load(self) -> None:
        data = checkpoint.dumps(self.model)
        self.model = checkpoint.loads(data)
        assert checkpoint.dumps(self.model) == data

    @rule()
    def copy(self) -> None:
        self.model = self.model.copy()

    @precondition(lambda self: self.model.is_ready)
    @rule()
    def ask(self) -> None:
        with same_bytes(self.model, checkpoint.dumps):
            drawn, _ = self.model.sample(2, 5)
            assert np.isfinite(self.model.score(drawn))
            assert self.model.transform(drawn).shape == (2, self.model.n_topics_)

    @invariant()
    def bytes_and_counts_hold(self) -> None:
        model = self.model
        assert model.n_seen == self.points
        assert model.n_documents_seen_ == self.documents
        if not model.is_ready:
            return
        assert memory_report(model).total == model.memory_used_ <= self.limit
        learned = model.learned_
        store, topics = learned.store.at_rest(), learned.topics
        items = np.arange(store.n_items)
        by_group = store.group_sums(items, np.ones(store.n_items), topics.S)
        np.testing.assert_allclose(topics.counts.sum(1), by_group, rtol=1e-9)
        assert abs(topics.documents.sum() - self.documents) < 1e-9

    @precondition(lambda self: self.model.is_ready)
    @invariant()
    def free_energy_is_the_oracle_s(self) -> None:
        """(29) of the oracle for q of one more update, topics as they are."""
        learned = self.model.learned_
        store, topics = learned.store.at_rest(), learned.topics
        family = learned.family
        twin = oracle.Full(
            family.m0, family.kappa0, family.shape0, family.scale0 * np.eye(2)
        )
        n, C = store.n_points, store.n_clumps
        mean = np.concatenate([store.x, store.clump_mean])
        count = np.concatenate([np.ones(n), store.clump_count])
        phibar = twin.phi(mean)
        phibar[n:, 2:] += store.clump_scatter / store.clump_count[:, None]
        by_group: Any = np.zeros((n + C, topics.S))
        by_group[np.arange(n), store.group] = 1.0
        owner = np.repeat(np.arange(C), np.diff(store.clump_indptr))
        np.add.at(by_group, (n + owner, store.clump_group), store.clump_group_count)
        p = oracle.Problem(twin, phibar, count, by_group, topics.documents)
        zeta = topics.alpha + topics.counts / topics.documents[:, None]
        from scipy.special import digamma

        elp = digamma(zeta) - digamma(zeta.sum(1, keepdims=True))
        logs = by_group / count[:, None] @ elp
        for k in range(topics.K):
            raw = family.unpacked(topics.scatter[k]) + topics.N[k] * np.outer(
                topics.mean[k], topics.mean[k]
            )
            S = np.concatenate([topics.N[k] * topics.mean[k], raw[np.triu_indices(2)]])
            theta, c = twin.expect(topics.N[k], S)
            logs[:, k] += phibar @ theta + c
        q = np.exp(logs - logs.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        F = oracle.free_energy(p, q, topics.alpha)
        assert abs(F - learned.F) <= 1e-6 * max(abs(F), 1.0)


TestHDP = HDPMachine.TestCase
TestHDP.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
