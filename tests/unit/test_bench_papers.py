"""What benchmarks of the papers store is what pages print, and comes from what ran."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tests.bench import canopy_scale, faces, retrieval
from tests.bench.asking import images_found
from tests.bench.canopy_scenes import Mixture


# ------------------------------------------------------------ retrieval
class First:
    """Finds the images that were learned first, whatever it is asked for."""

    def learn(self, pictures: Any) -> None:
        self.n = len(pictures)

    def nearest(self, pictures: Any, n: int) -> Any:
        return np.tile(np.arange(n), (len(pictures), 1))


def test_all_models_are_asked_for_the_classes_of_the_nearest() -> None:
    learned, asked = np.zeros((4, 2, 2)), np.zeros((3, 2, 2))
    classes, truth = np.array([0, 1, 0, 0]), np.array([0, 1, 0])
    first, all_two = images_found(First(), learned, classes, asked, truth, n=2)
    assert (first, all_two) == (2 / 3, 0.5)


def blocks(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Images of three kinds: light above, on the left, or in the middle."""
    kind = rng.integers(3, size=n)
    images = 0.1 * rng.random((n, 28, 28))
    images[kind == 0, :12] += 0.8
    images[kind == 1, :, :12] += 0.8
    images[kind == 2, 9:20, 9:20] += 0.8
    return images, kind


@pytest.mark.parametrize("name", retrieval.NAMES)
def test_a_model_of_each_name_finds_simple_images(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    n = 300 if name.startswith("Canopy") else 60
    given = (*blocks(n, rng), *blocks(20, rng))
    monkeypatch.setattr(retrieval, "images", lambda _: given)
    monkeypatch.setattr(
        retrieval.Components, "__init__", lambda self, seed, _: few(self, seed)
    )
    row = retrieval.ran(name, 0, 1.0)
    assert row["first"] > 0.9
    assert row["ten"] > 0.8
    assert (row["topics"] > 0) == name.startswith("topics")


def few(components: Any, seed: int) -> None:
    """Let a model have nine components in place of a hundred."""
    components.model = retrieval.Canopy(9, seed=seed, tol=0.0, max_iter=30)


def test_stored_finds_are_whole() -> None:
    rows = json.loads(retrieval.STORED.read_text())
    pairs = {(row["model"], row["repeat"]) for row in rows}
    every = range(retrieval.REPEATS)
    assert pairs == {(name, k) for name in retrieval.NAMES for k in every}
    lines = retrieval.table(rows)
    assert [line[:36].strip() for line in lines[1:]] == [*retrieval.NAMES]
    shares = np.array([[row["first"], row["ten"]] for row in rows])
    assert shares.min() > 0.1  # chance
    assert shares.max() < 1.0


# ------------------------------------------------------------ a large mixture
def test_the_density_of_a_scene_is_that_of_its_gaussians() -> None:
    scene = Mixture("hier", 7, 3, seed=2)
    X = scene.rows(50, 1)
    each = norm.pdf(X[:, None].astype(float), scene.mean, scene.sd).prod(axis=2)
    np.testing.assert_allclose(scene.log_density(X), np.log(each @ scene.weight))
    np.testing.assert_array_equal(X, scene.rows(50, 1))
    assert (scene.rows(50, 2) != X).any()


def planted(each: np.ndarray) -> list[dict[str, Any]]:
    """Runs whose seconds are those of some costs."""
    runs = []
    for run in canopy_scale.RUNS:
        sizes = {
            "rows": run.rows, "components": run.components, "shards": run.shards,
            "late_renewal": 128.0,
        }  # fmt: skip
        for name, first in (("first_seconds", True), ("late_seconds", False)):
            sizes[name] = (canopy_scale.shares(sizes, first) @ each).tolist()
        runs.append(sizes)
    return runs


def test_the_model_of_the_cost_finds_planted_costs() -> None:
    each = np.array([5e-9, 1e-6, 4e-6, 2e-5, 3e-6])
    found = canopy_scale.cost_model(planted(each))
    costs = [*found["seconds_of"].values()]
    assert costs == pytest.approx(each.tolist(), rel=1e-3)
    ratios = [*found["model_by_measured"].values()]
    assert ratios == [[1.0, 1.0]] * 3
    large = found["large"]
    n, m, cores = 1e8, 64_000, 32
    first = (n * m * 5e-9 + n * 4e-6 + m * cores * 2e-5) / cores
    assert large["first_seconds"] == pytest.approx([first, m * cores * 3e-6], rel=0.01)
    late = (n * m * 5e-9 / 128 + n * 1e-6 + m * cores * 2e-5) / cores
    assert large["late_seconds"][0] == pytest.approx(late, rel=0.01)
    scans = 1.0 + sum(1.0 / min(128, 2**k) for k in range(large["sweeps"] - 1))
    assert 3600 * large["total_hours"] > scans * n * m * 5e-9 / cores


def test_the_stored_model_is_that_of_the_stored_runs() -> None:
    stored = json.loads(canopy_scale.STORED.read_text())
    assert stored["model"] == canopy_scale.cost_model(stored["runs"])
    sizes = {(run["rows"], run["components"], run["shards"]) for run in stored["runs"]}
    assert sizes == {
        (run.rows, run.components, run.shards) for run in canopy_scale.RUNS
    }
    for run in stored["runs"]:
        assert run["sweeps"] == canopy_scale.SWEEPS
        assert canopy_scale.line(run)


# ------------------------------------------------------------ faces
def test_stored_faces_are_greys_of_topics() -> None:
    stored = json.loads(faces.STORED.read_text())
    assert [one["items"] for one in stored] == [*faces.ITEMS]
    shown = np.array(next(one["shown"] for one in stored if one["shown"]))
    assert shown.shape == (faces.N_SHOWN, faces.SIDE**2)
    assert len(np.unique(shown)) <= max(one["topics"] for one in stored)
    assert all(0.5 < one["explained"] < 1.0 for one in stored)


def test_what_greys_explain() -> None:
    X = np.random.default_rng(1).random((3, 40)) * 100.0
    documents = [np.stack([row, row, row], axis=1) for row in X]
    assert faces.explained(X.tolist(), documents) == 1.0
    flat = np.full_like(X, X.mean())
    assert faces.explained(flat.tolist(), documents) == pytest.approx(0.0, abs=1e-12)
