"""Fresh trees: when they begin, what they learn at a row, and when they join."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.window import roll
from tests import helpers
from tests.probes import audit, probe
from tests.statistical.clouds import native_cloud

MODELS = ["constant", "linear", "class", "prior"]
YOUNG = 2  # rows that fresh trees learn at a row, if there is time, at first
GROWN = 3  # and once they know a third of the rows


def rows_of(model: str, n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    step = X[:, 0] > 0.5
    return X, step.astype(float) if model == "class" else 3.0 * step + rng.random(n)


def cloud_of(model: str, seed: int = 1, **options: Any) -> Cloud:
    classes = 2 if model == "class" else 0
    options = {"n_particles": 6, "n_classes": classes, "min_leaf": 2} | options
    adaptive = model in ("constant", "linear")
    return native_cloud(model, 2, seed=seed, adaptive=adaptive, **options)


def rows_in(tree: Any) -> list[int]:
    """Ids of the rows that a tree holds, as `Cloud.tree` shows it."""
    if tree[0] == "leaf":
        return list(tree[2])
    return rows_in(tree[4]) + rows_in(tree[5])


def retired_in(tree: Any) -> float:
    """Weight of the rows that a tree has let go."""
    if tree[0] == "leaf":
        return float(tree[3])
    return retired_in(tree[4]) + retired_in(tree[5])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rule", ["age", "worth"])
@pytest.mark.parametrize("every", [1, 2, 7, 30])
def test_trees_are_done_before_the_next_are_due(
    model: str, rule: str, every: int
) -> None:
    """They begin at due rows alone, and what joins holds just the active rows."""
    if rule == "worth":
        rule = {"class": "entropy", "prior": "random"}.get(model, "alc")
    cloud = cloud_of(model)
    X, y = rows_of(model, 70)
    for t in range(70):
        before = len(probe.growing(cloud)[0])
        roll(cloud, X[t : t + 1], y[t : t + 1], 20, rule, 0.9, every)
        audit(cloud)
        growing = len(probe.growing(cloud)[0])
        due = (t + 1) % every == 0 and cloud.n_retired > 0
        joined = cloud.n_particles == 12
        assert before == 0 or not due or every == 1
        assert growing > before or not due or joined
        assert (joined, cloud.n_particles) in [(False, 6), (True, 12)]
        for k in range(cloud.n_particles):
            assert sorted(rows_in(cloud.tree(k))) == sorted(cloud.row_ids().tolist())
        if (t + 1) % every == every - 1 or every == 1:
            assert growing == 0


def test_each_row_learns_a_few_of_those_that_wait() -> None:
    cloud = cloud_of("constant")
    X, y = rows_of("constant", 400)
    waits = []
    for t in range(400):
        roll(cloud, X[t : t + 1], y[t : t + 1], 50, "age", 1.0, 200)
        waits.append(len(probe.growing(cloud)[1]))
    assert waits[:199] == [0] * 199
    assert waits[199] == 50 - YOUNG
    fallen = -np.diff(waits[199:])
    n = int(np.argmin(waits[199:]))  # rows until none waits
    for k in range(n - 1):  # one comes, and one that waits may retire
        pace = YOUNG if 3 * (waits[199 + k] + 1 - (fallen[k] % 2 == 0)) > 100 else GROWN
        assert fallen[k] in (pace - 1, pace)
    assert 50 / GROWN < n < 50 / (YOUNG - 1)


def test_what_retired_before_a_row_was_learned_is_not_known() -> None:
    """Rows that wait leave no trace; others become sums, as in any tree."""
    cloud = cloud_of("prior", alpha=1e-12)  # a split would release them
    X, y = rows_of("prior", 30)
    roll(cloud, X, y, 20, "age", 1.0, 30)
    _, waiting = probe.growing(cloud)
    learned = sorted(set(range(20)) - set(waiting))
    assert len(learned) == YOUNG
    cloud.retire([*waiting[:7], learned[0]])
    audit(cloud)
    while probe.growing(cloud)[0]:
        probe.let_grow(cloud, 0)
    assert cloud.n_particles == 12
    found = [retired_in(cloud.tree(k)) for k in range(12)]
    assert found == [18.0] * 6 + [1.0] * 6


def test_each_row_may_be_learned_at_any_time() -> None:
    """Each of 8 rows is as likely among the first: chi-square, false alarms 1e-6."""
    X, y = rows_of("prior", 9)
    first: Counter[int] = Counter()
    for seed in range(600):
        cloud = cloud_of("prior", seed=seed, n_particles=1)
        roll(cloud, X, y, 8, "age", 1.0, 9)
        first.update(set(range(8)) - set(probe.growing(cloud)[1]))
    expected = 600 * YOUNG / 8
    spread = sum((first[k] - expected) ** 2 for k in range(8)) / expected
    assert spread / (1.0 - YOUNG / 8) * 7 / 8 < 40.5  # drawn without replacement


@pytest.mark.parametrize("model", MODELS)
def test_manual_rejuvenation_and_growing_trees_do_not_meet(model: str) -> None:
    cloud = cloud_of(model)
    X, y = rows_of(model, 42)
    roll(cloud, X[:40], y[:40], 20, "age", 1.0, 40)
    before = probe.growing(cloud)
    cloud.rejuvenate(np.arange(20)[::-1])
    assert probe.growing(cloud)[0] == before[0]
    assert len(probe.growing(cloud)[1]) == len(before[1])
    audit(cloud)
    assert cloud.n_particles == 12
    roll(cloud, X[40:], y[40:], 20, "age", 1.0, 40)
    audit(cloud)
    assert cloud.n_particles == 6


@pytest.mark.parametrize("model", MODELS)
def test_learning_and_retiring_by_hand_keeps_the_books(model: str) -> None:
    """As whoever teaches the tree of a stream does."""
    cloud = cloud_of(model)
    X, y = rows_of(model, 80)
    roll(cloud, X[:40], y[:40], 20, "random", 0.8, 40)
    for t in range(40, 60):
        cloud.update(X[t : t + 1], y[t : t + 1])
        cloud.retire([t % cloud.n_active], 0.8)
        audit(cloud)
    assert probe.growing(cloud)[0]
    for t in range(60, 79):
        roll(cloud, X[t : t + 1], y[t : t + 1], 20, "random", 0.8, 40)
        audit(cloud)
    assert not probe.growing(cloud)[0]


@pytest.mark.parametrize("model", MODELS)
def test_clouds_made_of_one_with_growing_trees_keep_its_books(model: str) -> None:
    cloud = cloud_of(model)
    X, y = rows_of(model, 50)
    roll(cloud, X[:40], y[:40], 20, "age", 0.9, 40)
    assert probe.growing(cloud)[0]
    for made in (cloud.copy(), Cloud.from_arrays(*cloud.to_arrays(), cloud.source)):
        audit(made)
        assert helpers.model_bytes(made) == helpers.model_bytes(cloud)
    bare = cloud.without_rows()
    audit(bare)
    assert not probe.growing(bare)[0]
    if model == "class":
        wider = cloud.with_classes(3)
        audit(wider)
        assert len(probe.growing(wider)[0]) == 6
        y[45:] = 2.0
        roll(wider, X[40:], y[40:], 20, "age", 0.9, 40)
        audit(wider)
