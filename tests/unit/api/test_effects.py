"""Effects of variables of a formula, and joint draws by results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import dyntree.formula.api as dtf
from dyntree.errors import (
    ContrastWarning,
    DegenerateTreesWarning,
    MissingGroupWarning,
    NotReadyError,
)
from tests.helpers import same_bytes
from tests.unit.models import refused

FORMULA = "y ~ x + I(x**2) + C(g) + t + C(g):t"
SMALL: dict[str, Any] = {"n_clouds": 4, "n_particles": 30, "seed": 1}
RECORD = ["estimate", "std_error", "conf_low", "conf_high"]


def table(n: int = 200) -> pd.DataFrame:
    """The effect of t is 0, 1 or 2 by group, that of x is 1 + x."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "g": rng.choice(["a", "b", "c"], n),
            "t": rng.choice([0.0, 1.0], n),
        },
        index=[f"r{k}" for k in range(n)],
    )
    slope = data.g.map({"a": 0.0, "b": 1.0, "c": 2.0})
    data["y"] = data.x + 0.5 * data.x**2 + slope * data.t + 0.3 * rng.normal(size=n)
    data["label"] = np.where(data.y > 1.0, "high", "low")
    return data


@pytest.fixture(scope="module")
def fit() -> Any:
    return dtf.dynamic_tree(FORMULA, table(), model="linear", **SMALL).fit()


@pytest.fixture(scope="module")
def labels() -> Any:
    return dtf.dynamic_tree("label ~ x + g + t", table(), **SMALL).fit()


def test_a_comparison_is_that_of_moved_frames(fit: Any) -> None:
    """Its draws are those of the frames with the variable set, all in one call."""
    data = table()
    rows = pd.concat([data.assign(t=0.0), data.assign(t=1.0)])
    draws = fit.posterior_draws(rows, 400, seed=3).values
    effect = draws[:, 200:] - draws[:, :200]
    for by in (None, "g"):
        told = fit.avg_comparisons("t", by=by, alpha=0.1, n_draws=400, seed=3)
        groups = [slice(None)] if by is None else [data.g == g for g in "abc"]
        assert told["term"].tolist() == ["t"] * len(groups)
        assert told["contrast"].tolist() == ["1 - 0"] * len(groups)
        for k, group in enumerate(groups):
            one = effect[:, group].mean(axis=1)
            ends = np.quantile(one, [0.05, 0.95])
            sd = (ends[1] - ends[0]) / (2.0 * norm.ppf(0.95))
            expected = [one.mean(), sd, *ends, (one > 0).mean()]
            np.testing.assert_allclose(
                told.loc[k, [*RECORD, "p_positive"]].tolist(), expected, rtol=1e-10
            )


def test_rows_without_a_group_are_counted(fit: Any) -> None:
    data = table()
    data["part"] = np.where(data["x"] > 0.0, "up", None)
    n_out = int(data["part"].isna().sum())
    told = rf"by has no label in {n_out} of 200 rows, which are left out"
    for ask in (
        lambda: fit.avg_comparisons("t", data, by="part", n_draws=20, seed=1),
        lambda: fit.avg_comparisons("t", data, by=["g", "part"], n_draws=20, seed=1),
        lambda: fit.avg_predictions(data, by="part", n_draws=20, seed=1),
        lambda: fit.posterior_draws(data, 20, seed=1).average(by=data["part"]),
    ):
        with pytest.warns(MissingGroupWarning, match=told):
            found = ask()
        if isinstance(found, pd.DataFrame):
            assert {*found["part"]} == {"up"}
    with pytest.raises(ValueError, match="by must have a label in some row"):
        fit.avg_predictions(data.assign(part=None), by="part")


@pytest.mark.parametrize("what", [np.nan, None])
def test_a_variable_without_values_is_named(what: Any) -> None:
    data = table().assign(none=what)
    fit = dtf.dynamic_tree("y ~ x + none", data, **SMALL).fit()
    for asked in (None, "none", ["x", "none"]):
        with pytest.raises(ValueError, match=r"some row; 'none' has none\. Name other"):
            fit.avg_comparisons(asked)
    assert len(fit.avg_comparisons("x", n_draws=20, seed=1)) == 1
    other = data.assign(none=np.where(data.g == "a", what, data.x))
    fit = dtf.dynamic_tree("y ~ x + none", other.assign(none=data.x), **SMALL).fit()
    with pytest.raises(ValueError, match=r"group \('a',\); 'none' has none"):
        fit.avg_comparisons("none", other.astype({"none": float}), by="g")


