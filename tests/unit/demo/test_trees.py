"""The demonstration's bounds, and that what it wrote says what it printed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dyntree.datasets import load_spambase
from dyntree.demo import trees as demo
from tests.unit.conftest import Demo

MODELS = {"averaged": "averaged", "learning on": "learning_on", "frozen": "frozen"}


@pytest.fixture(scope="module")
def summary(demo_run: Demo) -> dict[str, Any]:
    assert demo_run.process.returncode == 0, demo_run.process.stderr
    return json.loads((demo_run.folder / "summary.json").read_text())


@pytest.fixture(scope="module")
def predictions(demo_run: Demo, summary: Any) -> pd.DataFrame:
    return pd.read_csv(demo_run.folder / "predictions.csv")


def test_it_runs_by_python_m(demo_run: Demo) -> None:
    process = demo_run.process
    assert process.returncode == 0, process.stderr
    assert "learning on" in process.stdout
    assert "4101/4101" in process.stderr  # the bar of 4601 rows less the first 500


def assert_bounds(summary: dict[str, Any]) -> None:
    """Those of the issue."""
    learning, frozen = summary["learning_on"], summary["frozen"]
    assert learning["error"] <= 0.14
    assert learning["error"] <= frozen["error"] - 0.01
    averaged = summary["averaged"]
    assert averaged["error"] <= 0.09
    for name in ("error", "log_loss", "brier"):
        assert averaged[name] < learning[name]
    for told in (averaged, learning, frozen):
        for name in ("error", "log_loss", "brier"):
            assert told[name] < told["baseline"][name]
        assert told["auc"] > 0.9 > told["baseline"]["auc"]


def test_the_bounds_of_the_demonstration(summary: dict[str, Any]) -> None:
    assert_bounds(summary)


@pytest.mark.release
@pytest.mark.parametrize("seed", [2, 3])
def test_the_bounds_hold_for_other_seeds(tmp_path: Path, seed: int) -> None:
    text = io.StringIO()
    told = demo.run(tmp_path, seed=seed, progress=False, stream=text)
    assert told["learning_on"]["seed"] == seed
    assert_bounds(told)


def test_predictions_are_of_the_shuffled_stream(predictions: pd.DataFrame) -> None:
    _, y = demo.shuffled_spambase()
    assert predictions.columns.tolist() == [
        "row", "spam", "p_averaged", "p_learning_on", "p_frozen",
    ]  # fmt: skip
    assert predictions["row"].tolist() == list(range(500, 4601))
    assert predictions["spam"].tolist() == y[500:].tolist()
    assert predictions.filter(like="p_").stack().between(0.0, 1.0).all()


@pytest.mark.parametrize("model", MODELS.values())
def test_the_summary_agrees_with_the_predictions(
    model: str, summary: dict[str, Any], predictions: pd.DataFrame
) -> None:
    p, y = predictions[f"p_{model}"].to_numpy(), predictions["spam"].to_numpy()
    told = summary[model]
    assert told["n_rows"] == len(y) == 4101
    # the file holds six digits: a probability is off by 5e-7 at most
    doubtful = np.mean(np.abs(p - 0.5) < 1e-6)
    assert told["error"] == pytest.approx(np.mean((p > 0.5) != y), abs=doubtful + 1e-12)
    came = np.where(y == 1, p, 1.0 - p)
    sure = np.maximum(came, 1e-6)
    slack = np.mean(5e-7 / sure) + np.mean(came <= 1e-6) * 40.0
    assert told["log_loss"] == pytest.approx(-np.mean(np.log(sure)), abs=slack)
    assert told["brier"] == pytest.approx(2.0 * np.mean((p - y) ** 2), abs=2e-6)
    u = stats.mannwhitneyu(p[y == 1], p[y == 0]).statistic
    area = u / (np.sum(y == 1) * np.sum(y == 0))
    assert told["auc"] == pytest.approx(area, abs=1e-4)  # near ties may swap


@pytest.mark.parametrize("title", MODELS)
def test_what_was_printed_is_what_was_written(
    title: str, summary: dict[str, Any], demo_run: Demo
) -> None:
    told = summary[MODELS[title]]
    lines = demo_run.process.stdout.split("\n")
    scores, costs = (line.split() for line in lines if line.startswith(title))
    expected = [f"{told[name]:.4f}" for name in ("error", "auc", "log_loss")]
    assert scores[-3:] == expected
    assert costs[-2] == f"{1e3 * told['seconds_per_row']:.3f}"
    assert costs[-1] == f"{told['memory_bytes'] / 1e3:.0f}"
    (trivial,) = (line.split() for line in lines if line.startswith("trivial"))
    assert trivial[-3] == f"{told['baseline']['error']:.4f}"


def test_the_baseline_is_that_of_the_stream_scored(
    summary: dict[str, Any], predictions: pd.DataFrame
) -> None:
    """Before row t: the share of spam among the rows scored, one row of prior."""
    y = predictions["spam"].to_numpy()
    n = np.arange(len(y))
    p = (np.concatenate([[0], np.cumsum(y)[:-1]]) + 0.5) / (n + 1)
    for model in MODELS.values():
        told = summary[model]["baseline"]
        assert told["error"] == pytest.approx(np.mean((p > 0.5) != y), abs=1e-12)
        loss = -np.mean(np.log(np.where(y == 1, p, 1.0 - p)))
        assert told["log_loss"] == pytest.approx(loss, rel=1e-9)


def test_the_picture_is_one(demo_run: Demo, summary: Any) -> None:
    from matplotlib.image import imread

    pixels = imread(demo_run.folder / "prequential.png")
    assert pixels.shape == (675, 1200, 4)  # 8 by 4.5 inches at 150 a inch
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20


def test_the_stream_is_all_of_spambase_in_an_order_of_its_own() -> None:
    X, y = demo.shuffled_spambase()
    frame = load_spambase()
    label = (frame.pop("type") == "spam").to_numpy()
    rows = np.column_stack([frame.to_numpy(np.float64), label])
    ours = np.column_stack([X, y])
    order, back = np.lexsort(rows.T), np.lexsort(ours.T)
    assert np.array_equal(rows[order], ours[back])
    assert 0.3 < y[:500].mean() < 0.5  # mixed: the file is sorted by label
    again = demo.shuffled_spambase()
    assert np.array_equal(again[0], X)
    assert np.array_equal(again[1], y)
