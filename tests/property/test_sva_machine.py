"""Random lives of small-variance mixtures: rows, merges, removals, files."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from dyntree import checkpoint
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from tests.helpers import model_bytes
from tests.oracle import sva as oracle

WIDTH = 3
NOISE = 0.5


class Life(RuleBasedStateMachine):
    """A model, its plain version, and a model that gets the same rows one by one."""

    kind: ClassVar[str]

    @initialize(
        seed=st.integers(0, 10**6),
        lambda_=st.floats(0.5, 20.0),
        min_weight=st.sampled_from([1.0, 3.0]),
        patience=st.sampled_from([4, 30]),
        check_every=st.sampled_from([3, 10, 1000]),
        forget=st.sampled_from([1.0, 1.0, 0.95]),
        max_clusters=st.sampled_from([3, 100]),
    )
    def begin(self, seed: int, lambda_: float, **options: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.forget = options["forget"]
        if self.kind == "gmm":
            make: Any = lambda: OnlineDPGMM(lambda_, **options)  # noqa: E731
            self.plain: Any = oracle.DPGMM(lambda_, **options)
        elif self.kind == "mppca":
            make = lambda: OnlineDPMPPCA(lambda_, noise=NOISE, **options)  # noqa: E731
            self.plain = oracle.DPMPPCA(lambda_, NOISE, **options)
        else:
            make = lambda: OnlineHDPHSMM(  # noqa: E731
                lambda_, noise=NOISE, lambda_4=0.1, **options
            )
            self.plain = oracle.HDPHSMM(lambda_, NOISE, lambda_4=0.1, **options)
        self.model, self.twin = make(), make()
        self.n = 0

    def rows(self, n: int, spread: float) -> np.ndarray:
        centres = spread * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1]], dtype=float)
        scale = np.array([2.0, 1.0, 0.3])
        return centres[self.rng.integers(3, size=n)] + scale * self.rng.normal(
            size=(n, WIDTH)
        )

    @rule(n=st.integers(1, 25), spread=st.sampled_from([0.0, 4.0, 30.0]))
    def learn(self, n: int, spread: float) -> None:
        X = self.rows(n, spread)
        self.model.update(X)
        labels = []
        for x in X:
            labels.append(self.twin.learn_one(x.tolist()).last_label_)
        assert self.model.labels_.tolist() == labels == self.plain.learn(X)
        self.n += n

    @rule()
    def rename_nothing(self) -> None:
        self.model.update(np.empty((0, WIDTH)))

    @precondition(lambda self: self.n > 0)
    @rule()
    def merge(self) -> None:
        self.model.merge_now()
        self.twin.merge_now()
        self.plain.merge_all()

    @precondition(lambda self: self.n > 0 and self.plain.clusters)
    @rule(which=st.integers(0, 10**6))
    def remove(self, which: int) -> None:
        gone = self.plain.clusters[which % len(self.plain.clusters)]
        self.model.remove(gone.id)
        self.twin.remove(gone.id)
        self.plain.lost += gone.w
        self.plain.drop(gone)

    @rule()
    def reload(self) -> None:
        self.model = checkpoint.loads(checkpoint.dumps(self.model))

    @rule()
    def copy(self) -> None:
        self.model = self.model.copy()

    @precondition(lambda self: self.n > 0)
    @rule()
    def ask(self) -> None:
        X = self.rows(5, 4.0)
        labels = self.model.predict(X)
        ids = self.model.clusters().id
        assert set(labels.tolist()) <= {-1, *ids.tolist()}
        assert (labels == -1).all() == (len(ids) == 0)
        proba = self.model.predict_proba(X)
        assert proba.shape == (5, len(ids))
        if len(ids):
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)
            assert np.isfinite(self.model.score_samples(X)).all()

    @invariant()
    def it_is_one_stream_however_cut(self) -> None:
        if hasattr(self, "n"):
            assert model_bytes(self.model) == model_bytes(self.twin)

    @invariant()
    def it_is_the_plain_version(self) -> None:
        if not getattr(self, "n", 0):
            return
        found = self.model.clusters(provisional=True)
        plain = self.plain.clusters
        assert found.id.tolist() == [c.id for c in plain]
        assert np.all(np.diff(found.id) > 0)
        assert found.confirmed.tolist() == [c.confirmed for c in plain]
        weight = [c.w for c in plain]
        np.testing.assert_allclose(found.weight, weight, rtol=1e-12)
        mean = np.array([c.mean for c in plain]).reshape(-1, WIDTH)
        np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-10)
        lost = self.model._state.clusters.lost
        assert lost == pytest.approx(self.plain.lost)
        if self.forget == 1.0:
            assert found.weight.sum() + lost == pytest.approx(self.n)

    @invariant()
    def merged_ids_lead_to_one_that_is_not_merged(self) -> None:
        if not getattr(self, "n", 0):
            return
        aliases = self.model.aliases_
        assert not set(aliases) & set(aliases.values())
        assert not set(aliases) & set(self.model.clusters(provisional=True).id.tolist())
        assert all(
            into < self.model._state.clusters.next_id for into in aliases.values()
        )

    @invariant()
    def moves_balance(self) -> None:
        if self.kind != "hsmm" or not getattr(self, "n", 0):
            return
        chain, known = self.plain.chain, self.model._state.clusters
        ids = [c.id for c in self.plain.clusters]
        expected = [[chain.moves.get((i, j), 0) for j in ids] for i in ids]
        assert known.chain.counts(known.n).tolist() == expected
        assert known.chain.dwell == chain.dwell


class GMMLife(Life):
    kind = "gmm"


class MPPCALife(Life):
    kind = "mppca"


class HSMMLife(Life):
    kind = "hsmm"

    @rule()
    def end_sequence(self) -> None:
        for model in (self.model, self.twin):
            model.end_sequence()
        chain = self.plain.chain
        if chain.state is not None:
            chain.durations.setdefault(chain.state, []).append((self.n, chain.dwell))
        chain.state = chain.last = chain.before = None
        chain.dwell = chain.before_dwell = 0


FEW = settings(max_examples=100)
TestGMM, TestMPPCA, TestHSMM = GMMLife.TestCase, MPPCALife.TestCase, HSMMLife.TestCase
TestGMM.settings = TestMPPCA.settings = TestHSMM.settings = FEW
