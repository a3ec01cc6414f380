"""Predictions and counts: the oracle's answers, and what follows from their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from dyntree._core.rng import RSource
from dyntree._core.trees import query
from dyntree._core.trees.cloud import Cloud
from tests import helpers
from tests.oracle import query as oracle_query

PASTS = [(name, False) for name in helpers.MODELS] + [
    (name, True) for name in helpers.RETIRING
]
REGRESSION = [name for name in helpers.MODELS if name != "class"]
LINEAR = ["implicit", "augmented", "none"]
# 2**18 numbers is what a table of (particle, row) may hold
MORE_THAN_A_BLOCK = (1 << 18) // 8 + 100


@pytest.mark.parametrize(("name", "retire"), PASTS)
def test_predictions_are_the_oracles(name: str, retire: bool) -> None:
    core, oracle = helpers.pair(name, 40, retire=retire)
    X, y = helpers.data(name, 25, seed=6)
    wanted = {} if name == "class" else {"quantiles": True, "improvement": True}
    got = query.predict(core, X, y, **wanted)
    expected = oracle_query.predict(oracle, X, y, **wanted)
    assert got.keys() == expected.keys()
    for field, values in expected.items():
        helpers.assert_close(got[field], values, field)


@pytest.mark.parametrize(("name", "retire"), PASTS)
def test_counts_are_the_oracles(name: str, retire: bool) -> None:
    core, oracle = helpers.pair(name, 40, retire=retire)
    X, _ = helpers.data(name, 25, seed=6)
    for function in (query.split_counts, query.tree_stats):
        expected = getattr(oracle_query, function.__name__)(oracle)
        helpers.assert_close(function(core), expected, function.__name__)
    assert query.sameleaf(core, X).tolist() == oracle_query.sameleaf(oracle, X).tolist()
    for position in range(core.n_active):
        for j in range(2):
            got = query.intervals(core, position, j)
            expected = oracle_query.intervals(oracle, position, j)
            assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("retire", [False, True])
def test_class_probabilities_are_the_oracles(retire: bool) -> None:
    core, oracle = helpers.pair("class", 40, retire=retire)
    X, _ = helpers.data("class", 25, seed=6)
    for k in range(3):
        got = query.class_probabilities(core, k, X)
        assert got.tolist() == oracle_query.class_probabilities(oracle, k, X).tolist()


@pytest.mark.parametrize(("name", "k"), [("class", -1), ("class", 3), ("constant", 0)])
def test_probabilities_are_of_the_classes_there_are(name: str, k: int) -> None:
    cloud = helpers.grown(name)
    with pytest.raises(IndexError, match=f"k must be in .* got {k}"):
        query.class_probabilities(cloud, k, helpers.data(name, 5)[0])


@pytest.mark.parametrize("n_basis", [1, 2])
@pytest.mark.parametrize("name", LINEAR)
def test_coefficients_are_the_oracles(name: str, n_basis: int) -> None:
    core, oracle = helpers.pair(name, 40, n_basis=n_basis)
    X, _ = helpers.data(name, 25, seed=6)
    helpers.assert_close(query.coef(core, X), oracle_query.coef(oracle, X))


@pytest.mark.parametrize("name", helpers.MODELS)
def test_asking_changes_neither_cloud_nor_input(name: str) -> None:
    cloud = helpers.grown(name, 30)
    X, y = helpers.data(name, 10, seed=6)
    inputs, before = (X.tobytes(), y.tobytes()), helpers.model_bytes(cloud)
    query.predict(cloud, X, y)
    query.sameleaf(cloud, X)
    query.split_counts(cloud)
    if name in LINEAR:
        query.coef(cloud, X)
    if name != "class":
        query.mixture(cloud, X)
    assert (X.tobytes(), y.tobytes()) == inputs
    assert helpers.model_bytes(cloud) == before


@pytest.mark.parametrize("name", helpers.MODELS)
def test_many_rows_are_answered_as_few(name: str) -> None:
    cloud = helpers.grown(name, 30)
    X, y = helpers.data(name, MORE_THAN_A_BLOCK, seed=6)
    few = slice(MORE_THAN_A_BLOCK - 150, None)
    got = query.predict(cloud, X, y)
    for field, values in query.predict(cloud, X[few], y[few]).items():
        np.testing.assert_array_equal(got[field][few], values, err_msg=field)


def test_improvement_is_over_the_least_location_of_all_rows() -> None:
    cloud = helpers.grown("constant", 30)
    X, _ = helpers.data("constant", MORE_THAN_A_BLOCK, seed=6)
    X = X[np.argsort(X[:, 1])]  # the least ones come in the first block only
    location, scale, df = query.predictive(cloud, X)
    best = location.min(axis=1, keepdims=True)
    expected = query.expected_improvement(location, scale, df, best).mean(axis=0)
    got = query.predict(cloud, X, improvement=True)["ei"]
    # means of eight numbers, added up in another order
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-300)


def test_expected_improvement_is_an_integral() -> None:
    """Of max(best - Y, 0) over a Student t."""
    location, scale, df, best = 0.3, 0.7, 7.0, 0.1
    expected, _ = integrate.quad(
        lambda y: (best - y) * stats.t.pdf(y, df, location, scale), -np.inf, best
    )
    parts = [np.array([v]) for v in (location, scale, df, best)]
    got = query.expected_improvement(*parts)[0]
    assert got == pytest.approx(expected, rel=1e-7)  # the quadrature's


@pytest.mark.parametrize("name", REGRESSION)
def test_mixtures_are_the_predictive_tables_without_repeats(name: str) -> None:
    cloud = helpers.grown(name, 30)
    X, _ = helpers.data(name, 40, seed=6)
    start, weight, location, scale, df, _ = query.mixture(cloud, X)
    table = np.stack(query.predictive(cloud, X), axis=2)
    for j in range(40):
        part = slice(start[j], start[j + 1])
        assert weight[part].sum() == pytest.approx(1.0, rel=1e-15)
        got = np.column_stack([location[part], scale[part], df[part]])
        copies = np.rint(weight[part] * cloud.n_particles).astype(int)
        got = sorted(np.repeat(got, copies, axis=0).tolist())
        # rows of implicit leaves are rounded on the way from particle to particle
        np.testing.assert_allclose(got, sorted(table[:, j].tolist()), rtol=1e-12)


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("n_threads", [2, 7])
def test_threads_change_nothing(name: str, n_threads: int) -> None:
    cloud = helpers.grown(name, 30, n_particles=200)
    X, _ = helpers.data(name, 700, seed=6)
    alone = query.mixture(cloud, X)
    for got, expected in zip(query.mixture(cloud, X, n_threads), alone, strict=True):
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", helpers.MODELS)
@pytest.mark.parametrize("n", [1, 15, 16, 300])
def test_a_row_is_answered_alike_alone_and_in_company(name: str, n: int) -> None:
    """Few rows go down every tree, many go by distinct nodes: the same bits."""
    cloud = helpers.grown(name, 60, n_particles=50)
    if name not in ("implicit", "prior"):
        cloud.retire(range(20), 0.9)  # degrees of freedom that are not whole
    X, _ = helpers.data(name, 300, seed=6)
    X[7] = X[8]
    variable, value = next(
        (s for i in range(50) for s in splits(cloud.tree(i))), (0, 0.5)
    )
    X[9, variable] = value
    together = query.predict(cloud, X, quantiles=True)
    for name_, values in query.predict(cloud, X[:n], quantiles=True).items():
        assert values.tobytes() == together[name_][:n].tobytes()
    if name == "class":
        return
    start, *parts = query.mixture(cloud, X)
    few_start, *few = query.mixture(cloud, X[:n])
    assert few_start.tolist() == start[: n + 1].tolist()
    for got, expected in zip(few, parts, strict=True):
        assert got.tobytes() == expected[: start[n]].tobytes()
    table = np.stack(query.predictive(cloud, X[:n]))
    mean = np.zeros(n)
    for location in table[0]:
        mean += location
    assert together["mean"][:n].tolist() == (mean / 50).tolist()


def test_rounding_may_carry_a_row_over_a_split() -> None:
    """Implicit leaves: rows within a few ulp of a split, small against the means."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(80, 2)) ** 4
    cloud = Cloud(RSource(3), **helpers.options_of("implicit", n_particles=60))
    y = 5.0 * np.sign(X[:, 0] - 0.02) + 0.3 * rng.normal(size=80)
    cloud.start(X[:4], y[:4])
    cloud.update(X[4:], y[4:])
    rows = []
    for variable, value in {s for i in range(60) for s in splits(cloud.tree(i))}:
        for steps in range(-8, 9):
            row = rng.uniform(size=2) ** 4
            row[variable] = value + steps * np.spacing(value)
            rows.append(row)
    table = np.stack(query.predictive(cloud, np.array(rows)))
    mean = np.zeros(len(rows))
    for location in table[0]:
        mean += location
    got = query.predict(cloud, np.array(rows))
    assert got["mean"].tolist() == (mean / cloud.n_particles).tolist()


