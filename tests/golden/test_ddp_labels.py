"""Labels of dependent mixtures are those that were recorded."""

from __future__ import annotations

import pytest

from .ddp_labels import FILE, STREAMS, labels_of


@pytest.mark.filterwarnings("ignore::dyntree.errors.MixingWarning")
@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("seed", range(5))
def test_labels_are_the_recorded_ones(seed: int, weights: str) -> None:
    told = dict(line.split(": ") for line in FILE.read_text().splitlines())
    assert told["streams"] == str(STREAMS)
    assert labels_of(seed, weights) == told[f"{weights} {seed}"]
