"""Online DP-MPPCA against its formulas, and against the plain version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, multivariate_normal

from dyntree.errors import ScaleWarning
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA
from tests.helpers import model_bytes, same_bytes
from tests.oracle import sva as oracle
from tests.unit.mixtures.sva.test_dpgmm import agreement, blobs, same_clusters

NOISE = 0.2
DIMS = (1, 2, 3, 2, 1)


def planes(
    seed: int, n: int = 2000, width: int = 10, apart: float = 8.0,
    dims: tuple[int, ...] = DIMS, order: str = "random",
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Rows on pieces of subspaces about centres drawn with standard deviation `apart`.

    "swept" is by cluster, and within it along the first direction.
    """
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(len(dims), width))
    bases = [np.linalg.qr(rng.normal(size=(width, d)))[0] for d in dims]
    label = rng.integers(len(dims), size=n)
    along = [3.0 * rng.normal(size=dims[k]) for k in label]
    X = np.array([centres[k] + bases[k] @ g for k, g in zip(label, along, strict=True)])
    X += NOISE * rng.normal(size=X.shape)
    turn = np.arange(n)
    if order == "sorted":
        turn = np.argsort(label, kind="stable")
    if order == "swept":
        turn = np.lexsort(([g[0] for g in along], label))
    return X[turn], label[turn]


def batch(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, descending, and eigenvectors as columns, of the covariance."""
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    return values[::-1], vectors[:, ::-1]


# ---------------------------------------------------------------- the plain version
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no gate": {"gate": "none"},
    "poster": {
        "gate": "bandwidth", "bandwidth": 36.0, "merge": False, "min_weight": 1,
    },
    "bandwidth": {"gate": "bandwidth", "bandwidth": 20.0},
    "flat": {"max_dim": 1},
    "coarse": {"lambda_1": 2.0, "merge_factor": 0.5},
    "forgets": {"forget": 0.99, "patience": 60},
    "few": {"max_clusters": 4},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_plain_version(name: str, seed: int) -> None:
    X, _ = planes(seed, 400, 5, 3.0, (1, 2, 1))
    options = {"check_every": 50, **OPTIONS[name]}
    model = OnlineDPMPPCA(3.0, noise=NOISE, **options)
    other = oracle.DPMPPCA(3.0, NOISE, **options)
    assert model.update(X).labels_.tolist() == other.learn(X)
    same_clusters(model, other)
    known = model._state.clusters
    assert known.array("dim").tolist() == [c.dim for c in other.clusters]
    for eig, cols, c in zip(
        known.array("eig"), known.array("cols"), other.clusters, strict=True
    ):
        size = 1e-12 * max(c.eig.max(), 1.0)
        np.testing.assert_allclose(eig[:cols], c.eig[:cols], rtol=0, atol=size)


# ---------------------------------------------------------------- identities
def test_the_gated_distance_is_that_of_the_projected_row() -> None:
    """||y - rho U U'y||^2 = ||y||^2 - (2 rho - rho^2) ||g||^2; and Mahalanobis'."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [5.0, 3.0, 1.0, 0.1, 0.1, 0.1]
    rows = 4.0 * rng.normal(size=(50, 6))
    for gate, more in (
        ("ppca", {}), ("none", {}), ("bandwidth", {"bandwidth": 30.0}),
    ):  # fmt: skip
        model = OnlineDPMPPCA(1e9, noise=0.3, gate=gate, **more).update(X)
        (mean,), (U,) = model.clusters().mean, model.clusters().basis
        (variances,) = model.clusters().variances
        y = rows - mean
        if gate == "ppca":
            C = U @ np.diag(variances - 0.09) @ U.T + 0.09 * np.eye(6)
            expected = 0.09 * np.einsum("ij,ij->i", y, np.linalg.solve(C, y.T).T)
            volume = model._state.clusters.volumes(np.array([0]))[0]
            sign, log_det = np.linalg.slogdet(C / 0.09)
            assert sign == 1.0
            assert volume == pytest.approx(log_det, rel=1e-12)
        else:
            rho = 1.0
            if gate == "bandwidth":
                rho = np.exp(-(y**2).sum(axis=1, keepdims=True) / 30.0)
            expected = ((y - rho * (y @ U @ U.T)) ** 2).sum(axis=1)
        found = model._state.clusters.squared_distances(rows)[:, 0]
        size = (y**2).sum(axis=1).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)


