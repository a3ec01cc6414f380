"""Online DP-GMM against its formulas, and against the plain version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import logsumexp
from scipy.stats import chi2, multivariate_normal

from dyntree.errors import NotReadyError, ScaleWarning
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from tests.helpers import model_bytes, same_bytes
from tests.oracle import sva as oracle

CLOSE = 1e-12  # relative to the largest value: sums in another order

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "objective": {"criterion": "objective"},
    "no merging": {"merge_factor": 0.0, "min_weight": 1},
    "forgets": {"forget": 0.98, "patience": 40},
    "few": {"max_clusters": 4},
    "impatient": {"patience": 12},
    "merges late": {"check_every": 97, "merge_factor": 2.5},
}


def blobs(
    k: int, width: int, apart: float, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows about k centres at least `apart` standard deviations from one another."""
    rng = np.random.default_rng(seed)
    centres: list[np.ndarray] = []
    while len(centres) < k:
        c = rng.uniform(-2.0, 2.0, size=width) * apart * k ** (1.0 / width)
        if all(np.linalg.norm(c - other) >= apart for other in centres):
            centres.append(c)
    label = rng.integers(k, size=n)
    return np.array(centres)[label] + rng.normal(size=(n, width)), label


def agreement(a: Any, b: Any) -> float:
    """Adjusted Rand index (Hubert and Arabie 1985)."""
    _, a = np.unique(a, return_inverse=True)
    _, b = np.unique(b, return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1.0)

    def pairs(n: Any) -> float:
        return float((n * (n - 1.0) / 2.0).sum())

    both, rows, columns = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    expected = rows * columns / pairs(np.array([float(len(a))]))
    most = (rows + columns) / 2.0
    return 1.0 if most == expected else (both - expected) / (most - expected)


def same_clusters(model: Any, other: oracle.Mixture) -> None:
    """Equal ids and counters, close sums."""
    known = model._state.clusters
    found = other.clusters
    assert known.array("ids").tolist() == [c.id for c in found]
    for name in ("born", "seen", "since", "settled"):
        assert known.array(name).tolist() == [getattr(c, name) for c in found], name
    assert known.array("confirmed").tolist() == [c.confirmed for c in found]
    size = max(1.0, *(float(np.abs(c.mean).max()) for c in found))
    weight = np.array([c.w for c in found])
    np.testing.assert_allclose(known.array("weight"), weight, rtol=CLOSE)
    mean = np.array([c.mean for c in found])
    np.testing.assert_allclose(known.means(), mean, rtol=0, atol=CLOSE * size)
    scatter = np.array([c.scatter for c in found])
    np.testing.assert_allclose(known.array("scatter"), scatter, rtol=1e-11, atol=1e-11)
    assert known.array("merged").tolist() == [*other.aliases]
    assert known.array("merged_into").tolist() == [*other.aliases.values()]
    assert known.lost == pytest.approx(other.lost, rel=CLOSE)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_plain_version(name: str, seed: int) -> None:
    X, _ = blobs(6, 3, 4.0, 900, seed)
    X[::17] += 15.0 * np.random.default_rng(seed).normal(size=X[::17].shape)
    options = {"check_every": 50, **OPTIONS[name]}
    model = OnlineDPGMM(9.0, **options)
    other = oracle.DPGMM(9.0, **options)
    assert model.update(X).labels_.tolist() == other.learn(X)
    assert len(other.clusters) > 1
    same_clusters(model, other)


# ---------------------------------------------------------------- identities
def test_a_row_adds_to_the_objective_what_it_should() -> None:
    """By w/(w+1) d^2, or lambda: never more than min(lambda, d^2)."""
    X, _ = blobs(5, 2, 5.0, 400, 1)
    model = OnlineDPGMM(6.0, merge_factor=0.0, min_weight=1)
    before = 0.0
    for x in X:
        least = np.inf
        if model.is_ready and model.n_clusters:
            d2 = model.transform(x[None])[0] ** 2
            least = d2.min()
            w = model.clusters().weight[d2.argmin()]
        model.learn_one(x)
        rise = model.objective - before
        expected = 6.0 if least > 6.0 else w / (w + 1.0) * least
        assert rise == pytest.approx(expected, abs=1e-12 * max(1.0, model.objective))
        assert rise <= min(6.0, least) + 1e-12 * model.objective
        before = model.objective
    labels = OnlineDPGMM(6.0, merge_factor=0.0, min_weight=1).update(X).labels_
    groups = [X[labels == k] for k in np.unique(labels)]
    scatter = sum(((rows - rows.mean(0)) ** 2).sum() for rows in groups)
    expected = 6.0 * len(np.unique(labels)) + scatter
    assert model.objective == pytest.approx(expected, rel=1e-12)


