"""Counts of events in all models of trees: leaves as by the formulas, and faces."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree._core.rng import CounterSource
from dyntree._core.trees import criteria, query
from dyntree._core.trees.cloud import Cloud
from dyntree.errors import AssumedValueWarning, DegenerateTreesWarning
from dyntree.evaluate import prequential
from dyntree.summaries.counts import CountPrediction
from tests.contract import check_twins
from tests.helpers import model_bytes, same_bytes
from tests.oracle import counts as plain

SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
KINDS = ("poisson", "negbin")
MAKERS: dict[str, Callable[..., Any]] = {
    "tree": lambda model, **o: DynamicTree(model, **SMALL | o),
    "stream": lambda model, **o: StreamingTree(model, window=30, **SMALL | o),
    "fading stream": lambda model, **o: StreamingTree(
        model, window=30, drift=True, **SMALL | o
    ),
    "averaged stream": lambda model, **o: AveragedStream(model, **SMALL | o),
    "averaged trees": lambda model, **o: AveragedTrees(model, n_clouds=3, **SMALL | o),
}
EVERY = [(name, model) for name in MAKERS for model in KINDS]
# an average of tables learns all rows of a call together, in an order of its own
BY_ROW = [(name, model) for name, model in EVERY if name != "averaged trees"]


@contextmanager
def refused(model: Any, words: str) -> Iterator[None]:
    """Expect an error of these words; the model is what it was."""
    with same_bytes(model), pytest.raises(ValueError, match=re.escape(words)):
        yield


def rows(n: int = 120, seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, overdispersed counts with a step, and exposures."""
    rng = np.random.default_rng(seed)
    X, e = rng.random((n, 2)), np.exp(0.7 * rng.standard_normal(n))
    mean = np.where(X[:, 0] > 0.5, 8.0, 2.0) * e
    return X, rng.poisson(rng.gamma(3.0 * e) * mean / (3.0 * e)).astype(float), e


def cloud_of(prior: plain.Prior, n_particles: int = 1, **options: Any) -> Cloud:
    """A cloud of one leaf whose prior stands at a point."""
    is_poisson = math.isinf(prior.size)
    cloud = Cloud(
        CounterSource(1), model="poisson" if is_poisson else "negbin", n_features=1,
        n_particles=n_particles, min_leaf=3, tree_prior=(0.0, 1.0), rules="native",
        prior={"adaptive": False, "dispersion": None}, **options,
    )  # fmt: skip
    header, arrays = cloud.to_arrays()
    header["leaf_model"] = {
        "rate": prior.rate, "shape": prior.shape, "exposure_unit": 1.0,
        "size": 0.0 if is_poisson else prior.size,
    }  # fmt: skip
    found = Cloud.from_arrays(header, arrays, cloud.source)
    found.start(np.empty((0, 1)), np.empty(0))
    return found


