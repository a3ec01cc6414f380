"""LinearStream: regressions of labels and counts, alone and as members of averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, AveragedTrees, LinearStream, checkpoint
from dyntree.encoding.targets import Exposed
from dyntree.errors import CheckpointError, MissingInputWarning
from tests.helpers import model_bytes
from tests.unit.models import checker, data, refused


def plane(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Labels on the sides of a plane, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.5 * rng.normal(size=n)
    return X, np.where(score > 0.0, "above", "below")


# data and seeds are fixed, so that nothing here fails by chance
def test_a_plane_is_found_by_few_rows() -> None:
    X, y = plane(300)
    model = LinearStream(seed=1).update(X[:100], y[:100])
    assert np.mean(model.predict(X[100:]).label == y[100:]) > 0.85


def test_regressions_gain_on_a_plane_and_lose_nothing_on_a_checker() -> None:
    for (X, y), low, high in [
        (plane(2000), 40.0, 400.0),
        (checker(1500, 1), -2.0, 40.0),
    ]:
        with_them, without = (
            AveragedStream(linear=linear, seed=1).update(X, y).log_evidence
            for linear in (True, False)
        )
        assert low < with_them - without < high


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_of_some_weight_has_the_evidence_of_its_copies(n_labels: int) -> None:
    """Its labels are not independent: as if they were it was .2 to .3 below."""
    X, y = plane(80)
    y = np.where(X[:, 2] > 0.8, "third", y) if n_labels == 3 else y
    gaps = []
    for k in range(50, 80):
        one = LinearStream(seed=1).update(X[:50], y[:50])
        other = one.copy()
        one.update(X[k : k + 1], y[k : k + 1], [4.0])
        other.update(X[[k] * 4], y[[k] * 4])
        gaps.append(one.log_evidence - other.log_evidence)
    assert abs(np.mean(gaps)) < 0.05


@pytest.mark.parametrize("model", ["class", "poisson", "negbin"])
def test_averages_without_regressions_have_none(model: str) -> None:
    X, y = data("class", 60) if model == "class" else events(60)[:2]
    for make in (AveragedStream, AveragedTrees):
        plain = make(model, linear=False, n_particles=5, seed=1).update(X, y)
        assert not any(isinstance(m, LinearStream) for m in plain.members)
        whole = make(model, n_particles=5, seed=1).update(X, y)
        n = len(plain.members)
        for mine, other in zip(plain.members, whole.members[:n], strict=True):
            assert model_bytes(mine) == model_bytes(other)
        assert "regressions" in repr(whole)
        assert "regressions" not in repr(plain)


def events(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Overdispersed counts, whose columns multiply their rate, and exposures."""
    rng = np.random.default_rng(seed)
    X, exposure = rng.normal(size=(n, 4)), rng.uniform(0.5, 2.0, n)
    rate = np.exp(0.5 + 0.4 * X[:, 0] - 0.3 * X[:, 1])
    return X, rng.poisson(rate * exposure * rng.gamma(2.0, 0.5, n)), exposure


def steps(n: int) -> tuple[Any, Any, Any]:
    """Counts of two rates."""
    rng = np.random.default_rng(1)
    X = rng.random((n, 4))
    return X, rng.poisson(np.where(X[:, 0] > 0.5, 4.0, 1.0)), np.ones(n)


@pytest.mark.slow
def test_regressions_of_counts_gain_on_a_line_and_lose_little_on_steps() -> None:
    for (X, y, e), low, high in [(events(1500), 20.0, 400.0), (steps(1500), -5.0, 9.0)]:
        with_them, without = (
            AveragedStream("negbin", linear=linear, seed=1)
            .update(X, y, exposure=e)
            .log_evidence
            for linear in (True, False)
        )
        assert low < with_them - without < high
        tables = [
            AveragedTrees("negbin", linear=linear, seed=1)
            .update(X[:400], y[:400], exposure=e[:400])
            .predict(X[400:], exposure=e[400:])
            .log_density(y[400:])
            .mean()
            for linear in (True, False)
        ]
        assert tables[0] - tables[1] > -0.01
        assert (tables[0] - tables[1] > 0.01) == (low > 0.0)


