"""Logistic leaves against plain NumPy and against quadrature."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

from dyntree._core.rng import CounterSource
from dyntree._core.trees import query
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.leaf_draws import LeafDraws
from dyntree._core.trees.window import roll, worth
from tests.oracle import logistic as oracle
from tests.oracle.logistic import Sums
from tests.statistical.clouds import native_cloud


def rows(n: int, p: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Log odds with slopes of opposite sign on either side of 0 in the first column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    odds = np.where(X[:, 0] > 0, 2.0, -2.0) * X[:, -1] + 0.5
    return X, (rng.random(n) < oracle.sigmoid(odds)).astype(float)


def cloud_of(p: int = 2, **options: Any) -> Cloud:
    """A cloud without rows."""
    return native_cloud(
        "logit", p, **{"n_classes": 2, "n_particles": 20, "min_leaf": 5} | options
    )


def leaves_of(cloud: Cloud) -> tuple[list[np.ndarray], Any, Any]:
    """Places of the rows of each leaf, all arrays, and the width of a row of sums."""
    _, arrays = cloud.to_arrays()
    ends = np.cumsum(arrays["leaf_shape"][:, 1])
    places = np.split(arrays["leaf_rows"], ends[:-1])
    return places, arrays, cloud.row_width


def on_scale(cloud: Cloud, X: np.ndarray) -> np.ndarray:
    """Columns of the regression on the scale that ten rows fixed."""
    point = cloud.prior_point
    return (X[..., : len(point["centre"])] - point["centre"]) / point["spread"]


def prior_of(cloud: Cloud) -> np.ndarray:
    point = cloud.prior_point
    return oracle.prior_precisions(point["spreads"], point["tau"])


# ---------------------------------------------------------------- the bound
def test_a_row_without_doubt_and_the_sums() -> None:
    """At xi = 0 lam is 1/4 and c is -log 2; sums do not depend on the order."""
    assert oracle.precision(0.0) == 0.25
    assert oracle.constant(0.0) == pytest.approx(-np.log(2), rel=1e-15)
    X, y = rows(30)
    xi = np.random.default_rng(1).uniform(0, 4, 30)
    order = np.random.default_rng(2).permutation(30)
    one, other = Sums.of(X, y, xi), Sums.of(X[order], y[order], xi[order])
    np.testing.assert_allclose(one.gram, other.gram, rtol=1e-12)
    times = Sums.of(X[:1], y[:1], xi[:1], np.array([3.0]))
    three = Sums.of(X[[0, 0, 0]], y[[0, 0, 0]], xi[[0, 0, 0]])
    np.testing.assert_allclose(times.gram, three.gram, rtol=1e-12)
    assert times.constant == pytest.approx(three.constant, rel=1e-12)


@pytest.mark.parametrize("seed", range(50))
def test_the_bound_is_below_the_evidence_and_near_it(seed: int) -> None:
    """By quadrature in two coefficients; 3 to 39 rows."""
    rng = np.random.default_rng(seed)
    n, prior = int(rng.integers(3, 40)), oracle.prior_precisions([1.0], 1.0)
    z, (level, slope) = rng.standard_normal((n, 1)), rng.normal(0, 1.5, 2)
    y = (rng.random(n) < oracle.sigmoid(level + slope * z[:, 0])).astype(float)
    sums, xi = Sums(0.0, np.zeros((2, 2)), np.zeros(2), 0.0), []
    for k in range(n):
        e, v = oracle.log_odds(sums, prior, z[k])
        xi.append(np.sqrt(oracle.squared_xi(e, v, y[k])))
        sums = sums + Sums.of(z[k : k + 1], y[k : k + 1], np.array(xi[-1:]))
    at = [np.linspace(-7, 7, 301) / np.sqrt(lam) for lam in prior]
    a, b = np.meshgrid(*at, indexing="ij")
    odds = a[..., None] + b[..., None] * z[:, 0]
    logs = -np.logaddexp(0, np.where(y > 0, -odds, odds)).sum(axis=-1)
    logs += (np.log(prior).sum() - prior[0] * a**2 - prior[1] * b**2) / 2 - np.log(
        2 * np.pi
    )
    cell = np.log((at[0][1] - at[0][0]) * (at[1][1] - at[1][0]))
    evidence = np.logaddexp.reduce(logs.ravel()) + cell
    assert -1e-3 < evidence - oracle.log_evidence(sums, prior) < 3.0


# ---------------------------------------------------------------- leaves
@pytest.mark.parametrize(
    "options", [{}, {"weighting": "frequency"}, {"n_basis": 1}], ids=repr
)
@pytest.mark.parametrize("forget", [1.0, 0.8])
def test_leaves_are_those_of_the_oracle(options: dict[str, Any], forget: float) -> None:
    """Sums, evidence, probabilities and coefficients, in a window of active rows."""
    X, y = rows(140)
    cloud = cloud_of(**options)
    weights = np.random.default_rng(3).integers(1, 4, 140).astype(float)
    weights = weights if options.get("weighting") else np.ones(140)
    q = options.get("n_basis", 2)
    roll(
        cloud, X, y, 60, "random", forget, 40,
        weights=weights if options.get("weighting") else None,
    )  # fmt: skip
    prior, (places, arrays, stride) = prior_of(cloud), leaves_of(cloud)
    f = arrays.get("weights", np.ones(60))
    assert len(places) > 3
    for row, place in zip(arrays["leaf_sums"], places, strict=True):
        z = on_scale(cloud, arrays["X"][place])
        active = Sums.of(z, arrays["y"][place], arrays["xi"][place], f[place])
        stored = Sums.unpacked(row[:stride])
        np.testing.assert_allclose(stored.gram, active.gram, atol=1e-9)
        np.testing.assert_allclose(stored.moment, active.moment, atol=1e-9)
        assert stored.constant == pytest.approx(active.constant, abs=1e-9)
        whole = active + Sums.unpacked(row[stride : 2 * stride])
        given = Sums.unpacked(row[-stride:])
        evidence = oracle.log_evidence(whole, prior) - oracle.log_evidence(given, prior)
        assert row[2 * stride] == pytest.approx(evidence, abs=1e-9)
    at = X[:7]
    expected, slopes = np.zeros(7), np.zeros((7, q + 1))
    for particle in range(cloud.n_particles):
        for j, x in enumerate(at):
            row = arrays["leaf_sums"][leaf_at(arrays, particle, x)]
            whole = Sums.unpacked(row[:stride]) + Sums.unpacked(
                row[stride : 2 * stride]
            )
            z = on_scale(cloud, x)
            expected[j] += oracle.probability(*oracle.log_odds(whole, prior, z))
            b = oracle.law(whole, prior)[0]
            raw = b[1:] / cloud.prior_point["spread"]
            slopes[j] += [b[0] - raw @ cloud.prior_point["centre"], *raw]
    proba = query.predict_class(cloud, at)["p"]
    np.testing.assert_allclose(proba[:, 1], expected / cloud.n_particles, rtol=1e-10)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    each = query.class_probabilities(cloud, 1, at)
    np.testing.assert_allclose(each.mean(axis=0), proba[:, 1], rtol=1e-12)
    np.testing.assert_allclose(
        query.coef(cloud, at), slopes / cloud.n_particles, rtol=1e-8, atol=1e-10
    )


def leaf_at(arrays: Any, particle: int, x: np.ndarray) -> int:
    """Place of the leaf that a row reaches in a particle."""
    h = arrays["roots"][particle]
    while h > 0:
        left, right, _, missing_left, _ = arrays["split_links"][h - 1]
        value = x[arrays["split_variable"][h - 1]]
        goes_left = value <= arrays["split_value"][h - 1]
        h = left if goes_left or (np.isnan(value) and missing_left) else right
    return int(-h - 1)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_a_row_has_one_xi_for_all_particles(weight: float) -> None:
    """By the weights of the particles, once and for good."""
    X, y = rows(80)
    cloud = cloud_of(weighting="frequency")
    cloud.update(X[:79], y[:79])
    prior, (_, arrays, stride) = prior_of(cloud), leaves_of(cloud)
    weights, squares = [], []
    for particle in range(cloud.n_particles):
        row = arrays["leaf_sums"][leaf_at(arrays, particle, X[79])]
        z = on_scale(cloud, X[79])
        e, v = oracle.log_odds(Sums.unpacked(row[:stride]), prior, z)
        weights.append(np.exp(oracle.log_density(e, v, y[79], weight)))
        squares.append(oracle.squared_xi(e, v, y[79], weight))
    log_density = cloud.update(X[79:], y[79:], weights=np.array([weight]))
    xi = cloud.to_arrays()[1]["xi"]
    assert log_density[0] == pytest.approx(np.log(np.mean(weights)), rel=1e-10)
    assert xi[-1] == pytest.approx(oracle.shared_xi(weights, squares), rel=1e-10)
    np.testing.assert_array_equal(xi[:79], arrays["xi"])


@pytest.mark.parametrize("weight", [0.5, 2.5, 60.0])
def test_equal_rows_have_the_joint_probability_of_their_labels(weight: float) -> None:
    """The mean of its power over the log odds, by the trapezium rule.

    The bound of a row of weight 16 was up to 1.2 nats below it.
    """
    X, y = rows(30)
    cloud = cloud_of(alpha=0.0, n_particles=1, weighting="frequency")
    cloud.update(X[:29], y[:29])
    prior, (_, arrays, stride) = prior_of(cloud), leaves_of(cloud)
    sums = Sums.unpacked(arrays["leaf_sums"][leaf_at(arrays, 0, X[29])][:stride])
    e, v = oracle.log_odds(sums, prior, on_scale(cloud, X[29]))
    at = np.linspace(-12.0, 12.0, 20001)
    log_p = -np.logaddexp(0.0, (1.0 - 2.0 * y[29]) * (e + np.sqrt(v) * at))
    normal = np.exp(-(at**2) / 2.0) / np.sqrt(2.0 * np.pi)
    expected = np.log(trapezoid(normal * np.exp(weight * log_p), at))
    (found,) = cloud.update(X[29:], y[29:], weights=np.array([weight]))
    assert found == pytest.approx(expected, abs=0.01)


def test_a_pruned_leaf_has_the_sums_of_its_children() -> None:
    """Sums over all leaves of a tree are those of one leaf."""
    X, y = rows(120)
    cloud = cloud_of()
    cloud.update(X, y)
    _, arrays, stride = leaves_of(cloud)
    whole = Sums.of(on_scale(cloud, arrays["X"]), arrays["y"], arrays["xi"])
    for particle in range(cloud.n_particles):
        own = {leaf_at(arrays, particle, x) for x in X}
        total = sum(arrays["leaf_sums"][k, :stride] for k in own)
        np.testing.assert_allclose(Sums.unpacked(total).gram, whole.gram, rtol=1e-11)


# ---------------------------------------------------------------- retirement
def test_rows_retire_without_a_change() -> None:
    """Predictions stay; with forgetting the retired sums are multiplied."""
    X, y = rows(100)
    cloud = cloud_of()
    cloud.update(X, y)
    before = query.predict_class(cloud, X)["p"]
    cloud.retire(np.arange(0, 60))
    np.testing.assert_allclose(query.predict_class(cloud, X)["p"], before, rtol=1e-12)
    stride = cloud.row_width
    retired = cloud.to_arrays()[1]["leaf_sums"][:, stride : 2 * stride]
    position = 5
    x, label = (part[position] for part in cloud.rows())
    xi = cloud.to_arrays()[1]["xi"][position]
    cloud.retire([position], 0.7)
    after = cloud.to_arrays()[1]["leaf_sums"][:, stride : 2 * stride]
    changed = np.flatnonzero((after != retired).any(axis=1))
    row = Sums.of(on_scale(cloud, x[None]), np.array([label]), np.array([xi]))
    for k in changed:
        faded = Sums.unpacked(retired[k]).times(0.7) + row
        np.testing.assert_allclose(Sums.unpacked(after[k]).gram, faded.gram, atol=1e-12)
    assert len(changed)


def test_streams_of_equal_rows_follow_a_change() -> None:
    """With forgetting the log odds turn round where the labels do."""
    X, y = rows(600, 1)
    y[300:] = 1.0 - y[300:]
    cloud = cloud_of(1)
    roll(cloud, X[:300], y[:300], 50, "age", 0.9)
    before = query.predict_class(cloud, np.array([[2.0]]))["p"][0, 1]
    roll(cloud, X[300:], y[300:], 50, "age", 0.9)
    after = query.predict_class(cloud, np.array([[2.0]]))["p"][0, 1]
    assert abs(before + after - 1.0) < 0.3
    assert abs(before - after) > 0.5


# ---------------------------------------------------------------- prior
def test_the_cloud_moves_its_prior_for_a_nat() -> None:
    """To the tau of the largest mean evidence; spreads are those of all sums."""
    X, y = rows(200)
    X = X * np.concatenate([np.full(10, 1.0), np.full(190, 4.0)])[:, None]
    cloud = cloud_of(alpha=0.0, n_particles=1, adaptive=True)
    cloud.update(X, y)
    point, (_, arrays, stride) = cloud.prior_point, leaves_of(cloud)
    sums = Sums.unpacked(arrays["leaf_sums"][0, :stride])
    evidence = {
        tau: oracle.log_evidence(sums, oracle.prior_precisions(point["spreads"], tau))
        for tau in oracle.TAUS
    }
    assert evidence[point["tau"]] > max(evidence.values()) - 1.5
    assert 2.5 < point["spreads"][1] < 6.0


def test_small_effects_have_a_small_tau() -> None:
    """Many columns without any effect bring tau down."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 6)), rng.integers(0, 2, 300).astype(float)
    cloud = cloud_of(6, adaptive=True, min_leaf=10)
    cloud.update(X, y)
    assert cloud.prior_point["tau"] == 0.1


