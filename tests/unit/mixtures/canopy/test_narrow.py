"""Clusters that are narrow for where they are: float32 must not lose them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from dyntree.errors import ConvergenceWarning
from dyntree.mixtures import Canopy, MixturePrior
from dyntree.mixtures.canopy.components import Components
from dyntree.mixtures.canopy.families import FAMILY_OF
from tests.oracle import canopy as oracle

GAUSSIANS = ("spherical", "spherical_tied", "diag", "full")
CENTRES = np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 0.5], [2.0, -0.2]])
# from a hundredth of the columns' spread to where float32 rows show an eighth of it
NARROW = (1e-2, 1e-3, 1e-4, 1e-5)


def clusters(sd: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four narrow clusters, and which is whose."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CENTRES), 3000)
    return CENTRES[labels] + sd * rng.normal(size=(3000, 2)), labels


def spread_of(family: str, sd: float, m: int, d: int) -> np.ndarray:
    """Equal spreads of m components."""
    shapes: dict[str, Any] = {
        "diag": np.ones((m, d)),
        "full": np.tile(np.eye(d), (m, 1, 1)),
    }
    return sd**2 * np.asarray(shapes.get(family, np.ones(m)))


@pytest.mark.parametrize("sd", NARROW)
@pytest.mark.parametrize("family", GAUSSIANS)
def test_scores_keep_their_digits(family: str, sd: float) -> None:
    """Float32 scores against float64 ones, at rows of the clusters."""
    rng, d = np.random.default_rng(1), 11
    mean = rng.uniform(-2.0, 2.0, size=(5, d)).astype(np.float32)
    rows = (mean[rng.integers(0, 5, 300)] + sd * rng.normal(size=(300, d))).astype(
        np.float32
    )
    known = Components(np.full(5, 0.2), mean.astype(float), spread_of(family, sd, 5, d))
    found = FAMILY_OF[family].scores(known)
    exact = FAMILY_OF[family].log_joint(rows.astype(float), known)
    # components that are not yet sharp lose 2^-22 of parts up to 2^18; "full", which
    # turns rows before it subtracts, 2^-22 of |mean| / sd in each deviation
    least = 2.0**-22 * 2.0**18
    if family == "full":
        least = 1e-3 + 2.0**-22 * 2.0 / sd * 4.0 * d
    own = exact.max(axis=1)
    table = found.table(rows)
    assert np.abs(table.max(axis=1) - own).max() < least
    assert np.abs(found.log_densities(rows) - logsumexp(exact, axis=1)).max() < least


@pytest.mark.parametrize("sd", NARROW)
@pytest.mark.parametrize("family", GAUSSIANS)
def test_em_ends_where_float64_would(family: str, sd: float) -> None:
    """One more step in float64 changes nothing, and finds the clusters."""
    X, labels = clusters(sd)
    model = Canopy(
        4, family=family, inference="em", init=CENTRES + 0.3 * sd,
        prior=MixturePrior.none(1e-16), max_iter=30, tol=0.0,
    ).fit(X)  # fmt: skip
    joint = oracle.log_density(family, X, model.means, model.covariances_)
    share = np.exp(joint + np.log(model.weights))
    share /= share.sum(axis=1, keepdims=True)
    own = [X[labels == z] for z in range(4)]
    means = (share.T @ X) / share.sum(axis=0)[:, None]
    # rows stand in float32: 2^-24 of what they are, against sd
    assert np.abs(means - model.means).max() < sd * (1e-3 + 2e-7 / sd)
    inner = np.array([((rows - rows.mean(axis=0)) ** 2).mean() for rows in own])
    found = model.covariances_
    if family == "full":
        found = np.diagonal(found, axis1=1, axis2=2)
    if found.ndim == 2:
        found = found.mean(axis=1)
    if family == "spherical_tied":
        inner = np.full(4, np.average(inner, weights=[len(rows) for rows in own]))
    np.testing.assert_allclose(found, inner, rtol=5e-3)


@pytest.mark.parametrize("inference", ["esca", "canopy1", "canopy2", "tree"])
@pytest.mark.parametrize("sd", [1e-3, 1e-5])
def test_drawn_labels_find_narrow_clusters(inference: str, sd: float) -> None:
    """The clusters are apart by 10^5 of their widths: no draw can miss."""
    X, labels = clusters(sd, 3)
    model = Canopy(
        4, inference=inference, init=CENTRES, prior=MixturePrior.none(1e-16),
        max_iter=30, tol=0.0, seed=2,
    ).fit(X)  # fmt: skip
    assert (model.labels_ == labels).all()
    own = [((X[labels == z] - X[labels == z].mean(axis=0)) ** 2) for z in range(4)]
    inner = np.array([squares.mean(axis=0) for squares in own])
    np.testing.assert_allclose(model.covariances_, inner, rtol=5e-3)


def test_two_clusters_side_by_side_are_told_apart() -> None:
    """Eight of their widths apart, 10^4 of them from the mean of all rows."""
    sd = 1e-4
    rng = np.random.default_rng(5)
    centres = np.array([[1.0, 1.0], [1.0 + 8 * sd, 1.0], [-1.0, -1.0]])
    labels = rng.integers(0, 3, 3000)
    X = centres[labels] + sd * rng.normal(size=(3000, 2))
    model = Canopy(3, init=centres, prior=MixturePrior.none(1e-16), seed=1)
    model.set_components(np.full(3, 1 / 3), centres, np.full((3, 2), sd**2))
    assert (model.predict(X) == labels).mean() > 0.999
    scores = FAMILY_OF["diag"].scores(
        Components(np.full(3, 1 / 3), centres, np.full((3, 2), sd**2))
    )
    table = scores.table(X.astype(np.float32))
    assert (table.argmax(axis=1) == labels).mean() > 0.999


def test_rows_that_float32_cannot_part_are_told() -> None:
    """A cluster narrower than the rounding of its rows is on the floor, and said so."""
    X, _ = clusters(1e-9)
    with pytest.warns(ConvergenceWarning, match="floor"):
        Canopy(
            4, inference="em", init=CENTRES, prior=MixturePrior.none(1e-30),
            max_iter=30, tol=0.0,
        ).fit(X)  # fmt: skip


@pytest.mark.parametrize("family", GAUSSIANS)
@pytest.mark.parametrize("sd", [1e-6, 1e-9])
def test_known_components_answer_however_narrow_they_are(
    family: str, sd: float
) -> None:
    """Against sums of squared differences; what rows themselves round is 1e-15 / sd."""
    X, labels = clusters(sd)
    spread = spread_of(family, sd, 4, 2)
    model = Canopy(4, family=family).set_components(np.full(4, 0.25), CENTRES, spread)
    apart = (((X - CENTRES[labels]) / sd) ** 2).sum(axis=1)
    expected = np.log(0.25) - 0.5 * apart - 2.0 * np.log(sd) - np.log(2.0 * np.pi)
    np.testing.assert_allclose(
        model.score_samples(X), expected, rtol=0.0, atol=1e-8 + 4e-14 / sd
    )
    assert (model.predict(X) == labels).all()


@pytest.mark.filterwarnings("ignore:.*on their floor")
@pytest.mark.parametrize("family", GAUSSIANS)
@pytest.mark.parametrize("inference", ["em", "esca"])
def test_a_tiny_prior_variance_is_no_narrower_than_rows(
    family: str, inference: str
) -> None:
    """Two points, many times each, in columns of which one repeats another."""
    X = np.repeat([[0.0, 0.0, 1.0], [5.0, 5.0, 2.0]], 30, axis=0)
    prior = MixturePrior(variance=np.full(3, 1e-80))
    model = Canopy(
        2, family=family, inference=inference, init=X[[0, 30]], prior=prior,
        max_iter=10, tol=0.0, seed=1,
    ).fit(X)  # fmt: skip
    assert model.labels_.tolist() == [0] * 30 + [1] * 30
    # the prior mean weighs .01 rows
    np.testing.assert_allclose(model.means, X[[0, 30]], atol=2e-3)
