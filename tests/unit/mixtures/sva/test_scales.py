"""How scales are chosen from the first rows: which costs are tried, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.mixtures.sva import scales
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.scales import Trial, bisected

BIC = [9.0, 9.0, 9.0, 4.0, 5.0, 5.0, 2.0, 2.0, 7.0, 7.0, 7.0, 7.0]


def test_costs_between_equal_mixtures_are_not_tried() -> None:
    """What is told is what trying all of them tells."""
    tried: list[int] = []

    def trial(k: int) -> Trial:
        tried.append(k)
        return Trial(int(BIC[k]), BIC[k], 1.0)

    assert [found.bic for found in bisected(len(BIC), trial)] == BIC
    assert len(tried) == len(set(tried)) < len(BIC)
    tried.clear()
    assert len(bisected(14, lambda k: trial(0))) == 14
    assert len(tried) == 2


def test_mixtures_are_the_same_but_for_rounding() -> None:
    assert Trial(3, 10.0, 1.0).is_as(Trial(3, 10.0005, 2.0))
    assert not Trial(3, 10.0, 1.0).is_as(Trial(3, 10.1, 1.0))
    assert not Trial(3, 10.0, 1.0).is_as(Trial(2, 10.0, 1.0))


def test_rows_of_one_wide_cluster_are_few_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every cost leads to the one cluster, in each round of the noise."""
    n_tried, plain = 0, scales.subspace_trial

    def counted(rows: Any, found: Any) -> Trial:
        nonlocal n_tried
        n_tried += 1
        return plain(rows, found)

    monkeypatch.setattr(scales, "subspace_trial", counted)
    X = np.random.default_rng(0).normal(size=(800, 200))
    model = OnlineDPMPPCA().update(X)
    assert n_tried <= 6  # 42 where all costs are tried
    assert model.n_clusters == 1
    assert model.noise == pytest.approx(1.0, rel=0.01)
