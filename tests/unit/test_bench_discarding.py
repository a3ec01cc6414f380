"""Measures, baseline and store behind the figures on data discarding."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from tests.bench.discarding.figures import CI, figure
from tests.bench.discarding.measures import auc, h_measure
from tests.bench.discarding.models import AdaptiveLDA
from tests.bench.discarding.scenes import rare_events
from tests.bench.discarding.store import Results, run
from tests.bench.discarding.tables import table


@pytest.mark.parametrize("seed", range(4))
def test_h_is_the_integral_of_the_smallest_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.random(120) < 0.3
    score = np.round(y + rng.normal(size=120), 1)  # with ties
    pi1, pi0 = y.mean(), 1 - y.mean()

    def loss(c: float) -> float:
        told = [score > s for s in (-np.inf, *np.unique(score))]
        return min(
            (1 - c) * (y & ~one).mean() + c * (~y & one).mean() for one in told
        ) * beta.pdf(c, 1 + pi1, 1 + pi0)

    def constant(c: float) -> float:
        return min((1 - c) * pi1, c * pi0) * beta.pdf(c, 1 + pi1, 1 + pi0)

    knots = np.linspace(0.0, 1.0, 41)
    ours = sum(quad(loss, a, b)[0] for a, b in pairwise(knots))
    worst = sum(quad(constant, a, b)[0] for a, b in pairwise(knots))
    assert h_measure(y, score) == pytest.approx(1 - ours / worst, abs=2e-3)


def test_measures_at_their_ends() -> None:
    y = np.array([0, 0, 1, 1, 0, 1])
    assert auc(y, y) == h_measure(y, y) == 1.0
    assert auc(y, np.zeros(6)) == 0.5
    assert h_measure(y, np.zeros(6)) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(auc([1, 1], [0.2, 0.1]))
    assert np.isnan(h_measure([1, 1], [0.2, 0.1]))


def test_the_forgetting_of_the_baseline_climbs_its_own_density() -> None:
    """Carried derivatives are those of finite differences of a fixed factor."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)

    def after(lam: float) -> AdaptiveLDA:
        model = AdaptiveLDA(2, step=0.0)
        model.lam = lam
        for x, c in zip(X, y.tolist(), strict=True):
            model.learn(x, c)
        return model

    low, mid, high = (after(0.95 + h) for h in (-1e-5, 0.0, 1e-5))
    np.testing.assert_allclose((high.m - low.m) / 2e-5, mid.dm, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose((high.S - low.S) / 2e-5, mid.dS, rtol=1e-4, atol=1e-7)


def test_rare_events_are_rare_and_drift() -> None:
    X, y = rare_events(40_000, 0)
    assert 0.002 < y.mean() < 0.01
    first, later = np.flatnonzero(y[:4000]), 20_000 + np.flatnonzero(y[20_000:24_000])
    assert X[first, 1].mean() > 1.0 > -1.0 > X[later, 1].mean()


def test_what_was_run_stays_run(tmp_path: Path) -> None:
    path = tmp_path / "results" / "figure_1.json"
    path.parent.mkdir()
    function, cases = figure("1", CI)
    run(function, [(cases[1], 0)], Results(path), 1)
    kept = Results(path)
    assert kept.has(cases[1], 0)
    assert not kept.has(cases[1], 1)
    kept.add(cases[1], 0, {"outer": [0.5] * 12})  # would be overwritten if run again
    run(function, [(cases[1], repeat) for repeat in range(2)], kept, 1)
    assert len(Results(path).values(cases[1], "outer")) == 2
    assert Results(path).values(cases[1], "outer")[0].tolist() == [0.5] * 12
    assert "ORAND" in table("1", cases, kept)
