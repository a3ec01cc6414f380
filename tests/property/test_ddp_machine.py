"""Any sequence of phases, files and questions keeps a dependent mixture in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dyntree import checkpoint
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
)
from tests.helpers import model_bytes, same_bytes

FAMILIES: dict[str, Any] = {
    "known": GaussianKnownVariance(1.0, base_mean=0.0, base_variance=30.0),
    "unknown": GaussianUnknown(base_mean=0.0, scale=1.0),
    "flow": AffineFlow(),
    "words": Multinomial(0.5),
}


class Phases(RuleBasedStateMachine):
    """Phases of any size, with clusters at a few places."""

    @initialize(
        family=st.sampled_from(sorted(FAMILIES)),
        options=st.fixed_dictionaries({
            "weights": st.sampled_from(["gamma", "counts"]),
            "sampler": st.sampled_from(["collapsed", "uncollapsed"]),
            "base": st.sampled_from(["stationary", "moved"]),
            "survival": st.sampled_from([0.0, 0.5, 0.95]),
            "history": st.integers(1, 4),
            "history_merge": st.booleans(),
            "n_chains": st.integers(1, 2),
            "max_particles": st.sampled_from([3, 512]),
        }),
    )  # fmt: skip
    def begin(self, family: str, options: dict[str, Any]) -> None:
        self.model = DependentDPMixture(
            FAMILIES[family], n_sweeps=4, burn_in=1, **options
        )
        self.words = family == "words"
        self.lengths: list[int] = []
        self.counted: list[int] = []

    @rule(n=st.integers(0, 14), seed=st.integers(0, 1000), spread=st.booleans())
    def learn(self, n: int, seed: int, spread: bool) -> None:
        rng = np.random.default_rng(seed)
        rows = 0.5 * rng.normal(size=(n, 4)) + 9.0 * spread * rng.integers(
            2, size=(n, 1)
        )
        if self.words:
            rows = np.floor(np.abs(rows))
        before = None
        if self.model.is_ready:
            before = self.model.particles()
        self.model.update(rows)
        self.lengths.append(n)
        self.counted.append(int(rows.any(axis=1).sum()) if self.words else n)
        if before is not None and self.counted[-1]:
            after = self.model.particles()
            common = np.isin(after.id, before.id)
            old = before.exposure[np.isin(before.id, after.id)]
            if self.model.options.weights == "gamma":
                assert (after.exposure[common] > old).all()

    @rule()
    def save(self) -> None:
        again = checkpoint.loads(checkpoint.dumps(self.model))
        assert model_bytes(again) == model_bytes(self.model)
        self.model = again

    @rule(seed=st.integers(0, 9))
    def ask(self, seed: int) -> None:
        if not self.model.is_ready:
            return
        with same_bytes(self.model):
            rows, _ = self.model.sample(3, seed=seed)
            assert np.isfinite(self.model.log_predictive(rows, ahead=seed % 3)).all()
            table = self.model.particles()
            ids = table.id
            assert set(self.model.predict(rows).tolist()) <= {-1, *ids.tolist()}
            forecast = self.model.forecast(2)
            total = forecast.share.sum(axis=1) + forecast.new_share
            np.testing.assert_allclose(total, 1.0)
            first = self.model.n_phases - self.model.options.history
            for id in ids[table.last_seen >= first].tolist():
                path = self.model.trajectory(id)
                assert np.isfinite(path.mean).all()
            for id in ids[table.last_seen < first].tolist():
                with pytest.raises(ValueError, match="seen in the last"):
                    self.model.trajectory(id)

    @invariant()
    def rows_add_up(self) -> None:
        if not hasattr(self, "model"):
            return
        model = self.model
        assert model.n_seen == sum(self.lengths)
        lines = model.lifelines()
        if self.lengths:
            assert lines.count.sum(axis=0).tolist() == self.counted
        held = min(len(self.lengths), model.options.history)
        for t in range(len(self.lengths) - held, len(self.lengths)):
            assert len(model.labels(t)) == self.lengths[t]
        if model.is_ready:
            table = model.particles()
            assert len(np.unique(table.id)) == len(table)
            at = np.searchsorted(lines.id, table.id)
            assert table.count.tolist() == lines.count[at].sum(axis=1).tolist()
            assert len(table) <= model.options.max_particles
            assert np.isfinite(table.mean).all()


Phases.TestCase.settings = settings(max_examples=60, stateful_step_count=12)


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
class TestPhases(Phases.TestCase):  # type: ignore[misc, name-defined]
    """Run the machine; a cloud of three particles is full on purpose."""
