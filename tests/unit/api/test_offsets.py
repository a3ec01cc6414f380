"""Offsets and exposures in formulas: of terms, of columns and of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree.formula.api as dtf
from dyntree import DynamicTree
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.terms import parse
from dyntree.errors import AssumedValueWarning
from dyntree.evaluate import prequential
from tests.helpers import mostly_slow
from tests.unit.api.frames import events
from tests.unit.models import refused

SMALL: dict[str, Any] = {"n_particles": 25, "seed": 1}
pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")


def asked(fit: Any, new: Any, **more: Any) -> np.ndarray:
    return np.asarray(fit.predict(new, **more), dtype=np.float64)


# ------------------------------------------------------------ numbers
@pytest.mark.parametrize("options", [{}, {"n_clouds": 3}, {"window": 40}])
@pytest.mark.parametrize("model", ["constant", "linear"])
def test_an_offset_is_taken_off_and_added_again(
    model: str, options: dict[str, Any]
) -> None:
    data = events()
    options = SMALL | options | {"model": model}
    own = data.assign(less=data["y"] - data["z"])
    plain = dtf.dynamic_tree("less ~ x", own, **options).fit()
    ways = {
        "term": dtf.dynamic_tree("y ~ x + offset(z)", data, **options).fit(),
        "column": dtf.dynamic_tree("y ~ x", data, offset="z", **options).fit(),
    }
    expected = asked(plain, data) + data["z"].to_numpy()
    for name, fit in ways.items():
        assert fit.exog_names == ["x"], name
        np.testing.assert_allclose(asked(fit, data), expected, rtol=1e-12)
        row = data.iloc[3].to_dict()
        assert fit.predict(row) == pytest.approx(expected[3], rel=1e-12)
        ours = fit.get_prediction(data).summary_frame(alpha=0.1)
        theirs = plain.get_prediction(data).summary_frame(alpha=0.1)
        for column in theirs:
            shift = 0.0 if column == "mean_se" else data["z"]
            np.testing.assert_allclose(ours[column], theirs[column] + shift, rtol=1e-9)
        np.testing.assert_allclose(fit.resid, plain.resid, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            fit.one_step_ahead().pit, plain.one_step_ahead().pit, rtol=1e-9
        )
        assert fit.llf == pytest.approx(plain.llf, rel=1e-12)
        drawn = fit.posterior_draws(data[:4], 50, "obs", 1).values
        less = plain.posterior_draws(own[:4], 50, "obs", 1).values
        np.testing.assert_allclose(drawn, less + data["z"].to_numpy()[:4], rtol=1e-9)


def test_values_are_known_for_the_data_and_zero_for_new_rows() -> None:
    data = events()
    fit = dtf.dynamic_tree("y ~ x", data, offset=data["z"], **SMALL).fit()
    named = dtf.dynamic_tree("y ~ x", data, offset="z", **SMALL).fit()
    np.testing.assert_array_equal(fit.predict(), named.predict())
    zero = asked(named, data.assign(z=0.0))
    with pytest.warns(AssumedValueWarning, match="offset is 0 in new rows"):
        told = asked(fit, data)
    np.testing.assert_allclose(told, zero, rtol=1e-12)
    np.testing.assert_allclose(
        asked(fit, data, offset=data["z"]), named.predict(), rtol=1e-12
    )
    np.testing.assert_allclose(
        asked(fit, data, offset="z"), named.predict(), rtol=1e-12
    )
    np.testing.assert_allclose(
        fit.predict([[0.3]], transform=False, offset=[2.0]),
        fit.predict([[0.3]], transform=False, offset=0.0) + 2.0,
    )


def test_offsets_add_up_and_may_be_part_of_terms() -> None:
    data = events()
    both = dtf.dynamic_tree(
        "y ~ x + offset(z) + offset(2 * hours)", data, **SMALL
    ).fit()
    own = data.assign(less=data["y"] - data["z"] - 2 * data["hours"])
    plain = dtf.dynamic_tree("less ~ x", own, **SMALL).fit()
    expected = asked(plain, data) + data["z"] + 2 * data["hours"]
    np.testing.assert_allclose(asked(both, data), expected, rtol=1e-12)
    moved = dtf.dynamic_tree(
        "y ~ x + offset(3 * x)", data, model="linear", **SMALL
    ).fit()
    known = dtf.dynamic_tree("y ~ x + offset(z)", data, **SMALL).fit()
    told = moved.avg_comparisons("x", contrast=(0.2, 0.4), n_draws=4000, seed=1)
    a, spread = told["estimate"][0], told["std_error"][0]
    rows = [data.assign(x=value) for value in (0.2, 0.4)]
    levels = [np.mean(asked(moved, one)) for one in rows]
    # six standard errors of a mean of 4000 draws, whose tails are those of Student's t
    assert a == pytest.approx(levels[1] - levels[0], abs=0.1 * spread)
    assert len(known.avg_comparisons("x", contrast="sd", seed=1)) == 1


# ------------------------------------------------------------ counts
@pytest.mark.parametrize("options", [{}, {"n_clouds": 3}, {"window": 40}])
@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_exposures_are_those_of_the_model(model: str, options: dict[str, Any]) -> None:
    data, options = events(), SMALL | options | {"model": model}
    made: dict[str, Callable[[], Any]] = {
        "column": lambda: dtf.dynamic_tree("k ~ x", data, exposure="hours", **options),
        "values": lambda: dtf.dynamic_tree(
            "k ~ x", data, exposure=data["hours"], **options
        ),
        "term": lambda: dtf.dynamic_tree(
            "k ~ x + offset(np.log(hours))", data, **options
        ),
        "log": lambda: dtf.dynamic_tree("k ~ x", data, offset="log_hours", **options),
        "arrays": lambda: DynamicTreeModel(
            data["k"], data[["x"]], exposure=data["hours"], **options
        ),
    }
    fits = {name: make().fit() for name, make in made.items()}
    first = fits["column"]
    new = data[:6]
    for name, fit in fits.items():
        assert fit.llf == pytest.approx(first.llf, rel=1e-9), name
        np.testing.assert_allclose(fit.predict(), first.predict(), rtol=1e-9)
        np.testing.assert_allclose(fit.resid, first.resid, rtol=1e-7, atol=1e-9)
    told = first.get_prediction(new)
    assert told.distribution.exposure == pytest.approx(new["hours"].to_numpy())
    np.testing.assert_allclose(asked(first, new), told.predicted_mean, rtol=1e-12)
    by_value = fits["values"]
    with pytest.warns(AssumedValueWarning, match="exposure is 1 in new rows"):
        rates = asked(by_value, new)
    np.testing.assert_allclose(rates * new["hours"], asked(first, new), rtol=1e-9)
    np.testing.assert_allclose(
        asked(by_value, new, exposure=new["hours"]), asked(first, new), rtol=1e-9
    )
    row = new.iloc[2].to_dict()
    assert first.predict(row) == pytest.approx(asked(first, new)[2], rel=1e-9)
    draws = first.posterior_draws(new, 4000, "obs", 1).values
    assert np.all(draws == np.floor(draws))
    off = np.abs(draws.mean(axis=0) - told.predicted_mean)
    assert np.all(off < 5.0 * draws.std(axis=0) / np.sqrt(4000))  # 1 in 10^6 each


def test_effects_of_counts_are_at_the_exposures_of_the_rows() -> None:
    data = events()
    fit = dtf.dynamic_tree(
        "k ~ x", data, exposure="hours", model="negbin", n_clouds=3, **SMALL
    ).fit()
    found = fit.avg_comparisons("x", contrast=(0.2, 0.8), seed=1)["estimate"][0]
    rates = [asked(fit, {"x": [v], "hours": [1.0]})[0] for v in (0.2, 0.8)]
    expected = (rates[1] - rates[0]) * data["hours"].mean()
    assert found == pytest.approx(expected, rel=0.1)
    mean = fit.avg_predictions(seed=1)["estimate"][0]
    assert mean == pytest.approx(np.mean(fit.predict()), rel=0.05)


@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_diagnostics_of_counts(model: str) -> None:
    data = events()
    fit = dtf.dynamic_tree("k ~ x", data, exposure="hours", model=model, **SMALL).fit()
    seen = fit.one_step_ahead()
    low, high = seen.pit[10:].T
    assert np.all(low < high)
    assert np.isfinite(fit.resid_quantile[10:]).all()
    assert 0.7 < seen.coverage(0.9) <= 1.0
    assert fit.rsquared > 0.2
    assert "binomial" in str(fit.summary()) or "Poisson" in str(fit.summary())
    assert fit.importance().index.tolist() == ["x"]


def test_results_learn_on_with_offsets() -> None:
    data = events()
    one = {"n_clouds": 1} | SMALL
    whole = dtf.dynamic_tree("y ~ x + C(g) + offset(z)", data, **one).fit()
    part = dtf.dynamic_tree("y ~ x + C(g) + offset(z)", data[:80], **one).fit()
    part.append(data[80:])
    np.testing.assert_allclose(asked(part, data), asked(whole, data), rtol=1e-12)
    one["model"] = "negbin"
    counts = dtf.dynamic_tree("k ~ x", data[:80], exposure="hours", **one).fit()
    for row in data[80:90].to_dict("records"):
        counts.append(row)
    counts.append(data[90:])
    other = dtf.dynamic_tree("k ~ x", data, exposure="hours", **one)
    np.testing.assert_allclose(asked(counts, data), other.fit().predict(), rtol=1e-9)
    later = counts.extend(data[:20])
    assert later.resid.shape == (20,)
    again = counts.apply(data[:50])
    assert again.nobs == 50
    by_value = dtf.dynamic_tree(
        "k ~ x", data[:80], exposure=data["hours"][:80], **one
    ).fit()
    by_value.append(data[80:], exposure=data["hours"][80:])
    np.testing.assert_allclose(
        asked(by_value, data, exposure="hours"), asked(counts, data), rtol=1e-9
    )


def test_levels_that_come_late_bring_their_offsets() -> None:
    data = events()
    fit = dtf.dynamic_tree("y ~ x + C(g) + offset(z)", data[:60], **SMALL).fit()
    fit.append(data[60:].assign(g="new"))
    assert "C(g)[new]" in fit.exog_names
    later = fit.extend(data[:30].assign(g="newer"))
    assert np.isfinite(later.resid[1:]).all()


def test_files_keep_offsets(tmp_path: Any) -> None:
    data = events()
    fit = dtf.dynamic_tree(
        "k ~ x", data, exposure="hours", model="negbin", **SMALL
    ).fit()
    fit.save(tmp_path / "fit.dyntree")
    again = DynamicTreeModel.load(tmp_path / "fit.dyntree")
    np.testing.assert_array_equal(asked(again, data), asked(fit, data))
    with pytest.raises(ValueError, match="hours"):
        again.predict(data[["x"]])


def test_comparisons_of_fits_and_folds_take_offsets() -> None:
    data = events()
    with_z = dtf.dynamic_tree("y ~ x + offset(z)", data, **SMALL).fit()
    without = dtf.dynamic_tree("y ~ x", data, **SMALL).fit()
    table = dtf.compare({"with": with_z, "without": without}, n_repeats=2)
    told = table["log_evidence"]
    assert told["with"] > told["without"] + 100.0
    named = dtf.cross_val("k ~ x", data, exposure="hours", model="negbin", **SMALL)
    by_value = dtf.cross_val(
        "k ~ x", data, exposure=data["hours"].to_numpy(), model="negbin", **SMALL
    )
    pd.testing.assert_frame_equal(named, by_value, check_exact=True)


def test_several_responses_have_one_offset() -> None:
    data = events().assign(w=lambda one: one["y"] + one["x"])
    single = {"n_clouds": 1} | SMALL
    both = dtf.dynamic_tree("y + w ~ x + offset(z)", data[:80], **single).fit()
    both.append(data[80:])
    for name in ("y", "w"):
        one = dtf.dynamic_tree(f"{name} ~ x + offset(z)", data, **single).fit()
        np.testing.assert_allclose(both.predict(data)[name], one.predict(), rtol=1e-9)
    by_value = dtf.dynamic_tree("y + w ~ x", data, offset=data["z"], **single).fit()
    told = by_value.predict(data[:5], offset=data["z"][:5])
    np.testing.assert_allclose(told, both.predict(data)[:5], rtol=1e-9)


# ------------------------------------------------------------ what a call passes
NAMED: dict[str, dict[str, Any]] = {
    "exposure": {"formula": "k ~ x", "model": "negbin", "exposure": "hours"},
    "log exposure": {"formula": "k ~ x", "model": "poisson", "offset": "log_hours"},
    "offset": {"formula": "y ~ x", "offset": "z"},
    "a term, too": {"formula": "y ~ x + offset(2 * log_hours)", "offset": "z"},
    "a count's term": {
        "formula": "k ~ x + offset(0 * z)", "model": "negbin", "exposure": "hours",
    },
}  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {"": {}, "clouds": {"n_clouds": 3},
                                   "window": {"window": 40}}  # fmt: skip


def named(kind: str, data: Any, **more: Any) -> tuple[Any, str, str]:
    """A fit with a named argument, the argument, and its column."""
    made = NAMED[kind] | more
    argument = "exposure" if "exposure" in made else "offset"
    return dtf.dynamic_tree(data=data, **made, **SMALL).fit(), argument, made[argument]


@pytest.mark.parametrize("way", mostly_slow(["window", "clouds", ""]))
@pytest.mark.parametrize("kind", NAMED)
def test_what_a_call_passes_replaces_what_the_model_names(kind: str, way: str) -> None:
    """By name, by value, and by a number, in every call that takes it."""
    data = events()
    fit, argument, column = named(kind, data[:80], **WAYS[way])
    new, lacks = data[80:], data[80:].drop(columns=column)
    expected, neutral = asked(fit, new), 1.0 if argument == "exposure" else 0.0
    rates = asked(fit, new.assign(**{column: neutral}))
    row = new.iloc[4].to_dict()
    for passed in (column, new[column], new[column].to_numpy(), [*new[column]]):
        told = {argument: passed}
        np.testing.assert_allclose(asked(fit, new, **told), expected, rtol=1e-12)
        frames = [fit.get_prediction(new, **one).summary_frame() for one in ({}, told)]
        pd.testing.assert_frame_equal(*frames, rtol=1e-9)
        if passed is not column:
            np.testing.assert_allclose(asked(fit, lacks, **told), expected, rtol=1e-12)
        for learn in ("append", "extend", "apply"):
            plain = getattr(fit.copy(), learn)(new)
            again = getattr(fit.copy(), learn)(new, **told)
            assert again.llf == pytest.approx(plain.llf, rel=1e-12), learn
            np.testing.assert_allclose(again.predict(), plain.predict(), rtol=1e-9)
    np.testing.assert_allclose(
        asked(fit, lacks, **{argument: neutral}), rates, rtol=1e-12
    )
    assert fit.predict(row, **{argument: row[column]}) == pytest.approx(expected[4])
    single = {name: value for name, value in row.items() if name != column}
    told = {argument: row[column]}
    assert fit.predict(single, **told) == pytest.approx(expected[4], rel=1e-12)
    assert fit.predict(pd.Series(single), **told) == pytest.approx(expected[4])
    one = fit.copy().append(single, **told)
    assert one.llf == pytest.approx(fit.copy().append(row).llf, rel=1e-12)
    own = data[:80].assign(**{column: neutral})
    np.testing.assert_allclose(
        asked(fit, None, **{argument: neutral}), asked(fit, own), rtol=1e-12
    )


@pytest.mark.parametrize("kind", NAMED)
def test_effects_of_rows_that_came_with_others(kind: str) -> None:
    """Rows of `extend` have what was passed, also where the columns are absent."""
    data = events()
    fit, argument, column = named(kind, data[:80])
    new, lacks = data[80:], data[80:].drop(columns=column)
    plain = fit.extend(new)
    passed = fit.extend(lacks, **{argument: new[column]})
    for name in ("avg_comparisons", "avg_predictions"):
        more: Any = {"contrast": "sd"} if name == "avg_comparisons" else {}
        found = [getattr(one, name)(seed=1, **more) for one in (plain, passed)]
        pd.testing.assert_frame_equal(*found, rtol=1e-9)
    drawn = [one.posterior_draws(n_draws=20, seed=1).values for one in (plain, passed)]
    np.testing.assert_allclose(*drawn, rtol=1e-9)


def test_arguments_replace_one_another_by_name() -> None:
    """A named offset stays where an exposure is passed, as in R."""
    data = events()
    fit = dtf.dynamic_tree(
        "k ~ x", data, model="poisson", offset="log_hours", exposure="hours", **SMALL
    ).fit()
    told = asked(fit, data, exposure=1.0)
    np.testing.assert_allclose(told * data["hours"], asked(fit, data), rtol=1e-12)
    told = asked(fit, data, offset=0.0)
    np.testing.assert_allclose(told * data["hours"], asked(fit, data), rtol=1e-12)
    by_value = dtf.dynamic_tree(
        "k ~ x", data, model="poisson", offset=data["log_hours"],
        exposure=data["hours"], **SMALL,
    ).fit()  # fmt: skip
    np.testing.assert_allclose(by_value.predict(), fit.predict(), rtol=1e-9)
    np.testing.assert_allclose(by_value.predict(exposure=1.0), told, rtol=1e-9)
    folds = [
        dtf.cross_val("k ~ x", data, model="poisson", n_folds=2, **made, **SMALL)
        for made in (
            {"offset": "log_hours", "exposure": "hours"},
            {"offset": data["log_hours"], "exposure": data["hours"]},
        )
    ]
    np.testing.assert_allclose(folds[0].mean(), folds[1].mean(), rtol=1e-9)


def test_several_responses_replace_them_too() -> None:
    data = events().assign(n=lambda one: one["k"] + 1)
    fit = dtf.dynamic_tree(
        "k + n ~ x", data, model="negbin", exposure="hours", **SMALL
    ).fit()
    expected = fit.predict(data)
    np.testing.assert_allclose(fit.predict(data, exposure="hours"), expected)
    rates = fit.predict(data.drop(columns="hours"), exposure=1)
    np.testing.assert_allclose(rates.mul(data["hours"], axis=0), expected, rtol=1e-12)
    row = data.iloc[3]
    for lacks in (row.drop("hours"), row.drop("hours").to_dict()):
        told = fit.predict(lacks, exposure=row["hours"])
        assert told["k"] == pytest.approx(expected["k"].iloc[3], rel=1e-12)
    ours = fit.copy().append(data, exposure=data["hours"])
    assert ours.llf == pytest.approx(fit.append(data).llf, rel=1e-12)


def test_files_know_what_was_named(tmp_path: Any) -> None:
    data = events()
    for kind in NAMED:
        fit, argument, column = named(kind, data)
        fit.save(tmp_path / "fit")
        again = DynamicTreeModel.load(tmp_path / "fit")
        passed = {argument: data[column]}
        np.testing.assert_allclose(asked(again, data, **passed), asked(fit, data))
    fit = dtf.dynamic_tree("y ~ x", data, offset=data["z"], **SMALL).fit()
    fit.save(tmp_path / "fit")
    with refused("offset", "Pass offset=", fit.tree):
        DynamicTreeModel.load(tmp_path / "fit").append(data)


@pytest.mark.parametrize("way", WAYS)
def test_values_of_the_model_are_not_those_of_further_rows(way: str) -> None:
    data, options = events(), SMALL | WAYS[way]
    made: list[tuple[str, dict[str, Any]]] = [
        ("k ~ x", {"exposure": data["hours"], "model": "negbin"}),
        ("y ~ x", {"offset": data["z"].to_numpy()}),
        ("k ~ x", {"exposure": 2.0, "model": "negbin"}),
    ]
    for formula, more in made:
        (name, *_) = more
        fit = dtf.dynamic_tree(formula, data, **more, **options).fit()
        for learn in (fit.append, fit.extend, fit.apply):
            with refused(name, f"Pass {name}=", fit.tree):
                learn(data)
        for ask in (fit.predict, fit.get_prediction, fit.avg_predictions):
            with pytest.warns(AssumedValueWarning, match=f"{name} is .* in new rows"):
                ask(data[:9])
        with pytest.warns(AssumedValueWarning, match=name):
            fit.predict(data.iloc[0].to_dict())
        with refused("offset", "prequential", fit.tree):
            prequential(fit, data, data["y"])
        fit.append(data, **{name: more[name]})
        fit.predict()
    unit = dtf.dynamic_tree("k ~ x", data, exposure=1, model="poisson", **options)
    unit.fit().append(data).predict(data)  # as without


# ------------------------------------------------------------ what is missing
MADE: dict[str, dict[str, Any]] = {
    "weights": {"formula": "y ~ x + C(g)"},
    "freq_weights": {"formula": "label ~ x + C(g)"},
    "offset": {"formula": "y ~ x + C(g)"},
    "exposure": {"formula": "k ~ x + C(g)", "model": "negbin"},
}
AS: dict[str, Callable[[Any], Any]] = {
    "named": lambda column: column.name,
    "series": lambda column: column,
    "nullable": lambda column: column.astype("Float64"),
    "array": lambda column: column.to_numpy(),
    "list": lambda column: [None if v != v else v for v in column],
}


def with_gaps(n: int = 60) -> pd.DataFrame:
    """Rows 3, 50 and the last have no value `v`; row 50 alone has the level "only"."""
    data = events(n).assign(v=lambda one: one["hours"])
    data.iloc[[3, 50, n - 1], data.columns.get_loc("v")] = np.nan
    data.iloc[50, data.columns.get_loc("g")] = "only"
    return data


@pytest.mark.parametrize("way", mostly_slow(["window", "clouds", ""]))
@pytest.mark.parametrize("held", AS)
@pytest.mark.parametrize("argument", MADE)
def test_rows_without_what_they_have_beside_are_dropped(
    argument: str, held: str, way: str
) -> None:
    data, options = with_gaps(), SMALL | WAYS[way] | MADE[argument]
    whole = data[data["v"].notna()]
    given = {argument: AS[held](data["v"])}
    fit = dtf.dynamic_tree(data=data, missing="drop", **given, **options).fit()
    assert fit.nobs == len(whole) == len(data) - 3
    if held != "named" or "weights" in argument:  # else the level is learned before
        expected = dtf.dynamic_tree(data=whole, **{argument: "v"}, **options).fit()
        assert fit.llf == pytest.approx(expected.llf, rel=1e-12)
        assert fit.exog_names == expected.exog_names == ["x", "C(g)[v]"]
        assert len(fit.fittedvalues) == len(whole)
    for learn in ("append", "extend", "apply"):
        more = getattr(fit.copy(), learn)(data, **given)
        told = getattr(fit.copy(), learn)(whole, **{argument: "v"})
        assert (more.nobs, more.llf) == (told.nobs, pytest.approx(told.llf)), learn
        assert more.exog_names == fit.exog_names
    rows = data.iloc[[3, 50]]
    nothing = {argument: AS[held](rows["v"])}
    assert fit.copy().append(rows, **nothing).nobs == fit.nobs
    single = rows.iloc[0].to_dict()
    for passed in ("v", np.nan if held == "array" else [None]):
        assert fit.copy().append(single, **{argument: passed}).nobs == fit.nobs
    folds = dtf.cross_val(
        data=data, missing="drop", n_folds=2, **given, **options
    )  # fmt: skip
    assert np.isfinite(folds.to_numpy()).all()


@pytest.mark.parametrize("missing", ["none", "raise"])
@pytest.mark.parametrize("held", AS)
@pytest.mark.parametrize("argument", MADE)
def test_rows_without_what_they_have_beside_are_refused(
    argument: str, held: str, missing: str
) -> None:
    data, options = with_gaps(), SMALL | MADE[argument]
    given = {argument: AS[held](data["v"])}
    with pytest.raises(ValueError, match=r"row 3.*missing='drop'"):
        dtf.dynamic_tree(data=data, missing=missing, **given, **options)
    whole = data[data["v"].notna()]
    named = {argument: "v"}
    fit = dtf.dynamic_tree(data=whole, missing=missing, **named, **options).fit()
    with refused("row", "missing='drop'", fit.tree):
        fit.append(data, **given)


def test_all_of_them_go_together() -> None:
    """Any of four may be missing in a row, and in all rows."""
    data = events()
    for row, name in enumerate(("hours", "z", "x", "k")):
        data.iloc[10 * row, data.columns.get_loc(name)] = np.nan
    weights = np.where(np.arange(len(data)) == 5, np.nan, 1.0)
    options = {"model": "negbin", "missing": "drop", **SMALL}
    fit = dtf.dynamic_tree(
        "k ~ x + offset(0.01 * z)", data.astype({"k": float}), exposure="hours",
        freq_weights=weights, **options,
    ).fit()  # fmt: skip
    assert fit.nobs == len(data) - 5
    model = DynamicTreeModel(
        data["k"], data[["x"]], offset=data["z"], freq_weights=weights, **options
    )
    assert model.nobs == len(data) - 4
    with pytest.raises(ValueError, match="at least one complete row"):
        dtf.dynamic_tree("k ~ x", data, exposure=np.full(len(data), np.nan), **options)
    wrong = np.where(weights == 1.0, -1.0, np.nan)  # which is not missing
    with refused("exposure", "-1.0 in row 0"):
        dtf.dynamic_tree("k ~ x", data, exposure=wrong, **options)


# ------------------------------------------------------------ what is refused
def test_what_is_no_offset_is_refused() -> None:
    data = events()
    for formula, words in {
        "y ~ x:offset(z)": "a term of its own",
        "y ~ x + offset(C(g))": "an offset of numbers",
        "y ~ x + offset(g)": "numbers or dates",
        "y ~ x + offset(y)": "must not use the response",
        "label ~ x + offset(z)": "if the response is a label",
        "y ~ x + offset(w)": "w",
    }.items():
        with pytest.raises(ValueError, match=words):
            dtf.dynamic_tree(formula, data, **SMALL)
    with refused("exposure", "real responses"):
        dtf.dynamic_tree("y ~ x", data, exposure="hours", **SMALL)
    with refused("exposure", "-1"):
        dtf.dynamic_tree("k ~ x", data, exposure=-1.0, model="negbin", **SMALL)
    with refused("offset", "3"):
        dtf.dynamic_tree("y ~ x", data, offset=[1.0, 2.0, 3.0], **SMALL)
    with refused("offset", "the text '1' in row 0"):
        dtf.dynamic_tree("y ~ x", data, offset=["1"] * len(data), **SMALL)
    with refused("offset", "labels"):
        dtf.dynamic_tree("label ~ x", data, offset=1.0, **SMALL)
    zero = data.assign(hours=np.where(np.arange(len(data)) == 7, 0.0, data["hours"]))
    with refused("exposure", "row 7"):
        dtf.dynamic_tree("k ~ x", zero, exposure="hours", model="negbin", **SMALL)
    kept = dtf.dynamic_tree(
        "k ~ x", zero, exposure="hours", model="negbin", missing="drop", **SMALL
    )
    assert kept.nobs == len(data) - 1
    with pytest.raises(ValueError, match="y must be counts"):
        dtf.dynamic_tree("y ~ x", data, model="negbin", exposure="hours", **SMALL)


def test_bad_offsets_of_later_rows_leave_the_results_as_they_were() -> None:
    data = events()
    fit = dtf.dynamic_tree(
        "k ~ x", data, exposure="hours", model="negbin", **SMALL
    ).fit()
    for bad, words in [
        ({"x": 0.5, "k": 3}, "hours"),
        ({"x": 0.5, "k": 3, "hours": 0.0}, "finite offset"),
        ({"x": 0.5, "k": 2.5, "hours": 1.0}, "counts"),
    ]:
        with refused(words.split()[0], words.split()[-1], fit.tree):
            fit.append(bad)
    with refused("offset", "transform=False"):
        fit.predict([[0.5]], transform=False)
    with refused("offset", "prequential", fit.tree):
        prequential(fit, data, data["k"])


def test_offsets_are_read_from_formulas() -> None:
    found = parse("y ~ a + offset(np.log(b)) + offset(c)", ["a", "b", "c", "y"])
    assert [one.columns for one in found.offsets] == [("b",), ("c",)]
    assert [[f.label for f in term] for term in found.terms] == [["a"]]


def test_a_glm_and_trees_see_the_same_offset() -> None:
    """Means over an offset that is all there is: those of one leaf."""
    data = events()
    tree = DynamicTree("poisson", tree_prior=(0.0, 1.0), **SMALL)
    tree.update(data[["x"]], data["k"], exposure=data["hours"])
    rate = data["k"].sum() / data["hours"].sum()
    told = tree.predict(data[["x"]][:1], exposure=2.0)
    assert told.mean[0] == pytest.approx(2.0 * rate, rel=0.02)
