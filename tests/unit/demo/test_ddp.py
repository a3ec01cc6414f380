"""The demonstration of dependent mixtures: its bounds, and what its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from dyntree.datasets import evolving_gaussians
from dyntree.demo import ddp as demo
from tests.unit.demo.conftest import heard

pytestmark = pytest.mark.slow

PRINTED = "clusters made / found: 5 / 5"


def test_the_demonstration_follows_the_clusters(folder: Path) -> None:
    told: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    methods = told["methods"]
    assert told["clusters_made"] == told["clusters_found"] == 5
    ours = methods.pop("gamma weights")
    assert ours["phases_with_exact_number"] > 0.95
    assert all(one["pooled_vi"] > 10.0 * ours["pooled_vi"] for one in methods.values())
    assert sum(one["seconds"] for one in methods.values()) < 30.0
    for name in ("lifelines.png", "vi.png"):
        assert (folder / name).read_bytes()[:4] == b"\x89PNG"


def test_lifelines_count_all_rows(folder: Path) -> None:
    table = pd.read_csv(folder / "lifelines.csv")
    data = evolving_gaussians(demo.N_PHASES, demo.N_ROWS, seed=1)
    rows = np.array([len(rows) for rows in data.phases])
    found = table.groupby("phase")["rows"].sum()
    assert found.to_dict() == {t: n for t, n in enumerate(rows.tolist()) if n}


def test_progress_is_told_of_and_the_summary_returned(tmp_path: Path) -> None:
    done, text, told = heard(demo, tmp_path)
    assert done == told["rows"] * len(told["methods"])
    assert f"{told['rows']} rows" in text
