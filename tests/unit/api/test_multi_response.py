"""Formulas with several responses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("formulaic")
import pandas as pd

import dyntree.formula.api as dtf

OPTIONS: list[dict[str, Any]] = [
    {},
    {"window": 20},
    {"n_clouds": 2},
    {"window": "auto"},
]


def data(n: int = 50, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.random(n), rng.random(n)
    return pd.DataFrame(
        {
            "x": x, "z": z, "a": 2 * x + rng.normal(size=n), "b c": np.exp(z),
            "kind": np.where(x > 0.5, "up", "down"),
        },
        index=np.arange(n) + 100,
    )  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS)
def test_each_response_is_a_fit_of_its_own(options: dict[str, Any]) -> None:
    formula = "a + np.log(`b c`) + kind ~ x + z"
    several = dtf.dynamic_tree(formula, data(), n_particles=20, seed=3, **options).fit()
    assert several.endog_names == ["a", "np.log(`b c`)", "kind"]
    frame = several.predict(data(5, 9))
    assert list(frame.index) == [100, 101, 102, 103, 104]
    assert list(frame.columns) == several.endog_names
    later, row = data(4, 11), {"x": 0.2, "z": 0.4}
    alone = several.predict(row)
    told = several.get_prediction(data(5, 9))
    several.append(later)
    for name, fit in several.items():
        own = dtf.dynamic_tree(
            f"{name} ~ x + z", data(), n_particles=20, seed=3, **options
        ).fit()
        pd.testing.assert_series_equal(frame[name], own.predict(data(5, 9)))
        assert alone[name] == own.predict(row)
        pd.testing.assert_frame_equal(
            told[name].summary_frame(), own.get_prediction(data(5, 9)).summary_frame()
        )
        assert fit.llf == own.append(later).llf
    assert several.llf == pytest.approx(sum(fit.llf for fit in several.values()))
    assert several.nobs == dict.fromkeys(several.endog_names, 54)


def test_a_dot_stands_for_inputs_alone() -> None:
    several = dtf.dynamic_tree("a + `b c` ~ .", data(), n_particles=5)
    for model in several.values():
        assert model.exog_names == ["x", "z", "kind[up]"]
    less = dtf.dynamic_tree("a + `b c` ~ . - z", data(), n_particles=5)
    assert less["a"].exog_names == ["x", "kind[up]"]


def test_missing_responses_leave_out_their_own_rows() -> None:
    frame = data()
    frame.loc[103, "a"] = np.nan
    several = dtf.dynamic_tree(
        "a + kind ~ x", frame, n_particles=5, missing="drop"
    ).fit()  # fmt: skip
    assert several.nobs == {"a": 49, "kind": 50}


def test_rows_are_learned_by_all_fits_or_by_none() -> None:
    several = dtf.dynamic_tree("a + kind ~ x", data(), n_particles=5, seed=1).fit()
    bad = data(3).assign(kind=[None, "up", "up"])
    with pytest.raises(ValueError, match="no missing value of kind"):
        several.append(bad)
    assert several.nobs == {"a": 50, "kind": 50}


def test_summaries_and_copies() -> None:
    several = dtf.dynamic_tree("a + kind ~ x", data(), n_particles=5, seed=1).fit()
    text = several.summary().as_text()
    assert text.count("Dynamic Tree Results") == 2
    assert "<table" in several._repr_html_()
    copied = several.copy().append(data(3))
    assert (several.nobs["a"], copied.nobs["a"]) == (50, 53)


def test_errors_quote_the_formula_that_was_given() -> None:
    for formula in ("a + kind ~ x + np.nothing(z)", "a + kind ~ x +", "a + kind ~ 1"):
        with pytest.raises(ValueError, match="formula") as caught:
            dtf.dynamic_tree(formula, data())
        assert " - `" not in str(caught.value)


def test_responses_go_back_to_their_columns() -> None:
    frame = data().assign(d=lambda one: np.exp(one.a))
    several = dtf.dynamic_tree(
        "a + np.log(`b c`) + np.log(d) ~ x", frame, n_particles=20, seed=1
    ).fit()
    new = data(4, 9)
    told = several.predict(new, back_transform=True)
    assert list(told.columns) == ["a", "b c", "d"]
    assert list(told.index) == list(new.index)
    row = several.predict({"x": 0.5}, back_transform=True)
    back = several.get_prediction(new, back_transform=True)
    for (name, fit), column in zip(several.items(), told, strict=True):
        own = fit.predict(new, back_transform=True)
        pd.testing.assert_series_equal(told[column], own)
        assert row[column] == fit.predict({"x": 0.5}, back_transform=True)
        pd.testing.assert_frame_equal(
            back[name].summary_frame(),
            fit.get_prediction(new, back_transform=True).summary_frame(),
        )
    for formula, text in (
        ("a + kind ~ x", "got labels for 'kind'"),
        ("np.log(d) + np.sqrt(d) ~ x", "responses of different columns"),
    ):
        fit = dtf.dynamic_tree(formula, frame, n_particles=5, seed=1).fit()
        with pytest.raises(ValueError, match=text):
            fit.predict(new, back_transform=True)