def test_a_row_ends_nearer_to_its_mean_by_the_factor_of_its_weight() -> None:
    rng = np.random.default_rng(0)
    for w in range(1, 40):
        model = OnlineDPGMM(1e9, min_weight=1).update(rng.normal(size=(w, 4)))
        x = 9.0 * rng.normal(size=4)
        old = model.transform(x[None])[0, 0]
        new = model.learn_one(x).transform(x[None])[0, 0]
        assert new == pytest.approx(w / (w + 1.0) * old, rel=1e-12)


def test_merging_by_the_objective_never_raises_it() -> None:
    """Two clusters that grew towards one another."""
    model = OnlineDPGMM(4.0, criterion="objective", check_every=10**6, min_weight=1)
    model.update([[0.0], [3.0], [1.5], [2.0]])
    assert model.clusters().mean.tolist() == [[0.75], [2.5]]
    before, ward = model.objective, 2.0 * 2.0 / 4.0 * 1.75**2
    assert model.merge_now().n_clusters == 1
    assert model.objective == pytest.approx(before + ward - 4.0, rel=1e-12)


def test_a_merged_cluster_is_that_of_all_its_rows() -> None:
    """Ward's term: nothing of mean, weight and scatter is lost."""
    X, _ = blobs(3, 3, 2.0, 200, 3)
    model = OnlineDPGMM(1.0, check_every=10**6, merge_factor=1e6, min_weight=1)
    assert model.update(X).n_clusters > 10
    model.merge_now()
    (mean,) = model.clusters().mean
    np.testing.assert_allclose(mean, X.mean(0), rtol=0, atol=1e-12)
    expected = 1.0 + ((X - X.mean(0)) ** 2).sum()
    assert model.objective == pytest.approx(expected, rel=1e-12)
    assert {model.aliases_[k] for k in model.aliases_} == {model.clusters().id[0]}


@pytest.mark.parametrize("criterion", ["radius", "objective"])
def test_it_is_the_limit_of_the_gibbs_sampler(criterion: str) -> None:
    """The most probable label at sigma^2 = 1e-6, on 1,000 configurations.

    With the means given for "radius"; with means integrated out for "objective".
    """
    rng = np.random.default_rng(5)
    variance, prior = 1e-6, 1.0
    for _ in range(1000):
        width, k = rng.integers(1, 5), rng.integers(1, 6)
        means, x = rng.normal(size=(k, width)), rng.normal(size=width)
        n = rng.integers(1, 9, size=k).astype(float)
        lambda_ = float(rng.gamma(2.0))
        log_a = 0.5 * width * np.log1p(prior / variance) - lambda_ / (2.0 * variance)
        d2 = ((x - means) ** 2).sum(axis=1)
        spread = variance * ((n + 1.0) / n if criterion == "objective" else 1.0)
        known = np.log(n) - 0.5 * d2 / spread - 0.5 * width * np.log(spread)
        total = prior + variance
        new = log_a - 0.5 * x @ x / total - 0.5 * width * np.log(total)
        gibbs = int(np.argmax([*known, new]))
        rows = np.repeat(means, n.astype(int), axis=0)
        model = OnlineDPGMM(
            1e-300, merge_factor=0.0, min_weight=1, criterion=criterion
        ).update(rows)
        header, arrays = model.to_arrays()
        header["options"]["lambda_"] = header["lambda_"] = lambda_
        model = OnlineDPGMM.from_arrays(header, arrays).learn_one(x)
        assert model.last_label_ == gibbs


# ---------------------------------------------------------------- what is found
SCENES = {
    "1 in 2": (1, 2, 10.0), "3 in 1": (3, 1, 10.0), "5 in 2": (5, 2, 10.0),
    "10 in 2": (10, 2, 10.0), "10 in 5": (10, 5, 10.0), "20 in 10": (20, 10, 12.0),
    "10 in 2, near": (10, 2, 7.0), "5 in 50": (5, 50, 14.0),
}  # fmt: skip


