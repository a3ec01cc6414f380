"""Weights of rows in native leaves: against plain NumPy, and what each kind promises.

The bound is 1e-11 (relative, or of log evidences) unless a test says why it is another;
the worst that was seen of 200 leaves is 2e-13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree._core.trees import criteria, probe, query
from dyntree._core.trees.cloud import Cloud
from tests.oracle.native import (
    Leaf,
    Place,
    Sums,
    dirichlet_evidence,
    hidden_variance,
    log_evidence,
)

from .clouds import native_cloud

TIGHT = {"rel": 1e-11, "abs": 1e-11}
KINDS = ["variance", "frequency"]
SIZES = [(0, True), (1, True), (3, True), (3, False)]


def weighted(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, responses and weights between about .1 and 10."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    w = np.exp(rng.standard_normal(n))
    return X, X @ [1.0, -2.0, 0.5] + rng.standard_normal(n) / np.sqrt(w), w


def cloud_of(kind: str | None, p: int, level: bool = True, **options: Any) -> Cloud:
    model = "linear" if p else "constant"
    own = {} if kind is None else {"weighting": kind}
    return native_cloud(
        model, 3, n_basis=p or None, intercept=level, **({"alpha": 0.0} | own | options)
    )


def twin(
    kind: str, X: np.ndarray, y: np.ndarray, w: np.ndarray, p: int, level: bool = True
) -> Leaf:
    """The plain leaf of rows with weights of that kind."""
    f, v = (np.ones(len(y)), w) if kind == "variance" else (w, None)
    return Leaf(X[:, :p], y, f, 0.1, level, v=v)


def leaf_evidence(tree: tuple) -> float:
    if tree[0] == "leaf":
        return tree[4]
    return leaf_evidence(tree[4]) + leaf_evidence(tree[5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "level"), SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_a_leaf_is_the_posterior_of_weighted_rows(
    seed: int, p: int, level: bool, kind: str
) -> None:
    X, y, w = weighted(seed)
    cloud = cloud_of(kind, p, level, n_particles=2)
    cloud.update(X, y, weights=w)
    expected = twin(kind, X, y, w, p, level)
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, **TIGHT)
    location, scale, df = query.predictive(cloud, X[:5])
    for k, x in enumerate(X[:5]):
        told = expected.predictive(x[:p])
        assert (location[0, k], scale[0, k], df[0, k]) == pytest.approx(told, **TIGHT)


@pytest.mark.parametrize(("p", "level"), SIZES)
def test_weights_of_one_leave_every_bit(p: int, level: bool) -> None:
    X, y, _ = weighted(1)
    plain = cloud_of(None, p, level, alpha=0.95)
    told = plain.update(X, y)
    for kind in KINDS:
        other = cloud_of(kind, p, level, alpha=0.95)
        np.testing.assert_array_equal(other.update(X, y, weights=np.ones(40)), told)
        converted = plain.with_weights(kind)
        ours, theirs = other.to_arrays(), converted.to_arrays()
        assert ours[0] == theirs[0]
        for name, array in theirs[1].items():
            assert array.tobytes() == ours[1][name].tobytes(), name


@pytest.mark.parametrize("p", [0, 2])
def test_a_frequency_is_so_many_equal_rows(p: int) -> None:
    """Sums of dyadic numbers are equal to the last bit, evidence to rounding."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(-8, 8, (12, 3)) / 4.0, rng.integers(-8, 8, 12) / 4.0
    f = rng.integers(1, 5, 12).astype(float)
    again = np.repeat(np.arange(12), f.astype(int))
    one, many = (
        cloud_of("frequency", p, n_particles=1),
        cloud_of(None, p, n_particles=1),
    )
    one.update(X[:1], y[:1])
    many.update(X[:1], y[:1])
    told = one.update(X, y, weights=f)
    rows = many.update(X[again], y[again])
    ends = np.cumsum(f.astype(int))
    parts = np.split(rows, ends[:-1])
    assert told == pytest.approx([part.sum() for part in parts], **TIGHT)
    width = one.row_width
    ours, theirs = (c.to_arrays()[1]["leaf_sums"] for c in (one, many))
    np.testing.assert_array_equal(ours[:, :width], theirs[:, :width])
    assert one.tree(0)[4] == pytest.approx(many.tree(0)[4], **TIGHT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0, 2])