def some_leaf(
    seed: int, size: float
) -> tuple[plain.Prior, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rate, shape = np.exp(rng.standard_normal(2)).tolist()
    prior = plain.Prior(rate, size, shape)
    n = int(rng.integers(1, 7))
    e = np.exp(rng.standard_normal(n))
    return prior, rng.poisson(3.0 * e).astype(float), e, rng.choice([0.5, 1, 3], n)


LEAVES = [(seed, size) for seed in range(8) for size in (math.inf, 0.3, 2.5, 40.0)]


# ------------------------------------------------------------ the leaf
@pytest.mark.parametrize(("seed", "size"), LEAVES)
def test_a_leaf_is_that_of_the_formulas(seed: int, size: float) -> None:
    prior, y, e, f = some_leaf(seed, size)
    cloud = cloud_of(prior, weighting="frequency")
    told = cloud.update(np.zeros((len(y), 1)), y, 0, None, f, e)
    sums, expected = plain.Sums(0, 0, 0), []
    for row in zip(y, e, f, strict=True):
        expected.append(plain.log_predictive(sums, prior, *row))
        sums += plain.Sums.of(*(np.array([value]) for value in row))
    np.testing.assert_allclose(told, expected, rtol=1e-11, atol=1e-11)
    assert cloud.tree(0)[4] == pytest.approx(
        plain.log_evidence(sums, prior), rel=1e-11, abs=1e-11
    )
    rate, first, second = (part[0, 0] for part in query.predictive(cloud, [[0.0]]))
    assert (first, second) == pytest.approx(plain.posterior(sums, prior), rel=1e-12)
    assert rate == pytest.approx(plain.mean_rate(sums, prior), rel=1e-12)


@pytest.mark.parametrize(("seed", "size"), LEAVES)
def test_the_evidence_is_the_integral_over_the_rate(seed: int, size: float) -> None:
    prior, y, e, _ = some_leaf(seed, size)
    told = plain.log_evidence(plain.Sums.of(y, e), prior)
    told += plain.row_terms(y, e, size).sum()
    exact = math.log(plain.marginal_by_quadrature(y, e, prior))
    assert told == pytest.approx(exact, abs=2e-9)


@pytest.mark.parametrize(("seed", "size"), LEAVES)
def test_frequencies_are_repeated_rows(seed: int, size: float) -> None:
    prior, y, e, _ = some_leaf(seed, size)
    times = np.arange(1, len(y) + 1)
    heavy, long = cloud_of(prior, weighting="frequency"), cloud_of(prior)
    weights = times.astype(float)
    told = heavy.update(np.zeros((len(y), 1)), y, 0, None, weights, e)
    repeated = np.repeat(y, times), np.repeat(e, times)
    more = long.update(
        np.zeros((times.sum(), 1)), repeated[0], 0, None, None, repeated[1]
    )
    assert told.sum() == pytest.approx(more.sum(), rel=1e-11, abs=1e-11)
    assert heavy.tree(0)[4] == pytest.approx(long.tree(0)[4], rel=1e-11, abs=1e-11)


@pytest.mark.parametrize(("seed", "size"), LEAVES)
def test_what_retires_stays_in_the_posterior_and_fades_as_a_frequency(
    seed: int, size: float
) -> None:
    prior, y, e, _ = some_leaf(seed, size)
    y, e = np.append(y, [2.0, 5.0]), np.append(e, [1.0, 0.5])
    X = np.zeros((len(y), 1))
    cloud, fading = cloud_of(prior), cloud_of(prior)
    for one in (cloud, fading):
        one.update(X, y, exposures=e)
    before = query.predictive(cloud, [[0.0]])
    cloud.retire(np.arange(len(y) - 1))
    for told, known in zip(query.predictive(cloud, [[0.0]]), before, strict=True):
        assert told == pytest.approx(known, rel=1e-12)
    fading.retire([0], 1.0)
    fading.retire([1], 0.5)  # what was last; the first counts half
    left = np.ones(len(y))
    left[0] = 0.5
    expected = plain.posterior(plain.Sums.of(y, e, left), prior)
    _, first, second = (part[0, 0] for part in query.predictive(fading, [[0.0]]))
    assert (first, second) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("exposure", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("size", "accuracy"), [(math.inf, 1e-11), (2.5, 1e-4)])
def test_alc_is_what_one_more_count_takes_off_the_variance(
    size: float, accuracy: float, exposure: float
) -> None:
    """By all counts there may be; of heavy tails the sum ends at 600."""
    prior = plain.Prior(2.0, size, 1.5)
    y, e = np.array([3.0, 1.0, 7.0]), np.array([1.0, 0.5, 2.0])
    cloud = cloud_of(prior)
    cloud.update(np.zeros((3, 1)), y, exposures=e)
    side = np.zeros(1), np.ones(1), np.zeros(1, dtype=bool)
    told = criteria.alc_rectangle(cloud, [[0.0]], *side, False, np.array([exposure]))
    exact = plain.reduction(plain.Sums.of(y, e), prior, exposure, 600)
    assert told[0] == pytest.approx(exact, rel=accuracy)


def test_the_prior_is_the_point_of_the_grid_with_most_evidence() -> None:
    X, y, e = rows(200)
    tree = DynamicTree("negbin", n_particles=1, tree_prior=(0.0, 1.0), seed=1)
    tree.update(X, y, exposure=e)
    point = tree.state.cloud.prior_point
    e = e / point["exposure_unit"]
    best = plain.best_prior([(y, e)], point["rate"])
    size = point["size"] or math.inf

    def score(prior: plain.Prior) -> float:
        terms = plain.row_terms(y, e, prior.size).sum()
        return plain.log_evidence(plain.Sums.of(y, e), prior) + terms

    # what gains less than a nat is not worth a move, and looks are now and then
    assert score(plain.Prior(point["rate"], size, point["shape"])) > score(best) - 2.0
    assert point["rate"] == pytest.approx(y.sum() / e.sum(), rel=0.25)


def test_a_given_dispersion_is_that_of_nb2() -> None:
    """Var y = m + dispersion m^2 at an exposure of 1, whatever unit exposures have."""
    X, y, e = rows(200)
    tree = DynamicTree("negbin", dispersion=0.25, **SMALL).update(X, y, exposure=60 * e)
    point = tree.state.cloud.prior_point
    assert point["size"] / point["exposure_unit"] == pytest.approx(4.0, rel=1e-12)
    again = DynamicTree.from_arrays(*tree.to_arrays())
    assert again.state.cloud.prior_point == point


# ------------------------------------------------------------ the models
@pytest.mark.parametrize(("name", "model"), EVERY)
def test_units_of_exposures_drop_out(name: str, model: str) -> None:
    X, y, e = rows()
    one = MAKERS[name](model).update(X, y, exposure=e)
    other = MAKERS[name](model).update(X, y, exposure=64.0 * e)
    at = np.full(20, 3.0)
    a, b = one.predict(X[:20], exposure=at), other.predict(X[:20], exposure=64.0 * at)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9)
    np.testing.assert_allclose(a.rate, 64.0 * b.rate, rtol=1e-9)
    np.testing.assert_allclose(a.var, b.var, rtol=1e-9)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-9)


