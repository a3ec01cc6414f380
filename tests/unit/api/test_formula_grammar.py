"""What formulas may say beyond columns: quotes, comparisons, functions of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import dyntree.formula.api as dtf
from dyntree.api.formula import DynamicTreeModel
from dyntree.errors import UndefinedTermWarning, UnseenLevelWarning
from tests.helpers import model_bytes

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def frame_of(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": 0.5 + rng.random(n)})
    frame["a b"] = rng.random(n)
    frame["g"] = rng.choice(["a", "b", "c", "d"], n)
    return frame.assign(y=np.sin(3 * frame["x"]) + (frame["g"] == "b"))


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ Q('a b') + C(Q('g'))", ["a b", *(f"C(`g`)[{k}]" for k in "abcd")]),
        ("y ~ x > 0", ["x > 0"]), ("y ~ x>-1 + z", ["x > -1", "z"]),
        ("y ~ z:x>0", ["z:x > 0"]), ("y ~ 0 < x < 1", ["0 < x < 1"]),
        ("y ~ z * x > z", ["z", "x > z", "z:x > z"]), ("y ~ I(x > 0)", ["I(x > 0)"]),
        ("y ~ `a b` >= 0.5", ["`a b` >= 0.5"]),
        ("y ~ np.log(z) > 0", ["np.log(z) > 0"]), ("y ~ x>0 - 1", ["x > 0"]),
        ("y ~ {x != 0}", ["x != 0"]),
        ("y ~ np.where(x > 0, z, 0)", ["np.where(x > 0, z, 0)"]),
    ],
)  # fmt: skip
def test_terms_and_their_names(formula: str, names: list[str]) -> None:
    assert dtf.dynamic_tree(formula, frame_of(), **SMALL).exog_names == names


def test_comparisons_are_columns_of_0_and_1() -> None:
    frame = frame_of()
    frame.loc[3, "x"] = np.nan
    model = dtf.dynamic_tree("y ~ x > 0 + z:x>0", frame, **SMALL)
    assert model.exog is not None
    expected = np.where(frame["x"].isna(), np.nan, frame["x"] > 0)
    np.testing.assert_array_equal(model.exog[:, 0], expected)
    np.testing.assert_array_equal(model.exog[:, 1], expected * frame["z"])


def test_q_is_a_response_and_an_input() -> None:
    frame = frame_of().rename(columns={"y": "the y"})
    fit = dtf.dynamic_tree("Q('the y') ~ Q(\"a b\") + x", frame, **SMALL).fit()
    assert fit.model.endog_names == "the y"
    same = dtf.dynamic_tree("`the y` ~ `a b` + x", frame, **SMALL).fit()
    assert model_bytes(fit.tree) == model_bytes(same.tree)


def test_rows_without_a_finite_transform_are_gaps(tmp_path: Path) -> None:
    """They ended the call, also that of 10,000 good rows."""
    frame = frame_of()
    frame.loc[[4, 9], "z"] = [-1.0, 0.0]
    with pytest.warns(UndefinedTermWarning, match=r"row 4, .* missing in rows 4, 9\."):
        model = dtf.dynamic_tree("y ~ np.log(z) + x", frame, **SMALL)
    assert model.exog is not None
    assert np.argwhere(np.isnan(model.exog)).tolist() == [[4, 0], [9, 0]]
    fit = model.fit()
    with pytest.warns(UndefinedTermWarning, match="rows 4, 9"):
        told = fit.predict(frame)
    assert np.isfinite(told).all()
    with pytest.warns(UndefinedTermWarning, match="row 0"):
        assert fit.predict({"x": frame.loc[4, "x"], "z": -3.0}) == told[4]
    with pytest.warns(UndefinedTermWarning, match="rows 4, 9"):
        assert fit.append(frame).nobs == 120
    with (
        pytest.warns(UndefinedTermWarning),
        pytest.raises(ValueError, match=r"no missing value of the inputs; .* row 4"),
    ):
        dtf.dynamic_tree("y ~ np.log(z) + x", frame, missing="raise", **SMALL)


def test_responses_without_a_finite_value_follow_the_rule_for_missing() -> None:
    frame = frame_of()
    frame.loc[4, "z"] = 0.0
    with pytest.warns(UndefinedTermWarning, match="row 4"):
        model = dtf.dynamic_tree("np.log(z) ~ x", frame, missing="drop", **SMALL)
    assert model.nobs == 59
    with (
        pytest.warns(UndefinedTermWarning),
        pytest.raises(ValueError, match=r"no missing value of np\.log\(z\); .* row 4"),
    ):
        dtf.dynamic_tree("np.log(z) ~ x", frame, **SMALL)
    fit = model.fit()
    before = model_bytes(fit.tree)
    with pytest.warns(UndefinedTermWarning):
        fit.append({"x": 0.1, "z": 0.0})
    assert model_bytes(fit.tree) == before


STATEFUL = (
    "y ~ scale(x) + poly(z, 2) + bs(Q('a b'), df=4, lower_bound=0, upper_bound=1)"
    " + C(g, Sum) + C(np.floor(2*x)) + cr(x, df=3):C(g, Treatment('b')) + size"
)


def sized(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ordered categories."""
    size = pd.Categorical.from_codes(
        np.arange(len(frame)) % 3, ["small", "big", "huge"], ordered=True
    )
    return frame.assign(size=size)


