"""Urns over phases: clusters that come back by their counts, or by what is left."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from dyntree import datasets
from dyntree.errors import NotReadyError
from dyntree.mixtures import (
    GaussianKnownVariance,
    GaussianUnknown,
    GeneralizedPolyaUrnMixture,
    Multinomial,
    RandomWalk,
    RecurrentCRPMixture,
    variation_of_information,
)
from tests.oracle.urns import recurrent_counts

BASE = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=49.0)
QUICK: dict[str, Any] = {"n_sweeps": 12, "burn_in": 4}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "recurrent": (RecurrentCRPMixture, {}),
    "uniform": (GeneralizedPolyaUrnMixture, {}),
    "size": (GeneralizedPolyaUrnMixture, {"deletion": "size", "survival": 0.8}),
}


def made(name: str, family: Any = BASE, **more: Any) -> Any:
    kind, options = MODELS[name]
    return kind(family, **QUICK | options | more)


def two_blobs(n: int, seed: int = 0, sides: tuple[int, ...] = (-1, 1)) -> np.ndarray:
    centre = np.repeat([[12.0 * side, 0.0] for side in sides], n, axis=0)
    return centre + np.random.default_rng(seed).normal(size=centre.shape)


@pytest.mark.parametrize("name", MODELS)
def test_urns_follow_clusters_from_phase_to_phase(name: str) -> None:
    data = datasets.evolving_gaussians(8, 40, births=0.0, mean_life=1e9, seed=3)
    model = made(name, transition=RandomWalk(0.1))
    for rows in data.phases:
        model.update(rows)
    found = np.concatenate([model.labels(k) for k in range(8)])
    assert variation_of_information(found, np.concatenate(data.labels)) < 0.4
    rows = data.phases[-1]
    assert variation_of_information(model.predict(rows), model.labels_) < 0.1
    for mean in data.means[-1]:
        assert np.linalg.norm(model.means_ - mean, axis=1).min() < 0.8
    assert len(model.means_) == len(model.ids_) >= model.n_clusters == 2
    side = np.linspace(-60.0, 60.0, 241)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for ahead in (0, 1, 3):
        total = np.exp(model.log_predictive(grid, ahead=ahead)).sum() * 0.25
        np.testing.assert_allclose(total, 1.0, rtol=1e-6)
    again = made(name, transition=RandomWalk(0.1))
    phases = np.repeat(np.arange(8), [len(one) for one in data.phases])
    again.update(np.concatenate(data.phases), phases=phases)
    assert again.labels_.tolist() == model.labels_.tolist()


def test_counts_of_the_recurrent_restaurant_are_the_oracles() -> None:
    """Phases of other sizes, one of them empty; also of those to come."""
    model = made("recurrent", window=3, decay=1.5)
    sizes, counts = [(9, 30), (20, 2), (0, 0), (7, 5), (1, 8), (3, 3)], []
    for t, (left, right) in enumerate(sizes):
        rows = [two_blobs(left, t, (-1,)), two_blobs(right, t, (1,))]
        model.update(np.concatenate(rows))
        counts.append(np.array([left, right], dtype=float))
        before = recurrent_counts(counts[:-1], 3, 1.5) if t else np.zeros(2)
        order = np.argsort(model.means_[:, 0])
        now = model._weights(0)[order]
        np.testing.assert_allclose(now, before + counts[-1], rtol=1e-12)
        later = list(counts)
        for ahead in (1, 2, 3, 4):
            expected = recurrent_counts(later, 3, 1.5)
            np.testing.assert_allclose(model._weights(ahead)[order], expected)
            later.append(np.zeros(2))


def test_a_cluster_comes_back_within_the_window_and_not_after() -> None:
    for silent, same in ((2, True), (3, False)):
        model = made("recurrent", window=3)
        left = model.update(two_blobs(30)).labels_[0]
        for t in range(silent):
            model.update(two_blobs(30, t, (1,)))
        assert (left in model.ids_) == same
        model.update(two_blobs(30))
        assert (model.labels_[0] == left) == same


def test_rows_that_are_all_deleted_take_their_cluster_with_them() -> None:
    model = made("uniform", survival=0.0)
    seen: set[int] = set()
    for t in range(3):
        labels = set(model.update(two_blobs(20, t)).labels_.tolist())
        assert len(labels) == 2
        assert not labels & seen
        seen |= labels
    kept = made("uniform", survival=1.0)
    for t in range(3):
        kept.update(two_blobs(20, t))
    assert kept.ids_.tolist() == [0, 1]
    assert kept._seats[:, 0].tolist() == [60.0, 60.0]
    gone = made("size", survival=0.0).update(two_blobs(20)).update([])
    assert len(gone.ids_) == 1
    assert len(gone.update([]).ids_) == 0
    assert gone.predict([[0.0, 0.0]]).tolist() == [-1]
    assert np.isfinite(gone.log_predictive([[0.0, 0.0]], ahead=1)).all()


def test_what_is_left_of_an_urn_is_about_what_survives() -> None:
    """400 rows a cluster, .5 stay: after t phases 400 (1 + .5 + ...), 3 % about it."""
    model = made("uniform", survival=0.5)
    for t in range(4):
        model.update(two_blobs(400, t))
    expected = 400.0 * (2.0 - 0.5**3)
    # The sum of binomials has a standard deviation below 15, 8 of which are 120.
    assert np.abs(model._seats[:, 0] - expected).max() < 120.0


@pytest.mark.parametrize("name", MODELS)
def test_urns_take_few_rows_and_none(name: str) -> None:
    model = made(name, GaussianKnownVariance(1.0))
    assert model.labels_.tolist() == []
    model.update(np.empty((0, 2)))
    for ask in (lambda: model.predict([[0.0, 0.0]]), lambda: model.ids_):
        with pytest.raises(NotReadyError, match="needs a phase with rows"):
            ask()
    model.update(np.ones((2, 2))).update([]).update([[5.0, 5.0]])
    assert model.n_phases == 4
    words = made(name, Multinomial(0.1)).update([[3.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    assert words.labels_[1] == -1
    X = two_blobs(60)
    for family in (GaussianUnknown(), BASE):
        found = made(name, family, sampler="uncollapsed").update(X).update(X)
        assert found.n_clusters == 2


@pytest.mark.parametrize("name", MODELS)
def test_urns_are_copied_pickled_and_their_seed(name: str) -> None:
    X = two_blobs(20)
    model = made(name).update(X)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.update(X).n_phases == 2
        assert model.n_phases == 1
        assert (twin.labels_ == copy.deepcopy(model).update(X).labels_).all()
        assert (twin._seats == copy.deepcopy(model).update(X)._seats).all()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X must"):
        model.update([[np.nan, 1.0]])
    assert {k: v for k, v in vars(model).items() if v is not before[k]} == {}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("recurrent", {"window": 0}, "window must be an int >= 1"),
    ("recurrent", {"decay": 0.0}, "decay must be > 0"),
    ("recurrent", {"concentration": -1.0}, "concentration must be > 0"),
    ("recurrent", {"family": 3}, "family must be one of"),
    ("uniform", {"survival": 1.5}, r"survival must be in \[0, 1\]; got 1.5"),
    ("uniform", {"deletion": "old"}, "deletion must be one of 'uniform', 'size'"),
    ("size", {"transition": 3}, "transition must be a RandomWalk"),
    ("size", {"burn_in": 99}, "burn_in must be < n_sweeps"),
]


@pytest.mark.parametrize(("name", "options", "said"), WRONG)
def test_urns_refuse_bad_options(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made(name, **{"family": BASE} | options)
