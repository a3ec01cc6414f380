"""Frozen answers: the mixture of t's against SciPy, labels, records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

from dyntree import DynamicTree
from dyntree.summaries import (
    ClassPrediction,
    Importance,
    Prediction,
    Relevance,
    Sensitivity,
    StudentMixture,
    TreeStats,
    student_log_density,
)
from tests.unit.models import refused

FALSE_FAIL = 1e-6  # of every test with random draws


def mixture(seed: int = 0, least_df: float = 3.0, n_rows: int = 4) -> StudentMixture:
    """Rows of one to four components, some far apart."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(n_rows) % 4 + 1
    start = np.concatenate([[0], np.cumsum(sizes)])
    n = start[-1]
    return StudentMixture(
        start=start,
        weight=np.concatenate([rng.dirichlet(np.ones(size)) for size in sizes]),
        location=rng.normal(size=n) * 5.0,
        scale=rng.uniform(0.2, 2.0, n),
        df=least_df + rng.uniform(0.0, 20.0, n),
    )


def parts(mix: StudentMixture, row: int) -> tuple[np.ndarray, Any]:
    """Weights of one row and its components as SciPy's distributions."""
    k = slice(mix.start[row], mix.start[row + 1])
    return mix.weight[k], stats.t(mix.df[k], mix.location[k], mix.scale[k])


def told_by(mix: StudentMixture) -> Prediction:
    """A prediction whose mean has from all to a tenth of each component's scale."""
    part = mix.scale * np.linspace(1.0, 0.1, len(mix.scale))
    return Prediction.of(mix, dataclasses.replace(mix, scale=part))


def empty() -> StudentMixture:
    return StudentMixture(np.zeros(1, np.int64), *np.empty((4, 0)))


@pytest.mark.parametrize("seed", range(3))
def test_cdf_and_density_are_those_of_the_components(seed: int) -> None:
    mix = mixture(seed)
    for y in np.linspace(-20.0, 20.0, 9):
        at = np.full(mix.n_rows, y)
        for row in range(mix.n_rows):
            weight, component = parts(mix, row)
            # both add at most four terms that are good to a few ulp
            assert mix.cdf(at)[row] == pytest.approx(
                weight @ component.cdf(y), rel=1e-12
            )
            assert mix.log_density(at)[row] == pytest.approx(
                special.logsumexp(component.logpdf(y), b=weight), abs=1e-12, rel=1e-12
            )


@pytest.mark.parametrize("seed", range(3))
def test_the_density_integrates_to_the_cdf(seed: int) -> None:
    mix = mixture(seed)
    low, high = np.full(mix.n_rows, -6.0), np.full(mix.n_rows, 3.0)
    got = mix.cdf(high) - mix.cdf(low)
    for row in range(mix.n_rows):

        def density(y: float, row: int = row) -> float:
            return float(np.exp(mix.log_density(np.full(mix.n_rows, y))[row]))

        area, _ = integrate.quad(density, -6.0, 3.0, epsabs=1e-11, limit=400)
        assert area == pytest.approx(got[row], abs=1e-9)  # quad asks for 1e-11


@pytest.mark.parametrize("q", [1e-9, 1e-3, 0.05, 0.5, 0.9, 0.999999])
def test_quantiles_invert_the_cdf(q: float) -> None:
    for seed in range(3):
        mix = mixture(seed)
        # the last bit of y moves the cdf by less than 1e-15 * |y| * density / scale
        np.testing.assert_allclose(mix.cdf(mix.quantile(q)), q, rtol=1e-9, atol=1e-14)


def test_quantiles_of_one_component_are_scipys() -> None:
    mix = mixture(n_rows=1)
    _, component = parts(mix, 0)
    for q in (0.01, 0.5, 0.975):
        assert mix.quantile(q)[0] == pytest.approx(component.ppf(q)[0], rel=1e-12)


