"""From a value to its level: one way, in every face that takes levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import DynamicTree
from dyntree.encoding.columns import Column
from dyntree.encoding.levels import Levels, new_levels
from dyntree.encoding.series import objects_of
from dyntree.params.labels import level_of
from tests.unit.faces import TREES, without

N = 40
RNG = np.random.default_rng(2)
CODES = RNG.integers(1, 4, N)
A = RNG.random(N)
Y = A + np.array([0.0, 5.0, -2.0, 1.0])[CODES] + RNG.normal(0.0, 0.1, N)


def table(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": A}).assign(s=column)


FORMS: dict[str, Any] = {
    "ints": CODES,
    "floats": CODES.astype(np.float64),
    "float32": CODES.astype(np.float32),
    "int8": CODES.astype(np.int8),
    "text": CODES.astype(str).astype(object),
    "objects": objects_of(
        [(np.int64, float, int)[k % 3](code) for k, code in enumerate(CODES)]
    ),
    "nullable": pd.array(CODES, dtype="Int64"),
    "category": pd.Categorical(CODES),
    "category of floats": pd.Categorical(CODES.astype(float)),
    "category of text": pd.Categorical(CODES.astype(str)),
    "more categories": pd.Categorical(CODES, categories=[3, 2, 1, 7]),
}  # fmt: skip


@pytest.mark.parametrize("first", [name for name in FORMS if "category" in name])
@pytest.mark.parametrize("name", TREES)
def test_a_category_is_levels_whatever_it_holds(name: str, first: str) -> None:
    """It is what a category of text would be, and later values may have any form."""
    told = table(FORMS["category of text"])
    expected = TREES[name](told, Y)(told)
    ask = TREES[name](table(FORMS[first]), Y)
    for form, values in FORMS.items():
        answer = ask(table(values))
        np.testing.assert_array_equal(answer, expected, err_msg=form)


@pytest.mark.parametrize("name", TREES)
def test_numbers_that_are_no_category_stay_numbers(name: str) -> None:
    X = table(FORMS["ints"])
    expected = TREES[name](X, Y)(X)
    ask = TREES[name](table(FORMS["floats"]), Y)
    for form in ("ints", "floats", "objects", "nullable"):
        np.testing.assert_array_equal(ask(table(FORMS[form])), expected, err_msg=form)


FLAGS = CODES > 1


@pytest.mark.parametrize("name", TREES)
def test_truth_values_and_the_numbers_they_stand_for_are_one_level(name: str) -> None:
    told = table(pd.Categorical(np.where(FLAGS, "True", "False")))
    expected = TREES[name](told, Y)(told)
    ask = TREES[name](table(pd.Categorical(FLAGS)), Y)
    forms = FLAGS, FLAGS.astype(int), FLAGS.astype(float), FLAGS.astype(str)
    for values in (*forms, FLAGS.astype(object), pd.array(FLAGS, dtype="boolean")):
        np.testing.assert_array_equal(ask(table(values)), expected)
    numbers = TREES[name](table(pd.Categorical(FLAGS.astype(int))), Y)
    for values in (*forms[:3], FLAGS.astype(int).astype(str)):
        np.testing.assert_array_equal(numbers(table(values)), expected)


@without("polars", "pyarrow", "narwhals")
@pytest.mark.parametrize("name", TREES)
def test_categories_of_other_libraries_are_levels(name: str) -> None:
    import polars as pl
    import pyarrow as pa

    told = table(FORMS["category of text"])
    expected = TREES[name](told, Y)(told)
    texts = CODES.astype(str).tolist()
    for column in (
        pa.array(CODES).dictionary_encode(),
        pa.array(texts).dictionary_encode(),
    ):
        given = pa.table({"a": A, "s": column})
        np.testing.assert_array_equal(TREES[name](given, Y)(given), expected)
    given = pl.DataFrame(
        {"a": A, "s": pl.Series(texts, dtype=pl.Enum(["1", "2", "3"]))}
    )
    np.testing.assert_array_equal(TREES[name](given, Y)(given), expected)
    given = pl.DataFrame({"a": A, "s": pl.Series(texts, dtype=pl.Categorical())})
    told = table(FORMS["text"])  # for this type names no level before a row has it
    expected = TREES[name](told, Y)(told)
    np.testing.assert_array_equal(TREES[name](given, Y)(given), expected)


def test_formulas_take_levels_the_same_way() -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    def told(column: Any, asked: Any, formula: str = "y ~ a + C(s)") -> np.ndarray:
        data = table(column).assign(y=Y)
        fit = dtf.dynamic_tree(formula, data, n_particles=15, seed=1).fit()
        assert fit.exog_names[1:] == [f"{formula.split()[-1]}[{k}]" for k in (1, 2, 3)]
        return np.asarray(fit.predict(table(asked)))

    expected = told(FORMS["text"], FORMS["text"])
    for form in ("ints", "floats", "objects", "nullable", "category"):
        for asked in FORMS.values():
            np.testing.assert_array_equal(told(FORMS[form], asked), expected)
    category = FORMS["category"]
    np.testing.assert_array_equal(told(category, CODES, "y ~ a + s"), expected)


def test_a_level_named_beforehand_is_any_equal_value() -> None:
    for named in ([1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], np.array([1, 2, 3])):
        for values in FORMS.values():
            model = DynamicTree(n_particles=15, seed=1, categories={"s": named})
            model.update(table(values), Y)
            assert len(model.feature_names) == 4
            rows = model.preview(table(values), Y)[0].rows
            assert np.array_equal(rows[:, 1:].argmax(axis=1) + 1, CODES)
    for twice in ([1, 1.0], [1, "1"], [True, 1]):
        with pytest.raises(ValueError, match="each once"):
            DynamicTree(categories={"s": twice})


def test_a_text_that_is_a_whole_number_is_the_level_of_the_number() -> None:
    column = Column(objects_of([1.0, 1, "1.0", "1", True, "01"]))
    assert Levels(("1.0",)).codes("s", column).tolist() == [0, 0, 0, 0, -1, -1]
    codes = Levels(("1", "1.0")).codes("s", column)
    assert codes.tolist() == [0, 0, 1, 0, 0, -1]


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (1, 1), (1.0, 1), (np.float32(0.5), 0.5), (True, True), (np.False_, False),
        ("u", "u"), (np.str_("u"), "u"), (-0.0, 0), (1e20, 10**20), (None, None),
        (np.nan, None), (pd.NA, None), (pd.NaT, None),
        (np.datetime64("2024-01-01", "ns"), "2024-01-01 00:00:00"),
        (pd.Timestamp("2024-01-01"), "2024-01-01 00:00:00"),
        (pd.Interval(0, 1), "(0, 1]"),
    ],
)  # fmt: skip
def test_levels_of_single_values(value: Any, level: Any) -> None:
    found = level_of(value)
    assert (found, type(found)) == (level, type(level))


def test_new_levels_come_once() -> None:
    values = ["a", None, 1, 1.0, "1", True, np.int8(1), "b", "a", 2.5, "2.5"]
    assert new_levels(values) == {"a": 0, "1": 2, "b": 7, "2.5": 9}
    assert new_levels(values, known=["a", "1.0"]) == {"True": 5, "b": 7, "2.5": 9}
    assert new_levels(values, most=2) == {"a": 0, "1": 2}


def test_what_pandas_cuts_is_levels() -> None:
    bins = pd.cut(A, [0.0, 0.3, 0.6, 1.0])
    X = pd.DataFrame({"a": A, "bin": bins})
    model = DynamicTree(n_particles=15, seed=1).update(X, Y)
    assert model.feature_names[1:] == (
        "bin=(0.0, 0.3]", "bin=(0.3, 0.6]", "bin=(0.6, 1.0]",
    )  # fmt: skip
    rows = X.to_dict("records")  # where they are plain intervals
    assert model.predict(rows).mean.tobytes() == model.predict(X).mean.tobytes()
    assert dyntree.checkpoint.loads(dyntree.checkpoint.dumps(model)).n_seen == N