def test_coefficients_of_counts_are_those_of_a_negative_binomial_regression() -> None:
    sm = pytest.importorskip("statsmodels.api")
    X, y, e = events(300)
    model = LinearStream("negbin", spreads=[2.0], seed=1).update(X, y, exposure=e)
    fit = sm.NegativeBinomial(y, sm.add_constant(X), exposure=e).fit(disp=0)
    at = np.vstack([np.zeros(4), np.eye(4)])
    log_rate = np.log(model.predict(at, exposure=1.0).mean)
    np.testing.assert_allclose(log_rate[0], fit.params[0], rtol=0, atol=0.08)
    np.testing.assert_allclose(log_rate[1:] - log_rate[0], fit.params[1:5], atol=0.05)
    se = model.predict(at[:1], exposure=1.0).mean_se / np.exp(log_rate[0])
    np.testing.assert_allclose(se, fit.bse[0], rtol=0.2)


def test_weights_of_an_average_of_counts_do_not_depend_on_the_call() -> None:
    X, y, e = events(60)
    whole = AveragedStream("poisson", seed=1).update(X, y, exposure=e)
    rows = AveragedStream("poisson", seed=1)
    for k in range(60):
        rows.update(X[k : k + 1], y[k : k + 1], exposure=e[k : k + 1])
    assert model_bytes(whole) == model_bytes(rows)
    quick = AveragedStream("poisson", seed=1).update(X[:20], y[:20], exposure=e[:20])
    for k in range(20, 60):
        quick.learn_row(X[k : k + 1], Exposed(float(y[k]), float(e[k])))
    assert model_bytes(whole) == model_bytes(quick)
    assert whole.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert whole.linear_share == pytest.approx(whole.weights[-2:].sum(), rel=1e-12)
    assert AveragedStream("poisson", linear=False).linear_share == 0.0
    history = whole.weight_history.weights.sum(axis=1)
    np.testing.assert_allclose(history, 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "dispersion"), [("poisson", None), ("negbin", None), ("negbin", 0.5)]
)
def test_draws_of_counts_follow_predictions(model: str, dispersion: Any) -> None:
    """Means within 4 standard errors and 1 %, tails of responses within .03."""
    X, y, e = events(200)
    made = LinearStream(model, dispersion=dispersion, seed=1).update(X, y, exposure=e)
    asked = np.vstack([X[:4], X[:1], [[np.nan, *X[0, 1:]]]])
    with pytest.warns(MissingInputWarning):
        prediction = made.predict(asked, exposure=2.0)
    draws = made.posterior_draws(asked, 8000, "mean", exposure=2.0, seed=2).values
    np.testing.assert_array_equal(draws[:, 0], draws[:, 4])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    off = np.abs(draws.mean(axis=0) - prediction.mean)
    assert np.all(off < 4.0 * error + 0.01 * prediction.mean)
    drawn = made.posterior_draws(asked, 8000, "obs", exposure=2.0, seed=3).values
    for level in (0.1, 0.5, 0.9):
        at = prediction.quantile(level)
        below = np.mean(drawn <= at, axis=0)
        np.testing.assert_allclose(below, prediction.cdf(at), rtol=0, atol=0.03)


def test_exposures_multiply_rates_and_are_refused_for_labels() -> None:
    X, y, e = events(100)
    made = LinearStream("negbin", seed=1).update(X, y, exposure=e)
    in_days = LinearStream("negbin", seed=1).update(X, y, exposure=365.0 * e)
    one, other = (m.predict(X, exposure=k) for m, k in ((made, 1.0), (in_days, 365.0)))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
    labels = LinearStream(seed=1)
    with refused("exposure", ""):
        labels.update(X, y > 1, exposure=e)
    assert labels.n_seen == 0


