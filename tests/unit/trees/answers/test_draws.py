"""Joint posterior draws: their marginals are predictions, and rows share a world."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
)
from dyntree.errors import (
    DegenerateTreesWarning,
    DegenerateWeightsWarning,
    NotReadyError,
)
from dyntree.trees.answers.draws import (
    MOST_VALUES,
    dirichlet,
    effective_roots,
    moved,
    systematic,
    transport,
)
from tests.helpers import model_bytes, same_bytes
from tests.oracle.draws import covariance
from tests.oracle.native import Leaf
from tests.unit.models import refused

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
N = 40_000
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
SMALL: dict[str, Any] = {"n_particles": 100, "seed": 1}
Make = Callable[[], Any]

REAL: dict[str, Make] = {
    "constant": lambda: DynamicTree(**SMALL),
    "linear": lambda: DynamicTree("linear", **SMALL),
    "through the origin": lambda: DynamicTree("linear", intercept="none", **SMALL),
    "window": lambda: StreamingTree("linear", window=50, **SMALL),
    "fading window": lambda: StreamingTree(window=60, forget=0.9, **SMALL),
    "averaged": lambda: AveragedTrees("linear", n_clouds=4, n_particles=30, seed=1),
    "averaged stream": lambda: AveragedStream("linear", n_particles=30, seed=1),
    "with forests": lambda: AveragedStream("constant", n_particles=30, seed=1),
    "random trees": lambda: RandomTreesStream("constant", seed=1),
    "fading trees": lambda: RandomTreesStream("constant", discount=0.98, seed=1),
}
RS: dict[str, Make] = {
    "R constant": lambda: DynamicTree(rules="r", **SMALL),
    "R linear": lambda: DynamicTree("linear", rules="r", **SMALL),
    "R augmented": lambda: DynamicTree(
        "linear", rules="r", intercept="augmented", **SMALL
    ),
    "R none": lambda: DynamicTree("linear", rules="r", intercept="none", **SMALL),
    "R window": lambda: StreamingTree(
        "linear", rules="r", intercept="augmented", window=60, **SMALL
    ),
}
LABELS: dict[str, Make] = {
    "class": lambda: DynamicTree("class", **SMALL),
    "R class": lambda: DynamicTree("class", rules="r", **SMALL),
    "class window": lambda: StreamingTree("class", window=50, **SMALL),
    "class averaged": lambda: AveragedTrees(
        "class", n_clouds=3, n_particles=30, seed=1
    ),
    "class in order": lambda: AveragedTrees(
        "class", n_clouds=3, shuffle=False, n_particles=30, seed=1
    ),
    "class stream": lambda: AveragedStream("class", n_particles=30, seed=1),
    "class random trees": lambda: RandomTreesStream(seed=1),
    "class fading trees": lambda: RandomTreesStream(discount=0.98, seed=1),
}
ALL = REAL | RS | LABELS
ASKED = np.array(
    [[0.2, 0.3, 0.4], [0.2, np.nan, 0.9], [0.8, 0.1, 0.1], [0.8, 0.2, 0.9]]
)


def table(name: str, n: int = 150) -> tuple[Any, Any, Any]:
    """Rows with gaps, where the model takes them, their responses, and rows to ask."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    y = np.where(X[:, 0] > 0.5, 2 * X[:, 2], -1) + 0.2 * rng.standard_normal(n)
    if name in LABELS:
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.0])]
    X[::9, 1] = np.nan
    asked = ASKED
    if name.startswith("R "):
        X, asked = np.nan_to_num(X), np.nan_to_num(asked)
    return X, y, asked


def learned_response(name: str) -> tuple[Any, Any]:
    """A model that has learned, and rows to ask."""
    X, y, asked = table(name)
    return ALL[name]().update(X, y), asked


