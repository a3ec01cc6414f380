"""Criteria of active learning and relevance, held against the oracle's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.special import roots_legendre
from scipy.stats import t as student_t

from dyntree import DynamicTree
from dyntree._core.trees import criteria
from dyntree._core.trees.improvement import standard_improvement
from tests import helpers
from tests.oracle import criteria as oracle_criteria
from tests.probes import audit
from tests.statistical.clouds import native_cloud

PASTS = [(name, False) for name in helpers.MODELS] + [
    (name, True) for name in helpers.RETIRING
]
REGRESSION = [past for past in PASTS if past[0] != "class"]
MORE_THAN_A_BLOCK = (1 << 18) // 8 + 100

Box = tuple[np.ndarray, np.ndarray, np.ndarray, bool]


def box(width: float = 1.0, categorical: bool = False, approx: bool = False) -> Box:
    """A rectangle of which the first column may be categorical."""
    flags = np.array([categorical, False])
    return np.zeros(2), np.array([1.0, width]), flags, approx


BOXES = {
    "area": box(),
    "half": box(0.5),
    "rows": box(approx=True),
    "categorical": box(categorical=True),
    "thin": box(0.0),
    "thin rows": box(0.0, approx=True),
}


def both(function: str, pair: Any, *arguments: Any) -> None:
    got = getattr(criteria, function)(pair[0], *arguments)
    expected = getattr(oracle_criteria, function)(pair[1], *arguments)
    helpers.assert_close(got, expected, function)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "retire"), REGRESSION)
def test_references(name: str, retire: bool, weighted: bool) -> None:
    """Weights below machine epsilon count as none."""
    pair = helpers.pair(name, 40, retire=retire)
    X, _ = helpers.data(name, 12, seed=5)
    references, _ = helpers.data(name, 9, seed=6)
    weights = None
    if weighted:
        weights = np.random.default_rng(0).choice([0.0, 1e-17, 0.3, 1.0], size=(8, 9))
    both("alc_reference", pair, X, references, weights)
    both("ieci", pair, X, references, weights)


@pytest.mark.parametrize("function", ["alc_reference", "ieci"])
def test_no_weights_are_ones(function: str) -> None:
    cloud = helpers.grown("augmented", 40)
    X, _ = helpers.data("augmented", 12, seed=5)
    ask = getattr(criteria, function)
    ones = np.ones((8, 9))
    np.testing.assert_array_equal(ask(cloud, X, X[:9]), ask(cloud, X, X[:9], ones))


@pytest.mark.parametrize("function", ["alc_reference", "ieci"])
@pytest.mark.parametrize("shape", [(8, 8), (7, 9), (9,)])
def test_weights_of_another_shape_are_refused(function: str, shape: tuple) -> None:
    cloud = helpers.grown("constant", 20)
    X = np.zeros((9, 2))
    with pytest.raises(ValueError, match="weights must"):
        getattr(criteria, function)(cloud, X, X, np.ones(shape))


@pytest.mark.parametrize("where", BOXES)
@pytest.mark.parametrize(("name", "retire"), REGRESSION)
def test_rectangles(name: str, retire: bool, where: str) -> None:
    pair = helpers.pair(name, 40, retire=retire)
    X, _ = helpers.data(name, 12, seed=5)
    both("alc_rectangle", pair, X, *BOXES[where])


@pytest.mark.parametrize("where", BOXES)
@pytest.mark.parametrize(("name", "retire"), REGRESSION)
def test_active_rows(name: str, retire: bool, where: str) -> None:
    """With R's cache, and R's rounding of the rows of implicit leaves."""
    pair = helpers.pair(name, 40, retire=retire)
    X, y = helpers.data(name, 5, seed=5)
    for _ in range(3):
        both("alc_active", pair, *BOXES[where])
        helpers.assert_same_cloud(*pair)
        for cloud in pair:
            cloud.update(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_limits_are_forgotten_where_rows_are_rounded(seed: int) -> None:
    """Columns of many magnitudes lose digits to their means."""
    pair = helpers.pair("implicit", 4, seed=seed)
    X, y = helpers.data("implicit", 40, seed=seed)
    X = np.exp(12.0 * X)
    for cloud in pair:
        cloud.update(X, y)
    both("alc_active", pair, *box())
    helpers.assert_same_cloud(*pair)
    audit(pair[0])
    for cloud in pair:
        cloud.update(X[::-1].copy(), y)
    helpers.assert_same_cloud(*pair)


@pytest.mark.parametrize("retire", [False, True])
def test_entropies_of_active_rows(retire: bool) -> None:
    pair = helpers.pair("class", 40, retire=retire)
    X, y = helpers.data("class", 5, seed=5)
    for _ in range(3):
        both("entropy_active", pair)
        for cloud in pair:
            cloud.retire([0, 4], 0.5)
        both("entropy_active", pair)
        for cloud in pair:
            cloud.update(X, y)


def test_credit_is_kept_whatever_the_rectangle() -> None:
    """Quirk 16; the rectangle's area still divides."""
    cloud = helpers.grown("constant", 40)
    first = criteria.alc_active(cloud, *box())
    again = criteria.alc_active(cloud, *box(0.5))
    fresh = criteria.alc_active(helpers.grown("constant", 40), *box(0.5))
    np.testing.assert_array_equal(again, first / 0.5)
    assert not np.allclose(again, fresh)