def test_the_log_density_is_finite_far_in_the_tails() -> None:
    mix = mixture()
    for sign in (-1.0, 1.0):
        near, far = (
            mix.log_density(np.full(mix.n_rows, sign * y)) for y in (1e100, 1e307)
        )
        heaviest = np.minimum.reduceat(mix.df, mix.start[:-1])
        slope = -(heaviest + 1.0) * np.log(10.0) * 207
        # only the heaviest tail is left there, a power law
        np.testing.assert_allclose(far - near, slope, rtol=1e-9)
    # weights sum to one but for rounding
    np.testing.assert_allclose(mix.cdf(np.full(mix.n_rows, 1e308)), 1.0, rtol=1e-15)


def test_the_log_density_at_the_centre_and_close_to_it() -> None:
    df, scale = np.array([0.5, 3.0, 1e6]), np.array([1e-3, 1.0, 1e3])
    for distance in (0.0, 1e-200, 1e-9, 0.1):
        got = student_log_density(np.full(3, distance), scale, df)
        np.testing.assert_allclose(
            got, stats.t.logpdf(distance, df, scale=scale), rtol=1e-9, atol=1e-9
        )  # gammaln of a million leaves nine digits


@pytest.mark.parametrize("seed", range(2))
def test_samples_follow_the_distribution(seed: int) -> None:
    """Kolmogorov-Smirnov: sees a distance of 0.02 in the cdf."""
    mix, n = mixture(seed, least_df=1.0), 20_000
    draws = mix.sample(n, np.random.default_rng(seed))
    assert draws.shape == (n, mix.n_rows)
    for row in range(mix.n_rows):
        weight, component = parts(mix, row)
        levels = component.cdf(draws[:, row, None]) @ weight
        result = stats.kstest(levels, "uniform")
        assert result.pvalue > FALSE_FAIL / (2 * mix.n_rows)


@pytest.mark.parametrize("seed", range(2))
def test_samples_match_the_moments(seed: int) -> None:
    """z tests with 10^5 draws: see an error of .02 standard deviations in the mean."""
    mix, n = mixture(seed, least_df=9.0), 100_000
    told = told_by(mix)
    draws = told.sample(n, seed)
    z = stats.norm.isf(FALSE_FAIL / 2 / (2 * 2 * mix.n_rows))
    centred = draws - told.mean
    for values, truth in ((centred, 0.0), (centred**2, told.var)):
        error = values.std(axis=0) / np.sqrt(n)
        assert (np.abs(values.mean(axis=0) - truth) < z * error).all()


def test_moments_are_those_of_the_mixture() -> None:
    mix = mixture()
    told = told_by(mix)
    for row in range(mix.n_rows):
        weight, component = parts(mix, row)
        mean = weight @ component.mean()
        second = weight @ (component.var() + component.mean() ** 2)
        # sums of four terms of size <= 100
        assert told.mean[row] == pytest.approx(mean, abs=1e-12)
        assert told.var[row] == pytest.approx(second - mean**2, rel=1e-9)
        k = slice(mix.start[row], mix.start[row + 1])
        assert told.df[row] == pytest.approx(weight @ mix.df[k], rel=1e-12)


def test_the_mean_has_a_standard_error() -> None:
    told = told_by(mixture(least_df=5.0))
    for row in range(told.of_mean.n_rows):
        weight, component = parts(told.of_mean, row)
        second = weight @ (component.var() + component.mean() ** 2)
        want = np.sqrt(second - told.mean[row] ** 2)
        assert told.mean_se[row] == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 2.0])
def test_two_degrees_of_freedom_or_less_leave_no_variance(df: float) -> None:
    mix = mixture()
    heavy = dataclasses.replace(mix, df=np.where(mix.row == 1, df, mix.df))
    assert np.isinf(told_by(heavy).var).tolist() == [False, True, False, False]


def test_no_rows_give_empty_answers() -> None:
    told = told_by(empty())
    for values in (told.mean, told.var, told.df, told.cdf([]), told.log_density([])):
        assert values.shape == (0,)
    assert told.quantile(0.5).shape == (0,)
    assert told.quantile([0.1, 0.9]).shape == (0, 2)
    assert told.sample(3).shape == (3, 0)
    told = told_by(mixture())
    assert told.quantile([]).shape == (4, 0)
    assert told.sample(0).shape == (0, 4)