def test_terms_of_a_variable_move_as_one(fit: Any) -> None:
    """The effects of t by group, of x from -1 to 1 and 0 to 1, and of g."""
    by = fit.avg_comparisons("t", by="g", seed=1).set_index("g")["estimate"]
    np.testing.assert_allclose(by[["a", "b", "c"]], [0.0, 1.0, 2.0], atol=0.25)
    far = fit.avg_comparisons("x", contrast=(-1, 1), seed=1)["estimate"][0]
    near = fit.avg_comparisons("x", contrast=(0, 1), seed=1)["estimate"][0]
    assert far == pytest.approx(2.0, abs=0.2)
    assert near == pytest.approx(1.5, abs=0.2)
    g = fit.avg_comparisons("g", seed=1)
    assert g["contrast"].tolist() == ["b - a", "c - a"]
    t = table().t.mean()
    np.testing.assert_allclose(g["estimate"], [t, 2 * t], atol=0.2)


def test_all_variables_are_the_default(fit: Any) -> None:
    told = fit.avg_comparisons(n_draws=50, seed=1)
    assert told["term"].tolist() == ["x", "g", "g", "t"]
    assert [*told] == ["term", "contrast", *RECORD, "p_positive", "p_zero"]
    assert fit.avg_comparisons(["t", "t"], n_draws=50)["term"].tolist() == ["t"]


def test_ratios_are_of_averages(fit: Any) -> None:
    data = table()
    rows = pd.concat([data.assign(g="b"), data.assign(g="c")])
    draws = fit.posterior_draws(rows, 300, seed=3).values.reshape(300, 2, 200)
    means = draws.mean(axis=2)
    told = fit.avg_comparisons(
        "g", contrast=("b", "c"), comparison="ratio", n_draws=300, seed=3
    ).loc[0]
    assert told["contrast"] == "c / b"
    ratio = means[:, 1] / means[:, 0]
    assert told["estimate"] == pytest.approx(ratio.mean(), rel=1e-10)
    assert told["p_positive"] == np.mean(means[:, 1] > means[:, 0])


def test_groups_may_be_of_several_columns(fit: Any) -> None:
    told = fit.avg_predictions(by=["g", "t"], n_draws=200, seed=1)
    assert [*told] == ["g", "t", *RECORD]
    assert len(told) == 6
    expected = table().groupby(["g", "t"])["y"].mean()
    np.testing.assert_allclose(told["estimate"], expected, atol=0.3)
    alone = fit.avg_predictions(seed=1)
    assert alone["estimate"][0] == pytest.approx(table().y.mean(), abs=0.1)


@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_rows_asked_are_those_averaged(fit: Any) -> None:
    data = table()
    some = data[data.g == "c"]
    told = fit.avg_comparisons("t", some, seed=1)["estimate"][0]
    assert told == pytest.approx(2.0, abs=0.3)
    row = fit.avg_comparisons("t", some.iloc[0].to_dict(), seed=1)["estimate"][0]
    assert row == pytest.approx(2.0, abs=0.4)
    hole = some.assign(x=[np.nan, *some.x[1:]])
    assert np.isfinite(fit.avg_comparisons("x", hole, n_draws=50)["estimate"]).all()
    with refused("variables", "'x' has none", fit.tree):
        fit.avg_comparisons("x", some.assign(x=np.nan))


def test_labels_have_effects_on_each_probability(labels: Any) -> None:
    told = labels.avg_comparisons("t", by="g", n_draws=200, seed=1)
    assert [*told][:4] == ["term", "contrast", "class", "g"]
    assert told["class"].tolist() == ["high"] * 3 + ["low"] * 3
    high, low = (
        told["estimate"][part].to_numpy() for part in (told.index[:3], told.index[3:])
    )
    np.testing.assert_allclose(high, -low, atol=1e-12)
    assert high[2] > 0.2
    shares = labels.avg_predictions(n_draws=200, seed=1).set_index("class")["estimate"]
    assert shares["high"] == pytest.approx((table().label == "high").mean(), abs=0.05)