def test_credit_goes_with_its_row() -> None:
    cloud = helpers.grown("constant", 40)
    before = dict(zip(cloud.row_ids(), criteria.alc_active(cloud, *box()), strict=True))
    cloud.retire([3, 17, 20])
    after = criteria.alc_active(cloud, *box())
    assert after.tolist() == [before[i] for i in cloud.row_ids()]


@pytest.mark.parametrize("where", BOXES)
@pytest.mark.parametrize(("name", "retire"), PASTS)
def test_relevance(name: str, retire: bool, where: str) -> None:
    both("relevance", helpers.pair(name, 40, retire=retire), *BOXES[where])


@pytest.mark.parametrize(("name", "retire"), REGRESSION)
def test_contours(name: str, retire: bool) -> None:
    pair = helpers.pair(name, 40, retire=retire)
    X, _ = helpers.data(name, 12, seed=5)
    for q in (0.0, 1.5, 4.0):
        both("q_entropy", pair, X, q)
        both("q_improvement", pair, X, q, 2.0)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("alpha", [0.1, 2.0, 10.0])
@pytest.mark.parametrize("q", [0.0, 1.5, -20.0, 40.0])
def test_improvement_of_a_contour_is_an_integral(
    model: str, q: float, alpha: float
) -> None:
    """E max(0, h^2 - (Y - q)^2) of each particle, by Gauss and Legendre (native).

    A narrow band far out in a tail, worth 1e-34, is what is left of terms that agree to
    ten digits.
    """
    X, y = helpers.data("constant", 60)
    tree = DynamicTree(model, n_particles=20, seed=1).update(X, y)
    mixture = tree.predict(X[:5]).mixture
    points, weights = roots_legendre(2000)
    expected = np.zeros(5)
    for row in range(5):
        for k in range(mixture.start[row], mixture.start[row + 1]):
            df, location, scale = mixture.df[k], mixture.location[k], mixture.scale[k]
            h = alpha * scale * np.sqrt(df / (df - 2.0))
            density = student_t.pdf(q + h * points, df, location, scale)
            share = h * np.sum(weights * (h**2 - (h * points) ** 2) * density)
            expected[row] += mixture.weight[k] * share
    got = tree.acquisition(X[:5], "qei", q=q, alpha=alpha)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("q_entropy", (1.5,)),
        ("q_improvement", (1.5, 2.0)),
        ("alc_rectangle", box()),
        ("alc_reference", (np.full((3, 2), 0.5),)),
    ],
)
def test_many_rows_are_answered_as_few(function: str, arguments: tuple) -> None:
    cloud = helpers.grown("constant", 30)
    X, _ = helpers.data("constant", MORE_THAN_A_BLOCK, seed=6)
    ask = getattr(criteria, function)
    many, few = ask(cloud, X, *arguments), ask(cloud, X[-200:], *arguments)
    np.testing.assert_array_equal(many[-200:], few)


@pytest.mark.parametrize("name", helpers.MODELS)
def test_asking_changes_neither_cloud_nor_input(name: str) -> None:
    cloud = helpers.grown(name, 30)
    X, _ = helpers.data(name, 10, seed=6)
    inputs, before = X.tobytes(), helpers.model_bytes(cloud)
    criteria.relevance(cloud, *box())
    if name != "class":
        criteria.alc_rectangle(cloud, X, *box())
        criteria.alc_reference(cloud, X, X)
        criteria.ieci(cloud, X, X)
        criteria.q_entropy(cloud, X, 1.0)
    assert X.tobytes() == inputs
    assert helpers.model_bytes(cloud) == before


@pytest.mark.parametrize("short", [0, 1, 2])
def test_rectangles_of_another_shape_are_refused(short: int) -> None:
    cloud = helpers.grown("constant", 20)
    bounds: list[Any] = list(box())
    bounds[short] = bounds[short][:1]
    for ask in (
        lambda: criteria.alc_rectangle(cloud, np.zeros((1, 2)), *bounds),
        lambda: criteria.alc_active(cloud, *bounds),
        lambda: criteria.relevance(cloud, *bounds),
    ):
        with pytest.raises(ValueError, match="must have 2 entries"):
            ask()


@pytest.mark.parametrize("name", ["constant", "linear"])
def test_native_improvements_come_from_a_table(name: str) -> None:
    """With weights of one every particle is taken on its own, by SciPy's functions."""
    rng = np.random.default_rng(3)
    cloud = native_cloud(name, 2, n_particles=60, min_leaf=5, adaptive=True)
    X = rng.random((80, 2))
    cloud.update(X, np.sin(6.0 * X[:, 0]) + X[:, 1])
    cloud.retire(range(30), 0.9)  # degrees of freedom that are not whole
    new, references = rng.random((40, 2)), rng.random((50, 2))
    want = criteria.ieci(cloud, new, references, np.ones((60, 50)))
    got = criteria.ieci(cloud, new, references)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-11 * want.max())


def test_pieces_of_the_improvement_are_its_integral() -> None:
    """E max(0, z - T) by quadrature, beyond the pieces too."""
    for df in (1.5, 3.0, 40.0):
        pieces = standard_improvement(np.array([df]))[0]
        place = np.linspace(-15.9, -0.1, 30)
        k = np.floor((place + 16) * 32).astype(int)
        got = np.polynomial.polynomial.polyval(
            (place + 16) * 32 - k, pieces[k].T, tensor=False
        )
        for z, one in zip(place, got, strict=True):
            want = integrate.quad(
                lambda t, df=df: student_t.cdf(t, df), -np.inf, z, epsabs=1e-13
            )[0]
            assert one == pytest.approx(want, rel=1e-5, abs=1e-11)