def test_one_quantile_or_many() -> None:
    told = told_by(mixture())
    many = told.quantile((0.1, 0.5))
    assert many.shape == (4, 2)
    assert many[:, 1].tolist() == told.quantile(0.5).tolist()
    assert (many[:, 0] < many[:, 1]).all()


@pytest.mark.parametrize("q", [0.0, 1.0, -0.5, np.nan, "a", [0.5, 1.0], [[0.5]], None])
def test_probabilities_are_inside_zero_and_one(q: Any) -> None:
    told = told_by(mixture())
    for one in (told, told.mixture, told.of_mean):
        with refused("q", repr(q)):
            one.quantile(q)
    with refused("levels", repr(q)):
        told.of_mean.quantiles(q)


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_a_number_of_draws_is_a_count(n: Any) -> None:
    for told in (told_by(mixture()), labels()):
        with refused("n", repr(n)):
            told.sample(n)


@pytest.mark.parametrize("ask", ["cdf", "log_density"])
def test_responses_are_one_a_row(ask: str) -> None:
    told = told_by(mixture())
    with refused("y", "(3,)"):
        getattr(told, ask)([1.0, 2.0, 3.0])
    with refused("y", "nan in row 2"):
        getattr(told, ask)([1.0, 2.0, np.nan, 3.0])


def test_draws_are_fixed_by_seed_or_generator() -> None:
    for told in (told_by(mixture()), labels()):
        first = told.sample(5, seed=3)
        assert (told.sample(5, seed=np.random.default_rng(3)) == first).all()
        assert (told.sample(5, seed=4) != first).any()
        rng = np.random.default_rng(3)
        assert (told.sample(5, rng) != told.sample(5, rng)).any()


# ---------------------------------------------------------------- labels
PROBA = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.2, 0.2]])


def labels(classes: tuple[Any, ...] = ("a", "b", "c")) -> ClassPrediction:
    return ClassPrediction(PROBA.copy(), classes, np.zeros(3))


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (("a", "b", "c"), "U"),
        ((10, 20, 30), "i"),
        ((False, True, 7.5), "f"),
        (("a", 1, None), "O"),
        (("a", 1, 2), "O"),
        (("a", True, b"b"), "O"),
        (("a\0", "b\0", "c"), "O"),
        ((0.5, 2**53 + 1, 7), "O"),
        (((1, 2), (3, 4), (5, 6)), "O"),
    ],
)
def test_the_most_probable_label_is_given_as_it_came(classes: Any, kind: str) -> None:
    told = labels(classes).label
    assert told.dtype.kind == kind
    assert told.tolist() == [classes[1], classes[1], classes[0]]


def test_the_log_probability_of_the_label_that_came() -> None:
    told = labels()
    expected = [np.log(0.3), 0.0, np.log(0.6)]
    assert told.log_density(["c", "b", "a"]).tolist() == expected
    assert told.log_density(["c", "a", "a"])[1] == -np.inf
    with refused("y", "'z' in row 1"):
        told.log_density(["a", "z", "a"])
    with refused("y", "(2,)"):
        told.log_density(["a", "b"])


def test_drawn_labels_follow_the_probabilities() -> None:
    """Chi-square, 10^5 draws: sees an error of .01 in a probability."""
    drawn = labels().sample(100_000, seed=1)
    assert set(drawn[:, 1]) == {"b"}
    for row in (0, 2):
        counts = [np.sum(drawn[:, row] == label) for label in "abc"]
        assert stats.chisquare(counts, PROBA[row] * len(drawn)).pvalue > FALSE_FAIL / 2


def test_records_are_frozen_through_and_through() -> None:
    records = [
        mixture(),
        told_by(mixture()),
        labels(),
        Relevance(np.ones((2, 3)), ("a", "b", "c")),
        Sensitivity(*np.ones((2, 2, 2)), *np.ones((2, 2, 2)), ("a", "b"), ("a", "b")),
        Importance(np.ones(2), np.zeros(2), ("a", "b")),
        TreeStats(1.0, 2.0, 3.0, 4.0),
    ]
    for record in records:
        for name, value in vars(record).items():
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(record, name, value)
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable


