"""Clusters of rounded rows, and classes of flags: no point of a lattice is a cluster.

Seeds are fixed, so that nothing here fails by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.mixtures import (
    DependentDPMixture,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
)
from dyntree.mixtures.shared.lattice import (
    cell_widths,
    spread_over_cells,
    usual_copies,
    without_copies,
)
from tests.helpers import model_bytes
from tests.statistical.first_phases import agreement

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.ScaleWarning"
)
CORNERS = 12.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 1], [0.5, 2.0]])


def blobs(seed: int, n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Six round blobs, and whose each row is."""
    rng = np.random.default_rng(seed)
    z = rng.integers(6, size=n)
    return CORNERS[z] + rng.normal(size=(n, 2)), z


def flags(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Six variables of five levels as flags, of four classes."""
    rng = np.random.default_rng(seed)
    shares, z = rng.dirichlet(np.full(5, 0.2), size=(4, 6)), rng.integers(4, size=1000)
    levels = [[rng.choice(5, p=shares[k, v]) for k in z] for v in range(6)]
    return np.concatenate([np.eye(5)[one] for one in levels], axis=1), z


def streamed(model: Any, X: np.ndarray) -> Any:
    model.update(X)
    return model.merge_now().predict(X)


def phased(X: np.ndarray) -> Any:
    model = DependentDPMixture(GaussianUnknown(), seed=1)
    return model.update(X, progress=False).labels_


def topics(family: str, X: np.ndarray) -> Any:
    model = MemoryBoundedHDP(family, seed=1).fit([X[k::4] for k in range(4)])
    return model.topic_proba(X).argmax(axis=1)


MODELS: dict[str, Callable[[np.ndarray], Any]] = {
    "gmm": lambda X: streamed(OnlineDPGMM(), X),
    "mppca": lambda X: streamed(OnlineDPMPPCA(), X),
    "ddp": phased,
    "hdp full": lambda X: topics("full", X),
    "hdp diag": lambda X: topics("diag", X),
}


@pytest.mark.parametrize("step", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("name", MODELS)
def test_blobs_on_a_lattice_are_clusters(name: str, step: float) -> None:
    X, z = blobs(0)
    labels = np.asarray(MODELS[name](step * np.round(X / step)))
    most = 7 if name == "ddp" else 6  # a corner of 4 % of its rows may be one
    assert 6 <= len(np.unique(labels)) <= most
    assert agreement(labels, z) > 0.95


def test_classes_of_flags_are_few_topics() -> None:
    """There were 31 to 79 of the four classes."""
    for seed in range(2):
        X, z = flags(seed)
        labels = topics("diag", X)
        assert len(np.unique(labels)) <= 8
        assert agreement(labels, z) > 0.7


def test_only_columns_of_few_values_have_cells() -> None:
    rng = np.random.default_rng(0)
    X, _ = blobs(0)
    columns = [
        X[:, 0], np.round(X[:, 1] / 2.0) * 2.0, np.full(1000, 0.1),
        rng.integers(2, size=1000), np.round(X[:, 0], 3),
    ]  # fmt: skip
    widths = cell_widths(np.column_stack(columns))
    np.testing.assert_allclose(widths, [0.0, 2.0, 0.0, 1.0, 0.0], atol=0.01)
    assert not cell_widths(np.repeat(X[:100], 10, axis=0)).any()  # copies
    assert not cell_widths(CORNERS[rng.integers(6, size=1000)]).any()  # categories


def test_rows_are_spread_to_the_next_values() -> None:
    rows, widths = np.zeros((20_000, 2)), np.array([0.0, 3.0])
    spread = spread_over_cells(rows, widths, 1, 2)
    assert not spread[:, 0].any()
    assert np.abs(spread[:, 1]).max() < 3.0
    # six standard errors of a variance: one in 10^8 fails
    assert abs(spread[:, 1].var() - 1.5) < 6.0 * 1.5 * np.sqrt(1.4 / 20_000)
    again = spread_over_cells(rows[:50], widths, 1, 2)
    assert (again == spread[:50]).all()
    assert spread_over_cells(rows, np.zeros(2), 1) is rows


@pytest.mark.parametrize("name", ["ddp", "hdp"])
def test_files_know_the_cells(name: str) -> None:
    X = np.round(blobs(0)[0])
    model: Any = DependentDPMixture(GaussianUnknown(), n_sweeps=9, seed=1)
    if name == "hdp":
        model = MemoryBoundedHDP(seed=1)
    model.update(X[:300])
    again = type(model).from_arrays(*model.to_arrays())
    assert again._state.cells.tolist() == [1.0, 1.0]
    for one in (model, again):
        one.update(X[300:])
    assert model_bytes(model) == model_bytes(again)


# ---------------------------------------------------------------- copies of rows
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_ten_copies_of_each_row_are_the_clusters_of_one(
    name: str, shuffled: bool
) -> None:
    X, z = blobs(0, 200)
    order = np.repeat(np.arange(200), 10)
    if shuffled:  # copies are in several documents
        order = np.random.default_rng(0).permutation(order)
    labels = np.asarray(MODELS[name](X[order]))
    assert len(np.unique(labels)) == 6
    assert agreement(labels, z[order]) == 1.0


def test_a_value_that_is_there_more_often_than_copies_stays_heavy() -> None:
    X, _ = blobs(0, 100)
    X = np.concatenate([np.repeat(X, 3, axis=0), np.full((300, 2), 50.0)])
    assert usual_copies(X) == 3
    first, place = without_copies(X)
    assert len(first) == 200
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(X[first][place], X)
    assert np.bincount(place).max() == 3
    assert np.ptp(phased(X)[-300:]) == 0


def test_rows_of_few_values_and_few_rows_are_no_copies() -> None:
    X, _ = blobs(0, 500)
    assert usual_copies(np.repeat(4.0 * np.round(X / 4.0), 5, axis=0)) == 1
    assert usual_copies(np.repeat(X[:5], 40, axis=0)) == 1
    assert usual_copies(flags(0)[0]) == 1
    assert usual_copies(np.concatenate([X, X[:100]])) == 1
    assert usual_copies(np.repeat(X, np.arange(500) % 3 + 1, axis=0)) == 1  # weights
    assert usual_copies(np.empty((0, 2))) == 1


def test_copies_over_phases_keep_a_label_of_each_row() -> None:
    X, z = blobs(3, 240)
    model = DependentDPMixture(GaussianUnknown(), seed=1)
    for part in np.array_split(np.arange(240), 4):
        every = np.repeat(part, 7)
        model.update(X[every], progress=False)
        assert len(model.labels_) == len(every)
        assert agreement(model.labels_, z[every]) == 1.0
    assert model.n_seen == 7 * 240