def test_densities_add_up_to_the_evidence_in_any_order(p: int, kind: str) -> None:
    """That of variances and the constant which no leaf keeps, half the sum of log w.

    From a first whole row on: what an empty leaf foresees is no part of the evidence.
    """
    X, y, w = weighted(3)
    w[0] = 2.0
    constant = 0.5 * np.log(w[1:]).sum() if kind == "variance" else 0.0
    for seed in range(3):
        order = np.r_[0, 1 + np.random.default_rng(seed).permutation(39)]
        cloud = cloud_of(kind, p, n_particles=1)
        cloud.update(X[:1], y[:1], weights=w[:1])
        before = cloud.tree(0)[4]
        rest = order[1:]
        told = cloud.update(X[rest].copy(), y[rest].copy(), weights=w[rest].copy())
        grew = cloud.tree(0)[4] - before + constant
        assert told.sum() == pytest.approx(grew, **TIGHT)


def test_one_row_says_of_a_level_what_any_other_does() -> None:
    """Whatever its weight, and a part of a row the same part of it."""
    for kind in KINDS:
        for weight in (0.01, 1.0, 37.0):
            cloud = cloud_of(kind, 0, n_particles=1)
            cloud.update(np.zeros((1, 3)), np.zeros(1), weights=np.array([weight]))
            frequency = weight if kind == "frequency" else 1.0
            constant = 0.5 * np.log(weight) if kind == "variance" else 0.0
            if frequency > 1.0:
                continue
            expected = -0.5 * np.log(2.0 * np.pi) * frequency
            assert cloud.tree(0)[4] + constant == pytest.approx(expected, **TIGHT)
    leaf = Sums.of(np.empty((1, 0)), np.zeros(1), np.array([0.25]), np.array([9.0]))
    told = log_evidence(leaf, 0.1) + 0.25 * np.log(9.0) / 2
    assert told == pytest.approx(-0.25 * np.log(2.0 * np.pi) / 2, **TIGHT)


@pytest.mark.parametrize("p", [0, 2])
def test_the_unit_of_variance_weights_is_that_of_sigma(p: int) -> None:
    """Weights c w, prior in c w too, sigma^2 c times: nothing else changes."""
    X, y, w = weighted(4)
    c = 17.3
    place = Place((0.0,) * (p + 1), (1.0,) * p)
    other = Place((0.0,) * (p + 1), (1.0,) * p, omega=c)
    one = Leaf(X[:, :p], y, np.ones(40), 0.1, place=place, v=w)
    two = Leaf(X[:, :p], y, np.ones(40), 0.1 * c, place=other, v=c * w)
    constant = 0.5 * 40 * np.log(c)
    assert two.log_evidence + constant == pytest.approx(one.log_evidence, **TIGHT)
    for x in X[:4, :p]:
        assert two.predictive(x, c) == pytest.approx(one.predictive(x), **TIGHT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0, 2])
def test_retired_rows_keep_their_weight(p: int, kind: str) -> None:
    X, y, w = weighted(5, n=60)
    cloud = cloud_of(kind, p, alpha=0.95, n_particles=20)
    cloud.update(X, y, weights=w)
    before = query.predict(cloud, X)
    evidence = [leaf_evidence(cloud.tree(k)) for k in range(20)]
    cloud.retire(np.random.default_rng(0).permutation(60)[:45], 1.0)
    for name, values in before.items():
        after = query.predict(cloud, X)[name]
        np.testing.assert_allclose(after, values, rtol=1e-10, atol=1e-12)
    again = [leaf_evidence(cloud.tree(k)) for k in range(20)]
    np.testing.assert_allclose(again, evidence, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0, 2])
def test_forgetting_is_a_smaller_frequency(p: int, kind: str) -> None:
    X, y, w = weighted(6, n=30)
    cloud = cloud_of(kind, p, n_particles=1)
    cloud.update(X, y, weights=w)
    for _ in range(10):
        cloud.retire([0], 0.8)
    gone = [0, *range(29, 20, -1)]  # in the order in which they retired
    kept = np.ones(30)
    kept[gone] = 0.8 ** np.arange(9, -1, -1)
    f, v = (kept, w) if kind == "variance" else (kept * w, None)
    expected = Leaf(X[:, :p], y, f, 0.1, v=v)
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, **TIGHT)
    assert cloud.tree(0)[3] == pytest.approx(f[gone].sum(), **TIGHT)