def test_no_rate_is_far_above_all_events() -> None:
    """A prior that is wide predicts no number of events that nobody has seen."""
    X, y, e = events(12)
    made = LinearStream("poisson", spreads=[5.0], seed=1).update(X, y, exposure=e)
    far = made.predict(np.full((1, 4), 100.0), exposure=1.0)
    assert far.mean[0] <= 15.0 * (max(y) + 1.0) / min(e)
    draws = made.posterior_draws(np.full((1, 4), 100.0), 100, "mean", seed=1).values
    assert draws.max() <= 10.001 * (max(y) + 1.0) / min(e)


def test_many_columns_have_no_regressions_by_default() -> None:
    X = np.random.default_rng(0).normal(size=(30, 201))
    y = np.where(X[:, 0] > 0.0, "a", "b")
    stream = AveragedStream(n_particles=2, seed=1).update(X, y)
    assert not any(isinstance(m, LinearStream) for m in stream.members)
    stream = AveragedStream(n_particles=2, seed=1).update(X[:, :200], y)
    assert sum(isinstance(m, LinearStream) for m in stream.members) == 2
    many = np.arange(30) % 10
    stream = AveragedStream("class", n_particles=2, seed=1).update(X[:, :90], many)
    assert not any(isinstance(m, LinearStream) for m in stream.members)


@pytest.mark.parametrize("n", [1, 30, 60])
def test_wide_tables_have_no_regressions(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 201))
    y = np.where(np.arange(n) % 2, "a", "b")
    trees = AveragedTrees(n_clouds=2, n_particles=3, seed=1).update(X, y)
    without = AveragedTrees(n_clouds=2, n_particles=3, linear=False, seed=1)
    assert len(trees.members) == 4
    assert trees.powers == without.update(X, y).powers
    np.testing.assert_array_equal(trees.predict(X).proba, without.predict(X).proba)
    trees.update(X, y).copy()
    fresh = AveragedTrees("class", n_clouds=2, seed=1)
    with pytest.raises(ValueError, match="finite"):
        fresh.update(X, y, np.full(n, -1.0))
    assert len(fresh.members) == 7


def test_members_may_be_regressions_but_not_the_first() -> None:
    X, y = data("class", 40)
    members: list[Any] = [{"window": 20}, {"linear": True, "spreads": [1.0]}]
    stream = AveragedStream("class", members=members, seed=1).update(X, y)
    assert stream.facts()["members"][1]["linear"] is True
    assert stream.members[1].options.spreads == (1.0,)
    counts = AveragedStream("poisson", members=[*members, {"window": 9}], seed=1)
    assert [isinstance(m, LinearStream) for m in counts.members] == [0, 0, 1]