@pytest.mark.parametrize("order", ["random", "sorted", "reversed"])
@pytest.mark.parametrize("scene", SCENES)
def test_lambda_is_found_and_with_it_the_clusters(scene: str, order: str) -> None:
    """Exact number, and labels but for rows that lie nearer to another centre.

    Passed for seeds 0 to 19 of every scene in random order, 0 to 4 in the others.
    """
    k, width, apart = SCENES[scene]
    X, label = blobs(k, width, apart, 3000, 7)
    if order != "random":
        ahead = np.random.default_rng(0).permutation(3000)[:500]
        rest = np.setdiff1d(np.arange(3000), ahead)
        rest = rest[np.argsort(label[rest], kind="stable")]
        turn = np.concatenate([ahead, rest if order == "sorted" else rest[::-1]])
        X, label = X[turn], label[turn]
    model = OnlineDPGMM().update(37.0 * X)
    assert model.n_clusters == k
    assert agreement(model.predict(37.0 * X), label) > 0.99
    ideal = 37.0**2 * chi2.isf(1e-5, width)
    assert 0.85 < model.lambda_ / ideal < 1.15
    assert model.noise == pytest.approx(37.0, rel=0.05)


@pytest.mark.parametrize("eps", [1e-4, 1e-6])
def test_orders_do_not_matter_to_clusters_far_apart(eps: float) -> None:
    X, label = blobs(5, 2, 10.0, 2000, 3)
    lambda_ = float(chi2.isf(eps, 2))
    by_label = np.argsort(label, kind="stable")
    for turn in (np.arange(2000), by_label, by_label[::-1]):
        model = OnlineDPGMM(lambda_).update(X[turn]).merge_now()
        assert model.n_clusters == 5
        assert agreement(model.predict(X), label) == 1.0


def test_a_path_tells_how_many_clusters_each_cost_gives() -> None:
    X, _ = blobs(4, 2, 12.0, 400, 0)
    path = OnlineDPGMM().lambda_path(X)
    assert len(path.lambda_) == len(path.n_clusters) == len(path.bic) == 24
    assert np.all(np.diff(path.lambda_) > 0.0)
    assert path.n_clusters[np.argmin(path.bic)] == 4
    assert path.n_clusters[-1] == 1
    assert OnlineDPGMM().update(X).finish_warm_up().lambda_ == path.chosen
    with pytest.raises(ValueError, match="at least two rows"):
        OnlineDPGMM().lambda_path(X[:1])