@pytest.mark.parametrize("part", [1e-9, 1e-3, 0.3, 0.999999, 1.0, 1.7])
@pytest.mark.parametrize("p", [0, 2])
def test_less_than_a_row_is_that_of_the_formulas(p: int, part: float) -> None:
    X, y, w = weighted(7, n=6)
    cloud = cloud_of("variance", p, n_particles=1)
    cloud.update(X, y, weights=w)
    header, arrays = cloud.without_rows().to_arrays()
    width, sums = cloud.row_width, arrays["leaf_sums"].copy()
    sums[:, width : 2 * width] *= part / 6
    faded = Cloud.from_arrays(header, {**arrays, "leaf_sums": sums}, cloud.source)
    faded = faded.without_rows()
    one = Leaf(X[:, :p], y, np.full(6, part / 6), 0.1, v=w)
    assert faded.tree(0)[4] == pytest.approx(one.log_evidence, rel=1e-9, abs=1e-12)
    location, scale, df = query.predictive(faded, X)
    told = np.array([one.predictive(x[:p]) for x in X])
    np.testing.assert_allclose(
        np.transpose([location[0], scale[0], df[0]]), told, rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "level"), SIZES)
def test_splits_gain_what_weighted_children_say(p: int, level: bool, kind: str) -> None:
    """Log odds are differences of evidence: the bound is 1e-8."""
    X, y, w = weighted(8, n=60)
    cloud = cloud_of(kind, p, level, n_particles=2)
    cloud.update(X, y, weights=w)
    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, grow, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 20)
    assert len(cuts) == 20
    odds = np.full(20, -twin(kind, X, y, w, p, level).log_evidence)
    for k, (column, value, *_) in enumerate(cuts):
        left = X[:, column] <= value
        for rows in (left, ~left):
            assert rows.sum() >= 3  # rows, whatever they weigh
            odds[k] += twin(kind, X[rows], y[rows], w[rows], p, level).log_evidence
    prior = np.log(0.95) + 2 * np.log(1 - 0.95 / 4) - np.log(1 - 0.95)
    assert grow == pytest.approx(prior + np.log(np.exp(odds).mean()), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0, 2])
def test_a_child_inherits_by_weight(p: int, kind: str) -> None:
    """min(N child / N leaf, N child / N retired) of what was retired, as its prior."""
    X, y, w = weighted(9, n=50)
    cloud = cloud_of(kind, p, n_particles=1)
    cloud.update(X, y, weights=w)
    cloud.retire(np.arange(20), 1.0)
    held = cloud.row_ids()
    gone = np.setdiff1d(np.arange(50), held)
    mass = w if kind == "frequency" else np.ones(50)
    f = {"variance": None, "frequency": w}[kind]
    v = {"variance": w, "frequency": None}[kind]

    def sums(rows: np.ndarray) -> Sums:
        own = [None if part is None else part[rows] for part in (f, v)]
        return Sums.of(X[rows, :p], y[rows], *own)

    (left, told_left), (right, told_right) = probe.split(
        cloud, probe.roots(cloud)[0], 0, 0.0
    )
    for places, told in ((left, told_left), (right, told_right)):
        rows = held[places]
        n = mass[rows].sum()
        share = min(n / mass[held].sum(), n / mass[gone].sum())
        inherited = sums(gone).times(share)
        expected = log_evidence(sums(rows) + inherited, 0.1)
        expected -= log_evidence(inherited, 0.1)
        assert told == pytest.approx(expected, **TIGHT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "level"), SIZES)
def test_rows_are_worth_more_the_more_they_weigh(
    p: int, level: bool, kind: str
) -> None:
    """The reduction of variance, of rows held and of candidates."""
    X, y, w = weighted(10, n=30)
    cloud = cloud_of(kind, p, level, n_particles=2)
    cloud.update(X, y, weights=w)
    expected = twin(kind, X, y, w, p, level)
    low, high, flags = np.full(3, -1.0), np.array([0.5, 1.0, 2.0]), np.zeros(3, bool)
    own = low[:p], high[:p]
    worth = criteria.alc_active(cloud, low, high, flags, False)
    told = [expected.reduction(x[:p], *own, u) for x, u in zip(X, w, strict=True)]
    np.testing.assert_allclose(worth, told, rtol=1e-11)
    new, u = -X[:7], w[:7].copy()
    asked = criteria.alc_rectangle(cloud, new, low, high, flags, False, u)
    told = [expected.reduction(x[:p], *own, o) for x, o in zip(new, u, strict=True)]
    np.testing.assert_allclose(asked, told, rtol=1e-11)