def splits(tree: tuple) -> list[tuple[int, float]]:
    """Variable and value of every split."""
    if tree[0] == "leaf":
        return []
    return [tree[2:4], *splits(tree[4]), *splits(tree[5])]


@pytest.mark.parametrize("p", [0.05, 0.95])
def test_quantiles_are_looked_up_once_per_df(p: float) -> None:
    df = np.array([[3.0, 1.5, 3.0], [-1.0, 0.0, 1.5]])
    got = query.t_quantile(p, df)
    np.testing.assert_allclose(got[df > 0], stats.t.ppf(p, df[df > 0]), rtol=1e-12)
    assert np.isnan(got[df <= 0]).all()


def test_no_rows_no_answers() -> None:
    cloud = helpers.grown("constant", 10)
    got = query.predict(cloud, np.empty((0, 2)), np.empty(0), True, True)
    assert {values.shape for values in got.values()} == {(0,)}
    assert query.mixture(cloud, np.empty((0, 2)))[0].tolist() == [0]


@pytest.mark.parametrize("X", [np.zeros(2), np.zeros((3, 1)), np.zeros((1, 2, 2))])
def test_rows_of_another_shape_are_refused(X: np.ndarray) -> None:
    cloud = helpers.grown("constant", 10)
    for ask in (query.predict, query.coef, query.sameleaf, query.mixture):
        with pytest.raises(ValueError, match="X must be of shape"):
            ask(cloud, X)


@pytest.mark.parametrize(("position", "variable"), [(10, 0), (-1, 0), (0, 2), (0, -1)])
def test_intervals_of_nothing_are_refused(position: int, variable: int) -> None:
    with pytest.raises(IndexError, match=r"0\.\.9 and variable in 0\.\.1"):
        query.intervals(helpers.grown("constant", 10), position, variable)