def test_draws_average_to_predictions() -> None:
    """Four standard errors, and .02 for the quadrature of three labels."""
    X, y = plane(60)
    labels = np.where(y == "above", np.where(X[:, 3] > 0.0, "p", "q"), "r")
    X = X.copy()
    for target in (y, labels):
        model = LinearStream(seed=1).update(X, target)
        asked = np.vstack([X[:4], X[:1], [[np.nan, *X[0, 1:]]]])
        with pytest.warns(MissingInputWarning):
            draws = model.posterior_draws(asked, 4000, "mean", seed=2).values
        np.testing.assert_allclose(draws.sum(axis=2), 1.0, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(draws[:, 0], draws[:, 4])
        off = draws.mean(axis=0) - model.predict(asked).proba
        error = draws.std(axis=0) / np.sqrt(len(draws))
        assert np.all(np.abs(off) < 4.0 * error + 0.02)


def test_a_row_with_a_gap_is_less_certain() -> None:
    X, y = plane(400)
    model = LinearStream(seed=1).update(X, y)
    row = np.array([[3.0, 0.0, 0.0, 0.0, 0.0]])
    gap = row.copy()
    gap[0, 0] = np.nan
    sure = model.predict(row).proba[0, 0]
    with pytest.warns(MissingInputWarning):
        unsure = model.predict(gap).proba[0, 0]
    assert sure > 0.95
    assert 0.3 < unsure < 0.7


def test_text_columns_levels_and_labels_may_come_late() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.choice(["u", "v"], 200)
    frame = pd.DataFrame({"a": rng.normal(size=200), "kind": kind})
    model = LinearStream(seed=1).update(frame, np.where(kind == "u", 1, 2))
    assert np.mean(model.predict(frame).label == np.where(kind == "u", 1, 2)) > 0.95
    late = frame.assign(kind="w")
    model.update(late, np.full(200, 3))
    assert model.classes == (1, 2, 3)
    assert np.mean(model.predict(late).label == 3) > 0.9


def test_a_saved_model_with_a_changed_value_is_refused() -> None:
    X, y = plane(60)
    header, arrays = LinearStream(seed=1).update(X, y).to_arrays()
    for name, place, value in [
        ("covariance", (0, 0, 1, 2), 0.5), ("covariance", (1, 0, 1, 1), 9.0),
        ("mean", (0, 0, 0), 3.0), ("moment", (2, 0, 1), 9.0), ("square", (0,), -1.0),
        ("log_weights", (0,), 1.0), ("unit", (0,), 0.0), ("prior", (0, 1), 99.0),
    ]:  # fmt: skip
        changed = {key: array.copy() for key, array in arrays.items()}
        changed[name][place] = value
        with pytest.raises(CheckpointError):
            LinearStream.from_arrays(header, changed)
    checkpoint.loads(checkpoint.dumps(LinearStream(seed=1).update(X, y)))


@pytest.mark.parametrize("forget", [0.5, 0.8, 0.99, 1.0])
@pytest.mark.parametrize("weight", [None, 1e-9, 1e7, 1e9, "mixed"])
def test_heavy_rows_and_quick_forgetting_leave_a_model_whole(
    forget: float, weight: Any
) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 30))
    y = np.where(X[:, 0] > X[:, 1], "a", "b")
    X[rng.random(X.shape) < 0.2] = np.nan
    weights = weight
    if weight == "mixed":
        weights = 10.0 ** rng.integers(-9, 10, 150)
    elif weight is not None:
        weights = np.full(150, weight)
    model = LinearStream(forget=forget, seed=1)
    for part in np.array_split(np.arange(150), 6):
        own = None if weights is None else weights[part]
        model.update(X[part], y[part], own)
        assert np.isfinite(model.predict(X).proba).all()
        assert np.isfinite(model.posterior_draws(X[:3], 5, seed=1).values).all()
        again = checkpoint.loads(checkpoint.dumps(model))
        np.testing.assert_array_equal(again.predict(X).proba, model.predict(X).proba)
    assert np.isfinite(model.state.cloud.coefficients[1]).all()


def test_an_outlier_does_as_little_among_the_first_rows_as_later() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = np.where(X[:, 0] > 0.0, "p", "q")
    for place in (3, 30):
        far = X.copy()
        far[place] = 1e4
        model = LinearStream(classes=("p", "q"), seed=1).update(far, y)
        assert model.predict([[1.0]]).proba[0, 0] > 0.9


def test_dropped_rows_stay_learned() -> None:
    X, y = plane(40)
    for n in (3, 9):
        model = LinearStream(seed=1).update(X[:n], y[:n]).remove_data()
        assert model.n_active == 0
        model.update(X[n:20], y[n:20])
        fresh = LinearStream(classes=model.classes, seed=1).update(X[n:20], y[n:20])
        assert np.any(model.predict(X).proba != fresh.predict(X).proba)


def test_large_values_keep_their_column() -> None:
    X = np.sign(np.random.default_rng(6).normal(size=(60, 2))) * 1e150
    y = np.where(X[:, 0] > 0.0, "a", "b")
    model = LinearStream(seed=1).update(X, y, np.full(60, 1e9))
    assert np.mean(model.predict(X).label == y) == 1.0
    checkpoint.loads(checkpoint.dumps(model))