@pytest.mark.parametrize("options", [{}, {"window": 30, "model": "constant"}])
def test_what_a_term_learned_is_kept_by_files_and_appends(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    frame, more = sized(frame_of()), sized(frame_of(30, seed=1)).assign(x=5.0)
    model = dtf.dynamic_tree(STATEFUL, frame, **options, **SMALL)
    fit = model.fit()
    fit.save(tmp_path / "fit.dyn")
    again = DynamicTreeModel.load(tmp_path / "fit.dyn")
    for results in (fit, again):
        results.append(more).append(more.iloc[3].to_dict())
    assert model_bytes(again.tree) == model_bytes(fit.tree)
    assert again.predict(frame).equals(fit.predict(frame))
    assert "C(np.floor(2 * x))[10]" in fit.exog_names  # which came late
    assert "C(np.floor(2 * x))[10]" not in model.exog_names
    center, spread = frame["x"].mean(), frame["x"].std()
    row = fit.design.encode_row(more.iloc[3].to_dict())
    scaled = row[0, fit.exog_names.index("scale(x)")]
    assert scaled == pytest.approx((5.0 - center) / spread, rel=1e-12)


def test_ordered_categories_are_numbers_in_their_order() -> None:
    frame = sized(frame_of())
    frame.loc[4, "size"] = np.nan
    model = dtf.dynamic_tree("y ~ size + x:size + C(size)", frame, **SMALL)
    assert model.exog_names == [
        "size", "C(size)[small]", "C(size)[big]", "C(size)[huge]", "x:size",
    ]  # fmt: skip
    assert model.exog is not None
    places = np.where(frame["size"].isna(), np.nan, np.arange(60) % 3)
    np.testing.assert_array_equal(model.exog[:, 0], places)
    np.testing.assert_array_equal(model.exog[:, 4], places * frame["x"])
    fit = model.fit()
    texts = frame.assign(size=frame["size"].astype(object))
    assert fit.predict(texts).equals(fit.predict(frame))
    backwards = frame.assign(size=frame["size"].cat.reorder_categories(
        ["huge", "big", "small"], ordered=True,
    ))  # fmt: skip
    assert fit.predict(backwards).equals(fit.predict(frame))
    with pytest.warns(UnseenLevelWarning, match="the level 'tiny' in column 'size'"):
        told = fit.predict({"x": 0.1, "size": "tiny"})
    assert told == fit.predict({"x": 0.1, "size": None})


def test_inputs_without_a_formula_are_ordered_too() -> None:
    frame = sized(frame_of())
    model = DynamicTreeModel(frame["y"], frame[["x", "size"]], **SMALL)
    assert model.exog_names == ["x", "size"]
    plain = frame["size"].cat.as_unordered()
    model = DynamicTreeModel(frame["y"], frame[["x"]].assign(size=plain), **SMALL)
    assert model.exog_names == ["x", "size[small]", "size[big]", "size[huge]"]


def test_a_response_may_be_scaled() -> None:
    frame = frame_of()
    model = dtf.dynamic_tree("scale(y) ~ x", frame, **SMALL)
    assert model.endog is not None
    expected = (frame["y"] - frame["y"].mean()) / frame["y"].std()
    np.testing.assert_allclose(model.endog, expected, rtol=1e-12)
    assert model.fit().append(frame[:5]).nobs == 65


def test_rows_beyond_b_splines_leave_the_model_as_it_was() -> None:
    frame = frame_of()
    fit = dtf.dynamic_tree("y ~ bs(x, df=4)", frame, **SMALL).fit()
    before = model_bytes(fit.tree)
    for bad in ({"x": 99.0, "y": 0.0}, frame.assign(x=99.0)):
        with pytest.raises(ValueError, match="within the outer knots"):
            fit.append(bad)
    assert model_bytes(fit.tree) == before