def test_what_leaves_a_stream_is_forgotten() -> None:
    """A cluster's weight tends to 1 / (1 - forget); one that gets no rows goes."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    X[1000:] += 30.0
    model = OnlineDPGMM(25.0, forget=0.99, patience=300).update(X)
    assert model.clusters(provisional=True).mean.round(0).tolist() == [[30.0, 30.0]]
    assert model.clusters().weight[0] == pytest.approx(100.0, rel=0.01)


@pytest.mark.parametrize(("K", "share"), [(8, 0.04), (20, 0.02), (20, 0.1), (30, 0.5)])
@pytest.mark.parametrize("kind", ["gmm", "mppca", "hsmm"])
def test_many_clusters_stay_where_weights_fade(kind: str, K: int, share: float) -> None:
    """Their weights tend to 1 / (K (1 - forget)), which may be less than `min_weight`.

    Rows come to clusters in turn, so that none is ever silent for 2 K rows.
    """
    rng = np.random.default_rng(K)
    z = np.concatenate([rng.permutation(K) for _ in range(40)])
    X = 30.0 * np.c_[z % 6, z // 6] + rng.normal(size=(len(z), 2))
    model = {
        "gmm": OnlineDPGMM(50.0, forget=1.0 - share),
        "mppca": OnlineDPMPPCA(50.0, noise=1.0, forget=1.0 - share, max_dim=0),
        "hsmm": OnlineHDPHSMM(50.0, noise=1.0, forget=1.0 - share, emission="gmm"),
    }[kind].update(X)
    if 2 * K * share <= 10.0:
        assert model.n_clusters == K
        found = model.predict(X)
        assert len(set(zip(z, found, strict=True))) == K
    else:  # most are out of the memory; none is lost
        assert len(model.clusters(provisional=True)) == K


# ---------------------------------------------------------------- answers
def test_densities_are_those_of_a_mixture() -> None:
    X, _ = blobs(3, 2, 9.0, 500, 4)
    model = OnlineDPGMM(25.0, covariance="spherical").update(X)
    found = model.clusters()
    assert len(found) == 3
    variance = (
        model._state.clusters.array("scatter").sum()
        / 2
        / (500 - model._state.clusters.n)
    )
    assert model.noise**2 == pytest.approx(variance, rel=1e-12)
    joint = np.column_stack(
        [
            np.log(w / found.weight.sum())
            + multivariate_normal(m, variance * np.eye(2)).logpdf(X)
            for w, m in zip(found.weight, found.mean, strict=True)
        ]
    )
    density = logsumexp(joint, axis=1)
    whole = oracle.with_background(density, X, model)
    np.testing.assert_allclose(model.score_samples(X), whole, rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(X), np.exp(joint - density[:, None]), rtol=0, atol=1e-12
    )
    assert model.score(X) == pytest.approx(whole.mean(), rel=1e-12)
    far = np.array([[900.0, -900.0]])
    assert model.predict(far)[0] in found.id
    assert model.predict(far, outliers=True).tolist() == [-1]
    assert model.predict_one(X[0]) == model.predict(X[:1])[0]


def test_densities_integrate_to_one() -> None:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=200), 9.0 + rng.normal(size=200), 60.0, -35.0][:, None]
    model = OnlineDPGMM(16.0).update(X)
    assert model.n_clusters < len(model.clusters(provisional=True))
    tails = 10.0 ** np.linspace(2.0, 6.0, 2001)
    grid = np.r_[-tails[::-1], np.linspace(-100.0, 100.0, 20_001)[1:-1], tails]
    mass = trapezoid(np.exp(model.score_samples(grid[:, None])), grid)
    assert mass == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("forget", [1.0, 0.99])
def test_rows_outside_of_confirmed_clusters_have_a_density(forget: float) -> None:
    """A tenth of the rows lies anywhere: their clusters stay provisional, or go."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3)) + 30.0 * np.eye(3)[rng.integers(3, size=3000)]
    lost = rng.random(3000) < 0.1
    X[lost] = rng.uniform(-200.0, 200.0, size=(lost.sum(), 3))
    model = OnlineDPGMM(40.0, forget=forget, patience=300).update(X[:2000])
    outside, inside = model.score(X[2000:][lost[2000:]]), model.score(X[~lost])
    assert outside > -30.0  # a uniform density has -20.3; clusters alone -5,000
    assert inside > -6.5  # 1.10 + 4.26 + log(10 / 9) = 5.5 under the truth
    assert np.isfinite(model.score_samples(np.full((1, 3), 1e120))).all()


def test_provisional_clusters_are_not_answered_with() -> None:
    model = OnlineDPGMM(1.0).update([[0.0]] * 4)
    assert model.predict([[0.0]]).tolist() == [-1]
    assert model.predict_proba([[0.0]]).shape == (1, 0)
    assert len(model.clusters()) == 0
    assert len(model.clusters(provisional=True)) == 1
    with pytest.raises(NotReadyError, match="confirmed"):
        model.score([[0.0]])
    assert model.learn_one([0.0]).predict([[0.0]]).tolist() == [0]


def test_a_cluster_can_be_removed() -> None:
    X, _ = blobs(3, 2, 20.0, 300, 0)
    model = OnlineDPGMM(25.0).update(X)
    gone = model.predict_one(X[0])
    n = int((model.predict(X) == gone).sum())
    model.remove(gone)
    assert gone not in model.clusters().id
    assert model._state.clusters.lost == n
    assert model.clusters().weight.sum() == 300 - n
    with same_bytes(model), pytest.raises(ValueError, match="an existing cluster"):
        model.remove(gone)