# ---------------------------------------------------------------- marginals
@pytest.mark.parametrize("name", REAL | RS)
def test_marginals_are_those_of_the_prediction(name: str) -> None:
    """Of the mean and of new responses, at four rows and five levels each.

    At 40 000 draws a share is off by .01 with probability below 1e-4. The second row
    has a gap: linear leaves draw a value there, and predict one Student t of the same
    moments, whose quantiles are others.
    """
    model, asked = learned_response(name)
    told = model.predict(asked)
    mean = model.posterior_draws(asked, N, seed=3)
    new = model.posterior_draws(asked, N, "obs", seed=4)
    for draws, law in ((mean, told.of_mean), (new, told.mixture)):
        assert draws.shape == (N, 4)
        for level in LEVELS:
            at = law.cdf(np.quantile(draws.values, level, axis=0))
            whole = [0, 2, 3] if np.isnan(asked[1, 1]) else [0, 1, 2, 3]
            np.testing.assert_allclose(at[whole], level, atol=0.01)
            np.testing.assert_allclose(at, level, atol=0.02)
    # a leaf of two rows has no variance, so that its mean settles nowhere
    steady = np.array(
        [
            told.of_mean.df[told.of_mean.row == row].min() > 4.0
            for row in range(len(asked))
        ]
    )
    error = 4.0 * told.mean_se / np.sqrt(N)
    assert (np.abs(mean.mean() - told.mean) < error)[steady].all()


