"""Results: what a fitted formula tells, in the caller's own frames, and learns."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import dyntree.formula.api as dtf
from dyntree.api.formula import DynamicTreeModel
from dyntree.errors import StaleWindowWarning, UnseenLevelWarning
from dyntree.trees import model as trees_model
from dyntree.trees.learning.parts import learn_rows
from tests.helpers import model_bytes, same_bytes
from tests.unit.api.test_formula import SMALL, sites
from tests.unit.models import Pressed

# the names that statsmodels has
FRAME = [
    "mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper",
]  # fmt: skip
FORMULA = "y ~ a + np.log(b) + site + day"


def fitted(formula: str = FORMULA, n: int = 60, **options: Any) -> Any:
    own = {"n_clouds": 1} | options | SMALL
    return dtf.dynamic_tree(formula, sites(n), **own).fit()


def test_predictions_keep_the_callers_labels() -> None:
    fit, new = fitted(), sites(8, seed=1).sample(frac=1.0, random_state=1)
    told = fit.predict(new)
    assert isinstance(told, pd.Series)
    assert told.index.equals(new.index)
    assert told.name == "y"
    expected = fit.tree.predict(fit.model.design.encode(_table(new))).mean
    assert told.tolist() == expected.tolist()
    assert fit.predict(new[["day", "site", "b", "a"]]).equals(told)
    assert fit.predict(new.to_dict("list")).tolist() == told.tolist()
    assert fit.predict(new.to_dict("records")).tolist() == told.tolist()
    for k, row in enumerate(new.to_dict("records")):
        assert fit.predict(row) == told.iloc[k]
    assert fit.predict().index.equals(sites().index)


def _table(frame: Any) -> Any:
    from dyntree.encoding.tables import table_of

    return table_of(frame)


def test_polars_in_polars_out() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = sites()
    fit = dtf.dynamic_tree(FORMULA, pl.from_pandas(frame), n_clouds=1, **SMALL).fit()
    assert model_bytes(fit.tree) == model_bytes(fitted().tree)
    new = pl.from_pandas(frame[:5])
    told = fit.predict(new)
    assert isinstance(told, pl.Series)
    assert told.to_list() == fit.predict(frame[:5]).tolist()
    answer = fit.get_prediction(new).summary_frame()
    assert isinstance(answer, pl.DataFrame)
    assert answer.columns == FRAME
    by_label = dtf.dynamic_tree("label ~ a", pl.from_pandas(frame), **SMALL).fit()
    assert by_label.predict(new).dtype == pl.String


def test_summary_frame_of_numbers() -> None:
    fit, new = fitted(model="linear"), sites(8, seed=1)
    told = fit.get_prediction(new)
    frame = told.summary_frame(alpha=0.2)
    assert frame.index.equals(new.index)
    assert frame["mean"].equals(fit.predict(new).rename("mean"))
    assert frame["mean"].tolist() == told.predicted_mean.tolist()
    draws = told.distribution.of_mean.sample(20_000, np.random.default_rng(1))
    # with a kurtosis of up to 20 the error of such a deviation is .015 of it
    assert frame["mean_se"].tolist() == pytest.approx(draws.std(axis=0), rel=0.1)
    for name, q in (("mean_ci_lower", 0.1), ("mean_ci_upper", 0.9)):
        at = frame[name].to_numpy()
        assert told.distribution.of_mean.cdf(at) == pytest.approx(q, abs=1e-9)
    for name, q in (("obs_ci_lower", 0.1), ("obs_ci_upper", 0.9)):
        assert told.distribution.cdf(frame[name]) == pytest.approx(q, abs=1e-9)
    assert list(frame) == FRAME
    assert told.conf_int(True, 0.2).tolist() == frame[FRAME[4:]].to_numpy().tolist()
    assert told.conf_int(alpha=0.2).tolist() == frame[FRAME[2:4]].to_numpy().tolist()
    assert np.all(told.se_obs > told.se_mean)
    for alpha in (0.0, 1.0, float("nan"), "a"):
        with pytest.raises(ValueError, match="alpha must be"):
            told.conf_int(alpha=alpha)


def test_summary_frame_of_labels() -> None:
    fit, new = fitted("label ~ a + b"), sites(8, seed=1)
    frame = fit.get_prediction(new).summary_frame()
    ends = [
        f"p_{one}_ci_{end}" for one in ("high", "low") for end in ("lower", "upper")
    ]
    assert list(frame) == ["p_high", "p_low", *ends, "class", "entropy"]
    for one in ("high", "low"):
        low, high = frame[f"p_{one}_ci_lower"], frame[f"p_{one}_ci_upper"]
        assert (
            (low >= 0) & (low <= frame[f"p_{one}"]) & (frame[f"p_{one}"] <= high)
        ).all()
        assert (high <= 1).all()
        assert (low < high).all()
    assert frame["class"].tolist() == fit.predict(new).tolist()
    assert (frame["p_high"] + frame["p_low"]).tolist() == pytest.approx([1.0] * 8)
    assert ((frame["p_high"] > 0.5) == (frame["class"] == "high")).all()
    with pytest.raises(ValueError, match="need a response of numbers"):
        fit.get_prediction(new).conf_int()


def test_no_rows_have_no_answers() -> None:
    fit, none = fitted("y ~ a:site"), sites(0)
    assert fit.predict(none).index.equals(none.index)
    assert fit.get_prediction(none).summary_frame().shape == (0, 6)


@pytest.mark.parametrize("missing", ["none", "drop"])
def test_where_there_is_nothing_to_learn_a_stream_goes_on(missing: str) -> None:
    """LineReader without rows, and chunks of which no row is complete."""
    fit = dtf.dynamic_tree("y ~ a + site", sites(40), missing=missing, **SMALL).fit()
    before, hole = fit.nobs, sites(3).assign(a=np.nan)
    with same_bytes(fit.tree):
        assert fit.append(sites(0)) is fit
        assert fit.append([]) is fit
        if missing == "drop":
            assert fit.append(hole) is fit
            fit.append(hole.to_dict("records")[0])
    assert fit.append(sites(3)).nobs == before + 3
    X, y = sites(40)[["a"]], sites(40)["y"]
    made = DynamicTreeModel(y, X, missing=missing, **SMALL).fit()
    for none in ([], X[:0]):
        with same_bytes(made.tree):
            made.append([], none)
    with pytest.raises(ValueError, match=r"exog must be|data must be"):
        made.append([1.0], [])


@pytest.mark.parametrize("data", [np.ones((2, 2)), 3, []])
def test_what_is_no_table_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="data must be a frame, a dict of columns"):
        fitted().predict(data)


# ---------------------------------------------------------------- learning on
@pytest.mark.parametrize("options", [{}, {"window": 25}, {"window": 25, "drift": True}])
@pytest.mark.parametrize("formula", [FORMULA, "label ~ a + site"])
def test_rows_come_in_any_portions(formula: str, options: dict[str, Any]) -> None:
    new = sites(30, seed=1)
    whole, parts = fitted(formula, **options), fitted(formula, **options)
    assert whole.append(new) is whole
    parts.append(new[:7]).append(new[7:8])
    for row in new[8:].to_dict("records"):
        parts.append(row)
    assert whole.nobs == parts.nobs == 90
    assert whole.llf == parts.llf
    assert model_bytes(whole.tree) == model_bytes(parts.tree)


def test_labels_may_come_late() -> None:
    fit = fitted("label ~ a", window=20)
    fit.append({"a": 0.5, "label": "odd"})
    assert fit.tree.classes == ("high", "low", "odd")


@pytest.mark.parametrize("options", [{}, {"window": 25}])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"y": None}, "no missing value of y"), ({"y": "much"}, "must hold numbers"),
        ({"a": "much"}, "must hold numbers in column 'a'"),
        ({"day": 3}, "must hold dates"), ({"y": float("inf")}, "a finite value"),
        ({"site": "z"}, "must hold levels among"),
    ],
)  # fmt: skip
def test_bad_rows_leave_all_as_it_was(
    row: dict[str, Any], message: str, options: dict[str, Any]
) -> None:
    fit = fitted(new_levels="error", **options)
    with same_bytes(fit.tree):
        good = sites(3, seed=1).to_dict("records")
        for bad in (good[1] | row, [good[0], good[1] | row]):
            with pytest.raises(ValueError, match=message):
                fit.append(bad)
        short = {name: value for name, value in good[0].items() if name != "a"}
        for bad in (short, [short]):
            with pytest.raises(ValueError, match="are absent"):
                fit.append(bad)
    other = fitted(new_levels="error", **options)
    assert model_bytes(fit.append(good).tree) == model_bytes(other.append(good).tree)


def test_new_levels_warn_once_and_count_as_missing() -> None:
    fit = fitted("y ~ a + site")
    with pytest.warns(UnseenLevelWarning, match="'z' in column 'site'"):
        first = fit.predict({"a": 0.5, "site": "z"})
    assert first == fit.predict({"a": 0.5, "site": "z"})
    assert first == fit.predict({"a": 0.5, "site": None})


def late_sites(n: int = 40) -> pd.DataFrame:
    """Rows after those of `sites`, in which levels and gaps come."""
    frame = sites(n, seed=3)
    frame.loc[frame.index[9::4], "site"] = "z"
    frame.loc[frame.index[20::5], "site"] = "a0"
    frame.loc[frame.index[15::7], "a"] = np.nan
    return frame


@pytest.mark.parametrize(
    "options",
    [{}, {"window": 25}, {"model": "linear"}, {"model": "linear", "window": 30}],
)
@pytest.mark.parametrize("formula", [FORMULA, "y ~ a + C(site) + site:a"])
def test_new_levels_bring_features_whatever_the_cuts(
    formula: str, options: dict[str, Any], tmp_path: Any
) -> None:
    frame, fit = late_sites(), fitted(formula, **options)
    names, whole = fit.exog_names, fit.copy().append(frame)
    rows, parts = fit.copy(), fit.copy()
    for row in frame.to_dict("records"):
        rows.append(row)
    for first in range(0, len(frame), 7):
        parts.append(frame[first : first + 7])
    for other in (rows, parts):
        assert model_bytes(other.tree) == model_bytes(whole.tree)
        assert other.design == whole.design
    n_each = len([name for name in names if "[u]" in name])
    late = [name for name in whole.exog_names if name not in names]
    assert [name.partition("[")[2][:2] for name in late] == ["z]"] * n_each + (
        ["a0"] * n_each
    )
    assert whole.exog_names == [*names, *late]
    assert fit.exog_names == fit.model.exog_names == names
    assert list(whole.relevance().index) == whole.exog_names
    assert "site" in whole.importance().index
    whole.save(tmp_path / "m.dyn")
    back = dtf.load(tmp_path / "m.dyn")
    assert back.design == whole.design
    assert back.predict(frame).equals(whole.predict(frame))
    again = pickle.loads(pickle.dumps(whole))
    assert again.predict(frame).equals(whole.predict(frame))
    assert len(whole.fittedvalues) == whole.model.nobs


def test_bad_rows_with_new_levels_leave_all_as_it_was() -> None:
    fit, frame = fitted(), late_sites()
    before, design = model_bytes(fit.tree), fit.design
    for change in ({"y": np.inf}, {"a": np.inf}, {"y": np.nan}):
        bad = frame.copy()
        bad.loc[bad.index[-1], list(change)] = list(change.values())
        with pytest.raises(ValueError, match="data must"):
            fit.append(bad)
        assert (model_bytes(fit.tree), fit.design) == (before, design)
    tiny = fitted(missing="drop")
    gone = frame.copy()
    gone.loc[gone["site"] == "z", "y"] = np.nan  # which brings nothing then
    tiny.append(gone)
    assert "site[a0]" in tiny.exog_names
    assert "site[z]" not in tiny.exog_names


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_leaves_the_design_of_complete_rows(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, fit = late_sites(), fitted()
    fit.append(frame[:9])
    expected = fit.copy().append(frame[9:])
    with monkeypatch.context() as patch:
        patch.setattr(trees_model, "learn_rows", Pressed(learn_rows, late))
        with pytest.raises(KeyboardInterrupt):
            fit.append(frame[9:])
    assert ("site[z]" in fit.exog_names) is late
    assert "site[a0]" not in fit.exog_names
    fit.append(frame[fit.nobs - 60 :])
    assert model_bytes(fit.tree) == model_bytes(expected.tree)
    assert fit.design == expected.design


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    fit = dtf.dynamic_tree(FORMULA, sites(), n_clouds=1, **SMALL).fit(
        progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (60, 60)
    with pytest.raises(ValueError, match="progress must be"):
        fit.append(sites(3), progress="loud")


def test_copies_are_independent() -> None:
    fit = fitted(window=25)
    before = model_bytes(fit.tree)
    for twin in (fit.copy(), pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        assert model_bytes(twin.tree) == before
        twin.append(sites(5, seed=1))
        assert model_bytes(twin.tree) != before
    assert model_bytes(fit.tree) == before


def test_a_model_can_be_fitted_again() -> None:
    with pytest.warns(StaleWindowWarning):  # once, though it is fitted twice
        model = dtf.dynamic_tree(
            FORMULA, sites(), n_particles=20, window=25, forget=0.9, discard="alc"
        )
    assert model_bytes(model.fit().tree) == model_bytes(model.fit().tree)
    model = dtf.dynamic_tree(FORMULA, sites(), **SMALL)
    assert model_bytes(model.fit().tree) == model_bytes(model.fit().tree)


# ---------------------------------------------------------------- looking
def test_relevance_by_feature() -> None:
    fit = fitted("y ~ a + site", n=200)
    table = fit.relevance()
    assert list(table.index) == fit.model.exog_names
    values = fit.tree.relevance().values
    assert table["mean"].tolist() == values.mean(axis=0).tolist()
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["share"].idxmax() == "a"


def test_importance_by_feature() -> None:
    fit = fitted("y ~ a + site + a:site", n=200)
    table = fit.importance(by="feature")
    assert list(table.index[:2]) == ["a", "site"]  # one for all levels
    assert list(table.columns) == ["share", "se", "use"]
    assert table["share"].sum() == pytest.approx(1.0)
    assert "site[" not in fit.summary().as_text()
    assert len(fit.plot_importance(["site"]).axes) == 1
    assert len(fit.plot_importance([table.index[2]], by="feature").axes) == 1


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        (FORMULA, {"model": "linear"}, ["linear leaves", "by variable", "day: days"]),
        (FORMULA, {"window": 25, "drift": True}, ["25, by age", "0.95", "linear"]),
        ("label ~ a", {}, ["class leaves", "high, low", "Dep. Variable:"]),
    ],
)  # fmt: skip
def test_summary(formula: str, options: dict[str, Any], words: list[str]) -> None:
    fit = fitted(formula, **options)
    summary = fit.summary()
    text = summary.as_text()
    assert str(summary) == text
    for word in [*words, "Log-Evidence:", f"{fit.llf:.5g}", "importance", "60"]:
        assert word in text
    lines = text.splitlines()
    assert len({len(line) for line in lines if set(line) == {"="}}) <= 2
    assert summary.as_html().startswith("<table")
    assert "\\begin{tabular}" in summary.as_latex()
    assert fit.model.exog_names[0] in summary.as_html()


def test_a_summary_shows_the_active_rows_of_all_clouds() -> None:
    x = np.linspace(0.0, 1.0, 60)
    data = pd.DataFrame({"x": x, "y": np.sin(6 * x)})
    one = dtf.dynamic_tree("y ~ x", data, n_particles=10, n_clouds=1, seed=1).fit()
    several = dtf.dynamic_tree("y ~ x", data, n_particles=10, n_clouds=3, seed=1).fit()
    assert re.search(r"Active Rows: +60 ", one.summary().as_text())
    assert re.search(r"Active Rows: +180 in all ", several.summary().as_text())


def test_summary_before_there_are_trees() -> None:
    fit = fitted(n=4)
    text = fit.summary().as_text()
    assert "Leaves:" not in text
    assert "importance" not in text
    assert np.isfinite(fit.predict()).all()
    assert fit.nobs == 4


def test_a_prompt_shows_the_formula_and_the_rows() -> None:
    data = pd.DataFrame({"x": np.linspace(0.0, 1.0, 60), "y": np.arange(60.0)})
    model = dtf.dynamic_tree("y ~ x", data, n_particles=10, n_clouds=1, seed=1)
    assert repr(model) == "<DynamicTreeModel: 'y ~ x', 60 rows, 1 feature>"
    assert repr(model.fit()) == "<DynamicTreeResults: 'y ~ x', DynamicTree of 60 rows>"
