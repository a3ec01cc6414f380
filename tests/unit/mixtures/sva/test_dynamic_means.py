"""Dynamic Means: against plain Python, over phases, in files, and with bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import checkpoint
from dyntree.errors import NotReadyError
from dyntree.mixtures import DynamicMeans
from tests.helpers import same_bytes
from tests.oracle.dynamic_means import DynamicMeansOracle


def moving(seed: int, n_phases: int = 12, n: int = 15) -> list[np.ndarray]:
    """Phases of three clusters that walk, of which one rests in two phases."""
    rng = np.random.default_rng(seed)
    at = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    phases = []
    for k in range(n_phases):
        at = at + 0.03 * rng.normal(size=at.shape)
        here = at[:2] if k in (4, 5) else at
        z = rng.integers(len(here), size=n * len(here))
        phases.append(here[z] + 0.05 * rng.normal(size=(len(z), 2)))
    return phases


# ------------------------------------------------------------ against plain Python
@pytest.mark.parametrize("lambda_", [0.005, 0.05, 0.5])
@pytest.mark.parametrize(("T_Q", "k_tau"), [(6.8, 1.01), (2.5, 1.5), (20.0, 3.0)])
def test_phases_are_those_of_plain_python(
    lambda_: float, T_Q: float, k_tau: float
) -> None:
    plain = DynamicMeansOracle(lambda_, T_Q, k_tau)
    model = DynamicMeans(lambda_, max_absence=T_Q, reach=k_tau, n_starts=4, seed=3)
    phases = moving(1)
    phases.insert(7, phases[0][:0])  # one without rows
    for k, X in enumerate(phases, 1):
        rng = np.random.default_rng([3, k])
        orders = [np.arange(len(X)), *(rng.permutation(len(X)) for _ in range(3))]
        labels = plain.update(X, orders)
        assert model.update(X).labels_.tolist() == labels
    old = sorted(plain.old, key=lambda one: one["id"])
    old = [one for one in old if one["absent"] + 1 <= T_Q]  # which may be revived
    clusters = model.clusters()
    assert clusters.id.tolist() == [one["id"] for one in old]
    assert clusters.absent.tolist() == [one["absent"] for one in old]
    np.testing.assert_allclose(clusters.mean, [one["phi"] for one in old], rtol=1e-9)
    np.testing.assert_allclose(clusters.weight, [one["w"] for one in old], rtol=1e-9)


def test_the_cost_is_that_of_labels_and_centres() -> None:
    model = DynamicMeans(0.05, seed=0)
    *before, last = moving(2)
    for X in before:
        model.update(X)
    old = model.clusters()
    tau, T = model.options.tau, model.options.max_absence
    model.update(last)
    new, labels = model.clusters(), model.labels_
    cost = 0.0
    for id, centre in zip(new.id.tolist(), new.mean, strict=True):
        if id not in labels:
            continue
        cost += ((last[labels == id] - centre) ** 2).sum()
        if id not in old.id:
            cost += 0.05
            continue
        k = old.id.tolist().index(id)
        absent = old.absent[k] + 1
        g = 1.0 / (1.0 / old.weight[k] + absent * tau)
        cost += 0.05 / T * absent + g * ((centre - old.mean[k]) ** 2).sum()
    assert model.cost_ == pytest.approx(cost, rel=1e-9)


def test_more_starts_never_cost_more() -> None:
    """Of one phase: later ones begin elsewhere."""
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(60, 2))
        costs = [DynamicMeans(0.5, n_starts=n, seed=1).update(X).cost_ for n in (1, 20)]
        assert costs[1] <= costs[0]


# ------------------------------------------------------------ clusters over phases
def test_a_cluster_is_revived_after_ten_phases_under_its_own_id() -> None:
    # a row is within 6 standard deviations in all but one of 10^7 runs
    rng = np.random.default_rng(4)
    a, b = np.array([0.0, 0.0]), np.array([5.0, 0.0])

    def rows(*centres: np.ndarray) -> np.ndarray:
        return np.vstack([c + 0.1 * rng.normal(size=(20, 2)) for c in centres])

    model = DynamicMeans(4.0, max_absence=20.0, seed=0)
    model.update(rows(a, b))
    first = model.labels_
    for _ in range(10):
        model.update(rows(a))
        assert model.n_clusters == 1
    assert model.update(rows(a, b)).labels_.tolist() == first.tolist()
    for _ in range(25):
        model.update(rows(a))
    assert model.clusters().id.tolist() == [first[0]]
    assert model.update(rows(a, b)).labels_[-1] == 2  # never used twice


def test_an_absent_cluster_goes_by_phases_without_any_row() -> None:
    model = DynamicMeans(1.0, max_absence=3.0, seed=0).update(np.zeros((2, 1)))
    for _ in range(2):
        assert len(model.update(np.empty((0, 1))).clusters()) == 1
    with pytest.raises(NotReadyError, match="clusters needs a cluster"):
        model.update(np.empty((0, 1))).clusters()


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_lambda_is_chosen_once_there_are_rows(n: int) -> None:
    """Two blobs 10 standard deviations apart; at 10^-6 a row is 5 from its own."""
    rng = np.random.default_rng(n)
    model = DynamicMeans(seed=0)
    for _ in range(8):
        z = rng.integers(2, size=n)
        z[0] = 0
        model.update(np.array([[0.0], [1.0]])[z] + 0.05 * rng.normal(size=(n, 1)))
    many = np.repeat([0.0, 1.0], 40)[:, None] + 0.05 * rng.normal(size=(80, 1))
    assert len(set(model.update(many).labels_.tolist())) == 2
    assert 0.0 < model.lambda_ < 40.0


def test_lambda_waits_for_rows_that_differ() -> None:
    model = DynamicMeans(seed=0)
    for n in (1, 40, 40):
        model.update(np.ones((n, 1)))
        assert (model.n_clusters, model.cost_) == (1, 0.0)
        with pytest.raises(NotReadyError, match="two different rows"):
            _ = model.lambda_
    assert model.memory_usage() < 3000
    again = checkpoint.loads(checkpoint.dumps(model))
    for one in (model, again):
        one.update(np.repeat([[0.0], [1000.0]], 30, axis=0))
        assert one.n_clusters == 2
        assert one.predict([[1e6]], outliers=True).tolist() == [-1]


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("width", [1, 2, 10])
def test_auto_halves_no_blob(n: int, width: int) -> None:
    """Three blobs at 12 standard deviations; false alarms below 10^-6."""
    rng = np.random.default_rng(n + width)
    centres = np.zeros((3, width))
    centres[:, 0] = 12.0 * np.arange(3)
    model = DynamicMeans(seed=0)
    for _ in range(4):
        X = np.repeat(centres, n // 3, axis=0)
        model.update(X + rng.normal(size=X.shape))
        assert model.n_clusters == 3
        assert len(model.clusters()) == 3


def test_phases_by_label_are_phases_one_by_one() -> None:
    phases = moving(5, 4)
    frame = pd.DataFrame(np.vstack(phases), columns=["x", "y"])
    frame["year"] = np.repeat([2001, 2004, 2005, 2009], [len(X) for X in phases])
    whole = DynamicMeans(0.05, seed=0).update(frame, phases="year")
    apart = DynamicMeans(0.05, seed=0)
    for year in (2001, 2004, 2005, 2009):
        apart.update(frame[frame["year"] == year], phases="year")
    assert checkpoint.dumps(whole) == checkpoint.dumps(apart)
    assert whole.predict(frame).tolist() == whole.predict(frame[["x", "y"]]).tolist()


@pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")  # of a few rows
def test_phases_of_ten_rows_a_cluster_are_enough_and_of_one_row_are_not() -> None:
    """What the documentation says of small phases.

    Of 300 seeds, 295 had three ids in phases of thirty rows and none more than six; the
    mean number in phases of one row was 37.
    """
    places, n_ids = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]), {1: 0, 30: 0}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = places[rng.integers(3, size=600)] + rng.normal(size=(600, 2))
        for n in n_ids:
            model, labels = DynamicMeans(n_starts=2, seed=0), set[int]()
            for first in range(0, 600, n):
                labels |= {*model.update(X[first : first + n]).labels_.tolist()}
            n_ids[n] += len(labels)
    assert n_ids[30] <= 5 * 5
    assert n_ids[1] > 5 * 10


def test_a_row_is_predicted_where_it_costs_least() -> None:
    model = DynamicMeans(1.0, max_absence=5.0, seed=0)
    model.update([[0.0], [4.0]]).update([[0.0]])
    assert model.predict([[0.1], [3.9], [2.2]]).tolist() == [0, 1, 1]
    outlying = model.predict([[0.1], [3.9], [2.2]], outliers=True)
    assert outlying.tolist() == [0, 1, -1]
    np.testing.assert_allclose(model.transform([[1.0]]), [[1.0, 3.0]])


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**12])
@pytest.mark.parametrize("lambda_", ["auto", 0.05])
def test_units_drop_out(scale: float, lambda_: Any) -> None:
    cost = lambda_ if lambda_ == "auto" else lambda_ * scale**2
    plain, other = DynamicMeans(lambda_, seed=0), DynamicMeans(cost, seed=0)
    for X in moving(6):
        labels = plain.update(X).labels_
        assert other.update(X * scale).labels_.tolist() == labels.tolist()
    np.testing.assert_allclose(other.clusters().mean, scale * plain.clusters().mean)


def test_no_more_clusters_than_allowed() -> None:
    X = np.arange(50.0)[:, None]
    model = DynamicMeans(0.1, max_clusters=4, seed=0).update(X)
    assert model.n_clusters == 4
    assert model.update(X + 0.2).n_clusters <= 4


# ------------------------------------------------------------ files and bad input
@pytest.mark.parametrize("n_phases", [0, 1, 3, 7])
@pytest.mark.parametrize("lambda_", ["auto", 0.05])
def test_a_saved_model_continues(n_phases: int, lambda_: Any) -> None:
    model = DynamicMeans(lambda_, seed=5)
    for X in moving(7)[:n_phases]:
        model.update(X[:9])
    others = [checkpoint.loads(checkpoint.dumps(model)), model.copy()]
    others.append(pickle.loads(pickle.dumps(model)))
    for X in moving(7)[n_phases:]:
        model.update(X)
        for other in others:
            assert other.update(X).labels_.tolist() == model.labels_.tolist()
    for other in others:
        assert checkpoint.dumps(other) == checkpoint.dumps(model)


def test_bad_options_are_refused() -> None:
    for options, words in (
        ({"lambda_": 0.0}, "lambda_ must be > 0"),
        ({"lambda_": "best"}, "lambda_ must be a number > 0 or 'auto'"),
        ({"max_absence": 1.0}, "max_absence must be > 1"),
        ({"reach": 0.5}, "reach must be at least 1 - 1 / max_absence"),
        ({"reach": 0.0}, "reach must be > 0"),
        ({"n_starts": 0}, "n_starts must be an int >= 1"),
        ({"max_clusters": 0}, "max_clusters must be an int >= 1"),
    ):
        with pytest.raises(ValueError, match=words):
            DynamicMeans(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", [[[np.nan, 0.0]], [[1.0]], [["a", "b"]], [[1e200, 0.0]]]
)
def test_bad_rows_are_refused(bad: Any) -> None:
    model = DynamicMeans(0.05, seed=0).update(moving(8)[0])
    with same_bytes(model):
        for ask in (model.update, model.predict, model.transform):
            with pytest.raises(ValueError, match=r"X|must"):
                ask(bad)
