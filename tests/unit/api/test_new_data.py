"""Data as other libraries hand them on: model matrices, recarrays, series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import formulaic

import dyntree.formula.api as dtf
from dyntree.api.formula import DynamicTreeModel
from tests.helpers import model_bytes

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def frame_of(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})
    return frame.assign(y=np.sin(3 * frame["x"]) + (frame["g"] == "b"))


def matrices(library: str, frame: pd.DataFrame) -> tuple[Any, Any]:
    """Response and inputs of a formula, by another library."""
    if library == "patsy":
        patsy = pytest.importorskip("patsy", reason="patsy is not installed")
        made: tuple[Any, Any] = patsy.dmatrices("y ~ x + g", frame)
        return made
    output = library.removeprefix("formulaic ")
    both = formulaic.model_matrix("y ~ x + g", frame, output=output)
    return both.lhs, both.rhs


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize(
    "library", ["patsy", "formulaic pandas", "formulaic numpy", "formulaic sparse"]
)
def test_model_matrices_are_inputs(library: str, model: str) -> None:
    frame, more = frame_of(), frame_of(20, seed=1)
    (y, X), (new_y, new) = matrices(library, frame), matrices(library, more)
    fit = DynamicTreeModel(y, X, model=model, **SMALL).fit()
    assert fit.model.endog_names == "y"
    assert {*fit.exog_names} == {"Intercept", "x", "g[T.b]"}
    columns = {"Intercept": 1.0, "x": more["x"], "g[T.b]": more["g"] == "b"}
    plain = pd.DataFrame(columns).astype(float)
    expected = fit.predict(plain).tolist()
    assert fit.predict(new).tolist() == expected
    assert fit.get_prediction(new).predicted_mean.tolist() == expected
    assert fit.append(new_y, new).nobs == 80


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_responses_may_be_a_column(form: Any) -> None:
    frame = frame_of()
    column, X = form(frame[["y"]].to_numpy()), frame[["x"]].to_numpy()
    fit = DynamicTreeModel(column, X, **SMALL).fit()
    same = DynamicTreeModel(frame["y"].to_numpy(), X, **SMALL).fit()
    assert model_bytes(fit.append(column, X).tree) == (
        model_bytes(same.append(frame["y"].to_numpy(), X).tree)
    )
    wide = np.ones((60, 2))
    with pytest.raises(
        ValueError, match=r"endog must have one value a row .*\(60, 2\)"
    ):
        DynamicTreeModel(wide, X, **SMALL)


def test_recarrays_are_tables() -> None:
    frame = frame_of()
    records = frame.to_records(index=False)
    fit = dtf.dynamic_tree("y ~ x + g", records, **SMALL).fit()
    same = dtf.dynamic_tree("y ~ x + g", frame, **SMALL).fit()
    assert model_bytes(fit.tree) == model_bytes(same.tree)
    expected = same.predict(frame).tolist()
    assert fit.predict(records).tolist() == expected
    assert fit.predict(records[3]) == expected[3]
    numbers = frame[["x", "y"]].to_records(index=False).view(np.ndarray)
    assert dtf.dynamic_tree("y ~ x", numbers, **SMALL).exog_names == ["x"]
    other = DynamicTreeModel(records["y"], records[["x", "g"]], **SMALL)
    assert other.exog_names == ["x", "g[b]"]
    for results in (fit, same):
        results.append(records).append(records[3])
    assert model_bytes(fit.tree) == model_bytes(same.tree)


def test_a_field_of_several_values_is_refused() -> None:
    rows = np.zeros(20, dtype=[("x", "f8", (2,)), ("y", "f8")])
    with pytest.raises(ValueError, match=r"one value a row in column 'x'; got .*Give"):
        dtf.dynamic_tree("y ~ x", rows, **SMALL)


def test_a_series_is_a_row_or_a_column() -> None:
    frame = frame_of()
    fit = dtf.dynamic_tree("y ~ x + g", frame, **SMALL).fit()
    expected = fit.predict(frame).tolist()
    assert fit.predict(frame.iloc[3]) == expected[3]
    assert fit.get_prediction(frame.iloc[3]).predicted_mean.tolist() == expected[3:4]
    rows = fit.copy().append(frame.iloc[3].to_dict())
    assert model_bytes(fit.append(frame.iloc[3]).tree) == model_bytes(rows.tree)
    one = dtf.dynamic_tree("y ~ x", frame, **SMALL).fit()
    told = one.predict(frame["x"])
    assert told.equals(one.predict(frame))
    assert one.predict(frame["x"].rename(None)).tolist() == told.tolist()
    with pytest.raises(ValueError, match=r"\['x'\] are absent"):
        one.predict(frame["g"])
    arrays = DynamicTreeModel(frame["y"], frame[["x", "g"]], **SMALL).fit()
    assert arrays.predict(frame.iloc[3]) == arrays.predict(frame)[3]