def test_a_merged_id_is_told_of() -> None:
    model = OnlineDPGMM(1.0, check_every=4, merge_factor=9.0, min_weight=1)
    model.update([[0.0], [0.0], [2.0], [2.0]])
    assert model.aliases_ == {1: 0}
    with pytest.raises(ValueError, match="merged into 0"):
        model.remove(1)


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lambda_": 0.0}, "lambda_ must be > 0; got 0.0"),
        ({"lambda_": "large"}, "lambda_ must be a number > 0 or 'auto'; got 'large'"),
        ({"lambda_": np.nan}, "lambda_ must be finite"),
        ({"forget": 0.0}, r"forget must be in \(0, 1\]"),
        ({"forget": 1.1}, r"forget must be in \(0, 1\]"),
        ({"min_weight": 0.5}, "min_weight must be >= 1; got 0.5"),
        ({"patience": 5}, "patience must be > min_weight, 5; got 5"),
        ({"max_clusters": 1}, "max_clusters must be an int >= 2; got 1"),
        ({"check_every": 0}, "check_every must be an int >= 1; got 0"),
        ({"merge_factor": -1.0}, "merge_factor must be >= 0"),
        ({"criterion": "ward"}, "criterion must be one of"),
        ({"warm_up": 1}, "warm_up must be an int >= 2; got 1"),
        ({"seed": -1}, "seed must be an int >= 0; got -1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        OnlineDPGMM(**options)


BAD: dict[str, tuple[Any, str]] = {
    "inf": ([[0.0, 1.0], [np.inf, 2.0]], "finite; got inf in row 1, column 0"),
    "NaN": ([[0.0, np.nan]], "finite; got nan in row 0, column 1"),
    "huge": ([[0.0, 1e200]], "at most 1e.150 in size"),
    "narrow": ([[0.0]], "must have 2 columns, as at the first update; got 1"),
    "flat": ([0.0, 1.0], r"of shape \(n_rows, n_features\)"),
    "text": ([["a", "b"]], "must hold real numbers; got 'a'"),
    "complex": (np.ones((1, 2), complex), "must hold real numbers"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("rows_before", [3, 30])
def test_bad_rows_are_refused_and_change_nothing(case: str, rows_before: int) -> None:
    """While rows are held back, and later."""
    X = np.random.default_rng(0).normal(size=(rows_before, 2))
    model = OnlineDPGMM(warm_up=20).update(X)
    rows, told = BAD[case]
    with same_bytes(model), pytest.raises(ValueError, match=told):
        model.update(rows)
    if rows_before == 30:
        with same_bytes(model), pytest.raises(ValueError, match=told):
            model.predict(rows)


def test_rows_as_dicts_are_known_by_their_keys() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) + 9.0 * rng.integers(2, size=(200, 1))
    names = ("b", "a", "c")
    plain = OnlineDPGMM(20.0)
    named = OnlineDPGMM(20.0)
    for x in X.tolist():
        row = dict(zip(names, x, strict=True))
        named.learn_one(dict(sorted(row.items())) if named.n_seen % 2 else row)
        plain.learn_one(x)
        assert named.last_label_ == plain.last_label_
    assert named.columns == names
    header, arrays = plain.to_arrays()
    other_header, other = named.to_arrays()
    header["features"] = other_header["features"]
    assert header == other_header
    assert all(arrays[k].tobytes() == other[k].tobytes() for k in arrays)
    for row in ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0, "d": 2.0}):
        with same_bytes(named), pytest.raises(ValueError, match="missing"):
            named.learn_one(row)
    for value in (np.nan, np.inf, "x", None, 1e200):
        with same_bytes(named), pytest.raises(ValueError, match="X must"):
            named.learn_one({"a": 1.0, "b": 1.0, "c": value})
    named.learn_one({"a": 1, "b": np.float32(1.0), "c": True})
    assert named.n_seen == 201
    with same_bytes(plain), pytest.raises(ValueError, match="x must be one row"):
        plain.learn_one(X)


def test_no_rows_are_no_error() -> None:
    model = OnlineDPGMM(1.0).update([]).update(np.empty((0, 3)))
    assert (model.n_seen, model.feature_names) == (0, ())
    model.update([[1.0, 2.0]] * 5)
    with same_bytes(model):
        model.update([])
        assert model.labels_.tolist() == []
        assert model.predict(np.empty((0, 2))).shape == (0,)


@pytest.mark.filterwarnings("ignore:the scales were chosen from")
def test_questions_before_rows_are_refused() -> None:
    model = OnlineDPGMM(warm_up=50)
    asked = ("predict", "predict_proba", "score_samples", "score", "transform")
    for name in asked:
        with pytest.raises(NotReadyError, match="none has come"):
            getattr(model, name)([[0.0]])
    for name in ("clusters", "merge_now"):
        with pytest.raises(NotReadyError, match="none has come"):
            getattr(model, name)()
    with pytest.raises(NotReadyError, match="needs at least 2 rows; 0 have come"):
        model.finish_warm_up()
    model.update(np.arange(12.0)[:, None])
    with pytest.raises(NotReadyError, match="chosen from 50 rows; got 12"):
        model.predict([[0.0]])
    assert model.labels_.tolist() == [-1] * 12
    model.finish_warm_up()
    assert len(model.labels_) == 12
    with same_bytes(model):
        model.finish_warm_up()


