"""What `on_bad_rows` of prequential takes, tells and leaves to the ordinary errors."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree.formula.api as dtf
from dyntree import DynamicTree
from dyntree.errors import DistantInputsWarning
from dyntree.evaluate import prequential, prequential_each
from dyntree.mixtures import OnlineDPGMM
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import data

X, Y = data("constant", 40)


def model(**options: Any) -> DynamicTree:
    return DynamicTree(n_particles=10, seed=1, **options)


def with_bad(at: int) -> np.ndarray:
    rows = X.copy()
    rows[at, 0] = np.inf
    return rows


def test_a_record_tells_rows_and_reasons() -> None:
    seen = prequential(model(), with_bad(17), Y, start=10, on_bad_rows="skip")
    assert [*seen.bad_rows] == [17]
    assert seen.bad_rows[17].startswith("X must be finite; got inf, column 0. Pass NaN")
    assert seen.rows.tolist() == [*range(10, 17), *range(18, 40)]
    assert prequential(model(), X, Y, on_bad_rows="skip").bad_rows == {}
    assert prequential(model(), X, Y).bad_rows == {}


def test_a_function_is_told_before_the_model_learns_and_may_raise() -> None:
    tree, told = model(), []

    def tell(row: int, error: ValueError) -> None:
        assert not tree.n_seen
        told.append((row, str(error)))
        if len(told) == 2:
            raise RuntimeError("too many")

    rows = with_bad(17)
    rows[30, 1] = -np.inf
    y = Y.copy()
    y[5] = np.nan
    with same_bytes(tree), pytest.raises(RuntimeError, match="too many"):
        prequential(tree, rows, y, on_bad_rows=tell)
    assert [row for row, _ in told] == [5, 17]
    assert told[0][1] == "y must be finite; got nan. Leave such rows out."


@pytest.mark.parametrize("value", ["drop", None, True, 3, ["skip"]])
def test_other_values_are_refused(value: Any) -> None:
    words = r"on_bad_rows must be .*'raise'.*'skip'.*; got"
    with same_bytes(tree := model()), pytest.raises(ValueError, match=words):
        prequential(tree, X, Y, on_bad_rows=value)
    with pytest.raises(ValueError, match=words):
        prequential_each({"a": tree}, X, Y, on_bad_rows=value)


def test_functions_are_for_one_model() -> None:
    with pytest.raises(ValueError, match="on_bad_rows must be one of"):
        prequential_each({"a": model()}, X, Y, on_bad_rows=print)  # type: ignore[arg-type]


BEYOND_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "fewer responses": ({"y": Y[:-1]}, "y must be of shape"),
    "more weights": (
        {"sample_weight": np.ones(41)},
        "one value a row of X, 40; got 41",
    ),
    "an index": ({"X": pd.DataFrame(X), "y": pd.Series(Y, range(1, 41))}, "same index"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, "at least one row"),
    "a number as rows": ({"X": 3.0}, "X"),
    "a start beyond": ({"start": 40}, "start must be below the number of rows, 40"),
    "exposures": ({"exposure": np.ones(40)}, "exposure is for counts"),
    "no rows are good": (
        {"y": Y * np.nan},
        "refused all 40, row 0 for this: y must be",
    ),
    "flat rows": ({"X": X[:, 0]}, "refused all 40, row 0 for this: X must be of shape"),
}


@pytest.mark.parametrize("name", BEYOND_ROWS)
def test_what_is_no_fault_of_a_row_is_an_error(name: str) -> None:
    change, words = BEYOND_ROWS[name]
    given = {"X": X, "y": Y} | change
    tree = model()
    with same_bytes(tree), pytest.raises(ValueError, match=words):
        prequential(tree, **given, on_bad_rows="skip")


def test_what_is_no_model_of_responses_is_an_error() -> None:
    for wrong, words in ((3, "model must be a model"), (OnlineDPGMM(1.0), "responses")):
        with pytest.raises(ValueError, match=words):
            prequential(wrong, X, Y, on_bad_rows="skip")  # type: ignore[arg-type]
    tree = model(rules="r")
    with pytest.raises(ValueError, match=r"sample_weight is for rules='native'"):
        prequential(tree, X, Y, sample_weight=1.0, on_bad_rows="skip")


@pytest.mark.parametrize("start", [0, 5, 30])
def test_rows_beyond_the_scale_of_the_first_are_bad(start: int) -> None:
    """Which no look at the rows alone can find while there are no trees."""
    y = Y * 1e-100
    y[25] = 1e140
    good = np.delete(np.arange(40), 25)
    seen = prequential(skipping := model(), X, y, start=start, on_bad_rows="skip")
    assert [*seen.bad_rows] == [25]
    assert "spreads of the first rows away" in seen.bad_rows[25]
    prequential(plain := model(), X[good], y[good], start=start - (start > 25))
    assert model_bytes(skipping) == model_bytes(plain)


def test_weights_far_from_the_first_are_bad() -> None:
    weights = np.ones(40)
    weights[[20, 33]] = 1e300, -1.0
    seen = prequential(model(), X, Y, sample_weight=weights, on_bad_rows="skip")
    assert [*seen.bad_rows] == [20, 33]
    assert "times the mean weight" in seen.bad_rows[20]


def test_text_among_numbers_that_came_first_is_bad() -> None:
    rows = pd.DataFrame({"a": X[:, 0].astype(object), "b": X[:, 1]})
    rows.loc[20, "a"] = "oops"
    seen = prequential(model(), rows, Y, on_bad_rows="skip")
    assert [*seen.bad_rows] == [20]
    assert "X must hold numbers in column 'a'; got 'oops'." in seen.bad_rows[20]


def test_the_copy_gives_no_warnings_and_the_model_gives_its_own() -> None:
    rows = X.copy()
    rows[30, 0] = 1e9
    counts = []
    for how in ("raise", "skip"):
        tree = DynamicTree("linear", n_particles=10, seed=1)
        with pytest.warns(DistantInputsWarning) as caught:
            prequential(tree, rows, Y, on_bad_rows=how)
        counts.append(len(caught))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("kind", ["numbers", "labels", "dates"])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_are_cut(library: str, kind: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    values = {
        "numbers": Y.tolist(),
        "labels": ["uv"[k % 2] for k in range(40)],
        "dates": [date(2024, 1, 1 + k % 2) for k in range(40)],
    }[kind]
    rows = with_bad(17)
    columns = {"a": rows[:, 0], "b": rows[:, 1]}
    table = module.DataFrame(columns) if library == "polars" else module.table(columns)
    y = module.Series(values) if library == "polars" else module.array(values)
    leaf = "constant" if kind == "numbers" else "class"
    skipping, plain = (DynamicTree(leaf, n_particles=10, seed=1) for _ in range(2))
    seen = prequential(skipping, table, y, start=10, on_bad_rows="skip")
    assert [*seen.bad_rows] == [17]
    frame = pd.DataFrame(columns).drop(index=17)
    prequential(
        plain, frame, [one for k, one in enumerate(values) if k != 17], start=10
    )
    assert model_bytes(skipping) == model_bytes(plain)


@pytest.mark.parametrize("form", ["frame", "columns", "lists", "dicts"])
def test_results_take_their_data_in_any_form(form: str) -> None:
    frame = pd.DataFrame(with_bad(17), columns=["a", "b"])
    data = {
        "frame": frame,
        "columns": frame.to_dict("series"),
        "lists": frame.to_dict("list"),
        "dicts": frame.to_dict("records"),
    }[form]
    good = pd.DataFrame(X, columns=["a", "b"]).assign(y=Y)
    fit = dtf.dynamic_tree("y ~ a + b", good, n_particles=10, seed=1).fit()
    seen = prequential_each({"one": fit, "two": fit}, data, Y, on_bad_rows="skip")
    assert [[*record.bad_rows] for record in seen.values()] == [[17], [17]]
    without = frame.drop(index=17).reset_index(drop=True)
    plain = prequential_each({"one": fit}, without, np.delete(Y, 17))["one"]
    assert seen["two"].log_density.tobytes() == plain.log_density.tobytes()