# ---------------------------------------------------------------- the scale
def test_ten_rows_fix_the_scale_and_are_learned_anew() -> None:
    """Before it leaves know a level alone; whatever cuts the stream."""
    X, y = rows(40)
    cloud = cloud_of(alpha=0.0, n_particles=1)
    cloud.update(X[:9], y[:9])
    assert cloud.prior_point["spread"] == [0.0, 0.0]
    assert len(set(query.predict_class(cloud, X)["p"][:, 1])) == 1
    xi = cloud.to_arrays()[1]["xi"]
    cloud.update(X[9:10], y[9:10])
    point = cloud.prior_point
    np.testing.assert_allclose(point["centre"], X[:10].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(point["spread"], X[:10].std(axis=0, ddof=1), rtol=1e-12)
    assert (cloud.to_arrays()[1]["xi"][:9] != xi).any()
    cloud.update(X[10:], y[10:])
    whole = cloud_of(alpha=0.0, n_particles=1)
    whole.update(X, y)
    for name, value in cloud.to_arrays()[1].items():
        np.testing.assert_array_equal(value, whole.to_arrays()[1][name])


def test_rows_that_retire_early_fix_the_scale() -> None:
    """Of a window below ten rows."""
    X, y = rows(40, 1)
    cloud = cloud_of(1, min_leaf=2)
    roll(cloud, X[:5], y[:5], 4, "age", 1.0)
    assert cloud.prior_point["spread"][0] == pytest.approx(X[:5, 0].std(ddof=1))
    roll(cloud, X[5:], y[5:], 4, "age", 1.0)
    assert np.isfinite(query.predict_class(cloud, X)["p"]).all()


def test_a_cloud_without_its_first_rows_goes_on() -> None:
    """Its columns get units as if they had been constant."""
    X, y = rows(60)
    cloud = cloud_of()
    cloud.update(X[:6], y[:6])
    cloud = cloud.without_rows()
    before = query.predict_class(cloud, X)["p"][0]
    cloud.update(X[6:7], y[6:7])
    assert cloud.n_seen == 7
    cloud.update(X[7:], y[7:])
    assert np.abs(before[1] - np.mean(y[:6])) < 0.3
    assert all(spread > 0.0 for spread in cloud.prior_point["spread"])


# ---------------------------------------------------------------- invariance
def test_labels_may_be_swapped_and_columns_have_other_units() -> None:
    """1e-12 and 1e-9; a column that is constant changes nothing."""
    X, y = rows(150)

    def proba(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        cloud = cloud_of(X.shape[1], alpha=0.0, n_particles=1)
        cloud.update(X, y)
        return query.predict_class(cloud, X[:40])["p"]

    plain = proba(X, y)
    np.testing.assert_allclose(proba(X, 1 - y), plain[:, ::-1], rtol=1e-12)
    np.testing.assert_allclose(proba(3e6 + 1e6 * X, y), plain, rtol=1e-8)
    np.testing.assert_allclose(proba(1e-6 * X, y), plain, rtol=1e-9)
    wider = np.column_stack([X, np.full(150, 7.0)])
    np.testing.assert_allclose(proba(wider, y), plain, rtol=1e-12)


def test_a_column_that_starts_to_vary_gets_a_unit() -> None:
    """Rows before it stand at its centre; predictions stay what they were."""
    X, y = rows(120)
    late = X.copy()
    late[:60, 1] = 3.0
    cloud = cloud_of(n_particles=10)
    cloud.update(late[:60], y[:60])
    assert cloud.prior_point["spread"][1] == 0.0
    cloud.update(late[60:], y[60:])
    assert cloud.prior_point["spread"][1] > 0.0
    slope = query.coef(cloud, late[60:])[:, 2]
    assert np.isfinite(slope).all()
    assert (slope != 0).any()


# ---------------------------------------------------------------- gaps
@pytest.mark.parametrize("seed", range(3))
def test_a_gap_is_over_what_may_stand_there(seed: int) -> None:
    """The normal law of a gap given the others, in the leaf, by simulation."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(200)
    X = common[:, None] * 0.8 + 0.6 * rng.standard_normal((200, 3))
    y = (rng.random(200) < oracle.sigmoid(1.5 * X[:, 0] - X[:, 2])).astype(float)
    cloud = cloud_of(3, alpha=0.0, n_particles=2)
    cloud.update(X, y)
    _, arrays, stride = leaves_of(cloud)
    sums, prior = Sums.unpacked(arrays["leaf_sums"][0, :stride]), prior_of(cloud)
    x = np.array([np.nan, 0.7, np.nan])
    there_z = on_scale(cloud, x)[1]
    # moments of the columns by lam, as the leaf has them
    mean = sums.gram[0, 1:] / sums.gram[0, 0]
    spread = sums.gram[1:, 1:] / sums.gram[0, 0] - np.outer(mean, mean)
    spread *= 200 / 199
    there, gap = [1], [0, 2]
    lift = spread[np.ix_(gap, there)] / spread[1, 1]
    at = mean[gap] + lift[:, 0] * (there_z - mean[1])
    left = spread[np.ix_(gap, gap)] - lift @ spread[np.ix_(there, gap)]
    drawn = rng.multivariate_normal(at, left, 200_000)
    full = np.column_stack(
        [np.ones(len(drawn)), drawn[:, 0], np.full(len(drawn), there_z), drawn[:, 1]]
    )
    b, covariance = oracle.law(sums, prior)
    odds = full @ b
    variance = np.einsum("ij,jk,ik->i", full, covariance, full)
    simulated = oracle.probability(odds, variance).mean()
    got = query.predict_class(cloud, x[None])["p"][0, 1]
    assert got == pytest.approx(simulated, abs=0.02)  # MacKay's, twice
    each = query.class_probabilities(cloud, 1, x[None])
    np.testing.assert_allclose(each, got, rtol=1e-12)


def test_rows_with_gaps_are_learned() -> None:
    """And predicted with all of their sides."""
    X, y = rows(200)
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    cloud = cloud_of()
    densities = cloud.update(X, y)
    assert np.isfinite(densities).all()
    proba = query.predict_class(cloud, X)
    np.testing.assert_allclose(proba["p"].sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(proba["entropy"]).all()
    assert np.isfinite(worth(cloud, "entropy")).all()


# ---------------------------------------------------------------- copies
def test_a_cloud_goes_on_from_its_arrays() -> None:
    """Bit for bit, in the middle of a stream with growing trees."""
    X, y = rows(200)
    cloud = cloud_of(adaptive=True)
    roll(cloud, X[:120], y[:120], 50, "age", 0.9, 60)
    header, arrays = cloud.to_arrays()
    source = CounterSource.from_state(arrays["random_state"])
    other = Cloud.from_arrays(header, arrays, source)
    for one in (cloud, other):
        roll(one, X[120:], y[120:], 50, "age", 0.9, 60)
    for a, b in pairwise((cloud, other)):
        for name, value in a.to_arrays()[1].items():
            np.testing.assert_array_equal(value, b.to_arrays()[1][name])


def test_a_lone_label_is_certain_until_another_comes() -> None:
    X, y = rows(60)
    cloud = cloud_of(n_classes=1)
    densities = cloud.update(X[:20], np.zeros(20))
    assert not densities.any()
    assert query.predict_class(cloud, X)["p"].tolist() == [[1.0]] * 60
    cloud = cloud.with_classes(2)
    cloud.update(X[20:], y[20:])
    assert query.predict_class(cloud, X)["p"].shape == (60, 2)


def test_a_column_may_come_late() -> None:
    """It was 0 so far, and predictions stay what they were."""
    X, y = rows(80)
    cloud = cloud_of()
    cloud.update(X[:60], y[:60])
    before = query.predict_class(cloud, X)["p"]
    spans = np.zeros((1, 4))
    own = cloud.to_arrays()[1]["spans"]
    wide = cloud.with_columns(
        np.column_stack([cloud.rows()[0], np.zeros(60)]), np.concatenate([own, spans])
    )
    wider = np.column_stack([X, np.zeros(80)])
    np.testing.assert_allclose(query.predict_class(wide, wider)["p"], before, rtol=1e-9)
    wider[60:, 2] = y[60:]
    wide.update(wider[60:], y[60:])
    assert len(wide.prior_point["spread"]) == 3


def test_draws_have_the_law_of_the_coefficients() -> None:
    X, y = rows(60)
    cloud = cloud_of(alpha=0.0, n_particles=1)
    cloud.update(X, y)
    _, arrays, stride = leaves_of(cloud)
    sums = Sums.unpacked(arrays["leaf_sums"][0, :stride])
    mean, covariance = oracle.law(sums, prior_of(cloud))
    drawn = LeafDraws(cloud, X[:3])
    _, leaves = drawn.leaves(int(drawn.roots[0]))
    got, factor, *_ = drawn.coefficients(leaves)
    np.testing.assert_allclose(got[0], mean, rtol=1e-10)
    np.testing.assert_allclose(factor[0] @ factor[0].T, covariance, rtol=1e-10)


def test_the_entropy_of_a_row_is_its_own() -> None:
    """Rows of one leaf differ in their entropy."""
    X, y = rows(60)
    cloud = cloud_of(alpha=0.0)
    cloud.update(X, y)
    entropy = query.predict_class(cloud, cloud.rows()[0])["entropy"]
    np.testing.assert_allclose(worth(cloud, "entropy"), entropy, rtol=1e-10)
    assert entropy.std() > 0.01


def test_an_indicator_that_is_missing_is_each_of_its_values() -> None:
    """With their shares in the leaf, given the values that are there."""
    rng = np.random.default_rng(0)
    X = (rng.random((100, 2)) < 0.4).astype(float)
    y = (rng.random(100) < oracle.sigmoid(2 * X[:, 0] - 1)).astype(float)
    cloud = cloud_of(alpha=0.0, n_particles=1)
    cloud.update(X, y)
    ends = np.array([[0.0, 1.0], [1.0, 1.0]])
    low, high = query.predict_class(cloud, ends)["p"][:, 1]
    got = query.predict_class(cloud, np.array([[np.nan, 1.0]]))["p"][0, 1]
    share = (got - low) / (high - low)
    lam = oracle.precision(cloud.to_arrays()[1]["xi"])
    assert share == pytest.approx(lam @ X[:, 0] / lam.sum(), abs=0.1)
