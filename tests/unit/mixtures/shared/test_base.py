"""What all mixtures tell of themselves, and how their answers are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import (
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
)
from dyntree.mixtures.shared.arrays import Answer, settled_aliases

ROWS = np.random.default_rng(0).normal(size=(60, 2))
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "gmm": (lambda: OnlineDPGMM(50.0), "1 cluster"),
    "mppca": (lambda: OnlineDPMPPCA(50.0, noise=1.0), "1 cluster"),
    "hsmm": (lambda: OnlineHDPHSMM(50.0, noise=1.0), "1 cluster"),
    "ddp": (lambda: DependentDPMixture(GaussianKnownVariance(99.0)), "1 cluster"),
    "hdp": (lambda: MemoryBoundedHDP("diag", max_topics=1), "1 topic"),
    "canopy": (lambda: Canopy(3, batch_size=60, max_iter=2), "3 components"),
}


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_mixture_tells_what_it_is(name: str) -> None:
    fresh, held = MODELS[name]
    model = fresh()
    assert repr(model).endswith(", 0 rows learned>")
    model.update(ROWS)
    assert repr(model) == f"<{type(model).__name__}: {held}, 60 rows learned>"
    facts = model.facts()
    assert list(facts)[:3] == ["kind", "rows learned", "columns"]
    assert facts["columns"] == ["x0", "x1"]
    assert facts["bytes in memory"] == model.memory_usage()


def test_of_many_columns_facts_tell_how_many_there_are() -> None:
    wide = OnlineDPGMM(1e9).update(np.eye(65))
    assert wide.facts()["columns"] == 65


def test_records_are_frozen_with_the_arrays_in_their_tuples() -> None:
    @dataclass(frozen=True, eq=False)
    class Found(Answer):
        n: int
        a: Any
        b: Any

    record = Found(1, np.ones(2), (np.ones(1), "text"))
    assert not record.a.flags.writeable
    assert not record.b[0].flags.writeable


def test_ids_lead_to_what_took_them_in_at_last() -> None:
    assert settled_aliases([(3, 2), (5, 4), (2, 1)]) == {3: 1, 5: 4, 2: 1}
    assert settled_aliases({}) == {}
