"""The demonstration of topic models: its bounds, and what its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree.demo import hdp as demo
from tests.unit.demo.conftest import heard

pytestmark = pytest.mark.slow

PRINTED = "bytes in memory"


def test_the_demonstration_segments_within_its_memory(folder: Path) -> None:
    told: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    assert told["pictures"] == 120
    assert told["points"] == 120 * demo.HEIGHT * demo.WIDTH
    assert told["most_memory"] <= told["memory_limit"] == 64_000
    assert sum(told["memory_by_kind"].values()) == told["memory_used"]
    assert told["pixels_right"] > 0.95
    assert told["seconds"] < 60


def test_files_are_there(folder: Path) -> None:
    table = pd.read_csv(folder / "topics.csv")
    assert table["share"].sum() == pytest.approx(1.0)
    assert {"sky", "sea", "sand"} <= set(table["part"])
    for name in ("segmentation.png", "memory.png"):
        assert (folder / name).read_bytes()[:4] == b"\x89PNG"


def test_the_segmentation_shows_parts(folder: Path) -> None:
    """Edges between topics of one part would cover it."""
    from matplotlib.image import imread

    drawn = imread(folder / "segmentation.png")[..., :3]
    below = drawn[int(0.6 * len(drawn)) : -20]
    assert (below.max(axis=2) < 0.22).mean() < 0.1


def test_pictures_are_coasts() -> None:
    images, parts = demo.pictures(20, seed=3)
    assert all(image.shape == (demo.HEIGHT, demo.WIDTH, 3) for image in images)
    assert set(np.unique(np.stack(parts))) == set(range(len(demo.PARTS)))
    again, _ = demo.pictures(20, seed=3)
    assert images[7].tobytes() == again[7].tobytes()


def test_progress_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "N_PICTURES", 20)
    monkeypatch.setattr(demo.pictures, "__defaults__", (20, 0))
    done, text, told = heard(demo, tmp_path)
    assert done == told["points"]
    assert "20 pictures" in text
