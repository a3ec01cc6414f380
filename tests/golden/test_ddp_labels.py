"""Labels of dependent mixtures are those that were recorded."""

from __future__ import annotations

import json

import pytest

from .ddp_labels import FILE, STREAMS, labels_of


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("seed", range(5))
def test_labels_are_the_recorded_ones(seed: int, weights: str) -> None:
    told = json.loads(FILE.read_text())
    assert told["streams"] == STREAMS
    assert labels_of(seed, weights) == told["labels"][f"{weights} {seed}"]
