"""Time is linear in the number of columns, and of rows with an identifier each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree.encoding import feature_map, levels
from dyntree.errors import UnseenLevelWarning
from tests.helpers import mostly_slow

FEW, MANY = 2000, 8000  # columns: four times as many, and 16 times the pairs
MOST = 9.0  # times as long at most; measured 3 to 6, and 14 or more by pairs
SMALL: dict[str, Any] = {"n_particles": 5, "seed": 1}
VALUES: dict[str, Callable[[int], Any]] = {
    "numbers": lambda k: float(k % 7),
    "text": lambda k: "uvw"[k % 3],
    "times": lambda k: datetime(2024, 1, 1) + timedelta(days=k % 5),
    "nothing": lambda k: None,
}
Y = [float(k % 7) for k in range(12)]


def dicts(n_columns: int, kind: str) -> list[dict[str, Any]]:
    value = VALUES[kind]
    return [{f"c{k}": value(k + row) for k in range(n_columns)} for row in range(12)]


def tree(rows: list[dict[str, Any]]) -> None:
    model = DynamicTree(**SMALL).update(rows[:8], Y[:8])
    model.predict(rows)


def frame(rows: list[dict[str, Any]]) -> None:
    data = pd.DataFrame(rows, dtype=None)
    StreamingTree("constant", window=20, **SMALL).update(data, Y)


def averaged(rows: list[dict[str, Any]]) -> None:
    model = AveragedStream(**SMALL)
    for row, y in zip(rows[:3], Y, strict=False):
        model.update(row, [y])
        model.predict(row)


def river(rows: list[dict[str, Any]]) -> None:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverRandomTreesRegressor

    model = RiverRandomTreesRegressor(n_trees=2, seed=1)
    for row, y in zip(rows[:3], Y, strict=False):
        model.learn_one(row, y)
        model.predict_one(row)


def formula(rows: list[dict[str, Any]]) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    dtf.dynamic_tree("y ~ .", pd.DataFrame(rows).assign(y=Y), **SMALL)


def seconds(door: Callable[[Any], None], rows: list[dict[str, Any]]) -> float:
    times = []
    for _ in range(2):
        start = time.process_time()
        door(rows)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("door", "kind"),
    [
        *((tree, kind) for kind in VALUES),
        *mostly_slow((river, kind) for kind in VALUES),
        (averaged, "numbers"),
        (averaged, "text"),
        (frame, "numbers"),
    ],
)
def test_time_is_linear_in_columns(door: Any, kind: str) -> None:
    few, many = (seconds(door, dicts(n, kind)) for n in (FEW, MANY))
    assert many < MOST * max(few, 0.02)


@pytest.mark.filterwarnings("ignore")
def test_time_of_a_formula_is_linear_in_columns() -> None:
    few, many = (seconds(formula, dicts(n // 4, "numbers")) for n in (FEW, MANY))
    assert many < MOST * few


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", mostly_slow(["text", "times"]))
def test_files_are_linear_in_columns(tmp_path: Path, kind: str) -> None:
    def both(rows: list[dict[str, Any]]) -> None:
        model = DynamicTree(**SMALL).update(rows[:3], Y[:3])
        dyntree.save(model, tmp_path / "model.dyn")
        dyntree.load(tmp_path / "model.dyn")

    few, many = (seconds(both, dicts(n, kind)) for n in (FEW, MANY))
    assert many < MOST * max(few, 0.02)


def updated(window: int) -> Callable[[dict[str, Any], float], Any]:
    model = StreamingTree("constant", window=window, **SMALL)
    return lambda row, y: model.update(row, [y])


def rivers(window: int) -> Callable[[dict[str, Any], float], Any]:
    pytest.importorskip("river", reason="needs river: dyntree[river]")
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = RiverDynamicTreeRegressor("constant", window=window, **SMALL)
    return model.learn_one


@pytest.mark.parametrize("door", [updated, rivers])
def test_identifiers_take_time_linear_in_rows_and_are_told_once(
    door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "MOST_LEVELS", 50)
    learn, times, n_rows = door(30), [], 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for size in (200, 600, 600):
            start = time.process_time()
            for _ in range(size):
                learn({"id": f"request-{n_rows}", "a": n_rows % 5}, float(n_rows % 7))
                n_rows += 1
            times.append(time.process_time() - start)
    assert times[2] < 2.0 * times[1]
    full = [one for one in told if "more than 50 levels" in str(one.message)]
    assert [one.category for one in full] == [UnseenLevelWarning]
    assert "'id'" in str(full[0].message)
    assert "Leave such a column out" in str(full[0].message)


def test_rows_become_features_as_of_each_level_by_itself() -> None:
    """All cells at once are what one comparison a feature would give."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        n_columns = int(rng.integers(1, 6))
        rows = [
            {
                f"c{k}": None
                if rng.random() < 0.2
                else float(k)
                if k == 1
                else str(rng.integers(0, 1 + k))
                for k in range(n_columns)
            }
            for _ in range(12)
        ]
        features, codes = feature_map.FeatureMap.learn(rows[:6], allow_missing=True)
        features, _ = features.settle(codes, grows=True)
        steps, found = features.grown(rows)
        last = steps[-1][1] if steps else features
        assert found.shape == (12, last.n_features)
        for name, own in last.levels_of.items():
            values = [row[name] for row in rows]
            gaps = [value is None for value in values]
            assert np.isnan(found[np.ix_(gaps, last.level_places[name])]).all()
            places = iter(last.level_places[name])
            rest = None if own.rest is None else own.labels[own.rest]
            for level in own.labels:
                if level != rest:
                    has = [np.nan if v is None else float(v == level) for v in values]
                    np.testing.assert_array_equal(found[:, next(places)], has)
