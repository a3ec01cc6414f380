"""The demonstration of mixtures: its bounds, and that its files say what it printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dyntree.demo import sva as demo
from tests.unit.demo.conftest import heard
from tests.unit.mixtures.sva.test_dpgmm import agreement

PRINTED = "states found"


def test_the_demonstration_finds_the_strokes(folder: Path) -> None:
    told: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    assert told["states"] == told["strokes"] == 6
    assert sorted(told["stroke_of_state"]) == [0, 1, 2, 3, 4, 5]
    assert told["rows_identified"] > 0.85
    assert abs(told["segments_decoded"] - told["segments_made"]) <= 3
    assert told["next_state_right"] > 0.75


def test_labels_are_those_of_the_movement(folder: Path) -> None:
    table = pd.read_csv(folder / "labels.csv")
    assert table.columns.tolist() == ["row", "stroke", "live", "decoded"]
    rows, stroke = demo.movement(seed=1)
    assert table["stroke"].tolist() == stroke.tolist()
    assert len(rows) == len(table)
    assert agreement(table["decoded"], stroke) > 0.8
    assert (folder / "segments.png").read_bytes()[:4] == b"\x89PNG"


def test_a_movement_goes_from_point_to_point() -> None:
    rows, stroke = demo.movement(30, seed=3, noise=1e-9)
    ends = np.flatnonzero(np.diff(stroke))
    for end in ends:
        start, stop = demo.STROKES[stroke[end]]
        np.testing.assert_allclose(rows[end, :2], demo.POINTS[stop], atol=1e-6)
        assert demo.STROKES[stroke[end + 1]][0] == stop
        assert start != stop
    np.testing.assert_allclose(rows[ends, 2:], 0.0, atol=1e-6)


def test_progress_is_told_of_and_the_summary_returned(tmp_path: Path) -> None:
    done, text, told = heard(demo, tmp_path)
    assert done == told["rows"]
    assert f"{told['rows']} rows" in text