@pytest.mark.parametrize(("name", "model"), EVERY)
def test_exposures_of_one_are_none(name: str, model: str) -> None:
    X, y, _ = rows()
    plain_model = MAKERS[name](model).update(X, y)
    for ones in (1.0, [1] * len(y), pd.Series(np.ones(len(y)))):
        told = MAKERS[name](model).update(X, y, exposure=ones)
        assert model_bytes(told) == model_bytes(plain_model)


@pytest.mark.parametrize(("name", "model"), BY_ROW)
def test_rows_one_by_one_are_rows_at_once(name: str, model: str) -> None:
    X, y, e = rows(60)
    whole, parts = MAKERS[name](model), MAKERS[name](model)
    whole.update(X, y, exposure=e)
    for k in range(len(y)):
        parts.update(X[k : k + 1], y[k : k + 1], exposure=e[k])
    assert model_bytes(whole) == model_bytes(parts)


@pytest.mark.parametrize(("name", "model"), EVERY)
@pytest.mark.parametrize("n_first", [4, 60])
def test_files_go_on_where_they_were(name: str, model: str, n_first: int) -> None:
    X, y, e = rows()
    first, rest = slice(n_first), slice(n_first, None)
    counts = MAKERS[name](model).update(X[first], y[first], exposure=e[first])
    check_twins(counts, lambda twin: twin.update(X[rest], y[rest], exposure=e[rest]))


@pytest.mark.parametrize(("name", "model"), EVERY)
def test_predictions_and_draws_tell_the_same(name: str, model: str) -> None:
    """Means and spreads of 20,000 draws; a false alarm of 1 in 10^5 each, by normal
    laws of the mean (4.5 standard errors) and generous ones of the spread."""
    X, y, e = rows()
    one = MAKERS[name](model, n_particles=40).update(X, y, exposure=e)
    told = one.predict(X[:5], exposure=2.0)
    n = 20_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateTreesWarning)
        draws = one.posterior_draws(X[:5], n, seed=1, exposure=2.0).values
    off = np.abs(draws.mean(axis=0) - told.mean)
    assert np.all(off < 4.5 * draws.std(axis=0) / np.sqrt(n) + 1e-9)
    levels = np.array([0.1, 0.5, 0.9])
    ends = told.of_mean.quantile(levels)
    below = (draws[:, :, None] <= ends[None]).mean(axis=0)
    np.testing.assert_allclose(below, np.broadcast_to(levels, below.shape), atol=0.025)
    counts = one.drawn(X[:5], n, "obs", np.random.default_rng(2), None, 2.0).values
    assert np.all((counts >= 0.0) & (counts == np.floor(counts)))
    at = np.round(told.mean)
    np.testing.assert_allclose((counts <= at).mean(axis=0), told.cdf(at), atol=0.02)