def test_the_dimension_is_that_of_least_cost() -> None:
    """argmin of lambda_1 d + mean squared distance: directions beyond lambda_1."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        width = int(rng.integers(2, 9))
        X = rng.normal(size=(60, width)) * rng.gamma(1.0, 2.0, size=width)
        rule = float(rng.gamma(2.0))
        model = OnlineDPMPPCA(1e12, noise=1e-3, lambda_1=rule)
        model.update(X)
        known = model._state.clusters
        values, U = batch(X[: int(known.array("w_ref")[0])])
        y = X[: int(known.array("w_ref")[0])]
        y = y - y.mean(axis=0)
        cost = [
            rule * d + np.mean(((y - y @ U[:, :d] @ U[:, :d].T) ** 2).sum(axis=1))
            for d in range(width)
        ]
        assert int(known.array("dim")[0]) == int(np.argmin(cost))
        assert int(np.argmin(cost)) == min(int((values > rule).sum()), width - 1)


@pytest.mark.parametrize("width", [3, 12])
def test_with_all_columns_the_incremental_basis_is_that_of_batch_pca(
    width: int,
) -> None:
    rng = np.random.default_rng(2)
    spread = np.sqrt(np.geomspace(26.0, 0.01, width))
    X = rng.normal(size=(800, width)) * spread + 7.0
    model = OnlineDPMPPCA(1e9, noise=0.01, spare=width, subspace="incremental")
    known = model.update(X)._state.clusters
    values, vectors = batch(X)
    np.testing.assert_allclose(known.array("eig")[0], values, rtol=1e-10)
    turned = np.abs(known.array("basis")[0] @ vectors)
    np.testing.assert_allclose(turned, np.eye(width), rtol=0, atol=1e-10)


def test_two_spare_columns_keep_the_leading_eigenvalues() -> None:
    """Three kept and two to spare: within .01 % of batch PCA, .02 degrees."""
    rng = np.random.default_rng(3)
    spread = np.sqrt(
        [26, 8.7, 4.2, 1.1, 0.24, 0.04, 0.02, 0.01, 0.01, 0.01, 0.01, 0.01]
    )
    X = rng.normal(size=(800, 12)) * spread
    model = OnlineDPMPPCA(
        1e9, noise=0.1, lambda_1=2.5, spare=2, subspace="incremental"
    ).update(X)
    found, (values, vectors) = model.clusters(), batch(X)
    assert found.dim.tolist() == [3]
    np.testing.assert_allclose(found.variances[0], values[:3], rtol=1e-4)
    cosine = np.linalg.svd(found.basis[0].T @ vectors[:, :3], compute_uv=False).min()
    assert np.degrees(np.arccos(min(cosine, 1.0))) < 0.02


def test_a_long_stream_leaves_the_basis_orthonormal() -> None:
    """After 10^5 rows, with all columns and with some."""
    X = np.random.default_rng(4).normal(size=(100_000, 6)) * [5, 4, 3, 1, 0.5, 0.2]
    for spare in (6, 2):
        model = OnlineDPMPPCA(
            1e9, noise=0.5, spare=spare, subspace="incremental", check_every=10**9
        ).update(X)
        cols = model._state.clusters.array("cols")[0]
        U = model._state.clusters.array("basis")[0, :cols]
        assert np.abs(U @ U.T - np.eye(cols)).max() < 1e-8
    values, _ = batch(X)
    np.testing.assert_allclose(model.clusters().variances[0], values[:4], rtol=1e-3)


@pytest.mark.parametrize("subspace", ["exact", "incremental"])
def test_a_merged_cluster_has_the_basis_of_all_its_rows(subspace: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 5)) * [4.0, 2.0, 1.0, 0.5, 0.3]
    X[:, 0] += 20.0 * rng.integers(2, size=400)
    model = OnlineDPMPPCA(
        1.0, noise=0.3, spare=5, subspace=subspace, check_every=10**9, min_weight=1,
        merge_factor=1e3,
    ).update(X)  # fmt: skip
    known = model._state.clusters
    assert model.n_clusters > 1
    while known.n > 1:  # whether or not the likelihood says so
        known.merge_nearest()
    values, vectors = batch(X)
    np.testing.assert_allclose(known.array("eig")[0], values, rtol=1e-10)
    turned = np.abs(known.array("basis")[0] @ vectors)
    np.testing.assert_allclose(turned, np.eye(5), rtol=0, atol=1e-8)
    np.testing.assert_allclose(known.means()[0], X.mean(axis=0), rtol=0, atol=1e-12)


# ---------------------------------------------------------------- what is found
@pytest.mark.parametrize("order", ["random", "sorted", "swept"])
@pytest.mark.parametrize("width", [10, 70])
def test_both_ways_find_the_same_subspaces(width: int, order: str) -> None:
    X, label = planes(0, width=width, order=order)
    lambda_ = 3.0 * NOISE**2 * float(chi2.isf(1e-4, width))
    one, other = (
        OnlineDPMPPCA(lambda_, noise=NOISE, subspace=way).update(X).merge_now()
        for way in ("exact", "incremental")
    )
    assert one.clusters().dim.tolist() == other.clusters().dim.tolist()
    assert one.predict(X).tolist() == other.predict(X).tolist()
    assert sorted(one.clusters().dim.tolist()) == sorted(DIMS)
    assert agreement(one.predict(X), label) == 1.0


@pytest.mark.parametrize("order", ["random", "sorted", "swept"])
@pytest.mark.parametrize("apart", [4.0, 8.0])
@pytest.mark.parametrize("factor", [1.0, 25.0])
def test_lambda_may_be_wide_off(apart: float, order: str, factor: float) -> None:
    X, label = planes(1, apart=apart, order=order)
    lambda_ = factor * NOISE**2 * float(chi2.isf(1e-4, 10))
    model = OnlineDPMPPCA(lambda_, noise=NOISE).update(X).merge_now()
    assert sorted(model.clusters().dim.tolist()) == sorted(DIMS)
    assert agreement(model.predict(X), label) > 0.99


@pytest.mark.parametrize("factor", [0.5, 2.0, 4.0])
def test_the_variance_of_the_noise_may_be_off(factor: float) -> None:
    X, label = planes(2)
    noise = NOISE * np.sqrt(factor)
    lambda_ = 3.0 * NOISE**2 * float(chi2.isf(1e-4, 10))
    model = OnlineDPMPPCA(lambda_, noise=noise).update(X).merge_now()
    assert sorted(model.clusters().dim.tolist()) == sorted(DIMS)
    assert agreement(model.predict(X), label) > 0.99


def test_lines_that_cross_need_max_dim() -> None:
    """Three lines through one centre: foreign rows near it raise dimensions."""
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=1500)
    way = np.linalg.qr(rng.normal(size=(10, 3)))[0].T
    X = way[label] * rng.uniform(-6.0, 6.0, size=(1500, 1))
    X += 0.1 * rng.normal(size=X.shape)
    model = OnlineDPMPPCA(50 * 0.01, noise=0.1, max_dim=1).update(X).merge_now()
    assert model.clusters().dim.tolist() == [1, 1, 1]
    assert agreement(model.predict(X), label) > 0.9
    assert OnlineDPMPPCA(50 * 0.01, noise=0.1).update(X).merge_now().n_clusters < 3


@pytest.mark.parametrize("seed", range(3))
def test_scales_are_found_and_with_them_the_subspaces(seed: int) -> None:
    X, label = planes(seed)
    model = OnlineDPMPPCA().update(X).merge_now()
    assert agreement(model.predict(X), label) == 1.0
    assert model.noise == pytest.approx(NOISE, rel=0.05)
    given = OnlineDPMPPCA(noise=NOISE).update(X).merge_now()
    assert given.noise == NOISE
    assert agreement(given.predict(X), label) == 1.0
    other = OnlineDPMPPCA(given.lambda_).update(X).merge_now()
    assert (other.lambda_, other.options.n_set_aside) == (given.lambda_, 800)
    assert agreement(other.predict(X), label) == 1.0


@pytest.mark.parametrize(("k", "width"), [(1, 2), (3, 2), (10, 5), (20, 10)])
def test_round_clusters_have_no_subspaces(k: int, width: int) -> None:
    """The first guess of the noise is .07 to .7 of it; it is found all the same."""
    X, label = blobs(k, width, 12.0, 2000, 0)
    model = OnlineDPMPPCA().update(X).merge_now()
    assert model.noise == pytest.approx(1.0, rel=0.1)
    assert model.n_clusters == k
    assert model.clusters().dim.tolist() == [0] * k
    assert agreement(model.predict(X), label) > 0.99


def test_a_path_tells_how_many_clusters_each_cost_gives() -> None:
    X, _ = planes(0, 600)
    path = OnlineDPMPPCA(noise=NOISE).lambda_path(X)
    assert len(path.lambda_) == 14
    assert path.n_clusters[np.argmin(path.bic)] == 5
    assert path.noise == NOISE
    assert path.n_clusters[0] >= path.n_clusters[-1]


def test_without_dimensions_it_is_a_mixture_of_round_clusters() -> None:
    X, _ = blobs(5, 3, 12.0, 600, 0)
    flat = OnlineDPMPPCA(40.0, noise=1.0, max_dim=0, merge=False).update(X)
    round_ = OnlineDPGMM(40.0, merge_factor=0.0).update(X)
    assert flat.labels_.tolist() == round_.labels_.tolist()


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("constant", [False, True])
def test_one_column_has_round_clusters(K: int, constant: bool) -> None:
    """Eight standard deviations apart, at three seeds; the unit does not matter."""
    for seed in range(3):
        rng = np.random.default_rng([K, seed])
        X = 1e-3 * (rng.normal(size=1200) + 8.0 * rng.integers(K, size=1200))[:, None]
        if constant:
            X = np.column_stack([X, np.full(len(X), 0.1)])
        assert OnlineDPMPPCA().update(X).n_clusters == K
        assert OnlineDPMPPCA(noise=1e-3).update(X).n_clusters == K


# ---------------------------------------------------------------- answers
def test_densities_and_labels_are_those_of_a_mixture() -> None:
    X, _ = planes(0, 900, 6)
    model = OnlineDPMPPCA(3.0, noise=NOISE, covariance="spherical")
    found = model.update(X).merge_now().clusters()
    joint = np.column_stack(
        [
            np.log(w / found.weight.sum())
            + multivariate_normal(
                m, U @ np.diag(v - NOISE**2) @ U.T + NOISE**2 * np.eye(6)
            ).logpdf(X)
            for w, m, U, v in zip(
                found.weight, found.mean, found.basis, found.variances, strict=True
            )
        ]
    )
    density = logsumexp(joint, axis=1)
    whole = oracle.with_background(density, X, model)
    np.testing.assert_allclose(model.score_samples(X), whole, rtol=1e-9)
    proba = np.exp(joint - density[:, None])
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=0, atol=1e-9)
    assert model.predict(X).tolist() == found.id[joint.argmax(axis=1)].tolist()
    far = X[:1] + 1e3
    assert model.predict(far, outliers=True).tolist() == [-1]
    assert model.predict(X[:1], outliers=True)[0] == model.predict(X[:1])[0]


def test_rows_have_coordinates_and_come_back_from_them() -> None:
    X, _ = planes(0, 900, 6)
    model = OnlineDPMPPCA(3.0, noise=NOISE).update(X).merge_now()
    label = model.predict(X)
    Z = model.transform(X)
    dim = dict(zip(model.clusters().id.tolist(), model.clusters().dim, strict=True))
    assert [len(z) for z in Z] == [dim[k] for k in label.tolist()]
    back = model.inverse_transform(Z, cluster=label)
    assert np.sqrt(np.mean((back - X) ** 2)) < 1.1 * NOISE
    k = int(label[0])
    alone = model.transform(X, cluster=k)
    assert alone.shape == (900, dim[k])
    np.testing.assert_allclose(alone[0], Z[0], rtol=1e-12)
    again = model.inverse_transform(alone[:1], cluster=k)
    np.testing.assert_allclose(again, back[:1], rtol=0, atol=1e-12)
    assert model.inverse_transform([], cluster=k).shape == (0, 6)
    with pytest.raises(ValueError, match="the id of an existing cluster; got 999"):
        model.transform(X, cluster=999)
    with pytest.raises(ValueError, match="coordinates of cluster"):
        model.inverse_transform(np.ones((1, 5)), cluster=k)
    with pytest.raises(ValueError, match="one cluster for each row of Z, 900; got 2"):
        model.inverse_transform(Z, cluster=[k, k])


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"noise": 0.0}, "noise must be > 0; got 0.0"),
        ({"noise": "low"}, "noise must be a number > 0 or 'auto'"),
        ({"lambda_1": -1.0}, "lambda_1 must be > 0"),
        ({"gate": "bandwidth"}, "gate='bandwidth' needs bandwidth"),
        ({"bandwidth": 3.0}, "bandwidth is an option of gate='bandwidth' only"),
        ({"gate": "wide"}, "gate must be one of"),
        ({"max_dim": -1}, "max_dim must be an int >= 0; got -1"),
        ({"spare": 0}, "spare must be an int >= 1; got 0"),
        ({"subspace": "fast"}, "subspace must be one of"),
        ({"merge": 1}, "merge must be True or False; got 1"),
        ({"forget": 0.0}, r"forget must be in \(0, 1\]"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        OnlineDPMPPCA(**options)


def test_too_many_dimensions_for_the_columns_are_refused() -> None:
    model = OnlineDPMPPCA(1.0, noise=1.0, max_dim=3)
    with (
        same_bytes(model),
        pytest.raises(ValueError, match=r"in \[0, 2\] for 3 columns"),
    ):
        model.update(np.ones((2, 3)))
    waiting = OnlineDPMPPCA(max_dim=3)
    with same_bytes(waiting), pytest.raises(ValueError, match=r"in \[0, 2\]"):
        waiting.update(np.ones((2, 3)))


def test_a_rule_below_the_noise_is_told_of() -> None:
    with pytest.warns(ScaleWarning, match="every direction would stay"):
        OnlineDPMPPCA(1.0, noise=2.0, lambda_1=3.0)


def test_repeated_rows_and_constant_columns_are_fine() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=500) * 10.0, np.full(500, 7.0)])
    for way in ("exact", "incremental"):
        model = OnlineDPMPPCA(1.0, noise=0.1, subspace=way).update(X)
        assert sorted(model.clusters().mean[:, 0].round(9)) == [0.0, 10.0, 20.0]
        assert model.clusters().dim.tolist() == [0, 0, 0]
        assert np.isfinite(model.score(X))
    assert np.isfinite(OnlineDPMPPCA(warm_up=100).update(X).score(X))
    with pytest.warns(ScaleWarning, match="are equal"):
        same = OnlineDPMPPCA(warm_up=20).update(np.ones((40, 3)))
    assert same.n_clusters == 1
    assert np.isfinite(same.score(np.ones((1, 3))))


def test_one_column_has_no_subspace() -> None:
    X, label = blobs(3, 1, 12.0, 500, 0)
    model = OnlineDPMPPCA(60.0, noise=1.0).update(X).merge_now()
    assert model.clusters().dim.tolist() == [0, 0, 0]
    assert agreement(model.predict(X), label) > 0.99


@pytest.mark.parametrize("subspace", ["exact", "incremental"])
def test_a_large_offset_costs_nothing_but_its_rounding(subspace: str) -> None:
    X, _ = planes(0, 600)
    near, far = (
        OnlineDPMPPCA(5.0, noise=NOISE, subspace=subspace).update(rows)
        for rows in (X, X + 1e8)
    )
    assert far.labels_.tolist() == near.labels_.tolist()
    for a, b in zip(far.clusters().variances, near.clusters().variances, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 256])
@pytest.mark.parametrize("subspace", ["exact", "incremental"])
def test_chunks_of_any_size_give_the_same_bits(size: int, subspace: str) -> None:
    X, _ = planes(0, 900, 12, dims=(1, 5, 3))
    whole = OnlineDPMPPCA(subspace=subspace, warm_up=300).update(X)
    parts = OnlineDPMPPCA(subspace=subspace, warm_up=300)
    for k in range(0, 900, size):
        parts.update(X[k : k + size])
    assert model_bytes(parts) == model_bytes(whole)


def test_threads_alter_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = planes(0, 5000)
    model = OnlineDPMPPCA(3.0, noise=NOISE).update(X)
    one = model.predict(X)
    monkeypatch.setenv("DYNTREE_NUM_THREADS", "2")
    assert model.predict(X).tobytes() == one.tobytes()


def test_what_fades_is_followed() -> None:
    """A subspace that turns; the weight stays where it is, and yet it is followed."""
    rng = np.random.default_rng(0)
    for way in ("exact", "incremental"):
        model = OnlineDPMPPCA(1e6, noise=0.1, forget=0.98, subspace=way)
        for angle in (0.0, 1.2):
            line = np.array([np.cos(angle), np.sin(angle), 0.0])
            X = 3.0 * rng.normal(size=(1000, 1)) * line + 0.1 * rng.normal(
                size=(1000, 3)
            )
            model.update(X)
        (basis,) = model.clusters().basis
        assert np.abs(line @ basis[:, 0]) > 0.99


@pytest.mark.parametrize(("K", "share"), [(8, 0.04), (16, 0.04), (20, 0.02)])
@pytest.mark.parametrize("seed", range(2))
def test_clusters_of_few_remembered_rows_stay_apart(
    K: int, share: float, seed: int
) -> None:
    """One to three rows a cluster are remembered, and the scales come of all rows.

    Wrong in 0 of 60 streams tried.
    """
    rng = np.random.default_rng(seed)
    label = rng.integers(K, size=3000)
    centres = 15.0 * np.column_stack([np.arange(K) % 5, np.arange(K) // 5])
    X = centres[label] + rng.normal(size=(3000, 2))
    model = OnlineDPMPPCA(forget=1.0 - share).update(X)
    assert model.n_clusters == K
    found = model.predict(X[-500:])
    pairs = {*zip(found.tolist(), label[-500:].tolist(), strict=True)}
    assert len(pairs) == len({*label[-500:].tolist()})
