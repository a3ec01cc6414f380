"""One row far from all others in a first batch leaves the labels of the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.errors import ScaleWarning
from dyntree.mixtures import (
    AffineFlow,
    Canopy,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    MemoryBoundedHDP,
    OnlineDPGMM,
    OnlineDPMPPCA,
    OnlineHDPHSMM,
    variation_of_information,
)
from dyntree.mixtures.shared.outlying import far_values

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.ConvergenceWarning"
)
CORNERS = 12.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 1], [0.5, 2.0]])
PLACE = 17  # of the far row
Labelled = Callable[[np.ndarray], Any]


def streamed(model: Any, X: np.ndarray) -> Any:
    """Labels of a model of rows, once its scales are chosen."""
    model.update(X)
    if not model.is_ready:
        model.finish_warm_up()
    return model.merge_now().predict(X)


def segmented(emission: str, X: np.ndarray) -> Any:
    """Labels by states."""
    return streamed(OnlineHDPHSMM(emission=emission), X)


def phased(family: Any, X: np.ndarray) -> Any:
    model = DependentDPMixture(family, n_sweeps=20, seed=1)
    return model.update(X, progress=False).labels_


def topics(family: str, X: np.ndarray) -> Any:
    model = MemoryBoundedHDP(family, seed=1).fit([X])
    return model.topic_proba(X).argmax(axis=1)


def fitted(family: str, X: np.ndarray) -> Any:
    return Canopy(6, family=family, seed=1).fit(X, progress=False).labels_


MODELS: dict[str, Labelled] = {
    "gmm": lambda X: streamed(OnlineDPGMM(), X),
    "mppca": lambda X: streamed(OnlineDPMPPCA(), X),
    "hsmm": lambda X: segmented("mppca", X),
    "hsmm round": lambda X: segmented("gmm", X),
    "ddp known": lambda X: phased(GaussianKnownVariance(1.0), X),
    "ddp unknown": lambda X: phased(GaussianUnknown(), X),
    "hdp full": lambda X: topics("full", X),
    "hdp diag": lambda X: topics("diag", X),
}
# a number of components that is fixed has none to spare for the far row
CANOPIES: dict[str, Labelled] = {
    f"canopy {family}": lambda X, family=family: fitted(family, X)
    for family in ("diag", "full", "spherical", "spherical_tied")
}


def rows_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    z = rng.integers(6, size=500)
    return CORNERS[z] + rng.normal(size=(500, 2)), z


def with_far_row(X: np.ndarray, k: int) -> np.ndarray:
    """The rows, one of which is 10^k standard deviations from their mean."""
    far = X.copy()
    far[PLACE] = X.mean(axis=0) + 10.0**k * X.std(axis=0) * [1.0, -0.3]
    return far


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", MODELS)
def test_a_far_row_leaves_the_clusters_of_the_others(name: str, k: int) -> None:
    X, z = rows_of(k)
    others = np.arange(len(X)) != PLACE
    with pytest.warns(ScaleWarning, match=rf"row {PLACE} .*'x0'"):
        labels = np.asarray(MODELS[name](with_far_row(X, k)))
    assert variation_of_information(labels[others], z[others]) < 0.05


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", CANOPIES)
def test_a_far_row_is_named_where_it_takes_a_component(name: str, k: int) -> None:
    X, z = rows_of(k)
    others = np.arange(len(X)) != PLACE
    with pytest.warns(ScaleWarning, match=rf"row {PLACE} .*'x0'"):
        labels = CANOPIES[name](with_far_row(X, k))
    if name != "canopy spherical_tied":  # whose one variance has to reach it
        assert variation_of_information(labels[others], z[others]) < 0.5


def test_a_far_row_leaves_flows_as_they_are() -> None:
    rng = np.random.default_rng(0)
    z, x = rng.integers(2, size=300), 3.0 * rng.normal(size=(300, 2))
    field = np.array([[[0.5, -0.5], [0.5, 0.5]], [[-0.5, 0.3], [-0.3, -0.5]]])
    v = np.einsum("nd,ndk->nk", x, field[z]) + 0.05 * rng.normal(size=(300, 2))
    rows = np.hstack([x, v])
    rows[PLACE, 0] = 1e4
    with pytest.warns(ScaleWarning, match=f"row {PLACE} "):
        labels = np.asarray(phased(AffineFlow(), rows))
    others = np.arange(len(x)) != PLACE
    assert variation_of_information(labels[others], z[others]) < 0.3


def test_one_row_in_a_hundred_of_a_thousand_spreads_changes_no_units() -> None:
    rng = np.random.default_rng(0)
    X, _ = rows_of(0)
    wild = rng.random(len(X)) < 0.01
    X[wild] *= 1000.0
    with pytest.warns(ScaleWarning):
        model = MemoryBoundedHDP("full", seed=1).fit([X])
    assert model.n_topics_ <= 9


def test_rows_of_one_law_are_not_far() -> None:
    rng = np.random.default_rng(0)
    flags = (rng.random(3000) < 0.002).astype(float)
    laws = [
        rng.normal(size=3000), rng.exponential(size=3000), flags, np.full(3000, 0.1),
        flags * rng.exponential(size=3000), rng.lognormal(size=3000),
        rng.poisson(0.01, size=3000).astype(float),
    ]  # fmt: skip
    assert not far_values(np.column_stack(laws)).any()


def test_weights_count_as_repeats() -> None:
    X, _ = rows_of(0)
    X = with_far_row(X, 3)
    n = np.random.default_rng(1).integers(1, 4, size=len(X))
    repeated = far_values(np.repeat(X, n, axis=0))
    assert (np.repeat(far_values(X, n.astype(float)), n, axis=0) == repeated).all()


def test_far_rows_have_their_place_in_documents() -> None:
    X, _ = rows_of(0)
    X = with_far_row(X, 4)
    documents = [X[:10], X[10:]]
    with pytest.warns(ScaleWarning, match=r"row 7 of documents\[1\] has"):
        MemoryBoundedHDP("diag", seed=1).fit(documents)
    with pytest.warns(ScaleWarning, match=r"row 5 of documents\[2\] has"):
        MemoryBoundedHDP("diag", seed=1).fit(X, groups=np.arange(500) % 3)


def test_parts_of_a_table_have_the_units_of_the_table() -> None:
    X, _ = rows_of(0)
    X = with_far_row(X, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole, parts = (
            Canopy(6, family="diag", seed=1).fit(one, progress=False)
            for one in (X, [X[:15], X[15:100], X[100:]])
        )
    np.testing.assert_allclose(whole.means, parts.means, rtol=1e-6)
