"""Numerics: the policy's neutral answers, before `r_rules` gives R's."""

from __future__ import annotations

import math

from dyntree._core.rng import RSource
from dyntree._core.trees.filter_rules import Numerics
from tests.probes import probe


def test_without_rules_nothing_moves_and_nothing_is_drawn() -> None:
    source = RSource(1)
    rules = Numerics()
    assert probe.choose(rules, 0.0, 5.0, 5.0, source) == 0
    assert probe.resample(rules, [1.0, 3.0], 2, source)[0] is None
    assert probe.failed_split(rules, 1, 3.0) == -math.inf
    assert source.n_draws == 0