@pytest.mark.parametrize("name", LABELS)
def test_probabilities_are_those_of_the_prediction(name: str) -> None:
    model, asked = learned_response(name)
    proba = model.predict(asked).proba
    draws = model.posterior_draws(asked, N // 2, seed=3)
    assert draws.shape == (N // 2, 4, 3)
    assert draws.values.min() >= 0.0
    np.testing.assert_allclose(draws.values.sum(axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose(draws.mean(), proba, atol=0.005)
    labels = model.posterior_draws(asked, N // 2, "obs", seed=4).values
    shares = [(labels == label).mean(axis=0) for label in model.classes]
    np.testing.assert_allclose(np.transpose(shares), proba, atol=0.02)


def test_draws_of_averages_of_labels_are_moved_as_little_as_can_be() -> None:
    """The rest of what is moved is the total variation between the two means."""
    rng = np.random.default_rng(0)
    before, after = rng.dirichlet(np.ones(4), size=(2, 50))
    kept, rest = transport(before, after)
    draws = rng.dirichlet(np.ones(4), size=(1000, 50))
    draws *= before / draws.mean(axis=0)
    np.testing.assert_allclose(moved(draws, kept, rest).mean(axis=0), after, rtol=1e-12)
    gone = (before * (1.0 - kept)).sum(axis=1)
    np.testing.assert_allclose(gone, 0.5 * np.abs(before - after).sum(axis=1))
    same = moved(draws, *transport(before, before))
    np.testing.assert_array_equal(same, draws)


# ---------------------------------------------------------------- joint
@pytest.mark.parametrize("name", ALL)
def test_a_row_has_one_mean_in_a_draw(name: str) -> None:
    model, asked = learned_response(name)
    twice = model.posterior_draws(np.concatenate([asked, asked]), 300, seed=1).values
    np.testing.assert_array_equal(twice[:, :4], twice[:, 4:])
    none = model.compute_contrast(asked, asked, 300, seed=1)
    assert not none.values.any()
    if name not in LABELS:
        new = model.posterior_draws(np.concatenate([asked, asked]), 300, "obs", seed=1)
        assert (new.values[:, :4] != new.values[:, 4:]).all()


@pytest.mark.parametrize("level", [True, False])
def test_rows_of_one_leaf_are_correlated_as_the_formulas_say(level: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(40)
    intercept = "implicit" if level else "none"
    tree = DynamicTree(
        "linear", n_particles=1, tree_prior=(0.0, 1.0), intercept=intercept, seed=1
    ).update(X, y)
    state = tree.state.cloud.prior_point
    z = (X - state["centre"]) / state["spread"]
    t = (y - state["y_centre"]) / state["y_spread"]
    one = Leaf(z, t, np.ones(40), state["b0"], level, relaxed=state["relaxed"])
    asked = np.array([[1.0, 1.0], [-1.0, 0.5], [0.0, 2.0]])
    exact = covariance(one, (asked - state["centre"]) / state["spread"])
    exact /= np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    draws = tree.posterior_draws(asked, N, seed=1).values
    np.testing.assert_allclose(np.corrcoef(draws.T), exact, atol=0.02)
    noisy = tree.posterior_draws(asked, N, "obs", seed=1).values - draws
    assert np.abs(np.corrcoef(noisy.T) - np.eye(3)).max() < 0.02


def test_contrasts_are_differences_of_one_world() -> None:
    model, _ = learned_response("averaged")
    low, high = np.array([[[0.8, 0.5, 0.5]], [[0.8, 0.5, 0.52]]])
    told = model.compute_contrast(low, high, 500, seed=1)
    assert told.shape == (500, 1)
    both = model.posterior_draws(np.concatenate([low, high]), 4000, seed=2)
    expected = both.values[:, 1] - both.values[:, 0]
    assert told.mean()[0] == pytest.approx(expected.mean(), abs=0.01)
    assert told.std()[0] == pytest.approx(expected.std(), rel=0.3)
    assert expected.std() < 0.2 * np.hypot(*both.std())


# ---------------------------------------------------------------- own generator
@pytest.mark.parametrize("name", ALL)
def test_draws_repeat_and_leave_the_model_alone(name: str) -> None:
    X, y, asked = table(name)
    model = ALL[name]().update(X[:100], y[:100])
    twin = model.copy()
    with same_bytes(model):
        copied = twin.posterior_draws(asked, 50, seed=5)
        first = model.posterior_draws(asked, 50, seed=5)
        again = model.posterior_draws(asked, 50, seed=np.random.default_rng(5))
        other = model.posterior_draws(asked, 50, seed=6)
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.values, copied.values)
    assert (first.values != other.values).any()
    if name != "R linear":  # whose rows may not retire, but are learned alike
        model.posterior_draws(asked, 20, "obs")
    assert model_bytes(model.update(X[100:], y[100:])) == model_bytes(
        twin.update(X[100:], y[100:])
    )


@pytest.mark.parametrize("name", ALL)
def test_no_rows_have_no_draws(name: str) -> None:
    model, asked = learned_response(name)
    assert model.posterior_draws(asked[:0], 7).shape[:2] == (7, 0)
    assert model.posterior_draws(asked[:1], 1, "obs").shape == (1, 1)


def test_blocks_change_nothing_but_their_size(monkeypatch: Any) -> None:
    model, asked = learned_response("linear")
    asked = np.nan_to_num(asked)
    rng = np.random.default_rng(1)
    whole = [*model.draw_blocks(asked, 500, rng)]
    assert sorted(np.concatenate([b.places for b in whole])) == [*range(500)]
    monkeypatch.setattr("dyntree.trees.answers.draws.MOST_VALUES", 8)
    parts = [*model.draw_blocks(asked, 500, np.random.default_rng(1))]
    assert max(len(block.places) for block in parts) == 2
    assert sorted(np.concatenate([b.places for b in parts])) == [*range(500)]
    assert MOST_VALUES > 8


def test_draws_after_all_rows_are_gone_are_the_same() -> None:
    for name in ("linear", "class", "window", "random trees"):
        model, asked = learned_response(name)
        before = model.posterior_draws(asked, 200, seed=1).values
        model.remove_data()
        after = model.posterior_draws(asked, 200, seed=1).values
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


def test_levels_and_names_are_read_as_rows_are() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"site": site, "x": x}
        for site, x in zip(rng.choice(["u", "v"], 80), rng.random(80), strict=True)
    ]
    y = [2.0 * (row["site"] == "u") + row["x"] for row in rows]
    trees = AveragedTrees("linear", n_clouds=2, n_particles=50, seed=1).update(rows, y)
    asked = [{"x": 0.5, "site": "u"}, {"x": 0.5, "site": "v"}]
    draws = trees.posterior_draws(asked, seed=1)
    assert draws.contrast([1, -1]).mean()[0] == pytest.approx(2.0, abs=0.05)
    one = trees.compute_contrast(asked[1:], asked[:1], seed=1)
    assert one.mean()[0] == pytest.approx(2.0, abs=0.05)


def test_main_effects_spread_as_far_as_the_posterior_does() -> None:
    """Beside least squares, where no tree splits and particles' means are alike."""
    rng = np.random.default_rng(1)
    X = rng.random((100, 1))
    y = 2.0 * X[:, 0] + rng.standard_normal(100)
    one = DynamicTree("linear", n_particles=400, tree_prior=(0.0, 1.0), seed=1)
    tree = one.update(X, y)
    told = tree.sensitivity(n_samples=200, n_grid=5, span=0.1)
    low, high = np.quantile(told.main[:, :, 0], [0.05, 0.95], axis=0)
    known = np.column_stack([np.ones(100), X])
    at = np.column_stack([np.ones(5), told.grid])
    spread = np.sqrt(np.einsum("ij,ji->i", at, np.linalg.solve(known.T @ known, at.T)))
    expected = 2 * 1.65 * spread
    assert (high - low > 0.8 * expected).all()
    assert (high - low < 1.25 * expected).all()
    averages = AveragedTrees("linear", n_clouds=3, n_particles=100, seed=1)
    many = averages.update(X, y).sensitivity(n_samples=200, n_grid=5, span=0.1)
    assert (np.ptp(many.main[:, :, 0], axis=0) > 0.7 * expected).all()
    labels = DynamicTree("class", n_particles=200, seed=1).update(X, y > 1.0)
    shares = labels.sensitivity(label=True, n_samples=100, n_grid=3).main[:, :, 0]
    low, high = np.quantile(shares, [0.05, 0.95], axis=0)
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert (high - low > 0.08).all()


# ---------------------------------------------------------------- pieces
def test_systematic_places_are_as_many_as_weights_say() -> None:
    rng = np.random.default_rng(0)
    weights = np.array([0.5, 0.0, 0.25, 0.25])
    found = systematic(weights, 1000, rng)
    np.testing.assert_allclose(np.bincount(found, minlength=4), 1000 * weights, atol=1)
    assert abs(np.mean(found[:500] == 0) - 0.5) < 0.15  # in random order
    assert {*systematic(weights, 1, rng)} <= {0, 2, 3}


def test_dirichlet_laws_of_small_parameters_are_drawn() -> None:
    """Shares of 1e-3 underflow as gamma variables; means and variances stay right."""
    counts = np.array([0.001, 0.002, 0.001])
    drawn = dirichlet(np.broadcast_to(counts, (N, 3)), np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn.mean(axis=0), [0.25, 0.5, 0.25], atol=0.012)
    large = dirichlet(np.tile([5.0, 20.0], (N, 1)), np.random.default_rng(0))
    assert large[:, 0].mean() == pytest.approx(0.2, abs=0.002)
    assert large[:, 0].var() == pytest.approx(0.2 * 0.8 / 26.0, rel=0.05)


# ---------------------------------------------------------------- warnings, errors
def test_one_cloud_of_like_trees_warns_once() -> None:
    X, y, asked = table("linear")
    for make in (REAL["linear"], REAL["window"], LABELS["class"]):
        labels = table("class")[1]
        model = make()
        model.update(X, labels if model.is_classifier else y)
        assert effective_roots(model.state.cloud) < 5.0
        with pytest.warns(DegenerateTreesWarning, match="n_clouds=10"):
            model.posterior_draws(asked, 10)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.posterior_draws(asked, 10)
            model.compute_contrast(asked, asked, 10)
        with pytest.warns(DegenerateTreesWarning):
            model.copy().compute_contrast(asked, asked, 10)


def test_others_do_not_warn() -> None:
    X, y, asked = table("linear")
    rng = np.random.default_rng(1)
    flat = DynamicTree(seed=1, n_particles=50).update(X, rng.standard_normal(150))
    models = [make().update(X, y) for name, make in REAL.items() if "averag" in name]
    models.append(RandomTreesStream("constant", seed=1).update(X, y))
    if np.isinf(effective_roots(flat.state.cloud)):
        models.append(flat)
    one = DynamicTree(n_particles=50, tree_prior=(0.0, 1.0), seed=1).update(X, y)
    assert np.isinf(effective_roots(one.state.cloud))
    for model in [*models, one]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.posterior_draws(asked, 10)


KINDS = [
    "linear", "window", "averaged", "with forests", "random trees", "class averaged",
    "class stream",
]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_bad_arguments_are_refused(name: str) -> None:
    model, asked = learned_response(name)
    for ask in (model.posterior_draws, lambda X, *a: model.compute_contrast(X, X, *a)):
        with refused("n_draws", "0", model):
            ask(asked, 0)
        with refused("n_draws", "2.5", model):
            ask(asked, 2.5)
        with refused("kind", "'new'", model):
            ask(asked, 10, "new")
        with refused("seed", "'dice'", model):
            ask(asked, 10, "mean", "dice")
        with refused("X" if ask == model.posterior_draws else "X_0", "2", model):
            ask(asked[:, :2], 10)
    with refused("X_0", "4 and 3", model):
        model.compute_contrast(asked, asked[:3], 10)
    if model.is_classifier:
        with refused("kind", "'obs'", model):
            model.compute_contrast(asked, asked, 10, "obs")
    with pytest.raises(NotReadyError, match="posterior_draws"):
        ALL[name]().posterior_draws(asked)


def test_where_r_leaves_no_freedom_there_is_no_draw() -> None:
    """Three parameters and a row more than three: no degrees of freedom are left."""
    rng = np.random.default_rng(0)
    X = rng.random((4, 3))
    tree = DynamicTree(
        "linear", rules="r", n_particles=10, min_leaf=3, n_start=3, seed=1
    )
    with pytest.warns(DegenerateWeightsWarning):
        tree.update(X, rng.random(4))
    assert (tree.predict(X).df <= 0.0).all()
    assert np.isnan(tree.posterior_draws(X, 20, seed=1).values).all()


WEIGHTED = {
    "tree": lambda: DynamicTree("linear", n_particles=100, seed=1),
    "stream": lambda: StreamingTree("constant", window=60, n_particles=100, seed=1),
    "average": lambda: AveragedTrees("constant", n_clouds=2, n_particles=50, seed=1),
    "averaged stream": lambda: AveragedStream("constant", n_particles=50, seed=1),
    "random trees": lambda: RandomTreesStream("constant", seed=1),
}


@pytest.mark.parametrize("make", WEIGHTED.values(), ids=WEIGHTED)
def test_new_responses_have_the_noise_of_their_weight(make: Any) -> None:
    """Quartiles of 20,000 draws beside those of `predict`; seeds are fixed.

    A quartile of so many has a standard error of 1 % of the distance of both.
    """
    rng = np.random.default_rng(2)
    X = rng.random((200, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(200)
    model, asked = make(), np.array([[0.2, 0.5], [0.8, 0.5]])
    model.update(X, y, np.full(200, 4.0))
    for weight in (None, [1.0, 1.0], [0.25, 9.0]):
        draws = model.posterior_draws(asked, 20_000, "obs", 3, weight).values
        found = np.diff(np.quantile(draws, [0.25, 0.75], axis=0), axis=0)[0]
        told = np.diff(model.predict(asked, weight).quantile([0.25, 0.75]))[:, 0]
        np.testing.assert_allclose(found, told, rtol=0.06)
    with pytest.raises(ValueError, match="a mean has no weight"):
        model.posterior_draws(asked, 10, "mean", 3, [1.0, 1.0])
    with pytest.raises(ValueError, match="must be > 0"):
        model.posterior_draws(asked, 10, "obs", 3, [1.0, 0.0])
    with pytest.raises(ValueError, match="one value a row"):
        model.posterior_draws(asked, 10, "obs", 3, [1.0])
