"""Regions and the arguments of sensitivity: defaults, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    StreamingTree,
    checkpoint,
)
from dyntree._core.trees import criteria, query
from dyntree.trees.answers.criteria import region
from tests.unit.models import data, fresh, grown, refused


def flagged(model: str = "augmented") -> DynamicTree:
    """A tree whose second column holds 0 and 1."""
    X, y = data(model)
    X[:, 1] = X[:, 1] > 0.5
    return fresh(model).update(X, y)


def test_the_default_region_is_the_range_of_what_there_is() -> None:
    X, _ = data("constant")
    cloud = grown("constant").state.cloud
    low, high, flags = region(cloud, 0)
    assert low.tolist() == X.min(axis=0).tolist()
    assert high.tolist() == X.max(axis=0).tolist()
    assert flags.tolist() == [False, False]
    low, high, _ = region(cloud, 0, np.array([[-1.0, 0.5], [0.5, 7.0]]))
    assert low.tolist() == [-1.0, X[:, 1].min()]
    assert high.tolist() == [X[:, 0].max(), 7.0]


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"rules": "native"}, False),
        ({"rules": "native", "forget": 0.9}, True),
        ({"rules": "r", "intercept": "augmented"}, True),
        ({"rules": "r", "intercept": "augmented", "forget": 0.9}, True),
    ],
)
def test_regions_cover_all_rows_learned_or_those_held(
    model: str, options: Any, held: bool
) -> None:
    """A window draws together; where the past fades it is what matters."""
    X, y = data("constant", 90)
    X[:, 1] = X[:, 1] > 0.5
    X[70:, 1] = 1.0
    if options["rules"] == "native":
        X[::9, 0] = np.nan
    if model == "constant":
        options = {name: options[name] for name in options if name != "intercept"}
    stream = StreamingTree(
        model, n_particles=20, window=20, discard="age", rejuvenate_every=0, seed=1,
        **options,
    ).update(X, y)  # fmt: skip
    rows = X[-20:] if held else X
    copies = stream.tree.copy(), checkpoint.loads(checkpoint.dumps(stream.tree))
    for tree in (stream.tree, *copies):
        low, high, flags = region(tree.state.cloud, tree.state.ones)
        assert low[tree.state.ones :].tolist() == np.nanmin(rows, axis=0).tolist()
        assert high[tree.state.ones :].tolist() == np.nanmax(rows, axis=0).tolist()
        assert flags[tree.state.ones :].tolist() == [False, not held]
        want = criteria.alc_active(tree.state.cloud, low, high, flags, False)
        np.testing.assert_array_equal(tree.active_values("alc"), want)


@pytest.mark.parametrize("late", [1.0, np.nan])
def test_a_coin_that_the_window_does_not_show_is_fair(late: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((400, 2))
    X[:, 1] = X[:, 1] > 0.5
    X[330:, 1] = late
    y = 5.0 * (X[:, 1] == 1.0) + 0.1 * rng.standard_normal(400)
    stream = StreamingTree(
        n_particles=50, window=60, discard="age", rejuvenate_every=0, seed=1
    ).update(X, y)
    found = stream.tree.sensitivity(n_samples=200, n_grid=2)
    fair = stream.tree.sensitivity(n_samples=200, n_grid=2, mode=[0.5, 0.5])
    assert found.grid[:, 1].tolist() == [0.0, 1.0]
    low, high = found.main.mean(axis=0)[:, 1]
    assert (low, high) == pytest.approx((0.0, 5.0), abs=0.5)
    assert abs(found.total.mean() - fair.total.mean()) < 0.1


def test_samples_of_active_rows_have_a_grid_over_them() -> None:
    X, y = data("constant", 90)
    stream = StreamingTree(
        n_particles=20, window=20, discard="age", rejuvenate_every=0, seed=1
    ).update(X, y)
    for method, rows in (("boot", X[-20:]), ("lhs", X)):
        grid = stream.tree.sensitivity(n_samples=50, n_grid=3, method=method).grid
        assert grid[0].tolist() == rows.min(axis=0).tolist()
        assert grid[-1].tolist() == rows.max(axis=0).tolist()


def test_columns_of_zeros_and_ones_are_categorical_unless_said_otherwise() -> None:
    cloud = flagged().state.cloud
    low, high, flags = region(cloud, 1)
    assert flags.tolist() == [False, False, True]
    assert (low[2], high[2]) == (0.0, 1.0)
    assert region(cloud, 1, None, None, [False, False])[2].tolist() == [False] * 3


def test_bounds_and_flags_are_for_the_users_columns() -> None:
    cloud = flagged().state.cloud
    low, high, flags = region(cloud, 1, None, [[-1, 2], [0, 1]], [False, True])
    assert low.tolist() == [1.0, -1.0, 0.0]
    assert high.tolist() == [1.0, 2.0, 1.0]
    assert flags.tolist() == [False, False, True]


BAD_REGIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"bounds": [[0, 1]]}, "bounds", "[[0, 1]]"),
    ({"bounds": [0, 1]}, "bounds", "[0, 1]"),
    ({"bounds": [[0, 1], [0, np.inf]]}, "bounds", "inf"),
    ({"bounds": [[0, 1], [0, np.nan]]}, "bounds", "nan"),
    ({"bounds": [[0, 1], [2, 1]]}, "bounds", "[2, 1]"),
    ({"bounds": [["a", "b"], [0, 1]]}, "bounds", "['a', 'b']"),
    ({"bounds": [[0, 1], [0]]}, "bounds", "[0]"),
    ({"bounds": "all"}, "bounds", "'all'"),
    ({"bounds": [[0, 1], [0, 2]]}, "bounds", "(0.0, 2.0) in column 1"),
    ({"categorical": [True, True]}, "categorical", "in column 0"),
    ({"categorical": [False]}, "categorical", "[False]"),
    ({"categorical": [0, 1]}, "categorical", "[0, 1]"),
    ({"categorical": [[True], [True, False]]}, "categorical", "[True]"),
]


@pytest.mark.parametrize(("options", "name", "came"), BAD_REGIONS)
@pytest.mark.parametrize("model", ["constant", "augmented"])
def test_bad_regions_are_refused(
    model: str, options: Any, name: str, came: str
) -> None:
    m = flagged(model)
    calls: list[Callable[..., Any]] = [
        lambda **options: m.acquisition([[0.5, 0.5]], "alc", **options),
        m.relevance,
        m.sensitivity,
    ]
    for call in calls:
        with refused(name, came, m):
            call(**options)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_samples", [1, 10.0]), ("n_grid", [0, True]), ("span", [-0.1, 1.1, "a"]),
        ("method", ["mc"]), ("mode", [[0.5], [0.5, np.nan], [[0.5, 0.5]]]),
        ("shape", [[1.0], [-1.0, 0.0], [0.0, 0.0], [0.5, 0.0], ["a", "b"], 1.0,
                   [1.0, 1.0]]),
    ],
)  # fmt: skip
def test_bad_arguments_of_sensitivity_are_refused(name: str, values: Any) -> None:
    model = flagged()
    for value in values:
        with refused(name, repr(value), model):
            model.sensitivity(**{name: value})


def test_the_mode_of_inputs_that_are_not_uniform_is_within_their_bounds() -> None:
    model, shape = flagged(), [2.0, 0.0]
    for mode in ([1.5, 0.5], [-0.5, 0.5], [0.5, 1.5]):
        with refused("mode", repr(mode), model):
            model.sensitivity(shape=shape, mode=mode)
        with refused("mode", repr(mode), model):
            model.sensitivity(shape=shape, mode=mode, bounds=[[0, 1], [0, 1]])
    model.sensitivity(shape=shape, mode=[1.5, 0.5], bounds=[[0, 2], [0, 1]])
    model.sensitivity(mode=[1.5, 0.5])  # uniform: it counts for nothing


def test_candidates_outside_a_categorical_column_are_named() -> None:
    with refused("X", "(0.0, 2.0) in column 1", model := flagged()):
        model.acquisition([[0.5, 2.0]], "alc")
    assert len(model.acquisition([[0.5, 2.0]], "alc", bounds=[[0, 1], [0, 1]])) == 1
    assert len(model.acquisition([[0.5, 2.0]], "alc", categorical=[False, False])) == 1


@pytest.mark.parametrize("method", ["lhs", "boot"])
@pytest.mark.parametrize("model", ["constant", "linear"])
def test_missing_values_leave_bounds_and_effects_finite(
    model: str, method: str
) -> None:
    """Gaps in columns 0 and 4 (0/1); column 2 always missing, column 3 constant."""
    X, y = data("constant")
    gaps = np.column_stack([X, X[:, 0], np.ones(60), X[:, 0] > 0.5])
    gaps[::3, 0] = gaps[:, 2] = gaps[1::3, 4] = np.nan
    tree = DynamicTree(model, rules="native", n_particles=20, seed=1).update(gaps, y)
    told = tree.sensitivity(n_samples=40, n_grid=5, method=method)
    there = gaps[~np.isnan(gaps[:, 0]), 0]
    assert told.grid[[0, -1], 0].tolist() == [there.min(), there.max()]
    assert told.grid[:, 2].tolist() == [0.0] * 5
    assert np.isfinite(told.first).all()
    assert np.isfinite(told.main).all()
    flat = told.main[:, :, [2, 3]]
    np.testing.assert_allclose(flat, np.broadcast_to(flat[:, :1, :1], flat.shape))


@pytest.mark.parametrize("rules", ["native", "r"])
def test_windows_without_width(rules: str) -> None:
    """A column of three values: windows of 5 % hold one value (R: quirk 25)."""
    X, y = data("constant")
    X[:, 0] = np.arange(60) % 3
    tree = DynamicTree("constant", rules=rules, n_particles=10, seed=1).update(X, y)
    main = tree.sensitivity(n_samples=40, n_grid=5, method="boot", span=0.05).main
    assert np.isnan(main[:, [0, 2, 4], 0]).all() == (rules == "r")
    assert np.isfinite(main).all() == (rules == "native")


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_missing_references_stand_at_the_frozen_centre(model: str) -> None:
    X, y = data("constant")
    gaps = np.column_stack([X, X[:, 1]])
    gaps[::3, 0] = np.nan
    tree = DynamicTree(model, rules="native", n_particles=20, seed=1)
    tree.update(gaps, y)
    for rule, options in [
        ("ieci", {}),
        ("ieci", {"Xref": gaps}),
        ("alc", {"Xref": gaps}),
    ]:
        values = tree.acquisition(gaps[:9], rule, **options)
        assert np.isfinite(values).all(), rule
        assert (values > 0.0).any()
    if model == "constant":
        return
    one_leaf = DynamicTree(
        model, rules="native", n_particles=2, seed=1, tree_prior=(0.0, 2.0)
    ).update(gaps, y)
    centred = gaps.copy()
    centred[::3, 0] = one_leaf.state.cloud.prior_point["centre"][0]
    np.testing.assert_allclose(
        one_leaf.acquisition(gaps, "alc", Xref=gaps),
        one_leaf.acquisition(centred, "alc", Xref=centred),
        rtol=1e-10,
    )


def test_main_effects_and_indices_find_the_column_that_matters() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((200, 2))
    y = 5.0 * X[:, 1] + 0.1 * rng.normal(size=200)
    told = fresh("implicit", n_particles=100).update(X, y).sensitivity(n_samples=300)
    slope = told.main.mean(axis=0)[-1] - told.main.mean(axis=0)[0]
    # the truth is 0 and 5; windows of 30 % blunt the ends by 15 % each
    assert abs(slope[0]) < 0.5 < 2.5 < slope[1]
    assert told.first.mean(axis=0)[1] > 0.8


@pytest.mark.parametrize("method", ["lhs", "boot"])
def test_a_grid_of_one_point_and_a_categorical_column(method: str) -> None:
    told = flagged().sensitivity(n_samples=40, n_grid=1, method=method, mode=[0.5, 0.3])
    assert told.grid.tolist()[0][1] == 0.0
    assert told.main.shape == (20, 1, 2)
    assert told.first.shape == told.total.shape == (20, 2)
    assert np.isfinite(told.first).any()


def test_swapped_arguments_are_told_in_few_words() -> None:
    """An error that printed 300 rows came before."""
    X = np.random.default_rng(0).random((300, 2))
    tree = DynamicTree(n_particles=10, seed=1).update(X[:50], X[:50, 0])
    with pytest.raises(ValueError, match=r"rule must be text") as caught:
        tree.acquisition("ei", X)  # type: ignore[arg-type]
    assert "ndarray of shape (300, 2)" in str(caught.value)
    with pytest.raises(ValueError, match=r"got ndarray of shape \(300, 2\)"):
        tree.acquisition(X, X)  # type: ignore[arg-type]


# ------------------------------------------------------------ what "ei" improves on
def test_improvement_on_a_value_or_on_the_rows_held_is_a_row_s_own() -> None:
    """On the candidates it depends on those asked with it, as in CRAN dynaTree."""
    rng = np.random.default_rng(4)
    X = rng.random((60, 2))
    y = 3.0 * X[:, 0] + 0.2 * rng.standard_normal(60)
    tree, new = DynamicTree(n_particles=30, seed=1).update(X, y), rng.random((9, 2))
    for best in (1.0, -2, "rows"):
        together = tree.acquisition(new, "ei", best=best)
        alone = [tree.acquisition(new[k : k + 1], "ei", best=best)[0] for k in range(9)]
        np.testing.assert_allclose(together, alone, rtol=1e-13)
    with_all = tree.acquisition(new, "ei")
    np.testing.assert_array_equal(
        with_all, tree.acquisition(new, "ei", best="candidates")
    )
    high = np.argsort(tree.predict(new).mean)[-3:]  # the lowest is not asked with them
    assert np.all(tree.acquisition(new[high], "ei") > with_all[high])
    # E max(best - Y, 0) of each particle's t, by quadrature over its quantiles
    location, scale, df = query.predictive(tree.state.cloud, new)
    levels = (np.arange(20_000) + 0.5) / 20_000
    draws = location[..., None] + scale[..., None] * stats.t.ppf(levels, df[..., None])
    expected = np.maximum(1.0 - draws, 0.0).mean(axis=(0, 2))
    np.testing.assert_allclose(
        tree.acquisition(new, "ei", best=1.0), expected, atol=1e-4
    )


@pytest.mark.parametrize("best", ["lowest", None, [1.0], float("nan")])
def test_a_bar_that_is_none_is_refused(best: Any) -> None:
    X = np.random.default_rng(0).random((20, 1))
    tree = DynamicTree(n_particles=5, seed=1).update(X, X[:, 0])
    with pytest.raises((TypeError, ValueError), match="best"):
        tree.acquisition(X, "ei", best=best)


# ------------------------------------------------------- every class refuses the same
@pytest.mark.parametrize("kind", [DynamicTree, AveragedTrees, AveragedStream])
@pytest.mark.parametrize(
    ("rule", "more", "message"),
    [
        ("alm", {"exposure": 2.0}, "exposure is for rule='alc'"),
        ("alc", {"exposure": 2.0, "Xref": [[0.5]]}, "exposure is for rule='alc'"),
        ("alc", {"exposure": 0.0}, "exposure must be finite and > 0"),
        ("ei", {}, "rule='ei' needs a real response"),
        (np.ones(3), {}, "rule must be one of"),
    ],
)
def test_what_is_not_for_a_rule_is_refused(
    kind: Any, rule: Any, more: dict[str, Any], message: str
) -> None:
    rng = np.random.default_rng(2)
    X = rng.random((30, 1))
    counts = kind("negbin", n_particles=5, seed=1).update(X, rng.poisson(3.0, 30))
    with pytest.raises(ValueError, match=message):
        counts.acquisition(X[:3], rule, **more)