def test_records_with_arrays_compare_by_identity() -> None:
    one, other = mixture(), mixture()
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_a_component_without_degrees_of_freedom_draws_nan() -> None:
    one = np.ones(2)
    mixture = StudentMixture(np.arange(3), one, one, one, np.array([0.0, 5.0]))
    draws = mixture.sample(50, np.random.default_rng(1))
    assert np.all(np.isnan(draws[:, 0]))
    assert np.all(np.isfinite(draws[:, 1]))


@pytest.fixture(params=["constant", "linear", "poisson", "negbin"])
def answer(request: pytest.FixtureRequest) -> Prediction:
    X = np.arange(40.0)[:, None]
    tree = DynamicTree(request.param, n_particles=20, seed=1)
    found = tree.update(X, np.arange(40) % 5).predict(X[:3])
    assert isinstance(found, Prediction)
    return found


def test_laws_take_what_a_prediction_takes(answer: Prediction) -> None:
    y = np.array([1.0, 2.0, 3.0])
    for law in (answer.mixture, answer.of_mean):
        both = law.quantile([0.05, 0.95])
        assert both.shape == (3, 2)
        assert law.quantile(0.05).tolist() == both[:, 0].tolist()
        assert law.quantiles((0.05, 0.95)).tolist() == both.tolist()
        assert law.cdf(y.tolist()).tolist() == law.cdf(y).tolist()
        assert law.sample(4, seed=3).shape == (4, 3)
        again = law.sample(4, np.random.default_rng(3))
        assert law.sample(4, seed=3).tolist() == again.tolist()


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda law: law.quantile([5, 95]), r"q must hold probabilities.*\[5, 95\]"),
        (lambda law: law.quantiles([-1, 2]), "levels must hold probabilities"),
        (lambda law: law.quantile(np.nan), "q must hold probabilities"),
        (lambda law: law.quantile("half"), "q must"),
        (lambda law: law.cdf([1.0]), "y must be of shape"),
        (lambda law: law.cdf(1.0), "y must"),
        (lambda law: law.sample(-1), "n must be an int >= 0"),
        (lambda law: law.sample(1, seed="x"), "seed must be"),
    ],
)
def test_laws_refuse_what_a_prediction_refuses(
    answer: Prediction, ask: Callable[[Any], Any], told: str
) -> None:
    for law in (answer.mixture, answer.of_mean):
        with pytest.raises(ValueError, match=told):
            ask(law)


NO_ARRAY: list[Callable[[Any], Any]] = [
    lambda answer: answer[0], lambda answer: answer - np.ones(9), list, np.asarray,
    lambda answer: pd.DataFrame({"a": np.ones(9)}).assign(p=answer),
]  # fmt: skip


@pytest.mark.parametrize("use", NO_ARRAY)
@pytest.mark.parametrize("model", ["constant", "class", "poisson"])
def test_a_prediction_is_no_array(model: str, use: Callable[[Any], Any]) -> None:
    """A frame would take it as one value, and put it into every row."""
    X, y = np.arange(9.0)[:, None], [k % 2 for k in range(9)]
    answer = DynamicTree(model, n_particles=3, seed=1).update(X, y).predict(X)
    with pytest.raises(TypeError, match=r"Prediction is a distribution .* Use "):
        use(answer)
    assert answer  # as every object is, which `or` and `if` ask


@pytest.mark.parametrize(
    ("model", "name", "hint"),
    [
        ("constant", "proba", "pass model='class' to the model"),
        ("constant", "interval", r"quantile\(\[0.05, 0.95\]\)"),
        ("constant", "quantil", "Did you mean quantile"),
        ("poisson", "label", "pass model='class' to the model"),
        ("class", "mean", "learned as labels: use proba or label"),
    ],
)
def test_a_prediction_says_what_it_has(model: str, name: str, hint: str) -> None:
    X, y = np.arange(9.0)[:, None], [k % 2 for k in range(9)]
    answer = DynamicTree(model, n_particles=3, seed=1).update(X, y).predict(X)
    with pytest.raises(AttributeError, match=hint):
        getattr(answer, name)