def test_equal_rows_are_told_of() -> None:
    with pytest.warns(ScaleWarning, match="are equal"):
        model = OnlineDPGMM(warm_up=20).update(np.ones((30, 2)))
    assert model.n_clusters == 1
    assert model.lambda_ > 0.0
    assert np.isfinite(model.score([[1.0, 1.0]]))


def test_repeated_rows_and_constant_columns_are_fine() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat(rng.integers(4, size=300), 2), np.full(600, 7.0)])
    model = OnlineDPGMM(warm_up=200).update(X[rng.permutation(600)])
    assert sorted(model.clusters().mean[:, 0].round(6)) == [0.0, 1.0, 2.0, 3.0]


def test_columns_of_different_scales_are_told_of() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 1e3]
    with pytest.warns(ScaleWarning, match="column 'x1' is more than 10000 .* 'x0'"):
        OnlineDPGMM(warm_up=50).update(X)
    frame = {"m": X[:, 0], "mm": X[:, 1]}
    with pytest.warns(ScaleWarning, match="'mm' .* 'm'"):
        OnlineDPGMM(warm_up=50).update(
            [dict(zip(frame, row, strict=True)) for row in X.tolist()]
        )


def test_a_large_offset_costs_nothing_but_its_rounding() -> None:
    X, _ = blobs(4, 3, 12.0, 800, 1)
    model, far = OnlineDPGMM(40.0).update(X), OnlineDPGMM(40.0).update(X + 1e8)
    assert far.labels_.tolist() == model.labels_.tolist()
    np.testing.assert_allclose(
        far.clusters().mean - 1e8, model.clusters().mean, atol=1e-5
    )
    assert far.noise == pytest.approx(model.noise, rel=1e-6)


@pytest.mark.parametrize("size", [1, 7, 256, 2000])
def test_chunks_of_any_size_give_the_same_bits(size: int) -> None:
    X, _ = blobs(8, 4, 6.0, 2000, 9)
    whole = OnlineDPGMM(warm_up=300).update(X)
    parts = OnlineDPGMM(warm_up=300)
    labels = [parts.update(X[k : k + size]).labels_ for k in range(0, 2000, size)]
    assert model_bytes(parts) == model_bytes(whole)
    learned = np.concatenate(labels)
    assert (learned == whole.labels_)[learned >= 0].all()


def test_many_clusters_and_many_merges_find_their_room() -> None:
    """More clusters than the first room, and more merges."""
    rng = np.random.default_rng(0)
    X = 1e3 * rng.normal(size=(500, 2))
    model = OnlineDPGMM(1.0, max_clusters=40, min_weight=1).update(X)
    assert model.n_clusters == 40
    assert len(model.aliases_) == 460
    assert set(model.aliases_.values()) <= set(model.clusters().id.tolist())
    other = oracle.DPGMM(1.0, max_clusters=40, min_weight=1)
    other.learn(X)
    same_clusters(model, other)


def test_threads_alter_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = blobs(5, 3, 6.0, 9000, 2)
    model = OnlineDPGMM(20.0).update(X)
    one = model.predict(X)
    monkeypatch.setenv("DYNTREE_NUM_THREADS", "2")
    assert model.predict(X).tobytes() == one.tobytes()


@pytest.mark.parametrize("swap", [False, True])
def test_a_merged_cluster_was_born_with_its_first_row(swap: bool) -> None:
    """Whichever of its parts is the heavier."""
    parts = np.array([[0.0], [0.0], [3.0], [3.0], [3.0]])
    X = (3.0 - parts[::-1]) if swap else parts
    model = OnlineDPGMM(4.0, min_weight=1, merge_factor=3.0).update(X)
    assert model.clusters().born.tolist() == ([0, 3] if swap else [0, 2])
    found = model.merge_now().clusters()
    assert (found.born.tolist(), found.last_seen.tolist()) == ([0], [4])