@pytest.mark.parametrize("model", KINDS)
def test_before_there_are_trees_counts_are_foreseen_by_those_that_came(
    model: str,
) -> None:
    X, y, e = rows()
    tree = DynamicTree(model, **SMALL)
    tree.update(X[:6], y[:6], exposure=e[:6])
    assert isinstance(tree.predict(X[:2], exposure=1), CountPrediction)
    told = tree.predict(X[:2], exposure=3.0)
    assert told.rate == pytest.approx((y[:6].sum() + 0.5) / e[:6].sum())
    assert np.all(told.quantile(0.05) <= told.quantile(0.95))


@pytest.mark.parametrize("model", KINDS)
def test_streams_are_scored_with_their_exposures(model: str) -> None:
    X, y, e = rows()
    seen = prequential(StreamingTree(model, window=40, **SMALL), X, y, exposure=e)
    again = StreamingTree(model, window=40, **SMALL)
    log_density = []
    for k in range(len(y)):
        if again.is_ready:
            told = again.predict(X[k : k + 1], exposure=e[k])
            log_density.append(told.log_density(y[k : k + 1])[0])
        again.update(X[k : k + 1], y[k : k + 1], exposure=e[k])
    np.testing.assert_allclose(seen.log_density, log_density, rtol=1e-12)


# ------------------------------------------------------------ bad input
BAD = [
    ({"y": [1.0, 2.5, 3.0]}, "y must be counts 0, 1, 2, ...; got 2.5 in row 1"),
    ({"y": [1.0, -1.0, 3.0]}, "y must be counts 0, 1, 2, ...; got -1 in row 1"),
    ({"exposure": [1.0, 0.0, 1.0]}, "exposure must be finite and > 0; got 0.0 in row"),
    ({"exposure": [1.0, -2.0, 1.0]}, "exposure must be finite and > 0; got -2.0"),
    ({"exposure": [1.0, np.nan, 1.0]}, "exposure must be finite and > 0; got nan"),
    ({"exposure": [1.0, 1.0]}, "exposure must have one value a row of X, 3; got 2"),
    ({"exposure": ["a", "b", "c"]}, "exposure must be numbers; got the text 'a' in"),
    ({"exposure": [1.0, "2", 1.0]}, "exposure must be numbers; got the text '2' in"),
    ({"exposure": np.array(["1", "2", "1"])}, "exposure must be numbers; got the text"),
    ({"sample_weight": [1.0, -1.0, 1.0]}, "sample_weight must be finite and >= 0"),
]


@pytest.mark.parametrize(("name", "model"), EVERY)
@pytest.mark.parametrize(("bad", "words"), BAD)
@pytest.mark.parametrize("n_first", [3, 40])
def test_bad_rows_are_refused_and_leave_the_model_as_it_was(
    name: str, model: str, bad: dict[str, Any], words: str, n_first: int
) -> None:
    X, y, e = rows()
    one = MAKERS[name](model).update(X[:n_first], y[:n_first], exposure=e[:n_first])
    given = {"y": [1.0, 2.0, 3.0], "exposure": [1.0, 2.0, 1.0]} | bad
    with refused(one, words):
        one.update(X[:3], **given)


@pytest.mark.parametrize(("name", "model"), EVERY)
def test_far_exposures_are_refused(name: str, model: str) -> None:
    X, y, e = rows()
    one = MAKERS[name](model).update(X, y, exposure=e)
    with refused(one, "exposure must be within a factor of 1e"):
        one.update(X[:2], y[:2], exposure=[1.0, 1e12])


def test_exposures_are_for_counts() -> None:
    X, y, e = rows()
    for model in ("constant", "linear", "class"):
        tree = DynamicTree(model, **SMALL).update(X, y)
        with refused(tree, "exposure is for counts, model='poisson' or 'negbin'"):
            tree.update(X, y, exposure=e)
        with refused(tree, "exposure is for counts"):
            tree.predict(X, exposure=e)


def test_indexes_of_exposures_must_be_those_of_rows() -> None:
    X, y, e = rows(20)
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match="exposure"):
        DynamicTree("negbin", **SMALL).update(
            frame, pd.Series(y), exposure=pd.Series(e, index=range(5, 25))
        )


