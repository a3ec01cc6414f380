"""Models from endog and exog, and what results tell as those of statsmodels do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree.api.formula import DynamicTreeModel
from dyntree.api.results import DynamicTreeResults
from tests.helpers import model_bytes, same_bytes

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def numbers(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n), X


def inputs(n: int = 60) -> pd.DataFrame:
    """A frame with text, dates and missing values under labels of its own."""
    frame = pd.DataFrame(numbers(n)[1], columns=["a", "b"])
    frame["site"] = ["u", "v", None] * (n // 3)
    frame["day"] = pd.date_range("2024-01-01", periods=n, freq="h")
    return frame.set_index(pd.Index([f"row {k}" for k in range(n)]))


def fitted(**options: Any) -> DynamicTreeResults:
    y, X = numbers()
    return DynamicTreeModel(y, X, **SMALL, **options).fit()


def test_arrays_are_named_as_statsmodels_names_them() -> None:
    y, X = numbers()
    model = DynamicTreeModel(y, X, n_clouds=1, **SMALL)
    assert (model.endog_names, model.exog_names) == ("y", ["x1", "x2"])
    assert (model.nobs, model.df_model, model.formula) == (60, 2, None)
    assert model.data.row_labels is None
    assert [*model.data.frame] == ["x1", "x2", "y"]
    np.testing.assert_array_equal(model.endog, y)
    frame = pd.DataFrame(X, columns=["x1", "x2"])
    tree = dyntree.DynamicTree(**SMALL).update(frame, y)
    fit = model.fit()
    assert model_bytes(fit.tree) == model_bytes(tree)
    assert fit.predict(X[:5]).tolist() == tree.predict(X[:5]).mean.tolist()
    assert fit.predict(X[:5].tolist()).tolist() == fit.predict(X[:5]).tolist()
    assert fit.predict(frame[:5]).tolist() == fit.predict(X[:5]).tolist()
    assert fit.predict({"x1": X[0, 0], "x2": X[0, 1]}) == fit.predict(X[:1])[0]
    assert "x2" in fit.summary().as_text()
    one = DynamicTreeModel(y, X[:, 0], **SMALL)
    assert one.exog_names == ["x1"]


def test_a_frame_is_taken_as_a_formula_would_take_it() -> None:
    pytest.importorskip("formulaic", reason="formulaic is absent: dyntree[formula]")
    X, y = inputs(), pd.Series(numbers()[0], index=inputs().index, name="level")
    model = DynamicTreeModel(y, X, **SMALL)
    assert model.endog_names == "level"
    assert model.data.row_labels.equals(X.index)
    fit = model.fit()
    by_formula = DynamicTreeModel.from_formula(
        "level ~ .", X.assign(level=y), **SMALL
    ).fit()
    assert model_bytes(fit.tree) == model_bytes(by_formula.tree)
    assert fit.predict(X[:7]).equals(by_formula.predict(X[:7]))
    both = model_bytes(by_formula.append(X.assign(level=y)).tree)
    assert model_bytes(fit.append(y, X).tree) == both
    assert DynamicTreeModel(y.to_frame(), X, **SMALL).endog_names == "level"


def test_a_series_is_a_column_and_rows_must_belong_together() -> None:
    X, y = inputs(), pd.Series(numbers()[0], index=inputs().index)
    fit = DynamicTreeModel(y, X["a"], **SMALL).fit()
    assert fit.model.exog_names == ["a"]
    assert fit.predict(X["a"][:5]).tolist() == fit.predict(X[["a"]][:5]).tolist()
    assert DynamicTreeModel(y, X["a"].rename(None), **SMALL).exog_names == ["x1"]
    with same_bytes(fit.tree):
        for endog, exog in ((y, X[["a"]][:5]), (y[5:10], X[["a"]][:5])):
            with pytest.raises(ValueError, match=r"one value a row|the same index"):
                fit.append(endog, exog)


def test_polars_and_labels() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    X = pl.from_pandas(inputs())
    y = pl.Series("kind", np.where(numbers()[0] > 0, "high", "low"))
    for given in (y, y.to_list(), y.to_numpy()):
        fit = DynamicTreeModel(given, X, **SMALL).fit()
        assert fit.tree.classes == ("high", "low")
        assert isinstance(fit.predict(X[:4]), pl.Series)
        assert isinstance(fit.fittedvalues, pl.Series)
    assert fit.model.endog_names == "y"
    with pytest.raises(ValueError, match="resid needs a response of numbers"):
        _ = fit.resid


@pytest.mark.parametrize(
    ("endog", "exog", "message"),
    [
        (np.ones(3), np.ones((4, 2)), "endog must have one value a row of exog, 4"),
        (np.ones((4, 2)), np.ones((4, 2)), r"got shape \(4, 2\)"),
        (1.0, np.ones((4, 2)), "got 1.0"),
        (np.ones(4), np.ones((4, 2, 2)), "exog must be of shape"),
        (np.ones(4), np.ones((4, 0)), "exog must be of shape"),
        (np.ones(4), [[1.0], [1.0, 2.0]], "exog must be rectangular"),
        (np.ones(4), 3, "data must be a frame"),
        (np.ones(4), "y ~ x", "got 'y ~ x'. A formula is passed before the data"),
        (pd.Series(range(60)), inputs(), "must have the same index"),
        (pd.Series(range(60), index=inputs().index, name="a"), inputs(), "name of its"),
        ([1.0, None, 2.0, 3.0], np.ones((4, 1)), "no missing value of y"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    endog: Any, exog: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        DynamicTreeModel(endog, exog, **SMALL)


def test_arrays_of_another_width_and_frames_are_refused() -> None:
    fit = fitted()
    with pytest.raises(ValueError, match=r"exog must be of shape \(n_rows, 2\)"):
        fit.predict(np.ones((3, 3)))
    with pytest.raises(ValueError, match="must have the columns of the formula"):
        fit.predict(pd.DataFrame({"x1": [1.0]}))
    with same_bytes(fit.tree):
        with pytest.raises(ValueError, match="'y'"):
            fit.append(pd.DataFrame({"x1": [1.0], "x2": [1.0]}))
        with pytest.raises(ValueError, match="one value a row"):
            fit.append([1.0], np.ones((2, 2)))


@pytest.mark.parametrize(
    "options",
    [
        {"n_clouds": 1},
        {"window": 20, "drift": True},
        {"model": "constant", "n_clouds": 1},
    ],
)
def test_fitted_values_are_one_step_ahead(options: dict[str, Any]) -> None:
    X, y = inputs(), numbers()[0]
    fit = DynamicTreeModel(y, X, **SMALL, **options).fit()
    before = model_bytes(fit.tree)
    other = DynamicTreeModel(y[:40], X[:40], **SMALL, **options).fit()
    known = other.tree.predict(other.model.exog[:0])  # it answers of no rows
    assert len(known.mean) == 0
    row = fit.model.exog[40:41]
    assert fit.fittedvalues.iloc[40] == other.tree.predict(row).mean[0]
    assert fit.fittedvalues.index.equals(X.index)
    assert np.isnan(fit.fittedvalues.iloc[0])
    assert fit.fittedvalues.notna().sum() == 59
    assert (fit.resid + fit.fittedvalues)[1:].to_numpy() == pytest.approx(y[1:])
    assert fit.fitted("final").equals(fit.predict())
    terms = fit.llf_obs
    assert terms.sum() == pytest.approx(fit.llf)
    density = np.log(
        np.exp(other.tree.predict(row).log_density(y[40:41]))
    )  # of the row that comes next
    assert terms[40] == pytest.approx(density[0], rel=1e-6)
    assert model_bytes(fit.tree) == before
    with pytest.raises(ValueError, match="which must be one of"):
        fit.fitted("smoothed")


def test_fitted_values_of_rows_that_were_kept() -> None:
    X, y = inputs(), numbers()[0]
    fit = DynamicTreeModel(y, X, missing="drop", **SMALL).fit()
    assert fit.nobs == fit.model.nobs == 40
    assert fit.fittedvalues.index.equals(X.index[X["site"].notna()])
    assert fit.predict().index.equals(fit.fittedvalues.index)


def test_params_describe_the_trees() -> None:
    fit = fitted(n_clouds=1)
    names = ["height", "n_leaves", "relevance[x1]", "relevance[x2]"]
    assert list(fit.params.index) == list(fit.bse.index) == names
    assert fit.params["n_leaves"] == pytest.approx(fit.inner.stats().n_leaves)
    assert fit.params["height"] == pytest.approx(fit.inner.stats().height)
    assert fit.params["relevance[x1]"] > fit.params["relevance[x2]"]
    interval = fit.conf_int(0.5)
    shapes = fit.inner.state.cloud.shapes()
    assert interval.loc["n_leaves"].tolist() == pytest.approx(
        np.quantile(shapes[:, 1], [0.25, 0.75]).tolist()
    )
    with pytest.raises(ValueError, match="alpha must be"):
        fit.conf_int(2.0)
    use = fit.relevance()["use"]
    assert use.between(0.0, 1.0).all()
    assert use["x1"] > 0.5


def test_features_may_be_given_as_they_are() -> None:
    X, y = inputs(), numbers()[0]
    fit = DynamicTreeModel(y, X, **SMALL).fit()
    raw, rows = X[:5], fit.model.exog[:5]
    told = fit.predict(rows, transform=False)
    assert told.tolist() == fit.predict(raw).tolist()
    frame = fit.get_prediction(rows, transform=False).summary_frame()
    assert frame["mean"].tolist() == told.tolist()
    with pytest.raises(ValueError, match="X must have"):
        fit.predict(rows[:, :2], transform=False)
    with pytest.raises(ValueError, match="transform must be True or False"):
        fit.predict(rows, transform="no")  # type: ignore[arg-type]


def test_data_can_be_removed_and_files_hold_none(tmp_path: Path) -> None:
    fit, (y, X) = fitted(), numbers()
    told = fit.predict(X[:5])
    fit.save(tmp_path / "m.dyn", remove_data=True)
    again = DynamicTreeModel.load(tmp_path / "m.dyn")
    for one in (fit, again):
        assert one.model.nobs == 0
        assert one.predict(X[:5]).tolist() == told.tolist()
        assert one.nobs == 60
        for call in (one.predict, one.fitted, one.model.fit):
            with pytest.raises(ValueError, match="were removed"):
                call()
        one.append(y[:3], X[:3])
    assert again.model.formula is None
    assert model_bytes(fit.tree) == model_bytes(again.tree)


def test_pictures() -> None:
    fit = fitted()
    with same_bytes(fit.tree):
        assert [ax.get_xlabel() for ax in fit.plot_partial().axes] == ["x1", "x2"]
        assert len(fit.plot_relevance(["x1"]).axes) == 1
        axes = fit.plot_relevance().axes
        assert fit.plot_relevance(ax=axes[0]) is axes[0].figure
    y, X = numbers()
    labels = DynamicTreeModel(np.where(y > 0, "up", "down"), X, **SMALL).fit()
    figure = labels.plot_partial(["x2"], label="up")
    assert figure.axes[0].get_ylabel() == "mean of P(up)"


# ---------------------------------------------------------------- from_formula
def test_rows_and_terms_may_be_left_out() -> None:
    pytest.importorskip("formulaic", reason="formulaic is absent: dyntree[formula]")
    frame = inputs().assign(y=numbers()[0])

    def made(data: Any, **options: Any) -> DynamicTreeModel:
        return DynamicTreeModel.from_formula("y ~ .", data, **options, **SMALL)

    mask = (frame["a"] > 0.5).to_numpy()
    some = made(frame, subset=mask)
    assert some.data.row_labels.equals(frame.index[mask])
    pd.testing.assert_frame_equal(some.data.frame, frame[mask])
    by_label = made(frame, subset=frame.index[mask])
    columns = frame.to_dict("list")
    for other in (by_label, made(columns, subset=np.flatnonzero(mask))):
        assert np.array_equal(other.exog, some.exog, equal_nan=True)
    assert made(frame, drop_cols=["site", "b"]).exog_names == ["a", "day"]
    for bad in ("a", ["c"], ["a", "b", "site", "day"]):
        with pytest.raises(ValueError, match="drop_cols must be"):
            made(frame, drop_cols=bad)
    for wrong in (mask[:5], ["row 99"], [[1]]):
        with pytest.raises(ValueError, match="subset must be"):
            made(frame, subset=wrong)
    for wrong in (mask[:5], [99], [-1], [0.5]):
        with pytest.raises(ValueError, match="subset must be"):
            made(columns, subset=wrong)
    with pytest.raises(ValueError, match="exog must be None"):
        some.fit().append([1.0], [[1.0]])


def test_labels_under_a_model_of_numbers() -> None:
    """The response is at fault, which no function of the formula reads."""
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    data = inputs().assign(kind=["u", "v"] * 30)
    with pytest.raises(ValueError, match=r"numbers as the response.*model='class'"):
        DynamicTreeModel.from_formula("kind ~ a", data, model="linear", **SMALL)
    with pytest.raises(ValueError, match="numbers or dates in functions"):
        DynamicTreeModel.from_formula("np.log(kind) ~ a", data, model="linear", **SMALL)


@pytest.mark.parametrize("name", ["predict", "summary", "resid"])
def test_what_only_results_have_is_sent_to_fit(name: str) -> None:
    model = DynamicTreeModel(*numbers(), **SMALL)
    with pytest.raises(AttributeError, match=r"call fit\(\), and " + name):
        getattr(model, name)
    assert not hasattr(model, "nothing")
    again = copy.deepcopy(model)  # which asks a bare object for its attributes
    assert model_bytes(again.fit().tree) == model_bytes(model.fit().tree)