def test_frames_keep_the_callers_index(fit: Any, labels: Any) -> None:
    data = table()
    draws = fit.posterior_draws(data[:4], 100, seed=1)
    assert draws.shape == (100, 4)
    assert draws.summary_frame().index.equals(data.index[:4])
    assert fit.posterior_draws(n_draws=5).shape == (5, 200)
    one = fit.compute_contrast(data[:3], data[3:6], 100, seed=1)
    assert one.summary_frame().index.equals(data.index[3:6])
    new = fit.posterior_draws(data[:4], 100, "obs", seed=1)
    assert [*new.summary_frame()][1] == "obs_se"
    told = labels.posterior_draws(data[:4], 100, seed=1)
    assert told.shape == (100, 4, 2)
    drawn = labels.posterior_draws(data[:4], 100, "obs", seed=1).values
    assert {*drawn.ravel()} == {"high", "low"}


def test_polars_in_polars_out(fit: Any) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.from_pandas(table().drop(columns="label"))
    told = fit.posterior_draws(frame[:3], 50, seed=1)
    assert isinstance(told.summary_frame(), pl.DataFrame)
    expected = fit.posterior_draws(table()[:3], 50, seed=1)
    np.testing.assert_array_equal(told.values, expected.values)
    by = fit.avg_comparisons("g", frame, by="t", n_draws=50, seed=1)
    same = fit.avg_comparisons("g", table(), by="t", n_draws=50, seed=1)
    pd.testing.assert_frame_equal(by, same)


