"""What a dependent mixture holds stays bounded, however many phases come."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree import checkpoint
from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
from dyntree.mixtures.ddp import files as files_module
from dyntree.mixtures.ddp import state as state_module


@pytest.mark.parametrize("base", ["stationary", "moved"])
@pytest.mark.parametrize("survival", [1.0, 0.99999])
def test_memory_is_fixed_however_many_phases_come(
    survival: float, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (state_module, files_module):
        monkeypatch.setattr(module, "MOST_COHORTS", 30)
    monkeypatch.setattr(state_module, "MOST_COUNTS", 60)
    rng = np.random.default_rng(0)
    model = DependentDPMixture(
        GaussianKnownVariance(1.0), survival=survival, innovation=0.05, base=base,
        history=5, n_sweeps=3, burn_in=1,
    )  # fmt: skip
    held = []
    for t in range(150):
        model.update(rng.normal(size=(8, 2)) + 9.0 * rng.integers(2, size=(8, 1)))
        state = model._state
        assert len(state.mass) <= 30
        assert state.age.max() <= 30
        assert len(state.counts) <= 60
        total = 1.0 + 0.05 * t
        assert state.mass.sum() == pytest.approx(total * survival**t, rel=0.05)
        held.append(model.memory_usage())
    assert max(held[75:]) <= 1.1 * max(held[40:75])
    lines = model.lifelines()
    assert lines.first_phase > 75
    assert not lines.count[:, : lines.first_phase].any()
    assert (lines.count[:, lines.first_phase :].sum(axis=0) == 8).all()
    again = checkpoint.loads(checkpoint.dumps(model))
    assert again.lifelines().first_phase == lines.first_phase
    assert checkpoint.dumps(again) == checkpoint.dumps(model)


def test_cohorts_that_become_one_keep_mass_and_mean_weight() -> None:
    rng = np.random.default_rng(1)
    mass, exposure = (
        rng.uniform(0.1, 1.0, 2000),
        np.sort(rng.uniform(1, 90, 2000))[::-1],
    )
    age = np.arange(2000)[::-1].astype(np.int64)
    fewer = state_module.fewer_cohorts(mass.copy(), exposure.copy(), age.copy())
    assert len(fewer[0]) == state_module.MOST_COHORTS
    assert fewer[0].sum() == pytest.approx(mass.sum())
    assert (fewer[0] / fewer[1]).sum() == pytest.approx((mass / exposure).sum())
    for u in (0.1, 1.0, 30.0):  # the Laplace exponent that sweeps see
        own = (mass * np.log1p(u / exposure)).sum()
        assert (fewer[0] * np.log1p(u / fewer[1])).sum() == pytest.approx(own, rel=1e-4)
    assert (np.diff(fewer[2]) <= 0).all()


def test_lifelines_are_sparse() -> None:
    model = DependentDPMixture(GaussianKnownVariance(1.0), n_sweeps=3, burn_in=1)
    model.update(np.zeros((4, 2)))
    for _ in range(3):
        model.update([])
    lines = model.lifelines()
    assert (lines.sparse.nnz, lines.sparse.shape, lines.first_phase) == (1, (1, 4), 0)
    assert lines.count.tolist() == lines.sparse.toarray().tolist() == [[4, 0, 0, 0]]
    with pytest.raises(ValueError, match="read-only"):
        lines.count[0, 0] = 1