@pytest.mark.parametrize("rule", ["ei", "ieci", "qei", "qentropy"])
def test_criteria_of_real_responses_are_refused(rule: str) -> None:
    X, y, _ = rows()
    tree = DynamicTree("negbin", **SMALL).update(X, y)
    with refused(tree, f"rule='{rule}' needs a real response; got model='negbin'"):
        tree.acquisition(X[:3], rule)


@pytest.mark.parametrize("kind", [DynamicTree, StreamingTree, AveragedTrees])
@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
def test_exposures_and_weights_of_questions_are_paired_by_index(kind: Any) -> None:
    """As those of rows that are learned: no other order is taken by place."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"x": rng.random(30)})
    hours = pd.Series(rng.uniform(0.5, 4.0, 30))
    more: dict[str, Any] = {"n_particles": 5, "seed": 1}
    if kind is StreamingTree:
        more["window"] = 20
    counts = kind("negbin", **more).update(X, rng.poisson(3.0, 30))
    exact = kind("constant", **more).update(X, rng.random(30))
    turned = hours[::-1]
    asked: list[Callable[[Any], Any]] = [
        lambda over: counts.predict(X, exposure=over).mean,
        lambda over: counts.posterior_draws(X, 5, seed=1, exposure=over).values,
        lambda over: exact.predict(X, over).var,
        lambda over: exact.posterior_draws(X, 5, "obs", 1, over).values,
    ]
    if hasattr(counts, "acquisition"):
        asked.append(lambda over: counts.acquisition(X, "alc", exposure=over))
        asked.append(lambda over: exact.acquisition(X, "alc", sample_weight=over))
    for question in asked:
        with pytest.raises(ValueError, match="and X must have the same index"):
            question(turned)
        np.testing.assert_array_equal(question(hours), question(hours.to_numpy()))


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
@pytest.mark.parametrize(("name", "model"), EVERY)
def test_contrasts_are_at_the_exposure_of_the_pair(name: str, model: str) -> None:
    rng = np.random.default_rng(8)
    X, hours = rng.random((40, 1)), np.array([0.5, 2.0, 30.0])
    counts = MAKERS[name](model).update(X, rng.poisson(1.0 + 5.0 * X[:, 0]))
    low, high = X[:3], X[3:6]
    rates = counts.compute_contrast(low, high, 50, seed=1)
    events = counts.compute_contrast(low, high, 50, seed=1, exposure=hours)
    np.testing.assert_allclose(events.values, hours * rates.values, rtol=1e-10)
    new = counts.compute_contrast(low, high, 50, "obs", 1, exposure=1e6)
    assert np.all(new.values == np.floor(new.values))
    assert np.abs(new.values).max() > 1e3
    with refused(counts, "exposure must have one value a row of X, 3; got 2"):
        counts.compute_contrast(low, high, exposure=[1.0, 2.0])


def test_a_count_that_is_nearly_whole_is_told_with_its_digits() -> None:
    with refused(DynamicTree("poisson", **SMALL), "got 12.00004 in row 1"):
        DynamicTree("poisson", **SMALL).update(np.ones((2, 1)), [3, 12.00004])


@pytest.mark.parametrize(
    "make",
    [
        lambda: DynamicTree("poisson", n_particles=20, seed=1),
        lambda: StreamingTree("negbin", window=50, n_particles=20, seed=1),
        lambda: AveragedStream("poisson", n_particles=5, seed=1),
        lambda: AveragedTrees("poisson", n_clouds=2, n_particles=5, seed=1),
    ],
)
def test_rows_without_the_exposures_of_the_first_are_warned_of(make: Any) -> None:
    rng = np.random.default_rng(0)
    X, exposure = rng.random((60, 1)), rng.integers(5, 20, 60).astype(float)
    y = rng.poisson(exposure)
    words = "exposure is 1 in these rows, as none is passed"
    for way in ("predict", "update"):
        model = make().update(X, y, exposure=exposure)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(X[:2], exposure=1)
            model.update(X[:2], y[:2], exposure=exposure[:2])
        with pytest.warns(AssumedValueWarning, match=words):
            model.predict(X[:2]) if way == "predict" else model.update(X[:2], y[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().update(X, y).predict(X)
