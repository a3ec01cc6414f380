"""Scales of `GaussianUnknown` that the first phase fixes, and what they find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal

from dyntree.mixtures import DependentDPMixture, GaussianUnknown
from dyntree.mixtures.ddp import scales, shapes
from dyntree.mixtures.shared.arrays import Ids
from tests.helpers import mostly_slow

Rows = tuple[np.ndarray, Ids]


def blobs(n: int, d: int, K: int, in_line: bool, seed: int) -> Rows:
    """Round clusters of variance one, centres nine apart a column or at random."""
    rng = np.random.default_rng(seed)
    centres = 9.0 * np.arange(K)[:, None] * np.ones(d)
    while K > 1 and not in_line:
        centres = 9.0 * K ** (1.0 / d) * rng.normal(size=(K, d))
        apart = np.linalg.norm(centres[:, None] - centres, axis=2)
        if apart[np.triu_indices(K, 1)].min() > 9.0:
            break
    z = rng.integers(K, size=n)
    return centres[z] + rng.normal(size=(n, d)), z


def same(found: Ids, z: Ids) -> bool:
    """Whether two labellings are one but for names."""
    pairs = {*zip(found.tolist(), z.tolist(), strict=True)}
    return len(pairs) == len({*found.tolist()}) == len({*z.tolist()})


@pytest.mark.parametrize("in_line", [True, False])
@pytest.mark.parametrize("d", [5, 10, 20])
@pytest.mark.parametrize("K", mostly_slow([1, 5, 2, 10, 20], 2))
def test_clusters_that_are_apart_are_found(K: int, d: int, in_line: bool) -> None:
    seed = K + d
    X, z = blobs(1000, d, K, in_line, seed)
    assert same(DependentDPMixture(GaussianUnknown(), seed=seed).update(X).labels_, z)


@pytest.mark.parametrize("in_line", [True, False])
@pytest.mark.parametrize(("d", "K"), mostly_slow([(5, 10), (10, 5), (20, 2), (5, 20)]))
def test_clusters_that_are_apart_are_found_and_kept_over_phases(
    d: int, K: int, in_line: bool
) -> None:
    X, z = blobs(2400, d, K, in_line, 3)
    model = DependentDPMixture(GaussianUnknown(), seed=1)
    model.update(X, phases=np.arange(2400) // 600)
    assert same(np.concatenate([model.labels(t) for t in range(4)]), z)


@pytest.mark.slow
def test_few_rows_a_column_are_not_cut_into_many_clusters() -> None:
    for seed in range(4):
        X, z = blobs(200, 20, 2, True, seed)
        assert same(
            DependentDPMixture(GaussianUnknown(), seed=seed).update(X).labels_, z
        )


@pytest.mark.parametrize("seed", mostly_slow(range(3)))
@pytest.mark.parametrize(("n", "d", "K"), [(600, 20, 20), (300, 10, 20), (400, 40, 10)])
def test_clusters_in_a_line_with_few_rows_a_column_are_found(
    n: int, d: int, K: int, seed: int
) -> None:
    X, z = blobs(n, d, K, True, seed)
    labels = DependentDPMixture(GaussianUnknown(), seed=seed).update(X).labels_
    assert same(labels, z)


@pytest.mark.parametrize("seed", mostly_slow(range(2)))
@pytest.mark.parametrize("K", mostly_slow([10, 20]))
@pytest.mark.parametrize("d", [5, 10, 20])
@pytest.mark.parametrize("way", ["a column", "any direction"])
def test_clusters_in_a_line_in_any_direction_are_found(
    way: str, d: int, K: int, seed: int
) -> None:
    X, z = blobs(2000, d, K, True, seed)
    rng = np.random.default_rng(seed)
    if way == "a column":
        X[:, 1:] -= 9.0 * z[:, None]
    else:
        X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    X *= 10.0 ** rng.integers(-3, 4, size=d)
    labels = DependentDPMixture(GaussianUnknown(), seed=seed).update(X).labels_
    assert same(labels, z)


def test_shapes_follow_the_units_of_columns() -> None:
    X, z = blobs(600, 3, 6, True, 0)
    X[:, 1] -= 9.0 * z
    X -= X.mean(axis=0)
    units = 2.0 ** np.array([-9, 4, 13])
    one = GaussianUnknown(base_mean=0.0).resolved(X)
    other = GaussianUnknown(base_mean=0.0).resolved(X * units)
    assert (one.kappa, one.df) == (other.kappa, other.df)
    expected = np.array(one.scale) * units * units[:, None]
    np.testing.assert_allclose(other.scale, expected, rtol=1e-9)


def test_share_inside_of_clusters_of_a_column() -> None:
    rng = np.random.default_rng(0)
    for K, least, most in ((1, 1.0, 1.0), (2, 0.03, 0.07), (20, 2e-4, 6e-4)):
        column = rng.normal(size=2000) + 9.0 * rng.integers(K, size=2000)
        column -= column.mean()
        assert least <= shapes.share_inside(column, 0.0) <= most


@pytest.mark.slow
def test_clusters_in_a_line_are_kept_over_phases_of_few_rows() -> None:
    X, z = blobs(2400, 20, 20, True, 3)
    model = DependentDPMixture(GaussianUnknown(), seed=1)
    model.update(X, phases=np.arange(2400) // 600)
    assert same(np.concatenate([model.labels(t) for t in range(4)]), z)


@pytest.mark.parametrize("d", [2, 8])
def test_rows_of_one_law_are_one_cluster(d: int) -> None:
    """Centres that are charged for little cut no single cluster."""
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(300, d))
        model = DependentDPMixture(GaussianUnknown(), seed=seed).update(X)
        assert len(set(model.labels_.tolist())) == 1


def test_labels_do_not_hang_on_a_given_scale_alone() -> None:
    """Splits and the second start find what a pass row by row has not."""
    X, z = blobs(2000, 5, 10, True, 0)
    family = GaussianUnknown(scale=1.0, kappa=1e-3)
    for seed in range(4):
        assert same(DependentDPMixture(family, seed=seed).update(X).labels_, z)


def test_evidence_by_eigenvalues_is_that_of_the_family() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    labels = rng.integers(4, size=30)
    psi, kappa, df = 0.7, 0.3, 8.5
    grid = scales.Grid(3, np.array([psi]), np.array([kappa]), np.array([df]))
    found = grid.evidence(scales.moments(X, labels))[:, 0]
    family = GaussianUnknown(base_mean=0.0, kappa=kappa, df=df, scale=psi).resolved(X)
    sums = family.sums(X, labels, 4)
    expected = family.log_marginal(np.tile(family.base(), (4, 1)), sums)
    n = sums[:, 0]
    difference = found - expected - 1.5 * n * np.log(np.pi)
    same_for_all = difference - [float(np.sum(np.log(np.arange(1, m)))) for m in n]
    np.testing.assert_allclose(same_for_all, 0.0, atol=1e-9)


def test_evidence_in_place_is_that_of_a_known_covariance_where_it_is_known() -> None:
    """With very many degrees of freedom, against the normal law of all rows."""
    rng = np.random.default_rng(4)
    X, d, df = rng.normal(size=(9, 2)) + 1.0, 2, 1e7
    spread, labels = np.array([[3.0, 1.0], [1.0, 2.0]]), np.repeat([0, 1, 2], [5, 3, 1])
    grid = scales.Grid(d, np.array([0.4 * df]), np.ones(1), np.array([df]))
    for some in (labels, 0 * labels):
        expected = 0.5 * 9 * d * np.log(np.pi)
        for k in np.unique(some):
            rows = X[some == k]
            n = len(rows)
            cov = np.kron(np.ones((n, n)), spread) + 0.4 * np.eye(n * d)
            expected += multivariate_normal(np.zeros(n * d), cov).logpdf(rows.ravel())
            expected += gammaln(n)
        found = grid.evidence_in_place(scales.moments(X, some), spread)[0]
        assert found == pytest.approx(expected, abs=1e-4)


def test_joined_moments_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(20, 3)), np.repeat([0, 1], [7, 13])
    parts = scales.moments(X, labels)
    whole = scales.moments(X, 0 * labels)
    zero, one = np.array([0]), np.array([1])
    for found, expected in zip(
        parts.taken(zero).joined(parts.taken(one)), whole, strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_copies_of_columns_and_whole_numbers_give_no_tiny_scale() -> None:
    X, _ = blobs(900, 3, 3, False, 5)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    share = shapes.chosen(X, None, None).scale[0, 0]
    doubled = shapes.chosen(np.hstack([X, X, X[:, :1] + X[:, 1:2]]), None, None)
    assert 0.2 * share < doubled.scale[0, 0] < 5.0 * share
    rng = np.random.default_rng(6)
    dice = rng.integers(1, 3, size=(500, 4)) - 1.5
    assert np.diag(shapes.chosen(dice / dice.std(axis=0), None, None).scale).min() > 0.2


def test_given_scales_stay() -> None:
    X, _ = blobs(200, 2, 2, False, 1)
    assert GaussianUnknown(df=7.0).resolved(X).df == 7.0
    assert GaussianUnknown(kappa=0.5).resolved(X).kappa == 0.5
    given = GaussianUnknown(scale=2.0).resolved(X)
    assert (given.kappa, given.df) == (0.05, 4.0)
    still = GaussianUnknown().resolved(np.ones((5, 2)))
    assert (still.kappa, still.df) == (0.05, 4.0)
