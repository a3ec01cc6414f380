"""What results tell of the variables of the raw data, not of features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")
pytest.importorskip("matplotlib")

import dyntree.formula.api as dtf
from dyntree.encoding.tables import table_of
from dyntree.errors import NotReadyError, UndefinedTermWarning
from dyntree.summaries.effects import PartialDependence, VariableSensitivity
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import refused

SMALL: dict[str, Any] = {"n_particles": 30, "seed": 1}
FORMULAS = {
    "y ~ a*b": ["a", "b"],
    "y ~ a + I(a**2)": ["a"],
    "y ~ poly(a, 3) + b": ["a", "b"],
    "y ~ bs(a, df=4)": ["a"],
    "y ~ C(g)*t": ["g", "t"],
    "y ~ g + o + day": ["g", "o", "day"],
    "y ~ np.log(a):b": ["a", "b"],
    "y ~ center(a):t + scale(b)": ["b", "a", "t"],
}


def table(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {
            "a": rng.uniform(0.1, 1.0, n), "b": rng.random(n),
            "g": rng.choice(["u", "v", "w"], n), "t": rng.choice([0.0, 1.0], n),
            "o": pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], ordered=True
            ),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), "D"),
        },
        index=[f"r{k}" for k in range(n)],
    )  # fmt: skip
    data["y"] = 4 * data.a * data.b + (data.g == "u") * data.t
    data["y"] += 0.1 * rng.standard_normal(n)
    data["label"] = np.where(data.y > 1.0, "up", "down")
    return data


def fitted(formula: str = "y ~ a*b", data: Any = None, **options: Any) -> Any:
    data = table() if data is None else data
    return dtf.dynamic_tree(formula, data, **SMALL | options).fit()


# ------------------------------------------------------------ importance
@pytest.mark.parametrize("formula", [*FORMULAS])
def test_there_is_one_entry_a_variable(formula: str) -> None:
    fit = fitted(formula, model="linear")
    with same_bytes(fit.tree):
        told = fit.importance()
        assert list(told.index) == FORMULAS[formula]
        assert list(told.columns) == ["share", "se", "use"]
        assert told["share"].sum() == pytest.approx(1.0)
        assert told.equals(fit.importance())
        by_feature = fit.importance(by="feature")
        assert list(by_feature.index) == list(
            fit.inner.importance(factors=fit.design.factors or None).names
        )


@pytest.mark.parametrize(
    "options", [{}, {"n_clouds": 2}, {"window": 40}, {"window": "auto"}]
)
@pytest.mark.parametrize("response", ["y", "label"])
def test_where_variables_are_features_shares_are_those_of_features(
    options: dict[str, Any], response: str
) -> None:
    """Of the same rows, the trees' own, by the same draws: to rounding."""
    fit = fitted(f"{response} ~ a + b + g + t", **options)
    told, known = fit.importance(), fit.importance(by="feature")
    assert list(told.index) == list(known.index) == ["a", "b", "g", "t"]
    np.testing.assert_allclose(told, known, rtol=1e-9, atol=1e-12)
    later = fit.append(table(30))
    np.testing.assert_allclose(
        later.importance(), later.importance(by="feature"), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("formula", ["y ~ np.log(a):b + g:t", "y ~ poly(a, 2)*g + t*b"])
def test_a_share_is_that_of_frames_in_which_the_variable_is_exchanged(
    formula: str,
) -> None:
    data = table()
    fit = fitted(formula, data, model="linear", n_clouds=2)
    rng = np.random.default_rng([1, 120])
    rows = rng.integers(120, size=(2, 200))
    base, other = (data.iloc[some].reset_index(drop=True) for some in rows)
    names, known = fit.design.columns, np.asarray(fit.predict(base))
    effect = [
        0.5 * np.mean((fit.predict(base.assign(**{n: other[n]})) - known) ** 2)
        for n in names
    ]
    told = fit.importance(n_samples=200)["share"]
    np.testing.assert_allclose(told[list(names)], effect / np.sum(effect), rtol=1e-9)
    assert fit.importance(data, n_samples=200)["share"].equals(told)


def test_a_product_belongs_to_both_and_a_square_to_its_variable() -> None:
    """Without noise, on a balanced grid: the shares of a and b are equal.

    Of the formula's own least squares they are; 500 pairs of rows err by .026 each,
    and .15 is nearly six standard errors: a false-fail rate below 1e-7.
    """
    side = np.linspace(0.05, 0.95, 12)
    a, b = (one.ravel() for one in np.meshgrid(side, side))
    order = np.random.default_rng(0).permutation(144)
    data = pd.DataFrame({"a": a, "b": b, "y": a * b}).iloc[order]
    fit = fitted("y ~ a*b", data, model="linear", n_particles=100)
    told = fit.importance()
    assert told["share"]["a"] == pytest.approx(0.5, abs=0.15)
    assert fit.importance(by="feature")["share"]["a:b"] > 0.5
    square = fitted("y ~ a + I(a**2) + b", data.assign(y=(a - 0.5)[order] ** 2))
    assert square.importance()["share"]["a"] > 0.9


def test_loaded_results_tell_what_their_features_tell(tmp_path: Path) -> None:
    data = table()
    fit = fitted("y ~ a*b + g", data)
    fit.save(tmp_path / "m.dyn")
    again = dtf.load(tmp_path / "m.dyn")
    pd.testing.assert_frame_equal(again.importance(), fit.importance())
    assert again.tells_variables
    mixed = fitted("y ~ np.log(a):b", data)
    mixed.save(tmp_path / "m.dyn")
    again = dtf.load(tmp_path / "m.dyn")
    for ask in (
        again.importance, again.sensitivity, again.plot_importance, again.plot_partial,
        lambda: again.partial_dependence("a"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="exog must be given"):
            ask()
    assert "np.log(a):b" in again.summary().as_text()
    assert "by feature" in again.summary().as_text()
    assert "by variable" in fit.summary().as_text()
    pd.testing.assert_frame_equal(again.importance(data), mixed.importance())
    assert again.plot_partial(["a"], exog=data).axes
    fit.remove_data()
    with pytest.raises(ValueError, match="exog must be given"):
        fit.importance()


def test_rows_that_no_data_have_are_told_but_in_summaries() -> None:
    """Of a sum of both variables, whose exchange leads out of what there was."""
    data = table()
    data["b"] = data.a - 0.2 * data.b - 0.01
    logs = fitted("y ~ np.log(a - b)", data)
    with pytest.warns(UndefinedTermWarning):
        assert list(logs.importance().index) == ["a", "b"]
    assert "by variable" in logs.summary().as_text()
    spline = fitted("y ~ bs(a - b, df=4)", data)
    with pytest.raises(ValueError, match="within the outer knots"):
        spline.importance()
    assert "by feature" in spline.summary().as_text()


# ------------------------------------------------------------ sensitivity
@pytest.mark.parametrize("formula", [*FORMULAS])
@pytest.mark.parametrize("method", ["lhs", "boot"])
def test_sensitivity_is_by_variable(formula: str, method: str) -> None:
    fit, names = fitted(formula, model="linear", n_clouds=2), FORMULAS[formula]
    before = model_bytes(fit.tree)
    found = fit.sensitivity(n_samples=64, n_grid=7, method=method)
    assert isinstance(found, VariableSensitivity)
    assert found.inputs == tuple(names)
    assert found.first.shape == found.total.shape == (60, len(names))
    assert np.isfinite(found.first).all()
    for effect, name in zip(found.effects, names, strict=True):
        assert effect.name == name
        levels = {"g": ["u", "v", "w"], "o": ["lo", "mid", "hi"], "t": [0.0, 1.0]}
        if name in levels:
            assert effect.values.tolist() == levels[name]
        assert effect.is_factor == (name in levels)
        assert effect.draws.shape == (60, len(levels.get(name, range(7))))
        assert np.isfinite(effect.draws).all()
    again = fit.sensitivity(n_samples=64, n_grid=7, method=method)
    np.testing.assert_array_equal(found.total, again.total)
    assert model_bytes(fit.tree) == before


@pytest.mark.parametrize("response", ["y", "label"])
def test_indices_are_those_of_features_where_these_are_variables(response: str) -> None:
    """Their differences over 30 seeds have sds up to .008, and means below .0012.

    .05 is six sds: a false-fail rate below 1e-7 for the sixteen of them.
    """
    fit = fitted(f"{response} ~ a + b + g + t", n_clouds=2)
    label = "up" if response == "label" else None
    told = fit.sensitivity(label=label)
    known = fit.inner.sensitivity(label=label, factors=fit.design.factors)
    assert told.inputs == known.inputs
    for one, other in ((told.first, known.first), (told.total, known.total)):
        np.testing.assert_allclose(one.mean(axis=0), other.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(
        told.effects[0].mean, known.main[:, :, 0].mean(axis=0), atol=0.1
    )
    np.testing.assert_allclose(
        told.effects[2].mean, known.main[:, -1, 2:5].mean(axis=0), atol=0.1
    )


@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_counts_have_effects_of_variables(model: str) -> None:
    """Of rates; indices as those of features, within .05 as above."""
    data = table(300)
    rate = np.exp(2 * data.a + (data.g == "u"))
    data["k"] = np.random.default_rng(0).poisson(rate)
    fit = fitted("k ~ a + g", data, model=model, n_clouds=2)
    np.testing.assert_allclose(
        fit.importance(), fit.importance(by="feature"), rtol=1e-9, atol=1e-12
    )
    told = fit.sensitivity()
    known = fit.inner.sensitivity(factors=fit.design.factors)
    for one, other in ((told.first, known.first), (told.total, known.total)):
        np.testing.assert_allclose(one.mean(axis=0), other.mean(axis=0), atol=0.05)
    found = fit.partial_dependence("g", n_rows=300)
    moved = (fit.design.encode(table_of(data.assign(g=g))) for g in "uvw")
    rates = [fit.tree.predict(rows).mean.mean() for rows in moved]
    level, ratios = np.exp(np.log(rates).mean()), found.mean / found.mean[0]
    assert np.exp(np.log(found.mean).mean()) == pytest.approx(level, rel=1e-9)
    truth = np.exp([0.0, -1.0, -1.0])  # which regressions are near
    np.testing.assert_allclose(ratios, truth, atol=0.06)
    means = found.draws.mean(axis=0)
    np.testing.assert_allclose(means, found.mean, rtol=0.03)


def test_indices_of_a_product_are_the_known_ones() -> None:
    """Of 4ab on the unit square: first order 3/7 each, total 4/7.

    The fit of its own formula is near exact, and its noise nearly none. Over 20 seeds
    the largest error was .007; the sequence errs by .005: .04 is eight of these.
    """
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 200))
    data = pd.DataFrame({"a": a, "b": b, "y": 4 * a * b})
    fit = fitted("y ~ a*b", data, model="linear", n_clouds=2, n_particles=50)
    bounds = {"a": (0, 1), "b": (0, 1)}
    found = fit.sensitivity(bounds=bounds)
    np.testing.assert_allclose(found.first.mean(axis=0), 3 / 7, atol=0.04)
    np.testing.assert_allclose(found.total.mean(axis=0), 4 / 7, atol=0.04)
    effect = found.effects[0]
    assert (effect.values[0], effect.values[-1]) == (0.0, 1.0)
    np.testing.assert_allclose(effect.mean[20:80], 2 * effect.values[20:80], atol=0.1)


def test_gaps_are_drawn_where_trees_ask_for_them() -> None:
    """A variable that acts by being there has an index, and trees ask for it."""
    rng = np.random.default_rng(3)
    there = rng.random(200) < 0.5
    data = pd.DataFrame({"a": np.where(there, rng.random(200), np.nan)})
    data["b"], data["y"] = rng.random(200), there + 0.05 * rng.standard_normal(200)
    fit = fitted("y ~ a + b", data, n_clouds=2)
    view = fit.inner.frozen_view()
    assert view.gap_features() == {0}
    assert fit.sensitivity(n_samples=256).total.mean(axis=0)[0] > 0.8
    assert fitted("y ~ a + b").inner.frozen_view().gap_features() == set()


# ------------------------------------------------------------ partial dependence
@pytest.mark.parametrize("formula", [*FORMULAS])
def test_partial_dependence_is_the_mean_of_moved_frames(formula: str) -> None:
    data = table()
    fit = fitted(formula, data, model="linear", n_clouds=2)
    for name in FORMULAS[formula]:
        found = fit.partial_dependence(name, kind="both", n_grid=3, n_draws=300)
        assert isinstance(found, PartialDependence)
        (grid,) = found.grids
        assert found.are_factors == (name in ("g", "t", "o"),)
        rows = [fit.predict(data.assign(**{name: value})) for value in grid]
        assert found.individual is not None
        np.testing.assert_allclose(found.individual, np.transpose(rows), rtol=1e-9)
        np.testing.assert_allclose(found.mean, np.mean(rows, axis=1), rtol=1e-9)
        # six standard errors of 300 draws
        error = 6 * found.std() / np.sqrt(300) + 1e-9
        assert np.all(np.abs(found.draws.mean(axis=0) - found.mean) < error)
        low, high = found.conf_int(0.1).T
        assert np.all(low <= high)


def test_differences_are_those_of_comparisons() -> None:
    """Of the same draws: to rounding. The error is half the interval over 1.96."""
    fit = fitted("y ~ C(g)*t + a", model="linear", n_clouds=6)
    draws = fit.partial_dependence("t", n_draws=200, seed=4).draws
    told = fit.avg_comparisons("t", n_draws=200, seed=4)
    effect = draws[:, 1] - draws[:, 0]
    low, high = np.quantile(effect, [0.025, 0.975])
    known = [effect.mean(), (high - low) / (2.0 * norm.ppf(0.975))]
    np.testing.assert_allclose(told.loc[0, ["estimate", "std_error"]].tolist(), known)


def test_pairs_have_a_surface() -> None:
    data = table()
    fit = fitted("y ~ a*b + C(g):t", data, model="linear")
    found = fit.partial_dependence(["a", "g"], n_grid=4, n_draws=20)
    assert found.mean.shape == (4, 3)
    assert found.draws.shape == (20, 4, 3)
    assert found.individual is None
    moved = data.assign(a=found.grids[0][1], g=found.grids[1][2])
    assert found.mean[1, 2] == pytest.approx(fit.predict(moved).mean())
    assert fit.partial_dependence(("a", "b"), n_draws=2).mean.shape == (20, 20)


def test_a_square_is_no_flat_line() -> None:
    x = np.linspace(-1, 1, 150)
    order = np.random.default_rng(0).permutation(150)
    data = pd.DataFrame({"x": x, "y": x**2}).iloc[order]
    fit = fitted("y ~ x + I(x**2)", data, model="linear")
    found = fit.partial_dependence("x", n_grid=9)
    np.testing.assert_allclose(found.mean, found.grids[0] ** 2, atol=0.1)
    main = fit.sensitivity(span=0.05).effects[0]
    np.testing.assert_allclose(main.mean[[0, 50, 99]], [1, 0, 1], atol=0.15)


def test_rows_count_by_their_frequency() -> None:
    data = table().assign(w=np.where(np.arange(120) < 60, 3.0, 1.0))
    fit = fitted("y ~ a*b", data, freq_weights="w", model="linear")
    found = fit.partial_dependence("a", n_grid=2, n_draws=5)
    for value, mean in zip(found.grids[0], found.mean, strict=True):
        moved = np.asarray(fit.predict(data.assign(a=value)))
        assert mean == pytest.approx(np.average(moved, weights=data.w))
    mixed = fitted(
        "y ~ np.log(a):b", data.assign(w=np.r_[0.0, data.w[1:]]), weights="w"
    )
    moved = mixed.predict(data[1:].assign(b=1.0))
    found = mixed.partial_dependence("b", data[1:], n_grid=2)
    assert mixed.partial_dependence("b", n_grid=2).mean == pytest.approx(found.mean)
    assert mixed.importance().equals(mixed.importance(data[1:]))


def test_many_rows_are_a_sample() -> None:
    fit = fitted()
    one = fit.partial_dependence("a", n_rows=30, kind="individual", n_draws=3)
    assert one.individual is not None
    assert one.individual.shape == (30, 50)
    same = fit.partial_dependence("a", n_rows=30, n_draws=3)
    np.testing.assert_array_equal(one.mean, same.mean)
    other = fit.partial_dependence("a", n_rows=30, n_draws=3, seed=8)
    assert not np.array_equal(other.mean, same.mean)


def test_labels_have_probabilities() -> None:
    data = table()
    fit = fitted("label ~ a*b + g", data)
    found = fit.partial_dependence("g", label="up", n_draws=40)
    known = [
        fit.get_prediction(data.assign(g=one)).summary_frame()["p_up"].mean()
        for one in "uvw"
    ]
    assert found.mean.mean() == pytest.approx(np.mean(known), rel=0.01)  # log odds do
    np.testing.assert_allclose(found.mean, known, atol=0.05)  # effects of regressions
    for ask in (fit.sensitivity, fit.plot_partial):
        with pytest.raises(ValueError, match="label must name the class"):
            ask()
    with pytest.raises(ValueError, match="label is for class models only"):
        fitted().sensitivity(label="up")
    assert fit.importance()["share"].sum() == pytest.approx(1.0)


# ------------------------------------------------------------ pictures, errors
def test_pictures_are_by_variable() -> None:
    fit = fitted("y ~ a*b + C(g)*t", model="linear", n_clouds=2)
    axes = fit.plot_partial(n_rows=20).axes
    assert [ax.get_xlabel() for ax in axes] == ["a", "b", "g", "t"]
    assert [one.get_text() for one in axes[2].get_xticklabels()] == ["u", "v", "w"]
    (ax,) = fit.plot_importance().axes
    assert [one.get_text() for one in ax.get_xticklabels()] == ["a", "b", "g", "t"]
    assert len(fit.plot_importance(["a:b"], by="feature").axes) == 1
    assert fit.plot_partial("a", n_rows=9).axes[0].get_ylabel() == "mean of y"


def test_bad_questions() -> None:
    fit = fitted()
    for ask in (fit.partial_dependence, lambda name: fit.plot_partial([name])):
        with refused("variables", "columns of the formula, ['a', 'b']; got 'a:b'"):
            ask("a:b")
    for bad in (["a", "a"], ["a", "b", "a"], []):
        with pytest.raises(ValueError, match="one column, or two that differ"):
            fit.partial_dependence(bad)
    for bad in (3, None, b"a"):
        with pytest.raises(ValueError, match="variables must be a name of a column"):
            fit.partial_dependence(bad)
    with pytest.raises(ValueError, match="bounds must be a dict"):
        fit.sensitivity(bounds={"c": (0, 1)})
    with pytest.raises(ValueError, match="span must be in"):
        fit.sensitivity(span=2.0)
    with pytest.raises(ValueError, match="method must be one of"):
        fit.sensitivity(method="mc")
    with pytest.raises(ValueError, match="kind must be one of"):
        fit.partial_dependence("a", kind="all")
    with pytest.raises(ValueError, match="by must be one of"):
        fit.importance(by="term")
    with pytest.raises(ValueError, match="exog is for by='variable'"):
        fit.importance(table(), by="feature")
    with pytest.raises(ValueError, match="n_samples must be an int >= 2"):
        fit.importance(n_samples=1)
    with pytest.raises(ValueError, match="columns of the formula"):
        fit.importance(table()[["a", "y"]])
    with pytest.raises(ValueError, match="exog must have a row"):
        fit.importance(table()[:0])
    few = fitted(data=table(4))
    for ask in (few.importance, few.sensitivity, few.plot_partial):
        with pytest.raises(NotReadyError):
            ask()


@pytest.mark.filterwarnings("ignore::dyntree.errors.TwoNumbersWarning")
def test_several_responses_are_asked_one_by_one() -> None:
    data = table()
    several = dtf.dynamic_tree("y + t ~ a*b", data, **SMALL).fit()
    for name in ("importance", "sensitivity", "partial_dependence", "plot_partial"):
        with pytest.raises(AttributeError, match=rf"results\['y'\].{name}"):
            getattr(several, name)
    assert several["t"].importance()["share"].sum() == pytest.approx(1.0)
    assert not hasattr(several, "nothing")