def test_regressions_have_no_leaves_to_count() -> None:
    with pytest.raises(ValueError, match="stats is of trees"):
        LinearStream(seed=1).update(*plane(20)).stats()


def treated(model: str, n: int = 250) -> tuple[Any, Any]:
    """A treatment by the toss of a coin, which works above the middle of a column."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(2, size=n)])
    score = 0.3 * X[:, 0] + X[:, 2] * (X[:, 1] > 0.0)
    if model == "class":
        return X, np.where(score + rng.logistic(size=n) > 0.0, "a", "b")
    return X, rng.poisson(np.exp(score))


def settings(X: Any) -> tuple[Any, Any]:
    """Rows with the treatment, and without."""
    return tuple(np.column_stack([X[:, :2], np.full(len(X), v)]) for v in (1.0, 0.0))


@pytest.mark.parametrize("model", ["class", "negbin"])
@pytest.mark.parametrize("make", [AveragedStream, AveragedTrees])
def test_regressions_say_how_large_an_effect_is_and_trees_where(
    make: Any, model: str
) -> None:
    X, y = treated(model)
    average = make(model, seed=1).update(X, y)
    trees, lines = average._by_effects()
    high, low = settings(X)
    both, rng = np.vstack([high, low]), np.random.default_rng(0)

    def effect(values: Any) -> Any:
        one = values[..., 0] if model == "class" else values
        one = one.reshape(len(one), 2, -1).mean(axis=2)
        return one[:, 0] - one[:, 1] if model == "class" else one[:, 0] / one[:, 1]

    found = np.empty((400, *np.shape(average.effect_means(both, 2))))
    for block in average.draw_blocks(both, 400, rng, n_compared=2):
        found[block.places] = block.mean
    wanted = effect(np.asarray(average._means_by(lines, both))[None])[0]
    draws = effect(found)
    error = 4.0 * draws.std() / 20.0
    assert draws.mean() == pytest.approx(wanted, abs=error + 0.03 * abs(wanted))
    mean = effect(np.asarray(average.effect_means(both, 2))[None])[0]
    assert mean == pytest.approx(wanted, rel=0.05)  # reference rows are a part of X
    # what differs between rows is of the trees
    up = X[:, 1] > 0.0
    each = average.compute_contrast(low, high, 400, seed=1)
    gap = each.values[:, up].mean() - each.values[:, ~up].mean()
    plain = np.asarray(average._means_by(trees, both)).reshape(2, len(X), -1)[..., 0]
    tree_gap = (plain[0] - plain[1])[up].mean() - (plain[0] - plain[1])[~up].mean()
    values = (
        gap
        if model != "class"
        else (each.values[:, up, 0].mean() - each.values[:, ~up, 0].mean())
    )
    assert values == pytest.approx(tree_gap, rel=0.3, abs=0.05)


def test_effects_of_columns_of_many_values_come_from_the_whole_average() -> None:
    X, y = treated("negbin")
    average = AveragedTrees("negbin", seed=1).update(X, y)
    rows = np.vstack([X, X])
    rows[: len(X), 0] += 1.0
    assert average._reference(rows, 2) is None
    assert average._reference(np.vstack([*settings(X)]), 2) is not None
    off = np.vstack([*settings(X)])
    off[:, 2] *= 0.5  # no value that was learned
    assert average._reference(off, 2) is None
    plain = AveragedTrees("negbin", linear=False, seed=1).update(X, y)
    assert plain._reference(np.vstack([*settings(X)]), 2) is None


def test_effects_need_no_active_rows() -> None:
    X, y = treated("class", 60)
    average = AveragedTrees("class", seed=1).update(X, y).remove_data()
    draws = average.compute_contrast(*settings(X[:3]), 20, seed=1).values
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(axis=2), 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["class", "poisson"])
def test_a_late_level_is_as_a_declared_one(model: str) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    g = np.array(["a", "b"] * 100 + ["new"] * 50 + ["a", "new"] * 25)
    g[::17] = None
    frame = pd.DataFrame({"x": rng.normal(size=300), "g": g.astype(object)})
    frame.loc[frame.g == "None", "g"] = None
    score = 1.0 + 1.5 * (g == "new")
    y = rng.poisson(np.exp(score)) if model == "poisson" else score > 1.7
    levels = {"g": ["a", "b", "new"]}
    labels = (False, True) if model == "class" else None
    known, late, rows = (
        LinearStream(model, categories=c, classes=labels, seed=1)
        for c in (levels, None, None)
    )
    known.update(frame, y)
    late.update(frame, y)
    for k in range(0, 300, 7):
        rows.update(frame[k : k + 7], y[k : k + 7])
    asked = pd.DataFrame({"x": 0.0, "g": ["a", "b", "new"]})
    more = {} if model == "class" else {"exposure": 1.0}
    answers = [m.predict(asked, **more) for m in (known, late, rows)]
    means = [a.proba if model == "class" else a.mean for a in answers]
    np.testing.assert_allclose(means[2], means[1], rtol=1e-9)
    # not equal, as two levels have one column before the third comes
    close = {"rtol": 0.06} if model == "poisson" else {"atol": 0.03}
    np.testing.assert_allclose(means[1], means[0], **close)
    if model == "poisson":
        np.testing.assert_allclose(means[0], np.exp([1.0, 1.0, 2.5]), rtol=0.15)


def test_a_rare_column_of_two_values_has_its_effect() -> None:
    """Log ratio of rates as maximum likelihood has it, however late the column is 1."""
    rng = np.random.default_rng(3)
    for n_before, n_after in ((1000, 30), (5000, 100), (30, 1000)):
        t = np.repeat([0.0, 1.0], [n_before, n_after])
        y = rng.poisson(np.exp(0.7 * t + 0.5))
        model = LinearStream("poisson", seed=1).update(t[:, None], y)
        both = model.predict([[1.0], [0.0]], exposure=1.0).mean
        wanted = y[t == 1.0].mean() / y[t == 0.0].mean()
        assert both[0] / both[1] == pytest.approx(wanted, rel=0.1)


def test_an_empty_exposure_raises_no_rate() -> None:
    X, y, e = events(15)
    made = LinearStream("poisson", seed=1).update(X, y, exposure=e)
    far = [[9.0, -9.0, 9.0, -9.0]]
    before = made.predict(far, exposure=1.0).mean[0]
    made.update(np.zeros((1, 4)), [0], exposure=[1e-8])
    assert made.predict(far, exposure=1.0).mean[0] < 1.5 * before


@pytest.mark.parametrize("K", [2, 3])
def test_effects_on_labels_stay_probabilities(K: int) -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=250), rng.integers(2, size=250)])
    score = 3.0 + 1.5 * X[:, 0] + X[:, 1] + rng.logistic(size=250)
    y = np.digitize(score, [0.0] if K == 2 else [0.0, 3.0])
    average = AveragedTrees("class", seed=1).update(X, y)
    high, low = (np.column_stack([X[:, 0], np.full(250, v)]) for v in (1.0, 0.0))
    both = np.vstack([high, low])
    values = [average.effect_means(both, 2)[None]]
    blocks = average.draw_blocks(both, 300, np.random.default_rng(0), n_compared=2)
    for block in blocks:
        values.append(block.mean)
    for part in values:
        assert part.min() >= 0.0
        np.testing.assert_allclose(part.sum(axis=-1), 1.0, rtol=1e-12)
    # the order of the settings has no meaning
    turned = average.effect_means(np.vstack([low, high]), 2)
    np.testing.assert_allclose(turned[250:], values[0][0][:250], rtol=1e-9)
    far = average.compute_contrast([[2.5, 0.0]], [[2.5, 1.0]], 300, seed=1).values
    assert np.abs(far.mean(axis=0)).max() < 0.03 or K == 3
