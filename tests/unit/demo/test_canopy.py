"""The demonstration of large mixtures: its images, and what its files say."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from dyntree.demo import canopy as demo


def test_images_are_strokes_of_eight_kinds() -> None:
    rows, kind = demo.images(400, seed=3)
    assert rows.shape == (400, 144)
    assert rows.dtype == np.float32
    assert set(kind.tolist()) == set(range(8))
    assert 0.02 < rows.mean() < 0.5
    again, _ = demo.images(400, seed=3)
    assert again.tobytes() == rows.tobytes()


def test_the_demonstration_writes_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "N_COMPONENTS", 60)
    monkeypatch.setattr(demo, "N_SWEEPS", 10)
    monkeypatch.setattr(demo, "N_SCALED", 600)
    monkeypatch.setattr(demo, "SIZES", (8, 16))
    few = demo.images
    monkeypatch.setattr(demo, "images", lambda seed: few(1500, seed))
    said = io.StringIO()
    summary = demo.run(tmp_path / "out", progress=False, stream=said)
    stored = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert stored["purity"] == summary["purity"] > 0.7
    assert len(stored["seconds_a_sweep"]) == 2
    assert "60 components" in said.getvalue()
    for name in ("images.png", "sweeps.png", "scaling.png"):
        assert (tmp_path / "out" / name).stat().st_size > 5000