def test_labels_are_counted_by_weight() -> None:
    rng = np.random.default_rng(11)
    y, w = rng.integers(0, 3, 30).astype(float), np.exp(rng.standard_normal(30))
    cloud = native_cloud(
        "class", 1, alpha=0.0, n_classes=3, n_particles=2, min_leaf=1,
        weighting="frequency",
    )  # fmt: skip
    total = cloud.update(rng.random((30, 1)), y, weights=w).sum()
    counts = np.bincount(y.astype(int), w, minlength=3)
    assert total == pytest.approx(dirichlet_evidence(counts, 1.0), **TIGHT)
    p = query.predict(cloud, np.array([[0.5]]))["p"][0]
    assert p == pytest.approx((counts + 1 / 3) / (1 + w.sum()), **TIGHT)


def test_a_constant_leaf_is_the_integral_over_mean_and_variance() -> None:
    """Gauss-Legendre over a mean given sigma, and the trapezoidal rule over log sigma.

    Frequencies and variance weights together; relative to the flat level's density.
    """
    rng = np.random.default_rng(12)
    t, f, v, b0 = rng.normal(size=4), np.array([1, 2, 0.5, 1]), rng.random(4) + 0.5, 0.7
    nodes, weights = np.polynomial.legendre.leggauss(200)
    centre, precision = (f * v) @ t / (f @ v), f @ v
    log_sigma2 = np.linspace(-12.0, 45.0, 4001)
    inner = []
    for s in np.exp(log_sigma2):
        half = 12.0 * np.sqrt(s / precision)
        mu = centre + half * nodes
        log_p = stats.norm.logpdf(t[:, None], mu, np.sqrt(s / v)[:, None])
        inner.append(half * weights @ np.exp((f[:, None] * log_p).sum(axis=0)))
    density = stats.invgamma.pdf(np.exp(log_sigma2), 0.5, scale=b0)
    outer = np.array(inner) * density * np.exp(log_sigma2) / np.sqrt(2 * np.pi)
    total = np.log(np.trapezoid(outer, log_sigma2))
    sums = Sums.of(np.empty((4, 0)), t, f, v)
    told = log_evidence(sums, b0) + 0.5 * f @ np.log(v)
    assert told == pytest.approx(total, **TIGHT)


def test_coefficients_are_those_of_weighted_least_squares() -> None:
    """With slopes whose prior is next to nothing; R's lm and statsmodels' WLS agree."""
    X, y, w = weighted(13, n=60)
    W = np.column_stack([np.ones(60), X[:, :2]])
    expected = np.linalg.solve((W * w[:, None]).T @ W, (W * w[:, None]).T @ y)
    place = Place((0.0,) * 3, (1e-9,) * 2, floors=(0.0, 0.0))
    leaf = Leaf(X[:, :2], y, np.ones(60), 1e-12, place=place, v=w)
    assert leaf.mean == pytest.approx(expected, **TIGHT)
    rss = float(w @ (y - W @ expected) ** 2)
    assert leaf.scale == pytest.approx(rss / 2, rel=1e-11)
    assert 2 * leaf.shape == 60.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0, 2])
def test_the_prior_follows_the_weights_of_the_rows(p: int, kind: str) -> None:
    """Its place is that of weighted means and spreads, and the evidence is told there.

    Rows grow heavier; means and spreads may lag by half a spread and a factor of 1.5,
    as they do without weights, and so may the mean weight.
    """
    X, y, w = weighted(14, n=400)
    w *= np.linspace(1.0, 20.0, 400)
    y = np.round(y, 1)  # ties, which tell of a grain
    cloud = cloud_of(kind, p, n_particles=1, adaptive=True)
    cloud.update(X, y, weights=w)
    at = cloud.prior_point
    f = w if kind == "frequency" else np.ones(400)
    omega = at.get("mean_weight", 1.0)
    if kind == "variance":
        assert w.mean() / 1.5 <= omega <= 1.5 * w.mean()
        assert at["y_unit"] > 10.0  # the variance of a row of weight 1
    assert at["grain"] == pytest.approx(
        hidden_variance(y, w if kind == "frequency" else None), rel=0.3
    )
    *spreads, y_spread = at["spreads"]
    place = Place(
        tuple(at["middle"]), tuple(spreads), at["grain"], y_spread,
        tuple(np.array(at["widest"]) / 3.0), omega,
    )  # fmt: skip
    expected = Leaf(
        X[:, :p], y, f, at["b0"], True, place, at["relaxed"],
        v=w if kind == "variance" else None,
    )  # fmt: skip
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, rel=1e-11)