def test_questions_repeat_and_leave_the_trees_alone(fit: Any) -> None:
    with same_bytes(fit.tree):
        first, again = (fit.avg_comparisons("x", n_draws=50, seed=4) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_intervals_of_probabilities_are_of_the_trees_asked(labels: Any) -> None:
    data, fit = table(), labels.copy()
    asked = fit.get_prediction(data[:5])
    first, again = asked.summary_frame(0.1), asked.summary_frame(0.1)
    pd.testing.assert_frame_equal(first, again)
    ends = first[["p_high_ci_lower", "p_high_ci_upper"]].to_numpy()
    drawn = fit.posterior_draws(data[:5], 20_000, seed=1).conf_int(0.1)[:, 0]
    np.testing.assert_allclose(ends, drawn, atol=0.06)
    wide = asked.summary_frame(0.01)
    assert (wide["p_low_ci_upper"] >= first["p_low_ci_upper"]).all()
    fit.append(data[:1])
    late = asked.summary_frame(0.1)
    assert late[["p_high_ci_lower", "p_low_ci_upper"]].isna().all(axis=None)
    pd.testing.assert_series_equal(late["p_high"], first["p_high"])


def test_rows_are_drawn_in_parts(labels: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("dyntree.api.predictions.MOST_DRAWN", 4000)
    told = labels.get_prediction(table()[:7]).summary_frame()
    assert told.notna().all(axis=None)


def test_one_cloud_is_told_of() -> None:
    one = {"model": "constant", "n_clouds": 1, "n_particles": 50, "seed": 1}
    fit = dtf.dynamic_tree(FORMULA, table(), **one).fit()
    with pytest.warns(DegenerateTreesWarning, match="n_clouds=10"):
        fit.avg_comparisons("t", n_draws=20)
    fit.avg_comparisons("t", n_draws=20)


def test_bad_questions_are_refused(fit: Any) -> None:
    for name, came, options in [
        ("variables", "'q'", {"variables": "q"}),
        ("variables", "none", {"variables": []}),
        ("contrast", "'z'", {"variables": "g", "contrast": ("a", "z")}),
        ("comparison", "'lift'", {"comparison": "lift"}),
        ("by", "'q'", {"by": "q"}),
        ("by", "[]", {"by": []}),
        ("alpha", "0", {"alpha": 0}),
        ("n_draws", "0", {"n_draws": 0}),
        ("seed", "'dice'", {"seed": "dice"}),
    ]:
        with refused(name, came, fit.tree):
            fit.avg_comparisons(**options)
    with refused("n_draws", "0", fit.tree):
        fit.avg_predictions(n_draws=0)
    with pytest.raises(ValueError, match="columns of the formula"):
        fit.avg_comparisons("t", table().drop(columns="g"))
    gone = fit.copy()
    gone.model = type(gone.model).__new__(type(gone.model))
    gone.model.__dict__.update(fit.model.__dict__, table=None)
    with refused("exog", "None", fit.tree):
        gone.avg_comparisons("t")
    assert len(gone.avg_comparisons("x", table(), contrast="sd", n_draws=20)) == 1
    few = dtf.dynamic_tree("y ~ x", table(3), **SMALL).fit()
    with pytest.raises(NotReadyError):
        few.avg_comparisons("x", contrast=1)


def test_groups_of_categories_stand_in_their_order(fit: Any) -> None:
    """Of ordered ones and others, alone and beside numbers; so do those of draws."""
    order = ["mid", "lo", "hi", "none"]
    for ordered in (True, False):
        data = table().assign(o=pd.Categorical(["lo", "hi", "mid", "hi"] * 50, order))
        data["o"] = data.o.cat.as_ordered() if ordered else data.o
        told = fit.avg_predictions(data, by="o", n_draws=5, seed=1)
        assert told["o"].tolist() == ["mid", "lo", "hi"]
        both = fit.avg_comparisons("t", data, by=["t", "o"], n_draws=5, seed=1)
        pairs = [(t, o) for t in (0.0, 1.0) for o in order[:3]]
        assert [*zip(both["t"], both["o"], strict=True)] == pairs
        draws = fit.posterior_draws(data, 5, seed=1).average(by=data.o)
        assert list(draws.groups) == ["mid", "lo", "hi"]


def test_names_that_are_no_names(fit: Any) -> None:
    for bad in (3, 2.5, b"x"):
        with pytest.raises(ValueError, match="variables must be a name of a column"):
            fit.avg_comparisons(bad)
        with pytest.raises(ValueError, match="by must be a name of a column"):
            fit.avg_predictions(by=bad)


# ---------------------------------------------------------------- signs, scales, steps
@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
def test_ties_have_a_half_on_each_side() -> None:
    """Constant trees that never split on z say so, and are sure of no sign."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.random(80), "z": rng.normal(size=80)})
    data["y"] = np.where(data.x > 0.5, 5.0, 0.0) + 0.1 * rng.normal(size=80)
    fit = dtf.dynamic_tree(
        "y ~ x + z", data, model="constant", n_particles=50, seed=1
    ).fit()
    told = fit.avg_comparisons("z", seed=1).loc[0]
    assert told.p_zero > 0.5
    assert told.p_positive == pytest.approx(0.5, abs=0.5 * (1.0 - told.p_zero) + 1e-12)
    strong = fit.avg_comparisons("x", contrast=(0.2, 0.8), seed=1).loc[0]
    assert (strong.p_zero, strong.p_positive) == (0.0, 1.0)


@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_a_standard_error_agrees_with_its_interval(fit: Any, alpha: float) -> None:
    told = fit.avg_comparisons(alpha=alpha, n_draws=200, seed=1)
    width = told.conf_high - told.conf_low
    expected = width / (2.0 * norm.ppf(1.0 - alpha / 2.0))
    np.testing.assert_allclose(told.std_error, expected, rtol=1e-12)
    some = fit.avg_predictions(alpha=alpha, n_draws=200, seed=1)
    width = some.conf_high - some.conf_low
    expected = width / (2.0 * norm.ppf(1.0 - alpha / 2.0))
    np.testing.assert_allclose(some.std_error, expected, rtol=1e-12)


def within(formula: str, x: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": x, "z": rng.normal(size=len(x))})
    data["y"] = 2.0 * (data.x - data.x.min()) / np.ptp(data.x) + data.z
    fit = dtf.dynamic_tree(formula, data, model="linear", n_particles=50, seed=1).fit()
    with pytest.warns(ContrastWarning, match="'x'"):
        return fit.avg_comparisons(n_draws=100, seed=1).set_index("term")


def test_a_default_step_stays_within_the_data() -> None:
    """An increase by 1 in [0, 1] asked what no row was near to."""
    x = np.random.default_rng(0).random(120)
    told = within("y ~ x + z", x)
    assert told.contrast["x"] == "(mean + sd/2) - (mean - sd/2)"
    assert told.estimate["x"] == pytest.approx(2.0 * x.std(ddof=1), abs=0.2)
    assert told.contrast["z"] == "+1"


def test_a_spline_does_not_take_other_variables_with_it() -> None:
    """A step beyond its knots is an error of the spline; all comparisons failed."""
    told = within("y ~ bs(x, df=4) + z", 10.0 * np.random.default_rng(0).random(120))
    assert told.estimate["x"] > 0.0
    assert told.estimate["z"] == pytest.approx(1.0, abs=0.2)


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
def test_steps_that_were_asked_for_are_taken() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.random(60), "y": rng.random(60)})
    fit = dtf.dynamic_tree("y ~ x", data, n_particles=20, seed=1).fit()
    assert fit.avg_comparisons("x", contrast=1, n_draws=20).contrast[0] == "+1"
    constant = dtf.dynamic_tree("y ~ x", data.assign(x=3.0), n_particles=20, seed=1)
    assert constant.fit().avg_comparisons("x", n_draws=20).estimate[0] == 0.0
